/* SPDX-License-Identifier: GPL-2.0-only */
/* The parser's cursor in a line; see parse.h. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "parse.h"

static bool starts_word(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static bool continues_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

void skip_blanks(struct parser *p)
{
	while (p->pos < p->length && (p->line[p->pos] == ' ' || p->line[p->pos] == '\t'))
		p->pos++;
}

bool at_end(const struct parser *p)
{
	return p->pos >= p->length;
}

int parse_fail(struct parser *p, uint32_t pos, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diagnose_add_va(p->diagnose, p->line_nr, pos + 1, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

bool accept_char(struct parser *p, char c)
{
	if (at_end(p) || p->line[p->pos] != c)
		return false;
	p->pos++;
	skip_blanks(p);
	return true;
}

bool accept_text(struct parser *p, const char *text)
{
	size_t length = strlen(text);

	if (p->length - p->pos < length || memcmp(p->line + p->pos, text, length))
		return false;
	p->pos += (uint32_t)length;
	skip_blanks(p);
	return true;
}

uint32_t peek_identifier(const struct parser *p)
{
	uint32_t end = p->pos;

	if (at_end(p) || !starts_word(p->line[end]))
		return 0;
	while (end < p->length && continues_word(p->line[end]))
		end++;
	return end - p->pos;
}

uint32_t peek_word(const struct parser *p)
{
	uint32_t end = p->pos + peek_identifier(p);

	if (end == p->pos)
		return 0;
	while (end < p->length &&
	       (continues_word(p->line[end]) ||
		(p->line[end] == '-' && end + 1 < p->length && starts_word(p->line[end + 1]))))
		end++;
	return end - p->pos;
}

bool word_is(const struct parser *p, uint32_t length, const char *word)
{
	return length == strlen(word) && !memcmp(p->line + p->pos, word, length);
}

bool accept_word(struct parser *p, const char *word)
{
	uint32_t length = peek_word(p);

	if (!length || !word_is(p, length, word))
		return false;
	p->pos += length;
	skip_blanks(p);
	return true;
}

const char *found(const struct parser *p, char *buf, size_t size)
{
	uint32_t end = p->pos;
	size_t used = 0;

	if (at_end(p))
		return "the end of the line";
	if (continues_word(p->line[end]))
		while (end < p->length && continues_word(p->line[end]))
			end++;
	else
		end++;
	buf[used++] = '"';
	for (uint32_t i = p->pos; i < end && used + 8 < size; i++) {
		unsigned char c = (unsigned char)p->line[i];

		if (isprint(c))
			buf[used++] = (char)c;
		else
			used += (size_t)snprintf(buf + used, size - used, "\\x%02x", c);
	}
	buf[used++] = '"';
	buf[used] = '\0';
	return buf;
}

int expect_char(struct parser *p, char c, const char *where)
{
	char buf[FOUND_BYTES];

	if (accept_char(p, c))
		return 0;
	return parse_fail(p, p->pos, "expected '%c' %s, found %s", c, where,
			  found(p, buf, sizeof(buf)));
}

int expect_word(struct parser *p, const char *word, const char *where)
{
	char buf[FOUND_BYTES];

	if (accept_word(p, word))
		return 0;
	return parse_fail(p, p->pos, "expected \"%s\" %s, found %s", word, where,
			  found(p, buf, sizeof(buf)));
}

int parse_quoted(struct parser *p, const char *what, const char **ret)
{
	uint32_t start = p->pos + 1;
	uint32_t end = start;
	char buf[FOUND_BYTES];

	if (at_end(p) || p->line[p->pos] != '"')
		return parse_fail(p, p->pos, "expected %s in quotes, found %s", what,
				  found(p, buf, sizeof(buf)));
	while (end < p->length && p->line[end] != '"')
		end++;
	if (end >= p->length)
		return parse_fail(p, p->pos, "%s in quotes has no closing '\"' on this line", what);
	*ret = arena_text(p->arena, p->line + start, end - start);
	if (!*ret)
		return -ENOMEM;
	p->pos = end + 1;
	skip_blanks(p);
	return 0;
}

int parse_raw_word(struct parser *p, const char *what, const char **ret)
{
	uint32_t end = p->pos;

	while (end < p->length && p->line[end] != ' ' && p->line[end] != '\t')
		end++;
	if (end == p->pos)
		return parse_fail(p, p->pos, "expected %s, found the end of the line", what);
	*ret = arena_text(p->arena, p->line + p->pos, end - p->pos);
	if (!*ret)
		return -ENOMEM;
	p->pos = end;
	skip_blanks(p);
	return 0;
}
