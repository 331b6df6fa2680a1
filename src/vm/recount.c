/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recounts; see recount.h. The page tables of all mms and the pages of all files are
 * the truth, counters and frames are compared with it.
 *
 *	frame: mapcount   = present entries (a huge PMD: one for each of its frames)
 *	       refcount   = mapcount + swap cache + page cache + holds + retired   (frame.h)
 *	slot:  count      = swap entries
 *	mm:    rss_*      = present entries by kind of frame, swap entries
 *	       zero pages = KSM-placed ones, plus what fork counted too much (V8)
 *
 * Migration entries hold no reference and count in no RSS.
 *
 * Locks: none; the machine is at rest.
 */
#include "recount.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct mm_counts {
	int64_t anon, file, shmem, swap, ksm_zero;
};

/* ---- One mm ---- */

static void check_frame_entry(const struct mm *mm, const struct vma *vma, uint64_t addr, pte_t pte,
			      const struct frame *frame, struct report *report)
{
	bool shared_file = (frame->flags & FRAME_FILE) && (vma->flags & VM_SHARED);

	REPORT_UNLESS(report, frame->refcount > 0, "mm %u: %#" PRIx64 ": maps free pfn %u", mm->id,
		      addr, frame->pfn);
	REPORT_UNLESS(report, !(frame->flags & FRAME_ZERO),
		      "mm %u: %#" PRIx64 ": the zero page is not marked special", mm->id, addr);
	REPORT_UNLESS(report, frame_is_anon(frame) || (frame->flags & FRAME_FILE),
		      "mm %u: %#" PRIx64 ": pfn %u belongs to nobody", mm->id, addr, frame->pfn);
	REPORT_UNLESS(report, !frame_is_ksm(frame) || !(frame->flags & FRAME_EXCLUSIVE),
		      "mm %u: %#" PRIx64 ": KSM pfn %u is exclusive", mm->id, addr, frame->pfn);
	if (frame_is_anon(frame))
		REPORT_UNLESS(report, vma->anon_vma,
			      "mm %u: %#" PRIx64 ": anonymous pfn %u in a VMA without anon_vma",
			      mm->id, addr, frame->pfn);
	if (frame_is_anon(frame) && !frame_is_ksm(frame))
		REPORT_UNLESS(report, frame->index == vma_linear_index(vma, addr),
			      "mm %u: %#" PRIx64 ": pfn %u has index %#" PRIx64
			      " where the VMA says %#" PRIx64,
			      mm->id, addr, frame->pfn, frame->index, vma_linear_index(vma, addr));
	if (!(pte & PTE_WRITE))
		return;
	REPORT_UNLESS(report, (frame->flags & FRAME_EXCLUSIVE) || shared_file,
		      "mm %u: %#" PRIx64 ": writable, but pfn %u is not exclusive", mm->id, addr,
		      frame->pfn);
	REPORT_UNLESS(report, !frame_is_ksm(frame), "mm %u: %#" PRIx64 ": KSM pfn %u is writable",
		      mm->id, addr, frame->pfn);
}

static void check_present(const struct mm *mm, const struct vma *vma, uint64_t addr, pte_t pte,
			  bool huge, struct mm_counts *counts, struct report *report)
{
	uint32_t nr = huge ? HPAGE_PMD_NR : 1;

	if (pte_is_zero_page(pte)) {
		REPORT_UNLESS(report, pte_value(pte) == mm->vm->frames.zero->pfn,
			      "mm %u: %#" PRIx64 ": special, but not the zero page", mm->id, addr);
		counts->ksm_zero += pte_is_ksm_zero(pte);
		return;
	}
	if (pte_value(pte) + nr > mm->vm->frames.nr_frames) {
		report_add(report, "mm %u: %#" PRIx64 ": pfn %u does not exist", mm->id, addr,
			   pte_value(pte));
		return;
	}
	for (uint32_t i = 0; i < nr; i++) {
		const struct frame *frame = frame_of_pfn(&mm->vm->frames, pte_value(pte) + i);

		check_frame_entry(mm, vma, addr + i * PAGE_SIZE, pte, frame, report);
		if (!(frame->flags & FRAME_FILE))
			counts->anon++;
		else if (((const struct file *)frame_mapping(frame))->shmem)
			counts->shmem++;
		else
			counts->file++;
	}
}

