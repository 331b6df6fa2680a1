/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A trial: one small machine on which steps are executed, and beside it a model that knows nothing of
 * merging, swapping or sharing: for each process an array of pages with a permission and a value.
 *
 * It does exactly what `samepage run` does with the scenario that the steps are printed as: the same
 * addresses, the same calls, the same start (ksmd: run 2, then 1).
 *
 * The machine lives in a region of memory that is emptied at once, so that making the next one costs
 * next to nothing; a region's snapshot takes a trial back to an earlier state (exhaustive.c).
 *
 * What the oracle needs of a page's past is kept in the model too (enum page_past), since only the steps
 * know it: it tells causes apart, and judges nothing.
 *
 * Locks: none. One thread uses a trial.
 *
 *	err = trial_create(&t);
 *	err = trial_start(t, &sequence->shape, SP_STRATEGY_INDEX);
 *	for (i = 0; i < sequence->nr; i++) {
 *		outcome = trial_step(t, &sequence->steps[i], &result);
 *		...			// oracle_check(t, ...)
 *	}
 *	err = trial_start(t, ...);	// the next one
 *	trial_destroy(t);
 */
#ifndef SP_TRIAL_H
#define SP_TRIAL_H

#include "machine.h"
#include "step.h"

/* How a page came to be what it is, since it last got a frame of its own. */
enum page_past {
	PAST_FORKED = 1,     /* a fork took it over from its parent, not merged yet */
	PAST_SHARED = 2,     /* this process forked while it had it, not merged yet */
	PAST_SWAPPED = 4,    /* is swapped out, or came back as a merged page (W3) */
	PAST_MOVED = 8,	     /* mremap brought it here merged, as it was */
	PAST_UNMERGED = 16,  /* and its memory ceased to be mergeable meanwhile (K32) */
	PAST_INHERITED = 32, /* a fork took it over from its parent, merged */
	PAST_REJOINED = 64,  /* came back from swap as a page like any other, maybe not alone */
	/* All that ends when a page is present and not merged: */
	PAST_OF_MERGED = PAST_SWAPPED | PAST_MOVED | PAST_UNMERGED | PAST_INHERITED,
};

struct model_page {
	bool mapped, readable, writable;
	bool file;	/* a private mapping of the file ... */
	uint8_t pgoff;	/* ... at this page of it */
	bool mergeable; /* somebody asked for it: a hint for the generator, and no more */
	uint8_t past;
	uint64_t value; /* content_prefix() of what it holds */
};

struct trial_process {
	struct sp_process *p; /* NULL: no such process runs */
	uint64_t base;	      /* address of its window */
	struct model_page pages[MAX_PAGES];
};

struct trial {
	struct shape shape;
	enum sp_strategy strategy;
	struct sp_machine *machine;
	struct sp_file *file; /* NULL until a step maps it */
	struct trial_process processes[MAX_PROCESSES];
	uint64_t holds[MAX_HOLDS]; /* handles; 0: none */
	unsigned int nr_windows;   /* given out so far */
	struct region *region;	   /* where the machine lives */
	uint64_t file_values[FILE_PAGES];
};

enum trial_outcome {
	TRIAL_DONE,    /* *result >= 0 */
	TRIAL_ERRNO,   /* *result is the -errno that the call gave */
	TRIAL_SKIPPED, /* the step means nothing here: nothing was called */
};

/* 0 and *ret, or -ENOMEM. No machine yet. */
int trial_create(struct trial **ret) SP_CHECK;
void trial_destroy(struct trial *t);
/* Throws the old machine away and starts a new one. 0 or -ENOMEM. */
int trial_start(struct trial *t, const struct shape *shape, enum sp_strategy strategy) SP_CHECK;
/* *result: what the call returned, or counted (pages swapped out, migrated); what a scenario's
 * `expect result` compares with. */
enum trial_outcome trial_step(struct trial *t, const struct step *step, int64_t *result);

uint64_t trial_address(const struct trial *t, unsigned int process, unsigned int page);
/* What a page of zeroes, or of the file, holds when nobody wrote to it. */
uint64_t trial_untouched_value(const struct trial *t, const struct model_page *page);

#endif
