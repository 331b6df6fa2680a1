/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * zap_range(): what goes, what stays because somebody else needs it, and that
 * nothing goes when a huge page cannot be split.
 */
#include "fault_fixture.h"

#define HUGE (UINT64_C(1) << 30) /* offset of 2 MiB aligned test memory */

static void test_pages_come_back_as_zeroes(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);

	(void)state;
	map_pages(mm, BASE, 4, RW, NULL, 0);
	for (uint32_t i = 0; i < 4; i++)
		poke(mm, PAGE(i), i + 1);
	assert_int_equal(zap(mm, PAGE(1), 2), 0);
	assert_int_equal(mm->rss_anon, 2);
	assert_int_equal(f->vm.frames.nr_used, 2);
	assert_int_equal(peek(mm, PAGE(0)), 1);
	assert_int_equal(peek(mm, PAGE(1)), 0);
	assert_int_equal(peek(mm, PAGE(2)), 0);
	assert_int_equal(peek(mm, PAGE(3)), 4);
	/* Nothing there, nothing to do. */
	assert_int_equal(zap(mm, PAGE(1), 0), 0);
	assert_int_equal(zap(mm, PAGE(1), 2), 0);
	teardown(f);
}

static void test_all_of_it_frees_the_tables(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);

	(void)state;
	map_pages(mm, BASE, 1024, RW, NULL, 0);
	poke(mm, PAGE(0), 1);
	(void)peek(mm, PAGE(700));
	assert_int_equal(zap(mm, BASE, 1024), 0);
	assert_int_equal(mm->pt.nr_nodes, 0);
	teardown(f);
}

static void test_file_pages_keep_the_dirt(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct file *file;

	(void)state;
	assert_int_equal(file_create(&f->vm, 2, 1, false, &file), 0);
	map_pages(mm, BASE, 2, RW_SHARED, file, 0);
	poke(mm, PAGE(0), 5);
	(void)peek(mm, PAGE(1));
	file->pages[0]->flags &= (uint16_t)~FRAME_DIRTY;
	assert_int_equal(zap(mm, BASE, 2), 0);
	assert_true(file->pages[0]->flags & FRAME_DIRTY);
	assert_false(file->pages[1]->flags & FRAME_DIRTY);
	assert_int_equal(mm->rss_file, 0);
	assert_int_equal(peek(mm, PAGE(0)), 5);
	teardown(f);
}

static void test_swap_entries(void **state)
{
	struct mm *a, *b;
	struct fixture *f = setup_one(&a);
	uint32_t alone, shared, cached;

	(void)state;
	map_pages(a, BASE, 3, RW, NULL, 0);
	for (uint32_t i = 0; i < 3; i++)
		poke(a, PAGE(i), i + 1);
	alone = swap_out(f, frame_at(a, PAGE(0)), false);
	b = fork_mm(a);
	assert_int_equal(zap(b, PAGE(0), 1), 0);
	shared = swap_out(f, frame_at(a, PAGE(1)), false);
	cached = swap_out(f, frame_at(a, PAGE(2)), true);
	assert_int_equal(f->vm.swap.nr_used, 3);
	assert_int_equal(zap(a, BASE, 3), 0);
	assert_int_equal(a->rss_swap, 0);
	assert_int_equal(b->rss_swap, 2);
	assert_false(f->vm.swap.slots[alone].used);
	assert_int_equal(swap_count(&f->vm.swap, shared), 1);
	assert_non_null(swap_cache_find(&f->vm.swap, cached));
	fixture_validate(f);
	/* The last entry takes the unmapped page in the swap cache with it. */
	assert_int_equal(zap(b, BASE, 3), 0);
	assert_int_equal(f->vm.swap.nr_used, 0);
	assert_int_equal(f->vm.frames.nr_used, 0);
	teardown(f);
}

static void test_a_mapped_page_stays_in_the_swap_cache(void **state)
{
	struct mm *a, *b;
	struct fixture *f = setup_one(&a);
	struct frame *frame;

	(void)state;
	map_pages(a, BASE, 1, RW, NULL, 0);
	poke(a, BASE, 1);
	b = fork_mm(a);
	f->vm.swap.limit = 2;
	swap_out(f, frame_at(a, BASE), false);
	(void)peek(a, BASE);
	frame = frame_at(a, BASE);
	assert_int_equal(zap(b, BASE, 1), 0);
	assert_true(frame->flags & FRAME_SWAPCACHE);
	mm_exit(b);
	/* But not when swap space is short. */
	mm_exit(a);
	a = new_mm(f);
	map_pages(a, BASE, 1, RW, NULL, 0);
	poke(a, BASE, 1);
	b = fork_mm(a);
	swap_out(f, frame_at(a, BASE), false);
	(void)peek(a, BASE);
	frame = frame_at(a, BASE);
	assert_true(frame->flags & FRAME_SWAPCACHE);
	f->vm.swap.limit = 1;
	assert_int_equal(zap(b, BASE, 1), 0);
	assert_false(frame->flags & FRAME_SWAPCACHE);
	assert_int_equal(f->vm.swap.nr_used, 0);
	assert_int_equal(peek(a, BASE), 1);
	teardown(f);
}

