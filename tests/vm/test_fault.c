/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults on nothing, on files, and on what is mapped read-only: what is mapped
 * afterwards, whose page it is, and what was counted.
 */
#include "fault_fixture.h"

static void test_load_maps_the_zero_page(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct vma *vma = map_pages(mm, BASE, 2, RW, NULL, 0);

	(void)state;
	assert_int_equal(peek(mm, BASE), 0);
	/* Young, since x86 makes every new entry so; clean, since dirty would mean KSM (K19). */
	assert_int_equal(vm_pte(mm, BASE), PTE_PRESENT | PTE_SPECIAL | PTE_YOUNG);
	assert_null(vma->anon_vma);
	assert_int_equal(mm->rss_anon, 0);
	assert_int_equal(f->vm.stat.pgfault, 1);
	assert_int_equal(peek(mm, BASE), 0);
	assert_int_equal(f->vm.stat.pgfault, 1);
	teardown(f);
}

static void test_store_makes_an_exclusive_page(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct vma *vma = map_pages(mm, BASE, 4, RW, NULL, 0);
	struct frame *frame;

	(void)state;
	poke(mm, PAGE(2), 7);
	frame = frame_at(mm, PAGE(2));
	assert_int_equal(vm_pte(mm, PAGE(2)) & ~(~UINT64_C(0) << PTE_VALUE_SHIFT),
			 PTE_PRESENT | PTE_WRITE | PTE_DIRTY | PTE_YOUNG);
	assert_non_null(vma->anon_vma);
	assert_ptr_equal(frame_mapping(frame), vma->anon_vma);
	assert_int_equal(frame->index, PAGE(2) >> PAGE_SHIFT);
	assert_true(frame->flags & FRAME_EXCLUSIVE);
	assert_int_equal(frame->mapcount, 1);
	assert_int_equal(frame->refcount, 1);
	assert_int_equal(mm->rss_anon, 1);
	assert_int_equal(peek(mm, PAGE(2)), 7);
	assert_int_equal(f->vm.stat.pgfault, 1);
	teardown(f);
}

static void test_store_to_the_zero_page_copies(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);

	(void)state;
	map_pages(mm, BASE, 1, RW, NULL, 0);
	assert_int_equal(peek(mm, BASE), 0);
	poke(mm, BASE, 9);
	assert_int_equal(peek(mm, BASE), 9);
	assert_true(frame_at(mm, BASE) != f->vm.frames.zero);
	assert_int_equal(f->vm.frames.zero->refcount, 1);
	assert_int_equal(mm->rss_anon, 1);
	teardown(f);
}

static void test_permissions(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	uint32_t value;

	(void)state;
	map_pages(mm, PAGE(0), 1, VM_READ | VM_MAYWRITE, NULL, 0);
	map_pages(mm, PAGE(2), 1, VM_MAYWRITE, NULL, 0);
	map_pages(mm, PAGE(4), 1, VM_WRITE | VM_MAYWRITE, NULL, 0);
	map_pages(mm, PAGE(6), 1, VM_EXEC | VM_MAYWRITE, NULL, 0);
	assert_int_equal(load(mm, PAGE(0), &value), 0);
	assert_int_equal(store(mm, PAGE(0), 1), -EFAULT);
	assert_int_equal(load(mm, PAGE(2), &value), -EFAULT);
	assert_int_equal(store(mm, PAGE(2), 1), -EFAULT);
	/* x86 cannot forbid reading what may be written or executed. */
	assert_int_equal(load(mm, PAGE(4), &value), 0);
	assert_int_equal(store(mm, PAGE(4), 1), 0);
	assert_int_equal(load(mm, PAGE(6), &value), 0);
	assert_int_equal(store(mm, PAGE(6), 1), -EFAULT);
	/* No VMA. */
	assert_int_equal(load(mm, PAGE(1), &value), -EFAULT);
	assert_int_equal(load(mm, TASK_SIZE, &value), -EFAULT);
	assert_int_equal(load(mm, UINT64_MAX, &value), -EFAULT);
	teardown(f);
}

