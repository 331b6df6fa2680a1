/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What stands after the word of an operation; see parse.h. Each function fills
 * the fields of the statement that its operation uses; op_table[] has the
 * grammar in one line each, which the caller shows when a line goes on too
 * long.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "parse.h"
#include "suggest.h"

struct word_value {
	const char *word;
	int value;
};

static const struct word_value advices[] = {
	{ "mergeable", SP_MADV_MERGEABLE },
	{ "unmergeable", SP_MADV_UNMERGEABLE },
	{ "dontfork", SP_MADV_DONTFORK },
	{ "dofork", SP_MADV_DOFORK },
	{ "dontneed", SP_MADV_DONTNEED },
	{ "pageout", SP_MADV_PAGEOUT },
	{ "cold", SP_MADV_COLD },
	{ "hugepage", SP_MADV_HUGEPAGE },
	{ "nohugepage", SP_MADV_NOHUGEPAGE },
	{ "wipeonfork", SP_MADV_WIPEONFORK },
	{ "keeponfork", SP_MADV_KEEPONFORK },
	{ "soft_offline", SP_MADV_SOFT_OFFLINE },
};

static const struct word_value mremap_flags[] = {
	{ "maymove", SP_MREMAP_MAYMOVE },
	{ "fixed", SP_MREMAP_FIXED },
	{ "dontunmap", SP_MREMAP_DONTUNMAP },
};

/* One word of a table; suggests the nearest. */
static int parse_choice(struct parser *p, const struct word_value *table, size_t nr,
			const char *what, int *ret)
{
	uint32_t length = peek_word(p);
	struct suggestion s;
	char buf[FOUND_BYTES];

	suggest_init(&s, p->line + p->pos, length);
	for (size_t i = 0; i < nr; i++) {
		if (accept_word(p, table[i].word)) {
			*ret = table[i].value;
			return 0;
		}
		suggest_consider(&s, table[i].word);
	}
	if (length && s.best)
		return parse_fail(p, p->pos, "unknown %s \"%.*s\"; did you mean \"%s\"?", what,
				  (int)MIN(length, 64u), p->line + p->pos, s.best);
	return parse_fail(p, p->pos, "expected %s, such as \"%s\", found %s", what, table[0].word,
			  found(p, buf, sizeof(buf)));
}

/* Values up to the end of the line, each without operators of its own. */
static int parse_list(struct parser *p, struct stmt *s, uint32_t least, const char *what)
{
	struct expr *values[SCENARIO_MAX_LINE_BYTES / 2];
	char buf[FOUND_BYTES];

	while (!at_end(p)) {
		int err = parse_primary(p, &values[s->nr_list]);

		if (err)
			return err;
		s->nr_list++;
	}
	if (s->nr_list < least)
		return parse_fail(p, p->pos, "expected %s, found %s", what,
				  found(p, buf, sizeof(buf)));
	s->list = arena_alloc(p->arena, MAX(s->nr_list, 1u) * sizeof(values[0]));
	if (!s->list)
		return -ENOMEM;
	memcpy(s->list, values, s->nr_list * sizeof(values[0]));
	return 0;
}

static int parse_protection(struct parser *p, struct stmt *s)
{
	uint32_t start = p->pos;
	uint32_t length = peek_word(p);
	char buf[FOUND_BYTES];
	int protection = 0;

	if (!accept_word(p, "none")) {
		for (uint32_t i = start; i < start + length; i++) {
			if (p->line[i] == 'r' && !protection)
				protection |= SP_PROT_READ;
			else if (p->line[i] == 'w' && !(protection & ~SP_PROT_READ))
				protection |= SP_PROT_WRITE;
			else if (p->line[i] == 'x' && !(protection & SP_PROT_EXEC))
				protection |= SP_PROT_EXEC;
			else
				length = 0;
		}
		if (!length)
			return parse_fail(p, start,
					  "expected a protection (none, r, rw, rx, rwx), found %s",
					  found(p, buf, sizeof(buf)));
		p->pos += length;
		skip_blanks(p);
	}
	s->number = protection;
	return 0;
}

