/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VMAs: split, merge (A9), limits, addresses; mmap, munmap and mprotect, call by call.
 */
#include "vma_fixture.h"

#include "address.h"

/* ---- Splitting ---- */

static void test_split(void **state)
{
	struct fixture *f = *state;
	struct vma *vma, *new;

	map(f, 0, 4, PROT_RW);
	store(f->mm, 1, 7);
	vma = vma_at(f->mm, 0);
	rwsem_write_lock(&f->mm->mmap_lock);
	assert_int_equal(vma_split(vma, AT(1), true, &new), 0);
	assert_true(new->start == AT(0) && vma->start == AT(1) &&
		    vma->pgoff == AT(1) >> PAGE_SHIFT);
	assert_int_equal(vma_split(vma, AT(3), false, &new), 0);
	assert_true(new->start == AT(3) && vma->end == AT(3) && new->pgoff == AT(3) >> PAGE_SHIFT);
	rwsem_write_unlock(&f->mm->mmap_lock);
	assert_layout(f->mm, "0-1 rw 1-3 rw 3-4 rw");
	assert_ptr_equal(new->anon_vma, vma->anon_vma);
	assert_int_equal(vma->anon_vma->num_active_vmas, 3);
	assert_int_equal(load(f->mm, 1), 7);
	validate(f);
}

static void test_split_at_the_limit(void **state)
{
	struct fixture *f = *state;
	struct vma *vma, *new = NULL;

	map(f, 0, 4, PROT_RW);
	f->vm.config.max_map_count = 1;
	vma = vma_at(f->mm, 0);
	rwsem_write_lock(&f->mm->mmap_lock);
	assert_int_equal(vma_split(vma, AT(1), true, &new), -ENOMEM);
	assert_null(new);
	assert_int_equal(vma_split_nocheck(vma, AT(1), true, &new), 0);
	rwsem_write_unlock(&f->mm->mmap_lock);
	assert_int_equal(f->mm->map_count, 2);
}

/* ---- mmap ---- */

static void test_mmap_merges(void **state)
{
	struct fixture *f = *state;

	map(f, 2, 1, PROT_RW);
	map(f, 3, 1, PROT_RW);
	assert_layout(f->mm, "2-4 rw");
	map(f, 1, 1, PROT_RW);
	assert_layout(f->mm, "1-4 rw");
	map(f, 5, 1, PROT_RW);
	map(f, 4, 1, PROT_RW);
	assert_layout(f->mm, "1-6 rw");
	map(f, 6, 1, PROT_R);
	assert_layout(f->mm, "1-6 rw 6-7 r");
	validate(f);
}

/* A9: everything that a mapping can differ in keeps it apart. */
static void test_mmap_does_not_merge(void **state)
{
	const int fixed = SP_MAP_PRIVATE | SP_MAP_FIXED;
	struct fixture *f = *state;
	struct file *file, *other;

	assert_int_equal(file_create(&f->vm, 100, 1, false, &file), 0);
	assert_int_equal(file_create(&f->vm, 100, 2, false, &other), 0);
	map(f, 0, 1, PROT_RW);
	assert_int_equal(map_how(f, 1, 1, PROT_RW, fixed | SP_MAP_NORESERVE, NULL, 0), 0);
	map(f, 2, 1, PROT_R);
	assert_int_equal(map_how(f, 3, 1, PROT_R, fixed, file, 3), 0);
	assert_int_equal(map_how(f, 4, 1, PROT_R, fixed, file, 4), 0);
	assert_int_equal(map_how(f, 5, 1, PROT_R, fixed, file, 6), 0);
	assert_int_equal(map_how(f, 6, 1, PROT_R, fixed, other, 7), 0);
	assert_int_equal(map_how(f, 7, 1, PROT_R, SP_MAP_SHARED | SP_MAP_FIXED, other, 8), 0);
	assert_int_equal(map_how(f, 8, 1, PROT_R, SP_MAP_SHARED | SP_MAP_FIXED, NULL, 77), 0);
	assert_int_equal(map_how(f, 9, 1, PROT_R, SP_MAP_SHARED | SP_MAP_FIXED, NULL, 78), 0);
	assert_layout(
		f->mm,
		"0-1 rw 1-2 rwa 2-3 r 3-5 rf 5-6 rf@6 6-7 rf@7 7-8 rsf@8 8-9 rsf@0 9-10 rsf@0");
	assert_ptr_equal(vma_at(f->mm, 3)->file, file);
	assert_ptr_not_equal(vma_at(f->mm, 8)->file, vma_at(f->mm, 9)->file);
}

