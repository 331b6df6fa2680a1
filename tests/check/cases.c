/* SPDX-License-Identifier: GPL-2.0-only */
/* See cases.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cases.h"

/* A step is a word here, not a block. */
/* clang-format off */
#define PROCESS(p) {STEP_PROCESS, p, 0, 0, 0, 0}
#define MAP(p, first, nr) {STEP_MAP, p, first, nr, 0, 0}
#define MERGEABLE(p, first, nr) {STEP_MADVISE, p, first, nr, 0, SP_MADV_MERGEABLE}
#define FILL(p, first, nr) {STEP_FILL, p, first, nr, 0, 0x77}
#define MREMAP(p, from, to) {STEP_MREMAP, p, from, 1, to, 1}
#define SCAN(n) {STEP_SCAN, 0, 0, 0, 0, n}
/* clang-format on */

const struct failing_case failing_cases[] = {
	{
		.name = "moved and merged again (S2)",
		.strategy = SP_STRATEGY_ADDRESS,
		.kind = FAILURE_MISS,
		.most_steps = 7,
		.cause = "moved",
		.nr_pages = 3,
		.nr_steps = 7,
		.steps = {PROCESS(0), MAP(0, 0, 3), MERGEABLE(0, 0, 3), FILL(0, 0, 2), SCAN(2),
			  MREMAP(0, 1, 2), SCAN(2)},
	},
	{
		.name = "private file mapping (S2, V1)",
		.strategy = SP_STRATEGY_ADDRESS,
		.kind = FAILURE_MISS,
		.most_steps = 6,
		.cause = "file",
		.nr_pages = 2,
		.nr_steps = 5,
		.steps = {PROCESS(0),
			  {STEP_MAP_FILE, 0, 0, 2, 0, 5},
			  MERGEABLE(0, 0, 2),
			  FILL(0, 0, 2),
			  SCAN(2)},
	},
	{
		.name = "restored in part (V2)",
		.strategy = SP_STRATEGY_RETRY,
		.kind = FAILURE_ORPHAN,
		.most_steps = 8,
		.cause = "moved",
		.nr_pages = 3,
		.nr_steps = 8,
		.steps = {PROCESS(0),
			  MAP(0, 0, 3),
			  MERGEABLE(0, 0, 3),
			  FILL(0, 0, 2),
			  SCAN(2),
			  MREMAP(0, 1, 2),
			  SCAN(2),
			  {STEP_MIGRATE, 0, 0, 1, 0, MIGRATE_ALL}},
	},
	{
		.name = "swapped in at an address with an item (V6)",
		.strategy = SP_STRATEGY_INDEX,
		.kind = FAILURE_MISS,
		.most_steps = 9,
		.cause = "swapped-elsewhere",
		.nr_pages = 3,
		.nr_steps = 9,
		.steps = {PROCESS(0),
			  MAP(0, 0, 3),
			  MERGEABLE(0, 0, 3),
			  FILL(0, 0, 2),
			  SCAN(2),
			  {STEP_HOLD, 0, 0, 1, 0, 0},
			  {STEP_SWAPOUT, 0, 0, 1, 0, 0},
			  MREMAP(0, 0, 1),
			  {STEP_TOUCH, 0, 1, 1, 0, 0}},
	},
	{
		.name = "only the child is mergeable (V3)",
		.strategy = SP_STRATEGY_FULL,
		.kind = FAILURE_MISS,
		.most_steps = 6,
		.cause = "parent",
		.nr_pages = 2,
		.nr_steps = 6,
		.steps = {PROCESS(0),
			  MAP(0, 0, 2),
			  FILL(0, 0, 2),
			  {STEP_FORK, 0, 0, 0, 1, 0},
			  MERGEABLE(1, 0, 2),
			  SCAN(2)},
	},
};
const unsigned int nr_failing_cases = sizeof(failing_cases) / sizeof(failing_cases[0]);

bool case_fails(struct trial *t, const struct sequence *s, enum sp_strategy strategy,
		const struct cause *cause)
{
	struct verdict v;

	assert_int_equal(oracle_run(t, s, strategy, ORACLE_ALL, &v, NULL), 0);
	return verdict_find(&v, cause);
}

void case_make(struct trial *t, const struct failing_case *c, struct sequence *s,
	       struct failure *failure)
{
	struct verdict v;

	s->shape = (struct shape){.nr_pages = (uint8_t)c->nr_pages, .nr_nodes = 1};
	s->nr = 0;
	for (unsigned int i = 0; i < c->nr_steps; i++)
		assert_true(sequence_add(s, c->steps[i]));
	assert_int_equal(oracle_run(t, s, c->strategy, ORACLE_ALL, &v, NULL), 0);
	for (unsigned int i = 0; i < v.nr; i++)
		if (v.failures[i].cause.kind == c->kind) {
			*failure = v.failures[i];
			return;
		}
	fail_msg("%s: does not fail", c->name);
}

static struct step noise(struct random *r, const struct shape *shape)
{
	static const uint8_t kinds[] = {STEP_PROCESS, STEP_FORK,   STEP_EXIT,	 STEP_MAP,
					STEP_TOUCH,   STEP_FILL,   STEP_MLOCK,	 STEP_MUNLOCK,
					STEP_SCAN,    STEP_MUNMAP, STEP_SWAPOUT, STEP_SCAN_PAGES,
					STEP_MADVISE, STEP_KNOB};
	struct step step = {.kind = kinds[random_below(r, sizeof(kinds))]};

	step.process = (uint8_t)random_below(r, 4);
	step.to = (uint8_t)random_below(r, 4);
	step.first = (uint8_t)random_below(r, shape->nr_pages);
	step.nr = (uint8_t)(1 + random_below(r, shape->nr_pages - step.first));
	if (step.kind == STEP_FILL)
		step.arg = random_below(r, 2) ? 0x55 : 0x66;
	else if (step.kind == STEP_MADVISE)
		step.arg = random_below(r, 2) ? SP_MADV_MERGEABLE : SP_MADV_DONTFORK;
	else if (step.kind == STEP_KNOB)
		step.arg = (uint8_t)random_below(r, nr_step_knobs);
	else
		step.arg = 1;
	return step;
}

void case_pad(struct trial *t, const struct failing_case *c, const struct cause *cause,
	      struct random *r, unsigned int nr, struct sequence *s)
{
	for (unsigned int i = 0; i < nr; i++) {
		struct sequence padded = *s;
		unsigned int at = random_below(r, s->nr);

		padded.nr++;
		for (unsigned int k = s->nr; k > at; k--)
			padded.steps[k] = s->steps[k - 1];
		padded.steps[at] = noise(r, &s->shape);
		if (case_fails(t, &padded, c->strategy, cause))
			*s = padded;
	}
}
