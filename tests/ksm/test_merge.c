/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What merges, when, and what breaks it again: the easy scenarios of the facts (1-12, 15-17,
 * 21, 22).
 */
#include "ksm_fixture.h"

#include "mmap.h"

/* Scenarios 1 to 3. */
static void equal_pages_merge_in_two_scans(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 16, 0x77);
	uint64_t cow = f->vm.stat.cow_ksm;

	scan(f, 1);
	expect_counter(f, pages_volatile, 16);
	expect_counter(f, pages_shared, 0);
	scan(f, 1);
	expect_counter(f, pages_shared, 1);
	expect_counter(f, pages_sharing, 15);
	expect_counter(f, pages_volatile, 0);
	expect_stat(mm, ksm_merging_pages, 16);
	expect_stat(mm, ksm_rmap_items, 16);
	for (int i = 1; i < 16; i++)
		assert_int_equal(pfn_at(mm, PG(a, i)), pfn_at(mm, a));
	assert_int_equal(f->vm.frames.nr_used, 1);

	fill(mm, PG(a, 3), 1, 0x78);
	assert_int_equal(f->vm.stat.cow_ksm, cow + 1);
	assert_int_equal(byte_at(mm, PG(a, 2)), 0x77);
	assert_int_equal(byte_at(mm, PG(a, 3)), 0x78);
	expect_counter(f, pages_sharing, 15);
	scan(f, 1);
	expect_stat(mm, ksm_merging_pages, 15);
	expect_counter(f, pages_sharing, 14);

	fill(mm, PG(a, 3), 1, 0x77);
	scan(f, 2);
	expect_counter(f, pages_skipped, 1); /* K16: its fifth scan */
	scan(f, 1);
	expect_stat(mm, ksm_merging_pages, 16);
	advise(mm, a, 8, SP_MADV_UNMERGEABLE);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(byte_at(mm, PG(a, i)), 0x77);
		for (int j = i + 1; j < 16; j++)
			assert_int_not_equal(pfn_at(mm, PG(a, i)), pfn_at(mm, PG(a, j)));
	}
	assert_int_equal(mm->map_count, 2);
	expect_stat(mm, ksm_merging_pages, 16);
	scan(f, 1);
	expect_stat(mm, ksm_merging_pages, 8);
	expect_stat(mm, ksm_rmap_items, 8);
}

/* Scenario 4. */
static void run_2_takes_everything_back(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 16, 0x77);

	scan(f, 3);
	expect_counter(f, full_scans, 3);
	knob(f, "run", "2");
	fixture_validate(f);
	for (unsigned int i = 0; ksm_counter_name(i); i++) {
		const char *name = ksm_counter_name(i);

		/* Never reset. */
		if (strcmp(name, "pages_scanned") && strcmp(name, "pages_skipped"))
			assert_int_equal(counter(f, name), 0);
	}
	assert_false(ksm_at(mm, a));
	assert_int_equal(f->vm.frames.nr_used, 16);
	assert_int_equal(ksm_scan_passes(&f->vm, 1), -EAGAIN);
	knob(f, "run", "1");
	scan(f, 2);
	expect_counter(f, pages_sharing, 15);
	assert_int_equal(byte_at(mm, a), 0x77);
}

/* Scenario 6. */
static void shared_mappings_never_merge(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a;

	assert_int_equal(vm_mmap(mm, 0, PG(0, 8), RW, SP_MAP_SHARED, NULL, 0, &a), 0);
	advise(mm, a, 8, SP_MADV_MERGEABLE);
	fill(mm, a, 8, 0x77);
	assert_null(mm->ksm_slot);
	assert_int_equal(ksm_scan_passes(&f->vm, 2), -EAGAIN);
	expect_stat(mm, ksm_mergeable, 0);
}

/* Scenario 7. */
static void advice_over_a_hole(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map(mm, 12);

	unmap(mm, PG(a, 4), 4);
	assert_int_equal(vm_madvise(mm, a, PG(0, 12), SP_MADV_MERGEABLE), -ENOMEM);
	assert_true(vma_lookup(mm, a)->flags & VM_MERGEABLE);
	assert_true(vma_lookup(mm, PG(a, 8))->flags & VM_MERGEABLE);
}

