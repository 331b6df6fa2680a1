/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files of /sys/kernel/mm/ksm: defaults, what they accept, what they refuse (K31, K35,
 * K40a, V16; scenario 5), and the advisor's arithmetic against values computed by hand (K41).
 */
#include "ksm_fixture.h"

static void expect_knob(struct fixture *f, const char *name, const char *value)
{
	char buf[64];

	assert_int_equal(ksm_knob_get(&f->vm, name, buf, sizeof(buf)), 0);
	assert_string_equal(buf, value);
}

static void defaults(void **state)
{
	static const struct {
		const char *name, *value;
	} known[] = {
		{ "run", "1" }, /* by the fixture */
		{ "pages_to_scan", "100" },
		{ "sleep_millisecs", "20" },
		{ "merge_across_nodes", "1" },
		{ "max_page_sharing", "256" },
		{ "stable_node_chains_prune_millisecs", "2000" },
		{ "use_zero_pages", "0" },
		{ "smart_scan", "1" },
		{ "advisor_mode", "[none] scan-time" },
		{ "advisor_max_cpu", "70" },
		{ "advisor_min_pages_to_scan", "500" },
		{ "advisor_max_pages_to_scan", "30000" },
		{ "advisor_target_scan_time", "200" },
		{ "merge_old_ptes", "0" },
	};
	struct fixture *f = *state;
	char buf[4];

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		expect_knob(f, known[i].name, known[i].value);
	for (unsigned int i = 0; i < ARRAY_SIZE(known); i++)
		assert_non_null(ksm_knob_name(i));
	assert_null(ksm_knob_name(ARRAY_SIZE(known)));
	assert_int_equal(ksm_knob_get(&f->vm, "nosuch", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(ksm_knob_set(&f->vm, "nosuch", "1"), -ENOENT);
	assert_int_equal(ksm_knob_set(&f->vm, "pages_shared", "1"), -EACCES);
	assert_int_equal(ksm_knob_get(&f->vm, "pages_to_scan", buf, 3), -ENOSPC);
	assert_int_equal(ksm_knob_get(&f->vm, "pages_to_scan", buf, 4), 0);
}

static void values(void **state)
{
	static const struct {
		const char *name, *value;
		int err;
		const char *after; /* NULL: unchanged */
	} cases[] = {
		{ "run", "3", -EINVAL, NULL },
		{ "run", "-1", -EINVAL, NULL },
		{ "run", "x", -EINVAL, NULL },
		{ "run", "", -EINVAL, NULL },
		{ "run", " 1", -EINVAL, NULL },
		{ "run", "1\n", 0, "1" },
		{ "run", "+0", 0, "0" },
		{ "run", "1\n\n", -EINVAL, NULL },
		{ "run", "4294967296", -EINVAL, NULL },
		{ "pages_to_scan", "4294967295", 0, "4294967295" },
		{ "pages_to_scan", "4294967296", -EINVAL, NULL },
		{ "pages_to_scan", "0x10", -EINVAL, NULL },
		{ "pages_to_scan", "0010", 0, "10" },
		{ "sleep_millisecs", "0", 0, "0" },
		{ "sleep_millisecs", "1.5", -EINVAL, NULL },
		{ "max_page_sharing", "1", -EINVAL, NULL },
		{ "max_page_sharing", "-5", -EINVAL, NULL },
		{ "max_page_sharing", "2147483647", 0, "2147483647" },
		{ "max_page_sharing", "2147483648", -ERANGE, NULL },
		{ "max_page_sharing", "-2147483649", -ERANGE, NULL },
		{ "max_page_sharing", "--3", -EINVAL, NULL },
		{ "max_page_sharing", "2", 0, "2" },
		{ "merge_across_nodes", "2", -EINVAL, NULL },
		{ "merge_across_nodes", "18446744073709551616", -ERANGE, NULL },
		{ "merge_across_nodes", "99999999999999999999x", -ERANGE, NULL },
		{ "merge_across_nodes", "0", 0, "0" },
		{ "use_zero_pages", "yes", 0, "1" },
		{ "use_zero_pages", "off", 0, "0" },
		{ "use_zero_pages", "On", 0, "1" },
		{ "use_zero_pages", "2", -EINVAL, NULL },
		{ "use_zero_pages", "o", -EINVAL, NULL },
		{ "use_zero_pages", "", -EINVAL, NULL },
		{ "smart_scan", "n", 0, "0" },
		{ "smart_scan", "t", 0, "1" },
		{ "advisor_mode", "scan_time", -EINVAL, NULL },
		{ "advisor_mode", "none\n", 0, "[none] scan-time" },
		{ "advisor_max_cpu", "4294967297", 0, "1" },
		{ "advisor_target_scan_time", "0", -EINVAL, NULL },
		{ "advisor_target_scan_time", "18446744073709551615", 0, "18446744073709551615" },
		{ "advisor_min_pages_to_scan", "-1", -EINVAL, NULL },
		{ "stable_node_chains_prune_millisecs", "0", 0, "0" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char before[64];

		assert_int_equal(ksm_knob_get(&f->vm, cases[i].name, before, sizeof(before)), 0);
		assert_int_equal(ksm_knob_set(&f->vm, cases[i].name, cases[i].value), cases[i].err);
		expect_knob(f, cases[i].name, cases[i].after ? cases[i].after : before);
	}
}

/* Scenario 5, V16. */
static void max_page_sharing_is_busy(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 2, 0x77);

	scan(f, 2);
	assert_int_equal(ksm_knob_set(&f->vm, "max_page_sharing", "100"), -EBUSY);
	assert_int_equal(ksm_knob_set(&f->vm, "max_page_sharing", "1"), -EINVAL);
	assert_int_equal(ksm_knob_set(&f->vm, "max_page_sharing", "256"), 0);
	/* The count goes with the items, the node with its page. */
	unmap(mm, a, 2);
	assert_int_equal(ksm_knob_set(&f->vm, "max_page_sharing", "100"), -EBUSY);
	scan(f, 1);
	knob(f, "max_page_sharing", "100");
}

static void counters_are_listed(void **state)
{
	struct fixture *f = *state;
	unsigned int i;
	int64_t value;

	for (i = 0; ksm_counter_name(i); i++)
		expect_counter(f, pages_shared, 0);
	assert_int_equal(i, 11);
	assert_int_equal(ksm_counter_get(&f->vm, "run", &value), -ENOENT);
	for (i = 0; ksm_mm_stat_name(i); i++)
		;
	assert_int_equal(i, 6);
}

/* run=2 cannot copy a page: -ENOMEM, run 0, and the pages that are left stay merged (K35). */
static void run_2_out_of_memory(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f), *other = new_mm(f);
	uint64_t a = map_mergeable(mm, 4, 0x77), u = map_mergeable(other, 2, -1);

	put(other, u, 1);
	put(other, PG(u, 1), 2);
	scan(f, 2);
	/* With pages of the other in the tree of a pass under way. */
	ksm_do_scan(&f->vm, 6);
	expect_counter(f, pages_unshared, 2);
	f->vm.mem.fail_at = f->vm.mem.nr_allocs + 3;
	assert_int_equal(ksm_knob_set(&f->vm, "run", "2"), -ENOMEM);
	expect_knob(f, "run", "0");
	fixture_validate(f);
	assert_false(ksm_at(mm, a) || ksm_at(mm, PG(a, 1)));
	assert_true(ksm_at(mm, PG(a, 2)) && ksm_at(mm, PG(a, 3)));
	knob(f, "run", "1");
	scan(f, 2);
	expect_stat(mm, ksm_merging_pages, 4);
}

/* ---- The clock and the advisor ---- */

static int64_t work_done(struct fixture *f)
{
	return counter(f, "pages_scanned") + counter(f, "full_scans");
}

static void time_is_simulated(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t begin;
	int64_t work;

	map_mergeable(mm, 1000, 0x77);
	knob(f, "pages_to_scan", "250");
	begin = clock_now_ms(&f->vm.clock);
	/* A batch is 1 ms of work and 20 ms of sleep; the pass ends in a fifth. */
	scan(f, 1);
	assert_int_equal(clock_now_ms(&f->vm.clock) - begin, 4 * 21);
	ksm_run_for_ms(&f->vm, 1000);
	assert_int_equal(clock_now_ms(&f->vm.clock) - begin, 4 * 21 + 1000);
	/* 20 ms rest of the sleep, then 1000 / 21 batches, each fifth of them without a page. */
	expect_counter(f, full_scans, 1 + 9);
	/* A sleep goes on from one call to the next; a new value ends it. */
	knob(f, "sleep_millisecs", "15");
	work = work_done(f);
	ksm_run_for_ms(&f->vm, 10);
	assert_true(work_done(f) > work);
	work = work_done(f);
	ksm_run_for_ms(&f->vm, 4);
	assert_true(work_done(f) == work);
	ksm_run_for_ms(&f->vm, 4);
	assert_true(work_done(f) > work);
}

static void nothing_to_do_lets_time_pass(void **state)
{
	struct fixture *f = *state;

	ksm_run_for_ms(&f->vm, 5000);
	assert_int_equal(clock_now_ms(&f->vm.clock), 5000);
	expect_counter(f, full_scans, 0);
}

/* The advisor sees a pass of that many seconds, in which ksmd worked that many ms. */
static void advise_after(struct fixture *f, uint64_t seconds, uint64_t cpu_ms)
{
	struct ksm *ksm = ksm_of(&f->vm);

	advisor_start_pass(ksm);
	clock_advance_ns(&f->vm.clock, seconds * 1000000000);
	ksm->cpu_ns += cpu_ms * 1000000;
	advisor_stop_pass(ksm);
}

/*
 * Start: 500 pages, no change yet.
 *
 *	s = 100, 10 s CPU: cpu 10, factor 200, change 30*100/100 = 30;
 *	         500*100/200 = 250, *30/100 = 75; a percent is 50 pages: 500..3500 -> 500
 *	s = 300, 30 s CPU: cpu 10, factor 66, change (70*30 + 30*300)/100 = 111;
 *	         500*100/66 = 757, *111/100 = 840; 50: 500..3500 -> 840
 *	s = 1000, 700 s CPU: cpu 70, factor 20, change (70*111 + 30*333)/100 = 177;
 *	         840*100/20 = 4200, *177/100 = 7434; 840/70 = 12: at most 840, at least 120 -> 840
 *	s = 2, no CPU: cpu 1, factor 10000, change (70*177 + 30*1)/100 = 124;
 *	         840*100/10000 = 8, *124/100 = 9; 840: at least 8400, at most 58800 -> 8400
 *	s = 0 counts as 1: factor 20000, change (70*124 + 30*50)/100 = 101; 84000.. -> 30000
 */
static void advisor_arithmetic(void **state)
{
	struct fixture *f = *state;

	knob(f, "advisor_mode", "scan-time");
	expect_knob(f, "advisor_mode", "none [scan-time]");
	expect_knob(f, "pages_to_scan", "500");
	assert_int_equal(ksm_knob_set(&f->vm, "pages_to_scan", "100"), -EINVAL);
	advise_after(f, 100, 10000);
	expect_knob(f, "pages_to_scan", "500");
	advise_after(f, 300, 30000);
	expect_knob(f, "pages_to_scan", "840");
	advise_after(f, 1000, 700000);
	expect_knob(f, "pages_to_scan", "840");
	advise_after(f, 2, 0);
	expect_knob(f, "pages_to_scan", "8400");
	advise_after(f, 0, 0);
	expect_knob(f, "pages_to_scan", "30000");
	/* The same mode again changes nothing, another starts anew. */
	knob(f, "advisor_mode", "scan-time");
	expect_knob(f, "pages_to_scan", "30000");
	knob(f, "advisor_mode", "none");
	expect_knob(f, "pages_to_scan", "100");
	knob(f, "advisor_min_pages_to_scan", "700");
	knob(f, "advisor_mode", "scan-time");
	expect_knob(f, "pages_to_scan", "700");
}

/*
 * In a running machine: a small process is scanned with ever fewer pages, down to what ten
 * percent of CPU are.
 */
static void the_advisor_works_at_the_end_of_a_pass(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	char buf[32];

	map_mergeable(mm, 1000, 0x77);
	knob(f, "advisor_mode", "scan-time");
	scan(f, 1);
	assert_int_equal(ksm_knob_get(&f->vm, "pages_to_scan", buf, sizeof(buf)), 0);
	/* s = 1, 4 ms CPU: cpu 1, 500 a percent, at least 5000. */
	assert_string_equal(buf, "5000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KSM_TEST(defaults),
		KSM_TEST(values),
		KSM_TEST(max_page_sharing_is_busy),
		KSM_TEST(counters_are_listed),
		KSM_TEST(run_2_out_of_memory),
		KSM_TEST(time_is_simulated),
		KSM_TEST(nothing_to_do_lets_time_pass),
		KSM_TEST(advisor_arithmetic),
		KSM_TEST(the_advisor_works_at_the_end_of_a_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
