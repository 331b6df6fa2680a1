/* SPDX-License-Identifier: GPL-2.0-only */
/* Names, windows and families as C has them; see gen.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gen.h"
#include "parse.h"
#include "value.h"
#include "windows.h"

#define MAX_MEMBERS 1000000

/* ---- Names ------------------------------------------------------------------------ */

static const struct symbol_table *table_of(const struct gen *g, int kind)
{
	return &g->scenario->symbols[kind];
}

/* A symbol that comes before this one has that name, or one that comes behind has it as its own. */
static bool is_name_of_other(const struct gen *g, int kind, uint32_t nr, const char *name)
{
	const struct symbol *symbol = &table_of(g, kind)->list[nr];
	uint32_t length = (uint32_t)strlen(name);
	bool own = length == symbol->length;

	for (int k = 0; k < NR_SYMBOL_KINDS; k++)
		for (int indexed = 0; indexed < 2; indexed++) {
			bool before = k < kind || (k == kind && indexed < symbol->indexed);

			if (k == kind && indexed == symbol->indexed && own)
				continue;
			if ((before || !own) && symbol_find(g->scenario, k, name, length, indexed) != UINT32_MAX)
				return true;
		}
	return false;
}

/* What is made of a window's name for its size, or of a loop variable's for its end, ends so. */
static bool is_derived(const char *name, size_t length)
{
	return (length > 6 && !memcmp(name + length - 6, "_pages", 6)) ||
	       (length > 5 && !memcmp(name + length - 5, "_last", 5));
}

static void choose_name(struct gen *g, int kind, uint32_t nr)
{
	const struct symbol *symbol = &table_of(g, kind)->list[nr];
	struct gen_symbol *s = &g->symbols[kind][nr];
	size_t length;

	snprintf(s->name, sizeof(s->name), "%.64s", symbol->text);
	for (length = strlen(s->name); length < sizeof(s->name) - 1; length++) {
		if (!ctext_is_taken(s->name, length) && !is_derived(s->name, length) && !helpers_has(&g->helpers, s->name, length) &&
		    !is_name_of_other(g, kind, nr, s->name))
			return;
		s->name[length] = '_';
		s->name[length + 1] = '\0';
	}
}

int gen_names_init(struct gen *g)
{
	for (int kind = 0; kind < NR_SYMBOL_KINDS; kind++) {
		uint32_t nr = table_of(g, kind)->nr;

		g->symbols[kind] = mem_alloc(g->mem, (nr + 1) * sizeof(struct gen_symbol));
		if (!g->symbols[kind])
			return -ENOMEM;
		for (uint32_t i = 0; i < nr; i++) {
			g->symbols[kind][i].last_member = -1;
			g->symbols[kind][i].wanted = true;
			g->symbols[kind][i].pages_wanted = true;
			choose_name(g, kind, i);
		}
	}
	return 0;
}

void gen_names_destroy(struct gen *g)
{
	for (int kind = 0; kind < NR_SYMBOL_KINDS; kind++)
		if (g->symbols[kind])
			mem_free(g->mem, g->symbols[kind],
				 (table_of(g, kind)->nr + 1) * sizeof(struct gen_symbol));
}

bool gen_names_reset(struct gen *g)
{
	bool news = false;

	for (int kind = 0; kind < NR_SYMBOL_KINDS; kind++)
		for (uint32_t i = 0; i < table_of(g, kind)->nr; i++) {
			struct gen_symbol *s = &g->symbols[kind][i];

			news |= s->wanted != (s->nr_reads > 0) || s->pages_wanted != s->pages_read;
			s->wanted = s->nr_reads > 0;
			s->pages_wanted = s->pages_read;
			s->nr_reads = 0;
			s->pages_read = false;
		}
	return news;
}

struct gen_symbol *gen_symbol(const struct gen *g, enum symbol_kind kind, const struct name_ref *ref)
{
	return &g->symbols[kind][ref->symbol];
}

void gen_name(struct gen *g, enum symbol_kind kind, const struct name_ref *ref)
{
	struct gen_symbol *s = gen_symbol(g, kind, ref);

	s->nr_reads++;
	gen_put(g, "%s", s->name);
	if (!ref->index)
		return;
	gen_put(g, "[");
	gen_value(g, ref->index);
	gen_put(g, "]");
}

static void note_member(struct gen *g, const struct stmt *s, struct gen_symbol *symbol, const struct expr *index)
{
	int64_t least, most;

	if (!gen_bounds(g, index, &least, &most) || most > MAX_MEMBERS || least < 0) {
		gen_refuse(g, s, EXPORT_NOT_THIS,
			   "how many members %s{} has depends on what the machine does: an array in C needs a size",
			   symbol->name);
		return;
	}
	symbol->last_member = MAX(symbol->last_member, most);
}

