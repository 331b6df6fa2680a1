/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fork and exit: which VMAs and entries a child gets, what the parent loses, and
 * that a fork which runs out of memory leaves no trace.
 */
#include "fault_fixture.h"

#define FLAGS(pte) ((pte) & ~(~UINT64_C(0) << PTE_VALUE_SHIFT))

static void test_anonymous_pages_are_shared(void **state)
{
	struct mm *parent, *child;
	struct fixture *f = setup_one(&parent);
	struct frame *frame;

	(void)state;
	map_pages(parent, BASE, 2, RW, NULL, 0);
	poke(parent, BASE, 3);
	frame = frame_at(parent, BASE);
	child = fork_mm(parent);
	fixture_validate(f);
	assert_ptr_equal(frame_at(child, BASE), frame);
	assert_int_equal(frame->mapcount, 2);
	assert_int_equal(frame->refcount, 2);
	assert_false(frame->flags & FRAME_EXCLUSIVE);
	assert_int_equal(FLAGS(vm_pte(parent, BASE)), PTE_PRESENT | PTE_YOUNG | PTE_DIRTY);
	/* The child has not accessed it. */
	assert_int_equal(FLAGS(vm_pte(child, BASE)), PTE_PRESENT | PTE_DIRTY);
	assert_int_equal(child->rss_anon, 1);
	assert_int_equal(child->map_count, 1);
	assert_int_equal(child->mmap_base, parent->mmap_base);
	assert_int_equal(peek(child, BASE), 3);
	teardown(f);
}

static void test_exclusive_but_read_only_is_shared_too(void **state)
{
	struct mm *parent;
	struct fixture *f = setup_one(&parent);

	(void)state;
	map_pages(parent, BASE, 1, RW, NULL, 0);
	poke(parent, BASE, 3);
	make_ksm(f, parent, BASE);
	assert_int_equal(fault(parent, BASE, FAULT_UNSHARE), 0);
	assert_true(frame_at(parent, BASE)->flags & FRAME_EXCLUSIVE);
	fork_mm(parent);
	assert_false(frame_at(parent, BASE)->flags & FRAME_EXCLUSIVE);
	teardown(f);
}

static void test_vma_flags(void **state)
{
	struct mm *parent, *child;
	struct fixture *f = setup_one(&parent);

	(void)state;
	map_pages(parent, PAGE(0), 1, RW | VM_DONTCOPY, NULL, 0);
	map_pages(parent, PAGE(2), 1, RW | VM_WIPEONFORK, NULL, 0);
	map_pages(parent, PAGE(4), 1, RW | VM_LOCKED | VM_MERGEABLE, NULL, 0);
	for (int i = 0; i < 6; i += 2)
		poke(parent, PAGE(i), 1);
	child = fork_mm(parent);
	assert_null(vma_lookup(child, PAGE(0)));
	assert_int_equal(child->map_count, 2);
	/* Wiped: no page, no anon_vma, and it will be wiped again. */
	assert_null(vma_lookup(child, PAGE(2))->anon_vma);
	assert_true(vma_lookup(child, PAGE(2))->flags & VM_WIPEONFORK);
	assert_int_equal(peek(child, PAGE(2)), 0);
	/* Locks are not inherited, advice is. */
	assert_int_equal(vma_lookup(child, PAGE(4))->flags, RW | VM_MERGEABLE);
	assert_int_equal(frame_at(parent, PAGE(4))->mapcount, 2);
	teardown(f);
}

static void test_what_a_fault_brings_back_is_not_copied(void **state)
{
	struct mm *parent, *child;
	struct fixture *f = setup_one(&parent);
	struct file *file;

	(void)state;
	assert_int_equal(file_create(&f->vm, 8, 3, false, &file), 0);
	map_pages(parent, PAGE(0), 2, RW_SHARED, file, 0);
	map_pages(parent, PAGE(4), 2, RW, file, 2);
	map_pages(parent, PAGE(8), 2, RW, file, 4);
	map_pages(parent, PAGE(12), 2, RW, NULL, 0);
	map_pages(parent, PAGE(16), 2, RW, NULL, 0);
	for (int i = 0; i < 20; i += 4)
		(void)peek(parent, PAGE(i));
	poke(parent, PAGE(9), 1);
	poke(parent, PAGE(17), 1);
	child = fork_mm(parent);
	assert_int_equal(vm_pte(child, PAGE(0)), 0);
	assert_int_equal(vm_pte(child, PAGE(4)), 0);
	assert_int_equal(vm_pte(child, PAGE(12)), 0);
	/* These VMAs have an anon_vma, so all of their entries are copied. */
	assert_ptr_equal(frame_at(child, PAGE(8)), file->pages[4]);
	assert_true(pte_is_zero_page(vm_pte(child, PAGE(16))));
	assert_int_equal(child->rss_file, 1);
	assert_int_equal(child->rss_anon, 2);
	assert_int_equal(file->refcount, 7);
	/* Shared is shared all the same. */
	poke(child, PAGE(0), 77);
	assert_int_equal(peek(parent, PAGE(0)), 77);
	teardown(f);
}

