/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The judges; see oracle.h.
 *
 * The look at all page tables is one pass over the windows, which are all the memory there is in a
 * trial; that they are is checked by the way, since a page that is mapped more often than the windows
 * map it is a failed recount. It finds how often each merged page is mapped and what every page holds.
 * Only a merged page that a walk does not reach as often costs more than that.
 */
#include "oracle.h"

#include <errno.h>

#include "content.h"
#include "ksm_internal.h"

/* No more pages than all windows have. */
#define MAX_ENTRIES (MAX_PROCESSES * MAX_PAGES)

/* The merged pages of a trial, and how many entries map each. */
struct merged {
	unsigned int nr;
	struct {
		uint32_t pfn;
		int32_t nr_entries;
	} pages[MAX_ENTRIES];
};

static struct vm *vm_of(const struct trial *t)
{
	return &t->machine->vm;
}

static struct frame *frame_at(const struct trial *t, uint32_t pfn)
{
	return frame_of_pfn(&vm_of(t)->frames, pfn);
}

void oracle_reset(struct verdict *v)
{
	v->nr = 0;
}

const struct failure *verdict_find(const struct verdict *v, const struct cause *cause)
{
	for (unsigned int i = 0; i < v->nr; i++)
		if (cause_equal(&v->failures[i].cause, cause))
			return &v->failures[i];
	return NULL;
}

static void add_failure(struct verdict *v, const struct failure *failure)
{
	if (v->nr < MAX_FAILURES && !verdict_find(v, &failure->cause))
		v->failures[v->nr++] = *failure;
}

/* ---- Features ------------------------------------------------------------------------ */

/* The item that leads to addr, or NULL: the mm's own, else one of an mm that shares the anon_vma. */
static const struct ksm_rmap_item *item_for(const struct frame *frame, const struct mm *mm,
					    const struct vma *vma, uint64_t addr,
					    uint32_t *features)
{
	const struct ksm_stable_node *node = frame_node(frame);
	uint64_t index = vma ? vma_linear_index(vma, addr) : 0;
	const struct ksm_rmap_item *own = NULL, *relative = NULL;
	struct cds_hlist_node *pos;

	if (!node)
		*features |= FEATURE_NO_NODE;
	for (pos = node ? node->hlist.next : NULL; pos; pos = pos->next) {
		const struct ksm_rmap_item *item =
			container_of(pos, struct ksm_rmap_item, hlist);

		if (item_address(item) != addr)
			continue;
		if (item->mm == mm)
			own = item;
		else if (vma && vma_linked_to(vma, item->anon_vma) &&
			 (!relative || item->index == index))
			relative = item;
	}
	*features |= own ? FEATURE_OWN_ITEM : 0;
	*features |= relative ? FEATURE_RELATIVE_ITEM : 0;
	if (own && vma && !vma_linked_to(vma, own->anon_vma))
		*features |= FEATURE_OTHER_ANON_VMA;
	if (own ? own->index != index : relative && relative->index != index)
		*features |= FEATURE_OTHER_INDEX;
	return own ? own : relative;
}

static bool is_reached(struct vm *vm, struct frame *frame, enum truth_kind kind,
		       enum sp_strategy strategy, const struct mm *mm, uint64_t addr)
{
	struct pte_refs refs;
	uint64_t calls;
	bool locked = frame_trylock(frame);
	bool found = false;
	int err = rmap_reached(vm, frame, frame_pfn(&vm->frames, frame), kind, strategy, &refs, &calls);

	if (locked)
		frame_unlock(frame);
	/* Out of memory: reached is what accuses nobody. */
	if (err)
		return true;
	for (uint64_t i = 0; i < refs.nr && !found; i++)
		found = refs.refs[i].mm == mm && refs.refs[i].addr == addr;
	pte_refs_free(&refs);
	return found;
}

static uint32_t past_features(unsigned int past)
{
	return (past & PAST_FORKED ? FEATURE_FORKED : 0) |
	       (past & PAST_SHARED ? FEATURE_SHARED : 0) |
	       (past & PAST_SWAPPED ? FEATURE_SWAPPED : 0) |
	       (past & PAST_MOVED ? FEATURE_MOVED : 0) |
	       (past & PAST_UNMERGED ? FEATURE_UNMERGED : 0) |
	       (past & PAST_INHERITED ? FEATURE_INHERITED : 0) |
	       (past & PAST_REJOINED ? FEATURE_REJOINED : 0);
}

/* merge_across_nodes 0: the page was migrated, and its node has not followed yet (K17, K30a). */
static bool in_wrong_tree(struct ksm *ksm, const struct frame *frame)
{
	const struct ksm_stable_node *node = frame_node(frame);

	return node && (node_is_migrating(ksm, node) || node->nid != tree_of(ksm, frame));
}

