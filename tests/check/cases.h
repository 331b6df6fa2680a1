/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sequences that are known to fail, for tests of what is done with failing sequences: one for
 * each way in which the facts say that a walk fails.
 */
#ifndef SP_CASES_H
#define SP_CASES_H

#include "oracle.h"
#include "random.h"

struct failing_case {
	const char *name;
	enum sp_strategy strategy;
	enum failure_kind kind;
	unsigned int most_steps; /* a shrunk one has, those that start processes included */
	const char *cause;	 /* cause_name() */
	unsigned int nr_pages;
	unsigned int nr_steps;
	struct step steps[16];
};

extern const struct failing_case failing_cases[];
extern const unsigned int nr_failing_cases;

/* Its sequence, and its failure of that kind, which must be there. */
void case_make(struct trial *t, const struct failing_case *c, struct sequence *s,
	       struct failure *failure);
/* Puts up to nr random steps between those of *s, as long as it fails for that cause. */
void case_pad(struct trial *t, const struct failing_case *c, const struct cause *cause,
	      struct random *r, unsigned int nr, struct sequence *s);
/* Does it fail for that cause? */
bool case_fails(struct trial *t, const struct sequence *s, enum sp_strategy strategy,
		const struct cause *cause);

#endif
