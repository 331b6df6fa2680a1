/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * move_page_tables(): every kind of entry arrives unchanged; huge pages whole where
 * both sides are aligned; all or nothing when memory runs out.
 */
#include "fault_fixture.h"

#define START (BASE + (UINT64_C(1) << 30)) /* 2 MiB aligned */
#define PIECE(n) (START + (uint64_t)(n) * PAGE_SIZE)
#define FAR (START + (UINT64_C(1) << 30))
#define FAR_PIECE(n) (FAR + (uint64_t)(n) * PAGE_SIZE)

/* The destination that mremap makes: the same relation of address to index, and the
 * same anon_vmas. */
static struct vma *copy_of(struct vma *src, uint64_t from, uint64_t to, uint64_t nr_pages)
{
	struct mm *mm = src->mm;
	struct vma *dst;

	rwsem_write_lock(&mm->mmap_lock);
	assert_int_equal(range_tree_reserve(&mm->vmas, 1), 0);
	dst = vma_alloc(mm, to, to + nr_pages * PAGE_SIZE, vma_linear_index(src, from), src->flags,
			src->file);
	assert_non_null(dst);
	assert_int_equal(anon_vma_clone(dst, src), 0);
	vma_link(dst);
	rwsem_write_unlock(&mm->mmap_lock);
	return dst;
}

static uint64_t move(struct vma *src, uint64_t from, struct vma *dst, uint64_t to,
		     uint64_t nr_pages, bool need_rmap_locks)
{
	uint64_t moved;

	rwsem_write_lock(&src->mm->mmap_lock);
	moved = move_page_tables(src, from, dst, to, nr_pages * PAGE_SIZE, need_rmap_locks);
	rwsem_write_unlock(&src->mm->mmap_lock);
	return moved;
}

static void test_every_kind_of_entry(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct vma *src = map_pages(mm, START, 16, RW, NULL, 0), *dst;
	struct frame *migrating;
	pte_t before[8];

	(void)state;
	for (uint32_t i = 0; i < 7; i++)
		poke(mm, PIECE(i), i == 3 ? 0 : i);
	page_table_set(&mm->pt, PIECE(1), vm_pte(mm, PIECE(1)) & ~(PTE_YOUNG | PTE_DIRTY));
	swap_out(f, frame_at(mm, PIECE(2)), false);
	make_ksm_zero(f, mm, PIECE(3));
	migrating = frame_at(mm, PIECE(4));
	make_migrating(f, migrating);
	make_ksm(f, mm, PIECE(5));
	hold(frame_at(mm, PIECE(6)));
	swap_out(f, frame_at(mm, PIECE(6)), true);
	for (int i = 0; i < 8; i++)
		before[i] = vm_pte(mm, PIECE(i));
	dst = copy_of(src, PIECE(0), FAR, 8);
	assert_int_equal(move(src, PIECE(0), dst, FAR, 8, false), 8 * PAGE_SIZE);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(vm_pte(mm, FAR_PIECE(i)), before[i]);
		assert_int_equal(vm_pte(mm, PIECE(i)), 0);
	}
	fixture_validate(f);
	assert_int_equal(mm->ksm_zero_pages, 1);
	assert_int_equal(peek(mm, FAR_PIECE(0)), 0);
	assert_int_equal(peek(mm, FAR_PIECE(1)), 1);
	assert_int_equal(peek(mm, FAR_PIECE(2)), 2);
	assert_int_equal(peek(mm, FAR_PIECE(6)), 6);
	drop(f, frame_at(mm, FAR_PIECE(6)));
	drop(f, migrating);
	teardown(f);
}

static void test_a_part_and_under_the_lock(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct vma *src = map_pages(mm, PIECE(500), 100, RW, NULL, 0), *dst;

	(void)state;
	for (uint32_t i = 500; i < 600; i += 3)
		poke(mm, PIECE(i), i);
	/* Over a 2 MiB boundary on both sides, at different places. */
	dst = copy_of(src, PIECE(505), FAR_PIECE(490), 90);
	assert_int_equal(move(src, PIECE(505), dst, FAR_PIECE(490), 90, true), 90 * PAGE_SIZE);
	fixture_validate(f);
	for (uint32_t i = 500; i < 600; i++) {
		bool moved = i >= 505 && i < 595;
		uint64_t now = moved ? FAR_PIECE(i - 15) : PIECE(i);

		assert_int_equal(peek(mm, now), (i - 500) % 3 ? 0 : i);
		if (moved)
			assert_int_equal(vm_pte(mm, PIECE(i)), 0);
	}
	teardown(f);
}

static void test_within_one_table(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct vma *src = map_pages(mm, PIECE(0), 2, RW, NULL, 0), *dst;

	(void)state;
	poke(mm, PIECE(0), 1);
	/* The only entry of its table moves to the next one. */
	dst = copy_of(src, PIECE(0), PIECE(2), 2);
	assert_int_equal(move(src, PIECE(0), dst, PIECE(2), 2, false), 2 * PAGE_SIZE);
	assert_int_equal(peek(mm, PIECE(2)), 1);
	assert_int_equal(vm_pte(mm, PIECE(0)), 0);
	teardown(f);
}

