/* SPDX-License-Identifier: GPL-2.0-only */
/* What a search has found, by cause; see found.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "found.h"

static struct found *find(const struct found_table *table, const struct cause *cause)
{
	for (unsigned int i = 0; i < table->nr; i++)
		if (cause_equal(&table->list[i].cause, cause))
			return &table->list[i];
	return NULL;
}

static struct found *find_or_make(struct found_table *table, const struct cause *cause)
{
	struct found *f = find(table, cause);

	if (f)
		return f;
	if (table->nr == table->nr_allocated) {
		unsigned int nr = table->nr_allocated ? 2 * table->nr_allocated : 16;

		f = realloc(table->list, nr * sizeof(*f));
		if (!f)
			return NULL;
		table->list = f;
		table->nr_allocated = nr;
	}
	f = &table->list[table->nr++];
	*f = (struct found){.cause = *cause, .first_ns = UINT64_MAX};
	for (unsigned int i = 0; i < FOUND_KEPT; i++)
		f->lowest[i] = FOUND_NONE;
	return f;
}

static void keep_lowest(struct found *f, uint64_t number)
{
	unsigned int i = FOUND_KEPT;

	if (number >= f->lowest[FOUND_KEPT - 1])
		return;
	for (; i > 1 && f->lowest[i - 2] > number; i--)
		f->lowest[i - 1] = f->lowest[i - 2];
	f->lowest[i - 1] = number;
}

int found_add(struct found_table *table, const struct cause *cause, uint64_t sequence, bool *new)
{
	unsigned int nr = table->nr;
	struct found *f = find_or_make(table, cause);

	if (!f)
		return -ENOMEM;
	*new = table->nr > nr;
	f->nr++;
	keep_lowest(f, sequence);
	return 0;
}

void found_at(struct found_table *table, const struct cause *cause, uint64_t ns)
{
	struct found *f = find(table, cause);

	f->first_ns = f->first_ns < ns ? f->first_ns : ns;
}

int found_merge(struct found_table *table, const struct found_table *from)
{
	for (unsigned int i = 0; i < from->nr; i++) {
		const struct found *other = &from->list[i];
		struct found *f = find_or_make(table, &other->cause);

		if (!f)
			return -ENOMEM;
		f->nr += other->nr;
		f->first_ns = f->first_ns < other->first_ns ? f->first_ns : other->first_ns;
		for (unsigned int k = 0; k < FOUND_KEPT; k++)
			keep_lowest(f, other->lowest[k]);
	}
	return 0;
}

void found_keep_only(struct found_table *table, uint64_t number)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < table->nr; i++) {
		struct found f = table->list[i];

		if (f.lowest[0] != number)
			continue;
		f.nr = 1;
		for (unsigned int k = 1; k < FOUND_KEPT; k++)
			f.lowest[k] = FOUND_NONE;
		table->list[nr++] = f;
	}
	table->nr = nr;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare(const void *x, const void *y)
{
	const struct found *a = x, *b = y;
	int order = compare_numbers(b->nr, a->nr);

	if (!order)
		order = compare_numbers(a->lowest[0], b->lowest[0]);
	if (!order)
		order = compare_numbers(a->cause.kind, b->cause.kind);
	if (!order)
		order = compare_numbers(a->cause.name, b->cause.name);
	if (!order)
		order = compare_numbers(a->cause.features, b->cause.features);
	return order;
}

void found_sort(struct found_table *table)
{
	if (table->nr)
		qsort(table->list, table->nr, sizeof(*table->list), compare);
}

void found_destroy(struct found_table *table)
{
	free(table->list);
	*table = (struct found_table){0};
}
