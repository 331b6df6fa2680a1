/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The exhaustive search: what it leaves out is nothing, its report is a function of the depth, it finds
 * what is wrong with each strategy, and it says beforehand when there is too much to try.
 *
 * Sequences tried one by one, without a thought about what could be left out, are what its states
 * are compared with. Sanitizers make all of it slower, AddressSanitizer most, since machines cannot be
 * rewound then; with them the deepest searches are left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "alphabet.h"
#include "exhaustive.h"
#include "random.h"
#include "state.h"
#include "visited.h"

#define ONLY_MERGED 0

#if REGION_USES_MALLOC || defined(__SANITIZE_THREAD__)
#define SLOW 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLOW 1
#endif
#endif
#ifndef SLOW
#define SLOW 0
#endif

static struct search_options options_of(enum sp_strategy strategy, unsigned int depth,
					unsigned int nr_jobs)
{
	struct search_options o;

	search_options_init(&o);
	o.exhaustive = true;
	o.strategy = strategy;
	o.depth = depth;
	o.nr_jobs = nr_jobs;
	o.time_ns = 0;
	return o;
}

static void run_search(const struct search_options *o, struct search_report *r)
{
	memset(r, 0, sizeof(*r));
	assert_int_equal(exhaustive_run(o, r), 0);
	assert_true(r->complete);
	assert_false(r->interrupted);
}

/* ---- Nothing is left out -------------------------------------------------------------------- */

struct brute {
	struct trial *t;
	struct state_hasher *hasher;
	struct step steps[ALPHABET_MAX];
	unsigned int nr_steps;
	struct visited *visited;
	uint64_t nr_sequences;
};

/* After the start and these steps; false when the last one was skipped. */
static bool brute_run(struct brute *b, const unsigned int *word, unsigned int nr, struct state *ret)
{
	enum trial_outcome outcome = TRIAL_DONE;
	struct sequence s;
	int64_t result;

	alphabet_start(0, &s);
	for (unsigned int i = 0; i < nr; i++)
		sequence_add(&s, b->steps[word[i]]);
	assert_int_equal(trial_start(b->t, &s.shape, SP_STRATEGY_DIRECT), 0);
	for (unsigned int i = 0; i < s.nr; i++)
		outcome = trial_step(b->t, &s.steps[i], &result);
	assert_int_equal(state_hash(b->hasher, b->t, ret), 0);
	return outcome != TRIAL_SKIPPED;
}

static void note_state(struct brute *b, const struct state *s)
{
	bool new;

	if (!visited_room(b->visited))
		assert_int_equal(visited_grow(b->visited), 0);
	(void)visited_add(b->visited, s->hash, 0, &new);
	b->nr_sequences++;
}

static bool same(const struct state *a, const struct state *b)
{
	return a->hash[0] == b->hash[0] && a->hash[1] == b->hash[1];
}

/* Each step that is said to be idle leaves the state, or does what an earlier one does. */
static void check_idle(struct brute *b, unsigned int *word, unsigned int nr, const struct state *before)
{
	struct state after[ALPHABET_MAX];
	bool idle[ALPHABET_MAX], done[ALPHABET_MAX];

	for (unsigned int i = 0; i < b->nr_steps; i++)
		idle[i] = alphabet_is_idle(b->t, &b->steps[i]);
	for (unsigned int i = 0; i < b->nr_steps; i++) {
		bool known = false;

		word[nr] = i;
		done[i] = brute_run(b, word, nr + 1, &after[i]);
		/* What is not done must not count as tried. */
		assert_true(done[i] || idle[i]);
		if (!done[i])
			continue;
		note_state(b, &after[i]);
		if (!idle[i])
			continue;
		known = same(&after[i], before);
		for (unsigned int k = 0; k < i && !known; k++)
			known = done[k] && b->steps[k].kind == b->steps[i].kind &&
				same(&after[i], &after[k]);
		if (!known) {
			char text[128];

			fail_msg("\"%s\" was said to be idle",
				 step_print(&b->steps[i], &b->t->shape, text, sizeof(text)));
		}
	}
}

static void test_every_sequence_is_covered(void **state)
{
	struct search_options o = options_of(SP_STRATEGY_DIRECT, 3, 2);
	struct search_report r = {0};
	unsigned int word[2] = {0};
	struct state before;
	struct brute b = {0};

	(void)state;
	assert_int_equal(trial_create(&b.t), 0);
	assert_int_equal(state_hasher_create(&b.hasher), 0);
	assert_int_equal(visited_create(1 << 10, &b.visited), 0);
	b.nr_steps = alphabet_steps(b.steps);
	(void)brute_run(&b, word, 0, &before);
	note_state(&b, &before);
	check_idle(&b, word, 0, &before);
	for (unsigned int i = 0; i < b.nr_steps; i++) {
		word[0] = i;
		if (brute_run(&b, word, 1, &before))
			check_idle(&b, word, 1, &before);
	}
	/* All states but those of the last level, which it does not count. */
	assert_int_equal(exhaustive_run_levels(&o, ONLY_MERGED, &r, NULL), 0);
	assert_int_equal(r.nr_states, visited_nr(b.visited));
	assert_true(b.nr_sequences > 4 * r.nr_states);
	free(r.findings);
	visited_destroy(b.visited);
	state_hasher_destroy(b.hasher);
	trial_destroy(b.t);
}

