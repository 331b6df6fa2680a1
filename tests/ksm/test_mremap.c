/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Merged pages under mremap (M1; scenarios 23, 24, 27), and the linear index that an rmap_item
 * keeps (S5).
 */
#include "ksm_fixture.h"

static const struct ksm_rmap_item *item_at(struct mm *mm, uint64_t addr)
{
	const struct ksm_mm_slot *slot = mm->ksm_slot;

	for (const struct ksm_rmap_item *item = slot->rmap_list; item; item = item->next) {
		if (item_address(item) == addr)
			return item;
	}
	return NULL;
}

static int move(struct mm *mm, uint64_t from, uint64_t nr_pages, uint64_t to, int flags)
{
	uint64_t at;
	int err = vm_mremap(mm, from, nr_pages * PAGE_SIZE, nr_pages * PAGE_SIZE,
			    flags | SP_MREMAP_MAYMOVE | SP_MREMAP_FIXED, to, &at);

	if (!err)
		assert_int_equal(at, to);
	return err;
}

/* Scenarios 23 and 24: Hugh's sequence, and back. */
static void moved_and_merged_again(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t b = map_mergeable(mm, 3, -1), index = b >> PAGE_SHIFT;

	advise(mm, b, 3, SP_MADV_DONTFORK);
	fill(mm, b, 2, 0x77);
	scan(f, 2);
	expect_stat(mm, ksm_merging_pages, 2);
	assert_int_equal(item_at(mm, PG(b, 1))->index, index + 1);
	assert_int_equal(move(mm, PG(b, 1), 1, PG(b, 2), 0), 0);
	assert_int_equal(mm->map_count, 2);
	expect_stat(mm, ksm_merging_pages, 2);
	assert_false(ksm_at(mm, PG(b, 2)));
	scan(f, 1);
	expect_stat(mm, ksm_merging_pages, 1);
	expect_stat(mm, ksm_rmap_items, 2);
	scan(f, 1);
	expect_stat(mm, ksm_merging_pages, 2);
	assert_int_equal(pfn_at(mm, b), pfn_at(mm, PG(b, 2)));
	/* Its address has moved on, its index has not. */
	assert_int_equal(item_at(mm, PG(b, 2))->index, index + 1);
	assert_int_equal(item_at(mm, b)->index, index);
	/* Back: one VMA. */
	assert_int_equal(move(mm, PG(b, 2), 1, PG(b, 1), 0), 0);
	assert_int_equal(byte_at(mm, PG(b, 1)), 0x77);
	assert_int_equal(mm->map_count, 1);
}

/* Scenario 27. */
static void dontunmap_over_merged_pages(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 4, 0x77), to = map(mm, 4);

	scan(f, 2);
	assert_int_equal(move(mm, a, 4, to, SP_MREMAP_DONTUNMAP), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(byte_at(mm, PG(a, i)), 0);
		assert_int_equal(byte_at(mm, PG(to, i)), 0x77);
		assert_false(ksm_at(mm, PG(to, i)));
	}
	scan(f, 2);
	for (int i = 0; i < 4; i++)
		assert_true(ksm_at(mm, PG(to, i)));
}

/* M1: no memory for the copies, no move. */
static void a_move_that_cannot_break(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 4, 0x77), to = map(mm, 4);

	scan(f, 2);
	f->vm.mem.fail_at = f->vm.mem.nr_allocs + 1;
	f->vm.mem.fail_count = 1000;
	assert_int_equal(move(mm, a, 4, to, 0), -ENOMEM);
	f->vm.mem.fail_at = 0;
	fixture_validate(f);
	assert_true(ksm_at(mm, PG(a, 3)));
	assert_int_equal(byte_at(mm, PG(a, 3)), 0x77);
}

/* A break clears what a later merge at another index must not find. */
static void a_failed_merge_leaves_no_index(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 2, 0x77);
	struct frame *frame = frame_at(mm, a);

	hold(frame);
	scan(f, 2);
	assert_int_equal(item_at(mm, PG(a, 1))->index, 0);
	assert_null(item_at(mm, PG(a, 1))->anon_vma);
	drop(f, frame);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KSM_TEST(moved_and_merged_again),
		KSM_TEST(dontunmap_over_merged_pages),
		KSM_TEST(a_move_that_cannot_break),
		KSM_TEST(a_failed_merge_leaves_no_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
