/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interpreter against a backend that writes down what it is asked: which
 * calls a statement makes, with which addresses, and what becomes of answers.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "fake_backend.h"
#include "parse.h"
#include "scenario.h"

static struct scenario_options options;
static struct scenario *scenario;
static struct scenario_result *result;

static int setup(void **state)
{
	(void)state;
	fake_reset();
	scenario_options_init(&options);
	options.backend = &fake_backend;
	options.validate = false;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scenario_result_destroy(result);
	scenario_destroy(scenario);
	result = NULL;
	scenario = NULL;
	return 0;
}

static void parse_only(const char *text)
{
	struct diagnostics diagnostics;
	int err;

	scenario_destroy(scenario);
	scenario = NULL;
	err = scenario_parse_text("t.scn", text, strlen(text), &diagnostics, &scenario);
	if (err)
		print_error("%s\n", diagnostics.list[0]);
	assert_int_equal(err, 0);
}

static void run(const char *text)
{
	parse_only(text);
	scenario_result_destroy(result);
	result = NULL;
	assert_int_equal(scenario_run(scenario, &options, &result), 0);
}

/* The file holds, and asks the machine for this. */
static void asks(const char *text, const char *log)
{
	setup(NULL);
	run(text);
	for (uint32_t i = 0; i < result->nr_failures_listed; i++)
		print_error("%s\n", result->failures[i].text);
	assert_string_equal(result->error, "");
	assert_int_equal(result->verdict, SCENARIO_HELD);
	assert_string_equal(fake_log(), log);
}

/* The file fails with this as its first failure. */
static void fails(const char *text, const char *failure)
{
	run(text);
	assert_string_equal(result->error, "");
	assert_int_equal(result->verdict, SCENARIO_FAILED);
	assert_string_equal(result->failures[0].text, failure);
}

/* The file ends with an error that only running finds. */
static void errs(const char *text, const char *error)
{
	run(text);
	assert_string_equal(result->error, error);
	assert_int_equal(result->verdict, SCENARIO_ERROR);
	assert_int_equal(scenario_verdict_exit_status(result->verdict), 2);
}

/* ---- Calls ------------------------------------------------------------------------ */

static void test_windows(void **state)
{
	(void)state;
	/* 16 pages of nothing lie between windows; inside one, MAP_FIXED. */
	asks("process a\nprocess b\n"
	     "a: map x 4\na: window w 2\nb: map x 1 noreserve prot none\na: map w[1] prot rx\na: map x[1..2] noreplace\n",
	     "process 1\nprocess 2\n"
	     "1 mmap w+0x0 0x4000 prot 3 flags 0x12 file 0 at 0\n"
	     "2 mmap w+0x26000 0x1000 prot 0 flags 0x4012 file 0 at 0\n"
	     "1 mmap w+0x15000 0x1000 prot 5 flags 0x12 file 0 at 0\n"
	     "1 mmap w+0x1000 0x2000 prot 3 flags 0x100002 file 0 at 0\n");
	asks("process a\na: map x 1\na: map y 512 align 2M\n",
	     "process 1\n1 mmap w+0x0 0x1000 prot 3 flags 0x12 file 0 at 0\n"
	     "1 mmap w+0x200000 0x200000 prot 3 flags 0x12 file 0 at 0\n");
	asks("file F 100 seed 3\nfile G 7\nprocess a\na: map x 4 file F at 32\na: map y 4 shared file G\n",
	     "file 100 seed 3\nfile 7 seed 0\nprocess 1\n"
	     "1 mmap w+0x0 0x4000 prot 3 flags 0x12 file 100 at 32\n"
	     "1 mmap w+0x14000 0x4000 prot 3 flags 0x11 file 7 at 0\n");
}

static void test_ranges(void **state)
{
	(void)state;
	asks("process a\na: window x 8\nlet n = 3\n"
	     "a: munmap x\na: munmap x[n]\na: munmap x[n-1..n+1]\na: munmap x[6..]\na: munmap x[2]+1\n"
	     "a: munmap @0x200000005000\na: munmap @0x200000000000[1..2]\n",
	     "process 1\n1 munmap w+0x0 0x8000\n1 munmap w+0x3000 0x1000\n1 munmap w+0x2000 0x3000\n"
	     "1 munmap w+0x6000 0x2000\n1 munmap w+0x2001 0x1000\n1 munmap w+0x5000 0x1000\n"
	     "1 munmap w+0x1000 0x2000\n");
	setup(NULL);
	fake_return("vma", 4);
	run("process a\na: munmap all\na: mlock all\n");
	assert_string_equal(fake_log(), "process 1\n1 munmap w+0x0 0x4000\n1 mlock w+0x0 0x4000\n");
}

