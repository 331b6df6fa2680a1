/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Unmapping in two steps, for those who map something in the same place (MAP_FIXED).
 */
#ifndef SP_MUNMAP_H
#define SP_MUNMAP_H

#include "vma.h"

/*
 * Splits the VMAs at both ends of [start, end), so that it contains whole VMAs only; *nr
 * gets their number. 0; -ENOMEM, also where a hole in the middle of a VMA would exceed the
 * map count. A split that was made stays made when the other fails, as on Linux.
 */
int munmap_split(struct mm *mm, uint64_t start, uint64_t end, unsigned int *nr) SP_MUST_CHECK;
/*
 * Removes the whole VMAs in [start, end) and their pages. The range tree has as many
 * updates reserved. 0, or -ENOMEM with all VMAs still there, but perhaps not all of their
 * pages.
 */
int munmap_whole(struct mm *mm, uint64_t start, uint64_t end) SP_MUST_CHECK;

#endif
