/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The system calls on address space. Each takes mmap_lock itself, and returns
 * what the system call returns, as -errno. Arguments are those of samepage.h.
 */
#ifndef SP_MMAP_H
#define SP_MMAP_H

#include <samepage.h>

#include "vma.h"

/* The VM flags of PROT_*. */
static inline uint64_t vm_access_flags(int prot)
{
	return (prot & SP_PROT_READ ? (uint64_t)VM_READ : 0) |
	       (prot & SP_PROT_WRITE ? (uint64_t)VM_WRITE : 0) |
	       (prot & SP_PROT_EXEC ? (uint64_t)VM_EXEC : 0);
}

/* *ret gets the address. prot and flags: values of samepage.h. */
int vm_mmap(struct mm *mm, uint64_t addr, uint64_t length, int prot, int flags, struct file *file,
	    uint64_t pgoff, uint64_t *ret) SP_MUST_CHECK;
int vm_munmap(struct mm *mm, uint64_t addr, uint64_t length) SP_MUST_CHECK;
/* The same with mmap_lock already held for write (mremap, MAP_FIXED). */
int vm_munmap_locked(struct mm *mm, uint64_t addr, uint64_t length) SP_MUST_CHECK;
int vm_mprotect(struct mm *mm, uint64_t addr, uint64_t length, int prot) SP_MUST_CHECK;
int vm_mremap(struct mm *mm, uint64_t addr, uint64_t old_length, uint64_t new_length, int flags,
	      uint64_t new_addr, uint64_t *ret) SP_MUST_CHECK;
int vm_madvise(struct mm *mm, uint64_t addr, uint64_t length, int advice) SP_MUST_CHECK;
int vm_mlock(struct mm *mm, uint64_t addr, uint64_t length, bool lock) SP_MUST_CHECK;
/* Faults in every page of [start, end) as mlock does, holes skipped. Takes mmap_lock for read.
 * 0, -EFAULT (PROT_NONE, beyond the end of a file), or as handle_fault(); only mlock itself asks. */
int vm_populate(struct mm *mm, uint64_t start, uint64_t end);
/* The same for a part of one VMA. mmap_lock held for read or write. */
int vma_populate(struct vma *vma, uint64_t start, uint64_t end);

#endif