static void test_mremap(void **state)
{
	(void)state;
	asks("process a\na: window x 4\na: window y 4\n"
	     "a: mremap x[1] -> x[2]\na: mremap x -> y dontunmap\na: mremap x resize 8\n"
	     "a: mremap x resize 8 maymove as z\na: munmap z[7]\n"
	     "a: mremap x[0..1]+1 to y[1]+2 flags maymove|fixed|0x40 old_bytes 0 new_bytes 5\n"
	     "a: mremap x flags maymove\n",
	     "process 1\n1 mremap w+0x1000 0x1000 0x1000 flags 3 to w+0x2000\n"
	     "1 mremap w+0x0 0x4000 0x4000 flags 7 to w+0x14000\n1 mremap w+0x0 0x4000 0x8000 flags 0 to 0x0\n"
	     "1 mremap w+0x0 0x4000 0x8000 flags 1 to 0x0\n1 munmap w+0x1007000 0x1000\n"
	     "1 mremap w+0x1 0x0 0x5 flags 67 to w+0x15002\n1 mremap w+0x0 0x4000 0x4000 flags 1 to 0x0\n");
}

static void test_system_calls(void **state)
{
	(void)state;
	asks("process a\na: window x 2\na: mprotect x r\na: madvise x[1] mergeable\na: madvise x pageout\n"
	     "a: mlock x\na: munlock x\na: prctl merge-any 1\na: prctl merge-any 1 2 3 4\na: prctl get-merge-any\n",
	     "process 1\n1 mprotect w+0x0 0x2000 1\n1 madvise w+0x1000 0x1000 12\n1 madvise w+0x0 0x2000 21\n"
	     "1 mlock w+0x0 0x2000\n1 munlock w+0x0 0x2000\n1 prctl-set 1 0 0 0\n1 prctl-set 1 2 3 4\n"
	     "1 prctl-get 0 0 0 0\n");
}

static void test_accesses(void **state)
{
	(void)state;
	asks("process a\na: window x 2\na: fill x 0x77\na: fill x[1] random 5\na: write x[1]+8 1 (1+1) 0xff\n"
	     "a: read x\na: touch x\na: swapin x[0]\n",
	     "process 1\n1 fill w+0x0 0x2000 0x77\n1 fill w+0x1000 0x1000 random 5\n1 write w+0x1008 3: 1..255\n"
	     "1 read w+0x0 0x1000\n1 read w+0x1000 0x1000\n1 touch w+0x0 0x2000\n1 touch w+0x0 0x1000\n");
}

static void test_kernel_work(void **state)
{
	(void)state;
	asks("machine nodes 2\nprocess a\na: window x 2\na: migrate x\na: migrate x[0] node 1 move\na: swapout x[1]\n"
	     "a: hold x[1] as h\ndrop h\na: hold x[0] as h\nreclaim 10\nreclaim 10 rounds 3\ncompact\n"
	     "scan 2\nscan until-stable\nscan until-stable 9\nscan pages 100\nrun 2s\nrun 5ms\n"
	     "set sleep_millisecs 2*10\nset advisor_mode scan-time\nset run \"\"\n",
	     "process 1\n1 migrate w+0x0 node -1 all\n1 migrate w+0x1000 node -1 all\n1 migrate w+0x0 node 1\n"
	     "1 swap_out w+0x1000\n1 hold w+0x1000\ndrop w+0x1000\n1 hold w+0x0\nreclaim 10 rounds 1\n"
	     "reclaim 10 rounds 3\ncompact\nscan 2\nscan until-stable 1000\nscan until-stable 9\nscan pages 100\n"
	     "run 2000 ms\nrun 5 ms\nset sleep_millisecs 20\nset advisor_mode scan-time\nset run \n");
	asks("machine nodes 4 movable 2\nprocess a\na: window x 1\na: madvise x soft_offline\n"
	     "offline node 2\noffline node 1+2\nonline node 2\n",
	     "process 1\n1 madvise w+0x0 0x1000 101\noffline 2\noffline 3\nonline 2\n");
}

static void test_processes(void **state)
{
	(void)state;
	/* A child has its parent's windows; a name is free after its process has exited. */
	asks("process a\na: window x 1\na: fork b\nb: munmap x\nb: window y 1\nb: munmap y\na: window y 1\na: munmap y\n"
	     "b: exit\na: fork b\nb: munmap y\n",
	     "process 1\n1 fork 2\n2 munmap w+0x0 0x1000\n2 munmap w+0x11000 0x1000\n1 munmap w+0x22000 0x1000\n"
	     "2 exit\n1 fork 3\n3 munmap w+0x22000 0x1000\n");
}

static void test_loops(void **state)
{
	(void)state;
	asks("process a\na: window x 100\nlet sum = 0\n"
	     "for i in 0..2\n for j in i..2\n  a: munmap x[10*i+j]\n  let sum = sum + 1\n end\n a: fork c{i}\nend\n"
	     "expect sum == 6\nc2: exit\n",
	     "process 1\n1 munmap w+0x0 0x1000\n1 munmap w+0x1000 0x1000\n1 munmap w+0x2000 0x1000\n1 fork 2\n"
	     "1 munmap w+0xb000 0x1000\n1 munmap w+0xc000 0x1000\n1 fork 3\n1 munmap w+0x16000 0x1000\n1 fork 4\n"
	     "4 exit\n");
	assert_int_equal(result->nr_rounds, 9);
	asks("process a\nfor i in 3..2\n a: exit\nend\n", "process 1\n");
}

