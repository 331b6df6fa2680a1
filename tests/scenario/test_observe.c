/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Observations: which texts an operation leaves behind on the engine, and what counts as a
 * difference between two lists of them.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "observe_text.h"
#include "scenario.h"

#define MAX_SEEN 72

static struct mem mem;
static struct observation seen[MAX_SEEN];
static unsigned int nr_seen, stop_after;
static struct scenario *scenario;
static struct scenario_result *result;

static bool keep(void *arg, const struct observation *o)
{
	(void)arg;
	assert_true(nr_seen < MAX_SEEN);
	assert_int_equal(observation_copy(&seen[nr_seen++], o), 0);
	return nr_seen == stop_after;
}

static int setup(void **state)
{
	(void)state;
	mem_init(&mem);
	for (unsigned int i = 0; i < MAX_SEEN; i++)
		observation_init(&seen[i], &mem);
	nr_seen = 0;
	stop_after = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < MAX_SEEN; i++)
		observation_destroy(&seen[i]);
	assert_int_equal(mem.nr_live, 0);
	scenario_result_destroy(result);
	scenario_destroy(scenario);
	result = NULL;
	scenario = NULL;
	return 0;
}

static void run(const char *text)
{
	struct scenario_options options;
	struct diagnostics diagnostics;

	scenario_options_init(&options);
	options.observe = keep;
	assert_int_equal(scenario_parse_text("t.scn", text, strlen(text), &diagnostics, &scenario), 0);
	assert_int_equal(scenario_run(scenario, &options, &result), 0);
	assert_string_equal(result->error, "");
}

static const char *last(const char *key)
{
	const char *value;

	assert_true(nr_seen > 0);
	value = observation_find(&seen[nr_seen - 1], key);
	return value ? value : "(none)";
}

/* ---- What is seen ----------------------------------------------------------------------- */

static void test_operations_not_expectations(void **state)
{
	(void)state;
	run("process a\n"
	    "expect a.vmas == 0\n"
	    "let n = 2\n"
	    "for i in 1..n\n"
	    "a: map x{i} 1\n"
	    "end\n");
	assert_int_equal(nr_seen, 3);
	assert_int_equal(seen[0].operation, 1);
	assert_int_equal(seen[0].line, 1);
	assert_string_equal(observation_text(&seen[0]), "process a");
	assert_int_equal(seen[2].operation, 3);
	assert_int_equal(seen[2].line, 5);
	assert_string_equal(last("a.vmas"), "2");
	assert_string_equal(last("a.map"), "x1[0..0]:rw x2[0..0]:rw");
}

static void test_outcomes(void **state)
{
	(void)state;
	run("process a\n"
	    "a: map x 2\n"
	    "a: munmap x[1]\n"
	    "a: madvise x mergeable\n"
	    "expect errno ENOMEM\n");
	assert_string_equal(last("outcome"), "ENOMEM");
	assert_string_equal(last("a.map"), "x[0..0]:rwm");
	assert_string_equal(last("a:x[0]"), "absent");
	assert_string_equal(last("a:x[1]"), "unmapped");
	assert_string_equal(observation_find(&seen[2], "outcome"), "0");
}

static void test_states_of_pages(void **state)
{
	(void)state;
	run("process a\n"
	    "a: map x 5\n"
	    "a: fill x[0] 0x77\n"
	    "a: touch x[1]\n"
	    "a: fill x[2] random 5\n"
	    "a: fill x[3] 1\n"
	    "a: swapout x[3]\n");
	assert_string_equal(last("a:x[0]"), "present anon f1 0x77");
	assert_string_equal(last("a:x[1]"), "zero");
	assert_memory_equal(last("a:x[2]"), "present anon f2 #", 17);
	assert_string_equal(last("a:x[3]"), "swapped");
	assert_string_equal(last("a:x[4]"), "absent");
	assert_string_equal(last("a.swap"), "1");
	assert_string_equal(last("a.rss_anon"), "2");
}

