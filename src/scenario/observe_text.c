/* SPDX-License-Identifier: GPL-2.0-only */
/* Observations as lines; see observe_text.h. */
#include "observe_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Writing ----------------------------------------------------------------------- */

void observe_writer_init(struct observe_writer *w, struct mem *mem, FILE *out)
{
	w->out = out;
	observation_init(&w->last, mem);
}

void observe_writer_destroy(struct observe_writer *w)
{
	observation_destroy(&w->last);
}

static void write_gone(struct observe_writer *w, const struct observation *o)
{
	for (uint32_t i = 0; i < w->last.nr; i++) {
		const char *key = observation_key(&w->last, i);

		if ((i < o->nr && !strcmp(observation_key(o, i), key)) || observation_find(o, key))
			continue;
		fprintf(w->out, "- %s\n", key);
	}
}

int observe_write(struct observe_writer *w, const struct observation *o)
{
	struct observation_difference d;
	uint32_t at = 0;
	int err = 0;

	fprintf(w->out, "@ %" PRIu64 " %" PRIu32 " %s %s\n", o->operation, o->line,
		o->brief ? "brief" : "full", observation_text(o));
	if (o->brief) {
		for (uint32_t i = 0; i < o->nr; i++)
			fprintf(w->out, "= %s %s\n", observation_key(o, i), observation_value(o, i));
	} else {
		while (observation_changed(&w->last, o, &at, &d))
			fprintf(w->out, "= %s %s\n", d.key, d.b);
		write_gone(w, o);
		err = observation_copy(&w->last, o);
	}
	fputs(";\n", w->out);
	if (fflush(w->out))
		return -errno;
	return err;
}

/* ---- Reading ------------------------------------------------------------------------ */

void observe_reader_init(struct observe_reader *r, struct mem *mem, char *text)
{
	r->at = text;
	r->now = NULL;
	observation_init(&r->full, mem);
	observation_init(&r->brief, mem);
}

void observe_reader_destroy(struct observe_reader *r)
{
	observation_destroy(&r->full);
	observation_destroy(&r->brief);
	r->now = NULL;
}

/* Where the observation that begins at r->at ends: behind ";\n". NULL when it does not. */
static char *end_of_observation(const char *at)
{
	for (const char *line = at; *line;) {
		const char *newline = strchr(line, '\n');

		if (!newline || (line != at && *line == '@'))
			return NULL;
		if (newline - line == 1 && *line == ';')
			return (char *)(uintptr_t)newline + 1;
		line = newline + 1;
	}
	return NULL;
}

/* The next line, cut out; *at behind it. */
static char *cut_line(char **at)
{
	char *line = *at, *newline = strchr(line, '\n');

	*newline = '\0';
	*at = newline + 1;
	return line;
}

/* "@ 3 12 full TEXT" */
static int read_head(struct observe_reader *r, char *line, struct observation **ret)
{
	uint64_t operation;
	uint32_t number;
	char *end;

	operation = strtoull(line + 2, &end, 10);
	if (*end != ' ')
		return -EPROTO;
	number = (uint32_t)strtoul(end + 1, &end, 10);
	if (!strncmp(end, " full ", 6)) {
		end += 6;
		*ret = &r->full;
	} else if (!strncmp(end, " brief ", 7)) {
		end += 7;
		*ret = &r->brief;
	} else {
		return -EPROTO;
	}
	if (*ret == &r->full)
		return observation_go_on(&r->full, operation, number, end);
	return observation_begin(&r->brief, operation, number, end);
}

static int read_line(struct observation *o, char *line)
{
	char *key = line + 2, *value;

	if (*line == '-' && line[1] == ' ') {
		observation_remove(o, key);
		return 0;
	}
	value = line[0] == '=' && line[1] == ' ' ? strchr(key, ' ') : NULL;
	if (!value)
		return -EPROTO;
	*value++ = '\0';
	return observation_set(o, key, value);
}

int observe_read(struct observe_reader *r)
{
	char *end = r->at[0] == '@' && r->at[1] == ' ' ? end_of_observation(r->at) : NULL;
	struct observation *o;
	int err;

	if (!end)
		return 0;
	err = read_head(r, cut_line(&r->at), &o);
	while (!err && r->at + 2 < end)
		err = read_line(o, cut_line(&r->at));
	if (err)
		return err;
	r->at = end;
	o->brief = o == &r->brief;
	r->now = o;
	return 1;
}
