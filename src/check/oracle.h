/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The judges of a trial, asked after every step: does what must be so hold?
 *
 *	walks     every entry that maps a merged page (found by looking at all page tables) is reached by
 *	          a walk under the trial's strategy. Under `full` any miss is a failure, and Linux's own
 *	          (R6); under another one, only what `full` reaches.
 *	contents  every page of every process holds what the model says.
 *	recount   sp_validate(): every counter, reference, tree recounted.
 *	orphans   no walk left a migration entry behind; a migration failed only for a reason that the
 *	          walk did not make (always asked: costs nothing).
 *
 * A miss does not end a sequence: what comes after it may fail in another way. Failures of other kinds
 * do, since the machine is not what the model says any more. Each failure has a cause (cause.h).
 *
 * Locks: none; judging changes nothing in the machine.
 *
 *	struct verdict v;
 *	oracle_reset(&v);
 *	for each step:
 *		outcome = trial_step(t, step, &result);
 *		if (oracle_check(t, ORACLE_ALL, i, step, outcome, result, &v))
 *			break;		// the sequence cannot go on
 *	for (i = 0; i < v.nr; i++)	// v.failures[i]: one for each cause, at its first step
 */
#ifndef SP_ORACLE_H
#define SP_ORACLE_H

#include "cause.h"
#include "trial.h"

enum oracle {
	ORACLE_WALKS = 1,
	ORACLE_CONTENTS = 2,
	ORACLE_RECOUNT = 4,
	ORACLE_ALL = 7,
};

#define MAX_FAILURES 8 /* causes that one sequence is remembered for */

struct failure {
	struct cause cause;
	uint16_t step;		/* index of the step after which it was seen first */
	uint8_t process, page;	/* the page that was missed, orphaned, pinned, or changed */
	uint64_t asked;		/* FAILURE_MISS: an offset that was asked for (of its item), and ... */
	uint64_t linear_index;	/* ... what would have found it */
	uint64_t holds, should_hold; /* FAILURE_CONTENT */
};

struct verdict {
	unsigned int nr;
	struct failure failures[MAX_FAILURES];
};

void oracle_reset(struct verdict *v);
/* Adds what fails now and whose cause the verdict does not have yet; true when the sequence must end. */
bool oracle_check(struct trial *t, unsigned int oracles, unsigned int index, const struct step *step,
		  enum trial_outcome outcome, int64_t result, struct verdict *v);

/*
 * Runs the whole sequence on a fresh machine. 0 and the verdict, or -ENOMEM. *nr_steps (may be NULL):
 * how many were executed, skipped ones not counted.
 */
int oracle_run(struct trial *t, const struct sequence *s, enum sp_strategy strategy,
	       unsigned int oracles, struct verdict *v, uint64_t *nr_steps) SP_CHECK;
/*
 * The features of an entry at addr that maps the frame, as the machine shows them; past: enum page_past.
 * FEATURE_LINUX included. For causes of machines that no trial runs (against.h).
 */
uint32_t oracle_features(struct vm *vm, struct mm *mm, uint64_t addr, struct frame *frame,
			 unsigned int past);

/* The failure of that cause in the verdict, or NULL. */
const struct failure *verdict_find(const struct verdict *v, const struct cause *cause);

#endif
