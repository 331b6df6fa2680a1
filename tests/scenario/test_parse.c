/* SPDX-License-Identifier: GPL-2.0-only */
/* Files as such: what cannot be read, limits, declarations, and what a good file may look like. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "ast.h"
#include "scenario.h"

static struct diagnostics diagnostics;

static int parse_size(const char *text, size_t size)
{
	struct scenario *scenario = NULL;
	int err = scenario_parse_text("t.scn", text, size, &diagnostics, &scenario);

	assert_true(err ? diagnostics.nr_total > 0 && !scenario : !diagnostics.nr_total && scenario);
	scenario_destroy(scenario);
	return err;
}

static int parse(const char *text)
{
	return parse_size(text, strlen(text));
}

static void assert_said(const char *text)
{
	if (!strstr(diagnostics.list[0], text))
		print_error("is: %s\nexpected: %s\n", diagnostics.list[0], text);
	assert_non_null(strstr(diagnostics.list[0], text));
}

/* ---- Files ---------------------------------------------------------------------- */

static char dir[] = "/tmp/samepage-test-XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	return rmdir(dir);
}

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int parse_written(const char *text, size_t size)
{
	const char *path = path_of("t.scn");
	struct scenario *scenario = NULL;
	FILE *file = fopen(path, "w");
	int err;

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	err = scenario_parse_file(path, &diagnostics, &scenario);
	scenario_destroy(scenario);
	assert_int_equal(unlink(path), 0);
	return err;
}

static void test_missing_file(void **state)
{
	struct scenario *scenario;

	(void)state;
	assert_int_equal(scenario_parse_file(path_of("none.scn"), &diagnostics, &scenario), -ENOENT);
	assert_said("none.scn: cannot be opened: No such file or directory");
}

static void test_directory(void **state)
{
	struct scenario *scenario;

	(void)state;
	assert_int_equal(scenario_parse_file(dir, &diagnostics, &scenario), -EISDIR);
	assert_said(": is a directory, not a scenario");
}

/* Opening must not wait for a writer. */
static void test_fifo(void **state)
{
	struct scenario *scenario;

	(void)state;
	assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
	assert_int_equal(scenario_parse_file(path_of("fifo"), &diagnostics, &scenario), -EINVAL);
	assert_said(": is no regular file");
	assert_int_equal(unlink(path_of("fifo")), 0);
}

static void test_empty_file(void **state)
{
	(void)state;
	assert_int_equal(parse_written("", 0), -EINVAL);
	assert_said("no operation in this file");
}

static void test_binary_file(void **state)
{
	static const char elf[] = "\x7f" "ELF\x02\x01\x01\0\0\0";

	(void)state;
	assert_int_equal(parse_written(elf, sizeof(elf)), -EINVAL);
	assert_int_equal(diagnostics.nr_total, 1);
	assert_said(": a binary file (it has a zero byte), not a scenario");
}

static void test_good_file(void **state)
{
	static const char text[] = "process a\n";

	(void)state;
	assert_int_equal(parse_written(text, strlen(text)), 0);
}

static void test_large_file(void **state)
{
	const char *path = path_of("large.scn");
	struct scenario *scenario;
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
	close(fd);
	assert_int_equal(scenario_parse_file(path, &diagnostics, &scenario), -EFBIG);
	assert_said("1099511627776 bytes: a scenario has at most 16777216");
	assert_int_equal(unlink(path), 0);
}

/* ---- Lines ------------------------------------------------------------------------ */

static void test_long_line(void **state)
{
	size_t size = (size_t)1 << 20;
	char *text = malloc(size);

	(void)state;
	memset(text, 'x', size);
	assert_int_equal(parse_size(text, size), -EINVAL);
	assert_said("t.scn:1:4097: a line of 1048576 bytes: at most 4096 are allowed");
	assert_int_equal(diagnostics.nr_total, 1);
	free(text);
}

static void test_longest_line(void **state)
{
	char text[SCENARIO_MAX_LINE_BYTES + 2];

	(void)state;
	memset(text, 'c', sizeof(text));
	memcpy(text, "process a #", 11);
	assert_int_equal(parse_size(text, SCENARIO_MAX_LINE_BYTES), 0);
	assert_int_equal(parse_size(text, SCENARIO_MAX_LINE_BYTES + 1), -EINVAL);
	/* As many values as fit. */
	memcpy(text, "process a\na: map x 4\na: write x ", 32);
	for (size_t i = 32; i < sizeof(text); i++)
		text[i] = i % 2 ? ' ' : '7';
	assert_int_equal(parse_size(text, SCENARIO_MAX_LINE_BYTES), 0);
}

