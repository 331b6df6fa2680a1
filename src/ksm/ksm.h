/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel same-page merging, as Linux 7.2 does it (section K of the facts): what machine/ and
 * tests call.
 *
 *	ksm_init(vm)		registers the hooks (fork, exit, madvise, swap-in, walks)
 *	ksm_knob_set(vm, "run", "1")
 *	ksm_do_scan(vm, 100)	one batch of ksmd
 *
 * Locks: ksm->thread_mutex outside mmap_lock; see ksm_types.h.
 */
#ifndef SP_KSM_H
#define SP_KSM_H

#include "rmap.h"

int ksm_init(struct vm *vm) SP_MUST_CHECK;
/* All mms must be gone. */
void ksm_destroy(struct vm *vm);

/* The strategy of rmap_walk_ksm; default SP_STRATEGY_FULL. */
void ksm_strategy_set(struct vm *vm, enum sp_strategy strategy);
enum sp_strategy ksm_strategy(const struct vm *vm);

/*
 * Files of /sys/kernel/mm/ksm by name (K40a), and "merge_old_ptes" (0/1: a merged PTE starts
 * old instead of young). set: 0, -EINVAL, -ERANGE, -EBUSY (K31), -EACCES (a read-only file), -ENOENT
 * (no such knob), and for run=2 -ENOMEM, -EDEADLK (an orphaned migration entry). The value is parsed as sysfs does;
 * get gives it without the newline, -ENOSPC: buf too small.
 */
int ksm_knob_set(struct vm *vm, const char *name, const char *value) SP_MUST_CHECK;
int ksm_knob_get(const struct vm *vm, const char *name, char *buf, size_t size) SP_MUST_CHECK;
/*
 * Read-only files: pages_shared, pages_sharing, pages_unshared, pages_volatile, pages_scanned,
 * pages_skipped, ksm_zero_pages, full_scans, stable_node_chains, stable_node_dups,
 * general_profit. -ENOENT.
 */
int ksm_counter_get(const struct vm *vm, const char *name, int64_t *ret) SP_MUST_CHECK;
const char *ksm_counter_name(unsigned int i); /* NULL past the end */
const char *ksm_knob_name(unsigned int i);
/* ksm_stat fields (K40) of an mm, ksm_merge_any and ksm_mergeable as 0/1. */
int ksm_mm_stat_get(const struct mm *mm, const char *name, int64_t *ret) SP_MUST_CHECK;
const char *ksm_mm_stat_name(unsigned int i);

/* prctl (K37). */
int ksm_set_memory_merge(struct mm *mm, unsigned long arg2, unsigned long arg3, unsigned long arg4,
			 unsigned long arg5) SP_MUST_CHECK;
int ksm_get_memory_merge(struct mm *mm, unsigned long arg2, unsigned long arg3, unsigned long arg4,
			 unsigned long arg5) SP_MUST_CHECK;

/* True when ksmd would work: run has bit 1 and an mm is registered (K13). */
bool ksm_should_run(const struct vm *vm);
/*
 * One batch of at most nr candidates; ends early at the end of a pass (K12, K13). No-op unless
 * ksm_should_run().
 */
void ksm_do_scan(struct vm *vm, uint64_t nr);
/* ksmd for that long in simulated time: batches of pages_to_scan, sleeps of sleep_millisecs. */
void ksm_run_for_ms(struct vm *vm, uint64_t ms);
/*
 * Batches (and sleeps) until passes more full scans: 0; -EAGAIN: nothing would ever happen
 * (V16); -ENOMEM: ksmd finds no memory for an rmap_item, twice in a row.
 */
int ksm_scan_passes(struct vm *vm, uint64_t passes) SP_MUST_CHECK;
/*
 * Passes until shared, sharing, zero pages and rmap_items stay the same for two passes; returns
 * passes made, or as ksm_scan_passes().
 */
int64_t ksm_scan_until_stable(struct vm *vm, uint64_t max_passes);

/* Recounts every counter, walks trees, lists, chains; adds findings. */
void ksm_validate(struct vm *vm, struct report *report);
/* Number of rmap_items and of stable nodes (memory report). */
void ksm_memory(const struct vm *vm, uint64_t *nr_items, uint64_t *nr_nodes);

#endif
