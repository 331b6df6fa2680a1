/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rmap_items: what ksmd remembers of one virtual page (K2, K5, K10, K24).
 *
 *	no flag         seen, in no tree: volatile
 *	UNSTABLE_FLAG   in an unstable tree, or left over from that of the pass before
 *	STABLE_FLAG     on the list of a stable node, with a reference on its anon_vma
 *
 * An mm's items are a list in ascending order that the scan merges with the page table as it goes
 * along: what it has passed is freed, what is missing is made.
 *
 * An unstable tree is emptied by forgetting its root, so an item may be flagged and yet not be
 * in the tree; the pass number in its address tells which (K24).
 *
 * Locks: thread_mutex; the list of a stable node also needs its frame's lock.
 */
#include "ksm_internal.h"

static void item_free(struct ksm *ksm, struct ksm_rmap_item *item)
{
	ksm->count.rmap_items--;
	item->mm->ksm_rmap_items--;
	pool_free(&ksm->item_pool, item);
}

static void remove_stable(struct ksm *ksm, struct ksm_rmap_item *item)
{
	struct ksm_stable_node *node = item->head;
	struct frame *kframe = node_frame(ksm, node);

	if (!kframe)
		return; /* the whole node went, and this item with it */
	frame_lock(kframe);
	ksm_walk_note_removal(ksm->vm, kframe, node, item);
	cds_hlist_del(&item->hlist);
	frame_unlock(kframe);
	if (node->hlist.next)
		ksm->count.pages_sharing--;
	else
		ksm->count.pages_shared--;
	item->mm->ksm_merging_pages--;
	SP_ASSERT(node->rmap_hlist_len > 0);
	node->rmap_hlist_len--;
	anon_vma_put(item->anon_vma);
	item->head = NULL;
	item->address &= PAGE_MASK;
}

static void remove_unstable(struct ksm *ksm, struct ksm_rmap_item *item)
{
	uint8_t age = (uint8_t)(ksm->scan.seqnr - item->address);

	SP_ASSERT(age <= 1);
	if (!age)
		rb_erase(&ksm->unstable_tree[item->nid], &item->node, NULL);
	ksm->count.pages_unshared--;
	item->address &= PAGE_MASK;
}

void item_remove_from_tree(struct ksm *ksm, struct ksm_rmap_item *item)
{
	if (item->address & STABLE_FLAG)
		remove_stable(ksm, item);
	else if (item->address & UNSTABLE_FLAG)
		remove_unstable(ksm, item);
}

void items_free_from(struct ksm *ksm, struct ksm_rmap_item **list)
{
	while (*list) {
		struct ksm_rmap_item *item = *list;

		*list = item->next;
		item_remove_from_tree(ksm, item);
		item_free(ksm, item);
	}
}

struct ksm_rmap_item *item_get(struct ksm *ksm, struct mm *mm, struct ksm_rmap_item **list,
			       uint64_t addr)
{
	struct ksm_rmap_item *item;

	while ((item = *list)) {
		if (item_address(item) == addr)
			return item;
		if (item->address > addr)
			break;
		*list = item->next;
		item_remove_from_tree(ksm, item);
		item_free(ksm, item);
	}
	item = pool_alloc(&ksm->item_pool);
	if (!item)
		return NULL;
	ksm->count.rmap_items++;
	mm->ksm_rmap_items++;
	item->mm = mm;
	item->address = addr;
	item->next = *list;
	*list = item;
	return item;
}

void item_append(struct ksm *ksm, struct ksm_rmap_item *item, struct ksm_stable_node *node,
		 bool bypass)
{
	SP_ASSERT(node->rmap_hlist_len >= 0);
	node->rmap_hlist_len++;
	SP_ASSERT(bypass || (uint64_t)node->rmap_hlist_len <= ksm->knobs.max_page_sharing);
	/* A new KSM page has two mappings; more were there before, and nobody merged them (K27). */
	if (!node->hlist.next && frame_of_pfn(&ksm->vm->frames, node->kpfn)->mapcount > 2)
		node->wide = true;
	item->head = node;
	item->address |= STABLE_FLAG;
	cds_hlist_add_head(&item->hlist, &node->hlist);
	if (item->hlist.next)
		ksm->count.pages_sharing++;
	else
		ksm->count.pages_shared++;
	item->mm->ksm_merging_pages++;
}
