/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that goes: a node's, all of it (memory offline), or one page's for good (soft-offline).
 */
#ifndef SP_OFFLINE_H
#define SP_OFFLINE_H

#include "migrate.h"

/*
 * Moves every page off node nid, which is online, and takes no more frames from it. 0; -EBUSY: a
 * page could not be moved, -ENOMEM: there is no room elsewhere, -EUCLEAN: entries were left behind
 * (V2); then the node stays online, and what moved has moved. Another node must be online.
 */
int vm_offline_node(struct vm *vm, uint32_t nid) SP_MUST_CHECK;

/* madvise(MADV_SOFT_OFFLINE), samepage.h. Takes mmap_lock. */
int vm_soft_offline(struct mm *mm, uint64_t addr, uint64_t length) SP_MUST_CHECK;

#endif
