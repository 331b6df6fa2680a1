/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Merged pages that are swapped out and come back, and that migrate (W1 to W5, V4, V5, V10;
 * scenarios 34, 35).
 */
#include "ksm_fixture.h"

static void evict(struct mm *mm, uint64_t addr)
{
	assert_int_equal(vm_swap_out(mm, addr), 1);
}

/* Scenario 35, V10. */
static void evicted_pages_come_back_as_copies(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *child;
	uint64_t a = map_mergeable(mm, 3, 0x77);

	scan(f, 2);
	evict(mm, a);
	for (int i = 0; i < 3; i++)
		assert_true(pte_is_swap(vm_pte(mm, PG(a, i))));
	/* W2: noticed by the next scan. */
	expect_counter(f, pages_sharing, 2);
	fixture_validate(f);
	scan(f, 1);
	expect_counter(f, pages_shared, 0);
	expect_counter(f, pages_sharing, 0);
	child = fork_mm(mm);
	for (int i = 0; i < 3; i++)
		assert_int_equal(byte_at(mm, PG(a, i)), 0x77);
	assert_int_equal(f->vm.stat.ksm_swpin_copy, 2);
	for (int i = 0; i < 3; i++)
		for (int j = i + 1; j < 3; j++)
			assert_int_not_equal(pfn_at(mm, PG(a, i)), pfn_at(mm, PG(a, j)));
	/* The child shares what the first faulter adopted; the others are copied again. */
	assert_int_equal(byte_at(child, a), 0x77);
	assert_int_equal(pfn_at(child, a), pfn_at(mm, a));
	assert_int_equal(byte_at(child, PG(a, 1)), 0x77);
	assert_int_not_equal(pfn_at(child, PG(a, 1)), pfn_at(mm, PG(a, 1)));
	assert_int_equal(f->vm.stat.ksm_swpin_copy, 3);
	fixture_validate(f);
	assert_int_equal(byte_at(child, PG(a, 2)), 0x77);
	scan(f, 3);
	expect_counter(f, pages_shared, 1);
	expect_counter(f, pages_sharing, 5);
}

/* All PTEs of a KSM page that stays in the swap cache, for somebody else refers to it. */
static struct frame *evict_but_keep(struct fixture *f, struct mm *mm, uint64_t addr)
{
	struct frame *frame = frame_at(mm, addr);

	hold(frame);
	assert_true(vm_swap_out(mm, addr) >= 0);
	assert_int_equal(frame->mapcount, 0);
	assert_true(frame->flags & FRAME_SWAPCACHE);
	assert_true(frame_is_ksm(frame));
	fixture_validate(f);
	return frame;
}

/* W3. */
static void a_ksm_page_in_the_swap_cache_is_mapped_again(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 2, 0x77);
	struct frame *frame;

	scan(f, 2);
	frame = evict_but_keep(f, mm, a);
	assert_false(frame_node(frame)->wide);
	assert_int_equal(byte_at(mm, PG(a, 1)), 0x77);
	assert_ptr_equal(frame_at(mm, PG(a, 1)), frame);
	assert_false(vm_pte(mm, PG(a, 1)) & PTE_WRITE);
	assert_true(frame_node(frame)->wide);
	assert_int_equal(f->vm.stat.ksm_swpin_copy, 0);
	/* A store copies it as any KSM page. */
	put(mm, a, 5);
	assert_ptr_not_equal(frame_at(mm, a), frame);
	drop(f, frame);
	scan(f, 1);
	expect_stat(mm, ksm_merging_pages, 1);
}

/* V5: not while everything is being unmerged. */
static void after_run_2_it_is_copied(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 2, 0x77);
	struct frame *frame;

	scan(f, 2);
	frame = evict_but_keep(f, mm, a);
	knob(f, "run", "2");
	fixture_validate(f);
	expect_counter(f, pages_shared, 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(byte_at(mm, PG(a, i)), 0x77);
		assert_false(ksm_at(mm, PG(a, i)));
	}
	assert_int_equal(f->vm.stat.ksm_swpin_copy, 2);
	/* Also with run=1 again: its node is gone. */
	knob(f, "run", "1");
	drop(f, frame);
}

/*
 * V4: unmerged meanwhile, they refault to the KSM page, and it has no items for them after the
 * next pass.
 */
