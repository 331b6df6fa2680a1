/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page tables against a flat array: a few 2 MiB areas, some adjacent, some at the
 * ends of the address space, so that tables of every level come and go; and the window
 * that serves while all entries are close together. Tests that count tables do without it.
 */
#include "frame_test.h"

#include <errno.h>

#include "page_table.h"

struct table {
	struct mem mem;
	struct pool pool;
	struct page_table pt;
};

static void table_init(struct table *t)
{
	mem_init(&t->mem);
	page_table_pool_init(&t->pool, &t->mem);
	page_table_init(&t->pt, &t->pool);
	t->pt.no_window = true;
}

static void table_destroy(struct table *t)
{
	page_table_destroy(&t->pt);
	pool_destroy(&t->pool);
	assert_int_equal(t->mem.nr_live, 0);
	assert_int_equal(t->mem.live_bytes, 0);
}

static void assert_valid(const struct page_table *pt)
{
	const char *wrong = page_table_validate(pt);

	if (wrong)
		fail_msg("page table: %s", wrong);
}

static pte_t find(const struct page_table *pt, uint64_t addr)
{
	const pte_t *pte = page_table_find(pt, addr, NULL);

	return pte ? *pte : 0;
}

static void test_tables_come_and_go(void **state)
{
	uint64_t near = UINT64_C(0x7f0000000000), far = UINT64_C(0x1000);
	struct table t;

	(void)state;
	table_init(&t);
	assert_null(page_table_find(&t.pt, near, NULL));
	page_table_set(&t.pt, near, 0);
	assert_int_equal(t.mem.nr_allocs, 0);

	assert_int_equal(page_table_prepare(&t.pt, near), 0);
	assert_int_equal(t.pt.nr_nodes, 4);
	/* There is a table now, and nothing in it. */
	assert_non_null(page_table_find(&t.pt, near, NULL));
	assert_int_equal(*page_table_find(&t.pt, near, NULL), 0);
	page_table_set(&t.pt, near, pte_make(1, PTE_PRESENT));
	assert_int_equal(page_table_prepare(&t.pt, near + PAGE_SIZE), 0);
	assert_int_equal(t.pt.nr_nodes, 4);
	assert_int_equal(page_table_prepare(&t.pt, near + HPAGE_PMD_SIZE), 0);
	assert_int_equal(t.pt.nr_nodes, 5);
	page_table_set(&t.pt, near + HPAGE_PMD_SIZE, pte_make(2, PTE_PRESENT));
	assert_int_equal(page_table_prepare(&t.pt, far), 0);
	assert_int_equal(t.pt.nr_nodes, 8);
	page_table_set(&t.pt, far, pte_make(3, PTE_SWAP));
	assert_valid(&t.pt);
	assert_int_equal(find(&t.pt, near), pte_make(1, PTE_PRESENT));
	assert_int_equal(find(&t.pt, near + HPAGE_PMD_SIZE), pte_make(2, PTE_PRESENT));
	assert_int_equal(find(&t.pt, far), pte_make(3, PTE_SWAP));

	page_table_set(&t.pt, far, 0);
	assert_int_equal(t.pt.nr_nodes, 5);
	page_table_set(&t.pt, near, 0);
	assert_int_equal(t.pt.nr_nodes, 4);
	page_table_set(&t.pt, near + HPAGE_PMD_SIZE, 0);
	assert_int_equal(t.pt.nr_nodes, 0);
	assert_null(t.pt.root);
	table_destroy(&t);
}