/* ---- Outcomes ------------------------------------------------------------------------ */

static void test_failed_operation(void **state)
{
	(void)state;
	fake_return("1 madvise", -EAGAIN);
	fails("process a\na: window x 1\na: madvise x cold\na: munmap x\n", "t.scn:3: `a: madvise x cold` failed: EAGAIN");
	/* The run goes on. */
	assert_non_null(strstr(fake_log(), "1 munmap"));
	assert_int_equal(result->nr_failures, 1);
	assert_int_equal(result->failures[0].line, 3);
	assert_int_equal(result->failures[0].column, 4);
}

static void test_expected_errno(void **state)
{
	(void)state;
	fake_return("1 madvise", -EAGAIN);
	run("process a\na: window x 1\na: madvise x cold\nexpect errno EAGAIN\n");
	assert_int_equal(result->verdict, SCENARIO_HELD);
	assert_int_equal(result->nr_checked, 1);
	fails("process a\na: window x 1\na: madvise x cold\nexpect errno EBUSY\n",
	      "t.scn:4: expected errno EBUSY, is EAGAIN");
	fails("process a\na: window x 1\na: munmap x\nexpect errno EBUSY\n",
	      "t.scn:4: expected errno EBUSY, but `a: munmap x` succeeded");
	assert_int_equal(result->nr_failures, 1);
}

static void test_errno_under_strategies(void **state)
{
	static const char text[] = "process a\na: window x 1\na: migrate x\n"
				   "under address: expect errno EBUSY\nunder retry: expect errno EUCLEAN\n";

	(void)state;
	run(text);
	assert_int_equal(result->verdict, SCENARIO_HELD);
	assert_int_equal(result->nr_checked, 0);
	options.strategy = SP_STRATEGY_ADDRESS;
	fails(text, "t.scn:4: expected errno EBUSY, but `a: migrate x` succeeded");
	fake_return("1 migrate", -EBUSY);
	run(text);
	assert_int_equal(result->verdict, SCENARIO_HELD);
	options.strategy = SP_STRATEGY_FULL;
	fails(text, "t.scn:3: `a: migrate x` failed: EBUSY");
}

/* move_pages(2) goes on behind a page that it cannot move, and so do the others. */
static void test_pages_after_a_failure(void **state)
{
	(void)state;
	fake_return("1 migrate w+0x1000", -EBUSY);
	run("process a\na: window x 3\na: migrate x\nexpect errno EBUSY\nexpect result 2\n");
	assert_int_equal(result->verdict, SCENARIO_HELD);
	assert_non_null(strstr(fake_log(), "migrate w+0x2000"));
}

static void test_results(void **state)
{
	(void)state;
	fake_return("1 swap_out", 1);
	fake_return("1 swap_out w+0x1000", 0);
	fake_return("reclaim", 5);
	fake_return("compact", 6);
	fake_return("scan until-stable", 4);
	fake_return("1 prctl-get", 1);
	run("process a\na: window x 3\na: swapout x\nexpect result 2\nreclaim 9\nexpect result <= 5\n"
	    "compact\nexpect result 6\nscan until-stable\nexpect result 4\na: prctl get-merge-any\nexpect result 1\n");
	assert_int_equal(result->verdict, SCENARIO_HELD);
	assert_int_equal(result->nr_checked, 5);
	fails("process a\na: window x 3\na: swapout x\nexpect result 3\n", "t.scn:4: expected result 3, is 2");
}

/* Whatever follows would be about a process that is not there. */
static void test_failed_fork_ends_the_run(void **state)
{
	(void)state;
	fake_return("1 fork", -ENOMEM);
	fails("process a\na: fork b\nb: exit\n", "t.scn:2: `a: fork b` failed: ENOMEM");
	assert_int_equal(result->nr_failures, 1);
	assert_string_equal(fake_log(), "process 1\n1 fork 2\n");
	run("process a\na: fork b\nexpect errno ENOMEM\na: exit\n");
	assert_int_equal(result->verdict, SCENARIO_HELD);
	fake_return("1 hold", -EFAULT);
	fails("process a\na: window x 1\na: hold x as h\ndrop h\n", "t.scn:3: `a: hold x as h` failed: EFAULT");
	assert_int_equal(result->nr_failures, 1);
}

/* ---- Expectations ----------------------------------------------------------------------- */

static void test_counters(void **state)
{
	(void)state;
	fake_return("counter pages_sharing", 15);
	fake_return("stat 1 vmas", 3);
	run("process a\nlet n = pages_sharing\nexpect pages_sharing == 15\nexpect n + 1 > pages_sharing\n"
	    "expect a.vmas * 5 == n\na: exit\nexpect a.vmas >= 3\n");
	assert_int_equal(result->verdict, SCENARIO_HELD);
	assert_int_equal(result->nr_checked, 4);
	fails("process a\nexpect pages_sharing == 14\n", "t.scn:2: expected pages_sharing == 14, is 15");
	fails("process a\nexpect pages_sharing < a.vmas\n",
	      "t.scn:2: expected pages_sharing < a.vmas, is 15, against 3");
	assert_string_equal(result->expectations[0].text, "expect pages_sharing < a.vmas");
	assert_int_equal(result->expectations[0].nr_failed, 1);
}

