/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Merging one page (K19, K25, K26, K27): the mapping is write-protected, so that nobody can
 * change the page any more, and then either the page becomes a KSM page itself, or the mapping
 * is replaced by one of a page of equal contents: a KSM page, or the zero page.
 *
 *	merge_with_ksm_page(item, frame, NULL)       frame becomes KSM, without a node
 *	merge_with_ksm_page(item2, frame2, frame)    its second mapping
 *	stable_insert(frame), item_append() ...      scan.c
 *
 * Write protection concerns the one PTE that is being scanned. Others of a page that fork
 * shared are read-only already, and come to map a KSM page without anybody having asked (K27,
 * V3).
 *
 * A page that has references beside those that we know of may be written to by their holders, so
 * a writable, dirty or exclusive page with such references is left alone.
 *
 * A KSM page is never the one to be replaced: Linux finds the PTE to protect through the page's
 * anon_vma and index, which a KSM page does not have, and gives up. So a migrated KSM page that
 * is offered an equal one in the tree of its new node stays as it is, although its item was
 * taken off its list for it.
 *
 * Contents are compared once, by the search that found the pair. Linux compares again after
 * write protection, because the process might have written in between; here nothing runs in
 * between. For the zero page, which is found by checksum, the comparison is made here.
 *
 * Locks: mmap_lock for read is taken here for each page; the frame's lock inside it.
 */
#include <errno.h>

#include "ksm_internal.h"

struct vma *find_mergeable_vma(const struct mm *mm, uint64_t addr)
{
	struct vma *vma;

	if (mm_exited(mm))
		return NULL;
	vma = vma_lookup(mm, addr);
	if (!vma || !(vma->flags & VM_MERGEABLE) || !vma->anon_vma)
		return NULL;
	return vma;
}

/* ---- Huge pages ---- */

bool same_huge_page(struct ksm *ksm, const struct frame *a, const struct frame *b)
{
	return frame_is_large(a) && frame_is_large(b) &&
	       frame_row(&ksm->vm->frames, a) == frame_row(&ksm->vm->frames, b);
}

/*
 * References beyond the mappings' and the swap cache's; the huge page's are the sum of its
 * pieces'.
 */
static int extra_references(struct ksm *ksm, const struct frame *frame)
{
	const struct frame *row = frame_row(&ksm->vm->frames, frame);
	int extra = 0;

	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++)
		if (frame_is_large(&row[i]))
			extra += row[i].refcount - row[i].mapcount -
				 !!(row[i].flags & FRAME_SWAPCACHE);
	return extra;
}

/* A page that left its huge page on its way to swap may still be mapped by a PMD elsewhere. */
static bool may_be_huge(const struct ksm *ksm, const struct frame *frame)
{
	return frame_is_large(frame) ||
	       (frame->mapcount > 1 && !frame_is_ksm(frame) && ksm->vm->stat.thp_fault_alloc);
}

static bool split_one(struct frame *frame, struct vma *vma, uint64_t addr, void *arg)
{
	int *err = arg;
	pte_t pte = vm_pte(vma->mm, addr);

	if ((pte & PTE_HUGE) && pte_present(pte) && pte_value(pte) == frame->pfn)
		*err = split_huge_mapping(vma->mm, addr);
	return !*err;
}

static bool zero_one(struct frame *frame, struct vma *vma, uint64_t addr, void *arg)
{
	pte_t pte = vm_pte(vma->mm, addr);

	(void)arg;
	if (pte_present(pte) && pte_value(pte) == frame->pfn)
		zero_piece_unmap(vma, addr);
	return true;
}

