/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page faults, first part: deciding what kind of fault it is, and the faults on an
 * address where nothing is mapped yet.
 *
 *	nothing, anonymous VMA:	load: the zero page; store: a new page; either: a huge
 *				page where the VMA allows one (thp.c)
 *	nothing, file VMA:	load, or shared: the page cache's frame; private store:
 *				a copy of it
 *	swap entry:		swap_in.c
 *	present, read-only:	cow.c
 *	migration entry:	never resolves, see below
 *
 * A load of the 4 KiB zero page gives the VMA no anon_vma, any other anonymous
 * fault does (A3); whether a VMA has one decides later whether mremap re-bases it.
 *
 * In Linux a fault on a migration entry waits until the migration has ended. A
 * machine has one thread, so whoever meets one knows that no migration is under way
 * and that none will ever restore it: the wait would be for ever (V2), and that is
 * what -EDEADLK says.
 *
 * Left out: fault-around and readahead. A load maps one page of a file where Linux
 * may map up to 16 that are in the page cache; only RSS and the number of faults
 * can tell.
 *
 * Locks: mmap_lock, for read or write, held by the caller.
 */
#include "fault_internal.h"

#include <errno.h>

/* do_anonymous_page() */
static int fault_anonymous(struct fault *f)
{
	struct vm *vm = f->vm;
	struct frame *frame;
	int err;

	err = page_table_prepare(&f->mm->pt, f->addr);
	if (err)
		return err;
	if (!(f->flags & FAULT_WRITE)) {
		page_table_set(&f->mm->pt, f->addr,
			       pte_of_frame(vm, vm->frames.zero) | PTE_SPECIAL);
		return 0;
	}
	err = anon_vma_prepare(f->vma);
	if (err)
		return err;
	frame = fault_frame_alloc(vm);
	if (!frame)
		return -ENOMEM;
	frame_add_new_anon(frame, f->vma, f->addr);
	page_table_set(&f->mm->pt, f->addr, pte_for_store(pte_of_frame(vm, frame), f->vma));
	return 0;
}

/* do_cow_fault(): a store to a page of a private file mapping. */
static int fault_file_cow(struct fault *f)
{
	struct vm *vm = f->vm;
	struct frame *cache, *copy;
	int err;

	err = anon_vma_prepare(f->vma);
	if (err)
		return err;
	err = file_page(f->vma->file, vma_linear_index(f->vma, f->addr), &cache);
	if (err)
		return err;
	err = page_table_prepare(&f->mm->pt, f->addr);
	if (err)
		return err;
	copy = fault_frame_alloc(vm);
	if (!copy)
		return -ENOMEM;
	err = frame_copy_content(&vm->frames, copy, cache);
	if (err) {
		frame_put(&vm->frames, copy);
		return err;
	}
	frame_add_new_anon(copy, f->vma, f->addr);
	page_table_set(&f->mm->pt, f->addr, pte_for_store(pte_of_frame(vm, copy), f->vma));
	return 0;
}

/* do_read_fault(), do_shared_fault() */
static int fault_file_map(struct fault *f)
{
	struct vm *vm = f->vm;
	struct vma *vma = f->vma;
	struct frame *cache;
	pte_t pte;
	int err;

	err = file_page(vma->file, vma_linear_index(vma, f->addr), &cache);
	if (err)
		return err;
	err = page_table_prepare(&f->mm->pt, f->addr);
	if (err)
		return err;
	pte = pte_of_frame(vm, cache);
	if (f->flags & FAULT_WRITE) {
		pte = pte_for_store(pte, vma);
		cache->flags |= FRAME_DIRTY;
	} else if ((vma->flags & (VM_SHARED | VM_WRITE)) == (VM_SHARED | VM_WRITE) &&
		   vma->file->shmem) {
		/* Nobody wants to know when shared memory is first written to
		 * (vma_wants_writenotify()), so a load makes it writable. */
		pte |= PTE_WRITE;
	}
	frame_get(cache);
	frame_add_map(cache, vma);
	page_table_set(&f->mm->pt, f->addr, pte);
	return 0;
}

/* handle_pte_fault() */
static int fault_pte(struct fault *f)
{
	const pte_t *entry = page_table_find(&f->mm->pt, f->addr, NULL);
	pte_t pte;

	f->pte = entry ? *entry : 0;
	if (!f->pte) {
		if (vma_is_anonymous(f->vma))
			return fault_anonymous(f);
		if ((f->flags & FAULT_WRITE) && !(f->vma->flags & VM_SHARED))
			return fault_file_cow(f);
		return fault_file_map(f);
	}
	if (pte_is_migration(f->pte)) {
		if (f->vm->hooks.orphan_entry_met)
			f->vm->hooks.orphan_entry_met(f->mm, f->addr, f->pte);
		return -EDEADLK;
	}
	if (pte_is_swap(f->pte))
		return fault_swap(f);
	pte = f->pte | PTE_YOUNG;
	if (f->flags & (FAULT_WRITE | FAULT_UNSHARE)) {
		if (!(pte & PTE_WRITE))
			return fault_wp(f);
		if (f->flags & FAULT_WRITE)
			pte |= PTE_DIRTY;
	}
	if (pte != f->pte)
		page_table_set(&f->mm->pt, f->addr, pte);
	return 0;
}

/* __handle_mm_fault() */
static int fault_pmd(struct fault *f)
{
	struct page_table *pt = &f->mm->pt;
	const pte_t *entry;
	bool huge;
	int err;

	entry = page_table_find(pt, f->addr, &huge);
	if (huge) {
		pte_t pmd = *entry;

		if ((f->flags & (FAULT_WRITE | FAULT_UNSHARE)) && !(pmd & PTE_WRITE)) {
			err = fault_huge_wp(f, pmd);
			if (err != FAULT_FALLBACK)
				return err;
		} else {
			pmd |= PTE_YOUNG | (f->flags & FAULT_WRITE ? PTE_DIRTY : 0);
			page_table_set_huge(pt, f->addr & HPAGE_PMD_MASK, pmd);
			return 0;
		}
	} else if (!page_table_has_ptes(pt, f->addr) && thp_allowed(f->vma, f->addr)) {
		err = fault_huge_anonymous(f);
		if (err != FAULT_FALLBACK)
			return err;
	}
	return fault_pte(f);
}

int handle_fault(struct vma *vma, uint64_t addr, unsigned int flags)
{
	struct fault f = {
		.vm = vma->mm->vm,
		.mm = vma->mm,
		.vma = vma,
		.addr = addr & PAGE_MASK,
		.flags = flags,
	};
	int err;

	SP_ASSERT(rwsem_held(&vma->mm->mmap_lock));
	SP_ASSERT(addr >= vma->start && addr < vma->end);
	SP_ASSERT((flags & (FAULT_WRITE | FAULT_UNSHARE)) != (FAULT_WRITE | FAULT_UNSHARE));
	/* There is nothing to unshare where every mapping is meant to be shared. */
	if (vma->flags & VM_SHARED)
		f.flags &= ~(unsigned int)FAULT_UNSHARE;
	err = fault_pmd(&f);
	f.vm->stat.pgfault++;
	event_emit(&f.vm->events, EV_page_fault, f.mm->id, f.addr, flags, (uint64_t)(int64_t)err);
	return err;
}
