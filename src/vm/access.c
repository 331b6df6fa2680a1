/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the CPU does on a load or a store: look into the page table, and fault only
 * when that does not do. And looking at an entry without touching it.
 *
 * Almost every access of a scenario finds a present entry with the permission it
 * needs: that costs the lock, the search for the VMA and the four levels.
 *
 * Permissions are the VMA's, since entries keep no protection of their own apart
 * from PTE_WRITE. As on x86, anything that is accessible at all can be read.
 *
 * Locks: vm_access() takes mmap_lock for read; vm_pte() wants it held, or nobody
 * else at work.
 */
#include "fault_internal.h"

#include <errno.h>

/* The entry serves the access: true, with the accessed and dirty bits set. */
static bool access_mapped(struct mm *mm, uint64_t addr, bool write, struct frame **ret)
{
	pte_t wanted = PTE_YOUNG | (write ? PTE_DIRTY : 0);
	const pte_t *entry;
	uint32_t pfn;
	pte_t pte;
	bool huge;

	entry = page_table_find(&mm->pt, addr, &huge);
	if (!entry)
		return false;
	pte = *entry;
	if (!pte_present(pte) || (write && !(pte & PTE_WRITE)))
		return false;
	pfn = pte_value(pte);
	if (huge)
		pfn += (uint32_t)((addr & ~HPAGE_PMD_MASK) >> PAGE_SHIFT);
	*ret = frame_of_pfn(&mm->vm->frames, pfn);
	if ((pte & wanted) == wanted)
		return true;
	if (huge)
		page_table_set_huge(&mm->pt, addr & HPAGE_PMD_MASK, pte | wanted);
	else
		page_table_set(&mm->pt, addr, pte | wanted);
	return true;
}

int vm_access(struct mm *mm, uint64_t addr, bool write, struct frame **ret)
{
	uint64_t needed = write ? (uint64_t)VM_WRITE : VM_ACCESS_FLAGS;
	struct vma *vma;
	int err = 0;

	rwsem_read_lock(&mm->mmap_lock);
	vma = vma_lookup(mm, addr);
	if (!vma || !(vma->flags & needed))
		err = -EFAULT;
	while (!err && !access_mapped(mm, addr, write, ret))
		err = handle_fault(vma, addr, write ? FAULT_WRITE : 0);
	rwsem_read_unlock(&mm->mmap_lock);
	return err;
}

pte_t vm_pte(const struct mm *mm, uint64_t addr)
{
	const pte_t *entry;
	bool huge;

	if (addr >= TASK_SIZE)
		return 0;
	entry = page_table_find(&mm->pt, addr, &huge);
	if (!entry)
		return 0;
	if (!huge)
		return *entry;
	return *entry + (((addr & ~HPAGE_PMD_MASK) >> PAGE_SHIFT) << PTE_VALUE_SHIFT);
}
