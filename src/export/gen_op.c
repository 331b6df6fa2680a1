/* SPDX-License-Identifier: GPL-2.0-only */
/* What a process does: system calls and accesses, in C; see gen.h. */
#include <inttypes.h>
#include <string.h>

#include "gen.h"

struct flag_name {
	int flag;
	const char *name;
};

/* "PROT_READ | PROT_WRITE"; what has no name is a number. */
static void gen_flags(struct gen *g, int flags, const struct flag_name *names, const char *none)
{
	bool any = false;

	for (; names->name; names++) {
		if (!(flags & names->flag))
			continue;
		gen_put(g, "%s%s", any ? " | " : "", names->name);
		flags &= ~names->flag;
		any = true;
	}
	if (flags)
		gen_put(g, "%s0x%x", any ? " | " : "", (unsigned int)flags);
	else if (!any)
		gen_put(g, "%s", none);
}

static void gen_protection(struct gen *g, int protection)
{
	static const struct flag_name names[] = {
		{ SP_PROT_READ, "PROT_READ" },
		{ SP_PROT_WRITE, "PROT_WRITE" },
		{ SP_PROT_EXEC, "PROT_EXEC" },
		{ 0, NULL },
	};

	gen_flags(g, protection, names, "PROT_NONE");
}

static void gen_advice(struct gen *g, int advice)
{
	static const struct flag_name names[] = {
		{ SP_MADV_MERGEABLE, "MADV_MERGEABLE" },
		{ SP_MADV_UNMERGEABLE, "MADV_UNMERGEABLE" },
		{ SP_MADV_DONTFORK, "MADV_DONTFORK" },
		{ SP_MADV_DOFORK, "MADV_DOFORK" },
		{ SP_MADV_DONTNEED, "MADV_DONTNEED" },
		{ SP_MADV_PAGEOUT, "MADV_PAGEOUT" },
		{ SP_MADV_COLD, "MADV_COLD" },
		{ SP_MADV_HUGEPAGE, "MADV_HUGEPAGE" },
		{ SP_MADV_NOHUGEPAGE, "MADV_NOHUGEPAGE" },
		{ SP_MADV_WIPEONFORK, "MADV_WIPEONFORK" },
		{ SP_MADV_KEEPONFORK, "MADV_KEEPONFORK" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].flag == advice) {
			gen_put(g, "%s", names[i].name);
			return;
		}
	gen_put(g, "%d", advice);
}

/* ---- Windows, map ------------------------------------------------------------------- */

/* Addresses for a window that is new; nothing where they are constants. */
static void gen_new_window(struct gen *g, const struct stmt *s)
{
	struct gen_symbol *w = gen_symbol(g, SYMBOL_WINDOW, &s->target);
	const struct range own = {
		.kind = RANGE_WINDOW, .process = s->process, .window = s->target,
	};
	uint64_t address = gen_window_address(g, s);
	bool made;

	if (w->mode == WINDOW_CONST)
		return;
	if (w->mode == WINDOW_MEMBER) {
		gen_name(g, SYMBOL_PROCESS, &own.process);
		gen_put(g, "->");
	}
	made = gen_maker(g, s, SYMBOL_WINDOW, &s->target);
	if (!made && w->mode == WINDOW_MEMBER)
		gen_put(g, "%s", w->name);
	if (made || w->mode == WINDOW_MEMBER)
		gen_put(g, " = ");
	if (address) {
		gen_put(g, "0x%" PRIx64, address);
	} else {
		gen_put(g, "window(");
		gen_value(g, s->value[0]);
		gen_put(g, ", %s)", s->options & OPTION_HUGE_ALIGN ? "true" : "false");
	}
	gen_end(g);
	if (!w->pages_wanted)
		return;
	if (w->mode == WINDOW_MEMBER) {
		gen_name(g, SYMBOL_PROCESS, &own.process);
		gen_put(g, "->");
	}
	gen_put(g, "%s_pages", w->name);
	if (s->target.index) {
		gen_put(g, "[");
		gen_value(g, s->target.index);
		gen_put(g, "]");
	}
	gen_put(g, " = ");
	gen_value(g, s->value[0]);
	gen_end(g);
}

static void gen_window_statement(struct gen *g, const struct stmt *s)
{
	if (gen_symbol(g, SYMBOL_WINDOW, &s->target)->mode == WINDOW_CONST) {
		gen_begin_quietly(g, s->line);
		(void)gen_window_address(g, s);
		return;
	}
	gen_begin(g, s);
	gen_new_window(g, s);
}

static void gen_map_flags(struct gen *g, const struct stmt *s)
{
	gen_put(g, "%s | %s", s->options & OPTION_SHARED ? "MAP_SHARED" : "MAP_PRIVATE",
		s->options & OPTION_NOREPLACE ? "MAP_FIXED_NOREPLACE" : "MAP_FIXED");
	if (s->options & OPTION_NORESERVE)
		gen_put(g, " | MAP_NORESERVE");
}

