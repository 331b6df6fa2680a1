/* SPDX-License-Identifier: GPL-2.0-only */
/* Other programs: what they say, how they fail, and that a stop ends them. */
#include "lab_fixture.h"

#include <errno.h>
#include <signal.h>

#include "clock.h"
#include "tool.h"

static void test_output(void **state)
{
	static const char *const argv[] = {"bash", "-c",
					   "pwd; echo lost >&2; seq 20000 | tail -n 1", NULL};
	struct lab_fixture *f = *state;
	char expected[128];
	struct text out;

	text_init(&out, &f->mem);
	assert_int_equal(tool_run(&f->lab, argv, f->dir, &out), 0);
	snprintf(expected, sizeof(expected), "%s\n20000\n", f->dir);
	assert_string_equal(out.data, expected);
	text_destroy(&out);
}

static void test_failures(void **state)
{
	static const struct {
		const char *script, *msg;
	} cases[] = {
		{"echo first >&2; echo last words >&2; exit 3", "bash failed: last words"},
		{"echo 'E: the cause' >&2; echo 'E: advice' >&2; exit 100",
		 "bash failed: the cause"},
		{"exit 1", "bash failed"},
		{"kill -9 $$", "bash failed"},
	};
	struct lab_fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const argv[] = {"bash", "-c", cases[i].script, NULL};

		assert_int_equal(tool_run(&f->lab, argv, NULL, NULL), -EIO);
		assert_string_equal(f->lab.msg, cases[i].msg);
	}
}

static void test_missing(void **state)
{
	static const char *const argv[] = {"no-such-tool-of-ours", NULL};
	struct lab_fixture *f = *state;
	char path[PATH_MAX];

	assert_int_equal(tool_run(&f->lab, argv, NULL, NULL), -ENOENT);
	assert_int_equal(tool_require(&f->lab, argv[0], "its-package", path, sizeof(path)),
			 -ENOENT);
	assert_string_equal(f->lab.msg,
			    "no-such-tool-of-ours is not installed; Debian has it in the "
			    "package its-package");
}

static bool at_once(void)
{
	return true;
}

static void test_stopped(void **state)
{
	static const char *const argv[] = {"bash", "-c", "sleep 60 & sleep 60", NULL};
	struct lab_fixture *f = *state;
	uint64_t start = clock_measure_ns();

	f->lab.stop = at_once;
	assert_int_equal(tool_run(&f->lab, argv, NULL, NULL), -EINTR);
	assert_true(clock_measure_ns() - start < UINT64_C(20000000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAB_TEST(test_output),
		LAB_TEST(test_failures),
		LAB_TEST(test_missing),
		LAB_TEST(test_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
