/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The reverse map: from a frame to every VMA and address that may map it.
 *
 * rmap_walk() visits them for a locked frame and calls rmap_one() at each; which VMAs that
 * are depends on the frame: an anonymous page's anon_vma is asked for its linear index (R3), a KSM
 * page's rmap_items are walked by ksm/ under the machine's strategy (R1), a file page is not walked
 * (files cannot be migrated or reclaimed here).
 *
 * What can be missed is measured, never assumed: rmap_truth() finds every entry by scanning
 * all page tables.
 *
 * Locks: the frame's; each anon_vma's lock is taken for read during its part of the walk.
 */
#ifndef SP_RMAP_H
#define SP_RMAP_H

#include "fork.h"
#include "mmap.h"
#include "samepage.h"

struct rmap_walk_control {
	void *arg;
	/* Called with the anon_vma lock held; false ends the whole walk. */
	bool (*rmap_one)(struct frame *frame, struct vma *vma, uint64_t addr, void *arg);
	/* NULL, or true when nothing is left to do: ends the walk. */
	bool (*done)(struct frame *frame);
	/* NULL, or true for VMAs to skip. */
	bool (*invalid_vma)(struct vma *vma, void *arg);
	bool try_lock;	/* do not wait for an anon_vma lock: */
	bool contended; /* out: it was busy, the walk ended there */
	/* A strategy other than the machine's (for audits), and no metrics: */
	bool override;
	enum sp_strategy strategy;
};

/* State of the layer: vm->rmap. */
struct rmap {
	struct sp_walk_metrics metrics; /* KSM walks; updated by ksm/ */
	bool measure_time;		/* take clocks around lock holds; default true */
	sp_audit_fn audit;
	void *audit_arg;
};

/* Registers the hooks of this layer. */
int rmap_init(struct vm *vm) SP_MUST_CHECK;
void rmap_destroy(struct vm *vm);
static inline struct rmap *rmap_of(struct vm *vm)
{
	return vm->rmap;
}

void rmap_walk(struct vm *vm, struct frame *frame, struct rmap_walk_control *rwc);

/* ---- Truth (truth.c) ---- */

struct pte_ref {
	struct mm *mm;
	uint64_t addr;
};

struct pte_refs {
	struct pte_ref *refs; /* sorted by mm id, then address */
	uint64_t nr;
};

enum truth_kind {
	TRUTH_MAPPED,	 /* present entries that map the frame */
	TRUTH_MIGRATION, /* migration entries that name the pfn */
};

/* Every entry of that kind, by a scan of all page tables. 0, -ENOMEM. Not from the machine's memory
 * account. */
int rmap_truth(struct vm *vm, uint32_t pfn, enum truth_kind kind,
	       struct pte_refs *ret) SP_MUST_CHECK;
/* What a walk of the frame under a strategy reaches, of that kind, each entry once. *calls counts
 * rmap_one calls. */
int rmap_reached(struct vm *vm, struct frame *frame, uint32_t pfn, enum truth_kind kind,
		 enum sp_strategy strategy, struct pte_refs *ret, uint64_t *calls) SP_MUST_CHECK;
void pte_refs_free(struct pte_refs *refs);

/*
 * How many distinct present entries that map the frame (anonymous or KSM, not locked) a walk
 * without `done` under that strategy reaches: rmap_reached()'s nr for TRUTH_MAPPED, without
 * memory, metrics or any change of state (count.c).
 */
uint64_t rmap_count_reached(struct vm *vm, struct frame *frame, enum sp_strategy strategy);

/* sp_walk(): walks under the machine's strategy, counted in the metrics, against the truth. frame
 * locked by the callee. */
int rmap_explicit_walk(struct vm *vm, struct frame *frame,
		       struct sp_walk_result *ret) SP_MUST_CHECK;

/* After a walk of `operation` that should have left no entry of `kind` for pfn: reports what is
 * left to the audit function, if set. frame: the one whose mapping tells where to walk (the
 * migration target for TRUTH_MIGRATION). Does nothing without an audit function. */
void rmap_audit_left(struct vm *vm, const char *operation, struct frame *frame, uint32_t pfn,
		     enum truth_kind kind);

/* ---- Walkers ---- */

/* Tries to replace every mapping by a swap entry; the frame is locked and in the swap cache. True
 * when unmapped. */
bool try_to_unmap(struct vm *vm, struct frame *frame);
/* PTEs that were young, whose young bits are cleared (folio_referenced); *vm_locked: one is mapped
 * in a locked VMA.
 * -1: contended. */
int frame_referenced(struct vm *vm, struct frame *frame, bool *vm_locked);

#endif
