/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page tables; see page_table.h for what an entry means.
 *
 * A table is 512 words and, before them, one bit for each that says whether it is
 * in use. The bits pay three times. A new table need not be cleared, only its 64
 * bytes of bits: a machine of ten pages has four tables, and a search makes
 * millions of such machines. An empty table is eight zero words. And a walk finds
 * the next entry by counting trailing zeroes instead of reading 512 words.
 *
 * A word that is not in use is never read, so page_table_find() gives a pointer to
 * a constant instead.
 *
 * In tables of the upper three levels a word is either a huge PMD or the address
 * of a lower table with IS_TABLE set, which no entry has: pfns end far below it.
 *
 * The window. Its 2 MiB count as having a table of PTEs, which is what faults ask before they map a
 * huge page. The first entry elsewhere, or the first huge one, moves all into tables; they are
 * allocated before anything changes. Each function looks for the window first: one branch that is
 * always taken the same way, in a process that has tables.
 *
 * What this does not do: reference counts, mapcounts and swap counts. Whoever sets
 * an entry keeps those.
 */
#include "page_table.h"

#include <errno.h>
#include <string.h>

#include "assertion.h"

#define LEVEL_BITS 9
#define ENTRIES (1u << LEVEL_BITS)
#define LEVEL_PTE 0u
#define LEVEL_PMD 1u
#define LEVEL_TOP 3u
#define LEVELS 4u
#define ADDR_END (UINT64_C(1) << (PAGE_SHIFT + LEVELS * LEVEL_BITS))
#define IS_TABLE (UINT64_C(1) << 63)

struct page_table_node {
	uint64_t used[ENTRIES / 64];
	pte_t entry[ENTRIES];         /* undefined where not used */
};

static const pte_t none;

static unsigned int level_shift(unsigned int level)
{
	return PAGE_SHIFT + level * LEVEL_BITS;
}

static unsigned int index_at(uint64_t addr, unsigned int level)
{
	return (unsigned int)(addr >> level_shift(level)) & (ENTRIES - 1);
}

static bool in_window(const struct page_table *pt, uint64_t addr)
{
	return addr - pt->window < PAGE_TABLE_WINDOW * PAGE_SIZE;
}

static unsigned int window_index(uint64_t addr)
{
	return (unsigned int)(addr >> PAGE_SHIFT) & (PAGE_TABLE_WINDOW - 1);
}

/* Lies in the 2 MiB of which the window is a part. */
static bool near_window(const struct page_table *pt, uint64_t addr)
{
	return !((addr ^ pt->window) & HPAGE_PMD_MASK);
}

static bool is_used(const struct page_table_node *node, unsigned int index)
{
	return node->used[index / 64] >> (index % 64) & 1;
}

static void set_entry(struct page_table_node *node, unsigned int index, pte_t value)
{
	node->entry[index] = value;
	node->used[index / 64] |= UINT64_C(1) << (index % 64);
}

static void clear_entry(struct page_table_node *node, unsigned int index)
{
	node->used[index / 64] &= ~(UINT64_C(1) << (index % 64));
}

static bool is_empty(const struct page_table_node *node)
{
	uint64_t any = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(node->used); i++)
		any |= node->used[i];
	return !any;
}

/* The first used index that is not below `index`; ENTRIES if there is none. */
static unsigned int next_used(const struct page_table_node *node, unsigned int index)
{
	unsigned int word = index / 64;
	uint64_t bits = node->used[word] & ~UINT64_C(0) << (index % 64);

	while (!bits) {
		if (++word == ARRAY_SIZE(node->used))
			return ENTRIES;
		bits = node->used[word];
	}
	return word * 64 + (unsigned int)__builtin_ctzll(bits);
}

static struct page_table_node *as_table(pte_t entry)
{
	return (struct page_table_node *)(uintptr_t)(entry & ~IS_TABLE);
}

/* The table under an entry, or NULL when that is none or huge. */
static struct page_table_node *child(const struct page_table_node *node, unsigned int index)
{
	if (!is_used(node, index) || !(node->entry[index] & IS_TABLE))
		return NULL;
	return as_table(node->entry[index]);
}

