/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The walk strategies at work, through the public calls: what each reaches, costs, and does to
 * migration and reclaim.
 *
 * Every case is built from few pages, so that each count can be worked out from R1 by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "bits.h"
#include "samepage.h"

#define BASE UINT64_C(0x200000000000)
#define RW   (SP_PROT_READ | SP_PROT_WRITE)

#define OK(call) assert_int_equal((call), 0)

static uint64_t at(unsigned int page)
{
	return BASE + page * SP_PAGE_SIZE;
}

static struct sp_machine *machine(enum sp_strategy strategy)
{
	struct sp_machine *m;
	struct sp_config config;

	sp_config_init(&config);
	config.strategy = strategy;
	OK(sp_machine_create(&config, &m));
	OK(sp_knob_set(m, "run", "1"));
	OK(sp_knob_set(m, "smart_scan", "0"));
	return m;
}

static struct sp_process *mergeable(struct sp_machine *m, unsigned int pages)
{
	struct sp_process *p;

	OK(sp_process_create(m, &p));
	OK(sp_mmap(p, BASE, pages * SP_PAGE_SIZE, RW, SP_MAP_PRIVATE | SP_MAP_FIXED, NULL, 0,
		   NULL));
	OK(sp_madvise(p, BASE, pages * SP_PAGE_SIZE, SP_MADV_MERGEABLE));
	return p;
}

static void valid(struct sp_machine *m)
{
	char text[4096] = "";

	if (sp_validate(m, text, sizeof(text)))
		fail_msg("%s", text);
}

static uint64_t pfn(struct sp_process *p, unsigned int page)
{
	struct sp_page_info info;

	OK(sp_page_info(p, at(page), &info));
	assert_int_equal(info.state, SP_PAGE_PRESENT);
	return info.pfn;
}

/* S3: pages 0 and 1 merged, 1 moved to 2, merged again. */
static struct sp_process *moved_and_merged(struct sp_machine *m)
{
	struct sp_process *p = mergeable(m, 3);

	OK(sp_fill(p, at(0), 2 * SP_PAGE_SIZE, 0x77));
	OK(sp_ksm_scan(m, 2));
	OK(sp_mremap(p, at(1), SP_PAGE_SIZE, SP_PAGE_SIZE, SP_MREMAP_MAYMOVE | SP_MREMAP_FIXED,
		     at(2), NULL));
	OK(sp_ksm_scan(m, 2));
	assert_int_equal(pfn(p, 0), pfn(p, 2));
	return p;
}

static void test_moved_walk(void **state)
{
	(void)state;
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++) {
		struct sp_machine *m = machine(s);
		struct sp_process *p = moved_and_merged(m);
		struct sp_walk_result r;

		OK(sp_walk(p, at(0), &r));
		assert_true(r.ksm);
		assert_int_equal(r.reachable, 2);
		assert_int_equal(r.reached_full, 2);
		assert_int_equal(r.reached, s == SP_STRATEGY_ADDRESS ? 1 : 2);
		/* Two items, two passes, and as much again for the fallback. */
		assert_int_equal(r.metrics.all.nr_loops, s == SP_STRATEGY_RETRY ? 8 : 4);
		assert_int_equal(r.metrics.nr_fallback, s == SP_STRATEGY_RETRY);
		if (s == SP_STRATEGY_ADDRESS) {
			assert_int_equal(r.nr_missed, 1);
			assert_int_equal(r.missed[0].addr, at(2));
			assert_int_equal(r.missed[0].linear_index, at(1) / SP_PAGE_SIZE);
			assert_false(r.missed[0].linux_misses);
		}
		valid(m);
		sp_machine_destroy(m);
	}
}

