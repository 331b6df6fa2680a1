/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of this layer share: the seed of a model test, and the sweep in
 * which the Nth allocation fails, for every N until none did.
 */
#ifndef FRAME_TEST_H
#define FRAME_TEST_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "mem.h"
#include "random.h"

/* A new seed each run, so that runs add up; SP_SEED repeats one that failed. */
static inline struct random test_random(void)
{
	const char *text = getenv("SP_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : (uint64_t)time(NULL);

	print_message("SP_SEED=%" PRIu64 "\n", seed);
	return (struct random){ .state = seed };
}

/*
 * Runs body with the first, the second ... allocation failing, until one run
 * needs fewer. body says with `true` that it noticed a failure. Nothing may be
 * left allocated afterwards.
 */
static inline void sweep_allocation_failures(bool (*body)(struct mem *mem))
{
	uint64_t fail_at;

	for (fail_at = 1;; fail_at++) {
		struct mem mem;
		bool noticed;

		mem_init(&mem);
		mem.fail_at = fail_at;
		noticed = body(&mem);
		assert_int_equal(mem.nr_live, 0);
		assert_int_equal(mem.live_bytes, 0);
		assert_int_equal(noticed, mem.nr_failed > 0);
		if (!mem.nr_failed)
			break;
	}
	/* The body did allocate. */
	assert_true(fail_at > 1);
}

#endif
