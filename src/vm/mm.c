/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Address spaces: creation, and the end of the last reference.
 *
 * What a process does with its mm is in mmap.c and its neighbours; how an mm begins as
 * a copy of another, and how it is emptied, is in fork.c. Here an mm is empty both times.
 *
 *	mm_create		users 1, count 1
 *	mm_grab, mm_drop	a ksm_mm_slot comes and goes
 *	mm_exit (fork.c)	users 0, empty, one mm_drop
 *
 * An exited mm stays on vm->mms until the last count goes: who walks that list looks at users.
 */
#include "mm.h"

#include <errno.h>

/*
 * Where Linux puts it for a process without address space randomisation: the stack's
 * smallest gap, 128 MiB, below the top.
 */
#define MMAP_BASE (TASK_SIZE - (UINT64_C(128) << 20))

int mm_create(struct vm *vm, struct mm **ret)
{
	struct mm *mm = pool_alloc(&vm->mm_pool);

	if (!mm)
		return -ENOMEM;
	mm->vm = vm;
	mm->id = ++vm->nr_mms_created;
	mm->users = 1;
	mm->count = 1;
	mm->mmap_base = MMAP_BASE;
	rwsem_init(&mm->mmap_lock, RANK_mmap_lock, vm->config.region != NULL);
	range_tree_init(&mm->vmas, &vm->mem, vm->config.concurrent_readers);
	page_table_init(&mm->pt, &vm->table_pool);
	cds_list_add_tail(&mm->link, &vm->mms);
	*ret = mm;
	return 0;
}

void mm_grab(struct mm *mm)
{
	SP_ASSERT(mm->count > 0);
	mm->count++;
}

void mm_drop(struct mm *mm)
{
	SP_ASSERT(mm->count > 0);
	if (--mm->count)
		return;
	SP_ASSERT(!mm->users && !mm->map_count);
	cds_list_del(&mm->link);
	page_table_destroy(&mm->pt);
	range_tree_destroy(&mm->vmas);
	rwsem_destroy(&mm->mmap_lock);
	pool_free(&mm->vm->mm_pool, mm);
}
