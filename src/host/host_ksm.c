/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's KSM and the guard of its knobs; see host_ksm.h.
 *
 * The guard is forked from a program that may have threads, so it calls
 * nothing but system calls and string functions: no allocation, no stdio. All
 * files that it needs are open before the fork.
 *
 * It waits on two things: a socket on which this process says that it is done,
 * and a pidfd of this process. The socket alone would not do, because children
 * that were forked later hold its other end, too; for the same reason the lock
 * is given up by the guard, not by the last close.
 */
#include "host_ksm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define VALUE_BYTES 64
#define DIR_BYTES 256

struct knob {
	int fd;                  /* -1: this kernel has no such knob */
	char found[VALUE_BYTES]; /* without newline */
};

struct host_ksm {
	struct mem *mem;
	char dir[DIR_BYTES];
	struct knob knobs[NR_HOST_KSM_KNOBS];
	pid_t guard;
	/* The guard sends a byte when it is ready, and restores on the answer. */
	int guard_fd;
};

static const char *const knob_names[NR_HOST_KSM_KNOBS] = {
#define HOST_KSM_KNOB_NAME(name) #name,
	HOST_KSM_KNOBS(HOST_KSM_KNOB_NAME)
#undef HOST_KSM_KNOB_NAME
};

static int fail(char *msg, size_t msg_bytes, int err, const char *fmt, ...)
	SP_PRINTF(4, 5);

static int fail(char *msg, size_t msg_bytes, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (msg_bytes)
		vsnprintf(msg, msg_bytes, fmt, args);
	va_end(args);
	return err;
}

/* ---- Values ---- */

/* "[none] scan-time" means none; other values are one word. */
static void keep_current_choice(char *value)
{
	char *open = strchr(value, '[');
	char *close = open ? strchr(open, ']') : NULL;

	if (!close)
		return;
	memmove(value, open + 1, (size_t)(close - open) - 1);
	value[close - open - 1] = '\0';
}

static int read_value(int fd, char value[VALUE_BYTES])
{
	ssize_t n = pread(fd, value, VALUE_BYTES - 1, 0);

	if (n < 0)
		return -errno;
	value[n] = '\0';
	value[strcspn(value, "\n")] = '\0';
	keep_current_choice(value);
	return 0;
}

