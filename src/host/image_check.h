/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A visitor that checks the contract of memory_image.h and hands everything on
 * to another one: VMAs ascend, and each of their pages is told exactly once,
 * in order. Tests and the fuzz target put it between reader and receiver.
 *
 *	struct image_check check = { .inner = &ops, .inner_arg = arg };
 *	err = elf_core_read(&mem, path, &image_check_ops, &check, ...);
 *	image_check_finish(&check, err, &report);
 *	if (check.violation) puts(check.violation);
 *
 * The first violation is kept; reading goes on. `inner` may be NULL.
 */
#ifndef SP_IMAGE_CHECK_H
#define SP_IMAGE_CHECK_H

#include <string.h>

#include "memory_image.h"

struct image_check {
	const struct image_ops *inner;
	void *inner_arg;

	const char *violation;
	uint64_t next, vma_end; /* the next page that is due, and the last one */
	uint64_t nr_vmas;
	uint64_t nr_pages[NR_IMAGE_PAGE_STATES];
};

static inline void image_check_that(struct image_check *check, bool holds,
				    const char *what)
{
	if (!holds && !check->violation)
		check->violation = what;
}

static inline int image_check_vma(void *arg, const struct image_vma *vma)
{
	struct image_check *check = arg;

	image_check_that(check, check->next == check->vma_end,
			 "a VMA begins before all pages of the last were told");
	image_check_that(check, vma->start >= check->vma_end,
			 "a VMA does not lie above the one before");
	image_check_that(check, vma->start < vma->end && vma->end <= TASK_SIZE &&
			 page_aligned(vma->start) && page_aligned(vma->end),
			 "a VMA is empty, unaligned or outside of user space");
	image_check_that(check, memchr(vma->name, '\0', sizeof(vma->name)) != NULL,
			 "a VMA's name does not end");
	image_check_that(check, vma->file_backed || !vma->pgoff,
			 "anonymous memory has a file offset");
	check->nr_vmas++;
	check->next = vma->start;
	check->vma_end = vma->end;
	return check->inner ? check->inner->vma(check->inner_arg, vma) : 0;
}

static inline void image_check_pages(struct image_check *check, uint64_t addr,
				     uint64_t nr_pages,
				     enum image_page_state state)
{
	image_check_that(check, addr == check->next, "pages out of order");
	image_check_that(check, nr_pages && nr_pages <=
			 (check->vma_end - check->next) / PAGE_SIZE,
			 "a run of no pages, or past the end of its VMA");
	check->next = addr + nr_pages * PAGE_SIZE;
	check->nr_pages[state] += nr_pages;
}

static inline int image_check_page(void *arg, uint64_t addr,
				   enum image_page_state state,
				   const void *contents)
{
	struct image_check *check = arg;

	image_check_that(check, contents && (state == IMAGE_PAGE_PRESENT ||
					     state == IMAGE_PAGE_SWAPPED ||
					     state == IMAGE_PAGE_FILE),
			 "contents of a page that has none");
	image_check_pages(check, addr, 1, state);
	return check->inner ?
	       check->inner->page(check->inner_arg, addr, state, contents) : 0;
}

static inline int image_check_run(void *arg, uint64_t addr, uint64_t nr_pages,
				  enum image_page_state state)
{
	struct image_check *check = arg;

	image_check_that(check, state != IMAGE_PAGE_PRESENT,
			 "a present page without contents");
	image_check_pages(check, addr, nr_pages, state);
	return check->inner ?
	       check->inner->run(check->inner_arg, addr, nr_pages, state) : 0;
}

static const struct image_ops image_check_ops = {
	.vma = image_check_vma,
	.page = image_check_page,
	.run = image_check_run,
};

/* `err` is what the reader returned. */
static inline void image_check_finish(struct image_check *check, int err,
				      const struct image_report *report)
{
	image_check_that(check, err || check->next == check->vma_end,
			 "the last VMA is incomplete");
	image_check_that(check, check->nr_vmas == report->nr_vmas &&
			 memcmp(check->nr_pages, report->nr_pages,
				sizeof(check->nr_pages)) == 0,
			 "the report counts other than what was told");
}

#endif
