/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage diff's comparison without guests: the engine's own lines, changed as a kernel that does
 * otherwise would have written them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "diff.h"

static const char forked[] = "differs linux < 6.4 ksm_merging_pages ksm_rmap_items \"inherited by fork\"\n"
			     "process a\n"
			     "a: map x 2\n"
			     "a: madvise x mergeable\n"
			     "a: fill x 7\n"
			     "scan 2\n"
			     "a: fork b\n"
			     "b: fill x[0] 8\n";

static struct diff diff;
static struct diff_file file;

static int setup(void **state)
{
	(void)state;
	memset(&diff, 0, sizeof(diff));
	memset(&file, 0, sizeof(file));
	diff.files = &file;
	diff.nr_files = 1;
	diff.nr_sides = 3;
	diff.kernels.nr = 2;
	strcpy(diff.kernels.list[0].name, "6.1");
	strcpy(diff.kernels.list[1].name, "7.2");
	diff.versions[1] = LINUX_VERSION(6, 1);
	diff.versions[2] = LINUX_VERSION(7, 2);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	diff_file_destroy(&file, diff.nr_sides);
	return 0;
}

/* Both kernels say what the engine says. */
static void run(const char *text)
{
	struct diagnostics diagnostics;

	assert_int_equal(scenario_parse_text("t.scn", text, strlen(text), &diagnostics, &file.scenario), 0);
	file.path = "t.scn";
	assert_true(diff_run_engine(&file));
	assert_true(file.sides[0].ended);
	for (unsigned int side = 1; side < diff.nr_sides; side++) {
		struct diff_side *s = &file.sides[side];

		assert_true(asprintf(&s->text, "%s! t.scn:1: one\n! t.scn:2: two\n. 0 held\n",
				     file.sides[0].lines) > 0);
		diff_take_text(s);
		assert_true(s->ended);
		assert_string_equal(s->lines, file.sides[0].lines);
		assert_string_equal(s->failures, "! t.scn:1: one\n! t.scn:2: two\n");
		assert_string_equal(s->end, "held");
	}
}

/* The first `old` of a side becomes `new`, which is not longer. */
static void change(unsigned int side, const char *old, const char *new)
{
	char *at = strstr(file.sides[side].lines, old);
	size_t length = strlen(new);

	assert_non_null(at);
	assert_true(length <= strlen(old));
	memcpy(at, new, length);
	memmove(at + length, at + strlen(old), strlen(at + strlen(old)) + 1);
}

static void test_same(void **state)
{
	(void)state;
	run(forked);
	assert_true(diff_compare(&diff, &file));
	assert_int_equal(file.sides[1].verdict, DIFF_SAME);
	assert_int_equal(file.sides[2].verdict, DIFF_SAME);
	assert_int_equal(file.sides[2].nr_operations, 7);
	assert_null(file.first);
	assert_int_equal(diff_exit_status(&file.sides[2]), EXIT_HELD);
}

static void test_declared_and_not(void **state)
{
	(void)state;
	run(forked);
	change(1, "= b.ksm_merging_pages 0", "= b.ksm_merging_pages 2");
	change(2, "= b.ksm_merging_pages 0", "= b.ksm_merging_pages 2");
	assert_true(diff_compare(&diff, &file));
	assert_int_equal(file.sides[1].verdict, DIFF_DECLARED);
	assert_string_equal(file.sides[1].why, "inherited by fork");
	assert_int_equal(diff_exit_status(&file.sides[1]), EXIT_HELD);
	assert_int_equal(file.sides[2].verdict, DIFF_DIFFERS);
	assert_int_equal(diff_exit_status(&file.sides[2]), EXIT_NOT_HELD);
	assert_non_null(file.first);
	assert_int_equal(file.first->line, 7);
	assert_string_equal(file.first->text, "a: fork b");
	assert_int_equal(file.first->nr_rows, 1);
	assert_string_equal(file.first->rows[0].key, "b.ksm_merging_pages");
	assert_string_equal(file.first->rows[0].values[0], "0");
	assert_string_equal(file.first->rows[0].values[1], "2");
	assert_string_equal(file.first->rows[0].values[2], "2");
	assert_string_equal(file.first->rows[0].declared[1], "inherited by fork");
	assert_null(file.first->rows[0].declared[2]);
	/* It stays so at the operation that follows, which is no news. */
	assert_null(file.first->next);
	assert_int_equal(file.sides[2].nr_differing, 1);
}

