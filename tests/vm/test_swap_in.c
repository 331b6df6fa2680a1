/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Swap-in: who owns the page that comes back, when it may be written in place, and
 * how long it keeps its swap slot. The stand-in for KSM answers as W3 says.
 */
#include "fault_fixture.h"

static void test_exclusive_page(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct vma *vma = map_pages(mm, BASE, 1, RW, NULL, 0);
	struct frame *frame;
	uint32_t slot;

	(void)state;
	poke(mm, BASE, 3);
	slot = swap_out(f, frame_at(mm, BASE), false);
	assert_int_equal(f->vm.frames.nr_used, 0);
	assert_int_equal(peek(mm, BASE), 3);
	assert_int_equal(f->vm.stat.pswpin, 1);
	frame = frame_at(mm, BASE);
	/* Known to be this mm's alone: writable at once, though it was a load, and clean. */
	assert_int_equal(vm_pte(mm, BASE),
			 pte_make(frame->pfn, PTE_PRESENT | PTE_YOUNG | PTE_WRITE));
	assert_true(frame->flags & FRAME_EXCLUSIVE);
	assert_ptr_equal(frame_mapping(frame), vma->anon_vma);
	assert_int_equal(frame->index, BASE >> PAGE_SHIFT);
	assert_int_equal(mm->rss_anon, 1);
	assert_int_equal(mm->rss_swap, 0);
	/* The slot is kept for the next swap-out. */
	assert_true(frame->flags & FRAME_SWAPCACHE);
	assert_int_equal(frame->swap, slot);
	assert_int_equal(swap_count(&f->vm.swap, slot), 0);
	/* It goes with the page. */
	assert_int_equal(zap(mm, BASE, 1), 0);
	assert_int_equal(f->vm.swap.nr_used, 0);
	assert_int_equal(f->vm.frames.nr_used, 0);
	teardown(f);
}

static void test_store_to_an_exclusive_page_keeps_the_slot(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);

	(void)state;
	map_pages(mm, BASE, 1, RW, NULL, 0);
	poke(mm, BASE, 3);
	swap_out(f, frame_at(mm, BASE), false);
	poke(mm, BASE, 4);
	assert_true(vm_pte(mm, BASE) & PTE_DIRTY);
	assert_true(frame_at(mm, BASE)->flags & FRAME_SWAPCACHE);
	/* What is on disk is old; the next swap-out must write again. */
	swap_out(f, frame_at(mm, BASE), false);
	assert_int_equal(peek(mm, BASE), 4);
	assert_int_equal(f->vm.stat.pswpin, 2);
	teardown(f);
}

static void test_read_only_vma(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct vma *vma = map_pages(mm, BASE, 1, RW, NULL, 0);

	(void)state;
	poke(mm, BASE, 3);
	swap_out(f, frame_at(mm, BASE), false);
	vma->flags = VM_READ | VM_MAYWRITE;
	assert_int_equal(peek(mm, BASE), 3);
	assert_false(vm_pte(mm, BASE) & PTE_WRITE);
	assert_true(frame_at(mm, BASE)->flags & FRAME_EXCLUSIVE);
	teardown(f);
}

static void test_zeroes_are_not_read(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);

	(void)state;
	map_pages(mm, BASE, 1, RW, NULL, 0);
	poke(mm, BASE, 0);
	swap_out(f, frame_at(mm, BASE), false);
	assert_int_equal(peek(mm, BASE), 0);
	assert_int_equal(f->vm.stat.pswpin, 0);
	teardown(f);
}

