/* SPDX-License-Identifier: GPL-2.0-only */
/* C text; see ctext.h. */
#include "ctext.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COLUMNS 100
#define TAB 8

/* ---- Growing ------------------------------------------------------------------ */

void ctext_init(struct ctext *t, struct mem *mem)
{
	*t = (struct ctext){ .mem = mem };
}

void ctext_destroy(struct ctext *t)
{
	mem_free(t->mem, t->data, t->room);
	*t = (struct ctext){ .mem = t->mem };
}

void ctext_clear(struct ctext *t)
{
	t->bytes = 0;
	if (t->data)
		t->data[0] = '\0';
}

const char *ctext_string(const struct ctext *t)
{
	return t->data ? t->data : "";
}

static bool reserve(struct ctext *t, size_t bytes)
{
	size_t room = MAX(t->room * 2, t->bytes + bytes + 1);
	char *data;

	if (t->err)
		return false;
	if (t->bytes + bytes < t->room)
		return true;
	data = mem_realloc(t->mem, t->data, t->room, room);
	if (!data) {
		t->err = -ENOMEM;
		return false;
	}
	t->data = data;
	t->room = room;
	return true;
}

void ctext_add(struct ctext *t, const char *data, size_t bytes)
{
	if (!reserve(t, bytes))
		return;
	memcpy(t->data + t->bytes, data, bytes);
	t->bytes += bytes;
	t->data[t->bytes] = '\0';
}

void ctext_put(struct ctext *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n <= 0 || !reserve(t, (size_t)n))
		return;
	va_start(ap, fmt);
	vsnprintf(t->data + t->bytes, (size_t)n + 1, fmt, ap);
	va_end(ap);
	t->bytes += (size_t)n;
}

/* ---- Literals, comments, code ----------------------------------------------------- */

void ctext_put_literal(struct ctext *t, const char *data, size_t bytes)
{
	ctext_add(t, "\"", 1);
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)data[i];

		/* Two question marks may begin a trigraph. */
		if (c == '"' || c == '\\' || (c == '?' && i && data[i - 1] == '?'))
			ctext_put(t, "\\%c", c);
		else if (c < ' ' || c == 0x7f)
			ctext_put(t, "\\%03o", c);
		else
			ctext_add(t, data + i, 1);
	}
	ctext_add(t, "\"", 1);
}

void ctext_put_comment(struct ctext *t, const char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		char pair[2] = { data[i], i + 1 < bytes ? data[i + 1] : '\0' };

		ctext_add(t, (unsigned char)data[i] < ' ' && data[i] != '\t' ? " " : data + i, 1);
		if (!memcmp(pair, "*/", 2) || !memcmp(pair, "/*", 2))
			ctext_add(t, " ", 1);
	}
}

/* Where a line of at most `most` bytes may end: behind a blank outside of quotes. 0: nowhere. */
static size_t break_at(const char *code, size_t most)
{
	bool quoted = false;
	size_t best = 0;

	for (size_t i = 0; code[i] && i < most; i++) {
		if (code[i] == '\\' && quoted && code[i + 1])
			i++;
		else if (code[i] == '"')
			quoted = !quoted;
		else if (code[i] == ' ' && !quoted && i > 0 && (code[i - 1] == ',' || code[i - 1] == '|' || code[i - 1] == '&'))
			best = i + 1;
	}
	return best;
}

void ctext_put_code(struct ctext *t, unsigned int depth, const char *code)
{
	unsigned int tabs = depth;

	for (;;) {
		size_t most = COLUMNS > tabs * TAB + 20 ? COLUMNS - tabs * TAB : 20;
		size_t length = strlen(code), at;

		for (unsigned int i = 0; i < tabs; i++)
			ctext_add(t, "\t", 1);
		at = length > most ? break_at(code, most) : 0;
		if (!at) {
			ctext_put(t, "%s\n", code);
			return;
		}
		ctext_add(t, code, at - 1);
		ctext_add(t, "\n", 1);
		code += at;
		tabs = depth + 2;
	}
}

/* ---- Identifiers ------------------------------------------------------------------------ */

static bool is_letter(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static const char *skip_quoted(const char *at, const char *end, char quote)
{
	for (at++; at < end && *at != quote; at++)
		at += *at == '\\';
	return MIN(at + 1, end);
}

size_t ctext_next_identifier(const char **at, const char *end, const char **ret)
{
	const char *p = *at;
	bool member = false;

	while (p < end) {
		if (p + 1 < end && p[0] == '/' && p[1] == '*') {
			const char *close = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);

			p = close ? close + 2 : end;
		} else if (*p == '"' || *p == '\'') {
			p = skip_quoted(p, end, *p);
		} else if (is_letter(*p)) {
			const char *start = p;

			while (p < end && is_word(*p))
				p++;
			if (member) {
				member = false;
				continue;
			}
			*at = p;
			*ret = start;
			return (size_t)(p - start);
		} else if (isdigit((unsigned char)*p)) {
			while (p < end && is_word(*p))
				p++;
			member = false;
		} else {
			member = *p == '.' || (*p == '>' && p > *at && p[-1] == '-');
			p++;
		}
	}
	*at = end;
	return 0;
}

bool ctext_is_taken(const char *name, size_t length)
{
	static const char *const words[] = {
		"asm", "auto", "bool", "break", "case", "char", "const", "continue", "default", "do",
		"double", "else", "enum", "extern", "false", "float", "for", "goto", "if", "inline",
		"int", "long", "register", "restrict", "return", "short", "signed", "sizeof", "static",
		"struct", "switch", "true", "typedef", "typeof", "union", "unsigned", "void",
		"volatile", "while", "linux", "unix", "i386", "errno", "stdin", "stdout", "stderr",
		"signal_pending", "major", "minor", "makedev", "alloca", "offsetof", "assert",
	};
	bool lower = false;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i]) == length && !memcmp(words[i], name, length))
			return true;
	/* Macros are written in capitals; a member of a union hidden by one begins with si_, sa_, st_. */
	for (size_t i = 0; i < length; i++)
		lower |= islower((unsigned char)name[i]) != 0;
	if (length > 3 && name[0] == 's' && strchr("aitv", name[1]) && name[2] == '_')
		return true;
	return (!lower && length > 1) || name[0] == '_';
}
