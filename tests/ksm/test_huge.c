/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Huge pages as candidates (K9, K25, K26): scanned in pieces, split before they merge.
 */
#include "ksm_fixture.h"

static int setup_huge(void **state)
{
	static struct fixture f;
	const struct setup setup = { .thp = THP_ALWAYS };

	fixture_setup(&f, &setup);
	*state = &f;
	return 0;
}

/* One huge page whose pieces differ, mergeable. */
static uint64_t map_huge(struct mm *mm, uint64_t first_number)
{
	uint64_t a = map(mm, 2 * HPAGE_PMD_NR);

	unmap(mm, a, HPAGE_PMD_NR - (a / PAGE_SIZE) % HPAGE_PMD_NR);
	a = (a + HPAGE_PMD_SIZE) & HPAGE_PMD_MASK;
	if (vma_lookup(mm, a + HPAGE_PMD_SIZE))
		unmap(mm, a + HPAGE_PMD_SIZE, 1);
	for (uint64_t i = 0; i < HPAGE_PMD_NR; i++)
		put(mm, PG(a, i), first_number + i);
	assert_true(vm_pte(mm, a) & PTE_HUGE);
	advise(mm, a, HPAGE_PMD_NR, SP_MADV_MERGEABLE);
	return a;
}

static void pieces_are_candidates(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_huge(mm, 1000);

	scan(f, 2);
	expect_counter(f, pages_unshared, HPAGE_PMD_NR);
	assert_true(vm_pte(mm, a) & PTE_HUGE);
}

/* Several, so that lookahead.c sees them too. */
static void huge_and_small(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t small = map_mergeable(mm, 100, 0x77);

	for (uint64_t i = 0; i < 3; i++)
		(void)map_huge(mm, 1000 + i * HPAGE_PMD_NR);
	scan(f, 2);
	expect_counter(f, pages_unshared, 3 * HPAGE_PMD_NR);
	expect_counter(f, pages_sharing, 99);
	assert_true(ksm_at(mm, small));
}

static void merging_splits(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *other = new_mm(f);
	uint64_t a = map_huge(mm, 1000), b = map_huge(other, 1000 + HPAGE_PMD_NR - 1);

	scan(f, 2);
	/* The last of one equals the first of the other. */
	expect_counter(f, pages_shared, 1);
	expect_counter(f, pages_sharing, 1);
	assert_int_equal(pfn_at(mm, PG(a, HPAGE_PMD_NR - 1)), pfn_at(other, b));
	assert_false(vm_pte(mm, a) & PTE_HUGE);
	assert_false(vm_pte(other, b) & PTE_HUGE);
	assert_int_equal(f->vm.stat.thp_split_pmd, 2);
}

static void two_pieces_of_one_page(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_huge(mm, 1000);

	put(mm, PG(a, 7), 1003);
	assert_true(vm_pte(mm, a) & PTE_HUGE);
	scan(f, 2);
	/* Split, but not merged this time. */
	assert_false(vm_pte(mm, a) & PTE_HUGE);
	expect_counter(f, pages_shared, 0);
	expect_counter(f, pages_volatile, 1);
	scan(f, 1);
	expect_counter(f, pages_shared, 1);
	expect_counter(f, pages_sharing, 1);
	assert_int_equal(pfn_at(mm, PG(a, 7)), pfn_at(mm, PG(a, 3)));
}

static void a_reference_on_any_piece_prevents_it(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *other = new_mm(f);
	uint64_t a = map_huge(mm, 1000), b;
	struct frame *piece = frame_at(mm, PG(a, 400));

	hold(piece);
	b = map_mergeable(other, 1, -1);
	put(other, b, 1005);
	scan(f, 2);
	assert_true(vm_pte(mm, a) & PTE_HUGE);
	assert_false(ksm_at(other, b));
	drop(f, piece);
	scan(f, 1);
	assert_true(ksm_at(other, b));
	assert_false(vm_pte(mm, a) & PTE_HUGE);
}

