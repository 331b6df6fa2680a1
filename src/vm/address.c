/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Choosing addresses: top-down below mmap_base, so that a mapping made without a hint lies
 * directly below the one before, and merges with it if it may (A9).
 *
 * In the order of Linux: a fixed address is taken as it is; a hint, if nothing is there;
 * for large anonymous memory a gap with room for alignment, so that huge pages fit; the
 * highest gap; and when there is none below mmap_base, the lowest one above a third of the
 * address space.
 *
 * A fixed address is not looked up here: what is mapped there is the caller's matter.
 *
 * Locks: mmap_lock.
 */
#include "address.h"

#include <errno.h>

/* vm.mmap_min_addr as distributions set it. */
#define MMAP_MIN_ADDR UINT64_C(65536)
/* Where the search goes bottom-up: a third of the address space, page aligned. */
#define BOTTOM_UP_BASE ((TASK_SIZE / 3 + PAGE_SIZE - 1) & PAGE_MASK)

static uint64_t search(const struct mm *mm, uint64_t length)
{
	uint64_t addr = range_tree_find_gap_last(&mm->vmas, MMAP_MIN_ADDR, mm->mmap_base, length);

	if (addr == UINT64_MAX)
		addr = range_tree_find_gap(&mm->vmas, BOTTOM_UP_BASE, TASK_SIZE, length);
	return addr;
}

static uint64_t search_aligned(const struct mm *mm, uint64_t length)
{
	uint64_t addr = search(mm, length + HPAGE_PMD_SIZE);

	if (addr == UINT64_MAX)
		return addr;
	/*
	 * Of a padded gap that happens to be aligned, the upper part: it touches what lies
	 * above.
	 */
	if (!(addr & ~HPAGE_PMD_MASK))
		return addr + HPAGE_PMD_SIZE;
	return (addr + HPAGE_PMD_SIZE - 1) & HPAGE_PMD_MASK;
}

static bool hint_is_free(const struct mm *mm, uint64_t addr, uint64_t length)
{
	const struct vma *vma = vma_find(mm, addr);

	return TASK_SIZE - length >= addr && (!vma || addr + length <= vma->start);
}

int find_address(const struct mm *mm, uint64_t addr, uint64_t length, bool fixed, bool huge,
		 uint64_t *ret)
{
	if (length > TASK_SIZE)
		return -ENOMEM;
	if (fixed) {
		if (addr > TASK_SIZE - length)
			return -ENOMEM;
		if (!page_aligned(addr))
			return -EINVAL;
		*ret = addr;
		return 0;
	}
	addr &= PAGE_MASK;
	if (addr && addr < MMAP_MIN_ADDR)
		addr = MMAP_MIN_ADDR;
	if (addr && hint_is_free(mm, addr, length)) {
		*ret = addr;
		return 0;
	}
	huge = huge && !addr && !(length & ~HPAGE_PMD_MASK);
	addr = huge ? search_aligned(mm, length) : UINT64_MAX;
	if (addr == UINT64_MAX)
		addr = search(mm, length);
	if (addr == UINT64_MAX)
		return -ENOMEM;
	*ret = addr;
	return 0;
}
