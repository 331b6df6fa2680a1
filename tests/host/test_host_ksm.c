/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Driving the host's KSM, on a directory of plain files that stands for sysfs
 * and, for the measurement, a process that stands for ksmd: what is tested is
 * that every knob comes back, however this program ends, and how the end of
 * merging is found. The real KSM is driven only where SP_TEST_HOST_KSM is set,
 * because that merges pages of whoever else asked for it on this host.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_merge.h"

struct fixture {
	char dir[128];
	struct mem mem;
	char msg[512];
};

/* ---- A directory that looks like sysfs ---- */

static const struct {
	const char *name, *value;
} files[] = {
	{ "advisor_mode", "none [scan-time]" },
	{ "pages_to_scan", "100" },
	{ "sleep_millisecs", "20" },
	{ "smart_scan", "1" },
	{ "max_page_sharing", "256" },
	{ "run", "0" },
	{ "full_scans", "7" },
	{ "pages_shared", "3" },
	{ "pages_sharing", "5" },
	{ "pages_unshared", "0" },
	{ "pages_scanned", "1000" },
	{ "general_profit", "-4096" },
};

static void file_path(const struct fixture *f, const char *name, char path[256])
{
	snprintf(path, 256, "%s/%.60s", f->dir, name);
}

/* As sysfs does: the new value, whatever its length, and never a moment without. */
static void put_file(const struct fixture *f, const char *name, const char *value)
{
	char path[256], line[64];
	int fd, len;

	file_path(f, name, path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	len = snprintf(line, sizeof(line), "%s\n", value);
	if (fd < 0 || pwrite(fd, line, (size_t)len, 0) != len)
		abort();
	close(fd);
}

static void get_file(const struct fixture *f, const char *name, char value[64])
{
	char path[256];
	FILE *file;

	file_path(f, name, path);
	file = fopen(path, "re");
	if (!file || !fgets(value, 64, file))
		abort();
	fclose(file);
	value[strcspn(value, "\n")] = '\0';
}

static void assert_file(const struct fixture *f, const char *name, const char *value)
{
	char now[64];

	get_file(f, name, now);
	assert_string_equal(now, value);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	snprintf(f->dir, sizeof(f->dir), "%s/samepage-ksm-XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : P_tmpdir);
	assert_non_null(mkdtemp(f->dir));
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		put_file(f, files[i].name, files[i].value);
	mem_init(&f->mem);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	DIR *dir = opendir(f->dir);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (unlinkat(dirfd(dir), entry->d_name, 0))
			unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
	}
	if (dir)
		closedir(dir);
	rmdir(f->dir);
	assert_int_equal(f->mem.nr_live, 0);
	free(f);
	return 0;
}

static struct host_ksm *open_ksm(struct fixture *f)
{
	struct host_ksm *ksm = NULL;
	int err = host_ksm_open(&f->mem, f->dir, &ksm, f->msg, sizeof(f->msg));

	if (err)
		fail_msg("%d: %s", err, f->msg);
	return ksm;
}

static void set_knob(struct fixture *f, struct host_ksm *ksm, enum host_ksm_knob knob,
		     const char *value)
{
	if (host_ksm_set(ksm, knob, value, f->msg, sizeof(f->msg)))
		fail_msg("%s", f->msg);
}

static void turn_some(struct fixture *f, struct host_ksm *ksm)
{
	set_knob(f, ksm, HOST_KSM_advisor_mode, "none");
	set_knob(f, ksm, HOST_KSM_pages_to_scan, "2000000000");
	set_knob(f, ksm, HOST_KSM_sleep_millisecs, "0");
	set_knob(f, ksm, HOST_KSM_run, "1");
	assert_file(f, "pages_to_scan", "2000000000");
	assert_file(f, "run", "1");
}

static bool all_back(const struct fixture *f)
{
	char now[64];

	get_file(f, "advisor_mode", now);
	if (strcmp(now, "scan-time") != 0)
		return false;
	/* The first is advisor_mode, the last six are counters. */
	for (size_t i = 1; i < ARRAY_SIZE(files) - 6; i++) {
		get_file(f, files[i].name, now);
		if (strcmp(now, files[i].value) != 0)
			return false;
	}
	return true;
}

/* ---- Knobs ---- */

static void test_close_puts_back(void **state)
{
	struct fixture *f = *state;
	struct host_ksm *ksm = open_ksm(f);
	uint64_t value;

	assert_string_equal(host_ksm_found(ksm, HOST_KSM_advisor_mode), "scan-time");
	assert_string_equal(host_ksm_found(ksm, HOST_KSM_pages_to_scan), "100");
	assert_null(host_ksm_found(ksm, HOST_KSM_use_zero_pages));
	assert_int_equal(host_ksm_counter(ksm, "pages_sharing", &value), 0);
	assert_int_equal(value, 5);
	assert_int_equal(host_ksm_counter(ksm, "general_profit", &value), 0);
	assert_int_equal(value, 0);
	assert_int_equal(host_ksm_counter(ksm, "pages_skipped", &value), -ENOENT);
	turn_some(f, ksm);
	assert_int_equal(host_ksm_close(ksm, f->msg, sizeof(f->msg)), 0);
	assert_true(all_back(f));
	/* What nobody turned was not written either. */
	assert_file(f, "smart_scan", "1");
	assert_int_equal(host_ksm_close(NULL, f->msg, sizeof(f->msg)), 0);
}

static void test_a_signal_puts_back(void **state)
{
	static const int signals[] = { SIGKILL, SIGINT, SIGTERM, SIGHUP };
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		struct host_ksm *ksm;
		int turned[2];
		int err = 0;
		char byte;
		pid_t pid;

		assert_int_equal(pipe(turned), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			setpgid(0, 0);
			/* Whoever started the tests may ignore some (nohup). */
			signal(signals[i], SIG_DFL);
			ksm = open_ksm(f);
			turn_some(f, ksm);
			/* A child that lives on and holds every descriptor. */
			if (fork() == 0) {
				setsid();
				sleep(1);
				_exit(0);
			}
			if (write(turned[1], "", 1) != 1)
				_exit(1);
			for (;;)
				pause();
		}
		assert_int_equal(read(turned[0], &byte, 1), 1);
		assert_false(all_back(f));
		/* As a terminal does it: to the whole process group. */
		assert_int_equal(kill(-pid, signals[i]), 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		for (int ms = 0; !all_back(f) && ms < 5000; ms += 10)
			usleep(10000);
		assert_true(all_back(f));
		/* The lock is given up right after; the child may still live. */
		for (int ms = 0; ms < 500; ms += 10) {
			err = host_ksm_open(&f->mem, f->dir, &ksm, f->msg,
					    sizeof(f->msg));
			if (err != -EBUSY)
				break;
			usleep(10000);
		}
		assert_int_equal(err, 0);
		assert_int_equal(host_ksm_close(ksm, f->msg, sizeof(f->msg)), 0);
		close(turned[0]);
		close(turned[1]);
	}
}

static void test_one_program_at_a_time(void **state)
{
	struct fixture *f = *state;
	struct host_ksm *ksm = open_ksm(f), *second;

	assert_int_equal(host_ksm_open(&f->mem, f->dir, &second, f->msg,
				       sizeof(f->msg)), -EBUSY);
	assert_non_null(strstr(f->msg, "another program"));
	assert_int_equal(host_ksm_close(ksm, f->msg, sizeof(f->msg)), 0);
	ksm = open_ksm(f);
	assert_int_equal(host_ksm_close(ksm, f->msg, sizeof(f->msg)), 0);
}

static void test_what_is_missing_is_named(void **state)
{
	struct fixture *f = *state;
	struct host_ksm *ksm;
	char path[256];

	assert_int_equal(host_ksm_open(&f->mem, "/nonexistent/ksm", &ksm, f->msg,
				       sizeof(f->msg)), -ENOENT);
	assert_non_null(strstr(f->msg, "CONFIG_KSM"));

	/* Root may write any file, so permission cannot be the test. */
	file_path(f, "sleep_millisecs", path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(host_ksm_open(&f->mem, f->dir, &ksm, f->msg,
				       sizeof(f->msg)), -EISDIR);
	assert_non_null(strstr(f->msg, "sleep_millisecs cannot be written"));
	assert_int_equal(rmdir(path), 0);

	ksm = open_ksm(f);
	assert_int_equal(host_ksm_set(ksm, HOST_KSM_sleep_millisecs, "0", f->msg,
				      sizeof(f->msg)), -ENOENT);
	assert_non_null(strstr(f->msg, "sleep_millisecs"));
	assert_int_equal(host_ksm_close(ksm, f->msg, sizeof(f->msg)), 0);

	f->mem.fail_at = f->mem.nr_allocs + 1;
	assert_int_equal(host_ksm_open(&f->mem, f->dir, &ksm, f->msg,
				       sizeof(f->msg)), -ENOMEM);
}

static void test_what_does_not_come_back_is_told(void **state)
{
	struct fixture *f = *state;
	int fd = memfd_create("smart_scan", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	struct host_ksm *ksm;
	char path[256], target[64];

	/* A file that can be made to refuse writing while it is open. */
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "1\n", 2), 2);
	snprintf(target, sizeof(target), "/proc/self/fd/%d", fd);
	file_path(f, "smart_scan", path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(target, path), 0);
	ksm = open_ksm(f);
	set_knob(f, ksm, HOST_KSM_smart_scan, "0");
	set_knob(f, ksm, HOST_KSM_run, "1");
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
	assert_int_equal(host_ksm_close(ksm, f->msg, sizeof(f->msg)), -EIO);
	assert_non_null(strstr(f->msg, "smart_scan is not back"));
	assert_non_null(strstr(f->msg, "to restore: echo 1 > "));
	/* The others are. */
	assert_file(f, "run", "0");
	close(fd);
}

/* ---- The measurement ---- */

#define NR_PAGES 512

static void put_number(const struct fixture *f, const char *name, int value)
{
	char text[32];

	snprintf(text, sizeof(text), "%d", value);
	put_file(f, name, text);
}

/*
 * Stands for ksmd: a scan takes 20 ms; the second merges 100 pages, the fourth
 * 20 more (as if they had been locked before), later ones none.
 */
static _Noreturn void fake_ksmd(const struct fixture *f)
{
	int nr_scans = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		char run[64];

		usleep(20000);
		get_file(f, "run", run);
		if (run[0] != '1')
			continue;
		nr_scans++;
		if (nr_scans >= 2)
			put_number(f, "pages_sharing",
				   5 + 90 + (nr_scans >= 4 ? 20 : 0));
		if (nr_scans >= 2)
			put_number(f, "pages_shared", 3 + 10);
		put_number(f, "pages_unshared", 400);
		put_number(f, "pages_scanned", 1000 + nr_scans * NR_PAGES);
		put_number(f, "full_scans", 7 + nr_scans);
	}
}

