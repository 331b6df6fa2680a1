/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mremap(): resizing and moving mappings (M1, M2, A8).
 *
 *	vm_mremap
 *	  move_only: FIXED, equal lengths     each VMA of the range in turn, gaps kept
 *	  else one VMA:
 *	    FIXED or DONTUNMAP                 unmap the target, shrink, move
 *	    shrink                             unmap the tail
 *	    grow                               in place if possible, else move
 *
 * A move:
 *
 *	1. room under the map count limit (M2)
 *	2. KSM breaks its pages in the range (M1), so that none turns up at an address
 *	   where its rmap_item does not know it
 *	3. everything the later steps need is set aside: page tables, VMAs, AVCs
 *	4. vma_copy(): the destination VMA, perhaps merged (A5, A8)
 *	5. move_page_tables(), under the rmap locks where the order of VMAs in the
 *	   interval tree does not protect a walk (A8a)
 *	6. the source is unmapped, or with DONTUNMAP stays behind empty
 *
 * Nothing fails after step 4, where Linux may have to move entries back or leave the source
 * mapped. A failed move leaves the source as it was, but for KSM pages that were broken;
 * what FIXED replaced is gone, as on Linux. Of several VMAs, those before the failing one
 * have moved.
 *
 * Locks: takes mmap_lock for write; populates the grown part of a locked mapping after
 * releasing it.
 */
#include "mmap.h"

#include <errno.h>

#include "address.h"
#include "fault.h"
#include "vma_merge.h"

/*
 * The copy changes up to 4 entries of the tree; unmapping splits twice, 2 each, and erases
 * one. The rest is for a tree that grows higher meanwhile.
 */
#define RESERVED_UPDATES 16

#define MREMAP_FLAGS (SP_MREMAP_MAYMOVE | SP_MREMAP_FIXED | SP_MREMAP_DONTUNMAP)

struct remap {
	struct mm *mm;
	struct vma *vma; /* the one that contains addr */
	uint64_t addr, old_len, new_len, new_addr;
	int flags;
	uint64_t populate_start, populate_end; /* grown part of a locked mapping */
};

/* new_addr is the caller's: a place (FIXED), or at least a hint (DONTUNMAP). */
static bool has_new_addr(const struct remap *r)
{
	return r->flags & (SP_MREMAP_FIXED | SP_MREMAP_DONTUNMAP);
}

static bool overlaps(const struct remap *r)
{
	return r->addr + r->old_len > r->new_addr && r->new_addr + r->new_len > r->addr;
}

static int check_arguments(const struct remap *r)
{
	if ((r->flags & ~MREMAP_FLAGS) || !page_aligned(r->addr))
		return -EINVAL;
	if (!r->new_len || r->new_len > TASK_SIZE)
		return -EINVAL;
	if (!has_new_addr(r))
		return 0;
	if (r->new_addr > TASK_SIZE - r->new_len || !page_aligned(r->new_addr))
		return -EINVAL;
	if (!(r->flags & SP_MREMAP_MAYMOVE))
		return -EINVAL;
	if ((r->flags & SP_MREMAP_DONTUNMAP) && r->old_len != r->new_len)
		return -EINVAL;
	return overlaps(r) ? -EINVAL : 0;
}

static int check_vma(struct remap *r)
{
	const struct vma *vma = r->vma;
	uint64_t old_len = r->old_len;

	if (!vma)
		return -EFAULT;
	if (!has_new_addr(r)) {
		r->new_addr = r->addr;
		if (r->new_len <= r->old_len)
			return 0;
	}
	/* Duplicating makes sense for shared memory only. */
	if (!old_len && !(vma->flags & (VM_SHARED | VM_MAYSHARE)))
		return -EINVAL;
	if (r->new_len < old_len)
		old_len = r->new_len;
	if (old_len > vma->end - r->addr)
		return -EFAULT;
	if (r->new_len > old_len &&
	    vma_linear_index(vma, r->addr) + (r->new_len >> PAGE_SHIFT) < r->new_len >> PAGE_SHIFT)
		return -EINVAL;
	return 0;
}

/* ---- Moving one VMA ---- */

/* A locked VMA of which a part moves and stays: the part that stays must be unlocked alone. */
static bool splits_first(const struct remap *r)
{
	return (r->flags & SP_MREMAP_DONTUNMAP) && (r->vma->flags & VM_LOCKED);
}

static bool has_room(const struct remap *r, bool splits, uint32_t more)
{
	return r->mm->map_count + 2 + splits + more <= r->mm->vm->config.max_map_count;
}

