/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * anon_vmas: who gets whose (A3-A6), and when they go (A5a).
 */
#include "vma_fixture.h"

static struct anon_vma *anon_at(struct mm *mm, unsigned int page)
{
	return vma_at(mm, page)->anon_vma;
}

/* Numbers of the anon_vmas of a chain, newest link first. */
static const char *chain(struct mm *mm, unsigned int page, char *buf, size_t size)
{
	struct anon_vma_chain *avc;
	size_t used = 0;

	buf[0] = '\0';
	cds_list_for_each_entry(avc, &vma_at(mm, page)->anon_vma_chain, same_vma)
		used += (size_t)snprintf(buf + used, size - used, "%s%u", used ? " " : "",
					 avc->anon_vma->id);
	return buf;
}

#define assert_chain(mm, page, expected)                                                      \
	do {                                                                                  \
		char chain_buf[256];                                                          \
		assert_string_equal(chain(mm, page, chain_buf, sizeof(chain_buf)), expected); \
	} while (0)

/* mms and pages of an anon_vma's tree in order: "1:0 2:0" */
static const char *tree(const struct anon_vma *anon_vma, char *buf, size_t size)
{
	struct interval_node *node;
	size_t used = 0;

	buf[0] = '\0';
	for (node = interval_first(&anon_vma->tree, 0, UINT64_MAX); node;
	     node = interval_next(node, 0, UINT64_MAX)) {
		struct vma *vma = avc_of_node(node)->vma;

		used += (size_t)snprintf(buf + used, size - used, "%s%u:%" PRIu64, used ? " " : "",
					 vma->mm->id, (vma->start - BASE) >> PAGE_SHIFT);
	}
	return buf;
}

#define assert_tree(anon_vma, expected)                                                    \
	do {                                                                               \
		char tree_buf[256];                                                        \
		assert_string_equal(tree(anon_vma, tree_buf, sizeof(tree_buf)), expected); \
	} while (0)

static struct mm *fork_of(struct mm *mm)
{
	struct mm *child;

	assert_int_equal(mm_fork(mm, &child), 0);
	return child;
}

/* A3 */
static void test_first_write_makes_one(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 2, PROT_RW);
	assert_int_equal(load(f->mm, 0), 0);
	assert_null(anon_at(f->mm, 0));
	store(f->mm, 0, 1);
	assert_non_null(anon_at(f->mm, 0));
	assert_int_equal(anon_at(f->mm, 0)->num_children, 1);
	assert_int_equal(anon_at(f->mm, 0)->num_active_vmas, 1);
	assert_int_equal(anon_at(f->mm, 0)->refcount, 1);
	assert_ptr_equal(anon_at(f->mm, 0)->root, anon_at(f->mm, 0));
	store(f->mm, 1, 1);
	assert_int_equal(f->vm.nr_anon_vmas_created, 1);
}

/*
 * A4: a neighbour that differs only in what mprotect changes shares its anon_vma, the next
 * before the previous.
 */
static void test_neighbours_share(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 3, PROT_RW);
	assert_int_equal(protect(f, 1, 1, PROT_R | SP_PROT_WRITE | SP_PROT_EXEC), 0);
	assert_layout(f->mm, "0-1 rw 1-2 rwx 2-3 rw");
	store(f->mm, 0, 1);
	store(f->mm, 2, 1);
	assert_ptr_not_equal(anon_at(f->mm, 0), anon_at(f->mm, 2));
	store(f->mm, 1, 1);
	assert_ptr_equal(anon_at(f->mm, 1), anon_at(f->mm, 2));
	assert_int_equal(anon_at(f->mm, 1)->num_active_vmas, 2);
	assert_int_equal(unmap(f, 2, 1), 0);
	assert_int_equal(anon_at(f->mm, 1)->num_active_vmas, 1);
	/* Two different ones: 0 and 1 cannot become one VMA. */
	assert_int_equal(protect(f, 1, 1, PROT_RW), 0);
	assert_layout(f->mm, "0-1 rw 1-2 rw");
	validate(f);
}

