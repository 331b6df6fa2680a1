/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The search as a whole: what it reports of a number of sequences is the same for any number of jobs, and
 * what it reports of a time is what it would report of that number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "search.h"

/* Enough for both causes of `address`; slow builds take a second for it. */
#define NR_SEQUENCES 400

static struct search_options options(enum sp_strategy strategy, unsigned int nr_jobs)
{
	struct search_options o;

	search_options_init(&o);
	o.strategy = strategy;
	o.seed = 1;
	o.time_ns = 0;
	o.nr_sequences = NR_SEQUENCES;
	o.nr_jobs = nr_jobs;
	return o;
}

static struct search_report *run(const struct search_options *o)
{
	struct search_report *r;

	assert_int_equal(search_run(o, &r), 0);
	return r;
}

static void assert_same_counts(const struct search_report *a, const struct search_report *b)
{
	assert_int_equal(a->nr_sequences, b->nr_sequences);
	assert_int_equal(a->nr_steps, b->nr_steps);
	assert_int_equal(a->nr_findings, b->nr_findings);
	for (unsigned int i = 0; i < a->nr_findings; i++) {
		const struct finding *x = &a->findings[i], *y = &b->findings[i];

		assert_true(cause_equal(&x->cause, &y->cause));
		assert_int_equal(x->nr_found, y->nr_found);
		assert_int_equal(x->sequence, y->sequence);
	}
}

static void assert_same(const struct search_report *a, const struct search_report *b)
{
	assert_same_counts(a, b);
	for (unsigned int i = 0; i < a->nr_findings; i++) {
		const struct finding *x = &a->findings[i], *y = &b->findings[i];

		assert_null(x->error);
		assert_null(y->error);
		assert_int_equal(x->nr_steps_before, y->nr_steps_before);
		assert_int_equal(x->sequence_shrunk.nr, y->sequence_shrunk.nr);
		assert_memory_equal(x->sequence_shrunk.steps, y->sequence_shrunk.steps,
				    x->sequence_shrunk.nr * sizeof(struct step));
		assert_string_equal(x->scenario, y->scenario);
	}
}

static bool has(const struct search_report *r, enum failure_kind kind, const char *name)
{
	for (unsigned int i = 0; i < r->nr_findings; i++)
		if (r->findings[i].cause.kind == kind &&
		    !strcmp(cause_name(&r->findings[i].cause), name))
			return true;
	return false;
}

static void test_jobs(void **state)
{
	struct search_options one = options(SP_STRATEGY_ADDRESS, 1);
	struct search_report *a = run(&one);

	(void)state;
	assert_int_equal(a->nr_sequences, NR_SEQUENCES);
	assert_true(a->nr_findings >= 2);
	for (unsigned int nr = 2; nr <= 3; nr++) {
		struct search_options many = options(SP_STRATEGY_ADDRESS, nr);
		struct search_report *b = run(&many);

		assert_same(a, b);
		search_report_destroy(b);
	}
	search_report_destroy(a);
}

static void test_both_causes_of_address(void **state)
{
	struct search_options o = options(SP_STRATEGY_ADDRESS, 2);
	struct search_report *r = run(&o);

	(void)state;
	assert_true(has(r, FAILURE_MISS, "moved"));
	assert_true(has(r, FAILURE_MISS, "file"));
	for (unsigned int i = 0; i < r->nr_findings; i++) {
		assert_non_null(r->findings[i].scenario);
		assert_true(r->findings[i].sequence_shrunk.nr <= r->findings[i].nr_steps_before);
		/* Beyond the start of processes. */
		if (r->findings[i].cause.kind == FAILURE_MISS)
			assert_in_range(r->findings[i].sequence_shrunk.nr, 2, 9);
	}
	search_report_destroy(r);
}