/* Of a random state further down. */
static void test_idle_steps_further_down(void **state)
{
	struct random random = {20};
	struct brute b = {0};

	(void)state;
	assert_int_equal(trial_create(&b.t), 0);
	assert_int_equal(state_hasher_create(&b.hasher), 0);
	assert_int_equal(visited_create(1 << 10, &b.visited), 0);
	b.nr_steps = alphabet_steps(b.steps);
	for (unsigned int round = 0; round < (SLOW ? 20 : 200); round++) {
		unsigned int word[8], nr = 2 + random_below(&random, 6);
		struct state before;

		for (unsigned int i = 0; i < nr; i++)
			word[i] = random_below(&random, b.nr_steps);
		(void)brute_run(&b, word, nr, &before);
		if (!sp_orphan_entries(b.t->machine))
			check_idle(&b, word, nr, &before);
	}
	visited_destroy(b.visited);
	state_hasher_destroy(b.hasher);
	trial_destroy(b.t);
}

/* ---- What it finds -------------------------------------------------------------------------- */

static const struct finding *find(const struct search_report *r, enum failure_kind kind,
				  const char *name)
{
	for (unsigned int i = 0; i < r->nr_findings; i++)
		if (r->findings[i].cause.kind == kind &&
		    (!name || !strcmp(cause_name(&r->findings[i].cause), name)))
			return &r->findings[i];
	return NULL;
}

/* Each finding's sequence fails for its cause, at its last step. */
static void check_findings(const struct search_options *o, const struct search_report *r)
{
	struct trial *t;

	assert_int_equal(trial_create(&t), 0);
	for (unsigned int i = 0; i < r->nr_findings; i++) {
		const struct finding *f = &r->findings[i];
		const struct failure *failure;
		struct verdict v;

		assert_int_equal(oracle_run(t, &f->sequence_shrunk, o->strategy, o->oracles, &v, NULL), 0);
		failure = verdict_find(&v, &f->cause);
		assert_non_null(failure);
		assert_int_equal(failure->step, f->sequence_shrunk.nr - 1);
		assert_int_equal(f->failure.step, failure->step);
		assert_int_equal(f->failure.page, failure->page);
		assert_true(f->nr_found > 0);
	}
	trial_destroy(t);
}

static void search_and_check(enum sp_strategy strategy, unsigned int depth, struct search_report *r)
{
	struct search_options o = options_of(strategy, depth, 2);

	run_search(&o, r);
	check_findings(&o, r);
}

static void test_address(void **state)
{
	struct search_report r;
	const struct finding *f;

	(void)state;
	search_and_check(SP_STRATEGY_ADDRESS, 2, &r);
	assert_non_null(find(&r, FAILURE_MISS, "moved"));
	f = find(&r, FAILURE_MISS, "file");
	assert_non_null(f);
	/* Nothing but the start is needed. */
	assert_int_equal(f->sequence_shrunk.steps[f->sequence_shrunk.nr - 1].kind, STEP_SCAN);
	free(r.findings);
}

static void test_retry(void **state)
{
	struct search_report r;

	(void)state;
	search_and_check(SP_STRATEGY_RETRY, 3, &r);
	assert_non_null(find(&r, FAILURE_ORPHAN, NULL));
	free(r.findings);
}

static void test_index_and_full(void **state)
{
	struct search_report r;

	(void)state;
	if (SLOW)
		skip();
	search_and_check(SP_STRATEGY_INDEX, 4, &r);
	assert_non_null(find(&r, FAILURE_MISS, NULL));
	free(r.findings);
	search_and_check(SP_STRATEGY_FULL, 4, &r);
	assert_true(r.nr_findings >= 2);
	free(r.findings);
}

static void test_direct_has_nothing(void **state)
{
	struct search_report r;

	(void)state;
	search_and_check(SP_STRATEGY_DIRECT, SLOW ? 2 : 4, &r);
	assert_int_equal(r.nr_findings, 0);
	free(r.findings);
}

