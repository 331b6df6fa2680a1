/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mremap: errors (M2), moves and what becomes of page offsets (A8), and the sequences of
 * the mailing list.
 */
#include "vma_fixture.h"

#define MAYMOVE SP_MREMAP_MAYMOVE
#define FIXED (SP_MREMAP_MAYMOVE | SP_MREMAP_FIXED)
#define DONTUNMAP (SP_MREMAP_MAYMOVE | SP_MREMAP_DONTUNMAP)

static int remap(struct fixture *f, unsigned int page, unsigned int old_nr, unsigned int new_nr,
		 int flags, unsigned int to)
{
	return vm_mremap(f->mm, AT(page), LEN(old_nr), LEN(new_nr), flags, AT(to), NULL);
}

static uint64_t index_at(struct fixture *f, unsigned int page)
{
	return vma_linear_index(vma_at(f->mm, page), AT(page)) - (BASE >> PAGE_SHIFT);
}

/* M2, scenario 28 */
static void test_errors(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = f->mm;

	map(f, 0, 4, PROT_RW);
	map(f, 4, 2, PROT_R);
	assert_int_equal(remap(f, 0, 1, 1, 8, 0), -EINVAL);
	assert_int_equal(vm_mremap(mm, AT(0) + 1, LEN(1), LEN(1), MAYMOVE, 0, NULL), -EINVAL);
	assert_int_equal(vm_mremap(mm, AT(0), LEN(1), 0, MAYMOVE, 0, NULL), -EINVAL);
	assert_int_equal(vm_mremap(mm, AT(0), LEN(1), TASK_SIZE + PAGE_SIZE, MAYMOVE, 0, NULL),
			 -EINVAL);
	assert_int_equal(vm_mremap(mm, AT(0), LEN(1), LEN(1), FIXED, TASK_SIZE, NULL), -EINVAL);
	assert_int_equal(vm_mremap(mm, AT(0), LEN(1), LEN(1), FIXED, AT(9) + 1, NULL), -EINVAL);
	assert_int_equal(remap(f, 0, 1, 1, SP_MREMAP_FIXED, 9), -EINVAL);
	assert_int_equal(remap(f, 0, 1, 1, SP_MREMAP_DONTUNMAP, 9), -EINVAL);
	assert_int_equal(remap(f, 0, 1, 2, DONTUNMAP, 9), -EINVAL);
	assert_int_equal(remap(f, 0, 2, 2, FIXED, 1), -EINVAL);
	assert_int_equal(remap(f, 1, 2, 2, FIXED, 0), -EINVAL);
	assert_int_equal(remap(f, 0, 0, 1, MAYMOVE, 0), -EINVAL);
	assert_int_equal(remap(f, 0, 0, 1, FIXED, 9), -EINVAL);
	assert_int_equal(remap(f, 8, 1, 2, MAYMOVE, 0), -EFAULT);
	assert_int_equal(remap(f, 8, 1, 1, FIXED, 9), -EFAULT);
	/* Past the end of the VMA: fine where nothing is mapped anew, wrong where it is. */
	assert_int_equal(remap(f, 3, 2, 2, 0, 0), 0);
	assert_int_equal(remap(f, 3, 2, 3, MAYMOVE, 0), -EFAULT);
	assert_int_equal(remap(f, 3, 2, 3, FIXED, 9), -EFAULT);
	assert_int_equal(remap(f, 3, 2, 2, DONTUNMAP, 9), -EFAULT);
	assert_int_equal(remap(f, 0, 4, 5, 0, 0), -ENOMEM);
	assert_int_equal(remap(f, 0, 2, 3, 0, 0), -ENOMEM);
	assert_layout(mm, "0-4 rw 4-6 r");
	assert_int_equal(f->nr_unmergeable, 0);
}

