/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mprotect(): new access flags for VMAs, and what page table entries may keep.
 *
 * VMAs are changed one after the other; a hole or a failure stops it, with what came before
 * done. Splits and merges are vma_modify_flags()'s.
 *
 * Page table entries. Taking write access away makes entries read-only. Giving it back
 * makes those writable at once that a fault would only have to mark so: private anonymous
 * pages that are exclusive to this mm, and pages of shared mappings. PROT_NONE stays in the
 * VMA and does not touch PTE_PRESENT (page_table.h). A writable migration entry loses
 * PTE_WRITE whatever the change is, and faults for it later.
 *
 * VM_ACCOUNT (A9): private memory that becomes writable is charged for good, unless it is
 * anonymous and never had a page; then making it read-only takes the charge back.
 *
 * Locks: takes mmap_lock for write.
 */
#include "mmap.h"

#include <errno.h>

#include "fault.h"

#define PROT_ALL (SP_PROT_READ | SP_PROT_WRITE | SP_PROT_EXEC)

static pte_t changed_pte(const struct vma *vma, pte_t pte)
{
	const struct frame *frame;

	if (pte_is_migration(pte) || !(vma->flags & VM_WRITE))
		return pte & ~PTE_WRITE;
	if (!pte_present(pte) || pte_is_zero_page(pte))
		return pte;
	if (vma->flags & VM_SHARED)
		return pte | PTE_WRITE;
	frame = frame_of_pfn(&vma->mm->vm->frames, pte_value(pte));
	return frame_is_anon(frame) && (frame->flags & FRAME_EXCLUSIVE) ? pte | PTE_WRITE : pte;
}

static void change_protection(struct vma *vma, uint64_t start, uint64_t end)
{
	struct page_table *pt = &vma->mm->pt;
	uint64_t addr;
	pte_t pte;
	bool huge;

	for (addr = start; page_table_next(pt, &addr, end, &pte, &huge);
	     addr += huge ? HPAGE_PMD_SIZE : PAGE_SIZE) {
		pte_t changed = changed_pte(vma, pte);

		if (changed == pte)
			continue;
		if (huge)
			page_table_set_huge(pt, addr, changed);
		else
			page_table_set(pt, addr, changed);
	}
}

/* [start, end) of the VMA; *vmap gets the VMA that it lies in afterwards. */
static int protect_vma(struct vma **vmap, uint64_t start, uint64_t end, uint64_t new_flags)
{
	struct vma *vma = *vmap;
	uint64_t old_flags = vma->flags;
	int err;

	if (new_flags == old_flags)
		return 0;
	if (new_flags & VM_WRITE) {
		if (!(old_flags & (VM_ACCOUNT | VM_WRITE | VM_SHARED | VM_NORESERVE)))
			new_flags |= VM_ACCOUNT;
	} else if ((old_flags & VM_ACCOUNT) && vma_is_anonymous(vma) && !vma->anon_vma) {
		new_flags &= ~(uint64_t)VM_ACCOUNT;
	}
	err = vma_modify_flags(vma, start, end, new_flags, &vma);
	if (err)
		return err;
	*vmap = vma;
	change_protection(vma, start, end);
	/*
	 * Locked private memory that becomes writable is copied now rather than at the
	 * first store, as far as there are frames.
	 */
	if ((new_flags & VM_WRITE) && (old_flags & VM_LOCKED) &&
	    !(old_flags & (VM_WRITE | VM_SHARED)))
		(void)vma_populate(vma, start, end);
	return 0;
}

static int mprotect_locked(struct mm *mm, uint64_t addr, uint64_t end, int prot)
{
	while (addr < end) {
		struct vma *vma = vma_lookup(mm, addr);
		uint64_t new_flags;
		int err;

		if (!vma)
			return -ENOMEM;
		new_flags = (vma->flags & ~VM_ACCESS_FLAGS) | vm_access_flags(prot);
		if ((new_flags & VM_WRITE) && !(new_flags & VM_MAYWRITE))
			return -EACCES;
		err = protect_vma(&vma, addr, MIN(end, vma->end), new_flags);
		if (err)
			return err;
		addr = vma->end;
	}
	return 0;
}

int vm_mprotect(struct mm *mm, uint64_t addr, uint64_t length, int prot)
{
	uint64_t end;
	int err;

	if (!page_aligned(addr))
		return -EINVAL;
	if (!length)
		return 0;
	end = addr + ((length + PAGE_SIZE - 1) & PAGE_MASK);
	if (end <= addr)
		return -ENOMEM;
	if (prot & ~PROT_ALL)
		return -EINVAL;
	rwsem_write_lock(&mm->mmap_lock);
	err = mprotect_locked(mm, addr, end, prot);
	rwsem_write_unlock(&mm->mmap_lock);
	return err;
}
