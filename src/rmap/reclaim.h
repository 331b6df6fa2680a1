/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reclaim: swapping anonymous pages out (W1), page by page.
 *
 * There are no LRU lists: the caller names the pages (or all, in pfn order), and each call is one
 * time that the page reaches the end of the inactive list.
 */
#ifndef SP_RECLAIM_H
#define SP_RECLAIM_H

#include "rmap.h"

enum reclaim_result {
	RECLAIM_FREED,	   /* unmapped, written, frame freed */
	RECLAIM_ACTIVATED, /* referenced, still mapped, or no swap slot */
	RECLAIM_KEPT, /* contended, extra reference: stays where it is (perhaps in the swap cache) */
	RECLAIM_UNEVICTABLE /* mlocked: not on a list at all (V9) */
};

/* One round of shrink_folio_list() on this frame. It may be freed by it. */
enum reclaim_result reclaim_frame(struct vm *vm, struct frame *frame, bool ignore_references);
/* Rounds until evicted or hopeless: 1 evicted, 0 not. Takes mmap_lock; addr as sp_swap_out. -EFAULT
 * nothing there. */
int vm_swap_out(struct mm *mm, uint64_t addr) SP_MUST_CHECK;
/* MADV_PAGEOUT of one mapped page, references notwithstanding (vm_hooks.madvise_pageout). */
void reclaim_madvise_pageout(struct vma *vma, uint64_t addr, struct frame *frame);
/*
 * Up to nr_pages anonymous frames in pfn order, `rounds` passes over all frames; returns how many
 * were evicted.
 */
int64_t vm_reclaim(struct vm *vm, uint64_t nr_pages, unsigned int rounds);

#endif