/* Splitting a folio saves the pieces that are still all zeroes (K26b). */
static void drop_zero_pieces(struct ksm *ksm, struct frame *row, struct frame *locked)
{
	struct frames *frames = &ksm->vm->frames;
	struct rmap_walk_control rwc = { .rmap_one = zero_one };

	for (struct frame *piece = row; piece < row + HPAGE_PMD_NR; piece++) {
		if (!frame_is_large(piece) || frame_compare(frames, piece, frames->zero))
			continue;
		/* It may be one that an item in the unstable tree tells of. */
		ksm_epoch_begin(ksm);
		if (piece != locked && !frame_trylock(piece))
			continue;
		frame_get(piece);
		rmap_walk(ksm->vm, piece, &rwc);
		if (piece != locked)
			frame_unlock(piece);
		frame_put(frames, piece);
	}
}

/*
 * Every mapping of the large folio that the locked frame is part of becomes one of small pages,
 * and the folio small pages.
 */
static int split_locked(struct ksm *ksm, struct frame *frame)
{
	int err = 0;
	struct rmap_walk_control rwc = { .arg = &err, .rmap_one = split_one };

	/* One reference is the scan's own. */
	if (frame_is_large(frame) && extra_references(ksm, frame) != 1)
		return -EBUSY;
	rmap_walk(ksm->vm, frame, &rwc);
	if (err || !frame_is_large(frame))
		return err;
	drop_zero_pieces(ksm, frame_row(&ksm->vm->frames, frame), frame);
	frame_split_huge(&ksm->vm->frames, frame);
	return 0;
}

int split_huge_page(struct ksm *ksm, struct mm *mm, struct frame *frame)
{
	int err = -EBUSY;

	rwsem_read_lock(&mm->mmap_lock);
	if (frame_trylock(frame)) {
		err = split_locked(ksm, frame);
		frame_unlock(frame);
	}
	rwsem_read_unlock(&mm->mmap_lock);
	return err;
}

/* ---- One page ---- */

/* As folio_mark_accessed(). */
static void mark_accessed(struct frame *frame)
{
	if (!(frame->flags & FRAME_REFERENCED)) {
		frame->flags |= FRAME_REFERENCED;
	} else if (!(frame->flags & (FRAME_ACTIVE | FRAME_MLOCKED))) {
		frame->flags |= FRAME_ACTIVE;
		frame->flags &= (uint16_t)~FRAME_REFERENCED;
	}
}

/*
 * The PTE at addr maps the locked frame; afterwards read-only, clean, not exclusive. 0 or
 * -EFAULT.
 */
static int write_protect(struct ksm *ksm, struct vma *vma, uint64_t addr, struct frame *frame)
{
	pte_t pte = vm_pte(vma->mm, addr);

	if (frame_is_ksm(frame))
		return -EFAULT;
	if (!pte_present(pte) || (pte & (PTE_HUGE | PTE_SPECIAL)) ||
	    pte_value(pte) != frame_pfn(&ksm->vm->frames, frame))
		return -EFAULT;
	if (!(pte & (PTE_WRITE | PTE_DIRTY)) && !(frame->flags & FRAME_EXCLUSIVE))
		return 0;
	if (frame->mapcount + 1 + !!(frame->flags & FRAME_SWAPCACHE) != frame->refcount)
		return -EFAULT;
	frame->flags &= (uint16_t)~FRAME_EXCLUSIVE;
	if (pte & PTE_DIRTY)
		frame->flags |= FRAME_DIRTY;
	page_table_set(&vma->mm->pt, addr, pte & ~(PTE_WRITE | PTE_DIRTY));
	return 0;
}

/* The write-protected mapping of `frame` becomes one of kframe. */
static void replace_page(struct ksm *ksm, struct vma *vma, uint64_t addr, struct frame *frame,
			 struct frame *kframe)
{
	struct vm *vm = ksm->vm;
	uint64_t flags = PTE_PRESENT;

	if (!ksm->knobs.merge_old_ptes)
		flags |= PTE_YOUNG;
	if (kframe->flags & FRAME_ZERO) {
		flags |= PTE_SPECIAL | PTE_DIRTY;
		ksm->count.ksm_zero_pages++;
		vma->mm->ksm_zero_pages++;
	} else {
		frame_get(kframe);
		frame_add_map(kframe, vma);
	}
	page_table_set(&vma->mm->pt, addr, pte_make(frame_pfn(&vm->frames, kframe), flags));
	frame_remove_map(frame, vma);
	if (!frame->mapcount)
		(void)frame_free_swap(vm, frame);
	frame_put(&vm->frames, frame);
}

