/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * madvise and mlock: flags and their errors (M3), pages (M5), and what a lock keeps in memory (V9).
 */
#include "vma_fixture.h"

static void test_arguments(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = f->mm;

	map(f, 0, 2, PROT_RW);
	assert_int_equal(vm_madvise(mm, AT(0), LEN(1), 99), -EINVAL);
	assert_int_equal(vm_madvise(mm, AT(0) + 1, LEN(1), SP_MADV_MERGEABLE), -EINVAL);
	assert_int_equal(vm_madvise(mm, AT(0), UINT64_MAX, SP_MADV_MERGEABLE), -EINVAL);
	assert_int_equal(vm_madvise(mm, AT(0), UINT64_MAX - LEN(8), SP_MADV_MERGEABLE), -EINVAL);
	assert_int_equal(vm_madvise(mm, AT(0), 0, SP_MADV_MERGEABLE), 0);
	assert_int_equal(vm_madvise(mm, AT(9), 0, SP_MADV_MERGEABLE), 0);
	assert_layout(mm, "0-2 rw");
	assert_int_equal(vm_madvise(mm, AT(0), 1, SP_MADV_MERGEABLE), 0);
	assert_layout(mm, "0-1 rwm 1-2 rw");
	f->vm.hooks.ksm_madvise = NULL;
	assert_int_equal(vm_madvise(mm, AT(0), 0, SP_MADV_MERGEABLE), -EINVAL);
	assert_int_equal(advise(f, 0, 1, SP_MADV_UNMERGEABLE), -EINVAL);
}

static void test_flags(void **state)
{
	struct fixture *f = *state;
	struct file *file;

	map(f, 0, 3, PROT_RW);
	/* Scenario 8 */
	assert_int_equal(advise(f, 1, 1, SP_MADV_MERGEABLE), 0);
	assert_layout(f->mm, "0-1 rw 1-2 rwm 2-3 rw");
	assert_int_equal(advise(f, 1, 1, SP_MADV_UNMERGEABLE), 0);
	assert_layout(f->mm, "0-3 rw");
	assert_int_equal(advise(f, 0, 1, SP_MADV_DONTFORK), 0);
	assert_int_equal(advise(f, 1, 1, SP_MADV_HUGEPAGE), 0);
	assert_int_equal(advise(f, 2, 1, SP_MADV_WIPEONFORK), 0);
	assert_layout(f->mm, "0-1 rwd 1-2 rwh 2-3 rwW");
	assert_int_equal(advise(f, 0, 3, SP_MADV_NOHUGEPAGE), 0);
	assert_layout(f->mm, "0-1 rwdn 1-2 rwn 2-3 rwnW");
	assert_int_equal(advise(f, 0, 3, SP_MADV_DOFORK), 0);
	assert_int_equal(advise(f, 0, 3, SP_MADV_KEEPONFORK), 0);
	assert_layout(f->mm, "0-3 rwn");
	/* Wiping is for anonymous private memory. */
	assert_int_equal(file_create(&f->vm, 8, 1, false, &file), 0);
	assert_int_equal(map_how(f, 4, 1, PROT_RW, SP_MAP_PRIVATE | SP_MAP_FIXED, file, 4), 0);
	assert_int_equal(map_how(f, 5, 1, PROT_RW, SP_MAP_SHARED | SP_MAP_FIXED, NULL, 0), 0);
	assert_int_equal(advise(f, 4, 1, SP_MADV_WIPEONFORK), -EINVAL);
	assert_int_equal(advise(f, 5, 1, SP_MADV_WIPEONFORK), -EINVAL);
	assert_int_equal(advise(f, 4, 2, SP_MADV_KEEPONFORK), 0);
	validate(f);
}

/* Scenario 7: both sides of a hole, and ENOMEM. */
static void test_hole(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 2, PROT_RW);
	map(f, 4, 2, PROT_RW);
	assert_int_equal(advise(f, 0, 6, SP_MADV_MERGEABLE), -ENOMEM);
	assert_layout(f->mm, "0-2 rwm 4-6 rwm");
	assert_int_equal(advise(f, 2, 3, SP_MADV_DONTFORK), -ENOMEM);
	assert_layout(f->mm, "0-2 rwm 4-5 rwmd 5-6 rwm");
	assert_int_equal(advise(f, 2, 2, SP_MADV_DONTFORK), -ENOMEM);
	assert_int_equal(advise(f, 5, 4, SP_MADV_DONTFORK), -ENOMEM);
	assert_int_equal(advise(f, 8, 4, SP_MADV_DONTFORK), -ENOMEM);
	assert_layout(f->mm, "0-2 rwm 4-6 rwmd");
	/* An error of a VMA stops at once. */
	f->ksm_error = -EINTR;
	assert_int_equal(advise(f, 0, 6, SP_MADV_UNMERGEABLE), -EINTR);
	assert_int_equal(f->nr_unmergeable, 1);
}

