/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page faults, second part: a store to, or the unsharing of, a page that is mapped
 * read-only (do_wp_page()).
 *
 * In a private mapping the question is whether anybody else may still read the
 * page. FRAME_EXCLUSIVE answers it at once: it is set when a page is made for one
 * mm, and cleared by everything that shares it (fork, KSM, swap-out). Without it,
 * the page may be taken over if this mapping's reference is the only one, once an
 * unneeded place in the swap cache is given up: a parent gets its pages back after
 * the child's exit without copying. A taken-over page becomes this VMA's: its
 * anon_vma is set to the VMA's own.
 *
 * A KSM page is copied always, even if it is mapped once (K33): its content is
 * looked for in the stable tree, so it must never change.
 *
 * The copy is exclusive. A store gets it dirty and writable, an unshare read-only
 * and clean: the break of KSM (K32) is no store, and the next store will find an
 * exclusive page.
 *
 * Locks: as handle_fault(); the frame's for taking it over.
 */
#include "fault_internal.h"

#include <errno.h>

/* wp_can_reuse_anon_folio() */
static bool take_over(struct fault *f, struct frame *frame)
{
	bool ours;

	if (frame_is_ksm(frame))
		return false;
	if (frame->refcount > 1 + !!(frame->flags & FRAME_SWAPCACHE))
		return false;
	/* All of a large folio or nothing (K33a). */
	if (frame_is_large(frame) && !folio_is_alone(f->mm, f->addr, frame))
		return false;
	if (!frame_trylock(frame))
		return false;
	(void)frame_free_swap(f->vm, frame);
	ours = frame->refcount == 1;
	if (ours)
		frame->mapping = (uintptr_t)f->vma->anon_vma | MAPPING_ANON;
	frame_unlock(frame);
	return ours;
}

/* wp_page_copy(); old is NULL for the zero page. */
static int copy_page(struct fault *f, struct frame *old)
{
	struct vm *vm = f->vm;
	struct frame *new;
	pte_t pte;
	int err;

	err = anon_vma_prepare(f->vma);
	if (err)
		return err;
	new = fault_frame_alloc(vm);
	if (!new)
		return -ENOMEM;
	if (old) {
		err = frame_copy_content(&vm->frames, new, old);
		if (err) {
			frame_put(&vm->frames, new);
			return err;
		}
	} else if (pte_is_ksm_zero(f->pte) && vm->hooks.ksm_zero_page_gone) {
		vm->hooks.ksm_zero_page_gone(f->mm);
	}
	if (old && frame_is_ksm(old))
		event_emit(&vm->events, EV_cow_ksm, f->mm->id, f->addr,
			   frame_pfn(&vm->frames, old), frame_pfn(&vm->frames, new));
	pte = pte_of_frame(vm, new);
	if (!(f->flags & FAULT_UNSHARE))
		pte = pte_for_store(pte, f->vma);
	frame_add_new_anon(new, f->vma, f->addr);
	page_table_set(&f->mm->pt, f->addr, pte);
	if (old) {
		frame_remove_map(old, f->vma);
		frame_put_unmapped(vm, old);
	}
	return 0;
}

int fault_wp(struct fault *f)
{
	struct frame *frame = NULL;

	SP_ASSERT(pte_present(f->pte) && !(f->pte & PTE_WRITE));
	if (!pte_is_zero_page(f->pte))
		frame = frame_of_pte(f->vm, f->pte);
	if (f->vma->flags & VM_SHARED) {
		SP_ASSERT(frame);
		frame->flags |= FRAME_DIRTY;
		page_table_set(&f->mm->pt, f->addr, pte_for_store(f->pte | PTE_YOUNG, f->vma));
		return 0;
	}
	if (frame && frame_is_anon(frame) &&
	    ((frame->flags & FRAME_EXCLUSIVE) || take_over(f, frame))) {
		frame->flags |= FRAME_EXCLUSIVE;
		if (!(f->flags & FAULT_UNSHARE))
			page_table_set(&f->mm->pt, f->addr,
				       pte_for_store(f->pte | PTE_YOUNG, f->vma));
		return 0;
	}
	if (frame && frame_is_ksm(frame))
		f->vm->stat.cow_ksm++;
	return copy_page(f, frame);
}