/* ksmd has seen the page, and its item leads elsewhere or nowhere. */
static bool is_off_list(const struct frame *frame, const struct mm *mm, uint64_t addr)
{
	const struct ksm_mm_slot *slot = mm->ksm_slot;
	const struct ksm_rmap_item *item = slot ? slot->rmap_list : NULL;

	while (item && item_address(item) < addr)
		item = item->next;
	return item && item_address(item) == addr && !item_is_on(item, frame_node(frame));
}

static uint32_t features_but_linux(struct mm *mm, uint64_t addr, struct frame *frame,
				   unsigned int past, const struct ksm_rmap_item **item)
{
	const struct vma *vma = vma_lookup(mm, addr);
	uint32_t features = past_features(past);

	*item = item_for(frame, mm, vma, addr, &features);
	if (in_wrong_tree(ksm_of(mm->vm), frame))
		features |= FEATURE_WRONG_TREE;
	if (is_off_list(frame, mm, addr))
		features |= FEATURE_OFF_LIST;
	if (!vma)
		return features;
	if (vma->file)
		features |= FEATURE_FILE;
	else if (vma_linear_index(vma, addr) != addr >> PAGE_SHIFT)
		features |= FEATURE_MOVED_VMA;
	if (!(vma->flags & VM_MERGEABLE))
		features |= FEATURE_NOT_MERGEABLE;
	return features;
}

uint32_t oracle_features(struct vm *vm, struct mm *mm, uint64_t addr, struct frame *frame,
			 unsigned int past)
{
	const struct ksm_rmap_item *item;
	uint32_t features = features_but_linux(mm, addr, frame, past, &item);
	pte_t pte = vm_pte(mm, addr);

	if (pte_present(pte) &&
	    !is_reached(vm, frame, TRUTH_MAPPED, SP_STRATEGY_FULL, mm, addr))
		features |= FEATURE_LINUX;
	return features;
}

/* ---- Walks --------------------------------------------------------------------------- */

/* Every page of every process that runs, in turn. */
#define for_each_page(t, i, j)                                                                     \
	for (unsigned int i = 0; i < MAX_PROCESSES; i++)                                           \
		for (unsigned int j = 0; (t)->processes[i].p && j < (t)->shape.nr_pages; j++)

/* vm_pte(), of which there are several for each step: most often without a call. */
static pte_t pte_of(const struct trial *t, unsigned int process, unsigned int page)
{
	const struct trial_process *p = &t->processes[process];
	const struct page_table *pt = &p->p->mm->pt;
	uint64_t addr = p->base + page * SP_PAGE_SIZE, at = (addr - pt->window) / SP_PAGE_SIZE;

	if (pt->windowed && at < PAGE_TABLE_WINDOW)
		return pt->window_used >> at & 1 ? pt->window_entry[at] : 0;
	return vm_pte(p->p->mm, addr);
}

static void fail_page(struct trial *t, struct verdict *v, enum failure_kind kind, unsigned int index,
		      unsigned int process, unsigned int page, struct frame *frame)
{
	struct mm *mm = t->processes[process].p->mm;
	uint64_t addr = trial_address(t, process, page);
	const struct vma *vma = vma_lookup(mm, addr);
	const struct ksm_rmap_item *item;
	struct failure failure = {
		.step = (uint16_t)index,
		.process = (uint8_t)process,
		.page = (uint8_t)page,
	};
	uint32_t features = features_but_linux(
		mm, addr, frame, t->processes[process].pages[page].past, &item);

	/* Only there is it Linux's miss that is told. */
	if (kind == FAILURE_MISS && t->strategy == SP_STRATEGY_FULL)
		features |= FEATURE_LINUX;
	failure.cause = cause_of(kind, t->strategy, features);
	failure.linear_index = vma ? vma_linear_index(vma, addr) : 0;
	if (t->strategy == SP_STRATEGY_ADDRESS || t->strategy == SP_STRATEGY_RETRY || !item)
		failure.asked = addr >> PAGE_SHIFT;
	else
		failure.asked = item->index;
	add_failure(v, &failure);
}

/* Pages of a trial as bits. */
static uint64_t page_bit(unsigned int process, unsigned int page)
{
	return UINT64_C(1) << (process * MAX_PAGES + page);
}

struct reach {
	const struct trial *t;
	uint32_t pfn;
	uint64_t pages;
};

static bool maps_pfn(pte_t pte, uint32_t pfn)
{
	return pte_present(pte) && !pte_is_zero_page(pte) && pte_value(pte) == pfn;
}

static bool note_reached(struct frame *frame, struct vma *vma, uint64_t addr, void *arg)
{
	struct reach *reach = arg;

	(void)frame;
	if (!maps_pfn(vm_pte(vma->mm, addr), reach->pfn))
		return true;
	for (unsigned int i = 0; i < MAX_PROCESSES; i++) {
		const struct trial_process *p = &reach->t->processes[i];

		if (p->p && p->p->mm == vma->mm)
			reach->pages |= page_bit(
				i, (unsigned int)((addr - p->base) / SP_PAGE_SIZE));
	}
	return true;
}

