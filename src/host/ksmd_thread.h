/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's ksmd, as a thread that /proc shows: whoever wants its CPU time or its state asks for its
 * pid once, since finding it reads the whole of /proc.
 *
 * Locks: none; any thread.
 *
 *	pid_t ksmd = ksmd_find();
 *
 *	if (ksmd)
 *		snprintf(path, sizeof(path), "/proc/%d/schedstat", ksmd);
 */
#ifndef SP_KSMD_THREAD_H
#define SP_KSMD_THREAD_H

#include <sys/types.h>

/* 0 when there is none to be seen, as in a pid namespace. */
pid_t ksmd_find(void);

#endif
