/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KSM of one machine: its birth, its end, and the hooks through which vm/ and rmap/ reach it.
 *
 * Where things are:
 *
 *	slot.c           registered mms: enter, fork, exit
 *	advice.c         who is eligible: madvise, prctl, new mappings
 *	item.c           rmap_items: one for each page that ksmd has seen
 *	stable_node.c    KSM pages, and when they turn out to be gone
 *	chain.c          several KSM pages of equal contents
 *	stable_tree.c    search and insertion by contents
 *	unstable_tree.c  the same for pages that may still change
 *	merge.c          write-protect a page, replace its mapping
 *	break.c          the way back: copies
 *	scan.c           the cursor, and what becomes of each candidate
 *	smart_scan.c     leaving out what never merges
 *	daemon.c         batches and sleeps in simulated time
 *	advisor.c        how many pages a batch has
 *	walk.c           the reverse walk of a KSM page
 *	reach.c          what a walk would reach, counted
 *	swapin.c         swap-in and migration of KSM pages
 *	knobs.c, counters.c, validate.c
 *
 * Locks: ksm->thread_mutex is held by ksmd for a batch, and by writers of knobs. The hooks run
 * without it, as in Linux: they only touch the circle of slots and counters. mmap_lock nests
 * inside it, frame locks inside that.
 *
 * Calls from outside. ksmd spends its time on asking whether what it saw a moment ago is still
 * so: whether a stable node's frame is still its KSM page, whether a page in the unstable tree
 * is still there and has the contents it was sorted by. Linux must ask at every step. Here
 * nothing but ksmd runs between ksm_call_begin() and the return to the caller, and what ksmd
 * does itself changes neither, so the answer is asked for once in each call and remembered by
 * the call's number. ksm_destroy() is for the end:
 *
 *	ksm_init(vm); ... mm_exit() of all ...; ksm_destroy(vm); vm_destroy(vm)
 */
#include <errno.h>

#include "ksm_internal.h"

static const struct ksm_knobs default_knobs = {
	.pages_to_scan = 100,
	.sleep_millisecs = 20,
	.merge_across_nodes = 1,
	.smart_scan = 1,
	.max_page_sharing = 256,
	.stable_node_chains_prune_millisecs = 2000,
	.advisor_max_cpu = 70,
	.advisor_min_pages_to_scan = 500,
	.advisor_max_pages_to_scan = 30000,
	.advisor_target_scan_time = 200,
};

int ksm_init(struct vm *vm)
{
	size_t trees_bytes = 2 * vm->frames.nr_nodes * sizeof(struct rb_root);
	struct ksm *ksm = mem_alloc(&vm->mem, sizeof(*ksm));

	if (!ksm)
		return -ENOMEM;
	ksm->stable_tree = mem_alloc(&vm->mem, trees_bytes);
	if (!ksm->stable_tree) {
		mem_free(&vm->mem, ksm, sizeof(*ksm));
		return -ENOMEM;
	}
	ksm->unstable_tree = ksm->stable_tree + vm->frames.nr_nodes;
	ksm->vm = vm;
	ksm->knobs = default_knobs;
	ksm->strategy = SP_STRATEGY_FULL;
	mutex_setup(&ksm->thread_mutex, RANK_ksm_thread_mutex, vm->config.region != NULL);
	pool_init(&ksm->item_pool, &vm->mem, "rmap_item", sizeof(struct ksm_rmap_item));
	pool_init(&ksm->node_pool, &vm->mem, "stable_node", sizeof(struct ksm_stable_node));
	pool_init(&ksm->slot_pool, &vm->mem, "ksm_mm_slot", sizeof(struct ksm_mm_slot));
	CDS_INIT_LIST_HEAD(&ksm->mm_head.link);
	CDS_INIT_LIST_HEAD(&ksm->migrate_nodes);
	ksm->scan.mm_slot = &ksm->mm_head;
	ksm->zero_checksum = content_checksum(&vm->frames.content, CONTENT_ZERO);
	vm->ksm = ksm;

	vm->hooks.ksm_vma_flags = ksm_hook_vma_flags;
	vm->hooks.ksm_madvise = ksm_hook_madvise;
	vm->hooks.ksm_fork = ksm_hook_fork;
	vm->hooks.ksm_exit = ksm_hook_exit;
	vm->hooks.ksm_might_need_to_copy = ksm_hook_might_need_to_copy;
	vm->hooks.ksm_zero_page_gone = ksm_hook_zero_page_gone;
	vm->hooks.rmap_walk_ksm = rmap_walk_ksm;
	vm->hooks.ksm_count_reached = ksm_hook_count_reached;
	vm->hooks.ksm_migrate_frame = ksm_hook_migrate_frame;
	vm->hooks.ksm_node_offline = ksm_hook_node_offline;
	vm->hooks.ksm_pte_moved = ksm_hook_pte_moved;
	return 0;
}

void ksm_destroy(struct vm *vm)
{
	struct ksm *ksm = ksm_of(vm);

	if (!ksm)
		return;
	/* An exited mm that ksmd has not met since is still registered. */
	while (!cds_list_empty(&ksm->mm_head.link)) {
		struct ksm_mm_slot *slot = slot_next(&ksm->mm_head);

		SP_ASSERT(mm_exited(slot->mm));
		items_free_from(ksm, &slot->rmap_list);
		slot_free(ksm, slot);
	}
	nodes_free_all(ksm);
	vm->hooks.ksm_vma_flags = NULL;
	vm->hooks.ksm_madvise = NULL;
	vm->hooks.ksm_fork = NULL;
	vm->hooks.ksm_exit = NULL;
	vm->hooks.ksm_might_need_to_copy = NULL;
	vm->hooks.ksm_zero_page_gone = NULL;
	vm->hooks.rmap_walk_ksm = NULL;
	vm->hooks.ksm_count_reached = NULL;
	vm->hooks.ksm_migrate_frame = NULL;
	vm->hooks.ksm_node_offline = NULL;
	vm->hooks.ksm_pte_moved = NULL;
	pool_destroy(&ksm->item_pool);
	pool_destroy(&ksm->node_pool);
	pool_destroy(&ksm->slot_pool);
	mutex_teardown(&ksm->thread_mutex);
	mem_free(&vm->mem, ksm->stable_tree, 2 * vm->frames.nr_nodes * sizeof(struct rb_root));
	mem_free(&vm->mem, ksm, sizeof(*ksm));
	vm->ksm = NULL;
}

void ksm_call_begin(struct ksm *ksm)
{
	if (ksm->call_seq != UINT32_MAX)
		ksm->call_seq++;
	ksm_epoch_begin(ksm);
}

void ksm_strategy_set(struct vm *vm, enum sp_strategy strategy)
{
	ksm_of(vm)->strategy = strategy;
}

enum sp_strategy ksm_strategy(const struct vm *vm)
{
	return ksm_of(vm)->strategy;
}

void ksm_memory(const struct vm *vm, uint64_t *nr_items, uint64_t *nr_nodes)
{
	const struct ksm *ksm = ksm_of(vm);

	*nr_items = ksm->item_pool.nr_used;
	*nr_nodes = ksm->node_pool.nr_used;
}