/* Frames have numbers by first appearance, over all processes. */
static void test_frames(void **state)
{
	(void)state;
	run("process a\n"
	    "a: map x 3\n"
	    "a: madvise x mergeable\n"
	    "a: fill x 7\n"
	    "a: fill x[0] 8\n"
	    "scan 2\n"
	    "a: fork b\n"
	    "b: fill x[1] 9\n");
	assert_string_equal(last("a:x[0]"), "present anon f1 0x08");
	assert_string_equal(last("a:x[1]"), "present ksm f2 0x07");
	assert_string_equal(last("a:x[2]"), "present ksm f2 0x07");
	assert_string_equal(last("b:x[0]"), "present anon f1 0x08");
	assert_string_equal(last("b:x[1]"), "present anon f3 0x09");
	assert_string_equal(last("b:x[2]"), "present ksm f2 0x07");
	assert_string_equal(last("pages_sharing"), "1");
	assert_string_equal(last("a.ksm_merging_pages"), "2");
	assert_string_equal(last("b.ksm_merging_pages"), "0");
	assert_string_equal(last("cow_ksm"), "1");
}

static void test_nodes_where_there_are_several(void **state)
{
	(void)state;
	run("machine nodes 2\n"
	    "process a\n"
	    "a: map x 1\n"
	    "a: fill x 7\n"
	    "a: migrate x node 1\n");
	assert_string_equal(observation_find(&seen[2], "a:x[0]"), "present anon f1 n0 0x07");
	assert_string_equal(last("a:x[0]"), "present anon f1 n1 0x07");
}

static void test_processes_come_and_go(void **state)
{
	(void)state;
	run("process a\n"
	    "a: map x 1\n"
	    "a: fork b\n"
	    "a: exit\n");
	assert_string_equal(last("a"), "exited");
	assert_string_equal(last("a.vmas"), "(none)");
	assert_string_equal(last("a:x[0]"), "(none)");
	assert_string_equal(last("b"), "running");
	assert_string_equal(last("b:x[0]"), "absent");
}

static void test_flags_of_vmas(void **state)
{
	(void)state;
	run("process a\n"
	    "a: map x 4\n"
	    "a: madvise x[0] dontfork\n"
	    "a: mprotect x[1] none\n"
	    "a: mlock x[2]\n"
	    "a: map s 1 shared\n");
	assert_string_equal(last("a.map"), "x[0..0]:rwd x[1..1]:- x[2..2]:rwl x[3..3]:rw s[0..0]:rws");
}

/* The pages of all windows together count, and nothing else is left out with them. */
static void test_limit_of_pages(void **state)
{
	(void)state;
	run("process a\n"
	    "a: map x 1000\n"
	    "a: map y 24\n"
	    "a: map z 1\n");
	assert_string_equal(observation_find(&seen[2], "a:y[23]"), "absent");
	assert_string_equal(last("a:y[23]"), "(none)");
	assert_string_equal(last("a:z[0]"), "(none)");
	assert_string_equal(last("a.vmas"), "3");
}

static void test_limit_of_processes(void **state)
{
	(void)state;
	run("for i in 1..65\n"
	    "process p{i}\n"
	    "end\n");
	assert_string_equal(observation_find(&seen[OBSERVE_MAX_PROCESSES - 1], "p64"), "running");
	assert_string_equal(last("p1"), "(none)");
	assert_string_equal(last("pages_shared"), "0");
}

static void test_observer_ends_the_run(void **state)
{
	(void)state;
	stop_after = 2;
	run("process a\n"
	    "a: map x 1\n"
	    "a: fill x 1\n");
	assert_int_equal(nr_seen, 2);
	assert_int_equal(result->nr_operations, 2);
}

/* Whatever allocation fails, the run says so, or holds. */
static void test_no_memory(void **state)
{
	static const char text[] = "process a\na: map x 70\na: fill x 1\na: fork b\n";
	struct scenario_options options;
	struct diagnostics diagnostics;
	uint64_t nr_failed = 0;

	(void)state;
	scenario_options_init(&options);
	options.observe = keep;
	assert_int_equal(scenario_parse_text("t.scn", text, strlen(text), &diagnostics, &scenario), 0);
	for (uint64_t i = 1;; i++) {
		int err;

		options.fail_own_allocation = i;
		nr_seen = 0;
		err = scenario_run(scenario, &options, &result);
		if (err) {
			assert_int_equal(err, -ENOMEM);
			continue;
		}
		if (result->verdict == SCENARIO_HELD)
			break;
		nr_failed++;
		assert_int_equal(result->verdict, SCENARIO_ERROR);
		scenario_result_destroy(result);
		result = NULL;
	}
	/* The observer, and the growth of its texts. */
	assert_true(nr_failed >= 4);
	assert_int_equal(nr_seen, 4);
}

