/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of the kernel that this program runs on that can be put offline: a node whose memory was
 * all offline when this program came, as that of a DIMM is which was added while the system ran
 * and which nobody has put to use.
 *
 * That is the rule that makes it safe: memory that was online is somebody's, and is never touched.
 * host_memory_open() puts the node's blocks online as movable, host_memory_close() puts them
 * offline again, and so does a guard when this program dies otherwise, SIGKILL included. A guard
 * is a process of its own session, ignores what a terminal sends, and gives up after a minute:
 * what keeps the memory then is a page that the kernel cannot move (V3).
 *
 * Offline is tried by the kernel until it succeeds or a signal comes. So it is done in a process,
 * which is killed when the kernel has failed FAILURES_MAX times without moving any page, or after
 * HOST_MEMORY_LIMIT_S: -EBUSY, as a page that cannot be moved is called elsewhere.
 *
 *	err = host_memory_open(&mem, NULL, 2, &memory, msg, sizeof(msg));
 *	err = host_memory_offline(memory);	// 0, -EBUSY
 *	err = host_memory_online(memory);
 *	err = host_memory_close(memory, msg, sizeof(msg));
 *
 * What it cannot put back: a page that came to be on the node meanwhile is somewhere else
 * afterwards.
 *
 * Needs root, and CONFIG_MEMORY_HOTREMOVE. Locking: none; one thread. Any thread may exist.
 */
#ifndef SP_HOST_MEMORY_H
#define SP_HOST_MEMORY_H

#include "mem.h"

#define HOST_MEMORY_LIMIT_S 60

struct host_memory;

/* The number of nodes from 0 on that have memory in use. dir is NULL, for /sys/devices/system, but
 * for tests. */
uint32_t host_memory_nodes(const char *dir);

/* -EINVAL: no such node, or memory of it is in use; and what sysfs says. msg tells. */
int host_memory_open(struct mem *mem, const char *dir, uint32_t node, struct host_memory **ret,
		     char *msg, size_t msg_bytes) SP_MUST_CHECK;
/* Offline, checked, freed. NULL is allowed. */
int host_memory_close(struct host_memory *memory, char *msg, size_t msg_bytes);

/*
 * All blocks. As the kernel says: -EINVAL: they are; or -EBUSY, as above; -EINTR: a signal to the
 * whole program. Blocks that did go offline before one that could not are online again.
 */
int host_memory_offline(struct host_memory *memory) SP_MUST_CHECK;
int host_memory_online(struct host_memory *memory) SP_MUST_CHECK;

#endif
