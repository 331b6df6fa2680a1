/* SPDX-License-Identifier: GPL-2.0-only */
/* What came of a comparison; see compared.h. */
#include "compared.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void compared_init(struct compared *c)
{
	*c = (struct compared){0};
}

void compared_destroy(struct compared *c)
{
	for (unsigned int i = 0; i < c->nr_findings; i++)
		free(c->findings[i].text);
	for (unsigned int i = 0; i < c->nr_ends; i++) {
		free(c->ends[i].console);
		free(c->ends[i].text);
	}
	free(c->findings);
	free(c->ends);
	compared_init(c);
}

static struct compared_finding *finding_of(struct compared *c, const char *group)
{
	struct compared_finding *grown;

	for (unsigned int i = 0; i < c->nr_findings; i++)
		if (!strcmp(c->findings[i].group, group))
			return &c->findings[i];
	grown = realloc(c->findings, (c->nr_findings + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	c->findings = grown;
	grown += c->nr_findings++;
	*grown = (struct compared_finding){.lowest = UINT64_MAX, .sequence = UINT64_MAX};
	snprintf(grown->group, sizeof(grown->group), "%s", group);
	return grown;
}

static int add_found(struct compared *c, const struct on_kernel_event *e)
{
	struct compared_finding *f = finding_of(c, e->difference.group);

	if (!f)
		return -ENOMEM;
	c->nr_differ++;
	f->nr_found++;
	f->lowest = MIN(f->lowest, e->number);
	return 0;
}

static int add_shrunk(struct compared *c, const struct on_kernel_event *e)
{
	struct compared_finding *f = finding_of(c, e->difference.group);
	char *text;

	if (!f)
		return -ENOMEM;
	if (e->number >= f->sequence)
		return 0;
	text = strdup(e->text);
	if (!text)
		return -ENOMEM;
	free(f->text);
	f->text = text;
	f->sequence = e->number;
	f->difference = e->difference;
	f->nr_before = e->nr_before;
	f->nr_after = e->nr_after;
	return 0;
}

int compared_add(struct compared *c, const struct on_kernel_event *e)
{
	switch (e->kind) {
	case 'd':
		c->nr_sequences++;
		c->nr_operations += e->nr_operations;
		for (unsigned int i = 0; i < NR_EXPLANATIONS; i++)
			c->nr_explained[i] += e->nr_explained[i];
		return 0;
	case 'f':
		return add_found(c, e);
	case 'm':
		return add_shrunk(c, e);
	case 'l':
		if (!c->nr_cut++)
			snprintf(c->why_cut, sizeof(c->why_cut), "%s", e->text);
		return 0;
	case 'c':
		if (!c->nr_skipped++)
			snprintf(c->why_skipped, sizeof(c->why_skipped), "%s", e->text);
		return 0;
	default:
		return 0;
	}
}

int compared_add_end(struct compared *c, uint64_t sequence, struct compared_end **ret)
{
	struct compared_end *grown = realloc(c->ends, (c->nr_ends + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	c->ends = grown;
	*ret = &grown[c->nr_ends++];
	**ret = (struct compared_end){.sequence = sequence};
	return 0;
}

static int by_number_found(const void *a, const void *b)
{
	const struct compared_finding *left = a, *right = b;

	if (left->nr_found != right->nr_found)
		return left->nr_found > right->nr_found ? -1 : 1;
	return left->lowest < right->lowest ? -1 : left->lowest > right->lowest;
}

static int by_sequence(const void *a, const void *b)
{
	const struct compared_end *left = a, *right = b;

	return left->sequence < right->sequence ? -1 : left->sequence > right->sequence;
}

void compared_sort(struct compared *c)
{
	if (c->nr_findings)
		qsort(c->findings, c->nr_findings, sizeof(*c->findings), by_number_found);
	if (c->nr_ends)
		qsort(c->ends, c->nr_ends, sizeof(*c->ends), by_sequence);
}
