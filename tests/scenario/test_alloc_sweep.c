/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Short scenarios that touch everything, in which the engine's Nth allocation fails, for every N there is. What fails
 * must be told as ENOMEM by the operation that needed the memory, or belong to work that the kernel tries again
 * (ksmd, reclaim, migration of many); what the pages hold is right afterwards, everything recounts after every
 * operation, and nothing is left when the machine goes (its own account, and AddressSanitizer's).
 *
 * The run without a failure tells how many allocations each operation makes, through the one call that the
 * interpreter makes after every operation when it validates: it asks for memory_usage().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "scenario.h"

#define MAX_OPERATIONS 128

static const char merged[] =
	"machine nodes 3 movable 1\n"
	"set max_page_sharing 2\n"
	"set use_zero_pages 1\n"
	"file f 4 seed 3\n"
	"process a\n"
	"a: map x 8\n"
	"a: madvise x mergeable\n"
	"a: fill x[0..4] 0x77\n"
	"a: fill x[5] random 5\n"
	"a: fill x[6] 0\n"
	"a: touch x[7]\n"
	"a: map g 4 file f\n"
	"a: madvise g mergeable\n"
	"a: fill g[0] 0x77\n"
	"a: read g[1]\n"
	"a: write g[2]+100 1 2 3\n"
	"scan 2\n"
	"a: fork b\n"
	"scan 2\n"
	"b: fill x[0] 0x11\n"
	"b: window y 8\n"
	"b: mremap x[1..2] -> y[4..5]\n"
	"a: mprotect x[2] r\n"
	"scan 2\n"
	"a: walk x[0]\n"
	"a: migrate x[0] node 1\n"
	"a: migrate g[0]\n"
	"compact\n"
	"a: madvise x[5] soft_offline\n"
	"a: migrate x[5] node 2\n"
	"offline node 2\n"
	"online node 2\n"
	"a: hold x[5] as h\n"
	"a: swapout x[0..5]\n"
	"drop h\n"
	"a: swapout x[0..5]\n"
	"a: swapin x[0..1]\n"
	"b: fork c\n"
	"b: fill x[3] 0x33\n"
	"c: swapin y[4]\n"
	"reclaim 100 rounds 3\n"
	"a: write x[3]+8 5\n"
	"a: mremap x[5] resize 3 maymove as z\n"
	"a: madvise x[0] pageout\n"
	"a: mlock x[0]\n"
	"a: munlock x[0]\n"
	"a: madvise x[3..4] unmergeable\n"
	"scan 2\n"
	"expect content a:x[0..2] 0x77\n"
	"expect content a:x[4] 0x77\n"
	"expect content a:z[0] random 5\n"
	"expect content a:x[6..7] 0\n"
	"expect content a:g[0] 0x77\n"
	"expect content b:x[0] 0x11\n"
	"expect content b:y[4..5] 0x77\n"
	"expect content b:x[3] 0x33\n"
	"expect content c:x[3] 0x77\n"
	"expect content c:y[4] 0x77\n"
	"expect content c:x[5] random 5\n"
	"a: munmap x[1]\n"
	"a: madvise x[2] dontneed\n"
	"b: exit\n"
	"set run 2\n"
	"set run 1\n"
	"c: prctl merge-any 1\n"
	"scan 2\n"
	"c: map w 2\n"
	"c: fill w 0x77\n"
	"scan 3\n"
	"run 100ms\n"
	"c: prctl merge-any 0\n"
	"a: exit\n"
	"expect content c:w 0x77\n"
	"expect content c:x[4] 0x77\n";

static const char huge[] =
	"set max_page_sharing 2\n"
	"process a\n"
	"a: map h 1024 align 2M\n"
	"a: madvise h hugepage\n"
	"a: fill h[0] 0x77\n"
	"a: fill h[600] 0x77\n"
	"a: fork b\n"
	"b: fill h[1] 0x77\n"
	"a: mremap h[512..1023] resize 513 maymove as i\n"
	"a: madvise h[0..3] mergeable\n"
	"scan 2\n"
	"a: migrate h[0]\n"
	"a: swapout h[0]\n"
	"a: mprotect i[0] r\n"
	"b: munmap h[4]\n"
	"a: swapin h[0]\n"
	"a: madvise h nohugepage\n"
	"expect content a:h[0] 0x77\n"
	"expect content a:h[1..3] 0\n"
	"expect content a:i[88] 0x77\n"
	"expect content b:h[600] 0x77\n"
	"b: exit\n";

static const char nodes[] =
	"machine nodes 2\n"
	"set merge_across_nodes 0\n"
	"set smart_scan 0\n"
	"process a\n"
	"a: map x 6\n"
	"a: fill x 0x77\n"
	"a: migrate x[3..5] node 1\n"
	"a: madvise x mergeable\n"
	"scan 2\n"
	"a: migrate x[0] node 1\n"
	"scan 2\n"
	"a: map s 4 shared\n"
	"a: fill s[0..2] 1\n"
	"a: fork b\n"
	"b: fill s[1] 2\n"
	"b: touch s[3]\n"
	"a: window y 6\n"
	"a: mremap x[4..5] -> y[0..1] dontunmap\n"
	"a: fill x[4] 3\n"
	"a: map x[1] prot r\n"
	"a: madvise x[2] dontfork\n"
	"a: madvise x[3] wipeonfork\n"
	"a: fork c\n"
	"c: fill x[3] 4\n"
	"b: mremap x[3..5] resize 4 maymove as z\n"
	"b: madvise z[0..1] cold\n"
	"a: mprotect x[3..5] none\n"
	"a: mprotect x[3..5] rw\n"
	"set advisor_mode scan-time\n"
	"run 1s\n"
	"reclaim 100 rounds 2\n"
	"a: touch all\n"
	"expect content a:x[0] 0x77\n"
	"expect content a:x[2..3] 0x77\n"
	"expect content a:x[4] 3\n"
	"expect content a:y[0..1] 0x77\n"
	"expect content a:s[0] 1\n"
	"expect content a:s[1] 2\n"
	"expect content b:s[2] 1\n"
	"expect content b:z[0..2] 0x77\n"
	"expect content c:x[3] 4\n"
	"expect content c:y[0..1] 0x77\n"
	"c: exit\n"
	"set run 2\n"
	"b: touch all\n"
	"expect content b:z[0..2] 0x77\n";

/* ---- Which operation made which allocations ------------------------------------- */

static struct backend_ops counting;
static uint64_t made_after[MAX_OPERATIONS];
static unsigned int nr_operations;

/* That there is no figure makes the interpreter validate now. */
static int count(struct backend *b, struct sp_memory_usage *ret)
{
	int err = engine_backend.memory_usage(b, ret);

	assert_int_equal(err, 0);
	assert_in_range(nr_operations, 0, MAX_OPERATIONS - 1);
	made_after[nr_operations++] = ret->nr_allocations;
	return BACKEND_CANNOT;
}

static bool is_operation(const char *line)
{
	return strncmp(line, "machine ", 8) != 0 && strncmp(line, "expect ", 7) != 0;
}

struct operation {
	uint32_t line;
	char word[16];
};

/* The operation that makes the Nth allocation; line 0: making the machine does. */
static struct operation operation_of(const char *text, const uint64_t *made, uint64_t first, uint64_t n)
{
	struct operation op = { 0, "" };
	unsigned int i = 0;

	if (n <= first)
		return op;
	for (op.line = 1; *text; text = strchr(text, '\n') + 1, op.line++) {
		const char *word = text;
		size_t length;

		if (!is_operation(text) || made[i++] < n)
			continue;
		if (word[1] == ':')
			word += 3;
		length = strcspn(word, " \n");
		assert_in_range(length, 1, sizeof(op.word) - 1);
		memcpy(op.word, word, length);
		return op;
	}
	fail_msg("no operation makes allocation %llu", (unsigned long long)n);
	return op;
}

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(word, *list))
			return true;
	return false;
}

