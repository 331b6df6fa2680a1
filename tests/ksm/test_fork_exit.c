/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Fork and exit of processes with merged pages (K27, K38, M4, L8; scenarios 18 to 20, 38, V3),
 * and when pages that are gone are noticed (K3, W2).
 */
#include "ksm_fixture.h"

/* Scenario 18. */
static void child_joins_with_the_next_scan(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *child;

	map_mergeable(mm, 8, 0x77);
	scan(f, 2);
	child = fork_mm(mm);
	expect_stat(child, ksm_merging_pages, 0);
	expect_counter(f, pages_sharing, 7);
	scan(f, 1);
	expect_counter(f, pages_sharing, 15);
	expect_stat(child, ksm_merging_pages, 8);
	mm_exit(child);
	expect_counter(f, pages_sharing, 15);
	fixture_validate(f);
	scan(f, 1);
	expect_counter(f, pages_sharing, 7);
	expect_counter(f, pages_shared, 1);
}

/* Scenario 19: a fork may exceed the limit on one node. */
static void forks_exceed_the_limit(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *child;
	uint64_t a = map_mergeable(mm, 256, 0x77);

	scan(f, 2);
	child = fork_mm(mm);
	scan(f, 1);
	expect_stat(child, ksm_merging_pages, 256);
	expect_counter(f, stable_node_chains, 0);
	expect_counter(f, pages_shared, 1);
	assert_int_equal(frame_node(frame_at(mm, a))->rmap_hlist_len, 512);
	/* Full: an equal page elsewhere begins a second KSM page, once it finds a partner. */
	map_mergeable(mm, 2, 0x77);
	scan(f, 2);
	expect_counter(f, stable_node_chains, 1);
	expect_counter(f, stable_node_dups, 2);
}

/* Scenario 20. */
static void parent_exits_before_the_child_is_scanned(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *child;
	uint64_t a = map_mergeable(mm, 4, 0x77);

	scan(f, 2);
	child = fork_mm(mm);
	mm_exit(mm);
	expect_counter(f, pages_sharing, 3);
	expect_stat(child, ksm_merging_pages, 0);
	scan(f, 1);
	expect_counter(f, pages_shared, 1);
	expect_counter(f, pages_sharing, 3);
	expect_stat(child, ksm_merging_pages, 4);
	assert_int_equal(byte_at(child, a), 0x77);
}

/* Scenario 38, V3: the parent's PTE maps a KSM page though it never asked for merging. */
static void the_child_alone_is_mergeable(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *child;
	uint64_t a = map(mm, 2);

	fill(mm, a, 2, 0x77);
	child = fork_mm(mm);
	advise(child, a, 2, SP_MADV_MERGEABLE);
	scan(f, 2);
	assert_true(ksm_at(child, a) && ksm_at(child, PG(a, 1)));
	assert_false(ksm_at(mm, a));
	assert_true(ksm_at(mm, PG(a, 1)));
	assert_int_equal(frame_at(mm, PG(a, 1))->mapcount, 3);
	expect_stat(mm, ksm_merging_pages, 0);
	mm_exit(child);
	assert_true(ksm_at(mm, PG(a, 1)));
	knob(f, "run", "2");
	assert_true(ksm_at(mm, PG(a, 1)));
	expect_counter(f, pages_shared, 0);
	assert_int_equal(ksm_knob_set(&f->vm, "max_page_sharing", "8"), -EBUSY);
	fixture_validate(f);
	/* A write frees it. */
	fill(mm, PG(a, 1), 1, 0x77);
	knob(f, "max_page_sharing", "8");
}

/* L8: with nothing to clean up, and not under the cursor, the slot goes at once. */
static void exit_frees_what_it_can(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *other = new_mm(f), *third = new_mm(f);
	const struct ksm *ksm = ksm_of(&f->vm);

	map_mergeable(mm, 4, 0x77);
	map_mergeable(other, 4, 0x78);
	map_mergeable(third, 4, 0x79);
	mm_exit(third);
	assert_int_equal(ksm->slot_pool.nr_used, 2);
	/* Under the cursor: stays. */
	ksm_do_scan(&f->vm, 2);
	assert_ptr_equal(ksm->scan.mm_slot, mm->ksm_slot);
	mm_exit(mm);
	assert_int_equal(ksm->slot_pool.nr_used, 2);
	fixture_validate(f);
	scan(f, 1);
	assert_int_equal(ksm->slot_pool.nr_used, 1);
	expect_counter(f, pages_volatile, 4);
	/* With items: stays, and comes next. */
	mm_exit(other);
	assert_int_equal(ksm->slot_pool.nr_used, 1);
	scan(f, 1);
	assert_int_equal(ksm->slot_pool.nr_used, 0);
	expect_counter(f, pages_volatile, 0);
}

