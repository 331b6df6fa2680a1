/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page faults, third part: bringing a page back from swap (do_swap_page()), and
 * giving up places in the swap cache.
 *
 * The page is looked for in the swap cache and otherwise read into a frame that
 * enters it. Whether the frame may be mapped as it is, is for KSM to say (W3), since
 * one swap entry of a former KSM page stands for mappings in unrelated places:
 *
 *	still a KSM page with a node	mapped again, read-only
 *	no anon_vma yet			adopted by this VMA, with its index here
 *	this family's, this index	mapped
 *	anything else			a copy, exclusive (ksm_swpin_copy)
 *
 * A frame is exclusive, and so writable, if the swap entry says so or it is such a
 * copy. Otherwise a store goes on as on any read-only page (cow.c), which may take
 * it over once it has left the swap cache; that is tried first.
 *
 * A page that was swapped in stays in the swap cache, and the slot with it, until
 * it is unmapped, written to by somebody to whom it is not known to be exclusive,
 * locked in memory, or swap is more than half full. The machine's swap is a disk (a
 * device with synchronous reads gives slots up at once) and reads single pages, as
 * with vm.page-cluster=0.
 *
 * pswpin counts reads. Linux keeps zero-filled pages out of the device by a bitmap
 * and does not count them; neither does this.
 *
 * Locks: mmap_lock; the frame's lock while it is looked at and mapped.
 */
#include "fault_internal.h"

#include <errno.h>

bool swap_is_full(const struct swap *swap)
{
	return swap->limit && (swap->limit - swap->nr_used) * 2 < swap->limit;
}

bool frame_free_swap(struct vm *vm, struct frame *frame)
{
	if (!(frame->flags & FRAME_SWAPCACHE) || swap_count(&vm->swap, frame->swap))
		return false;
	swap_cache_remove(&vm->swap, frame);
	/* Its contents are nowhere else now. */
	frame->flags |= FRAME_DIRTY;
	return true;
}

void frame_put_unmapped(struct vm *vm, struct frame *frame)
{
	if ((frame->flags & FRAME_SWAPCACHE) && !frame->mapcount && frame_trylock(frame)) {
		(void)frame_free_swap(vm, frame);
		frame_unlock(frame);
	}
	frame_put(&vm->frames, frame);
}

void swap_entry_put(struct vm *vm, uint32_t slot)
{
	struct frame *frame = swap_cache_find(&vm->swap, slot);

	swap_drop(&vm->swap, slot);
	if (!frame || (frame->mapcount && !swap_is_full(&vm->swap)) || !frame_trylock(frame))
		return;
	frame_get(frame);
	(void)frame_free_swap(vm, frame);
	frame_unlock(frame);
	frame_put(&vm->frames, frame);
}

/* Reads a slot into a new frame of the swap cache: locked, with a reference for the
 * caller. NULL out of memory. */
static struct frame *read_in(struct vm *vm, uint32_t slot)
{
	struct frame *frame = fault_frame_alloc(vm);

	if (!frame)
		return NULL;
	if (swap_read(&vm->swap, slot, frame)) {
		frame_put(&vm->frames, frame);
		return NULL;
	}
	frame_lock(frame);
	swap_cache_insert(&vm->swap, slot, frame);
	if (frame_compare(&vm->frames, frame, vm->frames.zero))
		vm->stat.pswpin++;
	return frame;
}

/* should_try_to_free_swap(), after the frame was mapped. */
static bool should_free_swap(const struct fault *f, const struct frame *frame)
{
	if (!(frame->flags & FRAME_SWAPCACHE))
		return false;
	if (swap_is_full(&f->vm->swap) || (f->vma->flags & VM_LOCKED) ||
	    (frame->flags & FRAME_MLOCKED))
		return true;
	return (f->flags & FAULT_WRITE) && !frame_is_ksm(frame) && frame->refcount == 2;
}

int fault_swap(struct fault *f)
{
	struct vm *vm = f->vm;
	struct vma *vma = f->vma;
	uint32_t slot = pte_value(f->pte);
	struct frame *cached, *frame;
	bool exclusive;
	pte_t pte;
	int err;

	/* Usually there: what was swapped out here was anonymous before. */
	err = anon_vma_prepare(vma);
	if (err)
		return err;
	cached = swap_cache_find(&vm->swap, slot);
	if (cached) {
		frame_get(cached);
		frame_lock(cached);
	} else {
		cached = read_in(vm, slot);
		if (!cached)
			return -ENOMEM;
	}
	frame = cached;
	if (vm->hooks.ksm_might_need_to_copy)
		frame = vm->hooks.ksm_might_need_to_copy(cached, vma, f->addr);
	if (!frame) {
		frame_unlock(cached);
		frame_put(&vm->frames, cached);
		return -ENOMEM;
	}
	SP_ASSERT(!(cached->flags & FRAME_EXCLUSIVE));

	exclusive = !frame_is_ksm(frame) && ((f->pte & PTE_EXCLUSIVE) || frame != cached);
	pte = pte_of_frame(vm, frame);
	if (exclusive && (vma->flags & VM_WRITE)) {
		pte |= PTE_WRITE;
		if (f->flags & FAULT_WRITE) {
			pte |= PTE_DIRTY;
			f->flags &= ~(unsigned int)FAULT_WRITE;
		}
	}
	f->mm->rss_swap--;
	if (!frame_is_anon(frame)) {
		frame_adopt_anon(frame, vma, f->addr, exclusive);
	} else {
		SP_ASSERT(frame_is_ksm(frame) || frame->index == vma_linear_index(vma, f->addr));
		if (exclusive)
			frame->flags |= FRAME_EXCLUSIVE;
		frame_add_map(frame, vma);
	}
	page_table_set(&f->mm->pt, f->addr, pte);
	swap_drop(&vm->swap, slot);
	if (should_free_swap(f, frame))
		(void)frame_free_swap(vm, frame);
	frame_unlock(frame);
	if (frame != cached) {
		/* It keeps its place in the swap cache, even without any entry left:
		 * reclaim will find it. */
		frame_unlock(cached);
		frame_put(&vm->frames, cached);
	}
	if (!(f->flags & FAULT_WRITE))
		return 0;
	/* If this runs out of memory the page is at least back, with its contents. */
	f->pte = pte;
	return fault_wp(f);
}
