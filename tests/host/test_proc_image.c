/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The reader of running processes: lines of maps and entries of pagemap as
 * tables, a child whose every page is known, and processes that are not there,
 * may not be read, go away or give up memory while they are read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core_writer.h"
#include "image_check.h"
#include "proc_image.h"
#include "proc_maps.h"
#include "proc_pagemap.h"
#include "samepage.h"

/* ---- Text and bits ---- */

static void test_lines_of_maps(void **state)
{
	static const struct {
		const char *line;
		struct image_vma vma;
	} cases[] = {
		{ "55e0d7c000-55e0d7e000 r-xp 00003000 fe:00 247134     /usr/bin/a b",
		  { 0x55e0d7c000, 0x55e0d7e000, 5, false, true, 3, "/usr/bin/a b" } },
		{ "7f0000000000-7f0000001000 rw-s 00000000 00:01 1024 /dev/zero (deleted)",
		  { 0x7f0000000000, 0x7f0000001000, 3, true, true, 0,
		    "/dev/zero (deleted)" } },
		{ "7f0000000000-7f0000001000 ---p 00000000 00:00 0 ",
		  { 0x7f0000000000, 0x7f0000001000, 0, false, false, 0, "" } },
		{ "7f0000000000-7f0000001000 rw-p 00002000 00:05 5    /dev/zero",
		  { 0x7f0000000000, 0x7f0000001000, 3, false, false, 0, "/dev/zero" } },
		{ "00400000-00401000 rw-p 00000000 00:00 0      [heap]",
		  { 0x400000, 0x401000, 3, false, false, 0, "[heap]" } },
	};
	static const char *const wrong[] = {
		"", "x", "1000-", "1000-2000", "2000-1000 r--p 0 0:0 0",
		"1000-1000 r--p 0 0:0 0", "1001-2000 r--p 0 0:0 0",
		"1000-2000 q--p 0 0:0 0", "1000-2000 r--q 0 0:0 0",
		"1000-2000 r--p 0 0:0", "1000-2000 r--p 0 0:0 x",
		"-1000-2000 r--p 0 0:0 0", "10000000000001000-2000 r--p 0 0:0 0",
	};
	struct image_vma vma;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct image_vma *want = &cases[i].vma;

		assert_true(proc_maps_parse(cases[i].line, strlen(cases[i].line), &vma));
		assert_int_equal(vma.start, want->start);
		assert_int_equal(vma.end, want->end);
		assert_int_equal(vma.prot, want->prot);
		assert_int_equal(vma.shared, want->shared);
		assert_int_equal(vma.file_backed, want->file_backed);
		assert_int_equal(vma.pgoff, want->pgoff);
		assert_string_equal(vma.name, want->name);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		if (proc_maps_parse(wrong[i], strlen(wrong[i]), &vma))
			fail_msg("taken: %s", wrong[i]);
	}
}

static void test_entries_of_pagemap(void **state)
{
	const uint64_t present = UINT64_C(1) << 63, swapped = UINT64_C(1) << 62;
	const uint64_t file = UINT64_C(1) << 61, guard = UINT64_C(1) << 58;
	const struct image_vma anon = { 0 }, mapped = { .file_backed = true };

	(void)state;
	assert_int_equal(pagemap_entry_state(present | 4711, &anon), IMAGE_PAGE_PRESENT);
	assert_int_equal(pagemap_entry_state(present, &mapped), IMAGE_PAGE_PRESENT);
	assert_int_equal(pagemap_entry_state(present | file, &mapped), IMAGE_PAGE_FILE);
	assert_int_equal(pagemap_entry_state(swapped, &anon), IMAGE_PAGE_SWAPPED);
	assert_int_equal(pagemap_entry_state(swapped, &mapped), IMAGE_PAGE_SWAPPED);
	assert_int_equal(pagemap_entry_state(swapped | guard, &anon),
			 IMAGE_PAGE_UNTOUCHED);
	assert_int_equal(pagemap_entry_state(0, &anon), IMAGE_PAGE_UNTOUCHED);
	assert_int_equal(pagemap_entry_state(0, &mapped), IMAGE_PAGE_FILE);
}

