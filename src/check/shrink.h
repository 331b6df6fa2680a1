/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes a failing sequence as short and plain as it gets, while it keeps failing for the same
 * cause: delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing
 * Input", 2002) on the steps, then single steps, then arguments, then the machine, and again
 * until nothing helps.
 *
 * The result is 1-minimal: no single step can be taken away.
 *
 *	err = shrink(t, &sequence, SP_STRATEGY_INDEX, &failure->cause, NULL, NULL);
 *
 * Locks: none. One thread uses the trial and the sequence; others may shrink others meanwhile.
 */
#ifndef SP_SHRINK_H
#define SP_SHRINK_H

#include "oracle.h"

/*
 * Changes *s in place. It must fail for the cause to begin with: -EINVAL otherwise; -ENOMEM;
 * -EINTR when stop() (may be NULL) said true, *s being what was reached. *nr_tries (may be NULL):
 * sequences run.
 */
int shrink(struct trial *t, struct sequence *s, enum sp_strategy strategy, const struct cause *cause,
	   bool (*stop)(void *arg), void *arg, uint64_t *nr_tries) SP_CHECK;

/*
 * Whether a candidate fails as the first one did: 1 and *last, the last step that it takes; 0; or
 * -errno, which ends it all. It may take steps that mean nothing out of the candidate.
 */
typedef int (*shrink_fails_fn)(void *arg, struct sequence *candidate, unsigned int *last);

/* The same, by another judge; the trial, under the whole-tree walk, only counts errors. */
int shrink_by(struct trial *t, struct sequence *s, shrink_fails_fn fails, void *fails_arg,
	      bool (*stop)(void *arg), void *arg) SP_CHECK;

#endif
