/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From text to statements: splits lines, keeps the stack of open loops, and
 * parses what belongs to no operation (loops, variables). After a mistake the
 * next line is parsed as if nothing had happened, so that one run shows all
 * mistakes.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "assertion.h"
#include "parse.h"
#include "suggest.h"

struct block {
	struct stmt *loop;  /* NULL: the file itself */
	struct stmt **tail; /* where the next statement goes */
};

struct blocks {
	struct block stack[SCENARIO_MAX_DEPTH + 1];
	unsigned int depth;
	unsigned int nr_refused; /* loops too deep, whose `end` is still to come */
};

int finish_line(struct parser *p, const char *usage)
{
	char buf[FOUND_BYTES];

	if (at_end(p))
		return 0;
	return parse_fail(p, p->pos, "unexpected %s; usage: %s", found(p, buf, sizeof(buf)), usage);
}

/* ---- Variables and loops --------------------------------------------------------- */

static bool is_loop_variable(const struct blocks *blocks, uint32_t symbol)
{
	for (unsigned int i = 1; i <= blocks->depth; i++)
		if (blocks->stack[i].loop->target.symbol == symbol)
			return true;
	return false;
}

static int parse_let(struct parser *p, struct stmt *s, const struct blocks *blocks)
{
	int err = parse_name(p, SYMBOL_VARIABLE, &s->target);

	if (!err && is_loop_variable(blocks, s->target.symbol))
		err = parse_fail(p, s->target.pos, "a loop sets its variable itself: use another name");
	if (!err)
		err = expect_char(p, '=', "after the variable");
	/* The value first: `let n = n + 1` needs an n from above. */
	if (!err)
		err = parse_expr(p, &s->value[0]);
	if (!err)
		err = symbol_define(p, SYMBOL_VARIABLE, &s->target);
	return err ? err : finish_line(p, op_table[OP_LET].usage);
}

static int parse_for(struct parser *p, struct stmt *s, const struct blocks *blocks)
{
	struct symbol *symbol;
	struct name_ref name;
	int err = parse_name(p, SYMBOL_VARIABLE, &name);

	s->target.symbol = UINT32_MAX;
	if (err)
		return err;
	symbol = &p->scenario->symbols[SYMBOL_VARIABLE].list[name.symbol];
	if (is_loop_variable(blocks, name.symbol))
		return parse_fail(p, name.pos, "\"%s\" is the variable of a loop around this one", symbol->text);
	if (symbol->defined_line)
		return parse_fail(p, name.pos, "\"%s\" is a variable already (line %u): give the loop another", symbol->text, symbol->defined_line);
	s->target = name;
	err = expect_word(p, "in", "after the variable of a loop");
	if (!err)
		err = parse_expr(p, &s->value[0]);
	if (!err && !accept_text(p, ".."))
		err = parse_fail(p, p->pos, "expected .. and the last value; usage: %s", op_table[OP_FOR].usage);
	if (!err)
		err = parse_expr(p, &s->value[1]);
	if (!err)
		err = finish_line(p, op_table[OP_FOR].usage);
	/* Also after a mistake, which the loop's body shall not repeat. */
	return symbol_define(p, SYMBOL_VARIABLE, &s->target) ?: err;
}

static int open_loop(struct parser *p, struct stmt *s, struct blocks *blocks)
{
	if (blocks->depth == SCENARIO_MAX_DEPTH) {
		blocks->nr_refused++;
		return parse_fail(p, s->pos, "loops are nested more than %d deep", SCENARIO_MAX_DEPTH);
	}
	blocks->stack[++blocks->depth] = (struct block){ s, &s->body };
	return 0;
}

