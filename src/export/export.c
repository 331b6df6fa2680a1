/* SPDX-License-Identifier: GPL-2.0-only */
/* The file as a whole; see export.h and gen.h. */
#include "export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gen.h"
#include "windows.h"

/* More are never needed: each pass but the last finds another name that nobody reads. */
#define PASSES 16

void gen_refuse(struct gen *g, const struct stmt *s, int err, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (g->err)
		return;
	g->err = err;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (s)
		snprintf(g->msg, g->msg_bytes, "%.256s:%u:%u: %s", g->scenario->path, s->line, s->pos + 1, text);
	else
		snprintf(g->msg, g->msg_bytes, "%.256s: %s", g->scenario->path, text);
}

/* ---- Variables, loops, blocks ------------------------------------------------------------------ */

static bool reads_variable(const struct expr *e)
{
	switch (e->op) {
	case EXPR_CONST:
	case EXPR_COUNTER:
	case EXPR_PROCESS_STAT:
	case EXPR_PAGE:
		return false;
	case EXPR_VARIABLE:
		return true;
	case EXPR_NEGATE:
		return reads_variable(e->a);
	default:
		return reads_variable(e->a) || reads_variable(e->b);
	}
}

/* What is set from itself may be anything. */
static void bound_variable(struct gen *g, struct gen_symbol *v, const struct expr *e)
{
	int64_t least, most;
	bool known = !reads_variable(e) && gen_bounds(g, e, &least, &most);

	if (!known) {
		v->bounded = false;
	} else if (!v->nr_makers) {
		v->bounded = true;
		v->least = least;
		v->most = most;
	} else if (v->bounded) {
		v->least = MIN(v->least, least);
		v->most = MAX(v->most, most);
	}
	v->nr_makers++;
}

static void gen_let(struct gen *g, const struct stmt *s)
{
	struct gen_symbol *v = gen_symbol(g, SYMBOL_VARIABLE, &s->target);
	const char *what;

	bound_variable(g, v, s->value[0]);
	if (gen_is_blind(s->value[0], &what)) {
		gen_refuse(g, s, EXPORT_NO_KERNEL, "no kernel shows %s", what);
		return;
	}
	if (!v->wanted) {
		gen_begin_quietly(g, s->line);
		return;
	}
	gen_begin(g, s);
	if (gen_may_be_unseen(g, s->value[0]))
		v->may_be_unseen = true;
	if (v->may_be_unseen) {
		gen_put(g, "LET(%s, ", v->name);
		gen_value(g, s->value[0]);
		gen_put(g, ")");
	} else {
		gen_put(g, "%s = ", v->name);
		gen_value(g, s->value[0]);
	}
	gen_end(g);
}

static void gen_loop(struct gen *g, const struct stmt *s)
{
	struct gen_symbol *v = gen_symbol(g, SYMBOL_VARIABLE, &s->target);
	struct gen_symbol before = *v;
	int64_t last, none[2];
	bool constant = gen_constant(g, s->value[1], &last);

	gen_begin_quietly(g, s->line);
	gen_put(g, "for (long %s = ", v->name);
	gen_value(g, s->value[0]);
	if (!constant) {
		gen_put(g, ", %s_last = ", v->name);
		gen_value(g, s->value[1]);
		gen_put(g, "; %s <= %s_last; %s++) {", v->name, v->name, v->name);
	} else {
		gen_put(g, "; %s <= ", v->name);
		gen_number(g, last);
		gen_put(g, "; %s++) {", v->name);
	}
	gen_end_line(g);
	v->may_be_unseen = false;
	v->bounded = gen_bounds(g, s->value[0], &v->least, &none[0]) && gen_bounds(g, s->value[1], &none[1], &v->most);
	g->depth++;
	g->blank = true;
	gen_block(g, s->body);
	gen_take_lines(g, UINT32_MAX, true);
	g->depth--;
	v->may_be_unseen = before.may_be_unseen;
	v->bounded = before.bounded;
	v->least = before.least;
	v->most = before.most;
	gen_put(g, "}");
	gen_end_line(g);
}

void gen_block(struct gen *g, const struct stmt *first)
{
	for (const struct stmt *s = first; s && !g->err; s = s->next) {
		if (s->op == OP_FOR)
			gen_loop(g, s);
		else if (s->op == OP_LET)
			gen_let(g, s);
		else if (s->op == OP_EXPECT)
			gen_expectation(g, s);
		else if (!gen_operation(g, s) && !gen_work(g, s))
			gen_refuse(g, s, EXPORT_NOT_THIS, "`%s` cannot be exported", op_table[s->op].word);
	}
}

