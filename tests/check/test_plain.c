/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Plainness: names changed mean the same; a page less leaves valid ranges; what is proposed
 * instead of a step is within the window; two steps joined do the work of both; costs are ordered
 * as they should be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "bits.h"
#include "generate.h"
#include "model_seed.h"
#include "plain.h"
#include "trial_group.h"

#define SEQUENCES 300
#define LENGTH	  50

static void make(struct trial *t, uint64_t seed, uint64_t number, struct sequence *s)
{
	struct generator g;
	int64_t result;

	memset(s, 0, sizeof(*s));
	generator_start(&g, seed, number);
	generator_shape(&g, &s->shape);
	assert_int_equal(trial_start(t, &s->shape, SP_STRATEGY_FULL), 0);
	while (s->nr < LENGTH) {
		struct step step = generator_next(&g, t);

		sequence_add(s, step);
		trial_step(t, &step, &result);
	}
}

/* What every step that is not skipped returned, in order. */
static unsigned int results(struct trial *t, const struct sequence *s, int64_t list[MAX_STEPS])
{
	unsigned int nr = 0;

	assert_int_equal(trial_start(t, &s->shape, SP_STRATEGY_FULL), 0);
	for (unsigned int i = 0; i < s->nr; i++)
		if (trial_step(t, &s->steps[i], &list[nr]) != TRIAL_SKIPPED)
			nr++;
	return nr;
}

static void test_normalize(void **state)
{
	struct trial *t = *state;
	struct random r = model_seed("normalize");
	uint64_t seed = random_next(&r);

	for (unsigned int i = 0; i < SEQUENCES; i++) {
		struct sequence s, normal, twice;
		int64_t before[MAX_STEPS], after[MAX_STEPS];
		unsigned int nr;

		make(t, seed, i, &s);
		normal = s;
		sequence_normalize(&normal);
		nr = results(t, &s, before);
		assert_int_equal(results(t, &normal, after), nr);
		assert_memory_equal(before, after, nr * sizeof(before[0]));
		twice = normal;
		sequence_normalize(&twice);
		assert_memory_equal(&twice, &normal, sizeof(normal));
	}
}

static void check_in_window(const struct step *step, const struct shape *shape)
{
	if (!step_has_range(step->kind))
		return;
	assert_true(step->nr > 0);
	assert_true(step->first + step->nr <= shape->nr_pages);
	if (step->kind == STEP_MREMAP || step->kind == STEP_MREMAP_KEEP) {
		assert_true(step->arg > 0);
		assert_true(step->to + step->arg <= shape->nr_pages);
	}
}

static void test_proposals_are_in_the_window(void **state)
{
	struct trial *t = *state;
	struct random r = model_seed("proposals");
	uint64_t seed = random_next(&r);

	for (unsigned int i = 0; i < SEQUENCES; i++) {
		struct sequence s, less;

		make(t, seed, i, &s);
		for (unsigned int k = 0; k < s.nr; k++) {
			struct step list[MAX_PLAINER];
			unsigned int nr = step_plainer(&s.steps[k], &s.shape, list);

			/* The generator may go beyond the window; what is within stays so. */
			if (step_has_range(s.steps[k].kind) &&
			    (!s.steps[k].nr ||
			     s.steps[k].first + s.steps[k].nr > s.shape.nr_pages ||
			     ((s.steps[k].kind == STEP_MREMAP ||
			       s.steps[k].kind == STEP_MREMAP_KEEP) &&
			      (!s.steps[k].arg ||
			       s.steps[k].to + s.steps[k].arg > s.shape.nr_pages))))
				continue;
			for (unsigned int n = 0; n < nr; n++)
				check_in_window(&list[n], &s.shape);
		}
		if (s.shape.nr_pages < 2)
			continue;
		sequence_without_page(&s, random_below(&r, s.shape.nr_pages), &less);
		assert_int_equal(less.shape.nr_pages, s.shape.nr_pages - 1);
		for (unsigned int k = 0; k < less.nr; k++)
			if (step_has_range(less.steps[k].kind))
				assert_true(less.steps[k].nr > 0);
	}
}