static int close_loop(struct parser *p, uint32_t pos, struct blocks *blocks)
{
	struct stmt *loop;

	if (blocks->nr_refused) {
		blocks->nr_refused--;
		return 0;
	}
	if (!blocks->depth)
		return parse_fail(p, pos, "`end` without a `for`");
	/* Its variable may be another loop's from here on. */
	loop = blocks->stack[blocks->depth--].loop;
	if (loop->target.symbol != UINT32_MAX)
		p->scenario->symbols[SYMBOL_VARIABLE].list[loop->target.symbol].defined_line = 0;
	return finish_line(p, "end");
}

/* ---- A line -------------------------------------------------------------------------- */

static int unknown_operation(struct parser *p)
{
	uint32_t length = peek_word(p);
	struct suggestion s;
	char buf[FOUND_BYTES];

	if (!length)
		return parse_fail(p, p->pos, "expected an operation, found %s", found(p, buf, sizeof(buf)));
	suggest_init(&s, p->line + p->pos, length);
	for (int i = 0; i < NR_OPS; i++)
		suggest_consider(&s, op_table[i].word);
	if (s.best)
		return parse_fail(p, p->pos, "unknown operation \"%.*s\"; did you mean \"%s\"?",
				  (int)MIN(length, 64u), p->line + p->pos, s.best);
	return parse_fail(p, p->pos, "unknown operation \"%.*s\"; samepage-scenario(5) lists them",
			  (int)MIN(length, 64u), p->line + p->pos);
}

static int append(struct parser *p, struct stmt *s, struct blocks *blocks)
{
	struct scenario *sc = p->scenario;

	if (s->op == OP_EXPECT)
		s->expectation = sc->nr_expectations++;
	if (s->op == OP_EXPECT && s->form == EXPECT_ERRNO) {
		struct stmt **tail = &p->last_op->errnos;

		while (*tail)
			tail = &(*tail)->next;
		*tail = s;
		return 0;
	}
	*blocks->stack[blocks->depth].tail = s;
	blocks->stack[blocks->depth].tail = &s->next;
	return 0;
}

/* `under full index linux >= 6.7:`, where either may be left out. */
static int parse_under(struct parser *p, struct stmt *s)
{
	uint32_t start = p->pos;
	uint32_t strategies;
	bool with_linux = false;
	int err = parse_strategies(p, &strategies, NULL);

	if (!err && strategies)
		s->strategies = strategies;
	if (!err && accept_word(p, "linux")) {
		with_linux = true;
		err = parse_linux_range(p, &s->kernels);
	}
	if (!err && !strategies && !with_linux)
		err = parse_fail(p, start, "expected the strategies or the Linux that the expectation is for");
	if (!err)
		err = expect_char(p, ':', with_linux ? "after the version" : "after the strategies");
	return err;
}

/* The operation's number, or NR_OPS; the word is skipped. */
static enum op accept_op(struct parser *p)
{
	for (int i = 0; i < NR_OPS; i++)
		if (accept_word(p, op_table[i].word))
			return i;
	return NR_OPS;
}

