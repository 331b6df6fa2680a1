/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the windows of a scenario lie: one behind the other, each with unmapped pages behind it.
 * Shared by the interpreter and by what makes scenarios, since the same file must have the same
 * addresses wherever it runs.
 *
 * Locks: none; constants.
 */
#ifndef SP_WINDOWS_H
#define SP_WINDOWS_H

#include "samepage.h"

/* Below what Linux gives to programs and libraries, above what sanitizers and
 * Go take: loaded processes keep their own addresses. */
#define WINDOWS_START UINT64_C(0x200000000000)
#define WINDOWS_END   UINT64_C(0x540000000000)
#define GUARD_PAGES   16

/* The address of window n, counted from 0, where all have nr_pages pages. */
static inline uint64_t window_address(unsigned int n, uint64_t nr_pages)
{
	return WINDOWS_START + n * (nr_pages + GUARD_PAGES) * SP_PAGE_SIZE;
}

#endif