/* M3: no more VMAs is EAGAIN. */
static void test_at_the_limit(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 6, PROT_RW);
	f->vm.config.max_map_count = 1;
	assert_int_equal(advise(f, 0, 2, SP_MADV_MERGEABLE), -EAGAIN);
	assert_int_equal(advise(f, 0, 2, SP_MADV_NOHUGEPAGE), -EAGAIN);
	assert_int_equal(advise(f, 0, 2, SP_MADV_DONTNEED), 0);
	assert_int_equal(advise(f, 0, 6, SP_MADV_MERGEABLE), 0);
	f->ksm_error = -ENOMEM;
	assert_int_equal(advise(f, 0, 6, SP_MADV_UNMERGEABLE), -EAGAIN);
	assert_layout(f->mm, "0-6 rwm");
}

static void test_dontneed(void **state)
{
	struct fixture *f = *state;
	struct file *file;
	uint32_t clean;

	map(f, 0, 3, PROT_RW);
	for (unsigned int page = 0; page < 3; page++)
		store(f->mm, page, page + 1);
	assert_int_equal(advise(f, 1, 4, SP_MADV_DONTNEED), -ENOMEM);
	assert_int_equal(f->mm->rss_anon, 1);
	assert_int_equal(load(f->mm, 0), 1);
	assert_int_equal(load(f->mm, 1), 0);
	assert_non_null(vma_at(f->mm, 1)->anon_vma);
	/* A private page of a file gives way to the file's. */
	assert_int_equal(file_create(&f->vm, 8, 1, false, &file), 0);
	assert_int_equal(map_how(f, 4, 1, PROT_RW, SP_MAP_PRIVATE | SP_MAP_FIXED, file, 4), 0);
	clean = load(f->mm, 4);
	store(f->mm, 4, 7);
	assert_int_equal(advise(f, 4, 1, SP_MADV_DONTNEED), 0);
	assert_int_equal(load(f->mm, 4), clean);
	assert_int_equal(lock(f, 0, 1, true), 0);
	assert_int_equal(advise(f, 0, 2, SP_MADV_DONTNEED), -EINVAL);
	assert_int_equal(load(f->mm, 0), 1);
	validate(f);
}

/* M5: only what this mm alone maps. */
static void test_pageout_and_cold(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = f->mm, *child;
	struct frame *frame;
	struct file *file;

	map(f, 0, 4, PROT_RW);
	store(mm, 0, 1);
	store(mm, 1, 1);
	assert_int_equal(load(mm, 2), 0);
	assert_int_equal(mm_fork(mm, &child), 0);
	store(mm, 1, 2);
	assert_int_equal(advise(f, 0, 4, SP_MADV_PAGEOUT), 0);
	assert_int_equal(f->nr_pageout, 1);
	frame = frame_at(mm, 1);
	frame->flags |= FRAME_REFERENCED | FRAME_ACTIVE;
	frame_at(mm, 0)->flags |= FRAME_REFERENCED | FRAME_ACTIVE;
	assert_true(vm_pte(mm, AT(1)) & PTE_YOUNG);
	assert_int_equal(advise(f, 0, 4, SP_MADV_COLD), 0);
	assert_false(vm_pte(mm, AT(1)) & PTE_YOUNG);
	assert_false(frame->flags & (FRAME_REFERENCED | FRAME_ACTIVE));
	assert_true(frame_at(mm, 0)->flags & FRAME_ACTIVE);
	assert_int_equal(f->nr_pageout, 1);
	/* A file's page leaves the page table, and stays in its file. */
	assert_int_equal(file_create(&f->vm, 8, 1, false, &file), 0);
	assert_int_equal(map_how(f, 5, 1, PROT_RW, SP_MAP_PRIVATE | SP_MAP_FIXED, file, 4), 0);
	(void)load(mm, 5);
	assert_int_equal(advise(f, 5, 1, SP_MADV_COLD), 0);
	assert_true(pte_present(vm_pte(mm, AT(5))));
	assert_int_equal(advise(f, 5, 1, SP_MADV_PAGEOUT), 0);
	assert_int_equal(f->nr_pageout, 1);
	assert_int_equal(vm_pte(mm, AT(5)), 0);
	assert_int_equal(lock(f, 1, 1, true), 0);
	assert_int_equal(advise(f, 1, 1, SP_MADV_PAGEOUT), -EINVAL);
	assert_int_equal(advise(f, 1, 1, SP_MADV_COLD), -EINVAL);
	f->vm.hooks.madvise_pageout = NULL;
	assert_int_equal(lock(f, 1, 1, false), 0);
	assert_int_equal(advise(f, 1, 1, SP_MADV_PAGEOUT), 0);
	validate(f);
}

