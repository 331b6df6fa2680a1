/* SPDX-License-Identifier: GPL-2.0-only */
/* The helpers that a reproducer uses; see helpers.h. */
#include "helpers.h"

#include <errno.h>
#include <string.h>

#include "repro_text.h"

/* ---- Lines ---------------------------------------------------------------------- */

struct line {
	const char *text;
	size_t length; /* without newline, and without its condition */
	char mark;     /* '@', '%', '!', or 0: code */
	const char *names; /* behind the mark, or the condition; NULL: none */
	size_t names_length;
};

static bool next(const char **at, struct line *line)
{
	const char *end = repro_text + repro_text_bytes;
	const char *newline, *condition;

	if (*at == end)
		return false;
	newline = memchr(*at, '\n', (size_t)(end - *at));
	*line = (struct line){ .text = *at, .length = (size_t)(newline - *at) };
	*at = newline + 1;
	if (line->length >= 3 && !memcmp(line->text, "//", 2) && strchr("@%!", line->text[2])) {
		line->mark = line->text[2];
		line->names = line->text + 3;
		line->names_length = line->length - 3;
		return true;
	}
	condition = memmem(line->text, line->length, "//?", 3);
	if (condition) {
		line->names = condition + 3;
		line->names_length = (size_t)(newline - line->names);
		line->length = (size_t)(condition - line->text);
		while (line->length && strchr(" \t", line->text[line->length - 1]))
			line->length--;
	}
	return true;
}

static size_t next_name(const struct line *line, const char **at, const char **ret)
{
	const char *end = line->names + line->names_length;
	const char *p = *at;

	while (p < end && *p == ' ')
		p++;
	*ret = p;
	while (p < end && *p != ' ')
		p++;
	*at = p;
	return (size_t)(p - *ret);
}

/* ---- Names -------------------------------------------------------------------------- */

static struct helper_key *find(const struct helpers *h, const char *name, size_t length)
{
	for (size_t i = 0; i < h->nr; i++)
		if (h->keys[i].length == length && !memcmp(h->keys[i].text, name, length))
			return &h->keys[i];
	return NULL;
}

static int add(struct helpers *h, const char *name, size_t length)
{
	if (find(h, name, length))
		return 0;
	if (h->nr == h->room) {
		size_t room = MAX(h->room * 2, (size_t)128);
		struct helper_key *keys = mem_realloc(h->mem, h->keys, h->room * sizeof(*keys),
						      room * sizeof(*keys));

		if (!keys)
			return -ENOMEM;
		h->keys = keys;
		h->room = room;
	}
	h->keys[h->nr++] = (struct helper_key){ .text = name, .length = length };
	return 0;
}

int helpers_init(struct helpers *h, struct mem *mem)
{
	const char *at = repro_text;
	struct line line;
	int err = 0;

	*h = (struct helpers){ .mem = mem };
	while (!err && next(&at, &line)) {
		const char *in = line.names, *name;
		size_t length;

		if (!in || line.mark == '%')
			continue;
		while (!err && (length = next_name(&line, &in, &name)))
			err = add(h, name, length);
	}
	if (err)
		helpers_destroy(h);
	return err;
}

void helpers_destroy(struct helpers *h)
{
	mem_free(h->mem, h->keys, h->room * sizeof(*h->keys));
	*h = (struct helpers){ .mem = h->mem };
}

bool helpers_has(const struct helpers *h, const char *name, size_t length)
{
	return find(h, name, length);
}

void helpers_use(struct helpers *h, const char *name)
{
	struct helper_key *key = find(h, name, strlen(name));

	if (key)
		key->used = true;
}

bool helpers_is_used(const struct helpers *h, const char *name)
{
	const struct helper_key *key = find(h, name, strlen(name));

	return key && key->used;
}

/* True when that is news. */
static bool use_all_in(struct helpers *h, const char *code, size_t bytes)
{
	const char *at = code, *name;
	bool news = false;
	size_t length;

	while ((length = ctext_next_identifier(&at, code + bytes, &name))) {
		struct helper_key *key = find(h, name, length);

		if (key && !key->used) {
			key->used = true;
			news = true;
		}
	}
	return news;
}

/* ---- The text ------------------------------------------------------------------------- */

/* One of the line's names is used; true when it has none. */
static bool any_used(const struct helpers *h, const struct line *line)
{
	const char *in = line->names, *name;
	bool none = true;
	size_t length;

	while (in && (length = next_name(line, &in, &name))) {
		const struct helper_key *key = find(h, name, length);

		none = false;
		if (key && key->used)
			return true;
	}
	return none;
}

static const char *part_of(const struct helpers_parts *parts, const struct line *line)
{
#define HELPERS_PART(name)                                                          \
	if (line->names_length == sizeof(#name) && !memcmp(line->names + 1, #name, sizeof(#name) - 1)) \
		return parts->name;
	HELPERS_PARTS(HELPERS_PART)
#undef HELPERS_PART
	return "";
}

/* A comment's inside is no code: its lines begin with " *", or all of it is on one. */
static bool use_lines(struct helpers *h, const struct helpers_parts *parts)
{
	const char *at = repro_text;
	bool used = true, news = false;
	struct line line;

	while (next(&at, &line)) {
		if (line.mark == '@') {
			used = any_used(h, &line);
		} else if (line.mark == '%' && used) {
			const char *part = part_of(parts, &line);

			news |= use_all_in(h, part, strlen(part));
		} else if (!line.mark && used && any_used(h, &line) &&
			   strncmp(line.text, " *", 2) && strncmp(line.text, "\t *", 3)) {
			news |= use_all_in(h, line.text, line.length);
		}
	}
	return news;
}

void helpers_write(struct helpers *h, const struct helpers_parts *parts, struct ctext *out)
{
	const char *at = repro_text;
	bool used = true, blank = true;
	struct line line;

	while (use_lines(h, parts))
		;
	while (next(&at, &line)) {
		if (line.mark == '@')
			used = any_used(h, &line);
		if (line.mark == '%' && used) {
			const char *part = part_of(parts, &line);

			ctext_put(out, "%s", part);
			blank &= !*part;
		}
		if (line.mark || !used || !any_used(h, &line))
			continue;
		/* What is left out leaves no second blank line behind. */
		if (line.length || !blank)
			ctext_put(out, "%.*s\n", (int)line.length, line.text);
		blank = !line.length;
	}
}
