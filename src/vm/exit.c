/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The end of an address space.
 *
 * The order is Linux's (L8): users becomes 0, so that ksmd backs out; KSM is told
 * while everything is still mapped; all pages are unmapped under the read lock; then,
 * under the write lock, the VMAs leave their anon_vmas, and only after that do page
 * tables and VMAs go, because a reverse walk reaches them through the anon_vmas.
 *
 * The struct mm itself lives on while KSM has a slot for it.
 *
 * Nothing here can fail: no VMA is taken out of the tree one by one, which would
 * need memory; the whole tree goes at once.
 */
#include "fault_internal.h"

#include "fork.h"
#include "vma.h"

static void unmap_all(struct mm *mm)
{
	struct vma *vma;

	for_each_vma(vma, mm) {
		/* Only a huge PMD across its ends could make it fail. */
		if (zap_range(vma, vma->start, vma->end))
			SP_BUG("a huge page lies across the end of a VMA");
	}
}

static void free_vmas(struct mm *mm)
{
	struct vma *vma, *next;

	for_each_vma(vma, mm)
		anon_vma_unlink(vma);
	page_table_trim(&mm->pt, 0, TASK_SIZE);
	for (vma = vma_find(mm, 0); vma; vma = next) {
		next = vma_find(mm, vma->end);
		vma_free(vma);
	}
	range_tree_destroy(&mm->vmas);
	range_tree_init(&mm->vmas, &mm->vm->mem, mm->vm->config.concurrent_readers);
	mm->map_count = 0;
}

void mm_teardown(struct mm *mm)
{
	SP_ASSERT(mm->users == 1);
	mm->users = 0;
	if (mm->vm->hooks.ksm_exit)
		mm->vm->hooks.ksm_exit(mm);
	rwsem_read_lock(&mm->mmap_lock);
	unmap_all(mm);
	rwsem_read_unlock(&mm->mmap_lock);
	rwsem_write_lock(&mm->mmap_lock);
	free_vmas(mm);
	rwsem_write_unlock(&mm->mmap_lock);
}

void mm_exit(struct mm *mm)
{
	event_emit(&mm->vm->events, EV_exit, mm->id);
	mm_teardown(mm);
	mm_drop(mm);
}
