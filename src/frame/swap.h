/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Swap slots and the swap cache.
 *
 * A slot has a count of the swap entries (PTEs) that name it, its contents once
 * they were written, and, while a frame is in the swap cache for it, that frame. A
 * slot is free when its count is 0 and it has no cached frame.
 *
 *	free -> swap_cache_add() -> (cached frame, count 0) -> entries are made:
 *	        count n -> swap_write() -> swap_cache_remove(): contents only here
 *	     -> swap_cache_insert() of a new frame, filled by swap_read() -> entries
 *	        go: count 0 -> swap_cache_remove() -> free
 *
 * The cache holds one reference on its frame (frame.h). A frame that is dirtied
 * while cached has to be written again before it leaves; that is its owner's to
 * know (FRAME_DIRTY).
 *
 * Locking: the folio lock of the cached frame for entering and leaving the cache;
 * the rest under the machine's one-thread rule.
 */
#ifndef SP_SWAP_H
#define SP_SWAP_H

#include "frame.h"

#define SWAP_NONE UINT32_MAX

struct swap_slot {
	uint32_t count;     /* swap entries; 0 and no cached frame: free */
	uint32_t pfn;       /* frame in the swap cache, or PFN_NONE; next free when free */
	content_t content;  /* valid when written */
	bool used, written, unknown;
};

struct swap {
	struct mem *mem;
	struct frames *frames;
	struct swap_slot *slots;
	uint32_t nr_slots, max_slots; /* grown so far; array size */
	uint64_t limit;               /* 0: none */
	uint32_t free;                /* list, last-in first-out; SWAP_NONE: empty */
	uint32_t nr_used;
};

void swap_init(struct swap *swap, struct mem *mem, struct frames *frames, uint64_t limit);
/* Before frames_destroy(). Slots still in use are freed with their contents; their
 * cached frames are not touched. */
void swap_destroy(struct swap *swap);

/* Puts the locked frame into the swap cache with a fresh slot: 0, -ENOSPC, -ENOMEM. */
int swap_cache_add(struct swap *swap, struct frame *frame) SP_MUST_CHECK;
/* Puts the locked frame into the cache for a used slot that has none (swap-in). */
void swap_cache_insert(struct swap *swap, uint32_t slot, struct frame *frame);
/*
 * Takes the locked frame out of the cache and drops the cache's reference, which
 * must not be the last; frees the slot if its count is 0. If entries still name the
 * slot, its contents must have been written.
 */
void swap_cache_remove(struct swap *swap, struct frame *frame);
/* Migration: `new` takes `old`'s place in the cache, with the cache's reference. Both
 * locked; old has another reference. */
void swap_cache_replace(struct swap *swap, struct frame *old, struct frame *new);
/* The frame cached for a slot, or NULL; no reference taken. */
struct frame *swap_cache_find(const struct swap *swap, uint32_t slot);

/* One more, one fewer swap entry. The last one frees the slot unless a frame is cached. */
void swap_dup(struct swap *swap, uint32_t slot);
void swap_drop(struct swap *swap, uint32_t slot);

static inline uint32_t swap_count(const struct swap *swap, uint32_t slot)
{
	SP_ASSERT(slot < swap->nr_slots);
	return swap->slots[slot].count;
}

/*
 * Writes the cached frame's contents (and FRAME_UNKNOWN) to its slot, pageout's
 * work: 0, or -ENOMEM, after which the slot is as it was.
 */
int swap_write(struct swap *swap, struct frame *frame) SP_MUST_CHECK;
/* Copies the written slot's contents (and FRAME_UNKNOWN) into a frame: 0 or -ENOMEM. */
int swap_read(struct swap *swap, uint32_t slot, struct frame *frame) SP_MUST_CHECK;
/*
 * A slot that holds contents without a frame ever having existed (loaded memory);
 * its count is 0 until the caller's first swap_dup(), which has to follow. 0,
 * -ENOSPC, -ENOMEM; takes content over when 0.
 */
int swap_alloc_loaded(struct swap *swap, content_t content, bool unknown,
		      uint32_t *slot) SP_MUST_CHECK;

/* NULL or what is wrong: free list, cache links, flags. Counts are recounted by the machine. */
const char *swap_validate(const struct swap *swap);

#endif
