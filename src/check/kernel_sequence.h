/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sequences for a comparison with a kernel (versus.h): those of the search (generate.h), without
 * what a kernel does not do as told, and the scenario that each of them is.
 *
 * Left out are limits of frames, swap and mappings, which are not a kernel's to choose for a
 * scenario; `compact` and `reclaim`, of which nobody can say which pages they take (V13);
 * migration of a file's page, which the engine does not do, and knobs that are its own;
 * merge_across_nodes 0, 1 and 0 again, of which kernels die (K31a). The machine has two nodes,
 * so that pages can be migrated.
 *
 *	err = kernel_sequence_make(t, seed, number, depth, &s);
 *	err = kernel_sequence_tell(t, &s, "# why\n", &text);
 *	... text.text, text.lines[step] ...
 *	free(text.text);
 *
 * Locks: none. One thread uses the trial.
 */
#ifndef SP_KERNEL_SEQUENCE_H
#define SP_KERNEL_SEQUENCE_H

#include "trial.h"

/* Sequence `number` of the seed: `depth` steps, all of which mean something. 0 or -ENOMEM. */
int kernel_sequence_make(struct trial *t, uint64_t seed, uint64_t number, unsigned int depth,
			 struct sequence *s) SP_CHECK;

/* Its machine of fewer nodes is one that a kernel of two is no different from. */
bool kernel_sequence_is_fair(const struct sequence *s);

struct kernel_text {
	char *text;
	size_t size;
	uint16_t lines[MAX_STEPS]; /* of each step, counted from 1 */
	unsigned int nr_steps;
};

/*
 * As a scenario that expects the errors that the engine gives. Steps that mean nothing are
 * taken out of *s first. `head`: comment lines that it begins with, or "". 0 or -ENOMEM.
 */
int kernel_sequence_tell(struct trial *t, struct sequence *s, const char *head,
			 struct kernel_text *ret) SP_CHECK;

#endif