static void test_line_ends_and_comments(void **state)
{
	(void)state;
	assert_int_equal(parse("process a\r\n\t a:exit # \xff\xfe \"quote\r\n\r\n"), 0);
	assert_int_equal(parse("process a"), 0);
	assert_int_equal(parse("   \n#\n#\nprocess a#b\n"), 0);
	assert_int_equal(parse("process a from core \"a#b.core\" # c\n"), 0);
	assert_int_equal(parse("process \xc3\xa9\n"), -EINVAL);
	assert_said("t.scn:1:9: expected the name of a process, found \"\\xc3\"");
}

static void test_nesting(void **state)
{
	char text[4096] = "process a\n";

	(void)state;
	for (int i = 0; i < SCENARIO_MAX_DEPTH; i++)
		snprintf(text + strlen(text), 64, "for v%d in 0..1\n", i);
	for (int i = 0; i < SCENARIO_MAX_DEPTH; i++)
		strcat(text, "end\n");
	assert_int_equal(parse(text), 0);
	strcpy(text, "process a\n");
	for (int i = 0; i < SCENARIO_MAX_DEPTH + 3; i++)
		snprintf(text + strlen(text), 64, "for v%d in 0..1\n", i);
	for (int i = 0; i < SCENARIO_MAX_DEPTH + 3; i++)
		strcat(text, "end\n");
	assert_int_equal(parse(text), -EINVAL);
	assert_int_equal(diagnostics.nr_total, 3);
	assert_said("t.scn:10:1: loops are nested more than 8 deep");
}

static void test_deep_expression(void **state)
{
	char text[4096] = "process a\nlet n = ";

	(void)state;
	memset(text + strlen(text), '(', 4000);
	assert_int_equal(parse(text), -EINVAL);
	assert_said("more than 64 nested parentheses");
	strcpy(text, "process a\nlet n = ");
	memset(text + strlen(text), '-', 4000);
	assert_int_equal(parse(text), -EINVAL);
	strcpy(text, "process a\nlet m = 1\nlet n = m");
	for (int i = 0; i < 1000; i++)
		strcat(text, "+m");
	assert_int_equal(parse(text), 0);
}

/* ---- Rounds --------------------------------------------------------------------------- */

static void test_rounds(void **state)
{
	(void)state;
	assert_int_equal(parse("process a\nfor i in 1..1000000000000\nend\n"), -EINVAL);
	assert_said("t.scn:2:1: a loop of 1000000000000 rounds: at most 100000000 rounds are run in a scenario");
	assert_int_equal(parse("process a\nfor i in 1..100000000\nend\n"), 0);
	assert_int_equal(parse("process a\nfor i in 1..100000001\nend\n"), -EINVAL);
	/* In each other, and one after the other. */
	assert_int_equal(parse("process a\nfor i in 1..10000\nfor j in 1..9000\nend\nend\n"), 0);
	assert_int_equal(parse("process a\nfor i in 1..10000\nfor j in 1..10000\nend\nend\n"), -EINVAL);
	assert_int_equal(parse("process a\nfor i in 1..60000000\nend\nfor i in 1..60000000\nend\n"), -EINVAL);
	/* A triangle of 10^8 / 2 rounds. */
	assert_int_equal(parse("process a\nfor i in 1..10000\nfor j in 1..i\nend\nend\n"), 0);
	assert_int_equal(parse("process a\nfor i in -9223372036854775807..9223372036854775807\nend\n"), -EINVAL);
	/* No rounds at all. */
	assert_int_equal(parse("process a\nfor i in 1..0\na: read nothing_here\nend\n"), 0);
}

/* ---- What the parser makes of a file ------------------------------------------------------ */

static struct scenario *parsed(const char *text)
{
	struct scenario *scenario = NULL;

	assert_int_equal(scenario_parse_text("dir/t.scn", text, strlen(text), &diagnostics, &scenario), 0);
	return scenario;
}

