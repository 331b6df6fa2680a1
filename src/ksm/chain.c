/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Chains: several KSM pages of equal contents in one place of the stable tree (K28, K29).
 *
 * A KSM page may be mapped max_page_sharing times, so that a walk of its mappings stays short.
 * The mapping after that begins a second page, whose node cannot stand in the tree beside an
 * equal one: a chain takes the tree's place and both become its dups.
 *
 * A search must choose a dup that still has room. Usually the first with room does; once in
 * stable_node_chains_prune_millisecs it looks at all of them, drops the stale ones, and takes
 * the fullest, so that sparse ones run empty. Looking has effects of its own (stale dups go, a
 * last dup replaces its chain, a chosen one moves to the front), which a search has on every
 * chain that it passes, equal or not.
 *
 * Locks: thread_mutex.
 */
#include "ksm_internal.h"

struct ksm_stable_node *chain_create(struct ksm *ksm, struct ksm_stable_node *dup,
				     struct rb_root *root)
{
	struct ksm_stable_node *chain = node_alloc(ksm);

	SP_ASSERT(!node_is_chain(dup));
	if (!chain)
		return NULL;
	chain->rmap_hlist_len = STABLE_NODE_CHAIN;
	chain->chain_prune_time_ms = clock_now_ms(&ksm->vm->clock);
	chain->prefix = dup->prefix;
	chain->nid = dup->nid;
	ksm->count.stable_node_chains++;
	rb_replace(root, &dup->node, &chain->node);
	dup->head = NULL;
	chain_add(ksm, chain, dup);
	return chain;
}

void chain_add(struct ksm *ksm, struct ksm_stable_node *chain, struct ksm_stable_node *dup)
{
	SP_ASSERT(node_is_chain(chain) && !node_is_dup(ksm, dup));
	dup->head = stable_dup_head(ksm);
	cds_hlist_add_head(&dup->hlist_dup, &chain->hlist);
	ksm->count.stable_node_dups++;
}

void chain_free(struct ksm *ksm, struct ksm_stable_node *chain, struct rb_root *root)
{
	SP_ASSERT(!chain->hlist.next);
	rb_erase(root, &chain->node, NULL);
	node_free(ksm, chain);
	ksm->count.stable_node_chains--;
}

static bool time_to_prune(struct ksm *ksm, struct ksm_stable_node *chain)
{
	uint64_t now_ms = clock_now_ms(&ksm->vm->clock);

	if (now_ms < chain->chain_prune_time_ms + ksm->knobs.stable_node_chains_prune_millisecs)
		return false;
	chain->chain_prune_time_ms = now_ms;
	return true;
}

/* The chain's only dup takes its place in the tree. */
static void collapse(struct ksm *ksm, struct ksm_stable_node *chain, struct ksm_stable_node *dup,
		     struct rb_root *root)
{
	/* dup's list link lies over its rb node, and the chain is about to go. */
	rb_replace(root, &chain->node, &dup->node);
	node_free(ksm, chain);
	ksm->count.stable_node_chains--;
	ksm->count.stable_node_dups--;
}

struct ksm_stable_node *chain_choose(struct ksm *ksm, struct ksm_stable_node **node,
				     struct rb_root *root, bool prune)
{
	struct ksm_stable_node *chain = *node, *dup, *next, *found = NULL;

	if (prune)
		prune = time_to_prune(ksm, chain);
	cds_hlist_for_each_entry_safe_2(dup, next, &chain->hlist, hlist_dup) {
		if (!node_is_live(ksm, dup))
			continue;
		if (found && (!node_is_candidate(ksm, dup, 0) ||
			      (node_is_candidate(ksm, found, 0) &&
			       dup->rmap_hlist_len <= found->rmap_hlist_len)))
			continue;
		found = dup;
		if (!prune && node_is_candidate(ksm, found, 0))
			break;
	}
	if (!found) {
		chain_free(ksm, chain, root);
		return NULL;
	}
	if (chain->hlist.next == &found->hlist_dup && !found->hlist_dup.next) {
		collapse(ksm, chain, found, root);
		*node = found;
	} else if (chain->hlist.next != &found->hlist_dup && node_is_candidate(ksm, found, 1)) {
		cds_hlist_del(&found->hlist_dup);
		cds_hlist_add_head(&found->hlist_dup, &chain->hlist);
	}
	return found;
}
