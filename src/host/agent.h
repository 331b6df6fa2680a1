/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An agent: a real process that does what it is told, one order at a time. Its
 * memory between the addresses that the controller uses is a simulated
 * process's made real; system calls, accesses and forks happen in it, because
 * nobody can make them for another process.
 *
 *	controller --- socket --- agent --- socket --- agent's child ...
 *
 * Each agent is a fork of the controller, or of another agent, and every one is the
 * controller's own child (CLONE_PARENT), which waits for it. Orders and answers
 * are packets on a socket pair; the socket of a child that is yet to be made travels
 * to its parent as a descriptor. An agent holds no other descriptor, needs no memory
 * beyond what it was forked with, and dies with the controller, however that ends.
 *
 * TIME LIMITS. An access to a page whose migration entry nobody removes never
 * ends, not even by SIGKILL. Every order has AGENT_TIMEOUT_MS; an agent that
 * exceeds it is marked `hung`, gets no more orders, and is killed but not waited
 * for.
 *
 * AN ORDER'S RESULT is what the system call returns, -errno when it fails. An
 * access that SIGSEGV or SIGBUS would end is -EFAULT, what came before it done.
 *
 *	err = agent_start(&mem, &a);
 *	err = agent_mmap(a, addr, length, prot, flags, -1, 0);
 *	err = agent_fill(a, addr, length, 0x77);
 *	err = agent_fork(a, &child);
 *	err = agent_end(child);
 *	agent_destroy(child);
 *
 * Locking: none; one thread uses agents. The controller must not be the init
 * of its PID namespace with other children that it waits for with wait(2).
 *
 * agent.c is the controller's side, agent_serve.c the agent's.
 */
#ifndef SP_AGENT_H
#define SP_AGENT_H

#include <sys/types.h>

#include "mem.h"

#define AGENT_TIMEOUT_MS 60000
/* Bytes that travel with one order. */
#define AGENT_MAX_BYTES ((size_t)32 << 10)

struct agent {
	struct mem *mem;
	pid_t pid;
	int fd;       /* -1: ended */
	bool hung, ended;
};

struct agent_range {
	uint64_t addr, length;
};

int agent_start(struct mem *mem, struct agent **ret) SP_MUST_CHECK;
/* The child's pid is one of the controller's children. */
int agent_fork(struct agent *parent, struct agent **ret) SP_MUST_CHECK;
/* Lets the process exit; 0 when its memory is gone, -ETIMEDOUT when it hangs. */
int agent_end(struct agent *a) SP_MUST_CHECK;
/* Ends what runs, as far as it can be ended, and frees. */
void agent_destroy(struct agent *a);

/* ---- Orders ------------------------------------------------------------------ */

#define AGENT_ORDERS(X)                                                             \
	X(SYSCALL)  /* number and six arguments */                                  \
	X(EACH)     /* number, third argument; ranges: one call for each */         \
	X(MAP)      /* addr, length, prot, flags, pgoff; a descriptor or none */    \
	X(READ)     /* addr, length: answers bytes */                               \
	X(WRITE)    /* addr, bytes */                                               \
	X(FILL)     /* addr, length, byte */                                        \
	X(TOUCH)    /* addr, length */                                              \
	X(SPLICE)   /* addr; the write end of a pipe: its page into the pipe */     \
	X(FORK)     /* a socket: answers the child's pid */                         \
	X(PAD)      /* addr, number: so many mappings of no use */                  \
	X(EXIT)

enum agent_order {
#define AGENT_ORDER(name) AGENT_##name,
	AGENT_ORDERS(AGENT_ORDER)
#undef AGENT_ORDER
};

int64_t agent_syscall(struct agent *a, long number, const uint64_t args[6]) SP_MUST_CHECK;
/* The call, with each range and then that argument; what fails is passed over. Returns how many did. */
int64_t agent_each(struct agent *a, long number, const struct agent_range *ranges, unsigned int nr,
		   uint64_t argument) SP_MUST_CHECK;
int agent_mmap(struct agent *a, uint64_t addr, uint64_t length, int prot, int flags, int fd,
	       uint64_t pgoff) SP_MUST_CHECK;
int agent_read(struct agent *a, uint64_t addr, void *buf, uint64_t length) SP_MUST_CHECK;
int agent_write(struct agent *a, uint64_t addr, const void *buf, uint64_t length) SP_MUST_CHECK;
int agent_fill(struct agent *a, uint64_t addr, uint64_t length, uint8_t byte) SP_MUST_CHECK;
int agent_touch(struct agent *a, uint64_t addr, uint64_t length) SP_MUST_CHECK;
/* A reference on the page at addr, as long as a pipe lives: *ret is its read end. */
int agent_splice(struct agent *a, uint64_t addr, int *ret) SP_MUST_CHECK;
/* nr mappings from addr on, unused: so that max_map_count, which is one for all, is near. */
int agent_pad(struct agent *a, uint64_t addr, uint64_t nr) SP_MUST_CHECK;

/* ---- Between the two sides ------------------------------------------------------ */

struct agent_request {
	uint32_t order;
	uint32_t nr_bytes; /* that follow */
	uint64_t args[7];
};

struct agent_answer {
	int64_t result;
};

/* Serves orders that come from fd until it ends. */
_Noreturn void agent_serve(int fd, pid_t controller);

#endif