static void test_declarations(void **state)
{
	struct scenario *sc = parsed("# SPDX-License-Identifier: GPL-2.0-only\n"
				     "#\n"
				     "# A title. \n"
				     "# More.\n"
				     "broken address retry \"they look at addresses\"\n"
				     "broken linux # K27\n"
				     "machine nodes 2 map_limit 100 thp always\n"
				     "machine frames 7 swap 9 movable 1\n"
				     "process a\n");
	const char *why;

	(void)state;
	assert_string_equal(scenario_path(sc), "dir/t.scn");
	assert_string_equal(scenario_title(sc), "A title.");
	assert_true(scenario_is_broken(sc, SP_STRATEGY_ADDRESS, &why));
	assert_string_equal(why, "they look at addresses");
	assert_true(scenario_is_broken(sc, SP_STRATEGY_RETRY, NULL));
	assert_false(scenario_is_broken(sc, SP_STRATEGY_FULL, &why));
	assert_string_equal(why, "");
	assert_true(scenario_linux_misses(sc, &why));
	assert_string_equal(why, "K27");
	assert_int_equal(sc->machine.nr_nodes, 2);
	assert_int_equal(sc->machine.nr_movable_nodes, 1);
	assert_int_equal(sc->machine.max_map_count, 100);
	assert_int_equal(sc->machine.thp, SP_THP_ALWAYS);
	assert_int_equal(sc->machine.nr_frames, 7);
	assert_int_equal(sc->machine.nr_swap_slots, 9);
	scenario_destroy(sc);

	sc = parsed("process a # not a title\n");
	assert_string_equal(scenario_title(sc), "");
	assert_false(scenario_linux_misses(sc, NULL));
	scenario_destroy(sc);
}

static void test_linux_versions(void **state)
{
	static const struct {
		const char *release;
		int err;
		uint32_t version;
	} releases[] = {
		{ "7.2.13+deb14-cloud-amd64", 0, LINUX_VERSION(7, 2) },
		{ "6.1.0-50-cloud-amd64", 0, LINUX_VERSION(6, 1) },
		{ "6.12", 0, LINUX_VERSION(6, 12) },
		{ "6.12rc1", 0, LINUX_VERSION(6, 12) },
		{ "65535.65535", 0, UINT32_MAX },
		{ "0.0", 0, 0 },
		{ "65536.1", -EINVAL, 0 },
		{ "1.99999999999999999999", -EINVAL, 0 },
		{ "6", -EINVAL, 0 },
		{ "6.", -EINVAL, 0 },
		{ ".1", -EINVAL, 0 },
		{ "6-1", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "linux", -EINVAL, 0 },
	};
	char text[LINUX_VERSION_BYTES];
	uint32_t version;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		version = 0;
		assert_int_equal(linux_version_of_release(releases[i].release, &version), releases[i].err);
		assert_int_equal(version, releases[i].version);
	}
	assert_int_equal(linux_version_running(&version), 0);
	assert_true(version > LINUX_VERSION(2, 6));
	linux_version_format(UINT32_MAX, text, sizeof(text));
	assert_string_equal(text, "65535.65535");
	linux_version_format(LINUX_VERSION(6, 12), text, sizeof(text));
	assert_string_equal(text, "6.12");
}

static bool lacks(const char *range, uint32_t version)
{
	char text[128];
	struct scenario *sc;
	bool ret;

	snprintf(text, sizeof(text), "needs linux %s \"x\"\nprocess a\n", range);
	sc = parsed(text);
	ret = scenario_lacks(sc, version) != NULL;
	scenario_destroy(sc);
	return ret;
}

static void test_kills(void **state)
{
	struct scenario *sc = parsed("kills linux \"it walks freed memory\"\nprocess a\n");

	(void)state;
	assert_true(scenario_is_deadly(sc));
	assert_int_equal(scenario_kills(sc, LINUX_VERSION(6, 1))->line, 1);
	assert_string_equal(scenario_kills(sc, LINUX_VERSION(9, 9))->why, "it walks freed memory");
	scenario_destroy(sc);

	sc = parsed("kills linux >= 6.12 < 7.2 # a fact\nprocess a\n");
	assert_true(scenario_is_deadly(sc));
	assert_null(scenario_kills(sc, LINUX_VERSION(6, 11)));
	assert_string_equal(scenario_kills(sc, LINUX_VERSION(6, 12))->why, "a fact");
	assert_null(scenario_kills(sc, LINUX_VERSION(7, 2)));
	scenario_destroy(sc);

	sc = parsed("process a\n");
	assert_false(scenario_is_deadly(sc));
	assert_null(scenario_kills(sc, LINUX_VERSION(7, 2)));
	scenario_destroy(sc);
}

