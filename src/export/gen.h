/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The generator's parts; export.h says what it makes.
 *
 * gen_*() functions append to g->code, one C statement or expression after the
 * other; gen_end() ends the statement and moves it to the body. Failures to
 * grow are remembered in the texts; refusals in g->err, of which the first counts.
 *
 * WINDOWS. A name of a window stands for an address, in C too:
 *
 *   WINDOW_CONST	its address is known: a constant of scenario()
 *   WINDOW_VARIABLE	one line names it: a variable of scenario()
 *   WINDOW_MEMBER	several lines or rounds do, for several processes: a
 *			member of struct proc, which a forked child copies
 *
 * Locking: none; one thread.
 */
#ifndef SP_GEN_H
#define SP_GEN_H

#include "ast.h"
#include "export.h"
#include "helpers.h"

enum window_mode { WINDOW_CONST, WINDOW_VARIABLE, WINDOW_MEMBER };

struct gen_symbol {
	char name[80];         /* in C */
	uint32_t nr_reads;     /* in the text of this pass */
	bool wanted;           /* it was read in the last one */
	/* Highest index of a member that is made; -1: none yet. */
	int64_t last_member;
	/* A variable: what it may be, if that is known. */
	bool bounded;
	int64_t least, most;
	bool may_be_unseen;    /* a kernel may not show what it was set from */
	/* A window: */
	enum window_mode mode;
	uint32_t nr_makers;    /* lines that name it */
	bool in_loop;
	int64_t nr_pages;      /* of all of them; -1: several sizes, or not known */
	uint64_t address;      /* WINDOW_CONST */
	bool pages_read, pages_wanted; /* the same of its size */
};

struct gen {
	struct mem *mem;
	const struct scenario *scenario;
	const struct export_input *input;
	struct helpers helpers;
	struct gen_symbol *symbols[NR_SYMBOL_KINDS];
	struct ctext code;      /* the statement at hand */
	struct ctext body;      /* of scenario() */
	struct ctext bases;
	unsigned int depth;     /* of loops, and the function */
	const char *at;         /* in the file's text: the next line */
	uint32_t line;          /* its number */
	bool blank;             /* the body ends with a blank line, or begins */
	bool last_is_zero;      /* what `expect result` is about has no result */
	bool windows_known;     /* so far, where the next window lies: */
	uint64_t next_window;
	char *msg;
	size_t msg_bytes;
	int err;
};

/* Refuses, unless something was refused before. */
void gen_refuse(struct gen *g, const struct stmt *s, int err, const char *fmt, ...) SP_PRINTF(4, 5);

/* ---- gen_name.c ------------------------------------------------------------------- */

int gen_names_init(struct gen *g) SP_MUST_CHECK;
void gen_names_destroy(struct gen *g);
/* Between the passes: counts begin anew. True when something that was wanted was not read. */
bool gen_names_reset(struct gen *g);
struct gen_symbol *gen_symbol(const struct gen *g, enum symbol_kind kind, const struct name_ref *ref);
/* As read: "a", "c[i]". */
void gen_name(struct gen *g, enum symbol_kind kind, const struct name_ref *ref);
/* As made; false, and nothing appended, when nobody reads it. */
bool gen_maker(struct gen *g, const struct stmt *s, enum symbol_kind kind, const struct name_ref *ref);
/* Decides the modes of windows. */
void gen_survey(struct gen *g);
/* Where the window lies that the statement makes; 0: only running can tell, from here on. */
uint64_t gen_window_address(struct gen *g, const struct stmt *s);
/* Declarations of scenario(), members of struct proc. */
void gen_declare(struct gen *g, struct ctext *out);
void gen_declare_members(struct gen *g, struct ctext *out);
/* The interval that an expression is in; false: not known. */
bool gen_bounds(const struct gen *g, const struct expr *e, int64_t *least, int64_t *most);
bool gen_constant(const struct gen *g, const struct expr *e, int64_t *ret);

/* ---- gen_expr.c --------------------------------------------------------------------- */

void gen_put(struct gen *g, const char *fmt, ...) SP_PRINTF(2, 3);
void gen_value(struct gen *g, const struct expr *e);
/* A value that must bind tighter than any operator. */
void gen_operand(struct gen *g, const struct expr *e);
void gen_number(struct gen *g, int64_t value);
/* A kernel never shows one of its values; *what says which. */
bool gen_is_blind(const struct expr *e, const char **what);
bool gen_may_be_unseen(const struct gen *g, const struct expr *e);
/* Of a range: its process, the address where it starts, pages and bytes, and the address behind it. */
void gen_process(struct gen *g, const struct range *range);
void gen_address(struct gen *g, const struct range *range);
void gen_pages(struct gen *g, const struct range *range);
void gen_bytes(struct gen *g, const struct range *range);
/* "a, x + PAGE, 3" */
void gen_place(struct gen *g, const struct range *range);
/* "a, x + PAGE" */
void gen_page(struct gen *g, const struct range *range);

/* ---- gen_body.c: lines of the file, and statements ---------------------------- */

/* A line of the scenario's file. */
struct source_line {
	const char *code, *comment; /* comment: NULL: none */
	size_t code_length, comment_length;
};

bool gen_next_line(struct gen *g, struct source_line *line);
/* Takes over what stands up to a line: its own comment, too. `until_end`: up to a loop's end instead. */
void gen_take_lines(struct gen *g, uint32_t to, bool until_end);
/* Comments of the file above the line, and of the line itself; then at(). */
void gen_begin(struct gen *g, const struct stmt *s);
/* The same without at(): what follows cannot fail. */
void gen_begin_quietly(struct gen *g, uint32_t line);
/* Ends the statement in g->code. */
void gen_end(struct gen *g);
/* Moves g->code to the body as it is: "for (...) {", "}". */
void gen_end_line(struct gen *g);
void gen_comment(struct gen *g, const char *fmt, ...) SP_PRINTF(2, 3);
/* "linux_version() >= LINUX(6, 7)", appended. */
void gen_condition(struct gen *g, const struct linux_range *kernels);
/* It is about the walk of an unmodified kernel. */
bool gen_is_for_linux(const struct stmt *s);
/*
 * g->code is the call: it must succeed, or fail as the file says. `counts`: what it returns is the
 * operation's result.
 */
void gen_outcome(struct gen *g, const struct stmt *s, bool counts);

/* ---- export.c ------------------------------------------------------------------------------ */

void gen_block(struct gen *g, const struct stmt *first);

/* ---- gen_op.c, gen_work.c, gen_expect.c ---------------------------------------------------- */

/* False when the operation is not among its own. */
bool gen_operation(struct gen *g, const struct stmt *s);
bool gen_work(struct gen *g, const struct stmt *s);
void gen_expectation(struct gen *g, const struct stmt *s);

#endif