static void test_trim_frees_only_the_unused(void **state)
{
	uint64_t addr = UINT64_C(0x40000000);
	struct table t;

	(void)state;
	table_init(&t);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(page_table_prepare(&t.pt, addr + i * HPAGE_PMD_SIZE), 0);
	page_table_set(&t.pt, addr + HPAGE_PMD_SIZE, pte_make(1, PTE_PRESENT));
	assert_int_equal(t.pt.nr_nodes, 7);
	page_table_trim(&t.pt, addr, addr);
	assert_int_equal(t.pt.nr_nodes, 7);
	/* Its start is the second, which is in use. */
	page_table_trim(&t.pt, addr + 2 * HPAGE_PMD_SIZE - PAGE_SIZE, addr + 2 * HPAGE_PMD_SIZE);
	assert_int_equal(t.pt.nr_nodes, 7);
	/* The third lies in it by one page, the fourth does not. */
	page_table_trim(&t.pt, addr, addr + 2 * HPAGE_PMD_SIZE + PAGE_SIZE);
	assert_int_equal(t.pt.nr_nodes, 5);
	assert_true(page_table_has_ptes(&t.pt, addr + HPAGE_PMD_SIZE));
	assert_false(page_table_has_ptes(&t.pt, addr + 2 * HPAGE_PMD_SIZE));
	assert_true(page_table_has_ptes(&t.pt, addr + 3 * HPAGE_PMD_SIZE));
	assert_valid(&t.pt);
	page_table_set(&t.pt, addr + HPAGE_PMD_SIZE, 0);
	assert_int_equal(t.pt.nr_nodes, 4);
	page_table_trim(&t.pt, 0, TASK_SIZE);
	assert_int_equal(t.pt.nr_nodes, 0);
	table_destroy(&t);
}

static void test_huge(void **state)
{
	uint64_t addr = UINT64_C(0x200000), at;
	pte_t pmd = pte_make(1024, PTE_PRESENT | PTE_WRITE | PTE_YOUNG | PTE_HUGE), pte;
	struct table t;
	bool huge;

	(void)state;
	table_init(&t);
	assert_true(page_table_range_none(&t.pt, addr));
	/* A table that fault prepared and nobody used makes way. */
	assert_int_equal(page_table_prepare(&t.pt, addr), 0);
	assert_true(page_table_range_none(&t.pt, addr));
	assert_int_equal(page_table_prepare_huge(&t.pt, addr), 0);
	page_table_set_huge(&t.pt, addr, pmd);
	assert_int_equal(t.pt.nr_nodes, 3);
	assert_false(page_table_range_none(&t.pt, addr));
	assert_false(page_table_has_ptes(&t.pt, addr));
	assert_int_equal(*page_table_find(&t.pt, addr + 5 * PAGE_SIZE, &huge), pmd);
	assert_true(huge);
	assert_null(page_table_find(&t.pt, addr, NULL));
	assert_valid(&t.pt);

	/* Found from its middle, at its start. */
	at = addr + 5 * PAGE_SIZE;
	assert_true(page_table_next(&t.pt, &at, addr + 6 * PAGE_SIZE, &pte, &huge));
	assert_int_equal(at, addr);
	assert_true(huge);
	assert_int_equal(pte, pmd);
	at = addr + HPAGE_PMD_SIZE;
	assert_false(page_table_next(&t.pt, &at, TASK_SIZE, &pte, &huge));

	assert_int_equal(page_table_split_huge(&t.pt, addr), 0);
	assert_int_equal(t.pt.nr_nodes, 4);
	assert_true(page_table_has_ptes(&t.pt, addr));
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++)
		assert_int_equal(find(&t.pt, addr + i * PAGE_SIZE),
				 pte_make(1024 + i, PTE_PRESENT | PTE_WRITE | PTE_YOUNG));
	assert_valid(&t.pt);
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++)
		page_table_set(&t.pt, addr + i * PAGE_SIZE, 0);
	assert_int_equal(t.pt.nr_nodes, 0);

	assert_int_equal(page_table_prepare_huge(&t.pt, addr), 0);
	page_table_set_huge(&t.pt, addr, pmd);
	page_table_set_huge(&t.pt, addr, 0);
	assert_int_equal(t.pt.nr_nodes, 0);
	table_destroy(&t);
}

