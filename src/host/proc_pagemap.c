/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The page tables of a running process; see proc_pagemap.h.
 *
 * The interface of PAGEMAP_SCAN is declared here because the headers of a
 * distribution are often older than the kernel that runs.
 */
#include "proc_pagemap.h"

#include <errno.h>
#include <linux/ioctl.h>
#include <linux/types.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Bits of a pagemap entry. */
#define ENTRY_GUARD (UINT64_C(1) << 58)
#define ENTRY_FILE (UINT64_C(1) << 61)
#define ENTRY_SWAPPED (UINT64_C(1) << 62)
#define ENTRY_PRESENT (UINT64_C(1) << 63)

/* Categories of PAGEMAP_SCAN. */
#define SCAN_FILE (UINT64_C(1) << 2)
#define SCAN_PRESENT (UINT64_C(1) << 3)
#define SCAN_SWAPPED (UINT64_C(1) << 4)
#define SCAN_ZERO_PAGE (UINT64_C(1) << 5)
#define SCAN_GUARD (UINT64_C(1) << 8) /* from 6.16 on */

struct pagemap_region {
	__u64 start, end;
	__u64 categories;
};

struct scan_request {
	__u64 size, flags;
	__u64 start, end, walk_end;
	__u64 vec, vec_len;
	__u64 max_pages;
	__u64 category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define SCAN_IOCTL _IOWR('f', 16, struct scan_request)

#define WINDOW_PAGES UINT64_C(8192)
#define NR_REGIONS 512

int pagemap_init(struct pagemap *pm, struct mem *mem, int fd, bool no_scan)
{
	*pm = (struct pagemap){
		.mem = mem,
		.fd = fd,
		.use_scan = !no_scan,
		.scan_knows_guards = true,
	};
	pm->entries = mem_alloc(mem, WINDOW_PAGES * sizeof(*pm->entries));
	pm->regions = mem_alloc(mem, NR_REGIONS * sizeof(*pm->regions));
	if (pm->entries && pm->regions)
		return 0;
	pagemap_free(pm);
	return -ENOMEM;
}

void pagemap_free(struct pagemap *pm)
{
	mem_free(pm->mem, pm->entries, WINDOW_PAGES * sizeof(*pm->entries));
	mem_free(pm->mem, pm->regions, NR_REGIONS * sizeof(*pm->regions));
	pm->entries = NULL;
	pm->regions = NULL;
}

static enum image_page_state nothing_there(const struct image_vma *vma)
{
	return vma->file_backed ? IMAGE_PAGE_FILE : IMAGE_PAGE_UNTOUCHED;
}

enum image_page_state pagemap_entry_state(uint64_t entry,
					  const struct image_vma *vma)
{
	if (entry & ENTRY_PRESENT)
		return entry & ENTRY_FILE ? IMAGE_PAGE_FILE : IMAGE_PAGE_PRESENT;
	/* A guard is shown as swapped, but is no page. */
	if ((entry & ENTRY_SWAPPED) && !(entry & ENTRY_GUARD))
		return IMAGE_PAGE_SWAPPED;
	return nothing_there(vma);
}

static enum image_page_state scan_state(uint64_t categories,
					const struct image_vma *vma)
{
	if (categories & SCAN_GUARD)
		return nothing_there(vma);
	if (categories & SCAN_SWAPPED)
		return IMAGE_PAGE_SWAPPED;
	if (categories & SCAN_FILE)
		return IMAGE_PAGE_FILE;
	/* In a file mapping, the zero page is what KSM put there: contents. */
	if ((categories & SCAN_ZERO_PAGE) && !vma->file_backed)
		return IMAGE_PAGE_UNTOUCHED;
	return IMAGE_PAGE_PRESENT;
}

static int read_entries(struct pagemap *pm, uint64_t addr, uint64_t end,
			uint64_t *nr_read)
{
	uint64_t want = MIN((end - addr) / PAGE_SIZE, WINDOW_PAGES);
	ssize_t n;

	do {
		n = pread(pm->fd, pm->entries, want * sizeof(*pm->entries),
			  (off_t)(addr / PAGE_SIZE * sizeof(*pm->entries)));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	*nr_read = (uint64_t)n / sizeof(*pm->entries);
	return *nr_read ? 0 : -ESRCH;
}

static int fill_entries(struct pagemap *pm, uint64_t addr, uint64_t end)
{
	uint64_t nr = 0; /* gcc -O3 takes it for used unset */
	int err = read_entries(pm, addr, end, &nr);

	if (err)
		return err;
	pm->start = addr;
	pm->end = addr + nr * PAGE_SIZE;
	return 0;
}

/* -ENOTTY when the kernel does not have it. */
static int fill_regions(struct pagemap *pm, uint64_t addr, uint64_t end)
{
	struct scan_request request = {
		.size = sizeof(request),
		.start = addr,
		.end = end,
		.vec = (uintptr_t)pm->regions,
		.vec_len = NR_REGIONS,
		.max_pages = WINDOW_PAGES,
		.category_anyof_mask = SCAN_PRESENT | SCAN_SWAPPED,
		.return_mask = SCAN_FILE | SCAN_PRESENT | SCAN_SWAPPED |
			       SCAN_ZERO_PAGE |
			       (pm->scan_knows_guards ? SCAN_GUARD : 0),
	};
	uint64_t nr_alive;
	int n;

	do {
		n = ioctl(pm->fd, SCAN_IOCTL, &request);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EINVAL && pm->scan_knows_guards) {
		pm->scan_knows_guards = false;
		return fill_regions(pm, addr, end);
	}
	if (n < 0)
		return errno == EINVAL ? -ENOTTY : -errno;
	if (request.walk_end <= addr || !page_aligned(request.walk_end))
		return -ENOTTY;
	pm->start = addr;
	pm->end = MIN((uint64_t)request.walk_end, end);
	pm->nr_regions = (size_t)n;
	pm->next_region = 0;
	/* The address space of a process that is gone scans as empty. */
	return read_entries(pm, addr, addr + PAGE_SIZE, &nr_alive);
}

static int refill(struct pagemap *pm, uint64_t addr, uint64_t end)
{
	if (pm->use_scan) {
		int err = fill_regions(pm, addr, end);

		if (err != -ENOTTY)
			return err;
		pm->use_scan = false;
	}
	return fill_entries(pm, addr, end);
}

static void next_by_entries(struct pagemap *pm, const struct image_vma *vma,
			    uint64_t addr, enum image_page_state *state,
			    uint64_t *nr_pages)
{
	const uint64_t *entry = pm->entries + (addr - pm->start) / PAGE_SIZE;
	uint64_t nr_max = (MIN(pm->end, vma->end) - addr) / PAGE_SIZE;

	*state = pagemap_entry_state(entry[0], vma);
	*nr_pages = 1;
	while (*nr_pages < nr_max &&
	       pagemap_entry_state(entry[*nr_pages], vma) == *state)
		++*nr_pages;
}

static void next_by_regions(struct pagemap *pm, const struct image_vma *vma,
			    uint64_t addr, enum image_page_state *state,
			    uint64_t *nr_pages)
{
	uint64_t end = MIN(pm->end, vma->end);
	const struct pagemap_region *region;

	while (pm->next_region < pm->nr_regions &&
	       pm->regions[pm->next_region].end <= addr)
		pm->next_region++;
	region = pm->regions + pm->next_region;
	*state = nothing_there(vma);
	if (pm->next_region < pm->nr_regions) {
		if (region->start <= addr) {
			*state = scan_state(region->categories, vma);
			end = MIN(end, region->end);
		} else {
			end = MIN(end, region->start);
		}
	}
	*nr_pages = (end - addr) / PAGE_SIZE;
}

int pagemap_next(struct pagemap *pm, const struct image_vma *vma, uint64_t addr,
		 enum image_page_state *state, uint64_t *nr_pages)
{
	if (addr < pm->start || addr >= pm->end) {
		int err = refill(pm, addr, vma->end);

		if (err)
			return err;
	}
	if (pm->use_scan)
		next_by_regions(pm, vma, addr, state, nr_pages);
	else
		next_by_entries(pm, vma, addr, state, nr_pages);
	return 0;
}
