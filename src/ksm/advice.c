/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who may be merged: MADV_MERGEABLE and MADV_UNMERGEABLE, PR_SET_MEMORY_MERGE, new mappings
 * under it, and what ksm_stat says of a process (K34, K36, K37, K40).
 *
 * Advice on an ineligible VMA is no error, it just has no effect; private file mappings are
 * eligible, for their copied pages (K36). The prctl sets the flag on VMAs as they are: unlike
 * madvise it neither splits nor merges any.
 *
 * Locks: mmap_lock for write, taken by vm/ around the hooks, by the prctl calls themselves.
 */
#include <errno.h>
#include <string.h>

#include "ksm_internal.h"

static bool compatible(uint64_t vm_flags)
{
	return !(vm_flags & (VM_SHARED | VM_MAYSHARE));
}

uint64_t ksm_hook_vma_flags(struct mm *mm, bool has_file, uint64_t vm_flags)
{
	(void)has_file;
	if (!(mm->flags & MMF_VM_MERGE_ANY) || !compatible(vm_flags))
		return vm_flags;
	/*
	 * ksmd forgets an mm in which it found nothing mergeable (K11). A failure only
	 * delays that to the next mapping.
	 */
	if (!(mm->flags & MMF_VM_MERGEABLE))
		(void)slot_enter(ksm_of(mm->vm), mm);
	return vm_flags | VM_MERGEABLE;
}

int ksm_hook_madvise(struct vma *vma, uint64_t start, uint64_t end, bool mergeable,
		     uint64_t *vm_flags)
{
	struct mm *mm = vma->mm;
	int err;

	if (mergeable) {
		if ((vma->flags & VM_MERGEABLE) || !compatible(vma->flags))
			return 0;
		if (!(mm->flags & MMF_VM_MERGEABLE)) {
			err = slot_enter(ksm_of(mm->vm), mm);
			if (err)
				return err;
		}
		*vm_flags |= VM_MERGEABLE;
		return 0;
	}
	if (!(*vm_flags & VM_MERGEABLE))
		return 0;
	if (vma->anon_vma) {
		err = break_ksm(vma, start, end);
		if (err)
			return err;
	}
	*vm_flags &= ~(uint64_t)VM_MERGEABLE;
	return 0;
}

static void set_flag_everywhere(struct mm *mm)
{
	struct vma *vma;

	for_each_vma(vma, mm) {
		if (compatible(vma->flags))
			vma->flags |= VM_MERGEABLE;
	}
}

static int enable_merge_any(struct mm *mm)
{
	int err;

	if (mm->flags & MMF_VM_MERGE_ANY)
		return 0;
	if (!(mm->flags & MMF_VM_MERGEABLE)) {
		err = slot_enter(ksm_of(mm->vm), mm);
		if (err)
			return err;
	}
	mm->flags |= MMF_VM_MERGE_ANY;
	set_flag_everywhere(mm);
	return 0;
}

/* All or nothing: after a failure everything is mergeable again, the broken pages too. */
static int disable_merge_any(struct mm *mm)
{
	struct vma *vma;
	int err;

	if (!(mm->flags & MMF_VM_MERGE_ANY))
		return 0;
	for_each_vma(vma, mm) {
		if (!(vma->flags & VM_MERGEABLE))
			continue;
		err = vma->anon_vma ? break_ksm(vma, vma->start, vma->end) : 0;
		if (err) {
			set_flag_everywhere(mm);
			return err;
		}
		vma->flags &= ~(uint64_t)VM_MERGEABLE;
	}
	mm->flags &= ~(uint32_t)MMF_VM_MERGE_ANY;
	return 0;
}

int ksm_set_memory_merge(struct mm *mm, unsigned long arg2, unsigned long arg3, unsigned long arg4,
			 unsigned long arg5)
{
	int err;

	if (arg3 || arg4 || arg5)
		return -EINVAL;
	rwsem_write_lock(&mm->mmap_lock);
	err = arg2 ? enable_merge_any(mm) : disable_merge_any(mm);
	rwsem_write_unlock(&mm->mmap_lock);
	return err;
}

int ksm_get_memory_merge(struct mm *mm, unsigned long arg2, unsigned long arg3, unsigned long arg4,
			 unsigned long arg5)
{
	if (arg2 || arg3 || arg4 || arg5)
		return -EINVAL;
	return !!(mm->flags & MMF_VM_MERGE_ANY);
}

static int64_t any_mergeable(const struct mm *mm)
{
	struct vma *vma;

	for_each_vma(vma, mm) {
		if (vma->flags & VM_MERGEABLE)
			return 1;
	}
	return 0;
}

/* Files and lines of /proc/PID, with what they show of `mm`. */
#define KSM_MM_STATS(X)                                                                           \
	X(ksm_rmap_items, mm->ksm_rmap_items)                                                     \
	X(ksm_zero_pages, mm->ksm_zero_pages)                                                     \
	X(ksm_merging_pages, mm->ksm_merging_pages)                                               \
	X(ksm_process_profit, (mm->ksm_merging_pages + mm->ksm_zero_pages) * (int64_t)PAGE_SIZE - \
				      mm->ksm_rmap_items * KSM_ITEM_BYTES)                        \
	X(ksm_merge_any, !!(mm->flags & MMF_VM_MERGE_ANY))                                        \
	X(ksm_mergeable, any_mergeable(mm))

int ksm_mm_stat_get(const struct mm *mm, const char *name, int64_t *ret)
{
#define X(stat, value)                \
	if (!strcmp(name, #stat)) {   \
		*ret = (value);       \
		return 0;             \
	}
	KSM_MM_STATS(X)
#undef X
	return -ENOENT;
}

const char *ksm_mm_stat_name(unsigned int i)
{
	static const char *const names[] = {
#define X(stat, value) #stat,
		KSM_MM_STATS(X)
#undef X
	};

	return i < ARRAY_SIZE(names) ? names[i] : NULL;
}
