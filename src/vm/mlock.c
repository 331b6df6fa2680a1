/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mlock() and munlock(), and populating, which mlock() ends with.
 *
 * Locking is a VM flag, and for each anonymous page mapped under it FRAME_MLOCKED, which
 * makes the page unevictable for everybody who maps it: one locked mapping protects a whole
 * KSM page (V9).
 *
 * When one of several locked mappings of a page goes, Linux decrements a count that it
 * admits to lose at times, and lets reclaim correct the outcome: a page that reclaim finds
 * in a locked VMA is marked again and kept. Here there is no count, and that correction is
 * the rule: munlock() and unmapping (mapcount.c) clear the mark, and reclaim restores it
 * before anything is unmapped. So a page is never evicted from under a lock, and a page
 * that no lock holds is never kept.
 *
 * Populating touches each page as the process would: with a store where private memory is
 * writable, so that it is copied now (a KSM page, a forked one, the zero page), else with a
 * load, if need be one that ignores permissions. PROT_NONE memory is not populated: mlock()
 * then fails, with the VMA locked.
 *
 * Locks: mmap_lock for write while VMAs change, for read while populating. Frames by the
 * one-thread rule.
 */
#include "mmap.h"

#include <errno.h>

#include "fault.h"

/* ---- Populating ---- */

static int populate_page(struct vma *vma, uint64_t addr, bool write)
{
	struct vm *vm = vma->mm->vm;
	pte_t pte = vm_pte(vma->mm, addr);
	struct frame *frame;

	if (!pte_present(pte) || (write && !(pte & PTE_WRITE))) {
		int err = handle_fault(vma, addr, write ? FAULT_WRITE : 0);

		if (err)
			return err;
		pte = vm_pte(vma->mm, addr);
	}
	if (!pte_present(pte) || pte_is_zero_page(pte))
		return 0;
	frame = frame_of_pfn(&vm->frames, pte_value(pte));
	if (write && !(pte & PTE_DIRTY))
		frame->flags |= FRAME_DIRTY;
	frame->flags |= FRAME_REFERENCED;
	return 0;
}

int vma_populate(struct vma *vma, uint64_t start, uint64_t end)
{
	bool write = (vma->flags & (VM_WRITE | VM_SHARED)) == VM_WRITE;

	SP_ASSERT(rwsem_held(&vma->mm->mmap_lock));
	if (!(vma->flags & VM_ACCESS_FLAGS))
		return -EFAULT;
	for (uint64_t addr = start; addr < end; addr += PAGE_SIZE) {
		int err = populate_page(vma, addr, write);

		if (err)
			return err;
	}
	return 0;
}

int vm_populate(struct mm *mm, uint64_t start, uint64_t end)
{
	struct vma *vma;
	int err = 0;

	rwsem_read_lock(&mm->mmap_lock);
	for_each_vma_range(vma, mm, start, end) {
		err = vma_populate(vma, MAX(start, vma->start), MIN(end, vma->end));
		if (err)
			break;
	}
	rwsem_read_unlock(&mm->mmap_lock);
	return err;
}

/* ---- Locking ---- */

static void mark_frames(struct vma *vma, uint64_t start, uint64_t end, bool lock)
{
	struct frames *frames = &vma->mm->vm->frames;
	uint64_t addr;
	pte_t pte;
	bool huge;

	for (addr = start; page_table_next(&vma->mm->pt, &addr, end, &pte, &huge);
	     addr += huge ? HPAGE_PMD_SIZE : PAGE_SIZE) {
		if (!pte_present(pte) || pte_is_zero_page(pte))
			continue;
		for (uint32_t i = 0; i < (huge ? HPAGE_PMD_NR : 1); i++) {
			struct frame *frame = frame_of_pfn(frames, pte_value(pte) + i);

			if (!frame_is_anon(frame))
				continue;
			if (lock)
				frame->flags |= FRAME_MLOCKED;
			else
				frame->flags &= (uint16_t)~FRAME_MLOCKED;
		}
	}
}

static int set_locked(struct mm *mm, uint64_t addr, uint64_t end, bool lock)
{
	while (addr < end) {
		struct vma *vma = vma_lookup(mm, addr);
		uint64_t flags, part_end;
		int err;

		if (!vma)
			return -ENOMEM;
		flags = lock ? vma->flags | VM_LOCKED : vma->flags & ~(uint64_t)VM_LOCKED;
		part_end = MIN(end, vma->end);
		if (flags != vma->flags) {
			err = vma_modify_flags(vma, addr, part_end, flags, &vma);
			if (err)
				return err;
			mark_frames(vma, addr, part_end, lock);
		}
		addr = vma->end;
	}
	return 0;
}

int vm_mlock(struct mm *mm, uint64_t addr, uint64_t length, bool lock)
{
	uint64_t end;
	int err;

	length = (length + (addr & ~PAGE_MASK) + PAGE_SIZE - 1) & PAGE_MASK;
	addr &= PAGE_MASK;
	end = addr + length;
	if (end < addr)
		return -EINVAL;
	rwsem_write_lock(&mm->mmap_lock);
	err = set_locked(mm, addr, end, lock);
	rwsem_write_unlock(&mm->mmap_lock);
	/* Nothing asked for is nothing to fail at, whatever lies at addr. */
	if (err || !lock || addr == end)
		return err;
	err = vm_populate(mm, addr, end);
	if (err == -EFAULT)
		return -ENOMEM;
	return err == -ENOMEM ? -EAGAIN : err;
}
