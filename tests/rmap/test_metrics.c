/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The metrics of walks: a loop counted twice and a walk folded into totals give sums and maxima
 * that can be worked out by hand, and the identity of R5 holds for them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "metrics.h"

static const struct walk_loop long_loop = {
	.iterations = 22169,
	.out_of_range = 22168,
	.calls = 1,
	.hold_ns = 900,
};
static const struct walk_loop fork_loop = {
	.iterations = 3,
	.mm_mismatch = 1,
	.invalid = 1,
	.calls = 1,
	.hold_ns = 1000,
};

static void check_identity(const struct sp_walk_metrics *m)
{
	assert_int_equal(m->all.nr_iteration_total, m->all.skip_addr_out_of_range + m->all.skip_mm_mismatch +
							m->all.skip_invalid_vma + m->all.nr_rmap_one);
}

static void test_loop(void **state)
{
	struct sp_walk_metrics m = {0};

	(void)state;
	walk_metrics_add_loop(&m, 0, &long_loop);
	walk_metrics_add_loop(&m, 1, &fork_loop);
	walk_metrics_add_walk(&m, 5000);
	assert_int_equal(m.all.nr_loops, 2);
	assert_int_equal(m.nr_walks, 1);
	assert_int_equal(m.all.nr_iteration_total, 22172);
	assert_int_equal(m.all.nr_iteration_max, 22169);
	assert_int_equal(m.all.skip_addr_out_of_range_max, 22168);
	assert_int_equal(m.all.skip_mm_mismatch_max, 1);
	assert_int_equal(m.all.hold_ns_max, 1000);
	assert_int_equal(m.all.hold_ns_sum, 1900);
	assert_int_equal(m.walk_ns_max, 5000);
	assert_int_equal(m.pass[0].nr_iteration_total, 22169);
	assert_int_equal(m.pass[0].skip_mm_mismatch, 0);
	assert_int_equal(m.pass[0].hold_ns_max, 900);
	assert_int_equal(m.pass[1].nr_iteration_max, 3);
	assert_int_equal(m.pass[1].skip_invalid_vma, 1);
	check_identity(&m);
}

static void test_fold(void **state)
{
	struct sp_walk_metrics total = {0}, part = {0};

	(void)state;
	walk_metrics_add_loop(&part, 0, &long_loop);
	walk_metrics_add_walk(&part, 100);
	part.reached = 2;
	part.reachable = 3;
	part.nr_fallback = 1;
	walk_metrics_fold(&total, &part);
	walk_metrics_add_loop(&part, 1, &fork_loop);
	walk_metrics_fold(&total, &part);
	assert_int_equal(total.all.nr_loops, 3);
	assert_int_equal(total.all.nr_iteration_total, 2 * 22169 + 3);
	assert_int_equal(total.all.nr_iteration_max, 22169);
	assert_int_equal(total.pass[0].nr_loops, 2);
	assert_int_equal(total.pass[1].nr_loops, 1);
	assert_int_equal(total.reached, 4);
	assert_int_equal(total.reachable, 6);
	assert_int_equal(total.nr_fallback, 2);
	assert_int_equal(total.walk_ns_sum, 200);
	check_identity(&total);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_fold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