static void test_pageout_of_huge(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = f->mm;
	bool huge;

	f->vm.config.thp = THP_ALWAYS;
	map(f, 0, 1024, PROT_RW);
	for (unsigned int page = 0; page < 1024; page++)
		store(mm, page, 1);
	assert_int_equal(advise(f, 0, 512, SP_MADV_COLD), 0);
	assert_false(vm_pte(mm, AT(7)) & PTE_YOUNG);
	assert_non_null(page_table_find(&mm->pt, AT(0), &huge));
	assert_true(huge);
	assert_int_equal(advise(f, 500, 22, SP_MADV_PAGEOUT), 0);
	assert_int_equal(f->nr_pageout, 22);
	assert_false(frame_is_large(frame_at(mm, 0)));
	assert_int_equal(advise(f, 512, 5, SP_MADV_COLD), 0);
	assert_true(vm_pte(mm, AT(517)) & PTE_YOUNG);
	assert_false(vm_pte(mm, AT(516)) & PTE_YOUNG);
	validate(f);
}

static bool maps_zero_page(struct mm *mm, unsigned int page)
{
	return pte_is_zero_page(vm_pte(mm, AT(page)));
}

/* K26b: advice about part of a folio splits it, and pieces of zeroes become the zero page. */
static void test_cold_splits_a_folio(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = f->mm;
	bool huge;

	f->vm.config.thp = THP_ALWAYS;
	map(f, 0, 1024, PROT_RW);
	store(mm, 3, 1);
	store(mm, 512, 1);
	/* Splitting the PMD alone is not enough: the folio stays large. */
	assert_int_equal(protect(f, 0, 10, PROT_R), 0);
	(void)page_table_find(&mm->pt, AT(3), &huge);
	assert_false(huge);
	assert_true(frame_is_large(frame_at(mm, 3)));
	assert_false(maps_zero_page(mm, 2));
	assert_int_equal(mm->rss_anon, 1024);
	/* Of the whole folio, wherever its pieces are mapped now, and in whichever VMA. */
	assert_int_equal(move(f, 20, 30, 1100, 0), 0);
	assert_int_equal(advise(f, 100, 1, SP_MADV_COLD), 0);
	assert_false(frame_is_large(frame_at(mm, 3)));
	assert_false(maps_zero_page(mm, 3));
	for (unsigned int page = 0; page < 512; page++) {
		if (page != 3 && (page < 20 || page >= 50))
			assert_true(maps_zero_page(mm, page));
	}
	for (unsigned int page = 1100; page < 1130; page++)
		assert_true(maps_zero_page(mm, page));
	assert_int_equal(mm->rss_anon, 1 + 512);
	assert_true(frame_is_large(frame_at(mm, 512)));
	validate(f);
}

/* A folio that cannot be split is left alone: somebody holds it, or shares some of it. */
static void test_cold_and_folios_of_others(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = f->mm, *child;
	struct frame *piece;

	f->vm.config.thp = THP_ALWAYS;
	map(f, 0, 512, PROT_RW);
	store(mm, 3, 1);
	piece = frame_at(mm, 9);
	frame_get(piece);
	assert_int_equal(advise(f, 100, 1, SP_MADV_COLD), 0);
	assert_true(frame_is_large(piece));
	frame_put(&f->vm.frames, piece);
	assert_int_equal(mm_fork(mm, &child), 0);
	store(child, 100, 2); /* of this page, the parent's is the only mapping now */
	assert_int_equal(advise(f, 100, 1, SP_MADV_COLD), 0);
	assert_true(frame_is_large(piece));
	/* Nor does the parent take that page over while the folio is shared (K33a). */
	piece = frame_at(mm, 100);
	store(mm, 100, 3);
	assert_ptr_not_equal(frame_at(mm, 100), piece);
	mm_exit(child);
	piece = frame_at(mm, 101);
	assert_int_equal(move(f, 110, 10, 600, 0), 0);
	store(mm, 101, 3);
	assert_ptr_equal(frame_at(mm, 101), piece);
	assert_int_equal(advise(f, 200, 1, SP_MADV_COLD), 0);
	assert_false(frame_is_large(piece));
	assert_int_equal(mm->rss_anon, 3);
	validate(f);
}