static void test_knobs(void **state)
{
	(void)state;
	run("process a\nexpect knob advisor_mode scan-time\nexpect knob run 7\nexpect knob run 3+4\n");
	assert_int_equal(result->verdict, SCENARIO_HELD);
	fails("process a\nexpect knob run 8\n", "t.scn:2: expected knob run 8, is 7");
	fails("process a\nexpect knob advisor_mode none\n", "t.scn:2: expected knob advisor_mode none, is scan-time");
}

static void test_contents(void **state)
{
	(void)state;
	fake_return("byte", 0x77);
	run("process a\na: window x 2\na: window y 2\nexpect content a:x 0x77\nexpect content a:x same-as a:y\n"
	    "expect content a:x[0] random 0x77\n");
	assert_int_equal(result->verdict, SCENARIO_HELD);
	fails("process a\na: window x 2\nexpect content a:x 0x76\n",
	      "t.scn:3: byte 0 of a:x[0] (0x200000000000) is 0x77, expected 0x76");
	assert_int_equal(result->nr_failures, 1);
	/* Page 1 is another page of the same seed. */
	fails("process a\na: window x 2\nexpect content a:x random 0x77\n",
	      "t.scn:3: byte 0 of a:x[1] (0x200000001000) is 0x77, expected 0x78");
	fails("process a\na: window x 2\nexpect content a:x[0] unknown\n",
	      "t.scn:3: the contents of a:x[0] (0x200000000000) are known");
	/* Nothing is mapped, nothing can be compared; in a VMA it would be zero. */
	fake_return("peek", -ENODATA);
	fails("process a\na: window x 2\nexpect content a:x 0\n",
	      "t.scn:3: a:x[0] (0x200000000000) has no contents to compare: ENODATA");
	fake_return("vma", 4);
	run("process a\na: window x 2\nexpect content a:x 0\n");
	assert_int_equal(result->verdict, SCENARIO_HELD);
	/* A migration entry is no untouched page. */
	fake_return("state", SP_PAGE_MIGRATION);
	run("process a\na: window x 2\nexpect content a:x 0\n");
	assert_int_equal(result->verdict, SCENARIO_FAILED);
}

static void test_states(void **state)
{
	(void)state;
	run("process a\na: window x 2\nexpect absent a:x\nexpect not-present a:x\nexpect not-ksm a:x\nexpect not-mapped a:x\n");
	assert_int_equal(result->verdict, SCENARIO_HELD);
	fails("process a\na: window x 2\nexpect swapped a:x[1]\n",
	      "t.scn:3: expected swapped a:x[1]; a:x[1] (0x200000001000) is absent");
	fake_return("state", SP_PAGE_PRESENT);
	fake_return("ksm", 1);
	run("process a\na: window x 2\nexpect present a:x\nexpect ksm a:x\n");
	assert_int_equal(result->verdict, SCENARIO_HELD);
	fails("process a\na: window x 2\nexpect not-ksm a:x\n",
	      "t.scn:3: expected not-ksm a:x; a:x[0] (0x200000000000) is present, of KSM");
	assert_int_equal(result->nr_failures, 1);
}

static void test_frames(void **state)
{
	(void)state;
	fails("process a\na: window x 2\nexpect same a:x\n", "t.scn:3: a:x[0] (0x200000000000) is in no frame");
	fake_return("state", SP_PAGE_PRESENT);
	fake_return("pfn", 9);
	run("process a\na: window x 2\na: window y 2\nexpect same a:x\nexpect same a:x a:y\nexpect pfn a:x[0] == 9\n");
	assert_int_equal(result->verdict, SCENARIO_HELD);
	fails("process a\na: window x 2\nexpect different a:x\n",
	      "t.scn:3: a:x[0] (0x200000000000) and a:x[1] (0x200000001000) are both in frame 9");
	fails("process a\na: window x 2\nexpect different a:x[0] a:x[1]\n",
	      "t.scn:3: a:x[0] (0x200000000000) and a:x[1] (0x200000001000) are both in frame 9");
}

