/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What scenarios become in C: the function scenario(), line by line; which helpers come along; what is
 * refused; and that a failure of any allocation is told and leaves nothing.
 *
 * That all of it compiles, and says on real kernels what samepage says, is tested by tests/cli/export.sh,
 * export-guest.sh and scripts/lab.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "export.h"

struct exported {
	struct mem mem;
	struct ctext out;
	char msg[640];
	int err;
};

static void export_text(struct exported *e, const char *text, uint64_t fail_at)
{
	const struct export_input input = { text, strlen(text), "samepage export t.scn" };
	static struct diagnostics diagnostics;
	struct scenario *scenario;

	diagnostics.nr_listed = 0;
	if (scenario_parse_text("t.scn", text, strlen(text), &diagnostics, &scenario))
		fail_msg("%s", diagnostics.list[0]);
	mem_init(&e->mem);
	e->mem.fail_at = fail_at;
	e->msg[0] = '\0';
	ctext_init(&e->out, &e->mem);
	e->err = export_c(scenario, &input, &e->out, e->msg, sizeof(e->msg));
	scenario_destroy(scenario);
}

static void release(struct exported *e)
{
	ctext_destroy(&e->out);
	assert_int_equal(e->mem.nr_live, 0);
}

/* The function scenario() is this. */
static void becomes(const char *text, const char *expected)
{
	static const char head[] = "static void scenario(void)\n{\n";
	struct exported e;
	const char *body;
	size_t length;

	export_text(&e, text, 0);
	assert_int_equal(e.err, 0);
	body = strstr(ctext_string(&e.out), head);
	assert_non_null(body);
	body += strlen(head);
	length = (size_t)(strstr(body, "\n}\n") + 1 - body);
	if (length != strlen(expected) || memcmp(body, expected, length) != 0)
		fail_msg("expected:\n%s\nis:\n%.*s", expected, (int)length, body);
	release(&e);
}

static void test_calls(void **state)
{
	(void)state;
	becomes("# Title\n"
		"process a\n"
		"a: map x 3\n"
		"a: madvise x mergeable\n"
		"a: fill x[0..1] 0x77   # equal\n"
		"\n"
		"# It moves.\n"
		"a: mremap x[1] -> x[2]\n"
		"a: munmap x+1\n"
		"expect errno EINVAL\n"
		"expect vmas a:x == 2\n",
		"\tconst long x = 0x200000000000;\t/* 3 pages */\n"
		"\tstruct proc *a;\n"
		"\n"
		"\tat(2, \"process a\");\n"
		"\ta = process();\n"
		"\tat(3, \"a: map x 3\");\n"
		"\tmust(map(a, x, 3, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED));\n"
		"\tat(4, \"a: madvise x mergeable\");\n"
		"\tmust(sys(a, SYS_madvise, x, 3 * PAGE, MADV_MERGEABLE));\n"
		"\t/* equal */\n"
		"\tat(5, \"a: fill x[0..1] 0x77\");\n"
		"\tmust(sys(a, FILL, x, 2, 0x77));\n"
		"\n"
		"\t/* It moves. */\n"
		"\tat(8, \"a: mremap x[1] -> x[2]\");\n"
		"\tmust(sys(a, SYS_mremap, x + PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, x + 2 * PAGE));\n"
		"\tat(9, \"a: munmap x+1\");\n"
		"\tmust_fail(sys(a, SYS_munmap, x + 1, 3 * PAGE), EINVAL);\n"
		"\tat(11, \"expect vmas a:x == 2\");\n"
		"\tEXPECT(count_vmas(a, x, x + 3 * PAGE), ==, 2);\n");
}

/* Loops stay loops, families arrays, and windows of several processes are each process's own. */
static void test_loops(void **state)
{
	(void)state;
	becomes("process p\n"
		"p: map x 2\n"
		"for i in 1..3\n"
		"	p: fork c{i}\n"
		"	c{i}: map w i * 2\n"
		"	c{i}: fill w[i..] i + 1\n"
		"	# the end\n"
		"end\n"
		"expect content c3:w[3..5] 4\n",
		"\tconst long x = 0x200000000000;\t/* 2 pages */\n"
		"\tstatic struct proc *c[4];\n"
		"\tstruct proc *p;\n"
		"\n"
		"\tat(1, \"process p\");\n"
		"\tp = process();\n"
		"\tat(2, \"p: map x 2\");\n"
		"\tmust(map(p, x, 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED));\n"
		"\tfor (long i = 1; i <= 3; i++) {\n"
		"\t\tat(4, \"p: fork c{i}\");\n"
		"\t\tc[i] = fork_of(p);\n"
		"\t\tat(5, \"c{i}: map w i * 2\");\n"
		"\t\tc[i]->w = window(i * 2, false);\n"
		"\t\tc[i]->w_pages = i * 2;\n"
		"\t\tmust(map(c[i], c[i]->w, i * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED));\n"
		"\t\tat(6, \"c{i}: fill w[i..] i + 1\");\n"
		"\t\tmust(sys(c[i], FILL, c[i]->w + i * PAGE, c[i]->w_pages - i, i + 1));\n"
		"\t\t/* the end */\n"
		"\t}\n"
		"\tat(9, \"expect content c3:w[3..5] 4\");\n"
		"\texpect_byte(c[3], c[3]->w + 3 * PAGE, 3, 0x04);\n");
}

