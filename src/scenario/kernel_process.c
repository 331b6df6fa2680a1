/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes, files, system calls and accesses on the running kernel; see kernel.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel.h"
#include "proc_text.h"
#include "windows.h"

/* Later than the headers that programs are built with. */
#define SET_MEMORY_MERGE 67
#define GET_MEMORY_MERGE 68

/* So many processes keep their own memory out of swap. */
#define LOCKED_MAX 64
#define MLOCK_ON_FAULT 1

/* Mappings that only count lie above all windows. */
#define PAD_START UINT64_C(0x580000000000)

static int call(struct backend_process *p, long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
		uint64_t e)
{
	const uint64_t args[6] = { a, b, c, d, e, 0 };

	if (!p->agent)
		return -ESRCH;
	kernel_called(p);
	return (int)agent_syscall(p->agent, number, args);
}

/* ---- Processes ----------------------------------------------------------------------- */

/*
 * Reclaim would write the agent's own pages to swap, and count them. Of many
 * processes, all of that memory would be too much.
 */
static void lock_own(struct backend_process *p)
{
	const struct kernel_session *session = p->backend->session;

	if (!p->backend->has_swap || p->id > LOCKED_MAX)
		return;
	/* What it has not used yet it hardly will. What cannot be locked may be counted. */
	if (agent_each(p->agent, SYS_mlock2, session->own, session->nr_own, MLOCK_ON_FAULT))
		return;
}

static int open_views(struct backend_process *p)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/pagemap", p->agent->pid);
	p->pagemap_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (p->pagemap_fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d/mem", p->agent->pid);
	p->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	return p->mem_fd < 0 ? -errno : 0;
}

static void close_views(struct backend_process *p)
{
	if (p->pagemap_fd >= 0)
		close(p->pagemap_fd);
	if (p->mem_fd >= 0)
		close(p->mem_fd);
	p->pagemap_fd = -1;
	p->mem_fd = -1;
	smaps_free(&p->vmas);
	p->seen = 0;
}

static struct backend_process *add_process(struct backend *b)
{
	struct backend_process *p = mem_alloc(&b->mem, sizeof(*p));

	if (!p)
		return NULL;
	*p = (struct backend_process){
		.backend = b,
		.id = ++b->nr_processes,
		.pagemap_fd = -1,
		.mem_fd = -1,
		.vmas = { .mem = &b->mem },
		.next = b->processes,
	};
	b->processes = p;
	kernel_did(b);
	return p;
}

/* max_map_count is one for all processes, so this one gets mappings to be near it. */
static int limit_mappings(struct backend_process *p)
{
	struct backend *b = p->backend;
	int64_t limit;
	int err;

	if (!b->map_limit)
		return 0;
	err = proc_text_value("/proc/sys/vm/max_map_count", &limit);
	if (err)
		return err;
	if (limit < (int64_t)(b->map_limit + b->session->nr_own_vmas))
		return kernel_cannot(b, "vm.max_map_count is %lld", (long long)limit);
	return agent_pad(p->agent, PAD_START,
			 (uint64_t)limit - b->map_limit - b->session->nr_own_vmas);
}

/* A process that could not be made leaves its entry, which is ended like any other. */
int kernel_process_create(struct backend *b, struct backend_process **ret)
{
	struct backend_process *p = add_process(b);
	int err;

	if (!p)
		return -ENOMEM;
	err = agent_fork(b->session->first, &p->agent);
	if (!err)
		err = open_views(p);
	if (err)
		return err;
	kernel_work_adopt(p);
	lock_own(p);
	if (b->no_thp)
		(void)call(p, SYS_prctl, PR_SET_THP_DISABLE, 1, 0, 0, 0);
	err = limit_mappings(p);
	*ret = p;
	return err;
}

int kernel_fork(struct backend_process *parent, struct backend_process **ret)
{
	struct backend *b = parent->backend;
	struct backend_process *p;
	int err;

	if (!parent->agent)
		return -ESRCH;
	p = add_process(b);
	if (!p)
		return -ENOMEM;
	err = agent_fork(parent->agent, &p->agent);
	if (!err)
		err = open_views(p);
	if (err)
		return err;
	p->beyond = parent->beyond;
	p->cgroup_id = parent->cgroup_id;
	lock_own(p);
	*ret = p;
	return 0;
}

