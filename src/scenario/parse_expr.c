/* SPDX-License-Identifier: GPL-2.0-only */
/* Names, expressions and ranges; see parse.h. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "parse.h"
#include "suggest.h"
#include "value.h"

/* Of parentheses, signs and braces: recursion must end before the stack does. */
#define MAX_NESTING 64
#define MAX_NAME_BYTES 64
#define MAX_INDEX 999999

static bool kind_has_index(enum symbol_kind kind)
{
	return kind != SYMBOL_VARIABLE && kind != SYMBOL_FILE;
}

static struct expr *new_expr(struct parser *p, enum expr_op op, uint32_t pos)
{
	struct expr *e = arena_alloc(p->arena, sizeof(*e));

	if (e) {
		e->op = op;
		e->pos = pos;
	}
	return e;
}

static int new_const(struct parser *p, uint32_t pos, int64_t value, struct expr **ret)
{
	*ret = new_expr(p, EXPR_CONST, pos);
	if (!*ret)
		return -ENOMEM;
	(*ret)->value = value;
	return 0;
}

static int enter(struct parser *p)
{
	if (++p->depth <= MAX_NESTING)
		return 0;
	return parse_fail(p, p->pos, "more than %d nested parentheses and signs", MAX_NESTING);
}

/* The digits at the end of a plain name that can be an index: "c12" -> 2, "x01" -> 1. */
static uint32_t index_digits(const char *text, uint32_t length)
{
	uint32_t digits = 0;

	while (digits < length && isdigit((unsigned char)text[length - 1 - digits]))
		digits++;
	if (digits == length)
		return 0;
	while (digits > 1 && text[length - digits] == '0')
		digits--;
	return digits;
}

int parse_name(struct parser *p, enum symbol_kind kind, struct name_ref *ret)
{
	uint32_t start = p->pos;
	const char *text = p->line + start;
	uint32_t length = peek_identifier(p);
	uint32_t digits = 0;
	char buf[FOUND_BYTES];
	int err;

	ret->pos = start;
	ret->index = NULL;
	if (!length)
		return parse_fail(p, start, "expected the name of %s, found %s",
				  symbol_kind_text(kind), found(p, buf, sizeof(buf)));
	if (length > MAX_NAME_BYTES)
		return parse_fail(p, start, "a name of %u letters: at most %d are allowed",
				  length, MAX_NAME_BYTES);
	p->pos += length;
	if (kind_has_index(kind) && !at_end(p) && p->line[p->pos] == '{') {
		if (isdigit((unsigned char)text[length - 1]))
			return parse_fail(p, start + length - 1,
					  "a name ends in a letter or '_' before '{'");
		p->pos++;
		skip_blanks(p);
		err = enter(p);
		if (!err)
			err = parse_expr(p, &ret->index);
		if (!err)
			err = expect_char(p, '}', "after the index of a name");
		if (err)
			return err;
		p->depth--;
	} else if (kind_has_index(kind)) {
		int64_t value = 0;

		digits = index_digits(text, length);
		for (uint32_t i = length - digits; i < length && value <= MAX_INDEX; i++)
			value = value * 10 + (text[i] - '0');
		if (digits) {
			err = new_const(p, start + length - digits, value, &ret->index);
			if (err)
				return err;
		}
	}
	if (ret->index && ret->index->op == EXPR_CONST &&
	    (ret->index->value < 0 || ret->index->value > MAX_INDEX))
		return parse_fail(p, ret->index->pos, "the index of a name is 0..%d", MAX_INDEX);
	skip_blanks(p);
	return symbol_intern(p, kind, text, length - digits, ret->index != NULL, &ret->symbol);
}

int parse_new_name(struct parser *p, enum symbol_kind kind, struct name_ref *ret)
{
	int err = parse_name(p, kind, ret);

	return err ? err : symbol_define(p, kind, ret);
}

