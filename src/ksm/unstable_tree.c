/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The unstable trees: pages that kept still from one pass to the next, in the order of the
 * contents that they had when they were put there (K23, K24). They may change while they are in
 * it, so the tree is only probably in order, and lives for one pass.
 *
 * What a search finds in a tree out of order depends on its shape and on the contents *now*, so
 * every step has to look at the page that is now mapped where the item says: and to give up
 * when none is. Looking means mm -> VMA -> page table -> frame -> contents, each far away.
 * Instead an item carries the first eight bytes of its page together with the epoch in which
 * they were read. An epoch is a call from outside (ksm.c): nothing but ksmd ran since it began,
 * and ksmd neither writes to a page nor unmaps one from an item that is in this tree, unless it
 * splits a huge page, and that begins an epoch too (merge.c). (It may
 * exchange the frame for one of equal contents, e.g. when the page is merged by way of a forked
 * mm; that matters only where contents are equal, and then the page is looked up.) So within an
 * epoch the prefix is right and the page is there; else the step looks, and renews both.
 *
 * Locks: thread_mutex; each look takes the item's mmap_lock for read.
 */
#include "ksm_internal.h"

void unstable_reset(struct ksm *ksm)
{
	for (uint32_t nid = 0; nid < ksm->vm->frames.nr_nodes; nid++)
		ksm->unstable_tree[nid] = (struct rb_root){ NULL };
	/* Once calls are no longer told apart, neither are epochs. */
	ksm->epoch = ksm->call_seq == UINT32_MAX ? UINT16_MAX : 1;
}

/*
 * Linux forgets to: the next pass has the same number, and would erase these from a tree that
 * they are not in.
 */
void unstable_orphan_all(struct ksm *ksm)
{
	struct ksm_mm_slot *slot;

	cds_list_for_each_entry(slot, &ksm->mm_head.link, link) {
		for (struct ksm_rmap_item *item = slot->rmap_list; item; item = item->next) {
			if (item->address & UNSTABLE_FLAG)
				item->address = item_address(item) | UNSTABLE_FLAG |
						((ksm->scan.seqnr - 1) & SEQNR_MASK);
		}
	}
}

/* The anonymous page that is mapped where the item says, if it may be merged. */
static struct frame *mergeable_page(const struct ksm *ksm, const struct ksm_rmap_item *item)
{
	struct mm *mm = item->mm;
	uint64_t addr = item_address(item);
	struct frame *frame = NULL;
	pte_t pte;

	rwsem_read_lock(&mm->mmap_lock);
	if (find_mergeable_vma(mm, addr)) {
		pte = vm_pte(mm, addr);
		if (pte_present(pte) && !pte_is_zero_page(pte)) {
			frame = frame_of_pfn(&ksm->vm->frames, pte_value(pte));
			if (!frame_is_anon(frame) || (frame->flags & FRAME_UNKNOWN))
				frame = NULL;
		}
	}
	rwsem_read_unlock(&mm->mmap_lock);
	return frame;
}

static bool prefix_is_right(const struct ksm *ksm, const struct ksm_rmap_item *item)
{
	return item->epoch == ksm->epoch && ksm->epoch != UINT16_MAX;
}

struct ksm_rmap_item *unstable_search_insert(struct ksm *ksm, struct ksm_rmap_item *item,
					     struct frame *frame, struct frame **tree_frame)
{
	uint64_t prefix = content_prefix(frame->content);
	uint32_t nid = tree_of(ksm, frame);
	struct rb_root *root = &ksm->unstable_tree[nid];
	struct rb_node **link = &root->node, *parent = NULL;

	while (*link) {
		struct ksm_rmap_item *tree_item = container_of(*link, struct ksm_rmap_item, node);
		bool right = prefix > tree_item->prefix;

		if (__builtin_expect(
			    prefix == tree_item->prefix || !prefix_is_right(ksm, tree_item), 0)) {
			struct frame *found = mergeable_page(ksm, tree_item);
			int order;

			/* The same page: forked, or a KSM page that was found for itself. */
			if (!found || found == frame)
				return NULL;
			tree_item->prefix = content_prefix(found->content);
			tree_item->epoch = ksm->epoch;
			order = frame_compare(&ksm->vm->frames, frame, found);
			if (!order) {
				/* Migrated since: the next pass puts it into the right tree. */
				if (tree_of(ksm, found) != nid)
					return NULL;
				*tree_frame = found;
				return tree_item;
			}
			right = order > 0;
		}
		parent = *link;
		link = right ? &parent->right : &parent->left;
	}
	item->address |= UNSTABLE_FLAG | (ksm->scan.seqnr & SEQNR_MASK);
	item->nid = nid;
	item->prefix = prefix;
	item->epoch = ksm->epoch;
	rb_link(&item->node, parent, link);
	rb_insert(root, &item->node, NULL);
	ksm->count.pages_unshared++;
	return NULL;
}
