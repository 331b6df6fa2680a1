/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recounting all that ksm/ counts and links (K5, K39).
 *
 * Three walks meet: over the slots and their items, over the trees and lists with the nodes and
 * what hangs on them, and over all frames. Each thing is counted where it is found, and found
 * once: an item on its slot's list and, if stable, on its node's list; a live node by its
 * frame, and a KSM frame by its node.
 *
 * The stable tree must be in order by contents. The unstable tree need not be
 * (unstable_tree.c), only be a tree of the items that say they are in it.
 *
 * Stale nodes are allowed anywhere: they are noticed when somebody looks (K3). Looking here
 * would change what is being looked at, so node_frame() is not used.
 *
 * What walk.c concludes from an absent mark is checked itself, entry by entry, since a walk that
 * misses one because of a mark that is not there may be many operations away.
 *
 * Locks: none; no call is under way.
 */
#include <inttypes.h>

#include "ksm_internal.h"

struct check {
	struct ksm *ksm;
	struct report *report;
	struct ksm_counters count;     /* recounted */
	int64_t nr_stable_items;       /* flagged */
	int64_t nr_listed_items;       /* found on nodes */
	uint64_t nr_nodes, nr_live_nodes, nr_slots;
	int64_t *nr_in_tree;           /* items that say so, for each unstable tree */
};

/* ---- Slots and items ---- */

static void check_item(struct check *c, const struct ksm_rmap_item *item, const struct mm *mm)
{
	uint64_t flags = item->address & (STABLE_FLAG | UNSTABLE_FLAG), addr = item_address(item);

	REPORT_UNLESS(c->report, item->mm == mm, "ksm: item %#" PRIx64 " of mm %u is of another mm",
		      addr, mm->id);
	REPORT_UNLESS(c->report, flags != (STABLE_FLAG | UNSTABLE_FLAG),
		      "ksm: item %#" PRIx64 " of mm %u is stable and unstable", addr, mm->id);
	if (flags & STABLE_FLAG) {
		c->nr_stable_items++;
		REPORT_UNLESS(c->report, item->anon_vma && item->anon_vma->refcount > 0,
			      "ksm: item %#" PRIx64 " of mm %u holds no anon_vma", addr, mm->id);
	} else if (flags & UNSTABLE_FLAG) {
		uint8_t age = (uint8_t)(c->ksm->scan.seqnr - item->address);

		c->count.pages_unshared++;
		REPORT_UNLESS(c->report, age <= 1 && item->nid < c->ksm->vm->frames.nr_nodes,
			      "ksm: item %#" PRIx64 " of mm %u: age %u, tree %u", addr, mm->id, age,
			      item->nid);
		/* The pass that inserted it has ended, or begun anew: then it is in no tree. */
		if (!age && item->nid < c->ksm->vm->frames.nr_nodes)
			c->nr_in_tree[item->nid]++;
	} else {
		REPORT_UNLESS(c->report, !(item->address & ~PAGE_MASK),
			      "ksm: item %#" PRIx64 " of mm %u has a pass number but is in no tree",
			      addr, mm->id);
	}
}

static void check_slot(struct check *c, struct ksm_mm_slot *slot, bool *cursor_found)
{
	const struct ksm_scan_cursor *scan = &c->ksm->scan;
	const struct mm *mm = slot->mm;
	int64_t nr_items = 0, nr_stable = -c->nr_stable_items;
	bool at_cursor = scan->mm_slot == slot, place_found = scan->rmap_list == &slot->rmap_list;

	c->nr_slots++;
	REPORT_UNLESS(c->report,
		      mm->ksm_slot == slot && (mm->flags & MMF_VM_MERGEABLE) && mm->count > 0,
		      "ksm: mm %u does not know that it is registered", mm->id);
	for (struct ksm_rmap_item *item = slot->rmap_list; item; item = item->next) {
		nr_items++;
		check_item(c, item, mm);
		place_found |= scan->rmap_list == &item->next;
		REPORT_UNLESS(c->report,
			      !item->next || item_address(item) < item_address(item->next),
			      "ksm: items of mm %u out of order at %#" PRIx64, mm->id,
			      item_address(item));
	}
	nr_stable += c->nr_stable_items;
	c->count.rmap_items += nr_items;
	REPORT_UNLESS(c->report, mm->ksm_rmap_items == nr_items,
		      "ksm: mm %u: ksm_rmap_items %" PRId64 ", recounted %" PRId64, mm->id,
		      mm->ksm_rmap_items, nr_items);
	REPORT_UNLESS(c->report, mm->ksm_merging_pages == nr_stable,
		      "ksm: mm %u: ksm_merging_pages %" PRId64 ", recounted %" PRId64, mm->id,
		      mm->ksm_merging_pages, nr_stable);
	if (at_cursor) {
		*cursor_found = true;
		REPORT_UNLESS(c->report, place_found,
			      "ksm: the cursor's place is not on the items of mm %u", mm->id);
	}
}

