/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that goes offline; see host_memory.h.
 *
 * The guard is forked from a program that may have threads, so it calls nothing but system calls;
 * all files that it needs are open before the fork. So is what does the offlining.
 */
#include "host_memory.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "proc_text.h"

#define SYSTEM_DIR "/sys/devices/system"
#define DIR_BYTES  128
#define BLOCKS_MAX 64
#define NODES_MAX  64
/* Of a page, each is some ten attempts. */
#define FAILURES_MAX 8
#define PATIENCE_NS  UINT64_C(1000000000)
#define POLL_NS	     20000000L
/* Allowed nodes follow by way of a work queue. */
#define SETTLE_ROUNDS 100

struct host_memory {
	struct mem *mem;
	uint32_t node;
	unsigned int nr_blocks;
	struct {
		int fd; /* its state */
		unsigned int number;
	} blocks[BLOCKS_MAX];
	pid_t guard;
	int guard_fd; /* -1: none */
};

static int fail(char *msg, size_t msg_bytes, int err, const char *fmt, ...) SP_PRINTF(4, 5);

static int fail(char *msg, size_t msg_bytes, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (msg_bytes)
		vsnprintf(msg, msg_bytes, fmt, args);
	va_end(args);
	return err;
}

/* ---- Nodes ---- */

/* "0-1,3" */
static bool list_has(const char *text, uint32_t number)
{
	while (isdigit((unsigned char)*text)) {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		if (number >= first && number <= last)
			return true;
		text = *end == ',' ? end + 1 : end;
	}
	return false;
}

uint32_t host_memory_nodes(const char *dir)
{
	char path[DIR_BYTES + 64], text[1024];
	uint32_t nr = 0;

	snprintf(path, sizeof(path), "%.100s/node/has_memory", dir ? dir : SYSTEM_DIR);
	if (proc_text_read(path, text, sizeof(text)))
		return 1;
	while (nr < NODES_MAX && list_has(text, nr))
		nr++;
	return MAX(nr, 1u);
}

/* ---- Blocks ---- */

