/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Merging VMAs in three steps, so that a caller can do something that must not be undone
 * between the second and the third (mmap() unmaps what it replaces).
 *
 *	vma_merge_init_new(&m, mm, start, end, pgoff, flags, file);
 *	if (vma_merge_plan_new(&m)) {
 *		err = vma_merge_reserve(&m);	// the only step that fails
 *		...
 *		vma = vma_merge_commit(&m);	// or vma_merge_abort(&m)
 *	}
 *
 * Names of the three VMAs:
 *
 *	      start       end
 *	|------|***********|-------|
 *	  prev    middle      next
 *
 * middle is an existing VMA of which [start, end) is all or one end, and changes its flags;
 * or there is none, and the range is empty (or about to be).
 *
 * Locks: mmap_lock for write.
 */
#ifndef SP_VMA_MERGE_H
#define SP_VMA_MERGE_H

#include "vma.h"

struct vma_merge {
	/* What is asked for. */
	struct mm *mm;
	struct vma *prev, *middle, *next;
	struct vma *copied_from;   /* mremap's source */
	uint64_t start, end, pgoff; /* of the range; plan: of `base` afterwards */
	uint64_t flags;
	struct file *file;
	struct anon_vma *anon_vma; /* of what is in the range */
	/* The plan. */
	struct vma *target;        /* what covers the range afterwards */
	struct vma *base;          /* gets [start, end) and pgoff */
	struct vma *adjusted;      /* gets a new start, or NULL */
	uint64_t adjusted_start;
	struct vma *removed[2];
	struct vma *donor[2];      /* whose anon_vmas the target takes over, if it has none */
	bool duplicated;           /* it did */
};

/*
 * A range without a VMA; prev and next are looked up: those that end at or below start, and
 * begin at or above end.
 */
void vma_merge_init_new(struct vma_merge *m, struct mm *mm, uint64_t start, uint64_t end,
			uint64_t pgoff, uint64_t flags, struct file *file);
/* True when there is something to merge with. */
bool vma_merge_plan_new(struct vma_merge *m);
/* 0, or -ENOMEM and nothing has changed. */
int vma_merge_reserve(struct vma_merge *m) SP_MUST_CHECK;
/* The target. vma_merge_reserve() has succeeded; the range tree has 4 updates reserved. */
struct vma *vma_merge_commit(struct vma_merge *m);
/* Instead of the commit. */
void vma_merge_abort(struct vma_merge *m);

/* A VMA boundary will be at addr: no huge page may cross it. 0 or -ENOMEM. */
int vma_cut_huge(struct mm *mm, uint64_t addr) SP_MUST_CHECK;

#endif