/* Only the other side's value is asked for where one of them differs. */
static void test_side_by_side(void **state)
{
	(void)state;
	run(forked);
	change(2, "= pages_sharing 1", "= pages_sharing 9");
	assert_true(diff_compare(&diff, &file));
	assert_int_equal(file.first->line, 6);
	assert_string_equal(file.first->rows[0].values[0], "1");
	assert_string_equal(file.first->rows[0].values[1], "1");
	assert_string_equal(file.first->rows[0].values[2], "9");
	assert_false(file.first->rows[0].differs[1]);
	assert_true(file.first->rows[0].differs[2]);
	assert_int_equal(file.sides[1].verdict, DIFF_SAME);
}

static void test_not_shown_is_no_difference(void **state)
{
	(void)state;
	run(forked);
	change(1, "= pages_sharing 1", "= pages_sharing ?");
	change(1, "= a:x[0] present anon f1 0x07", "= a:x[0] present ? f1 ?");
	assert_true(diff_compare(&diff, &file));
	assert_int_equal(file.sides[1].verdict, DIFF_SAME);
}

/* The guest died in the middle: what came before is compared, and counts. */
static void test_dead_guest(void **state)
{
	char *at;

	(void)state;
	run(forked);
	change(1, "= pages_sharing 1", "= pages_sharing 9");
	for (unsigned int side = 1; side < 3; side++) {
		at = strstr(file.sides[side].lines, "@ 6 7 full a: fork b");
		assert_non_null(at);
		at[30] = '\0';
		file.sides[side].ended = false;
		file.sides[side].verdict = DIFF_DIED;
	}
	assert_true(diff_compare(&diff, &file));
	assert_int_equal(file.sides[1].verdict, DIFF_DIED);
	assert_int_equal(file.sides[1].nr_operations, 5);
	assert_int_equal(file.sides[1].nr_differing, 1);
	assert_string_equal(file.first->rows[0].key, "pages_sharing");
	assert_int_equal(file.sides[2].nr_differing, 0);
	assert_int_equal(diff_exit_status(&file.sides[2]), EXIT_GUEST);
}

static void test_skipped(void **state)
{
	static char cannot[] = "cannot run here: t.scn:7: the kernel backend cannot";

	(void)state;
	run(forked);
	*strstr(file.sides[1].lines, "@ 6 7") = '\0';
	file.sides[1].status = EXIT_SKIPPED;
	file.sides[1].end = cannot;
	assert_true(diff_compare(&diff, &file));
	assert_int_equal(file.sides[1].verdict, DIFF_SKIPPED);
	assert_string_equal(file.sides[1].why, cannot);
	assert_int_equal(diff_exit_status(&file.sides[1]), EXIT_SKIPPED);
}

/* An expectation on something that is not observed. */
static void test_failed_there_alone(void **state)
{
	(void)state;
	run(forked);
	file.sides[2].status = EXIT_NOT_HELD;
	assert_true(diff_compare(&diff, &file));
	assert_int_equal(file.sides[1].verdict, DIFF_SAME);
	assert_int_equal(file.sides[2].verdict, DIFF_DIFFERS);
	assert_null(file.first);
}

/* Where a loop's length came from a value that differed, the rest cannot be compared. */
static void test_other_operations(void **state)
{
	(void)state;
	run("process a\n"
	    "let n = pages_sharing + 2\n"
	    "for i in 1..n\n"
	    "a: map x{i} 1\n"
	    "end\n"
	    "a: map y 1\n");
	change(2, "@ 3 4 full a: map x{i} 1", "@ 3 6 full a: map y 1");
	assert_true(diff_compare(&diff, &file));
	assert_int_equal(file.sides[2].verdict, DIFF_DIFFERS);
	assert_string_equal(file.first->rows[0].key, "operation");
	assert_string_equal(file.first->rows[0].values[0], "a: map x{i} 1");
	assert_string_equal(file.first->rows[0].values[2], "a: map y 1");
	assert_int_equal(file.sides[2].nr_operations, 3);
	assert_int_equal(file.sides[1].nr_operations, 4);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_same), T(test_declared_and_not), T(test_side_by_side), T(test_not_shown_is_no_difference),
		T(test_dead_guest), T(test_skipped), T(test_failed_there_alone), T(test_other_operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
