/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Breaking: KSM pages become private copies again (K26, K32, K34, K35).
 *
 * break_ksm() looks for the next page in a range of a VMA that KSM has placed and faults it
 * with UNSHARE, which copies, until there is none left: a KSM page, a KSM-placed zero page, or
 * a migration entry of a KSM page, which the fault waits for. Swap entries are not examined,
 * although one may bring a KSM page back (K32, W4).
 *
 * Breaking changes page tables only. The rmap_items of the range are left to ksmd's next visit,
 * and the counters with them (K34); unmerge_all() is the exception, it goes round all mms and
 * frees them.
 *
 * Locks: break_ksm() wants mmap_lock held by its caller, for read or write; the others take it.
 */
#include <errno.h>

#include "ksm_internal.h"

static bool placed_by_ksm(const struct frames *frames, pte_t pte)
{
	if (pte_is_zero_page(pte))
		return pte_is_ksm_zero(pte);
	if (!pte_present(pte) && !pte_is_migration(pte))
		return false;
	return frame_is_ksm(frame_of_pfn(frames, pte_value(pte)));
}

/* The first such page in [*addr, end). */
static bool find_page(const struct mm *mm, uint64_t *addr, uint64_t end)
{
	bool huge;
	pte_t pte;

	while (page_table_next(&mm->pt, addr, end, &pte, &huge)) {
		if (!huge && placed_by_ksm(&mm->vm->frames, pte))
			return true;
		*addr += huge ? HPAGE_PMD_SIZE : PAGE_SIZE;
	}
	return false;
}

int break_ksm(struct vma *vma, uint64_t start, uint64_t end)
{
	uint64_t addr = start;
	int err;

	while (!mm_exited(vma->mm) && find_page(vma->mm, &addr, end)) {
		err = handle_fault(vma, addr, FAULT_UNSHARE | FAULT_REMOTE);
		/* A truncated file took its private copies along: no KSM page is left there. */
		if (err == -EFAULT)
			return 0;
		if (err)
			return err;
	}
	return 0;
}

void break_cow(struct ksm_rmap_item *item)
{
	struct mm *mm = item->mm;
	uint64_t addr = item_address(item);
	struct vma *vma;

	anon_vma_put(item->anon_vma);
	item->anon_vma = NULL;
	item->index = 0;
	rwsem_read_lock(&mm->mmap_lock);
	vma = find_mergeable_vma(mm, addr);
	/* Out of memory leaves a KSM page without an item; the next pass finds it. */
	if (vma)
		(void)break_ksm(vma, addr, addr + PAGE_SIZE);
	rwsem_read_unlock(&mm->mmap_lock);
}

static int break_mm(struct mm *mm)
{
	struct vma *vma;
	int err;

	if (mm_exited(mm))
		return 0;
	for_each_vma(vma, mm) {
		if (!(vma->flags & VM_MERGEABLE) || !vma->anon_vma)
			continue;
		err = break_ksm(vma, vma->start, vma->end);
		if (err)
			return err;
	}
	return 0;
}

/*
 * run = 2 (K35). The cursor goes round, so that an mm forked meanwhile would be met, and ends
 * at the sentinel.
 */
int unmerge_all(struct ksm *ksm)
{
	struct ksm_mm_slot *slot;
	int err;

	ksm->scan.mm_slot = slot_next(&ksm->mm_head);
	while ((slot = ksm->scan.mm_slot) != &ksm->mm_head) {
		struct mm *mm = slot->mm;

		rwsem_read_lock(&mm->mmap_lock);
		err = break_mm(mm);
		if (!err)
			items_free_from(ksm, &slot->rmap_list);
		rwsem_read_unlock(&mm->mmap_lock);
		if (err) {
			ksm->scan.mm_slot = &ksm->mm_head;
			unstable_orphan_all(ksm);
			return err;
		}
		ksm->scan.mm_slot = slot_next(slot);
		if (mm_exited(mm)) {
			mm->flags &= ~(uint32_t)MMF_VM_MERGE_ANY;
			slot_free(ksm, slot);
		}
	}
	/* Some may be mapped where nobody looks (K35, V3): they stay. */
	(void)nodes_remove_all(ksm);
	ksm->scan.seqnr = 0;
	return 0;
}
