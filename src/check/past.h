/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The past of pages (enum page_past) by mm and address, for machines of any size: a hash table
 * that has an entry for each page that has one.
 *
 * Locks: none.
 *
 *	struct past past;
 *
 *	past_init(&past);
 *	err = past_add(&past, mm->id, addr, PAST_SWAPPED);
 *	features = ... past_get(&past, mm->id, addr) ...
 *	past_destroy(&past);
 */
#ifndef SP_PAST_H
#define SP_PAST_H

#include "mem.h"
#include "samepage.h"

struct past_entry {
	uint64_t addr;
	uint32_t mm_id; /* 0: free; mms count from 1 */
	unsigned int bits;
};

struct past {
	struct mem mem;
	struct past_entry *entries;
	uint64_t nr, room; /* room: 0, or a power of two */
};

void past_init(struct past *past);
void past_destroy(struct past *past);

unsigned int past_get(const struct past *past, uint32_t mm_id, uint64_t addr);
/* Sets bits of the page at addr. 0 or -ENOMEM. */
int past_add(struct past *past, uint32_t mm_id, uint64_t addr, unsigned int bits) SP_CHECK;
/* The page is a new one. */
void past_forget(struct past *past, uint32_t mm_id, uint64_t addr);

#endif