/* K14. */
static void a_new_mm_waits_for_the_next_pass(void **state)
{
	struct fixture *f = *state;
	struct mm *first = new_mm(f), *second = new_mm(f), *late = new_mm(f);
	const struct ksm *ksm = ksm_of(&f->vm);

	map_mergeable(first, 4, 0x77);
	map_mergeable(second, 4, 0x78);
	ksm_do_scan(&f->vm, 6);
	assert_ptr_equal(ksm->scan.mm_slot, second->ksm_slot);
	map_mergeable(late, 4, 0x79);
	assert_ptr_equal(slot_next(late->ksm_slot), second->ksm_slot);
	scan(f, 1);
	expect_stat(late, ksm_rmap_items, 0);
	scan(f, 1);
	expect_stat(late, ksm_rmap_items, 4);
	/* While everything is being unmerged, at the tail. */
	knob(f, "run", "2");
	late = new_mm(f);
	map_mergeable(late, 1, 0x77);
	assert_ptr_equal(slot_next(late->ksm_slot), &ksm->mm_head);
}

/* K11, and the flag that outlives it: exit with merge-any. */
static void exit_in_the_middle_of_a_pass(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *other = new_mm(f);

	map_mergeable(mm, 8, 0x77);
	map_mergeable(other, 8, 0x77);
	scan(f, 1);
	ksm_do_scan(&f->vm, 4); /* pages of mm are in the unstable tree or merged */
	mm_exit(mm);
	fixture_validate(f);
	scan(f, 1);
	expect_counter(f, pages_shared, 1);
	expect_counter(f, pages_sharing, 7);
	scan(f, 1);
	expect_stat(other, ksm_merging_pages, 8);
}

/* K3: pages that were unmapped are noticed when somebody looks. */
static void stale_nodes_go_when_they_are_met(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *other = new_mm(f);
	uint64_t a = map_mergeable(mm, 4, 0x77);

	map_mergeable(other, 1, 0x42);
	scan(f, 2);
	unmap(mm, a, 4);
	expect_counter(f, pages_sharing, 3);
	assert_int_equal(f->vm.frames.nr_used, 1);
	fixture_validate(f);
	/* The items of mm name the node; the page of the other has to pass it in the tree. */
	scan(f, 1);
	expect_counter(f, pages_shared, 0);
	expect_counter(f, pages_sharing, 0);
	expect_counter(f, pages_unshared, 1);
}

/* Memory runs out while the child is registered: it is not, and lives (K38). */
static void registering_a_child_is_best_effort(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *child;
	uint64_t nr_before, slot_alloc = 0;

	map_mergeable(mm, 1, 0x77);
	/* Which of fork's allocations is the slot's? The one whose failure does not show. */
	for (uint64_t i = 1; !slot_alloc; i++) {
		nr_before = f->vm.mem.nr_allocs;
		f->vm.mem.fail_at = nr_before + i;
		if (!mm_fork(mm, &child)) {
			assert_int_equal(f->vm.mem.nr_failed, i);
			slot_alloc = i;
		}
		assert_true(i < 100);
	}
	assert_null(child->ksm_slot);
	assert_false(child->flags & MMF_VM_MERGEABLE);
	expect_stat(child, ksm_mergeable, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KSM_TEST(child_joins_with_the_next_scan),
		KSM_TEST(forks_exceed_the_limit),
		KSM_TEST(parent_exits_before_the_child_is_scanned),
		KSM_TEST(the_child_alone_is_mergeable),
		KSM_TEST(exit_frees_what_it_can),
		KSM_TEST(a_new_mm_waits_for_the_next_pass),
		KSM_TEST(exit_in_the_middle_of_a_pass),
		KSM_TEST(stale_nodes_go_when_they_are_met),
		KSM_TEST(registering_a_child_is_best_effort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