/* A neighbour's anon_vma is no obstacle for memory that has none, two different ones are. */
static void test_mmap_between_anon_vmas(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 1, PROT_RW);
	map(f, 2, 1, PROT_RW);
	store(f->mm, 0, 1);
	store(f->mm, 2, 1);
	map(f, 1, 1, PROT_RW);
	assert_layout(f->mm, "0-2 rw 2-3 rw");
	assert_ptr_not_equal(vma_at(f->mm, 0)->anon_vma, vma_at(f->mm, 2)->anon_vma);
	assert_int_equal(unmap(f, 0, 3), 0);

	map(f, 0, 1, PROT_RW);
	map(f, 2, 1, PROT_RW);
	store(f->mm, 2, 5);
	map(f, 1, 1, PROT_RW);
	assert_layout(f->mm, "0-3 rw");
	assert_int_equal(load(f->mm, 2), 5);
	validate(f);
}

static void test_fixed_replaces(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 6, PROT_RW);
	for (unsigned int i = 0; i < 6; i++)
		store(f->mm, i, i + 1);
	map(f, 2, 2, PROT_R);
	assert_layout(f->mm, "0-2 rw 2-4 r 4-6 rw");
	assert_int_equal(load(f->mm, 2), 0);
	assert_int_equal(load(f->mm, 4), 5);
	/* The hole filled with the same: one VMA again. */
	map(f, 1, 4, PROT_RW);
	assert_layout(f->mm, "0-6 rw");
	assert_int_equal(load(f->mm, 1), 0);
	assert_int_equal(load(f->mm, 5), 6);
	assert_int_equal(map_how(f, 5, 2, PROT_R, SP_MAP_PRIVATE | SP_MAP_FIXED_NOREPLACE, NULL, 0),
			 -EEXIST);
	assert_int_equal(map_how(f, 6, 2, PROT_R, SP_MAP_PRIVATE | SP_MAP_FIXED_NOREPLACE, NULL, 0),
			 0);
	map(f, 0, 10, PROT_R);
	assert_layout(f->mm, "0-10 r");
	assert_int_equal(f->vm.frames.nr_used, 0);
	validate(f);
}

static void test_mmap_errors(void **state)
{
	const int private = SP_MAP_PRIVATE, fixed = SP_MAP_PRIVATE | SP_MAP_FIXED;
	struct fixture *f = *state;
	struct mm *mm = f->mm;
	struct file *file;
	uint64_t addr;

	assert_int_equal(file_create(&f->vm, 1, 1, false, &file), 0);
	assert_int_equal(vm_mmap(mm, 0, 0, PROT_R, private, NULL, 0, &addr), -EINVAL);
	assert_int_equal(vm_mmap(mm, 0, UINT64_MAX, PROT_R, private, NULL, 0, &addr), -ENOMEM);
	assert_int_equal(vm_mmap(mm, 0, TASK_SIZE + 1, PROT_R, private, NULL, 0, &addr), -ENOMEM);
	assert_int_equal(vm_mmap(mm, 0, TASK_SIZE, PROT_R, private, NULL, 0, &addr), -ENOMEM);
	assert_int_equal(vm_mmap(mm, TASK_SIZE, PAGE_SIZE, PROT_R, fixed, NULL, 0, &addr), -ENOMEM);
	assert_int_equal(
		vm_mmap(mm, TASK_SIZE - PAGE_SIZE, PAGE_SIZE, PROT_R, fixed, NULL, 0, &addr), 0);
	assert_int_equal(vm_mmap(mm, BASE + 1, PAGE_SIZE, PROT_R, fixed, NULL, 0, &addr), -EINVAL);
	assert_int_equal(vm_mmap(mm, BASE, PAGE_SIZE, PROT_R, SP_MAP_FIXED, NULL, 0, &addr),
			 -EINVAL);
	assert_int_equal(vm_mmap(mm, BASE, PAGE_SIZE, PROT_R, fixed, file, UINT64_MAX, &addr),
			 -EOVERFLOW);
	assert_int_equal(
		vm_mmap(mm, BASE, PAGE_SIZE, PROT_R, fixed, file, UINT64_C(1) << 51, &addr),
		-EOVERFLOW);
	assert_int_equal(vm_mmap(mm, BASE, 1, PROT_R, fixed, file, 7, NULL), 0);
	assert_int_equal(mm->map_count, 2);
}