/* ---- Comparing ---------------------------------------------------------------------------- */

static void test_agreement(void **state)
{
	(void)state;
	assert_true(observed_agree("3", "3"));
	assert_false(observed_agree("3", "4"));
	assert_false(observed_agree("3", "33"));
	assert_true(observed_agree("?", "present anon f1 0x01"));
	assert_true(observed_agree("present ? f1 0x01", "present ksm f1 0x01"));
	assert_true(observed_agree("present ksm f1 ?", "present ? f1 0x01"));
	assert_false(observed_agree("present ? f1 0x01", "present ksm f2 0x01"));
	assert_false(observed_agree("present ? f1 0x01", "absent"));
	assert_false(observed_agree("present ksm f1", "present ksm f1 0x01"));
	assert_false(observed_agree("? ?", "absent"));
}

static void make(struct observation *o, const char *const (*list)[2], unsigned int nr)
{
	assert_int_equal(observation_begin(o, 1, 1, "scan 1"), 0);
	for (unsigned int i = 0; i < nr; i++)
		assert_int_equal(observation_add(o, list[i][0], list[i][1]), 0);
}

static void test_differences(void **state)
{
	static const char *const left[][2] = { { "outcome", "0" }, { "a", "1" }, { "b", "2" }, { "c", "?" } };
	static const char *const right[][2] = { { "outcome", "0" }, { "b", "3" }, { "c", "4" }, { "d", "5" } };
	struct observation_difference d;
	uint32_t at = 0;

	(void)state;
	make(&seen[0], left, 4);
	make(&seen[1], right, 4);
	assert_true(observation_differs(&seen[0], &seen[1], &at, &d));
	assert_string_equal(d.key, "a");
	assert_string_equal(d.a, "1");
	assert_null(d.b);
	assert_true(observation_differs(&seen[0], &seen[1], &at, &d));
	assert_string_equal(d.key, "b");
	assert_string_equal(d.a, "2");
	assert_string_equal(d.b, "3");
	assert_true(observation_differs(&seen[0], &seen[1], &at, &d));
	assert_string_equal(d.key, "d");
	assert_null(d.a);
	assert_string_equal(d.b, "5");
	assert_false(observation_differs(&seen[0], &seen[1], &at, &d));
	/* A brief one says nothing of what it does not have. */
	seen[1].brief = true;
	at = 0;
	assert_true(observation_differs(&seen[0], &seen[1], &at, &d));
	assert_string_equal(d.key, "b");
	assert_false(observation_differs(&seen[0], &seen[1], &at, &d));
}

static void test_changes(void **state)
{
	static const char *const before[][2] = { { "a", "1" }, { "b", "?" }, { "c", "3" } };
	static const char *const after[][2] = { { "a", "1" }, { "b", "2" }, { "d", "4" } };
	struct observation_difference d;
	uint32_t at = 0;

	(void)state;
	make(&seen[0], before, 3);
	make(&seen[1], after, 3);
	assert_true(observation_changed(&seen[0], &seen[1], &at, &d));
	assert_string_equal(d.key, "b");
	assert_true(observation_changed(&seen[0], &seen[1], &at, &d));
	assert_string_equal(d.key, "d");
	assert_null(d.a);
	assert_false(observation_changed(&seen[0], &seen[1], &at, &d));
}

static void test_set(void **state)
{
	static const char *const list[][2] = { { "a", "1" }, { "b", "2" } };

	(void)state;
	make(&seen[0], list, 2);
	assert_int_equal(observation_set(&seen[0], "a", "longer than that"), 0);
	assert_int_equal(observation_set(&seen[0], "b", ""), 0);
	assert_int_equal(observation_set(&seen[0], "c", "new"), 0);
	assert_int_equal(seen[0].nr, 3);
	assert_string_equal(observation_find(&seen[0], "a"), "longer than that");
	assert_string_equal(observation_find(&seen[0], "b"), "");
	assert_string_equal(observation_find(&seen[0], "c"), "new");
}

