/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of ksm/ share: the state of one machine's KSM.
 */
#ifndef SP_KSM_INTERNAL_H
#define SP_KSM_INTERNAL_H

#include "ksm.h"
#include "ksm_types.h"

struct ksm_knobs {
	unsigned int run;               /* 0, 1, 2 */
	uint64_t pages_to_scan, sleep_millisecs;
	bool merge_across_nodes, use_zero_pages, smart_scan;
	bool merge_old_ptes;            /* experiment: merged PTEs start old */
	uint64_t max_page_sharing;
	uint64_t stable_node_chains_prune_millisecs;
	bool advisor_scan_time;         /* advisor_mode */
	uint64_t advisor_max_cpu, advisor_min_pages_to_scan, advisor_max_pages_to_scan, advisor_target_scan_time;
};

struct ksm_counters {
	int64_t pages_shared, pages_sharing, pages_unshared, rmap_items;
	int64_t pages_scanned, pages_skipped, ksm_zero_pages;
	int64_t stable_node_chains, stable_node_dups;
};

struct ksm {
	struct vm *vm;
	struct mutex thread_mutex;
	struct ksm_knobs knobs;
	struct ksm_counters count;
	enum sp_strategy strategy;
	struct pool item_pool, node_pool, slot_pool;
	struct ksm_mm_slot mm_head;      /* sentinel of the circle of slots */
	struct ksm_scan_cursor scan;
	struct rb_root *stable_tree, *unstable_tree; /* one each, or one for each node */
	unsigned int nr_trees;           /* 1, or vm->frames.nr_nodes */
	struct cds_list_head migrate_nodes;
	uint32_t zero_checksum;
	/* Advisor (K41): */
	uint64_t advisor_start_ms, advisor_prev_scan_time, advisor_change, advisor_cpu_ns;
};

static inline struct ksm *ksm_of(const struct vm *vm)
{
	return vm->ksm;
}

static inline uint64_t item_address(const struct ksm_rmap_item *item)
{
	return item->address & PAGE_MASK;
}

/* walk.c: the hook; strategies in walk_*.c. */
void rmap_walk_ksm(struct vm *vm, struct frame *frame, struct rmap_walk_control *rwc);
/* W3: a swapped-in KSM frame was mapped as is: its index need not be any item's (V6), so `direct`
 * walks this node in full until a narrow walk has emptied it. */
void ksm_walk_note_swapin(struct ksm_stable_node *node);

#endif
