/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The running kernel's memory that goes: whole nodes, and single pages for good; see kernel.h.
 *
 * NODES. The last nodes of a scenario, as many as it calls movable, are nodes of the kernel with
 * the same numbers, whose memory is all offline: nobody uses it, so the scenario may. It is online
 * while the scenario runs (host_memory.h, which also puts it back). A kernel is asked for no other
 * memory: what is online has users, and its end is not for a scenario to try out.
 *
 * The kernel never gives up offlining on its own. That it is not going to succeed is concluded
 * when it fails again and again and moves nothing; that is -EBUSY here.
 *
 * PAGES. What MADV_SOFT_OFFLINE takes is gone until the next boot. So it is done in the guests of
 * samepage-vm(1) alone, which end with the scenario: their first process is this program.
 *
 * What is not checked: to which node pages go when theirs goes. Linux prefers the nearest of those
 * that are left, of equally near ones the one that its list for that node has first.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"

/* ---- Nodes ---- */

int kernel_offline_init(struct backend *b, const struct sp_config *machine)
{
	uint32_t nr = machine->nr_movable_nodes, first = machine->nr_nodes - nr;
	char msg[256] = "";

	if (!nr)
		return 0;
	if (nr > ARRAY_SIZE(b->movable))
		return kernel_cannot(b, "more than %u movable nodes", KERNEL_NR_MOVABLE);
	for (uint32_t i = 0; i < nr; i++) {
		int err = host_memory_open(&b->mem, NULL, first + i, &b->movable[i], msg,
					   sizeof(msg));

		if (err)
			return err == -ENOMEM ? err : kernel_cannot(b, "%s", msg);
		b->nr_movable++;
	}
	b->nr_nodes = machine->nr_nodes;
	return 0;
}

void kernel_offline_finish(struct backend *b)
{
	char msg[256] = "";

	for (uint32_t i = 0; i < b->nr_movable; i++) {
		if (host_memory_close(b->movable[i], msg, sizeof(msg)) && b->remark_bytes)
			snprintf(b->remark, b->remark_bytes, "%s", msg);
		b->movable[i] = NULL;
	}
	b->nr_movable = 0;
}

int kernel_offline(struct backend *b, unsigned int node)
{
	unsigned int i = node - (b->nr_nodes - b->nr_movable);
	int err;

	/* A node whose free pages go is short of memory: its kswapd would take what it can. */
	kernel_work_allow_swap(b->session, false);
	err = host_memory_offline(b->movable[i]);
	kernel_work_allow_swap(b->session, true);
	kernel_did(b);
	if (!err)
		b->is_offline[i] = true;
	kernel_pages_changed(b);
	return err;
}

int kernel_online(struct backend *b, unsigned int node)
{
	unsigned int i = node - (b->nr_nodes - b->nr_movable);
	int err = host_memory_online(b->movable[i]);

	kernel_did(b);
	if (!err)
		b->is_offline[i] = false;
	return err;
}

int kernel_next_node(const struct backend *b, int node)
{
	const int nr = (int)b->nr_nodes, nr_fixed = nr - (int)b->nr_movable;

	/* The first ones never go. */
	do {
		node = (node + 1) % nr;
	} while (node >= nr_fixed && b->is_offline[node - nr_fixed]);
	return node;
}

/* ---- Pages ---- */

/* The first process is `samepage vm-init`; its words may include some that the kernel did not know. */
static bool is_own_guest(void)
{
	char words[512];
	int fd = open("/proc/1/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, words, sizeof(words) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	words[n] = '\0';
	for (ssize_t at = 0; at < n; at += (ssize_t)strlen(words + at) + 1)
		if (!strcmp(words + at, "vm-init"))
			return true;
	return false;
}

int kernel_may_soft_offline(struct backend_process *p)
{
	/* Of no bytes: is this advice known? */
	const uint64_t args[6] = {0, 0, SP_MADV_SOFT_OFFLINE};

	if (!p->agent)
		return -ESRCH;
	if (!is_own_guest())
		return kernel_cannot(p->backend,
				     "what is soft-offlined is lost until the next boot: that is done in guests of samepage-vm(1) alone");
	if (agent_syscall(p->agent, SYS_madvise, args) == -EINVAL)
		return kernel_cannot(p->backend, "this kernel has no soft-offline (CONFIG_MEMORY_FAILURE)");
	return 0;
}
