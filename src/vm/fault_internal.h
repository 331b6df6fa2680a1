/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files behind fault.h share: one fault on its way through them, and the
 * swap cache's part in giving a page back.
 *
 *	handle_fault()			fault.c
 *	  -> fault_huge_*()		thp.c, when the PMD is huge or may become so
 *	  -> fault_anonymous(), fault_file()	nothing is mapped
 *	  -> fault_swap()		swap_in.c
 *	  -> fault_wp()			cow.c, also at the end of fault_swap()
 *
 * Locks: mmap_lock, held by the caller of handle_fault().
 */
#ifndef SP_FAULT_INTERNAL_H
#define SP_FAULT_INTERNAL_H

#include "fault.h"

struct fault {
	struct vm *vm;
	struct mm *mm;
	struct vma *vma;
	uint64_t addr;      /* of the page */
	unsigned int flags; /* enum fault_flags; swap-in clears FAULT_WRITE when done */
	pte_t pte;          /* what is mapped there now; 0: nothing */
};

/* A step's answer when the fault has to be resolved with a small page instead. */
#define FAULT_FALLBACK 1

/* The page table entry that vm_page_prot of a private VMA gives: x86 makes every
 * new entry young. */
static inline pte_t pte_of_frame(const struct vm *vm, const struct frame *frame)
{
	return pte_make(frame_pfn(&vm->frames, frame), PTE_PRESENT | PTE_YOUNG);
}

/* maybe_mkwrite(pte_mkdirty()) */
static inline pte_t pte_for_store(pte_t pte, const struct vma *vma)
{
	return pte | PTE_DIRTY | (vma->flags & VM_WRITE ? PTE_WRITE : 0);
}

static inline struct frame *frame_of_pte(const struct vm *vm, pte_t pte)
{
	return frame_of_pfn(&vm->frames, pte_value(pte));
}

/* Faults are served from the node of the only CPU there is; others when it is full. */
static inline struct frame *fault_frame_alloc(struct vm *vm)
{
	return frame_alloc(&vm->frames, -1);
}

/* Write or unshare of a present, read-only PTE (f->pte). 0 or -ENOMEM. */
int fault_wp(struct fault *f) SP_MUST_CHECK;
/* f->pte is a swap entry. 0 or -ENOMEM. */
int fault_swap(struct fault *f) SP_MUST_CHECK;

/* Whether a fault in this VMA may be answered with a huge page around addr. */
bool thp_allowed(const struct vma *vma, uint64_t addr);
/* Maps a new huge page; 0, -ENOMEM, FAULT_FALLBACK. */
int fault_huge_anonymous(struct fault *f) SP_MUST_CHECK;
/* Write or unshare of a read-only huge PMD; 0, -ENOMEM, FAULT_FALLBACK (split). */
int fault_huge_wp(struct fault *f, pte_t pmd) SP_MUST_CHECK;
/* Unmaps a huge PMD that lies wholly in the VMA. */
void zap_huge(struct vma *vma, uint64_t addr, pte_t pmd);
/* Maps the parent's huge PMD read-only in both. 0 or -ENOMEM. */
int copy_huge(struct vma *child, struct vma *parent, uint64_t addr, pte_t pmd) SP_MUST_CHECK;

/* The first mapping of a page that came back from swap (__folio_set_anon()): it
 * belongs to the root of the family unless it is exclusively this VMA's. */
void frame_adopt_anon(struct frame *frame, struct vma *vma, uint64_t addr, bool exclusive);

/* Drops the reference of a mapping that has just been removed, and with the last
 * mapping a place in the swap cache that nobody needs (free_swap_cache()). */
void frame_put_unmapped(struct vm *vm, struct frame *frame);
/* Drops one swap entry, and the cached frame with the last one if it is unmapped. */
void swap_entry_put(struct vm *vm, uint32_t slot);

/* Everything of mm_exit() but the event and the mm's own reference. */
void mm_teardown(struct mm *mm);

#endif