/* Says so when there is one that nothing ends; its processes are the kernel's. */
static void end(struct backend_process *p)
{
	struct backend *b = p->backend;
	bool hung;

	if (!p->agent)
		return;
	hung = p->agent->hung;
	b->session->examined &= !hung;
	if (hung && b->remark_bytes)
		snprintf(b->remark, b->remark_bytes,
			 "process %u of the scenario (pid %d) hangs in the kernel: not even SIGKILL may end it",
			 p->id, p->agent->pid);
	close_views(p);
	agent_destroy(p->agent);
	p->agent = NULL;
}

int kernel_exit(struct backend_process *p)
{
	int err;

	if (!p->agent)
		return -ESRCH;
	kernel_called(p);
	err = agent_end(p->agent);
	end(p);
	return err;
}

uint32_t kernel_process_id(const struct backend_process *p)
{
	return p->id;
}

void kernel_processes_destroy(struct backend *b)
{
	for (struct backend_process *p = b->processes; p; p = p->next)
		end(p);
	while (b->processes) {
		struct backend_process *p = b->processes;

		b->processes = p->next;
		mem_free(&b->mem, p, sizeof(*p));
	}
	while (b->files) {
		struct backend_file *file = b->files;

		b->files = file->next;
		close(file->fd);
		mem_free(&b->mem, file, sizeof(*file));
	}
}

/* ---- Files ------------------------------------------------------------------------------ */

int kernel_random_page(struct backend *b, uint64_t seed, uint64_t index, void *buf)
{
	content_t content = CONTENT_ZERO;
	int err = content_random(&b->store, &content, seed, index);

	if (err)
		return err;
	content_read(&b->store, content, 0, buf, PAGE_SIZE);
	content_free(&b->store, content);
	return 0;
}

static int fill_file(struct backend *b, int fd, uint64_t nr_pages, uint64_t seed)
{
	uint8_t page[PAGE_SIZE] = { 0 };

	if (ftruncate(fd, (off_t)(nr_pages * PAGE_SIZE)))
		return -errno;
	for (uint64_t i = 0; i < nr_pages; i++) {
		int err = seed ? kernel_random_page(b, seed, i, page) : 0;

		if (err)
			return err;
		if (pwrite(fd, page, sizeof(page), (off_t)(i * PAGE_SIZE)) != sizeof(page))
			return errno ? -errno : -ENOSPC;
	}
	return 0;
}

int kernel_file_create(struct backend *b, uint64_t nr_pages, uint64_t seed, struct backend_file **ret)
{
	struct backend_file *file = mem_alloc(&b->mem, sizeof(*file));
	int err;

	if (!file)
		return -ENOMEM;
	snprintf(file->name, sizeof(file->name), "samepage-%u", ++b->nr_files);
	file->fd = memfd_create(file->name, MFD_CLOEXEC);
	err = file->fd < 0 ? -errno : 0;
	/* Its memory comes from the node that a process's does. */
	if (!err && b->nr_nodes > 1)
		(void)syscall(SYS_set_mempolicy, KERNEL_PREFERRED, &kernel_first_node, 64);
	if (!err)
		err = fill_file(b, file->fd, nr_pages, seed);
	if (b->nr_nodes > 1)
		(void)syscall(SYS_set_mempolicy, 0, NULL, 0);
	if (err) {
		if (file->fd >= 0)
			close(file->fd);
		mem_free(&b->mem, file, sizeof(*file));
		return err;
	}
	file->next = b->files;
	b->files = file;
	*ret = file;
	return 0;
}

/* ---- System calls --------------------------------------------------------------------------- */

int kernel_mmap(struct backend_process *p, uint64_t addr, uint64_t length, int prot, int flags,
		struct backend_file *file, uint64_t pgoff)
{
	if (!p->agent)
		return -ESRCH;
	kernel_called(p);
	return agent_mmap(p->agent, addr, length, prot, flags, file ? file->fd : -1, pgoff);
}

int kernel_munmap(struct backend_process *p, uint64_t addr, uint64_t length)
{
	return call(p, SYS_munmap, addr, length, 0, 0, 0);
}

int kernel_mprotect(struct backend_process *p, uint64_t addr, uint64_t length, int prot)
{
	return call(p, SYS_mprotect, addr, length, (uint64_t)prot, 0, 0);
}

int kernel_mremap(struct backend_process *p, uint64_t addr, uint64_t old_length, uint64_t new_length,
		  int flags, uint64_t new_addr, uint64_t *ret)
{
	const uint64_t args[6] = { addr, old_length, new_length, (uint64_t)flags, new_addr, 0 };
	int64_t at;

	if (!p->agent)
		return -ESRCH;
	kernel_called(p);
	at = agent_syscall(p->agent, SYS_mremap, args);
	if (at < 0)
		return (int)at;
	*ret = (uint64_t)at;
	p->beyond |= *ret < WINDOWS_START || *ret >= WINDOWS_END;
	return 0;
}

