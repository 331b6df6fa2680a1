/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the memory of a running process, a slice at a time, without stopping
 * it and without changing what it has resident: a page is read only when the
 * page tables say that it is there. Needs the rights of a debugger.
 *
 *   /proc/PID/maps	the VMAs, read whole first
 *   /proc/PID/pagemap	what each page is: by PAGEMAP_SCAN where the kernel has
 *			it (6.7), because it skips what a process only
 *			reserved; else by the entries
 *   /proc/PID/mem	contents
 *
 * All three are opened once and stay bound to the address space that they were
 * opened on, so a pid that is used again, or an exec, is never mixed in: it is
 * the end of the process (-ESRCH).
 *
 * What the page tables say, and what becomes of it:
 *
 *   present, anonymous			PRESENT
 *   present, the zero page		UNTOUCHED (PRESENT without PAGEMAP_SCAN)
 *   present, of a file			FILE
 *   nothing there			UNTOUCHED, or FILE in a file mapping
 *   swapped				SWAPPED, without contents unless asked for:
 *					reading would bring it in
 *   gone or not readable since		UNKNOWN
 *   any page of a shared mapping	FILE
 *
 * A process that runs on while it is read gives no snapshot: each page is what
 * it was at its own moment, and memory that was unmapped after maps was read
 * arrives as UNTOUCHED. Stop the process first where that matters.
 *
 * Locking: none; one thread reads one process. Memory: the text of maps and
 * one slice.
 */
#ifndef SP_PROC_IMAGE_H
#define SP_PROC_IMAGE_H

#include <sys/types.h>

#include "mem.h"
#include "memory_image.h"

/* Read swapped pages too, which swaps them in. */
#define PROC_IMAGE_READ_SWAPPED 1u
/* Use the entries of pagemap even where PAGEMAP_SCAN is to be had. */
#define PROC_IMAGE_NO_SCAN 2u

int proc_image_read(struct mem *mem, pid_t pid, unsigned flags,
		    const struct image_ops *ops, void *arg,
		    struct image_report *report, char *msg, size_t msg_bytes)
	SP_MUST_CHECK;

#endif