/* Both type bits together are MAP_SHARED_VALIDATE: shared memory, of files only. */
static void test_mmap_shared_validate(void **state)
{
	const int validated = SP_MAP_SHARED | SP_MAP_PRIVATE;
	struct fixture *f = *state;
	struct file *file;

	assert_int_equal(file_create(&f->vm, 2, 1, false, &file), 0);
	assert_int_equal(map_how(f, 0, 1, PROT_RW, validated | SP_MAP_FIXED, NULL, 0), -EINVAL);
	assert_int_equal(map_how(f, 0, 1, PROT_RW, validated | SP_MAP_FIXED_NOREPLACE, file, 0),
			 -EOPNOTSUPP);
	assert_int_equal(map_how(f, 0, 1, PROT_RW, validated | SP_MAP_FIXED, file, 0), 0);
	assert_int_equal(map_how(f, 1, 1, PROT_RW, SP_MAP_SHARED | SP_MAP_FIXED, file, 1), 0);
	assert_int_equal(f->mm->map_count, 1);
	assert_true(vma_find(f->mm, AT(0))->flags & VM_MAYSHARE);
	validate(f);
}

/* The limit is tested before anything is unmapped, and lets one more VMA in than it says. */
static void test_mmap_at_the_limit(void **state)
{
	struct fixture *f = *state;

	f->vm.config.max_map_count = 2;
	map(f, 0, 2, PROT_RW);
	map(f, 2, 2, PROT_R);
	map(f, 4, 2, PROT_RW);
	assert_int_equal(f->mm->map_count, 3);
	assert_int_equal(map_how(f, 6, 1, PROT_R, SP_MAP_PRIVATE | SP_MAP_FIXED, NULL, 0), -ENOMEM);
	assert_int_equal(map_how(f, 0, 2, PROT_RW, SP_MAP_PRIVATE | SP_MAP_FIXED, NULL, 0),
			 -ENOMEM);
	assert_int_equal(unmap(f, 4, 2), 0);
	/*
	 * At the limit: the middle of a VMA may not become a hole, not even one that would
	 * be filled.
	 */
	map(f, 0, 5, PROT_RW);
	assert_layout(f->mm, "0-5 rw");
	map(f, 6, 1, PROT_R);
	assert_int_equal(map_how(f, 1, 1, PROT_RW, SP_MAP_PRIVATE | SP_MAP_FIXED, NULL, 0),
			 -ENOMEM);
	assert_int_equal(map_how(f, 4, 1, PROT_RW, SP_MAP_PRIVATE | SP_MAP_FIXED, NULL, 0), 0);
	assert_layout(f->mm, "0-5 rw 6-7 r");
	validate(f);
}

