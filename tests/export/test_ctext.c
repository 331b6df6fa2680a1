/* SPDX-License-Identifier: GPL-2.0-only */
/* C text: what is written is C, whatever it is made of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "ctext.h"

static struct mem mem;
static struct ctext text;

static int setup(void **state)
{
	(void)state;
	mem_init(&mem);
	ctext_init(&text, &mem);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ctext_destroy(&text);
	return mem.nr_live != 0;
}

static void literal(const char *data, const char *expected)
{
	ctext_clear(&text);
	ctext_put_literal(&text, data, strlen(data));
	assert_string_equal(ctext_string(&text), expected);
}

static void test_literal(void **state)
{
	(void)state;
	literal("", "\"\"");
	literal("a \"b\" \\c", "\"a \\\"b\\\" \\\\c\"");
	literal("what?\?=", "\"what?\\?=\"");
	literal("tab\there\n", "\"tab\\011here\\012\"");
	literal("50 %d", "\"50 %d\"");
}

static void comment(const char *data, const char *expected)
{
	ctext_clear(&text);
	ctext_put_comment(&text, data, strlen(data));
	assert_string_equal(ctext_string(&text), expected);
}

static void test_comment(void **state)
{
	(void)state;
	comment("plain\ttext", "plain\ttext");
	comment("ends */ here", "ends * / here");
	comment("/* begins", "/ * begins");
	comment("*/*/", "* / * /");
	comment("a\x01z", "a z");
}

/* No line is longer than 100 columns where it can be broken, and nothing but blanks is lost. */
static void test_code(void **state)
{
	static const char code[] =
		"must(sys(a, SYS_mmap, x + 12 * PAGE, 1234 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | "
		"MAP_ANONYMOUS | MAP_FIXED, \"a, b, c, a string that is long and is never broken, not even "
		"here, where it is too long\", -1, 0));";
	char joined[sizeof(code)] = "";
	unsigned int lines = 0;
	const char *at;

	(void)state;
	ctext_put_code(&text, 1, code);
	for (at = ctext_string(&text); *at; lines++) {
		size_t length = strcspn(at, "\n"), tabs = strspn(at, "\t");

		assert_int_equal(tabs, lines ? 3 : 1);
		if (!strchr(at, '"') || strchr(at, '"') > at + length)
			assert_true(length + 7 * tabs <= 100);
		strcat(strncat(joined, at + tabs, length - tabs), at[length + 1] ? " " : "");
		at += length + 1;
	}
	assert_true(lines > 2);
	assert_string_equal(joined, code);
}

static void test_identifiers(void **state)
{
	static const char code[] = "a->b.c = d(\"e f\", 'g', 0x1f, 12L); /* h */ i1 > _j; k-- > l;";
	static const char *const expected[] = {"a", "d", "i1", "_j", "k", "l"};
	const char *at = code, *name;
	size_t length;

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		length = ctext_next_identifier(&at, code + strlen(code), &name);
		assert_int_equal(length, strlen(expected[i]));
		assert_memory_equal(name, expected[i], length);
	}
	assert_int_equal(ctext_next_identifier(&at, code + strlen(code), &name), 0);
	/* What does not end, ends with the text. */
	at = "\"x\\";
	assert_int_equal(ctext_next_identifier(&at, at + 3, &name), 0);
	at = "/* x";
	assert_int_equal(ctext_next_identifier(&at, at + 4, &name), 0);
}

static void test_taken(void **state)
{
	(void)state;
	assert_true(ctext_is_taken("int", 3));
	assert_true(ctext_is_taken("linux", 5));
	assert_true(ctext_is_taken("EOF", 3));
	assert_true(ctext_is_taken("sa_handler", 10));
	assert_true(ctext_is_taken("_x", 2));
	assert_false(ctext_is_taken("x", 1));
	assert_false(ctext_is_taken("X", 1));
	assert_false(ctext_is_taken("integer", 7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_literal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_comment, setup, teardown),
		cmocka_unit_test_setup_teardown(test_code, setup, teardown),
		cmocka_unit_test_setup_teardown(test_identifiers, setup, teardown),
		cmocka_unit_test(test_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