bool gen_maker(struct gen *g, const struct stmt *s, enum symbol_kind kind, const struct name_ref *ref)
{
	struct gen_symbol *symbol = gen_symbol(g, kind, ref);

	if (ref->index)
		note_member(g, s, symbol, ref->index);
	if (!symbol->wanted)
		return false;
	gen_put(g, "%s", symbol->name);
	if (ref->index) {
		gen_put(g, "[");
		gen_value(g, ref->index);
		gen_put(g, "]");
	}
	return true;
}

/* ---- Intervals ------------------------------------------------------------------------ */

static bool apply(enum expr_op op, int64_t a, int64_t b, int64_t *ret)
{
	char text[128];

	return !value_apply(op, a, b, ret, text, sizeof(text));
}

bool gen_constant(const struct gen *g, const struct expr *e, int64_t *ret)
{
	int64_t most;

	return gen_bounds(g, e, ret, &most) && *ret == most;
}

bool gen_bounds(const struct gen *g, const struct expr *e, int64_t *least, int64_t *most)
{
	const struct gen_symbol *variable;
	int64_t a[2], b[2], value;

	switch (e->op) {
	case EXPR_CONST:
		*least = *most = e->value;
		return true;
	case EXPR_VARIABLE:
		variable = &g->symbols[SYMBOL_VARIABLE][e->variable];
		*least = variable->least;
		*most = variable->most;
		return variable->bounded;
	case EXPR_COUNTER:
	case EXPR_PROCESS_STAT:
	case EXPR_PAGE:
		return false;
	case EXPR_NEGATE:
		if (!gen_bounds(g, e->a, &b[0], &b[1]) || b[0] == INT64_MIN)
			return false;
		*least = -b[1];
		*most = -b[0];
		return true;
	default:
		break;
	}
	if (!gen_bounds(g, e->a, &a[0], &a[1]) || !gen_bounds(g, e->b, &b[0], &b[1]))
		return false;
	/* A quotient has its extremes where the operands have theirs, if the divisor keeps its sign. */
	if (e->op == EXPR_DIVIDE && b[0] <= 0 && b[1] >= 0)
		return false;
	if (e->op == EXPR_REMAINDER && (a[0] != a[1] || b[0] != b[1])) {
		if (b[0] <= 0)
			return false;
		*least = a[0] < 0 ? 1 - b[1] : 0;
		*most = b[1] - 1;
		return true;
	}
	*least = INT64_MAX;
	*most = INT64_MIN;
	for (int i = 0; i < 4; i++) {
		if (!apply(e->op, a[i & 1], b[i >> 1], &value))
			return false;
		*least = MIN(*least, value);
		*most = MAX(*most, value);
	}
	return true;
}

/* ---- Windows ------------------------------------------------------------------------------ */

static const struct name_ref *window_made_by(const struct stmt *s)
{
	if ((s->op == OP_MAP && s->options & OPTION_NEW_WINDOW) || s->op == OP_WINDOW)
		return &s->target;
	if (s->op == OP_MREMAP && s->options & OPTION_TARGET)
		return &s->target;
	return NULL;
}

static void survey_window(struct gen *g, const struct stmt *s, const struct name_ref *ref, bool in_loop)
{
	struct gen_symbol *w = gen_symbol(g, SYMBOL_WINDOW, ref);
	const struct expr *size = s->op == OP_MREMAP ? s->value[1] : s->value[0];
	int64_t nr_pages = -1;

	if (size && size->op == EXPR_CONST)
		nr_pages = size->value;
	if (s->op == OP_MREMAP && !(s->options & OPTION_RESIZE))
		nr_pages = -1;
	if (w->nr_makers && w->nr_pages != nr_pages)
		nr_pages = -1;
	w->nr_makers++;
	w->nr_pages = nr_pages;
	w->in_loop |= in_loop;
	w->mode = w->nr_makers > 1 || in_loop || ref->index ? WINDOW_MEMBER : WINDOW_VARIABLE;
}

static void survey_block(struct gen *g, const struct stmt *s, bool in_loop)
{
	for (; s; s = s->next) {
		const struct name_ref *ref = window_made_by(s);

		if (ref)
			survey_window(g, s, ref, in_loop);
		if (s->op == OP_FOR)
			survey_block(g, s->body, true);
	}
}

static bool makes_windows(const struct stmt *s)
{
	for (; s; s = s->next)
		if (window_made_by(s) || (s->op == OP_FOR && makes_windows(s->body)))
			return true;
	return false;
}