static int split_source(const struct remap *r)
{
	struct vma *vma = r->vma;
	uint64_t end = r->addr + r->old_len;
	int err = 0;

	if (vma->start < r->addr)
		err = vma_split(vma, r->addr, true, NULL);
	if (!err && vma->end > end)
		err = vma_split(vma, end, false, NULL);
	return err;
}

static unsigned int chain_length(const struct vma *vma)
{
	struct cds_list_head *avc;
	unsigned int n = 0;

	cds_list_for_each(avc, &vma->anon_vma_chain)
		n++;
	return n;
}

/*
 * Splits that unmapping the source will take. Its bounds tell, unless it merges with its own copy;
 * that takes a source without an anon_vma, for others continue nowhere the offsets of their copy.
 */
static unsigned int nr_splits(const struct remap *r)
{
	if (r->flags & SP_MREMAP_DONTUNMAP)
		return 0;
	if (!r->vma->anon_vma)
		return 2;
	return (r->vma->start < r->addr) + (r->vma->end > r->addr + r->old_len);
}

/*
 * For the copy, one VMA and as many AVCs as the source has (one, if it has none and joins a
 * neighbour that has); for each split of what is unmapped in the end, the same again.
 */
static int reserve_move(const struct remap *r)
{
	unsigned int chain = MAX(1u, chain_length(r->vma)), nr = 1 + nr_splits(r);
	int err;

	err = vma_cut_huge(r->mm, r->addr);
	if (!err)
		err = vma_cut_huge(r->mm, r->addr + r->old_len);
	if (!err)
		err = range_tree_reserve(&r->mm->vmas, RESERVED_UPDATES);
	if (!err)
		err = move_page_tables_prepare(r->mm, r->addr, r->new_addr, r->old_len);
	return err ? err : vma_spare_fill(r->mm->vm, nr, nr * chain);
}

static void unmap_source(const struct remap *r)
{
	if (r->old_len && vm_munmap_locked(r->mm, r->addr, r->old_len))
		SP_BUG("mremap: unmapping failed in spite of what was reserved");
}

static void leave_behind(const struct remap *r)
{
	struct vma *vma = r->vma;

	vma->flags &= ~(uint64_t)VM_LOCKED;
	if (vma->start != r->addr || vma->end != r->addr + r->old_len)
		return;
	/* Nothing of it is mapped any more: as good as new, hence re-based (A8). */
	anon_vma_unlink(vma);
	if (vma_is_anonymous(vma))
		vma->pgoff = vma->start >> PAGE_SHIFT;
}

static int copy_and_move(struct remap *r)
{
	bool keep_source = r->flags & SP_MREMAP_DONTUNMAP, need_rmap_locks;
	struct vma *new;

	new = vma_copy(&r->vma, r->new_addr, r->new_len, vma_linear_index(r->vma, r->addr),
		       keep_source, &need_rmap_locks);
	if (!new)
		return -ENOMEM;
	if (move_page_tables(r->vma, r->addr, new, r->new_addr, r->old_len, need_rmap_locks) <
	    r->old_len)
		SP_BUG("mremap: moving failed in spite of what was reserved");
	event_emit(&r->mm->vm->events, EV_mremap_move, r->mm->id, r->addr, r->new_addr, r->old_len);
	if (keep_source)
		leave_behind(r);
	else
		unmap_source(r);
	return 0;
}

static int move_vma(struct remap *r)
{
	struct vm *vm = r->mm->vm;
	uint64_t dummy_flags = r->vma->flags;
	int err = 0;

	if (!has_room(r, splits_first(r), 0))
		return -ENOMEM;
	if (vm->hooks.ksm_madvise)
		err = vm->hooks.ksm_madvise(r->vma, r->addr, r->addr + r->old_len, false,
					    &dummy_flags);
	if (!err && splits_first(r))
		err = split_source(r);
	if (err)
		return err;
	err = reserve_move(r);
	if (!err) {
		uint64_t nr_allocs = vm->mem.nr_allocs;

		err = copy_and_move(r);
		SP_ASSERT(vm->mem.nr_allocs == nr_allocs);
	}
	vma_spare_drop(vm);
	if (err)
		page_table_trim(&r->mm->pt, r->new_addr, r->new_addr + r->old_len);
	return err;
}

