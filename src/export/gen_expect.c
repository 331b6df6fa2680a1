/* SPDX-License-Identifier: GPL-2.0-only */
/* Expectations in C; see gen.h. */
#include <inttypes.h>
#include <string.h>

#include "gen.h"

static void not_shown(struct gen *g, const struct stmt *s, const char *why)
{
	gen_begin_quietly(g, s->line);
	gen_comment(g, "line %u: %s: %s", s->line, s->text, why);
}

static const char *compare_text(enum compare compare)
{
	static const char *const texts[] = {
		[COMPARE_EQ] = "==", [COMPARE_NE] = "!=", [COMPARE_LT] = "<",
		[COMPARE_LE] = "<=", [COMPARE_GT] = ">", [COMPARE_GE] = ">=",
	};

	return texts[compare];
}

static void gen_expect_value(struct gen *g, const struct stmt *s)
{
	const char *what;

	if (gen_is_blind(s->value[0], &what) || gen_is_blind(s->value[1], &what)) {
		not_shown(g, s, "no kernel shows that");
		return;
	}
	gen_begin(g, s);
	gen_put(g, "EXPECT(");
	gen_value(g, s->value[0]);
	gen_put(g, ", %s, ", compare_text(s->compare));
	gen_value(g, s->value[1]);
	gen_put(g, ")");
	gen_end(g);
}

static void gen_expect_result(struct gen *g, const struct stmt *s)
{
	gen_begin(g, s);
	gen_put(g, "EXPECT(%s, %s, ", g->last_is_zero ? "0" : "last", compare_text(s->compare));
	gen_value(g, s->value[0]);
	gen_put(g, ")");
	gen_end(g);
}

static void gen_expect_content(struct gen *g, const struct stmt *s)
{
	if (s->content == CONTENT_UNKNOWN) {
		gen_refuse(g, s, EXPORT_NOT_THIS, "contents are unknown only where memory comes from a core or a process");
		return;
	}
	gen_begin(g, s);
	if (s->content == CONTENT_SAME_AS) {
		gen_put(g, "expect_like(");
		gen_page(g, s->range);
		gen_put(g, ", ");
		gen_place(g, s->range2);
	} else if (s->content == CONTENT_RANDOM) {
		gen_put(g, "expect_random(");
		gen_place(g, s->range);
		gen_put(g, ", ");
		gen_value(g, s->value[0]);
	} else {
		gen_put(g, "expect_byte(");
		gen_place(g, s->range);
		gen_put(g, ", ");
		if (s->value[0]->op == EXPR_CONST)
			gen_put(g, "0x%02x", (unsigned int)s->value[0]->value & 0xff);
		else
			gen_value(g, s->value[0]);
	}
	gen_put(g, ")");
	gen_end(g);
}

static void gen_expect_frames(struct gen *g, const struct stmt *s)
{
	bool same = s->form == EXPECT_SAME;

	gen_begin(g, s);
	if (s->range2) {
		gen_put(g, "%s(", same ? "expect_same" : "expect_different");
		gen_page(g, s->range);
		gen_put(g, ", ");
		gen_page(g, s->range2);
		gen_put(g, ", ");
		gen_pages(g, s->range);
	} else {
		gen_put(g, "%s(", same ? "expect_one_frame" : "expect_own_frames");
		gen_place(g, s->range);
	}
	gen_put(g, ")");
	gen_end(g);
}

static void gen_expect_state(struct gen *g, const struct stmt *s)
{
	static const char *const tests[NR_PAGE_TESTS] = {
		[TEST_PRESENT] = "is_present", [TEST_SWAPPED] = "is_swapped",
		[TEST_ABSENT] = "is_absent", [TEST_ZERO] = "is_zero",
		[TEST_MIGRATION] = "is_migration", [TEST_KSM] = "is_ksm",
		[TEST_ANON] = "is_anon", [TEST_HUGE] = "is_huge",
		[TEST_LOCKED] = "is_locked", [TEST_MERGEABLE] = "is_mergeable",
		[TEST_MAPPED] = "is_mapped",
	};

	if (!tests[s->number]) {
		not_shown(g, s, "no kernel shows that");
		return;
	}
	gen_begin(g, s);
	if (s->range->kind == RANGE_ALL) {
		gen_put(g, "expect_all(");
		gen_process(g, s->range);
	} else {
		gen_put(g, "expect_pages(");
		gen_place(g, s->range);
	}
	gen_put(g, ", %s, %s)", tests[s->number], s->options & OPTION_NOT ? "false" : "true");
	gen_end(g);
}

static void gen_expect_knob(struct gen *g, const struct stmt *s)
{
	if (!strcmp(s->word, "strategy") || !strcmp(s->word, "merge_old_ptes")) {
		not_shown(g, s, "a knob of the engine");
		return;
	}
	gen_begin(g, s);
	if (s->value[0] && s->value[0]->op != EXPR_CONST) {
		gen_put(g, "expect_knob_number(\"%s\", ", s->word);
		gen_value(g, s->value[0]);
	} else {
		gen_put(g, "expect_knob(\"%s\", ", s->word);
		if (s->value[0])
			gen_put(g, "\"%" PRId64 "\"", s->value[0]->value);
		else
			ctext_put_literal(&g->code, s->word2, strlen(s->word2));
	}
	gen_put(g, ")");
	gen_end(g);
}

static void gen_form(struct gen *g, const struct stmt *s)
{
	switch (s->form) {
	case EXPECT_VALUE:
		gen_expect_value(g, s);
		break;
	case EXPECT_RESULT:
		gen_expect_result(g, s);
		break;
	case EXPECT_CONTENT:
		gen_expect_content(g, s);
		break;
	case EXPECT_SAME:
	case EXPECT_DIFFERENT:
		gen_expect_frames(g, s);
		break;
	case EXPECT_STATE:
		gen_expect_state(g, s);
		break;
	case EXPECT_KNOB:
		gen_expect_knob(g, s);
		break;
	case EXPECT_REACHED:
	case EXPECT_METRIC:
		not_shown(g, s, "of a walk");
		break;
	case EXPECT_ERRNO:
		break; /* its operation's */
	}
}

void gen_expectation(struct gen *g, const struct stmt *s)
{
	bool always = linux_range_is_all(&s->kernels);

	if (!gen_is_for_linux(s))
		return;
	if (!always && s->form != EXPECT_REACHED && s->form != EXPECT_METRIC) {
		gen_begin_quietly(g, s->line);
		gen_put(g, "if (");
		gen_condition(g, &s->kernels);
		gen_put(g, ") {");
		gen_end_line(g);
		g->depth++;
	}
	gen_form(g, s);
	if (!always && s->form != EXPECT_REACHED && s->form != EXPECT_METRIC) {
		g->depth--;
		gen_put(g, "}");
		gen_end_line(g);
	}
}
