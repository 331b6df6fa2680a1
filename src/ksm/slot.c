/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The circle of registered mms that ksmd goes round (K1).
 *
 * A slot is made when an mm first asks for merging, or is forked from one that did, and keeps
 * the mm's memory (mm->count) alive. Where it joins decides when it is scanned: just before the
 * cursor, so in the next pass, to let the area settle; but at the tail while run is 2, for the
 * unmerge that goes round then must meet it (K14).
 *
 * Exit (L8) frees the slot at once only if ksmd has no interest in it. With items, or under the
 * cursor, it stays for ksmd to find that the mm has no users: directly behind the
 * cursor, so soon. Until then its items count as before (M4).
 *
 * Locks: the circle belongs to the machine's thread (ksm_mmlist_lock of Linux).
 */
#include <errno.h>

#include "ksm_internal.h"

int slot_enter(struct ksm *ksm, struct mm *mm)
{
	struct ksm_mm_slot *slot = pool_alloc(&ksm->slot_pool);
	struct ksm_mm_slot *next;

	if (!slot)
		return -ENOMEM;
	SP_ASSERT(!mm->ksm_slot);
	slot->mm = mm;
	next = ksm->knobs.run == KSM_RUN_UNMERGE ? &ksm->mm_head : ksm->scan.mm_slot;
	cds_list_add_tail(&slot->link, &next->link);
	mm->ksm_slot = slot;
	mm->flags |= MMF_VM_MERGEABLE;
	mm_grab(mm);
	event_emit(&ksm->vm->events, EV_ksm_enter, mm->id);
	return 0;
}

void slot_free(struct ksm *ksm, struct ksm_mm_slot *slot)
{
	struct mm *mm = slot->mm;

	SP_ASSERT(!slot->rmap_list);
	cds_list_del(&slot->link);
	mm->ksm_slot = NULL;
	mm->flags &= ~(uint32_t)MMF_VM_MERGEABLE;
	pool_free(&ksm->slot_pool, slot);
	mm_drop(mm);
}

/*
 * The child's counts are copies of the parent's, zero pages that it does not get included (K38,
 * V8).
 */
int ksm_hook_fork(struct mm *child, struct mm *parent)
{
	struct ksm *ksm = ksm_of(parent->vm);

	if (!(parent->flags & MMF_VM_MERGEABLE)) {
		/*
		 * A child that could not be registered, forked again: its zero pages are
		 * copied, but not counted.
		 */
		ksm->zero_leaked |= child->ksm_zero_pages != 0;
		return 0;
	}
	child->ksm_merging_pages = 0;
	child->ksm_rmap_items = 0;
	ksm->count.ksm_zero_pages += child->ksm_zero_pages;
	/* Best effort: a child that cannot be registered is a child all the same. */
	(void)slot_enter(ksm, child);
	return 0;
}

void ksm_hook_exit(struct mm *mm)
{
	struct ksm *ksm = ksm_of(mm->vm);
	struct ksm_mm_slot *slot = mm->ksm_slot;

	ksm->zero_leaked |= mm->ksm_zero_leaked != 0;
	if (!(mm->flags & MMF_VM_MERGEABLE))
		return;
	if (slot && slot != ksm->scan.mm_slot) {
		if (slot->rmap_list) {
			cds_list_move(&slot->link, &ksm->scan.mm_slot->link);
		} else {
			mm->flags &= ~(uint32_t)MMF_VM_MERGE_ANY;
			slot_free(ksm, slot);
		}
	}
	event_emit(&ksm->vm->events, EV_ksm_exit, mm->id);
}

void ksm_hook_zero_page_gone(struct mm *mm)
{
	mm->ksm_zero_pages--;
	ksm_of(mm->vm)->count.ksm_zero_pages--;
}