/* Of every value that an argument may have, to none that a scenario could not have. */
static void test_arguments_stay_possible(void **state)
{
	static const struct {
		enum step_kind kind;
		unsigned int least, most;
	} kinds[] = {
		{STEP_MAP_FILE, 0, FILE_PAGES - 1},
		{STEP_RESIZE, 1, MAX_PAGES},
		{STEP_RECLAIM, 1, UINT8_MAX},
		{STEP_SCAN, 1, UINT8_MAX},
		{STEP_SCAN_PAGES, 1, UINT8_MAX},
	};
	const struct shape shape = {.nr_pages = MAX_PAGES, .nr_nodes = 1};

	(void)state;
	for (unsigned int i = 0; i < ARRAY_SIZE(kinds); i++)
		for (unsigned int arg = kinds[i].least; arg <= kinds[i].most; arg++) {
			struct step step = {kinds[i].kind, 0, 0, 1, 1, (uint8_t)arg};
			struct step list[MAX_PLAINER];
			unsigned int nr = step_plainer(&step, &shape, list);

			for (unsigned int n = 0; n < nr; n++)
				if (list[n].kind == step.kind)
					assert_in_range(list[n].arg, kinds[i].least, arg);
		}
}

static void test_join(void **state)
{
	struct step a = {STEP_FILL, 0, 0, 1, 0, 0x77}, b = {STEP_FILL, 0, 1, 2, 0, 0x77}, joined;

	(void)state;
	assert_true(step_join(&b, &a, &joined));
	assert_int_equal(joined.first, 0);
	assert_int_equal(joined.nr, 3);
	b.process = 1;
	assert_false(step_join(&a, &b, &joined));
	a = b = (struct step){STEP_SCAN, .arg = 2};
	assert_true(step_join(&a, &b, &joined));
	assert_int_equal(joined.arg, 4);
	a.arg = b.arg = 200;
	assert_false(step_join(&a, &b, &joined));
	a = (struct step){STEP_MADVISE, 0, 0, 1, 0, SP_MADV_MERGEABLE};
	b = (struct step){STEP_MADVISE, 0, 1, 1, 0, SP_MADV_DONTFORK};
	assert_false(step_join(&a, &b, &joined));
}

static void test_fold(void **state)
{
	struct sequence s = {.shape = {.nr_pages = 2, .nr_nodes = 1}}, folded;

	(void)state;
	sequence_add(&s, (struct step){STEP_PROCESS, .process = 0});
	sequence_add(&s, (struct step){STEP_PROCESS, .process = 1});
	sequence_add(&s, (struct step){STEP_MAP, .process = 1, .first = 0, .nr = 2});
	sequence_add(&s, (struct step){STEP_EXIT, .process = 1});
	assert_true(sequence_fold_process(&s, 1, 0, 3, &folded));
	assert_int_equal(folded.nr, 2);
	assert_int_equal(folded.shape.nr_pages, 5);
	assert_int_equal(folded.steps[1].process, 0);
	assert_int_equal(folded.steps[1].first, 3);
	assert_false(sequence_fold_process(&s, 1, 0, MAX_PAGES - 1, &folded));
}

static void test_cost(void **state)
{
	struct sequence a = {.shape = {.nr_pages = 2, .nr_nodes = 1}}, b;
	struct cost ca, cb;

	(void)state;
	sequence_add(&a, (struct step){STEP_PROCESS, .process = 0});
	sequence_add(&a, (struct step){STEP_FILL, 0, 0, 1, 0, 0x77});
	b = a;
	b.steps[1].arg = 0x66;
	ca = sequence_cost(&a);
	cb = sequence_cost(&b);
	assert_true(cost_less(&ca, &cb));
	assert_false(cost_less(&cb, &ca));
	assert_false(cost_less(&ca, &ca));
	/* A step less is worth any machine. */
	b = a;
	b.nr = 1;
	b.shape = (struct shape){.nr_pages = MAX_PAGES, .nr_nodes = 2};
	cb = sequence_cost(&b);
	assert_true(cost_less(&cb, &ca));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_normalize),
		cmocka_unit_test(test_proposals_are_in_the_window),
		cmocka_unit_test(test_arguments_stay_possible),
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_fold),
		cmocka_unit_test(test_cost),
	};

	return cmocka_run_group_tests(tests, trial_group_setup, trial_group_teardown);
}
