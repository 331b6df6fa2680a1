/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Canonical form and hash of a trial's machine; see state.h.
 *
 * The order of the text: the machine's knobs; each process with its window, the model's pages, its
 * VMAs and their page table entries; the circle of ksmd's slots with their rmap_items; the stable trees;
 * within a pass the unstable trees and the cursor; what is held; then every anon_vma, frame and
 * swap slot that was mentioned so far or is mentioned by one of them.
 *
 * Processes come in the order in which ksmd goes round. That leaves out those that are not registered; of
 * up to three of these each order is tried, and the smallest hash taken; of more, they stay in the
 * order of their names, so that fewer states are recognised as equal, and none wrongly.
 *
 * What is left out, and why nobody can tell:
 *
 *	numbers of mms, frames, slots, passes, handles of holds
 *		are compared for equality only (a pass number with an item's: its age is written)
 *	free frames and free slots
 *		all alike: which one is taken next is a name. STEP_RECLAIM and STEP_COMPACT work in
 *		the order of frame numbers and are outside the promise
 *	reference counts, mapcounts, RSS, lengths of lists
 *		those of frames are written all the same, the others are sums of what is written, which
 *		sp_validate() recounts
 *	shapes of interval and range trees
 *		both are asked for sequences only, and these are written; the stable and the unstable
 *		trees are searched by contents that change, so their shapes and colours are written
 *	empty page tables	matter to huge pages only, for which windows are too small
 *	checksums of frames	a cache of what their contents give
 *	FRAME_DIRTY		is written by many and read by nobody
 *	index of a KSM page	meaningless (K4)
 *	whose an anonymous page is that only a hold keeps	no entry leads to it any more
 *	page cache frames	a function of file and offset, whether read already or not
 *	unstable tree, cursor	between passes: begin_pass() begins both anew, and items left over
 *				from the last one are known by their age
 *	prefix, epoch of items; `checked` of nodes
 *		are valid within one call only
 *	time	is asked by the advisor, and by the pruning of chains, which is not due before a machine is
 *		stable_node_chains_prune_millisecs old. Clocks are written when the one is on or the
 *		other has become possible
 *	statistics	vmstat, pages_scanned, pages_skipped, walk metrics; but whether there ever was a huge
 *			page, which merge.c asks for
 *
 * An unmapped page in the swap cache may name an anon_vma that is gone. It is compared with those
 * that swap-in meets (W3), and a new one may come to lie where the old one lay: how many allocations
 * from now, the allocator's free list tells, so the place in it is written.
 */
#include "state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "ksm_internal.h"
#include "windows.h"

#define NR_WORDS 4096u
#define MAX_UNORDERED 3

/* Things in the order of their first mention: the first is 1; 0 is none. */
struct names {
	const void **list;
	unsigned int nr, max;
};

struct state_hasher {
	const struct trial *t;
	const struct ksm *ksm;
	struct names windows, files, vmas, anon_vmas, frames, slots, items, nodes;
	bool no_memory;
	unsigned int nr; /* words */
	uint32_t words[NR_WORDS];
};

/* ---- Writing ---- */

/* What does not fit is replaced by its hash. */
static void fold(struct state_hasher *h)
{
	XXH128_hash_t hash = XXH3_128bits(h->words, h->nr * sizeof(h->words[0]));

	memcpy(h->words, &hash, sizeof(hash));
	h->nr = sizeof(hash) / sizeof(h->words[0]);
}

static inline void put(struct state_hasher *h, uint32_t word)
{
	if (__builtin_expect(h->nr == NR_WORDS, 0))
		fold(h);
	h->words[h->nr++] = word;
}

static inline void put64(struct state_hasher *h, uint64_t value)
{
	put(h, (uint32_t)value);
	put(h, (uint32_t)(value >> 32));
}

static unsigned int names_find(const struct names *names, const void *thing)
{
	for (unsigned int i = 0; i < names->nr; i++)
		if (names->list[i] == thing)
			return i + 1;
	return 0;
}

static unsigned int name_of(struct state_hasher *h, struct names *names, const void *thing)
{
	unsigned int name = thing ? names_find(names, thing) : 0;

	if (name || !thing)
		return name;
	if (names->nr == names->max) {
		unsigned int max = names->max ? 2 * names->max : 32;
		const void **list = realloc(names->list, max * sizeof(*list));

		if (!list) {
			h->no_memory = true;
			return 0;
		}
		names->list = list;
		names->max = max;
	}
	names->list[names->nr++] = thing;
	return names->nr;
}

/* A page of some window, as which window and where; an offset in a file as it is. */
static void put_page(struct state_hasher *h, uint64_t page)
{
	uint64_t stride = h->t->shape.nr_pages + GUARD_PAGES;
	uint64_t at = page - (WINDOWS_START >> PAGE_SHIFT);

	if (page < WINDOWS_START >> PAGE_SHIFT) {
		put64(h, page << 1);
		return;
	}
	put64(h, (uint64_t)name_of(h, &h->windows, (const void *)(uintptr_t)(at / stride + 1)) << 32 |
			 at % stride << 1 | 1);
}

/* ---- Processes ---- */

static void put_pte(struct state_hasher *h, uint64_t addr, pte_t pte)
{
	const struct vm *vm = h->ksm->vm;
	unsigned int name = 0;

	if (pte_is_swap(pte))
		name = name_of(h, &h->slots, (const void *)((uintptr_t)pte_value(pte) + 1));
	else if (!pte_is_zero_page(pte))
		name = name_of(h, &h->frames, frame_of_pfn(&vm->frames, pte_value(pte)));
	put(h, (uint32_t)(addr >> PAGE_SHIFT));
	put(h, (uint32_t)(pte & ((UINT64_C(1) << PTE_VALUE_SHIFT) - 1)));
	put(h, name);
}

static void put_vma(struct state_hasher *h, const struct vma *vma)
{
	const struct anon_vma_chain *avc;
	uint64_t addr = vma->start;
	bool huge;
	pte_t pte;

	(void)name_of(h, &h->vmas, vma);
	put_page(h, vma->start >> PAGE_SHIFT);
	put(h, (uint32_t)vma_pages(vma));
	put_page(h, vma->pgoff);
	put(h, (uint32_t)vma->flags);
	put(h, name_of(h, &h->files, vma->file));
	put(h, name_of(h, &h->anon_vmas, vma->anon_vma));
	cds_list_for_each_entry(avc, &vma->anon_vma_chain, same_vma)
		put(h, name_of(h, &h->anon_vmas, avc->anon_vma));
	put(h, 0);
	for (; page_table_next(&vma->mm->pt, &addr, vma->end, &pte, &huge);
	     addr += huge ? HPAGE_PMD_SIZE : PAGE_SIZE)
		put_pte(h, addr - vma->start, pte);
	put(h, UINT32_MAX);
}

static void put_model(struct state_hasher *h, const struct model_page *page)
{
	put(h, page->mapped);
	if (!page->mapped)
		return;
	put(h, (uint32_t)(page->readable | page->writable << 1 | page->file << 2 |
			  page->pgoff << 8 | page->past << 16));
	put64(h, page->value);
}

static void put_process(struct state_hasher *h, const struct trial_process *p)
{
	const struct mm *mm = p->p->mm;
	const struct vma *vma;

	put_page(h, p->base >> PAGE_SHIFT);
	put(h, mm->flags);
	put64(h, (uint64_t)mm->ksm_zero_pages);
	put64(h, (uint64_t)mm->ksm_zero_leaked);
	for (unsigned int i = 0; i < h->t->shape.nr_pages; i++)
		put_model(h, &p->pages[i]);
	for_each_vma(vma, mm)
		put_vma(h, vma);
	put(h, UINT32_MAX);
}

/* ---- ksmd ---- */

/* Its place in the order; one that has exited is none of them. */
static uint32_t process_of(const struct state_hasher *h, const struct mm *mm,
			   const struct state *order)
{
	for (unsigned int i = 0; i < order->nr_processes; i++)
		if (h->t->processes[order->order[i]].p->mm == mm)
			return i + 1;
	return 0;
}

static void put_item(struct state_hasher *h, const struct ksm_rmap_item *item)
{
	(void)name_of(h, &h->items, item);
	put_page(h, item->address >> PAGE_SHIFT);
	put(h, item->oldchecksum);
	put(h, (uint32_t)(item->age | item->remaining_skips << 8));
	if (item->address & STABLE_FLAG) {
		put(h, 1);
		put(h, name_of(h, &h->nodes, item->head));
		put(h, name_of(h, &h->anon_vmas, item->anon_vma));
		put_page(h, item->index);
	} else if (item->address & UNSTABLE_FLAG) {
		put(h, 2);
		put(h, (uint8_t)(h->ksm->scan.seqnr - item->address));
	} else {
		put(h, 0);
	}
}

static void put_cursor(struct state_hasher *h)
{
	const struct ksm_scan_cursor *scan = &h->ksm->scan;
	struct ksm_rmap_item *const *at = &scan->mm_slot->rmap_list;
	uint32_t nr = 0;

	put_page(h, scan->address >> PAGE_SHIFT);
	while (at != scan->rmap_list && *at) {
		at = &(*at)->next;
		nr++;
	}
	put(h, nr);
}

static void put_slots(struct state_hasher *h, const struct state *order)
{
	const struct ksm *ksm = h->ksm;
	const struct ksm_mm_slot *slot;

	cds_list_for_each_entry(slot, &ksm->mm_head.link, link) {
		put(h, process_of(h, slot->mm, order));
		for (const struct ksm_rmap_item *item = slot->rmap_list; item; item = item->next) {
			put(h, 1);
			put_item(h, item);
		}
		put(h, ksm->scan.mm_slot == slot ? 2 : 0);
		if (ksm->scan.mm_slot == slot)
			put_cursor(h);
	}
	put(h, UINT32_MAX);
}

static void put_node(struct state_hasher *h, const struct ksm_stable_node *node)
{
	const struct frame *frame = frame_of_pfn(&h->ksm->vm->frames, node->kpfn);
	const struct ksm_rmap_item *item;
	struct cds_hlist_node *pos;

	put(h, name_of(h, &h->nodes, node));
	put(h, (uint32_t)node->nid);
	put(h, node->wide);
	/* A page that has gone, or become another, is one that will be found to have. */
	put(h, frame->mapping == ((uintptr_t)node | MAPPING_KSM) ? name_of(h, &h->frames, frame) : 0);
	for (pos = node->hlist.next; pos; pos = pos->next) {
		item = container_of(pos, struct ksm_rmap_item, hlist);
		put(h, names_find(&h->items, item));
	}
	put(h, 0);
}

/* The advisor asks for it; so does the pruning of chains, once the machine is old enough for one. */
static bool time_matters(const struct ksm *ksm)
{
	uint64_t prune_ms = ksm->knobs.stable_node_chains_prune_millisecs;

	return ksm->knobs.advisor_mode || (prune_ms && clock_now_ms(&ksm->vm->clock) >= prune_ms);
}

/* Root, then what is left of it, then what is right. */
static void put_stable(struct state_hasher *h, const struct rb_node *rb)
{
	const struct ksm_stable_node *node = container_of(rb, struct ksm_stable_node, node), *dup;
	struct cds_hlist_node *pos;

	if (!rb) {
		put(h, 0);
		return;
	}
	put(h, 1 | (uint32_t)(rb->parent_color & 1) << 1 | (uint32_t)node_is_chain(node) << 2);
	if (node_is_chain(node)) {
		if (time_matters(h->ksm))
			put64(h, node->chain_prune_time_ms);
		for (pos = node->hlist.next; pos; pos = pos->next) {
			dup = container_of(pos, struct ksm_stable_node, hlist_dup);
			put(h, 1);
			put_node(h, dup);
		}
		put(h, 0);
	} else {
		put_node(h, node);
	}
	put_stable(h, rb->left);
	put_stable(h, rb->right);
}

static void put_unstable(struct state_hasher *h, const struct rb_node *rb)
{
	if (!rb) {
		put(h, 0);
		return;
	}
	put(h, names_find(&h->items, container_of(rb, struct ksm_rmap_item, node)));
	put(h, (uint32_t)(rb->parent_color & 1));
	put_unstable(h, rb->left);
	put_unstable(h, rb->right);
}

static void put_trees(struct state_hasher *h)
{
	const struct ksm *ksm = h->ksm;
	const struct ksm_stable_node *node;

	for (uint32_t nid = 0; nid < ksm->vm->frames.nr_nodes; nid++)
		put_stable(h, ksm->stable_tree[nid].node);
	cds_list_for_each_entry(node, &ksm->migrate_nodes, list)
		put_node(h, node);
	put(h, UINT32_MAX);
	if (ksm->scan.mm_slot == &ksm->mm_head)
		return;
	for (uint32_t nid = 0; nid < ksm->vm->frames.nr_nodes; nid++)
		put_unstable(h, ksm->unstable_tree[nid].node);
}

/* ---- The machine ---- */

/* Where they are short, how many are left; and what is gone. */
static void put_limits(struct state_hasher *h)
{
	const struct shape *shape = &h->t->shape;
	const struct vm *vm = h->ksm->vm;

	put(h, shape->nr_frames | (uint32_t)shape->nr_swap_slots << 8 |
		       (uint32_t)shape->nr_maps << 16);
	for (unsigned int nid = 0; shape->nr_frames && nid < shape->nr_nodes; nid++)
		put(h, vm->frames.node[nid].nr_used);
	for (unsigned int nid = 0; nid < vm->frames.nr_nodes; nid++)
		put(h, vm->frames.node[nid].nr_retired << 1 | vm->frames.node[nid].offline);
	if (shape->nr_swap_slots)
		put64(h, vm->swap.nr_used);
}

static void put_machine(struct state_hasher *h)
{
	const struct ksm *ksm = h->ksm;
	const struct vm *vm = ksm->vm;

	put(h, h->t->shape.nr_pages | (uint32_t)h->t->shape.nr_nodes << 8 |
		       (uint32_t)ksm->strategy << 16);
	put_limits(h);
	for (size_t i = 0; i < sizeof(ksm->knobs) / sizeof(uint64_t); i++) {
		uint64_t knob;

		memcpy(&knob, (const char *)&ksm->knobs + i * sizeof(knob), sizeof(knob));
		put64(h, knob);
	}
	put64(h, (uint64_t)ksm->count.ksm_zero_pages);
	put(h, ksm->zero_leaked | (uint32_t)(vm->stat.thp_fault_alloc != 0) << 1);
	put64(h, vm->nr_orphan_entries);
	if (!time_matters(ksm))
		return;
	put64(h, vm->clock.now_ns);
	put64(h, ksm->wake_ns);
	put64(h, ksm->cpu_ns);
	put64(h, ksm->advisor.start_ms);
	put64(h, ksm->advisor.scan_time);
	put64(h, ksm->advisor.change);
	put64(h, ksm->advisor.cpu_ns);
}

static void put_holds(struct state_hasher *h)
{
	const struct sp_machine *m = h->t->machine;

	for (unsigned int i = 0; i < MAX_HOLDS; i++) {
		uint64_t hold = h->t->holds[i];

		put(h, hold ? name_of(h, &h->frames,
				      frame_of_pfn(&m->vm.frames, m->holds[hold - 1]))
			    : 0);
	}
}

static void put_anon_vma(struct state_hasher *h, const struct anon_vma *anon_vma)
{
	struct interval_node *node;

	put(h, name_of(h, &h->anon_vmas, anon_vma->root));
	put(h, anon_vma->refcount);
	put(h, anon_vma->num_children);
	put(h, anon_vma->num_active_vmas);
	put(h, anon_vma->forked);
	/* Its parent may be gone once nobody is linked to it any more. */
	if (!interval_tree_empty(&anon_vma->tree))
		put(h, name_of(h, &h->anon_vmas, anon_vma->parent));
	for (node = interval_first(&anon_vma->tree, 0, UINT64_MAX); node;
	     node = interval_next(node, 0, UINT64_MAX))
		put(h, names_find(&h->vmas, avc_of_node(node)->vma));
	put(h, UINT32_MAX);
}

/* How many objects of that size will be taken from the region before this one is. */
static void put_place_in_free_list(struct state_hasher *h, const void *gone)
{
	const struct pool *pool = &h->ksm->vm->anon_vma_pool;
	const struct region *region = pool->mem->region;
	uint32_t at, wanted, nr = 0;

	/* The sanitizer sees to it that nothing is where something else was, for long enough. */
	if (!region || REGION_USES_MALLOC)
		return;
	at = region->free[region_small_class(pool->object_bytes)];
	wanted = (uint32_t)((const char *)gone - (const char *)region);
	for (; at && at != wanted; nr++)
		memcpy(&at, (const char *)region + at, sizeof(at));
	put(h, nr);
	/* Something else lies there now: let nothing be equal to that. */
	put(h, at ? 0 : wanted);
}

static void put_frame(struct state_hasher *h, const struct frame *frame)
{
	bool used = frame->mapcount || (frame->flags & FRAME_SWAPCACHE);

	if (frame->flags & FRAME_FILE) {
		put(h, FRAME_FILE);
		put(h, name_of(h, &h->files, frame_mapping(frame)));
		put64(h, frame->index);
		return;
	}
	put(h, frame->flags & (uint16_t)~(FRAME_SUM_VALID | FRAME_DIRTY));
	put(h, frame->nr_holds);
	put(h, (uint32_t)frame->refcount);
	put(h, (uint32_t)frame->mapcount);
	put(h, frame->nid);
	put64(h, content_prefix(frame->content));
	put(h, frame->flags & FRAME_SWAPCACHE
		       ? name_of(h, &h->slots, (const void *)((uintptr_t)frame->swap + 1))
		       : 0);
	put(h, (uint32_t)(frame->mapping & MAPPING_FLAGS));
	if (frame_is_ksm(frame)) {
		put(h, name_of(h, &h->nodes, frame_node(frame)));
	} else if (used && frame_mapping(frame)) {
		unsigned int name = names_find(&h->anon_vmas, frame_mapping(frame));

		put(h, name);
		put_page(h, frame->index);
		if (!name)
			put_place_in_free_list(h, frame_mapping(frame));
	}
}

static void put_slot(struct state_hasher *h, const struct swap_slot *slot)
{
	const struct vm *vm = h->ksm->vm;

	put(h, slot->count);
	put(h, slot->pfn == PFN_NONE ? 0
				     : name_of(h, &h->frames, frame_of_pfn(&vm->frames, slot->pfn)));
	put(h, slot->written | (uint32_t)slot->unknown << 1);
	if (slot->written)
		put64(h, content_prefix(slot->content));
}

/* What was mentioned, and what that mentions. */
static void put_mentioned(struct state_hasher *h)
{
	const struct swap *swap = &h->ksm->vm->swap;
	unsigned int frames = 0, slots = 0;

	/* All there are: frames do not keep any. */
	for (unsigned int i = 0; i < h->anon_vmas.nr; i++)
		put_anon_vma(h, h->anon_vmas.list[i]);
	while (frames < h->frames.nr || slots < h->slots.nr) {
		if (frames < h->frames.nr)
			put_frame(h, h->frames.list[frames++]);
		else
			put_slot(h, &swap->slots[(uintptr_t)h->slots.list[slots++] - 1]);
	}
}

static int hash_in_order(struct state_hasher *h, struct state *s)
{
	XXH128_hash_t hash;

	h->nr = 0;
	h->windows.nr = h->files.nr = h->vmas.nr = h->anon_vmas.nr = 0;
	h->frames.nr = h->slots.nr = h->items.nr = h->nodes.nr = 0;
	put_machine(h);
	for (unsigned int i = 0; i < s->nr_processes; i++)
		put_process(h, &h->t->processes[s->order[i]]);
	put(h, UINT32_MAX);
	put_slots(h, s);
	put_trees(h);
	put_holds(h);
	put_mentioned(h);
	hash = XXH3_128bits(h->words, h->nr * sizeof(h->words[0]));
	s->hash[0] = hash.low64;
	s->hash[1] = hash.high64;
	return h->no_memory ? -ENOMEM : 0;
}

/* ---- The order of processes ---- */

static void order_registered(const struct state_hasher *h, struct state *s)
{
	const struct ksm_mm_slot *slot;

	cds_list_for_each_entry(slot, &h->ksm->mm_head.link, link) {
		for (unsigned int i = 0; i < MAX_PROCESSES; i++)
			if (h->t->processes[i].p && h->t->processes[i].p->mm == slot->mm)
				s->order[s->nr_processes++] = (uint8_t)i;
	}
}

static void order_others(const struct state_hasher *h, struct state *s)
{
	for (unsigned int i = 0; i < MAX_PROCESSES; i++)
		if (h->t->processes[i].p && !h->t->processes[i].p->mm->ksm_slot)
			s->order[s->nr_processes++] = (uint8_t)i;
}

static bool hash_less(const struct state *a, const struct state *b)
{
	return a->hash[1] != b->hash[1] ? a->hash[1] < b->hash[1] : a->hash[0] < b->hash[0];
}

/* Tries every order of those from `at` on. */
static int hash_orders(struct state_hasher *h, const struct state *s, unsigned int at,
		       struct state *best, bool *any)
{
	struct state next;
	int err;

	if (at + 1 >= s->nr_processes) {
		next = *s;
		err = hash_in_order(h, &next);
		if (!err && (!*any || hash_less(&next, best))) {
			*best = next;
			*any = true;
		}
		return err;
	}
	for (unsigned int i = at; i < s->nr_processes; i++) {
		next = *s;
		next.order[at] = s->order[i];
		next.order[i] = s->order[at];
		err = hash_orders(h, &next, at + 1, best, any);
		if (err)
			return err;
	}
	return 0;
}

int state_hash(struct state_hasher *h, const struct trial *t, struct state *ret)
{
	struct state s = {0};
	unsigned int nr_registered;
	bool any = false;

	h->t = t;
	h->ksm = ksm_of(&t->machine->vm);
	h->no_memory = false;
	order_registered(h, &s);
	nr_registered = s.nr_processes;
	order_others(h, &s);
	if (s.nr_processes - nr_registered > MAX_UNORDERED || s.nr_processes - nr_registered < 2) {
		*ret = s;
		return hash_in_order(h, ret);
	}
	return hash_orders(h, &s, nr_registered, ret, &any);
}

int state_hasher_create(struct state_hasher **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void state_hasher_destroy(struct state_hasher *h)
{
	struct names *all[] = {&h->windows, &h->files, &h->vmas, &h->anon_vmas,
			       &h->frames, &h->slots, &h->items, &h->nodes};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		free(all[i]->list);
	free(h);
}
