/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trace of ksmd, event by event, under the kernel's tracepoint names (K42).
 */
#include "ksm_fixture.h"

static char trace[65536];

static void listen(void *arg, enum event_id id, const uint64_t *args)
{
	size_t used = strlen(trace);
	char line[256];

	(void)arg;
	if (id > EV_ksm_advisor)
		return;
	snprintf(trace + used, sizeof(trace) - used, "%s\n",
		 event_format(line, sizeof(line), id, args));
}

/* The trace since the last call has these lines, in this order, each with those words. */
static void expect_trace(const char *const *words, size_t nr)
{
	char *line = strtok(trace, "\n");

	for (size_t i = 0; i < nr; i++, line = strtok(NULL, "\n")) {
		if (!line)
			fail_msg("no more events, expected: %s", words[i]);
		if (!strstr(line, words[i]))
			fail_msg("expected %s, got: %s", words[i], line);
	}
	if (line)
		fail_msg("unexpected: %s", line);
	trace[0] = '\0';
}
#define EXPECT_TRACE(...)                                  \
	expect_trace((const char *const[]){ __VA_ARGS__ }, \
		     ARRAY_SIZE(((const char *const[]){ __VA_ARGS__ })))

static void a_life(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a;

	trace[0] = '\0';
	f->vm.events.fn = listen;
	a = map_mergeable(mm, 3, 0x77);
	EXPECT_TRACE("ksm_enter: mm=1");
	scan(f, 1);
	EXPECT_TRACE("ksm_start_scan: seq=0 rmap_entries=0", "ksm_stop_scan: seq=0 rmap_entries=3");
	scan(f, 1);
	EXPECT_TRACE("ksm_start_scan: seq=1 rmap_entries=3",
		     "ksm_merge_with_ksm_page:", "ksm_merge_with_ksm_page:",
		     "ksm_merge_with_ksm_page:", "ksm_stop_scan: seq=1 rmap_entries=3");
	/*
	 * Unmapped: the node goes with its items, of which the first in line is told of by the
	 * node alone.
	 */
	unmap(mm, a, 3);
	(void)map_mergeable(mm, 1, 1);
	scan(f, 1);
	EXPECT_TRACE("ksm_start_scan: seq=2", "ksm_remove_rmap_item:", "ksm_remove_rmap_item:",
		     "ksm_remove_ksm_page:", "ksm_stop_scan: seq=2 rmap_entries=1");
	mm_exit(mm);
	EXPECT_TRACE("ksm_exit: mm=1");
	scan(f, 1);
	f->vm.events.fn = NULL;
	EXPECT_TRACE("ksm_start_scan: seq=3 rmap_entries=1", "ksm_stop_scan: seq=3 rmap_entries=0");
}

static void zero_pages_have_their_own(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);

	map_mergeable(mm, 1, 0);
	knob(f, "use_zero_pages", "1");
	scan(f, 1);
	trace[0] = '\0';
	f->vm.events.fn = listen;
	scan(f, 1);
	f->vm.events.fn = NULL;
	EXPECT_TRACE("ksm_start_scan:", "ksm_merge_one_page: pfn=0", "ksm_stop_scan:");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KSM_TEST(a_life),
		KSM_TEST(zero_pages_have_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
