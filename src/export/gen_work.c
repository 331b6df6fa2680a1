/* SPDX-License-Identifier: GPL-2.0-only */
/* What happens to the machine: processes, files, ksmd, pages, in C; see gen.h. */
#include <inttypes.h>
#include <string.h>

#include "gen.h"

/* ---- Processes and files ------------------------------------------------------------ */

static void gen_process_statement(struct gen *g, const struct stmt *s)
{
	if (s->options & (OPTION_FROM_CORE | OPTION_FROM_PID)) {
		gen_refuse(g, s, EXPORT_NOT_THIS, "memory that comes from a %s cannot be exported",
			   s->options & OPTION_FROM_CORE ? "core" : "process");
		return;
	}
	gen_begin(g, s);
	if (gen_maker(g, s, SYMBOL_PROCESS, &s->target))
		gen_put(g, " = ");
	gen_put(g, "process()");
	gen_end(g);
}

static void gen_fork(struct gen *g, const struct stmt *s)
{
	gen_begin(g, s);
	if (gen_maker(g, s, SYMBOL_PROCESS, &s->target))
		gen_put(g, " = ");
	gen_put(g, "fork_of(");
	gen_name(g, SYMBOL_PROCESS, &s->process);
	gen_put(g, ")");
	gen_end(g);
	helpers_use(&g->helpers, "FORK");
}

static void gen_exit(struct gen *g, const struct stmt *s)
{
	gen_begin(g, s);
	gen_put(g, "end_process(");
	gen_name(g, SYMBOL_PROCESS, &s->process);
	gen_put(g, ")");
	gen_outcome(g, s, false);
}

static void gen_file(struct gen *g, const struct stmt *s)
{
	gen_begin(g, s);
	if (gen_maker(g, s, SYMBOL_FILE, &s->target))
		gen_put(g, " = ");
	gen_put(g, "new_file(");
	gen_value(g, s->value[0]);
	gen_put(g, ", ");
	if (s->value[1])
		gen_value(g, s->value[1]);
	else
		gen_put(g, "0");
	gen_put(g, ")");
	gen_end(g);
}

/* ---- ksmd ------------------------------------------------------------------------------ */

static bool is_of_engine(const char *knob)
{
	return !strcmp(knob, "strategy") || !strcmp(knob, "merge_old_ptes");
}

static void gen_set(struct gen *g, const struct stmt *s)
{
	if (is_of_engine(s->word)) {
		gen_refuse(g, s, EXPORT_NO_KERNEL, "%s is a knob of the engine: no kernel has it", s->word);
		return;
	}
	if (!strcmp(s->word, "merge_across_nodes"))
		helpers_use(&g->helpers, "nodes");
	gen_begin(g, s);
	if (s->value[0] && s->value[0]->op != EXPR_CONST) {
		gen_put(g, "set_number(\"%s\", ", s->word);
		gen_value(g, s->value[0]);
		gen_put(g, ")");
	} else {
		gen_put(g, "set(\"%s\", ", s->word);
		if (s->value[0])
			gen_put(g, "\"%" PRId64 "\"", s->value[0]->value);
		else
			ctext_put_literal(&g->code, s->word2, strlen(s->word2));
		gen_put(g, ")");
	}
	gen_outcome(g, s, false);
}

static void gen_scan(struct gen *g, const struct stmt *s)
{
	gen_begin(g, s);
	if (s->options & OPTION_UNTIL)
		gen_put(g, "scan_until_stable(");
	else
		gen_put(g, s->options & OPTION_PAGES ? "scan_pages(" : "scan(");
	if (s->value[0])
		gen_value(g, s->value[0]);
	else
		gen_put(g, "1000");
	gen_put(g, ")");
	gen_outcome(g, s, s->options & OPTION_UNTIL);
}

static void gen_run(struct gen *g, const struct stmt *s)
{
	gen_begin(g, s);
	gen_put(g, "run_for(");
	if (s->value[0]->op == EXPR_CONST) {
		gen_number(g, s->value[0]->value * s->number);
	} else {
		gen_operand(g, s->value[0]);
		if (s->number != 1)
			gen_put(g, " * %d", s->number);
	}
	gen_put(g, ")");
	gen_outcome(g, s, false);
}

/* ---- Pages ------------------------------------------------------------------------------- */