static void gen_map(struct gen *g, const struct stmt *s)
{
	const struct range whole = {
		.kind = RANGE_WINDOW, .process = s->process, .window = s->target,
	};

	gen_begin(g, s);
	if (s->options & OPTION_NEW_WINDOW)
		gen_new_window(g, s);
	gen_put(g, "%s(", s->options & OPTION_HAS_FILE ? "map_file" : "map");
	if (s->options & OPTION_NEW_WINDOW) {
		gen_page(g, &whole);
		gen_put(g, ", ");
		gen_value(g, s->value[0]);
	} else {
		gen_place(g, s->range);
	}
	gen_put(g, ", ");
	gen_protection(g, s->number);
	gen_put(g, ", ");
	gen_map_flags(g, s);
	if (s->options & OPTION_HAS_FILE) {
		gen_put(g, ", ");
		gen_name(g, SYMBOL_FILE, &s->file);
		gen_put(g, ", ");
		if (s->value[1])
			gen_value(g, s->value[1]);
		else
			gen_put(g, "0");
	}
	gen_put(g, ")");
	gen_outcome(g, s, false);
}

/* ---- mremap ---------------------------------------------------------------------------- */

static void gen_new_bytes(struct gen *g, const struct stmt *s)
{
	int64_t pages;

	if (s->options & OPTION_RESIZE) {
		if (gen_constant(g, s->value[1], &pages) && pages == 1) {
			gen_put(g, "PAGE");
			return;
		}
		if (s->value[1]->op == EXPR_CONST || s->value[1]->op == EXPR_VARIABLE)
			gen_value(g, s->value[1]);
		else
			gen_operand(g, s->value[1]);
		gen_put(g, " * PAGE");
	} else if (s->value[1]) {
		gen_value(g, s->value[1]);
	} else {
		gen_bytes(g, s->options & OPTION_TO && s->number & SP_MREMAP_FIXED ? s->range2 : s->range);
	}
}

static void gen_mremap_call(struct gen *g, const struct stmt *s)
{
	static const struct flag_name flags[] = {
		{ SP_MREMAP_MAYMOVE, "MREMAP_MAYMOVE" },
		{ SP_MREMAP_FIXED, "MREMAP_FIXED" },
		{ SP_MREMAP_DONTUNMAP, "MREMAP_DONTUNMAP" },
		{ 0, NULL },
	};

	gen_put(g, "sys(");
	gen_process(g, s->range);
	gen_put(g, ", SYS_mremap, ");
	gen_address(g, s->range);
	gen_put(g, ", ");
	if (!(s->options & OPTION_RESIZE) && s->value[0])
		gen_value(g, s->value[0]);
	else
		gen_bytes(g, s->range);
	gen_put(g, ", ");
	gen_new_bytes(g, s);
	gen_put(g, ", ");
	gen_flags(g, s->number, flags, "0");
	if (s->options & OPTION_TO) {
		gen_put(g, ", ");
		gen_address(g, s->range2);
	}
	gen_put(g, ")");
}

/* The result is a window, wherever it is. */
static void gen_mremap_as(struct gen *g, const struct stmt *s)
{
	struct gen_symbol *w = gen_symbol(g, SYMBOL_WINDOW, &s->target);

	if (w->mode == WINDOW_MEMBER) {
		gen_name(g, SYMBOL_PROCESS, &s->process);
		gen_put(g, "->");
	}
	if (gen_maker(g, s, SYMBOL_WINDOW, &s->target))
		gen_put(g, " = ");
	gen_put(g, "must_have(");
	gen_mremap_call(g, s);
	gen_put(g, ")");
	gen_end(g);
	if (!w->pages_wanted)
		return;
	if (w->mode == WINDOW_MEMBER) {
		gen_name(g, SYMBOL_PROCESS, &s->process);
		gen_put(g, "->");
	}
	gen_put(g, "%s_pages = ", w->name);
	gen_value(g, s->value[1]);
	gen_end(g);
}

static void gen_mremap(struct gen *g, const struct stmt *s)
{
	gen_begin(g, s);
	if (s->options & OPTION_TARGET && !s->errnos) {
		gen_mremap_as(g, s);
		g->last_is_zero = true;
		return;
	}
	gen_mremap_call(g, s);
	gen_outcome(g, s, false);
}

/* ---- Calls on a range -------------------------------------------------------------------- */

/* Its start and length; of `all`, those of the VMA at hand. */
static void gen_span(struct gen *g, const struct range *range)
{
	if (range->kind == RANGE_ALL) {
		gen_put(g, "v->start, v->end - v->start");
		return;
	}
	gen_address(g, range);
	gen_put(g, ", ");
	gen_bytes(g, range);
}