static void a_ksm_page_in_an_unmerged_vma(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *other = new_mm(f);
	uint64_t a = map_mergeable(mm, 2, 0x77);
	struct frame *frame;

	map_mergeable(other, 1, 0x42);
	scan(f, 2);
	frame = evict_but_keep(f, mm, a);
	advise(mm, a, 2, SP_MADV_UNMERGEABLE);
	assert_true(pte_is_swap(vm_pte(mm, a)));
	assert_int_equal(byte_at(mm, a), 0x77);
	assert_ptr_equal(frame_at(mm, a), frame);
	expect_counter(f, pages_sharing, 1);
	scan(f, 1);
	expect_counter(f, pages_shared, 0);
	expect_counter(f, pages_sharing, 0);
	assert_true(ksm_at(mm, a));
	assert_int_equal(frame_node(frame)->rmap_hlist_len, 0);
	drop(f, frame);
}

/* What no item leads to must be marked, long before a walk shows it. */
static void a_missing_mark_is_a_finding(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *child;
	uint64_t a = map(mm, 2);
	struct report report;
	struct ksm_stable_node *node;

	fill(mm, a, 2, 0x77);
	child = fork_mm(mm);
	advise(child, a, 2, SP_MADV_MERGEABLE);
	scan(f, 2);
	node = frame_node(frame_at(mm, PG(a, 1)));
	assert_true(node && node->wide);
	fixture_validate(f);
	node->wide = false;
	report_init(&report);
	ksm_validate(&f->vm, &report);
	assert_non_null(strstr(report.text, "is not marked"));
	/* The child's own mappings have their items. */
	assert_int_equal(report.nr_findings, 1);
	node->wide = true;
}

/* Scenario 34, W5. */
static void migration_changes_the_pfn_alone(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *child;
	uint64_t a = map_mergeable(mm, 4, 0x77);
	uint32_t before;

	scan(f, 2);
	child = fork_mm(mm);
	before = pfn_at(mm, a);
	assert_int_equal(vm_move_page(mm, a, -1, true), 0);
	fixture_validate(f);
	assert_int_not_equal(pfn_at(mm, a), before);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pfn_at(mm, PG(a, i)), pfn_at(mm, a));
		assert_int_equal(pfn_at(child, PG(a, i)), pfn_at(mm, a));
	}
	assert_int_equal(frame_node(frame_at(mm, a))->kpfn, pfn_at(mm, a));
	expect_counter(f, pages_shared, 1);
	expect_counter(f, pages_sharing, 3);
	scan(f, 1);
	expect_counter(f, pages_sharing, 7);
	/* A page that joins finds it at its new place. */
	map_mergeable(mm, 1, 0x77);
	scan(f, 2);
	expect_counter(f, pages_sharing, 8);
}

/*
 * Pages in the tree of a pass that are evicted, moved or rewritten before the pass goes on
 * (K23).
 */
static void the_unstable_tree_looks_at_what_is_there_now(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 4, -1);

	knob(f, "smart_scan", "0");
	put(mm, a, 1);
	put(mm, PG(a, 1), 2);
	put(mm, PG(a, 2), 3);
	put(mm, PG(a, 3), 1);
	scan(f, 1);
	/* The first is in the tree and equals the last, then it does not. */
	ksm_do_scan(&f->vm, 1);
	put(mm, a, 9);
	scan(f, 1);
	expect_counter(f, pages_shared, 0);
	expect_counter(f, pages_unshared, 4);
	/* Rewritten to equal a later one while in the tree: merged, whatever its checksum was. */
	scan(f, 1);
	ksm_do_scan(&f->vm, 1);
	put(mm, a, 3);
	scan(f, 1);
	assert_true(ksm_at(mm, a));
	assert_int_equal(pfn_at(mm, a), pfn_at(mm, PG(a, 2)));
	fixture_validate(f);
	/* Evicted while in the tree: whoever passes it gives up. */
	put(mm, a, 4);
	put(mm, PG(a, 2), 5);
	scan(f, 1);
	ksm_do_scan(&f->vm, 1);
	expect_counter(f, pages_unshared, 3); /* two of them of the pass before */
	evict(mm, a);
	scan(f, 1);
	expect_counter(f, pages_unshared, 1);
	expect_counter(f, pages_volatile, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KSM_TEST(evicted_pages_come_back_as_copies),
		KSM_TEST(a_ksm_page_in_the_swap_cache_is_mapped_again),
		KSM_TEST(after_run_2_it_is_copied),
		KSM_TEST(a_ksm_page_in_an_unmerged_vma),
		KSM_TEST(a_missing_mark_is_a_finding),
		KSM_TEST(migration_changes_the_pfn_alone),
		KSM_TEST(the_unstable_tree_looks_at_what_is_there_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
