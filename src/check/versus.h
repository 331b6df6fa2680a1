/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One sequence on two machines: the engine first, then another backend of scenarios, the
 * kernel, and after every operation what is to be seen of them (observe.h) is compared. The
 * first difference ends it: what comes after that is its consequence.
 *
 * Differences that are known and not the engine's fault have a fact (explained.h). They do not end
 * the run where nothing can follow from them; where something can, they do, and the sequence counts
 * as compared up to there.
 *
 *	err = versus_create(&kernel_backend, session, &v);
 *	err = versus_run(v, &sequence, &outcome);
 *	if (outcome.kind == VERSUS_DIFFERS)
 *		puts(outcome.difference.key) ...
 *	versus_destroy(v);
 *
 * Locks: none. One thread uses it, which is all that the kernel's backend allows (kernel.h).
 */
#ifndef SP_VERSUS_H
#define SP_VERSUS_H

#include "explained.h"
#include "kernel_sequence.h"
#include "scenario.h"

enum versus_kind {
	VERSUS_AGREES,
	VERSUS_DIFFERS,
	VERSUS_INVALID, /* the scenario is none that can be run, and why in `message` */
	VERSUS_CANNOT,	/* the other backend cannot run it, and why */
};

struct versus_outcome {
	enum versus_kind kind;
	struct versus_difference difference; /* when it differs */
	unsigned int nr_operations;	     /* compared, the one that differs included */
	unsigned int nr_explained[NR_EXPLANATIONS];
	bool lacks; /* it ended at an operation that the other backend has not, and which in `message` */
	char message[512];
};

struct versus;

/* 0 and *ret, or -ENOMEM. `session` is of the kernel's backend, or NULL. */
int versus_create(const struct backend_ops *other, struct kernel_session *session,
		  struct versus **ret) SP_CHECK;
void versus_destroy(struct versus *v);
/* For whoever makes and shrinks sequences. */
struct trial *versus_trial(struct versus *v);
/* Takes steps that mean nothing out of *s. 0 or -ENOMEM. */
int versus_run(struct versus *v, struct sequence *s, struct versus_outcome *ret) SP_CHECK;

#endif
