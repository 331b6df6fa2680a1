/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The walk of an anonymous page (R3), and the dispatch between kinds of pages.
 *
 * An anonymous page needs no address test: its index is looked up in its
 * anon_vma's interval tree, and the address follows from the VMA. That is what
 * a KSM page cannot have, because it stands for pages of many indexes (K4).
 *
 * A page that is mapped nowhere is not walked: its anon_vma may be gone. Only the
 * restore walk visits an unmapped page, and its migration entries keep the VMAs,
 * hence the anon_vma, alive.
 */
#include "rmap.h"

#include <errno.h>

#include "reclaim.h"

static void rmap_walk_anon(struct frame *frame, struct rmap_walk_control *rwc)
{
	struct anon_vma *anon_vma = frame_mapping(frame);
	uint64_t index = frame->index;
	struct interval_node *node;

	if (rwc->try_lock) {
		if (!anon_vma_trylock_read(anon_vma)) {
			rwc->contended = true;
			return;
		}
	} else {
		anon_vma_lock_read(anon_vma);
	}
	for (node = interval_first(&anon_vma->tree, index, index); node;
	     node = interval_next(node, index, index)) {
		struct vma *vma = avc_of_node(node)->vma;
		uint64_t addr = vma->start + ((index - vma->pgoff) << PAGE_SHIFT);

		if (rwc->invalid_vma && rwc->invalid_vma(vma, rwc->arg))
			continue;
		if (!rwc->rmap_one(frame, vma, addr, rwc->arg))
			break;
		if (rwc->done && rwc->done(frame))
			break;
	}
	anon_vma_unlock_read(anon_vma);
}

void rmap_walk(struct vm *vm, struct frame *frame, struct rmap_walk_control *rwc)
{
	SP_ASSERT(frame->flags & FRAME_LOCKED);
	rwc->contended = false;
	if (frame_is_ksm(frame)) {
		if (vm->hooks.rmap_walk_ksm)
			vm->hooks.rmap_walk_ksm(vm, frame, rwc);
	} else if (frame_is_anon(frame)) {
		rmap_walk_anon(frame, rwc);
	}
}

static void orphan_entry_met(struct mm *mm, uint64_t addr, pte_t pte)
{
	event_emit(&mm->vm->events, EV_orphan_migration_entry, mm->id, addr, pte_value(pte));
}

int rmap_init(struct vm *vm)
{
	struct rmap *rmap = mem_alloc(&vm->mem, sizeof(*rmap));

	if (!rmap)
		return -ENOMEM;
	rmap->measure_time = true;
	vm->rmap = rmap;
	vm->hooks.madvise_pageout = reclaim_madvise_pageout;
	vm->hooks.orphan_entry_met = orphan_entry_met;
	return 0;
}

void rmap_destroy(struct vm *vm)
{
	mem_free(&vm->mem, vm->rmap, sizeof(struct rmap));
	vm->rmap = NULL;
}