static void gen_span_call(struct gen *g, const struct stmt *s)
{
	static const struct {
		enum op op;
		const char *call;
	} calls[] = {
		{ OP_MUNMAP, "SYS_munmap" },   { OP_MPROTECT, "SYS_mprotect" },
		{ OP_MADVISE, "SYS_madvise" }, { OP_MLOCK, "SYS_mlock" },
		{ OP_MUNLOCK, "SYS_munlock" },
	};

	if (s->op == OP_MADVISE && s->number == SP_MADV_SOFT_OFFLINE) {
		gen_put(g, "soft_offline(");
		gen_process(g, s->range);
		gen_put(g, ", ");
		gen_span(g, s->range);
		gen_put(g, ")");
		gen_outcome(g, s, false);
		return;
	}
	gen_put(g, "sys(");
	gen_process(g, s->range);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].op == s->op)
			gen_put(g, ", %s, ", calls[i].call);
	gen_span(g, s->range);
	if (s->op == OP_MPROTECT) {
		gen_put(g, ", ");
		gen_protection(g, s->number);
	} else if (s->op == OP_MADVISE) {
		gen_put(g, ", ");
		gen_advice(g, s->number);
	}
	gen_put(g, ")");
	gen_outcome(g, s, false);
}

/* READ of a page is TOUCH, whose load faults it in, and nobody looks at what was loaded. */
static void gen_touch_call(struct gen *g, const struct stmt *s)
{
	gen_put(g, "sys(");
	gen_process(g, s->range);
	gen_put(g, ", TOUCH, ");
	if (s->range->kind == RANGE_ALL) {
		gen_put(g, "v->start, (v->end - v->start) / PAGE");
	} else {
		gen_address(g, s->range);
		gen_put(g, ", ");
		gen_pages(g, s->range);
	}
	gen_put(g, ")");
	gen_outcome(g, s, false);
}

static void gen_spans(struct gen *g, const struct stmt *s, void (*call)(struct gen *g, const struct stmt *s))
{
	gen_begin(g, s);
	if (s->range->kind != RANGE_ALL) {
		call(g, s);
		return;
	}
	gen_put(g, "for (const struct vma *v = next_vma(");
	gen_process(g, s->range);
	gen_put(g, ", 0); v; v = next_vma(");
	gen_process(g, s->range);
	gen_put(g, ", v->end))");
	gen_end_line(g);
	g->depth++;
	call(g, s);
	g->depth--;
}

static void gen_prctl(struct gen *g, const struct stmt *s)
{
	gen_begin(g, s);
	gen_put(g, "%s(", s->options & OPTION_GET ? "get_merge_any" : "merge_any");
	gen_name(g, SYMBOL_PROCESS, &s->process);
	for (uint32_t i = 0; i < 4; i++) {
		gen_put(g, ", ");
		if (i < s->nr_list)
			gen_value(g, s->list[i]);
		else
			gen_put(g, "0");
	}
	gen_put(g, ")");
	gen_outcome(g, s, true);
}

/* ---- Accesses --------------------------------------------------------------------------------- */

static void gen_byte(struct gen *g, const struct expr *e)
{
	if (e->op == EXPR_CONST)
		gen_put(g, "0x%02x", (unsigned int)e->value & 0xff);
	else
		gen_value(g, e);
}

static void gen_fill(struct gen *g, const struct stmt *s)
{
	gen_begin(g, s);
	gen_put(g, "sys(");
	gen_process(g, s->range);
	gen_put(g, ", %s, ", s->options & OPTION_RANDOM ? "RANDOM" : "FILL");
	gen_address(g, s->range);
	gen_put(g, ", ");
	gen_pages(g, s->range);
	gen_put(g, ", ");
	if (s->options & OPTION_RANDOM)
		gen_value(g, s->value[0]);
	else
		gen_byte(g, s->value[0]);
	gen_put(g, ")");
	gen_outcome(g, s, false);
}

static void gen_write(struct gen *g, const struct stmt *s)
{
	gen_begin(g, s);
	gen_put(g, "store(");
	gen_page(g, s->range);
	gen_put(g, ", (unsigned char[]){ ");
	for (uint32_t i = 0; i < s->nr_list; i++) {
		gen_put(g, "%s", i ? ", " : "");
		gen_byte(g, s->list[i]);
	}
	gen_put(g, " }, %u)", s->nr_list);
	gen_outcome(g, s, false);
}

bool gen_operation(struct gen *g, const struct stmt *s)
{
	switch (s->op) {
	case OP_WINDOW:
		gen_window_statement(g, s);
		return true;
	case OP_MAP:
		gen_map(g, s);
		return true;
	case OP_MREMAP:
		gen_mremap(g, s);
		return true;
	case OP_MADVISE:
		if (s->number == SP_MADV_HUGEPAGE)
			helpers_use(&g->helpers, "thp");
		gen_spans(g, s, gen_span_call);
		return true;
	case OP_MUNMAP:
	case OP_MPROTECT:
	case OP_MLOCK:
	case OP_MUNLOCK:
		gen_spans(g, s, gen_span_call);
		return true;
	case OP_READ:
	case OP_TOUCH:
	case OP_SWAPIN:
		gen_spans(g, s, gen_touch_call);
		return true;
	case OP_PRCTL:
		gen_prctl(g, s);
		return true;
	case OP_FILL:
		gen_fill(g, s);
		return true;
	case OP_WRITE:
		gen_write(g, s);
		return true;
	default:
		return false;
	}
}
