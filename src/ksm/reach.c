/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many entries of a KSM page a walk would reach, without walking: for oracles that judge every
 * KSM page of a tiny machine after every operation.
 *
 * A walk goes from an item to the VMAs of its anon_vma and looks what they map at the item's
 * address. Here it is asked the other way round: each mm is looked into at the item's address, and
 * only where the page is mapped there, whether the strategy (walk.c) would visit the VMA that maps
 * it. Both give the same entries, because an mm has one VMA at an address, and a VMA is in the tree
 * of an anon_vma exactly if its chain names it:
 *
 *	full     linked to the item's anon_vma
 *	address  the same, and it holds page offset address >> PAGE_SHIFT
 *	retry    as address; as full, when that found fewer than the mapcount
 *	index    linked, and it holds the item's index
 *	direct   linked, and it is of the item's mm; or the anon_vma was forked, and it holds the
 *	         item's index or the one that the VMA of the item's mm has there now. As full, if
 *	         the node is wide
 *
 * Since no more can be reached than are mapped, it ends when all are.
 *
 * That is items times mms, so it is for few mms; rmap_count_reached() walks where there are more.
 *
 * Locks: none; nobody else works on the machine.
 */
#include "ksm_internal.h"

#include "entry.h"

/* Distinct entries that are told apart here. */
#define MAX_ENTRIES 32u

struct reach {
	struct vm *vm;
	struct frame *frame;
	uint32_t pfn;
	uint32_t nr;      /* distinct ones in `entry` */
	uint32_t found;   /* with repetitions */
	struct pte_ref entry[MAX_ENTRIES];
};

static bool holds(const struct vma *vma, uint64_t index)
{
	return index >= vma->pgoff && index <= vma_last_pgoff(vma);
}

static bool direct_visits(const struct ksm_rmap_item *item, const struct vma *vma, uint64_t addr)
{
	const struct vma *own;

	if (vma->mm == item->mm)
		return true;
	if (!item->anon_vma->forked)
		return false;
	if (holds(vma, item->index))
		return true;
	own = vma_lookup(item->mm, addr);
	return own && holds(vma, vma_linear_index(own, addr));
}

/* vma contains addr, which is the item's. */
static bool visits(enum sp_strategy strategy, const struct ksm_rmap_item *item,
		   const struct vma *vma, uint64_t addr)
{
	if (!vma_linked_to(vma, item->anon_vma))
		return false;
	switch (strategy) {
	case SP_STRATEGY_FULL:
		return true;
	case SP_STRATEGY_ADDRESS:
	case SP_STRATEGY_RETRY:
		return holds(vma, addr >> PAGE_SHIFT);
	case SP_STRATEGY_INDEX:
		return holds(vma, item->index);
	case SP_STRATEGY_DIRECT:
		return direct_visits(item, vma, addr);
	case SP_NR_STRATEGIES:
		break;
	}
	SP_BUG("no such strategy");
}

static bool is_new(const struct reach *r, const struct mm *mm, uint64_t addr)
{
	for (uint32_t i = 0; i < r->nr; i++)
		if (r->entry[i].addr == addr && r->entry[i].mm == mm)
			return false;
	return true;
}

static void reach_item(struct reach *r, enum sp_strategy strategy, const struct ksm_rmap_item *item)
{
	uint64_t addr = item_address(item);
	struct mm *mm;

	cds_list_for_each_entry(mm, &r->vm->mms, link) {
		bool new;

		if (!entry_of(mm, addr, r->pfn, TRUTH_MAPPED))
			continue;
		/* Only retry wants to know of repetitions. */
		new = is_new(r, mm, addr);
		if (!new && strategy != SP_STRATEGY_RETRY)
			continue;
		if (!visits(strategy, item, vma_lookup(mm, addr), addr))
			continue;
		r->found++;
		if (new)
			r->entry[r->nr++] = (struct pte_ref){mm, addr};
	}
}

static void reach_all(struct reach *r, enum sp_strategy strategy,
		      const struct ksm_stable_node *node)
{
	uint32_t mapped = (uint32_t)r->frame->mapcount;
	struct cds_hlist_node *pos;

	for (pos = node->hlist.next; pos && r->nr < mapped; pos = pos->next)
		reach_item(r, strategy, container_of(pos, struct ksm_rmap_item, hlist));
}

bool ksm_hook_count_reached(struct vm *vm, struct frame *frame, enum sp_strategy strategy,
			    uint64_t *ret)
{
	const struct ksm_stable_node *node = frame_mapping(frame);
	struct reach r;

	if (frame->mapcount > (int32_t)MAX_ENTRIES)
		return false;
	r.vm = vm;
	r.frame = frame;
	r.pfn = frame_pfn(&vm->frames, frame);
	r.nr = r.found = 0;
	if (node && strategy == SP_STRATEGY_DIRECT && node->wide)
		strategy = SP_STRATEGY_FULL;
	if (node)
		reach_all(&r, strategy, node);
	if (node && strategy == SP_STRATEGY_RETRY && r.found < (uint32_t)frame->mapcount)
		reach_all(&r, SP_STRATEGY_FULL, node);
	*ret = r.nr;
	return true;
}