static void test_addresses(void **state)
{
	const int private = SP_MAP_PRIVATE;
	struct fixture *f = *state;
	struct mm *mm = f->mm;
	uint64_t a, b, c;

	/* Top-down: each below the one before, one VMA in the end. */
	assert_int_equal(vm_mmap(mm, 0, LEN(3), PROT_RW, private, NULL, 0, &a), 0);
	assert_int_equal(a, mm->mmap_base - LEN(3));
	assert_int_equal(vm_mmap(mm, 0, LEN(2), PROT_RW, private, NULL, 0, &b), 0);
	assert_int_equal(b, a - LEN(2));
	assert_int_equal(mm->map_count, 1);
	/* The highest hole that fits. */
	assert_int_equal(vm_munmap(mm, a, LEN(2)), 0);
	assert_int_equal(vm_mmap(mm, 0, LEN(3), PROT_R, private, NULL, 0, &c), 0);
	assert_int_equal(c, b - LEN(3));
	assert_int_equal(vm_mmap(mm, 0, LEN(1), PROT_R, private, NULL, 0, &c), 0);
	assert_int_equal(c, a + LEN(1));
	/* A hint is rounded down, and taken if free. */
	assert_int_equal(vm_mmap(mm, AT(0) + 17, LEN(1), PROT_R, private, NULL, 0, &c), 0);
	assert_int_equal(c, AT(0));
	assert_int_equal(vm_mmap(mm, AT(0), LEN(1), PROT_R, private, NULL, 0, &c), 0);
	assert_int_equal(c, a);
	assert_int_equal(vm_mmap(mm, TASK_SIZE - LEN(1), LEN(2), PROT_R, private, NULL, 0, &c), 0);
	assert_true(c < mm->mmap_base);
	validate(f);
}

/* Anonymous memory in multiples of 2 MiB is aligned, and consecutive mappings still touch. */
static void test_huge_addresses(void **state)
{
	struct fixture *f = *state;
	uint64_t a, b;

	assert_int_equal(vm_mmap(f->mm, 0, HPAGE_PMD_SIZE, PROT_RW, SP_MAP_PRIVATE, NULL, 0, &a),
			 0);
	assert_int_equal(a & ~HPAGE_PMD_MASK, 0);
	assert_int_equal(
		vm_mmap(f->mm, 0, 3 * HPAGE_PMD_SIZE, PROT_RW, SP_MAP_PRIVATE, NULL, 0, &b), 0);
	assert_int_equal(b, a - 3 * HPAGE_PMD_SIZE);
	assert_int_equal(f->mm->map_count, 1);
}

static void test_no_room_below_the_base(void **state)
{
	struct fixture *f = *state;
	uint64_t all = f->mm->mmap_base - 65536, addr;

	assert_int_equal(
		vm_mmap(f->mm, 65536, all, PROT_R, SP_MAP_PRIVATE | SP_MAP_FIXED, NULL, 0, &addr),
		0);
	assert_int_equal(vm_mmap(f->mm, 0, LEN(1), PROT_R, SP_MAP_PRIVATE, NULL, 0, &addr), 0);
	assert_int_equal(addr, f->mm->mmap_base);
	assert_int_equal(find_address(f->mm, 0, TASK_SIZE - f->mm->mmap_base, false, false, &addr),
			 -ENOMEM);
}

/* K37: what KSM adds to a new mapping's flags counts for merging. */
static uint64_t add_mergeable(struct mm *mm, bool has_file, uint64_t flags)
{
	(void)mm, (void)has_file;
	return flags | VM_MERGEABLE;
}

static void test_merge_any(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 1, PROT_RW);
	f->vm.hooks.ksm_vma_flags = add_mergeable;
	map(f, 1, 1, PROT_RW);
	map(f, 2, 1, PROT_RW);
	assert_layout(f->mm, "0-1 rw 1-3 rwm");
}

/* ---- munmap ---- */

