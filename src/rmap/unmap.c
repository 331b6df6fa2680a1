/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The walkers that take mappings away or look at them: try_to_unmap (to swap entries),
 * frame_referenced (young bits).
 *
 * Each is a walk control with its rmap_one; rmap.c and ksm/ decide where it is called (R4).
 */
#include "entry.h"

static bool not_mapped(struct frame *frame)
{
	return frame->mapcount == 0;
}

static bool unmap_one(struct frame *frame, struct vma *vma, uint64_t addr, void *arg)
{
	struct vm *vm = arg;
	struct mm *mm = vma->mm;
	pte_t pte = entry_of(mm, addr, frame_pfn(&vm->frames, frame), TRUTH_MAPPED);
	uint64_t flags = 0;

	if (!pte)
		return true;
	if (vma->flags & VM_LOCKED) {
		frame->flags |= FRAME_MLOCKED;
		return false;
	}
	if ((pte & PTE_HUGE) && split_huge_mapping(mm, addr))
		return false;
	/* What is evicted is a page of its own from here on. */
	frame->flags &= (uint16_t)~(FRAME_HEAD | FRAME_TAIL);
	if (pte & PTE_DIRTY)
		frame->flags |= FRAME_DIRTY;
	if (frame->flags & FRAME_EXCLUSIVE) {
		frame->flags &= (uint16_t)~FRAME_EXCLUSIVE;
		flags |= PTE_EXCLUSIVE;
	}
	swap_dup(&vm->swap, frame->swap);
	page_table_set(&mm->pt, addr, pte_make(frame->swap, PTE_SWAP | flags));
	mm->rss_swap++;
	frame_remove_map(frame, vma);
	frame_put(&vm->frames, frame);
	return true;
}

bool try_to_unmap(struct vm *vm, struct frame *frame)
{
	struct rmap_walk_control rwc = {
		.arg = vm,
		.rmap_one = unmap_one,
		.done = not_mapped,
	};

	SP_ASSERT(frame->flags & FRAME_SWAPCACHE);
	if (frame->mapcount)
		rmap_walk(vm, frame, &rwc);
	return frame->mapcount == 0;
}

struct referenced {
	struct vm *vm;
	int mapcount; /* mappings not yet seen: the walk ends when all were */
	int referenced;
	bool vm_locked;
};

static bool referenced_one(struct frame *frame, struct vma *vma, uint64_t addr, void *arg)
{
	struct referenced *ref = arg;
	struct mm *mm = vma->mm;
	pte_t pte = entry_of(mm, addr, frame_pfn(&ref->vm->frames, frame), TRUTH_MAPPED);

	if (!pte)
		return true;
	if (vma->flags & VM_LOCKED) {
		frame->flags |= FRAME_MLOCKED;
		ref->vm_locked = true;
		return false;
	}
	if (pte & PTE_YOUNG) {
		if (pte & PTE_HUGE)
			page_table_set_huge(&mm->pt, addr & HPAGE_PMD_MASK, pte & ~PTE_YOUNG);
		else
			page_table_set(&mm->pt, addr, pte & ~PTE_YOUNG);
		ref->referenced++;
	}
	return --ref->mapcount > 0;
}

int frame_referenced(struct vm *vm, struct frame *frame, bool *vm_locked)
{
	struct referenced ref = {.vm = vm, .mapcount = frame->mapcount};
	struct rmap_walk_control rwc = {
		.arg = &ref,
		.rmap_one = referenced_one,
		.try_lock = true,
	};

	if (frame->mapcount)
		rmap_walk(vm, frame, &rwc);
	*vm_locked = ref.vm_locked;
	return rwc.contended ? -1 : ref.referenced;
}
