/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rmap_walk_ksm(): the reverse walk of a merged page, under one of five strategies.
 *
 * A KSM page has a list of rmap_items, each naming (anon_vma, mm, address). For each, in two
 * passes, some VMAs of the anon_vma are visited and tested (R1); pass 0 takes the item's own mm,
 * pass 1 the others, which are forks that have no item yet (R2). The strategies differ in which
 * VMAs are visited at all:
 *
 *	full     every VMA of the anon_vma. Right, and O(VMAs) for each item (S1).
 *	address  those that hold page offset address >> PAGE_SHIFT. Wrong where the page's linear
 *	         index is another: moved and merged again, and every private file mapping (S2).
 *	retry    address; when fewer PTEs were found than the page's mapcount, everything once more.
 *	         Wrong where the mapcount does not say how many to find: it is 0 while a migration
 *	         is being restored (S4, V2).
 *	index    those that hold the linear index that was stored when the page was merged. Right
 *	         for what ksmd merged; other mappings at an item's address may be at another index:
 *	         swapped in elsewhere (V6), or forked and left behind by mremap (K27, R2).
 *	direct   pass 0 looks the one VMA up that can be meant, (mm, address) in the mm's own VMA
 *	         tree, which is exactly what the full walk's pass 0 finds; pass 1, needed only where
 *	         a fork ever linked another mm's VMA, takes the stored index, and the index that the
 *	         VMA has now where it differs. What that may miss is remembered (below).
 *
 * Why `direct` misses nothing that `full` reaches. In pass 0 both find the same VMA. In pass 1
 * `direct` asks by index, and would miss a VMA of another mm that has the item's address at
 * another index. So the stable node is marked `wide` unless every mapping there is has an item
 * of its address and of its very index, in an anon_vma that its VMA is linked to. That a narrow
 * walk reaches it now would not be enough: a new item can lead `full` to a mapping that neither
 * reached before. What is mapped, and where, changes in five ways (sp_validate() checks the
 * outcome):
 *
 *	merged by ksmd  reached by its item
 *	forked          the child's VMA has its parent's index, and is linked where the parent's is
 *	item goes       mappings that it reached may depend on another item of the same address, now
 *	                or later, which has another index: marked, if there are any
 *	upgraded (K27)  a page that was shared before it was merged (S14) may be mapped where nobody
 *	                merged it, and where a relative's mremap has since put another VMA: marked
 *	swapped in as   (W3), or moved in a VMA that is not mergeable, where mremap does not break
 *	it was, moved   it: comes to a place with an item of another index, or none: marked
 *
 * A walk with `done` on any node is narrow first and, when it ends with the page still mapped,
 * takes the whole tree, and marks the node if that found something (V17). A walk without `done`
 * takes the whole tree on a marked node. The mark goes when a narrow walk with `done` has
 * unmapped everything, for what is restored after it is where it was found; but not if
 * something has another index than the item that led to it. It was found by the index that the
 * item's VMA has now, and munmap can take that VMA away and leave a fork of it; or because its
 * VMA is large enough to hold the item's index too, and may be split.
 *
 * Locks: the frame's lock keeps the list of items (K26a); each loop holds one anon_vma lock for
 * read, and that is the hold which is measured. An item's mm is kept by its slot. Its VMA tree
 * is searched without its mmap_lock: a kernel would do that inside an RCU section, where the
 * anon_vma lock keeps a VMA that is linked to it from going away or changing its key; here
 * nobody else works on the machine.
 */
#include "ksm_internal.h"
#include "metrics.h"

struct walk {
	struct vm *vm;
	struct frame *frame;
	struct rmap_walk_control *rwc;
	struct sp_walk_metrics *metrics; /* NULL: not counted */
	bool measure_time;
	bool count_found; /* retry */
	bool stop;        /* rmap_one refused, done said so, or a lock was busy */
	bool finished;    /* `done` said so */
	bool off_index;   /* visited an address whose index is not the item's */
	int64_t found;    /* PTEs met that map the frame (retry) */
};

static bool maps_frame(const struct walk *w, const struct vma *vma, uint64_t addr)
{
	pte_t pte = vm_pte(vma->mm, addr);

	return pte_present(pte) && !pte_is_zero_page(pte) &&
	       pte_value(pte) == frame_pfn(&w->vm->frames, w->frame);
}