static void test_access_sets_young_and_dirty_without_a_fault(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	pte_t clean;

	(void)state;
	map_pages(mm, BASE, 1, RW, NULL, 0);
	poke(mm, BASE, 1);
	clean = vm_pte(mm, BASE) & ~(PTE_DIRTY | PTE_YOUNG);
	page_table_set(&mm->pt, BASE, clean);
	(void)peek(mm, BASE);
	assert_int_equal(vm_pte(mm, BASE), clean | PTE_YOUNG);
	poke(mm, BASE, 2);
	assert_int_equal(vm_pte(mm, BASE), clean | PTE_YOUNG | PTE_DIRTY);
	assert_int_equal(f->vm.stat.pgfault, 1);
	teardown(f);
}

static void test_cow_after_fork(void **state)
{
	struct mm *parent, *child;
	struct fixture *f = setup_one(&parent);
	struct frame *shared;

	(void)state;
	map_pages(parent, BASE, 1, RW, NULL, 0);
	poke(parent, BASE, 1);
	shared = frame_at(parent, BASE);
	child = fork_mm(parent);
	poke(child, BASE, 2);
	assert_ptr_not_equal(frame_at(child, BASE), shared);
	assert_int_equal(peek(parent, BASE), 1);
	/* The copy belongs to the child's own anon_vma. */
	assert_ptr_equal(frame_mapping(frame_at(child, BASE)), vma_lookup(child, BASE)->anon_vma);
	/* The parent's is the last mapping now: no copy. */
	assert_int_equal(shared->mapcount, 1);
	assert_false(shared->flags & FRAME_EXCLUSIVE);
	poke(parent, BASE, 3);
	assert_ptr_equal(frame_at(parent, BASE), shared);
	assert_true(shared->flags & FRAME_EXCLUSIVE);
	assert_int_equal(peek(child, BASE), 2);
	teardown(f);
}

static void test_last_child_takes_the_page_over(void **state)
{
	struct mm *parent, *child;
	struct fixture *f = setup_one(&parent);
	struct frame *shared;

	(void)state;
	map_pages(parent, BASE, 1, RW, NULL, 0);
	poke(parent, BASE, 1);
	shared = frame_at(parent, BASE);
	child = fork_mm(parent);
	mm_exit(parent);
	poke(child, BASE, 2);
	assert_ptr_equal(frame_at(child, BASE), shared);
	assert_ptr_equal(frame_mapping(shared), vma_lookup(child, BASE)->anon_vma);
	teardown(f);
}

static void test_a_held_page_is_not_taken_over(void **state)
{
	struct mm *parent;
	struct fixture *f = setup_one(&parent);
	struct frame *shared;

	(void)state;
	map_pages(parent, BASE, 1, RW, NULL, 0);
	poke(parent, BASE, 1);
	shared = frame_at(parent, BASE);
	mm_exit(fork_mm(parent));
	hold(shared);
	poke(parent, BASE, 2);
	assert_ptr_not_equal(frame_at(parent, BASE), shared);
	assert_int_equal(frame_word(&f->vm, shared), 1);
	assert_int_equal(shared->refcount, 1);
	fixture_validate(f);
	drop(f, shared);
	/* An exclusive page is written in place, held or not. */
	shared = frame_at(parent, BASE);
	hold(shared);
	poke(parent, BASE, 3);
	assert_ptr_equal(frame_at(parent, BASE), shared);
	drop(f, shared);
	teardown(f);
}

