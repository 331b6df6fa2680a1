/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Loads and stores of processes, and looking at memory without disturbing it.
 *
 * Everything goes page by page through vm_access(), which faults as the CPU would; looking
 * (sp_page_info, sp_peek) reads page tables, swap and page cache directly and changes nothing, not
 * even a young bit.
 */
#include <errno.h>
#include <string.h>

#include "machine.h"

/* The part of [addr, addr + length) within addr's page, in bytes that exist. */
static int page_part(const struct vm *vm, uint64_t addr, uint64_t length, uint32_t *offset,
		     uint32_t *bytes)
{
	uint64_t at = addr & ~PAGE_MASK;
	uint64_t n = MIN(length, PAGE_SIZE - at);

	if (at + n > vm->frames.content.bytes)
		return -EFAULT;
	*offset = (uint32_t)at;
	*bytes = (uint32_t)n;
	return 0;
}

SP_API int sp_read(struct sp_process *p, uint64_t addr, void *buf, uint64_t length)
{
	char *to = buf;

	if (!p->mm)
		return -ESRCH;
	while (length) {
		const struct vm *vm = p->mm->vm;
		struct frame *frame;
		uint32_t offset, bytes;
		int err = page_part(vm, addr, length, &offset, &bytes);

		if (!err)
			err = vm_access(p->mm, addr & PAGE_MASK, false, &frame);
		if (err)
			return err;
		content_read(&vm->frames.content, frame->content, offset, to, bytes);
		to += bytes;
		addr += bytes;
		length -= bytes;
	}
	return 0;
}

SP_API int sp_write(struct sp_process *p, uint64_t addr, const void *buf, uint64_t length)
{
	const char *from = buf;

	if (!p->mm)
		return -ESRCH;
	while (length) {
		struct vm *vm = p->mm->vm;
		struct frame *frame;
		uint32_t offset, bytes;
		int err = page_part(vm, addr, length, &offset, &bytes);

		if (!err)
			err = vm_access(p->mm, addr & PAGE_MASK, true, &frame);
		if (!err)
			err = frame_write(&vm->frames, frame, offset, from, bytes);
		if (err)
			return err;
		from += bytes;
		addr += bytes;
		length -= bytes;
	}
	return 0;
}

static int whole_pages(const struct sp_process *p, uint64_t addr, uint64_t length)
{
	if (!p->mm)
		return -ESRCH;
	if (!page_aligned(addr) || !page_aligned(length) || addr + length < addr)
		return -EINVAL;
	return 0;
}

SP_API int sp_fill(struct sp_process *p, uint64_t addr, uint64_t length, uint8_t byte)
{
	int err = whole_pages(p, addr, length);

	for (uint64_t end = addr + length; !err && addr < end; addr += PAGE_SIZE) {
		struct frame *frame;

		err = vm_access(p->mm, addr, true, &frame);
		if (!err)
			frame_set_content(&p->mm->vm->frames, frame, content_uniform(byte));
	}
	return err;
}

SP_API int sp_fill_random(struct sp_process *p, uint64_t addr, uint64_t length, uint64_t seed)
{
	int err = whole_pages(p, addr, length);

	for (uint64_t i = 0; !err && i < length >> PAGE_SHIFT; i++) {
		struct frames *frames = &p->mm->vm->frames;
		content_t content = CONTENT_ZERO;
		struct frame *frame;

		err = content_random(&frames->content, &content, seed, i);
		if (err)
			break;
		err = vm_access(p->mm, addr + (i << PAGE_SHIFT), true, &frame);
		if (err)
			content_free(&frames->content, content);
		else
			frame_set_content(frames, frame, content);
	}
	return err;
}

SP_API int sp_touch(struct sp_process *p, uint64_t addr, uint64_t length)
{
	int err = whole_pages(p, addr, length);

	for (uint64_t end = addr + length; !err && addr < end; addr += PAGE_SIZE) {
		struct frame *frame;

		err = vm_access(p->mm, addr, false, &frame);
	}
	return err;
}

/* A swap entry for contents that never had a frame here. mmap_lock held for write. */
static int load_swapped(struct mm *mm, uint64_t addr, const void *contents)
{
	struct vm *vm = mm->vm;
	struct vma *vma = vma_lookup(mm, addr);
	content_t content = CONTENT_ZERO;
	uint32_t slot;
	int err;

	if (!vma || (vma->flags & VM_SHARED))
		return -EFAULT;
	if (vm_pte(mm, addr))
		return -EEXIST;
	err = anon_vma_prepare(vma);
	if (!err)
		err = page_table_prepare(&mm->pt, addr);
	if (!err && contents)
		err = content_write(&vm->frames.content, &content, 0, contents,
				    vm->frames.content.bytes);
	if (err)
		return err;
	err = swap_alloc_loaded(&vm->swap, content, !contents, &slot);
	if (err) {
		content_free(&vm->frames.content, content);
		return err;
	}
	swap_dup(&vm->swap, slot);
	page_table_set(&mm->pt, addr, pte_make(slot, PTE_SWAP | PTE_EXCLUSIVE));
	mm->rss_swap++;
	return 0;
}