static void test_munmap(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = f->mm;

	map(f, 0, 4, PROT_RW);
	map(f, 4, 2, PROT_R);
	store(mm, 1, 1);
	store(mm, 3, 3);
	assert_int_equal(unmap(f, 1, 2), 0);
	assert_layout(mm, "0-1 rw 3-4 rw 4-6 r");
	assert_int_equal(unmap(f, 1, 2), 0);
	assert_int_equal(unmap(f, 0, 5), 0);
	assert_layout(mm, "5-6 r");
	assert_int_equal(f->vm.anon_vma_pool.nr_used, 0);
	assert_int_equal(vm_munmap(mm, AT(5) + 1, 1), -EINVAL);
	assert_int_equal(vm_munmap(mm, AT(5), 0), -EINVAL);
	assert_int_equal(vm_munmap(mm, TASK_SIZE + PAGE_SIZE, 1), -EINVAL);
	assert_int_equal(vm_munmap(mm, AT(5), TASK_SIZE), -EINVAL);
	assert_int_equal(vm_munmap(mm, AT(5), 1), 0);
	assert_layout(mm, "");
	validate(f);
}

static void test_munmap_at_the_limit(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 6, PROT_RW);
	map(f, 8, 6, PROT_RW);
	f->vm.config.max_map_count = 2;
	assert_int_equal(unmap(f, 2, 1), -ENOMEM);
	/* A range over both: split twice on the way, two VMAs in the end. */
	assert_int_equal(unmap(f, 5, 4), 0);
	assert_layout(f->mm, "0-5 rw 9-14 rw");
	assert_int_equal(unmap(f, 0, 1), 0);
	assert_int_equal(unmap(f, 4, 1), 0);
	assert_layout(f->mm, "1-4 rw 9-14 rw");
}

/* ---- mprotect ---- */

static void test_mprotect_splits_and_merges(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 9, PROT_RW);
	store(f->mm, 0, 1);
	assert_int_equal(protect(f, 3, 3, PROT_R), 0);
	assert_layout(f->mm, "0-3 rw 3-6 ra 6-9 rw");
	assert_int_equal(protect(f, 2, 1, PROT_R), 0);
	assert_layout(f->mm, "0-2 rw 2-6 ra 6-9 rw");
	assert_int_equal(protect(f, 6, 1, PROT_R), 0);
	assert_layout(f->mm, "0-2 rw 2-7 ra 7-9 rw");
	assert_int_equal(protect(f, 2, 1, PROT_RW), 0);
	assert_layout(f->mm, "0-3 rw 3-7 ra 7-9 rw");
	assert_int_equal(protect(f, 6, 2, PROT_RW), 0);
	assert_layout(f->mm, "0-3 rw 3-6 ra 6-9 rw");
	assert_int_equal(protect(f, 0, 9, PROT_RW), 0);
	assert_layout(f->mm, "0-9 rw");
	assert_int_equal(vma_at(f->mm, 0)->anon_vma->num_active_vmas, 1);
	validate(f);
}

static void test_mprotect_errors(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = f->mm;

	map(f, 0, 2, PROT_RW);
	map(f, 3, 2, PROT_RW);
	assert_int_equal(vm_mprotect(mm, AT(0) + 1, LEN(1), PROT_R), -EINVAL);
	assert_int_equal(vm_mprotect(mm, AT(7), 0, PROT_R), 0);
	assert_int_equal(vm_mprotect(mm, AT(0), UINT64_MAX, PROT_R), -ENOMEM);
	assert_int_equal(vm_mprotect(mm, AT(0), LEN(1), 64), -EINVAL);
	assert_int_equal(protect(f, 2, 1, PROT_R), -ENOMEM);
	assert_int_equal(protect(f, 7, 1, PROT_R), -ENOMEM);
	assert_layout(mm, "0-2 rw 3-5 rw");
	/* What comes before the hole is done, what comes after is not. */
	assert_int_equal(protect(f, 1, 3, PROT_R), -ENOMEM);
	assert_layout(mm, "0-1 rw 1-2 r 3-5 rw");
}

/* The second of two splits fails, the first stays. */
static void test_mprotect_at_the_limit(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 6, PROT_RW);
	f->vm.config.max_map_count = 2;
	assert_int_equal(protect(f, 2, 2, PROT_R), -ENOMEM);
	assert_layout(f->mm, "0-2 rw 2-6 rw");
	assert_int_equal(protect(f, 2, 4, PROT_R), 0);
	assert_layout(f->mm, "0-2 rw 2-6 r");
}

