/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The exhaustive search: every sequence of up to `depth` steps of an alphabet (alphabet.h), from each of
 * its starts.
 *
 * Sequences that lead to the same state (state.h) go on alike, so each state is gone on from once,
 * by the shortest sequence that leads to it, the first in the alphabet's order among equals. That is every
 * sequence tried, as far as anybody can tell, at the price of one transition for each step and
 * state.
 *
 * After every transition the oracles are asked; sp_validate(), which sees nothing but the state, when the
 * state is new. Levels are worked on one after the other: a cause's first sequence is a shortest one. The
 * report is the same for any number of jobs.
 *
 * Locks: none; see search.h.
 */
#ifndef SP_EXHAUSTIVE_H
#define SP_EXHAUSTIVE_H

#include "search.h"

/*
 * Fills the report but for its options: findings have their sequence in sequence_shrunk, which is not shrunk
 * yet, and no scenario. 0; -ENOMEM; -EFBIG: the states of that depth do not fit in o->max_bytes, and
 * report->nr_states is how many there would be, about. That is said after the first levels, which take no
 * time, and not after hours.
 */
int exhaustive_run(const struct search_options *o, struct search_report *report) SP_CHECK;

/* States and transitions of each level, for who wants to know how a search grows. */
struct exhaustive_level {
	uint64_t nr_states; /* new ones */
	uint64_t nr_transitions;
	uint64_t elapsed_ns;
};
/* The same; *levels: o->depth + 1 of them. start: of alphabet_start_name(), or -1 for all. */
int exhaustive_run_levels(const struct search_options *o, int start, struct search_report *report,
			  struct exhaustive_level *levels) SP_CHECK;

#endif