static void test_swap_entries_are_shared(void **state)
{
	struct mm *parent, *child;
	struct fixture *f = setup_one(&parent);
	uint32_t slot;

	(void)state;
	map_pages(parent, BASE, 1, RW, NULL, 0);
	poke(parent, BASE, 3);
	slot = swap_out(f, frame_at(parent, BASE), false);
	assert_true(vm_pte(parent, BASE) & PTE_EXCLUSIVE);
	child = fork_mm(parent);
	assert_int_equal(vm_pte(parent, BASE), pte_make(slot, PTE_SWAP));
	assert_int_equal(vm_pte(child, BASE), pte_make(slot, PTE_SWAP));
	assert_int_equal(swap_count(&f->vm.swap, slot), 2);
	assert_int_equal(child->rss_swap, 1);
	poke(child, BASE, 4);
	assert_int_equal(peek(parent, BASE), 3);
	assert_int_equal(peek(child, BASE), 4);
	teardown(f);
}

static void test_migration_entries_come_back_read_only(void **state)
{
	struct mm *parent, *child;
	struct fixture *f = setup_one(&parent);
	struct frame *frame;
	pte_t expected;

	(void)state;
	map_pages(parent, BASE, 1, RW, NULL, 0);
	poke(parent, BASE, 3);
	frame = frame_at(parent, BASE);
	make_migrating(f, frame);
	assert_true(vm_pte(parent, BASE) & PTE_WRITE);
	child = fork_mm(parent);
	expected = pte_make(frame->pfn, PTE_MIGRATION | PTE_DIRTY | PTE_YOUNG);
	assert_int_equal(vm_pte(parent, BASE), expected);
	assert_int_equal(vm_pte(child, BASE), expected);
	fixture_validate(f);
	mm_exit(child);
	mm_exit(parent);
	/* Nobody's reference was dropped with the entries. */
	assert_int_equal(frame->refcount, 1);
	drop(f, frame);
	teardown(f);
}

static void test_ksm_pages_and_zero_pages(void **state)
{
	struct mm *parent, *child, *grandchild;
	struct fixture *f = setup_one(&parent);
	struct frame *kframe;

	(void)state;
	map_pages(parent, PAGE(0), 4, RW, NULL, 0);
	map_pages(parent, PAGE(8), 2, RW | VM_DONTCOPY, NULL, 0);
	poke(parent, PAGE(0), 5);
	make_ksm(f, parent, PAGE(0));
	kframe = frame_at(parent, PAGE(0));
	for (int i = 1; i < 4; i++) {
		poke(parent, PAGE(i), 0);
		make_ksm_zero(f, parent, PAGE(i));
	}
	for (int i = 8; i < 10; i++) {
		poke(parent, PAGE(i), 0);
		make_ksm_zero(f, parent, PAGE(i));
	}
	child = fork_mm(parent);
	fixture_validate(f);
	assert_int_equal(kframe->mapcount, 2);
	assert_int_equal(f->vm.stat.cow_ksm, 0);
	assert_true(pte_is_ksm_zero(vm_pte(child, PAGE(1))));
	/* Five are counted though only three were copied (K38); the two never go (V8). */
	assert_int_equal(child->ksm_zero_pages, 5);
	assert_int_equal(child->ksm_zero_leaked, 2);
	assert_int_equal(f->zero_pages, 10);
	poke(child, PAGE(1), 1);
	assert_int_equal(f->zero_pages, 9);
	grandchild = fork_mm(child);
	assert_int_equal(grandchild->ksm_zero_pages, 4);
	assert_int_equal(grandchild->ksm_zero_leaked, 2);
	fixture_validate(f);
	mm_exit(grandchild);
	mm_exit(child);
	assert_int_equal(f->zero_pages, 5 + 2 + 2);
	mm_exit(parent);
	assert_int_equal(f->zero_pages, 4);
	teardown(f);
}