static void test_shared_by_fork(void **state)
{
	struct mm *parent, *child;
	struct fixture *f = setup_one(&parent);
	struct vma *vma = map_pages(parent, BASE, 1, RW, NULL, 0);
	struct frame *frame;
	uint32_t slot;

	(void)state;
	poke(parent, BASE, 3);
	child = fork_mm(parent);
	slot = swap_out(f, frame_at(parent, BASE), false);
	assert_int_equal(swap_count(&f->vm.swap, slot), 2);
	assert_false(vm_pte(parent, BASE) & PTE_EXCLUSIVE);
	assert_int_equal(peek(child, BASE), 3);
	frame = frame_at(child, BASE);
	/* Any of the family may still map it, so it belongs to their root. */
	assert_ptr_equal(frame_mapping(frame), vma->anon_vma->root);
	assert_false(frame->flags & FRAME_EXCLUSIVE);
	assert_false(vm_pte(child, BASE) & PTE_WRITE);
	/* The parent finds the page in the swap cache. */
	assert_int_equal(peek(parent, BASE), 3);
	assert_ptr_equal(frame_at(parent, BASE), frame);
	assert_int_equal(f->vm.stat.pswpin, 1);
	assert_int_equal(frame->refcount, 3);
	assert_int_equal(swap_count(&f->vm.swap, slot), 0);
	fixture_validate(f);
	mm_exit(child);
	/* The last one takes it over, and then it needs its slot no more. */
	poke(parent, BASE, 4);
	assert_ptr_equal(frame_at(parent, BASE), frame);
	assert_int_equal(f->vm.swap.nr_used, 0);
	assert_int_equal(frame->refcount, 1);
	teardown(f);
}

static void test_store_copies_while_an_entry_is_left(void **state)
{
	struct mm *parent, *child;
	struct fixture *f = setup_one(&parent);
	struct frame *copy;
	uint32_t slot;

	(void)state;
	map_pages(parent, BASE, 1, RW, NULL, 0);
	poke(parent, BASE, 3);
	child = fork_mm(parent);
	slot = swap_out(f, frame_at(parent, BASE), false);
	poke(child, BASE, 4);
	copy = frame_at(child, BASE);
	assert_false(copy->flags & FRAME_SWAPCACHE);
	/* What was read stays in the swap cache for the parent. */
	assert_non_null(swap_cache_find(&f->vm.swap, slot));
	assert_int_equal(swap_count(&f->vm.swap, slot), 1);
	fixture_validate(f);
	/* The parent is alone with it: written in place, the slot given up. */
	poke(parent, BASE, 5);
	assert_int_equal(f->vm.stat.pswpin, 1);
	assert_int_equal(f->vm.swap.nr_used, 0);
	assert_int_equal(f->vm.frames.nr_used, 2);
	assert_int_equal(peek(child, BASE), 4);
	assert_int_equal(peek(parent, BASE), 5);
	teardown(f);
}

static void test_locked_and_full_swap_free_the_slot(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct vma *vma = map_pages(mm, BASE, 3, RW, NULL, 0);

	(void)state;
	f->vm.swap.limit = 4;
	for (uint32_t i = 0; i < 3; i++) {
		poke(mm, PAGE(i), i + 1);
		swap_out(f, frame_at(mm, PAGE(i)), false);
	}
	/* Three of four slots are used. */
	assert_int_equal(peek(mm, PAGE(0)), 1);
	assert_false(frame_at(mm, PAGE(0))->flags & FRAME_SWAPCACHE);
	assert_true(frame_at(mm, PAGE(0))->flags & FRAME_DIRTY);
	/* Half of them: kept. */
	assert_int_equal(peek(mm, PAGE(1)), 2);
	assert_true(frame_at(mm, PAGE(1))->flags & FRAME_SWAPCACHE);
	vma->flags |= VM_LOCKED;
	assert_int_equal(peek(mm, PAGE(2)), 3);
	assert_false(frame_at(mm, PAGE(2))->flags & FRAME_SWAPCACHE);
	assert_true(frame_at(mm, PAGE(2))->flags & FRAME_MLOCKED);
	teardown(f);
}