/* Scenario 8. */
static void advice_splits_and_joins(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map(mm, 9);

	fill(mm, a, 9, 1);
	advise(mm, PG(a, 3), 3, SP_MADV_MERGEABLE);
	assert_int_equal(mm->map_count, 3);
	advise(mm, PG(a, 3), 3, SP_MADV_UNMERGEABLE);
	assert_int_equal(mm->map_count, 1);
	/*
	 * Registered, but nothing to visit: the next scan forgets it (K11), and no other can
	 * follow (V16).
	 */
	assert_non_null(mm->ksm_slot);
	scan(f, 1);
	assert_null(mm->ksm_slot);
	assert_int_equal(mm->count, 1);
	assert_int_equal(ksm_scan_passes(&f->vm, 1), -EAGAIN);
}

/* Scenario 9. */
static void a_page_that_keeps_changing(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 2, 0x77);

	scan(f, 1);
	for (uint64_t i = 0; i < 2; i++) {
		put(mm, PG(a, 1), 1000 + i);
		scan(f, 1);
		expect_counter(f, pages_shared, 0);
		expect_counter(f, pages_unshared, 1);
		expect_counter(f, pages_volatile, 1);
	}
}

/* Scenario 10. */
static void prctl_merges_everything(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *child;
	uint64_t a = map(mm, 4), b;

	fill(mm, a, 4, 0x77);
	assert_int_equal(ksm_set_memory_merge(mm, 1, 1, 0, 0), -EINVAL);
	assert_int_equal(ksm_set_memory_merge(mm, 1, 0, 0, 1), -EINVAL);
	assert_int_equal(ksm_get_memory_merge(mm, 1, 0, 0, 0), -EINVAL);
	assert_int_equal(ksm_get_memory_merge(mm, 0, 0, 0, 0), 0);
	assert_int_equal(ksm_set_memory_merge(mm, 1, 0, 0, 0), 0);
	assert_int_equal(ksm_get_memory_merge(mm, 0, 0, 0, 0), 1);
	b = map(mm, 4);
	fill(mm, b, 4, 0x77);
	expect_stat(mm, ksm_merge_any, 1);
	expect_stat(mm, ksm_mergeable, 1);
	scan(f, 2);
	expect_counter(f, pages_sharing, 7);
	child = fork_mm(mm);
	assert_int_equal(ksm_get_memory_merge(child, 0, 0, 0, 0), 1);
	assert_non_null(child->ksm_slot);
	mm_exit(child);

	assert_int_equal(ksm_set_memory_merge(mm, 0, 0, 0, 0), 0);
	assert_int_equal(ksm_get_memory_merge(mm, 0, 0, 0, 0), 0);
	expect_stat(mm, ksm_mergeable, 0);
	for (int i = 0; i < 4; i++)
		assert_false(ksm_at(mm, PG(a, i)) || ksm_at(mm, PG(b, i)));
	scan(f, 1);
	expect_counter(f, pages_shared, 0);
	/* It forgot the mm, and the prctl registers it again. */
	assert_null(mm->ksm_slot);
	assert_int_equal(ksm_set_memory_merge(mm, 1, 0, 0, 0), 0);
	assert_non_null(mm->ksm_slot);
}

/* K37: the flag outlives the registration; a new mapping brings that back. */
static void merge_any_registers_with_a_mapping(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);

	assert_int_equal(ksm_set_memory_merge(mm, 1, 0, 0, 0), 0);
	scan(f, 1);
	assert_null(mm->ksm_slot);
	expect_stat(mm, ksm_merge_any, 1);
	fill(mm, map(mm, 2), 2, 0x77);
	assert_non_null(mm->ksm_slot);
	scan(f, 2);
	expect_stat(mm, ksm_merging_pages, 2);
}

/* Scenario 11. */
static void inaccessible_pages_merge(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 4, 0x77);

	assert_int_equal(vm_mprotect(mm, a, PG(0, 4), SP_PROT_NONE), 0);
	scan(f, 2);
	expect_counter(f, pages_sharing, 3);
}

/* Scenario 12. */
static void discarded_pages_stay_discarded(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 8, 0x77);

	scan(f, 2);
	advise(mm, a, 4, SP_MADV_DONTNEED);
	advise(mm, a, 8, SP_MADV_UNMERGEABLE);
	assert_int_equal(byte_at(mm, PG(a, 1)), 0);
	assert_int_equal(byte_at(mm, PG(a, 5)), 0x77);
}

