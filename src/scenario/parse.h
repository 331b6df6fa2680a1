/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parser's parts: a cursor in a line (cursor.c), names, expressions and
 * ranges (parse_expr.c), operations (parse_op.c), expectations
 * (parse_expect.c), declarations (parse_declare.c), lines, blocks and files
 * (parse.c).
 *
 * The language is one operation a line, so the parser works on a line at a
 * time, straight on its characters: which characters make a word depends on
 * the place. `until-stable` is a word where a word may stand; in an
 * expression `n-1` is a subtraction.
 *
 * Every function returns 0, -EINVAL after having said what is wrong, or
 * -ENOMEM. What it parsed is skipped, with the blanks that follow.
 *
 * Locking: none; one thread parses one file.
 */
#ifndef SP_PARSE_H
#define SP_PARSE_H

#include "ast.h"
#include "diagnose.h"

struct parser {
	struct scenario *scenario;
	struct arena *arena;
	struct diagnose *diagnose;
	/* The line: text without comment, and where in it we are. */
	const char *line;
	uint32_t length, pos;
	uint32_t line_nr;
	const char *comment; /* after '#', or NULL */
	uint32_t comment_length;
	uint32_t depth;      /* of parentheses and signs */
	/* The statement whose process ranges without a prefix belong to. */
	const struct stmt *stmt;
	/* The operation that an `expect errno` on this line would be about. */
	struct stmt *last_op;
	bool machine_made;   /* a process or file stands above */
};

/* ---- cursor.c ---------------------------------------------------------------- */

void skip_blanks(struct parser *p);
bool at_end(const struct parser *p);
/* Says what is wrong at a byte of the line (from 0) and returns -EINVAL. */
int parse_fail(struct parser *p, uint32_t pos, const char *fmt, ...) SP_PRINTF(3, 4) SP_MUST_CHECK;
bool accept_char(struct parser *p, char c);
bool accept_text(struct parser *p, const char *text);
/* A word: letters, digits, '_', and '-' before a letter. Its length, or 0. */
uint32_t peek_word(const struct parser *p);
/* An identifier: the same without '-'. */
uint32_t peek_identifier(const struct parser *p);
bool word_is(const struct parser *p, uint32_t length, const char *word);
/* The word at the cursor is this one: skips it. */
bool accept_word(struct parser *p, const char *word);
/* What stands at the cursor, quoted for a message; "the end of the line". */
const char *found(const struct parser *p, char *buf, size_t size);
#define FOUND_BYTES 64
int expect_char(struct parser *p, char c, const char *where) SP_MUST_CHECK;
int expect_word(struct parser *p, const char *word, const char *where) SP_MUST_CHECK;
/* "...", without escapes. */
int parse_quoted(struct parser *p, const char *what, const char **ret) SP_MUST_CHECK;
/* Anything up to the next blank. */
int parse_raw_word(struct parser *p, const char *what, const char **ret) SP_MUST_CHECK;

/* ---- symbol.c ----------------------------------------------------------------- */

/* The symbol's number; it is added when new. */
int symbol_intern(struct parser *p, enum symbol_kind kind, const char *text, uint32_t length,
		  bool indexed, uint32_t *ret) SP_MUST_CHECK;
/* The number, or UINT32_MAX. */
uint32_t symbol_find(const struct scenario *scenario, enum symbol_kind kind, const char *text,
		     uint32_t length, bool indexed);
/* Notes that this line defines it; refuses reserved words and the names of other things. */
int symbol_define(struct parser *p, enum symbol_kind kind, const struct name_ref *ref) SP_MUST_CHECK;
const char *symbol_kind_text(enum symbol_kind kind); /* "a process" */
void symbol_tables_destroy(struct scenario *scenario);
/* Word i of those that can name nothing, NULL past the end. */
const char *reserved_word(unsigned int i);
/* Counters of samepage.h and of the language: the table's own text, or NULL. */
const char *counter_find(const char *text, uint32_t length);
const char *process_stat_find(const char *text, uint32_t length);
const char *knob_find(const char *text, uint32_t length);

/* ---- parse_expr.c --------------------------------------------------------------- */

int parse_name(struct parser *p, enum symbol_kind kind, struct name_ref *ret) SP_MUST_CHECK;
int parse_new_name(struct parser *p, enum symbol_kind kind, struct name_ref *ret) SP_MUST_CHECK;
/* `name:` or `name{...}:` stands at the cursor. */
bool at_process_prefix(const struct parser *p);
int parse_expr(struct parser *p, struct expr **ret) SP_MUST_CHECK;
/* Without operators: number, name, parentheses, sign. */
int parse_primary(struct parser *p, struct expr **ret) SP_MUST_CHECK;

#define RANGE_MAY_BE_ALL (1u << 0)
#define RANGE_MAY_HAVE_OFFSET (1u << 1)
/* Only of the statement's own process: */
#define RANGE_OWN (1u << 2)
int parse_range(struct parser *p, unsigned int allowed, struct range **ret) SP_MUST_CHECK;

/* ---- parse_op.c, parse_expect.c -------------------------------------------------- */

typedef int (*parse_fn)(struct parser *p, struct stmt *s);
extern const parse_fn parse_op_fns[NR_OPS]; /* NULL: parse.c's own */
int parse_expectation(struct parser *p, struct stmt *s) SP_MUST_CHECK;
/* == != <= >= < > */
bool accept_compare(struct parser *p, enum compare *ret);
/* A value for a knob: an expression, or a word. */
int parse_knob_value(struct parser *p, struct stmt *s) SP_MUST_CHECK;
int parse_knob_name(struct parser *p, struct stmt *s) SP_MUST_CHECK;

/* ---- parse_declare.c ----------------------------------------------------------------- */

/* Names of strategies, and `linux` among them; with_linux NULL: it ends them. */
int parse_strategies(struct parser *p, uint32_t *strategies, bool *with_linux) SP_MUST_CHECK;
/* OP VERSION..., what stands after `linux`. */
int parse_linux_range(struct parser *p, struct linux_range *ret) SP_MUST_CHECK;
int parse_broken(struct parser *p) SP_MUST_CHECK;
int parse_needs(struct parser *p) SP_MUST_CHECK;
int parse_kills(struct parser *p) SP_MUST_CHECK;
int parse_differs(struct parser *p) SP_MUST_CHECK;
int parse_machine(struct parser *p) SP_MUST_CHECK;

/* ---- parse.c ----------------------------------------------------------------------------- */

/* Nothing more stands on the line. */
int finish_line(struct parser *p, const char *usage) SP_MUST_CHECK;

/* ---- parse.c, as scenario_parse_text(): `mem` says which allocation fails -------- */

int parse_text(const struct mem *mem, const char *name, const char *text, size_t size,
	       struct diagnostics *diagnostics, struct scenario **ret) SP_MUST_CHECK;

/* ---- check.c ------------------------------------------------------------------------ */

/* Everything that can be known without running. 0, -EINVAL or -ENOMEM. */
int check_scenario(struct scenario *scenario, struct diagnose *diagnose) SP_MUST_CHECK;

#endif
