/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between the engine and a kernel: what one is about, and those that are known to say
 * nothing against the engine, each with the fact of docs/facts.md that explains it.
 *
 * The table is the place where a comparison can hide what it should find, so every entry is as
 * narrow as what it explains, is counted whenever it is used, and the counts are shown.
 *
 * Locks: none; pure functions.
 */
#ifndef SP_EXPLAINED_H
#define SP_EXPLAINED_H

#include "step.h"

struct versus_difference {
	unsigned int step;    /* of the sequence; the operation that differs */
	char operation[96];   /* as it is written */
	char key[96];	      /* the first observable that differs */
	char engine[160], other[160];
	unsigned int nr_more; /* others that differ too */
	char group[64];	      /* what is alike, and one finding: "page frame after mremap" */
};

/* From difference.key and the values, and the step's kind, which makes its group. */
void difference_name(struct versus_difference *d, const struct step *step);

enum explanation {
#define EXPLANATIONS(X)       \
	X(JOINED, "V32", true) \
	X(BATCHED, "V18", true)
#define EXPLANATION_ENUM(name, fact, ends) EXPLAINED_##name,
	EXPLANATIONS(EXPLANATION_ENUM)
#undef EXPLANATION_ENUM
	NR_EXPLANATIONS
};

const char *explanation_fact(enum explanation e);
/* What follows from it cannot be compared: the sequence ends there. */
bool explanation_ends(enum explanation e);
/* The entry that explains the difference, or NR_EXPLANATIONS. */
enum explanation explain(const struct versus_difference *d, const struct sequence *s);

#endif