/* Steps (i) to (v) of R1 for one VMA; false ends the walk. */
static inline bool visit(struct walk *w, struct walk_loop *loop, unsigned int pass,
			 const struct ksm_rmap_item *item, struct vma *vma)
{
	struct rmap_walk_control *rwc = w->rwc;
	uint64_t addr = item_address(item);

	loop->iterations++;
	if (addr < vma->start || addr >= vma->end) {
		loop->out_of_range++;
		return true;
	}
	if ((item->mm == vma->mm) == (pass != 0)) {
		loop->mm_mismatch++;
		return true;
	}
	if (rwc->invalid_vma && rwc->invalid_vma(vma, rwc->arg)) {
		loop->invalid++;
		return true;
	}
	loop->calls++;
	if (vma_linear_index(vma, addr) != item->index)
		w->off_index = true;
	if (w->count_found)
		w->found += maps_frame(w, vma, addr);
	if (!rwc->rmap_one(w->frame, vma, addr, rwc->arg)) {
		w->stop = true;
		return false;
	}
	if (rwc->done && rwc->done(w->frame)) {
		w->stop = w->finished = true;
		return false;
	}
	return true;
}

/* Visits what the interval tree has in [start, last]. */
static inline bool visit_range(struct walk *w, struct walk_loop *loop, unsigned int pass,
			       const struct ksm_rmap_item *item, uint64_t start, uint64_t last)
{
	const struct interval_tree *tree = &item->anon_vma->tree;
	struct interval_node *node;

	for (node = interval_first(tree, start, last); node;
	     node = interval_next(node, start, last))
		if (!visit(w, loop, pass, item, avc_of_node(node)->vma))
			return false;
	return true;
}

/* Is this VMA linked to the item's anon_vma? Nearly always its active one; else ask the tree. */
static bool belongs(const struct vma *vma, const struct anon_vma *anon_vma, uint64_t index)
{
	struct interval_node *node;

	if (vma->anon_vma == anon_vma)
		return true;
	for (node = interval_first(&anon_vma->tree, index, index); node;
	     node = interval_next(node, index, index))
		if (avc_of_node(node)->vma == vma)
			return true;
	return false;
}

/* The narrow part of `direct` for one item and pass; vma: what the item's mm has at its address. */
static void visit_direct(struct walk *w, struct walk_loop *loop, unsigned int pass,
			 const struct ksm_rmap_item *item, struct vma *vma)
{
	uint64_t index = vma ? vma_linear_index(vma, item_address(item)) : item->index;

	if (pass == 0) {
		if (vma && belongs(vma, item->anon_vma, index))
			(void)visit(w, loop, pass, item, vma);
	} else if (item->anon_vma->forked &&
		   visit_range(w, loop, pass, item, item->index, item->index) &&
		   index != item->index) {
		(void)visit_range(w, loop, pass, item, index, index);
	}
}

/* One loop: one item in one pass, under its anon_vma's lock. */
static void walk_item(struct walk *w, enum sp_strategy strategy, unsigned int pass,
		      const struct ksm_rmap_item *item)
{
	struct anon_vma *anon_vma = item->anon_vma;
	struct walk_loop loop = { 0 };
	struct vma *vma = NULL;
	uint64_t begin = 0;

	/*
	 * Before the lock, to keep its hold short; what is found is judged under it. A VMA that comes to
	 * the address in between cannot bring the page there unseen: merging needs the frame's lock,
	 * and a move unshares the page or marks its node.
	 */
	if (strategy == SP_STRATEGY_DIRECT)
		vma = vma_lookup(item->mm, item_address(item));
	if (w->rwc->try_lock) {
		if (!anon_vma_trylock_read(anon_vma)) {
			w->rwc->contended = true;
			w->stop = true;
			return;
		}
	} else {
		anon_vma_lock_read(anon_vma);
	}
	if (w->measure_time)
		begin = clock_measure_ns();
	switch (strategy) {
	case SP_STRATEGY_FULL:
		(void)visit_range(w, &loop, pass, item, 0, UINT64_MAX);
		break;
	case SP_STRATEGY_ADDRESS:
	case SP_STRATEGY_RETRY: {
		uint64_t index = item->address >> PAGE_SHIFT;

		(void)visit_range(w, &loop, pass, item, index, index);
		break;
	}
	case SP_STRATEGY_INDEX:
		(void)visit_range(w, &loop, pass, item, item->index, item->index);
		break;
	case SP_STRATEGY_DIRECT:
		visit_direct(w, &loop, pass, item, vma);
		break;
	case SP_NR_STRATEGIES:
		SP_BUG("no such strategy");
	}
	if (w->measure_time)
		loop.hold_ns = clock_measure_ns() - begin;
	anon_vma_unlock_read(anon_vma);
	if (w->metrics)
		walk_metrics_add_loop(w->metrics, pass, &loop);
}

/* Both passes over all items; stops where the walk stops. */
static void walk_items(struct walk *w, enum sp_strategy strategy,
		       const struct ksm_stable_node *node)
{
	for (unsigned int pass = 0; pass < 2 && !w->stop; pass++) {
		struct ksm_rmap_item *item;
		struct cds_hlist_node *pos;

		for (pos = node->hlist.next; pos && !w->stop; pos = pos->next) {
			item = container_of(pos, struct ksm_rmap_item, hlist);
			walk_item(w, strategy, pass, item);
		}
	}
}