/* M2: any mremap wants room for four more VMAs, DONTUNMAP for five, even one that makes none. */
static void test_map_count(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 2, PROT_RW);
	map(f, 2, 2, PROT_R);
	f->vm.config.max_map_count = 2 + 3;
	assert_int_equal(remap(f, 0, 2, 1, 0, 0), -ENOMEM);
	assert_int_equal(remap(f, 0, 2, 2, 0, 0), -ENOMEM);
	f->vm.config.max_map_count = 2 + 4;
	assert_int_equal(remap(f, 0, 2, 2, 0, 0), 0);
	assert_int_equal(remap(f, 0, 2, 2, DONTUNMAP, 9), -ENOMEM);
	assert_int_equal(remap(f, 0, 2, 2, FIXED, 9), 0);
	f->vm.config.max_map_count = 2 + 5;
	assert_int_equal(remap(f, 9, 2, 2, DONTUNMAP, 20), 0);
	assert_layout(f->mm, "2-4 r 9-11 rw 20-22 rw");
}

static void test_resize_in_place(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 4, PROT_RW);
	store(f->mm, 0, 1);
	store(f->mm, 3, 4);
	assert_int_equal(remap(f, 1, 3, 1, 0, 0), 0);
	assert_layout(f->mm, "0-2 rw");
	assert_int_equal(remap(f, 0, 2, 5, 0, 0), 0);
	assert_layout(f->mm, "0-5 rw");
	assert_int_equal(load(f->mm, 3), 0);
	/* Up to a VMA with the same flags and index, which joins. */
	map(f, 7, 1, PROT_RW);
	assert_int_equal(remap(f, 4, 1, 3, 0, 0), 0);
	assert_layout(f->mm, "0-8 rw");
	assert_int_equal(remap(f, 4, 2, 1, 0, 0), 0);
	assert_layout(f->mm, "0-5 rw 6-8 rw");
	assert_int_equal(f->nr_unmergeable, 0);
	validate(f);
}

static void test_grow_by_moving(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = f->mm;
	uint64_t addr;

	map(f, 0, 2, PROT_RW);
	map(f, 2, 1, PROT_R);
	store(mm, 0, 1);
	store(mm, 1, 2);
	assert_int_equal(vm_mremap(mm, AT(1), LEN(1), LEN(3), MAYMOVE, 0, &addr), 0);
	assert_int_equal(addr, mm->mmap_base - LEN(3));
	assert_int_equal(mm->map_count, 3);
	assert_null(vma_lookup(mm, AT(1)));
	assert_int_equal(vma_lookup(mm, addr)->pgoff, AT(1) >> PAGE_SHIFT);
	assert_int_equal(load(mm, (unsigned int)((addr - BASE) >> PAGE_SHIFT)), 2);
	validate(f);
}

/* S3: two faulted pages of three, the second moved onto the third: two VMAs. */
static void test_mailing_list_sequence(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 3, PROT_RW);
	assert_int_equal(advise(f, 0, 3, SP_MADV_MERGEABLE), 0);
	assert_int_equal(advise(f, 0, 3, SP_MADV_DONTFORK), 0);
	store(f->mm, 0, 0x77);
	store(f->mm, 1, 0x77);
	assert_int_equal(move(f, 1, 1, 2, 0), 0);
	assert_layout(f->mm, "0-1 rwmd 2-3 rwmd@1");
	assert_int_equal(f->nr_unmergeable, 1);
	assert_int_equal(index_at(f, 2), 1);
	assert_int_equal(frame_at(f->mm, 2)->index, (BASE >> PAGE_SHIFT) + 1);
	assert_int_equal(load(f->mm, 2), 0x77);
	assert_ptr_equal(vma_at(f->mm, 0)->anon_vma, vma_at(f->mm, 2)->anon_vma);
	assert_int_equal(vma_at(f->mm, 0)->anon_vma->num_active_vmas, 2);
	/* Scenario 24: back again. */
	assert_int_equal(move(f, 2, 1, 1, 0), 0);
	assert_layout(f->mm, "0-2 rwmd");
	validate(f);
}