static int parse_align(struct parser *p, struct stmt *s)
{
	char buf[FOUND_BYTES];

	if (!accept_text(p, "2M"))
		return parse_fail(p, p->pos, "expected 2M, the only alignment there is, found %s",
				  found(p, buf, sizeof(buf)));
	s->options |= OPTION_HUGE_ALIGN;
	return 0;
}

/* ---- Of the machine ---------------------------------------------------------- */

static int parse_file(struct parser *p, struct stmt *s)
{
	int err = parse_new_name(p, SYMBOL_FILE, &s->target);

	p->machine_made = true;
	if (!err)
		err = parse_expr(p, &s->value[0]);
	if (!err && accept_word(p, "seed"))
		err = parse_expr(p, &s->value[1]);
	return err;
}

static int parse_process(struct parser *p, struct stmt *s)
{
	char buf[FOUND_BYTES];
	int err = parse_new_name(p, SYMBOL_PROCESS, &s->target);

	p->machine_made = true;
	if (err || !accept_word(p, "from"))
		return err;
	if (accept_word(p, "core")) {
		s->options |= OPTION_FROM_CORE;
		return parse_quoted(p, "the path of a core", &s->word);
	}
	if (accept_word(p, "pid")) {
		s->options |= OPTION_FROM_PID;
		return parse_expr(p, &s->value[0]);
	}
	return parse_fail(p, p->pos, "expected core \"FILE\" or pid N after from, found %s",
			  found(p, buf, sizeof(buf)));
}

int parse_knob_name(struct parser *p, struct stmt *s)
{
	uint32_t length = peek_identifier(p);
	struct suggestion near;
	char buf[FOUND_BYTES];
	const char *name;

	s->word = knob_find(p->line + p->pos, length);
	if (s->word) {
		p->pos += length;
		skip_blanks(p);
		return 0;
	}
	if (!length)
		return parse_fail(p, p->pos, "expected the name of a knob, found %s",
				  found(p, buf, sizeof(buf)));
	suggest_init(&near, p->line + p->pos, length);
	for (unsigned int i = 0; (name = sp_stat_name(2, i)); i++)
		suggest_consider(&near, name);
	return parse_fail(p, p->pos, "unknown knob \"%.*s\"%s%s%s", (int)MIN(length, 64u),
			  p->line + p->pos, near.best ? "; did you mean \"" : "",
			  near.best ? near.best : "",
			  near.best ? "\"?" : ": knobs are named as in /sys/kernel/mm/ksm");
}

int parse_knob_value(struct parser *p, struct stmt *s)
{
	uint32_t length = peek_identifier(p);
	bool variable = length && symbol_find(p->scenario, SYMBOL_VARIABLE, p->line + p->pos,
					      length, false) != UINT32_MAX;

	if (!at_end(p) && p->line[p->pos] == '"')
		return parse_quoted(p, "the value of a knob", &s->word2);
	if (variable || (!at_end(p) && (isdigit((unsigned char)p->line[p->pos]) ||
					p->line[p->pos] == '(' || p->line[p->pos] == '-')))
		return parse_expr(p, &s->value[0]);
	return parse_raw_word(p, "the value of the knob", &s->word2);
}

static int parse_set(struct parser *p, struct stmt *s)
{
	int err = parse_knob_name(p, s);

	return err ? err : parse_knob_value(p, s);
}

static int parse_scan(struct parser *p, struct stmt *s)
{
	if (accept_word(p, "until-stable")) {
		s->options |= OPTION_UNTIL;
		return at_end(p) ? 0 : parse_expr(p, &s->value[0]);
	}
	if (accept_word(p, "pages"))
		s->options |= OPTION_PAGES;
	return parse_expr(p, &s->value[0]);
}