static void test_neighbour_below_shares(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 3, PROT_RW);
	assert_int_equal(protect(f, 1, 1, PROT_RW | SP_PROT_EXEC), 0);
	assert_int_equal(protect(f, 2, 1, PROT_R), 0);
	store(f->mm, 0, 1);
	store(f->mm, 1, 1);
	assert_ptr_equal(anon_at(f->mm, 0), anon_at(f->mm, 1));
	/*
	 * Made read-only before it had a page: no longer charged (A9), and that is not an
	 * access flag.
	 */
	rwsem_read_lock(&f->mm->mmap_lock);
	assert_int_equal(anon_vma_prepare(vma_at(f->mm, 2)), 0);
	rwsem_read_unlock(&f->mm->mmap_lock);
	assert_ptr_not_equal(anon_at(f->mm, 1), anon_at(f->mm, 2));
	validate(f);
}

static void test_neighbours_that_do_not_share(void **state)
{
	struct fixture *f = *state;

	/* Not touching; another flag; another offset; charged or not. */
	map(f, 0, 1, PROT_RW);
	map(f, 2, 1, PROT_RW);
	map(f, 3, 1, PROT_RW);
	assert_int_equal(advise(f, 3, 1, SP_MADV_DONTFORK), 0);
	store(f->mm, 0, 1);
	store(f->mm, 2, 1);
	store(f->mm, 3, 1);
	assert_int_equal(f->vm.nr_anon_vmas_created, 3);
	/* Moved, so that it touches and does not continue. */
	map(f, 10, 1, PROT_RW);
	store(f->mm, 10, 1);
	map(f, 20, 1, PROT_R);
	assert_int_equal(move(f, 10, 1, 21, 0), 0);
	assert_int_equal(protect(f, 20, 1, PROT_RW), 0);
	store(f->mm, 20, 1);
	assert_ptr_not_equal(anon_at(f->mm, 20), anon_at(f->mm, 21));
	validate(f);
}

/* A donor that was forked is not one. */
static void test_forked_donor_is_refused(void **state)
{
	struct fixture *f = *state;
	struct mm *child;

	map(f, 0, 2, PROT_RW);
	assert_int_equal(protect(f, 1, 1, PROT_RW | SP_PROT_EXEC), 0);
	store(f->mm, 0, 1);
	child = fork_of(f->mm);
	store(child, 1, 1);
	assert_ptr_not_equal(anon_at(child, 0), anon_at(child, 1));
	/* The parent's chain is singular still. */
	store(f->mm, 1, 1);
	assert_ptr_equal(anon_at(f->mm, 0), anon_at(f->mm, 1));
	validate(f);
}

/* A9: nor does memory without an anon_vma merge with a fork's. */
static void test_forked_vma_does_not_merge_with_fresh(void **state)
{
	struct fixture *f = *state;
	struct mm *parent = f->mm, *child;
	struct fixture in_child;

	map(f, 0, 1, PROT_RW);
	store(parent, 0, 1);
	child = fork_of(parent);
	map(f, 1, 1, PROT_RW);
	assert_layout(parent, "0-2 rw");
	in_child = (struct fixture){ .mm = child };
	map(&in_child, 1, 1, PROT_RW);
	assert_layout(child, "0-1 rw 1-2 rw");
	/* But two parts of the fork's own VMA do. */
	assert_int_equal(unmap(&in_child, 0, 2), 0);
	validate(f);
}

/* A5 */
static void test_split_clones(void **state)
{
	struct fixture *f = *state;
	struct mm *child;

	map(f, 0, 4, PROT_RW);
	store(f->mm, 1, 1);
	child = fork_of(f->mm);
	assert_chain(child, 0, "2 1");
	assert_int_equal(vm_mprotect(child, AT(2), LEN(1), PROT_R), 0);
	assert_int_equal(anon_at(child, 0)->num_active_vmas, 3);
	for (unsigned int page = 0; page < 4; page++)
		assert_ptr_equal(anon_at(child, page), anon_at(child, 0));
	assert_tree(anon_at(f->mm, 0), "1:0 2:0 2:2 2:3");
	assert_int_equal(vm_mprotect(child, AT(2), LEN(1), PROT_RW), 0);
	assert_layout(child, "0-4 rw");
	assert_int_equal(anon_at(child, 0)->num_active_vmas, 1);
	assert_tree(anon_at(f->mm, 0), "1:0 2:0");
	validate(f);
}

