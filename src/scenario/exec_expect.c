/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Expectations: each finds out what is, compares it with what was expected,
 * and says both when they differ; see exec.h. Contents and frames are in
 * exec_content.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "assertion.h"
#include "exec.h"
#include "names.h"
#include "value.h"

/* ---- Values ---------------------------------------------------------------------- */

/* `expect X == Y`, without the word and without `under`. */
static const char *expected_text(const struct stmt *s)
{
	const char *text = strstr(s->text, "expect");

	text = text ? text + strlen("expect") : s->text;
	while (*text == ' ' || *text == '\t')
		text++;
	return text;
}

static void judge_value(struct exec *x, const struct stmt *s, int64_t is, const struct expr *e,
			int64_t bound)
{
	bool held = value_compare(s->compare, is, bound);

	exec_checked(x, s, held);
	if (!held && e->op == EXPR_CONST)
		exec_failure(x, s, s->pos, "expected %.200s, is %" PRId64, expected_text(s), is);
	else if (!held)
		exec_failure(x, s, s->pos, "expected %.200s, is %" PRId64 ", against %" PRId64,
			     expected_text(s), is, bound);
}

static int expect_value(struct exec *x, const struct stmt *s)
{
	struct world *w = &x->world;
	int64_t is, bound;
	int err = world_value(w, s, s->value[0], &is);

	/* In a place, a value that is not known would be none. */
	if (!err && !w->cannot)
		err = world_value(w, s, s->value[1], &bound);
	if (err || world_is_dry(w) || w->cannot)
		return err;
	judge_value(x, s, is, s->value[1], bound);
	return 0;
}

static int expect_result(struct exec *x, const struct stmt *s)
{
	int64_t bound;
	int err = exec_value(x, s, s->value[0], "a result", INT64_MIN, INT64_MAX, 0, &bound);

	if (err || world_is_dry(&x->world))
		return err;
	judge_value(x, s, x->last.result, s->value[0], bound);
	return 0;
}

/* sysfs shows a choice as "[none] scan-time". */
static void take_choice(char *value)
{
	char *open = strchr(value, '[');
	char *close = open ? strchr(open, ']') : NULL;

	if (close) {
		*close = '\0';
		memmove(value, open + 1, strlen(open + 1) + 1);
	}
}

static int expect_knob(struct exec *x, const struct stmt *s)
{
	struct world *w = &x->world;
	char is[128] = "", number[24];
	const char *expected = s->word2;
	int64_t value;
	bool held;
	int err = exec_value(x, s, s->value[0], "a knob", INT64_MIN, INT64_MAX, 0, &value);

	if (err || world_is_dry(w))
		return err;
	if (s->value[0]) {
		snprintf(number, sizeof(number), "%" PRId64, value);
		expected = number;
	}
	err = w->ops->knob_get(w->backend, s->word, is, sizeof(is));
	if (err == BACKEND_CANNOT) {
		w->cannot = true;
		return 0;
	}
	if (err)
		snprintf(is, sizeof(is), "%s", errno_name(err));
	is[strcspn(is, "\n")] = '\0';
	take_choice(is);
	held = !err && !strcmp(is, expected);
	exec_checked(x, s, held);
	if (!held)
		exec_failure(x, s, s->pos, "expected knob %s %s, is %s", s->word, expected, is);
	return 0;
}

/* ---- Walks -------------------------------------------------------------------------- */

static int64_t metric_of(const struct sp_walk_result *walk, enum walk_metric metric)
{
	const struct sp_walk_metrics *m = &walk->metrics;

	switch (metric) {
	case METRIC_CALLS:
		return (int64_t)walk->calls;
	case METRIC_ITERATIONS:
		return (int64_t)m->all.nr_iteration_total;
	case METRIC_SKIPPED_ADDRESS:
		return (int64_t)m->all.skip_addr_out_of_range;
	case METRIC_SKIPPED_MM:
		return (int64_t)m->all.skip_mm_mismatch;
	case METRIC_LOOPS:
		return (int64_t)m->all.nr_loops;
	case METRIC_FALLBACKS:
		return (int64_t)m->nr_fallback;
	case METRIC_REACHABLE:
		return (int64_t)walk->reachable;
	case METRIC_PASS0_CALLS:
		return (int64_t)m->pass[0].nr_rmap_one;
	case METRIC_PASS0_ITERATIONS:
		return (int64_t)m->pass[0].nr_iteration_total;
	case METRIC_PASS0_SKIPPED_MM:
		return (int64_t)m->pass[0].skip_mm_mismatch;
	case METRIC_PASS1_CALLS:
		return (int64_t)m->pass[1].nr_rmap_one;
	case METRIC_PASS1_ITERATIONS:
		return (int64_t)m->pass[1].nr_iteration_total;
	case METRIC_PASS1_SKIPPED_MM:
		return (int64_t)m->pass[1].skip_mm_mismatch;
	case NR_WALK_METRICS:
		break;
	}
	SP_BUG("no metric of a walk");
}

