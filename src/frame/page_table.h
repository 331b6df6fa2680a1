/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page tables: four levels of 512 entries, as x86-64 has them; an entry of the
 * second-lowest level (PMD) maps 2 MiB when it is huge.
 *
 * An entry is one word:
 *
 *	0                                    none
 *	PTE_PRESENT | flags | pfn << 12      a mapped frame
 *	PTE_SWAP | flags | slot << 12        swapped out
 *	PTE_MIGRATION | flags | pfn << 12    its frame is being migrated away
 *
 * On a present entry PTE_WRITE, PTE_DIRTY, PTE_YOUNG, PTE_SPECIAL (the zero page;
 * with PTE_DIRTY it was put there by KSM, K19) and PTE_HUGE (every entry of PMD
 * level) are meaningful. On a migration entry PTE_WRITE, PTE_DIRTY, PTE_YOUNG and
 * PTE_EXCLUSIVE keep what must come back. On a swap entry PTE_EXCLUSIVE says that
 * no other entry shares the slot (a swap entry of a KSM page never has it, W1).
 * Protection by VMA (PROT_NONE) does not clear PTE_PRESENT.
 *
 * A table knows which of its entries are in use, so an empty table is freed when
 * its last entry goes, and a walk over a range skips what is not there.
 *
 * While all PTEs lie in one window of 64 pages there are no tables at all: the entries are kept in
 * the struct itself, and nobody can tell the difference but by the time and memory that it takes. A
 * search makes millions of processes of a few pages; real ones leave the window at once, and come
 * back to it when their last table goes.
 *
 * Locking: the mm's mmap_lock for reading or writing keeps tables alive; in
 * walks, the anon_vma lock does (free_pgtables unlinks the VMA from its
 * anon_vma first). Entries change under the machine's one-thread rule.
 *
 *	err = page_table_prepare(&pt, addr);		// may fail
 *	page_table_set(&pt, addr, pte_make(pfn, PTE_PRESENT));	// may not
 *	pte = page_table_find(&pt, addr, NULL);
 *	page_table_set(&pt, addr, 0);			// frees what is empty
 */
#ifndef SP_PAGE_TABLE_H
#define SP_PAGE_TABLE_H

#include "mem.h"

typedef uint64_t pte_t;

#define PTE_PRESENT (UINT64_C(1) << 0)
#define PTE_WRITE (UINT64_C(1) << 1)
#define PTE_DIRTY (UINT64_C(1) << 2)
#define PTE_YOUNG (UINT64_C(1) << 3)
#define PTE_SPECIAL (UINT64_C(1) << 4)
#define PTE_HUGE (UINT64_C(1) << 5)
#define PTE_SWAP (UINT64_C(1) << 6)
#define PTE_MIGRATION (UINT64_C(1) << 7)
#define PTE_EXCLUSIVE (UINT64_C(1) << 8)
#define PTE_VALUE_SHIFT 12

static inline pte_t pte_make(uint64_t value, uint64_t flags)
{
	return value << PTE_VALUE_SHIFT | flags;
}

/* pfn of a present or migration entry, slot of a swap entry. */
static inline uint32_t pte_value(pte_t pte)
{
	return (uint32_t)(pte >> PTE_VALUE_SHIFT);
}

static inline bool pte_present(pte_t pte)
{
	return pte & PTE_PRESENT;
}

static inline bool pte_is_swap(pte_t pte)
{
	return pte & PTE_SWAP;
}

static inline bool pte_is_migration(pte_t pte)
{
	return pte & PTE_MIGRATION;
}

static inline bool pte_is_zero_page(pte_t pte)
{
	return (pte & (PTE_PRESENT | PTE_SPECIAL)) == (PTE_PRESENT | PTE_SPECIAL);
}

/* is_ksm_zero_pte(): a zero page that KSM placed. */
static inline bool pte_is_ksm_zero(pte_t pte)
{
	return pte_is_zero_page(pte) && (pte & PTE_DIRTY);
}

struct page_table_node; /* 512 entries of one level */

#define PAGE_TABLE_WINDOW 64u /* pages, aligned to as many */

struct page_table {
	struct pool *nodes;           /* the machine's pool of tables */
	struct page_table_node *root; /* NULL while there are no tables */
	uint64_t nr_nodes;
	bool no_window;               /* tables from the first entry on (tests of tables) */
	bool windowed;                /* prepared: entries are below, and root is NULL */
	uint64_t window;              /* the first address of the window */
	uint64_t window_used;         /* one bit for each entry; others are undefined */
	pte_t window_entry[PAGE_TABLE_WINDOW];
};

void page_table_pool_init(struct pool *pool, struct mem *mem);
void page_table_init(struct page_table *pt, struct pool *nodes);
/* All entries must be none. */
void page_table_destroy(struct page_table *pt);

/*
 * The entry for addr: a pointer to its PTE, or to its PMD when that is huge
 * (*huge is then true; huge may be NULL if the caller knows that it cannot be:
 * then a huge PMD gives NULL). NULL when there is no table. Read through the
 * pointer, change only by page_table_set(). Valid until the next change of this
 * page table.
 */
const pte_t *page_table_find(const struct page_table *pt, uint64_t addr, bool *huge);

/*
 * Makes sure that the tables down to addr's PTE exist (a huge PMD there is the
 * caller's bug): 0 or -ENOMEM, which leaves all as it was. After it,
 * page_table_set() for that address cannot fail. A table that is prepared but
 * unused is kept until page_table_trim() or the next set to none in it.
 */
int page_table_prepare(struct page_table *pt, uint64_t addr) SP_MUST_CHECK;
/* The same for a PMD (2 MiB aligned addr). */
int page_table_prepare_huge(struct page_table *pt, uint64_t addr) SP_MUST_CHECK;

/*
 * Sets an entry. Setting to 0 may free tables; setting in a table that does not
 * exist is a bug, except setting 0. A PMD that is set huge must have no PTEs; an
 * empty table there is freed.
 */
void page_table_set(struct page_table *pt, uint64_t addr, pte_t pte);
void page_table_set_huge(struct page_table *pt, uint64_t addr, pte_t pmd);

/*
 * Replaces a huge PMD by a table of 512 PTEs with the same flags (PTE_HUGE aside)
 * and ascending pfns: 0 or -ENOMEM.
 */
int page_table_split_huge(struct page_table *pt, uint64_t addr) SP_MUST_CHECK;

/* No PTE and no huge PMD in the 2 MiB at addr (2 MiB aligned). */
bool page_table_range_none(const struct page_table *pt, uint64_t addr);
/* There is a table of PTEs for addr, be it empty; false under a huge PMD. */
bool page_table_has_ptes(const struct page_table *pt, uint64_t addr);

/* Frees tables without entries that cover some of [start, end). */
void page_table_trim(struct page_table *pt, uint64_t start, uint64_t end);

/*
 * The first entry that is not none in [*addr, end): true, with *addr its address
 * (the start of the PMD when huge, possibly below the given *addr), *pte its value
 * and *huge. False: none, and *addr is undefined. Skips absent tables in one step.
 *
 *	for (addr = start; page_table_next(pt, &addr, end, &pte, &huge);
 *	     addr += huge ? HPAGE_PMD_SIZE : PAGE_SIZE)
 */
bool page_table_next(const struct page_table *pt, uint64_t *addr, uint64_t end, pte_t *pte,
		     bool *huge);

/* Recounts tables and looks at every entry; NULL or what is wrong. */
const char *page_table_validate(const struct page_table *pt);

#endif