bool at_process_prefix(const struct parser *p)
{
	uint32_t end = p->pos + peek_identifier(p);
	int braces = 0;

	if (end == p->pos)
		return false;
	if (end < p->length && p->line[end] == '{')
		do {
			braces += (p->line[end] == '{') - (p->line[end] == '}');
			end++;
		} while (braces && end < p->length);
	while (end < p->length && (p->line[end] == ' ' || p->line[end] == '\t'))
		end++;
	return end < p->length && p->line[end] == ':';
}

/* ---- Expressions ------------------------------------------------------------ */

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

static int parse_number(struct parser *p, struct expr **ret)
{
	uint32_t start = p->pos;
	int base = 10;
	int64_t value = 0;

	if (p->length - start > 2 && p->line[start] == '0' && tolower((unsigned char)p->line[start + 1]) == 'x') {
		base = 16;
		p->pos += 2;
		if (digit_value(p->line[p->pos]) >= base)
			return parse_fail(p, start, "a number without digits after 0x");
	}
	for (; p->pos < p->length && digit_value(p->line[p->pos]) < base; p->pos++)
		if (__builtin_mul_overflow(value, base, &value) ||
		    __builtin_add_overflow(value, digit_value(p->line[p->pos]), &value))
			return parse_fail(p, start, "this number does not fit in 63 bits");
	if (peek_identifier(p))
		return parse_fail(p, start, "a number ends in a letter: write 123 or 0x7b");
	skip_blanks(p);
	return new_const(p, start, value, ret);
}

static int unknown_value(struct parser *p, uint32_t start, uint32_t length)
{
	const struct symbol_table *variables = &p->scenario->symbols[SYMBOL_VARIABLE];
	struct suggestion s;
	const char *name;

	suggest_init(&s, p->line + start, length);
	for (unsigned int i = 0; (name = sp_stat_name(0, i)); i++)
		suggest_consider(&s, name);
	for (uint32_t i = 0; i < variables->nr; i++)
		if (variables->list[i].defined_line)
			suggest_consider(&s, variables->list[i].text);
	/* Behind `expect` it may have been meant for one of its forms. */
	for (unsigned int i = 0; p->stmt->op == OP_EXPECT && (name = reserved_word(i)); i++)
		suggest_consider(&s, name);
	if (s.best)
		return parse_fail(p, start, "unknown name \"%.*s\"; did you mean \"%s\"?",
				  (int)MIN(length, 64u), p->line + start, s.best);
	return parse_fail(p, start,
			  "\"%.*s\" is no variable (let, for) and no counter of the machine",
			  (int)MIN(length, 64u), p->line + start);
}

/* a.ksm_merging_pages: the name of a process, and one of its figures. */
static int parse_process_stat(struct parser *p, struct expr **ret)
{
	struct expr *e = new_expr(p, EXPR_PROCESS_STAT, p->pos);
	struct suggestion s;
	uint32_t length;
	const char *name;
	int err;

	if (!e)
		return -ENOMEM;
	err = parse_name(p, SYMBOL_PROCESS, &e->process);
	if (err)
		return err;
	if (at_end(p) || p->line[p->pos] != '.')
		return parse_fail(p, p->pos, "expected '.' and a figure of the process");
	p->pos++;
	length = peek_identifier(p);
	e->stat = process_stat_find(p->line + p->pos, length);
	if (!e->stat) {
		suggest_init(&s, p->line + p->pos, length);
		for (unsigned int i = 0; (name = sp_stat_name(1, i)); i++)
			suggest_consider(&s, name);
		return parse_fail(p, p->pos, "a process has no figure \"%.*s\"%s%s%s",
				  (int)MIN(length, 64u), p->line + p->pos,
				  s.best ? "; did you mean \"" : "", s.best ? s.best : "",
				  s.best ? "\"?" : "");
	}
	p->pos += length;
	skip_blanks(p);
	*ret = e;
	return 0;
}