/* ---- The file ------------------------------------------------------------------------------------- */

/* Declarations of the engine's walks say nothing to a reader of a kernel's. */
static bool is_for_reader(const struct source_line *line)
{
	if (line->code_length > 6 && !memcmp(line->code, "broken", 6))
		return memmem(line->code, line->code_length, " linux", 6);
	return line->code_length && (line->code_length < 7 || memcmp(line->code, "differs", 7) != 0);
}

static void put_head_line(struct ctext *head, const char *text, size_t length)
{
	ctext_put(head, length ? " * " : " *");
	ctext_put_comment(head, text, length);
	ctext_put(head, "\n");
}

/* What stands above the first statement. */
static void gen_head(struct gen *g, struct ctext *head)
{
	static const char licence[] = "SPDX-";
	struct source_line line;
	bool blank = true;

	ctext_put(head, "/* SPDX-License-Identifier: GPL-2.0-only */\n/*\n");
	while (g->line + 1 < g->scenario->first->line && gen_next_line(g, &line)) {
		bool is_code = is_for_reader(&line);

		if (line.comment_length >= sizeof(licence) - 1 &&
		    !memcmp(line.comment, licence, sizeof(licence) - 1))
			continue;
		if (!is_code && (!line.comment_length || line.code_length)) {
			if (!blank)
				put_head_line(head, "", 0);
			blank = true;
			continue;
		}
		if (is_code)
			put_head_line(head, line.code, line.code_length);
		else
			put_head_line(head, line.comment, line.comment_length);
		blank = false;
	}
	if (!blank)
		put_head_line(head, "", 0);
	ctext_put(head, " * Made by: ");
	ctext_put_comment(head, g->input->command, strlen(g->input->command));
	ctext_put(head, "\n * Build with: cc -O2 -o repro repro.c\n"
			" * Run as root, on a machine where nobody else uses KSM. Exit status: 0 what was expected\n"
			" * held, 1 it did not, 2 it cannot run here, 3 this kernel lacks something that it needs.\n"
			" */\n");
}

static void gen_needs(struct gen *g, struct ctext *needs)
{
	const struct scenario_need *kills = g->scenario->kills;

	if (kills) {
		ctext_put(needs, "\tif (");
		if (!linux_range_is_all(&kills->kernels)) {
			ctext_clear(&g->code);
			gen_condition(g, &kills->kernels);
			ctext_put(needs, "%s && ", ctext_string(&g->code));
		}
		ctext_put(needs, "(argc != 2 || strcmp(argv[1], \"--may-kill\"))) {\n"
				 "\t\tprintf(\"skipped: this kills the kernel; to run it all the same: "
				 "%%s --may-kill\\n\", argv[0]);\n\t\treturn 3;\n\t}\n");
		helpers_use(&g->helpers, "kills");
	} else {
		helpers_use(&g->helpers, "lets_live");
	}
	for (const struct scenario_need *need = g->scenario->needs; need; need = need->next) {
		ctext_clear(&g->code);
		gen_condition(g, &need->kernels);
		ctext_put(needs, "\tif (!(%s)) {\n\t\tprintf(\"skipped: %%s\\n\", ", ctext_string(&g->code));
		ctext_put_literal(needs, need->text, strlen(need->text));
		ctext_put(needs, ");\n\t\treturn 3;\n\t}\n");
		ctext_clear(&g->code);
	}
}

/* What the machine must have, and what its processes must be made with. */
static void gen_machine(struct gen *g)
{
	const struct sp_config *machine = &g->scenario->machine;
	struct sp_config usual;

	sp_config_init(&usual);
	if (machine->nr_frames || machine->nr_swap_slots)
		gen_refuse(g, NULL, EXPORT_NO_KERNEL,
			   "the scenario limits the machine's memory or swap: a kernel has what it has");
	if (machine->thp == SP_THP_NEVER && helpers_is_used(&g->helpers, "thp"))
		gen_refuse(g, NULL, EXPORT_NO_KERNEL, "huge pages are asked for where there are to be none");
	if (machine->nr_nodes > 1) {
		gen_put(g, "need_nodes(%u)", machine->nr_nodes - machine->nr_movable_nodes);
		gen_end(g);
		helpers_use(&g->helpers, "nodes");
	}
	for (uint32_t i = 0; i < machine->nr_movable_nodes; i++) {
		gen_put(g, "need_movable(%u)", machine->nr_nodes - machine->nr_movable_nodes + i);
		gen_end(g);
	}
	if (helpers_is_used(&g->helpers, "thp") || machine->thp == SP_THP_ALWAYS) {
		gen_put(g, "need_huge_pages(\"[%s]\")", machine->thp == SP_THP_ALWAYS ? "always" : "madvise");
		gen_end(g);
	} else {
		helpers_use(&g->helpers, "no_thp");
	}
	if (machine->max_map_count != usual.max_map_count)
		helpers_use(&g->helpers, "map_limit");
	g->blank = true;
}

