/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How guests end. The guest is a shell script that stands for QEMU: it writes to the console and the
 * channel that its command line names. What is tested is that each way to end is told from the others,
 * and that nothing runs on.
 */
#include "lab_fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "qemu.h"

/* $console and $channel are what QEMU would open. */
static const char prologue[] = "#!/bin/bash\n"
			       "for word; do\n"
			       "	case $word in\n"
			       "	file,id=console,path=*) console=${word#*path=} ;;\n"
			       "	file,id=channel,path=*) channel=${word#*path=} ;;\n"
			       "	esac\n"
			       "done\n";

/* Runs a guest that does this, to its end. */
static void play(struct lab_fixture *f, const char *script, uint64_t limit_ms, struct qemu *guest)
{
	static struct cached_kernel kernel;
	struct qemu_spec spec = {.kernel = &kernel, .limit_ns = limit_ms * 1000000};
	struct qemu *guests[] = {guest};
	char path[128], text[2048], search[1024];

	snprintf(path, sizeof(path), "%s/qemu-system-x86_64", f->dir);
	snprintf(text, sizeof(text), "%s%s", prologue, script);
	put_text(path, text);
	snprintf(search, sizeof(search), "%s:/usr/bin:/bin", f->dir);
	assert_int_equal(setenv("PATH", search, 1), 0);
	spec.initramfs = open("/dev/null", O_RDONLY);
	assert_int_equal(qemu_start(&f->lab, guest, &spec), 0);
	close(spec.initramfs);
	while (qemu_watch(guests, 1, 50))
		;
	assert_int_equal(guest->pid, 0);
}

static void test_done(void **state)
{
	struct lab_fixture *f = *state;
	struct qemu guest;

	play(f,
	     "echo '[ 0.1] hello' > $console\n"
	     "printf 'B 5\\n6.1.0N 7\\nno swapO 4\\nout\\nE 4\\nerr\\nX 1\\n3' > $channel\n"
	     "exec sleep 60\n",
	     30000, &guest);
	assert_int_equal(guest.end, GUEST_done);
	assert_int_equal(guest.exit_status, 3);
	assert_string_equal(guest.release, "6.1.0");
	assert_string_equal(guest.notes.data, "no swap\n");
	assert_string_equal(guest.output.data, "out\n");
	assert_string_equal(guest.errors.data, "err\n");
	assert_string_equal(guest.console.data, "[ 0.1] hello\n");
	assert_int_equal(guest.nr_complaints, 0);
	qemu_destroy(&guest);
}

static void test_killed_command_and_complaints(void **state)
{
	struct lab_fixture *f = *state;
	struct qemu guest;

	play(f,
	     "printf '[ 1.0] BUG: Bad page state in pro' > $console; sleep 0.2\n"
	     "printf 'cess x\\n[ 1.1] fine\\n' > $console; sleep 0.2\n"
	     "printf 'X 2\\n-9' > $channel\n",
	     30000, &guest);
	assert_int_equal(guest.end, GUEST_done);
	assert_int_equal(guest.exit_status, -9);
	assert_int_equal(guest.nr_complaints, 1);
	qemu_destroy(&guest);
}

static void test_unfit(void **state)
{
	struct lab_fixture *f = *state;
	struct qemu guest;

	play(f, "printf 'B 1\\nxU 6\\nno KSM' > $channel; exec sleep 60\n", 30000, &guest);
	assert_int_equal(guest.end, GUEST_unfit);
	assert_string_equal(guest.why, "no KSM");
	qemu_destroy(&guest);
}

static void test_died(void **state)
{
	struct lab_fixture *f = *state;
	struct qemu guest;

	play(f,
	     "printf 'B 1\\nxO 2\\nab' > $channel\necho 'Kernel panic - not syncing' > $console\n",
	     30000, &guest);
	assert_int_equal(guest.end, GUEST_died);
	assert_non_null(strstr(guest.why, "while the command ran"));
	assert_string_equal(guest.output.data, "ab");
	assert_int_equal(guest.nr_complaints, 1);
	qemu_destroy(&guest);
	play(f, "exit 0\n", 30000, &guest);
	assert_int_equal(guest.end, GUEST_died);
	assert_non_null(strstr(guest.why, "before its first process"));
	qemu_destroy(&guest);
	play(f, "echo bad option >&2; exit 1\n", 30000, &guest);
	assert_int_equal(guest.end, GUEST_died);
	assert_non_null(strstr(guest.why, "QEMU failed with status 1"));
	assert_string_equal(guest.console.data, "bad option\n");
	qemu_destroy(&guest);
	play(f, "echo no message > $channel; exec sleep 60\n", 30000, &guest);
	assert_int_equal(guest.end, GUEST_died);
	assert_non_null(strstr(guest.why, "channel"));
	qemu_destroy(&guest);
}