static void check_slots(struct check *c)
{
	struct ksm *ksm = c->ksm;
	bool cursor_found = ksm->scan.mm_slot == &ksm->mm_head;
	struct ksm_mm_slot *slot;
	struct mm *mm;

	cds_list_for_each_entry(slot, &ksm->mm_head.link, link)
		check_slot(c, slot, &cursor_found);
	REPORT_UNLESS(c->report, cursor_found, "ksm: the cursor is at no slot");
	cds_list_for_each_entry(mm, &ksm->vm->mms, link)
		REPORT_UNLESS(c->report, !mm->ksm_slot == !(mm->flags & MMF_VM_MERGEABLE),
			      "ksm: mm %u: flag and registration differ", mm->id);
}

/* ---- Nodes ---- */

static const struct frame *live_frame(const struct ksm *ksm, const struct ksm_stable_node *node)
{
	const struct frame *kframe = frame_of_pfn(&ksm->vm->frames, node->kpfn);

	return kframe->mapping == ((uintptr_t)node | MAPPING_KSM) ? kframe : NULL;
}

static void check_frame(struct check *c, const struct ksm_stable_node *node,
			const struct frame *kframe)
{
	c->nr_live_nodes++;
	REPORT_UNLESS(c->report, kframe->refcount > 0, "ksm: KSM pfn %u is free", node->kpfn);
	REPORT_UNLESS(c->report, !(kframe->flags & (FRAME_HEAD | FRAME_TAIL | FRAME_EXCLUSIVE)),
		      "ksm: KSM pfn %u is huge or exclusive (K4)", node->kpfn);
	REPORT_UNLESS(c->report, content_prefix(kframe->content) == node->prefix,
		      "ksm: KSM pfn %u does not begin as its node says", node->kpfn);
}

/* A node that is no chain, wherever it is. */
static void check_node(struct check *c, const struct ksm_stable_node *node)
{
	const struct frame *kframe = live_frame(c->ksm, node);
	struct ksm_rmap_item *item;
	int64_t len = 0;

	c->nr_nodes++;
	if (kframe)
		check_frame(c, node, kframe);
	cds_hlist_for_each_entry_2(item, &node->hlist, hlist) {
		len++;
		REPORT_UNLESS(c->report, item_is_on(item, node),
			      "ksm: item %#" PRIx64 " is on the list of pfn %u unawares",
			      item_address(item), node->kpfn);
	}
	REPORT_UNLESS(c->report, len == node->rmap_hlist_len,
		      "ksm: pfn %u: %d items, recounted %" PRId64, node->kpfn, node->rmap_hlist_len,
		      len);
	c->nr_listed_items += len;
	if (len) {
		c->count.pages_shared++;
		c->count.pages_sharing += len - 1;
	}
}

static const struct ksm_stable_node *check_chain(struct check *c, struct ksm_stable_node *chain)
{
	const struct ksm_stable_node *any_live = NULL;
	struct ksm_stable_node *dup;

	c->nr_nodes++;
	c->count.stable_node_chains++;
	cds_hlist_for_each_entry_2(dup, &chain->hlist, hlist_dup) {
		c->count.stable_node_dups++;
		check_node(c, dup);
		REPORT_UNLESS(c->report, node_is_dup(c->ksm, dup) && dup->prefix == chain->prefix,
			      "ksm: pfn %u is no dup of the chain that it is on", dup->kpfn);
		if (live_frame(c->ksm, dup))
			any_live = dup;
	}
	return any_live;
}

