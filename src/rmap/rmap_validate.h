/* SPDX-License-Identifier: GPL-2.0-only */
/* The truth of the reverse map, checked for every anonymous page of a machine. */
#ifndef SP_RMAP_VALIDATE_H
#define SP_RMAP_VALIDATE_H

#include "report.h"
#include "rmap.h"

/*
 * For every mapped anonymous page: the walk of a page that is not merged reaches exactly the
 * entries that map it; for a merged page, `direct` reaches whatever `full` does (the rest is
 * Linux's own, R6). Merged pages whose full walk would cost more than a million steps are left out.
 * Nothing may be locked.
 */
void rmap_validate(struct vm *vm, struct report *report);

#endif