static int parse_statement(struct parser *p, struct blocks *blocks)
{
	struct stmt *s = arena_alloc(p->arena, sizeof(*s));
	bool under;
	int err = 0;

	if (!s)
		return -ENOMEM;
	s->line = p->line_nr;
	s->pos = p->pos;
	s->strategies = STRATEGIES_ALL;
	s->kernels = LINUX_RANGE_ALL;
	s->text = arena_text(p->arena, p->line + p->pos, p->length - p->pos);
	if (!s->text)
		return -ENOMEM;
	p->stmt = s;
	under = accept_word(p, "under");
	if (under)
		err = parse_under(p, s);
	if (!err && at_process_prefix(p)) {
		err = parse_name(p, SYMBOL_PROCESS, &s->process);
		if (!err)
			err = expect_char(p, ':', "after the process");
		s->has_process = !err;
	}
	if (err)
		return err;
	s->pos = p->pos;
	s->op = accept_op(p);
	if (s->op == NR_OPS) {
		p->last_op = s; /* lest an `expect errno` below be called misplaced */
		return unknown_operation(p);
	}
	if (s->op != OP_EXPECT)
		p->last_op = op_table[s->op].can_fail ? s : NULL;
	if (under && s->op != OP_EXPECT)
		return parse_fail(p, s->pos, "`under` is for expectations: every strategy and kernel runs the same operations");
	if (op_table[s->op].needs_process && !s->has_process)
		return parse_fail(p, s->pos, "which process? usage: %s", op_table[s->op].usage);
	if (s->has_process && !op_table[s->op].needs_process && s->op != OP_EXPECT && s->op != OP_WALK)
		return parse_fail(p, s->pos, "no operation of a process; usage: %s", op_table[s->op].usage);

	switch (s->op) {
	case OP_MACHINE:
		return parse_machine(p);
	case OP_BROKEN:
		return parse_broken(p);
	case OP_NEEDS:
		return parse_needs(p);
	case OP_KILLS:
		return parse_kills(p);
	case OP_DIFFERS:
		return parse_differs(p);
	case OP_UNDER:
		return parse_fail(p, s->pos, "`under` stands in front of everything else");
	case OP_END:
		return close_loop(p, s->pos, blocks);
	case OP_LET:
		err = parse_let(p, s, blocks);
		break;
	case OP_FOR:
		err = parse_for(p, s, blocks);
		/* Opened even if it is wrong, or its `end` would be wrong too. */
		if (err == -ENOMEM)
			return err;
		if (!err)
			append(p, s, blocks);
		return open_loop(p, s, blocks) ?: err;
	default:
		err = parse_op_fns[s->op](p, s);
		if (!err)
			err = finish_line(p, op_table[s->op].usage);
		break;
	}
	if (!err)
		err = append(p, s, blocks);
	/* More of these may follow the same operation. */
	if (s->op == OP_EXPECT && s->form != EXPECT_ERRNO && s->form != EXPECT_RESULT)
		p->last_op = NULL;
	return err;
}

/* Takes the comment off; a '#' in quotes is none. */
static void set_line(struct parser *p, const char *line, uint32_t length)
{
	bool quoted = false;
	uint32_t end;

	for (end = 0; end < length; end++) {
		if (line[end] == '"')
			quoted = !quoted;
		else if (line[end] == '#' && !quoted)
			break;
	}
	p->comment = NULL;
	p->comment_length = 0;
	if (end < length) {
		uint32_t start = end + 1;

		while (start < length && isspace((unsigned char)line[start]))
			start++;
		while (length > start && isspace((unsigned char)line[length - 1]))
			length--;
		p->comment = line + start;
		p->comment_length = length - start;
	}
	while (end > 0 && isspace((unsigned char)line[end - 1]))
		end--;
	p->line = line;
	p->length = end;
	p->pos = 0;
	p->depth = 0;
	skip_blanks(p);
}

static int take_title(struct parser *p)
{
	static const char licence[] = "SPDX-";

	if (*p->scenario->title || !p->comment_length || !at_end(p) ||
	    (p->comment_length >= sizeof(licence) - 1 &&
	     !memcmp(p->comment, licence, sizeof(licence) - 1)))
		return 0;
	p->scenario->title = arena_text(p->arena, p->comment, p->comment_length);
	return p->scenario->title ? 0 : -ENOMEM;
}

static int parse_lines(struct parser *p, const char *text, size_t size)
{
	struct blocks blocks = { .stack = { { NULL, &p->scenario->first } } };
	bool wrong = false;
	int err;

	while (size) {
		const char *newline = memchr(text, '\n', size);
		size_t length = newline ? (size_t)(newline - text) : size;

		p->line_nr++;
		if (length > SCENARIO_MAX_LINE_BYTES) {
			p->last_op = NULL;
			err = parse_fail(p, SCENARIO_MAX_LINE_BYTES,
					 "a line of %zu bytes: at most %d are allowed", length,
					 SCENARIO_MAX_LINE_BYTES);
		} else {
			set_line(p, text, (uint32_t)length);
			err = p->line_nr <= 100 ? take_title(p) : 0;
			if (!err && !at_end(p))
				err = parse_statement(p, &blocks);
		}
		if (err == -ENOMEM)
			return err;
		if (err)
			wrong = true;
		text += length + (newline != NULL);
		size -= length + (newline != NULL);
	}
	if (blocks.depth) {
		const struct stmt *loop = blocks.stack[blocks.depth].loop;

		diagnose_add(p->diagnose, loop->line, loop->pos + 1, "this `for` has no `end`");
		wrong = true;
	}
	return wrong ? -EINVAL : 0;
}

