/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Huge pages: where a fault makes one, what fork and stores do to it, and splitting.
 */
#include "fault_fixture.h"

#define START (BASE + (UINT64_C(1) << 30)) /* 2 MiB aligned */
#define PIECE(n) (START + (uint64_t)(n) * PAGE_SIZE)

static struct fixture *setup_thp(struct mm **mm, enum thp_mode mode)
{
	struct fixture *f = setup_one(mm);

	f->vm.config.thp = mode;
	return f;
}

static bool is_huge(struct mm *mm, uint64_t addr)
{
	return vm_pte(mm, addr) & PTE_HUGE;
}

static void test_which_vmas_may_have_them(void **state)
{
	static const struct {
		enum thp_mode mode;
		uint64_t flags;
		bool huge;
	} cases[] = {
		{ THP_NEVER, 0, false },
		{ THP_NEVER, VM_HUGEPAGE, false },
		{ THP_MADVISE, 0, false },
		{ THP_MADVISE, VM_HUGEPAGE, true },
		{ THP_MADVISE, VM_NOHUGEPAGE, false },
		{ THP_ALWAYS, 0, true },
		{ THP_ALWAYS, VM_HUGEPAGE, true },
		{ THP_ALWAYS, VM_NOHUGEPAGE, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct mm *mm;
		struct fixture *f = setup_thp(&mm, cases[i].mode);

		map_pages(mm, START, HPAGE_PMD_NR, RW | cases[i].flags, NULL, 0);
		poke(mm, PIECE(7), 1);
		assert_int_equal(is_huge(mm, PIECE(7)), cases[i].huge);
		assert_int_equal(mm->rss_anon, cases[i].huge ? HPAGE_PMD_NR : 1);
		assert_int_equal(f->vm.stat.thp_fault_alloc, cases[i].huge);
		teardown(f);
	}
}

static void test_only_whole_aligned_2mib(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_thp(&mm, THP_ALWAYS);
	struct file *file;

	(void)state;
	/* One page short at each end: the middle 2 MiB alone can be huge. */
	map_pages(mm, PIECE(1), 3 * HPAGE_PMD_NR - 2, RW, NULL, 0);
	poke(mm, PIECE(1), 1);
	poke(mm, PIECE(HPAGE_PMD_NR), 1);
	poke(mm, PIECE(3 * HPAGE_PMD_NR - 2), 1);
	assert_false(is_huge(mm, PIECE(1)));
	assert_true(is_huge(mm, PIECE(HPAGE_PMD_NR)));
	assert_false(is_huge(mm, PIECE(3 * HPAGE_PMD_NR - 2)));
	/* Files have none. */
	assert_int_equal(file_create(&f->vm, HPAGE_PMD_NR, 1, false, &file), 0);
	map_pages(mm, PIECE(4 * HPAGE_PMD_NR), HPAGE_PMD_NR, RW, file, 0);
	poke(mm, PIECE(4 * HPAGE_PMD_NR), 1);
	assert_false(is_huge(mm, PIECE(4 * HPAGE_PMD_NR)));
	teardown(f);
}

static void test_a_load_makes_one_and_the_anon_vma(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_thp(&mm, THP_ALWAYS);
	struct vma *vma = map_pages(mm, START, HPAGE_PMD_NR, RW, NULL, 0);

	(void)state;
	assert_int_equal(peek(mm, PIECE(3)), 0);
	assert_non_null(vma->anon_vma);
	assert_int_equal(f->vm.frames.nr_used, HPAGE_PMD_NR);
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++) {
		struct frame *frame = frame_at(mm, PIECE(i));

		assert_int_equal(frame->pfn % HPAGE_PMD_NR, i);
		assert_int_equal(frame->index, PIECE(i) >> PAGE_SHIFT);
		assert_ptr_equal(frame_mapping(frame), vma->anon_vma);
		assert_true(frame->flags & FRAME_EXCLUSIVE);
		assert_int_equal(frame->mapcount, 1);
		assert_int_equal(frame->refcount, 1);
		assert_true(frame->flags & (i ? FRAME_TAIL : FRAME_HEAD));
	}
	poke(mm, PIECE(511), 4);
	assert_int_equal(peek(mm, PIECE(511)), 4);
	assert_int_equal(f->vm.stat.pgfault, 1);
	teardown(f);
}