/* ---- Reading ---- */

#define WATCHED_PAGES 1024
#define NOT_TOLD 0xff

struct target { /* see proc_target.c */
	pid_t pid;
	unsigned long anon, file, shared, plain, reserved;
	int guarded;
	FILE *commands, *answers;
};

/* What was told of one range. */
struct told {
	struct image_check check;
	struct image_report report;
	struct mem mem;
	char msg[512];
	int err;

	uint64_t start, nr_watched; /* the range that is watched */
	unsigned char states[WATCHED_PAGES];
	unsigned char first_bytes[WATCHED_PAGES];
	struct image_vma vma_at; /* the last VMA that overlaps the range */
	uint64_t digest; /* of all VMAs, states and contents */

	/* Done once, at the first page of the range. */
	void (*trap)(const struct target *target);
	const struct target *trap_target;
};

static void digest(struct told *told, uint64_t value)
{
	told->digest = (told->digest ^ value) * UINT64_C(0x100000001b3);
}

static int told_vma(void *arg, const struct image_vma *vma)
{
	struct told *told = arg;

	digest(told, vma->start);
	digest(told, vma->end);
	if (vma->start < told->start + told->nr_watched * PAGE_SIZE &&
	    vma->end > told->start)
		told->vma_at = *vma;
	return 0;
}

static int told_run(void *arg, uint64_t addr, uint64_t nr_pages,
		    enum image_page_state state)
{
	struct told *told = arg;
	uint64_t from = MAX(addr, told->start);
	uint64_t to = MIN(addr + nr_pages * PAGE_SIZE,
			  told->start + told->nr_watched * PAGE_SIZE);

	for (; from < to; from += PAGE_SIZE)
		told->states[(from - told->start) / PAGE_SIZE] = state;
	return 0;
}

static int told_page(void *arg, uint64_t addr, enum image_page_state state,
		     const void *contents)
{
	struct told *told = arg;
	const uint64_t *words = contents;

	digest(told, addr);
	for (size_t i = 0; i < PAGE_SIZE / 8; i++)
		digest(told, words[i]);
	if (addr < told->start || addr >= told->start + told->nr_watched * PAGE_SIZE)
		return 0;
	told->states[(addr - told->start) / PAGE_SIZE] = state;
	memcpy(&told->first_bytes[(addr - told->start) / PAGE_SIZE], contents, 1);
	if (told->trap)
		told->trap(told->trap_target);
	told->trap = NULL;
	return 0;
}

static const struct image_ops told_ops = { told_vma, told_page, told_run };

static void told_begin(struct told *told)
{
	mem_init(&told->mem);
	told->check = (struct image_check){ .inner = &told_ops, .inner_arg = told };
	memset(told->states, NOT_TOLD, sizeof(told->states));
	told->digest = 0;
}

static int told_read(struct told *told, pid_t pid, unsigned flags)
{
	told->err = proc_image_read(&told->mem, pid, flags, &image_check_ops,
				    &told->check, &told->report, told->msg,
				    sizeof(told->msg));
	image_check_finish(&told->check, told->err, &told->report);
	if (told->check.violation)
		fail_msg("%s", told->check.violation);
	assert_int_equal(told->mem.nr_live, 0);
	if (told->err)
		assert_string_not_equal(told->msg, "");
	else
		assert_string_equal(told->msg, "");
	return told->err;
}

static int read_pid(struct told *told, pid_t pid)
{
	told_begin(told);
	return told_read(told, pid, 0);
}

static void assert_message(const struct told *told, const char *part)
{
	if (!strstr(told->msg, part))
		fail_msg("message \"%s\" lacks \"%s\"", told->msg, part);
}

/* ---- The process that is read ---- */

