/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * merge_across_nodes = 0: a tree for each NUMA node, and KSM pages that migrate to another
 * (K17, K30a, W5).
 */
#include "ksm_fixture.h"

static int setup_nodes(void **state)
{
	static struct fixture f;
	const struct setup setup = { .nr_nodes = 2 };

	fixture_setup(&f, &setup);
	knob(&f, "merge_across_nodes", "0");
	*state = &f;
	return 0;
}

static void move(struct mm *mm, uint64_t addr, int node)
{
	assert_int_equal(vm_move_page(mm, addr, node, true), 0);
	assert_int_equal(frame_at(mm, addr)->nid, node);
}

static struct ksm_stable_node *node_at(struct mm *mm, uint64_t addr)
{
	struct ksm_stable_node *node = frame_node(frame_at(mm, addr));

	assert_non_null(node);
	return node;
}

static bool migrating(struct fixture *f)
{
	return !cds_list_empty(&ksm_of(&f->vm)->migrate_nodes);
}

static void equal_pages_merge_on_their_nodes(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 4, 0x77);

	move(mm, PG(a, 1), 1);
	move(mm, PG(a, 3), 1);
	scan(f, 2);
	expect_counter(f, pages_shared, 2);
	expect_counter(f, pages_sharing, 2);
	expect_counter(f, stable_node_chains, 0);
	assert_int_equal(pfn_at(mm, a), pfn_at(mm, PG(a, 2)));
	assert_int_equal(pfn_at(mm, PG(a, 1)), pfn_at(mm, PG(a, 3)));
	assert_int_equal(node_at(mm, PG(a, 1))->nid, 1);
}

static void a_migrated_node_is_placed_anew(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 2, 0x77);

	scan(f, 2);
	move(mm, a, 1);
	assert_int_equal(pfn_at(mm, a), pfn_at(mm, PG(a, 1)));
	assert_int_equal(node_at(mm, a)->nid, 0);
	expect_counter(f, pages_sharing, 1);
	scan(f, 1);
	assert_int_equal(node_at(mm, a)->nid, 1);
	assert_null(ksm_of(&f->vm)->stable_tree[0].node);
	assert_false(migrating(f));
	expect_counter(f, pages_sharing, 1);
	/* And is found there. */
	fill(mm, map_mergeable(mm, 1, -1), 1, 0x77);
	scan(f, 2);
	expect_counter(f, pages_sharing, 1);
	expect_counter(f, pages_unshared, 1);
}

/* Two KSM pages of two mappings each. */
static uint64_t one_pair_on_each_node(struct fixture *f, struct mm *mm)
{
	uint64_t a = map_mergeable(mm, 4, 0x77);

	move(mm, PG(a, 2), 1);
	move(mm, PG(a, 3), 1);
	scan(f, 2);
	expect_counter(f, pages_shared, 2);
	return a;
}

static void equal_nodes_form_a_chain(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = one_pair_on_each_node(f, mm);

	move(mm, PG(a, 2), 0);
	scan(f, 1);
	expect_counter(f, stable_node_chains, 1);
	expect_counter(f, stable_node_dups, 2);
	expect_counter(f, pages_shared, 2);
	expect_counter(f, pages_sharing, 2);
	assert_false(migrating(f));
	assert_int_equal(node_at(mm, PG(a, 2))->nid, 0);
}

/*
 * With one mapping it is offered the other page, but a KSM page cannot be write-protected:
 * Linux 7.2 finds no anon_vma.
 */
static void a_single_mapping_stays_on_the_list(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = one_pair_on_each_node(f, mm);

	unmap(mm, PG(a, 3), 1);
	scan(f, 1);
	move(mm, PG(a, 2), 0);
	expect_counter(f, pages_shared, 2);
	for (int i = 0; i < 2; i++) {
		scan(f, 1);
		assert_true(migrating(f));
		assert_int_not_equal(pfn_at(mm, a), pfn_at(mm, PG(a, 2)));
		assert_true(ksm_at(mm, PG(a, 2)));
		expect_counter(f, pages_shared, 1);
		expect_counter(f, pages_sharing, 1);
		expect_counter(f, pages_volatile, 1);
		expect_counter(f, stable_node_chains, 0);
	}
	/* It goes with its page. */
	unmap(mm, PG(a, 2), 1);
	scan(f, 1);
	assert_false(migrating(f));
}