static int parse_page_function(struct parser *p, struct expr **ret, bool *matched)
{
	static const char *const names[NR_PAGE_FUNCTIONS] = {
#define X(upper, name) [PAGE_##upper] = name,
		SCENARIO_PAGE_FUNCTIONS(X)
#undef X
	};
	uint32_t length = peek_identifier(p);
	uint32_t start = p->pos;
	struct expr *e;
	bool parenthesis;
	int err;

	for (int i = 0; i < NR_PAGE_FUNCTIONS; i++) {
		if (!word_is(p, length, names[i]))
			continue;
		*matched = true;
		e = new_expr(p, EXPR_PAGE, start);
		if (!e)
			return -ENOMEM;
		e->function = i;
		p->pos += length;
		skip_blanks(p);
		parenthesis = accept_char(p, '(');
		err = parse_range(p, i == PAGE_VMAS || i == PAGE_PAGES ? RANGE_MAY_BE_ALL : 0,
				  &e->range);
		if (!err && parenthesis)
			err = expect_char(p, ')', "after the range");
		*ret = e;
		return err;
	}
	*matched = false;
	return 0;
}

/* Braces, or a dot that is not the first of two, follow the identifier. */
static bool at_process_stat(const struct parser *p, uint32_t length)
{
	uint32_t end = p->pos + length;

	if (end >= p->length)
		return false;
	if (p->line[end] == '{')
		return true;
	return p->line[end] == '.' && !(end + 1 < p->length && p->line[end + 1] == '.');
}

int parse_primary(struct parser *p, struct expr **ret)
{
	uint32_t start = p->pos;
	uint32_t length;
	char buf[FOUND_BYTES];
	bool matched;
	int err;

	if (!at_end(p) && isdigit((unsigned char)p->line[start]))
		return parse_number(p, ret);
	if (accept_char(p, '(')) {
		err = enter(p);
		if (!err)
			err = parse_expr(p, ret);
		if (!err)
			err = expect_char(p, ')', "to close the '('");
		p->depth--;
		return err;
	}
	if (accept_char(p, '-')) {
		struct expr *e;

		err = enter(p);
		if (!err)
			err = parse_primary(p, &e);
		p->depth--;
		if (err)
			return err;
		if (e->op == EXPR_CONST) /* a literal is at most INT64_MAX, a folded one may be less */
			return e->value == INT64_MIN ?
				parse_fail(p, start, "this number does not fit in 64 bits") :
				new_const(p, start, -e->value, ret);
		*ret = new_expr(p, EXPR_NEGATE, start);
		if (!*ret)
			return -ENOMEM;
		(*ret)->a = e;
		return 0;
	}
	length = peek_identifier(p);
	if (!length)
		return parse_fail(p, start, "expected a number, a name or '(', found %s",
				  found(p, buf, sizeof(buf)));
	if (at_process_stat(p, length))
		return parse_process_stat(p, ret);
	err = parse_page_function(p, ret, &matched);
	if (err || matched)
		return err;
	*ret = new_expr(p, EXPR_COUNTER, start);
	if (!*ret)
		return -ENOMEM;
	(*ret)->counter = counter_find(p->line + start, length);
	if (!(*ret)->counter) {
		uint32_t variable = symbol_find(p->scenario, SYMBOL_VARIABLE, p->line + start,
						length, false);

		if (variable == UINT32_MAX ||
		    !p->scenario->symbols[SYMBOL_VARIABLE].list[variable].defined_line)
			return unknown_value(p, start, length);
		(*ret)->op = EXPR_VARIABLE;
		(*ret)->variable = variable;
	}
	p->pos += length;
	skip_blanks(p);
	return 0;
}

/* Joins two operands, at once when both are known. */
static int join(struct parser *p, enum expr_op op, uint32_t pos, struct expr *a, struct expr *b,
		struct expr **ret)
{
	char text[128];
	int64_t value;

	if (a->op == EXPR_CONST && b->op == EXPR_CONST) {
		if (value_apply(op, a->value, b->value, &value, text, sizeof(text)))
			return parse_fail(p, pos, "%s", text);
		return new_const(p, a->pos, value, ret);
	}
	*ret = new_expr(p, op, pos);
	if (!*ret)
		return -ENOMEM;
	(*ret)->a = a;
	(*ret)->b = b;
	return 0;
}

