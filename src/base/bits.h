/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small integer and pointer helpers that every layer uses.
 *
 * Page constants live here because addresses are x86-64 addresses in every
 * machine, whatever size its page contents have (see content.h): a page is
 * 4096 bytes of address space and PAGE_SHIFT relates addresses to indexes.
 */
#ifndef SP_BITS_H
#define SP_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_SHIFT 12
#define PAGE_SIZE (UINT64_C(1) << PAGE_SHIFT)
#define PAGE_MASK (~(PAGE_SIZE - 1))
#define HPAGE_PMD_ORDER 9
#define HPAGE_PMD_NR (1u << HPAGE_PMD_ORDER)
#define HPAGE_PMD_SIZE (PAGE_SIZE << HPAGE_PMD_ORDER)
#define HPAGE_PMD_MASK (~(HPAGE_PMD_SIZE - 1))
/* End of user address space (exclusive), as on x86-64 with four levels. */
#define TASK_SIZE ((UINT64_C(1) << 47) - PAGE_SIZE)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define SP_MUST_CHECK __attribute__((warn_unused_result))
#define SP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

static inline bool page_aligned(uint64_t addr)
{
	return (addr & ~PAGE_MASK) == 0;
}

#endif