static void test_validate_notices(void **state)
{
	uint64_t addr = UINT64_C(0x200000);
	struct table t;

	(void)state;
	table_init(&t);
	assert_int_equal(page_table_prepare(&t.pt, addr), 0);
	page_table_set(&t.pt, addr, pte_make(5, PTE_PRESENT | PTE_SWAP));
	assert_non_null(page_table_validate(&t.pt));
	page_table_set(&t.pt, addr, pte_make(5, PTE_WRITE));
	assert_non_null(page_table_validate(&t.pt));
	page_table_set(&t.pt, addr, pte_make(0, PTE_PRESENT | PTE_SPECIAL | PTE_WRITE));
	assert_non_null(page_table_validate(&t.pt));
	page_table_set(&t.pt, addr, pte_make(0, PTE_PRESENT | PTE_SPECIAL | PTE_DIRTY));
	assert_null(page_table_validate(&t.pt));
	assert_true(pte_is_ksm_zero(find(&t.pt, addr)));
	t.pt.nr_nodes++;
	assert_non_null(page_table_validate(&t.pt));
	t.pt.nr_nodes--;
	page_table_set(&t.pt, addr, 0);
	table_destroy(&t);
}

/* Ascending; the first two and the last two touch. */
static const uint64_t areas[] = {
	0,
	UINT64_C(0x200000),
	UINT64_C(0x3fe00000),           /* the last of a GiB */
	UINT64_C(0x40000000),
	UINT64_C(0x7fffe00000),         /* the last of 512 GiB */
	UINT64_C(0x555555400000),
	UINT64_C(0x7fffffc00000),
	UINT64_C(0x7fffffe00000),       /* the last of all */
};
#define NR_AREAS ((uint32_t)ARRAY_SIZE(areas))

struct model {
	struct table t;
	bool window; /* most steps are close together, so that it is left and come back to */
	pte_t pte[NR_AREAS][HPAGE_PMD_NR];
	pte_t pmd[NR_AREAS];
};

static bool area_none(const struct model *m, uint32_t a)
{
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++) {
		if (m->pte[a][i])
			return false;
	}
	return !m->pmd[a];
}

static bool model_next(const struct model *m, uint64_t *addr, uint64_t end, pte_t *pte, bool *huge)
{
	for (uint32_t a = 0; a < NR_AREAS; a++) {
		for (uint32_t i = 0; i < HPAGE_PMD_NR; i++) {
			uint64_t at = areas[a] + i * PAGE_SIZE;

			if (at < *addr || at >= end || !(m->pmd[a] | m->pte[a][i]))
				continue;
			*huge = m->pmd[a];
			*addr = *huge ? areas[a] : at;
			*pte = *huge ? m->pmd[a] : m->pte[a][i];
			return true;
		}
	}
	return false;
}

static uint64_t random_addr(struct random *r)
{
	return areas[random_below(r, NR_AREAS)] + random_below(r, HPAGE_PMD_NR) * PAGE_SIZE;
}

/* Walks [start, end) in both, wherever they are. */
static void model_check_walk(struct model *m, uint64_t start, uint64_t end)
{
	uint64_t addr = start, expected = start;

	for (;;) {
		pte_t pte = 0, expected_pte = 0;
		bool huge = false, expected_huge = false;
		bool more = model_next(m, &expected, end, &expected_pte, &expected_huge);

		assert_int_equal(page_table_next(&m->t.pt, &addr, end, &pte, &huge), more);
		if (!more)
			return;
		assert_int_equal(addr, expected);
		assert_int_equal(pte, expected_pte);
		assert_int_equal(huge, expected_huge);
		addr += huge ? HPAGE_PMD_SIZE : PAGE_SIZE;
		expected = addr;
	}
}

static void model_check_entry(struct model *m, uint32_t a, uint32_t i)
{
	uint64_t addr = areas[a] + i * PAGE_SIZE;
	bool huge;
	const pte_t *pte = page_table_find(&m->t.pt, addr, &huge);

	assert_int_equal(huge, m->pmd[a] != 0);
	assert_int_equal(pte ? *pte : 0, huge ? m->pmd[a] : m->pte[a][i]);
	assert_int_equal(find(&m->t.pt, addr), m->pte[a][i]);
	assert_int_equal(page_table_range_none(&m->t.pt, areas[a]), area_none(m, a));
	if (!area_none(m, a))
		assert_int_equal(page_table_has_ptes(&m->t.pt, addr), !m->pmd[a]);
}

