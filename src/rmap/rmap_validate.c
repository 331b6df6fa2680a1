/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One scan of all page tables gives every (frame, mm, address), sorted by frame; then each frame is
 * walked and compared with its part of that list, so a whole machine costs O(n log n) and not a
 * scan for each page.
 */
#include "rmap_validate.h"

#include <inttypes.h>
#include <stdlib.h>

#define MAX_STEPS 1000000

struct mapping {
	uint32_t pfn;
	uint32_t mm_id;
	uint64_t addr;
};

struct mappings {
	struct mapping *all;
	uint64_t nr, capacity;
};

static bool add(struct mappings *m, uint32_t pfn, uint32_t mm_id, uint64_t addr)
{
	if (m->nr == m->capacity) {
		uint64_t capacity = m->capacity ? m->capacity * 2 : 256;
		struct mapping *grown = realloc(m->all, capacity * sizeof(*grown));

		if (!grown)
			return false;
		m->all = grown;
		m->capacity = capacity;
	}
	m->all[m->nr++] = (struct mapping){pfn, mm_id, addr};
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct mapping *x = a, *y = b;

	if (x->pfn != y->pfn)
		return x->pfn < y->pfn ? -1 : 1;
	if (x->mm_id != y->mm_id)
		return x->mm_id < y->mm_id ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool collect_all(struct vm *vm, struct mappings *m)
{
	struct mm *mm;

	cds_list_for_each_entry(mm, &vm->mms, link) {
		uint64_t addr = 0;
		pte_t pte;
		bool huge;

		while (page_table_next(&mm->pt, &addr, TASK_SIZE, &pte, &huge)) {
			uint32_t n = huge ? HPAGE_PMD_NR : 1;

			if (pte_present(pte) && !pte_is_zero_page(pte))
				for (uint32_t i = 0; i < n; i++)
					if (!add(m, pte_value(pte) + i, mm->id,
						 addr + i * PAGE_SIZE))
						return false;
			addr += n * PAGE_SIZE;
		}
	}
	if (m->nr)
		qsort(m->all, m->nr, sizeof(*m->all), compare);
	return true;
}

static bool same(const struct mapping *truth, uint64_t nr, const struct pte_refs *reached)
{
	if (nr != reached->nr)
		return false;
	for (uint64_t i = 0; i < nr; i++)
		if (truth[i].mm_id != reached->refs[i].mm->id ||
		    truth[i].addr != reached->refs[i].addr)
			return false;
	return true;
}

static void check_anon(struct vm *vm, struct frame *frame, const struct mapping *truth, uint64_t nr,
		       struct report *report)
{
	struct pte_refs reached;
	uint64_t calls;

	if (rmap_reached(vm, frame, truth->pfn, TRUTH_MAPPED, SP_STRATEGY_FULL, &reached, &calls))
		return;
	REPORT_UNLESS(report, same(truth, nr, &reached),
		      "rmap: pfn %u: %" PRIu64 " PTEs map it, first in mm %u at 0x%" PRIx64
		      ", the walk reaches %" PRIu64,
		      truth->pfn, nr, truth->mm_id, truth->addr, reached.nr);
	pte_refs_free(&reached);
}

static bool subset(const struct pte_refs *part, const struct pte_refs *whole)
{
	uint64_t j = 0;

	for (uint64_t i = 0; i < part->nr; i++, j++) {
		while (j < whole->nr && (whole->refs[j].mm != part->refs[i].mm ||
					 whole->refs[j].addr != part->refs[i].addr))
			j++;
		if (j == whole->nr)
			return false;
	}
	return true;
}

static void check_ksm(struct vm *vm, struct frame *frame, uint32_t pfn, struct report *report)
{
	struct pte_refs full, direct;
	uint64_t calls;

	if (rmap_reached(vm, frame, pfn, TRUTH_MAPPED, SP_STRATEGY_FULL, &full, &calls))
		return;
	if (!rmap_reached(vm, frame, pfn, TRUTH_MAPPED, SP_STRATEGY_DIRECT, &direct, &calls)) {
		REPORT_UNLESS(report, subset(&full, &direct),
			      "rmap: KSM pfn %u: full reaches %" PRIu64 " PTEs, direct %" PRIu64
			      " and not all of these",
			      pfn, full.nr, direct.nr);
		pte_refs_free(&direct);
	}
	pte_refs_free(&full);
}

void rmap_validate(struct vm *vm, struct report *report)
{
	struct mappings m = {NULL, 0, 0};
	uint64_t n;

	if (!collect_all(vm, &m)) {
		report_add(report, "rmap: out of memory while validating");
		goto out;
	}
	for (uint64_t i = 0; i < m.nr; i += n) {
		struct frame *frame = frame_of_pfn(&vm->frames, m.all[i].pfn);

		for (n = 1; i + n < m.nr && m.all[i + n].pfn == m.all[i].pfn; n++)
			;
		if (!frame_is_anon(frame))
			continue;
		frame_lock(frame);
		if (!frame_is_ksm(frame))
			check_anon(vm, frame, &m.all[i], n, report);
		else if (n * vm->avc_pool.nr_used <= MAX_STEPS)
			check_ksm(vm, frame, m.all[i].pfn, report);
		frame_unlock(frame);
	}
out:
	free(m.all);
}