/* Scenario 15 and V8's rule for a child that gets them all. */
static void zero_pages(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *child;
	uint64_t a = map_mergeable(mm, 8, 0);

	knob(f, "use_zero_pages", "1");
	scan(f, 2);
	expect_stat(mm, ksm_merging_pages, 0);
	expect_stat(mm, ksm_zero_pages, 8);
	expect_stat(mm, ksm_rmap_items, 8);
	scan(f, 1);
	expect_stat(mm, ksm_rmap_items, 0);
	expect_counter(f, ksm_zero_pages, 8);
	expect_counter(f, general_profit, 32768);
	expect_stat(mm, ksm_process_profit, 32768);
	assert_int_equal(mm->rss_anon, 0);
	assert_int_equal(f->vm.frames.nr_used, 0);

	child = fork_mm(mm);
	expect_counter(f, ksm_zero_pages, 16);
	mm_exit(child);
	expect_counter(f, ksm_zero_pages, 8);

	fill(mm, a, 1, 5);
	expect_counter(f, ksm_zero_pages, 7);
	unmap(mm, PG(a, 4), 4);
	expect_counter(f, ksm_zero_pages, 3);
	advise(mm, a, 4, SP_MADV_UNMERGEABLE);
	expect_counter(f, ksm_zero_pages, 0);
	expect_stat(mm, ksm_zero_pages, 0);
	assert_int_equal(byte_at(mm, PG(a, 1)), 0);
	assert_int_equal(byte_at(mm, a), 5);
}

/* V8: a VMA that fork leaves out is counted for the child all the same, and for good. */
static void zero_pages_leak_over_dontfork(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 8, 0);

	knob(f, "use_zero_pages", "1");
	scan(f, 2);
	advise(mm, a, 8, SP_MADV_DONTFORK);
	for (int i = 1; i <= 3; i++) {
		mm_exit(fork_mm(mm));
		scan(f, 1);
		expect_counter(f, ksm_zero_pages, 8 + 8 * i);
	}
	expect_counter(f, general_profit, 32 * 4096);
}

/* Scenario 16. */
static void zero_filled_pages_without_the_knob(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);

	map_mergeable(mm, 8, 0);
	scan(f, 2);
	expect_counter(f, pages_shared, 1);
	expect_counter(f, pages_sharing, 7);
	expect_counter(f, ksm_zero_pages, 0);
}

/* A page that was only read is the zero page, and no candidate (K9). */
static void untouched_pages_are_no_candidates(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 8, -1);

	assert_int_equal(byte_at(mm, a), 0);
	scan(f, 2);
	expect_stat(mm, ksm_rmap_items, 0);
	expect_counter(f, pages_scanned, 0);
	assert_non_null(mm->ksm_slot);
}

/* Scenario 17. */
static void profit(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);

	map_mergeable(mm, 16, 0x77);
	map_mergeable(mm, 1, 0x78);
	for (int i = 0; i < 3; i++) {
		scan(f, 1);
		assert_int_equal(counter(f, "general_profit"),
				 counter(f, "pages_sharing") * 4096 - 17 * 64);
		assert_int_equal(stat_of(mm, "ksm_process_profit"),
				 stat_of(mm, "ksm_merging_pages") * 4096 - 17 * 64);
	}
	expect_counter(f, pages_unshared, 1);
}

/* Scenario 21. */
static void private_file_pages_merge_once_copied(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	struct file *file;
	uint64_t a;

	assert_int_equal(file_create(&f->vm, 64, 0, false, &file), 0);
	assert_int_equal(vm_mmap(mm, 0, PG(0, 8), RW, SP_MAP_PRIVATE, file, 32, &a), 0);
	advise(mm, a, 8, SP_MADV_MERGEABLE);
	for (int i = 4; i < 8; i++) /* equal, and clean */
		assert_int_equal(byte_at(mm, PG(a, i)), 0);
	fill(mm, a, 4, 0x77);
	scan(f, 3);
	expect_counter(f, pages_shared, 1);
	expect_counter(f, pages_sharing, 3);
	expect_stat(mm, ksm_rmap_items, 4);
}

/* Scenario 22: the checksum is remembered while the page is merged (K18). */
static void rewriting_the_same_contents(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 4, 0x77);

	scan(f, 2);
	fill(mm, a, 1, 0x77);
	assert_false(ksm_at(mm, a));
	scan(f, 1);
	assert_true(ksm_at(mm, a));
	expect_stat(mm, ksm_merging_pages, 4);
}