static void run_target(const int in[2], const int out[2])
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 32);
	char *slash;

	path[len > 0 ? len : 0] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash ? slash : path, "/host/proc_target");
	dup2(in[0], STDIN_FILENO);
	dup2(out[1], STDOUT_FILENO);
	close(in[1]);
	close(out[0]);
	execl(path, path, (char *)NULL);
	fprintf(stderr, "%s: %s\n", path, strerror(errno));
	_exit(1);
}

static void target_start(struct target *t)
{
	int in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	t->pid = fork();
	assert_true(t->pid >= 0);
	if (t->pid == 0)
		run_target(in, out);
	close(in[0]);
	close(out[1]);
	t->commands = fdopen(in[1], "w");
	t->answers = fdopen(out[0], "r");
	assert_non_null(t->commands);
	assert_non_null(t->answers);
	assert_int_equal(fscanf(t->answers, "%lx %lx %lx %lx %lx %d", &t->anon,
				&t->file, &t->shared, &t->plain, &t->reserved,
				&t->guarded), 6);
	assert_int_equal(getc(t->answers), '\n');
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void target_stop(struct target *t)
{
	end_child(t->pid);
	fclose(t->commands);
	fclose(t->answers);
}

static void watch(struct told *told, unsigned long addr, uint64_t nr_pages)
{
	memset(told, 0, sizeof(*told));
	told->start = addr;
	told->nr_watched = nr_pages;
}

static void test_every_kind_of_page(void **state)
{
	struct told *told = malloc(sizeof(*told));
	struct target t;

	(void)state;
	assert_non_null(told);
	target_start(&t);
	watch(told, t.anon, 16);
	assert_int_equal(read_pid(told, t.pid), 0);
	assert_int_equal(told->states[0], IMAGE_PAGE_PRESENT);
	assert_int_equal(told->first_bytes[0], 'A');
	/* Without PAGEMAP_SCAN the zero page is a page like any other. */
	if (told->states[1] == IMAGE_PAGE_PRESENT)
		assert_int_equal(told->first_bytes[1], 0);
	else
		assert_int_equal(told->states[1], IMAGE_PAGE_UNTOUCHED);
	assert_int_equal(told->states[2], IMAGE_PAGE_UNTOUCHED);
	/* No access for the process is no secret for a debugger. */
	assert_int_equal(told->states[3], IMAGE_PAGE_PRESENT);
	assert_int_equal(told->first_bytes[3], 'D');
	assert_int_equal(told->states[4], IMAGE_PAGE_UNTOUCHED);
	if (t.guarded)
		assert_int_equal(told->states[5], IMAGE_PAGE_UNTOUCHED);
	for (int i = 6; i < 15; i++)
		assert_int_equal(told->states[i], IMAGE_PAGE_UNTOUCHED);
	assert_int_equal(told->states[15], IMAGE_PAGE_PRESENT);
	assert_int_equal(told->first_bytes[15], 'P');
	assert_false(told->vma_at.file_backed || told->vma_at.shared);

	watch(told, t.file, 6);
	assert_int_equal(read_pid(told, t.pid), 0);
	assert_int_equal(told->states[0], IMAGE_PAGE_PRESENT);
	assert_int_equal(told->first_bytes[0], 'C');
	for (int i = 1; i < 6; i++)
		assert_int_equal(told->states[i], IMAGE_PAGE_FILE);
	assert_true(told->vma_at.file_backed);
	assert_int_equal(told->vma_at.prot, SP_PROT_READ | SP_PROT_WRITE);

	watch(told, t.shared, 2);
	assert_int_equal(read_pid(told, t.pid), 0);
	assert_int_equal(told->states[0], IMAGE_PAGE_FILE);
	assert_int_equal(told->states[1], IMAGE_PAGE_FILE);
	assert_true(told->vma_at.shared);
	assert_false(told->report.no_pagemap);
	assert_true(told->report.nr_vmas_skipped > 0); /* [vdso] */
	target_stop(&t);
	free(told);
}

static pid_t start_sleep(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/bin/sleep", "sleep", "1000", (char *)NULL);
		_exit(1);
	}
	assert_int_equal(core_wait_until_asleep(pid), 0);
	return pid;
}