static void test_moved_migration(void **state)
{
	(void)state;
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++) {
		struct sp_machine *m = machine(s);
		struct sp_process *p = moved_and_merged(m);
		uint64_t before = pfn(p, 0), orphans = 0;
		struct sp_walk_metrics metrics;
		struct sp_page_info info;
		int err;

		sp_walk_metrics_reset(m);
		err = sp_migrate(p, at(0), -1, true);
		sp_walk_metrics_get(m, &metrics);
		if (s == SP_STRATEGY_ADDRESS) {
			/* Pinned: ten attempts of two walks (V1), nothing lost. */
			assert_int_equal(err, -EBUSY);
			assert_int_equal(metrics.nr_walks, 20);
			assert_int_equal(pfn(p, 0), before);
			assert_int_equal(pfn(p, 2), before);
		} else if (s == SP_STRATEGY_RETRY) {
			/* The restore walk finds enough too early (V2). */
			assert_int_equal(err, -EUCLEAN);
			orphans = 1;
			OK(sp_page_info(p, at(2), &info));
			assert_int_equal(info.state, SP_PAGE_MIGRATION);
			assert_int_equal(sp_touch(p, at(2), SP_PAGE_SIZE), -EDEADLK);
		} else {
			OK(err);
			assert_int_equal(metrics.nr_walks, 2);
			assert_int_not_equal(pfn(p, 0), before);
			assert_int_equal(pfn(p, 0), pfn(p, 2));
		}
		assert_int_equal(sp_orphan_entries(m), orphans);
		valid(m);
		sp_machine_destroy(m);
	}
}

/* The strategy may be changed at any time, by name. */
static void test_strategy_knob(void **state)
{
	struct sp_machine *m = machine(SP_STRATEGY_ADDRESS);
	struct sp_process *p = moved_and_merged(m);
	struct sp_walk_result r;
	char value[16], small[6];

	(void)state;
	OK(sp_walk(p, at(0), &r));
	assert_int_equal(r.reached, 1);
	assert_int_equal(sp_knob_set(m, "strategy", "narrow"), -EINVAL);
	OK(sp_knob_set(m, "strategy", "direct"));
	OK(sp_knob_get(m, "strategy", value, sizeof(value)));
	assert_string_equal(value, "direct");
	assert_int_equal(sp_knob_get(m, "strategy", small, sizeof(small)), -ENOSPC);
	OK(sp_walk(p, at(0), &r));
	assert_int_equal(r.reached, 2);
	assert_int_equal(sp_knob_set(m, "pages_shared", "1"), -EACCES);
	sp_machine_destroy(m);
}

/* R2, 33: the owner is found in pass 0, forks without items in pass 1. */
static void test_forks(void **state)
{
	(void)state;
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++) {
		struct sp_machine *m = machine(s);
		struct sp_process *p = mergeable(m, 2), *child;
		struct sp_walk_result r;
		bool direct = s == SP_STRATEGY_DIRECT;

		OK(sp_fill(p, at(0), 2 * SP_PAGE_SIZE, 0x77));
		OK(sp_ksm_scan(m, 2));
		for (int i = 0; i < 3; i++)
			OK(sp_process_fork(p, &child));
		OK(sp_walk(p, at(0), &r));
		assert_int_equal(r.reachable, 8);
		assert_int_equal(r.reached, 8);
		assert_int_equal(r.metrics.pass[0].nr_iteration_max, direct ? 1 : 4);
		assert_int_equal(r.metrics.pass[0].skip_mm_mismatch_max, direct ? 0 : 3);
		assert_int_equal(r.metrics.pass[0].nr_rmap_one, 2);
		assert_int_equal(r.metrics.pass[1].nr_iteration_max, 4);
		assert_int_equal(r.metrics.pass[1].skip_mm_mismatch_max, 1);
		assert_int_equal(r.metrics.pass[1].nr_rmap_one, 6);
		valid(m);
		sp_machine_destroy(m);
	}
}

/* V17: what a narrow walk may miss is remembered. */
static void test_direct_remembers(void **state)
{
	struct sp_machine *m = machine(SP_STRATEGY_DIRECT);
	struct sp_process *p = mergeable(m, 4);
	struct sp_walk_metrics metrics;
	struct sp_walk_result r;
	uint64_t hold;

	(void)state;
	/* Pages 0, 1 and 2 are merged and swapped out, kept in the swap cache by a reference. */
	OK(sp_fill(p, at(0), 3 * SP_PAGE_SIZE, 0x77));
	OK(sp_ksm_scan(m, 2));
	OK(sp_hold(p, at(0), &hold));
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(sp_swap_out(p, at(i)), 1);
	/* V6: page 1's entry moves onto page 2, whose item stands, and comes back there. */
	OK(sp_mremap(p, at(1), SP_PAGE_SIZE, SP_PAGE_SIZE, SP_MREMAP_MAYMOVE | SP_MREMAP_FIXED,
		     at(2), NULL));
	OK(sp_touch(p, at(2), SP_PAGE_SIZE));
	OK(sp_walk(p, at(2), &r));
	assert_int_equal(r.reachable, 1);
	assert_int_equal(r.reached, 1);
	assert_int_equal(r.reached_full, 1);
	/* The whole tree was walked: more than one VMA for each item. */
	assert_true(r.metrics.all.nr_iteration_max > 1);
	OK(sp_drop(m, hold));
	/* It goes on: the page was found by its VMA's index, not by that of the item, and munmap
	 * could take the VMA away. */
	OK(sp_migrate(p, at(2), -1, true));
	sp_walk_metrics_reset(m);
	OK(sp_migrate(p, at(2), -1, true));
	sp_walk_metrics_get(m, &metrics);
	assert_int_equal(metrics.nr_fallback, 0);
	assert_int_equal(metrics.pass[0].nr_iteration_max, 3);
	valid(m);
	sp_machine_destroy(m);
}

