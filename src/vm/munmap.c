/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * munmap(): splits, then pages, then VMAs.
 *
 * The order matters: once the VMAs at both ends are split, everything else concerns whole
 * VMAs and needs only tree nodes, which are reserved; no huge page crosses the ends either.
 * So a failure leaves all mapped.
 *
 * The map count may pass its limit for a moment, so that a process at its limit can give
 * memory back; only a hole in the middle of one VMA, which would leave one VMA more than
 * before, is refused.
 *
 * Locks: mmap_lock for write. A VMA leaves its anon_vmas before its page tables can go
 * (page_table.h), but after its pages, which need them.
 */
#include "munmap.h"

#include <errno.h>

#include "fault.h"
#include "mmap.h"

int munmap_split(struct mm *mm, uint64_t start, uint64_t end, unsigned int *nr)
{
	struct vma *vma = vma_find(mm, start);
	int err;

	SP_ASSERT(rwsem_held(&mm->mmap_lock));
	*nr = 0;
	if (!vma || vma->start >= end)
		return 0;
	if (vma->start < start) {
		if (end < vma->end && mm->map_count >= mm->vm->config.max_map_count)
			return -ENOMEM;
		err = vma_split_nocheck(vma, start, true, NULL);
		if (err)
			return err;
	}
	for_each_vma_range(vma, mm, start, end) {
		if (vma->end > end) {
			err = vma_split_nocheck(vma, end, false, NULL);
			if (err)
				return err;
		}
		++*nr;
	}
	return 0;
}

int munmap_whole(struct mm *mm, uint64_t start, uint64_t end)
{
	struct vma *vma;
	int err;

	for_each_vma_range(vma, mm, start, end) {
		SP_ASSERT(vma->start >= start && vma->end <= end);
		err = zap_range(vma, vma->start, vma->end);
		if (err)
			return err;
	}
	while ((vma = vma_find(mm, start)) && vma->start < end) {
		anon_vma_unlink(vma);
		vma_unlink(vma);
		vma_free(vma);
	}
	page_table_trim(&mm->pt, start, end);
	return 0;
}

int vm_munmap_locked(struct mm *mm, uint64_t addr, uint64_t length)
{
	uint64_t end;
	unsigned int nr;
	int err;

	if (!page_aligned(addr) || addr > TASK_SIZE || length > TASK_SIZE - addr || !length)
		return -EINVAL;
	end = (addr + length + PAGE_SIZE - 1) & PAGE_MASK;
	err = munmap_split(mm, addr, end, &nr);
	if (err || !nr)
		return err;
	err = range_tree_reserve(&mm->vmas, nr);
	return err ? err : munmap_whole(mm, addr, end);
}

int vm_munmap(struct mm *mm, uint64_t addr, uint64_t length)
{
	int err;

	rwsem_write_lock(&mm->mmap_lock);
	err = vm_munmap_locked(mm, addr, length);
	rwsem_write_unlock(&mm->mmap_lock);
	return err;
}