uint64_t gen_window_address(struct gen *g, const struct stmt *s)
{
	const struct expr *size = s->value[0];
	uint64_t at = g->next_window;

	if (!g->windows_known || g->depth > 1 || size->op != EXPR_CONST) {
		g->windows_known = false;
		return 0;
	}
	if (s->options & OPTION_HUGE_ALIGN)
		at = (at + HPAGE_PMD_SIZE - 1) & HPAGE_PMD_MASK;
	g->next_window = at + ((uint64_t)size->value + GUARD_PAGES) * PAGE_SIZE;
	return at;
}

/* Addresses are given out in order, so they are known up to the first window whose size is not. */
void gen_survey(struct gen *g)
{
	survey_block(g, g->scenario->first, false);
	g->depth = 1;
	g->windows_known = true;
	g->next_window = WINDOWS_START;
	for (const struct stmt *s = g->scenario->first; s; s = s->next) {
		const struct name_ref *ref = window_made_by(s);
		struct gen_symbol *w = ref ? gen_symbol(g, SYMBOL_WINDOW, ref) : NULL;
		uint64_t at = w && s->op != OP_MREMAP ? gen_window_address(g, s) : 0;

		if (s->op == OP_FOR && makes_windows(s->body))
			break;
		if (!at || w->mode != WINDOW_VARIABLE)
			continue;
		w->mode = WINDOW_CONST;
		w->address = at;
	}
}

/* ---- Declarations ---------------------------------------------------------------------------- */

/* The plain ones on one line, each family on its own. */
static void declare_names(struct gen *g, struct ctext *out, enum symbol_kind kind, const char *type,
			  const char *value)
{
	const struct symbol_table *table = table_of(g, kind);
	struct ctext names;

	ctext_init(&names, g->mem);
	for (uint32_t i = 0; i < table->nr; i++) {
		const struct gen_symbol *s = &g->symbols[kind][i];

		if (!s->wanted || (kind == SYMBOL_VARIABLE && !s->nr_makers))
			continue;
		if (table->list[i].indexed)
			ctext_put(out, "\tstatic %s%s[%" PRId64 "];\n", type, s->name, s->last_member + 1);
		else
			ctext_put(&names, "%s%s%s%s", names.bytes ? ", " : type,
				  names.bytes && strchr(type, '*') ? "*" : "", s->name, value);
	}
	if (names.bytes) {
		ctext_put(&names, ";");
		ctext_put_code(out, 1, ctext_string(&names));
	}
	if (names.err)
		out->err = names.err;
	ctext_destroy(&names);
}

static void declare_windows(struct gen *g, struct ctext *out)
{
	for (uint32_t i = 0; i < table_of(g, SYMBOL_WINDOW)->nr; i++) {
		const struct gen_symbol *s = &g->symbols[SYMBOL_WINDOW][i];

		if (s->mode == WINDOW_CONST && s->wanted)
			ctext_put(out, "\tconst long %s = 0x%" PRIx64 ";\t/* %" PRId64 " page%s */\n", s->name,
				  s->address, s->nr_pages, s->nr_pages == 1 ? "" : "s");
		if (s->mode == WINDOW_VARIABLE && s->wanted)
			ctext_put(out, "\tlong %s;\n", s->name);
		if (s->mode == WINDOW_VARIABLE && s->pages_wanted)
			ctext_put(out, "\tlong %s_pages;\n", s->name);
	}
}

void gen_declare(struct gen *g, struct ctext *out)
{
	declare_windows(g, out);
	declare_names(g, out, SYMBOL_PROCESS, "struct proc *", "");
	declare_names(g, out, SYMBOL_FILE, "int ", "");
	declare_names(g, out, SYMBOL_HOLD, "int ", "");
	declare_names(g, out, SYMBOL_VARIABLE, "long ", " = 0");
}

void gen_declare_members(struct gen *g, struct ctext *out)
{
	for (uint32_t i = 0; i < table_of(g, SYMBOL_WINDOW)->nr; i++) {
		const struct gen_symbol *s = &g->symbols[SYMBOL_WINDOW][i];
		char members[32] = "";

		if (s->mode != WINDOW_MEMBER || !s->nr_makers)
			continue;
		if (table_of(g, SYMBOL_WINDOW)->list[i].indexed)
			snprintf(members, sizeof(members), "[%" PRId64 "]", s->last_member + 1);
		ctext_put(out, "\tlong %s%s;\n", s->name, members);
		if (s->pages_wanted)
			ctext_put(out, "\tlong %s_pages%s;\n", s->name, members);
	}
}