static int parse_run(struct parser *p, struct stmt *s)
{
	char buf[FOUND_BYTES];
	int err;

	if (!at_end(p) && isdigit((unsigned char)p->line[p->pos])) {
		struct expr *e = arena_alloc(p->arena, sizeof(*e));

		if (!e)
			return -ENOMEM;
		e->pos = p->pos;
		e->op = EXPR_CONST;
		for (; !at_end(p) && isdigit((unsigned char)p->line[p->pos]); p->pos++)
			if (__builtin_mul_overflow(e->value, 10, &e->value) ||
			    __builtin_add_overflow(e->value, p->line[p->pos] - '0', &e->value))
				return parse_fail(p, e->pos, "this number does not fit in 63 bits");
		skip_blanks(p);
		s->value[0] = e;
	} else {
		err = parse_primary(p, &s->value[0]);
		if (err)
			return err;
	}
	if (accept_word(p, "ms"))
		s->number = 1;
	else if (accept_word(p, "s"))
		s->number = 1000;
	else
		return parse_fail(p, p->pos, "expected a unit of time, s or ms, found %s",
				  found(p, buf, sizeof(buf)));
	return 0;
}

static int parse_reclaim(struct parser *p, struct stmt *s)
{
	int err = parse_expr(p, &s->value[0]);

	if (!err && accept_word(p, "rounds"))
		err = parse_expr(p, &s->value[1]);
	return err;
}

static int parse_nothing(struct parser *p, struct stmt *s)
{
	(void)p;
	(void)s;
	return 0;
}

static int parse_node(struct parser *p, struct stmt *s)
{
	int err = expect_word(p, "node", "and its number");

	return err ? err : parse_expr(p, &s->value[0]);
}

static int parse_drop(struct parser *p, struct stmt *s)
{
	return parse_name(p, SYMBOL_HOLD, &s->target);
}

static int parse_walk(struct parser *p, struct stmt *s)
{
	return parse_range(p, 0, &s->range);
}

/* ---- Of a process -------------------------------------------------------------- */

static int parse_fork(struct parser *p, struct stmt *s)
{
	return parse_new_name(p, SYMBOL_PROCESS, &s->target);
}

static const char *const map_options[] = {
	"shared", "private", "file", "prot", "noreserve", "noreplace", "align",
};

static bool at_map_option(const struct parser *p)
{
	uint32_t length = peek_word(p);

	for (size_t i = 0; i < ARRAY_SIZE(map_options); i++)
		if (length && word_is(p, length, map_options[i]))
			return true;
	return false;
}

static int parse_map_options(struct parser *p, struct stmt *s)
{
	char buf[FOUND_BYTES];
	int err = 0;

	s->number = SP_PROT_READ | SP_PROT_WRITE;
	while (!err && !at_end(p)) {
		uint32_t start = p->pos;

		if (accept_word(p, "shared")) {
			s->options |= OPTION_SHARED;
		} else if (accept_word(p, "private")) {
			s->options &= ~OPTION_SHARED;
		} else if (accept_word(p, "noreserve")) {
			s->options |= OPTION_NORESERVE;
		} else if (accept_word(p, "noreplace")) {
			s->options |= OPTION_NOREPLACE;
		} else if (accept_word(p, "prot")) {
			err = parse_protection(p, s);
		} else if (accept_word(p, "align")) {
			if (!(s->options & OPTION_NEW_WINDOW))
				err = parse_fail(p, start, "the window has its address already: align belongs where it is named first");
			else
				err = parse_align(p, s);
		} else if (accept_word(p, "file")) {
			s->options |= OPTION_HAS_FILE;
			err = parse_name(p, SYMBOL_FILE, &s->file);
			if (!err && accept_word(p, "at"))
				err = parse_expr(p, &s->value[1]);
		} else {
			err = parse_fail(p, start, "unexpected %s; options of map: shared, file F at PAGE, prot P, noreserve, noreplace, align 2M",
					 found(p, buf, sizeof(buf)));
		}
	}
	return err;
}