static void model_step(struct model *m, struct random *r)
{
	static const uint64_t kinds[] = {
		PTE_PRESENT,
		PTE_PRESENT | PTE_WRITE | PTE_DIRTY,
		PTE_SWAP,
		PTE_MIGRATION | PTE_WRITE,
	};
	uint32_t a = random_below(r, NR_AREAS), i = random_below(r, HPAGE_PMD_NR);
	uint64_t addr, end;
	uint64_t kind = kinds[random_below(r, ARRAY_SIZE(kinds))];
	pte_t pte = pte_make(random_next(r) & UINT32_MAX, kind);

	if (m->window && random_below(r, 8)) {
		a = 1;
		i = random_below(r, PAGE_TABLE_WINDOW) + (random_below(r, 8) ? 0 : PAGE_TABLE_WINDOW);
	}
	addr = areas[a] + i * PAGE_SIZE;
	switch (random_below(r, 8)) {
	case 0:
	case 1:
	case 2:
		if (m->pmd[a])
			break;
		assert_int_equal(page_table_prepare(&m->t.pt, addr), 0);
		if (random_below(r, 4) == 0)
			break; /* prepared in vain */
		page_table_set(&m->t.pt, addr, pte);
		m->pte[a][i] = pte;
		break;
	case 3:
		if (m->pmd[a])
			break;
		page_table_set(&m->t.pt, addr, 0);
		m->pte[a][i] = 0;
		break;
	case 4: /* a whole area, as munmap does */
		if (m->pmd[a])
			break;
		for (uint32_t k = 0; k < HPAGE_PMD_NR; k++) {
			if (m->pte[a][k])
				page_table_set(&m->t.pt, areas[a] + k * PAGE_SIZE, 0);
			m->pte[a][k] = 0;
		}
		break;
	case 5:
		if (!m->pmd[a] && !area_none(m, a))
			break;
		pte = m->pmd[a] ? 0 : pte_make(random_below(r, 1000) * HPAGE_PMD_NR,
					       PTE_PRESENT | PTE_WRITE | PTE_HUGE);
		assert_int_equal(page_table_prepare_huge(&m->t.pt, areas[a]), 0);
		page_table_set_huge(&m->t.pt, areas[a], pte);
		m->pmd[a] = pte;
		break;
	case 6:
		if (!m->pmd[a])
			break;
		assert_int_equal(page_table_split_huge(&m->t.pt, areas[a]), 0);
		for (uint32_t k = 0; k < HPAGE_PMD_NR; k++)
			m->pte[a][k] = pte_make(pte_value(m->pmd[a]) + k, PTE_PRESENT | PTE_WRITE);
		m->pmd[a] = 0;
		break;
	case 7:
		end = random_addr(r);
		page_table_trim(&m->t.pt, MIN(addr, end), MAX(addr, end));
		break;
	}
	model_check_entry(m, a, i);
	model_check_entry(m, random_below(r, NR_AREAS), random_below(r, HPAGE_PMD_NR));
}

static void model_clear(struct model *m)
{
	for (uint32_t a = 0; a < NR_AREAS; a++) {
		if (m->pmd[a])
			page_table_set_huge(&m->t.pt, areas[a], 0);
		/* The first of these frees a table that was prepared in vain, too. */
		for (uint32_t i = 0; i < HPAGE_PMD_NR; i++)
			page_table_set(&m->t.pt, areas[a] + i * PAGE_SIZE, 0);
		assert_true(page_table_range_none(&m->t.pt, areas[a]));
		assert_false(page_table_has_ptes(&m->t.pt, areas[a]));
	}
	memset(m->pte, 0, sizeof(m->pte));
	memset(m->pmd, 0, sizeof(m->pmd));
	/* Nothing but tables of upper levels that huge pages were prepared for. */
	page_table_trim(&m->t.pt, 0, TASK_SIZE + PAGE_SIZE);
	assert_int_equal(m->t.pt.nr_nodes, 0);
}