/* What a kernel does not show is a comment; what some do not show is known when it runs. */
static void test_not_shown(void **state)
{
	(void)state;
	becomes("process a\n"
		"a: map x 1\n"
		"a: touch x\n"
		"walk a:x\n"
		"expect reached all\n"
		"under address: expect reached 1\n"
		"expect refcount a:x == 1\n"
		"expect not-writable a:x\n"
		"let nulls = ksm_zero_pages\n"
		"let frame = pfn a:x\n"
		"let unread = frame\n"
		"expect ksm_zero_pages == nulls\n"
		"under full linux >= 6.7: expect pfn a:x == frame\n",
		"\tconst long x = 0x200000000000;\t/* 1 page */\n"
		"\tstruct proc *a;\n"
		"\tlong nulls = 0, frame = 0;\n"
		"\n"
		"\tat(1, \"process a\");\n"
		"\ta = process();\n"
		"\tat(2, \"a: map x 1\");\n"
		"\tmust(map(a, x, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED));\n"
		"\tat(3, \"a: touch x\");\n"
		"\tmust(sys(a, TOUCH, x, 1));\n"
		"\t/* line 4: walk a:x: no kernel makes a walk on command */\n"
		"\t/* line 5: expect reached all: of a walk */\n"
		"\t/* line 7: expect refcount a:x == 1: no kernel shows that */\n"
		"\t/* line 8: expect not-writable a:x: no kernel shows that */\n"
		"\tat(9, \"let nulls = ksm_zero_pages\");\n"
		"\tLET(nulls, grown(\"ksm_zero_pages\"));\n"
		"\tat(10, \"let frame = pfn a:x\");\n"
		"\tframe = page_pfn(a, x);\n"
		"\tat(12, \"expect ksm_zero_pages == nulls\");\n"
		"\tEXPECT(grown(\"ksm_zero_pages\"), ==, known(nulls));\n"
		"\tif (linux_version() >= LINUX(6, 7)) {\n"
		"\t\tat(13, \"under full linux >= 6.7: expect pfn a:x == frame\");\n"
		"\t\tEXPECT(page_pfn(a, x), ==, frame);\n"
		"\t}\n");
}

/* Names that C, the helpers or other names have already. */
static void test_names(void **state)
{
	(void)state;
	becomes("process int\n"
		"int: map known 1\n"
		"int: map linux 1\n"
		"process c\n"
		"int: fork c0\n"
		"c: exit\n"
		"c0: touch known\n"
		"int: touch linux\n",
		"\tconst long known_ = 0x200000000000;\t/* 1 page */\n"
		"\tconst long linux_ = 0x200000011000;\t/* 1 page */\n"
		"\tstatic struct proc *c_[1];\n"
		"\tstruct proc *int_, *c;\n"
		"\n"
		"\tat(1, \"process int\");\n"
		"\tint_ = process();\n"
		"\tat(2, \"int: map known 1\");\n"
		"\tmust(map(int_, known_, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED));\n"
		"\tat(3, \"int: map linux 1\");\n"
		"\tmust(map(int_, linux_, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED));\n"
		"\tat(4, \"process c\");\n"
		"\tc = process();\n"
		"\tat(5, \"int: fork c0\");\n"
		"\tc_[0] = fork_of(int_);\n"
		"\tat(6, \"c: exit\");\n"
		"\tmust(end_process(c));\n"
		"\tat(7, \"c0: touch known\");\n"
		"\tmust(sys(c_[0], TOUCH, known_, 1));\n"
		"\tat(8, \"int: touch linux\");\n"
		"\tmust(sys(int_, TOUCH, linux_, 1));\n");
}

static bool has(const struct exported *e, const char *text)
{
	return strstr(ctext_string(&e->out), text);
}