static void test_ksm_page_is_always_copied(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct frame *kframe;

	(void)state;
	map_pages(mm, BASE, 2, RW, NULL, 0);
	poke(mm, PAGE(0), 5);
	poke(mm, PAGE(1), 5);
	make_ksm(f, mm, PAGE(0));
	kframe = frame_at(mm, PAGE(0));
	merge_into(f, mm, PAGE(1), kframe);
	fixture_validate(f);
	assert_int_equal(mm->rss_anon, 2);
	poke(mm, PAGE(0), 6);
	assert_int_equal(f->vm.stat.cow_ksm, 1);
	assert_int_equal(kframe->mapcount, 1);
	/* Mapped once only: still copied (K33). */
	hold(kframe);
	poke(mm, PAGE(1), 7);
	assert_int_equal(f->vm.stat.cow_ksm, 2);
	assert_int_equal(kframe->mapcount, 0);
	assert_int_equal(frame_word(&f->vm, kframe), 5);
	assert_int_equal(peek(mm, PAGE(0)), 6);
	drop(f, kframe);
	teardown(f);
}

static void test_unshare(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct frame *copy;
	pte_t pte;

	(void)state;
	map_pages(mm, BASE, 2, RW, NULL, 0);
	poke(mm, PAGE(0), 5);
	make_ksm(f, mm, PAGE(0));
	assert_int_equal(fault(mm, PAGE(0), FAULT_UNSHARE | FAULT_REMOTE), 0);
	copy = frame_at(mm, PAGE(0));
	pte = vm_pte(mm, PAGE(0));
	assert_false(frame_is_ksm(copy));
	assert_true(copy->flags & FRAME_EXCLUSIVE);
	assert_int_equal(pte & (PTE_WRITE | PTE_DIRTY), 0);
	assert_int_equal(f->vm.stat.cow_ksm, 1);
	assert_int_equal(peek(mm, PAGE(0)), 5);
	/* A second time there is nothing to do. */
	assert_int_equal(fault(mm, PAGE(0), FAULT_UNSHARE | FAULT_REMOTE), 0);
	assert_int_equal(vm_pte(mm, PAGE(0)), pte);
	poke(mm, PAGE(0), 6);
	assert_ptr_equal(frame_at(mm, PAGE(0)), copy);
	assert_int_equal(f->vm.stat.cow_ksm, 1);
	teardown(f);
}

static void test_unshare_works_without_access_rights(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct vma *vma = map_pages(mm, BASE, 1, RW, NULL, 0);

	(void)state;
	poke(mm, BASE, 5);
	make_ksm(f, mm, BASE);
	vma->flags = VM_MAYWRITE;
	assert_int_equal(fault(mm, BASE, FAULT_UNSHARE | FAULT_REMOTE), 0);
	assert_false(frame_is_ksm(frame_at(mm, BASE)));
	assert_false(vm_pte(mm, BASE) & PTE_WRITE);
	teardown(f);
}

static void test_ksm_zero_page_is_counted_off(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);

	(void)state;
	map_pages(mm, BASE, 3, RW, NULL, 0);
	for (int i = 0; i < 3; i++) {
		poke(mm, PAGE(i), 0);
		make_ksm_zero(f, mm, PAGE(i));
	}
	assert_int_equal(mm->rss_anon, 0);
	fixture_validate(f);
	/* A load does not disturb it. */
	assert_int_equal(peek(mm, PAGE(0)), 0);
	assert_int_equal(f->zero_pages, 3);
	poke(mm, PAGE(0), 1);
	assert_int_equal(f->zero_pages, 2);
	assert_int_equal(mm->rss_anon, 1);
	assert_int_equal(fault(mm, PAGE(1), FAULT_UNSHARE | FAULT_REMOTE), 0);
	assert_int_equal(f->zero_pages, 1);
	assert_false(vm_pte(mm, PAGE(1)) & (PTE_WRITE | PTE_SPECIAL));
	assert_int_equal(mm->ksm_zero_pages, 1);
	/* KSM pages alone are counted by cow_ksm. */
	assert_int_equal(f->vm.stat.cow_ksm, 0);
	teardown(f);
	/* A page that a load brought in is not KSM's. */
	f = setup_one(&mm);
	map_pages(mm, BASE, 1, RW, NULL, 0);
	(void)peek(mm, BASE);
	poke(mm, BASE, 1);
	assert_int_equal(f->zero_pages, 0);
	teardown(f);
}

