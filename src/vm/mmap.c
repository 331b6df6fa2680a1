/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mmap(): from the caller's words to VM flags, an address, and a VMA or a larger neighbour.
 *
 * Private anonymous memory gets the page offset of its address (A7), so that it continues
 * whatever anonymous memory lies next to it; shared anonymous memory is a file of its own.
 *
 * MAP_FIXED over something: the old VMAs are split at both ends, all memory for the new
 * state is fetched, the old ones go, and the new range merges with what is left: with the
 * two ends of the old VMA, for instance, if nothing else tells them apart (scenario 26).
 *
 * Commit accounting itself is not modelled, but its VM flag is: private writable memory that is not
 * MAP_NORESERVE has VM_ACCOUNT, and VMAs that differ in it do not merge.
 *
 * Locks: takes mmap_lock for write.
 */
#include "mmap.h"

#include <errno.h>

#include "address.h"
#include "munmap.h"
#include "vma_merge.h"

#define MAP_TYPE (SP_MAP_SHARED | SP_MAP_PRIVATE)
/* Both bits are a type of their own: shared, but with every flag checked. */
#define MAP_SHARED_VALIDATE (SP_MAP_SHARED | SP_MAP_PRIVATE)
/* Bytes that a file may have on Linux. */
#define MAX_FILE_BYTES ((uint64_t)INT64_MAX)

static bool beyond_file_limit(uint64_t pgoff, uint64_t length)
{
	return length > MAX_FILE_BYTES || pgoff > (MAX_FILE_BYTES - length) >> PAGE_SHIFT;
}

/* Maps [addr, addr + length), which is valid, in place of what is there. */
static int map_region(struct mm *mm, uint64_t addr, uint64_t length, uint64_t flags,
		      struct file *file, uint64_t pgoff)
{
	struct vm *vm = mm->vm;
	uint64_t end = addr + length;
	bool shared_anon = !file && (flags & VM_SHARED);
	struct vma_merge merge;
	struct vma *vma = NULL;
	bool merges;
	unsigned int nr_old;
	int err;

	err = munmap_split(mm, addr, end, &nr_old);
	if (err)
		return err;
	if ((flags & (VM_WRITE | VM_SHARED | VM_NORESERVE)) == VM_WRITE)
		flags |= VM_ACCOUNT;
	if (vm->hooks.ksm_vma_flags)
		flags = vm->hooks.ksm_vma_flags(mm, file != NULL, flags);

	vma_merge_init_new(&merge, mm, addr, end, pgoff, flags, file);
	merges = !shared_anon && vma_merge_plan_new(&merge);
	if (merges) {
		err = vma_merge_reserve(&merge);
		if (err)
			return err;
	} else {
		if (shared_anon)
			err = file_create(vm, length >> PAGE_SHIFT, 0, true, &file);
		if (err)
			return err;
		vma = vma_alloc(mm, addr, end, pgoff, flags, file);
		if (shared_anon)
			file_put(file);
		if (!vma)
			return -ENOMEM;
	}
	err = range_tree_reserve(&mm->vmas, nr_old + 4);
	if (!err && nr_old)
		err = munmap_whole(mm, addr, end);
	if (err) {
		if (merges)
			vma_merge_abort(&merge);
		else
			vma_free(vma);
		return err;
	}
	if (merges)
		vma_merge_commit(&merge);
	else
		vma_link(vma);
	return 0;
}

static int mmap_locked(struct mm *mm, uint64_t addr, uint64_t length, int prot, int flags,
		       struct file *file, uint64_t pgoff, uint64_t *ret)
{
	uint64_t vm_flags = vm_access_flags(prot) | VM_MAYWRITE;
	bool fixed = flags & (SP_MAP_FIXED | SP_MAP_FIXED_NOREPLACE);
	struct vma *there;
	int err;

	if (!length)
		return -EINVAL;
	length = (length + PAGE_SIZE - 1) & PAGE_MASK;
	if (!length)
		return -ENOMEM;
	if (pgoff + (length >> PAGE_SHIFT) < pgoff)
		return -EOVERFLOW;
	if (mm->map_count > mm->vm->config.max_map_count)
		return -ENOMEM;
	err = find_address(mm, addr, length, fixed, !file && !(flags & SP_MAP_SHARED), &addr);
	if (err)
		return err;
	if (flags & SP_MAP_FIXED_NOREPLACE) {
		there = vma_find(mm, addr);
		if (there && there->start < addr + length)
			return -EEXIST;
	}
	if (file && beyond_file_limit(pgoff, length))
		return -EOVERFLOW;

	switch (flags & MAP_TYPE) {
	case MAP_SHARED_VALIDATE:
		if (!file)
			return -EINVAL;
		/* The one flag that is younger than the checking of flags, so no file knows it. */
		if (flags & SP_MAP_FIXED_NOREPLACE)
			return -EOPNOTSUPP;
		vm_flags |= VM_SHARED | VM_MAYSHARE;
		break;
	case SP_MAP_SHARED:
		vm_flags |= VM_SHARED | VM_MAYSHARE;
		if (!file)
			pgoff = 0;
		break;
	case SP_MAP_PRIVATE:
		if (!file)
			pgoff = addr >> PAGE_SHIFT;
		break;
	default:
		return -EINVAL;
	}
	if (flags & SP_MAP_NORESERVE)
		vm_flags |= VM_NORESERVE;
	err = map_region(mm, addr, length, vm_flags, file, pgoff);
	if (!err && ret)
		*ret = addr;
	return err;
}

int vm_mmap(struct mm *mm, uint64_t addr, uint64_t length, int prot, int flags, struct file *file,
	    uint64_t pgoff, uint64_t *ret)
{
	int err;

	rwsem_write_lock(&mm->mmap_lock);
	err = mmap_locked(mm, addr, length, prot, flags, file, pgoff, ret);
	rwsem_write_unlock(&mm->mmap_lock);
	return err;
}