static void test_needs(void **state)
{
	struct scenario *sc = parsed("# T\nneeds linux >= 6.4 \"merge-any\"\n"
				     "needs linux > 6.6 < 8.0 # smart scan\nprocess a\n");
	const struct scenario_need *need;

	(void)state;
	need = scenario_lacks(sc, LINUX_VERSION(6, 1));
	assert_int_equal(need->line, 2);
	assert_string_equal(need->why, "merge-any");
	assert_string_equal(need->text, "needs linux >= 6.4 \"merge-any\"");
	need = scenario_lacks(sc, LINUX_VERSION(6, 6));
	assert_int_equal(need->line, 3);
	assert_string_equal(need->why, "smart scan");
	assert_null(scenario_lacks(sc, LINUX_VERSION(6, 7)));
	assert_null(scenario_lacks(sc, LINUX_VERSION(7, 2)));
	assert_non_null(scenario_lacks(sc, LINUX_VERSION(8, 0)));
	assert_null(scenario_differences(sc));
	assert_false(scenario_differs(sc, LINUX_VERSION(7, 2), NULL));
	scenario_destroy(sc);

	assert_false(lacks(">= 6.12", LINUX_VERSION(6, 12)));
	assert_true(lacks(">= 6.12", LINUX_VERSION(6, 11)));
	assert_true(lacks(">= 6.12", LINUX_VERSION(6, 2)));
	assert_true(lacks("> 6.12", LINUX_VERSION(6, 12)));
	assert_false(lacks("> 6.12", LINUX_VERSION(6, 13)));
	assert_false(lacks("<= 7.2", LINUX_VERSION(7, 2)));
	assert_true(lacks("<= 7.2", LINUX_VERSION(7, 3)));
	assert_true(lacks("< 7.3", LINUX_VERSION(7, 3)));
	assert_false(lacks("< 7.3", LINUX_VERSION(7, 2)));
	assert_true(lacks("== 7.2", LINUX_VERSION(7, 1)));
	assert_false(lacks("== 7.2", LINUX_VERSION(7, 2)));
}

static void test_differs(void **state)
{
	struct scenario *sc = parsed("differs linux < 6.12 \"K38: counted twice\"\n"
				     "differs linux >= 6.7 < 6.12 ksm_merging_pages pages_sharing \"other\"\n"
				     "process a\n");
	const struct scenario_difference *d = scenario_differences(sc);
	const char *why;

	(void)state;
	assert_true(scenario_differs(sc, LINUX_VERSION(6, 1), &why));
	assert_string_equal(why, "K38: counted twice");
	assert_true(scenario_differs(sc, LINUX_VERSION(6, 11), NULL));
	assert_false(scenario_differs(sc, LINUX_VERSION(6, 12), &why));
	assert_string_equal(why, "");
	assert_null(scenario_lacks(sc, LINUX_VERSION(6, 1)));

	assert_int_equal(d->line, 1);
	assert_true(scenario_difference_covers(d, LINUX_VERSION(6, 1), "anything"));
	assert_false(scenario_difference_covers(d, LINUX_VERSION(6, 12), "anything"));
	d = d->next;
	assert_int_equal(d->line, 2);
	assert_string_equal(d->why, "other");
	assert_false(scenario_difference_covers(d, LINUX_VERSION(6, 1), "pages_sharing"));
	assert_true(scenario_difference_covers(d, LINUX_VERSION(6, 7), "pages_sharing"));
	assert_true(scenario_difference_covers(d, LINUX_VERSION(6, 7), "a.ksm_merging_pages"));
	assert_true(scenario_difference_covers(d, LINUX_VERSION(6, 7), "a:ksm_merging_pages"));
	assert_false(scenario_difference_covers(d, LINUX_VERSION(6, 7), "a.xksm_merging_pages"));
	assert_false(scenario_difference_covers(d, LINUX_VERSION(6, 7), "pages"));
	assert_false(scenario_difference_covers(d, LINUX_VERSION(6, 7), "pages_sharing.a"));
	assert_null(d->next);
	scenario_destroy(sc);
}