/* mmap_lock held, a reference on frame too. kframe as merge_with_ksm_page(). */
static int merge_one_page(struct ksm *ksm, struct vma *vma, uint64_t addr, struct frame *frame,
			  struct frame *kframe)
{
	int err = -EFAULT;

	if (frame == kframe) /* a KSM page that was forked */
		return 0;
	if (!frame_is_anon(frame) || !frame_trylock(frame))
		return -EFAULT;
	if (may_be_huge(ksm, frame) && split_locked(ksm, frame))
		goto out;
	if (write_protect(ksm, vma, addr, frame))
		goto out;
	if (!kframe) {
		frame->mapping = MAPPING_KSM;
		if (!ksm->knobs.merge_old_ptes)
			mark_accessed(frame);
		/* Or reclaim would drop it as clean. */
		frame->flags |= FRAME_DIRTY;
		err = 0;
	} else if (!(kframe->flags & FRAME_ZERO) ||
		   !frame_compare(&ksm->vm->frames, frame, kframe)) {
		replace_page(ksm, vma, addr, frame, kframe);
		err = 0;
	}
out:
	frame_unlock(frame);
	return err;
}

/* 0: merged, or no candidate any more: nothing else is to be tried. -EFAULT: try on. */
int merge_with_zero_page(struct ksm *ksm, struct ksm_rmap_item *item, struct frame *frame)
{
	struct mm *mm = item->mm;
	struct frame *zero = ksm->vm->frames.zero;
	struct vma *vma;
	int err = 0;

	if (!ksm->knobs.use_zero_pages || item->oldchecksum != ksm->zero_checksum)
		return -EFAULT;
	rwsem_read_lock(&mm->mmap_lock);
	vma = find_mergeable_vma(mm, item_address(item));
	if (vma) {
		err = merge_one_page(ksm, vma, item_address(item), frame, zero);
		event_emit(&ksm->vm->events, EV_ksm_merge_one_page,
			   frame_pfn(&ksm->vm->frames, zero), item_address(item), mm->id,
			   (uint64_t)(int64_t)err);
	}
	rwsem_read_unlock(&mm->mmap_lock);
	return err;
}

int merge_with_ksm_page(struct ksm *ksm, struct ksm_rmap_item *item, struct frame *frame,
			struct frame *kframe)
{
	struct mm *mm = item->mm;
	uint64_t addr = item_address(item);
	uint32_t pfn = frame_pfn(&ksm->vm->frames, frame);
	struct vma *vma;
	int err = -EFAULT;

	rwsem_read_lock(&mm->mmap_lock);
	vma = find_mergeable_vma(mm, addr);
	if (vma)
		err = merge_one_page(ksm, vma, addr, frame, kframe);
	if (!err) {
		/* What an unstable item has in these places is needed to take it out. */
		item_remove_from_tree(ksm, item);
		item->anon_vma = vma->anon_vma;
		anon_vma_get(item->anon_vma);
		item->index = vma_linear_index(vma, addr);
	}
	rwsem_read_unlock(&mm->mmap_lock);
	event_emit(&ksm->vm->events, EV_ksm_merge_with_ksm_page,
		   kframe ? frame_pfn(&ksm->vm->frames, kframe) : pfn, pfn, addr, mm->id,
		   (uint64_t)(int64_t)err);
	return err;
}

int merge_two_pages(struct ksm *ksm, struct ksm_rmap_item *item, struct frame *frame,
		    struct ksm_rmap_item *tree_item, struct frame *tree_frame)
{
	int err = merge_with_ksm_page(ksm, item, frame, NULL);

	if (err)
		return err;
	err = merge_with_ksm_page(ksm, tree_item, tree_frame, frame);
	/* A KSM page with one mapping is of no use. */
	if (err)
		break_cow(item);
	return err;
}
