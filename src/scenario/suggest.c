/* SPDX-License-Identifier: GPL-2.0-only */
/* The nearest word by edit distance; see suggest.h. */
#include "suggest.h"

#include <string.h>

/* Longer words are compared by their first bytes: no word of ours is longer. */
#define WORD_MAX 48

unsigned int edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	/* Rows i, i-1 and i-2 of the table, the last for swaps. */
	unsigned int rows[3][WORD_MAX + 1];

	a_length = MIN(a_length, (size_t)WORD_MAX);
	b_length = MIN(b_length, (size_t)WORD_MAX);
	for (unsigned int j = 0; j <= b_length; j++)
		rows[0][j] = j;
	for (unsigned int i = 1; i <= a_length; i++) {
		unsigned int *row = rows[i % 3];
		const unsigned int *above = rows[(i + 2) % 3];
		const unsigned int *above2 = rows[(i + 1) % 3];

		row[0] = i;
		for (unsigned int j = 1; j <= b_length; j++) {
			unsigned int cost = a[i - 1] != b[j - 1];

			row[j] = MIN(MIN(above[j] + 1, row[j - 1] + 1), above[j - 1] + cost);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = MIN(row[j], above2[j - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

void suggest_init(struct suggestion *s, const char *word, size_t length)
{
	s->word = word;
	s->length = length;
	s->best = NULL;
	s->distance = (unsigned int)MAX(length / 3, (size_t)1) + 1;
}

void suggest_consider(struct suggestion *s, const char *candidate)
{
	unsigned int distance = edit_distance(s->word, s->length, candidate, strlen(candidate));

	/* The whole of a short word replaced is no likeness. */
	if (distance >= s->length || distance >= s->distance)
		return;
	s->distance = distance;
	s->best = candidate;
}
