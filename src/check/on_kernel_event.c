/* SPDX-License-Identifier: GPL-2.0-only */
/* Events of a comparison as lines; see on_kernel.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "on_kernel.h"

static void put_text(FILE *to, const char *text)
{
	for (; text && *text; text++) {
		if (*text == '\n')
			fputs("\\n", to);
		else if (*text == '\\')
			fputs("\\\\", to);
		else
			fputc(*text == '\t' ? ' ' : *text, to);
	}
}

static void put_fields(FILE *to, const struct on_kernel_event *e)
{
	const struct versus_difference *d = &e->difference;

	switch (e->kind) {
	case 'd':
		fprintf(to, "\t%u", e->nr_operations);
		for (unsigned int i = 0; i < NR_EXPLANATIONS; i++)
			fprintf(to, "\t%u", e->nr_explained[i]);
		break;
	case 'f':
		fprintf(to, "\t%s", d->group);
		break;
	case 't':
		fprintf(to, "\t%u", e->nr_tries);
		break;
	case 'm':
		fprintf(to, "\t%s\t%u\t%s\t%s\t%s\t%s\t%u\t%u\t%u\t", d->group, d->step, d->operation,
			d->key, d->engine, d->other, d->nr_more, e->nr_before, e->nr_after);
		put_text(to, e->text);
		break;
	case 'c':
	case 'l':
		fputc('\t', to);
		put_text(to, e->text);
		break;
	default:
		break;
	}
}

char *event_print(const struct on_kernel_event *e)
{
	char *line = NULL;
	size_t size;
	FILE *to = open_memstream(&line, &size);
	bool failed;

	if (!to)
		return NULL;
	fprintf(to, "%c\t%" PRIu64, e->kind, e->number);
	put_fields(to, e);
	fputc('\n', to);
	failed = ferror(to);
	failed |= fclose(to);
	if (!failed)
		return line;
	free(line);
	return NULL;
}

/* ---- Reading ------------------------------------------------------------------------ */

/* In place. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text == '\\' && text[1])
			*to++ = *++text == 'n' ? '\n' : *text;
		else
			*to++ = *text;
	}
	*to = '\0';
}

/* The next field; NULL: there is none. */
static char *field(char **rest)
{
	return *rest ? strsep(rest, "\t") : NULL;
}

static bool number_field(char **rest, uint64_t *ret)
{
	const char *text = field(rest);
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	*ret = strtoull(text, &end, 10);
	return !*end;
}

static bool count_field(char **rest, unsigned int *ret)
{
	uint64_t number;

	if (!number_field(rest, &number) || number > UINT32_MAX)
		return false;
	*ret = (unsigned int)number;
	return true;
}

static bool text_field(char **rest, char *buf, size_t size)
{
	const char *text = field(rest);

	if (text)
		snprintf(buf, size, "%s", text);
	return text;
}

static bool last_field(char **rest, const char **ret)
{
	char *text = field(rest);

	if (text)
		unescape(text);
	*ret = text;
	return text;
}

static bool parse_difference(char **rest, struct on_kernel_event *e)
{
	struct versus_difference *d = &e->difference;

	return text_field(rest, d->group, sizeof(d->group)) && count_field(rest, &d->step) &&
	       text_field(rest, d->operation, sizeof(d->operation)) &&
	       text_field(rest, d->key, sizeof(d->key)) &&
	       text_field(rest, d->engine, sizeof(d->engine)) &&
	       text_field(rest, d->other, sizeof(d->other)) && count_field(rest, &d->nr_more) &&
	       count_field(rest, &e->nr_before) && count_field(rest, &e->nr_after) &&
	       last_field(rest, &e->text);
}

bool event_parse(char *line, struct on_kernel_event *e)
{
	char *rest = line, *kind = field(&rest);
	bool good = true;

	*e = (struct on_kernel_event){0};
	if (!kind || strlen(kind) != 1 || !number_field(&rest, &e->number))
		return false;
	e->kind = *kind;
	switch (e->kind) {
	case 's':
		break;
	case 'd':
		good = count_field(&rest, &e->nr_operations);
		for (unsigned int i = 0; good && i < NR_EXPLANATIONS; i++)
			good = count_field(&rest, &e->nr_explained[i]);
		break;
	case 'f':
		good = text_field(&rest, e->difference.group, sizeof(e->difference.group));
		break;
	case 't':
		good = count_field(&rest, &e->nr_tries);
		break;
	case 'm':
		good = parse_difference(&rest, e);
		break;
	case 'c':
	case 'l':
		good = last_field(&rest, &e->text);
		break;
	default:
		good = false;
		break;
	}
	return good && !field(&rest);
}