static int write_value(int fd, const char *value)
{
	char line[VALUE_BYTES + 1];
	size_t len = strnlen(value, VALUE_BYTES - 1);
	ssize_t n;

	memcpy(line, value, len);
	line[len++] = '\n';
	do {
		n = pwrite(fd, line, len, 0);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* ---- The guard ---- */

static bool differs(const struct knob *knob)
{
	char now[VALUE_BYTES];

	return knob->fd >= 0 &&
	       (read_value(knob->fd, now) || strcmp(now, knob->found) != 0);
}

static void restore(const struct host_ksm *ksm)
{
	for (size_t i = 0; i < NR_HOST_KSM_KNOBS; i++) {
		if (differs(&ksm->knobs[i]))
			(void)write_value(ksm->knobs[i].fd, ksm->knobs[i].found);
	}
}

static _Noreturn void guard(const struct host_ksm *ksm, int fd, int parent_fd)
{
	static const int ignored[] = {
		SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGTSTP, SIGALRM,
		SIGUSR1, SIGUSR2,
	};
	struct pollfd fds[] = {
		{ .fd = fd, .events = POLLIN },
		{ .fd = parent_fd, .events = POLLIN }, /* -1 is passed over */
	};

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	setsid();
	if (send(fd, "", 1, MSG_NOSIGNAL) == 1) {
		while (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno == EINTR)
			;
		restore(ksm);
	}
	flock(ksm->knobs[HOST_KSM_run].fd, LOCK_UN);
	_exit(0);
}

static int wait_for_guard(const struct host_ksm *ksm)
{
	char byte;
	ssize_t n;

	do {
		n = read(ksm->guard_fd, &byte, 1);
	} while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : -ECHILD;
}

static void stop_guard(struct host_ksm *ksm)
{
	while (send(ksm->guard_fd, "", 1, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
	close(ksm->guard_fd);
	while (waitpid(ksm->guard, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Returns when the guard can be trusted: no knob was touched before. */
static int start_guard(struct host_ksm *ksm)
{
	/* Before the fork: it must be this process, whatever happens to it. */
	int parent_fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int fds[2];
	int err = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)) {
		err = -errno;
	} else {
		ksm->guard = fork();
		if (ksm->guard == 0) {
			close(fds[1]);
			guard(ksm, fds[0], parent_fd);
		}
		err = ksm->guard < 0 ? -errno : 0;
		close(fds[0]);
		ksm->guard_fd = fds[1];
		if (err) {
			close(fds[1]);
		} else {
			err = wait_for_guard(ksm);
			if (err)
				stop_guard(ksm);
		}
	}
	if (parent_fd >= 0)
		close(parent_fd);
	return err;
}

/* ---- Open and close ---- */

static int open_knob(const struct host_ksm *ksm, size_t i, int flags)
{
	char path[DIR_BYTES + 64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", ksm->dir, knob_names[i]);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_knobs(struct host_ksm *ksm, char *msg, size_t msg_bytes)
{
	if (access(ksm->dir, F_OK))
		return fail(msg, msg_bytes, -ENOENT,
			    "no %s: this kernel has no KSM (CONFIG_KSM), or /sys is not mounted",
			    ksm->dir);
	for (size_t i = 0; i < NR_HOST_KSM_KNOBS; i++) {
		struct knob *knob = &ksm->knobs[i];
		int fd = open_knob(ksm, i, O_RDWR);
		int err;

		if (fd == -ENOENT && i != HOST_KSM_run)
			continue;
		if (fd < 0)
			return fail(msg, msg_bytes, fd,
				    "%s/%s cannot be written (%s): only root outside of containers may drive the kernel's KSM",
				    ksm->dir, knob_names[i], strerror(-fd));
		knob->fd = fd;
		err = read_value(fd, knob->found);
		if (err)
			return fail(msg, msg_bytes, err, "%s/%s: %s", ksm->dir,
				    knob_names[i], strerror(-err));
	}
	return 0;
}

static void release(struct host_ksm *ksm)
{
	for (size_t i = 0; i < NR_HOST_KSM_KNOBS; i++) {
		if (ksm->knobs[i].fd >= 0)
			close(ksm->knobs[i].fd);
	}
	mem_free(ksm->mem, ksm, sizeof(*ksm));
}

int host_ksm_open(struct mem *mem, const char *dir, struct host_ksm **ret,
		  char *msg, size_t msg_bytes)
{
	struct host_ksm *ksm = mem_alloc(mem, sizeof(*ksm));
	int err;

	if (!ksm)
		return fail(msg, msg_bytes, -ENOMEM, "out of memory");
	ksm->mem = mem;
	snprintf(ksm->dir, sizeof(ksm->dir), "%s", dir ? dir : HOST_KSM_DIR);
	for (size_t i = 0; i < NR_HOST_KSM_KNOBS; i++)
		ksm->knobs[i].fd = -1;
	err = open_knobs(ksm, msg, msg_bytes);
	if (!err && flock(ksm->knobs[HOST_KSM_run].fd, LOCK_EX | LOCK_NB))
		err = fail(msg, msg_bytes, -EBUSY,
			   "%s/run: another program drives the kernel's KSM now",
			   ksm->dir);
	if (!err) {
		err = start_guard(ksm);
		if (err)
			fail(msg, msg_bytes, err,
			     "no guard process for the knobs of KSM: %s",
			     strerror(-err));
	}
	if (err) {
		release(ksm);
		return err;
	}
	*ret = ksm;
	return 0;
}

static int check_restored(const struct host_ksm *ksm, char *msg, size_t msg_bytes)
{
	bool advised = strcmp(ksm->knobs[HOST_KSM_advisor_mode].found, "scan-time") == 0;

	for (size_t i = 0; i < NR_HOST_KSM_KNOBS; i++) {
		if (advised && i == HOST_KSM_pages_to_scan)
			continue;
		if (differs(&ksm->knobs[i]))
			return fail(msg, msg_bytes, -EIO,
				    "%s/%s is not back at its value; to restore: echo %s > %s/%s",
				    ksm->dir, knob_names[i], ksm->knobs[i].found,
				    ksm->dir, knob_names[i]);
	}
	return 0;
}

int host_ksm_close(struct host_ksm *ksm, char *msg, size_t msg_bytes)
{
	int err;

	if (!ksm)
		return 0;
	stop_guard(ksm);
	err = check_restored(ksm, msg, msg_bytes);
	release(ksm);
	return err;
}

/* ---- Use ---- */

int host_ksm_set(struct host_ksm *ksm, enum host_ksm_knob knob, const char *value,
		 char *msg, size_t msg_bytes)
{
	int err = ksm->knobs[knob].fd < 0 ? -ENOENT :
		  write_value(ksm->knobs[knob].fd, value);

	if (err)
		return fail(msg, msg_bytes, err, "%s/%s: cannot be set to %s: %s",
			    ksm->dir, knob_names[knob], value, strerror(-err));
	return 0;
}

const char *host_ksm_found(const struct host_ksm *ksm, enum host_ksm_knob knob)
{
	return ksm->knobs[knob].fd < 0 ? NULL : ksm->knobs[knob].found;
}

int host_ksm_counter(const struct host_ksm *ksm, const char *name, uint64_t *ret)
{
	char path[DIR_BYTES + 64], value[VALUE_BYTES];
	int fd, err;

	snprintf(path, sizeof(path), "%s/%.60s", ksm->dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = read_value(fd, value);
	close(fd);
	if (err)
		return err;
	*ret = value[0] == '-' ? 0 : strtoull(value, NULL, 10);
	return 0;
}
