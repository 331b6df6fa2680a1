/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a search has found so far, one entry for each cause: how many sequences failed for it, the
 * lowest few of their numbers, when the first was seen.
 *
 * Each worker fills a table of its own; they are added up at the end. The sum does not depend on who
 * ran which sequence, and neither does anything that is made of the lowest numbers: so the report is the
 * same for any number of workers.
 *
 * Locks: none; a table is one thread's.
 */
#ifndef SP_FOUND_H
#define SP_FOUND_H

#include "cause.h"

/* Sequences kept for each cause: the one that shrinks best is shown. */
#define FOUND_KEPT 4
#define FOUND_NONE UINT64_MAX

struct found {
	struct cause cause;
	uint64_t nr;
	uint64_t lowest[FOUND_KEPT]; /* ascending; FOUND_NONE where there are fewer */
	uint64_t first_ns;
};

struct found_table {
	unsigned int nr, nr_allocated;
	struct found *list;
};

/* One sequence that failed; *new: the table did not have the cause. 0 or -ENOMEM. */
int found_add(struct found_table *table, const struct cause *cause, uint64_t sequence,
	      bool *new) SP_CHECK;
/* When it was first seen; the cause must be in the table. */
void found_at(struct found_table *table, const struct cause *cause, uint64_t ns);
/* Adds all of `from`. 0 or -ENOMEM. */
int found_merge(struct found_table *table, const struct found_table *from) SP_CHECK;
/* Only what sequence `number` found, once. */
void found_keep_only(struct found_table *table, uint64_t number);
/* Most often found first; ties by lowest number, then by cause. */
void found_sort(struct found_table *table);
void found_destroy(struct found_table *table);

#endif
