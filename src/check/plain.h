/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How plain a sequence is, and plainer ones to try: what shrinking (shrink.h) goes by.
 *
 * Plainness is a cost with an order: first the number of steps, then the machine's size, then how
 * uncommon the operations are, then their arguments, then the order in which a reader would set
 * things up. Every change that shrinking makes must lower it, which is why shrinking ends.
 *
 * Nothing here runs a sequence. What is proposed need not fail any more, nor mean anything: who
 * tries it will see.
 *
 * Locks: none; pure functions, for any thread.
 */
#ifndef SP_PLAIN_H
#define SP_PLAIN_H

#include "step.h"

/* Values of pages, the common one first. */
#define NR_COMMON_BYTES 4
extern const uint8_t common_bytes[NR_COMMON_BYTES];

struct cost {
	uint64_t size;	 /* steps, then nodes, then pages */
	uint64_t manner; /* kinds, then arguments, then disorder */
};

struct cost sequence_cost(const struct sequence *s);
bool cost_less(const struct cost *a, const struct cost *b);

/*
 * Names processes a, b, c in order of appearance, and holds likewise; takes away the steps of
 * processes that do not run, and sets fields that mean nothing to 0. The sequence does the same
 * as before.
 */
void sequence_normalize(struct sequence *s);

/* Most plainer forms of one step that step_plainer() gives. */
#define MAX_PLAINER 96
/* Steps that might do instead of this one. Returns how many. */
unsigned int step_plainer(const struct step *step, const struct shape *shape,
			  struct step list[MAX_PLAINER]);

/* The sequence on a machine without that page: ranges that had it are a page shorter. */
void sequence_without_page(const struct sequence *s, unsigned int page, struct sequence *ret);
/* On a machine with a page more, which all ranges of the whole window have too. */
void sequence_with_page(const struct sequence *s, struct sequence *ret);
/*
 * The process that step `at` starts never does: what it did, another one does, `shift` pages
 * further up, and does not exit. False when that would need more pages than there are.
 */
bool sequence_fold_process(const struct sequence *s, unsigned int at, unsigned int into,
			   unsigned int shift, struct sequence *ret);
/* One step that does the work of two; false when there is none. */
bool step_join(const struct step *a, const struct step *b, struct step *ret);

#endif