static void test_both_sources_agree(void **state)
{
	struct told *scan = malloc(sizeof(*scan));
	struct told *entries = malloc(sizeof(*entries));
	pid_t pid = start_sleep();

	(void)state;
	assert_non_null(scan);
	assert_non_null(entries);
	watch(scan, 0, 0);
	watch(entries, 0, 0);
	told_begin(scan);
	assert_int_equal(told_read(scan, pid, 0), 0);
	told_begin(entries);
	assert_int_equal(told_read(entries, pid, PROC_IMAGE_NO_SCAN), 0);
	end_child(pid);
	/* sleep maps no zero page, so nothing differs. */
	assert_int_equal(scan->digest, entries->digest);
	assert_int_equal(scan->report.nr_vmas, entries->report.nr_vmas);
	assert_memory_equal(scan->report.nr_pages, entries->report.nr_pages,
			    sizeof(scan->report.nr_pages));
	assert_true(scan->report.nr_pages[IMAGE_PAGE_PRESENT] > 10);
	assert_true(scan->report.nr_pages[IMAGE_PAGE_FILE] > 100);
	assert_true(scan->report.nr_pages[IMAGE_PAGE_UNTOUCHED] > 0);
	assert_int_equal(scan->report.read_bytes, entries->report.read_bytes);
	free(scan);
	free(entries);
}

static void test_a_large_reservation(void **state)
{
	struct told *told = malloc(sizeof(*told));
	struct target t;

	(void)state;
	assert_non_null(told);
	target_start(&t);
	watch(told, t.reserved, 1);
	assert_int_equal(read_pid(told, t.pid), 0);
	if (t.reserved) {
		assert_int_equal(told->states[0], IMAGE_PAGE_UNTOUCHED);
		assert_true(told->report.nr_pages[IMAGE_PAGE_UNTOUCHED] >= 1 << 26);
	}
	/* Nothing of it was read. */
	assert_true(told->report.read_bytes < UINT64_C(64) << 20);
	target_stop(&t);
	free(told);
}

/* ---- Processes that change ---- */

