/* SPDX-License-Identifier: GPL-2.0-only */
/* The validators' report: lines in order, the first ones kept, all counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

static void test_lines(void **state)
{
	struct report report;

	(void)state;
	report_init(&report);
	assert_int_equal(report.nr_findings, 0);
	assert_string_equal(report.text, "");
	REPORT_UNLESS(&report, 1 + 1 == 2, "arithmetic is wrong");
	assert_int_equal(report.nr_findings, 0);
	REPORT_UNLESS(&report, 1 + 1 == 3, "frame %d: mapcount %d", 7, -1);
	report_add(&report, "%s", "second");
	assert_int_equal(report.nr_findings, 2);
	assert_string_equal(report.text, "frame 7: mapcount -1\nsecond\n");
	report_init(&report);
	assert_string_equal(report.text, "");
}

static void test_many_findings_are_counted(void **state)
{
	struct report report;
	char first[32];

	(void)state;
	report_init(&report);
	for (int i = 0; i < 100000; i++)
		report_add(&report, "finding %d", i);
	assert_int_equal(report.nr_findings, 100000);
	assert_true(strlen(report.text) < sizeof(report.text));
	assert_true(strlen(report.text) > sizeof(report.text) - 256);
	assert_int_equal(report.text[strlen(report.text) - 1], '\n');
	snprintf(first, sizeof(first), "finding %d\n", 0);
	assert_memory_equal(report.text, first, strlen(first));
}

static void test_long_finding_is_cut(void **state)
{
	static char line[10000];
	struct report report;

	(void)state;
	memset(line, 'a', sizeof(line) - 1);
	/* From every fill level, so that each way to reach the end occurs. */
	for (int filled = 0; filled < 4200; filled += 37) {
		report_init(&report);
		report_add(&report, "%.*s", filled, line);
		report_add(&report, "%s", line);
		report_add(&report, "%s", line);
		assert_int_equal(report.nr_findings, 3);
		assert_true(strlen(report.text) < sizeof(report.text));
		assert_int_equal(report.text[strlen(report.text) - 1], '\n');
		assert_int_equal(report.used, strlen(report.text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_many_findings_are_counted),
		cmocka_unit_test(test_long_finding_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
