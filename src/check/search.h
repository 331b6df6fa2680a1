/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The search: random sequences on all cores until the time or the number is reached, or all sequences
 * up to a depth; what was found, one finding for each cause, shrunk and told.
 *
 * Sequence number i is a function of (seed, i), whoever runs it; findings are those of the lowest
 * numbers. So the report of a number of sequences is the same for any number of jobs; a report of a time is
 * of the sequences that there was time for.
 *
 * Locks: workers are threads with a trial each; they share a counter of sequence numbers and a stop flag,
 * both atomic, and give their findings at the end.
 *
 *	search_options_init(&o);
 *	o.strategy = SP_STRATEGY_ADDRESS;
 *	err = search_run(&o, &report);
 *	for (i = 0; i < report->nr_findings; i++)
 *		puts(report->findings[i].scenario);
 *	search_report_destroy(report);
 */
#ifndef SP_SEARCH_H
#define SP_SEARCH_H

#include "oracle.h"

#define SEARCH_DEPTH 40 /* when nothing else is asked for */

struct search_progress {
	uint64_t nr_sequences, nr_steps;
	uint64_t nr_states;	   /* exhaustive */
	unsigned int depth;	   /* exhaustive: being worked on */
	double fraction;	   /* done, 0..1; below 0: not known */
	uint64_t elapsed_ns;
	unsigned int nr_causes;
	const char *phase; /* "searching", "shrinking" */
};

struct search_options {
	enum sp_strategy strategy;
	uint64_t seed;
	uint64_t time_ns;     /* 0: no limit */
	uint64_t nr_sequences; /* 0: no limit */
	unsigned int depth;   /* steps of a sequence */
	unsigned int nr_jobs; /* 1.. */
	unsigned int oracles;
	bool exhaustive;
	bool first;	      /* end at the first failure */
	uint64_t max_bytes;   /* exhaustive: memory for states */
	/* Called from the caller's thread about ten times a second; true ends the search. */
	bool (*progress)(void *arg, const struct search_progress *progress);
	void *progress_arg;
};

void search_options_init(struct search_options *o);

struct finding {
	struct cause cause;
	uint64_t nr_found;     /* sequences that failed for this cause */
	uint64_t sequence;     /* the lowest number of them */
	uint64_t found_ns;     /* when it was first seen, from the start; a measured time */
	struct failure failure; /* in the shrunk sequence */
	unsigned int nr_steps_before;
	struct sequence sequence_shrunk;
	char *scenario;	       /* text; NULL when `error` says why not */
	char *error;
};

struct search_report {
	struct search_options options;
	uint64_t nr_sequences, nr_steps;
	uint64_t elapsed_ns, shrink_ns;
	bool interrupted;
	bool complete;	       /* exhaustive: every sequence was tried */
	uint64_t nr_states, nr_transitions;
	unsigned int nr_findings;
	struct finding *findings; /* most often found first; ties by lowest number */
};

/* 0 and *ret, or -ENOMEM; -EFBIG: exhaustive, would not fit in max_bytes (*ret says the estimate in nr_states). */
int search_run(const struct search_options *o, struct search_report **ret) SP_CHECK;
void search_report_destroy(struct search_report *r);

#endif
