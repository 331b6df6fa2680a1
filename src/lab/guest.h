/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The first process of a guest is this command too, started by the kernel as
 *
 *	/bin/samepage vm-init run	runs the command of GUEST_ARGS
 *	/bin/samepage vm-init shell	an interactive shell on the console
 *
 * It makes the system that scenarios expect (proc, sysfs, devices, cgroup2; two memory nodes that stay
 * as they are; swap in compressed memory where the kernel has zram; no DAMON, which walks merged
 * pages all the time, V14), runs one command, says what it said and how it ended, and switches the
 * machine off, whatever processes are left hanging.
 *
 * What the kernel lacks is a note; without KSM, or when not even the channel can be opened, nothing
 * runs. It must never end: the kernel would take that for a crash.
 *
 * Locks: none; a guest's first process has one thread.
 */
#ifndef SP_GUEST_H
#define SP_GUEST_H

#include "bits.h"

/* Returns only when this is not the first process of a system: -EPERM. */
int guest_main(bool shell);

#endif