static int parse_product(struct parser *p, struct expr **ret)
{
	int err = parse_primary(p, ret);

	while (!err) {
		uint32_t pos = p->pos;
		enum expr_op op;
		struct expr *b;

		if (accept_char(p, '*'))
			op = EXPR_MULTIPLY;
		else if (accept_char(p, '/'))
			op = EXPR_DIVIDE;
		else if (accept_char(p, '%'))
			op = EXPR_REMAINDER;
		else
			break;
		err = parse_primary(p, &b);
		if (!err)
			err = join(p, op, pos, *ret, b, ret);
	}
	return err;
}

int parse_expr(struct parser *p, struct expr **ret)
{
	int err = parse_product(p, ret);

	while (!err) {
		uint32_t pos = p->pos;
		enum expr_op op;
		struct expr *b;

		/* "x -> y" is an arrow. */
		if (!at_end(p) && p->line[pos] == '-' && pos + 1 < p->length && p->line[pos + 1] == '>')
			break;
		if (accept_char(p, '+'))
			op = EXPR_ADD;
		else if (accept_char(p, '-'))
			op = EXPR_SUBTRACT;
		else
			break;
		err = parse_product(p, &b);
		if (!err)
			err = join(p, op, pos, *ret, b, ret);
	}
	return err;
}

/* ---- Ranges -------------------------------------------------------------------- */

static int parse_index(struct parser *p, struct range *range)
{
	int err;

	if (!accept_char(p, '['))
		return 0;
	err = parse_expr(p, &range->first);
	if (!err && accept_text(p, "..")) {
		if (!at_end(p) && p->line[p->pos] == ']')
			range->open = true;
		else
			err = parse_expr(p, &range->last);
	}
	return err ? err : expect_char(p, ']', "after the pages of a range");
}

int parse_range(struct parser *p, unsigned int allowed, struct range **ret)
{
	struct range *range = arena_alloc(p->arena, sizeof(*range));
	uint32_t start = p->pos;
	uint32_t end;
	int err = 0;

	if (!range)
		return -ENOMEM;
	range->pos = start;
	if (at_process_prefix(p)) {
		if (allowed & RANGE_OWN)
			return parse_fail(p, start, "an operation acts on its own process: leave out \"%.*s:\"",
					  (int)peek_identifier(p), p->line + start);
		err = parse_name(p, SYMBOL_PROCESS, &range->process);
		if (!err)
			err = expect_char(p, ':', "after the process");
		if (err)
			return err;
	} else if (p->stmt->has_process) {
		range->process = p->stmt->process;
	} else {
		return parse_fail(p, start, "expected PROCESS:RANGE, such as a:x[0]");
	}
	range->has_process = true;
	if (word_is(p, peek_identifier(p), "all")) {
		if (!(allowed & RANGE_MAY_BE_ALL))
			return parse_fail(p, p->pos, "\"all\" cannot be used here: name a window or its pages");
		range->kind = RANGE_ALL;
		p->pos += 3;
		skip_blanks(p);
	} else if (accept_char(p, '@')) {
		range->kind = RANGE_ADDRESS;
		err = parse_primary(p, &range->address);
		if (!err)
			err = parse_index(p, range);
		if (!err && range->open)
			err = parse_fail(p, start, "a range from an address needs its last page");
	} else {
		range->kind = RANGE_WINDOW;
		err = parse_name(p, SYMBOL_WINDOW, &range->window);
		if (!err)
			err = parse_index(p, range);
	}
	if (!err && (allowed & RANGE_MAY_HAVE_OFFSET) && range->kind != RANGE_ALL && accept_char(p, '+'))
		err = parse_expr(p, &range->offset);
	if (err)
		return err;
	for (end = p->pos; end > start && (p->line[end - 1] == ' ' || p->line[end - 1] == '\t'); end--)
		;
	range->text = arena_text(p->arena, p->line + start, end - start);
	if (!range->text)
		return -ENOMEM;
	*ret = range;
	return 0;
}