static pid_t start_fake_ksmd(const struct fixture *f)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		fake_ksmd(f);
	return pid;
}

struct filled {
	uint64_t nr_filled, nr_progress;
	int fill_err, progress_err;
};

static int fill_page(void *arg, uint64_t index, void *page)
{
	struct filled *filled = arg;

	if (index != filled->nr_filled || *(const uint64_t *)page)
		return -EPROTO;
	filled->nr_filled++;
	/* Half of them unique, the others equal. */
	memset(page, 'm', PAGE_SIZE);
	if (index % 2)
		memcpy(page, &index, sizeof(index));
	return filled->fill_err;
}

static int count_progress(void *arg, const struct host_merge_result *so_far)
{
	struct filled *filled = arg;

	filled->nr_progress++;
	return so_far->nr_pages == NR_PAGES ? filled->progress_err : -EPROTO;
}

static bool host_can_merge(const char *msg)
{
	/* A kernel without KSM has no such advice. */
	return !strstr(msg, "MADV_MERGEABLE");
}

static void test_the_end_of_merging(void **state)
{
	struct fixture *f = *state;
	struct filled filled = { 0 };
	const struct host_merge_job job = {
		.nr_pages = NR_PAGES, .fill = fill_page,
		.progress = count_progress, .arg = &filled,
	};
	struct host_ksm *ksm = open_ksm(f);
	struct host_merge_result result;
	pid_t pid = start_fake_ksmd(f);
	int err;

	err = host_ksm_merge_rate(ksm, &job, &result, f->msg, sizeof(f->msg));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* run is 0 before the knobs are back. */
	assert_file(f, "run", "0");
	assert_int_equal(host_ksm_close(ksm, f->msg + (err ? 500 : 0), 10), 0);
	assert_true(all_back(f));
	if (err == -EINVAL && !host_can_merge(f->msg))
		skip();
	if (err)
		fail_msg("%d: %s", err, f->msg);
	assert_int_equal(filled.nr_filled, NR_PAGES);
	assert_true(filled.nr_progress > 0);
	/*
	 * Scan 3 changed nothing, so scan 2 is taken for the last; a host that
	 * stalls for longer than a scan takes may show later ones.
	 */
	assert_true(result.nr_full_scans >= 2);
	assert_int_equal(result.pages_shared, 10);
	assert_true(result.pages_sharing == 90 || result.pages_sharing == 110);
	assert_true(result.pages_scanned >= result.nr_full_scans * NR_PAGES);
	assert_true(result.wall_ns >= UINT64_C(20000000));
	assert_true(result.pages_per_s > 0);
	assert_true(result.others);
}

