/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that stay open: they say what is now, and results are those of files that are opened each time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kept_file.h"

static char dir[200];

static int set_up(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "%s/samepage-kept-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : P_tmpdir);
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(dir);
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_says_what_is(void **state)
{
	struct kept_files files = { .nr = 0 };
	char path[256], text[64];
	int64_t value;

	(void)state;
	snprintf(path, sizeof(path), "%s/a", dir);
	assert_int_equal(kept_read(&files, path, text, sizeof(text)), -ENOENT);
	put(path, "12\n");
	assert_int_equal(kept_value(&files, path, &value), 0);
	assert_int_equal(value, 12);
	put(path, "-345\n");
	assert_int_equal(kept_value(&files, path, &value), 0);
	assert_int_equal(value, -345);
	put(path, "one\ntwo\n");
	assert_int_equal(kept_read(&files, path, text, sizeof(text)), 0);
	assert_string_equal(text, "one\ntwo");
	assert_int_equal(kept_value(&files, path, &value), -EINVAL);
	put(path, "");
	assert_int_equal(kept_read(&files, path, text, sizeof(text)), 0);
	assert_string_equal(text, "");
	put(path, "twelve letters and more\n");
	assert_int_equal(kept_read(&files, path, text, 10), -EFBIG);
	assert_int_equal(kept_write(&files, path, "77"), 0);
	assert_int_equal(kept_read(&files, path, text, sizeof(text)), 0);
	assert_true(!strncmp(text, "77\n", 3));
	assert_int_equal(files.nr, 1);
	kept_files_close(&files);
	assert_int_equal(files.nr, 0);
	unlink(path);
}

/* More than there is room for. */
static void test_many(void **state)
{
	struct kept_files files = { .nr = 0 };
	char path[256];
	int64_t value;

	(void)state;
	for (int i = 0; i < KEPT_FILES_MAX + 5; i++) {
		char text[16];

		snprintf(path, sizeof(path), "%s/%d", dir, i);
		snprintf(text, sizeof(text), "%d\n", i * 3);
		put(path, text);
		assert_int_equal(kept_value(&files, path, &value), 0);
		assert_int_equal(value, i * 3);
	}
	assert_int_equal(files.nr, KEPT_FILES_MAX);
	for (int i = 0; i < KEPT_FILES_MAX + 5; i++) {
		snprintf(path, sizeof(path), "%s/%d", dir, i);
		assert_int_equal(kept_value(&files, path, &value), 0);
		assert_int_equal(value, i * 3);
		assert_int_equal(kept_write(&files, path, "1"), 0);
		unlink(path);
	}
	kept_files_close(&files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_says_what_is),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
