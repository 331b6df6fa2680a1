/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contents of a frame by its number, out of /proc/kcore.
 *
 * /proc/PID/mem would do for most pages, but it marks them as accessed, so that reclaim treats
 * what was looked at differently; and newer kernels let nobody read memory that its process may
 * not read (PROT_NONE) through it.
 *
 * /proc/kcore is an ELF file whose segments say which physical addresses they are. Needs
 * CAP_SYS_RAWIO, a kernel that has it (CONFIG_PROC_KCORE), and one that is not locked down.
 *
 *	err = host_frames_open(&frames);
 *	err = host_frames_read(&frames, pfn, buf, 0, PAGE_SIZE);
 *	host_frames_close(&frames);
 *
 * Segments change when memory is added; where none has the frame, they are read again.
 *
 * Locking: none; one thread.
 */
#ifndef SP_HOST_FRAMES_H
#define SP_HOST_FRAMES_H

#include <stddef.h>

#include "bits.h"

#define HOST_FRAMES_MAX_SEGMENTS 64

struct host_frames {
	int fd; /* -1: closed */
	unsigned int nr;
	struct {
		uint64_t start, end; /* physical */
		uint64_t offset;     /* in the file */
	} segments[HOST_FRAMES_MAX_SEGMENTS];
};

/* 0 or -errno; -ENOEXEC for a file that is not as expected. Afterwards it may be closed either way. */
int host_frames_open(struct host_frames *frames) SP_MUST_CHECK;
void host_frames_close(struct host_frames *frames);
/* `length` bytes at `offset` of the frame; -ENODATA when they cannot be read. */
int host_frames_read(struct host_frames *frames, uint64_t pfn, void *buf, uint64_t offset,
		     uint64_t length) SP_MUST_CHECK;

#endif