static void test_ksm_zero_pages_and_migration_entries(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct frame *frame;

	(void)state;
	map_pages(mm, BASE, 4, RW, NULL, 0);
	for (int i = 0; i < 2; i++) {
		poke(mm, PAGE(i), 0);
		make_ksm_zero(f, mm, PAGE(i));
	}
	(void)peek(mm, PAGE(2));
	poke(mm, PAGE(3), 1);
	frame = frame_at(mm, PAGE(3));
	make_migrating(f, frame);
	assert_int_equal(zap(mm, BASE, 4), 0);
	assert_int_equal(f->zero_pages, 0);
	assert_int_equal(mm->ksm_zero_pages, 0);
	assert_int_equal(f->nr_orphans_met, 0);
	assert_int_equal(frame->refcount, 1);
	drop(f, frame);
	teardown(f);
}

static void test_held_pages_live_on(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct frame *frame;

	(void)state;
	map_pages(mm, BASE, 1, RW, NULL, 0);
	poke(mm, BASE, 6);
	frame = frame_at(mm, BASE);
	hold(frame);
	assert_int_equal(zap(mm, BASE, 1), 0);
	fixture_validate(f);
	assert_int_equal(frame->refcount, 1);
	assert_int_equal(frame_word(&f->vm, frame), 6);
	drop(f, frame);
	assert_int_equal(f->vm.frames.nr_used, 0);
	teardown(f);
}

static void test_part_of_a_huge_page(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	uint64_t start = BASE + HUGE;

	(void)state;
	f->vm.config.thp = THP_ALWAYS;
	map_pages(mm, start, 3 * HPAGE_PMD_NR, RW, NULL, 0);
	for (uint32_t i = 0; i < 3 * HPAGE_PMD_NR; i++)
		poke(mm, start + i * PAGE_SIZE, i);
	assert_int_equal(f->vm.stat.thp_fault_alloc, 3);
	/* From the middle of the first to the middle of the last. */
	assert_int_equal(zap(mm, start + 256 * PAGE_SIZE, 1024), 0);
	assert_int_equal(f->vm.stat.thp_split_pmd, 2);
	assert_int_equal(mm->rss_anon, 512);
	fixture_validate(f);
	assert_int_equal(peek(mm, start + 255 * PAGE_SIZE), 255);
	assert_int_equal(peek(mm, start + 1280 * PAGE_SIZE), 1280);
	assert_int_equal(vm_pte(mm, start + 256 * PAGE_SIZE), 0);
	assert_int_equal(vm_pte(mm, start + 1279 * PAGE_SIZE), 0);
	/* The middle one went whole, so its place may be huge again. */
	assert_int_equal(peek(mm, start + HPAGE_PMD_SIZE), 0);
	assert_int_equal(f->vm.stat.thp_fault_alloc, 4);
	teardown(f);
}

static void test_nothing_goes_when_a_split_fails(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	uint64_t start = BASE + HUGE;

	(void)state;
	f->vm.config.thp = THP_ALWAYS;
	map_pages(mm, start, 2 * HPAGE_PMD_NR, RW, NULL, 0);
	poke(mm, start, 1);
	poke(mm, start + HPAGE_PMD_SIZE, 2);
	/* The first end splits, the second does not. */
	f->vm.mem.fail_at = f->vm.mem.nr_allocs + 2;
	assert_int_equal(zap(mm, start + PAGE_SIZE, HPAGE_PMD_NR), -ENOMEM);
	assert_int_equal(mm->rss_anon, 2 * HPAGE_PMD_NR);
	assert_int_equal(f->vm.stat.thp_split_pmd, 1);
	fixture_validate(f);
	assert_int_equal(zap(mm, start + PAGE_SIZE, HPAGE_PMD_NR), 0);
	assert_int_equal(mm->rss_anon, HPAGE_PMD_NR);
	assert_int_equal(peek(mm, start), 1);
	teardown(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages_come_back_as_zeroes),
		cmocka_unit_test(test_all_of_it_frees_the_tables),
		cmocka_unit_test(test_file_pages_keep_the_dirt),
		cmocka_unit_test(test_swap_entries),
		cmocka_unit_test(test_a_mapped_page_stays_in_the_swap_cache),
		cmocka_unit_test(test_ksm_zero_pages_and_migration_entries),
		cmocka_unit_test(test_held_pages_live_on),
		cmocka_unit_test(test_part_of_a_huge_page),
		cmocka_unit_test(test_nothing_goes_when_a_split_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
