/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reclaim (W1, W2): one page at a time, with the rules of the classic two lists.
 *
 * An active page costs a round: its young bits are cleared and it becomes inactive. An inactive
 * page is evicted unless it was referenced since: once, it stays for another round; in several
 * PTEs, or again after it had been marked referenced, it is activated. A merged page starts young
 * and accessed (K25), so it needs several rounds.
 *
 * Eviction: the page enters the swap cache, its mappings become swap entries, its contents are
 * written, and it leaves the cache, which frees it. A reference that somebody else holds (sp_hold)
 * stops the last step: the page then stays in the swap cache, KSM identity and all, and a fault
 * finds it there (W3, V6).
 *
 * Locks: the frame's lock throughout; walks take anon_vma locks inside.
 */
#include "reclaim.h"

#include <errno.h>

#include "entry.h"

/* Rounds after which a page that is not evicted is given up. */
#define MAX_ROUNDS 16

enum references { REFERENCES_RECLAIM, REFERENCES_KEEP, REFERENCES_ACTIVATE };

static enum references check_references(struct vm *vm, struct frame *frame)
{
	bool locked;
	int young = frame_referenced(vm, frame, &locked);
	bool marked = frame->flags & FRAME_REFERENCED;

	if (locked)
		return REFERENCES_ACTIVATE;
	if (young < 0)
		return REFERENCES_KEEP;
	frame->flags &= (uint16_t)~FRAME_REFERENCED;
	if (!young)
		return REFERENCES_RECLAIM;
	frame->flags |= FRAME_REFERENCED;
	return marked || young > 1 ? REFERENCES_ACTIVATE : REFERENCES_KEEP;
}

/*
 * Writes the unmapped page out and drops it from the swap cache; what no entry names any more is not
 * written. The caller's reference stays.
 */
static enum reclaim_result pageout(struct vm *vm, struct frame *frame)
{
	/* The caller's and the swap cache's; any other may still use the page. */
	if (frame->refcount != 2)
		return RECLAIM_KEPT;
	if (frame_free_swap(vm, frame))
		return RECLAIM_FREED;
	if (swap_write(&vm->swap, frame))
		return RECLAIM_ACTIVATED;
	frame->flags &= (uint16_t)~FRAME_DIRTY;
	/* Zero-filled pages are kept in a bitmap, not written. */
	if (frame_compare(&vm->frames, frame, vm->frames.zero))
		vm->stat.pswpout++;
	swap_cache_remove(&vm->swap, frame);
	return RECLAIM_FREED;
}

static enum reclaim_result shrink(struct vm *vm, struct frame *frame, bool ignore_references)
{
	struct sp_walk_metrics *metrics = &rmap_of(vm)->metrics;
	enum references references = REFERENCES_RECLAIM;
	uint64_t mapped;

	if (!ignore_references)
		references = check_references(vm, frame);
	if (frame->flags & FRAME_MLOCKED)
		return RECLAIM_UNEVICTABLE;
	if (references == REFERENCES_ACTIVATE) {
		frame->flags |= FRAME_ACTIVE;
		return RECLAIM_ACTIVATED;
	}
	if (references == REFERENCES_KEEP)
		return RECLAIM_KEPT;
	if (!(frame->flags & FRAME_SWAPCACHE) && swap_cache_add(&vm->swap, frame)) {
		frame->flags |= FRAME_ACTIVE;
		return RECLAIM_ACTIVATED;
	}
	frame->flags |= FRAME_DIRTY;
	mapped = (uint64_t)frame->mapcount;
	if (mapped) {
		bool unmapped = try_to_unmap(vm, frame);

		metrics->reachable += mapped;
		metrics->reached += mapped - (uint64_t)frame->mapcount;
		if (!unmapped) {
			if (frame->flags & FRAME_MLOCKED)
				return RECLAIM_UNEVICTABLE;
			rmap_audit_left(vm, "reclaim: unmap walk", frame,
					frame_pfn(&vm->frames, frame), TRUTH_MAPPED);
			frame->flags |= FRAME_ACTIVE;
			return RECLAIM_ACTIVATED;
		}
	}
	return pageout(vm, frame);
}