/* K25: somebody else's reference on a writable page. */
static void referenced_pages_are_left_alone(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 3, 0x77);
	struct frame *frame = frame_at(mm, PG(a, 2));

	hold(frame);
	scan(f, 2);
	assert_true(ksm_at(mm, a) && ksm_at(mm, PG(a, 1)));
	assert_false(ksm_at(mm, PG(a, 2)));
	expect_counter(f, pages_volatile, 1);
	drop(f, frame);
	scan(f, 1);
	assert_true(ksm_at(mm, PG(a, 2)));
}

/* K26: the page in the tree cannot be merged, so the scanned one, already KSM, is broken again. */
static void a_half_merge_is_undone(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 3, 0x77);
	struct frame *frame = frame_at(mm, a);

	hold(frame);
	scan(f, 2);
	for (int i = 0; i < 3; i++)
		assert_false(ksm_at(mm, PG(a, i)));
	expect_counter(f, pages_shared, 0);
	expect_counter(f, pages_unshared, 1);
	expect_counter(f, pages_volatile, 2);
	assert_int_equal(f->vm.stat.cow_ksm, 2);
	drop(f, frame);
	scan(f, 1);
	expect_counter(f, pages_sharing, 2);
}

/* K20, K25: a page whose lock is busy waits for the next pass. */
static void locked_pages_wait(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 2, 0x77), b;
	struct frame *frame;

	scan(f, 1);
	/* The scanned one. */
	frame = frame_at(mm, PG(a, 1));
	frame->flags |= FRAME_LOCKED; /* by somebody else */
	assert_int_equal(ksm_scan_passes(&f->vm, 1), 0);
	frame->flags &= (uint16_t)~FRAME_LOCKED;
	expect_counter(f, pages_shared, 0);
	/* The other is in the tree still; the locked one is in none. */
	expect_counter(f, pages_unshared, 1);
	scan(f, 1);
	expect_counter(f, pages_shared, 1);

	/* The KSM page that was found. */
	b = map_mergeable(mm, 1, 0x77);
	scan(f, 1);
	frame = frame_at(mm, a);
	frame->flags |= FRAME_LOCKED; /* by somebody else */
	assert_int_equal(ksm_scan_passes(&f->vm, 1), 0);
	frame->flags &= (uint16_t)~FRAME_LOCKED;
	assert_false(ksm_at(mm, b));
	scan(f, 1);
	assert_true(ksm_at(mm, b));
}

/* The experiment: as found, a merged PTE is young and the page marked accessed. */
static void merged_ptes_are_young_unless_told(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 2, 0x77), b;

	scan(f, 2);
	/* The first scanned of the pair was replaced, the second became the KSM page. */
	assert_true(vm_pte(mm, a) & PTE_YOUNG);
	assert_true(frame_at(mm, a)->flags & FRAME_REFERENCED);
	assert_true(frame_at(mm, a)->flags & FRAME_DIRTY);
	knob(f, "merge_old_ptes", "1");
	b = map_mergeable(mm, 2, 0x78);
	scan(f, 2);
	assert_true(ksm_at(mm, b));
	assert_false(vm_pte(mm, b) & PTE_YOUNG);
	assert_false(frame_at(mm, b)->flags & FRAME_REFERENCED);
	for (int i = 0; i < 2; i++)
		assert_false(vm_pte(mm, PG(b, i)) & (PTE_WRITE | PTE_DIRTY));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KSM_TEST(equal_pages_merge_in_two_scans),
		KSM_TEST(run_2_takes_everything_back),
		KSM_TEST(shared_mappings_never_merge),
		KSM_TEST(advice_over_a_hole),
		KSM_TEST(advice_splits_and_joins),
		KSM_TEST(a_page_that_keeps_changing),
		KSM_TEST(prctl_merges_everything),
		KSM_TEST(merge_any_registers_with_a_mapping),
		KSM_TEST(inaccessible_pages_merge),
		KSM_TEST(discarded_pages_stay_discarded),
		KSM_TEST(zero_pages),
		KSM_TEST(zero_pages_leak_over_dontfork),
		KSM_TEST(zero_filled_pages_without_the_knob),
		KSM_TEST(untouched_pages_are_no_candidates),
		KSM_TEST(profit),
		KSM_TEST(private_file_pages_merge_once_copied),
		KSM_TEST(rewriting_the_same_contents),
		KSM_TEST(referenced_pages_are_left_alone),
		KSM_TEST(a_half_merge_is_undone),
		KSM_TEST(locked_pages_wait),
		KSM_TEST(merged_ptes_are_young_unless_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