/* The table of the given level that covers addr, or NULL. */
static struct page_table_node *table_at(const struct page_table *pt, uint64_t addr,
					unsigned int level)
{
	struct page_table_node *node = pt->root;
	unsigned int l;

	SP_ASSERT(addr < ADDR_END);
	for (l = LEVEL_TOP; node && l > level; l--)
		node = child(node, index_at(addr, l));
	return node;
}

static struct page_table_node *node_alloc(struct page_table *pt)
{
	struct page_table_node *node = pool_alloc_raw(pt->nodes);

	if (node) {
		memset(node->used, 0, sizeof(node->used));
		pt->nr_nodes++;
	}
	return node;
}

static void node_free(struct page_table *pt, struct page_table_node *node)
{
	SP_ASSERT(is_empty(node));
	pt->nr_nodes--;
	pool_free(pt->nodes, node);
}

void page_table_pool_init(struct pool *pool, struct mem *mem)
{
	pool_init(pool, mem, "page table", sizeof(struct page_table_node));
}

void page_table_init(struct page_table *pt, struct pool *nodes)
{
	pt->nodes = nodes;
	pt->root = NULL;
	pt->nr_nodes = 0;
	pt->no_window = false;
	pt->windowed = false;
	pt->window_used = 0;
}

void page_table_destroy(struct page_table *pt)
{
	page_table_trim(pt, 0, ADDR_END);
	SP_ASSERT(!pt->root && !pt->nr_nodes && !pt->windowed);
}

/* Under the window, a table that is not there would have no entry either. */
static const pte_t *window_find(const struct page_table *pt, uint64_t addr)
{
	if (in_window(pt, addr) && pt->window_used >> window_index(addr) & 1)
		return &pt->window_entry[window_index(addr)];
	return near_window(pt, addr) ? &none : NULL;
}

const pte_t *page_table_find(const struct page_table *pt, uint64_t addr, bool *huge)
{
	const struct page_table_node *node;
	unsigned int index;

	if (huge)
		*huge = false;
	if (pt->windowed)
		return window_find(pt, addr);
	node = table_at(pt, addr, LEVEL_PMD);
	if (!node)
		return NULL;
	index = index_at(addr, LEVEL_PMD);
	if (!is_used(node, index))
		return NULL;
	if (!(node->entry[index] & IS_TABLE)) {
		if (!huge)
			return NULL;
		*huge = true;
		return &node->entry[index];
	}
	node = as_table(node->entry[index]);
	index = index_at(addr, LEVEL_PTE);
	return is_used(node, index) ? &node->entry[index] : &none;
}

/*
 * Makes the tables from the top down to `level` exist. They are allocated before
 * any is linked, so that failure leaves no empty one behind.
 */
static int prepare(struct page_table *pt, uint64_t addr, unsigned int level)
{
	struct page_table_node *node = pt->root, *new[LEVELS];
	unsigned int l = LEVEL_TOP, missing, i;

	SP_ASSERT(addr < ADDR_END);
	if (node) {
		while (l > level) {
			struct page_table_node *below = child(node, index_at(addr, l));

			if (!below)
				break;
			node = below;
			l--;
		}
		SP_ASSERT(l == level || !is_used(node, index_at(addr, l)));
		missing = l - level;
	} else {
		missing = LEVELS - level;
	}
	for (i = 0; i < missing; i++) {
		new[i] = node_alloc(pt);
		if (!new[i]) {
			while (i--)
				node_free(pt, new[i]);
			return -ENOMEM;
		}
	}
	i = 0;
	if (!node && missing)
		node = pt->root = new[i++];
	for (; i < missing; i++, l--) {
		set_entry(node, index_at(addr, l), (uint64_t)(uintptr_t)new[i] | IS_TABLE);
		node = new[i];
	}
	return 0;
}