static void test_hung(void **state)
{
	struct lab_fixture *f = *state;
	struct qemu guest;

	play(f, "exec sleep 60\n", 300, &guest);
	assert_int_equal(guest.end, GUEST_hung);
	assert_non_null(strstr(guest.why, "did not reach"));
	qemu_destroy(&guest);
	play(f, "printf 'B 1\\nx' > $channel; exec sleep 60\n", 600, &guest);
	assert_int_equal(guest.end, GUEST_hung);
	assert_non_null(strstr(guest.why, "did not end"));
	qemu_destroy(&guest);
}

/* Whoever ends QEMU says nothing about the guest. */
static void test_killed(void **state)
{
	struct lab_fixture *f = *state;
	struct qemu guest;

	play(f, "printf 'B 1\\nx' > $channel; kill -KILL $$\n", 30000, &guest);
	assert_int_equal(guest.end, GUEST_killed);
	assert_non_null(strstr(guest.why, "signal 9"));
	qemu_destroy(&guest);
	play(f,
	     "printf '[ 1.0] some wo' > $console\n"
	     "echo 'qemu-system-x86_64: terminating on signal 15 from pid 7 (kill)' > $console\n",
	     30000, &guest);
	assert_int_equal(guest.end, GUEST_killed);
	assert_string_equal(guest.why, "QEMU by signal 15 from pid 7 (kill)");
	qemu_destroy(&guest);
	/* A kernel that talks of signals is not QEMU. */
	play(f, "echo '[ 1.0] init: terminating on signal 15' > $console\n", 30000, &guest);
	assert_int_equal(guest.end, GUEST_died);
	qemu_destroy(&guest);
}

/* A parent that is killed takes its guest along. */
static void test_parent_killed(void **state)
{
	struct lab_fixture *f = *state;
	char path[128];
	struct text pid;
	pid_t parent;
	int fd, left = 100;

	snprintf(path, sizeof(path), "%s/pid", f->dir);
	parent = fork();
	if (!parent) {
		struct qemu guest;
		char script[512];

		snprintf(script, sizeof(script), "echo $$ > %s.new; mv %s.new %s; exec sleep 60\n",
			 path, path, path);
		play(f, script, 60000, &guest);
		_exit(0);
	}
	while (access(path, R_OK) && left--)
		usleep(50000);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	text_init(&pid, &f->mem);
	assert_int_equal(text_read(&pid, fd), 0);
	close(fd);
	assert_int_equal(kill(parent, SIGKILL), 0);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	snprintf(path, sizeof(path), "/proc/%d/stat", atoi(pid.data));
	for (left = 100; left; left--) {
		char stat[256] = "";

		/* Gone, or a zombie that nobody here reaps. */
		fd = open(path, O_RDONLY);
		if (fd < 0)
			break;
		assert_true(read(fd, stat, sizeof(stat) - 1) >= 0);
		close(fd);
		if (strstr(stat, ") Z"))
			break;
		usleep(20000);
	}
	assert_int_not_equal(left, 0);
	text_destroy(&pid);
}

static void test_excerpt(void **state)
{
	static const char console[] =
		"1\n2\n3\n4\n5\n6\nkernel BUG at mm/x.c:1!\n8\n9\n10\n11\n12\n";
	struct console_part parts[2];

	(void)state;
	assert_int_equal(console_excerpt("", 5, parts), 0);
	assert_int_equal(console_excerpt("1\n2\n3", 2, parts), 1);
	assert_int_equal(parts[0].bytes, 3);
	assert_string_equal(parts[0].text, "2\n3");
	/* The complaint with what led to it, and the end. */
	assert_int_equal(console_excerpt(console, 3, parts), 2);
	assert_memory_equal(parts[0].text, "3\n4\n5\n", parts[0].bytes);
	assert_int_equal(parts[0].bytes, 6);
	assert_string_equal(parts[1].text, "10\n11\n12\n");
	/* No line twice. */
	assert_int_equal(console_excerpt(console, 8, parts), 2);
	assert_ptr_equal(parts[0].text + parts[0].bytes, parts[1].text);
	assert_int_equal(console_excerpt(console, 30, parts), 1);
	assert_string_equal(parts[0].text, console);
}

static void test_missing(void **state)
{
	struct lab_fixture *f = *state;
	char path[PATH_MAX];

	assert_int_equal(setenv("PATH", f->dir, 1), 0);
	assert_int_equal(qemu_require(&f->lab, path, sizeof(path)), -ENOENT);
	assert_non_null(strstr(f->lab.msg, "qemu-system-x86"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAB_TEST(test_done),	LAB_TEST(test_killed_command_and_complaints),
		LAB_TEST(test_unfit),	LAB_TEST(test_died),
		LAB_TEST(test_hung),	LAB_TEST(test_parent_killed),
		LAB_TEST(test_excerpt), LAB_TEST(test_missing),
		LAB_TEST(test_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