/* By number, for results. */
static int list_expectations(struct scenario *sc, struct stmt *s)
{
	for (; s; s = s->next) {
		if (s->op == OP_EXPECT)
			sc->expectations[s->expectation] = s;
		for (struct stmt *e = s->errnos; e; e = e->next)
			sc->expectations[e->expectation] = e;
		if (s->op == OP_FOR)
			list_expectations(sc, s->body);
	}
	return 0;
}

int parse_text(const struct mem *account, const char *name, const char *text, size_t size,
	       struct diagnostics *diagnostics, struct scenario **ret)
{
	struct mem mem = *account;
	struct scenario *sc;
	struct diagnose diagnose;
	struct parser p = { 0 };
	int err;

	diagnose_init(&diagnose, diagnostics, name);
	sc = mem_alloc(&mem, sizeof(*sc));
	if (!sc) {
		diagnose_add(&diagnose, 0, 0, "out of memory");
		return -ENOMEM;
	}
	sc->mem = mem;
	arena_init(&sc->arena, &sc->mem);
	sp_config_init(&sc->machine);
	sc->title = "";
	sc->why_linux = "";
	for (int i = 0; i < SP_NR_STRATEGIES; i++)
		sc->why[i] = "";
	sc->path = arena_text(&sc->arena, name, strlen(name));
	p.scenario = sc;
	p.arena = &sc->arena;
	p.diagnose = &diagnose;

	if (!sc->path) {
		err = -ENOMEM;
	} else if (size > SCENARIO_MAX_FILE_BYTES) {
		diagnose_add(&diagnose, 0, 0, "%zu bytes: a scenario has at most %" PRIu64, size,
			     SCENARIO_MAX_FILE_BYTES);
		err = -EFBIG;
	} else if (memchr(text, '\0', size)) {
		diagnose_add(&diagnose, 0, 0, "a binary file (it has a zero byte), not a scenario");
		err = -EINVAL;
	} else {
		err = parse_lines(&p, text, size);
	}
	if (!err && !sc->first) {
		diagnose_add(&diagnose, 0, 0, "no operation in this file: a scenario starts with `process NAME`");
		err = -EINVAL;
	}
	if (!err) {
		sc->expectations = arena_alloc(&sc->arena, (sc->nr_expectations + 1) * sizeof(*sc->expectations));
		err = sc->expectations ? list_expectations(sc, sc->first) : -ENOMEM;
	}
	if (!err)
		err = check_scenario(sc, &diagnose);
	if (err == -ENOMEM)
		diagnose_add(&diagnose, 0, 0, "out of memory");
	if (err) {
		scenario_destroy(sc);
		return err;
	}
	*ret = sc;
	return 0;
}

int scenario_parse_text(const char *name, const char *text, size_t size,
			struct diagnostics *diagnostics, struct scenario **ret)
{
	struct mem mem;

	mem_init(&mem);
	return parse_text(&mem, name, text, size, diagnostics, ret);
}

void scenario_destroy(struct scenario *sc)
{
	struct mem mem;

	if (!sc)
		return;
	symbol_tables_destroy(sc);
	arena_destroy(&sc->arena);
	mem = sc->mem;
	mem_free(&mem, sc, sizeof(*sc));
	SP_ASSERT(mem.nr_live == 0);
}