/* ---- What may happen ---------------------------------------------------------------- */

static void show(const struct scenario_result *r, const struct operation *op, uint64_t n)
{
	print_error("allocation %llu, made by line %u (%s): %s\n", (unsigned long long)n, op->line, op->word, r->error);
	for (uint32_t i = 0; i < r->nr_failures_listed; i++)
		print_error("  %s\n", r->failures[i].text);
}

static bool about_contents(const char *failure)
{
	return strstr(failure, ": byte ") || strstr(failure, "contents");
}

static bool is_right(const struct scenario_result *r, const struct operation *op)
{
	/* ksmd meets the page again, reclaim takes another, compaction leaves the page where it is; fork registers the
	 * child with ksmd if it can, and a store that gets no huge page takes a small one. */
	static const char *const do_without[] = {
		"scan", "run", "reclaim", "compact", "swapout", "madvise", "fork", "fill", NULL
	};
	/* When one of these fails, pages hold something else than the scenario expects, and names may be missing. */
	static const char *const needed[] = {
		"process", "fork", "file", "map", "munmap", "mremap", "fill", "write", "hold", NULL
	};
	/* What these system calls make of ENOMEM where the kernel itself is short of something. */
	static const char *const say_eagain[] = { "madvise", "mlock", NULL };
	const char *first = NULL;

	if (!op->line)
		return r->verdict == SCENARIO_ERROR && strstr(r->error, "the machine cannot be made: ENOMEM");
	if ((r->error[0] && !is_one_of(op->word, needed)) || r->nr_failures != r->nr_failures_listed || r->nr_missed)
		return false;
	for (uint32_t i = 0; i < r->nr_failures; i++) {
		const char *text = r->failures[i].text;

		if (strstr(text, "structures are wrong") || (about_contents(text) && !is_one_of(op->word, needed)))
			return false;
		/* A page that ksmd could not make an item for may be one that no walk can reach (R6). */
		if (!first && !strstr(text, "Linux itself"))
			first = text;
	}
	if (!first)
		return is_one_of(op->word, do_without);
	return r->failures[0].line == op->line &&
	       (strstr(first, "failed: ENOMEM") || (is_one_of(op->word, say_eagain) && strstr(first, "failed: EAGAIN")));
}

