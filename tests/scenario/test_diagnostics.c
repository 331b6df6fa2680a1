/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is said about wrong files, word for word: the file, then every line of
 * its diagnostics. A message that changes on purpose changes here.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "scenario.h"

static const struct {
	const char *text, *diagnostics;
} cases[] = {
	{ "madvice",
	  "t.scn:1:1: unknown operation \"madvice\"; did you mean \"madvise\"?\n" },
	{ "process a\na: madvice x",
	  "t.scn:2:4: unknown operation \"madvice\"; did you mean \"madvise\"?\n" },
	{ "process a\na: map x 4\na: madvise x mergable",
	  "t.scn:3:14: unknown advice \"mergable\"; did you mean \"mergeable\"?\n" },
	{ "process a\na: map x 4\na: map x 4",
	  "t.scn:3:8: \"x\" is a window of a already (line 2): another name, or map x[...] to map inside it\n" },
	{ "process a\nprocess a",
	  "t.scn:2:9: there is a process \"a\" already (line 1), and it has not exited\n" },
	{ "process a\na: map a 4",
	  "t.scn:2:8: \"a\" is a process already (line 1): give a window another name\n" },
	{ "process a\na: map x 4\na: read x[4]",
	  "t.scn:3:11: page 4 is outside x, which has the pages 0..3\n" },
	{ "process a\na: map x 4\na: read x[2..1]",
	  "t.scn:3:11: the last page, 1, lies before the first, 2\n" },
	{ "process a\na: map x 4\na: read x[1..9]",
	  "t.scn:3:14: page 9 is outside x, which has the pages 0..3\n" },
	{ "process a\na: map x 4\na: read x[-1]",
	  "t.scn:3:11: page -1 is outside x, which has the pages 0..3\n" },
	{ "process a\na: map x 4\na: read y",
	  "t.scn:3:9: a has no window \"y\"\n" },
	{ "process a\na: exit\na: read x",
	  "t.scn:3:1: process \"a\" has exited (line 2)\n" },
	{ "process a\na: fork b\nb: exit\nb: map x 4",
	  "t.scn:4:1: process \"b\" has exited (line 3)\n" },
	{ "b: map x 4",
	  "t.scn:1:1: there is no process \"b\" here\n" },
	{ "for i in 0..1000000000000\nend\nprocess a",
	  "t.scn:1:1: a loop of 1000000000001 rounds: at most 100000000 rounds are run in a scenario\n" },
	{ "process a\nrun 1099511628s",
	  "t.scn:2:5: the time is 0..1099511627, not 1099511628\n" },
	{ "process a\nrun 1099511627777ms",
	  "t.scn:2:5: the time is 0..1099511627776, not 1099511627777\n" },
	{ "for i in 0..99999\nfor j in 0..99999\nend\nend\nprocess a",
	  "t.scn:2:1: a loop of 100000 rounds, with those of the loops before and around it: at most 100000000 rounds are run in a scenario\n" },
	{ "for i in 0..3\nprocess a{i}\n",
	  "t.scn:1:1: this `for` has no `end`\n" },
	{ "process a\nend",
	  "t.scn:2:1: `end` without a `for`\n" },
	{ "process a\nexpect pages_shared = 1",
	  "t.scn:2:21: expected a comparison (== != < <= > >=), found \"=\"\n" },
	{ "process a\nexpect pages_shard == 1",
	  "t.scn:2:8: unknown name \"pages_shard\"; did you mean \"pages_shared\"?\n" },
	{ "process a\nexpect a.vmsa == 1",
	  "t.scn:2:10: a process has no figure \"vmsa\"; did you mean \"vmas\"?\n" },
	{ "process a\nset runn 1",
	  "t.scn:2:5: unknown knob \"runn\"; did you mean \"run\"?\n" },
	{ "process a\nset run",
	  "t.scn:2:8: expected the value of the knob, found the end of the line\n" },
	{ "process a\na: exit\nlet x = 1\nexpect errno EBUSY",
	  "t.scn:4:1: `expect errno` stands directly after the operation that it is about\n" },
	{ "process a\na: map x 4\nexpect errno EBUSYY",
	  "t.scn:3:14: expected the name of an error, such as EINVAL, found \"EBUSYY\"\n" },
	{ "process a\nlet n = 1 / 0",
	  "t.scn:2:11: division by zero: 1 / 0\n" },
	{ "process a\nlet n = 9223372036854775807 + 1",
	  "t.scn:2:29: 9223372036854775807 + 1 does not fit in 64 bits\n" },
	{ "process a\nlet n = 99999999999999999999",
	  "t.scn:2:9: this number does not fit in 63 bits\n" },
	{ "process a\nlet n = 12abc",
	  "t.scn:2:9: a number ends in a letter: write 123 or 0x7b\n" },
	{ "process a\nlet pages_shared = 3",
	  "t.scn:2:5: \"pages_shared\" is a counter of the machine and cannot name a variable\n" },
	{ "process a\nlet scan = 3",
	  "t.scn:2:5: \"scan\" is a word of the language and cannot name a variable\n" },
	{ "process a\nlet n = m",
	  "t.scn:2:9: \"m\" is no variable (let, for) and no counter of the machine\n" },
	{ "process a\nmachine nodes 2",
	  "t.scn:2:1: the machine must be described before the first process and file\n" },
	{ "machine nodes 65\nprocess a",
	  "t.scn:1:15: 65 is not in 1..64\n" },
	{ "machine nodes 2 movable 2\nprocess a",
	  "t.scn:1:9: movable 2, of nodes 2: the kernel needs one for itself\n" },
	{ "machine movable 1 nodes 2\nmachine nodes 1\nprocess a",
	  "t.scn:2:9: movable 1, of nodes 1: the kernel needs one for itself\n" },
	{ "machine nodes 3 movable 1\nprocess a\noffline node 1\nonline node 2+1\noffline 2",
	  "t.scn:5:9: expected \"node\" and its number, found \"2\"\n" },
	{ "machine nodes 3 movable 1\nprocess a\nonline node 2+1\n",
	  "t.scn:3:13: node 3 cannot go offline: of 3 nodes, the last 1 can; `machine nodes N movable N` says so\n" },
	{ "process a\noffline node 0",
	  "t.scn:2:14: node 0 cannot go offline: of 1 nodes, the last 0 can; `machine nodes N movable N` says so\n" },
	{ "machine thp sometimes\nprocess a",
	  "t.scn:1:13: expected never, madvise or always, found \"sometimes\"\n" },
	{ "process a\nunder ful: expect pages_shared == 1",
	  "t.scn:2:7: unknown strategy \"ful\"; did you mean \"full\"?\n" },
	{ "process a\nunder full: scan 2",
	  "t.scn:2:13: `under` is for expectations: every strategy and kernel runs the same operations\n" },
	{ "process a\nunder : expect pages_shared == 1",
	  "t.scn:2:7: expected the strategies or the Linux that the expectation is for\n" },
	{ "process a\nunder linux: expect pages_shared == 1",
	  "t.scn:2:12: expected a comparison (< <= == >= >) and a version, such as `linux >= 6.7`, found \":\"\n" },
	{ "process a\nunder linux 6.7: expect pages_shared == 1",
	  "t.scn:2:13: expected a comparison (< <= == >= >) and a version, such as `linux >= 6.7`, found \"6\"\n" },
	{ "process a\nunder linux < six: expect pages_shared == 1",
	  "t.scn:2:15: expected a version of Linux such as 6.12, found \"six\"\n" },
	{ "process a\nunder linux < 6: expect pages_shared == 1",
	  "t.scn:2:15: expected a version of Linux such as 6.12, found another number\n" },
	{ "process a\nunder linux < 6.12.3: expect pages_shared == 1",
	  "t.scn:2:15: expected a version of Linux such as 6.12, found another number\n" },
	{ "process a\nunder linux < 6.: expect pages_shared == 1",
	  "t.scn:2:15: expected a version of Linux such as 6.12, found another number\n" },
	{ "process a\nunder linux < 6.70000: expect pages_shared == 1",
	  "t.scn:2:15: expected a version of Linux such as 6.12, found another number\n" },
	{ "process a\nunder linux != 6.7: expect pages_shared == 1",
	  "t.scn:2:13: a range of versions has no hole: < <= == >= or >\n" },
	{ "process a\nunder linux < 6.7 > 6.6: expect pages_shared == 1",
	  "t.scn:2:13: no version of Linux is that\n" },
	{ "process a\nunder linux < 6.7 expect pages_shared == 1",
	  "t.scn:2:19: expected ':' after the version, found \"expect\"\n" },
	{ "process a\nunder linux < 6.7: scan 2",
	  "t.scn:2:20: `under` is for expectations: every strategy and kernel runs the same operations\n" },
	{ "process a\nneeds linux >= 6.7 \"late\"",
	  "t.scn:2:1: `needs` is about the whole file: it stands before the first operation\n" },
	{ "process a\ndiffers linux < 6.7 \"late\"",
	  "t.scn:2:1: `differs` is about the whole file: it stands before the first operation\n" },
	{ "kills linux",
	  "t.scn:1:12: why? usage: kills linux [OP VERSION] \"why\"\n" },
	{ "kills 6.7 \"x\"",
	  "t.scn:1:7: expected linux and a version, found \"6\"; usage: kills linux [OP VERSION] \"why\"\n" },
	{ "kills linux \"x\"\nkills linux \"y\"",
	  "t.scn:2:1: line 1 has said that already\n" },
	{ "process a\nkills linux \"x\"",
	  "t.scn:2:1: `kills` is about the whole file: it stands before the first operation\n" },
	{ "needs 6.7 \"x\"\nprocess a",
	  "t.scn:1:7: expected linux and a version, found \"6\"; usage: needs linux OP VERSION \"why\"\n" },
	{ "needs linux >= 7.3 \"x\"\nprocess a",
	  "t.scn:1:7: the engine counts as Linux 7.2, which this leaves out\n" },
	{ "needs linux >= 6.7\nprocess a",
	  "t.scn:1:19: why? usage: needs linux OP VERSION \"why\"\n" },
	{ "needs linux >= 6.7 smart scan\nprocess a",
	  "t.scn:1:20: unexpected \"smart\"; usage: needs linux OP VERSION \"why\"\n" },
	{ "needs linux >= 6.7 \"smart scan\nprocess a",
	  "t.scn:1:20: a reason in quotes has no closing '\"' on this line\n" },
	{ "differs linux < 6.7 \"x\" y\nprocess a",
	  "t.scn:1:25: unexpected \"y\"; usage: differs linux OP VERSION [OBSERVABLE...] \"why\"\n" },
	{ "differs linux < 6.7 pages_shared\nprocess a",
	  "t.scn:1:33: why? usage: differs linux OP VERSION [OBSERVABLE...] \"why\"\n" },
	{ "process a\nlet needs = 3",
	  "t.scn:2:5: \"needs\" is a word of the language and cannot name a variable\n" },
	{ "broken adress\nprocess a",
	  "t.scn:1:8: unknown strategy \"adress\"; did you mean \"address\"?\n" },
	{ "process a\na: map x 4 shard",
	  "t.scn:2:12: unexpected \"shard\"; options of map: shared, file F at PAGE, prot P, noreserve, noreplace, align 2M\n" },
	{ "process a\na: map x 4 prot rq",
	  "t.scn:2:17: expected a protection (none, r, rw, rx, rwx), found \"rq\"\n" },
	{ "process a\na: map x 4\na: mremap x",
	  "t.scn:3:12: expected -> RANGE, resize PAGES, or to, flags, old_bytes, new_bytes, found the end of the line\n" },
	{ "process a\na: map x 4\na: mremap x[0] flags maymov to x[1]",
	  "t.scn:3:22: unknown flag of mremap \"maymov\"; did you mean \"maymove\"?\n" },
	{ "process a\na: map x 4\na: write x[0]",
	  "t.scn:3:14: expected the bytes to write, found the end of the line\n" },
	{ "process a\na: map x 4\na: write x[0] 256",
	  "t.scn:3:15: a byte is 0..255, not 256\n" },
	{ "process a\na: map x 4\na: fill x 0x100",
	  "t.scn:3:11: a byte is 0..255, not 256\n" },
	{ "process a\na: map x 0",
	  "t.scn:2:10: the number of pages is 1..4294967296, not 0\n" },
	{ "process a\na: map x 99999999999",
	  "t.scn:2:10: the number of pages is 1..4294967296, not 99999999999\n" },
	{ "process a\na: map x 4 file F",
	  "t.scn:2:17: there is no file \"F\" here\n" },
	{ "process a from core x",
	  "t.scn:1:21: expected the path of a core in quotes, found \"x\"\n" },
	{ "process a from pid 0",
	  "t.scn:1:20: a process number is 1..2147483647, not 0\n" },
	{ "process a\nrun 10",
	  "t.scn:2:7: expected a unit of time, s or ms, found the end of the line\n" },
	{ "process a\nrun 10h",
	  "t.scn:2:7: expected a unit of time, s or ms, found \"h\"\n" },
	{ "process a\na: map x 4\nwalk x",
	  "t.scn:3:6: expected PROCESS:RANGE, such as a:x[0]\n" },
	{ "process a\na: map x 4\nwalk a:x",
	  "t.scn:3:6: \"a:x\" has 4 pages: name one, such as a:x[0]\n" },
	{ "process a\na: map x 4\na: hold x[0] as h\na: hold x[1] as h",
	  "t.scn:4:17: \"h\" holds a page already (line 3): drop it first\n" },
	{ "process a\ndrop h",
	  "t.scn:2:6: nothing is held as \"h\" here\n" },
	{ "process a\na: map x 4\na: migrate x node 1",
	  "t.scn:3:19: the machine has 1 nodes, counted from 0; `machine nodes N` makes more\n" },
	{ "process a\na: map x 4\nexpect same a:x a:x[0]",
	  "t.scn:3:17: a:x has 4 pages and a:x[0] has 1: they cannot be compared page by page\n" },
	{ "process a\nexpect pass 2 calls 1",
	  "t.scn:2:13: expected 0 or 1 and calls, iterations or skipped mm after pass, found \"2\"\n" },
	{ "process a\nexpect skipped foo 1",
	  "t.scn:2:16: expected address or mm after skipped, found \"foo\"\n" },
	{ "process a\na: map x 4\nexpect presnt a:x",
	  "t.scn:3:8: unknown name \"presnt\"; did you mean \"present\"?\n" },
	{ "process a\na: map x 4 align 4M",
	  "t.scn:2:18: expected 2M, the only alignment there is, found \"4M\"\n" },
	{ "process a\na: map x[2] 4",
	  "t.scn:2:13: unexpected \"4\"; options of map: shared, file F at PAGE, prot P, noreserve, noreplace, align 2M\n" },
	{ "process a\na: prctl merge-any",
	  "t.scn:2:19: expected 0 or 1, found the end of the line\n" },
	{ "process a\na: prctl merge-any 1 2 3 4 5",
	  "t.scn:2:28: prctl has at most 4 arguments here\n" },
	{ "process a\nfork b",
	  "t.scn:2:1: which process? usage: PROCESS: fork NAME\n" },
	{ "process a\na: process b",
	  "t.scn:2:4: no operation of a process; usage: process NAME [from core \"FILE\" | from pid N]\n" },
	{ "" "\x01" "" "\x02" "",
	  "t.scn:1:1: expected an operation, found \"\\x01\"\n" },
	{ "process " "\xc3" "" "\xa9" "",
	  "t.scn:1:9: expected the name of a process, found \"\\xc3\"\n" },
	{ "process a # " "\xff" " ok\nscan 1 1",
	  "t.scn:2:8: unexpected \"1\"; usage: scan PASSES | scan until-stable [PASSES] | scan pages N\n" },
	{ "process a\nlet n = ((1)",
	  "t.scn:2:13: expected ')' to close the '(', found the end of the line\n" },
	{ "process a\nfor i in 0..1\nlet i = 2\nend",
	  "t.scn:3:5: a loop sets its variable itself: use another name\n" },
	{ "process a\nfor i in 0..1\nend\nlet q = i",
	  "t.scn:4:9: \"i\" is no variable (let, for) and no counter of the machine\n" },
	{ "process a\nfor i in 0..1\nfor i in 0..1\nend\nend",
	  "t.scn:3:5: \"i\" is the variable of a loop around this one\n" },
	{ "process a\nfor a in 0..1\nend",
	  "t.scn:2:5: \"a\" is a process already (line 1): give a variable another name\n" },
	{ "process all",
	  "t.scn:1:9: \"all\" is a word of the language and cannot name a process\n" },
	{ "process a12345678",
	  "t.scn:1:10: the index of a name is 0..999999\n" },
	{ "process a1{2}",
	  "t.scn:1:10: a name ends in a letter or '_' before '{'\n" },
	{ "process a{0-1}",
	  "t.scn:1:11: the index of a name is 0..999999\n" },
	{ "process a\na: read @5",
	  "t.scn:2:10: an address is a multiple of 4096; add +OFFSET for others\n" },
	{ "process a\nexpect 1 + ",
	  "t.scn:2:11: expected a number, a name or '(', found the end of the line\n" },
	{ "process a\na: map x 4\nexpect pfn a:x == 1",
	  "t.scn:3:12: \"a:x\" has 4 pages: name one, such as a:x[0]\n" },
	{ "process a\nx: y",
	  "t.scn:2:4: unknown operation \"y\"; samepage-scenario(5) lists them\n" },
	{ "process a\nx y z",
	  "t.scn:2:1: unknown operation \"x\"; samepage-scenario(5) lists them\n" },
	{ "process a\nx{1}: exit",
	  "t.scn:2:1: there is no process \"x1\" here\n" },
	/* Several mistakes, in the order of their lines; names first known to the dry run. */
	{ "process a\nfil\na: map x 2\na: raed x\nexpect nothing == 1\n",
	  "t.scn:2:1: unknown operation \"fil\"; did you mean \"file\"?\n"
	  "t.scn:4:4: unknown operation \"raed\"; did you mean \"read\"?\n"
	  "t.scn:5:8: \"nothing\" is no variable (let, for) and no counter of the machine\n" },
	{ "process a\na: map x 2\na: read x[3]\na: read y\nb: exit\n",
	  "t.scn:3:11: page 3 is outside x, which has the pages 0..1\n"
	  "t.scn:4:9: a has no window \"y\"\n"
	  "t.scn:5:1: there is no process \"b\" here\n" },
	/* A loop's body is wrong in two rounds, and told once. */
	{ "process a\na: map x 2\nfor i in 2..99\na: read x[i]\nend\n",
	  "t.scn:4:11: page 2 is outside x, which has the pages 0..1\n" },
	/* Wrong in the last round alone. */
	{ "process a\na: map x 1000\nfor i in 0..500\na: read x[2*i]\nend\n",
	  "t.scn:4:12: page 1000 is outside x, which has the pages 0..999\n" },
	/* An operation that must fail names nothing. */
	{ "process a\na: fork b\nexpect errno EAGAIN\nb: exit\n",
	  "t.scn:4:1: there is no process \"b\" here\n" },
	/* Members that a loop made, and one that it did not. */
	{ "process a\nfor i in 0..99\na: fork c{i}\nend\nc50: exit\nc100: exit\n",
	  "t.scn:6:1: there is no process \"c100\" here\n" },
	{ "", "t.scn: no operation in this file: a scenario starts with `process NAME`\n" },
	{ "# only a comment\n\n", "t.scn: no operation in this file: a scenario starts with `process NAME`\n" },
	{ "broken full", "t.scn: no operation in this file: a scenario starts with `process NAME`\n" },
};