/* Scenario 24: two faulted pages swapped by three moves. */
static void test_swap_two_pages(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 8, PROT_RW);
	store(f->mm, 2, 2);
	store(f->mm, 3, 3);
	assert_int_equal(move(f, 2, 1, 20, 0), 0);
	assert_int_equal(move(f, 3, 1, 2, 0), 0);
	assert_int_equal(move(f, 20, 1, 3, 0), 0);
	assert_layout(f->mm, "0-2 rw 2-3 rw@3 3-4 rw@2 4-8 rw");
	assert_int_equal(load(f->mm, 2), 3);
	assert_int_equal(load(f->mm, 3), 2);
	validate(f);
}

/* Scenario 25: what was never written, or only read, is re-based (A8). */
static void test_unfaulted_is_rebased(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 4, PROT_RW);
	assert_int_equal(move(f, 1, 1, 20, 0), 0);
	assert_layout(f->mm, "0-1 rw 2-4 rw 20-21 rw");
	assert_int_equal(move(f, 20, 1, 1, 0), 0);
	assert_layout(f->mm, "0-4 rw");
	assert_int_equal(load(f->mm, 2), 0);
	assert_int_equal(move(f, 2, 1, 20, 0), 0);
	assert_layout(f->mm, "0-2 rw 3-4 rw 20-21 rw");
	assert_true(pte_is_zero_page(vm_pte(f->mm, AT(20))));
	assert_int_equal(move(f, 20, 1, 2, 0), 0);
	assert_layout(f->mm, "0-4 rw");
	validate(f);
}

/* The destination touches the source, which it merges with while that still exists. */
static void test_move_next_to_itself(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 3, PROT_RW);
	assert_int_equal(move(f, 0, 1, 3, 0), 0);
	assert_layout(f->mm, "1-4 rw");
	assert_int_equal(move(f, 3, 1, 4, 0), 0);
	assert_layout(f->mm, "1-3 rw 4-5 rw");
	/* A neighbour's anon_vma comes to serve for all three parts. */
	map(f, 6, 1, PROT_RW);
	store(f->mm, 6, 6);
	assert_int_equal(move(f, 4, 1, 5, 0), 0);
	assert_layout(f->mm, "1-3 rw 5-7 rw");
	assert_int_equal(load(f->mm, 6), 6);
	assert_null(vma_at(f->mm, 1)->anon_vma);
	validate(f);
}

/* Scenario 26: the hole of a moved page filled anew. */
static void test_refilled_hole(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 4, PROT_RW);
	for (unsigned int page = 0; page < 4; page++)
		store(f->mm, page, page + 1);
	assert_int_equal(move(f, 1, 1, 20, 0), 0);
	map(f, 1, 1, PROT_RW);
	assert_layout(f->mm, "0-4 rw 20-21 rw@1");
	assert_int_equal(load(f->mm, 1), 0);
	assert_int_equal(load(f->mm, 20), 2);
	validate(f);
}

/*
 * Scenario 27 without KSM: the old place reads zero, is as good as new, and keeps what it
 * was told.
 */
