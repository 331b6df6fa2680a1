/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Truth: which entries map a page, found without the reverse map, and what a walk reached of them.
 *
 * The scan visits every entry of every page table; it is the oracle against which walks are judged,
 * so it shares nothing with them. Its arrays come from the C library, not from the machine's
 * account: an audit must not change which allocation an injected failure hits.
 *
 * Locks: none taken by the scan (the machine's one-thread rule); rmap_reached() walks, so it wants
 * the frame locked.
 */
#include <errno.h>
#include <stdlib.h>

#include "entry.h"
#include "metrics.h"

static int refs_add(struct pte_refs *refs, struct mm *mm, uint64_t addr)
{
	/* Grows at powers of two: the capacity is a function of nr. */
	if ((refs->nr & (refs->nr - 1)) == 0) {
		uint64_t capacity = refs->nr ? refs->nr * 2 : 1;
		struct pte_ref *grown = realloc(refs->refs, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		refs->refs = grown;
	}
	refs->refs[refs->nr++] = (struct pte_ref){mm, addr};
	return 0;
}

void pte_refs_free(struct pte_refs *refs)
{
	free(refs->refs);
	refs->refs = NULL;
	refs->nr = 0;
}

static int compare_refs(const void *a, const void *b)
{
	const struct pte_ref *x = a, *y = b;

	if (x->mm->id != y->mm->id)
		return x->mm->id < y->mm->id ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void refs_sort_unique(struct pte_refs *refs)
{
	uint64_t kept = 0;

	if (refs->nr < 2)
		return;
	qsort(refs->refs, refs->nr, sizeof(*refs->refs), compare_refs);
	for (uint64_t i = 1; i < refs->nr; i++)
		if (compare_refs(&refs->refs[kept], &refs->refs[i]))
			refs->refs[++kept] = refs->refs[i];
	refs->nr = kept + 1;
}

static bool contains(const struct pte_refs *refs, const struct pte_ref *ref)
{
	return refs->nr && bsearch(ref, refs->refs, refs->nr, sizeof(*ref), compare_refs);
}

int rmap_truth(struct vm *vm, uint32_t pfn, enum truth_kind kind, struct pte_refs *ret)
{
	struct mm *mm;

	*ret = (struct pte_refs){NULL, 0};
	cds_list_for_each_entry(mm, &vm->mms, link) {
		uint64_t addr = 0;
		pte_t pte;
		bool huge;

		while (page_table_next(&mm->pt, &addr, TASK_SIZE, &pte, &huge)) {
			uint64_t at = addr;
			bool hit;

			if (kind == TRUTH_MIGRATION) {
				hit = pte_is_migration(pte) && pte_value(pte) == pfn;
			} else if (!pte_present(pte) || pte_is_zero_page(pte)) {
				hit = false;
			} else if (huge) {
				hit = pfn - pte_value(pte) < HPAGE_PMD_NR;
				at += (uint64_t)(pfn - pte_value(pte)) << PAGE_SHIFT;
			} else {
				hit = pte_value(pte) == pfn;
			}
			if (hit && refs_add(ret, mm, at)) {
				pte_refs_free(ret);
				return -ENOMEM;
			}
			addr += huge ? HPAGE_PMD_SIZE : PAGE_SIZE;
		}
	}
	refs_sort_unique(ret);
	return 0;
}

struct collect {
	struct pte_refs *refs;
	uint32_t pfn;
	enum truth_kind kind;
	uint64_t calls;
	int err;
};

static bool collect_one(struct frame *frame, struct vma *vma, uint64_t addr, void *arg)
{
	struct collect *c = arg;

	(void)frame;
	c->calls++;
	if (entry_of(vma->mm, addr, c->pfn, c->kind))
		c->err = refs_add(c->refs, vma->mm, addr);
	return !c->err;
}

/* `override` false: the machine's own strategy, counted in the metrics. */
static int collect(struct vm *vm, struct frame *frame, uint32_t pfn, enum truth_kind kind,
		   bool override, enum sp_strategy strategy, struct pte_refs *ret, uint64_t *calls)
{
	struct collect c = {.refs = ret, .pfn = pfn, .kind = kind};
	struct rmap_walk_control rwc = {
		.arg = &c,
		.rmap_one = collect_one,
		.override = override,
		.strategy = strategy,
	};

	*ret = (struct pte_refs){NULL, 0};
	rmap_walk(vm, frame, &rwc);
	*calls = c.calls;
	if (c.err)
		pte_refs_free(ret);
	else
		refs_sort_unique(ret);
	return c.err;
}

int rmap_reached(struct vm *vm, struct frame *frame, uint32_t pfn, enum truth_kind kind,
		 enum sp_strategy strategy, struct pte_refs *ret, uint64_t *calls)
{
	return collect(vm, frame, pfn, kind, true, strategy, ret, calls);
}

/* Fills in what `reached` lacks of `truth`; what the whole-tree walk lacks too is Linux's own miss.
 * */
static void note_missed(struct sp_walk_result *result, const struct pte_refs *truth,
			const struct pte_refs *reached, const struct pte_refs *full)
{
	for (uint64_t i = 0; i < truth->nr; i++) {
		const struct pte_ref *ref = &truth->refs[i];
		struct sp_missed_pte *missed;
		struct vma *vma;

		if (contains(reached, ref))
			continue;
		if (result->nr_missed++ >= ARRAY_SIZE(result->missed))
			continue;
		vma = vma_lookup(ref->mm, ref->addr);
		missed = &result->missed[result->nr_missed - 1];
		*missed = (struct sp_missed_pte){
			.process = ref->mm->id,
			.addr = ref->addr,
			.pfn = result->pfn,
			.linux_misses = !contains(full, ref),
		};
		if (vma) {
			missed->vma_start = vma->start;
			missed->vma_end = vma->end;
			missed->vma_pgoff = vma->pgoff;
			missed->linear_index = vma_linear_index(vma, ref->addr);
		}
	}
}

/* How many entries of `truth` are in `part`: a walk may also reach what is no longer true. */
static uint64_t count_common(const struct pte_refs *truth, const struct pte_refs *part)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < truth->nr; i++)
		n += contains(part, &truth->refs[i]);
	return n;
}

int rmap_explicit_walk(struct vm *vm, struct frame *frame, struct sp_walk_result *ret)
{
	struct sp_walk_metrics *metrics = &rmap_of(vm)->metrics, before = *metrics;
	uint32_t pfn = frame_pfn(&vm->frames, frame);
	struct pte_refs truth, reached = {NULL, 0}, full = {NULL, 0};
	uint64_t full_calls;
	int err;

	*ret = (struct sp_walk_result){.ksm = frame_is_ksm(frame), .pfn = pfn};
	err = rmap_truth(vm, pfn, TRUTH_MAPPED, &truth);
	if (err)
		return err;
	frame_get(frame);
	frame_lock(frame);
	/* The walk's own maxima: the totals start afresh and are folded in afterwards. */
	*metrics = (struct sp_walk_metrics){0};
	err = collect(vm, frame, pfn, TRUTH_MAPPED, false, SP_STRATEGY_FULL, &reached, &ret->calls);
	if (!err)
		err = rmap_reached(vm, frame, pfn, TRUTH_MAPPED, SP_STRATEGY_FULL, &full,
				   &full_calls);
	frame_unlock(frame);
	frame_put(&vm->frames, frame);
	if (!err) {
		ret->reachable = truth.nr;
		ret->reached = count_common(&truth, &reached);
		ret->reached_full = count_common(&truth, &full);
		note_missed(ret, &truth, &reached, &full);
		metrics->reachable = ret->reachable;
		metrics->reached = ret->reached;
	}
	ret->metrics = *metrics;
	*metrics = before;
	walk_metrics_fold(metrics, &ret->metrics);
	pte_refs_free(&truth);
	pte_refs_free(&reached);
	pte_refs_free(&full);
	return err;
}

void rmap_audit_left(struct vm *vm, const char *operation, struct frame *frame, uint32_t pfn,
		     enum truth_kind kind)
{
	struct rmap *rmap = rmap_of(vm);
	struct sp_walk_result result = {.ksm = frame_is_ksm(frame), .pfn = pfn};
	struct pte_refs left, full = {NULL, 0}, none = {NULL, 0};
	uint64_t calls;

	if (!rmap->audit)
		return;
	if (rmap_truth(vm, pfn, kind, &left))
		return;
	/* An unmapped page has no mapping to walk by, unless it is being restored. */
	if (left.nr && rmap_reached(vm, frame, pfn, kind, SP_STRATEGY_FULL, &full, &calls))
		goto out;
	result.reachable = left.nr;
	result.reached_full = count_common(&left, &full);
	note_missed(&result, &left, &none, &full);
	if (left.nr)
		rmap->audit(rmap->audit_arg, operation, &result);
out:
	pte_refs_free(&left);
	pte_refs_free(&full);
}
