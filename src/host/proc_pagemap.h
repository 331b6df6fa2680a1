/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the page tables of a running process hold, as runs of pages of one
 * state (memory_image.h).
 *
 * Two sources. PAGEMAP_SCAN (Linux 6.7) reports only what is there, so a
 * process that reserves terabytes is read as fast as one that does not, and it
 * knows the zero page. The entries of pagemap, 8 bytes a page, are there on
 * every kernel. The first is tried, and given up for good when the kernel does
 * not have it.
 *
 *	err = pagemap_init(&pm, mem, fd, false);
 *	err = pagemap_next(&pm, &vma, addr, &state, &nr_pages);
 *	pagemap_free(&pm);
 *
 * A window of at most 32 MiB of resident pages is looked at ahead of the
 * contents, so that the states are not stale by the time they are used.
 *
 * Locking: none, one thread.
 */
#ifndef SP_PROC_PAGEMAP_H
#define SP_PROC_PAGEMAP_H

#include "mem.h"
#include "memory_image.h"

struct pagemap_region; /* one range that PAGEMAP_SCAN reports */

struct pagemap {
	struct mem *mem;
	int fd;
	bool use_scan;
	bool scan_knows_guards;

	uint64_t start, end; /* the window, in bytes */
	uint64_t *entries;   /* of the window, unless use_scan */
	struct pagemap_region *regions;
	size_t nr_regions, next_region;
};

int pagemap_init(struct pagemap *pm, struct mem *mem, int fd, bool no_scan)
	SP_MUST_CHECK;
void pagemap_free(struct pagemap *pm);

/*
 * The state of the page at `addr` and of up to *nr_pages >= 1 pages from there
 * on, inside the VMA. -ESRCH when the address space is gone. Addresses must
 * ascend from call to call.
 */
int pagemap_next(struct pagemap *pm, const struct image_vma *vma, uint64_t addr,
		 enum image_page_state *state, uint64_t *nr_pages) SP_MUST_CHECK;

/* One entry of pagemap in a private VMA. */
enum image_page_state pagemap_entry_state(uint64_t entry,
					  const struct image_vma *vma);

#endif
