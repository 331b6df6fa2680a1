/* SPDX-License-Identifier: GPL-2.0-only */
/* Values and ranges in C; see gen.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "gen.h"

void gen_put(struct gen *g, const char *fmt, ...)
{
	char small[256];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	ctext_add(&g->code, small, (size_t)MIN(MAX(n, 0), (int)sizeof(small) - 1));
}

void gen_number(struct gen *g, int64_t value)
{
	if (value == INT64_MIN)
		gen_put(g, "LONG_MIN");
	else if (value > INT32_MAX)
		gen_put(g, "0x%" PRIx64 "L", (uint64_t)value);
	else
		gen_put(g, "%" PRId64 "%s", value, value < -INT32_MAX ? "L" : "");
}

/* ---- What a kernel does not show ----------------------------------------------------- */

bool gen_is_blind(const struct expr *e, const char **what)
{
	switch (e->op) {
	case EXPR_PAGE:
		*what = "how many references a page has";
		return e->function == PAGE_REFCOUNT;
	case EXPR_NEGATE:
		return gen_is_blind(e->a, what);
	case EXPR_ADD:
	case EXPR_SUBTRACT:
	case EXPR_MULTIPLY:
	case EXPR_DIVIDE:
	case EXPR_REMAINDER:
		return gen_is_blind(e->a, what) || gen_is_blind(e->b, what);
	default:
		return false;
	}
}

/* What every kernel since 5.19 has; the rest came later, or may be configured away. */
static bool is_everywhere(const char *counter)
{
	static const char *const names[] = {
		"pages_shared", "pages_sharing", "pages_unshared", "pages_volatile", "full_scans",
		"stable_node_chains", "stable_node_dups", "run", "orphan_entries", "now_ms",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], counter))
			return true;
	return false;
}

bool gen_may_be_unseen(const struct gen *g, const struct expr *e)
{
	switch (e->op) {
	case EXPR_CONST:
		return false;
	case EXPR_VARIABLE:
		return g->symbols[SYMBOL_VARIABLE][e->variable].may_be_unseen;
	case EXPR_COUNTER:
		return !is_everywhere(e->counter);
	case EXPR_PROCESS_STAT:
		return !strncmp(e->stat, "ksm_", 4) && strcmp(e->stat, "ksm_merging_pages") != 0;
	case EXPR_PAGE:
		return e->function == PAGE_INDEX;
	case EXPR_NEGATE:
		return gen_may_be_unseen(g, e->a);
	default:
		return gen_may_be_unseen(g, e->a) || gen_may_be_unseen(g, e->b);
	}
}

/* ---- Values ---------------------------------------------------------------------------- */

/* Those that count from the start of the scenario on. */
static bool counts_for_ever(const char *counter)
{
	static const char *const names[] = {
		"pages_scanned", "pages_skipped", "ksm_zero_pages", "general_profit", "cow_ksm",
		"ksm_swpin_copy", "pswpin", "pswpout", "pgmigrate_success", "pgmigrate_fail",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], counter))
			return true;
	return false;
}

static void add_base(struct gen *g, const char *counter)
{
	char entry[64];

	snprintf(entry, sizeof(entry), "\t{ \"%.40s\", 0 },\n", counter);
	if (!strstr(ctext_string(&g->bases), entry))
		ctext_put(&g->bases, "%s", entry);
}

static void gen_counter(struct gen *g, const char *name)
{
	if (!strcmp(name, "orphan_entries") || !strcmp(name, "now_ms")) {
		gen_put(g, "%s()", name);
	} else if (counts_for_ever(name)) {
		add_base(g, name);
		gen_put(g, "grown(\"%s\")", name);
	} else {
		gen_put(g, "counter(\"%s\")", name);
	}
}

