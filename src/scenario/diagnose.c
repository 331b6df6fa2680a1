/* SPDX-License-Identifier: GPL-2.0-only */
/* The sorted, bounded list of diagnostics; see diagnose.h. */
#include "diagnose.h"

#include <stdio.h>
#include <string.h>

void diagnose_init(struct diagnose *d, struct diagnostics *out, const char *path)
{
	memset(d, 0, sizeof(*d));
	memset(out, 0, sizeof(*out));
	d->out = out;
	d->path = path;
}

static bool stands_after(const struct diagnose *d, unsigned int i, uint32_t line, uint32_t column)
{
	return d->line[i] > line || (d->line[i] == line && d->column[i] > column);
}

void diagnose_add_va(struct diagnose *d, uint32_t line, uint32_t column, const char *fmt,
		     va_list ap)
{
	struct diagnostics *out = d->out;
	unsigned int place = out->nr_listed;
	char place_text[48] = "";
	char text[384];

	for (unsigned int i = 0; i < out->nr_listed; i++)
		if (line && d->line[i] == line && d->column[i] == column)
			return;
	out->nr_total++;
	while (place > 0 && stands_after(d, place - 1, line, column))
		place--;
	if (place == DIAGNOSTICS_MAX)
		return;
	if (out->nr_listed < DIAGNOSTICS_MAX)
		out->nr_listed++;
	for (unsigned int i = out->nr_listed - 1; i > place; i--) {
		memcpy(out->list[i], out->list[i - 1], sizeof(out->list[i]));
		d->line[i] = d->line[i - 1];
		d->column[i] = d->column[i - 1];
	}
	d->line[place] = line;
	d->column[place] = column;
	if (line)
		snprintf(place_text, sizeof(place_text), ":%u:%u", line, column);
	vsnprintf(text, sizeof(text), fmt, ap);
	snprintf(out->list[place], sizeof(out->list[place]), "%.256s%s: %s", d->path, place_text,
		 text);
}

void diagnose_add(struct diagnose *d, uint32_t line, uint32_t column, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diagnose_add_va(d, line, column, fmt, ap);
	va_end(ap);
}
