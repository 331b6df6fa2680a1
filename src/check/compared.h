/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What came of a comparison of sequences between engine and kernel: collected from events
 * (on_kernel.h), whether they come from this process or from guests, in any order.
 *
 * Differences of one group are one finding, of which the one with the lowest sequence number is
 * told. So the report of a number of sequences is the same however they were divided.
 *
 *	compared_init(&report);
 *	err = compared_add(&report, &event); ...
 *	compared_sort(&report);
 *	compared_destroy(&report);
 *
 * Locks: none; one thread.
 */
#ifndef SP_COMPARED_H
#define SP_COMPARED_H

#include "on_kernel.h"

struct compared_finding {
	char group[sizeof(((struct versus_difference *)0)->group)];
	uint64_t nr_found; /* sequences */
	uint64_t sequence; /* the lowest of those that were shrunk */
	uint64_t lowest;   /* the lowest of all */
	unsigned int nr_before, nr_after;
	struct versus_difference difference; /* in the shrunk one */
	char *text; /* its scenario; NULL: it was not shrunk */
};

/* A sequence that a kernel did not survive. */
struct compared_end {
	uint64_t sequence;
	const char *how; /* "died", "hung", "complained" */
	char why[256];
	char *console; /* its last words */
	char *text;    /* the scenario; not shrunk */
};

struct compared {
	uint64_t nr_sequences, nr_operations;
	uint64_t nr_differ; /* sequences */
	uint64_t nr_explained[NR_EXPLANATIONS];
	struct compared_finding *findings;
	unsigned int nr_findings;
	struct compared_end *ends;
	unsigned int nr_ends;
	uint64_t nr_cut;	 /* sequences that end where the kernel lacks an operation */
	char why_cut[512];	 /* the first of them */
	unsigned int nr_skipped; /* sequences that could not be compared */
	char why_skipped[512];	 /* the first of them; why nothing could be, if none was */
	char release[128];	 /* of the kernel */
	uint64_t elapsed_ns;
	unsigned int nr_boots;
	bool interrupted, out_of_time;
};

void compared_init(struct compared *c);
void compared_destroy(struct compared *c);
/* 0 or -ENOMEM. */
int compared_add(struct compared *c, const struct on_kernel_event *e) SP_CHECK;
/* *ret: a new one, zeroed but for its sequence. */
int compared_add_end(struct compared *c, uint64_t sequence, struct compared_end **ret) SP_CHECK;
/* Most often found first. */
void compared_sort(struct compared *c);

#endif
