/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arguments of public calls at the border of what 64 bits, the address space or the machine can
 * hold: each is answered with the errno of the system call, nothing wraps, and the machine stays
 * valid.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>

#include "samepage.h"

#define BASE  UINT64_C(0x200000000000)
#define PAGE  SP_PAGE_SIZE
#define RW    (SP_PROT_READ | SP_PROT_WRITE)
#define FIXED (SP_MAP_PRIVATE | SP_MAP_FIXED)
#define LAST  (UINT64_MAX - PAGE + 1) /* the last page of 64 bits */
#define TOP   UINT64_C(0x7ffffffff000) /* the end of user addresses */

#define OK(call)	 assert_int_equal((call), 0)
#define FAILS(err, call) assert_int_equal((call), -(err))

struct fixture {
	struct sp_machine *m;
	struct sp_process *p;
};

static int setup(void **state)
{
	static struct fixture f;

	OK(sp_machine_create(NULL, &f.m));
	OK(sp_process_create(f.m, &f.p));
	OK(sp_mmap(f.p, BASE, 4 * PAGE, RW, FIXED, NULL, 0, NULL));
	OK(sp_fill(f.p, BASE, 4 * PAGE, 1));
	*state = &f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	OK(sp_validate(f->m, NULL, 0));
	sp_machine_destroy(f->m);
	return 0;
}

static void time_does_not_wrap(void **state)
{
	struct fixture *f = *state;
	const uint64_t end_ms = UINT64_MAX / 1000000;

	OK(sp_run_for_ms(f->m, UINT64_C(20000000000000)));
	assert_int_equal(sp_now_ms(f->m), end_ms);
	OK(sp_run_for_ms(f->m, UINT64_MAX));
	OK(sp_run_for_ms(f->m, 1));
	assert_int_equal(sp_now_ms(f->m), end_ms);
	/* ksmd works on, also when its sleeps have no end. */
	OK(sp_madvise(f->p, BASE, 4 * PAGE, SP_MADV_MERGEABLE));
	OK(sp_knob_set(f->m, "run", "1"));
	OK(sp_knob_set(f->m, "sleep_millisecs", "4294967295"));
	OK(sp_knob_set(f->m, "pages_to_scan", "1"));
	OK(sp_ksm_scan(f->m, 3));
	assert_int_equal(sp_now_ms(f->m), end_ms);
}

static void nodes(void **state)
{
	struct fixture *f = *state;

	FAILS(ENODEV, sp_migrate(f->p, BASE, 1, true));
	FAILS(ENODEV, sp_migrate(f->p, BASE, INT_MAX, true));
	FAILS(ENODEV, sp_migrate(f->p, BASE, -2, true));
	FAILS(ENODEV, sp_migrate(f->p, BASE, INT_MIN, true));
	OK(sp_migrate(f->p, BASE, -1, true));
}

static void ranges(void **state)
{
	struct fixture *f = *state;
	struct sp_file *file;
	uint64_t at;

	OK(sp_file_create(f->m, 3, 0, &file));
	FAILS(ENOMEM, sp_file_create(f->m, UINT64_MAX, 0, &file));
	FAILS(ENOMEM, sp_file_create(f->m, UINT64_C(1) << 61, 0, &file));
	FAILS(ENOMEM, sp_mmap(f->p, BASE, UINT64_MAX, RW, FIXED, NULL, 0, NULL));
	FAILS(ENOMEM, sp_mmap(f->p, TOP, PAGE, RW, FIXED, NULL, 0, NULL));
	OK(sp_mmap(f->p, TOP - PAGE, PAGE, RW, FIXED, NULL, 0, NULL));
	FAILS(EOVERFLOW, sp_mmap(f->p, BASE, 2 * PAGE, RW, FIXED, file, UINT64_MAX, NULL));
	FAILS(EINVAL, sp_munmap(f->p, LAST, PAGE));
	FAILS(EINVAL, sp_munmap(f->p, BASE, UINT64_MAX));
	FAILS(EINVAL, sp_mremap(f->p, BASE, PAGE, UINT64_MAX, SP_MREMAP_MAYMOVE, 0, &at));
	FAILS(EINVAL, sp_mremap(f->p, BASE, PAGE, PAGE, SP_MREMAP_MAYMOVE | SP_MREMAP_FIXED, LAST, &at));
	FAILS(EINVAL, sp_madvise(f->p, BASE, UINT64_MAX, SP_MADV_DONTNEED));
	FAILS(ENOMEM, sp_mprotect(f->p, BASE, UINT64_MAX, RW));
	/* The length is rounded up to pages, to none. */
	OK(sp_mlock(f->p, BASE, UINT64_MAX));
	FAILS(EINVAL, sp_mlock(f->p, UINT64_MAX, 1));
}

static void accesses(void **state)
{
	struct fixture *f = *state;
	struct sp_page_info page;
	struct sp_vma_info vma;
	struct sp_walk_result walk;
	uint64_t handle;
	char buf[8];

	FAILS(EFAULT, sp_read(f->p, UINT64_MAX - 3, buf, sizeof(buf)));
	FAILS(EFAULT, sp_write(f->p, UINT64_MAX - 3, buf, sizeof(buf)));
	FAILS(ENODATA, sp_peek(f->p, UINT64_MAX - 3, buf, sizeof(buf)));
	FAILS(EINVAL, sp_fill(f->p, LAST, PAGE, 1));
	FAILS(EINVAL, sp_touch(f->p, BASE, LAST));
	FAILS(EINVAL, sp_load_swapped(f->p, LAST, NULL));
	OK(sp_page_info(f->p, UINT64_MAX, &page));
	assert_int_equal(page.state, SP_PAGE_NONE);
	FAILS(ENOENT, sp_vma_find(f->p, UINT64_MAX, &vma));
	FAILS(EFAULT, sp_swap_out(f->p, UINT64_MAX));
	FAILS(EFAULT, sp_hold(f->p, UINT64_MAX, &handle));
	FAILS(EFAULT, sp_walk(f->p, UINT64_MAX, &walk));
	FAILS(EINVAL, sp_drop(f->m, 0));
	FAILS(EINVAL, sp_drop(f->m, UINT64_MAX));
	for (unsigned int i = 0; i < UINT16_MAX; i++)
		OK(sp_hold(f->p, BASE, &handle));
	FAILS(EOVERFLOW, sp_hold(f->p, BASE, &handle));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(time_does_not_wrap),
		TEST(nodes),
		TEST(ranges),
		TEST(accesses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
