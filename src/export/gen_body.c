/* SPDX-License-Identifier: GPL-2.0-only */
/* Statements of scenario(), between the comments that the file has there; see gen.h. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gen.h"
#include "names.h"

/* ---- Lines of the scenario's file ------------------------------------------------------ */

bool gen_next_line(struct gen *g, struct source_line *line)
{
	const char *file_end = g->input->text + g->input->bytes;
	const char *end, *p = g->at;
	bool quoted = false;

	if (p == file_end)
		return false;
	end = memchr(p, '\n', (size_t)(file_end - p));
	g->at = end ? end + 1 : file_end;
	g->line++;
	if (!end)
		end = file_end;
	*line = (struct source_line){ .code = NULL };
	while (p < end && isspace((unsigned char)*p))
		p++;
	line->code = p;
	while (p < end && (*p != '#' || quoted)) {
		quoted ^= *p == '"';
		p++;
	}
	line->code_length = (size_t)(p - line->code);
	while (line->code_length && isspace((unsigned char)line->code[line->code_length - 1]))
		line->code_length--;
	if (p == end)
		return true;
	p++;
	/* Indentation of a table in a comment stays. */
	if (p < end && *p == ' ')
		p++;
	while (end > p && isspace((unsigned char)end[-1]))
		end--;
	line->comment = p;
	line->comment_length = (size_t)(end - p);
	return true;
}

/* ---- The body ------------------------------------------------------------------------------ */

static void indent(struct gen *g)
{
	for (unsigned int i = 0; i < g->depth; i++)
		ctext_add(&g->body, "\t", 1);
}

static void put_comment_line(struct gen *g, const char *before, const char *text, size_t length,
			     const char *behind)
{
	indent(g);
	ctext_put(&g->body, "%s", before);
	ctext_put_comment(&g->body, text, length);
	ctext_put(&g->body, "%s\n", behind);
	g->blank = false;
}

/* One line, or several. */
static void put_comments(struct gen *g, const struct source_line *lines, unsigned int nr)
{
	if (nr == 1) {
		put_comment_line(g, "/* ", lines->comment, lines->comment_length, " */");
		return;
	}
	put_comment_line(g, "/*", "", 0, "");
	for (unsigned int i = 0; i < nr; i++)
		put_comment_line(g, lines[i].comment_length ? " * " : " *", lines[i].comment,
				 lines[i].comment_length, "");
	put_comment_line(g, " */", "", 0, "");
}

static void put_blank(struct gen *g)
{
	if (!g->blank)
		ctext_add(&g->body, "\n", 1);
	g->blank = true;
}

#define COMMENT_LINES 64

void gen_take_lines(struct gen *g, uint32_t to, bool until_end)
{
	struct source_line lines[COMMENT_LINES];
	unsigned int nr = 0;
	bool blank = false;

	while (g->line < to && gen_next_line(g, &lines[nr])) {
		const struct source_line *line = &lines[nr];
		bool is_end = until_end && line->code_length == 3 && !memcmp(line->code, "end", 3);

		if (line->comment && nr + 1 < COMMENT_LINES) {
			if (!nr && blank)
				put_blank(g);
			nr++;
		} else if (nr) {
			put_comments(g, lines, nr);
			nr = 0;
		}
		blank = !line->code_length && !line->comment;
		if (is_end)
			break;
	}
	if (nr)
		put_comments(g, lines, nr);
	else if (blank && !until_end)
		put_blank(g);
}

void gen_begin_quietly(struct gen *g, uint32_t line)
{
	const char *at = g->at;
	uint32_t nr = g->line;

	/* A blank line above stands above the comment of the line itself. */
	if (nr + 1 < line)
		gen_take_lines(g, line - 1, false);
	else
		g->at = at;
	gen_take_lines(g, line, false);
}

void gen_begin(struct gen *g, const struct stmt *s)
{
	gen_begin_quietly(g, s->line);
	gen_put(g, "at(%u, ", s->line);
	ctext_put_literal(&g->code, s->text, strlen(s->text));
	gen_put(g, ")");
	gen_end(g);
}

void gen_end(struct gen *g)
{
	gen_put(g, ";");
	gen_end_line(g);
}

void gen_end_line(struct gen *g)
{
	if (g->code.err)
		g->body.err = g->code.err;
	ctext_put_code(&g->body, g->depth, ctext_string(&g->code));
	ctext_clear(&g->code);
	g->blank = false;
}

void gen_comment(struct gen *g, const char *fmt, ...)
{
	char text[2 * SCENARIO_MAX_LINE_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_comment_line(g, "/* ", text, strlen(text), " */");
}

/* ---- Outcomes -------------------------------------------------------------------------------- */

bool gen_is_for_linux(const struct stmt *s)
{
	return s->strategies & (1u << SP_STRATEGY_FULL);
}

static void gen_bound(struct gen *g, const char *op, uint32_t version)
{
	gen_put(g, "linux_version() %s LINUX(%u, %u)", op, version >> 16, version & 0xffff);
}

void gen_condition(struct gen *g, const struct linux_range *kernels)
{
	if (kernels->first == kernels->last) {
		gen_bound(g, "==", kernels->first);
		return;
	}
	if (kernels->first)
		gen_bound(g, ">=", kernels->first);
	if (kernels->first && kernels->last != UINT32_MAX)
		gen_put(g, " && ");
	if (kernels->last != UINT32_MAX)
		gen_bound(g, "<=", kernels->last);
}

static void put_call(struct gen *g, const char *before, const struct ctext *call, const char *behind)
{
	gen_put(g, "%s", before);
	ctext_add(&g->code, ctext_string(call), call->bytes);
	gen_put(g, "%s", behind);
	gen_end(g);
}

static void put_failing_call(struct gen *g, const struct stmt *expected, const struct ctext *call)
{
	char behind[32];

	snprintf(behind, sizeof(behind), ", %.20s)", errno_name(expected->number));
	put_call(g, "must_fail(", call, behind);
}

/* It must succeed, or fail as the file says: of some kernels, or of all. */
static void put_calls(struct gen *g, const struct stmt *s, const struct ctext *call)
{
	bool any = false;

	for (const struct stmt *e = s->errnos; e; e = e->next) {
		if (!gen_is_for_linux(e))
			continue;
		if (linux_range_is_all(&e->kernels)) {
			if (any) {
				gen_put(g, "else");
				gen_end_line(g);
			}
			g->depth += any;
			put_failing_call(g, e, call);
			g->depth -= any;
			return;
		}
		gen_put(g, any ? "else if (" : "if (");
		gen_condition(g, &e->kernels);
		gen_put(g, ")");
		gen_end_line(g);
		g->depth++;
		put_failing_call(g, e, call);
		g->depth--;
		any = true;
	}
	if (any) {
		gen_put(g, "else");
		gen_end_line(g);
	}
	g->depth += any;
	put_call(g, "must(", call, ")");
	g->depth -= any;
}

void gen_outcome(struct gen *g, const struct stmt *s, bool counts)
{
	struct ctext call;

	ctext_init(&call, g->mem);
	ctext_add(&call, ctext_string(&g->code), g->code.bytes);
	if (g->code.err || call.err)
		g->body.err = -ENOMEM;
	ctext_clear(&g->code);
	put_calls(g, s, &call);
	ctext_destroy(&call);
	g->last_is_zero = !counts;
}
