/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fork: a child with copies of the parent's VMAs and page table entries.
 *
 * VMAs with VM_DONTCOPY are left out; those with VM_WIPEONFORK come without pages
 * and without an anon_vma. Locked VMAs are unlocked in the child. The anon_vmas of
 * the others are linked or added as A6 says.
 *
 * Entries are copied only where a fault could not bring them back: in VMAs that
 * have an anon_vma. So pages of a shared or never written file mapping, and zero
 * pages of a VMA that was only read, are left to the child's faults.
 *
 *	anonymous page	mapped read-only by both, exclusive no more; KSM pages too (M4)
 *	file page	mapped by both
 *	zero page	copied, also one that KSM placed
 *	swap entry	copied, shared from now on
 *	migration entry	copied; in both it will come back read-only
 *
 * The child's count of KSM zero pages starts as the parent's, whether or not they
 * are copied: Linux copies struct mm first and the VMAs later (K38). What it counted
 * too much is kept in ksm_zero_leaked, so that the rest can be verified.
 *
 * Locks: the parent's mmap_lock for write, and inside it the child's. The parent's
 * VMAs do not change, but its entries become read-only.
 */
#include "fault_internal.h"

#include <errno.h>

#include "fork.h"
#include "vma.h"

/* copy_present_ptes(). The child's table is prepared. */
static void copy_present(struct vma *child, struct vma *parent, uint64_t addr, pte_t pte)
{
	if (pte_is_ksm_zero(pte))
		child->mm->ksm_zero_leaked--;
	if (!pte_is_zero_page(pte)) {
		struct frame *frame = frame_of_pte(child->mm->vm, pte);

		frame_get(frame);
		if (frame_is_anon(frame))
			frame->flags &= (uint16_t)~FRAME_EXCLUSIVE;
		frame_add_map(frame, child);
	}
	if (!(parent->flags & VM_SHARED) && (pte & PTE_WRITE)) {
		pte &= ~PTE_WRITE;
		page_table_set(&parent->mm->pt, addr, pte);
	}
	if (parent->flags & VM_SHARED)
		pte &= ~PTE_DIRTY;
	page_table_set(&child->mm->pt, addr, pte & ~PTE_YOUNG);
}

/* copy_nonpresent_pte(). The child's table is prepared. */
static void copy_nonpresent(struct vma *child, struct vma *parent, uint64_t addr, pte_t pte)
{
	pte_t shared = pte & ~(PTE_EXCLUSIVE | PTE_WRITE);

	if (pte_is_swap(pte)) {
		swap_dup(&child->mm->vm->swap, pte_value(pte));
		child->mm->rss_swap++;
	}
	if (shared != pte)
		page_table_set(&parent->mm->pt, addr, shared);
	page_table_set(&child->mm->pt, addr, shared);
}

/* copy_page_range() */
static int copy_pages(struct vma *child, struct vma *parent)
{
	uint64_t addr = parent->start;
	pte_t pte;
	bool huge;
	int err;

	while (page_table_next(&parent->mm->pt, &addr, parent->end, &pte, &huge)) {
		if (huge) {
			err = copy_huge(child, parent, addr, pte);
			if (err)
				return err;
			addr += HPAGE_PMD_SIZE;
			continue;
		}
		err = page_table_prepare(&child->mm->pt, addr);
		if (err)
			return err;
		if (pte_present(pte))
			copy_present(child, parent, addr, pte);
		else
			copy_nonpresent(child, parent, addr, pte);
		addr += PAGE_SIZE;
	}
	return 0;
}

static int copy_vma(struct mm *child, struct vma *from)
{
	struct vma *vma;
	int err;

	err = range_tree_reserve(&child->vmas, 1);
	if (err)
		return err;
	vma = vma_alloc(child, from->start, from->end, from->pgoff,
			from->flags & ~(uint64_t)VM_LOCKED, from->file);
	if (!vma)
		return -ENOMEM;
	if (!(from->flags & VM_WIPEONFORK)) {
		err = anon_vma_fork(vma, from);
		if (err) {
			vma_free(vma);
			return err;
		}
	}
	vma_link(vma);
	if ((from->flags & VM_WIPEONFORK) || !from->anon_vma)
		return 0;
	return copy_pages(vma, from);
}

/* dup_mmap(). Both mmap_locks are held for write. */
static int copy_mm(struct mm *child, struct mm *parent)
{
	struct vm_hooks *hooks = &parent->vm->hooks;
	struct vma *vma;
	int err;

	child->mmap_base = parent->mmap_base;
	child->flags = parent->flags & MMF_VM_MERGE_ANY;
	if (hooks->ksm_fork) {
		/* What the hook finds in the child is what memcpy() left there. */
		child->ksm_merging_pages = parent->ksm_merging_pages;
		child->ksm_rmap_items = parent->ksm_rmap_items;
		child->ksm_zero_pages = parent->ksm_zero_pages;
		err = hooks->ksm_fork(child, parent);
		if (err) {
			child->ksm_zero_pages = 0;
			return err;
		}
		child->ksm_zero_leaked = child->ksm_zero_pages;
	}
	for_each_vma(vma, parent) {
		if (vma->flags & VM_DONTCOPY)
			continue;
		err = copy_vma(child, vma);
		if (err)
			return err;
	}
	return 0;
}

/* Nobody has seen the child yet. */
static void abandon(struct mm *child, const struct mm *parent)
{
	struct vm_hooks *hooks = &child->vm->hooks;

	/* Zero pages that the hook counted for the machine (K38), and that were not copied
	 * before the fork failed. */
	if ((parent->flags & MMF_VM_MERGEABLE) && hooks->ksm_zero_page_gone)
		for (; child->ksm_zero_leaked > 0; child->ksm_zero_leaked--)
			hooks->ksm_zero_page_gone(child);
	mm_teardown(child);
	mm_drop(child);
}

int mm_fork(struct mm *parent, struct mm **ret)
{
	struct mm *child;
	int err;

	err = mm_create(parent->vm, &child);
	if (err)
		return err;
	rwsem_write_lock(&parent->mmap_lock);
	rwsem_write_lock_nested(&child->mmap_lock, RANK_mmap_lock_nested);
	err = copy_mm(child, parent);
	rwsem_write_unlock(&child->mmap_lock);
	rwsem_write_unlock(&parent->mmap_lock);
	if (err) {
		abandon(child, parent);
		return err;
	}
	event_emit(&parent->vm->events, EV_fork, parent->id, child->id);
	*ret = child;
	return 0;
}