static void check_count(const struct mm *mm, const char *name, int64_t counter, int64_t counted,
			struct report *report)
{
	REPORT_UNLESS(report, counter == counted,
		      "mm %u: %s is %" PRId64 ", the page table has %" PRId64, mm->id, name,
		      counter, counted);
}

void mm_validate_pages(struct mm *mm, struct report *report)
{
	struct mm_counts counts = { 0 };
	uint64_t addr = 0;
	const char *wrong;
	pte_t pte;
	bool huge;

	wrong = page_table_validate(&mm->pt);
	REPORT_UNLESS(report, !wrong, "mm %u: page table: %s", mm->id, wrong);
	while (page_table_next(&mm->pt, &addr, TASK_SIZE, &pte, &huge)) {
		uint64_t end = addr + (huge ? HPAGE_PMD_SIZE : PAGE_SIZE);
		const struct vma *vma = vma_lookup(mm, addr);

		if (!vma || end > vma->end)
			report_add(report, "mm %u: %#" PRIx64 ": an entry that no VMA covers",
				   mm->id, addr);
		else if (pte_present(pte))
			check_present(mm, vma, addr, pte, huge, &counts, report);
		else if (pte_is_swap(pte))
			counts.swap++;
		addr = end;
	}
	check_count(mm, "rss_anon", mm->rss_anon, counts.anon, report);
	check_count(mm, "rss_file", mm->rss_file, counts.file, report);
	check_count(mm, "rss_shmem", mm->rss_shmem, counts.shmem, report);
	check_count(mm, "rss_swap", mm->rss_swap, counts.swap, report);
	check_count(mm, "ksm_zero_pages, without leaked ones,",
		    mm->ksm_zero_pages - mm->ksm_zero_leaked, counts.ksm_zero, report);
}

/* ---- All of the machine ---- */

struct recount {
	struct vm *vm;
	struct report *report;
	int32_t *mapped;      /* by pfn */
	uint32_t *entries;    /* by slot */
	bool *in_file;        /* by pfn */
};

static void count_entry(struct recount *r, const struct mm *mm, uint64_t addr, pte_t pte, bool huge)
{
	uint32_t nr = huge ? HPAGE_PMD_NR : 1, value = pte_value(pte);

	if (pte_is_swap(pte)) {
		if (value >= r->vm->swap.nr_slots || !r->vm->swap.slots[value].used)
			report_add(r->report, "mm %u: %#" PRIx64 ": names swap slot %u, which is free",
				   mm->id, addr, value);
		else
			r->entries[value]++;
		return;
	}
	if (value + nr > r->vm->frames.nr_frames) {
		report_add(r->report, "mm %u: %#" PRIx64 ": names pfn %u, which does not exist",
			   mm->id, addr, value);
		return;
	}
	if (!pte_present(pte) || pte_is_zero_page(pte))
		return;
	for (uint32_t i = 0; i < nr; i++)
		r->mapped[value + i]++;
}

static void count_mm(struct recount *r, const struct mm *mm)
{
	uint64_t addr = 0;
	pte_t pte;
	bool huge;

	while (page_table_next(&mm->pt, &addr, TASK_SIZE, &pte, &huge)) {
		count_entry(r, mm, addr, pte, huge);
		addr += huge ? HPAGE_PMD_SIZE : PAGE_SIZE;
	}
}