static void test_walks(void **state)
{
	struct sp_walk_result walk = { .reached = 2, .reachable = 3, .reached_full = 2, .calls = 5, .nr_missed = 1 };

	(void)state;
	walk.metrics.all.nr_iteration_total = 8;
	walk.metrics.all.skip_addr_out_of_range = 2;
	walk.metrics.all.skip_mm_mismatch = 1;
	walk.metrics.pass[0].nr_rmap_one = 1;
	walk.metrics.pass[1].nr_iteration_total = 4;
	walk.missed[0] = (struct sp_missed_pte){
		.process = 1, .addr = 0x200000001000, .vma_start = 0x200000000000, .vma_end = 0x200000002000,
		.linux_misses = true,
	};
	fake_walk(&walk);
	run("broken linux\nprocess a\na: window x 2\nwalk a:x[0]\nexpect reached full\nexpect reached 2 of 3\nexpect reached < 3\n"
	    "expect calls 5\nexpect iterations == 8\nexpect skipped address 2\nexpect skipped mm 1\n"
	    "expect pass 0 calls 1\nexpect pass 1 iterations > 3\nexpect reachable 3\n");
	assert_int_equal(result->verdict, SCENARIO_HELD);
	assert_int_equal(result->nr_linux_missed, 1);
	assert_int_equal(result->nr_missed, 0);
	assert_int_equal(result->nr_walks, 1);
	assert_string_equal(result->walks[0].page, "a:x[0] (0x200000000000)");
	assert_string_equal(result->misses[0].page, "a:x[1] (0x200000001000)");
	assert_string_equal(result->misses[0].vma, "0x200000000000-0x200000002000");
	assert_string_equal(result->misses[0].operation, "walk");
	fails("broken linux\nprocess a\na: window x 2\nwalk a:x[0]\nexpect reached all\n",
	      "t.scn:5: expected reached all, is 2 of 3 (the whole tree: 2)");
	fails("broken linux\nprocess a\na: window x 2\nwalk a:x[0]\nexpect calls < 5\n",
	      "t.scn:5: expected calls < 5, is 5");
	fake_return("1 walk", -EFAULT);
	fails("process a\na: window x 2\nwalk a:x[0]\nexpect reached all\n", "t.scn:3: `walk a:x[0]` failed: EFAULT");
	assert_string_equal(result->failures[1].text, "t.scn:4: expected reached all, but no walk has been made");
}

/* The dry run sees the first round and the last alone; what one round makes, the next may use. */
static void test_long_chains(void **state)
{
	(void)state;
	run("process p{0}\np{0}: window x{0} 1\n"
	    "for i in 1..999\np{i-1}: fork p{i}\nend\np{999}: exit\n"
	    "for i in 1..999\np{i-1}: exit\nend\n");
	assert_int_equal(result->nr_operations, 2001);
	setup(NULL);
	run("process a\na: window x{0} 1\n"
	    "for i in 1..999\na: window x{i} (pages a:x{i-1})\nend\na: munmap x{999}\n");
	assert_int_equal(result->nr_operations, 1002);
	setup(NULL);
	run("process a\na: window x 1\na: hold x as h{0}\n"
	    "for i in 1..999\ndrop h{i-1}\na: hold x as h{i}\nend\ndrop h{999}\n");
	assert_int_equal(result->nr_operations, 2002);
}

static void test_expectations_count_rounds(void **state)
{
	(void)state;
	run("process a\nfor i in 1..100\nexpect i <= 60\nend\n");
	assert_int_equal(result->nr_expectations, 1);
	assert_int_equal(result->expectations[0].nr_checked, 100);
	assert_int_equal(result->expectations[0].nr_failed, 40);
	assert_int_equal(result->nr_failures, 40);
	assert_int_equal(result->nr_failures_listed, SCENARIO_MAX_FAILURES);
}

/* ---- Verdicts ------------------------------------------------------------------------------ */

static enum scenario_verdict verdict_under(enum sp_strategy strategy, const char *text)
{
	options.strategy = strategy;
	run(text);
	return result->verdict;
}

static void test_declared_broken(void **state)
{
	static const char text[] = "broken address\nprocess a\nexpect pages_sharing == 1\n";

	(void)state;
	assert_int_equal(verdict_under(SP_STRATEGY_ADDRESS, text), SCENARIO_BROKEN);
	assert_int_equal(scenario_verdict_exit_status(SCENARIO_BROKEN), 0);
	assert_int_equal(verdict_under(SP_STRATEGY_FULL, text), SCENARIO_FAILED);
	assert_int_equal(scenario_verdict_exit_status(SCENARIO_FAILED), 1);
	fake_return("counter pages_sharing", 1);
	assert_int_equal(verdict_under(SP_STRATEGY_ADDRESS, text), SCENARIO_BROKEN_HELD);
	assert_int_equal(scenario_verdict_exit_status(SCENARIO_BROKEN_HELD), 1);
	assert_int_equal(verdict_under(SP_STRATEGY_FULL, text), SCENARIO_HELD);
	assert_int_equal(scenario_verdict_exit_status(SCENARIO_HELD), 0);
	for (int i = 0; i < SCENARIO_NR_VERDICTS; i++)
		assert_non_null(scenario_verdict_text(i));
}

static enum scenario_verdict verdict_on(uint32_t version, const char *text)
{
	fake_reset();
	fake_return("linux_version", version);
	run(text);
	assert_int_equal(result->linux_version, version);
	return result->verdict;
}