/* Frees the tables that cover addr, from the lowest up, as long as they are empty. */
static void free_empty(struct page_table *pt, uint64_t addr)
{
	struct page_table_node *path[LEVELS], *node = pt->root;
	unsigned int level = LEVEL_TOP;

	if (!node)
		return;
	for (;;) {
		path[level] = node;
		if (level == LEVEL_PTE)
			break;
		node = child(node, index_at(addr, level));
		if (!node)
			break;
		level--;
	}
	for (; is_empty(path[level]); level++) {
		node_free(pt, path[level]);
		if (level == LEVEL_TOP) {
			pt->root = NULL;
			return;
		}
		clear_entry(path[level + 1], index_at(addr, level + 1));
	}
}

/* Tables in place of the window, with its entries; pt is as it was if there is no memory for them. */
static int leave_window(struct page_table *pt)
{
	struct page_table_node *leaf;
	uint64_t used = pt->window_used;
	int err = prepare(pt, pt->window, LEVEL_PTE);

	if (err)
		return err;
	pt->windowed = false;
	leaf = table_at(pt, pt->window, LEVEL_PTE);
	for (; used; used &= used - 1) {
		unsigned int i = (unsigned int)__builtin_ctzll(used);

		set_entry(leaf, index_at(pt->window, LEVEL_PTE) + i, pt->window_entry[i]);
	}
	return 0;
}

/* Undoes it. The window still holds what it held. */
static void return_to_window(struct page_table *pt)
{
	struct page_table_node *leaf = table_at(pt, pt->window, LEVEL_PTE);

	memset(leaf->used, 0, sizeof(leaf->used));
	free_empty(pt, pt->window);
	pt->windowed = true;
}

int page_table_prepare(struct page_table *pt, uint64_t addr)
{
	bool was_windowed = pt->windowed;
	int err;

	if (!pt->root && !pt->windowed && !pt->no_window) {
		SP_ASSERT(addr < ADDR_END);
		pt->windowed = true;
		pt->window = addr & ~(PAGE_TABLE_WINDOW * PAGE_SIZE - 1);
		pt->window_used = 0;
		return 0;
	}
	if (was_windowed) {
		if (in_window(pt, addr))
			return 0;
		err = leave_window(pt);
		if (err)
			return err;
	}
	err = prepare(pt, addr, LEVEL_PTE);
	if (err && was_windowed)
		return_to_window(pt);
	return err;
}

int page_table_prepare_huge(struct page_table *pt, uint64_t addr)
{
	bool was_windowed = pt->windowed;
	int err;

	SP_ASSERT(!(addr & ~HPAGE_PMD_MASK));
	if (was_windowed) {
		err = leave_window(pt);
		if (err)
			return err;
	}
	err = prepare(pt, addr, LEVEL_PMD);
	if (err && was_windowed)
		return_to_window(pt);
	return err;
}

static void window_set(struct page_table *pt, uint64_t addr, pte_t pte)
{
	unsigned int i = window_index(addr);

	if (pte) {
		if (!in_window(pt, addr))
			SP_BUG("an entry is set in a table that does not exist");
		pt->window_entry[i] = pte;
		pt->window_used |= UINT64_C(1) << i;
		return;
	}
	if (in_window(pt, addr))
		pt->window_used &= ~(UINT64_C(1) << i);
	/* As a table goes with its last entry, or was prepared in vain. */
	if (!pt->window_used && near_window(pt, addr))
		pt->windowed = false;
}

void page_table_set(struct page_table *pt, uint64_t addr, pte_t pte)
{
	struct page_table_node *node;
	unsigned int index;

	SP_ASSERT(!(pte & (IS_TABLE | PTE_HUGE)));
	if (pt->windowed) {
		window_set(pt, addr, pte);
		return;
	}
	node = table_at(pt, addr, LEVEL_PTE);
	index = index_at(addr, LEVEL_PTE);
	if (pte) {
		if (!node)
			SP_BUG("an entry is set in a table that does not exist");
		set_entry(node, index, pte);
		return;
	}
	if (!node) {
		/* Under a huge PMD this would have to split it. */
		SP_ASSERT(page_table_range_none(pt, addr & HPAGE_PMD_MASK));
		return;
	}
	clear_entry(node, index);
	if (is_empty(node))
		free_empty(pt, addr);
}

