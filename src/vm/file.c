/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files: a fixed number of page-cache frames, read when first wanted.
 *
 * What is on "disk" is a function of the file's seed, so a frame can be read at any time
 * and a file costs one pointer a page until then. A frame in the page cache stays
 * there until the file goes: page-cache reclaim and writeback are not part of the engine.
 *
 * Anonymous shared memory is a file without a seed that belongs to its VMAs alone: mmap()
 * creates it with the mapping's size and gives the owner's reference up. As on Linux it
 * does not grow when mremap() extends the mapping: a page beyond the end is a SIGBUS.
 *
 * References: one of the owner (the machine, for a file that a user named), one of each VMA.
 *
 * Locking: the machine's one-thread rule.
 */
#include "vm.h"

#include <errno.h>

int file_create(struct vm *vm, uint64_t nr_pages, uint64_t seed, bool shmem, struct file **ret)
{
	struct file *file;

	if (nr_pages > SIZE_MAX / sizeof(struct frame *))
		return -ENOMEM;
	file = mem_alloc(&vm->mem, sizeof(*file));
	if (!file)
		return -ENOMEM;
	if (nr_pages) {
		file->pages = mem_alloc(&vm->mem, nr_pages * sizeof(struct frame *));
		if (!file->pages) {
			mem_free(&vm->mem, file, sizeof(*file));
			return -ENOMEM;
		}
	}
	file->vm = vm;
	file->nr_pages = nr_pages;
	file->seed = seed;
	file->shmem = shmem;
	file->refcount = 1;
	cds_list_add_tail(&file->link, &vm->files);
	*ret = file;
	return 0;
}

void file_get(struct file *file)
{
	SP_ASSERT(file->refcount > 0);
	file->refcount++;
}

static void forget_page(struct vm *vm, struct frame *frame)
{
	SP_ASSERT(!frame->mapcount);
	frame->flags &= (uint16_t)~FRAME_FILE;
	frame->mapping = 0;
	frame_put(&vm->frames, frame);
}

void file_put(struct file *file)
{
	struct vm *vm = file->vm;

	SP_ASSERT(file->refcount > 0);
	if (--file->refcount)
		return;
	for (uint64_t i = 0; i < file->nr_pages; i++)
		if (file->pages[i])
			forget_page(vm, file->pages[i]);
	cds_list_del(&file->link);
	mem_free(&vm->mem, file->pages, file->nr_pages * sizeof(struct frame *));
	mem_free(&vm->mem, file, sizeof(*file));
}

int file_page(struct file *file, uint64_t pgoff, struct frame **ret)
{
	struct vm *vm = file->vm;
	struct frame *frame;

	if (pgoff >= file->nr_pages)
		return -EFAULT;
	frame = file->pages[pgoff];
	if (!frame) {
		frame = frame_alloc(&vm->frames, -1);
		if (!frame)
			return -ENOMEM;
		if (file->seed) {
			content_t content = CONTENT_ZERO;

			if (content_random(&vm->frames.content, &content, file->seed, pgoff)) {
				frame_put(&vm->frames, frame);
				return -ENOMEM;
			}
			frame_set_content(&vm->frames, frame, content);
		}
		frame->flags |= FRAME_FILE;
		frame->mapping = (uintptr_t)file;
		frame->index = pgoff;
		file->pages[pgoff] = frame;
	}
	*ret = frame;
	return 0;
}
