/* SPDX-License-Identifier: GPL-2.0-only */
/* What scenarios on one kernel share; see kernel_session.h. */
#include "kernel_session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"
#include "ksmd_thread.h"

#define GET_MEMORY_MERGE 68

/* Memory comes from the first node, whatever processor an agent is on; its forks inherit that.
 * It was forked, so that this lies in it at the same address. */
const unsigned long kernel_first_node = 1;

static void raise_file_limit(void)
{
	struct rlimit limit;

	/* Three descriptors for each process. */
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* What an agent has for itself is known before a scenario maps anything. */
static int look_at_own(struct kernel_session *session)
{
	struct smaps own;
	int err = smaps_read(&own, &session->mem, session->first->pid, false, 0, TASK_SIZE);

	if (err)
		return err;
	session->nr_own_vmas = (unsigned int)own.nr;
	for (size_t i = 0; i < own.nr && session->nr_own < ARRAY_SIZE(session->own); i++) {
		const struct image_vma *map = &own.vmas[i].map;

		if (!map->shared)
			session->own[session->nr_own++] =
				(struct agent_range){ map->start, map->end - map->start };
	}
	smaps_free(&own);
	return 0;
}

static int start_first(struct kernel_session *session)
{
	const uint64_t policy[6] = { KERNEL_PREFERRED, (uint64_t)(uintptr_t)&kernel_first_node, 64 };
	int err = agent_start(&session->mem, &session->first);

	if (err)
		return err;
	/* A kernel without NUMA has no such call. */
	if (session->nr_nodes > 1 && agent_syscall(session->first, SYS_set_mempolicy, policy))
		return -EIO;
	return look_at_own(session);
}

static int take_over(struct kernel_session *session, char *msg, size_t msg_bytes)
{
	int err;

	if (geteuid() != 0) {
		snprintf(msg, msg_bytes, "only root may drive the kernel's KSM and see its frames");
		return BACKEND_CANNOT;
	}
	kernel_work_find(session);
	err = host_ksm_open(&session->mem, NULL, &session->ksm, msg, msg_bytes);
	if (!err)
		err = host_pages_open(&session->pages, msg, msg_bytes);
	if (err)
		return err == -ENOMEM ? err : BACKEND_CANNOT;
	/* Where the kernel does not show them, contents are read in another way. */
	if (host_frames_open(&session->frames))
		session->frames.fd = -1;
	session->has_merge_any = prctl(GET_MEMORY_MERGE, 0, 0, 0, 0) >= 0;
	session->ksmd = ksmd_find();
	raise_file_limit();
	err = start_first(session);
	if (err)
		snprintf(msg, msg_bytes, "no process for the scenario: %s", strerror(-err));
	return err && err != -ENOMEM ? BACKEND_CANNOT : err;
}

int kernel_session_open(struct kernel_session **ret, char *msg, size_t msg_bytes)
{
	struct kernel_session *session;
	struct mem mem;
	int err;

	mem_init(&mem);
	session = mem_alloc(&mem, sizeof(*session));
	if (!session)
		return -ENOMEM;
	session->mem = mem;
	session->pages = (struct host_pages){ .flags_fd = -1, .count_fd = -1 };
	session->frames.fd = -1;
	session->owner = getpid();
	err = take_over(session, msg, msg_bytes);
	if (err) {
		(void)kernel_session_close(session, NULL, 0);
		return err;
	}
	*ret = session;
	return 0;
}

int kernel_session_close(struct kernel_session *session, char *msg, size_t msg_bytes)
{
	struct mem mem;
	int err = 0;

	if (!session)
		return 0;
	agent_destroy(session->first);
	kernel_work_forget(session);
	kept_files_close(&session->files);
	if (session->ksm)
		err = host_ksm_close(session->ksm, msg, msg_bytes);
	host_pages_close(&session->pages);
	host_frames_close(&session->frames);
	mem = session->mem;
	mem_free(&mem, session, sizeof(*session));
	return err;
}
