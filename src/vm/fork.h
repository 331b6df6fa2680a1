/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Birth and death of address spaces.
 */
#ifndef SP_FORK_H
#define SP_FORK_H

#include "fault.h"

/* A child with copies of the parent's VMAs and page table entries (A6, M4, K38). Takes both
 * mmap_locks. 0, -ENOMEM (the half-made child is torn down: the parent is as before but for lost
 * exclusivity of pages). */
int mm_fork(struct mm *parent, struct mm **ret) SP_MUST_CHECK;
/* Process exit: users becomes 0, ksm_exit, everything unmapped, VMAs freed, one count dropped. The
 * caller must not touch the mm any more. */
void mm_exit(struct mm *mm);

#endif