static void trap_kill(const struct target *t)
{
	kill(t->pid, SIGKILL);
	/* It must be gone, but its pid must not: nobody may take it. */
	waitid(P_PID, (id_t)t->pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
}

static void test_a_process_that_exits_while_it_is_read(void **state)
{
	struct told *told = malloc(sizeof(*told));

	(void)state;
	assert_non_null(told);
	for (unsigned flags = 0; flags <= PROC_IMAGE_NO_SCAN;
	     flags += PROC_IMAGE_NO_SCAN) {
		struct target t;

		target_start(&t);
		watch(told, t.plain, 768);
		told->trap = trap_kill;
		told->trap_target = &t;
		told_begin(told);
		assert_int_equal(told_read(told, t.pid, flags), -ESRCH);
		assert_message(told, "exited while it was read (");
		assert_message(told, "mappings read)");
		/* The slice at hand was whole. */
		assert_int_equal(told->states[0], IMAGE_PAGE_PRESENT);
		assert_int_equal(told->states[255], IMAGE_PAGE_PRESENT);
		assert_int_equal(told->states[256], NOT_TOLD);
		target_stop(&t);
	}
	free(told);
}

static void trap_unmap(const struct target *t)
{
	fputc('u', t->commands);
	fflush(t->commands);
	assert_int_equal(getc(t->answers), 'u');
}

static void test_pages_that_vanish_are_unknown(void **state)
{
	struct told *told = malloc(sizeof(*told));
	struct target t;

	(void)state;
	assert_non_null(told);
	target_start(&t);
	watch(told, t.plain, 768);
	/* They are in the second slice, which is read after this. */
	told->trap = trap_unmap;
	told->trap_target = &t;
	assert_int_equal(read_pid(told, t.pid), 0);
	for (size_t i = 0; i < 768; i++) {
		bool gone = i >= 300 && i < 400;

		assert_int_equal(told->states[i], gone ? IMAGE_PAGE_UNKNOWN :
				 IMAGE_PAGE_PRESENT);
		assert_true(gone || told->first_bytes[i] == 'v');
	}
	target_stop(&t);
	free(told);
}

/* ---- Processes that cannot be read ---- */

static void test_no_such_process(void **state)
{
	struct told *told = calloc(1, sizeof(*told));
	pid_t pid = fork();

	(void)state;
	assert_non_null(told);
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(0);
	waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	assert_int_equal(read_pid(told, pid), -ESRCH);
	assert_message(told, "zombie");
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(read_pid(told, pid), -ESRCH);
	assert_message(told, "no such process");
	assert_int_equal(read_pid(told, 0), -EINVAL);
	assert_message(told, "from 1 on");
	assert_int_equal(read_pid(told, -1), -EINVAL);
	assert_message(told, "from 1 on");
	free(told);
}

static void test_a_kernel_thread(void **state)
{
	struct told *told = calloc(1, sizeof(*told));
	char name[32] = "";
	FILE *file = fopen("/proc/2/comm", "re");

	(void)state;
	assert_non_null(told);
	if (file) {
		if (!fgets(name, sizeof(name), file))
			name[0] = '\0';
		fclose(file);
	}
	if (strcmp(name, "kthreadd\n") != 0) {
		free(told);
		skip(); /* a container has its own pids */
	}
	if (geteuid() == 0)
		assert_int_equal(read_pid(told, 2), -EINVAL);
	else
		assert_true(read_pid(told, 2) < 0);
	assert_message(told, "kernel thread");
	free(told);
}

static void test_a_process_that_may_not_be_read(void **state)
{
	struct told *told = calloc(1, sizeof(*told));
	int fds[2];
	ssize_t len;
	pid_t pid, target;

	(void)state;
	assert_non_null(told);
	/* Not ourselves: a sanitizer's memory would differ in what it shows. */
	target = geteuid() == 0 ? start_sleep() : 1;
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(1);
		mem_init(&told->mem);
		told->err = proc_image_read(&told->mem, target, 0, &told_ops, told,
					    &told->report, told->msg,
					    sizeof(told->msg));
		if (write(fds[1], told, sizeof(*told)) != (ssize_t)sizeof(*told))
			_exit(1);
		_exit(0);
	}
	close(fds[1]);
	/* Larger than a pipe takes at once, perhaps. */
	len = 0;
	for (ssize_t n = 1; n > 0 && len < (ssize_t)sizeof(*told); len += n)
		n = read(fds[0], (char *)told + len, sizeof(*told) - (size_t)len);
	close(fds[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	if (target != 1)
		end_child(target);
	assert_int_equal(len, sizeof(*told));
	assert_true(told->err == -EACCES || told->err == -EPERM);
	assert_message(told, "may not be read");
	assert_int_equal(told->report.nr_vmas, 0);
	free(told);
}

static void test_every_allocation_may_fail(void **state)
{
	struct told *told = calloc(1, sizeof(*told));
	pid_t pid = start_sleep();
	uint64_t nr = 0;

	(void)state;
	assert_non_null(told);
	do {
		told_begin(told);
		told->mem.fail_at = ++nr;
		told_read(told, pid, 0);
		assert_true(told->err == (told->mem.nr_failed ? -ENOMEM : 0));
	} while (told->err);
	end_child(pid);
	/* maps, slice, entries, regions */
	assert_int_equal(nr, 5);
	free(told);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_of_maps),
		cmocka_unit_test(test_entries_of_pagemap),
		cmocka_unit_test(test_every_kind_of_page),
		cmocka_unit_test(test_both_sources_agree),
		cmocka_unit_test(test_a_large_reservation),
		cmocka_unit_test(test_a_process_that_exits_while_it_is_read),
		cmocka_unit_test(test_pages_that_vanish_are_unknown),
		cmocka_unit_test(test_no_such_process),
		cmocka_unit_test(test_a_kernel_thread),
		cmocka_unit_test(test_a_process_that_may_not_be_read),
		cmocka_unit_test(test_every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
