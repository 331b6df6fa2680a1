/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Causes of scenario files: those of scenarios/ show what their stories tell, with and without a
 * `walk`; a file and the sequence that it was made of have the same cause.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "against.h"
#include "bits.h"
#include "cases.h"
#include "story.h"
#include "trial_group.h"

#define ROOM 16

static const struct {
	const char *file;
	enum sp_strategy strategy;
	const char *kind, *cause; /* NULL: nothing fails */
} expected[] = {
	{"mremap-move", SP_STRATEGY_ADDRESS, "miss", "moved"},
	{"mremap-move", SP_STRATEGY_RETRY, "orphan", "moved"},
	{"mremap-move", SP_STRATEGY_INDEX, NULL, NULL},
	{"mremap-move", SP_STRATEGY_DIRECT, NULL, NULL},
	{"mremap-move", SP_STRATEGY_FULL, NULL, NULL},
	{"private-file", SP_STRATEGY_ADDRESS, "miss", "file"},
	{"private-file", SP_STRATEGY_RETRY, "orphan", "file"},
	{"v01-private-file-pinned", SP_STRATEGY_ADDRESS, "miss", "file"},
	{"v03-child-only-unreachable", SP_STRATEGY_FULL, "miss", "parent"},
	{"v03-child-only-unreachable", SP_STRATEGY_INDEX, NULL, NULL},
	{"v04-unmerged-while-swapped", SP_STRATEGY_FULL, "miss", "unmerged"},
	{"v06-swapin-elsewhere", SP_STRATEGY_INDEX, "miss", "swapped-elsewhere"},
	{"v06-swapin-elsewhere", SP_STRATEGY_FULL, NULL, NULL},
	{"found-full-rejoined", SP_STRATEGY_FULL, "miss", "rejoined"},
	{"empty-node", SP_STRATEGY_FULL, "miss", "full-node"},
	{"v06-swapin-foreign", SP_STRATEGY_FULL, "miss", "swapped-foreign"},
	{"31-reverse-map-moved", SP_STRATEGY_ADDRESS, "miss", "moved"},
	{"31-reverse-map-moved", SP_STRATEGY_ADDRESS, "miss", "file"},
	{"01-equal-pages-merge", SP_STRATEGY_ADDRESS, NULL, NULL},
};

static struct scenario *parse_file(const char *name)
{
	static struct diagnostics diagnostics;
	struct scenario *scenario;
	char path[512];

	snprintf(path, sizeof(path), "%s/scenarios/%s.scn", getenv("SP_SOURCE"), name);
	if (scenario_parse_file(path, &diagnostics, &scenario))
		fail_msg("%s", diagnostics.list[0]);
	return scenario;
}

static struct scenario *parse_text(const char *text)
{
	static struct diagnostics diagnostics;
	struct scenario *scenario;

	if (scenario_parse_text("text", text, strlen(text), &diagnostics, &scenario))
		fail_msg("%s\n%s", diagnostics.list[0], text);
	return scenario;
}

static void test_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct scenario *scenario = parse_file(expected[i].file);
		struct cause list[ROOM];
		unsigned int nr = ROOM;
		bool found = false;

		assert_int_equal(against_causes(scenario, expected[i].strategy, list, &nr), 0);
		for (unsigned int k = 0; k < nr; k++) {
			fprintf(stderr, "%s %s: %s %s\n", expected[i].file,
				sp_strategy_name(expected[i].strategy),
				failure_kind_name(list[k].kind), cause_name(&list[k]));
			found |= expected[i].kind &&
				 !strcmp(failure_kind_name(list[k].kind), expected[i].kind) &&
				 !strcmp(cause_name(&list[k]), expected[i].cause);
		}
		if (expected[i].kind && !found)
			fail_msg("%s under %s: no %s %s", expected[i].file,
				 sp_strategy_name(expected[i].strategy), expected[i].kind,
				 expected[i].cause);
		if (!expected[i].kind)
			assert_int_equal(nr, 0);
		scenario_destroy(scenario);
	}
}

/* What the search found, and the file that it wrote of it, are the same. */
static void test_stories(void **state)
{
	struct trial *t = *state;

	for (unsigned int i = 0; i < nr_failing_cases; i++) {
		const struct failing_case *c = &failing_cases[i];
		struct story_origin origin = {c->strategy, true, 1, 1, 9, 0};
		struct sequence s;
		struct failure failure;
		struct scenario *scenario;
		struct cause list[ROOM];
		unsigned int nr = ROOM;
		bool found = false;
		char *text;

		case_make(t, c, &s, &failure);
		assert_string_equal(cause_name(&failure.cause), c->cause);
		assert_int_equal(story_write(t, &s, &failure, &origin, &text), 0);
		scenario = parse_text(text);
		assert_int_equal(against_causes(scenario, c->strategy, list, &nr), 0);
		for (unsigned int k = 0; k < nr; k++)
			found |= cause_equal(&list[k], &failure.cause);
		if (!found)
			fail_msg("%s: its story has not its cause\n%s", c->name, text);
		scenario_destroy(scenario);
		free(text);
	}
}

static const char no_walk[] = "process a\n"
			      "a: map x 3\n"
			      "a: madvise x mergeable\n"
			      "a: fill x[0..1] 0x77\n"
			      "scan 2\n"
			      "a: mremap x[1] -> x[2]\n"
			      "scan 2\n";

static void test_no_walk(void **state)
{
	struct scenario *scenario = parse_text(no_walk);
	struct cause list[ROOM];
	unsigned int nr = ROOM;

	(void)state;
	assert_int_equal(against_causes(scenario, SP_STRATEGY_ADDRESS, list, &nr), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(list[0].kind, FAILURE_MISS);
	assert_string_equal(cause_name(&list[0]), "moved");
	/* No room is no error. */
	nr = 0;
	assert_int_equal(against_causes(scenario, SP_STRATEGY_ADDRESS, list, &nr), 0);
	assert_int_equal(nr, 0);
	scenario_destroy(scenario);
}

static void test_cannot_run(void **state)
{
	struct scenario *scenario = parse_text("process a\n"
					       "a: map x 1\n"
					       "a: fill x[pages_shared + 7] 1\n");
	struct cause list[ROOM];
	unsigned int nr = ROOM;

	(void)state;
	assert_int_equal(against_causes(scenario, SP_STRATEGY_FULL, list, &nr), -EINVAL);
	scenario_destroy(scenario);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_stories),
		cmocka_unit_test(test_no_walk),
		cmocka_unit_test(test_cannot_run),
	};

	return cmocka_run_group_tests(tests, trial_group_setup, trial_group_teardown);
}