static void gen_stat(struct gen *g, const struct expr *e)
{
	static const struct {
		const char *stat, *before, *behind;
	} stats[] = {
		{ "vmas", "count_vmas(", ", WINDOWS, WINDOWS_END)" },
		{ "rss_anon", "count_pages(", ", is_anon)" },
		{ "rss_file", "count_pages(", ", is_file)" },
		{ "rss", "count_pages(", ", is_present)" },
		{ "swap", "count_pages(", ", is_swapped)" },
		{ "ksm_mergeable", "any_mergeable(", ")" },
		{ "ksm_merge_any", "get_merge_any(", ", 0, 0, 0, 0)" },
	};

	if (!strcmp(e->stat, "exited")) {
		gen_put(g, "(");
		gen_name(g, SYMBOL_PROCESS, &e->process);
		gen_put(g, "->fd < 0)");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(stats); i++)
		if (!strcmp(stats[i].stat, e->stat)) {
			gen_put(g, "%s", stats[i].before);
			gen_name(g, SYMBOL_PROCESS, &e->process);
			gen_put(g, "%s", stats[i].behind);
			return;
		}
	gen_put(g, "ksm_stat(");
	gen_name(g, SYMBOL_PROCESS, &e->process);
	gen_put(g, ", \"%s\")", e->stat);
}

static void gen_page_value(struct gen *g, const struct expr *e)
{
	static const char *const functions[NR_PAGE_FUNCTIONS] = {
		[PAGE_PFN] = "page_pfn", [PAGE_MAPCOUNT] = "page_mapcount",
		[PAGE_REFCOUNT] = "page_refcount", [PAGE_NODE] = "page_node",
		[PAGE_INDEX] = "page_index",
	};

	if (e->function == PAGE_PAGES) {
		gen_put(g, "(");
		gen_pages(g, e->range);
		gen_put(g, ")");
	} else if (e->function == PAGE_VMAS) {
		gen_put(g, "count_vmas(");
		gen_process(g, e->range);
		if (e->range->kind == RANGE_ALL) {
			gen_put(g, ", WINDOWS, WINDOWS_END)");
			return;
		}
		gen_put(g, ", ");
		gen_address(g, e->range);
		gen_put(g, ", ");
		gen_address(g, e->range);
		gen_put(g, " + ");
		gen_bytes(g, e->range);
		gen_put(g, ")");
	} else {
		gen_put(g, "%s(", functions[e->function]);
		gen_page(g, e->range);
		gen_put(g, ")");
	}
}

static int strength(const struct expr *e)
{
	switch (e->op) {
	case EXPR_ADD:
	case EXPR_SUBTRACT:
		return 1;
	case EXPR_MULTIPLY:
	case EXPR_DIVIDE:
	case EXPR_REMAINDER:
		return 2;
	case EXPR_CONST:
		return e->value < 0 ? 1 : 3;
	case EXPR_NEGATE:
		return 1;
	default:
		return 3;
	}
}

static void gen_strong(struct gen *g, const struct expr *e, int least)
{
	bool parentheses = strength(e) < least;

	if (parentheses)
		gen_put(g, "(");
	gen_value(g, e);
	if (parentheses)
		gen_put(g, ")");
}

static void gen_variable(struct gen *g, const struct expr *e)
{
	const struct name_ref ref = { .symbol = e->variable };
	bool unseen = gen_symbol(g, SYMBOL_VARIABLE, &ref)->may_be_unseen;

	if (unseen)
		gen_put(g, "known(");
	gen_name(g, SYMBOL_VARIABLE, &ref);
	if (unseen)
		gen_put(g, ")");
}

void gen_value(struct gen *g, const struct expr *e)
{
	static const char *const signs[] = {
		[EXPR_ADD] = " + ", [EXPR_SUBTRACT] = " - ", [EXPR_MULTIPLY] = " * ",
		[EXPR_DIVIDE] = " / ", [EXPR_REMAINDER] = " % ",
	};

	switch (e->op) {
	case EXPR_CONST:
		gen_number(g, e->value);
		break;
	case EXPR_VARIABLE:
		gen_variable(g, e);
		break;
	case EXPR_COUNTER:
		gen_counter(g, e->counter);
		break;
	case EXPR_PROCESS_STAT:
		gen_stat(g, e);
		break;
	case EXPR_PAGE:
		gen_page_value(g, e);
		break;
	case EXPR_NEGATE:
		gen_put(g, "-");
		gen_strong(g, e->a, 3);
		break;
	default:
		gen_strong(g, e->a, strength(e));
		gen_put(g, "%s", signs[e->op]);
		gen_strong(g, e->b, strength(e) + 1);
		break;
	}
}

