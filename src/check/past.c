/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Open addressing with linear probing; entries are never taken out, only emptied of bits. See
 * past.h.
 */
#include "past.h"

#include <errno.h>

void past_init(struct past *past)
{
	*past = (struct past){.entries = NULL};
	mem_init(&past->mem);
}

void past_destroy(struct past *past)
{
	mem_free(&past->mem, past->entries, past->room * sizeof(*past->entries));
	past->entries = NULL;
	past->nr = past->room = 0;
}

/* The page's entry, or the free one where it would be. There is a free one. */
static struct past_entry *find(const struct past *past, uint32_t mm_id, uint64_t addr)
{
	uint64_t hash =
		(addr / SP_PAGE_SIZE ^ (uint64_t)mm_id << 40) * UINT64_C(0x9e3779b97f4a7c15);

	for (uint64_t i = hash >> 32;; i++) {
		struct past_entry *entry = &past->entries[i & (past->room - 1)];

		if (!entry->mm_id || (entry->mm_id == mm_id && entry->addr == addr))
			return entry;
	}
}

static int grow(struct past *past)
{
	struct past old = *past;

	past->room = MAX(old.room * 2, UINT64_C(64));
	past->entries = mem_alloc(&past->mem, past->room * sizeof(*past->entries));
	if (!past->entries) {
		past->entries = old.entries;
		past->room = old.room;
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < old.room; i++)
		if (old.entries[i].mm_id)
			*find(past, old.entries[i].mm_id, old.entries[i].addr) = old.entries[i];
	mem_free(&past->mem, old.entries, old.room * sizeof(*old.entries));
	return 0;
}

unsigned int past_get(const struct past *past, uint32_t mm_id, uint64_t addr)
{
	return past->room ? find(past, mm_id, addr)->bits : 0;
}

int past_add(struct past *past, uint32_t mm_id, uint64_t addr, unsigned int bits)
{
	struct past_entry *entry;
	int err;

	if (!bits)
		return 0;
	if (2 * (past->nr + 1) > past->room) {
		err = grow(past);
		if (err)
			return err;
	}
	entry = find(past, mm_id, addr);
	if (!entry->mm_id) {
		*entry = (struct past_entry){addr, mm_id, 0};
		past->nr++;
	}
	entry->bits |= bits;
	return 0;
}

void past_forget(struct past *past, uint32_t mm_id, uint64_t addr)
{
	if (past->room)
		find(past, mm_id, addr)->bits = 0;
}