static void test_dontunmap(void **state)
{
	struct fixture *f = *state;
	struct anon_vma *anon_vma;

	map(f, 0, 3, PROT_RW);
	assert_int_equal(advise(f, 0, 3, SP_MADV_MERGEABLE), 0);
	store(f->mm, 0, 1);
	store(f->mm, 2, 3);
	anon_vma = vma_at(f->mm, 0)->anon_vma;
	assert_int_equal(remap(f, 0, 3, 3, DONTUNMAP, 20), 0);
	assert_layout(f->mm, "0-3 rwm 20-23 rwm@0");
	assert_null(vma_at(f->mm, 0)->anon_vma);
	assert_ptr_equal(vma_at(f->mm, 20)->anon_vma, anon_vma);
	assert_int_equal(anon_vma->num_active_vmas, 1);
	assert_int_equal(load(f->mm, 0), 0);
	assert_int_equal(load(f->mm, 22), 3);
	/* Moved as a whole from a place that was not its first: re-based (A8). */
	assert_int_equal(remap(f, 20, 3, 3, DONTUNMAP, 40), 0);
	assert_layout(f->mm, "0-3 rwm 20-23 rwm 40-43 rwm@0");
	/* A part: the old VMA keeps its links. */
	assert_int_equal(remap(f, 41, 1, 1, DONTUNMAP, 60), 0);
	assert_layout(f->mm, "0-3 rwm 20-23 rwm 40-43 rwm@0 60-61 rwm@1");
	assert_ptr_equal(vma_at(f->mm, 40)->anon_vma, anon_vma);
	assert_int_equal(load(f->mm, 42), 3);
	validate(f);
}

/* What stays and what goes remain two VMAs, though they touch and nothing tells them apart. */
static void test_dontunmap_next_to_itself(void **state)
{
	struct fixture *f = *state;

	map(f, 4, 2, PROT_RW);
	assert_int_equal(remap(f, 4, 2, 2, DONTUNMAP, 6), 0);
	assert_layout(f->mm, "4-6 rw 6-8 rw");
	validate(f);
}

/* A locked VMA is split first: only the part that was moved away is unlocked. */
static void test_dontunmap_locked(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 4, PROT_RW);
	assert_int_equal(lock(f, 0, 4, true), 0);
	assert_int_equal(remap(f, 1, 2, 2, DONTUNMAP | SP_MREMAP_FIXED, 20), 0);
	assert_layout(f->mm, "0-1 rwl 1-3 rw 3-4 rwl 20-22 rwl@1");
	assert_null(frame_at(f->mm, 1));
	assert_true(frame_at(f->mm, 20)->flags & FRAME_MLOCKED);
	validate(f);
}

/* FIXED and equal lengths: several VMAs, gaps kept, what is in the way goes. */
static void test_move_several(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 2, PROT_RW);
	map(f, 2, 1, PROT_R);
	map(f, 5, 3, PROT_RW);
	store(f->mm, 1, 1);
	store(f->mm, 5, 5);
	map(f, 24, 2, SP_PROT_NONE);
	assert_int_equal(move(f, 1, 6, 20, 0), 0);
	assert_layout(f->mm, "0-1 rw 7-8 rw 20-21 rw@1 21-22 r 24-26 rw@5");
	assert_int_equal(load(f->mm, 20), 1);
	assert_int_equal(load(f->mm, 24), 5);
	assert_int_equal(f->nr_unmergeable, 3);
	/* The range may end in nothing, not begin there. */
	assert_int_equal(move(f, 22, 3, 40, 0), -EFAULT);
	assert_int_equal(move(f, 24, 8, 40, 0), 0);
	assert_layout(f->mm, "0-1 rw 7-8 rw 20-21 rw@1 21-22 r 40-42 rw@5");
	validate(f);
}

static void test_dontunmap_several(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 2, PROT_RW);
	map(f, 2, 4, PROT_R);
	store(f->mm, 0, 1);
	assert_int_equal(move(f, 0, 4, 20, SP_MREMAP_DONTUNMAP), 0);
	assert_layout(f->mm, "0-2 rw 2-6 r 20-22 rw@0 22-24 r");
	assert_int_equal(load(f->mm, 20), 1);
	assert_int_equal(load(f->mm, 0), 0);
	validate(f);
}

/* The second of two VMAs cannot be moved: the first has been. */
static void test_ksm_error_stops(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 2, PROT_RW);
	f->ksm_error = -ENOMEM;
	assert_int_equal(move(f, 0, 1, 20, 0), -ENOMEM);
	assert_layout(f->mm, "0-2 rw");
	/* Neither shrinking nor growing in place asks (M1). */
	assert_int_equal(remap(f, 0, 2, 1, MAYMOVE, 0), 0);
	assert_int_equal(remap(f, 0, 1, 3, MAYMOVE, 0), 0);
	assert_layout(f->mm, "0-3 rw");
	f->vm.hooks.ksm_madvise = NULL;
	assert_int_equal(move(f, 0, 1, 20, 0), 0);
	validate(f);
}