/* Splitting concerns every mm that maps the page. */
static void forked_huge_pages_split_everywhere(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *other = new_mm(f), *child;
	uint64_t a = map_huge(mm, 1000), b;

	child = fork_mm(mm);
	assert_true(vm_pte(child, a) & PTE_HUGE);
	b = map_mergeable(other, 1, -1);
	put(other, b, 1005);
	scan(f, 2);
	assert_true(ksm_at(other, b));
	assert_false(vm_pte(mm, a) & PTE_HUGE);
	assert_false(vm_pte(child, a) & PTE_HUGE);
	scan(f, 1);
	for (uint64_t i = 0; i < HPAGE_PMD_NR; i++)
		assert_int_equal(number_at(child, PG(a, i)), 1000 + i);
}

/*
 * K26b: splitting saves the pieces of zeroes, whatever use_zero_pages says, so that there is
 * nothing left to be merged with the zero page (K19). The first of them goes into the unstable
 * tree all the same, where every search that comes across it gives up (K23).
 */
static void zero_pieces(void **state)
{
	for (int use_zero_pages = 0; use_zero_pages < 2; use_zero_pages++) {
		struct fixture *f = *state;
		struct mm *mm = new_mm(f);
		uint64_t a = map_huge(mm, 0); /* piece 0 is zero */

		put(mm, PG(a, 1), 0);
		put(mm, PG(a, 9), 0);
		knob(f, "use_zero_pages", use_zero_pages ? "1" : "0");
		scan(f, 2);
		expect_counter(f, ksm_zero_pages, 0);
		expect_counter(f, pages_unshared, 1);
		assert_false(vm_pte(mm, a) & PTE_HUGE);
		for (uint64_t i = 0; i < HPAGE_PMD_NR; i++)
			assert_int_equal(pte_is_zero_page(vm_pte(mm, PG(a, i))),
					 i == 0 || i == 1 || i == 9);
		assert_int_equal(mm->rss_anon, HPAGE_PMD_NR - 3);
		scan(f, 1);
		expect_counter(f, pages_unshared, HPAGE_PMD_NR - 3);
		mm_exit(mm);
		scan(f, 1);
	}
}

/* A lock keeps the pieces of its VMA, and only those. */
static void locked_zero_pieces(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *other = new_mm(f);
	uint64_t a = map_huge(mm, 0), b;

	assert_int_equal(vm_mlock(mm, a, HPAGE_PMD_SIZE, true), 0);
	b = map_mergeable(other, 1, -1);
	put(other, b, 5);
	scan(f, 2);
	assert_false(vm_pte(mm, a) & PTE_HUGE);
	assert_false(pte_is_zero_page(vm_pte(mm, a)));
	assert_true(ksm_at(other, b));
}

/* The folio is still large when no PMD maps it any more. */
static void split_pmd_unsplit_folio(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *other = new_mm(f), *child;
	uint64_t a = map_huge(mm, 0), b;

	child = fork_mm(mm);
	for (int i = 0; i < 2; i++)
		assert_int_equal(vm_mprotect(i ? mm : child, a, PAGE_SIZE, SP_PROT_READ), 0);
	assert_true(frame_is_large(frame_at(mm, a)));
	b = map_mergeable(other, 1, -1);
	put(other, b, 5);
	scan(f, 2);
	assert_true(ksm_at(other, b));
	assert_true(pte_is_zero_page(vm_pte(mm, a)));
	assert_true(pte_is_zero_page(vm_pte(child, a)));
	assert_false(frame_is_large(frame_at(mm, PG(a, 1))));
}

#define HUGE_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup_huge, teardown_default)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HUGE_TEST(pieces_are_candidates),
		HUGE_TEST(huge_and_small),
		HUGE_TEST(merging_splits),
		HUGE_TEST(two_pieces_of_one_page),
		HUGE_TEST(a_reference_on_any_piece_prevents_it),
		HUGE_TEST(forked_huge_pages_split_everywhere),
		HUGE_TEST(zero_pieces),
		HUGE_TEST(locked_zero_pieces),
		HUGE_TEST(split_pmd_unsplit_folio),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