enum reclaim_result reclaim_frame(struct vm *vm, struct frame *frame, bool ignore_references)
{
	uint32_t pfn = frame_pfn(&vm->frames, frame);
	enum reclaim_result result;

	SP_ASSERT(frame_is_anon(frame) || (frame->flags & FRAME_SWAPCACHE));
	if (frame->flags & FRAME_MLOCKED)
		return RECLAIM_UNEVICTABLE;
	frame_get(frame);
	frame_lock(frame);
	if ((frame->flags & FRAME_ACTIVE) && !ignore_references) {
		bool locked;

		(void)frame_referenced(vm, frame, &locked);
		frame->flags &= (uint16_t)~FRAME_ACTIVE;
		result = RECLAIM_KEPT;
	} else {
		frame->flags &= (uint16_t)~FRAME_ACTIVE;
		result = shrink(vm, frame, ignore_references);
		/* What goes back to work gives its place in the swap cache up, if places are scarce. */
		if (result == RECLAIM_UNEVICTABLE ||
		    (result == RECLAIM_ACTIVATED && swap_is_full(&vm->swap)))
			(void)frame_free_swap(vm, frame);
	}
	frame_unlock(frame);
	frame_put(&vm->frames, frame);
	event_emit(&vm->events, EV_mm_vmscan_reclaim_page, pfn, result);
	return result;
}

void reclaim_madvise_pageout(struct vma *vma, uint64_t addr, struct frame *frame)
{
	struct vm *vm = vma->mm->vm;

	(void)addr;
	frame->flags &= (uint16_t)~FRAME_REFERENCED;
	(void)reclaim_frame(vm, frame, true);
}

/*
 * A page that is mapped more than once goes by reclaim of all that there is (M5), everything else
 * being locked meanwhile. That meets these, too: unmapped, still in the swap cache, and
 * freed if nobody else refers to them.
 */
static void drop_cached(struct vm *vm)
{
	struct swap *swap = &vm->swap;

	for (uint32_t slot = 0; slot < swap->nr_slots; slot++) {
		struct frame *cached = swap->slots[slot].used ? swap_cache_find(swap, slot) : NULL;

		if (cached && !cached->mapcount)
			(void)reclaim_frame(vm, cached, true);
	}
}

int vm_swap_out(struct mm *mm, uint64_t addr)
{
	struct vm *vm = mm->vm;

	for (int round = 0; round < MAX_ROUNDS; round++) {
		struct frame *frame;
		pte_t pte;

		rwsem_read_lock(&mm->mmap_lock);
		pte = vma_lookup(mm, addr) ? vm_pte(mm, addr) : 0;
		rwsem_read_unlock(&mm->mmap_lock);
		if (pte_is_swap(pte))
			return 1;
		if (pte_is_migration(pte))
			return -EDEADLK;
		if (!pte_present(pte) || pte_is_zero_page(pte))
			return -EFAULT;
		frame = frame_of_pfn(&vm->frames, pte_value(pte));
		if (!frame_is_anon(frame))
			return -EFAULT;
		if (!round && frame->mapcount > 1)
			drop_cached(vm);
		if (reclaim_frame(vm, frame, false) == RECLAIM_UNEVICTABLE)
			return 0;
	}
	return 0;
}

int64_t vm_reclaim(struct vm *vm, uint64_t nr_pages, unsigned int rounds)
{
	int64_t freed = 0;

	for (; rounds && nr_pages; rounds--) {
		for (uint32_t pfn = 1; pfn < vm->frames.nr_frames && nr_pages; pfn++) {
			struct frame *frame = frame_of_pfn(&vm->frames, pfn);

			if (frame->refcount <= 0 ||
			    !(frame_is_anon(frame) || (frame->flags & FRAME_SWAPCACHE)))
				continue;
			if (reclaim_frame(vm, frame, false) == RECLAIM_FREED) {
				freed++;
				nr_pages--;
			}
		}
	}
	return freed;
}