static void test_not_over_small_pages(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_thp(&mm, THP_MADVISE);
	struct vma *vma = map_pages(mm, START, HPAGE_PMD_NR, RW, NULL, 0);

	(void)state;
	(void)peek(mm, PIECE(5));
	vma->flags |= VM_HUGEPAGE;
	/* There is a page table already. */
	poke(mm, PIECE(6), 1);
	assert_false(is_huge(mm, PIECE(6)));
	assert_int_equal(zap(mm, START, HPAGE_PMD_NR), 0);
	poke(mm, PIECE(6), 1);
	assert_true(is_huge(mm, PIECE(6)));
	teardown(f);
}

static void test_small_page_when_there_is_no_huge_one(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_thp(&mm, THP_ALWAYS);

	(void)state;
	f->vm.frames.limit_per_node = HPAGE_PMD_NR - 1;
	map_pages(mm, START, HPAGE_PMD_NR, RW, NULL, 0);
	poke(mm, PIECE(5), 1);
	assert_false(is_huge(mm, PIECE(5)));
	assert_int_equal(mm->rss_anon, 1);
	teardown(f);
}

static void test_fork_shares_and_a_store_splits(void **state)
{
	struct mm *parent, *child;
	struct fixture *f = setup_thp(&parent, THP_ALWAYS);
	struct frame *shared;

	(void)state;
	map_pages(parent, START, HPAGE_PMD_NR, RW, NULL, 0);
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++)
		poke(parent, PIECE(i), i);
	child = fork_mm(parent);
	fixture_validate(f);
	assert_true(is_huge(child, START));
	assert_false(vm_pte(parent, START) & PTE_WRITE);
	assert_false(vm_pte(child, START) & (PTE_WRITE | PTE_YOUNG));
	assert_int_equal(child->rss_anon, HPAGE_PMD_NR);
	shared = frame_at(parent, PIECE(9));
	assert_int_equal(shared->mapcount, 2);
	poke(child, PIECE(9), 1000);
	/* The child's is small pages now, the parent's is not. */
	assert_false(is_huge(child, START));
	assert_true(is_huge(parent, START));
	assert_int_equal(f->vm.stat.thp_split_pmd, 1);
	assert_ptr_not_equal(frame_at(child, PIECE(9)), shared);
	assert_ptr_equal(frame_at(child, PIECE(10)), frame_at(parent, PIECE(10)));
	fixture_validate(f);
	/* Nor does the parent take over the piece that the child gave up: it is part of a folio
	 * that is shared (K33a). */
	hold(shared);
	poke(parent, PIECE(9), 2000);
	assert_false(is_huge(parent, START));
	assert_ptr_not_equal(frame_at(parent, PIECE(9)), shared);
	drop(f, shared);
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++) {
		assert_int_equal(peek(parent, PIECE(i)), i == 9 ? 2000 : i);
		assert_int_equal(peek(child, PIECE(i)), i == 9 ? 1000 : i);
	}
	teardown(f);
}

static void test_the_last_mapper_takes_it_over(void **state)
{
	struct mm *parent, *child;
	struct fixture *f = setup_thp(&parent, THP_ALWAYS);
	struct frame *piece;

	(void)state;
	map_pages(parent, START, HPAGE_PMD_NR, RW, NULL, 0);
	poke(parent, PIECE(9), 9);
	child = fork_mm(parent);
	mm_exit(parent);
	/* A reference to any piece prevents it. */
	piece = frame_at(child, PIECE(400));
	hold(piece);
	assert_int_equal(fault(child, PIECE(9), FAULT_UNSHARE), 0);
	assert_false(is_huge(child, START));
	drop(f, piece);
	mm_exit(child);

	parent = new_mm(f);
	map_pages(parent, START, HPAGE_PMD_NR, RW, NULL, 0);
	poke(parent, PIECE(9), 9);
	child = fork_mm(parent);
	mm_exit(parent);
	poke(child, PIECE(10), 10);
	assert_true(is_huge(child, START));
	assert_true(vm_pte(child, START) & PTE_WRITE);
	assert_ptr_equal(frame_mapping(frame_at(child, PIECE(11))),
			 vma_lookup(child, START)->anon_vma);
	assert_int_equal(peek(child, PIECE(9)), 9);
	teardown(f);
}

