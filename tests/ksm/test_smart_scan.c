/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Smart scan (K13, K15, K16, K18; scenario 14), and the checksums that the rest relies on.
 */
#include "ksm_fixture.h"

/* K16: the scans in which a page that never merges is processed. */
static void table_of_skips(void **state)
{
	static const unsigned int processed[] = { 1, 2, 3, 4, 6, 9, 14, 23, 32, 41, 50 };
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	unsigned int next = 0;

	put(mm, map_mergeable(mm, 1, -1), 4711);
	for (unsigned int n = 1; n <= 50; n++) {
		int64_t scanned = counter(f, "pages_scanned"),
			skipped = counter(f, "pages_skipped");
		bool now = processed[next] == n;

		next += now;
		scan(f, 1);
		expect_counter(f, pages_scanned, scanned + now);
		expect_counter(f, pages_skipped, skipped + !now);
		/* Left out means out of the tree. */
		expect_counter(f, pages_unshared, n > 1 && now);
		expect_counter(f, pages_volatile, n == 1 || !now);
	}
	assert_int_equal(next, ARRAY_SIZE(processed));
}

/* Scenario 14. */
static void fifty_unique_pages(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 50, -1);
	int64_t skipped = 0;

	for (uint64_t i = 0; i < 50; i++)
		put(mm, PG(a, i), 1000 + i);
	scan(f, 4);
	expect_counter(f, pages_skipped, 0);
	for (int n = 5; n <= 9; n++) {
		bool processed = n == 6 || n == 9;

		scan(f, 1);
		skipped += processed ? 0 : 50;
		expect_counter(f, pages_skipped, skipped);
		expect_counter(f, pages_volatile, processed ? 0 : 50);
		expect_counter(f, pages_unshared, processed ? 50 : 0);
	}
}

/* K13: a batch of 10 candidates passes over any number of pages that are left out. */
static void skipped_pages_cost_no_budget(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 50, -1), b;

	for (uint64_t i = 0; i < 50; i++)
		put(mm, PG(a, i), 1000 + i);
	scan(f, 4);
	/* Above or below: ten that are new. */
	b = map_mergeable(mm, 10, -1);
	for (uint64_t i = 0; i < 10; i++)
		put(mm, PG(b, i), 2000 + i);
	ksm_do_scan(&f->vm, 10);
	expect_stat(mm, ksm_rmap_items, 60);
	/* The end of the pass ends the next batch, before any candidate. */
	expect_counter(f, full_scans, 4);
	ksm_do_scan(&f->vm, 10);
	expect_counter(f, full_scans, 5);
	expect_counter(f, pages_skipped, 50);
	expect_counter(f, pages_scanned, 210);
}

static void switched_off(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);

	knob(f, "smart_scan", "0");
	put(mm, map_mergeable(mm, 1, -1), 4711);
	scan(f, 12);
	expect_counter(f, pages_scanned, 12);
	expect_counter(f, pages_skipped, 0);
	/* The age stood still meanwhile. */
	knob(f, "smart_scan", "1");
	scan(f, 4);
	expect_counter(f, pages_skipped, 0);
	scan(f, 1);
	expect_counter(f, pages_skipped, 1);
}

/* K18. */
static void checksums(void **state)
{
	const struct setup setup = { .content_bytes = 4096 };
	static const struct {
		uint8_t byte;
		uint32_t checksum;
	} known[] = { { 0x00, 0x32d8bbdb }, { 0x77, 0xb01071aa }, { 0xcf, 0xced8678f } };
	struct fixture f;
	struct mm *mm;
	uint64_t a;

	(void)state;
	fixture_setup(&f, &setup);
	mm = new_mm(&f);
	a = map_mergeable(mm, 1, -1);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		const struct ksm_rmap_item *item;

		fill(mm, a, 1, known[i].byte);
		scan(&f, 1);
		item = ((struct ksm_mm_slot *)mm->ksm_slot)->rmap_list;
		assert_int_equal(item->oldchecksum, known[i].checksum);
	}
	assert_int_equal(ksm_of(&f.vm)->zero_checksum, known[0].checksum);
	fixture_teardown(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KSM_TEST(table_of_skips),
		KSM_TEST(fifty_unique_pages),
		KSM_TEST(skipped_pages_cost_no_budget),
		KSM_TEST(switched_off),
		cmocka_unit_test(checksums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
