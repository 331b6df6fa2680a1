/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stories: the scenario of every known failure, as it is and shrunk, parses, behaves under every
 * strategy as it declares, declares the strategy that failed, and is fit to print.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "model_seed.h"
#include "scenario.h"
#include "shrink.h"
#include "story.h"
#include "tell.h"
#include "trial_group.h"

static struct scenario *parse(const char *text)
{
	static struct diagnostics diagnostics;
	struct scenario *scenario;

	if (scenario_parse_text("story", text, strlen(text), &diagnostics, &scenario))
		fail_msg("%s\n%s", diagnostics.list[0], text);
	return scenario;
}

static struct scenario_result *run(const struct scenario *scenario, enum sp_strategy strategy)
{
	struct scenario_options options;
	struct scenario_result *result;

	scenario_options_init(&options);
	options.strategy = strategy;
	assert_int_equal(scenario_run(scenario, &options, &result), 0);
	return result;
}

static void check_print(const char *text)
{
	size_t column = 0;

	for (const char *c = text; *c; c++) {
		if (*c == '\n') {
			/* No line ends with a space, no two are empty. */
			assert_true(c == text || c[-1] != ' ');
			assert_false(c > text + 1 && c[-1] == '\n' && c[-2] == '\n');
			column = 0;
			continue;
		}
		assert_true(isprint((unsigned char)*c));
		assert_true(++column <= 100);
	}
	assert_int_equal(column, 0);
}

/* Words that the head must have: what an argument about the walk is about. */
static void check_head(const char *text, const struct failing_case *c,
		       const struct failure *failure)
{
	char page[16];

	snprintf(page, sizeof(page), "%c:x[%u]", 'a' + failure->process, failure->page);
	assert_non_null(strstr(text, page));
	assert_non_null(strstr(text, "pgoff"));
	assert_non_null(strstr(text, "linear index"));
	assert_non_null(strstr(text, cause_name(&failure->cause)));
	assert_non_null(strstr(text, "# Found by samepage check --strategy "));
	if (c->strategy != SP_STRATEGY_FULL && c->kind == FAILURE_MISS)
		assert_non_null(strstr(text, "asks for"));
}

static void check_story(struct trial *t, const struct failing_case *c, struct sequence *s,
			struct failure *failure)
{
	struct story_origin origin = {
		.strategy = c->strategy, .is_random = true, .nr_steps_before = 61};
	char *text = NULL, *again = NULL;
	struct scenario *scenario;
	int err = story_write(t, s, failure, &origin, &text);

	if (err)
		fail_msg("%s: %s: %s", c->name, strerror(-err), text ? text : "");
	check_print(text);
	check_head(text, c, failure);
	assert_non_null(strstr(text, "--seed 0 (sequence 0)"));
	scenario = parse(text);
	assert_true(*scenario_title(scenario));
	if (c->strategy == SP_STRATEGY_FULL)
		assert_true(scenario_linux_misses(scenario, NULL));
	else
		assert_true(scenario_is_broken(scenario, c->strategy, NULL));
	for (unsigned int i = 0; i < SP_NR_STRATEGIES; i++) {
		struct scenario_result *result = run(scenario, i);

		if (scenario_verdict_exit_status(result->verdict))
			fail_msg("%s under %s: %s\n%s", c->name, sp_strategy_name(i),
				 result->nr_failures_listed ? result->failures[0].text
							    : result->error,
				 text);
		/* `full` and `direct` reach whatever there is to reach. */
		if (i == SP_STRATEGY_FULL || i == SP_STRATEGY_DIRECT)
			assert_int_equal(result->verdict, SCENARIO_HELD);
		scenario_result_destroy(result);
	}
	scenario_destroy(scenario);
	assert_int_equal(story_write(t, s, failure, &origin, &again), 0);
	assert_string_equal(text, again);
	free(text);
	free(again);
}

static void test_known(void **state)
{
	for (unsigned int i = 0; i < nr_failing_cases; i++) {
		struct sequence s;
		struct failure failure;

		case_make(*state, &failing_cases[i], &s, &failure);
		check_story(*state, &failing_cases[i], &s, &failure);
	}
}

static void test_shrunk(void **state)
{
	struct random r = model_seed("story");

	for (unsigned int i = 0; i < nr_failing_cases; i++) {
		const struct failing_case *c = &failing_cases[i];
		struct sequence s;
		struct failure failure;
		struct verdict v;

		case_make(*state, c, &s, &failure);
		case_pad(*state, c, &failure.cause, &r, 40, &s);
		assert_int_equal(shrink(*state, &s, c->strategy, &failure.cause, NULL, NULL, NULL),
				 0);
		assert_int_equal(oracle_run(*state, &s, c->strategy, ORACLE_ALL, &v, NULL), 0);
		failure = *verdict_find(&v, &failure.cause);
		check_story(*state, c, &s, &failure);
	}
}