void page_table_set_huge(struct page_table *pt, uint64_t addr, pte_t pmd)
{
	struct page_table_node *node = table_at(pt, addr, LEVEL_PMD), *below;
	unsigned int index = index_at(addr, LEVEL_PMD);

	SP_ASSERT(!(addr & ~HPAGE_PMD_MASK));
	SP_ASSERT(!pt->windowed || (!pmd && !near_window(pt, addr)));
	SP_ASSERT(!pmd || (pmd & PTE_HUGE));
	SP_ASSERT(!(pmd & IS_TABLE));
	if (!node) {
		if (pmd)
			SP_BUG("a huge entry is set in a table that does not exist");
		return;
	}
	below = child(node, index);
	if (below) {
		node_free(pt, below);
		clear_entry(node, index);
	}
	if (pmd) {
		set_entry(node, index, pmd);
		return;
	}
	clear_entry(node, index);
	if (is_empty(node))
		free_empty(pt, addr);
}

int page_table_split_huge(struct page_table *pt, uint64_t addr)
{
	struct page_table_node *node = table_at(pt, addr, LEVEL_PMD), *below;
	unsigned int index = index_at(addr, LEVEL_PMD), i;
	pte_t pmd;

	SP_ASSERT(node && is_used(node, index) && !(node->entry[index] & IS_TABLE));
	below = node_alloc(pt);
	if (!below)
		return -ENOMEM;
	pmd = node->entry[index] & ~PTE_HUGE;
	for (i = 0; i < ENTRIES; i++)
		below->entry[i] = pmd + ((pte_t)i << PTE_VALUE_SHIFT);
	memset(below->used, 0xff, sizeof(below->used));
	set_entry(node, index, (uint64_t)(uintptr_t)below | IS_TABLE);
	return 0;
}

bool page_table_range_none(const struct page_table *pt, uint64_t addr)
{
	const struct page_table_node *node = table_at(pt, addr, LEVEL_PMD);
	unsigned int index = index_at(addr, LEVEL_PMD);

	SP_ASSERT(!(addr & ~HPAGE_PMD_MASK));
	if (pt->windowed)
		return !pt->window_used || !near_window(pt, addr);
	if (!node || !is_used(node, index))
		return true;
	return (node->entry[index] & IS_TABLE) && is_empty(as_table(node->entry[index]));
}

bool page_table_has_ptes(const struct page_table *pt, uint64_t addr)
{
	return pt->windowed ? near_window(pt, addr) : table_at(pt, addr, LEVEL_PTE) != NULL;
}

/* Trims the tables below this one; base is the first address that it covers. */
static void trim_node(struct page_table *pt, struct page_table_node *node, unsigned int level,
		      uint64_t base, uint64_t start, uint64_t end)
{
	uint64_t span = UINT64_C(1) << level_shift(level);
	unsigned int i;

	if (level == LEVEL_PTE)
		return;
	i = start > base ? (unsigned int)((start - base) >> level_shift(level)) : 0;
	for (; i < ENTRIES && base + i * span < end; i++) {
		struct page_table_node *below;

		i = next_used(node, i);
		if (i == ENTRIES || base + i * span >= end)
			return;
		below = child(node, i);
		if (!below)
			continue;
		trim_node(pt, below, level - 1, base + i * span, start, end);
		if (is_empty(below)) {
			node_free(pt, below);
			clear_entry(node, i);
		}
	}
}

void page_table_trim(struct page_table *pt, uint64_t start, uint64_t end)
{
	if (start >= end || start >= ADDR_END)
		return;
	if (pt->windowed) {
		uint64_t table = pt->window & HPAGE_PMD_MASK;

		if (!pt->window_used && start < table + HPAGE_PMD_SIZE && end > table)
			pt->windowed = false;
		return;
	}
	if (!pt->root)
		return;
	trim_node(pt, pt->root, LEVEL_TOP, 0, start, end);
	if (is_empty(pt->root)) {
		node_free(pt, pt->root);
		pt->root = NULL;
	}
}