SP_API int sp_load_swapped(struct sp_process *p, uint64_t addr, const void *contents)
{
	int err = whole_pages(p, addr, PAGE_SIZE);

	if (err)
		return err;
	rwsem_write_lock(&p->mm->mmap_lock);
	err = load_swapped(p->mm, addr, contents);
	rwsem_write_unlock(&p->mm->mmap_lock);
	return err;
}

static void describe_frame(struct mm *mm, uint32_t pfn, struct sp_page_info *info)
{
	const struct frame *frame = frame_of_pfn(&mm->vm->frames, pfn);

	info->pfn = pfn;
	info->ksm = frame_is_ksm(frame);
	info->anon = frame_is_anon(frame);
	info->mapcount = (uint32_t)frame->mapcount;
	info->refcount = (uint32_t)frame->refcount;
	info->nid = frame->nid;
	info->folio_index = frame->index;
	info->locked_in_memory = frame->flags & FRAME_MLOCKED;
}

SP_API int sp_page_info(struct sp_process *p, uint64_t addr, struct sp_page_info *ret)
{
	struct mm *mm = p->mm;
	struct vma *vma;
	pte_t pte;

	*ret = (struct sp_page_info){.state = SP_PAGE_NONE};
	if (!mm)
		return -ESRCH;
	rwsem_read_lock(&mm->mmap_lock);
	addr &= PAGE_MASK;
	vma = vma_lookup(mm, addr);
	if (!vma)
		goto out;
	ret->vma_start = vma->start;
	ret->vma_end = vma->end;
	ret->vma_pgoff = vma->pgoff;
	ret->linear_index = vma_linear_index(vma, addr);
	pte = vm_pte(mm, addr);
	if (pte_is_zero_page(pte)) {
		ret->state = SP_PAGE_ZERO;
		ret->ksm = pte_is_ksm_zero(pte);
	} else if (pte_present(pte)) {
		ret->state = SP_PAGE_PRESENT;
		describe_frame(mm, pte_value(pte), ret);
		ret->huge = pte & PTE_HUGE;
		ret->young = pte & PTE_YOUNG;
		ret->dirty = pte & PTE_DIRTY;
		ret->writable = pte & PTE_WRITE;
	} else if (pte_is_swap(pte)) {
		ret->state = SP_PAGE_SWAPPED;
	} else if (pte_is_migration(pte)) {
		ret->state = SP_PAGE_MIGRATION;
	}
out:
	rwsem_read_unlock(&mm->mmap_lock);
	return 0;
}

/* Where the bytes of the page at addr are, without a fault. */
static int peek_content(struct mm *mm, uint64_t addr, content_t *ret)
{
	struct vm *vm = mm->vm;
	struct vma *vma = vma_lookup(mm, addr);
	pte_t pte = vma ? vm_pte(mm, addr) : 0;
	struct frame *frame;
	int err;

	if (!vma)
		return -ENODATA;
	if (pte_present(pte)) {
		*ret = pte_is_zero_page(pte) ? CONTENT_ZERO
					     : frame_of_pfn(&vm->frames, pte_value(pte))->content;
		return 0;
	}
	if (pte_is_swap(pte)) {
		frame = swap_cache_find(&vm->swap, pte_value(pte));
		*ret = frame ? frame->content : vm->swap.slots[pte_value(pte)].content;
		return 0;
	}
	if (pte || !vma->file)
		return -ENODATA;
	err = file_page(vma->file, vma_linear_index(vma, addr), &frame);
	if (!err)
		*ret = frame->content;
	return err;
}

SP_API int sp_peek(struct sp_process *p, uint64_t addr, void *buf, uint64_t length)
{
	char *to = buf;
	int err = 0;

	if (!p->mm)
		return -ESRCH;
	rwsem_read_lock(&p->mm->mmap_lock);
	while (length && !err) {
		const struct vm *vm = p->mm->vm;
		uint32_t offset, bytes;
		content_t content;

		err = page_part(vm, addr, length, &offset, &bytes);
		if (!err)
			err = peek_content(p->mm, addr & PAGE_MASK, &content);
		if (err)
			break;
		content_read(&vm->frames.content, content, offset, to, bytes);
		to += bytes;
		addr += bytes;
		length -= bytes;
	}
	rwsem_read_unlock(&p->mm->mmap_lock);
	return err;
}

SP_API int sp_vma_find(struct sp_process *p, uint64_t addr, struct sp_vma_info *ret)
{
	struct vma *vma;

	if (!p->mm)
		return -ESRCH;
	rwsem_read_lock(&p->mm->mmap_lock);
	vma = vma_find(p->mm, addr);
	if (vma)
		*ret = (struct sp_vma_info){
			.start = vma->start,
			.end = vma->end,
			.pgoff = vma->pgoff,
			.prot = (vma->flags & VM_READ ? SP_PROT_READ : 0) |
				(vma->flags & VM_WRITE ? SP_PROT_WRITE : 0) |
				(vma->flags & VM_EXEC ? SP_PROT_EXEC : 0),
			.shared = vma->flags & VM_SHARED,
			.file = vma->file && !vma->file->shmem,
			.mergeable = vma->flags & VM_MERGEABLE,
			.locked = vma->flags & VM_LOCKED,
			.dontfork = vma->flags & VM_DONTCOPY,
			.anon_vma = vma->anon_vma ? vma->anon_vma->id : 0,
		};
	rwsem_read_unlock(&p->mm->mmap_lock);
	return vma ? 0 : -ENOENT;
}