static void test_a_merge_that_fails(void **state)
{
	struct fixture *f = *state;
	struct filled filled = { .fill_err = -ECANCELED };
	struct host_merge_job job = {
		.nr_pages = NR_PAGES, .fill = fill_page,
		.progress = count_progress, .arg = &filled, .timeout_ms = 50,
	};
	struct host_ksm *ksm = open_ksm(f);
	struct host_merge_result result;
	int err;

	assert_int_equal(host_ksm_merge_rate(ksm, &job, &result, f->msg,
					     sizeof(f->msg)), -ECANCELED);
	assert_int_equal(filled.nr_filled, 1);

	/* Nobody scans. */
	filled = (struct filled){ 0 };
	err = host_ksm_merge_rate(ksm, &job, &result, f->msg, sizeof(f->msg));
	if (err != -EINVAL || host_can_merge(f->msg)) {
		assert_int_equal(err, -ETIMEDOUT);
		assert_non_null(strstr(f->msg, "in time"));
		filled = (struct filled){ .progress_err = -EINTR };
		assert_int_equal(host_ksm_merge_rate(ksm, &job, &result, f->msg,
						     sizeof(f->msg)), -EINTR);
	}
	job.nr_pages = 0;
	assert_int_equal(host_ksm_merge_rate(ksm, &job, &result, f->msg,
					     sizeof(f->msg)), -EINVAL);
	assert_int_equal(host_ksm_close(ksm, f->msg, sizeof(f->msg)), 0);
	assert_true(all_back(f));
}