static void test_shrink_and_move(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 5, PROT_RW);
	store(f->mm, 1, 1);
	store(f->mm, 3, 3);
	assert_int_equal(remap(f, 1, 4, 2, FIXED, 20), 0);
	assert_layout(f->mm, "0-1 rw 20-22 rw@1");
	assert_int_equal(load(f->mm, 20), 1);
	validate(f);
}

/* Shared memory: length 0 duplicates, and the file does not grow with the mapping. */
static void test_shared(void **state)
{
	struct fixture *f = *state;
	struct frame *frame;

	assert_int_equal(map_how(f, 0, 2, PROT_RW, SP_MAP_SHARED | SP_MAP_FIXED, NULL, 0), 0);
	store(f->mm, 1, 7);
	assert_int_equal(remap(f, 0, 0, 2, FIXED, 20), 0);
	assert_layout(f->mm, "0-2 rwsf 20-22 rwsf@0");
	assert_int_equal(load(f->mm, 21), 7);
	store(f->mm, 20, 9);
	assert_int_equal(load(f->mm, 0), 9);
	assert_int_equal(remap(f, 0, 2, 3, 0, 0), 0);
	assert_int_equal(vm_access(f->mm, AT(2), false, &frame), -EFAULT);
	assert_int_equal(move(f, 20, 2, 30, 0), 0);
	assert_int_equal(load(f->mm, 31), 7);
	validate(f);
}

/* A private file mapping keeps the file's offsets. */
static void test_private_file(void **state)
{
	struct fixture *f = *state;
	struct file *file;
	uint32_t clean;

	assert_int_equal(file_create(&f->vm, 10, 1, false, &file), 0);
	assert_int_equal(map_how(f, 0, 4, PROT_RW, SP_MAP_PRIVATE | SP_MAP_FIXED, file, 5), 0);
	clean = load(f->mm, 1);
	store(f->mm, 2, 7);
	assert_int_equal(move(f, 1, 2, 20, 0), 0);
	assert_layout(f->mm, "0-1 rwf@5 3-4 rwf@8 20-22 rwf@6");
	assert_int_equal(load(f->mm, 20), clean);
	assert_int_equal(load(f->mm, 21), 7);
	assert_int_equal(move(f, 20, 2, 1, 0), 0);
	assert_layout(f->mm, "0-4 rwf@5");
	validate(f);
}

static void test_locked_growth_is_populated(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 2, PROT_RW);
	map(f, 2, 1, PROT_R);
	assert_int_equal(lock(f, 0, 2, true), 0);
	assert_int_equal(remap(f, 0, 2, 4, FIXED, 20), 0);
	assert_layout(f->mm, "2-3 r 20-24 rwl@0");
	for (unsigned int page = 20; page < 24; page++)
		assert_true(frame_at(f->mm, page)->flags & FRAME_MLOCKED);
	assert_int_equal(remap(f, 20, 4, 6, 0, 0), 0);
	assert_non_null(frame_at(f->mm, 25));
	validate(f);
}

static void test_population_may_fail(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 2, PROT_RW);
	map(f, 10, 2, PROT_R);
	assert_int_equal(lock(f, 0, 2, true), 0);
	assert_int_equal(lock(f, 10, 2, true), 0);
	f->vm.frames.limit_per_node = f->vm.frames.nr_used + 1;
	assert_int_equal(remap(f, 0, 2, 4, 0, 0), 0);
	assert_layout(f->mm, "0-4 rwl 10-12 rl");
	assert_non_null(frame_at(f->mm, 2));
	assert_int_equal(vm_pte(f->mm, AT(3)), 0);
	assert_int_equal(vm_mprotect(f->mm, AT(10), LEN(2), PROT_RW), 0);
	assert_layout(f->mm, "0-4 rwl 10-12 rwl");
	f->vm.frames.limit_per_node = 0;
	validate(f);
}