/* The node found lies elsewhere itself: out of the tree with it. */
static void a_misplaced_node_is_sent_away(void **state)
{
	struct fixture *f = *state;
	struct mm *first = new_mm(f), *second = new_mm(f);
	uint64_t p = map_mergeable(first, 1, 0x77), a = map_mergeable(second, 2, 0x77);

	scan(f, 2);
	assert_int_equal(pfn_at(first, p), pfn_at(second, a));
	/* A copy with a checksum that is remembered, hence looked up in the next scan. */
	fill(first, p, 1, 0x77);
	move(second, a, 1);
	ksm_do_scan(&f->vm, 1);
	assert_true(migrating(f));
	assert_null(ksm_of(&f->vm)->stable_tree[0].node);
	expect_counter(f, pages_unshared, 1);
	fixture_validate(f);
	scan(f, 1);
	assert_false(migrating(f));
	assert_int_equal(node_at(second, a)->nid, 1);
	expect_counter(f, pages_shared, 1);
	expect_counter(f, pages_sharing, 1);
}

/* The same, met by a KSM page that has migrated to the tree's own node: it takes the place. */
static void a_misplaced_node_is_replaced(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *other = new_mm(f);
	uint64_t b = map_mergeable(mm, 1, 0x77), a = map_mergeable(other, 3, 0x77);
	struct ksm_stable_node *node_a, *node_b;

	/* b's page and one of the other's on node 1, two of the other's on node 0. */
	move(mm, b, 1);
	move(other, PG(a, 2), 1);
	scan(f, 2);
	node_b = node_at(mm, b);
	node_a = node_at(other, a);
	assert_ptr_not_equal(node_a, node_b);
	unmap(other, PG(a, 2), 1);
	scan(f, 1);
	/* They change nodes: b is scanned first. */
	move(mm, b, 0);
	move(other, a, 1);
	ksm_do_scan(&f->vm, 1);
	assert_ptr_equal(
		container_of(ksm_of(&f->vm)->stable_tree[0].node, struct ksm_stable_node, node),
		node_b);
	assert_true(node_is_migrating(ksm_of(&f->vm), node_a));
	fixture_validate(f);
	scan(f, 1);
	assert_false(migrating(f));
	assert_int_equal(node_a->nid, 1);
	assert_int_equal(node_b->nid, 0);
	expect_counter(f, pages_shared, 2);
	expect_counter(f, pages_sharing, 1);
}

static void the_knob_needs_a_world_without_ksm_pages(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);

	map_mergeable(mm, 2, 0x77);
	scan(f, 2);
	assert_int_equal(ksm_knob_set(&f->vm, "merge_across_nodes", "1"), -EBUSY);
	assert_int_equal(ksm_knob_set(&f->vm, "merge_across_nodes", "2"), -EINVAL);
	assert_int_equal(ksm_knob_set(&f->vm, "merge_across_nodes", "0"), 0);
	knob(f, "run", "2");
	knob(f, "merge_across_nodes", "1");
}

/* The trees change under a pass that has begun. */
static void switching_in_the_middle_of_a_pass(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 8, -1);

	knob(f, "smart_scan", "0");
	for (int i = 0; i < 8; i++)
		put(mm, PG(a, i), 100 + (uint64_t)i);
	for (int i = 0; i < 8; i += 2)
		move(mm, PG(a, i), 1);
	scan(f, 1);
	for (int i = 0; i < 6; i++) {
		ksm_do_scan(&f->vm, 3);
		knob(f, "merge_across_nodes", i & 1 ? "0" : "1");
		fixture_validate(f);
	}
	scan(f, 2);
	expect_counter(f, pages_unshared, 8);
}

#define NODES_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup_nodes, teardown_default)

int main(void)
{
	const struct CMUnitTest tests[] = {
		NODES_TEST(equal_pages_merge_on_their_nodes),
		NODES_TEST(a_migrated_node_is_placed_anew),
		NODES_TEST(equal_nodes_form_a_chain),
		NODES_TEST(a_single_mapping_stays_on_the_list),
		NODES_TEST(a_misplaced_node_is_sent_away),
		NODES_TEST(a_misplaced_node_is_replaced),
		NODES_TEST(the_knob_needs_a_world_without_ksm_pages),
		NODES_TEST(switching_in_the_middle_of_a_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
