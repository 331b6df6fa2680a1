/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The agent's side; see agent.h.
 *
 * It runs in a fork of a program that may have threads, and its mappings may
 * be anything, so it calls system calls and string functions alone: no
 * allocation, no stdio. Memory of its own is one buffer, written before the
 * first order; what it is asked about lies elsewhere.
 *
 * Faults are signals, caught and turned into -EFAULT by a long jump out of the
 * access. The handler runs on the agent's own stack, which no order maps over.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent.h"

#define OWN_FD 3

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static sigjmp_buf at_fault;
static _Alignas(8) uint8_t buffer[AGENT_MAX_BYTES];

static void on_fault(int sig)
{
	(void)sig;
	siglongjmp(at_fault, 1);
}

static void own_alone(int fd)
{
	if (fd != OWN_FD) {
		dup2(fd, OWN_FD);
		close(fd);
	}
	if (syscall(SYS_close_range, OWN_FD + 1, ~0u, 0) < 0)
		for (int i = OWN_FD + 1; i < 65536; i++)
			close(i);
	for (int i = 0; i < OWN_FD; i++)
		close(i);
}

static void die_with(pid_t controller)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != controller)
		_exit(0);
}

static void set_signals(void)
{
	static const int ignored[] = {
		SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTSTP, SIGALRM, SIGTTIN, SIGTTOU,
	};
	struct sigaction fault = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigaction(SIGSEGV, &fault, NULL);
	sigaction(SIGBUS, &fault, NULL);
}

/* ---- Orders ------------------------------------------------------------------ */

static long result(long ret)
{
	return ret < 0 ? -errno : ret;
}

static long map(const uint64_t *args, int fd)
{
	void *at = mmap((void *)args[0], args[1], (int)args[2],
			(int)args[3] | (fd < 0 ? MAP_ANONYMOUS : 0), fd, (off_t)(args[4] * PAGE_SIZE));

	if (at == MAP_FAILED)
		return -errno;
	/* Kernels before 4.17 take the address of FIXED_NOREPLACE for a hint. */
	return at == (void *)args[0] ? 0 : -EEXIST;
}

/* One load or store a page is what the controller counts on; memcpy makes it. */
static long access_memory(const struct agent_request *request)
{
	uint8_t *at = (uint8_t *)request->args[0];
	uint64_t length = request->args[1];

	if (sigsetjmp(at_fault, 0))
		return -EFAULT;
	switch (request->order) {
	case AGENT_READ:
		memcpy(buffer, at, length);
		return 0;
	case AGENT_WRITE:
		memcpy(at, buffer, request->nr_bytes);
		return 0;
	case AGENT_FILL:
		for (uint64_t done = 0; done < length; done += PAGE_SIZE)
			memset(at + done, (int)request->args[2], PAGE_SIZE);
		return 0;
	default:
		for (uint64_t done = 0; done < length; done += PAGE_SIZE)
			(void)*(volatile uint8_t *)(at + done);
		return 0;
	}
}

static long splice_page(uint64_t addr, int fd)
{
	const struct iovec page = { (void *)addr, PAGE_SIZE };
	long n = result(vmsplice(fd, &page, 1, 0));

	return n < 0 ? n : n == (long)PAGE_SIZE ? 0 : -EFAULT;
}

/* A stretch of twice as many pages, of which every other one has another protection.
 * It is shared memory: neither KSM nor swap look at it. */
static long pad(uint64_t addr, uint64_t nr)
{
	char *at = mmap((void *)addr, nr * PAGE_SIZE, PROT_NONE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return -errno;
	for (uint64_t i = 1; i < nr; i += 2)
		if (mprotect(at + i * PAGE_SIZE, PAGE_SIZE, PROT_READ))
			return -errno;
	return 0;
}

/* The child goes on in agent_serve() with its own socket. */
static long fork_self(int fd, pid_t controller)
{
	long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);

	if (pid)
		return result(pid);
	own_alone(fd);
	die_with(controller);
	return 0;
}

static long each(const struct agent_request *request)
{
	const struct agent_range *ranges = (const struct agent_range *)buffer;
	long nr_failed = 0;

	for (size_t i = 0; i < request->nr_bytes / sizeof(*ranges); i++)
		nr_failed += syscall((long)request->args[0], ranges[i].addr, ranges[i].length,
				     request->args[1]) < 0;
	return nr_failed;
}

static long serve_one(const struct agent_request *request, int fd, pid_t controller)
{
	const uint64_t *args = request->args;

	switch ((enum agent_order)request->order) {
	case AGENT_SYSCALL:
		return result(syscall((long)args[0], args[1], args[2], args[3], args[4], args[5],
				      args[6]));
	case AGENT_EACH:
		return each(request);
	case AGENT_MAP:
		return map(args, fd);
	case AGENT_READ:
	case AGENT_WRITE:
	case AGENT_FILL:
	case AGENT_TOUCH:
		return access_memory(request);
	case AGENT_SPLICE:
		return splice_page(args[0], fd);
	case AGENT_FORK:
		return fork_self(fd, controller);
	case AGENT_PAD:
		return pad(args[0], args[1]);
	case AGENT_EXIT:
		_exit(0);
	}
	return -ENOSYS;
}

/* False at the end. *fd: what came along, or -1. */
static bool receive(struct agent_request *request, int *fd)
{
	struct iovec parts[] = { { request, sizeof(*request) }, { buffer, sizeof(buffer) } };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = {
		.msg_iov = parts,
		.msg_iovlen = ARRAY_SIZE(parts),
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header;
	ssize_t n;

	do {
		n = recvmsg(OWN_FD, &message, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < (ssize_t)sizeof(*request))
		return false;
	*fd = -1;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(header), sizeof(*fd));
	return true;
}

static bool answer(long value, size_t nr_bytes)
{
	struct agent_answer answer_header = { value };
	struct iovec parts[] = { { &answer_header, sizeof(answer_header) }, { buffer, nr_bytes } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = nr_bytes ? 2 : 1 };

	return sendmsg(OWN_FD, &message, MSG_NOSIGNAL) > 0;
}

_Noreturn void agent_serve(int fd, pid_t controller)
{
	struct agent_request request;
	int with;

	memset(buffer, 1, sizeof(buffer));
	set_signals();
	own_alone(fd);
	die_with(controller);
	while (receive(&request, &with)) {
		bool reads = request.order == AGENT_READ;
		long value = serve_one(&request, with, controller);

		/* In the child, own_alone() has closed it already. */
		if (with >= 0 && !(request.order == AGENT_FORK && !value))
			close(with);
		if (!answer(value, reads && !value ? request.args[1] : 0))
			break;
	}
	_exit(0);
}
