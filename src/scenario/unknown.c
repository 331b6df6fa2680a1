/* SPDX-License-Identifier: GPL-2.0-only */
/* Ranges of unknown contents; see unknown.h. */
#include "unknown.h"

#include <errno.h>
#include <string.h>

/* The first range that ends after addr. */
static uint32_t find(const struct unknown *u, uint64_t addr)
{
	uint32_t low = 0, high = u->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (u->list[middle].end > addr)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Makes entries [at, at + old) `new` many; contents of new ones are the caller's. */
static int resize(struct unknown *u, struct mem *mem, uint32_t at, uint32_t old, uint32_t new)
{
	uint32_t nr = u->nr - old + new;

	if (nr > u->room) {
		uint32_t room = MAX(u->room * 2, 16u);
		struct unknown_range *list = mem_realloc(mem, u->list, u->room * sizeof(*list),
							 room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		u->list = list;
		u->room = room;
	}
	if (u->list)
		memmove(&u->list[at + new], &u->list[at + old],
			(u->nr - at - old) * sizeof(*u->list));
	u->nr = nr;
	return 0;
}

int unknown_add(struct unknown *u, struct mem *mem, uint64_t start, uint64_t end)
{
	uint32_t at, last;
	int err;

	if (start >= end)
		return 0;
	/* Touching ranges are joined too. */
	at = start ? find(u, start - 1) : 0;
	for (last = at; last < u->nr && u->list[last].start <= end; last++) {
		start = MIN(start, u->list[last].start);
		end = MAX(end, u->list[last].end);
	}
	err = resize(u, mem, at, last - at, 1);
	if (!err)
		u->list[at] = (struct unknown_range){ start, end };
	return err;
}

int unknown_remove(struct unknown *u, struct mem *mem, uint64_t start, uint64_t end)
{
	uint32_t at = find(u, start);
	struct unknown_range left = { 0, 0 }, right = { 0, 0 };
	uint32_t last;
	int err;

	if (start >= end)
		return 0;
	for (last = at; last < u->nr && u->list[last].start < end; last++) {
		if (u->list[last].start < start)
			left = (struct unknown_range){ u->list[last].start, start };
		if (u->list[last].end > end)
			right = (struct unknown_range){ end, u->list[last].end };
	}
	if (last == at)
		return 0;
	err = resize(u, mem, at, last - at, (left.end > 0) + (right.end > 0));
	if (err)
		return err;
	if (left.end)
		u->list[at++] = left;
	if (right.end)
		u->list[at] = right;
	return 0;
}

int unknown_move(struct unknown *u, struct mem *mem, uint64_t from, uint64_t to, uint64_t length)
{
	struct unknown moved = { 0 };
	int err = 0;

	for (uint32_t i = find(u, from); !err && i < u->nr && u->list[i].start < from + length; i++)
		err = unknown_add(&moved, mem, MAX(u->list[i].start, from) - from + to,
				  MIN(u->list[i].end, from + length) - from + to);
	if (!err)
		err = unknown_remove(u, mem, from, from + length);
	if (!err)
		err = unknown_remove(u, mem, to, to + length);
	for (uint32_t i = 0; !err && i < moved.nr; i++)
		err = unknown_add(u, mem, moved.list[i].start, moved.list[i].end);
	unknown_destroy(&moved, mem);
	return err;
}

int unknown_copy(struct unknown *u, struct mem *mem, const struct unknown *from)
{
	u->list = NULL;
	u->nr = u->room = from->nr;
	if (!from->nr)
		return 0;
	u->list = mem_alloc(mem, from->nr * sizeof(*u->list));
	if (!u->list) {
		u->nr = u->room = 0;
		return -ENOMEM;
	}
	memcpy(u->list, from->list, from->nr * sizeof(*u->list));
	return 0;
}

uint64_t unknown_pages(const struct unknown *u, uint64_t start, uint64_t end)
{
	uint64_t bytes = 0;

	for (uint32_t i = find(u, start); i < u->nr && u->list[i].start < end; i++)
		bytes += MIN(u->list[i].end, end) - MAX(u->list[i].start, start);
	return bytes / PAGE_SIZE;
}

void unknown_destroy(struct unknown *u, struct mem *mem)
{
	mem_free(mem, u->list, u->room * sizeof(*u->list));
	memset(u, 0, sizeof(*u));
}
