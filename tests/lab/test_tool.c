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

/* It may put away what is half done, and so may what it started. */
static void test_asked_first(void **state)
{
	struct lab_fixture *f = *state;
	const char *const argv[] = {"bash", "-c",
				    "trap 'echo put away > put; kill $!; exit 1' TERM; "
				    "sleep 60 & wait",
				    NULL};
	char path[128];

	f->lab.stop = at_once;
	/* Stopped at once it may be too early for its trap. */
	for (int tries = 0; tries < 20; tries++) {
		assert_int_equal(tool_run(&f->lab, argv, f->dir, NULL), -EINTR);
		snprintf(path, sizeof(path), "%s/put", f->dir);
		if (!access(path, R_OK))
			return;
	}
	fail();
}

static void on_more(void *arg, const struct text *out)
{
	size_t *most = arg;

	assert_true(out->bytes > *most);
	*most = out->bytes;
}

static void test_heard(void **state)
{
	static const char *const argv[] = {"bash", "-c", "echo one; echo wrong >&2; echo two; exit 1",
					   NULL};
	struct lab_fixture *f = *state;
	struct text out, said;
	size_t most = 0;

	text_init(&out, &f->mem);
	text_init(&said, &f->mem);
	assert_int_equal(tool_hear(&f->lab, argv, NULL,
				   &(struct tool_ears){&out, &said, on_more, &most}),
			 -EIO);
	assert_string_equal(text_string(&out), "one\ntwo\n");
	assert_string_equal(text_string(&said), "wrong\n");
	assert_int_equal(most, out.bytes);
	assert_string_equal(f->lab.msg, "bash failed: wrong");
	text_destroy(&out);
	text_destroy(&said);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAB_TEST(test_output),
		LAB_TEST(test_failures),
		LAB_TEST(test_missing),
		LAB_TEST(test_stopped),
		LAB_TEST(test_asked_first),
		LAB_TEST(test_heard),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
