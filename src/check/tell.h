/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From what a search found to what it reports: each cause's sequences made again from their numbers,
 * shrunk, the shortest kept, and told as a scenario.
 *
 * The work is one task for each sequence, which a crew takes in any order; which of them is kept depends
 * on their lengths and numbers alone.
 *
 *	err = tell_findings(report, &table, hurry, &search);
 *
 * Locks: none of its own: a crew's threads take tasks by an atomic counter, each with a trial of its own.
 */
#ifndef SP_TELL_H
#define SP_TELL_H

#include "found.h"
#include "generate.h"
#include "search.h"

/*
 * Makes sequence `number` and runs it, as the search did. 0 and *s and *v, or -ENOMEM. *nr_steps:
 * those executed are added.
 */
int sequence_make(struct trial *t, const struct search_options *o, uint64_t number,
		  struct sequence *s, struct verdict *v, uint64_t *nr_steps) SP_CHECK;

/*
 * Fills report->findings from the table, or, when that is NULL, completes those that the report has,
 * whose sequence_shrunk is not shrunk yet. report->options says the rest; what its progress callback
 * asks to end is cut short a second later. 0 or -ENOMEM.
 */
int tell_findings(struct search_report *report, const struct found_table *table) SP_CHECK;

#endif
