/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which addresses of a loaded process have contents that nobody knows: its
 * core left them out, or they could not be read. The simulated page is then
 * one that was never touched, which must not pass for zero.
 *
 * A sorted array of disjoint ranges. Reads are frequent and finds are rare
 * (most processes have none at all), changes are few: binary search and
 * memmove suffice.
 *
 *	unknown_add(&u, &mem, start, end);	// ascending, while loading
 *	unknown_remove(&u, &mem, start, end);	// filled, unmapped, discarded
 *	unknown_move(&u, &mem, from, to, length);	// mremap
 *
 * Locking: none; belongs to a process of a run.
 */
#ifndef SP_UNKNOWN_H
#define SP_UNKNOWN_H

#include "mem.h"

struct unknown_range {
	uint64_t start, end;
};

struct unknown {
	struct unknown_range *list;
	uint32_t nr, room;
};

int unknown_add(struct unknown *u, struct mem *mem, uint64_t start, uint64_t end) SP_MUST_CHECK;
int unknown_remove(struct unknown *u, struct mem *mem, uint64_t start, uint64_t end) SP_MUST_CHECK;
int unknown_move(struct unknown *u, struct mem *mem, uint64_t from, uint64_t to,
		 uint64_t length) SP_MUST_CHECK;
int unknown_copy(struct unknown *u, struct mem *mem, const struct unknown *from) SP_MUST_CHECK;
/* Pages of [start, end) that are unknown. */
uint64_t unknown_pages(const struct unknown *u, uint64_t start, uint64_t end);
void unknown_destroy(struct unknown *u, struct mem *mem);

#endif
