/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A lock-free set of hashes; see visited.h.
 *
 * Who turns a free place's first half from 0 into the hash's owns it and writes the second half; others
 * that meet the first half wait for the second, which is a few instructions away. Keys are stored
 * complemented, so that "none yet" is 0 and the lowest key is the largest word.
 */
#include "visited.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bits.h"

struct place {
	_Atomic uint64_t hash[2]; /* 0: free; second half: not written yet */
	_Atomic uint64_t not_key;
};

struct visited {
	struct place *places;
	uint64_t mask;
	_Atomic uint64_t nr;
};

int visited_create(uint64_t size, struct visited **ret)
{
	struct visited *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->mask = size - 1;
	v->places = calloc(size, sizeof(*v->places));
	if (!v->places) {
		free(v);
		return -ENOMEM;
	}
	*ret = v;
	return 0;
}

void visited_destroy(struct visited *v)
{
	if (!v)
		return;
	free(v->places);
	free(v);
}

static void lower_key(struct place *p, uint64_t not_key)
{
	uint64_t old = atomic_load_explicit(&p->not_key, memory_order_relaxed);

	while (old < not_key &&
	       !atomic_compare_exchange_weak_explicit(&p->not_key, &old, not_key,
						      memory_order_relaxed, memory_order_relaxed))
		;
}

/* Is this the hash's place? A free one is made so, and *new. */
static bool claim(struct place *p, uint64_t first, uint64_t second, bool *new)
{
	uint64_t there = atomic_load_explicit(&p->hash[0], memory_order_relaxed);

	if (!there && atomic_compare_exchange_strong_explicit(
			      &p->hash[0], &there, first, memory_order_relaxed, memory_order_relaxed)) {
		atomic_store_explicit(&p->hash[1], second, memory_order_relaxed);
		*new = true;
		return true;
	}
	if (there != first)
		return false;
	do
		there = atomic_load_explicit(&p->hash[1], memory_order_relaxed);
	while (!there);
	return there == second;
}

uint64_t visited_add(struct visited *v, const uint64_t hash[2], uint64_t key, bool *new)
{
	uint64_t first = hash[0] ? hash[0] : 1, second = hash[1] ? hash[1] : 1;
	uint64_t at = first & v->mask;

	*new = false;
	while (!claim(&v->places[at], first, second, new))
		at = (at + 1) & v->mask;
	if (*new)
		atomic_fetch_add_explicit(&v->nr, 1, memory_order_relaxed);
	lower_key(&v->places[at], ~key);
	return at;
}

uint64_t visited_key(const struct visited *v, uint64_t place)
{
	return ~v->places[place].not_key;
}

uint64_t visited_nr(const struct visited *v)
{
	return v->nr;
}

uint64_t visited_room(const struct visited *v)
{
	uint64_t most = (v->mask + 1) / 4 * 3, nr = v->nr;

	return most > nr ? most - nr : 0;
}

int visited_grow(struct visited *v)
{
	struct visited *larger;
	struct place *old = v->places;
	int err = visited_create(2 * (v->mask + 1), &larger);

	if (err)
		return err;
	for (uint64_t i = 0; i <= v->mask; i++) {
		uint64_t hash[2] = {old[i].hash[0], old[i].hash[1]};
		bool new;

		if (hash[0])
			(void)visited_add(larger, hash, ~old[i].not_key, &new);
	}
	v->places = larger->places;
	v->mask = larger->mask;
	free(old);
	free(larger);
	return 0;
}

uint64_t visited_bytes(const struct visited *v)
{
	return (v->mask + 1) * sizeof(*v->places);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

uint64_t visited_collect(const struct visited *v, uint64_t lowest, uint64_t *keys)
{
	uint64_t nr = 0;

	for (uint64_t i = 0; i <= v->mask; i++) {
		uint64_t key = visited_key(v, i);

		if (!v->places[i].hash[0] || key < lowest)
			continue;
		if (keys)
			keys[nr] = key;
		nr++;
	}
	if (keys)
		qsort(keys, nr, sizeof(*keys), compare);
	return nr;
}