static void test_private_file(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct file *file;
	struct frame *cache;
	struct vma *vma;
	uint32_t on_disk, value;

	(void)state;
	assert_int_equal(file_create(&f->vm, 36, 99, false, &file), 0);
	vma = map_pages(mm, BASE, 8, RW, file, 32);
	on_disk = peek(mm, PAGE(1));
	cache = frame_at(mm, PAGE(1));
	assert_ptr_equal(cache, file->pages[33]);
	assert_int_equal(vm_pte(mm, PAGE(1)) & (PTE_WRITE | PTE_DIRTY), 0);
	assert_null(vma->anon_vma);
	assert_int_equal(mm->rss_file, 1);
	assert_int_equal(cache->refcount, 2);
	poke(mm, PAGE(1), 4);
	assert_ptr_not_equal(frame_at(mm, PAGE(1)), cache);
	assert_int_equal(frame_word(&f->vm, cache), on_disk);
	assert_int_equal(mm->rss_file, 0);
	assert_int_equal(mm->rss_anon, 1);
	/* The index of an anonymous page of a file mapping is the file's (A7). */
	assert_int_equal(frame_at(mm, PAGE(1))->index, 33);
	/* A store without a load first: the page cache's frame is never mapped. */
	poke(mm, PAGE(2), 5);
	assert_int_equal(file->pages[34]->mapcount, 0);
	assert_int_equal(file->pages[34]->refcount, 1);
	assert_int_equal(frame_at(mm, PAGE(2))->index, 34);
	/* Beyond the end of the file: a bus error, which leaves nothing behind. */
	assert_int_equal(load(mm, PAGE(4), &value), -EFAULT);
	assert_int_equal(store(mm, PAGE(5), 1), -EFAULT);
	assert_int_equal(vm_pte(mm, PAGE(5)), 0);
	teardown(f);
}

static void test_shared_file(void **state)
{
	struct mm *a, *b;
	struct fixture *f = setup_one(&a);
	struct file *file, *shm;

	(void)state;
	b = new_mm(f);
	assert_int_equal(file_create(&f->vm, 4, 5, false, &file), 0);
	assert_int_equal(file_create(&f->vm, 4, 0, true, &shm), 0);
	map_pages(a, PAGE(0), 4, RW_SHARED, file, 0);
	map_pages(a, PAGE(8), 4, RW_SHARED, shm, 0);
	map_pages(b, PAGE(0), 4, RW_SHARED, file, 2);
	map_pages(b, PAGE(8), 4, VM_READ | VM_SHARED | VM_MAYSHARE, shm, 0);
	(void)peek(a, PAGE(2));
	/* The file system wants to be told before a page becomes dirty. */
	assert_false(vm_pte(a, PAGE(2)) & PTE_WRITE);
	poke(a, PAGE(2), 11);
	assert_true(file->pages[2]->flags & FRAME_DIRTY);
	assert_int_equal(peek(b, PAGE(0)), 11);
	assert_int_equal(file->pages[2]->mapcount, 2);
	assert_int_equal(a->rss_file, 1);
	assert_null(vma_lookup(a, PAGE(0))->anon_vma);
	/* Shared memory has nobody to tell. */
	(void)peek(a, PAGE(8));
	assert_true(vm_pte(a, PAGE(8)) & PTE_WRITE);
	assert_false(vm_pte(a, PAGE(8)) & PTE_DIRTY);
	poke(a, PAGE(8), 12);
	assert_int_equal(peek(b, PAGE(8)), 12);
	assert_false(vm_pte(b, PAGE(8)) & PTE_WRITE);
	assert_int_equal(a->rss_shmem, 1);
	/* Unsharing has no meaning here. */
	assert_int_equal(fault(b, PAGE(8), FAULT_UNSHARE), 0);
	assert_ptr_equal(frame_at(b, PAGE(8)), shm->pages[0]);
	teardown(f);
}