int kernel_madvise(struct backend_process *p, uint64_t addr, uint64_t length, enum sp_advice advice)
{
	if (advice == SP_MADV_HUGEPAGE && p->backend->no_thp)
		return kernel_cannot(p->backend, "huge pages are not on demand (transparent_hugepage/enabled is not madvise)");
	if (advice == SP_MADV_SOFT_OFFLINE) {
		int err = kernel_may_soft_offline(p);

		if (err)
			return err;
	}
	return call(p, SYS_madvise, addr, length, (uint64_t)advice, 0, 0);
}

int kernel_mlock(struct backend_process *p, uint64_t addr, uint64_t length)
{
	return call(p, SYS_mlock, addr, length, 0, 0, 0);
}

int kernel_munlock(struct backend_process *p, uint64_t addr, uint64_t length)
{
	return call(p, SYS_munlock, addr, length, 0, 0, 0);
}

/*
 * Its own memory is no part of the scenario: not to be merged, and not to be counted. Not
 * only what is writable: a loader writes, and then protects.
 */
static void unmerge_own(struct backend_process *p)
{
	const struct kernel_session *session = p->backend->session;

	if (agent_each(p->agent, SYS_madvise, session->own, session->nr_own, SP_MADV_UNMERGEABLE))
		return;
}

int kernel_prctl_set(struct backend_process *p, const unsigned long args[4])
{
	int err;

	if (!p->backend->has_merge_any)
		return kernel_cannot(p->backend, "this kernel has no PR_SET_MEMORY_MERGE");
	err = call(p, SYS_prctl, SET_MEMORY_MERGE, args[0], args[1], args[2], args[3]);
	if (!err)
		unmerge_own(p);
	return err;
}

int kernel_prctl_get(struct backend_process *p, const unsigned long args[4])
{
	if (!p->backend->has_merge_any)
		return kernel_cannot(p->backend, "this kernel has no PR_GET_MEMORY_MERGE");
	return call(p, SYS_prctl, GET_MEMORY_MERGE, args[0], args[1], args[2], args[3]);
}

/* ---- Accesses ------------------------------------------------------------------------------- */

/* An access that never ends: the page is being moved, and nobody will say that it was. */
static int access_result(struct backend_process *p, uint64_t addr, int err)
{
	struct host_page page;

	kernel_pages_changed(p->backend);
	kernel_did(p->backend);
	if (err == -ETIMEDOUT && !host_page_read(&p->backend->pages, p->pagemap_fd, addr, &page) &&
	    page.kind == HOST_PAGE_MIGRATION)
		return -EDEADLK;
	return err;
}

int kernel_read(struct backend_process *p, uint64_t addr, void *buf, uint64_t length)
{
	return p->agent ? access_result(p, addr, agent_read(p->agent, addr, buf, length)) : -ESRCH;
}

int kernel_write(struct backend_process *p, uint64_t addr, const void *buf, uint64_t length)
{
	return p->agent ? access_result(p, addr, agent_write(p->agent, addr, buf, length)) : -ESRCH;
}

int kernel_fill(struct backend_process *p, uint64_t addr, uint64_t length, uint8_t byte)
{
	return p->agent ? access_result(p, addr, agent_fill(p->agent, addr, length, byte)) : -ESRCH;
}

int kernel_fill_random(struct backend_process *p, uint64_t addr, uint64_t length, uint64_t seed)
{
	uint8_t pages[AGENT_MAX_BYTES];
	int err = 0;

	for (uint64_t done = 0; !err && done < length;) {
		uint64_t part = MIN(length - done, (uint64_t)sizeof(pages));

		for (uint64_t at = 0; !err && at < part; at += PAGE_SIZE)
			err = kernel_random_page(p->backend, seed, (done + at) / PAGE_SIZE, pages + at);
		if (!err)
			err = kernel_write(p, addr + done, pages, part);
		done += part;
	}
	return err;
}

int kernel_touch(struct backend_process *p, uint64_t addr, uint64_t length)
{
	return p->agent ? access_result(p, addr, agent_touch(p->agent, addr, length)) : -ESRCH;
}

int kernel_load_swapped(struct backend_process *p, uint64_t addr, const void *contents)
{
	(void)addr, (void)contents;
	return kernel_cannot(p->backend, "a kernel has no way to put a page into swap that never was in memory");
}