static void test_constants(void **state)
{
	static const struct {
		const char *text;
		int64_t value;
	} cases[] = {
		{ "1 + 2 * 3", 7 },
		{ "(1 + 2) * 3", 9 },
		{ "7 - 2 - 1", 4 },
		{ "17 / 5 * 5 + 17 % 5", 17 },
		{ "-7 / 2", -3 },
		{ "-7 % 2", -1 },
		{ "- -3", 3 },
		{ "0x10+0xFf", 271 },
		{ "2*-3", -6 },
		{ "9223372036854775807", INT64_MAX },
		{ "-9223372036854775807-1", INT64_MIN },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scenario *sc;
		char text[128];

		snprintf(text, sizeof(text), "process a\nlet n = %s\n", cases[i].text);
		sc = parsed(text);
		assert_int_equal(sc->first->next->value[0]->op, EXPR_CONST);
		assert_true(sc->first->next->value[0]->value == cases[i].value);
		scenario_destroy(sc);
	}
}

/* c{i} and c3 are members of one family; c alone is not. */
static void test_names(void **state)
{
	struct scenario *sc = parsed("process a\nfor i in 0..3\n a: fork c{i}\nend\nc3: exit\nc{1+1}: exit\n"
				     "process c\nprocess c03\n");
	const struct symbol_table *table = &sc->symbols[SYMBOL_PROCESS];

	(void)state;
	assert_int_equal(table->nr, 4);
	assert_string_equal(table->list[1].text, "c");
	assert_true(table->list[1].indexed);
	assert_string_equal(table->list[2].text, "c");
	assert_false(table->list[2].indexed);
	assert_string_equal(table->list[3].text, "c0");
	assert_true(table->list[3].indexed);
	scenario_destroy(sc);
}

/* Many names are found as fast as few. */
static void test_many_names(void **state)
{
	size_t size = 1 << 20;
	char *text = malloc(size);
	struct scenario *sc;
	size_t used = (size_t)snprintf(text, size, "process a\n");

	(void)state;
	for (int i = 0; i < 20000; i++)
		used += (size_t)snprintf(text + used, size - used, "let n%dx = %d\n", i, i);
	sc = parsed(text);
	assert_int_equal(sc->symbols[SYMBOL_VARIABLE].nr, 20000);
	scenario_destroy(sc);
	free(text);
}

static void test_every_operation_parses(void **state)
{
	static const char text[] =
		"broken address retry\n"
		"needs linux >= 6.1 \"no reason\"\ndiffers linux < 6.12 full_scans \"no reason\"\n"
		"machine nodes 2 movable 1\n"
		"file F 100\nfile G 10 seed 5\n"
		"process a\nprocess p from core \"x.core\"\nprocess q from pid 1\n"
		"let n = 2\nlet n = n + pages_sharing + a.vmas + mapcount(a:@0x1000)\n"
		"set run 1\nset advisor_mode scan-time\nset pages_to_scan n * 2\nset run \"\"\n"
		"scan 2\nscan until-stable\nscan until-stable 30\nscan pages 100\n"
		"run 10s\nrun 500ms\nrun n ms\n"
		"reclaim 10\nreclaim 10 rounds 3\ncompact\n"
		"offline node 1\nonline node 1\n"
		"a: map x 8\na: map y n noreserve prot none\na: map z 4 shared file F at 3 prot r\n"
		"a: map h 512 align 2M\na: map x\na: map x[2..] prot rwx noreplace\na: map x[0] file G\n"
		"a: map @0x10000[0..3]\na: window w 8\na: window v 512 align 2M\n"
		"a: munmap x[1]\na: munmap all\n"
		"a: mremap x[1] -> w[0]\na: mremap x[1] -> w[0] dontunmap\n"
		"a: mremap x resize 9\na: mremap x resize 9 maymove\na: mremap x resize 9 maymove as big\n"
		"a: mremap x+1 flags maymove|fixed|0x40 to w[0]+8 old_bytes 0 new_bytes n*4096\n"
		"a: mprotect x rw\na: mprotect all none\n"
		"a: madvise x mergeable\na: madvise x+5 cold\na: madvise all unmergeable\n"
		"a: madvise x[0] soft_offline\n"
		"a: mlock x\na: munlock x\n"
		"a: prctl merge-any 1\na: prctl merge-any 1 2\na: prctl get-merge-any\n"
		"a: fill x 0x77\na: fill x random 3\n"
		"a: write x[0]+8 1 2 (n) 0xff\na: read x\na: read all\na: touch x[n]\n"
		"a: swapout x\na: swapin x\na: migrate x\na: migrate x[1] node 1 move\n"
		"a: hold x[0] as g\ndrop g\n"
		"walk a:x[0]\na: walk x[0]\n"
		"a: fork b\nb: exit\n"
		"q: read vma0[0]\nq: read heap\nq: read stack[0]\n";

	(void)state;
	assert_int_equal(parse(text), 0);
}

