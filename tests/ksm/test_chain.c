/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Chains and dups with a tiny max_page_sharing (K28 to K30, K35; scenario 13).
 */
#include "ksm_fixture.h"

static struct ksm_stable_node *node_at(struct mm *mm, uint64_t addr)
{
	return frame_node(frame_at(mm, addr));
}

/* The one entry of the stable tree. */
static struct ksm_stable_node *root_node(struct fixture *f)
{
	struct rb_node *node = ksm_of(&f->vm)->stable_tree[0].node;

	assert_non_null(node);
	assert_true(!node->left && !node->right);
	return container_of(node, struct ksm_stable_node, node);
}

static struct ksm_stable_node *first_dup(struct fixture *f)
{
	struct ksm_stable_node *chain = root_node(f);

	assert_true(node_is_chain(chain));
	return cds_hlist_entry(chain->hlist.next, struct ksm_stable_node, hlist_dup);
}

/* Pages [from, to) merge with nothing any more. */
static void make_unique(struct mm *mm, uint64_t addr, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		put(mm, PG(addr, i), 1 + i);
}

static void settled_counts(void **state)
{
	static const struct {
		uint64_t nr;
		const char *limit;
		int64_t shared, sharing, merging;
	} cases[] = {
		{ 8, "4", 2, 6, 8 },      { 9, "4", 2, 6, 8 },        { 10, "4", 3, 7, 10 },
		{ 11, "4", 3, 8, 11 },    { 257, "256", 1, 255, 256 }, { 7, "2", 3, 3, 6 },
		{ 256, "256", 1, 255, 256 }, { 258, "256", 2, 256, 258 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f;
		struct mm *mm;

		fixture_setup(&f, NULL);
		knob(&f, "max_page_sharing", cases[i].limit);
		mm = new_mm(&f);
		map_mergeable(mm, cases[i].nr, 0x77);
		scan(&f, 4);
		expect_counter(&f, pages_shared, cases[i].shared);
		expect_counter(&f, pages_sharing, cases[i].sharing);
		expect_stat(mm, ksm_merging_pages, cases[i].merging);
		expect_counter(&f, stable_node_chains, cases[i].shared > 1);
		expect_counter(&f, stable_node_dups, cases[i].shared > 1 ? cases[i].shared : 0);
		fixture_teardown(&f);
	}
}

static void a_chain_collapses_to_its_last_dup(void **state)
{
	struct fixture *f = *state;
	struct mm *mm;
	struct ksm_stable_node *a;
	uint64_t p;

	knob(f, "max_page_sharing", "4");
	mm = new_mm(f);
	p = map_mergeable(mm, 6, 0x77);
	scan(f, 2);
	expect_counter(f, stable_node_dups, 2);
	a = node_at(mm, p);
	unmap(mm, PG(p, 4), 2);
	expect_counter(f, stable_node_dups, 2);
	/* Any page that passes the chain will do. */
	map_mergeable(mm, 1, 0x42);
	scan(f, 2);
	expect_counter(f, stable_node_chains, 0);
	expect_counter(f, stable_node_dups, 0);
	assert_ptr_equal(root_node(f), a);
	expect_counter(f, pages_shared, 1);
	expect_counter(f, pages_sharing, 3);
}

static void a_chain_without_live_dups_is_freed(void **state)
{
	struct fixture *f = *state;
	struct mm *mm, *other;
	uint64_t p;

	knob(f, "max_page_sharing", "2");
	mm = new_mm(f);
	p = map_mergeable(mm, 6, 0x77);
	other = new_mm(f);
	map_mergeable(other, 1, 0x42);
	scan(f, 2);
	expect_counter(f, stable_node_dups, 3);
	unmap(mm, p, 6);
	/*
	 * Freeing mm's items removes the dups, and leaves the chain empty; the other's page
	 * meets it.
	 */
	scan(f, 1);
	expect_counter(f, stable_node_dups, 0);
	expect_counter(f, stable_node_chains, 0);
	expect_counter(f, pages_unshared, 1);
}

/* K29: usually the first dup with room, now and then the fullest. */
static void pruning_takes_the_fullest(void **state)
{
	struct fixture *f = *state;
	struct mm *mm;
	struct ksm_stable_node *a, *b;
	uint64_t p, q;

	knob(f, "max_page_sharing", "5");
	knob(f, "smart_scan", "0");
	mm = new_mm(f);
	p = map_mergeable(mm, 10, 0x77);
	scan(f, 2);
	a = node_at(mm, p);
	b = node_at(mm, PG(p, 5));
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(first_dup(f), b);
	/* a keeps 3 of 5, b 1. */
	make_unique(mm, p, 3, 5);
	make_unique(mm, p, 6, 10);
	scan(f, 1);
	assert_int_equal(a->rmap_hlist_len, 3);
	assert_int_equal(b->rmap_hlist_len, 1);
	q = map_mergeable(mm, 1, 0x77);
	scan(f, 2);
	assert_ptr_equal(node_at(mm, q), b);

	knob(f, "stable_node_chains_prune_millisecs", "0");
	q = map_mergeable(mm, 1, 0x77);
	scan(f, 2);
	assert_ptr_equal(node_at(mm, q), a);
	/* Chosen with three, it had room for one more than this one: now it stands in front. */
	assert_int_equal(a->rmap_hlist_len, 4);
	assert_ptr_equal(first_dup(f), a);
}

static void pruning_waits_for_its_time(void **state)
{
	struct fixture *f = *state;
	struct mm *mm;
	struct ksm_stable_node *a;
	uint64_t p, q;

	knob(f, "max_page_sharing", "5");
	mm = new_mm(f);
	p = map_mergeable(mm, 10, 0x77);
	scan(f, 2);
	a = node_at(mm, p);
	make_unique(mm, p, 3, 4); /* a: 4 */
	make_unique(mm, p, 6, 10); /* b: 1 */
	scan(f, 1);
	q = map_mergeable(mm, 1, 0x77);
	scan(f, 1);
	clock_advance_ns(&f->vm.clock, UINT64_C(2100) * 1000000);
	scan(f, 1);
	assert_ptr_equal(node_at(mm, q), a);
}

/* K35: a KSM page that is mapped where nobody scans keeps its node, in a chain perhaps. */
static void run_2_leaves_what_is_still_mapped(void **state)
{
	struct fixture *f = *state;
	struct mm *mm, *child;
	uint64_t p;

	knob(f, "max_page_sharing", "2");
	mm = new_mm(f);
	p = map(mm, 4);
	fill(mm, p, 4, 0x77);
	child = fork_mm(mm);
	advise(child, p, 4, SP_MADV_MERGEABLE);
	scan(f, 2);
	expect_counter(f, stable_node_chains, 1);
	expect_counter(f, stable_node_dups, 2);
	knob(f, "run", "2");
	fixture_validate(f);
	expect_counter(f, pages_shared, 0);
	expect_counter(f, pages_sharing, 0);
	expect_counter(f, stable_node_chains, 1);
	/* The work on a tree ends with the first page that is mapped. */
	expect_counter(f, stable_node_dups, 2);
	assert_int_equal(ksm_knob_set(&f->vm, "max_page_sharing", "4"), -EBUSY);
	mm_exit(mm);
	knob(f, "max_page_sharing", "4");
	expect_counter(f, stable_node_chains, 0);
	expect_counter(f, stable_node_dups, 0);
	mm_exit(child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settled_counts),
		KSM_TEST(a_chain_collapses_to_its_last_dup),
		KSM_TEST(a_chain_without_live_dups_is_freed),
		KSM_TEST(pruning_takes_the_fullest),
		KSM_TEST(pruning_waits_for_its_time),
		KSM_TEST(run_2_leaves_what_is_still_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