static void test_needs_linux(void **state)
{
	static const char text[] = "needs linux >= 6.7 \"smart scan\"\nprocess a\nexpect pages_sharing == 1\n";

	(void)state;
	assert_int_equal(verdict_on(LINUX_VERSION(6, 1), text), SCENARIO_CANNOT);
	assert_string_equal(result->error, "t.scn:1: this is Linux 6.1: needs linux >= 6.7 \"smart scan\"");
	assert_int_equal(scenario_verdict_exit_status(SCENARIO_CANNOT), 3);
	/* Not even a machine is made. */
	assert_string_equal(fake_log(), "");
	assert_int_equal(result->nr_operations, 0);
	assert_int_equal(result->nr_failures, 0);
	assert_int_equal(verdict_on(LINUX_VERSION(6, 7), text), SCENARIO_FAILED);
	assert_string_equal(result->error, "");

	fake_reset();
	fake_return("linux_version", -EINVAL);
	run(text);
	assert_int_equal(result->verdict, SCENARIO_ERROR);
	assert_string_equal(result->error, "t.scn: the kernel does not tell its version: EINVAL");
}

static void test_kills_linux(void **state)
{
	static const char text[] = "kills linux >= 6.7 \"S99\"\nprocess a\n";

	(void)state;
	assert_int_equal(verdict_on(LINUX_VERSION(6, 7), text), SCENARIO_CANNOT);
	assert_string_equal(result->error, "t.scn:1: this is Linux 6.7, and would die: kills linux >= 6.7 \"S99\"; "
					   "samepage vm run gives it a guest to kill");
	assert_string_equal(fake_log(), "");
	assert_int_equal(verdict_on(LINUX_VERSION(6, 1), text), SCENARIO_HELD);
	options.may_kill = true;
	assert_int_equal(verdict_on(LINUX_VERSION(6, 7), text), SCENARIO_HELD);
}

static void test_under_linux(void **state)
{
	static const char text[] =
		"process a\na: window x 4\n"
		"under linux < 6.12: expect pages_sharing == 1\n"
		"under linux >= 6.12: expect pages_sharing == 0\n"
		"under index linux >= 6.12: expect pages_sharing == 2\n"
		"a: munmap x\nunder linux < 6.12: expect errno EFAULT\n";

	(void)state;
	assert_int_equal(verdict_on(LINUX_VERSION(7, 2), text), SCENARIO_HELD);
	assert_int_equal(result->nr_checked, 1);
	assert_int_equal(result->expectations[0].nr_checked, 0);
	assert_int_equal(result->expectations[1].nr_checked, 1);
	assert_int_equal(verdict_on(LINUX_VERSION(6, 1), text), SCENARIO_FAILED);
	assert_int_equal(result->nr_checked, 2);
	assert_int_equal(result->nr_failures, 2);
	assert_string_equal(result->failures[0].text, "t.scn:3: expected pages_sharing == 1, is 0");
	assert_string_equal(result->failures[1].text, "t.scn:7: expected errno EFAULT, but `a: munmap x` succeeded");

	fake_reset();
	fake_return("linux_version", LINUX_VERSION(6, 1));
	fake_return("counter pages_sharing", 1);
	fake_return("1 munmap", -EFAULT);
	run(text);
	assert_int_equal(result->verdict, SCENARIO_HELD);
	/* Elsewhere the same error is a failure. */
	fake_return("linux_version", LINUX_VERSION(6, 12));
	fake_return("counter pages_sharing", 0);
	run(text);
	assert_int_equal(result->verdict, SCENARIO_FAILED);
	assert_string_equal(result->failures[0].text, "t.scn:6: `a: munmap x` failed: EFAULT");

	options.strategy = SP_STRATEGY_INDEX;
	assert_int_equal(verdict_on(LINUX_VERSION(7, 2), text), SCENARIO_FAILED);
	assert_string_equal(result->failures[0].text, "t.scn:5: expected pages_sharing == 2, is 0");
	/* It names its window on some kernels, so it does in the file. */
	assert_int_equal(verdict_on(LINUX_VERSION(7, 2),
				    "process a\na: map x 1\nunder linux < 6.12: expect errno ENOMEM\na: touch x\n"),
			 SCENARIO_HELD);
}

static void test_audited_misses(void **state)
{
	struct sp_walk_result missed = { .reachable = 20, .reached_full = 18, .nr_missed = 20 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(missed.missed); i++)
		missed.missed[i] = (struct sp_missed_pte){ .process = 1, .addr = 0x200000000000 };
	fake_audit_at("1 migrate", &missed);
	/* A miss fails a strategy although nothing was expected. */
	assert_int_equal(verdict_under(SP_STRATEGY_INDEX, "process a\na: window x 1\na: migrate x\n"), SCENARIO_FAILED);
	assert_int_equal(result->nr_missed, 18);
	assert_int_equal(result->nr_linux_missed, 2);
	assert_int_equal(result->nr_misses_listed, 16);
	assert_int_equal(result->misses[0].line, 3);
	assert_string_equal(result->misses[0].operation, "migrate: unmap walk");
	assert_int_equal(verdict_under(SP_STRATEGY_INDEX, "broken index\nbroken linux\nprocess a\na: window x 1\na: migrate x\n"),
			 SCENARIO_BROKEN);
	options.no_audit = true;
	fake_reset();
	assert_int_equal(verdict_under(SP_STRATEGY_INDEX, "process a\na: window x 1\na: migrate x\n"), SCENARIO_HELD);
}