/* A huge page moves whole where it fits, else in pieces. */
static void test_huge(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = f->mm;
	bool huge;

	f->vm.config.thp = THP_ALWAYS;
	map(f, 0, 512, PROT_RW);
	store(mm, 0, 1);
	store(mm, 511, 2);
	assert_int_equal(move(f, 0, 512, 1024, 0), 0);
	assert_non_null(page_table_find(&mm->pt, AT(1024), &huge));
	assert_true(huge);
	assert_int_equal(load(mm, 1535), 2);
	assert_int_equal(move(f, 1024, 512, 100, 0), 0);
	assert_int_equal(load(mm, 100), 1);
	assert_int_equal(load(mm, 611), 2);
	assert_int_equal(mm->rss_anon, 512);
	validate(f);
}

/*
 * Whatever allocation fails: the process sees the old mapping with its pages, or the new
 * one. (FIXED has then unmapped what was in the way.)
 */
static void move_with_failures(int flags, unsigned int from, unsigned int nr, unsigned int to)
{
	for (uint64_t nth = 1;; nth++) {
		struct fixture *f;
		void *fresh;
		int err;

		setup(&fresh);
		f = fresh;
		map(f, 0, 8, PROT_RW);
		map(f, 9, 1, PROT_RW);
		store(f->mm, 9, 9);
		for (unsigned int page = 0; page < 8; page += 2)
			store(f->mm, page, page + 1);
		if (flags & SP_MREMAP_DONTUNMAP)
			assert_int_equal(lock(f, 0, 8, true), 0);
		f->vm.mem.fail_at = f->vm.mem.nr_allocs + nth;
		err = move(f, from, nr, to, flags);
		f->vm.mem.fail_at = 0;
		validate(f);
		for (unsigned int i = 0; i < nr; i++) {
			unsigned int page = err ? from + i : to + i;

			assert_int_equal(load(f->mm, page), (from + i) % 2 ? 0 : from + i + 1);
		}
		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_int_equal(f->vm.mem.nr_failed, 1);
			assert_null(vma_lookup(f->mm, AT(to)));
		} else {
			assert_int_equal(f->vm.mem.nr_failed, 0);
		}
		teardown(&fresh);
		if (!err)
			return;
	}
}

static void test_move_out_of_memory(void **state)
{
	(void)state;
	move_with_failures(0, 2, 3, 2000);
	move_with_failures(0, 0, 8, 20);
	move_with_failures(0, 7, 1, 8);
	move_with_failures(SP_MREMAP_DONTUNMAP, 2, 3, 2000);
	move_with_failures(SP_MREMAP_DONTUNMAP, 0, 8, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_map_count, setup, teardown),
		cmocka_unit_test_setup_teardown(test_resize_in_place, setup, teardown),
		cmocka_unit_test_setup_teardown(test_grow_by_moving, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mailing_list_sequence, setup, teardown),
		cmocka_unit_test_setup_teardown(test_swap_two_pages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unfaulted_is_rebased, setup, teardown),
		cmocka_unit_test_setup_teardown(test_move_next_to_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refilled_hole, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dontunmap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dontunmap_next_to_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dontunmap_locked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_move_several, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dontunmap_several, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ksm_error_stops, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shrink_and_move, setup, teardown),
		cmocka_unit_test_setup_teardown(test_shared, setup, teardown),
		cmocka_unit_test_setup_teardown(test_private_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_locked_growth_is_populated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_population_may_fail, setup, teardown),
		cmocka_unit_test_setup_teardown(test_huge, setup, teardown),
		cmocka_unit_test(test_move_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
