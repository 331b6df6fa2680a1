/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The seed of a model test: from the environment (SP_SEED) or the clock, and
 * always printed, so that what failed once can be run again.
 */
#ifndef SP_MODEL_SEED_H
#define SP_MODEL_SEED_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "random.h"

static inline struct random model_seed(const char *test)
{
	const char *text = getenv("SP_SEED");
	struct random r = { text ? strtoull(text, NULL, 0) : clock_measure_ns() };

	fprintf(stderr, "%s: SP_SEED=%" PRIu64 "\n", test, r.state);
	return r;
}

#endif