static void test_linux_misses_are_declared(void **state)
{
	struct sp_walk_result missed = { .reachable = 1, .nr_missed = 1 };

	(void)state;
	missed.missed[0] = (struct sp_missed_pte){ .process = 1, .addr = 0x1000, .linux_misses = true };
	/* Declared, but the whole-tree walk misses nothing: only it can tell. */
	assert_int_equal(verdict_under(SP_STRATEGY_FULL, "broken linux\nprocess a\n"), SCENARIO_FAILED);
	assert_string_equal(result->failures[0].text,
			    "t.scn: declared `broken linux`, but the whole-tree walk misses nothing");
	assert_int_equal(verdict_under(SP_STRATEGY_DIRECT, "broken linux\nprocess a\n"), SCENARIO_HELD);
	fake_audit_at("1 migrate", &missed);
	assert_int_equal(verdict_under(SP_STRATEGY_FULL, "process a\na: window x 1\na: migrate x\n"), SCENARIO_FAILED);
	assert_int_equal(verdict_under(SP_STRATEGY_FULL, "broken linux\nprocess a\na: window x 1\na: migrate x\n"),
			 SCENARIO_HELD);
	assert_string_equal(result->misses[0].page, "a (0x1000)");
}

static void test_validation(void **state)
{
	(void)state;
	options.validate = true;
	run("process a\n");
	assert_int_equal(result->verdict, SCENARIO_HELD);
	fake_return("validate", -EUCLEAN);
	fails("process a\na: exit\n",
	      "t.scn:1: after this, the machine's structures are wrong: frame 7: mapcount 1, found 2");
	assert_int_equal(result->nr_failures, 1);
}

/* ---- What a backend cannot do ----------------------------------------------------------------- */

static void test_cannot(void **state)
{
	(void)state;
	fake_return("1 migrate", BACKEND_CANNOT);
	run("process a\na: window x 1\na: migrate x\nexpect errno EINVAL\nexpect a.vmas == 0\n");
	assert_int_equal(result->verdict, SCENARIO_CANNOT);
	assert_string_equal(result->error, "t.scn:3:4: the fake backend cannot do `a: migrate x`");
	assert_int_equal(scenario_verdict_exit_status(result->verdict), 3);
	assert_int_equal(result->nr_checked, 0);
	/* What failed before it stays a failure. */
	run("process a\na: window x 1\nexpect a.vmas == 77\na: migrate x\n");
	assert_int_equal(result->verdict, SCENARIO_FAILED);
	/* A walk changes nothing: what is expected of it is undecided, the rest is not. */
	fake_return("1 walk", BACKEND_CANNOT);
	run("process a\na: window x 1\nwalk a:x\nexpect errno EINVAL\nexpect reached all\nexpect calls == 3\n"
	    "expect a.vmas == 77\n");
	assert_int_equal(result->verdict, SCENARIO_FAILED);
	assert_int_equal(result->nr_failures, 1);
	assert_int_equal(result->nr_checked, 1);
	assert_int_equal(result->nr_cannot, 3);
	/* An expectation without an answer is neither held nor failed. */
	fake_return("counter pages_sharing", BACKEND_CANNOT);
	run("process a\nexpect pages_sharing == 1\n");
	assert_int_equal(result->verdict, SCENARIO_HELD);
	assert_int_equal(result->expectations[0].nr_cannot, 1);
	assert_int_equal(result->nr_checked, 0);
	/* A value that is needed is. */
	run("process a\nscan pages_sharing\n");
	assert_int_equal(result->verdict, SCENARIO_CANNOT);
	assert_null(strstr(fake_log(), "scan"));
	fake_return("create", BACKEND_CANNOT);
	run("process a\n");
	assert_int_equal(result->verdict, SCENARIO_CANNOT);
}

/* ---- Errors that only running finds ---------------------------------------------------------------- */

static void test_run_time_errors(void **state)
{
	(void)state;
	fake_return("counter pages_sharing", 7);
	errs("process a\na: window x 4\na: munmap x[pages_sharing]\n",
	     "t.scn:3:13: page 7 is outside x, which has the pages 0..3");
	errs("process a\nlet n = 1 / (pages_sharing - 7)\n", "t.scn:2:11: division by zero: 1 / 0");
	errs("process a\na: fork c{pages_sharing}\nc6: exit\n", "t.scn:3:1: there is no process \"c6\" here");
	errs("process a\na: fork c{pages_sharing}\nc7: exit\nc7: exit\n",
	     "t.scn:4:1: process \"c7\" has exited (line 3)");
	errs("process a\nfor i in 0..pages_sharing*1000000000000\nend\n",
	     "t.scn:2:1: a loop of 7000000000001 rounds: at most 100000000 rounds are run in a scenario");
	assert_int_equal(result->nr_rounds, 0);
	errs("process a\na: window x 4\na: fill x pages_sharing * 100\n", "t.scn:3:25: a byte is 0..255, not 700");
	errs("process a\nfor i in 1..pages_sharing - 7\n let n = i\nend\nexpect n == 1\n",
	     "t.scn:5:8: \"n\" has no value: the loop that sets it had no round");
	errs("process a\na: window x 4\nexpect mapcount a:x[0..pages_sharing-6] == 1\n",
	     "t.scn:3:17: \"a:x[0..pages_sharing-6]\" has 2 pages: name one, such as a:x[0..pages_sharing-6][0]");
}

