/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What mapping and unmapping a frame does to its counts, and to the RSS of the mm.
 *
 * Every page table entry that appears or goes passes through these functions, so
 * that mapcount and RSS can be recounted from the page tables (recount.h). They
 * neither take nor drop references and do not touch the page table: the caller
 * knows the order that is right for it.
 *
 * An anonymous page gets its identity with its first mapping: the anon_vma of the
 * VMA that faulted it, and its linear index there (A7). A page that comes back from
 * swap and may be shared by a family of forks gets the family's root instead, the
 * only anon_vma from which every possible mapper is found.
 *
 * mlock: a page is unevictable while a locked VMA maps it (V9). Linux counts locked
 * mappings as well as it can; here the flag goes with the first locked mapping that
 * goes, and reclaim's walk sets it again if it meets another.
 *
 * Locks: the folio lock where Linux wants it (a frame that others can find).
 */
#include "fault_internal.h"

static int64_t *rss_of(struct mm *mm, const struct frame *frame)
{
	const struct file *file;

	if (!(frame->flags & FRAME_FILE))
		return &mm->rss_anon;
	file = frame_mapping(frame);
	return file->shmem ? &mm->rss_shmem : &mm->rss_file;
}

void frame_add_map(struct frame *frame, struct vma *vma)
{
	SP_ASSERT(!(frame->flags & FRAME_ZERO));
	SP_ASSERT(frame_is_anon(frame) || (frame->flags & FRAME_FILE));
	frame->mapcount++;
	++*rss_of(vma->mm, frame);
	if ((vma->flags & VM_LOCKED) && frame_is_anon(frame))
		frame->flags |= FRAME_MLOCKED;
}

void frame_adopt_anon(struct frame *frame, struct vma *vma, uint64_t addr, bool exclusive)
{
	struct anon_vma *anon_vma = exclusive ? vma->anon_vma : vma->anon_vma->root;

	SP_ASSERT(frame->mapcount == 0 && !frame_is_anon(frame));
	SP_ASSERT(addr >= vma->start && addr < vma->end);
	frame->mapping = (uintptr_t)anon_vma | MAPPING_ANON;
	frame->index = vma_linear_index(vma, addr);
	if (exclusive)
		frame->flags |= FRAME_EXCLUSIVE;
	frame_add_map(frame, vma);
}

void frame_add_new_anon(struct frame *frame, struct vma *vma, uint64_t addr)
{
	SP_ASSERT(vma->anon_vma);
	frame_adopt_anon(frame, vma, addr, true);
}

void frame_remove_map(struct frame *frame, struct vma *vma)
{
	SP_ASSERT(frame->mapcount > 0);
	frame->mapcount--;
	--*rss_of(vma->mm, frame);
	if ((vma->flags & VM_LOCKED) || !frame->mapcount)
		frame->flags &= (uint16_t)~FRAME_MLOCKED;
}