static void run_model(bool window)
{
	struct random r = test_random();
	struct model *m = calloc(1, sizeof(*m));
	unsigned int nr_windowed = 0;

	assert_non_null(m);
	table_init(&m->t);
	m->window = window;
	m->t.pt.no_window = !window;
	for (int step = 0; step < 6000; step++) {
		model_step(m, &r);
		assert_valid(&m->t.pt);
		nr_windowed += m->t.pt.windowed;
		/* All goes, from wherever it is: the next entry opens a window again. */
		if (window && step % 40 == 0)
			model_clear(m);
		if (step % 64 == 0)
			model_check_walk(m, random_addr(&r), random_addr(&r));
		if (step % 512 == 0)
			model_check_walk(m, 0, TASK_SIZE + PAGE_SIZE);
	}
	assert_true(window ? nr_windowed > 100 && nr_windowed < 5900 : !nr_windowed);
	model_clear(m);
	table_destroy(&m->t);
	free(m);
}

static void test_model(void **state)
{
	(void)state;
	run_model(false);
}

static void test_window_model(void **state)
{
	(void)state;
	run_model(true);
}

static bool fail_somewhere(struct mem *mem, bool no_window)
{
	static const uint64_t addrs[] = {
		UINT64_C(0x1000),
		UINT64_C(0x201000),
		UINT64_C(0x40000000),
		UINT64_C(0x7fff00000000),
	};
	const uint64_t huge_addr = UINT64_C(0x10000000000);
	struct page_table pt;
	bool failed = false;
	struct pool pool;

	page_table_pool_init(&pool, mem);
	page_table_init(&pt, &pool);
	pt.no_window = no_window;
	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++) {
		uint64_t nr_nodes = pt.nr_nodes;
		int err = page_table_prepare(&pt, addrs[i]);

		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_int_equal(pt.nr_nodes, nr_nodes);
			assert_null(page_table_find(&pt, addrs[i], NULL));
			failed = true;
			continue;
		}
		page_table_set(&pt, addrs[i], pte_make(i, PTE_PRESENT));
		assert_valid(&pt);
	}
	if (page_table_prepare_huge(&pt, huge_addr)) {
		failed = true;
	} else {
		pte_t pmd = pte_make(512, PTE_PRESENT | PTE_HUGE);

		page_table_set_huge(&pt, huge_addr, pmd);
		if (page_table_split_huge(&pt, huge_addr)) {
			bool huge;

			failed = true;
			assert_int_equal(*page_table_find(&pt, huge_addr, &huge), pmd);
			page_table_set_huge(&pt, huge_addr, 0);
		} else {
			for (uint64_t i = 0; i < HPAGE_PMD_NR; i++)
				page_table_set(&pt, huge_addr + i * PAGE_SIZE, 0);
		}
	}
	assert_valid(&pt);
	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++)
		page_table_set(&pt, addrs[i], 0);
	/* Failure left no empty tables behind. */
	assert_int_equal(pt.nr_nodes, 0);
	page_table_destroy(&pt);
	pool_destroy(&pool);
	return failed;
}

static bool fail_with_tables(struct mem *mem)
{
	return fail_somewhere(mem, true);
}

static bool fail_from_the_window(struct mem *mem)
{
	return fail_somewhere(mem, false);
}

static void test_allocation_failures(void **state)
{
	(void)state;
	sweep_allocation_failures(fail_with_tables);
	sweep_allocation_failures(fail_from_the_window);
}

