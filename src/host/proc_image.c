/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A running process as a memory image; see proc_image.h.
 */
#include "proc_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image_sink.h"
#include "proc_maps.h"
#include "proc_pagemap.h"

#define SLICE_BYTES (UINT64_C(1) << 20)
/* PF_EXITING and PF_KTHREAD in the flags of /proc/PID/stat. */
#define EXITING 0x00000004ul
#define KERNEL_THREAD 0x00200000ul

struct reader {
	pid_t pid;
	unsigned flags;
	struct mem *mem;
	struct image_sink sink;
	int mem_fd;
	int pagemap_fd; /* -1 when it may not be read */
	struct proc_maps maps;
	struct pagemap pagemap;
	char *slice; /* SLICE_BYTES */
	uint64_t nr_mappings_read;
};

static int open_proc(const struct reader *r, const char *file)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", r->pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* "pid (comm) state ppid ..."; the name may hold blanks and brackets. */
static bool read_stat(const struct reader *r, char *state, unsigned long *flags)
{
	char text[512] = "";
	char *pos;
	int fd = open_proc(r, "stat");
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	pos = n > 0 ? strrchr(text, ')') : NULL;
	if (!pos)
		return false;
	/* state, ppid, pgrp, session, tty_nr, tpgid, flags */
	return sscanf(pos, ") %c %*d %*d %*d %*d %*d %lu", state, flags) == 2;
}

/* Why a process that may exist shows no memory. */
static int fail_no_memory(struct reader *r, int err)
{
	unsigned long flags = 0;
	char state = 0;

	if (!read_stat(r, &state, &flags)) {
		if (access("/proc/self/maps", F_OK))
			return image_sink_fail(&r->sink, -ENOENT,
				"pid %d: /proc is not mounted here", r->pid);
		return image_sink_fail(&r->sink, -ESRCH,
				       "pid %d: no such process", r->pid);
	}
	if (flags & KERNEL_THREAD)
		return image_sink_fail(&r->sink, -EINVAL,
			"pid %d: is a kernel thread, which has no memory of its own",
			r->pid);
	if (state == 'Z' || state == 'X')
		return image_sink_fail(&r->sink, -ESRCH,
			"pid %d: has exited already and waits for its parent (a zombie)",
			r->pid);
	/* Its memory goes before it does; from then on only root may look, and sees none. */
	if (flags & EXITING)
		return image_sink_fail(&r->sink, -ESRCH,
				       "pid %d: is just exiting", r->pid);
	if (err == -EACCES || err == -EPERM)
		return image_sink_fail(&r->sink, err,
			"pid %d: its memory may not be read (%s); be root or its owner, and see kernel.yama.ptrace_scope",
			r->pid, strerror(-err));
	return image_sink_fail(&r->sink, err ? err : -ESRCH,
			       "pid %d: shows no memory (%s)", r->pid,
			       strerror(err ? -err : ESRCH));
}

static int fail_exited(struct reader *r)
{
	return image_sink_fail(&r->sink, -ESRCH,
		"pid %d: exited while it was read (%llu of %llu mappings read)",
		r->pid, (unsigned long long)r->nr_mappings_read,
		(unsigned long long)r->maps.nr_lines);
}

static int open_all(struct reader *r)
{
	int maps_fd, err;

	maps_fd = open_proc(r, "maps");
	if (maps_fd < 0)
		return fail_no_memory(r, maps_fd);
	r->mem_fd = open_proc(r, "mem");
	if (r->mem_fd < 0) {
		close(maps_fd);
		return fail_no_memory(r, r->mem_fd);
	}
	r->pagemap_fd = open_proc(r, "pagemap");
	r->sink.report->no_pagemap = r->pagemap_fd < 0;
	err = proc_maps_read(&r->maps, r->mem, maps_fd);
	close(maps_fd);
	if (err == -ENOMEM)
		return image_sink_fail(&r->sink, err,
			"pid %d: out of memory for its mappings", r->pid);
	if (err || !r->maps.nr_lines)
		return fail_no_memory(r, err);
	return 0;
}

