/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Migration: moving a page's contents and all its mappings to another frame (W5).
 */
#ifndef SP_MIGRATE_H
#define SP_MIGRATE_H

#include "rmap.h"

/*
 * Migrates an anonymous frame to node nid (a fresh frame, also on the same node), with Linux's
 * retries (10 attempts, each an unmap walk and a restore walk: V1). 0 moved; -EBUSY still mapped or
 * extra references;
 * -ENOMEM no target; -EUCLEAN moved, but entries were left behind (V2): the old frame then stays
 * allocated, FRAME_ORPHANED.
 */
int migrate_frame(struct vm *vm, struct frame *frame, int nid) SP_MUST_CHECK;

/* The same to the frame's own node, or one that has room; the old frame is retired (frame.h) when
 * nothing is left of it. */
int migrate_frame_for_good(struct vm *vm, struct frame *frame) SP_MUST_CHECK;

/* move_pages(2) for the page at addr (samepage.h, sp_migrate). Takes mmap_lock. */
int vm_move_page(struct mm *mm, uint64_t addr, int node, bool all) SP_MUST_CHECK;

/* Migrates every movable frame, in pfn order, once. */
int vm_compact(struct vm *vm, uint64_t *moved, uint64_t *failed) SP_MUST_CHECK;

#endif
