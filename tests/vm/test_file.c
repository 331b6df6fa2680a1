/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files and their page cache; mms and machines that come and go.
 */
#include "vma_fixture.h"

static uint64_t first_word(struct fixture *f, const struct frame *frame)
{
	uint64_t word;

	content_read(&f->vm.frames.content, frame->content, 0, &word, sizeof(word));
	return word;
}

static void test_pages_of_a_file(void **state)
{
	struct fixture *f = *state;
	struct frame *a, *again, *b, *zero;
	struct file *file, *twin, *zeroes;

	assert_int_equal(file_create(&f->vm, 4, 42, false, &file), 0);
	assert_int_equal(file_create(&f->vm, 4, 42, false, &twin), 0);
	assert_int_equal(file_create(&f->vm, 1, 0, false, &zeroes), 0);
	assert_int_equal(f->vm.frames.nr_used, 0);
	assert_int_equal(file_page(file, 3, &a), 0);
	assert_int_equal(file_page(file, 3, &again), 0);
	assert_ptr_equal(a, again);
	assert_int_equal(f->vm.frames.nr_used, 1);
	assert_int_equal(a->refcount, 1);
	assert_true((a->flags & FRAME_FILE) && frame_mapping(a) == file && a->index == 3 &&
		    !frame_is_anon(a));
	/* Contents follow from seed and index alone. */
	assert_int_equal(file_page(twin, 3, &b), 0);
	assert_ptr_not_equal(a, b);
	assert_int_equal(frame_compare(&f->vm.frames, a, b), 0);
	assert_int_equal(file_page(file, 2, &b), 0);
	assert_int_not_equal(first_word(f, a), first_word(f, b));
	assert_int_equal(file_page(zeroes, 0, &zero), 0);
	assert_int_equal(first_word(f, zero), 0);
	assert_int_equal(file_page(file, 4, &b), -EFAULT);
	assert_int_equal(file_page(zeroes, UINT64_MAX, &b), -EFAULT);
	validate(f);
}

static void test_references(void **state)
{
	struct fixture *f = *state;
	struct file *file;

	assert_int_equal(file_create(&f->vm, 4, 42, false, &file), 0);
	assert_int_equal(map_how(f, 0, 4, PROT_R, SP_MAP_PRIVATE | SP_MAP_FIXED, file, 0), 0);
	assert_int_equal(file->refcount, 2);
	assert_int_equal(protect(f, 1, 1, PROT_RW), 0);
	assert_int_equal(file->refcount, 4);
	assert_int_equal(protect(f, 1, 1, PROT_R), 0);
	(void)load(f->mm, 0);
	/* The last VMA takes file and page cache along. */
	file_put(file);
	assert_false(cds_list_empty(&f->vm.files));
	assert_int_equal(unmap(f, 0, 2), 0);
	assert_int_equal(f->vm.frames.nr_used, 1);
	assert_int_equal(unmap(f, 2, 2), 0);
	assert_true(cds_list_empty(&f->vm.files));
	assert_int_equal(f->vm.frames.nr_used, 0);
}

/* A page that somebody still holds outlives its file. */
static void test_held_page(void **state)
{
	struct fixture *f = *state;
	struct frame *frame;
	struct file *file;

	assert_int_equal(file_create(&f->vm, 1, 42, false, &file), 0);
	assert_int_equal(file_page(file, 0, &frame), 0);
	frame_get(frame);
	file_put(file);
	assert_int_equal(frame->refcount, 1);
	assert_int_equal(frame->mapping, 0);
	frame_put(&f->vm.frames, frame);
	assert_int_equal(f->vm.frames.nr_used, 0);
}

static void test_out_of_memory(void **state)
{
	struct fixture *f = *state;
	struct frame *frame;
	struct file *file;
	struct mm *mm;

	for (unsigned int nth = 1; nth <= 2; nth++) {
		f->vm.mem.fail_at = f->vm.mem.nr_allocs + nth;
		assert_int_equal(file_create(&f->vm, 4, 42, false, &file), -ENOMEM);
	}
	assert_true(cds_list_empty(&f->vm.files));
	assert_int_equal(file_create(&f->vm, UINT64_MAX, 42, false, &file), -ENOMEM);
	f->vm.mem.fail_at = 0;
	assert_int_equal(file_create(&f->vm, 4, 42, false, &file), 0);
	for (unsigned int nth = 1;; nth++) {
		int err;

		f->vm.mem.fail_at = f->vm.mem.nr_allocs + nth;
		err = file_page(file, 1, &frame);
		f->vm.mem.fail_at = 0;
		if (!err)
			break;
		assert_int_equal(err, -ENOMEM);
		assert_int_equal(f->vm.frames.nr_used, 0);
	}
	f->vm.mem.fail_at = f->vm.mem.nr_allocs + 1;
	assert_int_equal(mm_create(&f->vm, &mm), -ENOMEM);
	assert_int_equal(f->vm.nr_mms_created, 1);
}

static void test_mm_outlives_its_process(void **state)
{
	struct fixture *f = *state;
	struct mm *mm;

	assert_int_equal(mm_create(&f->vm, &mm), 0);
	assert_int_equal(mm->id, 2);
	mm_grab(mm);
	mm_exit(mm);
	assert_int_equal(mm->users, 0);
	assert_int_equal(mm->count, 1);
	assert_ptr_equal(cds_list_entry(f->vm.mms.prev, struct mm, link), mm);
	mm_drop(mm);
	assert_ptr_equal(cds_list_entry(f->vm.mms.prev, struct mm, link), f->mm);
}

/* The allocation that shall fail is counted from the machine's own first. */
static void test_machine_out_of_memory(void **state)
{
	struct vm_config config = { .max_map_count = 10 };
	int err;

	(void)state;
	for (config.fail_allocation = 1; config.fail_allocation < 100; config.fail_allocation++) {
		struct vm vm;

		err = vm_init(&vm, &config, 2, 0, 0, CONTENT_BYTES);
		assert_int_equal(vm.mem.nr_failed != 0, err != 0);
		if (!err) {
			vm_destroy(&vm);
			assert_int_equal(vm.mem.nr_live, 0);
			break;
		}
		assert_int_equal(err, -ENOMEM);
		assert_int_equal(vm.mem.nr_live, 0);
	}
	assert_in_range(config.fail_allocation, 2, 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pages_of_a_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_references, setup, teardown),
		cmocka_unit_test_setup_teardown(test_held_page, setup, teardown),
		cmocka_unit_test_setup_teardown(test_out_of_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mm_outlives_its_process, setup, teardown),
		cmocka_unit_test(test_machine_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