static void count_file(struct recount *r, const struct file *file)
{
	for (uint64_t i = 0; i < file->nr_pages; i++) {
		const struct frame *frame = file->pages[i];

		if (!frame)
			continue;
		r->in_file[frame->pfn] = true;
		REPORT_UNLESS(r->report,
			      (frame->flags & FRAME_FILE) && frame->index == i &&
				      frame_mapping(frame) == file,
			      "pfn %u: does not know that it is page %" PRIu64 " of a file",
			      frame->pfn, i);
	}
}

static void compare_frame(struct recount *r, const struct frame *frame)
{
	int32_t refs = r->mapped[frame->pfn] + !!(frame->flags & FRAME_SWAPCACHE) +
		       !!(frame->flags & FRAME_FILE) + frame->nr_holds +
		       !!(frame->flags & FRAME_RETIRED);

	REPORT_UNLESS(r->report, frame->mapcount == r->mapped[frame->pfn],
		      "pfn %u: mapcount %d, but %d entries map it", frame->pfn, frame->mapcount,
		      r->mapped[frame->pfn]);
	REPORT_UNLESS(r->report, frame->refcount == refs,
		      "pfn %u: refcount %d, but %d references (%d mapped, swap cache %d, file %d, held %d)",
		      frame->pfn, frame->refcount, refs, r->mapped[frame->pfn],
		      !!(frame->flags & FRAME_SWAPCACHE), !!(frame->flags & FRAME_FILE),
		      frame->nr_holds);
	REPORT_UNLESS(r->report, !!(frame->flags & FRAME_FILE) == r->in_file[frame->pfn],
		      "pfn %u: a file's page cache and FRAME_FILE disagree", frame->pfn);
	REPORT_UNLESS(r->report, !(frame->flags & FRAME_LOCKED), "pfn %u: locked", frame->pfn);
	REPORT_UNLESS(r->report, !(frame->flags & FRAME_EXCLUSIVE) || frame->mapcount <= 1,
		      "pfn %u: exclusive, but mapped %d times", frame->pfn, frame->mapcount);
	REPORT_UNLESS(r->report, !(frame->flags & FRAME_MLOCKED) || frame->mapcount,
		      "pfn %u: mlocked, but not mapped", frame->pfn);
}

static void compare(struct recount *r)
{
	for (uint32_t pfn = 0; pfn < r->vm->frames.nr_frames; pfn++) {
		const struct frame *frame = frame_of_pfn(&r->vm->frames, pfn);

		if (!(frame->flags & FRAME_ZERO))
			compare_frame(r, frame);
		else
			REPORT_UNLESS(r->report, !r->mapped[pfn],
				      "the zero page is mapped without being marked special");
	}
	for (uint32_t slot = 0; slot < r->vm->swap.nr_slots; slot++) {
		if (!r->vm->swap.slots[slot].used)
			continue;
		REPORT_UNLESS(r->report, swap_count(&r->vm->swap, slot) == r->entries[slot],
			      "swap slot %u: count %u, but %u entries", slot,
			      swap_count(&r->vm->swap, slot), r->entries[slot]);
	}
}

int vm_recount(struct vm *vm, struct report *report)
{
	struct recount r = { .vm = vm, .report = report };
	struct file *file;
	struct mm *mm;
	int err = 0;

	/* One more, since calloc(0) may be NULL. */
	r.mapped = calloc((size_t)vm->frames.nr_frames + 1, sizeof(*r.mapped));
	r.entries = calloc((size_t)vm->swap.nr_slots + 1, sizeof(*r.entries));
	r.in_file = calloc((size_t)vm->frames.nr_frames + 1, sizeof(*r.in_file));
	if (r.mapped && r.entries && r.in_file) {
		cds_list_for_each_entry(mm, &vm->mms, link)
			count_mm(&r, mm);
		cds_list_for_each_entry(file, &vm->files, link)
			count_file(&r, file);
		compare(&r);
	} else {
		err = -ENOMEM;
	}
	free(r.mapped);
	free(r.entries);
	free(r.in_file);
	return err;
}