/* Three mappings of a KSM page in one mm; the page is evicted for good. */
static void test_former_ksm_page(void **state)
{
	struct mm *mm, *child;
	struct fixture *f = setup_one(&mm);
	struct vma *vma = map_pages(mm, BASE, 3, RW, NULL, 0);
	struct frame *kframe, *first;

	(void)state;
	for (int i = 0; i < 3; i++)
		poke(mm, PAGE(i), 8);
	make_ksm(f, mm, PAGE(0));
	kframe = frame_at(mm, PAGE(0));
	merge_into(f, mm, PAGE(1), kframe);
	merge_into(f, mm, PAGE(2), kframe);
	child = fork_mm(mm);
	swap_out(f, kframe, false);
	assert_false(vm_pte(mm, PAGE(0)) & PTE_EXCLUSIVE);
	/* The first faulter adopts the page, with its own index. */
	assert_int_equal(peek(mm, PAGE(1)), 8);
	first = frame_at(mm, PAGE(1));
	assert_false(frame_is_ksm(first));
	assert_int_equal(first->index, PAGE(1) >> PAGE_SHIFT);
	assert_ptr_equal(frame_mapping(first), vma->anon_vma->root);
	assert_false(first->flags & FRAME_EXCLUSIVE);
	/* Others get copies, which are theirs alone. */
	assert_int_equal(peek(mm, PAGE(0)), 8);
	assert_int_equal(peek(mm, PAGE(2)), 8);
	assert_int_equal(f->nr_copies, 2);
	assert_true(frame_at(mm, PAGE(0))->flags & FRAME_EXCLUSIVE);
	assert_true(vm_pte(mm, PAGE(0)) & PTE_WRITE);
	assert_false(frame_at(mm, PAGE(0))->flags & FRAME_SWAPCACHE);
	/* The child at the first one's address shares it; elsewhere it copies (V10). */
	assert_int_equal(peek(child, PAGE(1)), 8);
	assert_ptr_equal(frame_at(child, PAGE(1)), first);
	assert_int_equal(peek(child, PAGE(2)), 8);
	assert_int_equal(f->nr_copies, 3);
	assert_ptr_not_equal(frame_at(child, PAGE(2)), frame_at(mm, PAGE(2)));
	assert_int_equal(f->vm.stat.pswpin, 1);
	fixture_validate(f);
	/* Another family with the same index is another family. */
	teardown(f);
}

static void test_another_family_copies(void **state)
{
	struct mm *a, *b;
	struct fixture *f = setup_one(&a);
	struct frame *kframe;

	(void)state;
	b = new_mm(f);
	map_pages(a, BASE, 1, RW, NULL, 0);
	map_pages(b, BASE, 1, RW, NULL, 0);
	poke(a, BASE, 8);
	poke(b, BASE, 8);
	make_ksm(f, a, BASE);
	kframe = frame_at(a, BASE);
	merge_into(f, b, BASE, kframe);
	swap_out(f, kframe, false);
	assert_int_equal(peek(a, BASE), 8);
	assert_int_equal(peek(b, BASE), 8);
	assert_int_equal(f->nr_copies, 1);
	assert_ptr_not_equal(frame_at(a, BASE), frame_at(b, BASE));
	/* a's page was read; its slot has no entry left but the page is still cached. */
	assert_true(frame_at(a, BASE)->flags & FRAME_SWAPCACHE);
	teardown(f);
}

/* Somebody's reference kept the page in the swap cache, a KSM page as before (V6). */
static void test_still_a_ksm_page(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct frame *kframe;
	uint32_t slot;

	(void)state;
	map_pages(mm, BASE, 3, RW, NULL, 0);
	for (int i = 0; i < 3; i++)
		poke(mm, PAGE(i), 8);
	make_ksm(f, mm, PAGE(0));
	kframe = frame_at(mm, PAGE(0));
	merge_into(f, mm, PAGE(1), kframe);
	merge_into(f, mm, PAGE(2), kframe);
	hold(kframe);
	slot = swap_out(f, kframe, true);
	assert_int_equal(peek(mm, PAGE(0)), 8);
	assert_ptr_equal(frame_at(mm, PAGE(0)), kframe);
	assert_false(vm_pte(mm, PAGE(0)) & PTE_WRITE);
	assert_int_equal(kframe->mapcount, 1);
	assert_int_equal(f->vm.stat.pswpin, 0);
	/* A store maps it and copies it in one fault. */
	poke(mm, PAGE(1), 9);
	assert_int_equal(f->vm.stat.cow_ksm, 1);
	assert_int_equal(kframe->mapcount, 1);
	fixture_validate(f);
	/* run=2: copied even though it is still there (V5). */
	f->unmerging = true;
	assert_int_equal(peek(mm, PAGE(2)), 8);
	assert_int_equal(f->nr_copies, 1);
	assert_ptr_not_equal(frame_at(mm, PAGE(2)), kframe);
	assert_int_equal(swap_count(&f->vm.swap, slot), 0);
	fixture_validate(f);
	drop(f, kframe);
	teardown(f);
}

