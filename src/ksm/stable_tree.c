/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stable trees: KSM pages in the order of their contents, which cannot change (K20, K22, K30a).
 *
 * One tree, or one for each NUMA node when merging across nodes is off; then a page's tree is
 * that of the node where it lies now, and a KSM page that was migrated must be placed anew:
 *
 *	no equal page in the new tree     it goes there
 *	an equal one with room            if mapped once, it is offered for merging into that one
 *	                                  (which 7.2 never manages: merge.c); else both form a chain
 *	the equal one lies on another
 *	NUMA node itself                  it takes that one's place, which goes to migrate_nodes
 *
 * A step compares the first eight bytes, which the node has; the frames are touched when those
 * are equal. Stale nodes met on the way are removed, and since that may turn the tree, the
 * search begins again.
 *
 * Locks: thread_mutex; the frame found is locked for a moment, as Linux does it to wait for a
 * migration: a lock that is busy ends the matter for this pass (K20).
 */
#include "ksm_internal.h"

/* Where a descent ended. */
struct place {
	struct rb_node *parent, **link; /* where a new node would be linked */
	struct ksm_stable_node *node;   /* equal contents: the tree's entry; NULL: none */
	struct ksm_stable_node *dup;    /* that node, or the dup chosen from its chain */
};

/* False: a stale node was met and removed, the place is void. */
static bool descend(struct ksm *ksm, struct rb_root *root, const struct frame *frame, bool prune,
		    struct place *place)
{
	const struct frames *frames = &ksm->vm->frames;
	uint64_t prefix = content_prefix(frame->content);
	struct rb_node **link = &root->node, *parent = NULL;

	*place = (struct place){ 0 };
	while (*link) {
		struct ksm_stable_node *node = container_of(*link, struct ksm_stable_node, node),
				       *dup = node;
		bool right;

		if (__builtin_expect(node_is_chain(node), 0))
			dup = chain_choose(ksm, &node, root, prune);
		else if (!node_is_live(ksm, node))
			dup = NULL;
		if (!dup)
			return false;
		right = prefix > dup->prefix;
		if (__builtin_expect(prefix == dup->prefix, 0)) {
			int order = frame_compare(frames, frame, frame_of_pfn(frames, dup->kpfn));

			if (!order) {
				place->node = node;
				place->dup = dup;
				return true;
			}
			right = order > 0;
		}
		parent = *link;
		link = right ? &parent->right : &parent->left;
	}
	place->parent = parent;
	place->link = link;
	return true;
}

static void link_node(struct rb_root *root, struct ksm_stable_node *node, const struct place *place)
{
	rb_link(&node->node, place->parent, place->link);
	rb_insert(root, &node->node, NULL);
}

/* A node leaves migrate_nodes for the tree of nid; its head is then the caller's to set. */
static void take_from_migrate_list(struct ksm_stable_node *node, uint32_t nid)
{
	cds_list_del(&node->list);
	node->head = NULL;
	node->nid = (uint16_t)nid;
}

/* The scanned frame itself, if others may join it now. */
static enum stable_result offer(struct ksm *ksm, struct ksm_stable_node *node, struct frame *frame,
				struct frame **ret)
{
	if (!node_is_candidate(ksm, node, 0))
		return STABLE_NONE;
	*ret = frame;
	return STABLE_FOUND;
}

/* The equal node lies on another NUMA node than its tree's: out with it, page_node (if any) in. */
static void replace_misplaced(struct ksm *ksm, struct rb_root *root, const struct place *place,
			      struct ksm_stable_node *page_node, uint32_t nid)
{
	if (page_node)
		take_from_migrate_list(page_node, nid);
	if (place->dup != place->node) {
		node_unlink(ksm, place->dup);
		if (page_node)
			chain_add(ksm, place->node, page_node);
	} else if (page_node) {
		rb_replace(root, &place->dup->node, &page_node->node);
	} else {
		rb_erase(root, &place->dup->node, NULL);
	}
	node_to_migrate_list(ksm, place->dup);
}

/* Both stay, as dups of a chain. */
static enum stable_result append_to_chain(struct ksm *ksm, struct rb_root *root,
					  const struct place *place,
					  struct ksm_stable_node *page_node, uint32_t nid,
					  struct frame *frame, struct frame **ret)
{
	struct ksm_stable_node *chain = place->node;

	if (place->dup == place->node) {
		chain = chain_create(ksm, place->dup, root);
		if (!chain)
			return STABLE_NONE;
	}
	take_from_migrate_list(page_node, nid);
	chain_add(ksm, chain, page_node);
	return offer(ksm, page_node, frame, ret);
}

enum stable_result stable_search(struct ksm *ksm, struct frame *frame, struct frame **ret)
{
	struct ksm_stable_node *page_node = frame_node(frame);
	uint32_t nid = tree_of(ksm, frame);
	struct rb_root *root = &ksm->stable_tree[nid];
	struct frame *kframe;
	struct place place;

	/* A KSM page that fork shared with an mm that ksmd has not scanned. */
	if (page_node && !node_is_migrating(ksm, page_node)) {
		*ret = frame;
		return STABLE_FOUND;
	}
	do {
		while (!descend(ksm, root, frame, true, &place))
			;
		if (!place.node) {
			if (!page_node)
				return STABLE_NONE;
			take_from_migrate_list(page_node, nid);
			link_node(root, page_node, &place);
			return offer(ksm, page_node, frame, ret);
		}
		if (page_node && frame->mapcount > 1)
			return append_to_chain(ksm, root, &place, page_node, nid, frame, ret);
		if (!node_is_candidate(ksm, place.dup, 0))
			return STABLE_NONE;
		kframe = node_frame(ksm, place.dup);
	} while (!kframe);

	if (!frame_trylock(kframe))
		return STABLE_BUSY;
	frame_unlock(kframe);
	if (tree_of(ksm, kframe) != place.dup->nid) {
		replace_misplaced(ksm, root, &place, page_node, nid);
		return page_node ? offer(ksm, page_node, frame, ret) : STABLE_NONE;
	}
	*ret = kframe;
	return STABLE_FOUND;
}

struct ksm_stable_node *stable_insert(struct ksm *ksm, struct frame *kframe)
{
	uint32_t nid = tree_of(ksm, kframe);
	struct rb_root *root = &ksm->stable_tree[nid];
	struct ksm_stable_node *node, *chain;
	struct place place;

	while (!descend(ksm, root, kframe, false, &place))
		;
	node = node_alloc(ksm);
	if (!node)
		return NULL;
	node->kpfn = frame_pfn(&ksm->vm->frames, kframe);
	node->checked = ksm->call_seq;
	node->prefix = content_prefix(kframe->content);
	node->nid = (uint16_t)nid;
	if (!place.node) {
		link_node(root, node, &place);
	} else {
		chain = place.node;
		if (!node_is_chain(chain)) {
			chain = chain_create(ksm, chain, root);
			if (!chain) {
				node_free(ksm, node);
				return NULL;
			}
		}
		chain_add(ksm, chain, node);
	}
	kframe->mapping = (uintptr_t)node | MAPPING_KSM;
	return node;
}