/* -1, 0, 1; stale nodes have only their first bytes left. */
static int order(const struct ksm *ksm, const struct ksm_stable_node *a,
		 const struct ksm_stable_node *b)
{
	const struct frame *fa = live_frame(ksm, a), *fb = live_frame(ksm, b);

	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	return fa && fb ? frame_compare(&ksm->vm->frames, fa, fb) : -1;
}

static void check_stable_tree(struct check *c, uint32_t nid)
{
	const struct rb_root *root = &c->ksm->stable_tree[nid];
	const struct ksm_stable_node *before = NULL;
	const char *wrong = rb_validate(root, NULL, NULL);

	if (wrong) {
		report_add(c->report, "ksm: stable tree %u: %s", nid, wrong);
		return;
	}
	for (struct rb_node *rb = rb_first(root); rb; rb = rb_next(rb)) {
		struct ksm_stable_node *node = container_of(rb, struct ksm_stable_node, node);
		const struct ksm_stable_node *shown = node;

		if (node_is_chain(node)) {
			shown = check_chain(c, node);
		} else {
			check_node(c, node);
			REPORT_UNLESS(c->report, node->nid == nid,
				      "ksm: pfn %u is in tree %u and says %u", node->kpfn, nid,
				      node->nid);
		}
		/* An empty chain waits for a search to meet it (K35). */
		if (!shown)
			continue;
		REPORT_UNLESS(c->report, !before || order(c->ksm, before, shown) < 0,
			      "ksm: stable tree %u: pfns %u and %u are out of order", nid,
			      before->kpfn, shown->kpfn);
		before = shown;
	}
}

static void check_unstable_tree(struct check *c, uint32_t nid)
{
	const struct rb_root *root = &c->ksm->unstable_tree[nid];
	const char *wrong;
	uint64_t nr = 0;

	/*
	 * Between passes the tree is what the last one left; its items have been freed or
	 * changed since.
	 */
	if (c->ksm->scan.mm_slot == &c->ksm->mm_head)
		return;
	wrong = rb_validate(root, NULL, &nr);
	if (wrong) {
		report_add(c->report, "ksm: unstable tree %u: %s", nid, wrong);
		return;
	}
	for (struct rb_node *rb = rb_first(root); rb; rb = rb_next(rb)) {
		const struct ksm_rmap_item *item = container_of(rb, struct ksm_rmap_item, node);

		REPORT_UNLESS(c->report, (item->address & UNSTABLE_FLAG) && item->nid == nid,
			      "ksm: item %#" PRIx64 " is in unstable tree %u unawares",
			      item_address(item), nid);
	}
	REPORT_UNLESS(c->report, (int64_t)nr == c->nr_in_tree[nid],
		      "ksm: unstable tree %u has %" PRIu64 " items, not %" PRId64, nid, nr,
		      c->nr_in_tree[nid]);
}

static void check_migrating(struct check *c)
{
	struct ksm_stable_node *node;

	cds_list_for_each_entry(node, &c->ksm->migrate_nodes, list) {
		check_node(c, node);
		REPORT_UNLESS(c->report,
			      node_is_migrating(c->ksm, node) && !c->ksm->knobs.merge_across_nodes,
			      "ksm: pfn %u is on migrate_nodes unawares", node->kpfn);
	}
}

/* ---- Marks ---- */

/* Of the address, linked to the VMA, and for the index that the address has there. */
static bool leads_to(const struct ksm_rmap_item *item, const struct vma *vma, uint64_t addr)
{
	return item_address(item) == addr && item->index == vma_linear_index(vma, addr) &&
	       (item->mm == vma->mm || item->anon_vma->forked) &&
	       vma_linked_to(vma, item->anon_vma);
}