static int need_walk(struct exec *x, const struct stmt *s)
{
	if (x->walked)
		return 0;
	if (x->walk_cannot)
		return EXEC_CANNOT;
	/* The walk itself failed, and was reported; there is nothing to compare. */
	exec_checked(x, s, false);
	exec_failure(x, s, s->pos, "expected %.200s, but no walk has been made", expected_text(s));
	return EXEC_DRY;
}

static int expect_metric(struct exec *x, const struct stmt *s)
{
	int64_t bound;
	int err = exec_value(x, s, s->value[0], "a count", 0, INT64_MAX, 0, &bound);

	if (err || world_is_dry(&x->world))
		return err;
	err = need_walk(x, s);
	if (!err)
		judge_value(x, s, metric_of(&x->walk, s->number), s->value[0], bound);
	return err;
}

static int expect_reached(struct exec *x, const struct stmt *s)
{
	const struct sp_walk_result *walk = &x->walk;
	int64_t reached, reachable;
	bool held;
	int err = exec_value(x, s, s->value[0], "a count", 0, INT64_MAX, 0, &reached);

	if (!err)
		err = exec_value(x, s, s->value[1], "a count", 0, INT64_MAX, -1, &reachable);
	if (err || world_is_dry(&x->world))
		return err;
	err = need_walk(x, s);
	if (err)
		return err;
	if (s->content == REACHED_ALL)
		held = walk->reached == walk->reachable;
	else if (s->content == REACHED_FULL)
		held = walk->reached >= walk->reached_full;
	else
		held = value_compare(s->compare, (int64_t)walk->reached, reached) &&
		       (reachable < 0 || (uint64_t)reachable == walk->reachable);
	exec_checked(x, s, held);
	if (!held)
		exec_failure(x, s, s->pos,
			     "expected %.200s, is %" PRIu64 " of %" PRIu64 " (the whole tree: %" PRIu64 ")",
			     expected_text(s), walk->reached, walk->reachable, walk->reached_full);
	return 0;
}

/* ---- States of pages -------------------------------------------------------------------- */

static bool vma_covers(struct exec *x, struct process *p, uint64_t addr, struct sp_vma_info *vma)
{
	return !x->world.ops->vma_find(p->handle, addr, vma) && vma->start <= addr;
}

static bool test_page(struct exec *x, struct process *p, uint64_t addr, enum page_test test,
		      const struct sp_page_info *info)
{
	struct sp_vma_info vma;

	switch (test) {
	case TEST_PRESENT:
		return info->state == SP_PAGE_PRESENT;
	case TEST_SWAPPED:
		return info->state == SP_PAGE_SWAPPED;
	case TEST_ABSENT:
		return info->state == SP_PAGE_NONE;
	case TEST_ZERO:
		return info->state == SP_PAGE_ZERO;
	case TEST_MIGRATION:
		return info->state == SP_PAGE_MIGRATION;
	case TEST_KSM:
		return info->ksm;
	case TEST_ANON:
		return info->anon;
	case TEST_HUGE:
		return info->huge;
	case TEST_YOUNG:
		return info->young;
	case TEST_DIRTY:
		return info->dirty;
	case TEST_WRITABLE:
		return info->writable;
	case TEST_LOCKED:
		return vma_covers(x, p, addr, &vma) && vma.locked;
	case TEST_MERGEABLE:
		return vma_covers(x, p, addr, &vma) && vma.mergeable;
	case TEST_MAPPED:
		return vma_covers(x, p, addr, &vma);
	case NR_PAGE_TESTS:
		break;
	}
	SP_BUG("no test of a page");
}