/* The mark that a swap-in leaves goes when a narrow walk has emptied the page. */
static void test_direct_forgets(void **state)
{
	struct sp_machine *m = machine(SP_STRATEGY_DIRECT);
	struct sp_process *p = mergeable(m, 2);
	struct sp_walk_metrics metrics;
	struct sp_walk_result r;
	uint64_t hold;

	(void)state;
	OK(sp_fill(p, at(0), 2 * SP_PAGE_SIZE, 0x77));
	OK(sp_ksm_scan(m, 2));
	/* Two VMAs, so that it shows which walk was made. */
	OK(sp_mprotect(p, at(1), SP_PAGE_SIZE, SP_PROT_READ));
	OK(sp_hold(p, at(0), &hold));
	assert_int_equal(sp_swap_out(p, at(0)), 1);
	OK(sp_touch(p, at(0), 2 * SP_PAGE_SIZE));
	OK(sp_drop(m, hold));
	OK(sp_walk(p, at(0), &r));
	assert_int_equal(r.reached, 2);
	assert_int_equal(r.metrics.all.nr_iteration_max, 2);
	OK(sp_migrate(p, at(0), -1, true));
	OK(sp_walk(p, at(0), &r));
	assert_int_equal(r.reached, 2);
	assert_int_equal(r.metrics.all.nr_iteration_max, 1);
	sp_walk_metrics_reset(m);
	OK(sp_migrate(p, at(0), -1, true));
	sp_walk_metrics_get(m, &metrics);
	assert_int_equal(metrics.nr_fallback, 0);
	assert_int_equal(metrics.all.nr_iteration_max, 1);
	valid(m);
	sp_machine_destroy(m);
}

/* mremap does not break pages of a VMA that is not mergeable; `direct` is told. */
static void test_direct_hears_of_moves(void **state)
{
	struct sp_machine *m = machine(SP_STRATEGY_DIRECT);
	struct sp_process *parent, *child, *other;
	struct sp_walk_result r;

	(void)state;
	/* K27: the child shares the parent's page and is not mergeable. */
	OK(sp_process_create(m, &parent));
	OK(sp_mmap(parent, BASE, 4 * SP_PAGE_SIZE, RW, SP_MAP_PRIVATE | SP_MAP_FIXED, NULL, 0,
		   NULL));
	OK(sp_fill(parent, at(0), 2 * SP_PAGE_SIZE, 0x77));
	OK(sp_process_fork(parent, &child));
	OK(sp_madvise(parent, BASE, 4 * SP_PAGE_SIZE, SP_MADV_MERGEABLE));
	other = mergeable(m, 1);
	OK(sp_fill(other, at(0), SP_PAGE_SIZE, 0x77));
	OK(sp_ksm_scan(m, 3));
	OK(sp_walk(parent, at(0), &r));
	assert_int_equal(r.reached, r.reached_full);
	/* Page 1 became the merged page, so the child maps it there; it moves onto page 0, for
	 * whose address the parent has an item, and only a whole-tree walk would look for it there.
	 * */
	assert_int_equal(pfn(child, 1), pfn(parent, 0));
	OK(sp_mremap(child, at(1), SP_PAGE_SIZE, SP_PAGE_SIZE, SP_MREMAP_MAYMOVE | SP_MREMAP_FIXED,
		     at(0), NULL));
	assert_int_equal(pfn(child, 0), pfn(parent, 0));
	OK(sp_walk(parent, at(0), &r));
	assert_true(r.ksm);
	assert_int_equal(r.reached_full, 4);
	assert_int_equal(r.reached, 4);
	valid(m);
	sp_machine_destroy(m);
}

