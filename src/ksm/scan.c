/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ksmd's work: the cursor that goes round all mergeable pages (K7-K13), and what becomes of
 * each (K17-K23).
 *
 * A pass visits the slots of the circle one after the other, in each the VMAs that are
 * mergeable, in each the anonymous pages that are mapped. Each such candidate has an rmap_item,
 * and either is left out (smart_scan.c) or goes through cmp_and_merge():
 *
 *	KSM page, item on its list     nothing to do
 *	KSM page otherwise             a fork that was not seen yet, or misplaced: stable tree
 *	checksum has changed           remembered, next pass more
 *	all zeroes                     the zero page, if wanted
 *	equal to a KSM page            merged into it
 *	equal to an unstable page      both become a new KSM page
 *	else                           into the unstable tree
 *
 * A batch ends at the end of a pass even if it has pages left (K12), and when there is no
 * memory for an rmap_item.
 *
 * Pages whose contents are unknown (loaded from an incomplete image) are no candidates: nothing may
 * be said about what they equal.
 *
 * Locks: thread_mutex for the batch. mmap_lock of the scanned mm is held for read from looking
 * for a candidate to having its rmap_item; merging takes it anew, for it needs that of other
 * mms too.
 */
#include <errno.h>

#include "ksm_internal.h"

static void enter_slot(struct ksm *ksm)
{
	ksm->scan.address = 0;
	ksm->scan.rmap_list = &ksm->scan.mm_slot->rmap_list;
	ksm->ahead_end = 0;
}

static void begin_pass(struct ksm *ksm)
{
	advisor_start_pass(ksm);
	event_emit(&ksm->vm->events, EV_ksm_start_scan, ksm->scan.seqnr,
		   (uint64_t)ksm->count.rmap_items);
	if (!ksm->knobs.merge_across_nodes)
		nodes_revalidate_migrating(ksm);
	unstable_reset(ksm);
	ksm->scan.mm_slot = slot_next(&ksm->mm_head);
	enter_slot(ksm);
}

static void end_pass(struct ksm *ksm)
{
	advisor_stop_pass(ksm);
	event_emit(&ksm->vm->events, EV_ksm_stop_scan, ksm->scan.seqnr,
		   (uint64_t)ksm->count.rmap_items);
	ksm->scan.seqnr++;
}

/* The first candidate page in [*addr, end), with its address; NULL: none. */
static struct frame *next_candidate(const struct mm *mm, uint64_t *addr, uint64_t end)
{
	const struct frames *frames = &mm->vm->frames;
	uint64_t at = *addr;
	bool huge;
	pte_t pte;

	while (page_table_next(&mm->pt, &at, end, &pte, &huge)) {
		if (huge && at < *addr)
			at = *addr; /* begin with this piece */
		if (pte_present(pte) && !pte_is_zero_page(pte)) {
			uint32_t piece = (uint32_t)((at & ~HPAGE_PMD_MASK) >> PAGE_SHIFT);
			struct frame *frame =
				frame_of_pfn(frames, pte_value(pte) + (huge ? piece : 0));

			if (frame_is_anon(frame) && !(frame->flags & FRAME_UNKNOWN)) {
				*addr = at;
				return frame;
			}
		}
		/* A huge page is anonymous or not as a whole, but pieces may be unknown. */
		at += PAGE_SIZE;
		*addr = at;
	}
	return NULL;
}

enum scan_step { SCAN_FOUND, SCAN_NO_MEMORY, SCAN_MM_DONE };

/* From the cursor to the next candidate of its mm. mmap_lock held. */
static enum scan_step scan_mm(struct ksm *ksm, struct mm *mm, struct ksm_rmap_item **item,
			      struct frame **frame)
{
	struct ksm_scan_cursor *scan = &ksm->scan;
	struct vma *vma;

	for_each_vma_range(vma, mm, scan->address, UINT64_MAX) {
		if (!(vma->flags & VM_MERGEABLE))
			continue;
		if (scan->address < vma->start)
			scan->address = vma->start;
		if (!vma->anon_vma)
			scan->address = vma->end;
		while (scan->address < vma->end) {
			if (scan->address >= ksm->ahead_end)
				ksm->ahead_end = lookahead(ksm, mm, scan->address);
			*frame = next_candidate(mm, &scan->address, vma->end);
			if (!*frame) {
				scan->address = vma->end;
				break;
			}
			*item = item_get(ksm, mm, scan->rmap_list, scan->address);
			if (!*item)
				return SCAN_NO_MEMORY;
			scan->rmap_list = &(*item)->next;
			scan->address += PAGE_SIZE;
			if (!smart_skip(ksm, *frame, *item))
				return SCAN_FOUND;
		}
	}
	return SCAN_MM_DONE;
}

/*
 * All VMAs of the cursor's mm are done: on to the next slot. An address of 0 means that there
 * was none to visit, or no mm any more: the slot is freed (K11).
 */
static void leave_slot(struct ksm *ksm)
{
	struct ksm_mm_slot *slot = ksm->scan.mm_slot;

	if (mm_exited(slot->mm))
		enter_slot(ksm);
	items_free_from(ksm, ksm->scan.rmap_list);
	ksm->scan.mm_slot = slot_next(slot);
	rwsem_read_unlock(&slot->mm->mmap_lock);
	if (!ksm->scan.address)
		slot_free(ksm, slot);
}