static void test_out_of_memory(void **state)
{
	struct mm *a, *b;
	struct fixture *f = setup_one(&a);
	struct frame *kframe;
	uint32_t value, slot;

	(void)state;
	b = new_mm(f);
	map_pages(a, BASE, 1, RW, NULL, 0);
	map_pages(b, BASE, 1, RW, NULL, 0);
	poke(a, BASE, 8);
	poke(b, BASE, 8);
	make_ksm(f, a, BASE);
	kframe = frame_at(a, BASE);
	merge_into(f, b, BASE, kframe);
	slot = swap_out(f, kframe, false);
	/* No frame to read into. */
	f->vm.mem.fail_at = f->vm.mem.nr_allocs + 1;
	assert_int_equal(load(a, BASE, &value), -ENOMEM);
	assert_int_equal(vm_pte(a, BASE), pte_make(slot, PTE_SWAP));
	assert_null(swap_cache_find(&f->vm.swap, slot));
	fixture_validate(f);
	/* No frame for the copy: what was there before stays. */
	assert_int_equal(peek(a, BASE), 8);
	f->copy_fails = true;
	assert_int_equal(load(b, BASE, &value), -ENOMEM);
	assert_int_equal(vm_pte(b, BASE), pte_make(slot, PTE_SWAP));
	assert_ptr_equal(swap_cache_find(&f->vm.swap, slot), frame_at(a, BASE));
	fixture_validate(f);
	f->copy_fails = false;
	assert_int_equal(peek(b, BASE), 8);
	teardown(f);
}

/* The page in the swap cache belonged to a family that has died out meanwhile. */
static void test_page_of_a_dead_family(void **state)
{
	struct mm *a, *b;
	struct fixture *f = setup_one(&a);
	struct frame *kframe, *left;
	uint32_t slot;

	(void)state;
	b = new_mm(f);
	map_pages(a, BASE, 1, RW, NULL, 0);
	map_pages(b, BASE, 1, RW, NULL, 0);
	poke(a, BASE, 8);
	poke(b, BASE, 8);
	make_ksm(f, a, BASE);
	kframe = frame_at(a, BASE);
	merge_into(f, b, BASE, kframe);
	slot = swap_out(f, kframe, false);
	assert_int_equal(peek(a, BASE), 8);
	left = frame_at(a, BASE);
	mm_exit(a);
	assert_ptr_equal(swap_cache_find(&f->vm.swap, slot), left);
	assert_int_equal(peek(b, BASE), 8);
	assert_int_equal(f->nr_copies, 1);
	/* Without an entry and unmapped it waits in the swap cache for reclaim. */
	assert_int_equal(left->refcount, 1);
	assert_int_equal(swap_count(&f->vm.swap, slot), 0);
	teardown(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exclusive_page),
		cmocka_unit_test(test_store_to_an_exclusive_page_keeps_the_slot),
		cmocka_unit_test(test_read_only_vma),
		cmocka_unit_test(test_zeroes_are_not_read),
		cmocka_unit_test(test_shared_by_fork),
		cmocka_unit_test(test_store_copies_while_an_entry_is_left),
		cmocka_unit_test(test_locked_and_full_swap_free_the_slot),
		cmocka_unit_test(test_former_ksm_page),
		cmocka_unit_test(test_another_family_copies),
		cmocka_unit_test(test_still_a_ksm_page),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_page_of_a_dead_family),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
