/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of pasts against a plain array, and without memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "model_seed.h"
#include "past.h"

#define MMS   5
#define PAGES 200

static void test_model(void **state)
{
	static unsigned int model[MMS][PAGES];
	struct random r = model_seed("past");
	struct past past;

	(void)state;
	past_init(&past);
	for (unsigned int i = 0; i < 20000; i++) {
		unsigned int mm = random_below(&r, MMS), page = random_below(&r, PAGES);
		unsigned int bits = random_below(&r, 32);
		uint64_t addr = (UINT64_C(0x200000000) + page) * SP_PAGE_SIZE;

		assert_int_equal(past_get(&past, mm + 1, addr), model[mm][page]);
		if (random_below(&r, 4)) {
			assert_int_equal(past_add(&past, mm + 1, addr, bits), 0);
			model[mm][page] |= bits;
		} else {
			past_forget(&past, mm + 1, addr);
			model[mm][page] = 0;
		}
		assert_int_equal(past_get(&past, mm + 1, addr), model[mm][page]);
	}
	past_destroy(&past);
	assert_int_equal(past.mem.nr_live, 0);
}

static void test_no_memory(void **state)
{
	struct past past;

	(void)state;
	for (unsigned int fail_at = 1; fail_at < 4; fail_at++) {
		unsigned int nr_failed = 0;

		past_init(&past);
		past.mem.fail_at = fail_at;
		for (uint64_t page = 1; page < 200; page++) {
			int err = past_add(&past, 1, page * SP_PAGE_SIZE, 1);

			assert_true(!err || err == -ENOMEM);
			nr_failed += err != 0;
			assert_int_equal(past_get(&past, 1, page * SP_PAGE_SIZE), !err);
			assert_int_equal(past_get(&past, 1, SP_PAGE_SIZE), fail_at > 1);
		}
		assert_int_equal(nr_failed, 1);
		past_destroy(&past);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
