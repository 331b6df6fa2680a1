/* SPDX-License-Identifier: GPL-2.0-only */
/* Edit distance and the nearest word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "suggest.h"

static unsigned int distance(const char *a, const char *b)
{
	return edit_distance(a, strlen(a), b, strlen(b));
}

static void test_distance(void **state)
{
	(void)state;
	assert_int_equal(distance("", ""), 0);
	assert_int_equal(distance("fill", "fill"), 0);
	assert_int_equal(distance("fil", "fill"), 1);
	assert_int_equal(distance("filll", "fill"), 1);
	assert_int_equal(distance("ffll", "fill"), 1);
	assert_int_equal(distance("flil", "fill"), 1);
	assert_int_equal(distance("kitten", "sitting"), 3);
	assert_int_equal(distance("", "abc"), 3);
	assert_int_equal(distance("abc", ""), 3);
}

static const char *nearest(const char *word)
{
	static const char *const words[] = { "madvise", "mprotect", "map", "munmap", "mlock", "munlock" };
	struct suggestion s;

	suggest_init(&s, word, strlen(word));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		suggest_consider(&s, words[i]);
	return s.best;
}

static void test_nearest(void **state)
{
	(void)state;
	assert_string_equal(nearest("madvice"), "madvise");
	assert_string_equal(nearest("mporotect"), "mprotect");
	assert_string_equal(nearest("munlok"), "munlock");
	assert_string_equal(nearest("mmap"), "map");
	assert_null(nearest("xyzzy"));
	assert_null(nearest("a"));
	assert_null(nearest(""));
}

/* Longer than any word of ours: compared by its beginning, and near to none. */
static void test_long_word(void **state)
{
	char word[5000];

	(void)state;
	memset(word, 'm', sizeof(word));
	word[sizeof(word) - 1] = '\0';
	assert_true(distance(word, "map") >= 40);
	assert_true(distance(word, word) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_long_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