static void gen_migrate(struct gen *g, const struct stmt *s)
{
	helpers_use(&g->helpers, "nodes");
	gen_begin(g, s);
	if (s->range->kind == RANGE_ALL) {
		gen_put(g, "migrate_all(");
		gen_process(g, s->range);
	} else {
		gen_put(g, "migrate(");
		gen_place(g, s->range);
	}
	gen_put(g, ", ");
	if (s->value[0])
		gen_value(g, s->value[0]);
	else
		gen_put(g, "-1");
	gen_put(g, ", %s)", s->options & OPTION_MOVE_ONLY ? "MPOL_MF_MOVE" : "MPOL_MF_MOVE_ALL");
	gen_outcome(g, s, true);
}

static void gen_swapout(struct gen *g, const struct stmt *s)
{
	helpers_use(&g->helpers, "swap");
	gen_begin(g, s);
	if (s->range->kind == RANGE_ALL) {
		gen_put(g, "swapout_all(");
		gen_process(g, s->range);
	} else {
		gen_put(g, "swapout(");
		gen_place(g, s->range);
	}
	gen_put(g, ")");
	gen_outcome(g, s, true);
}

static void gen_reclaim(struct gen *g, const struct stmt *s)
{
	helpers_use(&g->helpers, "swap");
	gen_begin(g, s);
	gen_put(g, "reclaim(");
	gen_value(g, s->value[0]);
	gen_put(g, ", ");
	if (s->value[1])
		gen_value(g, s->value[1]);
	else
		gen_put(g, "1");
	gen_put(g, ")");
	gen_outcome(g, s, true);
}

static void gen_hold(struct gen *g, const struct stmt *s)
{
	gen_begin(g, s);
	if (!s->errnos) {
		if (gen_maker(g, s, SYMBOL_HOLD, &s->target))
			gen_put(g, " = ");
		gen_put(g, "must_have(");
	}
	gen_put(g, "hold(");
	gen_page(g, s->range);
	gen_put(g, ")");
	if (!s->errnos) {
		gen_put(g, ")");
		gen_end(g);
		g->last_is_zero = true;
		return;
	}
	gen_outcome(g, s, false);
}

static void gen_drop(struct gen *g, const struct stmt *s)
{
	gen_begin(g, s);
	gen_put(g, "close(");
	gen_name(g, SYMBOL_HOLD, &s->target);
	gen_put(g, ")");
	gen_outcome(g, s, false);
}

/* Nothing in a scenario's code stands for one of these that is not made. */
static bool refuse_failing_maker(struct gen *g, const struct stmt *s)
{
	if (!s->errnos || (s->op != OP_PROCESS && s->op != OP_FORK && s->op != OP_FILE))
		return false;
	gen_refuse(g, s, EXPORT_NOT_THIS, "a %s that is to fail cannot be exported", op_table[s->op].word);
	return true;
}

bool gen_work(struct gen *g, const struct stmt *s)
{
	if (refuse_failing_maker(g, s))
		return true;
	switch (s->op) {
	case OP_PROCESS:
		gen_process_statement(g, s);
		return true;
	case OP_FORK:
		gen_fork(g, s);
		return true;
	case OP_EXIT:
		gen_exit(g, s);
		return true;
	case OP_FILE:
		gen_file(g, s);
		return true;
	case OP_SET:
		gen_set(g, s);
		return true;
	case OP_SCAN:
		gen_scan(g, s);
		return true;
	case OP_RUN:
		gen_run(g, s);
		return true;
	case OP_MIGRATE:
		gen_migrate(g, s);
		return true;
	case OP_SWAPOUT:
		gen_swapout(g, s);
		return true;
	case OP_RECLAIM:
		gen_reclaim(g, s);
		return true;
	case OP_COMPACT:
		gen_begin(g, s);
		gen_put(g, "compact()");
		gen_outcome(g, s, true);
		return true;
	case OP_OFFLINE:
	case OP_ONLINE:
		gen_begin(g, s);
		gen_put(g, "%s(", s->op == OP_OFFLINE ? "offline" : "online");
		gen_value(g, s->value[0]);
		gen_put(g, ")");
		gen_outcome(g, s, false);
		return true;
	case OP_HOLD:
		gen_hold(g, s);
		return true;
	case OP_DROP:
		gen_drop(g, s);
		return true;
	case OP_WALK:
		gen_begin_quietly(g, s->line);
		gen_comment(g, "line %u: %s: no kernel makes a walk on command", s->line, s->text);
		return true;
	default:
		return false;
	}
}