/* Only what is used comes along; the head tells the story, and by what the file is made. */
static void test_helpers(void **state)
{
	struct exported e;

	(void)state;
	export_text(&e,
		    "# SPDX-License-Identifier: GPL-2.0-only\n"
		    "# A title */ of sorts\n"
		    "#\n"
		    "# A story.\n"
		    "\n"
		    "broken address \"not for a kernel\"\n"
		    "broken linux \"for one\"\n"
		    "needs linux >= 6.7 \"smart \\scan\"\n"
		    "process a\na: map x 1\na: touch x\n",
		    0);
	assert_int_equal(e.err, 0);
	assert_true(has(&e, "/* SPDX-License-Identifier: GPL-2.0-only */\n/*\n * A title * / of sorts\n *\n * A story.\n *\n"
			    " * broken linux \"for one\"\n * needs linux >= 6.7 \"smart \\scan\"\n *\n"
			    " * Made by: samepage export t.scn\n"));
	assert_true(has(&e, "if (!(linux_version() >= LINUX(6, 7))) {"));
	assert_true(has(&e, "\"needs linux >= 6.7 \\\"smart \\\\scan\\\"\""));
	assert_true(has(&e, "case TOUCH:"));
	assert_false(has(&e, "case FILL:"));
	assert_false(has(&e, "fork_of"));
	assert_false(has(&e, "memory.reclaim"));
	assert_false(has(&e, "move_pages"));
	assert_false(has(&e, "//"));
	assert_false(has(&e, "\n\n\n"));
	release(&e);
	export_text(&e, "machine map_limit 12\nprocess a\na: map x 1\na: swapout x\na: migrate x\n", 0);
	assert_true(has(&e, "#define MAP_LIMIT 12\n"));
	assert_true(has(&e, "memory.reclaim"));
	assert_true(has(&e, "SYS_move_pages"));
	assert_true(has(&e, "SYS_set_mempolicy"));
	release(&e);
	export_text(&e, "kills linux \"it does\"\nprocess a\n", 0);
	assert_true(has(&e, "--may-kill"));
	release(&e);
}

static void refused(const char *text, int err, const char *msg)
{
	struct exported e;

	export_text(&e, text, 0);
	assert_int_equal(e.err, err);
	assert_string_equal(e.msg, msg);
	assert_int_equal(e.out.bytes, 0);
	release(&e);
}

static void test_refused(void **state)
{
	(void)state;
	refused("process a from core \"x\"\n", EXPORT_NOT_THIS,
		"t.scn:1:1: memory that comes from a core cannot be exported");
	refused("process a from pid 1\n", EXPORT_NOT_THIS,
		"t.scn:1:1: memory that comes from a process cannot be exported");
	refused("process a\na: fork b\nexpect errno EAGAIN\n", EXPORT_NOT_THIS,
		"t.scn:2:4: a fork that is to fail cannot be exported");
	refused("process a\nlet n = pages_shared\na: fork c{n}\n", EXPORT_NOT_THIS,
		"t.scn:3:4: how many members c{} has depends on what the machine does: an array in C needs a size");
	refused("machine frames 100\nprocess a\n", EXPORT_NO_KERNEL,
		"t.scn: the scenario limits the machine's memory or swap: a kernel has what it has");
	refused("set merge_old_ptes 1\nprocess a\n", EXPORT_NO_KERNEL,
		"t.scn:1:1: merge_old_ptes is a knob of the engine: no kernel has it");
	refused("process a\na: map x 1\nlet n = refcount a:x\nexpect n == 1\n", EXPORT_NO_KERNEL,
		"t.scn:3:1: no kernel shows how many references a page has");
}

static void test_alloc_sweep(void **state)
{
	static const char text[] =
		"machine nodes 2\n"
		"file f 2 seed 3\n"
		"process a\n"
		"a: map x 2 file f\n"
		"for i in 0..1\n"
		"	a: fork c{i}\n"
		"	c{i}: map y 2 + i\n"
		"	c{i}: write y[i]+8 1 2 3\n"
		"	expect pages_scanned == i\n"
		"end\n"
		"a: swapout x\n"
		"expect errno EFAULT\n";
	struct exported e;
	uint64_t n;

	(void)state;
	export_text(&e, text, 0);
	assert_int_equal(e.err, 0);
	n = e.mem.nr_allocs;
	release(&e);
	assert_true(n > 20);
	for (uint64_t i = 1; i <= n; i++) {
		export_text(&e, text, i);
		assert_int_equal(e.mem.nr_failed, 1);
		assert_int_equal(e.err, -ENOMEM);
		release(&e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_loops),
		cmocka_unit_test(test_not_shown),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_helpers),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_alloc_sweep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
