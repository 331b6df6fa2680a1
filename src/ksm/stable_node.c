/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stable nodes: one for each KSM page (K3).
 *
 * A node holds no reference on its frame, so that a KSM page is freed when its last mapping
 * goes, not when ksmd comes round. Whether the frame is still the node's is asked of the frame:
 * its mapping names the node as long as it is, and reads as something else once it was freed or
 * migrated away. Whoever asks and finds it gone removes the node and everything that hangs on
 * it: node_frame().
 *
 * A node lies in one of three places (ksm_types.h): in the tree of its nid, on a chain, or on
 * migrate_nodes, after its page was migrated to another NUMA node than its tree's.
 *
 * Locks: thread_mutex.
 */
#include <errno.h>

#include "ksm_internal.h"

struct ksm_stable_node *node_alloc(struct ksm *ksm)
{
	return pool_alloc(&ksm->node_pool);
}

void node_free(struct ksm *ksm, struct ksm_stable_node *node)
{
	SP_ASSERT(!node->rmap_hlist_len || node_is_chain(node));
	pool_free(&ksm->node_pool, node);
}

void node_unlink(struct ksm *ksm, struct ksm_stable_node *node)
{
	SP_ASSERT(!node_is_chain(node));
	if (node_is_dup(ksm, node)) {
		cds_hlist_del(&node->hlist_dup);
		ksm->count.stable_node_dups--;
	} else {
		rb_erase(&ksm->stable_tree[node->nid], &node->node, NULL);
	}
	node->head = NULL;
}

void node_to_migrate_list(struct ksm *ksm, struct ksm_stable_node *node)
{
	node->head = &ksm->migrate_nodes;
	cds_list_add(&node->list, &ksm->migrate_nodes);
}

/* The node goes, with every item that is still on it. Its frame does not name it any more. */
static void node_remove(struct ksm *ksm, struct ksm_stable_node *node)
{
	struct ksm_rmap_item *item;

	SP_ASSERT(node->rmap_hlist_len >= 0);
	cds_hlist_for_each_entry_2(item, &node->hlist, hlist) {
		if (item->hlist.next) {
			ksm->count.pages_sharing--;
			event_emit(&ksm->vm->events, EV_ksm_remove_rmap_item, node->kpfn,
				   item_address(item), item->mm->id);
		} else {
			ksm->count.pages_shared--;
		}
		item->mm->ksm_merging_pages--;
		SP_ASSERT(node->rmap_hlist_len > 0);
		node->rmap_hlist_len--;
		anon_vma_put(item->anon_vma);
		item->address &= PAGE_MASK;
		/*
		 * Linux keeps `head`: a node that reuses the memory would be mistaken for this
		 * one (K6).
		 */
	}
	event_emit(&ksm->vm->events, EV_ksm_remove_ksm_page, node->kpfn);
	if (node_is_migrating(ksm, node))
		cds_list_del(&node->list);
	else
		node_unlink(ksm, node);
	node_free(ksm, node);
}

static struct frame *live_frame(const struct ksm *ksm, const struct ksm_stable_node *node)
{
	struct frame *kframe = frame_of_pfn(&ksm->vm->frames, node->kpfn);

	return kframe->mapping == ((uintptr_t)node | MAPPING_KSM) ? kframe : NULL;
}

struct frame *node_frame(struct ksm *ksm, struct ksm_stable_node *node)
{
	struct frame *kframe = live_frame(ksm, node);

	if (!kframe)
		node_remove(ksm, node);
	return kframe;
}

void nodes_revalidate_migrating(struct ksm *ksm)
{
	struct ksm_stable_node *node, *next;

	cds_list_for_each_entry_safe(node, next, &ksm->migrate_nodes, list)
		(void)node_frame(ksm, node);
}

/* 0: the node is gone. -EBUSY: its page is mapped, and stays KSM. */
static int remove_unmapped(struct ksm *ksm, struct ksm_stable_node *node)
{
	struct frame *kframe = node_frame(ksm, node);

	if (!kframe)
		return 0;
	if (kframe->mapcount)
		return -EBUSY;
	/* Unmapped but referenced: by the swap cache, or by somebody else. */
	frame_lock(kframe);
	kframe->mapping = MAPPING_KSM;
	node_remove(ksm, node);
	frame_unlock(kframe);
	return 0;
}

