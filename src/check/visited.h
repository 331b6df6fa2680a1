/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The states that an exhaustive search has seen: a set of 128-bit hashes, each with a key, of which the
 * lowest ever given is kept.
 *
 * An open-addressing table that several threads add to at once. A key says in which level and by which
 * step of which state a state was reached, so keeping the lowest makes the sequence that stands for a
 * state the same whoever came first.
 *
 * Locks: none. visited_add() may be called by any number of threads; the rest by one, while no other adds.
 * The table does not grow by itself: who adds leaves room (visited_room()).
 *
 *	err = visited_create(1 << 16, &visited);
 *	slot = visited_add(visited, state.hash, key, &new);
 *	...
 *	visited_collect(visited, lowest, keys);	// all keys from there on
 *	err = visited_grow(visited);
 *	visited_destroy(visited);
 */
#ifndef SP_VISITED_H
#define SP_VISITED_H

#include "samepage.h"

struct visited;

/* size: a power of two. 0 and *ret, or -ENOMEM. */
int visited_create(uint64_t size, struct visited **ret) SP_CHECK;
void visited_destroy(struct visited *v);
/* Adds the hash, or lowers its key; *new: it was not there. Returns its place, which growing changes. */
uint64_t visited_add(struct visited *v, const uint64_t hash[2], uint64_t key, bool *new);
uint64_t visited_key(const struct visited *v, uint64_t place);
uint64_t visited_nr(const struct visited *v);
/* How many more may be added before it has to grow. */
uint64_t visited_room(const struct visited *v);
/* Twice as large. 0, or -ENOMEM and it is as before. */
int visited_grow(struct visited *v) SP_CHECK;
uint64_t visited_bytes(const struct visited *v);
/* Writes all keys that are not below `lowest`, ascending; returns how many. keys NULL: only counts. */
uint64_t visited_collect(const struct visited *v, uint64_t lowest, uint64_t *keys);

#endif
