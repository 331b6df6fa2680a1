/* SPDX-License-Identifier: GPL-2.0-only */
/* The first process of a guest; see guest.h. */
#include "guest.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "channel.h"
#include "ksmd_thread.h"

#define CHANNEL_TTY "/dev/ttyS1"
#define CONSOLE_TTY "/dev/ttyS0"
#define SWAP_DEVICE "/dev/zram0"
#define SWAP_BYTES  (UINT64_C(256) << 20)
#define ARGS_MAX    1024
/* Output that a hung process may still hold open is not waited for longer. */
#define DRAIN_MS 200

struct guest {
	int channel; /* -1: it cannot be opened */
};

/* Hung processes do not keep a machine from being switched off. */
static void __attribute__((noreturn)) switch_off(const struct guest *g)
{
	if (g->channel >= 0)
		tcdrain(g->channel);
	sync();
	(void)reboot(RB_POWER_OFF);
	(void)reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

static void say(const struct guest *g, enum channel_kind kind, const char *fmt, ...)
	SP_PRINTF(3, 4);

/* A channel that cannot be written to leaves the console, which the host shows when no end comes. */
static void say(const struct guest *g, enum channel_kind kind, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	n = MIN(n, (int)sizeof(text) - 1);
	if (g->channel < 0 || channel_write(g->channel, kind, text, (size_t)n))
		dprintf(STDERR_FILENO, "samepage: %s\n", text);
}

static void __attribute__((noreturn)) unfit(const struct guest *g, const char *why)
{
	say(g, CHANNEL_UNFIT, "%s", why);
	switch_off(g);
}

static int write_file(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = write_all(fd, value, strlen(value));
	close(fd);
	return err;
}

static void mount_all(void)
{
	static const struct {
		const char *type, *dir, *data;
	} mounts[] = {
		{"proc", "/proc", NULL},
		{"sysfs", "/sys", NULL},
		{"devtmpfs", "/dev", NULL},
		/* Or every process that is put into a group waits for all processors. */
		{"cgroup2", "/sys/fs/cgroup", "favordynmods"},
		{"tmpfs", "/tmp", NULL},
		{"debugfs", "/sys/kernel/debug", NULL},
		{"tracefs", "/sys/kernel/tracing", NULL},
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(mounts); i++) {
		(void)mkdir(mounts[i].dir, 0755);
		/* What is missed is told by whoever needs it. */
		if (mount(mounts[i].type, mounts[i].dir, mounts[i].type, 0, mounts[i].data) &&
		    mounts[i].data)
			(void)mount(mounts[i].type, mounts[i].dir, mounts[i].type, 0, NULL);
	}
}

static void set_knobs(void)
{
	static const struct {
		const char *path, *value;
	} knobs[] = {
		/* Walks and migrations that no scenario asked for. */
		{"/sys/module/damon_stat/parameters/enabled", "N"},
		{"/proc/sys/kernel/numa_balancing", "0"},
		{"/proc/sys/vm/compaction_proactiveness", "0"},
		/* A fault brings one page: that of its address. */
		{"/proc/sys/vm/page-cluster", "0"},
		{"/sys/kernel/debug/fault_around_bytes", "4096"},
		/* The host waits for no longer than this before it hears of a hung process. */
		{"/proc/sys/kernel/hung_task_timeout_secs", "20"},
		{"/proc/sys/kernel/printk", "7 4 1 7"},
		{"/sys/fs/cgroup/cgroup.subtree_control", "+memory"},
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(knobs); i++)
		(void)write_file(knobs[i].path, knobs[i].value);
}

static void load_module(const struct guest *g, const char *name)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), GUEST_DIR "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST))
		say(g, CHANNEL_NOTE, "module %s cannot be loaded: %s", name, strerror(errno));
	if (fd >= 0)
		close(fd);
}

static void load_modules(const struct guest *g)
{
	FILE *f = fopen(GUEST_MODULES, "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		load_module(g, line);
	}
	if (f)
		fclose(f);
}

/* The header that mkswap would write. */
static int make_swap(void)
{
	struct {
		char boot[1024];
		uint32_t version, last_page, nr_bad, pad[125];
		char rest[PAGE_SIZE - 1024 - 512 - 10];
		char magic[10];
	} header = {.version = 1, .last_page = SWAP_BYTES / PAGE_SIZE - 1};
	int fd = open(SWAP_DEVICE, O_WRONLY | O_CLOEXEC), err;

	_Static_assert(sizeof(header) == PAGE_SIZE, "the magic ends the page");
	if (fd < 0)
		return -errno;
	memcpy(header.magic, "SWAPSPACE2", sizeof(header.magic));
	err = write_all(fd, &header, sizeof(header));
	if (!err && fsync(fd))
		err = -errno;
	close(fd);
	return err;
}

static void start_swap(const struct guest *g)
{
	char size[32];
	int err;

	snprintf(size, sizeof(size), "%llu", (unsigned long long)SWAP_BYTES);
	err = write_file("/sys/block/zram0/disksize", size);
	if (!err)
		err = make_swap();
	if (!err && swapon(SWAP_DEVICE, 0))
		err = -errno;
	if (err == -ENOENT)
		say(g, CHANNEL_NOTE, "no swap: this kernel has no zram, built in or as a module");
	else if (err)
		say(g, CHANNEL_NOTE, "no swap: zram: %s", strerror(-err));
}

static void open_channel(struct guest *g)
{
	struct termios t;
	int fd = open(CHANNEL_TTY, O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0 && !tcgetattr(fd, &t)) {
		cfmakeraw(&t);
		cfsetspeed(&t, B115200);
		t.c_cflag |= CLOCAL;
		(void)tcsetattr(fd, TCSANOW, &t);
	}
	g->channel = fd;
}