/* What a walk without `done` finds. */
static uint64_t reached_pages(const struct trial *t, struct frame *frame, enum sp_strategy strategy)
{
	struct vm *vm = vm_of(t);
	struct reach reach = {t, frame_pfn(&vm->frames, frame), 0};
	struct rmap_walk_control rwc = {
		.arg = &reach,
		.rmap_one = note_reached,
		.override = true,
		.strategy = strategy,
	};

	frame_lock(frame);
	rmap_walk(vm, frame, &rwc);
	frame_unlock(frame);
	return reach.pages;
}

static void judge_missed(struct trial *t, unsigned int index, uint32_t pfn, struct verdict *v)
{
	struct frame *frame = frame_at(t, pfn);
	uint64_t missed = ~reached_pages(t, frame, t->strategy);

	/* Linux's walk finds all, most often: counting is quicker. */
	if (t->strategy != SP_STRATEGY_FULL &&
	    rmap_count_reached(vm_of(t), frame, SP_STRATEGY_FULL) != (uint64_t)frame->mapcount)
		missed &= reached_pages(t, frame, SP_STRATEGY_FULL);
	for_each_page(t, i, j)
		if (missed & page_bit(i, j) && maps_pfn(pte_of(t, i, j), pfn))
			fail_page(t, v, FAILURE_MISS, index, i, j, frame);
}

static void fail_plainly(struct verdict *v, enum failure_kind kind, unsigned int index,
			 const struct step *step)
{
	struct failure failure = {
		.cause = cause_of(kind, SP_STRATEGY_FULL, 0),
		.step = (uint16_t)index,
		.process = step_has_process(step->kind) ? step->process : 0,
		.page = step_has_range(step->kind) ? step->first : 0,
	};

	add_failure(v, &failure);
}

/* False: the windows are not all that maps a merged page, or its mapcount is wrong. */
static bool judge_walks(struct trial *t, unsigned int index, const struct merged *merged,
			struct verdict *v)
{
	for (unsigned int i = 0; i < merged->nr; i++) {
		struct frame *frame = frame_at(t, merged->pages[i].pfn);
		uint64_t entries = (uint64_t)merged->pages[i].nr_entries;

		if (frame->mapcount != merged->pages[i].nr_entries)
			return false;
		if (rmap_count_reached(vm_of(t), frame, t->strategy) != entries)
			judge_missed(t, index, merged->pages[i].pfn, v);
	}
	return true;
}

/* ---- Contents ------------------------------------------------------------------------ */

static void note_merged(struct merged *merged, uint32_t pfn)
{
	for (unsigned int i = 0; i < merged->nr; i++) {
		if (merged->pages[i].pfn == pfn) {
			merged->pages[i].nr_entries++;
			return;
		}
	}
	merged->pages[merged->nr].pfn = pfn;
	merged->pages[merged->nr++].nr_entries = 1;
}

static uint64_t swapped_value(const struct vm *vm, uint32_t slot)
{
	const struct frame *frame = swap_cache_find(&vm->swap, slot);

	return content_prefix(frame ? frame->content : vm->swap.slots[slot].content);
}

/* What a read would find; false where it would wait for a migration. */
static bool page_value(const struct trial *t, const struct model_page *page, pte_t pte, uint64_t *ret)
{
	if (!pte) {
		*ret = trial_untouched_value(t, page);
	} else if (pte_is_migration(pte)) {
		return false;
	} else if (pte_is_zero_page(pte)) {
		*ret = 0;
	} else if (pte_is_swap(pte)) {
		*ret = swapped_value(vm_of(t), pte_value(pte));
	} else {
		*ret = content_prefix(frame_at(t, pte_value(pte))->content);
	}
	return true;
}

/* One pass over all pages; false when one does not hold what it should. */
static bool look(struct trial *t, unsigned int oracles, unsigned int index, struct merged *merged,
		 struct verdict *v)
{
	bool held = true;

	merged->nr = 0;
	for_each_page(t, i, j) {
		const struct model_page *page = &t->processes[i].pages[j];
		pte_t pte = pte_of(t, i, j);
		uint64_t value;

		if (!page->mapped && !pte)
			continue;
		if (pte_present(pte) && !pte_is_zero_page(pte) &&
		    frame_is_ksm(frame_at(t, pte_value(pte))))
			note_merged(merged, pte_value(pte));
		if (!(oracles & ORACLE_CONTENTS))
			continue;
		if (!page_value(t, page, pte, &value))
			continue;
		/* An entry where nothing is mapped is as wrong as another value. */
		if (page->mapped && value == page->value)
			continue;
		add_failure(v, &(struct failure){
				       .cause = cause_of(FAILURE_CONTENT, t->strategy, 0),
				       .step = (uint16_t)index,
				       .process = (uint8_t)i,
				       .page = (uint8_t)j,
				       .holds = value,
				       .should_hold = page->value,
			       });
		held = false;
	}
	return held;
}

