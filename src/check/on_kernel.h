/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A range of generated sequences, each compared between the engine and the running kernel
 * (versus.h); the first of each group of differences is shrunk. What happens is told as it
 * does, by events, so that whoever listens knows what was running when this kernel dies.
 *
 *	struct on_kernel_options o = {.seed = 1, .first = 0, .nr = 100, .depth = 40, .event = print};
 *	err = on_kernel_run(&o);
 *
 * EVENTS AS LINES, for a guest's output: a letter, then fields with tabs between; event_print()
 * writes one, event_parse() reads it.
 *
 *	s NUMBER			the sequence begins
 *	d NUMBER OPERATIONS EXPLAINED	it was compared; EXPLAINED: a count for each explanation
 *	l NUMBER WHY			but only up to where the kernel lacks something
 *	f NUMBER GROUP			and it differs
 *	t NUMBER TRIES			shrinking it goes on
 *	m NUMBER GROUP STEP OPERATION KEY ENGINE OTHER MORE BEFORE AFTER TEXT
 *					shrunk, from BEFORE steps to AFTER; newlines of TEXT are \n
 *	c NUMBER WHY			it cannot be compared: the end
 *
 * Locks: none; one thread.
 */
#ifndef SP_ON_KERNEL_H
#define SP_ON_KERNEL_H

#include "versus.h"

#define ON_KERNEL_DEPTH 40
#define ON_KERNEL_TRIES 400 /* of shrinking one; each is a run on both */

struct on_kernel_event {
	char kind; /* a letter of the list above */
	uint64_t number;
	unsigned int nr_operations;
	unsigned int nr_explained[NR_EXPLANATIONS];
	unsigned int nr_tries;
	unsigned int nr_before, nr_after; /* steps */
	struct versus_difference difference;
	const char *text; /* the scenario, or why; belongs to whoever gives the event */
};

struct on_kernel_options {
	uint64_t seed, first, nr;
	unsigned int depth;
	unsigned int nr_tries; /* of shrinking; 0: none is shrunk */
	/* True ends the run. */
	bool (*event)(void *arg, const struct on_kernel_event *e);
	void *event_arg;
};

/* 0 also when the kernel cannot be compared, which the last event says; -ENOMEM. */
int on_kernel_run(const struct on_kernel_options *o) SP_CHECK;

/* A line with its newline; NULL: out of memory. To be freed. */
char *event_print(const struct on_kernel_event *e);
/* `line` has no newline, and is changed: e->text points into it. False: no such line. */
bool event_parse(char *line, struct on_kernel_event *e);

/* What a scenario of a difference opens with; returns buf. */
const char *on_kernel_head(const struct on_kernel_options *o, const struct on_kernel_event *e,
			   const char *kernel, char *buf, size_t size);

#endif
