/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Taking pages out of a page table: munmap, MADV_DONTNEED, exit.
 *
 *	frame		unmapped, its reference dropped; a dirty PTE of a file marks the
 *			page of the file dirty
 *	zero page	forgotten; one that KSM placed is counted off (K19)
 *	swap entry	dropped, with the last one the slot and an unmapped cached frame
 *	migration entry	dropped: it holds no reference and counts in no RSS. Linux does
 *			not wait for the migration here either
 *	huge PMD	as its 512 frames; split first when only partly in the range
 *
 * Only that split can fail, so it is done for both ends before anything is zapped.
 *
 * Locks: mmap_lock, for read or write.
 */
#include "fault_internal.h"

static void zap_present(struct vma *vma, uint64_t addr, pte_t pte)
{
	struct vm *vm = vma->mm->vm;
	struct frame *frame = frame_of_pte(vm, pte);

	page_table_set(&vma->mm->pt, addr, 0);
	if (!frame_is_anon(frame) && (pte & PTE_DIRTY))
		frame->flags |= FRAME_DIRTY;
	frame_remove_map(frame, vma);
	frame_put_unmapped(vm, frame);
}

static void zap_entry(struct vma *vma, uint64_t addr, pte_t pte)
{
	struct mm *mm = vma->mm;
	struct vm *vm = mm->vm;

	if (pte_present(pte) && !pte_is_zero_page(pte)) {
		zap_present(vma, addr, pte);
		return;
	}
	page_table_set(&mm->pt, addr, 0);
	if (pte_is_ksm_zero(pte) && vm->hooks.ksm_zero_page_gone)
		vm->hooks.ksm_zero_page_gone(mm);
	if (pte_is_swap(pte)) {
		mm->rss_swap--;
		swap_entry_put(vm, pte_value(pte));
	}
}

/* After this no huge PMD reaches over `addr`. */
static int split_at(struct mm *mm, uint64_t addr)
{
	return addr & ~HPAGE_PMD_MASK ? split_huge_mapping(mm, addr) : 0;
}

int zap_range(struct vma *vma, uint64_t start, uint64_t end)
{
	struct mm *mm = vma->mm;
	uint64_t addr = start;
	pte_t pte;
	bool huge;
	int err;

	SP_ASSERT(rwsem_held(&mm->mmap_lock));
	SP_ASSERT(page_aligned(start) && page_aligned(end));
	SP_ASSERT(start >= vma->start && end <= vma->end && start <= end);
	err = split_at(mm, start);
	if (!err)
		err = split_at(mm, end);
	if (err)
		return err;
	while (page_table_next(&mm->pt, &addr, end, &pte, &huge)) {
		if (huge)
			zap_huge(vma, addr, pte);
		else
			zap_entry(vma, addr, pte);
		addr += huge ? HPAGE_PMD_SIZE : PAGE_SIZE;
	}
	return 0;
}
