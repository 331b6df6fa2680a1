/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that goes; see offline.h.
 *
 * MEMORY OFFLINE migrates whatever is on a node elsewhere, and then the node is no more. A page
 * that cannot be migrated is tried again for ever, until a signal comes; here once, since nothing
 * else happens meanwhile that could make a difference. So a mapping that no walk reaches (V3) is
 * enough to keep a whole node.
 *
 * When the pages are gone, stable nodes whose page was freed are all that still names the node:
 * ksm/ drops them now and not when ksmd meets them.
 *
 * SOFT-OFFLINE migrates one page, and its old frame is never used again: FRAME_RETIRED.
 *
 *	err = vm_offline_node(vm, 2);		// -EBUSY
 *	err = vm_soft_offline(mm, addr, PAGE_SIZE);
 *
 * What is different in Linux: memory goes by blocks, not by nodes; a large folio is moved as one
 * where it can be, and split for soft-offline even when several processes map it; pages of files
 * are moved too (here they are -EBUSY, and -EOPNOTSUPP as in move_pages); a piece that turns out
 * to be zeroes when its folio is split is retired, not just freed; and the node that pages go to
 * follows from distances.
 *
 * Locks: vm_soft_offline() takes mmap_lock for read to find a page; migration its own.
 */
#include "offline.h"

#include <errno.h>

#include "fault.h"

/* ---- Nodes ---- */

static int move_away(struct vm *vm, struct frame *frame, int target)
{
	/* Orphaned entries name it: it cannot be anywhere else. */
	if (!frame_is_anon(frame) || (frame->flags & FRAME_ORPHANED))
		return -EBUSY;
	return migrate_frame(vm, frame, target);
}

int vm_offline_node(struct vm *vm, uint32_t nid)
{
	struct frames *frames = &vm->frames;
	uint32_t end = frames->nr_frames;
	int target = frames_next_node(frames, nid);
	int result = 0;

	SP_ASSERT(!frames->node[nid].offline && target >= 0 && (uint32_t)target != nid);
	frames_set_offline(frames, nid, true);
	for (uint32_t pfn = 1; pfn < end && result != -ENOMEM; pfn++) {
		struct frame *frame = frame_of_pfn(frames, pfn);
		int err;

		if (frame->nid != nid || !frame->refcount || (frame->flags & FRAME_RETIRED))
			continue;
		err = move_away(vm, frame, target);
		if (err && (!result || err == -ENOMEM || err == -EUCLEAN))
			result = err;
	}
	if (result)
		frames_set_offline(frames, nid, false);
	else if (vm->hooks.ksm_node_offline)
		vm->hooks.ksm_node_offline(vm, nid);
	return result;
}

/* ---- Pages ---- */

/* What is mapped at addr, faulted in for reading as get_user_pages() does, which leaves the young
 * bit of what is mapped already alone. */
static int page_in(struct mm *mm, uint64_t addr, pte_t *ret)
{
	struct frame *frame;
	struct vma *vma;
	int err = 0;

	rwsem_read_lock(&mm->mmap_lock);
	vma = vma_lookup(mm, addr);
	if (!vma || !(vma->flags & VM_ACCESS_FLAGS))
		err = -EFAULT;
	*ret = err ? 0 : vm_pte(mm, addr);
	rwsem_read_unlock(&mm->mmap_lock);
	if (err || pte_present(*ret))
		return err;
	err = vm_access(mm, addr, false, &frame);
	if (!err)
		*ret = vm_pte(mm, addr);
	return err;
}

/* *gone: it was zeroes, which nothing maps any more. */
static int split_folio(struct mm *mm, uint64_t addr, struct frame *frame, bool *gone)
{
	int err;

	rwsem_read_lock(&mm->mmap_lock);
	err = split_folio_alone(mm, addr, frame);
	*gone = !err && pte_is_zero_page(vm_pte(mm, addr));
	rwsem_read_unlock(&mm->mmap_lock);
	return err;
}

static int soft_offline_page(struct mm *mm, uint64_t addr)
{
	struct vm *vm = mm->vm;
	struct frame *frame;
	bool gone = false;
	pte_t pte;
	int err = page_in(mm, addr, &pte);

	if (err)
		return err;
	if (pte_is_zero_page(pte))
		return -EIO;
	frame = frame_of_pfn(&vm->frames, pte_value(pte));
	if (frame->flags & FRAME_FILE)
		return -EOPNOTSUPP;
	if (frame_is_large(frame))
		err = split_folio(mm, addr, frame, &gone);
	if (err || gone)
		return err;
	frame->flags |= FRAME_REFERENCED;
	return migrate_frame_for_good(vm, frame);
}

int vm_soft_offline(struct mm *mm, uint64_t addr, uint64_t length)
{
	uint64_t pages_length = (length + PAGE_SIZE - 1) & PAGE_MASK;
	int err = 0;

	if (!page_aligned(addr) || (length && !pages_length) || addr + pages_length < addr)
		return -EINVAL;
	for (uint64_t done = 0; !err && done < pages_length; done += PAGE_SIZE)
		err = soft_offline_page(mm, addr + done);
	return err;
}