static bool window_next(const struct page_table *pt, uint64_t *addr, uint64_t end, pte_t *pte)
{
	uint64_t used = pt->window_used, at;

	if (*addr > pt->window) {
		if (!in_window(pt, *addr))
			return false;
		used &= ~UINT64_C(0) << window_index(*addr);
	}
	if (!used)
		return false;
	at = pt->window + ((uint64_t)__builtin_ctzll(used) << PAGE_SHIFT);
	if (at >= end)
		return false;
	*addr = at;
	*pte = pt->window_entry[window_index(at)];
	return true;
}

bool page_table_next(const struct page_table *pt, uint64_t *addr, uint64_t end, pte_t *pte,
		     bool *huge)
{
	const struct page_table_node *node = pt->root;
	unsigned int level = LEVEL_TOP;
	uint64_t at = *addr;

	if (pt->windowed) {
		*huge = false;
		return window_next(pt, addr, end, pte);
	}
	if (!node)
		return false;
	end = MIN(end, ADDR_END);
	while (at < end) {
		unsigned int shift = level_shift(level), index = index_at(at, level);
		unsigned int used = next_used(node, index);

		if (used == ENTRIES) {
			/* Nothing to the end of this table: go on behind it, from the top. */
			at = ((at >> (shift + LEVEL_BITS)) + 1) << (shift + LEVEL_BITS);
			node = pt->root;
			level = LEVEL_TOP;
			continue;
		}
		if (used != index) {
			at = ((at >> shift) + (used - index)) << shift;
			if (at >= end)
				return false;
		}
		if (level == LEVEL_PTE || !(node->entry[used] & IS_TABLE)) {
			*addr = at >> shift << shift;
			*pte = node->entry[used];
			*huge = level == LEVEL_PMD;
			return true;
		}
		node = as_table(node->entry[used]);
		level--;
	}
	return false;
}

static const char *validate_entry(pte_t entry, bool huge)
{
	pte_t kind = entry & (PTE_PRESENT | PTE_SWAP | PTE_MIGRATION);

	if (!kind || (kind & (kind - 1)))
		return "an entry is not exactly one of present, swap, migration";
	if (huge != !!(entry & PTE_HUGE))
		return "PTE_HUGE is not on every PMD and on those alone";
	if (huge && (pte_is_swap(entry) || (pte_value(entry) & (HPAGE_PMD_NR - 1))))
		return "a huge entry is a swap entry, or not aligned";
	if (pte_is_zero_page(entry) && (entry & PTE_WRITE))
		return "the zero page is writable";
	return NULL;
}

static const char *validate_node(const struct page_table_node *node, unsigned int level,
				 uint64_t *nr_nodes)
{
	unsigned int i;

	++*nr_nodes;
	for (i = 0; i < ENTRIES; i++) {
		const char *wrong;
		pte_t entry;

		i = next_used(node, i);
		if (i == ENTRIES)
			break;
		entry = node->entry[i];
		if (entry & IS_TABLE) {
			if (level == LEVEL_PTE)
				return "a table hangs below the lowest level";
			wrong = validate_node(as_table(entry), level - 1, nr_nodes);
		} else {
			if (level > LEVEL_PMD)
				return "a huge entry lies above PMD level";
			wrong = validate_entry(entry, level == LEVEL_PMD);
		}
		if (wrong)
			return wrong;
	}
	return NULL;
}

static const char *validate_window(const struct page_table *pt)
{
	if (pt->root || pt->nr_nodes)
		return "there are tables besides the window";
	if (pt->window >= ADDR_END || (pt->window & (PAGE_TABLE_WINDOW * PAGE_SIZE - 1)))
		return "the window is not aligned";
	for (uint64_t used = pt->window_used; used; used &= used - 1) {
		const char *wrong = validate_entry(pt->window_entry[__builtin_ctzll(used)], false);

		if (wrong)
			return wrong;
	}
	return NULL;
}

const char *page_table_validate(const struct page_table *pt)
{
	uint64_t nr_nodes = 0;
	const char *wrong;

	if (pt->windowed)
		return validate_window(pt);
	if (pt->root) {
		wrong = validate_node(pt->root, LEVEL_TOP, &nr_nodes);
		if (wrong)
			return wrong;
	}
	return nr_nodes == pt->nr_nodes ? NULL : "the count of tables";
}