static void fall_back(struct walk *w, const struct ksm_stable_node *node)
{
	if (w->metrics)
		w->metrics->nr_fallback++;
	event_emit(&w->vm->events, EV_rmap_walk_fallback, frame_pfn(&w->vm->frames, w->frame));
	walk_items(w, SP_STRATEGY_FULL, node);
}

static void walk_retry(struct walk *w, const struct ksm_stable_node *node)
{
	int64_t expected = w->frame->mapcount;

	w->count_found = true;
	walk_items(w, SP_STRATEGY_RETRY, node);
	if (!w->stop && w->found < expected)
		fall_back(w, node);
}

static void walk_direct(struct walk *w, struct ksm_stable_node *node)
{
	bool has_done = w->rwc->done != NULL;
	int32_t left;

	if (node->wide && !has_done) {
		walk_items(w, SP_STRATEGY_FULL, node);
		return;
	}
	walk_items(w, SP_STRATEGY_DIRECT, node);
	if (!has_done)
		return;
	if (w->finished) {
		if (!w->off_index)
			node->wide = false;
		return;
	}
	if (w->stop)
		return;
	left = w->frame->mapcount;
	if (!left)
		return;
	fall_back(w, node);
	if (w->frame->mapcount < left)
		node->wide = true;
}

static void trace_walk(const struct walk *w, const struct sp_walk_metrics *m)
{
	for (unsigned int pass = 0; pass < 2; pass++) {
		const struct sp_loop_metrics *p = &m->pass[pass];

		if (p->nr_loops)
			event_emit(&w->vm->events, EV_rmap_walk,
				   frame_pfn(&w->vm->frames, w->frame), pass,
				   p->nr_iteration_total, p->skip_addr_out_of_range,
				   p->skip_mm_mismatch, p->nr_rmap_one);
	}
}

static void walk_by(struct walk *w, enum sp_strategy strategy, struct ksm_stable_node *node)
{
	uint64_t begin = 0;

	if (w->measure_time)
		begin = clock_measure_ns();
	if (strategy == SP_STRATEGY_RETRY)
		walk_retry(w, node);
	else if (strategy == SP_STRATEGY_DIRECT)
		walk_direct(w, node);
	else
		walk_items(w, strategy, node);
	if (w->metrics)
		walk_metrics_add_walk(w->metrics,
				      w->measure_time ? clock_measure_ns() - begin : 0);
}

void rmap_walk_ksm(struct vm *vm, struct frame *frame, struct rmap_walk_control *rwc)
{
	struct ksm_stable_node *node = frame_mapping(frame);
	enum sp_strategy strategy = rwc->override ? rwc->strategy : ksm_of(vm)->strategy;
	struct rmap *rmap = rmap_of(vm);
	struct walk w = {
		.vm = vm,
		.frame = frame,
		.rwc = rwc,
		.metrics = rwc->override ? NULL : &rmap->metrics,
		.measure_time = rmap->measure_time && !rwc->override,
	};

	SP_ASSERT(frame->flags & FRAME_LOCKED);
	if (!node)
		return;
	/* An event tells of one walk: it is counted apart, which costs more than a short walk. */
	if (w.metrics && vm->events.fn) {
		struct sp_walk_metrics metrics = { 0 };

		w.metrics = &metrics;
		walk_by(&w, strategy, node);
		walk_metrics_fold(&rmap->metrics, &metrics);
		trace_walk(&w, &metrics);
	} else {
		walk_by(&w, strategy, node);
	}
}

void ksm_walk_note_swapin(struct ksm_stable_node *node)
{
	node->wide = true;
}

static bool find_mapping(struct frame *frame, struct vma *vma, uint64_t addr, void *arg)
{
	const struct walk *w = arg;

	(void)frame;
	return !maps_frame(w, vma, addr);
}

void ksm_walk_note_removal(struct vm *vm, struct frame *frame, struct ksm_stable_node *node,
			   const struct ksm_rmap_item *item)
{
	struct rmap_walk_control rwc = { .rmap_one = find_mapping };
	struct walk w = { .vm = vm, .frame = frame, .rwc = &rwc };

	SP_ASSERT(frame->flags & FRAME_LOCKED);
	if (node->wide || !frame->mapcount)
		return;
	rwc.arg = &w;
	for (unsigned int pass = 0; pass < 2 && !w.stop; pass++)
		walk_item(&w, SP_STRATEGY_DIRECT, pass, item);
	node->wide = w.stop;
}