/* A6: the child has the parent's and its own; the parent is in none of the child's. */
static void test_fork(void **state)
{
	struct fixture *f = *state;
	struct anon_vma *a, *b;
	struct mm *child, *second;

	map(f, 0, 1, PROT_RW);
	store(f->mm, 0, 1);
	a = anon_at(f->mm, 0);
	child = fork_of(f->mm);
	b = anon_at(child, 0);
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(b->root, a);
	assert_ptr_equal(b->parent, a);
	assert_int_equal(a->num_children, 2);
	assert_int_equal(a->refcount, 2);
	assert_int_equal(b->num_children, 0);
	assert_tree(a, "1:0 2:0");
	assert_tree(b, "2:0");
	second = fork_of(f->mm);
	assert_tree(a, "1:0 2:0 3:0");
	assert_int_equal(a->num_children, 3);
	/* The parent exits: its anon_vma lives as long as a child is linked to it. */
	mm_exit(f->mm);
	assert_tree(a, "2:0 3:0");
	assert_int_equal(a->num_active_vmas, 0);
	assert_int_equal(load(child, 0), 1);
	mm_exit(child);
	assert_int_equal(a->num_children, 2);
	assert_int_equal(f->vm.anon_vma_pool.nr_used, 2);
	assert_int_equal(load(second, 0), 1);
	validate(f);
}

/*
 * Parents that are split or merged come after their children of equal start: AVCs return at
 * the end (A2).
 */
static void test_order_in_the_tree(void **state)
{
	struct fixture *f = *state;

	map(f, 0, 2, PROT_RW);
	store(f->mm, 0, 1);
	fork_of(f->mm);
	assert_tree(anon_at(f->mm, 0), "1:0 2:0");
	assert_int_equal(protect(f, 1, 1, PROT_R), 0);
	assert_tree(anon_at(f->mm, 0), "2:0 1:0 1:1");
	assert_int_equal(protect(f, 1, 1, PROT_RW), 0);
	assert_tree(anon_at(f->mm, 0), "2:0 1:0");
	validate(f);
}

/*
 * A6: an anon_vma whose VMAs are gone and from which one child descends serves the next
 * generation.
 */
static void test_fork_reuses(void **state)
{
	struct fixture *f = *state;
	struct mm *child, *grandchild, *third;
	struct anon_vma *a;

	map(f, 0, 1, PROT_RW);
	store(f->mm, 0, 1);
	a = anon_at(f->mm, 0);
	child = fork_of(f->mm);
	mm_exit(f->mm);
	/* A root counts itself, so with one child it has two: not reusable (num_children 2). */
	assert_int_equal(a->num_children, 2);
	grandchild = fork_of(child);
	assert_int_equal(f->vm.nr_anon_vmas_created, 3);
	assert_chain(grandchild, 0, "3 1 2");
	/* The child's own is: it counts the grandchild's alone. */
	mm_exit(child);
	third = fork_of(grandchild);
	assert_int_equal(f->vm.nr_anon_vmas_created, 3);
	assert_int_equal(anon_at(third, 0)->id, 2);
	assert_int_equal(anon_at(third, 0)->num_active_vmas, 1);
	assert_int_equal(f->vm.anon_vma_pool.nr_used, 3);
	assert_int_equal(load(third, 0), 1);
	/* In use again: not for a second one. */
	assert_int_equal(anon_at(fork_of(grandchild), 0)->id, 4);
	validate(f);
}

/* Generation after generation of which only the last lives: chains must not grow without end. */
static void test_chains_stay_short(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = f->mm;

	map(f, 0, 1, PROT_RW);
	store(mm, 0, 1);
	for (int i = 0; i < 50; i++) {
		struct mm *child = fork_of(mm);

		mm_exit(mm);
		mm = child;
	}
	assert_true(f->vm.avc_pool.nr_used <= 4);
	assert_true(f->vm.anon_vma_pool.nr_used <= 4);
	assert_int_equal(load(mm, 0), 1);
	validate(f);
}

/* M3's and A6's exceptions. */
static void test_fork_without(void **state)
{
	struct fixture *f = *state;
	struct mm *child;

	map(f, 0, 4, PROT_RW);
	for (unsigned int page = 0; page < 4; page++)
		store(f->mm, page, 1);
	assert_int_equal(advise(f, 1, 1, SP_MADV_WIPEONFORK), 0);
	assert_int_equal(advise(f, 3, 1, SP_MADV_DONTFORK), 0);
	child = fork_of(f->mm);
	assert_layout(child, "0-1 rw 1-2 rwW 2-3 rw");
	assert_null(anon_at(child, 1));
	assert_int_equal(load(child, 1), 0);
	validate(f);
}

