/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recounting from the page tables what the engine counts as it goes: RSS, mapcounts,
 * references, swap entries. Validators call it; nothing else depends on it.
 */
#ifndef SP_RECOUNT_H
#define SP_RECOUNT_H

#include "mm.h"

/* Every entry lies in a VMA and has flags that can be; RSS and KSM zero pages add up. */
void mm_validate_pages(struct mm *mm, struct report *report);

/*
 * Mapcount and references of every frame, entries of every swap slot, pages of every
 * file. No operation may be under way. 0, or -ENOMEM (not of the machine's account:
 * allocation failures that are injected do not reach the validator).
 */
int vm_recount(struct vm *vm, struct report *report) SP_MUST_CHECK;

#endif