static void test_any_number_of_jobs(void **state)
{
	struct search_report a, b;

	(void)state;
	for (unsigned int nr_jobs = 2; nr_jobs <= (SLOW ? 2 : 3); nr_jobs++) {
		struct search_options one = options_of(SP_STRATEGY_RETRY, 3, 1);
		struct search_options more = options_of(SP_STRATEGY_RETRY, 3, nr_jobs);

		run_search(&one, &a);
		run_search(&more, &b);
		assert_int_equal(a.nr_states, b.nr_states);
		assert_int_equal(a.nr_transitions, b.nr_transitions);
		assert_int_equal(a.nr_findings, b.nr_findings);
		for (unsigned int i = 0; i < a.nr_findings; i++) {
			const struct finding *x = &a.findings[i], *y = &b.findings[i];

			assert_true(cause_equal(&x->cause, &y->cause));
			assert_int_equal(x->nr_found, y->nr_found);
			assert_int_equal(x->sequence, y->sequence);
			assert_int_equal(x->sequence_shrunk.nr, y->sequence_shrunk.nr);
			assert_memory_equal(x->sequence_shrunk.steps, y->sequence_shrunk.steps,
					    x->sequence_shrunk.nr * sizeof(struct step));
		}
		free(a.findings);
		free(b.findings);
	}
}

static void test_first_ends_early(void **state)
{
	struct search_options o = options_of(SP_STRATEGY_ADDRESS, 20, 2);
	struct search_report r = {0};

	(void)state;
	o.first = true;
	assert_int_equal(exhaustive_run(&o, &r), 0);
	assert_true(r.nr_findings > 0);
	assert_false(r.complete);
	free(r.findings);
}

static void test_one_step_and_none(void **state)
{
	struct search_report r;

	(void)state;
	search_and_check(SP_STRATEGY_DIRECT, 0, &r);
	assert_int_equal(r.nr_transitions, 0);
	free(r.findings);
	search_and_check(SP_STRATEGY_DIRECT, 1, &r);
	assert_true(r.nr_transitions > 0);
	free(r.findings);
}

/* ---- Limits --------------------------------------------------------------------------------- */

static void test_too_deep(void **state)
{
	struct search_options o = options_of(SP_STRATEGY_DIRECT, 9, 2);
	struct search_report r = {0};

	(void)state;
	assert_int_equal(exhaustive_run(&o, &r), -EFBIG);
	assert_true(r.nr_states > o.max_bytes / 40);
	assert_int_equal(r.nr_findings, 0);
	r.nr_states = 0;
	o.depth = 1000000;
	assert_int_equal(exhaustive_run(&o, &r), -EFBIG);
	assert_true(r.nr_states > o.max_bytes / 40);
}

static void test_too_little_memory(void **state)
{
	struct search_options o = options_of(SP_STRATEGY_DIRECT, 5, 2);
	struct search_report r = {0};

	(void)state;
	o.max_bytes = 4 << 20;
	assert_int_equal(exhaustive_run(&o, &r), -EFBIG);
	assert_true(r.nr_states > 100000);
}

static bool stop_at_once(void *arg, const struct search_progress *progress)
{
	unsigned int *nr_asked = arg;

	assert_true(progress->fraction <= 1);
	++*nr_asked;
	return true;
}

static void test_interrupt(void **state)
{
	struct search_options o = options_of(SP_STRATEGY_ADDRESS, 5, 2);
	struct search_report r = {0};
	unsigned int nr_asked = 0;

	(void)state;
	o.progress = stop_at_once;
	o.progress_arg = &nr_asked;
	assert_int_equal(exhaustive_run(&o, &r), 0);
	assert_true(nr_asked > 0);
	assert_true(r.interrupted);
	assert_false(r.complete);
	/* What was found by then is told. */
	assert_true(r.nr_findings > 0);
	check_findings(&o, &r);
	free(r.findings);
}

static void test_time_is_up(void **state)
{
	struct search_options o = options_of(SP_STRATEGY_DIRECT, 5, 2);
	struct search_report r = {0};

	(void)state;
	o.time_ns = 1;
	assert_int_equal(exhaustive_run(&o, &r), 0);
	assert_false(r.complete);
	free(r.findings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_sequence_is_covered),
		cmocka_unit_test(test_idle_steps_further_down),
		cmocka_unit_test(test_address),
		cmocka_unit_test(test_retry),
		cmocka_unit_test(test_index_and_full),
		cmocka_unit_test(test_direct_has_nothing),
		cmocka_unit_test(test_any_number_of_jobs),
		cmocka_unit_test(test_first_ends_early),
		cmocka_unit_test(test_one_step_and_none),
		cmocka_unit_test(test_too_deep),
		cmocka_unit_test(test_too_little_memory),
		cmocka_unit_test(test_interrupt),
		cmocka_unit_test(test_time_is_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