static void gen_pass(struct gen *g, struct ctext *head)
{
	g->at = g->input->text;
	g->line = 0;
	g->depth = 1;
	g->blank = true;
	g->windows_known = true;
	g->next_window = WINDOWS_START;
	ctext_clear(&g->body);
	ctext_clear(&g->bases);
	ctext_clear(&g->code);
	ctext_clear(head);
	gen_head(g, head);
	gen_machine(g);
	gen_block(g, g->scenario->first);
}

static bool uses_name(const char *code, const char *name)
{
	const char *at = code, *found;
	size_t length;

	while ((length = ctext_next_identifier(&at, code + strlen(code), &found)))
		if (length == strlen(name) && !memcmp(found, name, length))
			return true;
	return false;
}

static void assemble(struct gen *g, struct ctext *head, struct ctext *out)
{
	struct ctext scenario, members, needs, next, limit, movable;
	struct helpers_parts parts = { .head = ctext_string(head), .bases = ctext_string(&g->bases) };

	ctext_init(&scenario, g->mem);
	ctext_init(&members, g->mem);
	ctext_init(&needs, g->mem);
	ctext_init(&next, g->mem);
	ctext_init(&limit, g->mem);
	ctext_init(&movable, g->mem);
	ctext_put(&scenario, "static void scenario(void)\n{\n");
	gen_declare(g, &scenario);
	ctext_put(&scenario, "\n%s}\n", ctext_string(&g->body));
	gen_declare_members(g, &members);
	gen_needs(g, &needs);
	ctext_put(&next, "\tstatic long next = 0x%" PRIx64 ";\n", g->next_window);
	ctext_put(&limit, "#define MAP_LIMIT %u\n", g->scenario->machine.max_map_count);
	parts.map_limit = ctext_string(&limit);
	ctext_put(&movable, "#define FIRST_MOVABLE %u\n\n",
		  g->scenario->machine.nr_nodes - g->scenario->machine.nr_movable_nodes);
	parts.first_movable = ctext_string(&movable);
	parts.scenario = ctext_string(&scenario);
	parts.windows = ctext_string(&members);
	parts.needs = ctext_string(&needs);
	parts.next_window = ctext_string(&next);
	if (g->bases.bytes)
		helpers_use(&g->helpers, "bases");
	if (uses_name(parts.scenario, "now_ms"))
		helpers_use(&g->helpers, "now_ms");
	helpers_use(&g->helpers, g->scenario->broken & (1u << SP_STRATEGY_FULL) ? "must_fail_here" : "may_not_fail");
	helpers_write(&g->helpers, &parts, out);
	if (scenario.err || members.err || needs.err || next.err || limit.err || movable.err)
		out->err = -ENOMEM;
	ctext_destroy(&scenario);
	ctext_destroy(&members);
	ctext_destroy(&needs);
	ctext_destroy(&next);
	ctext_destroy(&limit);
	ctext_destroy(&movable);
}

static int generate(struct gen *g, struct ctext *out)
{
	struct ctext head;
	int err = gen_names_init(g);

	if (err)
		return err;
	ctext_init(&head, g->mem);
	gen_survey(g);
	for (unsigned int i = 0; i < PASSES; i++) {
		gen_pass(g, &head);
		if (g->err || !gen_names_reset(g))
			break;
	}
	if (!g->err)
		assemble(g, &head, out);
	if (g->body.err || g->bases.err || head.err)
		out->err = -ENOMEM;
	ctext_destroy(&head);
	return g->err ? g->err : out->err;
}

int export_c(const struct scenario *scenario, const struct export_input *input, struct ctext *out,
	     char *msg, size_t msg_bytes)
{
	struct gen g = {
		.mem = out->mem,
		.scenario = scenario,
		.input = input,
		.msg = msg,
		.msg_bytes = msg_bytes,
	};
	int err = helpers_init(&g.helpers, out->mem);

	if (err)
		return err;
	ctext_init(&g.code, g.mem);
	ctext_init(&g.body, g.mem);
	ctext_init(&g.bases, g.mem);
	err = generate(&g, out);
	ctext_destroy(&g.code);
	ctext_destroy(&g.body);
	ctext_destroy(&g.bases);
	gen_names_destroy(&g);
	helpers_destroy(&g.helpers);
	return err;
}