static void check_entry(struct check *c, const struct mm *mm, uint64_t addr, pte_t pte)
{
	const struct frame *frame = frame_of_pfn(&c->ksm->vm->frames, pte_value(pte));
	const struct ksm_stable_node *node = frame_node(frame);
	const struct vma *vma = vma_lookup(mm, addr);
	struct ksm_rmap_item *item;
	bool found = false;

	/* Without a VMA, others complain. */
	if (!node || node->wide || !vma)
		return;
	cds_hlist_for_each_entry_2(item, &node->hlist, hlist) {
		found = leads_to(item, vma, addr);
		if (found)
			break;
	}
	REPORT_UNLESS(c->report, found,
		      "ksm: pfn %u is not marked, and mm %u maps it at %#" PRIx64
		      ", where no item of that index leads",
		      node->kpfn, mm->id, addr);
}

static void check_marks(struct check *c)
{
	const struct mm *mm;

	cds_list_for_each_entry(mm, &c->ksm->vm->mms, link) {
		uint64_t addr = 0;
		pte_t pte;
		bool huge;

		while (page_table_next(&mm->pt, &addr, TASK_SIZE, &pte, &huge)) {
			if (!huge && pte_present(pte) && !pte_is_zero_page(pte))
				check_entry(c, mm, addr, pte);
			addr += huge ? HPAGE_PMD_SIZE : PAGE_SIZE;
		}
	}
}

/* ---- Frames, mms, counters ---- */

static void check_frames(struct check *c)
{
	const struct frames *frames = &c->ksm->vm->frames;
	uint64_t nr = 0;

	for (uint32_t pfn = 0; pfn < frames->nr_frames; pfn++)
		nr += frame_node(frame_of_pfn(frames, pfn)) != NULL;
	REPORT_UNLESS(c->report, nr == c->nr_live_nodes,
		      "ksm: %" PRIu64 " frames name a stable node, %" PRIu64 " nodes are live", nr,
		      c->nr_live_nodes);
}

static void check_zero_pages(struct check *c)
{
	const struct mm *mm;
	bool leaked = c->ksm->zero_leaked;
	int64_t sum = 0;

	cds_list_for_each_entry(mm, &c->ksm->vm->mms, link) {
		leaked |= mm->ksm_zero_leaked != 0;
		sum += mm->ksm_zero_pages;
	}
	REPORT_UNLESS(c->report, leaked || sum == c->ksm->count.ksm_zero_pages,
		      "ksm: ksm_zero_pages %" PRId64 ", all mms' together %" PRId64,
		      c->ksm->count.ksm_zero_pages, sum);
}

static void check_counters(struct check *c)
{
	const struct ksm_counters *count = &c->ksm->count;

#define SAME(name)                                                                   \
	REPORT_UNLESS(c->report, count->name == c->count.name,                       \
		      "ksm: " #name " %" PRId64 ", recounted %" PRId64, count->name, \
		      c->count.name)
	SAME(pages_shared);
	SAME(pages_sharing);
	SAME(pages_unshared);
	SAME(rmap_items);
	SAME(stable_node_chains);
	SAME(stable_node_dups);
#undef SAME
	REPORT_UNLESS(c->report, c->nr_stable_items == c->nr_listed_items,
		      "ksm: %" PRId64 " items are stable, %" PRId64 " are on the lists of nodes",
		      c->nr_stable_items, c->nr_listed_items);
	REPORT_UNLESS(c->report, c->ksm->item_pool.nr_used == (uint64_t)c->count.rmap_items,
		      "ksm: rmap_items leaked");
	REPORT_UNLESS(c->report, c->ksm->node_pool.nr_used == c->nr_nodes,
		      "ksm: stable nodes leaked");
	REPORT_UNLESS(c->report, c->ksm->slot_pool.nr_used == c->nr_slots, "ksm: slots leaked");
}

void ksm_validate(struct vm *vm, struct report *report)
{
	struct ksm *ksm = ksm_of(vm);
	int64_t nr_in_tree[FRAME_NODES_MAX] = { 0 };
	struct check c = { .ksm = ksm, .report = report, .nr_in_tree = nr_in_tree };

	check_slots(&c);
	for (uint32_t nid = 0; nid < vm->frames.nr_nodes; nid++) {
		check_stable_tree(&c, nid);
		check_unstable_tree(&c, nid);
	}
	check_migrating(&c);
	check_marks(&c);
	check_frames(&c);
	check_zero_pages(&c);
	check_counters(&c);
}