/* ---- The sweep -------------------------------------------------------------------- */

static struct scenario_result *run(const struct scenario *scenario, enum sp_strategy strategy, uint64_t n)
{
	struct scenario_options options;
	struct scenario_result *result;

	scenario_options_init(&options);
	options.strategy = strategy;
	options.validate = true;
	options.fail_allocation = n;
	options.backend = &counting;
	nr_operations = 0;
	assert_int_equal(scenario_run(scenario, &options, &result), 0);
	return result;
}

static uint64_t allocations_of_a_new_machine(void)
{
	struct sp_memory_usage usage;
	struct sp_machine *m;

	assert_int_equal(sp_machine_create(NULL, &m), 0);
	assert_int_equal(sp_knob_set(m, "run", "2"), 0);
	assert_int_equal(sp_knob_set(m, "run", "1"), 0);
	sp_memory_usage(m, &usage);
	sp_machine_destroy(m);
	return usage.nr_allocations;
}

static void sweep(const char *text, enum sp_strategy strategy)
{
	uint64_t made[MAX_OPERATIONS], total;
	uint64_t first = allocations_of_a_new_machine();
	struct diagnostics diagnostics;
	struct scenario *scenario;
	struct scenario_result *result;
	unsigned int nr_wrong = 0;

	counting = engine_backend;
	counting.memory_usage = count;
	if (scenario_parse_text("sweep.scn", text, strlen(text), &diagnostics, &scenario))
		fail_msg("%s", diagnostics.list[0]);
	result = run(scenario, strategy, 0);
	if (result->nr_failures || result->error[0]) {
		show(result, &(struct operation){ 0, "none" }, 0);
		fail();
	}
	/* Everything was looked at: the last call comes after the last operation. */
	assert_int_equal(nr_operations, result->nr_operations + 1);
	scenario_result_destroy(result);
	memcpy(made, made_after, sizeof(made));
	total = made[nr_operations - 1];
	assert_in_range(total, 50, 100000);
	for (uint64_t n = 1; n <= total; n++) {
		struct operation op = operation_of(text, made, first, n);

		result = run(scenario, strategy, n);
		if (!is_right(result, &op)) {
			show(result, &op, n);
			nr_wrong++;
		}
		scenario_result_destroy(result);
	}
	scenario_destroy(scenario);
	assert_int_equal(nr_wrong, 0);
}

static void merged_pages(void **state)
{
	(void)state;
	sweep(merged, SP_STRATEGY_FULL);
}

/* It keeps more books than the others. */
static void merged_pages_under_direct(void **state)
{
	(void)state;
	sweep(merged, SP_STRATEGY_DIRECT);
}

static void huge_pages(void **state)
{
	(void)state;
	sweep(huge, SP_STRATEGY_FULL);
}

static void nodes_and_shared_memory(void **state)
{
	(void)state;
	sweep(nodes, SP_STRATEGY_DIRECT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merged_pages),
		cmocka_unit_test(merged_pages_under_direct),
		cmocka_unit_test(huge_pages),
		cmocka_unit_test(nodes_and_shared_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
