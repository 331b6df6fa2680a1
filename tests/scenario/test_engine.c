/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scenarios on the engine: that the whole says what it must about a known
 * defect, is the same every time, survives every allocation that fails, and
 * loads real memory without making anything up.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "core_writer.h"
#include "scenario.h"

static struct scenario_options options;
static struct scenario *scenario;
static struct scenario_result *result;

static int setup(void **state)
{
	(void)state;
	scenario_options_init(&options);
	options.validate = true;
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

static void parse(const char *path, const char *text)
{
	struct diagnostics diagnostics;
	int err;

	scenario_destroy(scenario);
	scenario = NULL;
	err = scenario_parse_text(path, text, strlen(text), &diagnostics, &scenario);
	if (err)
		print_error("%s\n", diagnostics.list[0]);
	assert_int_equal(err, 0);
}

static enum scenario_verdict run_again(void)
{
	scenario_result_destroy(result);
	result = NULL;
	assert_int_equal(scenario_run(scenario, &options, &result), 0);
	return result->verdict;
}

static void holds(const char *path, const char *text)
{
	enum scenario_verdict verdict;

	parse(path, text);
	verdict = run_again();
	for (uint32_t i = 0; i < result->nr_failures_listed; i++)
		print_error("%s\n", result->failures[i].text);
	assert_string_equal(result->error, "");
	assert_int_equal(verdict, SCENARIO_HELD);
}

/* ---- A known defect ------------------------------------------------------------------- */

static const char moved[] =
	"# A merged page must stay reachable after its range was moved and merged again.\n"
	"broken address \"asks for the address\"\nbroken retry \"stops short while restoring\"\n"
	"process a\na: map x 3\na: madvise x mergeable\na: madvise x dontfork\na: fill x[0..1] 0x77\n"
	"scan until-stable\na: mremap x[1] -> x[2]\nscan until-stable\n"
	"expect pages_shared == 1\nexpect pages_sharing == 1\nexpect vmas a:x == 2\n"
	"walk a:x[0]\nunder full retry index direct: expect reached all\nunder address: expect reached 1 of 2\n"
	"under full index: expect calls 2\na: migrate x[0]\nunder address: expect errno EBUSY\n"
	"expect content a:x[2] 0x77\nexpect same a:x[0] a:x[2]\n";

static void test_verdicts(void **state)
{
	static const enum scenario_verdict expected[SP_NR_STRATEGIES] = {
		[SP_STRATEGY_FULL] = SCENARIO_HELD,
		[SP_STRATEGY_ADDRESS] = SCENARIO_BROKEN,
		[SP_STRATEGY_RETRY] = SCENARIO_BROKEN,
		[SP_STRATEGY_INDEX] = SCENARIO_HELD,
		[SP_STRATEGY_DIRECT] = SCENARIO_HELD,
	};

	(void)state;
	parse("moved.scn", moved);
	for (int i = 0; i < SP_NR_STRATEGIES; i++) {
		options.strategy = i;
		assert_int_equal(run_again(), expected[i]);
		assert_int_equal(result->strategy, i);
		assert_true(result->memory.nr_allocations > 0);
		assert_true(result->duration_ns > 0);
	}
	options.strategy = SP_STRATEGY_ADDRESS;
	run_again();
	assert_int_equal(result->nr_walks, 1);
	assert_int_equal(result->walks[0].result.reached, 1);
	assert_true(result->nr_missed >= 2);
	assert_int_equal(result->nr_linux_missed, 0);
	assert_string_equal(result->misses[0].page, "a:x[2] (0x200000002000)");
	assert_int_equal(result->misses[0].pte.linear_index, 0x200000001);
	options.strategy = SP_STRATEGY_RETRY;
	run_again();
	assert_int_equal(result->nr_orphan_entries, 1);
}

/* ---- The same every time ----------------------------------------------------------------- */

static void forget_times(struct sp_walk_metrics *m)
{
	m->walk_ns_max = m->walk_ns_sum = 0;
	m->all.hold_ns_max = m->all.hold_ns_sum = 0;
	for (int i = 0; i < 2; i++)
		m->pass[i].hold_ns_max = m->pass[i].hold_ns_sum = 0;
}

static void append_line(void *arg, const char *line)
{
	char *text = arg;
	size_t used = strlen(text);

	snprintf(text + used, (1 << 16) - used, "%s\n", line);
}

static void test_deterministic(void **state)
{
	static const char text[] =
		"process a\na: map x 64\na: madvise x mergeable\nfor i in 0..63\n a: fill x[i] random i % 9\nend\n"
		"scan 3\na: fork b\nb: fill x[0..7] random 3\nscan until-stable\na: swapout x[3..9]\nreclaim 20 rounds 2\n"
		"compact\nb: exit\nrun 3s\nwalk a:x[20]\n";
	struct scenario_result *first;
	char *trace[2] = { calloc(1, 1 << 16), calloc(1, 1 << 16) };

	(void)state;
	parse("d.scn", text);
	options.seed = 5;
	options.trace = append_line;
	options.trace_arg = trace[0];
	run_again();
	first = result;
	result = NULL;
	options.trace_arg = trace[1];
	run_again();
	assert_true(strlen(trace[0]) > 1000);
	assert_string_equal(trace[0], trace[1]);
	forget_times(&first->metrics);
	forget_times(&result->metrics);
	assert_memory_equal(&first->metrics, &result->metrics, sizeof(first->metrics));
	assert_memory_equal(&first->memory, &result->memory, sizeof(first->memory));
	assert_int_equal(first->simulated_ms, result->simulated_ms);
	assert_int_equal(first->nr_operations, result->nr_operations);
	assert_int_equal(first->walks[0].result.pfn, result->walks[0].result.pfn);
	scenario_result_destroy(first);
	free(trace[0]);
	free(trace[1]);
}

static void test_random_contents(void **state)
{
	static const char text[] =
		"process a\na: map x 8\na: map y 8\na: fill x random 3\na: fill y random 3\nexpect content a:x random 3\n"
		"expect content a:x same-as a:y\na: madvise x mergeable\na: madvise y mergeable\nscan 2\n"
		"expect pages_shared == 8\nexpect pages_sharing == 8\nexpect content a:x random 3\nexpect different a:x\n"
		"expect same a:x a:y\n";

	(void)state;
	for (options.seed = 0; options.seed < 3; options.seed++)
		holds("r.scn", text);
}

/* ---- Every allocation fails once -------------------------------------------------------------- */

static void test_allocation_sweep(void **state)
{
	static const char text[] =
		"file F 4 seed 2\nprocess a\na: map x 8\na: map f 4 file F\na: madvise x mergeable\na: madvise f mergeable\n"
		"a: fill x 0x11\na: write f[1] 1\nscan 2\na: fork b\nb: write x[2] 9\nb: mprotect x[3] r\nscan 2\n"
		"a: mremap x[1] -> x[5]\na: swapout x[0]\na: touch x[2..]\na: touch x[0]\na: hold x[0] as h\na: migrate x[0]\nexpect errno EBUSY\n"
		"compact\ndrop h\na: migrate x[2..7]\nwalk a:x[2]\nb: exit\nset run 2\n";
	uint64_t nr_allocations, nr_reported = 0;

	(void)state;
	holds("sweep.scn", text);
	nr_allocations = result->memory.nr_allocations;
	assert_true(nr_allocations > 50);
	for (uint64_t n = 1; n <= nr_allocations; n++) {
		options.fail_allocation = n;
		run_again();
		assert_true(result->verdict != SCENARIO_CANNOT);
		if (result->verdict == SCENARIO_ERROR) {
			assert_non_null(strstr(result->error, "ENOMEM"));
			nr_reported++;
		}
		/* ksmd has no one to tell; whoever does tell names the error, and nothing is broken. */
		for (uint32_t i = 0; i < result->nr_failures_listed; i++) {
			if (strstr(result->failures[i].text, "structures are wrong"))
				fail_msg("allocation %" PRIu64 ": %s", n, result->failures[i].text);
			nr_reported += strstr(result->failures[i].text, "ENOMEM") != NULL;
		}
	}
	assert_true(nr_reported > nr_allocations / 3);
	options.fail_allocation = nr_allocations + 1;
	assert_int_equal(run_again(), SCENARIO_HELD);
}

/* ---- Real memory ------------------------------------------------------------------------------------ */

static char dir[] = "/tmp/samepage-test-XXXXXX";
static char path[64];

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/x.core", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static const char *scenario_path_in_dir(void)
{
	static char text[64];

	snprintf(text, sizeof(text), "%s/x.scn", dir);
	return text;
}

/* Page i of a segment is full of its number; page 3 of the first is a hole. */
static int numbered_page(void *arg, size_t segment, uint64_t page, void *buf)
{
	(void)arg;
	if (!segment && page == 3)
		return 0;
	memset(buf, (int)(16 * segment + page + 1), 4096);
	return 1;
}

static void write_core(void)
{
	/* Of the second, one page of three was dumped; the third is read only. */
	static const struct core_segment segments[] = {
		{ 0x10000, 4, 4, PROT_READ | PROT_WRITE },
		{ 0x20000, 3, 1, PROT_READ | PROT_WRITE },
		{ 0x30000, 2, 2, PROT_READ },
	};
	static const struct core_layout layout = { segments, ARRAY_SIZE(segments), NULL, 0, 0 };

	assert_int_equal(core_write(path, &layout, numbered_page, NULL), 0);
}

static void test_core(void **state)
{
	(void)state;
	write_core();
	holds(scenario_path_in_dir(),
	      "process a from core \"x.core\"\nprocess b from core \"x.core\"\n"
	      "expect a.vmas == 3\nexpect vmas a:vma2 == 1\nexpect pages(a:vma0) == 4\n"
	      "expect content a:vma0[0] 1\nexpect content a:vma0[2] 3\nexpect content a:vma0[3] 0\nexpect absent a:vma0[3]\n"
	      "expect content a:vma1[0] 17\nexpect content a:vma1[1..2] unknown\nexpect content a:vma2[1] 34\n"
	      "expect content a:@0x20000 17\nexpect not-writable a:vma2\n"
	      "a: write vma2[0] 1\nexpect errno EFAULT\n"
	      "a: madvise all mergeable\nb: madvise all mergeable\nscan 2\n"
	      /* 3 + 1 + 2 pages are known; what is not known merges with nothing. */
	      "expect pages_shared == 6\nexpect pages_sharing == 6\nexpect a.ksm_merging_pages == 6\n"
	      "expect absent a:vma1[1..2]\n");
	assert_int_equal(result->nr_loads, 2);
	assert_string_equal(result->loads[0].process, "a");
	assert_string_equal(result->loads[0].source, "core x.core");
	assert_int_equal(result->loads[0].nr_vmas, 3);
	assert_int_equal(result->loads[0].nr_unknown_pages, 2);
	assert_int_equal(result->loads[0].report.nr_vmas, 3);
	assert_int_equal(result->nr_unknown_pages, 4);
}

/* What is not known stays so until it is written whole, discarded or unmapped, and moves along. */
static void test_unknown_pages(void **state)
{
	(void)state;
	write_core();
	holds(scenario_path_in_dir(),
	      "process a from core \"x.core\"\na: window w 4\n"
	      "a: touch vma1\nexpect content a:vma1[1..2] unknown\na: fork b\n"
	      "a: mremap vma1[1..2] -> w[0..1]\nexpect content a:w[0..1] unknown\n"
	      "a: fill w[0] 7\nexpect content a:w[0] 7\nexpect content a:w[1] unknown\n"
	      "a: madvise w[1] dontneed\nexpect content a:w[1] 0\n"
	      "expect content b:vma1[1..2] unknown\nb: munmap vma1[1]\nb: map vma1[1]\nexpect content b:vma1[1] 0\n"
	      "expect content b:vma1[2] unknown\n");
	assert_int_equal(result->nr_unknown_read, 2);

	parse(scenario_path_in_dir(), "process a from core \"x.core\"\nexpect content a:vma1[1] 0\n"
	      "a: write vma1[1]+5 1 2\n");
	assert_int_equal(run_again(), SCENARIO_ERROR);
	assert_non_null(strstr(result->failures[0].text, "x.scn:2: the contents of a:vma1[1] (0x21000) are unknown"));
	assert_non_null(strstr(result->error, "x.scn:3:10: the rest of this page is unknown"));
}

static void test_names_of_a_loaded_process(void **state)
{
	(void)state;
	write_core();
	parse(scenario_path_in_dir(), "process a from core \"x.core\"\na: read vma3\n");
	assert_int_equal(run_again(), SCENARIO_ERROR);
	assert_non_null(strstr(result->error, "x.scn:2:9: a has no window \"vma3\""));
	parse(scenario_path_in_dir(), "process a from core \"x.core\"\na: read vma0[4]\n");
	assert_int_equal(run_again(), SCENARIO_ERROR);
	assert_non_null(strstr(result->error, "page 4 is outside vma0, which has the pages 0..3"));
}

static void test_bad_cores(void **state)
{
	FILE *file;

	(void)state;
	parse(scenario_path_in_dir(), "process a from core \"none.core\"\n");
	assert_int_equal(run_again(), SCENARIO_ERROR);
	assert_non_null(strstr(result->error, "none.core: No such file or directory"));
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	parse(scenario_path_in_dir(), "process a from core \"x.core\"\nexpect pages_sharing == 0\n");
	assert_int_equal(run_again(), SCENARIO_ERROR);
	assert_non_null(strstr(result->error, "x.core"));
	/* Expected, it is an outcome like others; and there is no such process then. */
	holds(scenario_path_in_dir(), "process a from core \"none.core\"\nexpect errno ENOENT\nprocess a\na: map x 1\n");
	assert_int_equal(result->nr_loads, 0);
}

static void test_too_many_mappings(void **state)
{
	(void)state;
	write_core();
	parse(scenario_path_in_dir(), "machine map_limit 1\nprocess a from core \"x.core\"\n");
	assert_int_equal(run_again(), SCENARIO_ERROR);
	assert_non_null(strstr(result->error, "`machine map_limit N` allows more"));
}

static void test_pid(void **state)
{
	static char text[512];
	int ready[2];
	char byte = 0;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		uint8_t *p = mmap((void *)0x300000000000, 6 * 4096, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		memset(p, 0x5a, 4 * 4096);
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	snprintf(text, sizeof(text),
		 "process a from pid %d\nexpect content a:@0x300000000000[0..3] 0x5a\n"
		 "expect absent a:@0x300000000000[4..5]\nexpect a.rss_anon > 4\n"
		 "a: madvise @0x300000000000[0..5] mergeable\nscan 2\nexpect pages_sharing == 3\n", (int)pid);
	/* A process of a sanitizer has terabytes of shadow; one validation of it is enough. */
	options.validate = false;
	parse("pid.scn", text);
	run_again();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	for (uint32_t i = 0; i < result->nr_failures_listed; i++)
		print_error("%s\n", result->failures[i].text);
	assert_string_equal(result->error, "");
	assert_int_equal(result->verdict, SCENARIO_HELD);
	assert_true(result->loads[0].report.nr_pages[IMAGE_PAGE_PRESENT] > 4);

	/* It is gone now. */
	assert_int_equal(run_again(), SCENARIO_ERROR);
	assert_non_null(strstr(result->error, "pid.scn:1:1: "));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(verdicts),
		TEST(deterministic),
		TEST(random_contents),
		TEST(allocation_sweep),
		TEST(core),
		TEST(unknown_pages),
		TEST(names_of_a_loaded_process),
		TEST(bad_cores),
		TEST(too_many_mappings),
		TEST(pid),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