/* The backend may not show what the test is about. */
static bool can_see(const struct exec *x, enum page_test test, int err)
{
	unsigned int blind = x->world.ops->blind;

	switch (test) {
	case TEST_KSM:
		return err != BACKEND_KSM_UNKNOWN;
	case TEST_YOUNG:
		return !(blind & BACKEND_BLIND_YOUNG);
	case TEST_DIRTY:
		return !(blind & BACKEND_BLIND_DIRTY);
	case TEST_WRITABLE:
		return !(blind & BACKEND_BLIND_WRITABLE);
	default:
		return true;
	}
}

static const char *state_text(const struct sp_page_info *info)
{
	switch (info->state) {
	case SP_PAGE_NONE:
		return "absent";
	case SP_PAGE_PRESENT:
		return info->ksm ? "present, of KSM" : info->anon ? "present, anonymous" : "present, of a file";
	case SP_PAGE_SWAPPED:
		return "swapped";
	case SP_PAGE_ZERO:
		return info->ksm ? "the zero page, placed by KSM" : "the zero page";
	case SP_PAGE_MIGRATION:
		return "a migration entry";
	}
	return "in no known state";
}

static int expect_span(struct exec *x, const struct stmt *s, struct process *p, uint64_t addr,
		       uint64_t length, struct outcome *out)
{
	bool wanted = !(s->options & OPTION_NOT);

	for (uint64_t done = 0; done < length; done += PAGE_SIZE) {
		struct sp_page_info info;
		char where[96];

		out->err = x->world.ops->page_info(p->handle, addr + done, &info);
		if (out->err >= 0 && !can_see(x, s->number, out->err))
			out->err = BACKEND_CANNOT;
		if (out->err < 0)
			return 0;
		out->err = 0;
		if (test_page(x, p, addr + done, s->number, &info) == wanted)
			continue;
		world_address_text(&x->world, p, addr + done, where, sizeof(where));
		exec_failure(x, s, s->pos, "expected %.200s; %s is %s", expected_text(s), where,
			     state_text(&info));
		out->result = 1;
		return EXEC_DRY; /* the first page that differs says it */
	}
	return 0;
}

static int expect_state(struct exec *x, const struct stmt *s)
{
	struct outcome out = { 0, 0 };
	struct place place;
	int err = exec_place(x, s, s->range, &place);

	if (err)
		return err;
	err = exec_spans(x, s, &place, expect_span, &out);
	if (err < 0)
		return err;
	if (out.err == BACKEND_CANNOT) {
		x->world.cannot = true;
		return 0;
	}
	if (out.err)
		exec_failure(x, s, s->pos, "expected %.200s: %s", expected_text(s), errno_name(out.err));
	exec_checked(x, s, !out.err && !out.result);
	return 0;
}

/* ---- All of them -------------------------------------------------------------------------- */

int exec_expect(struct exec *x, const struct stmt *s)
{
	int err = 0;

	/* Dry: the names and values of every expectation are checked. */
	if (!world_is_dry(&x->world) && !exec_applies(x, s))
		return 0;
	switch (s->form) {
	case EXPECT_VALUE:
		err = expect_value(x, s);
		break;
	case EXPECT_RESULT:
		err = expect_result(x, s);
		break;
	case EXPECT_CONTENT:
		err = exec_expect_content(x, s);
		break;
	case EXPECT_SAME:
	case EXPECT_DIFFERENT:
		err = exec_expect_frames(x, s);
		break;
	case EXPECT_STATE:
		err = expect_state(x, s);
		break;
	case EXPECT_KNOB:
		err = expect_knob(x, s);
		break;
	case EXPECT_REACHED:
		err = expect_reached(x, s);
		break;
	case EXPECT_METRIC:
		err = expect_metric(x, s);
		break;
	case EXPECT_ERRNO:
		SP_BUG("expect errno belongs to its operation");
	}
	if (err == EXEC_CANNOT || (!err && x->world.cannot)) {
		x->result->expectations[s->expectation].nr_cannot++;
		return 0;
	}
	return err == EXEC_DRY ? 0 : err;
}