/* What a fault sees of the window: its 2 MiB have a table, nothing else has. */
static void test_window(void **state)
{
	uint64_t area = UINT64_C(0x40000000), addr = area + 3 * PAGE_TABLE_WINDOW * PAGE_SIZE, at;
	struct table t;
	bool huge;
	pte_t pte;

	(void)state;
	table_init(&t);
	t.pt.no_window = false;
	page_table_set(&t.pt, addr, 0);
	assert_false(page_table_has_ptes(&t.pt, addr));
	assert_int_equal(page_table_prepare(&t.pt, addr + PAGE_SIZE), 0);
	assert_int_equal(t.mem.nr_allocs, 0);
	assert_true(page_table_has_ptes(&t.pt, area));
	assert_true(page_table_has_ptes(&t.pt, area + HPAGE_PMD_SIZE - 1));
	assert_false(page_table_has_ptes(&t.pt, area + HPAGE_PMD_SIZE));
	assert_false(page_table_has_ptes(&t.pt, area - 1));
	assert_true(page_table_range_none(&t.pt, area));
	assert_non_null(page_table_find(&t.pt, area, NULL));
	assert_null(page_table_find(&t.pt, area - PAGE_SIZE, NULL));
	page_table_set(&t.pt, addr + PAGE_SIZE, pte_make(1, PTE_PRESENT));
	page_table_set(&t.pt, addr + 63 * PAGE_SIZE, pte_make(2, PTE_SWAP));
	assert_false(page_table_range_none(&t.pt, area));
	assert_true(page_table_range_none(&t.pt, area + HPAGE_PMD_SIZE));
	assert_valid(&t.pt);
	/* An end before the entry, and at it. */
	at = addr + 2 * PAGE_SIZE;
	assert_false(page_table_next(&t.pt, &at, addr + 63 * PAGE_SIZE, &pte, &huge));
	at = 0;
	assert_true(page_table_next(&t.pt, &at, addr + 2 * PAGE_SIZE, &pte, &huge));
	assert_int_equal(at, addr + PAGE_SIZE);
	assert_false(huge);
	/* Its neighbour makes tables of it. */
	assert_int_equal(page_table_prepare(&t.pt, addr + 64 * PAGE_SIZE), 0);
	assert_int_equal(t.pt.nr_nodes, 4);
	assert_int_equal(find(&t.pt, addr + PAGE_SIZE), pte_make(1, PTE_PRESENT));
	assert_int_equal(find(&t.pt, addr + 63 * PAGE_SIZE), pte_make(2, PTE_SWAP));
	assert_valid(&t.pt);
	page_table_set(&t.pt, addr + PAGE_SIZE, 0);
	page_table_set(&t.pt, addr + 63 * PAGE_SIZE, 0);
	assert_int_equal(t.pt.nr_nodes, 0);
	/* A huge entry too, and what was prepared in vain goes by a trim of its 2 MiB. */
	assert_int_equal(page_table_prepare(&t.pt, addr), 0);
	page_table_trim(&t.pt, area + HPAGE_PMD_SIZE, TASK_SIZE);
	page_table_trim(&t.pt, 0, area);
	assert_true(page_table_has_ptes(&t.pt, addr));
	page_table_trim(&t.pt, area, area + PAGE_SIZE);
	assert_false(page_table_has_ptes(&t.pt, addr));
	assert_int_equal(page_table_prepare(&t.pt, addr), 0);
	page_table_set(&t.pt, addr, pte_make(1, PTE_PRESENT));
	assert_int_equal(page_table_prepare_huge(&t.pt, area + HPAGE_PMD_SIZE), 0);
	page_table_set_huge(&t.pt, area + HPAGE_PMD_SIZE, pte_make(512, PTE_PRESENT | PTE_HUGE));
	assert_valid(&t.pt);
	assert_int_equal(t.pt.nr_nodes, 4);
	page_table_set_huge(&t.pt, area + HPAGE_PMD_SIZE, 0);
	page_table_set(&t.pt, addr, 0);
	table_destroy(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables_come_and_go),
		cmocka_unit_test(test_trim_frees_only_the_unused),
		cmocka_unit_test(test_huge),
		cmocka_unit_test(test_validate_notices),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_window_model),
		cmocka_unit_test(test_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