static void test_migration_entry_is_waited_for_in_vain(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct frame *frame;
	uint32_t value;

	(void)state;
	map_pages(mm, BASE, 1, RW, NULL, 0);
	poke(mm, BASE, 1);
	frame = frame_at(mm, BASE);
	make_migrating(f, frame);
	fixture_validate(f);
	assert_int_equal(load(mm, BASE, &value), -EDEADLK);
	assert_int_equal(store(mm, BASE, 1), -EDEADLK);
	assert_int_equal(fault(mm, BASE, FAULT_UNSHARE | FAULT_REMOTE), -EDEADLK);
	assert_int_equal(f->nr_orphans_met, 3);
	assert_true(pte_is_migration(vm_pte(mm, BASE)));
	drop(f, frame);
	teardown(f);
}

static void test_out_of_frames(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct vma *vma;

	(void)state;
	vma = map_pages(mm, BASE, 4, RW, NULL, 0);
	f->vm.frames.limit_per_node = 2;
	assert_int_equal(peek(mm, PAGE(3)), 0);
	poke(mm, PAGE(0), 1);
	poke(mm, PAGE(1), 2);
	assert_int_equal(store(mm, PAGE(2), 3), -ENOMEM);
	assert_int_equal(vm_pte(mm, PAGE(2)), 0);
	assert_int_equal(store(mm, PAGE(3), 3), -ENOMEM);
	assert_true(pte_is_zero_page(vm_pte(mm, PAGE(3))));
	fixture_validate(f);
	assert_int_equal(zap(mm, PAGE(0), 1), 0);
	poke(mm, PAGE(2), 3);
	assert_int_equal(peek(mm, PAGE(2)), 3);
	assert_non_null(vma->anon_vma);
	teardown(f);
}

static void test_locked_vma_makes_pages_unevictable(void **state)
{
	struct mm *mm;
	struct fixture *f = setup_one(&mm);
	struct frame *frame;

	(void)state;
	map_pages(mm, BASE, 2, RW | VM_LOCKED, NULL, 0);
	map_pages(mm, PAGE(4), 1, RW, NULL, 0);
	poke(mm, PAGE(0), 1);
	poke(mm, PAGE(4), 1);
	assert_true(frame_at(mm, PAGE(0))->flags & FRAME_MLOCKED);
	assert_false(frame_at(mm, PAGE(4))->flags & FRAME_MLOCKED);
	/* A KSM page is locked by any of its mappings, and free again without that one. */
	make_ksm(f, mm, PAGE(4));
	frame = frame_at(mm, PAGE(4));
	merge_into(f, mm, PAGE(0), frame);
	assert_true(frame->flags & FRAME_MLOCKED);
	poke(mm, PAGE(0), 2);
	assert_false(frame->flags & FRAME_MLOCKED);
	assert_true(frame_at(mm, PAGE(0))->flags & FRAME_MLOCKED);
	teardown(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_load_maps_the_zero_page),
		cmocka_unit_test(test_store_makes_an_exclusive_page),
		cmocka_unit_test(test_store_to_the_zero_page_copies),
		cmocka_unit_test(test_permissions),
		cmocka_unit_test(test_access_sets_young_and_dirty_without_a_fault),
		cmocka_unit_test(test_cow_after_fork),
		cmocka_unit_test(test_last_child_takes_the_page_over),
		cmocka_unit_test(test_a_held_page_is_not_taken_over),
		cmocka_unit_test(test_ksm_page_is_always_copied),
		cmocka_unit_test(test_unshare),
		cmocka_unit_test(test_unshare_works_without_access_rights),
		cmocka_unit_test(test_ksm_zero_page_is_counted_off),
		cmocka_unit_test(test_private_file),
		cmocka_unit_test(test_shared_file),
		cmocka_unit_test(test_migration_entry_is_waited_for_in_vain),
		cmocka_unit_test(test_out_of_frames),
		cmocka_unit_test(test_locked_vma_makes_pages_unevictable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