static void test_golden(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct diagnostics diagnostics;
		struct scenario *scenario = NULL;
		char is[8192] = "";
		int err = scenario_parse_text("t.scn", cases[i].text, strlen(cases[i].text), &diagnostics,
					      &scenario);

		for (unsigned int j = 0; j < diagnostics.nr_listed; j++) {
			strcat(is, diagnostics.list[j]);
			strcat(is, "\n");
		}
		if (strcmp(is, cases[i].diagnostics))
			print_error("of the file:\n%s\n", cases[i].text);
		assert_string_equal(is, cases[i].diagnostics);
		assert_int_equal(err, -EINVAL);
		assert_null(scenario);
		assert_int_equal(diagnostics.nr_total, diagnostics.nr_listed);
	}
}

/* The list is bounded, keeps the first lines, and counts the rest. */
static void test_many(void **state)
{
	struct diagnostics diagnostics;
	struct scenario *scenario;
	char text[4096] = "process a\n";

	(void)state;
	for (int i = 0; i < 100; i++)
		strcat(text, "xyzzy\n");
	assert_int_equal(scenario_parse_text("t.scn", text, strlen(text), &diagnostics, &scenario), -EINVAL);
	assert_int_equal(diagnostics.nr_total, 100);
	assert_int_equal(diagnostics.nr_listed, DIAGNOSTICS_MAX);
	assert_ptr_equal(strstr(diagnostics.list[0], "t.scn:2:1: "), diagnostics.list[0]);
	assert_ptr_equal(strstr(diagnostics.list[DIAGNOSTICS_MAX - 1], "t.scn:21:1: "),
			 diagnostics.list[DIAGNOSTICS_MAX - 1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