static void test_limits_of_a_run(void **state)
{
	(void)state;
	options.max_rounds = 10;
	errs("process a\nfor i in 1..6\nend\nfor i in 1..5\nend\n",
	     "t.scn:4:1: a loop of 5 rounds, with those of the loops before and around it: at most 10 rounds are run in a scenario");
	options.max_pages = 8;
	errs("process a\na: window x 4\na: window y 5\n",
	     "t.scn:3:11: the windows of a scenario have at most 8 pages together: 4 are left");
}

static bool interrupt(void *arg, const struct scenario_progress *progress)
{
	*(struct scenario_progress *)arg = *progress;
	return progress->nr_operations >= 8192;
}

static void test_interrupted(void **state)
{
	struct scenario_progress last = { 0 };

	(void)state;
	options.progress = interrupt;
	options.progress_arg = &last;
	fake_return("counter now_ms", 12);
	errs("process a\nfor i in 0..99999\ncompact\nend\n", "t.scn:3:1: interrupted");
	assert_int_equal(last.nr_operations, 8192);
	assert_int_equal(last.line, 3);
	assert_int_equal(last.simulated_ms, 12);
}

/* The seed of a run changes all random contents alike: what was equal stays equal. */
static void test_seed(void **state)
{
	static const char text[] = "file F 1 seed 3\nfile G 1\nprocess a\na: window x 2\na: fill x[0] random 3\na: fill x[1] random 4\n";
	unsigned long long file, other, first, second;

	(void)state;
	options.seed = 99;
	run(text);
	assert_int_equal(sscanf(fake_log(), "file 1 seed %llu file 1 seed %llu process 1 "
				"1 fill w+0x0 0x1000 random %llu 1 fill w+0x1000 0x1000 random %llu",
				&file, &other, &first, &second), 4);
	assert_true(file == first && first != 3 && second != 4 && first != second);
	assert_true(other == 0);
}

/* ---- Out of memory --------------------------------------------------------------------------------------- */

static const char sweep[] = "needs linux >= 6.1 \"a\"\nkills linux < 6.1 \"c\"\ndiffers linux < 6.12 ksm_stat rss # b\n"
			    "file F 4\nprocess a\na: map x 4\na: window y{2} 1\nfor i in 0..2\na: fork c{i}\nc{i}: window z 1\nend\n"
			    "a: hold x[0] as h\nlet n = 3\nexpect n == 3\nexpect same a:x[0]\nexpect different a:x\ndrop h\nc1: exit\n";

static void test_parser_out_of_memory(void **state)
{
	int err = -ENOMEM;
	uint64_t n;

	(void)state;
	for (n = 1; err; n++) {
		struct diagnostics diagnostics;
		struct mem mem;

		mem_init(&mem);
		mem.fail_at = n;
		err = parse_text(&mem, "t.scn", sweep, strlen(sweep), &diagnostics, &scenario);
		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_string_equal(diagnostics.list[0] + strlen(diagnostics.list[0]) - 13, "out of memory");
		}
	}
	assert_true(n > 10);
}

static void test_interpreter_out_of_memory(void **state)
{
	uint64_t n;

	(void)state;
	fake_return("state", SP_PAGE_PRESENT);
	parse_only(sweep);
	for (n = 1;; n++) {
		int err;

		options.fail_own_allocation = n;
		err = scenario_run(scenario, &options, &result);
		if (err) {
			assert_int_equal(err, -ENOMEM);
			continue;
		}
		if (result->verdict != SCENARIO_ERROR)
			break;
		assert_string_equal(result->error, "t.scn: out of memory");
		scenario_result_destroy(result);
	}
	assert_true(n > 10);
	/* All pages are in one frame here. */
	assert_int_equal(result->nr_failures, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(windows),
		TEST(ranges),
		TEST(mremap),
		TEST(system_calls),
		TEST(accesses),
		TEST(kernel_work),
		TEST(processes),
		TEST(loops),
		TEST(failed_operation),
		TEST(expected_errno),
		TEST(errno_under_strategies),
		TEST(pages_after_a_failure),
		TEST(results),
		TEST(failed_fork_ends_the_run),
		TEST(counters),
		TEST(knobs),
		TEST(contents),
		TEST(states),
		TEST(frames),
		TEST(walks),
		TEST(long_chains),
		TEST(expectations_count_rounds),
		TEST(declared_broken),
		TEST(needs_linux),
		TEST(kills_linux),
		TEST(under_linux),
		TEST(audited_misses),
		TEST(linux_misses_are_declared),
		TEST(validation),
		TEST(cannot),
		TEST(run_time_errors),
		TEST(limits_of_a_run),
		TEST(interrupted),
		TEST(seed),
		TEST(parser_out_of_memory),
		TEST(interpreter_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