/* Pages that the page tables had a moment ago. */
static int tell_contents(struct reader *r, uint64_t addr, uint64_t nr_pages,
			 enum image_page_state state)
{
	while (nr_pages) {
		size_t want = (size_t)MIN(nr_pages * PAGE_SIZE, SLICE_BYTES);
		ssize_t n = pread(r->mem_fd, r->slice, want, (off_t)addr);
		uint64_t nr_read;
		int err;

		if (n < 0 && errno == EINTR)
			continue;
		/* 0 bytes: the address space is gone; an error: this page is. */
		if (n == 0 || (n < 0 && errno == ESRCH))
			return fail_exited(r);
		nr_read = n > 0 ? (uint64_t)n / PAGE_SIZE : 0;
		r->sink.report->read_bytes += nr_read * PAGE_SIZE;
		err = image_sink_pages(&r->sink, addr, nr_read, state, r->slice);
		if (!err && !nr_read)
			err = image_sink_run(&r->sink, addr, 1, IMAGE_PAGE_UNKNOWN);
		if (err)
			return err;
		nr_read = MAX(nr_read, UINT64_C(1));
		addr += nr_read * PAGE_SIZE;
		nr_pages -= nr_read;
	}
	return 0;
}

static int tell_private_pages(struct reader *r, const struct image_vma *vma)
{
	uint64_t addr = vma->start;

	while (addr < vma->end) {
		enum image_page_state state;
		uint64_t nr_pages;
		int err;

		err = pagemap_next(&r->pagemap, vma, addr, &state, &nr_pages);
		if (err == -ESRCH)
			return fail_exited(r);
		if (err)
			return image_sink_fail(&r->sink, err,
				"pid %d: its pagemap at 0x%llx: %s", r->pid,
				(unsigned long long)addr, strerror(-err));
		if (state == IMAGE_PAGE_PRESENT ||
		    (state == IMAGE_PAGE_SWAPPED &&
		     (r->flags & PROC_IMAGE_READ_SWAPPED)))
			err = tell_contents(r, addr, nr_pages, state);
		else
			err = image_sink_run(&r->sink, addr, nr_pages, state);
		if (err)
			return err;
		addr += nr_pages * PAGE_SIZE;
	}
	return 0;
}

static int tell_vma(struct reader *r, const struct image_vma *vma)
{
	uint64_t nr_pages = (vma->end - vma->start) / PAGE_SIZE;
	int err;

	if (vma->end > TASK_SIZE || image_name_is_special(vma->name)) {
		r->sink.report->nr_vmas_skipped++;
		return 0;
	}
	err = image_sink_vma(&r->sink, vma);
	if (err)
		return err;
	if (vma->shared)
		return image_sink_run(&r->sink, vma->start, nr_pages,
				      IMAGE_PAGE_FILE);
	if (r->pagemap_fd < 0)
		return image_sink_run(&r->sink, vma->start, nr_pages,
				      IMAGE_PAGE_UNKNOWN);
	return tell_private_pages(r, vma);
}

static int read_image(struct reader *r)
{
	struct image_vma vma;
	int err;

	err = open_all(r);
	if (err)
		return err;
	r->slice = mem_alloc(r->mem, SLICE_BYTES);
	err = r->slice ? pagemap_init(&r->pagemap, r->mem, r->pagemap_fd,
				      r->flags & PROC_IMAGE_NO_SCAN) : -ENOMEM;
	if (err)
		return image_sink_fail(&r->sink, err,
			"pid %d: out of memory for reading slices", r->pid);
	while (proc_maps_next(&r->maps, &vma)) {
		err = tell_vma(r, &vma);
		if (err)
			return err;
		r->nr_mappings_read++;
	}
	if (r->nr_mappings_read != r->maps.nr_lines)
		return image_sink_fail(&r->sink, -EINVAL,
			"pid %d: line %llu of its maps makes no sense", r->pid,
			(unsigned long long)r->nr_mappings_read + 1);
	return 0;
}

int proc_image_read(struct mem *mem, pid_t pid, unsigned flags,
		    const struct image_ops *ops, void *arg,
		    struct image_report *report, char *msg, size_t msg_bytes)
{
	struct reader r = {
		.pid = pid,
		.flags = flags,
		.mem = mem,
		.mem_fd = -1,
		.pagemap_fd = -1,
		.maps.mem = mem,
		.pagemap.mem = mem,
	};
	int err;

	image_sink_init(&r.sink, ops, arg, report, msg, msg_bytes);
	if (pid <= 0)
		return image_sink_fail(&r.sink, -EINVAL,
			"pid %d: a process id is a number from 1 on", pid);
	err = read_image(&r);
	pagemap_free(&r.pagemap);
	mem_free(mem, r.slice, SLICE_BYTES);
	proc_maps_free(&r.maps);
	if (r.mem_fd >= 0)
		close(r.mem_fd);
	if (r.pagemap_fd >= 0)
		close(r.pagemap_fd);
	return err;
}