/* A9: the charge comes with write access; it goes only from memory that never had a page. */
static void test_mprotect_charges(void **state)
{
	const int fixed = SP_MAP_PRIVATE | SP_MAP_FIXED;
	struct fixture *f = *state;

	map(f, 0, 1, PROT_R);
	assert_int_equal(protect(f, 0, 1, PROT_RW), 0);
	assert_layout(f->mm, "0-1 rw");
	assert_int_equal(protect(f, 0, 1, PROT_R), 0);
	assert_layout(f->mm, "0-1 r");
	assert_int_equal(protect(f, 0, 1, PROT_RW), 0);
	store(f->mm, 0, 1);
	assert_int_equal(protect(f, 0, 1, PROT_R), 0);
	assert_layout(f->mm, "0-1 ra");
	assert_int_equal(map_how(f, 1, 1, PROT_R, fixed | SP_MAP_NORESERVE, NULL, 0), 0);
	assert_int_equal(protect(f, 1, 1, PROT_RW), 0);
	assert_layout(f->mm, "0-1 ra 1-2 rwa");
}

static void test_mprotect_entries(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = f->mm, *child;
	struct frame *frame;

	map(f, 0, 3, PROT_RW);
	store(mm, 0, 1);
	store(mm, 1, 2);
	assert_int_equal(load(mm, 2), 0);
	assert_int_equal(mm_fork(mm, &child), 0);
	store(mm, 0, 11); /* page 0 is exclusive again, page 1 shared, page 2 the zero page */
	assert_int_equal(protect(f, 0, 3, PROT_R), 0);
	assert_false(vm_pte(mm, AT(0)) & PTE_WRITE);
	assert_int_equal(vm_access(mm, AT(0), true, &frame), -EFAULT);
	assert_int_equal(protect(f, 0, 3, SP_PROT_NONE), 0);
	assert_int_equal(vm_access(mm, AT(0), false, &frame), -EFAULT);
	assert_true(pte_present(vm_pte(mm, AT(0))));
	assert_int_equal(protect(f, 0, 3, PROT_RW), 0);
	assert_true(vm_pte(mm, AT(0)) & PTE_WRITE);
	assert_false(vm_pte(mm, AT(1)) & PTE_WRITE);
	assert_false(vm_pte(mm, AT(2)) & PTE_WRITE);
	store(mm, 1, 12);
	assert_int_equal(load(child, 1), 2);
	assert_int_equal(load(child, 0), 1);
	validate(f);
}

/* ---- Huge pages at boundaries ---- */

static void test_boundary_in_a_huge_page(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = f->mm;
	bool huge;

	f->vm.config.thp = THP_ALWAYS;
	map(f, 0, 1024, PROT_RW);
	store(mm, 0, 1);
	store(mm, 512, 2);
	assert_non_null(page_table_find(&mm->pt, AT(512), &huge));
	assert_true(huge);
	assert_int_equal(protect(f, 512, 512, PROT_R), 0);
	assert_non_null(page_table_find(&mm->pt, AT(512), &huge));
	assert_true(huge);
	assert_int_equal(protect(f, 0, 100, PROT_R), 0);
	assert_non_null(page_table_find(&mm->pt, AT(0), &huge));
	assert_false(huge);
	/*
	 * The boundary moves: of 100 pages that join the VMA below, and a VMA above that
	 * shrinks.
	 */
	assert_int_equal(protect(f, 512, 100, PROT_RW), 0);
	assert_non_null(page_table_find(&mm->pt, AT(512), &huge));
	assert_false(huge);
	assert_layout(mm, "0-100 ra 100-612 rw 612-1024 ra");
	assert_int_equal(load(mm, 512), 2);
	validate(f);
}

/* ---- Running out of memory ---- */