static int parse_map(struct parser *p, struct stmt *s)
{
	uint32_t start = p->pos;
	bool range = !at_end(p) && p->line[p->pos] == '@';
	int err = 0;

	if (!range) {
		err = at_process_prefix(p) ? 0 : parse_name(p, SYMBOL_WINDOW, &s->target);
		range = p->pos == start || at_end(p) || p->line[p->pos] == '[' ||
			at_map_option(p);
	}
	if (!err && range) {
		p->pos = start;
		err = parse_range(p, RANGE_OWN | RANGE_MAY_HAVE_OFFSET, &s->range);
	} else if (!err) {
		s->options |= OPTION_NEW_WINDOW;
		err = symbol_define(p, SYMBOL_WINDOW, &s->target);
		if (!err)
			err = parse_expr(p, &s->value[0]);
	}
	return err ? err : parse_map_options(p, s);
}

static int parse_window(struct parser *p, struct stmt *s)
{
	int err = parse_new_name(p, SYMBOL_WINDOW, &s->target);

	if (!err)
		err = parse_expr(p, &s->value[0]);
	if (!err && accept_word(p, "align"))
		err = parse_align(p, s);
	return err;
}

#define RANGE_SYSCALL (RANGE_OWN | RANGE_MAY_BE_ALL | RANGE_MAY_HAVE_OFFSET)
#define RANGE_ACCESS (RANGE_OWN | RANGE_MAY_BE_ALL)

static int parse_syscall(struct parser *p, struct stmt *s)
{
	return parse_range(p, RANGE_SYSCALL, &s->range);
}

static int parse_access(struct parser *p, struct stmt *s)
{
	return parse_range(p, RANGE_ACCESS, &s->range);
}

static int parse_mprotect(struct parser *p, struct stmt *s)
{
	int err = parse_syscall(p, s);

	return err ? err : parse_protection(p, s);
}

static int parse_madvise(struct parser *p, struct stmt *s)
{
	int err = parse_syscall(p, s);

	return err ? err : parse_choice(p, advices, ARRAY_SIZE(advices), "advice", &s->number);
}

static int parse_mremap_flags(struct parser *p, struct stmt *s)
{
	int err;

	do {
		int flag = 0;

		if (!at_end(p) && isdigit((unsigned char)p->line[p->pos])) {
			struct expr *e;

			err = parse_primary(p, &e);
			if (!err && e->value > INT32_MAX)
				err = parse_fail(p, e->pos, "flags have 31 bits");
			if (!err)
				flag = (int)e->value;
		} else {
			err = parse_choice(p, mremap_flags, ARRAY_SIZE(mremap_flags),
					   "flag of mremap", &flag);
		}
		s->number |= flag;
	} while (!err && accept_char(p, '|'));
	return err;
}

/* The system call as it is, so that each of its errors can be provoked (M2). */
static int parse_mremap_raw(struct parser *p, struct stmt *s)
{
	char buf[FOUND_BYTES];
	int err = 0;

	while (!err && !at_end(p)) {
		if (accept_word(p, "to")) {
			s->options |= OPTION_TO;
			err = parse_range(p, RANGE_OWN | RANGE_MAY_HAVE_OFFSET, &s->range2);
		} else if (accept_word(p, "flags")) {
			err = parse_mremap_flags(p, s);
		} else if (accept_word(p, "old_bytes")) {
			err = parse_expr(p, &s->value[0]);
		} else if (accept_word(p, "new_bytes")) {
			err = parse_expr(p, &s->value[1]);
		} else {
			err = parse_fail(p, p->pos, "expected -> RANGE, resize PAGES, or to, flags, old_bytes, new_bytes, found %s",
					 found(p, buf, sizeof(buf)));
		}
	}
	return err;
}

