/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Swap slots; see swap.h for the life of one.
 *
 * Slots are an array that grows by doubling and never shrinks; free ones are
 * linked through their pfn field, the last one freed on top. Nobody outside keeps
 * a pointer to a slot, so the array may move.
 *
 * Contents are private copies: a slot and its cached frame may differ once the
 * frame is written to, as on a real disk.
 *
 * What this does not do: choose what to evict, take swap entries out of page
 * tables, or decide whether a swapped-in KSM page may be shared (W3).
 */
#include "swap.h"

#include <errno.h>
#include <string.h>

#define SLOTS_MIN 16u

void swap_init(struct swap *swap, struct mem *mem, struct frames *frames, uint64_t limit)
{
	memset(swap, 0, sizeof(*swap));
	swap->mem = mem;
	swap->frames = frames;
	swap->limit = limit;
	swap->free = SWAP_NONE;
}

void swap_destroy(struct swap *swap)
{
	uint32_t i;

	for (i = 0; i < swap->nr_slots; i++) {
		if (swap->slots[i].used && swap->slots[i].written)
			content_free(&swap->frames->content, swap->slots[i].content);
	}
	mem_free(swap->mem, swap->slots, swap->max_slots * sizeof(*swap->slots));
	memset(swap, 0, sizeof(*swap));
	swap->free = SWAP_NONE;
}

static struct swap_slot *used_slot(const struct swap *swap, uint32_t slot)
{
	SP_ASSERT(slot < swap->nr_slots && swap->slots[slot].used);
	return &swap->slots[slot];
}

/* A used slot with count 0, no frame, nothing written: 0, -ENOSPC, -ENOMEM. */
static int slot_alloc(struct swap *swap, uint32_t *ret)
{
	struct swap_slot *slot;

	if (swap->limit && swap->nr_used >= swap->limit)
		return -ENOSPC;
	if (swap->free != SWAP_NONE) {
		*ret = swap->free;
		swap->free = swap->slots[*ret].pfn;
	} else {
		if (swap->nr_slots == swap->max_slots) {
			uint32_t max = MAX(2 * swap->max_slots, SLOTS_MIN);
			struct swap_slot *slots;

			/* SWAP_NONE is no slot, and the array must not wrap. */
			if (max < swap->max_slots)
				return -ENOSPC;
			slots = mem_realloc(swap->mem, swap->slots,
					    swap->max_slots * sizeof(*slots), max * sizeof(*slots));
			if (!slots)
				return -ENOMEM;
			swap->slots = slots;
			swap->max_slots = max;
		}
		*ret = swap->nr_slots++;
	}
	slot = &swap->slots[*ret];
	memset(slot, 0, sizeof(*slot));
	slot->used = true;
	slot->pfn = PFN_NONE;
	swap->nr_used++;
	return 0;
}

static void slot_free_if_unused(struct swap *swap, uint32_t nr)
{
	struct swap_slot *slot = used_slot(swap, nr);

	if (slot->count || slot->pfn != PFN_NONE)
		return;
	if (slot->written)
		content_free(&swap->frames->content, slot->content);
	slot->used = false;
	slot->written = false;
	slot->unknown = false;
	slot->pfn = swap->free;
	swap->free = nr;
	swap->nr_used--;
}

static void cache_link(struct swap *swap, uint32_t nr, struct frame *frame)
{
	struct swap_slot *slot = used_slot(swap, nr);

	SP_ASSERT(frame->flags & FRAME_LOCKED);
	SP_ASSERT(!(frame->flags & (FRAME_SWAPCACHE | FRAME_FILE | FRAME_ZERO)));
	SP_ASSERT(slot->pfn == PFN_NONE);
	frame_get(frame);
	frame->flags |= FRAME_SWAPCACHE;
	frame->swap = nr;
	slot->pfn = frame_pfn(swap->frames, frame);
}

int swap_cache_add(struct swap *swap, struct frame *frame)
{
	uint32_t slot;
	int err = slot_alloc(swap, &slot);

	if (!err)
		cache_link(swap, slot, frame);
	return err;
}

void swap_cache_insert(struct swap *swap, uint32_t slot, struct frame *frame)
{
	cache_link(swap, slot, frame);
}

void swap_cache_remove(struct swap *swap, struct frame *frame)
{
	struct swap_slot *slot = used_slot(swap, frame->swap);

	SP_ASSERT((frame->flags & (FRAME_LOCKED | FRAME_SWAPCACHE)) ==
		  (FRAME_LOCKED | FRAME_SWAPCACHE));
	SP_ASSERT(slot->pfn == frame_pfn(swap->frames, frame));
	SP_ASSERT(!slot->count || slot->written);
	SP_ASSERT(frame->refcount > 1);
	slot->pfn = PFN_NONE;
	frame->flags &= (uint16_t)~FRAME_SWAPCACHE;
	slot_free_if_unused(swap, frame->swap);
	frame->swap = 0;
	frame_put(swap->frames, frame);
}