static void test_huge_pages(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct vma *src, *dst, *back;
	pte_t pmd;

	(void)state;
	f->vm.config.thp = THP_ALWAYS;
	src = map_pages(mm, START, 2 * HPAGE_PMD_NR, RW, NULL, 0);
	for (uint32_t i = 0; i < 2 * HPAGE_PMD_NR; i++)
		poke(mm, PIECE(i), i);
	pmd = vm_pte(mm, START);
	dst = copy_of(src, START, FAR, 2 * HPAGE_PMD_NR);
	assert_int_equal(move(src, START, dst, FAR, 2 * HPAGE_PMD_NR, false), 2 * HPAGE_PMD_SIZE);
	assert_int_equal(vm_pte(mm, FAR), pmd);
	assert_int_equal(vm_pte(mm, START), 0);
	assert_int_equal(f->vm.stat.thp_split_pmd, 0);
	fixture_validate(f);
	/* Not aligned alike: in small pieces. */
	rwsem_write_lock(&mm->mmap_lock);
	anon_vma_unlink(src);
	assert_int_equal(range_tree_reserve(&mm->vmas, 1), 0);
	vma_unlink(src);
	vma_free(src);
	rwsem_write_unlock(&mm->mmap_lock);
	back = copy_of(dst, FAR_PIECE(100), PIECE(1), HPAGE_PMD_NR);
	assert_int_equal(move(dst, FAR_PIECE(100), back, PIECE(1), HPAGE_PMD_NR, false),
			 HPAGE_PMD_SIZE);
	assert_int_equal(f->vm.stat.thp_split_pmd, 2);
	fixture_validate(f);
	for (uint32_t i = 0; i < 2 * HPAGE_PMD_NR; i++) {
		bool moved = i >= 100 && i < 100 + HPAGE_PMD_NR;

		assert_int_equal(peek(mm, moved ? PIECE(i - 99) : FAR_PIECE(i)), i);
	}
	teardown(f);
}

static void test_out_of_memory(void **state)
{
	unsigned int nr_failures = 0;
	bool failed = true;

	(void)state;
	for (uint64_t nth = 1; failed; nth++) {
		struct mm *mm;
		struct fixture *f = setup_one(&mm);
		struct vma *src, *dst;
		uint64_t moved;

		src = map_pages(mm, START, 3 * HPAGE_PMD_NR, RW, NULL, 0);
		for (uint32_t i = 0; i < 3 * HPAGE_PMD_NR; i += 100)
			poke(mm, PIECE(i), i);
		dst = copy_of(src, START, FAR_PIECE(1), 3 * HPAGE_PMD_NR);
		f->vm.mem.fail_at = f->vm.mem.nr_allocs + nth;
		moved = move(src, START, dst, FAR_PIECE(1), 3 * HPAGE_PMD_NR, false);
		failed = f->vm.mem.nr_failed;
		nr_failures += failed;
		f->vm.mem.fail_at = 0;
		assert_int_equal(moved, failed ? 0 : 3 * HPAGE_PMD_SIZE);
		fixture_validate(f);
		for (uint32_t i = 0; i < 3 * HPAGE_PMD_NR; i += 100)
			assert_int_equal(peek(mm, failed ? PIECE(i) : FAR_PIECE(i + 1)), i);
		teardown(f);
	}
	assert_true(nr_failures >= 3);
}

/*
 * What was prepared is enough even where the table that a later step needs is also one that
 * an earlier step empties.
 */
static void test_a_prepared_move_needs_no_memory(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	/* Down by almost a table: from tables 1 and 2 to tables 0 and 1. */
	const uint64_t nr = 380, from = HPAGE_PMD_NR + 410, to = HPAGE_PMD_NR - 102;
	struct vma *src, *dst;

	(void)state;
	src = map_pages(mm, PIECE(from), nr, RW, NULL, 0);
	for (uint32_t i = 0; i < nr; i++)
		poke(mm, PIECE(from + i), i);
	dst = copy_of(src, PIECE(from), PIECE(to), nr);
	rwsem_write_lock(&mm->mmap_lock);
	assert_int_equal(move_page_tables_prepare(mm, PIECE(from), PIECE(to), nr * PAGE_SIZE), 0);
	rwsem_write_unlock(&mm->mmap_lock);
	f->vm.mem.fail_at = f->vm.mem.nr_allocs + 1;
	f->vm.mem.fail_count = 1000;
	assert_int_equal(move(src, PIECE(from), dst, PIECE(to), nr, false), nr * PAGE_SIZE);
	f->vm.mem.fail_at = 0;
	fixture_validate(f);
	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(peek(mm, PIECE(to + i)), i);
	teardown(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_of_entry),
		cmocka_unit_test(test_a_part_and_under_the_lock),
		cmocka_unit_test(test_within_one_table),
		cmocka_unit_test(test_huge_pages),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_a_prepared_move_needs_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
