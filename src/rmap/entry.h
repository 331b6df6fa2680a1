/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the walkers of rmap/ share: finding, at an address that a walk yields, the entry
 * that concerns the walked frame (page_vma_mapped_walk of Linux).
 *
 * Locks: the anon_vma lock that the walk holds.
 */
#ifndef SP_ENTRY_H
#define SP_ENTRY_H

#include "rmap.h"

/* The PTE at addr if it maps pfn (present), or names it (migration); 0 otherwise. A piece of a
 * huge PMD counts as a PTE with PTE_HUGE set. */
static inline pte_t entry_of(const struct mm *mm, uint64_t addr, uint32_t pfn, enum truth_kind kind)
{
	bool huge;
	const pte_t *entry = page_table_find(&mm->pt, addr, &huge);
	pte_t pte;

	if (!entry)
		return 0;
	pte = *entry;
	if (kind == TRUTH_MIGRATION)
		return pte_is_migration(pte) && pte_value(pte) == pfn ? pte : 0;
	if (!pte_present(pte) || pte_is_zero_page(pte))
		return 0;
	if (huge)
		pfn -= (uint32_t)((addr & ~HPAGE_PMD_MASK) >> PAGE_SHIFT);
	return pte_value(pte) == pfn ? pte : 0;
}

#endif