void swap_cache_replace(struct swap *swap, struct frame *old, struct frame *new)
{
	struct swap_slot *slot = used_slot(swap, old->swap);

	SP_ASSERT(old->flags & new->flags & FRAME_LOCKED);
	SP_ASSERT(slot->pfn == frame_pfn(swap->frames, old));
	SP_ASSERT(old->refcount > 1);
	slot->pfn = frame_pfn(swap->frames, new);
	new->swap = old->swap;
	new->flags |= FRAME_SWAPCACHE;
	frame_get(new);
	old->swap = 0;
	old->flags &= (uint16_t)~FRAME_SWAPCACHE;
	frame_put(swap->frames, old);
}

struct frame *swap_cache_find(const struct swap *swap, uint32_t slot)
{
	uint32_t pfn = used_slot(swap, slot)->pfn;

	return pfn == PFN_NONE ? NULL : frame_of_pfn(swap->frames, pfn);
}

void swap_dup(struct swap *swap, uint32_t slot)
{
	used_slot(swap, slot)->count++;
}

void swap_drop(struct swap *swap, uint32_t slot)
{
	SP_ASSERT(used_slot(swap, slot)->count > 0);
	swap->slots[slot].count--;
	slot_free_if_unused(swap, slot);
}

int swap_write(struct swap *swap, struct frame *frame)
{
	struct swap_slot *slot = used_slot(swap, frame->swap);
	content_t copy;
	int err;

	SP_ASSERT(frame->flags & FRAME_SWAPCACHE);
	err = content_copy(&swap->frames->content, frame->content, &copy);
	if (err)
		return err;
	if (slot->written)
		content_free(&swap->frames->content, slot->content);
	slot->content = copy;
	slot->written = true;
	slot->unknown = frame->flags & FRAME_UNKNOWN;
	return 0;
}

int swap_read(struct swap *swap, uint32_t slot, struct frame *frame)
{
	const struct swap_slot *from = used_slot(swap, slot);
	content_t copy;
	int err;

	SP_ASSERT(from->written);
	err = content_copy(&swap->frames->content, from->content, &copy);
	if (err)
		return err;
	frame_set_content(swap->frames, frame, copy);
	if (from->unknown)
		frame->flags |= FRAME_UNKNOWN;
	return 0;
}

int swap_alloc_loaded(struct swap *swap, content_t content, bool unknown, uint32_t *slot)
{
	int err = slot_alloc(swap, slot);

	if (err)
		return err;
	swap->slots[*slot].content = content;
	swap->slots[*slot].written = true;
	swap->slots[*slot].unknown = unknown;
	return 0;
}

static const char *validate_slot(const struct swap *swap, uint32_t nr)
{
	const struct swap_slot *slot = &swap->slots[nr];
	const struct frame *frame;

	if (slot->pfn == PFN_NONE) {
		if (!slot->count)
			return "a slot is in use without an entry or a frame";
		if (!slot->written)
			return "a slot's contents are nowhere";
		return NULL;
	}
	if (slot->pfn >= swap->frames->nr_frames)
		return "a slot's frame does not exist";
	frame = frame_of_pfn(swap->frames, slot->pfn);
	if (!frame->refcount || !(frame->flags & FRAME_SWAPCACHE) || frame->swap != nr)
		return "a slot's frame does not know of it";
	return NULL;
}

const char *swap_validate(const struct swap *swap)
{
	uint32_t nr_used = 0, nr_cached = 0, nr_free = 0, nr_flagged = 0, i;

	for (i = 0; i < swap->nr_slots; i++) {
		const struct swap_slot *slot = &swap->slots[i];
		const char *wrong;

		if (!slot->used) {
			if (slot->count || slot->written)
				return "a free slot has entries or contents";
			continue;
		}
		nr_used++;
		nr_cached += slot->pfn != PFN_NONE;
		wrong = validate_slot(swap, i);
		if (wrong)
			return wrong;
	}
	if (nr_used != swap->nr_used)
		return "the count of used slots";
	for (i = swap->free; i != SWAP_NONE; i = swap->slots[i].pfn) {
		if (i >= swap->nr_slots || swap->slots[i].used)
			return "the free list holds a slot that is used or does not exist";
		if (++nr_free > swap->nr_slots)
			return "the free list is a circle";
	}
	if (nr_used + nr_free != swap->nr_slots)
		return "a free slot is not on the free list";
	for (i = 0; i < swap->frames->nr_frames; i++) {
		const struct frame *frame = frame_of_pfn(swap->frames, i);

		nr_flagged += frame->refcount && (frame->flags & FRAME_SWAPCACHE);
	}
	return nr_flagged == nr_cached ? NULL : "a frame claims to be in the swap cache";
}
