/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a new mapping goes (get_unmapped_area of Linux on x86-64).
 */
#ifndef SP_ADDRESS_H
#define SP_ADDRESS_H

#include "mm.h"

/*
 * length is page aligned and not 0. fixed: addr or nothing; otherwise addr is a hint, 0 for
 * none. huge: anonymous private memory, which begins at a 2 MiB boundary if it is a
 * multiple of that. 0 and *ret; -ENOMEM no room or beyond TASK_SIZE; -EINVAL a fixed
 * address that is not page aligned.
 */
int find_address(const struct mm *mm, uint64_t addr, uint64_t length, bool fixed, bool huge,
		 uint64_t *ret) SP_MUST_CHECK;

#endif
