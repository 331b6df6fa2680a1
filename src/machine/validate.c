/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sp_validate(): every layer recounts what it keeps, from the bottom up.
 *
 * Each check walks whole structures and compares with what is stored; nothing is repaired. A
 * machine that a broken walk has damaged (orphan entries) is still valid: the damage is counted,
 * not hidden.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "machine.h"
#include "recount.h"
#include "rmap_validate.h"

SP_API int sp_validate(struct sp_machine *m, char *buf, size_t size)
{
	struct vm *vm = &m->vm;
	struct report report;
	const char *wrong;
	struct mm *mm;

	report_init(&report);
	rank_assert_none_held();
	cds_list_for_each_entry(mm, &vm->mms, link) {
		wrong = range_tree_validate(&mm->vmas);
		REPORT_UNLESS(&report, !wrong, "mm %u: VMA tree: %s", mm->id, wrong);
		wrong = page_table_validate(&mm->pt);
		REPORT_UNLESS(&report, !wrong, "mm %u: page table: %s", mm->id, wrong);
		mm_validate_vmas(mm, &report);
		mm_validate_pages(mm, &report);
	}
	anon_vma_validate_all(vm, &report);
	wrong = frames_validate(&vm->frames);
	REPORT_UNLESS(&report, !wrong, "frames: %s", wrong);
	wrong = swap_validate(&vm->swap);
	REPORT_UNLESS(&report, !wrong, "swap: %s", wrong);
	if (vm_recount(vm, &report))
		report_add(&report, "validate: out of memory while recounting");
	ksm_validate(vm, &report);
	/* Walks trust all of the above. */
	if (!report.nr_findings)
		rmap_validate(vm, &report);
	if (!report.nr_findings)
		return 0;
	if (size)
		snprintf(buf, size, "%s", report.text);
	return -EUCLEAN;
}
