/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shrinking: known failures under a heap of random steps become what they were, or shorter;
 * nothing can be taken from the result; the same input gives the same output; a stop is obeyed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "bits.h"
#include "cases.h"
#include "model_seed.h"
#include "shrink.h"
#include "trial_group.h"

#define ROUNDS 6
#define NOISE  60
/*
 * Noise may have made another way to the same failure, now and then a longer one, of which nothing
 * can be taken. A search has several sequences for each cause, and keeps the shortest.
 */
#define DETOUR 4

static void print_sequence(const struct sequence *s)
{
	char text[128];

	for (unsigned int i = 0; i < s->nr; i++)
		fprintf(stderr, "  %s\n", step_print(&s->steps[i], &s->shape, text, sizeof(text)));
}

static void check_minimal(struct trial *t, const struct sequence *s, const struct failing_case *c,
			  const struct cause *cause)
{
	assert_true(case_fails(t, s, c->strategy, cause));
	if (s->nr > c->most_steps + DETOUR) {
		print_sequence(s);
		fail_msg("%s: %u steps, could have %u", c->name, s->nr, c->most_steps);
	}
	for (unsigned int i = 0; i < s->nr; i++) {
		struct sequence without = *s;

		sequence_remove(&without, i, 1);
		if (case_fails(t, &without, c->strategy, cause)) {
			print_sequence(s);
			fail_msg("%s: step %u can be taken away", c->name, i);
		}
	}
}

static void test_noise_goes(void **state)
{
	struct trial *t = *state;
	struct random r = model_seed("shrink");

	for (unsigned int i = 0; i < nr_failing_cases; i++) {
		const struct failing_case *c = &failing_cases[i];
		unsigned int shortest = MAX_STEPS;

		for (unsigned int round = 0; round < ROUNDS; round++) {
			struct sequence s, again;
			struct failure failure;
			uint64_t nr_tries;

			case_make(t, c, &s, &failure);
			case_pad(t, c, &failure.cause, &r, NOISE, &s);
			again = s;
			assert_int_equal(
				shrink(t, &s, c->strategy, &failure.cause, NULL, NULL, &nr_tries),
				0);
			check_minimal(t, &s, c, &failure.cause);
			assert_true(nr_tries > 0);
			assert_int_equal(
				shrink(t, &again, c->strategy, &failure.cause, NULL, NULL, NULL),
				0);
			assert_int_equal(s.nr, again.nr);
			assert_memory_equal(s.steps, again.steps, s.nr * sizeof(s.steps[0]));
			shortest = MIN(shortest, s.nr);
		}
		if (shortest > c->most_steps)
			fail_msg("%s: %u steps at best, could have %u", c->name, shortest,
				 c->most_steps);
	}
}

/* Arguments, not only steps: one process, few pages, the common byte. */
static void test_arguments(void **state)
{
	struct trial *t = *state;
	struct sequence s;
	struct failure failure;
	struct verdict v;

	s.shape = (struct shape){
		.nr_pages = 6, .nr_nodes = 2, .nr_frames = 20, .nr_swap_slots = 2, .nr_maps = 9};
	s.nr = 0;
	sequence_add(&s, (struct step){STEP_PROCESS, .process = 3});
	sequence_add(&s, (struct step){STEP_MAP_FILE, .process = 3, .first = 1, .nr = 4, .arg = 9});
	sequence_add(&s, (struct step){STEP_MADVISE, 3, 1, 2, 0, SP_MADV_MERGEABLE});
	sequence_add(&s, (struct step){STEP_MADVISE, 3, 3, 2, 0, SP_MADV_MERGEABLE});
	sequence_add(&s, (struct step){STEP_FILL, 3, 2, 1, 0, 0x31});
	sequence_add(&s, (struct step){STEP_FILL, 3, 3, 1, 0, 0x31});
	sequence_add(&s, (struct step){STEP_SCAN, .arg = 1});
	sequence_add(&s, (struct step){STEP_SCAN, .arg = 3});
	assert_int_equal(oracle_run(t, &s, SP_STRATEGY_ADDRESS, ORACLE_ALL, &v, NULL), 0);
	assert_int_not_equal(v.nr, 0);
	failure = v.failures[0];
	assert_int_equal(shrink(t, &s, SP_STRATEGY_ADDRESS, &failure.cause, NULL, NULL, NULL), 0);
	assert_int_equal(s.nr, 5);
	assert_int_equal(s.shape.nr_nodes, 1);
	assert_int_equal(s.shape.nr_pages, 2);
	assert_int_equal(s.shape.nr_frames | s.shape.nr_swap_slots | s.shape.nr_maps, 0);
	for (unsigned int i = 0; i < s.nr; i++) {
		if (step_has_process(s.steps[i].kind))
			assert_int_equal(s.steps[i].process, 0);
		if (s.steps[i].kind == STEP_FILL)
			assert_int_equal(s.steps[i].arg, 0x77);
		if (s.steps[i].kind == STEP_SCAN)
			assert_int_equal(s.steps[i].arg, 2);
	}
}

static bool stop_at(void *arg)
{
	unsigned int *left = arg;

	return !(*left)--;
}

static void test_stop(void **state)
{
	struct trial *t = *state;
	struct random r = model_seed("stop");
	const struct failing_case *c = &failing_cases[0];

	for (unsigned int at = 0; at < 24; at += 3) {
		unsigned int left = at;
		struct sequence s;
		struct failure failure;

		case_make(t, c, &s, &failure);
		case_pad(t, c, &failure.cause, &r, NOISE, &s);
		assert_int_equal(shrink(t, &s, c->strategy, &failure.cause, stop_at, &left, NULL),
				 -EINTR);
		assert_true(case_fails(t, &s, c->strategy, &failure.cause));
	}
}

static void test_not_failing(void **state)
{
	struct trial *t = *state;
	struct sequence s, before;
	struct failure failure;

	case_make(t, &failing_cases[0], &s, &failure);
	s.nr = 3;
	before = s;
	assert_int_equal(shrink(t, &s, SP_STRATEGY_ADDRESS, &failure.cause, NULL, NULL, NULL),
			 -EINVAL);
	assert_int_equal(s.nr, before.nr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_noise_goes),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_not_failing),
	};

	return cmocka_run_group_tests(tests, trial_group_setup, trial_group_teardown);
}