/* A machine of two nodes, processes that come late and go, a window that is not mapped whole. */
static void test_declarations(void **state)
{
	const struct failing_case *c = &failing_cases[1];
	struct story_origin origin = {.strategy = c->strategy, .nr_steps_before = 5, .depth = 12};
	struct sequence s = {.shape = {.nr_pages = 4, .nr_nodes = 2}};
	struct failure failure;
	struct verdict v;
	char *text;

	sequence_add(&s, (struct step){STEP_PROCESS, .process = 0});
	sequence_add(&s, (struct step){STEP_PROCESS, .process = 1});
	sequence_add(&s, (struct step){STEP_MAP, .process = 1, .first = 0, .nr = 4});
	sequence_add(&s, (struct step){STEP_MUNLOCK, .process = 0, .first = 0, .nr = 2});
	sequence_add(&s, (struct step){STEP_MAP_FILE, 0, 1, 2, 0, 5});
	sequence_add(&s, (struct step){STEP_MADVISE, 0, 1, 2, 0, SP_MADV_MERGEABLE});
	sequence_add(&s, (struct step){STEP_FILL, 0, 1, 2, 0, 0x77});
	sequence_add(&s, (struct step){STEP_EXIT, .process = 1});
	sequence_add(&s, (struct step){STEP_SCAN, .arg = 2});
	assert_int_equal(oracle_run(*state, &s, c->strategy, ORACLE_ALL, &v, NULL), 0);
	assert_int_not_equal(v.nr, 0);
	failure = v.failures[0];
	assert_int_equal(story_write(*state, &s, &failure, &origin, &text), 0);
	assert_non_null(strstr(text, "\nmachine nodes 2\n"));
	assert_non_null(strstr(text, "\nfile f 16 seed 7\n"));
	assert_non_null(strstr(text, "\nprocess a\na: window x 4\n"));
	assert_non_null(strstr(text, "\nprocess b\nb: map x 4\n"));
	assert_non_null(strstr(text, "\na: munlock x[0..1]\nexpect errno ENOMEM\n"));
	assert_non_null(strstr(text, "--exhaustive --depth 12"));
	free(text);
}

/* The story of the sequence's failure for the cause of that name. */
static char *story_of(struct trial *t, struct sequence *s, enum sp_strategy strategy,
		      const char *cause)
{
	struct story_origin origin = {.strategy = strategy, .nr_steps_before = 5};
	struct failure *failure = NULL;
	struct verdict v;
	char *text;

	assert_int_equal(oracle_run(t, s, strategy, ORACLE_ALL, &v, NULL), 0);
	for (unsigned int i = 0; i < v.nr; i++)
		if (!strcmp(cause_name(&v.failures[i].cause), cause))
			failure = &v.failures[i];
	assert_non_null(failure);
	assert_int_equal(story_write(t, s, failure, &origin, &text), 0);
	check_print(text);
	return text;
}

/* "After this, ..." is said only where it was otherwise before. */
static void test_turn(void **state)
{
	struct sequence s = {.shape = {.nr_pages = 2, .nr_nodes = 1}};
	char *text;

	sequence_add(&s, (struct step){STEP_PROCESS, .process = 0});
	sequence_add(&s, (struct step){STEP_MAP, .process = 0, .nr = 2});
	sequence_add(&s, (struct step){STEP_FILL, .process = 0, .nr = 2, .arg = 0x77});
	sequence_add(&s, (struct step){STEP_FORK, .process = 0, .to = 1});
	sequence_add(&s, (struct step){STEP_MADVISE, 1, 0, 2, 0, SP_MADV_MERGEABLE});
	sequence_add(&s, (struct step){STEP_SCAN, .arg = 2});
	text = story_of(*state, &s, SP_STRATEGY_FULL, "parent");
	assert_non_null(strstr(text, "\n# After this, not even the whole-tree walk reaches a:x["));
	free(text);
	sequence_add(&s, (struct step){STEP_MADVISE, 0, 0, 2, 0, SP_MADV_MERGEABLE});
	text = story_of(*state, &s, SP_STRATEGY_FULL, "upgraded-unscanned");
	assert_null(strstr(text, "After this"));
	assert_non_null(strstr(text, "is missed before this too"));
	free(text);
}

/* The page itself is swapped out, and another mapping of its frame, which the walk misses, is not. */
static void test_swapped_in_part(void **state)
{
	struct sequence s = {.shape = {.nr_pages = 2, .nr_nodes = 1}};
	char *text;

	sequence_add(&s, (struct step){STEP_PROCESS, .process = 0});
	sequence_add(&s, (struct step){STEP_MAP, .process = 0, .nr = 2});
	sequence_add(&s, (struct step){STEP_FILL, .process = 0, .nr = 2, .arg = 0x77});
	sequence_add(&s, (struct step){STEP_MADVISE, 0, 0, 1, 0, SP_MADV_MERGEABLE});
	sequence_add(&s, (struct step){STEP_MERGE_ANY, .process = 0, .arg = 1});
	sequence_add(&s, (struct step){STEP_SCAN, .arg = 2});
	sequence_add(&s, (struct step){STEP_FORK, .process = 0, .to = 1});
	sequence_add(&s, (struct step){STEP_MREMAP, 0, 1, 1, 0, 1});
	sequence_add(&s, (struct step){STEP_SCAN_PAGES, .arg = 1});
	text = story_of(*state, &s, SP_STRATEGY_INDEX, "remade");
	assert_non_null(strstr(text, "\n#   address  2 of 3  EBUSY    in part  right\n"));
	assert_non_null(strstr(text, "\n#   full     3 of 3  moves    evicted  right\n"));
	assert_non_null(strstr(text, "EBUSY: it is still mapped"));
	assert_non_null(strstr(text, "In part: "));
	free(text);
}