static void test_exit_gives_everything_back(void **state)
{
	struct mm *mm, *pinned;
	struct fixture *f = setup_one(&mm);
	struct file *file;

	(void)state;
	assert_int_equal(file_create(&f->vm, 8, 3, false, &file), 0);
	map_pages(mm, PAGE(0), 4, RW, NULL, 0);
	map_pages(mm, PAGE(8), 4, RW, file, 0);
	for (int i = 0; i < 4; i++) {
		poke(mm, PAGE(i), 1);
		(void)peek(mm, PAGE(8 + i));
	}
	swap_out(f, frame_at(mm, PAGE(0)), false);
	swap_out(f, frame_at(mm, PAGE(1)), true);
	/* As KSM does while it has a slot for the mm. */
	pinned = mm;
	mm_grab(pinned);
	mm_exit(mm);
	assert_int_equal(pinned->users, 0);
	assert_int_equal(pinned->count, 1);
	assert_int_equal(pinned->map_count, 0);
	assert_int_equal(pinned->rss_anon + pinned->rss_file + pinned->rss_swap, 0);
	assert_null(vma_lookup(pinned, PAGE(0)));
	assert_int_equal(f->vm.swap.nr_used, 0);
	/* The page cache alone is left. */
	assert_int_equal(f->vm.frames.nr_used, 4);
	assert_int_equal(file->refcount, 1);
	fixture_validate(f);
	mm_drop(pinned);
	teardown(f);
}

static void test_deep_families(void **state)
{
	struct mm *mm[12];
	struct fixture *f = setup_one(&mm[0]);

	(void)state;
	map_pages(mm[0], BASE, 12, RW, NULL, 0);
	poke(mm[0], PAGE(0), 100);
	for (uint32_t i = 1; i < 12; i++) {
		mm[i] = fork_mm(mm[i - 1]);
		poke(mm[i], PAGE(i), 100 + i);
	}
	fixture_validate(f);
	for (uint32_t i = 0; i < 12; i += 2)
		mm_exit(mm[i]);
	for (uint32_t i = 1; i < 12; i += 2)
		for (uint32_t page = 0; page < 12; page++)
			assert_int_equal(peek(mm[i], PAGE(page)), page <= i ? 100 + page : 0);
	teardown(f);
}

/* Everything a fork can meet, with each allocation in it failing once. */
static void test_every_failing_allocation(void **state)
{
	uint64_t nr_failures = 0;
	bool failed = true;

	(void)state;
	for (uint64_t nth = 1; failed; nth++) {
		struct mm *parent, *child;
		struct fixture *f = setup_one(&parent);
		uint64_t live, frames;
		struct file *file;
		int err;

		assert_int_equal(file_create(&f->vm, 8, 3, false, &file), 0);
		map_pages(parent, PAGE(0), 4, RW, NULL, 0);
		map_pages(parent, PAGE(8), 4, RW, file, 0);
		map_pages(parent, PAGE(16), 4, RW | VM_WIPEONFORK, NULL, 0);
		map_pages(parent, PAGE(4096), 4, RW, NULL, 0);
		for (uint32_t i = 0; i < 3; i++)
			poke(parent, PAGE(i), i);
		make_ksm(f, parent, PAGE(0));
		make_ksm_zero(f, parent, PAGE(2));
		poke(parent, PAGE(8), 8);
		(void)peek(parent, PAGE(9));
		poke(parent, PAGE(4096), 9);
		swap_out(f, frame_at(parent, PAGE(1)), false);
		live = f->vm.mem.nr_live;
		frames = f->vm.frames.nr_used;
		f->vm.mem.fail_at = f->vm.mem.nr_allocs + nth;
		err = mm_fork(parent, &child);
		f->vm.mem.fail_at = 0;
		failed = err;
		if (failed) {
			nr_failures++;
			assert_int_equal(err, -ENOMEM);
			assert_int_equal(f->vm.mem.nr_live, live);
			assert_int_equal(f->zero_pages, 1);
			assert_int_equal(frame_at(parent, PAGE(0))->mapcount, 1);
		}
		assert_int_equal(f->vm.frames.nr_used, frames);
		fixture_validate(f);
		assert_int_equal(peek(parent, PAGE(1)), 1);
		assert_int_equal(peek(parent, PAGE(8)), 8);
		teardown(f);
	}
	assert_true(nr_failures > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_anonymous_pages_are_shared),
		cmocka_unit_test(test_exclusive_but_read_only_is_shared_too),
		cmocka_unit_test(test_vma_flags),
		cmocka_unit_test(test_what_a_fault_brings_back_is_not_copied),
		cmocka_unit_test(test_swap_entries_are_shared),
		cmocka_unit_test(test_migration_entries_come_back_read_only),
		cmocka_unit_test(test_ksm_pages_and_zero_pages),
		cmocka_unit_test(test_exit_gives_everything_back),
		cmocka_unit_test(test_deep_families),
		cmocka_unit_test(test_every_failing_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