/* W1: a merged page starts young and marked, and needs rounds; an extra reference keeps it in the
 * swap cache. */
static void test_reclaim(void **state)
{
	struct sp_machine *m = machine(SP_STRATEGY_FULL);
	struct sp_process *p = mergeable(m, 2);
	struct sp_page_info info;
	int64_t out = 0;
	uint64_t hold;

	(void)state;
	OK(sp_fill(p, at(0), 2 * SP_PAGE_SIZE, 0x77));
	OK(sp_ksm_scan(m, 2));
	assert_int_equal(sp_reclaim(m, 10, 1), 0);
	OK(sp_hold(p, at(0), &hold));
	assert_int_equal(sp_swap_out(p, at(0)), 1);
	OK(sp_counter_get(m, "pswpout", &out));
	assert_int_equal(out, 0);
	OK(sp_page_info(p, at(1), &info));
	assert_int_equal(info.state, SP_PAGE_SWAPPED);
	OK(sp_touch(p, at(1), SP_PAGE_SIZE));
	OK(sp_page_info(p, at(1), &info));
	assert_true(info.ksm);
	valid(m);
	OK(sp_drop(m, hold));
	assert_int_equal(sp_swap_out(p, at(1)), 1);
	OK(sp_counter_get(m, "pswpout", &out));
	assert_int_equal(out, 1);
	valid(m);
	sp_machine_destroy(m);
}

/* The audit reports what the kernel's own walks missed, once an operation. */
struct audited {
	unsigned int calls;
	char operation[64];
	struct sp_walk_result result;
};

static void on_audit(void *arg, const char *operation, const struct sp_walk_result *result)
{
	struct audited *a = arg;

	a->calls++;
	strncpy(a->operation, operation, sizeof(a->operation) - 1);
	a->result = *result;
}

static void test_audit(void **state)
{
	struct audited a = {0};
	struct sp_machine *m = machine(SP_STRATEGY_ADDRESS);
	struct sp_process *p = moved_and_merged(m);

	(void)state;
	sp_audit_set(m, on_audit, &a);
	assert_int_equal(sp_migrate(p, at(0), -1, true), -EBUSY);
	assert_int_equal(a.calls, 1);
	assert_string_equal(a.operation, "migrate: unmap walk");
	assert_int_equal(a.result.nr_missed, 1);
	assert_int_equal(a.result.missed[0].addr, at(2));
	assert_int_equal(a.result.missed[0].process, sp_process_id(p));
	sp_machine_destroy(m);
}

/* A page that somebody holds can be unmapped, but not moved: twice, in a batch and alone. */
static void test_held_page(void **state)
{
	(void)state;
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++) {
		struct sp_machine *m = machine(s);
		struct sp_process *p = mergeable(m, 2);
		uint64_t hold, before, moved, failed;
		struct sp_walk_metrics metrics;

		OK(sp_fill(p, at(0), 2 * SP_PAGE_SIZE, 0x77));
		OK(sp_ksm_scan(m, 2));
		before = pfn(p, 0);
		OK(sp_hold(p, at(0), &hold));
		sp_walk_metrics_reset(m);
		assert_int_equal(sp_migrate(p, at(0), -1, true), -EBUSY);
		sp_walk_metrics_get(m, &metrics);
		assert_int_equal(metrics.nr_walks, 4);
		assert_int_equal(pfn(p, 0), before);
		assert_int_equal(pfn(p, 1), before);
		valid(m);

		/* Compaction sees the reference before it isolates the page. */
		sp_walk_metrics_reset(m);
		OK(sp_compact(m, &moved, &failed));
		sp_walk_metrics_get(m, &metrics);
		assert_int_equal(metrics.nr_walks, 0);
		assert_int_equal(moved, 0);
		assert_int_equal(failed, 1);
		OK(sp_drop(m, hold));
		OK(sp_compact(m, &moved, NULL));
		assert_int_equal(moved, 1);
		valid(m);
		sp_machine_destroy(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moved_walk),     cmocka_unit_test(test_moved_migration),
		cmocka_unit_test(test_forks),	       cmocka_unit_test(test_direct_remembers),
		cmocka_unit_test(test_direct_forgets), cmocka_unit_test(test_direct_hears_of_moves),
		cmocka_unit_test(test_reclaim),	       cmocka_unit_test(test_audit),
		cmocka_unit_test(test_strategy_knob),
		cmocka_unit_test(test_held_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