/* The next candidate that is not left out; NULL: end of the pass, or of memory. */
static struct ksm_rmap_item *next_item(struct ksm *ksm, struct frame **frame)
{
	struct ksm_rmap_item *item = NULL;

	if (cds_list_empty(&ksm->mm_head.link))
		return NULL;
	if (ksm->scan.mm_slot == &ksm->mm_head)
		begin_pass(ksm);
	do {
		struct mm *mm = ksm->scan.mm_slot->mm;
		enum scan_step step = SCAN_MM_DONE;

		rwsem_read_lock(&mm->mmap_lock);
		if (!mm_exited(mm))
			step = scan_mm(ksm, mm, &item, frame);
		if (step != SCAN_MM_DONE) {
			rwsem_read_unlock(&mm->mmap_lock);
			ksm->no_memory = step == SCAN_NO_MEMORY;
			return step == SCAN_FOUND ? item : NULL;
		}
		leave_slot(ksm);
		enter_slot(ksm);
	} while (ksm->scan.mm_slot != &ksm->mm_head);
	end_pass(ksm);
	return NULL;
}

/* item's page equals tree_item's, which is not merged yet either: a new KSM page of both. */
static void merge_into_new_page(struct ksm *ksm, struct ksm_rmap_item *item, struct frame *frame,
				struct ksm_rmap_item *tree_item, struct frame *tree_frame)
{
	struct frames *frames = &ksm->vm->frames;
	struct ksm_stable_node *node;
	bool split;
	int err;

	frame_get(tree_frame);
	err = merge_two_pages(ksm, item, frame, tree_item, tree_frame);
	/*
	 * Each had a reference on the huge page that both are part of: the other could not be
	 * split.
	 */
	split = same_huge_page(ksm, frame, tree_frame);
	frame_put(frames, tree_frame);
	if (err) {
		if (split)
			(void)split_huge_page(ksm, item->mm, frame);
		return;
	}
	frame_lock(frame);
	node = stable_insert(ksm, frame);
	if (node) {
		item_append(ksm, tree_item, node, false);
		item_append(ksm, item, node, false);
	}
	frame_unlock(frame);
	if (!node) {
		break_cow(tree_item);
		break_cow(item);
	}
}

/* By contents. frame has a reference of ours. */
static void search_and_merge(struct ksm *ksm, struct ksm_rmap_item *item, struct frame *frame,
			     bool bypass)
{
	struct ksm_stable_node *node = frame_node(frame);
	struct ksm_rmap_item *tree_item;
	struct frame *kframe = NULL, *tree_frame;
	enum stable_result result = stable_search(ksm, frame, &kframe);

	if (kframe == frame && item_is_on(item, node))
		return;
	item_remove_from_tree(ksm, item);
	switch (result) {
	case STABLE_BUSY:
		return;
	case STABLE_FOUND:
		if (merge_with_ksm_page(ksm, item, frame, kframe))
			return;
		frame_lock(kframe);
		item_append(ksm, item, frame_node(kframe), bypass);
		frame_unlock(kframe);
		return;
	case STABLE_NONE:
		break;
	}
	tree_item = unstable_search_insert(ksm, item, frame, &tree_frame);
	if (tree_item)
		merge_into_new_page(ksm, item, frame, tree_item, tree_frame);
}

static void cmp_and_merge(struct ksm *ksm, struct ksm_rmap_item *item, struct frame *frame)
{
	struct frames *frames = &ksm->vm->frames;
	struct ksm_stable_node *node = frame_node(frame);
	bool bypass = false;
	uint32_t checksum;

	if (node) {
		/* While merging across nodes no node is misplaced: it need not be touched. */
		if (ksm->knobs.merge_across_nodes) {
			if (item_is_on(item, node))
				return;
		} else {
			if (!node_is_migrating(ksm, node) && tree_of(ksm, frame) != node->nid) {
				node_unlink(ksm, node);
				node_to_migrate_list(ksm, node);
			}
			if (!node_is_migrating(ksm, node) && item_is_on(item, node))
				return;
		}
		/* Fork shared the page beyond the limit. */
		if (!node_is_candidate(ksm, node, 0))
			bypass = true;
	} else {
		item_remove_from_tree(ksm, item);
		checksum = frame_checksum(frames, frame);
		if (item->oldchecksum != checksum) {
			item->oldchecksum = checksum;
			return;
		}
	}
	frame_get(frame);
	if (node || merge_with_zero_page(ksm, item, frame))
		search_and_merge(ksm, item, frame, bypass);
	frame_put(frames, frame);
}

void scan_batch(struct ksm *ksm, uint64_t nr)
{
	struct ksm_rmap_item *item;
	struct frame *frame;

	SP_ASSERT(mutex_held(&ksm->thread_mutex));
	ksm->no_memory = false;
	while (nr-- && (item = next_item(ksm, &frame))) {
		uint16_t epoch = ksm->epoch;

		cmp_and_merge(ksm, item, frame);
		/* Its own page may be among those that a split took (merge.c). */
		if (ksm->epoch != epoch)
			ksm_epoch_begin(ksm);
		ksm->count.pages_scanned++;
		ksm->cpu_ns += KSM_SCAN_PAGE_NS;
		clock_advance_ns(&ksm->vm->clock, KSM_SCAN_PAGE_NS);
	}
}
