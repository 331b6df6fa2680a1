/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Agents: what they are told is done in memory of their own, faults are
 * errors, forks share and part, and none outlives the controller.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent.h"
#include "bits.h"

#define AT UINT64_C(0x200000000000)

static struct mem mem;

static struct agent *start(void)
{
	struct agent *a;

	mem_init(&mem);
	assert_int_equal(agent_start(&mem, &a), 0);
	return a;
}

static int map(struct agent *a, uint64_t nr_pages, int prot)
{
	return agent_mmap(a, AT, nr_pages * PAGE_SIZE, prot, MAP_PRIVATE | MAP_FIXED, -1, 0);
}

static void test_accesses(void **state)
{
	uint8_t bytes[3 * PAGE_SIZE], back[3 * PAGE_SIZE];
	struct agent *a = start();

	(void)state;
	assert_int_equal(agent_touch(a, AT, 1), -EFAULT);
	assert_int_equal(map(a, 40, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(agent_fill(a, AT, 40 * PAGE_SIZE, 0x77), 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	assert_int_equal(agent_write(a, AT + 100, bytes, sizeof(bytes)), 0);
	assert_int_equal(agent_read(a, AT + 100, back, sizeof(back)), 0);
	assert_memory_equal(bytes, back, sizeof(back));
	assert_int_equal(agent_read(a, AT, back, 101), 0);
	assert_int_equal(back[99], 0x77);
	assert_int_equal(back[100], bytes[0]);
	/* More than travels with one order; and what comes before a fault is done. */
	assert_int_equal(agent_fill(a, AT + 38 * PAGE_SIZE, 3 * PAGE_SIZE, 0x11), -EFAULT);
	assert_int_equal(agent_read(a, AT + 39 * PAGE_SIZE, back, 1), 0);
	assert_int_equal(back[0], 0x11);
	/* Nothing of it is this process's. */
	assert_int_equal(madvise((void *)AT, PAGE_SIZE, MADV_NORMAL), -1);
	agent_destroy(a);
	assert_int_equal(mem.nr_live, 0);
}

static void test_calls(void **state)
{
	const uint64_t protect[6] = { AT, PAGE_SIZE, PROT_READ };
	const uint64_t wrong[6] = { AT + 1, PAGE_SIZE, PROT_READ };
	struct agent *a = start();
	int pipe_end;

	(void)state;
	assert_int_equal(map(a, 2, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(agent_syscall(a, SYS_mprotect, protect), 0);
	assert_int_equal(agent_syscall(a, SYS_mprotect, wrong), -EINVAL);
	assert_int_equal(agent_fill(a, AT, PAGE_SIZE, 1), -EFAULT);
	assert_int_equal(agent_fill(a, AT + PAGE_SIZE, PAGE_SIZE, 1), 0);
	assert_int_equal(agent_splice(a, AT + PAGE_SIZE, &pipe_end), 0);
	assert_int_equal(close(pipe_end), 0);
	assert_int_equal(agent_splice(a, AT + 2 * PAGE_SIZE, &pipe_end), -EFAULT);
	assert_int_equal(agent_mmap(a, AT, PAGE_SIZE, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, -1, 0),
			 -EEXIST);
	agent_destroy(a);
}

static void test_each(void **state)
{
	const struct agent_range ranges[] = {
		{ AT, PAGE_SIZE }, { AT + 2 * PAGE_SIZE, PAGE_SIZE }, { 0x1000, PAGE_SIZE },
	};
	struct agent *a = start();

	(void)state;
	assert_int_equal(map(a, 3, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(agent_fill(a, AT, 3 * PAGE_SIZE, 1), 0);
	assert_int_equal(agent_each(a, SYS_mprotect, ranges, 2, PROT_READ), 0);
	assert_int_equal(agent_fill(a, AT, PAGE_SIZE, 1), -EFAULT);
	assert_int_equal(agent_fill(a, AT + PAGE_SIZE, PAGE_SIZE, 1), 0);
	assert_int_equal(agent_fill(a, AT + 2 * PAGE_SIZE, PAGE_SIZE, 1), -EFAULT);
	/* Nothing lies at the last one; the others are done all the same. */
	assert_int_equal(agent_each(a, SYS_mprotect, ranges, 3, PROT_READ | PROT_WRITE), 1);
	assert_int_equal(agent_fill(a, AT, 3 * PAGE_SIZE, 1), 0);
	assert_int_equal(agent_each(a, SYS_mprotect, ranges, 0, PROT_NONE), 0);
	agent_destroy(a);
}

static void test_forks(void **state)
{
	struct agent *a = start(), *child, *grandchild;
	uint8_t byte;

	(void)state;
	assert_int_equal(map(a, 1, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(agent_fill(a, AT, PAGE_SIZE, 1), 0);
	assert_int_equal(agent_fork(a, &child), 0);
	assert_int_equal(agent_fill(a, AT, PAGE_SIZE, 2), 0);
	assert_int_equal(agent_read(child, AT, &byte, 1), 0);
	assert_int_equal(byte, 1);
	assert_int_equal(agent_fork(child, &grandchild), 0);
	assert_int_equal(agent_end(child), 0);
	assert_int_equal(agent_end(child), -ESRCH);
	assert_int_equal(agent_touch(child, AT, 1), -ESRCH);
	assert_int_equal(agent_read(grandchild, AT, &byte, 1), 0);
	assert_int_equal(byte, 1);
	assert_int_equal(kill(child->pid, 0), -1);
	agent_destroy(child);
	agent_destroy(grandchild);
	agent_destroy(a);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(mem.nr_live, 0);
}

/* Killed by somebody else: an error, no wait. */
static void test_killed(void **state)
{
	struct agent *a = start(), *child;

	(void)state;
	kill(a->pid, SIGKILL);
	assert_int_equal(agent_touch(a, AT, 1), -ESRCH);
	assert_int_equal(agent_fork(a, &child), -ESRCH);
	assert_int_equal(agent_end(a), 0);
	agent_destroy(a);
}

static bool is_gone(pid_t pid)
{
	for (int i = 0; i < 2000; i++) {
		if (kill(pid, 0))
			return true;
		usleep(1000);
	}
	return false;
}

static void test_dies_with_the_controller(void **state)
{
	pid_t pids[2];
	int fds[2];
	pid_t controller;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	controller = fork();
	if (!controller) {
		struct agent *a, *child;

		mem_init(&mem);
		if (agent_start(&mem, &a) || agent_fork(a, &child))
			_exit(1);
		pids[0] = a->pid;
		pids[1] = child->pid;
		if (write(fds[1], pids, sizeof(pids)) != sizeof(pids))
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(fds[0], pids, sizeof(pids)), sizeof(pids));
	kill(controller, SIGKILL);
	waitpid(controller, NULL, 0);
	assert_true(is_gone(pids[0]));
	assert_true(is_gone(pids[1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accesses),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_forks),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_dies_with_the_controller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