static void test_split_keeps_everything(void **state)
{
	struct mm *parent, *child;
	struct fixture *f = setup_thp(&parent, THP_ALWAYS);
	struct frame *frame;
	pte_t pte;

	(void)state;
	map_pages(parent, START, HPAGE_PMD_NR, RW, NULL, 0);
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++)
		poke(parent, PIECE(i), i);
	child = fork_mm(parent);
	mm_exit(child);
	poke(parent, PIECE(0), 0);
	frame = frame_at(parent, PIECE(77));
	pte = vm_pte(parent, PIECE(77));
	assert_int_equal(split_huge_mapping(parent, PIECE(3)), 0);
	assert_int_equal(vm_pte(parent, PIECE(77)), pte & ~PTE_HUGE);
	assert_true(frame_is_large(frame));
	assert_int_equal(frame->refcount, 1);
	assert_int_equal(parent->rss_anon, HPAGE_PMD_NR);
	fixture_validate(f);
	/* Nothing to split any more. */
	assert_int_equal(split_huge_mapping(parent, PIECE(3)), 0);
	assert_int_equal(split_huge_mapping(parent, START + HPAGE_PMD_SIZE), 0);
	assert_int_equal(f->vm.stat.thp_split_pmd, 1);
	/* Each piece is a page of its own: swap one. */
	swap_out(f, frame, false);
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++)
		assert_int_equal(peek(parent, PIECE(i)), i);
	teardown(f);
}

static void test_held_piece_outlives_the_page(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_thp(&mm, THP_ALWAYS);
	struct frame *piece;

	(void)state;
	map_pages(mm, START, HPAGE_PMD_NR, RW, NULL, 0);
	poke(mm, PIECE(8), 8);
	piece = frame_at(mm, PIECE(8));
	hold(piece);
	assert_int_equal(zap(mm, START, HPAGE_PMD_NR), 0);
	assert_int_equal(f->vm.frames.nr_used, 1);
	assert_int_equal(frame_word(&f->vm, piece), 8);
	fixture_validate(f);
	drop(f, piece);
	teardown(f);
}

static void test_every_failing_allocation(void **state)
{
	uint64_t nr_failures = 0;
	bool failed = true;

	(void)state;
	for (uint64_t nth = 1; failed; nth++) {
		struct mm *mm, *child = NULL;
		struct fixture *f = setup_thp(&mm, THP_ALWAYS);
		int err = 0;

		map_pages(mm, START, HPAGE_PMD_NR, RW, NULL, 0);
		f->vm.mem.fail_at = f->vm.mem.nr_allocs + nth;
		err = store(mm, PIECE(1), 1);
		if (!err)
			err = mm_fork(mm, &child);
		if (!err)
			err = store(child, PIECE(1), 2);
		if (!err)
			err = zap(mm, PIECE(5), 20);
		failed = f->vm.mem.nr_failed;
		f->vm.mem.fail_at = 0;
		assert_true(err == 0 || err == -ENOMEM);
		nr_failures += err == -ENOMEM;
		fixture_validate(f);
		teardown(f);
	}
	assert_true(nr_failures > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_which_vmas_may_have_them),
		cmocka_unit_test(test_only_whole_aligned_2mib),
		cmocka_unit_test(test_a_load_makes_one_and_the_anon_vma),
		cmocka_unit_test(test_not_over_small_pages),
		cmocka_unit_test(test_small_page_when_there_is_no_huge_one),
		cmocka_unit_test(test_fork_shares_and_a_store_splits),
		cmocka_unit_test(test_the_last_mapper_takes_it_over),
		cmocka_unit_test(test_split_keeps_everything),
		cmocka_unit_test(test_held_piece_outlives_the_page),
		cmocka_unit_test(test_every_failing_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