/*
 * Under `retry` a migration leaves an entry behind, which cannot be held, so that there is nothing
 * to drop; under the others there is.
 */
static void add_uneven(struct sequence *s)
{
	sequence_add(s, (struct step){STEP_PROCESS, .process = 0});
	sequence_add(s, (struct step){STEP_MAP_FILE, 0, 0, 2, 0, 1});
	sequence_add(s, (struct step){STEP_MADVISE, 0, 0, 2, 0, SP_MADV_MERGEABLE});
	sequence_add(s, (struct step){STEP_FILL, 0, 0, 2, 0, 0x77});
	sequence_add(s, (struct step){STEP_SCAN, .arg = 2});
	sequence_add(s, (struct step){STEP_MIGRATE, 0, 0, 1, 0, MIGRATE_ALL});
	sequence_add(s, (struct step){STEP_HOLD, .process = 0, .nr = 1, .to = 0});
}

static void test_uneven(void **state)
{
	struct sequence s = {.shape = {.nr_pages = 2, .nr_nodes = 1}};
	struct trial *t = *state;
	int64_t result;
	char *text;

	add_uneven(&s);
	assert_int_equal(trial_start(t, &s.shape, SP_STRATEGY_RETRY), 0);
	for (unsigned int i = 0; i < s.nr; i++)
		trial_step(t, &s.steps[i], &result);
	assert_true(result < 0);

	/* What the page is after the sequence is told with the reference. */
	sequence_add(&s, (struct step){STEP_FORK, .process = 0, .to = 1});
	sequence_add(&s, (struct step){STEP_TOUCH, .process = 1, .nr = 1});
	text = story_of(t, &s, SP_STRATEGY_ADDRESS, "file");
	free(text);

	/* A drop in the middle is not told, if the sequence fails without it as well. */
	sequence_add(&s, (struct step){STEP_DROP, .to = 0});
	sequence_add(&s, (struct step){STEP_SCAN, .arg = 1});
	text = story_of(t, &s, SP_STRATEGY_ADDRESS, "file");
	assert_null(strstr(text, "\ndrop pipe0\nscan"));
	free(text);
}

struct patience {
	unsigned int nr_tries, max;
};

static bool is_patience_over(void *arg)
{
	struct patience *p = arg;

	return p->nr_tries++ >= p->max;
}

/* A search that is interrupted does not shrink to the end, and tells what it has. */
static void test_half_shrunk(void **state)
{
	static const unsigned int patience[] = {0, 1, 3, 30};
	struct search_options o;
	unsigned int nr = 0;

	search_options_init(&o);
	o.strategy = SP_STRATEGY_ADDRESS;
	o.seed = 1;
	o.depth = MAX_STEPS;
	for (uint64_t i = 0; i < 200; i++) {
		struct patience p = {0, patience[i % ARRAY_SIZE(patience)]};
		struct sequence s;
		struct verdict v;
		uint64_t nr_steps = 0;
		char *text;
		int err;

		assert_int_equal(sequence_make(*state, &o, i, &s, &v, &nr_steps), 0);
		if (!v.nr)
			continue;
		s.nr = (uint16_t)(v.failures[0].step + 1);
		err = shrink(*state, &s, o.strategy, &v.failures[0].cause, is_patience_over, &p,
			     NULL);
		assert_true(!err || err == -EINTR);
		text = story_of(*state, &s, o.strategy, cause_name(&v.failures[0].cause));
		free(text);
		nr++;
	}
	assert_true(nr > 100);
}

static void test_not_failing(void **state)
{
	const struct failing_case *c = &failing_cases[0];
	struct story_origin origin = {c->strategy, true, 1, 1, 5, 0};
	struct sequence s;
	struct failure failure;
	char *text = (char *)1;

	case_make(*state, c, &s, &failure);
	s.nr--;
	assert_int_equal(story_write(*state, &s, &failure, &origin, &text), -EINVAL);
	assert_null(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_shrunk),
		cmocka_unit_test(test_declarations),
		cmocka_unit_test(test_turn),
		cmocka_unit_test(test_swapped_in_part),
		cmocka_unit_test(test_uneven),
		cmocka_unit_test(test_half_shrunk),
		cmocka_unit_test(test_not_failing),
	};

	return cmocka_run_group_tests(tests, trial_group_setup, trial_group_teardown);
}
