/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * "did you mean ...?": the nearest of a number of words, by edit distance
 * (insertions, deletions, substitutions, swaps of neighbours). Near means at
 * most a third of the word's length wrong, so that nonsense suggests nothing.
 *
 *	struct suggestion s;
 *
 *	suggest_init(&s, word, length);
 *	suggest_consider(&s, "madvise");	// for each candidate
 *	if (s.best) ...
 */
#ifndef SP_SUGGEST_H
#define SP_SUGGEST_H

#include "bits.h"

struct suggestion {
	const char *word;
	size_t length;
	const char *best; /* NULL: nothing is near */
	unsigned int distance;
};

void suggest_init(struct suggestion *s, const char *word, size_t length);
/* candidate must outlive the suggestion. */
void suggest_consider(struct suggestion *s, const char *candidate);
unsigned int edit_distance(const char *a, size_t a_length, const char *b, size_t b_length);

#endif