static int choose_new_addr(struct remap *r)
{
	bool fixed = r->flags & SP_MREMAP_FIXED;

	return find_address(r->mm, has_new_addr(r) ? r->new_addr : 0, r->new_len, fixed,
			    vma_is_anonymous(r->vma), &r->new_addr);
}

/* ---- The kinds ---- */

static int move_to(struct remap *r)
{
	int err;

	if (r->flags & SP_MREMAP_FIXED) {
		err = vm_munmap_locked(r->mm, r->new_addr, r->new_len);
		if (err)
			return err;
	}
	if (r->new_len < r->old_len) {
		err = vm_munmap_locked(r->mm, r->addr + r->new_len, r->old_len - r->new_len);
		if (err)
			return err;
		r->old_len = r->new_len;
	}
	/* Unmapping may have split it. */
	r->vma = vma_lookup(r->mm, r->addr);
	if (!r->vma)
		return -EFAULT;
	err = choose_new_addr(r);
	return err ? err : move_vma(r);
}

static bool can_grow_in_place(const struct remap *r)
{
	const struct vma *vma = r->vma, *next;
	uint64_t end = r->addr + r->new_len;

	if (vma->end - r->addr != r->old_len || end < vma->end || end > TASK_SIZE)
		return false;
	next = vma_find(r->mm, vma->end);
	return !next || next->start >= end;
}

static int grow(struct remap *r)
{
	int err;

	if (can_grow_in_place(r)) {
		r->vma = vma_merge_extend(r->vma, r->new_len - r->old_len);
		return r->vma ? 0 : -ENOMEM;
	}
	if (!(r->flags & SP_MREMAP_MAYMOVE))
		return -ENOMEM;
	err = choose_new_addr(r);
	return err ? err : move_vma(r);
}

static int remap_one(struct remap *r)
{
	bool locked;
	int err;

	r->vma = vma_lookup(r->mm, r->addr);
	err = check_vma(r);
	if (err)
		return err;
	locked = r->vma->flags & VM_LOCKED;
	if (has_new_addr(r))
		err = move_to(r);
	else if (r->new_len < r->old_len)
		err = vm_munmap_locked(r->mm, r->addr + r->new_len, r->old_len - r->new_len);
	else if (r->new_len > r->old_len)
		err = grow(r);
	if (!err && locked && r->new_len > r->old_len) {
		r->populate_start = r->new_addr + r->old_len;
		r->populate_end = r->new_addr + r->new_len;
	}
	return err;
}

/* FIXED with equal lengths: all VMAs of [addr, addr + old_len), gaps between them kept. */
static int move_only(struct remap *r)
{
	uint64_t start = r->addr, end = r->addr + r->old_len, new_start = r->new_addr, pos = start;
	struct vma *vma = vma_lookup(r->mm, start);
	int err;

	if (!vma)
		return -EFAULT;
	/* pos ends it where DONTUNMAP leaves a VMA that reaches over the end. */
	for (; pos < end && vma && vma->start < end; vma = vma_find(r->mm, pos)) {
		r->vma = vma;
		r->addr = MAX(vma->start, start);
		r->old_len = r->new_len = MIN(end, vma->end) - r->addr;
		r->new_addr = new_start + (r->addr - start);
		pos = r->addr + r->old_len;
		err = check_vma(r);
		if (!err)
			err = move_to(r);
		if (err)
			return err;
	}
	r->new_addr = new_start;
	return 0;
}

int vm_mremap(struct mm *mm, uint64_t addr, uint64_t old_length, uint64_t new_length, int flags,
	      uint64_t new_addr, uint64_t *ret)
{
	struct remap r = {
		.mm = mm,
		.addr = addr,
		.old_len = (old_length + PAGE_SIZE - 1) & PAGE_MASK,
		.new_len = (new_length + PAGE_SIZE - 1) & PAGE_MASK,
		.new_addr = new_addr,
		.flags = flags,
	};
	int err = check_arguments(&r);

	if (err)
		return err;
	rwsem_write_lock(&mm->mmap_lock);
	if (!has_room(&r, flags & SP_MREMAP_DONTUNMAP, 2))
		err = -ENOMEM;
	else if ((flags & SP_MREMAP_FIXED) && r.old_len == r.new_len)
		err = move_only(&r);
	else
		err = remap_one(&r);
	rwsem_write_unlock(&mm->mmap_lock);
	if (err)
		return err;
	/* The mapping has grown, whether or not its pages can be had. */
	if (r.populate_end)
		(void)vm_populate(mm, r.populate_start, r.populate_end);
	if (ret)
		*ret = r.new_addr;
	return 0;
}
