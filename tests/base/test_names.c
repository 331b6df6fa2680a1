/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of errors, and the random numbers that scenarios and tests are built on:
 * both are part of what a scenario file means, so their values are pinned.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "names.h"
#include "random.h"

static void test_errno_names(void **state)
{
	(void)state;
	assert_string_equal(errno_name(EBUSY), "EBUSY");
	assert_string_equal(errno_name(-EBUSY), "EBUSY");
	assert_string_equal(errno_name(-ENOMEM), "ENOMEM");
	assert_string_equal(errno_name(EHWPOISON), "EHWPOISON");
	assert_string_equal(errno_name(0), "E?");
	assert_string_equal(errno_name(99999), "E?");
	assert_string_equal(errno_name(-99999), "E?");
	assert_int_equal(errno_by_name("EBUSY"), EBUSY);
	assert_int_equal(errno_by_name("EAGAIN"), EAGAIN);
	assert_int_equal(errno_by_name("ebusy"), 0);
	assert_int_equal(errno_by_name("EBUSYX"), 0);
	assert_int_equal(errno_by_name("EBUS"), 0);
	assert_int_equal(errno_by_name(""), 0);
	assert_int_equal(errno_by_name("E?"), 0);
}

static void test_errno_names_go_both_ways(void **state)
{
	int nr = 0;

	(void)state;
	for (int err = 1; err < 200; err++) {
		const char *name = errno_name(err);

		if (!strcmp(name, "E?"))
			continue;
		assert_int_equal(errno_by_name(name), err);
		nr++;
	}
	/* What the engine returns (madvise, mremap, swap, files) is all there. */
	assert_true(nr >= 20);
}

static void test_random_is_the_same_everywhere(void **state)
{
	struct random r = { 0 }, other = { 1 };

	(void)state;
	assert_true(random_next(&r) == UINT64_C(0xe220a8397b1dcdaf));
	assert_true(random_next(&r) == UINT64_C(0x6e789e6aa1b965f4));
	assert_true(random_next(&r) == UINT64_C(0x06c45d188009454f));
	assert_true(random_next(&other) != UINT64_C(0xe220a8397b1dcdaf));
}

static void test_random_below(void **state)
{
	struct random r = { 5 };
	unsigned int hits[7] = { 0 };

	(void)state;
	for (int i = 0; i < 7000; i++) {
		uint32_t value = random_below(&r, 7);

		assert_in_range(value, 0, 6);
		hits[value]++;
	}
	for (int i = 0; i < 7; i++)
		assert_in_range(hits[i], 800, 1200);
	for (int i = 0; i < 100; i++)
		assert_int_equal(random_below(&r, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errno_names),
		cmocka_unit_test(test_errno_names_go_both_ways),
		cmocka_unit_test(test_random_is_the_same_everywhere),
		cmocka_unit_test(test_random_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