static void test_the_real_ksm(void **state)
{
	struct fixture *f = *state;
	struct filled filled = { 0 };
	const struct host_merge_job job = {
		.nr_pages = NR_PAGES, .fill = fill_page, .arg = &filled,
	};
	struct host_merge_result result;
	struct host_ksm *ksm;

	if (!getenv("SP_TEST_HOST_KSM"))
		skip();
	if (host_ksm_open(&f->mem, NULL, &ksm, f->msg, sizeof(f->msg)))
		fail_msg("%s", f->msg);
	if (host_ksm_merge_rate(ksm, &job, &result, f->msg, sizeof(f->msg)))
		fail_msg("%s", f->msg);
	if (host_ksm_close(ksm, f->msg, sizeof(f->msg)))
		fail_msg("%s", f->msg);
	if (result.others)
		skip();
	/* 256 equal pages: one node is full at 256. */
	assert_int_equal(result.pages_shared + result.pages_sharing, NR_PAGES / 2);
	assert_true(result.nr_full_scans >= 2);
	assert_true(result.pages_scanned >= NR_PAGES);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_close_puts_back),
		CASE(test_a_signal_puts_back),
		CASE(test_one_program_at_a_time),
		CASE(test_what_is_missing_is_named),
		CASE(test_what_does_not_come_back_is_told),
		CASE(test_the_end_of_merging),
		CASE(test_a_merge_that_fails),
		CASE(test_the_real_ksm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