static int sequence(struct fixture *f)
{
	const int fixed = SP_MAP_PRIVATE | SP_MAP_FIXED;
	struct mm *mm = f->mm;
	uint64_t addr;
	int err;

	err = vm_mmap(mm, AT(0), LEN(8), PROT_RW, fixed, NULL, 0, &addr);
	if (!err)
		err = vm_mmap(mm, AT(20), LEN(2), PROT_RW, SP_MAP_SHARED | SP_MAP_FIXED, NULL, 0,
			      &addr);
	if (!err)
		err = vm_populate(mm, AT(0), AT(8));
	if (!err)
		err = vm_mprotect(mm, AT(2), LEN(3), PROT_R);
	if (!err)
		err = vm_mprotect(mm, AT(1), LEN(2), PROT_R);
	if (!err)
		err = vm_madvise(mm, AT(4), LEN(3), SP_MADV_MERGEABLE);
	if (!err)
		err = vm_mmap(mm, AT(3), LEN(2), PROT_RW, fixed, NULL, 0, &addr);
	if (!err)
		err = vm_mmap(mm, AT(8), LEN(2), PROT_RW, fixed, NULL, 0, &addr);
	if (!err)
		err = vm_mremap(mm, AT(6), LEN(2), LEN(2), SP_MREMAP_MAYMOVE | SP_MREMAP_FIXED,
				AT(12), &addr);
	if (!err)
		err = vm_mremap(mm, AT(12), LEN(1), LEN(1), SP_MREMAP_MAYMOVE | SP_MREMAP_FIXED,
				AT(1600), &addr);
	if (!err)
		err = vm_mlock(mm, AT(8), LEN(2), true);
	if (!err)
		err = vm_mremap(mm, AT(8), LEN(1), LEN(1), SP_MREMAP_MAYMOVE | SP_MREMAP_DONTUNMAP,
				0, &addr);
	if (!err)
		err = vm_mremap(mm, AT(20), LEN(2), LEN(4), 0, 0, &addr);
	if (!err)
		err = vm_munmap(mm, AT(1), LEN(8));
	return err;
}

/*
 * Each allocation of the sequence fails once: it is told, nothing leaks, all stays valid,
 * and works the next time.
 */
static void test_every_allocation_fails(void **state)
{
	uint64_t nth;

	(void)state;
	for (nth = 1;; nth++) {
		struct fixture *f;
		void *fresh;
		int err;

		setup(&fresh);
		f = fresh;
		f->vm.mem.fail_at = f->vm.mem.nr_allocs + nth;
		err = sequence(f);
		validate(f);
		if (!f->vm.mem.nr_failed) {
			assert_int_equal(err, 0);
			teardown(&fresh);
			break;
		}
		if (err != -ENOMEM && err != -EAGAIN)
			fail_msg("allocation %" PRIu64 " failed, and the result was %d", nth, err);
		f->vm.mem.fail_at = 0;
		assert_int_equal(vm_munmap(f->mm, AT(0), LEN(2000)), 0);
		assert_int_equal(sequence(f), 0);
		teardown(&fresh);
	}
	assert_true(nth > 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_split, setup, teardown),
		cmocka_unit_test_setup_teardown(test_split_at_the_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mmap_merges, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mmap_does_not_merge, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mmap_between_anon_vmas, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fixed_replaces, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mmap_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mmap_shared_validate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mmap_at_the_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_addresses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_huge_addresses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_room_below_the_base, setup, teardown),
		cmocka_unit_test_setup_teardown(test_merge_any, setup, teardown),
		cmocka_unit_test_setup_teardown(test_munmap, setup, teardown),
		cmocka_unit_test_setup_teardown(test_munmap_at_the_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mprotect_splits_and_merges, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mprotect_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mprotect_at_the_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mprotect_charges, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mprotect_entries, setup, teardown),
		cmocka_unit_test_setup_teardown(test_boundary_in_a_huge_page, setup, teardown),
		cmocka_unit_test(test_every_allocation_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