static void test_every_expectation_parses(void **state)
{
	static const char text[] =
		"process a\na: map x 4\na: map y 4\n"
		"expect errno EINVAL\nunder full: expect errno EBUSY\nexpect result 3\nexpect result >= 1\n"
		"expect pages_sharing == 1\nexpect 1 < 2\nexpect a.vmas - 1 != pages(a:x) * 2\n"
		"expect vmas a:x == 2\nexpect vmas(a:x[0..1]) >= 1\nexpect vmas a:all > 0\n"
		"expect pfn a:x[0] != pfn(a:x[1])\nexpect node a:x[0] == 1\nexpect refcount a:x[0] <= 3\n"
		"expect content a:x 0x77\nexpect content a:x random 3\nexpect content a:x same-as a:y\n"
		"expect content a:x[1] unknown\na: expect content x 0\n"
		"expect same a:x\nexpect same a:x a:y\nexpect different a:x\nexpect different a:x a:y\n"
		"expect present a:x\nexpect not-present a:x\nexpect swapped a:x\nexpect absent a:x\n"
		"expect zero a:x\nexpect migration a:x\nexpect ksm a:x\nexpect not-ksm a:x\nexpect anon a:x\n"
		"expect huge a:x\nexpect young a:x\nexpect dirty a:x\nexpect writable a:x\nexpect locked a:x\n"
		"expect mergeable a:all\nexpect mapped a:x\n"
		"expect knob run 1\nexpect knob advisor_mode none\nexpect knob run == 1\n"
		"walk a:x[0]\nexpect reached all\nexpect reached full\nexpect reached 2 of 3\nexpect reached >= 1\n"
		"expect calls 3\nexpect iterations <= 10\nexpect skipped address 4\nexpect skipped mm == 2\n"
		"expect loops 1\nexpect fallbacks 0\nexpect reachable 3\n"
		"expect pass 0 calls 1\nexpect pass 0 iterations 4\nexpect pass 0 skipped mm 3\n"
		"expect pass 1 calls 1\nexpect pass 1 iterations 4\nexpect pass 1 skipped mm 3\n"
		"under full direct: expect reached all\nunder linux < 6.12: expect now_ms == 0\n"
		"under index direct linux >= 6.7 < 7.0: expect now_ms == 0\n"
		"expect orphan_entries == 0\nexpect now_ms > 0\n";

	(void)state;
	assert_int_equal(parse(text), 0);
}

static void test_arena(void **state)
{
	struct arena arena;
	struct mem mem;

	(void)state;
	mem_init(&mem);
	mem.fail_at = 1;
	arena_init(&arena, &mem);
	assert_null(arena_alloc(&arena, 8));
	assert_non_null(arena_alloc(&arena, 8));
	assert_non_null(arena_alloc(&arena, 100000));
	arena_destroy(&arena);
	assert_int_equal(mem.nr_live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missing_file),
		cmocka_unit_test(test_directory),
		cmocka_unit_test(test_fifo),
		cmocka_unit_test(test_empty_file),
		cmocka_unit_test(test_binary_file),
		cmocka_unit_test(test_good_file),
		cmocka_unit_test(test_large_file),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_longest_line),
		cmocka_unit_test(test_line_ends_and_comments),
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_deep_expression),
		cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_declarations),
		cmocka_unit_test(test_linux_versions),
		cmocka_unit_test(test_needs),
		cmocka_unit_test(test_kills),
		cmocka_unit_test(test_differs),
		cmocka_unit_test(test_constants),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_many_names),
		cmocka_unit_test(test_every_operation_parses),
		cmocka_unit_test(test_every_expectation_parses),
		cmocka_unit_test(test_arena),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