/* ---- As lines ------------------------------------------------------------------------------ */

static bool write_lines(void *arg, const struct observation *o)
{
	assert_int_equal(observe_write(arg, o), 0);
	return keep(NULL, o);
}

/* Runs it, and *text is what was written. */
static void run_lines(const char *scenario_text, char **text)
{
	struct scenario_options options;
	struct diagnostics diagnostics;
	struct observe_writer writer;
	size_t size;
	FILE *out = open_memstream(text, &size);

	assert_non_null(out);
	observe_writer_init(&writer, &mem, out);
	scenario_options_init(&options);
	options.observe = write_lines;
	options.observe_arg = &writer;
	assert_int_equal(scenario_parse_text("t.scn", scenario_text, strlen(scenario_text), &diagnostics,
					     &scenario), 0);
	assert_int_equal(scenario_run(scenario, &options, &result), 0);
	observe_writer_destroy(&writer);
	assert_int_equal(fclose(out), 0);
}

static const char forks[] = "process a\na: map x 3\na: fill x 5\na: madvise x mergeable\nscan 2\n"
			    "a: fork b\nb: fill x[1] 6\na: exit\nprocess a\na: map y 1\nb: munmap x[0]\n";

static void test_lines_there_and_back(void **state)
{
	struct observation_difference d;
	struct observe_reader reader;
	uint32_t at;
	char *text;

	(void)state;
	run_lines(forks, &text);
	assert_memory_equal(text, "@ 1 1 full process a\n= outcome 0\n", 33);
	observe_reader_init(&reader, &mem, text);
	for (unsigned int i = 0; i < nr_seen; i++) {
		assert_int_equal(observe_read(&reader), 1);
		assert_int_equal(reader.now->operation, seen[i].operation);
		assert_int_equal(reader.now->line, seen[i].line);
		assert_string_equal(observation_text(reader.now), observation_text(&seen[i]));
		at = 0;
		assert_false(observation_differs(reader.now, &seen[i], &at, &d));
		assert_int_equal(reader.now->nr, seen[i].nr);
	}
	assert_int_equal(observe_read(&reader), 0);
	assert_string_equal(reader.at, "");
	observe_reader_destroy(&reader);
	free(text);
}

/* Whoever wrote it died: what has no end is not read. */
static void test_lines_cut_off(void **state)
{
	char *text;

	(void)state;
	run_lines(forks, &text);
	for (size_t length = strlen(text); length--;) {
		struct observe_reader reader;
		unsigned int nr = 0;
		char *copy = strndup(text, length);

		assert_non_null(copy);
		observe_reader_init(&reader, &mem, copy);
		while (observe_read(&reader) == 1)
			nr++;
		assert_true(nr < nr_seen);
		assert_true(*reader.at == '@' || !*reader.at);
		observe_reader_destroy(&reader);
		free(copy);
	}
	free(text);
}

static void test_lines_that_are_none(void **state)
{
	static const char *const wrong[] = {
		"@ 1 full process a\n;\n", "@ 1 2 half process a\n;\n", "@ x 2 full y\n;\n",
		"@ 1 2 full y\n= key\n;\n", "@ 1 2 full y\nkey value\n;\n", "@ 1 2 full y\n\n;\n",
	};
	struct observe_reader reader;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		char *copy = strdup(wrong[i]);

		observe_reader_init(&reader, &mem, copy);
		assert_int_equal(observe_read(&reader), -EPROTO);
		observe_reader_destroy(&reader);
		free(copy);
	}
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_operations_not_expectations), T(test_outcomes), T(test_states_of_pages), T(test_frames),
		T(test_nodes_where_there_are_several), T(test_processes_come_and_go), T(test_flags_of_vmas),
		T(test_limit_of_pages), T(test_limit_of_processes), T(test_observer_ends_the_run), T(test_no_memory),
		T(test_agreement), T(test_differences), T(test_changes), T(test_set),
		T(test_lines_there_and_back), T(test_lines_cut_off), T(test_lines_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
