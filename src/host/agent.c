/* SPDX-License-Identifier: GPL-2.0-only */
/* The controller's side of agents; see agent.h. */
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"

/* How long a process may take to leave its memory. */
#define END_MS 20000
#define KILL_MS 1000

/* ---- Packets ------------------------------------------------------------------- */

static int send_order(struct agent *a, const struct agent_request *request, const void *bytes, int fd)
{
	struct iovec parts[] = {
		{ (void *)(uintptr_t)request, sizeof(*request) },
		{ (void *)(uintptr_t)bytes, request->nr_bytes },
	};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = request->nr_bytes ? 2 : 1 };

	if (fd >= 0) {
		struct cmsghdr *header;

		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	}
	while (sendmsg(a->fd, &message, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* 0; -ETIMEDOUT, after which nobody may wait for this one again; -ESRCH: it died. */
static int receive_answer(struct agent *a, int64_t *result, void *buf, size_t size)
{
	struct agent_answer answer = { 0 };
	struct iovec parts[] = { { &answer, sizeof(answer) }, { buf, size } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = size ? 2 : 1 };
	uint64_t deadline_ns = clock_measure_ns() + AGENT_TIMEOUT_MS * UINT64_C(1000000);
	ssize_t n;

	for (;;) {
		struct pollfd ready = { .fd = a->fd, .events = POLLIN };
		uint64_t now_ns = clock_measure_ns();
		int left_ms = now_ns < deadline_ns ? (int)((deadline_ns - now_ns) / 1000000) + 1 : 0;
		int nr = poll(&ready, 1, left_ms);

		if (nr > 0)
			break;
		if (nr < 0 && errno != EINTR)
			return -errno;
		if (!left_ms) {
			a->hung = true;
			return -ETIMEDOUT;
		}
	}
	do {
		n = recvmsg(a->fd, &message, 0);
	} while (n < 0 && errno == EINTR);
	if (n < (ssize_t)sizeof(answer))
		return -ESRCH;
	*result = answer.result;
	return 0;
}

static int64_t call_with(struct agent *a, const struct agent_request *request, const void *bytes, int fd,
			 void *buf, size_t size)
{
	int64_t result = 0;
	int err;

	if (a->ended)
		return -ESRCH;
	if (a->hung)
		return -ETIMEDOUT;
	err = send_order(a, request, bytes, fd);
	if (err)
		return err == -EPIPE || err == -ECONNRESET ? -ESRCH : err;
	err = receive_answer(a, &result, buf, size);
	return err ? err : result;
}

static int64_t call(struct agent *a, const struct agent_request *request, int fd)
{
	return call_with(a, request, NULL, fd, NULL, 0);
}

/* ---- Life ------------------------------------------------------------------------- */

static struct agent *agent_create(struct mem *mem, int fd)
{
	struct agent *a = mem_alloc(mem, sizeof(*a));

	if (a)
		*a = (struct agent){ .mem = mem, .fd = fd };
	return a;
}

static int socket_pair(int fds[2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) ? -errno : 0;
}

/* The child must not print what stdio has buffered: it never flushes. */
int agent_start(struct mem *mem, struct agent **ret)
{
	struct agent *a = agent_create(mem, -1);
	pid_t controller = getpid();
	int fds[2], err;

	if (!a)
		return -ENOMEM;
	err = socket_pair(fds);
	if (err) {
		mem_free(mem, a, sizeof(*a));
		return err;
	}
	a->fd = fds[0];
	a->pid = fork();
	if (!a->pid)
		agent_serve(fds[1], controller);
	err = a->pid < 0 ? -errno : 0;
	close(fds[1]);
	if (err) {
		a->ended = true;
		agent_destroy(a);
		return err;
	}
	*ret = a;
	return 0;
}

int agent_fork(struct agent *parent, struct agent **ret)
{
	const struct agent_request request = { .order = AGENT_FORK };
	struct agent *a = agent_create(parent->mem, -1);
	int fds[2], err;
	int64_t pid, child = -1;

	if (!a)
		return -ENOMEM;
	err = socket_pair(fds);
	if (err) {
		mem_free(parent->mem, a, sizeof(*a));
		return err;
	}
	a->fd = fds[0];
	pid = call(parent, &request, fds[1]);
	close(fds[1]);
	if (pid < 0) {
		a->ended = true;
		agent_destroy(a);
		return (int)pid;
	}
	a->pid = (pid_t)pid;
	/* Its own first answer, to the order to fork: it runs. */
	err = receive_answer(a, &child, NULL, 0);
	if (err || child) {
		agent_destroy(a);
		return err ? err : -EPROTO;
	}
	*ret = a;
	return 0;
}

/* Wakes up when the process has ended, where this kernel can say so. */
static void await_end(const struct agent *a, unsigned int wait_ms)
{
	struct pollfd ended = { .fd = (int)syscall(SYS_pidfd_open, a->pid, 0), .events = POLLIN };

	if (ended.fd < 0)
		return;
	(void)poll(&ended, 1, (int)wait_ms);
	close(ended.fd);
}

/* True when the process is gone, its memory included. */
static bool reap(struct agent *a, unsigned int wait_ms)
{
	uint64_t deadline_ns = clock_measure_ns() + wait_ms * UINT64_C(1000000);
	struct timespec pause = { 0, 20000 };

	await_end(a, wait_ms);
	for (;;) {
		pid_t pid = waitpid(a->pid, NULL, WNOHANG);

		if (pid == a->pid || (pid < 0 && errno == ECHILD))
			return true;
		if (clock_measure_ns() > deadline_ns)
			return false;
		nanosleep(&pause, NULL);
		pause.tv_nsec = MIN(pause.tv_nsec * 2, 5000000L);
	}
}

int agent_end(struct agent *a)
{
	const struct agent_request request = { .order = AGENT_EXIT };

	if (a->ended)
		return -ESRCH;
	if (!a->hung)
		(void)send_order(a, &request, NULL, -1);
	if (a->hung || !reap(a, END_MS)) {
		a->hung = true;
		return -ETIMEDOUT;
	}
	a->ended = true;
	return 0;
}

void agent_destroy(struct agent *a)
{
	if (!a)
		return;
	if (!a->ended && a->pid > 0) {
		kill(a->pid, SIGKILL);
		if (reap(a, KILL_MS))
			a->ended = true;
	}
	if (a->fd >= 0)
		close(a->fd);
	mem_free(a->mem, a, sizeof(*a));
}

/* ---- Orders --------------------------------------------------------------------------- */

int64_t agent_syscall(struct agent *a, long number, const uint64_t args[6])
{
	struct agent_request request = { .order = AGENT_SYSCALL, .args = { (uint64_t)number } };

	memcpy(request.args + 1, args, 6 * sizeof(args[0]));
	return call(a, &request, -1);
}

int64_t agent_each(struct agent *a, long number, const struct agent_range *ranges, unsigned int nr,
		   uint64_t argument)
{
	const struct agent_request request = {
		.order = AGENT_EACH,
		.nr_bytes = (uint32_t)(nr * sizeof(*ranges)),
		.args = { (uint64_t)number, argument },
	};

	if (!nr)
		return 0;
	if (nr * sizeof(*ranges) > AGENT_MAX_BYTES)
		return -E2BIG;
	return call_with(a, &request, ranges, -1, NULL, 0);
}

int agent_mmap(struct agent *a, uint64_t addr, uint64_t length, int prot, int flags, int fd,
	       uint64_t pgoff)
{
	const struct agent_request request = {
		.order = AGENT_MAP,
		.args = { addr, length, (uint64_t)prot, (uint64_t)flags, pgoff },
	};

	return (int)call(a, &request, fd);
}

int agent_read(struct agent *a, uint64_t addr, void *buf, uint64_t length)
{
	for (uint64_t done = 0; done < length;) {
		uint64_t part = MIN(length - done, (uint64_t)AGENT_MAX_BYTES);
		const struct agent_request request = {
			.order = AGENT_READ,
			.args = { addr + done, part },
		};
		int err = (int)call_with(a, &request, NULL, -1, (char *)buf + done, part);

		if (err)
			return err;
		done += part;
	}
	return 0;
}

int agent_write(struct agent *a, uint64_t addr, const void *buf, uint64_t length)
{
	for (uint64_t done = 0; done < length;) {
		uint64_t part = MIN(length - done, (uint64_t)AGENT_MAX_BYTES);
		const struct agent_request request = {
			.order = AGENT_WRITE,
			.nr_bytes = (uint32_t)part,
			.args = { addr + done },
		};
		int err = (int)call_with(a, &request, (const char *)buf + done, -1, NULL, 0);

		if (err)
			return err;
		done += part;
	}
	return 0;
}

int agent_fill(struct agent *a, uint64_t addr, uint64_t length, uint8_t byte)
{
	const struct agent_request request = { .order = AGENT_FILL, .args = { addr, length, byte } };

	return (int)call(a, &request, -1);
}

int agent_touch(struct agent *a, uint64_t addr, uint64_t length)
{
	const struct agent_request request = { .order = AGENT_TOUCH, .args = { addr, length } };

	return (int)call(a, &request, -1);
}

int agent_splice(struct agent *a, uint64_t addr, int *ret)
{
	const struct agent_request request = { .order = AGENT_SPLICE, .args = { addr } };
	int fds[2], err;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	err = (int)call(a, &request, fds[1]);
	close(fds[1]);
	if (err) {
		close(fds[0]);
		return err;
	}
	*ret = fds[0];
	return 0;
}

int agent_pad(struct agent *a, uint64_t addr, uint64_t nr)
{
	const struct agent_request request = { .order = AGENT_PAD, .args = { addr, nr } };

	return (int)call(a, &request, -1);
}