static int parse_mremap(struct parser *p, struct stmt *s)
{
	int err = parse_range(p, RANGE_OWN | RANGE_MAY_HAVE_OFFSET, &s->range);

	if (err)
		return err;
	if (accept_text(p, "->")) {
		s->options |= OPTION_TO;
		s->number = SP_MREMAP_MAYMOVE | SP_MREMAP_FIXED;
		err = parse_range(p, RANGE_OWN | RANGE_MAY_HAVE_OFFSET, &s->range2);
		if (!err && accept_word(p, "dontunmap"))
			s->number |= SP_MREMAP_DONTUNMAP;
		return err;
	}
	if (accept_word(p, "resize")) {
		s->options |= OPTION_RESIZE;
		err = parse_expr(p, &s->value[1]);
		if (!err && accept_word(p, "maymove"))
			s->number = SP_MREMAP_MAYMOVE;
		if (!err && accept_word(p, "as")) {
			s->options |= OPTION_TARGET;
			err = parse_new_name(p, SYMBOL_WINDOW, &s->target);
		}
		return err;
	}
	if (at_end(p))
		return parse_fail(p, p->pos, "expected -> RANGE, resize PAGES, or to, flags, old_bytes, new_bytes, found the end of the line");
	return parse_mremap_raw(p, s);
}

static int parse_prctl(struct parser *p, struct stmt *s)
{
	static const struct word_value options[] = { { "merge-any", 0 }, { "get-merge-any", 1 } };
	int get = 0;
	int err = parse_choice(p, options, ARRAY_SIZE(options), "an option of prctl", &get);

	if (err)
		return err;
	if (get)
		s->options |= OPTION_GET;
	err = parse_list(p, s, get ? 0 : 1, "0 or 1");
	if (!err && s->nr_list > 4)
		err = parse_fail(p, s->list[4]->pos, "prctl has at most 4 arguments here");
	return err;
}

static int parse_fill(struct parser *p, struct stmt *s)
{
	int err = parse_range(p, RANGE_OWN, &s->range);

	if (!err && accept_word(p, "random"))
		s->options |= OPTION_RANDOM;
	return err ? err : parse_expr(p, &s->value[0]);
}

static int parse_write(struct parser *p, struct stmt *s)
{
	int err = parse_range(p, RANGE_OWN | RANGE_MAY_HAVE_OFFSET, &s->range);

	return err ? err : parse_list(p, s, 1, "the bytes to write");
}

static int parse_migrate(struct parser *p, struct stmt *s)
{
	int err = parse_access(p, s);

	if (!err && accept_word(p, "node"))
		err = parse_expr(p, &s->value[0]);
	if (!err && accept_word(p, "move"))
		s->options |= OPTION_MOVE_ONLY;
	return err;
}

static int parse_hold(struct parser *p, struct stmt *s)
{
	int err = parse_range(p, RANGE_OWN, &s->range);

	if (!err)
		err = expect_word(p, "as", "and a name for the reference");
	return err ? err : parse_new_name(p, SYMBOL_HOLD, &s->target);
}

const parse_fn parse_op_fns[NR_OPS] = {
	[OP_FILE] = parse_file,
	[OP_PROCESS] = parse_process,
	[OP_SET] = parse_set,
	[OP_SCAN] = parse_scan,
	[OP_RUN] = parse_run,
	[OP_RECLAIM] = parse_reclaim,
	[OP_COMPACT] = parse_nothing,
	[OP_OFFLINE] = parse_node,
	[OP_ONLINE] = parse_node,
	[OP_DROP] = parse_drop,
	[OP_WALK] = parse_walk,
	[OP_EXPECT] = parse_expectation,
	[OP_FORK] = parse_fork,
	[OP_EXIT] = parse_nothing,
	[OP_MAP] = parse_map,
	[OP_WINDOW] = parse_window,
	[OP_MUNMAP] = parse_syscall,
	[OP_MREMAP] = parse_mremap,
	[OP_MPROTECT] = parse_mprotect,
	[OP_MADVISE] = parse_madvise,
	[OP_MLOCK] = parse_syscall,
	[OP_MUNLOCK] = parse_syscall,
	[OP_PRCTL] = parse_prctl,
	[OP_FILL] = parse_fill,
	[OP_WRITE] = parse_write,
	[OP_READ] = parse_access,
	[OP_TOUCH] = parse_access,
	[OP_SWAPOUT] = parse_access,
	[OP_SWAPIN] = parse_access,
	[OP_MIGRATE] = parse_migrate,
	[OP_HOLD] = parse_hold,
};
