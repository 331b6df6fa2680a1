/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Changing the set of VMAs: split, merge, insert, remove, copy (A5, A8, A9).
 *
 * All of these want mmap_lock held for write. They reserve everything that can fail before
 * they change anything: on -ENOMEM the mm is as it was.
 */
#ifndef SP_VMA_H
#define SP_VMA_H

#include "anon_vma.h"

/* A VMA of no tree, with a file reference; NULL out of memory. */
struct vma *vma_alloc(struct mm *mm, uint64_t start, uint64_t end, uint64_t pgoff, uint64_t flags,
		      struct file *file) SP_MUST_CHECK;
/* Frees a VMA that is in no tree and has no AVCs; drops its file reference. */
void vma_free(struct vma *vma);
/* Puts it into mm->vmas; map_count++. Reserved with range_tree_reserve() by the caller. */
void vma_link(struct vma *vma);
/* Takes it out; map_count--. AVCs stay. */
void vma_unlink(struct vma *vma);

/* Splits at addr (strictly inside). new_below: the new VMA is [start, addr), else [addr, end).
 * Returns the new VMA through *ret (may be NULL). No map-count test. 0 or -ENOMEM. */
int vma_split_nocheck(struct vma *vma, uint64_t addr, bool new_below,
		      struct vma **ret) SP_MUST_CHECK;
/* The same, -ENOMEM at max_map_count. */
int vma_split(struct vma *vma, uint64_t addr, bool new_below, struct vma **ret) SP_MUST_CHECK;

/*
 * [start, end) of vma gets new flags: merges with neighbours where A9 allows, else splits
 * so that a VMA covers exactly [start, end), and sets the flags. *ret is the VMA that
 * covers the range afterwards (it may be larger). 0 or -ENOMEM (map count: also -ENOMEM);
 * when the second of two splits fails, the first stays, as on Linux: one more VMA, nothing
 * else.
 */
int vma_modify_flags(struct vma *vma, uint64_t start, uint64_t end, uint64_t new_flags,
		     struct vma **ret) SP_MUST_CHECK;

/* A new mapping [start, end) that is not in the tree yet: extends the neighbours if A9 allows
 * (returns the grown VMA), else NULL: caller allocates and links. *err is 0 or -ENOMEM. */
struct vma *vma_merge_new(struct mm *mm, uint64_t start, uint64_t end, uint64_t pgoff,
			  uint64_t flags, struct file *file, int *err);
/*
 * In-place growth to new_end (mremap): as vma_merge_extend of Linux: the VMA with merged
 * successor, NULL: no room or no memory.
 */
struct vma *vma_merge_extend(struct vma *vma, uint64_t delta_bytes);
/*
 * mremap's destination VMA at addr for [len] bytes taken from *vmap at pgoff: keeps pgoff
 * iff it has an anon_vma, else re-bases (A8); merges where allowed, with the source itself
 * only if that is to be unmapped (keep_source: DONTUNMAP). *vmap is updated if the source
 * was merged into the result. *need_rmap_locks as A8a. Returns NULL on -ENOMEM.
 */
struct vma *vma_copy(struct vma **vmap, uint64_t addr, uint64_t len, uint64_t pgoff,
		     bool keep_source, bool *need_rmap_locks);

/*
 * Sets VMAs and AVCs aside for the vma_alloc() and anon_vma_clone() calls to come; 0 or
 * -ENOMEM. The rest goes back with vma_spare_drop(), which must follow in the same
 * operation, after a failure too.
 */
int vma_spare_fill(struct vm *vm, unsigned int nr_vmas, unsigned int nr_avcs) SP_MUST_CHECK;
void vma_spare_drop(struct vm *vm);

/* Does the VMA tree agree with the VMAs, map_count, adjacency, AVC keys? */
void mm_validate_vmas(struct mm *mm, struct report *report);

#endif