void gen_operand(struct gen *g, const struct expr *e)
{
	gen_strong(g, e, 3);
}

/* ---- Ranges -------------------------------------------------------------------------------- */

void gen_process(struct gen *g, const struct range *range)
{
	gen_name(g, SYMBOL_PROCESS, &range->process);
}

/* The window's own address, or the number of its pages. */
static void gen_window(struct gen *g, const struct range *range, bool pages)
{
	struct gen_symbol *w = gen_symbol(g, SYMBOL_WINDOW, &range->window);

	if (pages && w->nr_pages >= 0) {
		gen_number(g, w->nr_pages);
		return;
	}
	w->pages_read |= pages;
	w->nr_reads += !pages;
	if (w->mode == WINDOW_MEMBER) {
		gen_process(g, range);
		gen_put(g, "->");
	}
	gen_put(g, "%s%s", w->name, pages ? "_pages" : "");
	if (range->window.index) {
		gen_put(g, "[");
		gen_value(g, range->window.index);
		gen_put(g, "]");
	}
}

void gen_address(struct gen *g, const struct range *range)
{
	int64_t first;

	if (range->kind == RANGE_ADDRESS)
		gen_operand(g, range->address);
	else
		gen_window(g, range, false);
	if (range->first && gen_constant(g, range->first, &first) && first == 1) {
		gen_put(g, " + PAGE");
	} else if (range->first && !(range->first->op == EXPR_CONST && !range->first->value)) {
		gen_put(g, " + ");
		gen_strong(g, range->first, 2);
		gen_put(g, " * PAGE");
	}
	if (range->offset) {
		gen_put(g, " + ");
		gen_strong(g, range->offset, 2);
	}
}

/* How many, where that is known: 0 if it is not. */
static int64_t count_pages(const struct gen *g, const struct range *range)
{
	int64_t first = 0, last = 0;

	if (!range->first) {
		if (range->kind == RANGE_ADDRESS)
			return 1;
		return MAX(gen_symbol(g, SYMBOL_WINDOW, &range->window)->nr_pages, INT64_C(0));
	}
	if (!range->last && !range->open)
		return 1;
	if (!gen_constant(g, range->first, &first))
		return 0;
	if (range->last && gen_constant(g, range->last, &last))
		return last - first + 1;
	if (range->open && gen_symbol(g, SYMBOL_WINDOW, &range->window)->nr_pages > first)
		return gen_symbol(g, SYMBOL_WINDOW, &range->window)->nr_pages - first;
	return 0;
}

/* "i..i + 3" */
static bool same_variable_plus(const struct expr *first, const struct expr *last, int64_t *ret)
{
	if (first->op != EXPR_VARIABLE || last->op != EXPR_ADD || last->b->op != EXPR_CONST)
		return false;
	*ret = last->b->value;
	return last->a->op == EXPR_VARIABLE && last->a->variable == first->variable;
}

void gen_pages(struct gen *g, const struct range *range)
{
	int64_t nr = count_pages(g, range);

	if (!nr && range->last && same_variable_plus(range->first, range->last, &nr))
		nr++;
	if (nr) {
		gen_number(g, nr);
	} else if (!range->first) {
		gen_window(g, range, true);
	} else {
		if (range->last)
			gen_value(g, range->last);
		else
			gen_window(g, range, true);
		if (range->first->op != EXPR_CONST || range->first->value) {
			gen_put(g, " - ");
			gen_strong(g, range->first, 2);
		}
		if (range->last)
			gen_put(g, " + 1");
	}
}

void gen_bytes(struct gen *g, const struct range *range)
{
	int64_t nr = count_pages(g, range);
	bool simple = nr || !range->first;

	if (nr == 1) {
		gen_put(g, "PAGE");
		return;
	}
	if (!simple)
		gen_put(g, "(");
	gen_pages(g, range);
	gen_put(g, "%s * PAGE", simple ? "" : ")");
}

void gen_page(struct gen *g, const struct range *range)
{
	gen_process(g, range);
	gen_put(g, ", ");
	gen_address(g, range);
}

void gen_place(struct gen *g, const struct range *range)
{
	gen_page(g, range);
	gen_put(g, ", ");
	gen_pages(g, range);
}
