/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events: the table is one that the formatter and the emitter can serve, lines
 * look like the kernel's trace lines, and a short buffer is never overrun.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "event.h"

static void test_table(void **state)
{
	(void)state;
	for (int id = 0; id < NR_EVENTS; id++) {
		const char *args = event_table[id].args;
		int nr = *args != '\0';

		assert_true(strlen(event_table[id].name) > 0);
		assert_null(strchr(event_table[id].name, ' '));
		assert_null(strstr(args, "  "));
		for (const char *c = args; *c; c++)
			nr += *c == ' ';
		assert_in_range(nr, 0, EVENT_MAX_ARGS);
		for (int other = 0; other < id; other++)
			assert_string_not_equal(event_table[id].name, event_table[other].name);
	}
}

static void test_format(void **state)
{
	const uint64_t enter[EVENT_MAX_ARGS] = { 12 };
	const uint64_t merge[EVENT_MAX_ARGS] = { 7, 9, 0x7f0000001000, 3, (uint64_t)-14 };
	char buf[256];

	(void)state;
	assert_ptr_equal(event_format(buf, sizeof(buf), EV_ksm_enter, enter), buf);
	assert_string_equal(buf, "ksm_enter: mm=12");
	event_format(buf, sizeof(buf), EV_ksm_merge_with_ksm_page, merge);
	assert_string_equal(buf, "ksm_merge_with_ksm_page: ksm_pfn=7 pfn=9 addr=0x7f0000001000 mm=3 err=-14");
}

/* Every length of buffer yields the beginning of the line, terminated. */
static void test_format_short_buffer(void **state)
{
	const uint64_t args[EVENT_MAX_ARGS] = { UINT64_MAX, 2, 3, 4, 5, 6 };
	char whole[512], buf[512];

	(void)state;
	for (int id = 0; id < NR_EVENTS; id++) {
		event_format(whole, sizeof(whole), (enum event_id)id, args);
		for (size_t size = 1; size <= strlen(whole) + 2; size++) {
			memset(buf, 'x', sizeof(buf));
			event_format(buf, size, (enum event_id)id, args);
			assert_int_equal(strlen(buf), MIN(size - 1, strlen(whole)));
			assert_memory_equal(buf, whole, strlen(buf));
			assert_int_equal(buf[size], 'x');
		}
	}
}

struct heard {
	int nr;
	enum event_id id;
	uint64_t args[EVENT_MAX_ARGS];
};

static void listen(void *arg, enum event_id id, const uint64_t *args)
{
	struct heard *heard = arg;

	heard->nr++;
	heard->id = id;
	memcpy(heard->args, args, sizeof(heard->args));
}

static void test_emit(void **state)
{
	struct heard heard = { 0 };
	struct events events = { NULL, NULL };
	uint64_t counted = 0;

	(void)state;
	event_emit(&events, EV_fork, ++counted, 2);
	/* Arguments cost nothing while nobody listens. */
	assert_int_equal(counted, 0);
	events = (struct events){ listen, &heard };
	event_emit(&events, EV_vma_split, ++counted, 2, 3);
	assert_int_equal(counted, 1);
	assert_int_equal(heard.nr, 1);
	assert_int_equal(heard.id, EV_vma_split);
	assert_int_equal(heard.args[0], 1);
	assert_int_equal(heard.args[2], 3);
	assert_int_equal(heard.args[5], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_format_short_buffer),
		cmocka_unit_test(test_emit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