/* "online", "offline" or, for a moment, "going-offline". */
static bool block_is(const struct host_memory *memory, unsigned int i, const char *state)
{
	char text[32];
	ssize_t n = pread(memory->blocks[i].fd, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	return !strncmp(text, state, strlen(state));
}

static int write_state(const struct host_memory *memory, unsigned int i, const char *state)
{
	char line[32];
	int n = snprintf(line, sizeof(line), "%s\n", state);

	return pwrite(memory->blocks[i].fd, line, (size_t)n, 0) < 0 ? -errno : 0;
}

static bool all_are(const struct host_memory *memory, const char *state)
{
	for (unsigned int i = 0; i < memory->nr_blocks; i++)
		if (!block_is(memory, i, state))
			return false;
	return true;
}

/* 0 or the first error; the others are tried all the same. */
static int put_offline(const struct host_memory *memory)
{
	int result = 0;

	for (unsigned int i = 0; i < memory->nr_blocks; i++) {
		int err = block_is(memory, i, "offline") ? 0 : write_state(memory, i, "offline");

		result = result ? result : err;
	}
	return result;
}

/* Processes may use the node when the kernel has told their sets of nodes, a moment later. */
static void settle(const struct host_memory *memory)
{
	const struct timespec pause = {0, 10000000L};
	char text[1024];

	for (unsigned int i = 0; i < SETTLE_ROUNDS; i++) {
		if (proc_text_read("/sys/fs/cgroup/cpuset.mems.effective", text, sizeof(text)) ||
		    list_has(text, memory->node))
			return;
		nanosleep(&pause, NULL);
	}
}

int host_memory_online(struct host_memory *memory)
{
	int err = 0;

	if (all_are(memory, "online"))
		return -EINVAL;
	for (unsigned int i = 0; !err && i < memory->nr_blocks; i++)
		if (!block_is(memory, i, "online"))
			err = write_state(memory, i, "online_movable");
	if (!err)
		settle(memory);
	return err;
}

/* ---- The guard ---- */

static void on_alarm(int signal)
{
	(void)signal;
}

static _Noreturn void guard(const struct host_memory *memory, int fd, int parent_fd)
{
	static const int ignored[] = {SIGHUP,  SIGINT,	SIGQUIT, SIGTERM,
				      SIGPIPE, SIGTSTP, SIGUSR1, SIGUSR2};
	const struct sigaction alarmed = {.sa_handler = on_alarm};
	struct pollfd fds[] = {
		{.fd = fd, .events = POLLIN},
		{.fd = parent_fd, .events = POLLIN}, /* -1 is passed over */
	};

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigaction(SIGALRM, &alarmed, NULL);
	setsid();
	if (send(fd, "", 1, MSG_NOSIGNAL) == 1) {
		while (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno == EINTR)
			;
		alarm(HOST_MEMORY_LIMIT_S);
		if (put_offline(memory))
			_exit(1);
	}
	_exit(0);
}

static void stop_guard(struct host_memory *memory)
{
	if (memory->guard_fd < 0)
		return;
	while (send(memory->guard_fd, "", 1, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
	close(memory->guard_fd);
	memory->guard_fd = -1;
	while (waitpid(memory->guard, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Returns when the guard can be trusted: nothing was put online before. */
static int start_guard(struct host_memory *memory)
{
	/* Before the fork: it must be this process, whatever happens to it. */
	int parent_fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int fds[2], err = 0;
	ssize_t n;
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) {
		err = -errno;
		goto out;
	}
	memory->guard = fork();
	if (memory->guard == 0) {
		close(fds[1]);
		guard(memory, fds[0], parent_fd);
	}
	err = memory->guard < 0 ? -errno : 0;
	close(fds[0]);
	if (err) {
		close(fds[1]);
		goto out;
	}
	memory->guard_fd = fds[1];
	do {
		n = read(fds[1], &byte, 1);
	} while (n < 0 && errno == EINTR);
	if (n != 1) {
		stop_guard(memory);
		err = -ECHILD;
	}
out:
	if (parent_fd >= 0)
		close(parent_fd);
	return err;
}

/* ---- Offline ---- */

/* What the kernel has moved, and failed to move, since it was booted; 0 where it does not count. */
static void count_moved(int64_t *moved, int64_t *failed)
{
	static const char path[] = "/proc/vmstat";
	char text[16384];

	*moved = *failed = 0;
	if (proc_text_read(path, text, sizeof(text)))
		return;
	if (proc_text_find(text, "pgmigrate_success", moved))
		*moved = 0;
	if (proc_text_find(text, "pgmigrate_fail", failed))
		*failed = 0;
}

/* True when it ended by itself. */
static bool watch(pid_t pid, int *status)
{
	const struct timespec pause = {0, POLL_NS};
	uint64_t start = clock_measure_ns(), since = start;
	int64_t moved, failed, moved_before, failed_before;

	count_moved(&moved_before, &failed_before);
	for (;;) {
		pid_t ended = waitpid(pid, status, WNOHANG);
		uint64_t now = clock_measure_ns();

		if (ended == pid || (ended < 0 && errno != EINTR))
			return true;
		count_moved(&moved, &failed);
		if (moved != moved_before) {
			moved_before = moved;
			failed_before = failed;
			since = now;
		}
		if ((failed - failed_before >= FAILURES_MAX && now - since >= PATIENCE_NS) ||
		    now - start >= HOST_MEMORY_LIMIT_S * UINT64_C(1000000000))
			return false;
		nanosleep(&pause, NULL);
	}
}

int host_memory_offline(struct host_memory *memory)
{
	int status = 0, err = 0;
	bool ended;
	pid_t pid;

	if (all_are(memory, "offline"))
		return -EINVAL;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(-put_offline(memory) & 0xff);
	}
	ended = watch(pid, &status);
	if (!ended) {
		kill(pid, SIGKILL);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	if (WIFEXITED(status))
		err = -WEXITSTATUS(status);
	else
		err = ended ? -EINTR : -EBUSY;
	if (!err && !all_are(memory, "offline"))
		err = -EBUSY;
	for (unsigned int i = 0; err && i < memory->nr_blocks; i++)
		if (block_is(memory, i, "offline") && write_state(memory, i, "online_movable"))
			break;
	return err;
}

/* ---- Open and close ---- */

static int add_block(struct host_memory *memory, const char *dir, unsigned int number, char *msg,
		     size_t msg_bytes)
{
	char path[DIR_BYTES + 64];
	int fd;

	if (memory->nr_blocks == BLOCKS_MAX)
		return fail(msg, msg_bytes, -E2BIG, "node %u has more than %u blocks of memory",
			    memory->node, BLOCKS_MAX);
	snprintf(path, sizeof(path), "%.100s/memory/memory%u/state", dir, number);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return fail(msg, msg_bytes, -errno, "%s: %s", path, strerror(errno));
	memory->blocks[memory->nr_blocks].fd = fd;
	memory->blocks[memory->nr_blocks++].number = number;
	return 0;
}

static int find_blocks(struct host_memory *memory, const char *dir, char *msg, size_t msg_bytes)
{
	char path[DIR_BYTES + 64];
	struct dirent *entry;
	int err = 0;
	DIR *d;

	snprintf(path, sizeof(path), "%.100s/node/node%u", dir, memory->node);
	d = opendir(path);
	while (d && !err && (entry = readdir(d))) {
		unsigned int number;
		char rest;

		if (sscanf(entry->d_name, "memory%u%c", &number, &rest) == 1)
			err = add_block(memory, dir, number, msg, msg_bytes);
	}
	if (d)
		closedir(d);
	if (!err && (!memory->nr_blocks || !all_are(memory, "offline")))
		err = fail(msg, msg_bytes, -EINVAL,
			   "node %u is none whose memory is all offline, such as an added DIMM's: only that is ever put online and offline (guests of samepage-vm(1) have one)",
			   memory->node);
	return err;
}

static void release(struct host_memory *memory)
{
	for (unsigned int i = 0; i < memory->nr_blocks; i++)
		close(memory->blocks[i].fd);
	mem_free(memory->mem, memory, sizeof(*memory));
}

int host_memory_open(struct mem *mem, const char *dir, uint32_t node, struct host_memory **ret,
		     char *msg, size_t msg_bytes)
{
	struct host_memory *memory = mem_alloc(mem, sizeof(*memory));
	int err;

	if (!memory)
		return fail(msg, msg_bytes, -ENOMEM, "out of memory");
	memory->mem = mem;
	memory->node = node;
	memory->guard_fd = -1;
	err = find_blocks(memory, dir ? dir : SYSTEM_DIR, msg, msg_bytes);
	if (!err) {
		err = start_guard(memory);
		if (err)
			fail(msg, msg_bytes, err, "no guard process for the memory of node %u: %s",
			     node, strerror(-err));
	}
	if (!err) {
		err = host_memory_online(memory);
		if (err)
			fail(msg, msg_bytes, err, "the memory of node %u cannot be put online: %s%s",
			     node, strerror(-err),
			     err == -EHWPOISON ? "; soft-offlined pages are lost until the next boot"
					       : "");
	}
	if (err) {
		stop_guard(memory);
		release(memory);
		return err;
	}
	*ret = memory;
	return 0;
}

int host_memory_close(struct host_memory *memory, char *msg, size_t msg_bytes)
{
	int err = 0;

	if (!memory)
		return 0;
	stop_guard(memory);
	for (unsigned int i = 0; i < memory->nr_blocks; i++)
		if (!err && !block_is(memory, i, "offline"))
			err = fail(msg, msg_bytes, -EIO,
				   "memory of node %u is not offline again; to retry: echo offline > " SYSTEM_DIR "/memory/memory%u/state",
				   memory->node, memory->blocks[i].number);
	release(memory);
	return err;
}