/* ---- What migration did --------------------------------------------------------------- */

static void find_orphans(struct trial *t, unsigned int index, struct verdict *v)
{
	for_each_page(t, i, j) {
		pte_t pte = pte_of(t, i, j);

		if (pte_is_migration(pte))
			fail_page(t, v, FAILURE_ORPHAN, index, i, j, frame_at(t, pte_value(pte)));
	}
}

/*
 * A page that could not be unmapped although nobody holds it. Where a walk of a merged page does not
 * find every mapping, that is told as a miss; of others no misses are told.
 */
static void judge_pinned(struct trial *t, unsigned int index, const struct step *step,
			 struct verdict *v)
{
	pte_t pte = pte_of(t, step->process, step->first);
	struct frame *frame;

	if (!pte_present(pte) || pte_is_zero_page(pte))
		return;
	frame = frame_at(t, pte_value(pte));
	if (!frame_is_anon(frame) || frame->nr_holds ||
	    frame->refcount != frame->mapcount + !!(frame->flags & FRAME_SWAPCACHE))
		return;
	if (frame_is_ksm(frame) &&
	    (rmap_count_reached(vm_of(t), frame, t->strategy) != (uint64_t)frame->mapcount ||
	     rmap_count_reached(vm_of(t), frame, SP_STRATEGY_FULL) != (uint64_t)frame->mapcount))
		return;
	fail_page(t, v, FAILURE_PINNED, index, step->process, step->first, frame);
}

/* Errors that no step can have on such a machine, without orphans. */
static bool is_impossible(const struct shape *shape, const struct step *step, int64_t result)
{
	bool limited = shape_is_limited(shape) && result == -ENOMEM;

	if (result == -EDEADLK || result == -ESRCH || result == -ENOSYS)
		return true;
	switch ((enum step_kind)step->kind) {
	case STEP_PROCESS:
	case STEP_FORK:
	case STEP_EXIT:
	case STEP_DROP:
	case STEP_RECLAIM:
		return true;
	case STEP_MAP:
	case STEP_MAP_FILE:
	case STEP_MUNMAP:
	case STEP_MERGE_ANY:
	case STEP_COMPACT:
		return !limited;
	case STEP_SCAN:
	case STEP_SCAN_PAGES:
		return result != -EAGAIN;
	case STEP_FILL:
	case STEP_WRITE:
	case STEP_TOUCH:
		return result != -EFAULT && !limited;
	default:
		return false;
	}
}

/* ---- All together ---------------------------------------------------------------------- */

bool oracle_check(struct trial *t, unsigned int oracles, unsigned int index, const struct step *step,
		  enum trial_outcome outcome, int64_t result, struct verdict *v)
{
	struct merged merged;

	if (outcome == TRIAL_SKIPPED)
		return false;
	if (sp_orphan_entries(t->machine)) {
		find_orphans(t, index, v);
		return true;
	}
	if (outcome == TRIAL_ERRNO && is_impossible(&t->shape, step, result)) {
		fail_plainly(v, FAILURE_RESULT, index, step);
		return true;
	}
	if (oracles & (ORACLE_WALKS | ORACLE_CONTENTS)) {
		if (!look(t, oracles, index, &merged, v))
			return true;
		if (oracles & ORACLE_WALKS && !judge_walks(t, index, &merged, v)) {
			fail_plainly(v, FAILURE_RECOUNT, index, step);
			return true;
		}
	}
	if (step->kind == STEP_MIGRATE && result == -EBUSY)
		judge_pinned(t, index, step, v);
	if (oracles & ORACLE_RECOUNT && sp_validate(t->machine, NULL, 0)) {
		fail_plainly(v, FAILURE_RECOUNT, index, step);
		return true;
	}
	return false;
}

int oracle_run(struct trial *t, const struct sequence *s, enum sp_strategy strategy,
	       unsigned int oracles, struct verdict *v, uint64_t *nr_steps)
{
	int err = trial_start(t, &s->shape, strategy);

	oracle_reset(v);
	if (nr_steps)
		*nr_steps = 0;
	for (unsigned int i = 0; i < s->nr && !err; i++) {
		int64_t result;
		enum trial_outcome outcome = trial_step(t, &s->steps[i], &result);

		if (nr_steps && outcome != TRIAL_SKIPPED)
			++*nr_steps;
		if (oracle_check(t, oracles, i, &s->steps[i], outcome, result, v))
			break;
	}
	return err;
}
