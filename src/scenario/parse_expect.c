/* SPDX-License-Identifier: GPL-2.0-only */
/* What stands after `expect`; see parse.h. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "names.h"
#include "parse.h"

bool accept_compare(struct parser *p, enum compare *ret)
{
	/* Longer ones first: "<=" begins with "<". */
	static const enum compare order[] = {
		COMPARE_EQ, COMPARE_NE, COMPARE_LE, COMPARE_GE, COMPARE_LT, COMPARE_GT,
	};
	static const char *const texts[] = { "==", "!=", "<=", ">=", "<", ">" };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		if (accept_text(p, texts[i])) {
			*ret = order[i];
			return true;
		}
	return false;
}

/* [OP] VALUE, where no OP means ==. */
static int parse_bound(struct parser *p, struct stmt *s)
{
	s->compare = COMPARE_EQ;
	accept_compare(p, &s->compare);
	return parse_expr(p, &s->value[0]);
}

static int parse_value(struct parser *p, struct stmt *s)
{
	char buf[FOUND_BYTES];
	int err = parse_expr(p, &s->value[0]);

	s->form = EXPECT_VALUE;
	if (err)
		return err;
	if (!accept_compare(p, &s->compare))
		return parse_fail(p, p->pos, "expected a comparison (== != < <= > >=), found %s",
				  found(p, buf, sizeof(buf)));
	return parse_expr(p, &s->value[1]);
}

static int need_operation(struct parser *p, const char *what)
{
	if (p->last_op)
		return 0;
	return parse_fail(p, p->stmt->pos,
			  "`expect %s` stands directly after the operation that it is about", what);
}

static int parse_errno(struct parser *p, struct stmt *s)
{
	uint32_t length = peek_identifier(p);
	char name[24] = "";
	char buf[FOUND_BYTES];

	s->form = EXPECT_ERRNO;
	memcpy(name, p->line + p->pos, MIN(length, (uint32_t)sizeof(name) - 1));
	s->number = errno_by_name(name);
	if (!s->number)
		return parse_fail(p, p->pos, "expected the name of an error, such as EINVAL, found %s",
				  found(p, buf, sizeof(buf)));
	p->pos += length;
	skip_blanks(p);
	return need_operation(p, "errno");
}

static int parse_result(struct parser *p, struct stmt *s)
{
	int err;

	s->form = EXPECT_RESULT;
	err = parse_bound(p, s);
	return err ? err : need_operation(p, "result");
}

static int parse_content(struct parser *p, struct stmt *s)
{
	int err = parse_range(p, 0, &s->range);

	s->form = EXPECT_CONTENT;
	if (err)
		return err;
	if (accept_word(p, "unknown")) {
		s->content = CONTENT_UNKNOWN;
		return 0;
	}
	if (accept_word(p, "same-as")) {
		s->content = CONTENT_SAME_AS;
		return parse_range(p, 0, &s->range2);
	}
	s->content = accept_word(p, "random") ? CONTENT_RANDOM : CONTENT_BYTE;
	return parse_expr(p, &s->value[0]);
}

static int parse_frames(struct parser *p, struct stmt *s)
{
	int err = parse_range(p, 0, &s->range);

	if (!err && !at_end(p))
		err = parse_range(p, 0, &s->range2);
	return err;
}

static int parse_knob(struct parser *p, struct stmt *s)
{
	int err = parse_knob_name(p, s);

	s->form = EXPECT_KNOB;
	if (!err && accept_text(p, "==") && at_end(p))
		err = parse_fail(p, p->pos, "expected the value of the knob");
	return err ? err : parse_knob_value(p, s);
}

static int parse_reached(struct parser *p, struct stmt *s)
{
	int err;

	s->form = EXPECT_REACHED;
	if (accept_word(p, "all")) {
		s->content = REACHED_ALL;
		return 0;
	}
	if (accept_word(p, "full")) {
		s->content = REACHED_FULL;
		return 0;
	}
	s->content = REACHED_NUMBER;
	err = parse_bound(p, s);
	if (!err && accept_word(p, "of"))
		err = parse_expr(p, &s->value[1]);
	return err;
}

/* "skipped mm": words in a row, each followed by blanks. */
static bool accept_words(struct parser *p, const char *words)
{
	uint32_t start = p->pos;

	while (*words) {
		char word[16] = "";
		size_t length = strcspn(words, " ");

		memcpy(word, words, length);
		/* "0" and "1" are no words. */
		if (isdigit((unsigned char)word[0]) ? !accept_text(p, word) : !accept_word(p, word)) {
			p->pos = start;
			return false;
		}
		words += length;
		while (*words == ' ')
			words++;
	}
	return true;
}

static int parse_metric(struct parser *p, struct stmt *s, bool *matched)
{
	static const char *const names[NR_WALK_METRICS] = {
#define X(upper, name) [METRIC_##upper] = name,
		SCENARIO_WALK_METRICS(X)
#undef X
	};
	char buf[FOUND_BYTES];

	*matched = true;
	for (int i = 0; i < NR_WALK_METRICS; i++)
		if (accept_words(p, names[i])) {
			s->form = EXPECT_METRIC;
			s->number = i;
			return parse_bound(p, s);
		}
	if (accept_word(p, "pass"))
		return parse_fail(p, p->pos, "expected 0 or 1 and calls, iterations or skipped mm after pass, found %s",
				  found(p, buf, sizeof(buf)));
	if (accept_word(p, "skipped"))
		return parse_fail(p, p->pos, "expected address or mm after skipped, found %s",
				  found(p, buf, sizeof(buf)));
	*matched = false;
	return 0;
}

static int parse_state(struct parser *p, struct stmt *s, bool *matched)
{
	static const char *const names[NR_PAGE_TESTS] = {
#define X(upper, name) [TEST_##upper] = name,
		SCENARIO_PAGE_TESTS(X)
#undef X
	};
	uint32_t length = peek_word(p);
	const char *word = p->line + p->pos;
	bool negated = length > 4 && !memcmp(word, "not-", 4);
	uint32_t skip = negated ? 4 : 0;

	*matched = false;
	for (int i = 0; i < NR_PAGE_TESTS; i++) {
		if (length - skip != strlen(names[i]) || memcmp(word + skip, names[i], length - skip))
			continue;
		*matched = true;
		s->form = EXPECT_STATE;
		s->number = i;
		if (negated)
			s->options |= OPTION_NOT;
		p->pos += length;
		skip_blanks(p);
		return parse_range(p, RANGE_MAY_BE_ALL, &s->range);
	}
	return 0;
}

int parse_expectation(struct parser *p, struct stmt *s)
{
	bool matched;
	int err;

	if (accept_word(p, "errno"))
		return parse_errno(p, s);
	if (accept_word(p, "result"))
		return parse_result(p, s);
	if (accept_word(p, "content"))
		return parse_content(p, s);
	if (accept_word(p, "same")) {
		s->form = EXPECT_SAME;
		return parse_frames(p, s);
	}
	if (accept_word(p, "different")) {
		s->form = EXPECT_DIFFERENT;
		return parse_frames(p, s);
	}
	if (accept_word(p, "knob"))
		return parse_knob(p, s);
	if (accept_word(p, "reached"))
		return parse_reached(p, s);
	err = parse_metric(p, s, &matched);
	if (err || matched)
		return err;
	err = parse_state(p, s, &matched);
	if (err || matched)
		return err;
	return parse_value(p, s);
}