static void test_first(void **state)
{
	struct search_options o = options(SP_STRATEGY_ADDRESS, 1);
	struct search_report *a, *b;

	(void)state;
	o.first = true;
	a = run(&o);
	assert_true(a->nr_findings >= 1);
	assert_true(a->nr_sequences < NR_SEQUENCES);
	for (unsigned int i = 0; i < a->nr_findings; i++) {
		assert_int_equal(a->findings[i].nr_found, 1);
		assert_int_equal(a->findings[i].sequence, a->nr_sequences - 1);
	}
	for (o.nr_jobs = 2; o.nr_jobs <= 4; o.nr_jobs++) {
		b = run(&o);
		assert_same(a, b);
		search_report_destroy(b);
	}
	/* The sequences that it says it ran have no other failure. */
	o.first = false;
	o.nr_sequences = a->nr_sequences;
	b = run(&o);
	assert_same(a, b);
	search_report_destroy(b);
	search_report_destroy(a);
}

struct watch {
	unsigned int nr_calls;
	uint64_t nr_sequences;
	bool end;
};

static bool on_progress(void *arg, const struct search_progress *p)
{
	struct watch *w = arg;

	w->nr_calls++;
	if (!strcmp(p->phase, "searching")) {
		assert_true(p->nr_sequences >= w->nr_sequences);
		w->nr_sequences = p->nr_sequences;
	}
	return w->end;
}

static void assert_repeatable(struct search_options *o, const struct search_report *r)
{
	struct search_report *again;

	o->time_ns = 0;
	o->progress = NULL;
	o->nr_sequences = r->nr_sequences;
	again = run(o);
	assert_same_counts(r, again);
	search_report_destroy(again);
}

static void test_time(void **state)
{
	struct search_options o = options(SP_STRATEGY_INDEX, 2);
	struct watch w = {0};
	struct search_report *r;

	(void)state;
	o.time_ns = 300000000;
	o.nr_sequences = 0;
	o.progress = on_progress;
	o.progress_arg = &w;
	r = run(&o);
	assert_false(r->interrupted);
	assert_true(r->elapsed_ns >= o.time_ns);
	assert_true(w.nr_calls >= 2);
	assert_true(r->nr_sequences >= w.nr_sequences);
	assert_repeatable(&o, r);
	search_report_destroy(r);
}

static void test_interrupted(void **state)
{
	struct search_options o = options(SP_STRATEGY_ADDRESS, 2);
	struct watch w = {.end = true};
	struct search_report *r;

	(void)state;
	o.nr_sequences = UINT64_C(1) << 60;
	o.progress = on_progress;
	o.progress_arg = &w;
	r = run(&o);
	assert_true(r->interrupted);
	assert_true(r->nr_sequences > 0);
	assert_repeatable(&o, r);
	search_report_destroy(r);
}

static void test_depth_and_oracles(void **state)
{
	struct search_options o = options(SP_STRATEGY_ADDRESS, 2);
	struct search_report *r;

	(void)state;
	o.oracles = ORACLE_CONTENTS | ORACLE_RECOUNT;
	o.depth = 7;
	r = run(&o);
	assert_in_range(r->nr_steps, NR_SEQUENCES, 7 * NR_SEQUENCES);
	assert_false(has(r, FAILURE_MISS, "moved"));
	assert_false(has(r, FAILURE_MISS, "file"));
	search_report_destroy(r);
}

static uint64_t nr_failures(const struct search_report *r)
{
	uint64_t nr = 0;

	for (unsigned int i = 0; i < r->nr_findings; i++)
		nr += r->findings[i].nr_found * (r->findings[i].sequence + 1);
	return nr;
}

static void test_seeds_differ(void **state)
{
	struct search_options o = options(SP_STRATEGY_ADDRESS, 2);
	struct search_report *a = run(&o), *b;

	(void)state;
	o.seed = 2;
	b = run(&o);
	assert_int_not_equal(nr_failures(a), nr_failures(b));
	search_report_destroy(a);
	search_report_destroy(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jobs),	     cmocka_unit_test(test_both_causes_of_address),
		cmocka_unit_test(test_first),	     cmocka_unit_test(test_time),
		cmocka_unit_test(test_interrupted),  cmocka_unit_test(test_depth_and_oracles),
		cmocka_unit_test(test_seeds_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