/* The fork rule called by itself, when nothing can be had. */
static void test_fork_out_of_memory(void **state)
{
	struct fixture *f = *state;
	struct mm *child;
	struct vma *vma, *copy;
	unsigned int nth;

	map(f, 0, 1, PROT_RW);
	store(f->mm, 0, 1);
	child = fork_of(f->mm);
	vma = vma_at(child, 0);
	rwsem_write_lock(&child->mmap_lock);
	copy = vma_alloc(child, AT(5), AT(6), vma->pgoff, vma->flags, NULL);
	assert_non_null(copy);
	for (nth = 1;; nth++) {
		int err;

		f->vm.mem.fail_at = f->vm.mem.nr_allocs + nth;
		err = anon_vma_fork(copy, vma);
		f->vm.mem.fail_at = 0;
		if (!err)
			break;
		assert_int_equal(err, -ENOMEM);
		assert_null(copy->anon_vma);
		assert_true(cds_list_empty(&copy->anon_vma_chain));
	}
	/* An anon_vma, its AVC, and one for each of the parent's two. */
	assert_int_equal(nth, 5);
	anon_vma_unlink(copy);
	vma_free(copy);
	rwsem_write_unlock(&child->mmap_lock);
	validate(f);
}

/* An rmap_item's reference outlives the last VMA, and holds the root with it. */
static void test_reference(void **state)
{
	struct fixture *f = *state;
	struct anon_vma *anon_vma;
	struct mm *child;

	map(f, 0, 1, PROT_RW);
	store(f->mm, 0, 1);
	child = fork_of(f->mm);
	anon_vma = anon_at(child, 0);
	anon_vma_get(anon_vma);
	mm_exit(child);
	assert_int_equal(unmap(f, 0, 1), 0);
	assert_true(interval_tree_empty(&anon_vma->tree));
	assert_int_equal(f->vm.anon_vma_pool.nr_used, 2);
	anon_vma_lock_read(anon_vma);
	anon_vma_unlock_read(anon_vma);
	anon_vma_put(anon_vma);
	assert_int_equal(f->vm.anon_vma_pool.nr_used, 0);
}

/* The validators see what they are there for. */
static void test_validators(void **state)
{
	struct fixture *f = *state;
	struct report report;
	struct vma *vma;

	map(f, 0, 2, PROT_RW);
	store(f->mm, 0, 1);
	vma = vma_at(f->mm, 0);

	vma->anon_vma->num_active_vmas++;
	report_init(&report);
	anon_vma_validate_all(&f->vm, &report);
	assert_non_null(strstr(report.text, "num_active_vmas 2, counted 1"));
	vma->anon_vma->num_active_vmas--;

	vma->anon_vma->num_children++;
	report_init(&report);
	anon_vma_validate_all(&f->vm, &report);
	assert_non_null(strstr(report.text, "num_children 2, counted 1"));
	vma->anon_vma->num_children--;

	vma->pgoff++;
	report_init(&report);
	mm_validate_vmas(f->mm, &report);
	assert_non_null(strstr(report.text, "key"));
	vma->pgoff--;

	f->mm->map_count++;
	report_init(&report);
	mm_validate_vmas(f->mm, &report);
	assert_non_null(strstr(report.text, "map_count 2, 1 vmas"));
	f->mm->map_count--;
	validate(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_first_write_makes_one, setup, teardown),
		cmocka_unit_test_setup_teardown(test_neighbours_share, setup, teardown),
		cmocka_unit_test_setup_teardown(test_neighbour_below_shares, setup, teardown),
		cmocka_unit_test_setup_teardown(test_neighbours_that_do_not_share, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forked_donor_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forked_vma_does_not_merge_with_fresh, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_split_clones, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
		cmocka_unit_test_setup_teardown(test_order_in_the_tree, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork_reuses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_chains_stay_short, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork_without, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork_out_of_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reference, setup, teardown),
		cmocka_unit_test_setup_teardown(test_validators, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