static int remove_unmapped_in_tree(struct ksm *ksm, struct ksm_stable_node *node,
				   struct rb_root *root)
{
	struct ksm_stable_node *dup, *next;
	int err;

	if (!node_is_chain(node))
		return remove_unmapped(ksm, node);
	cds_hlist_for_each_entry_safe_2(dup, next, &node->hlist, hlist_dup) {
		err = remove_unmapped(ksm, dup);
		if (err)
			return err;
	}
	chain_free(ksm, node, root);
	return 0;
}

int nodes_remove_all(struct ksm *ksm)
{
	uint32_t nr_trees = ksm->knobs.merge_across_nodes ? 1 : ksm->vm->frames.nr_nodes;
	struct ksm_stable_node *node, *next;
	int result = 0;

	/* Always at the root; the first mapped page met there ends the work on that tree. */
	for (uint32_t nid = 0; nid < nr_trees; nid++) {
		struct rb_root *root = &ksm->stable_tree[nid];

		while (root->node) {
			node = container_of(root->node, struct ksm_stable_node, node);
			if (remove_unmapped_in_tree(ksm, node, root)) {
				result = -EBUSY;
				break;
			}
		}
	}
	cds_list_for_each_entry_safe(node, next, &ksm->migrate_nodes, list) {
		if (remove_unmapped(ksm, node))
			result = -EBUSY;
	}
	return result;
}

static bool is_on(const struct ksm *ksm, const struct ksm_stable_node *node, uint32_t nid)
{
	return frame_of_pfn(&ksm->vm->frames, node->kpfn)->nid == nid;
}

static void remove_on_in_tree(struct ksm *ksm, struct ksm_stable_node *node, uint32_t nid,
			      struct rb_root *root)
{
	struct ksm_stable_node *dup, *next;

	if (!node_is_chain(node)) {
		if (is_on(ksm, node, nid))
			node_remove(ksm, node);
		return;
	}
	cds_hlist_for_each_entry_safe_2(dup, next, &node->hlist, hlist_dup) {
		if (is_on(ksm, dup, nid))
			node_remove(ksm, dup);
	}
	if (!node->hlist.next)
		chain_free(ksm, node, root);
}

/* Pages were migrated away: what is left names frames that were freed. */
void ksm_hook_node_offline(struct vm *vm, uint32_t nid)
{
	struct ksm *ksm = ksm_of(vm);
	struct ksm_stable_node *node, *next;

	mutex_acquire(&ksm->thread_mutex);
	for (uint32_t tree = 0; tree < vm->frames.nr_nodes; tree++) {
		struct rb_root *root = &ksm->stable_tree[tree];
		struct rb_node *rb = rb_first(root), *rb_after;

		for (; rb; rb = rb_after) {
			rb_after = rb_next(rb);
			remove_on_in_tree(ksm, container_of(rb, struct ksm_stable_node, node), nid,
					  root);
		}
	}
	cds_list_for_each_entry_safe(node, next, &ksm->migrate_nodes, list)
		if (is_on(ksm, node, nid))
			node_remove(ksm, node);
	mutex_release(&ksm->thread_mutex);
}

static void node_free_mapped(struct ksm *ksm, struct ksm_stable_node *node)
{
	struct frame *kframe = live_frame(ksm, node);

	if (kframe)
		kframe->mapping = MAPPING_KSM;
	node_remove(ksm, node);
}

void nodes_free_all(struct ksm *ksm)
{
	struct ksm_stable_node *node, *next;

	for (uint32_t nid = 0; nid < ksm->vm->frames.nr_nodes; nid++) {
		struct rb_root *root = &ksm->stable_tree[nid];

		while (root->node) {
			node = container_of(root->node, struct ksm_stable_node, node);
			if (!node_is_chain(node)) {
				node_free_mapped(ksm, node);
				continue;
			}
			while (node->hlist.next)
				node_free_mapped(ksm, cds_hlist_entry(node->hlist.next,
								      struct ksm_stable_node,
								      hlist_dup));
			chain_free(ksm, node, root);
		}
	}
	cds_list_for_each_entry_safe(node, next, &ksm->migrate_nodes, list)
		node_free_mapped(ksm, node);
}