static void examine(const struct guest *g, bool shell)
{
	struct utsname name;

	uname(&name);
	/* A shell says so when it starts. */
	if (!shell)
		say(g, CHANNEL_BOOTED, "%s", name.release);
	if (access("/sys/kernel/mm/ksm/run", R_OK))
		unfit(g, "this kernel has no KSM (/sys/kernel/mm/ksm is missing)");
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		say(g, CHANNEL_NOTE, "this kernel has no BTF: its walks cannot be traced");
	if (access("/sys/devices/system/node/node1", R_OK))
		say(g, CHANNEL_NOTE, "one memory node: this kernel has no NUMA");
	if (access("/sys/fs/cgroup/cgroup.controllers", R_OK))
		say(g, CHANNEL_NOTE,
		    "this kernel has no cgroup2: nothing can be evicted on demand");
}

/* The words of GUEST_ARGS, in place. */
static bool read_args(char *room, size_t bytes, char *argv[ARGS_MAX])
{
	int fd = open(GUEST_ARGS, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, room, bytes - 1);
	unsigned int nr = 0;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	room[n] = 0;
	for (char *at = room; at < room + n && nr < ARGS_MAX - 1; at += strlen(at) + 1)
		argv[nr++] = at;
	argv[nr] = NULL;
	return nr > 0;
}

/*
 * The command, its processes and ksmd have one processor. Pages that wait in batches of another one
 * (V18) then do not depend on where somebody happened to run; and an emulated processor takes longer to
 * wake than most operations of a scenario take.
 */
static void keep_to_one_processor(void)
{
	pid_t ksmd = ksmd_find();
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	(void)sched_setaffinity(0, sizeof(first), &first);
	if (ksmd)
		(void)sched_setaffinity(ksmd, sizeof(first), &first);
}

static pid_t start_command(const struct guest *g, char *argv[], int out, int err)
{
	pid_t pid = fork();

	if (pid < 0)
		unfit(g, "no process can be started");
	if (pid)
		return pid;
	setsid();
	if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0 || chdir(GUEST_WORK))
		_exit(127);
	execv(GUEST_COMMAND, argv);
	_exit(127);
}

/* One read of each stream that has something. False when both have ended. */
static bool pass_on(const struct guest *g, struct pollfd files[2], int timeout_ms)
{
	static const enum channel_kind kinds[] = {CHANNEL_OUTPUT, CHANNEL_ERROR};
	bool open_files = false;

	(void)poll(files, 2, timeout_ms);
	for (unsigned int i = 0; i < 2; i++) {
		char data[8192];
		ssize_t n;

		if (files[i].fd < 0)
			continue;
		open_files = true;
		if (!files[i].revents)
			continue;
		n = read(files[i].fd, data, sizeof(data));
		if (n > 0)
			(void)!channel_write(g->channel, kinds[i], data, (size_t)n);
		else if (!n || errno != EINTR)
			files[i].fd = -1;
	}
	return open_files;
}

static void run_command(const struct guest *g)
{
	static char room[256 << 10];
	static char *argv[ARGS_MAX];
	int out[2], err[2], status = 0;
	struct pollfd files[2];
	pid_t command, pid;
	bool more = true;

	if (!read_args(room, sizeof(room), argv) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		unfit(g, "the guest's image says no command");
	keep_to_one_processor();
	command = start_command(g, argv, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	files[0] = (struct pollfd){out[0], POLLIN, 0};
	files[1] = (struct pollfd){err[0], POLLIN, 0};
	/* The first process reaps what others leave. */
	do {
		if (more)
			more = pass_on(g, files, 50);
		else
			usleep(10000);
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0 && pid != command)
			;
	} while (pid != command);
	while (more && (files[0].revents || files[1].revents || poll(files, 2, DRAIN_MS) > 0))
		more = pass_on(g, files, 0);
	say(g, CHANNEL_EXIT, "%d", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

static void run_shell(const struct guest *g)
{
	char name[] = "-sh";
	char *const argv[] = {name, NULL};
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		struct utsname uts;
		int fd;

		setsid();
		fd = open(CONSOLE_TTY, O_RDWR);
		for (int i = 0; fd >= 0 && i < 3; i++)
			dup2(fd, i);
		(void)ioctl(0, TIOCSCTTY, 1);
		/* From here on what is typed waits for the shell. */
		uname(&uts);
		say(g, CHANNEL_BOOTED, "%s", uts.release);
		(void)chdir(GUEST_WORK);
		execv("/bin/sh", argv);
		_exit(127);
	}
	while (pid > 0 && waitpid(-1, &status, 0) != pid)
		;
	/* The console has said all before the channel says the end. */
	(void)tcdrain(STDIN_FILENO);
	say(g, CHANNEL_EXIT, "0");
}

int guest_main(bool shell)
{
	struct guest g = {.channel = -1};

	if (getpid() != 1)
		return -EPERM;
	umask(022);
	mount_all();
	open_channel(&g);
	/* Scenarios are started with what a login would give them. */
	(void)setenv("PATH", "/bin:/sbin:/usr/bin:/usr/sbin", 1);
	(void)setenv("HOME", GUEST_WORK, 1);
	set_knobs();
	examine(&g, shell);
	load_modules(&g);
	start_swap(&g);
	if (shell)
		run_shell(&g);
	else if (g.channel >= 0)
		run_command(&g);
	switch_off(&g);
}