/* ---- mlock ---- */

static void test_mlock(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = f->mm;

	map(f, 0, 4, PROT_RW);
	store(mm, 1, 1);
	assert_int_equal(load(mm, 2), 0);
	assert_int_equal(vm_mlock(mm, AT(1) + 5, LEN(1), true), 0);
	assert_layout(mm, "0-1 rw 1-3 rwl 3-4 rw");
	assert_int_equal(mm->rss_anon, 2);
	assert_true(frame_at(mm, 1)->flags & FRAME_MLOCKED);
	assert_true(frame_at(mm, 2)->flags & FRAME_MLOCKED);
	assert_int_equal(lock(f, 0, 4, true), 0);
	assert_layout(mm, "0-4 rwl");
	assert_int_equal(mm->rss_anon, 4);
	assert_int_equal(lock(f, 1, 1, false), 0);
	assert_layout(mm, "0-1 rwl 1-2 rw 2-4 rwl");
	assert_false(frame_at(mm, 1)->flags & FRAME_MLOCKED);
	assert_int_equal(lock(f, 0, 4, false), 0);
	assert_layout(mm, "0-4 rw");
	for (unsigned int page = 0; page < 4; page++)
		assert_false(frame_at(mm, page)->flags & FRAME_MLOCKED);
	validate(f);
}

static void test_mlock_errors(void **state)
{
	struct fixture *f = *state;
	struct file *file;

	map(f, 0, 2, PROT_RW);
	map(f, 3, 2, PROT_RW);
	assert_int_equal(lock(f, 2, 1, true), -ENOMEM);
	assert_int_equal(lock(f, 1, 3, true), -ENOMEM);
	assert_layout(f->mm, "0-1 rw 1-2 rwl 3-5 rw");
	assert_int_equal(lock(f, 1, 3, false), -ENOMEM);
	assert_layout(f->mm, "0-2 rw 3-5 rw");
	assert_int_equal(vm_mlock(f->mm, AT(0), 0, true), 0);
	assert_int_equal(vm_mlock(f->mm, AT(0), UINT64_MAX - LEN(4), true), -EINVAL);
	/* Locked, but not populated: no access, and beyond the end of a file. */
	map(f, 8, 1, SP_PROT_NONE);
	assert_int_equal(lock(f, 8, 1, true), -ENOMEM);
	assert_int_equal(lock(f, 8, 0, true), 0);
	assert_int_equal(file_create(&f->vm, 1, 1, false, &file), 0);
	assert_int_equal(map_how(f, 9, 2, PROT_R, SP_MAP_PRIVATE | SP_MAP_FIXED, file, 0), 0);
	assert_int_equal(lock(f, 9, 2, true), -ENOMEM);
	assert_layout(f->mm, "0-2 rw 3-5 rw 8-9 l 9-11 rlf@0");
	assert_int_equal(f->mm->rss_file, 1);
	validate(f);
}

/* Locking copies what a store would copy, and nothing else. */
static void test_mlock_breaks_cow(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = f->mm, *child;
	struct frame *shared;

	map(f, 0, 2, PROT_RW);
	store(mm, 0, 1);
	store(mm, 1, 2);
	assert_int_equal(protect(f, 1, 1, PROT_R), 0);
	assert_int_equal(mm_fork(mm, &child), 0);
	shared = frame_at(mm, 0);
	assert_int_equal(lock(f, 0, 2, true), 0);
	assert_ptr_not_equal(frame_at(mm, 0), shared);
	assert_ptr_equal(frame_at(child, 0), shared);
	assert_false(shared->flags & FRAME_MLOCKED);
	assert_ptr_equal(frame_at(mm, 1), frame_at(child, 1));
	/* Read-only memory that becomes writable is copied then. */
	assert_int_equal(protect(f, 1, 1, PROT_RW), 0);
	assert_ptr_not_equal(frame_at(mm, 1), frame_at(child, 1));
	assert_int_equal(load(mm, 1), 2);
	validate(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_arguments, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flags, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hole, setup, teardown),
		cmocka_unit_test_setup_teardown(test_at_the_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dontneed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pageout_and_cold, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pageout_of_huge, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cold_splits_a_folio, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cold_and_folios_of_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mlock, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mlock_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mlock_breaks_cow, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
