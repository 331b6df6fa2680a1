/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KSM pages that come back from swap, that are migrated, that mremap moves (W3, W5).
 *
 * A KSM page in the swap cache still is one, and may be mapped again as it is. Once it was
 * freed, what is read back is an ordinary page that belongs to whoever faults first; other
 * processes' entries for the same slot cannot share it, for a page has one anon_vma and one
 * index, and get copies. ksmd merges them again when it comes by.
 *
 * Locks: the frames are locked by the caller; mmap_lock of the VMA's mm is held.
 */
#include "ksm_internal.h"

/*
 * May be shared: this family's, at its own index. Linux compares the roots of the anon_vmas; the
 * frame's may be gone, for it may be unmapped, so here the VMA is asked whether it is linked to it.
 */
static bool fits(const struct frame *frame, const struct vma *vma, uint64_t addr)
{
	return frame->index == vma_linear_index(vma, addr) &&
	       vma_linked_to(vma, frame_mapping(frame));
}

static struct frame *copy_for(struct vm *vm, struct frame *frame, struct vma *vma, uint64_t addr)
{
	struct frame *copy = frame_alloc(&vm->frames, -1);

	if (!copy)
		return NULL;
	if (frame_copy_content(&vm->frames, copy, frame)) {
		frame_put(&vm->frames, copy);
		return NULL;
	}
	copy->flags |= FRAME_DIRTY;
	frame_lock(copy);
	vm->stat.ksm_swpin_copy++;
	event_emit(&vm->events, EV_ksm_swpin_copy, vma->mm->id, addr, frame_pfn(&vm->frames, frame),
		   frame_pfn(&vm->frames, copy));
	return copy;
}

struct frame *ksm_hook_might_need_to_copy(struct frame *frame, struct vma *vma, uint64_t addr)
{
	struct vm *vm = vma->mm->vm;
	struct ksm *ksm = ksm_of(vm);

	if (frame->flags & (FRAME_HEAD | FRAME_TAIL))
		return frame;
	if (frame_is_ksm(frame)) {
		struct ksm_stable_node *node = frame_node(frame);

		if (node && ksm->knobs.run != KSM_RUN_UNMERGE) {
			ksm_walk_note_swapin(node);
			return frame;
		}
	} else if (!frame_mapping(frame) || fits(frame, vma, addr)) {
		return frame;
	}
	return copy_for(vm, frame, vma, addr);
}

/* dst has the mapping of src already, or gets it here; from now on the node means dst. */
void ksm_hook_migrate_frame(struct frame *dst, struct frame *src)
{
	struct ksm_stable_node *node;

	if (!frame_node(dst))
		dst->mapping = src->mapping;
	node = frame_node(dst);
	if (!node)
		return;
	SP_ASSERT(node->kpfn == src->pfn);
	node->kpfn = dst->pfn;
	src->mapping = MAPPING_KSM;
}

/* A mapping that no item's index need name, as after swap-in. */
void ksm_hook_pte_moved(struct vm *vm, struct frame *frame)
{
	struct ksm_stable_node *node = frame_node(frame);

	(void)vm;
	if (node)
		ksm_walk_note_swapin(node);
}
