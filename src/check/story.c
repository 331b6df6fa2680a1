/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stories, written and proved: what trials showed (story_seen.c) becomes text (story_text.c), and
 * the text is run. A first run, without `broken` lines, says which strategies need one; a second
 * one, with them, must come out as declared.
 */
#include "story.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"
#include "story_seen.h"

static int SP_PRINTF(2, 3) refuse(char **why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(why, fmt, ap) < 0)
		*why = NULL;
	va_end(ap);
	return *why ? -EPROTO : -ENOMEM;
}

static bool is_of_walks(const struct story *story)
{
	enum failure_kind kind = story->failure.cause.kind;

	return kind == FAILURE_MISS || kind == FAILURE_ORPHAN || kind == FAILURE_PINNED;
}

/* "swapout misses b:x[1]": the first entry that a walk missed, and Linux's too or not. */
static void first_miss(const struct scenario_result *r, bool of_linux, char *text, size_t size)
{
	for (uint32_t i = 0; i < r->nr_misses_listed; i++) {
		const struct scenario_miss *miss = &r->misses[i];

		if (miss->pte.linux_misses != of_linux)
			continue;
		snprintf(text, size, "%s misses %.*s", miss->operation,
			 (int)strcspn(miss->page, " "), miss->page);
		return;
	}
}

/* The first run's result under a strategy. Everything it expects was seen: only walks may fail. */
static int learn(struct story *story, const struct scenario_result *r, char **why)
{
	struct story_outcome *outcome = &story->outcomes[r->strategy];
	/* Not declared yet, so it counts as one. */
	uint64_t nr_failures = r->nr_failures - (r->nr_linux_missed != 0);

	if (r->verdict == SCENARIO_ERROR || r->verdict == SCENARIO_CANNOT)
		return refuse(why, "under %s: %s", sp_strategy_name(r->strategy), r->error);
	if (nr_failures && is_of_walks(story))
		return refuse(why, "under %s: %s", sp_strategy_name(r->strategy),
			      r->failures[0].text);
	first_miss(r, false, outcome->missed, sizeof(outcome->missed));
	if (r->strategy == SP_STRATEGY_FULL) {
		story->linux_misses = r->nr_linux_missed;
		first_miss(r, true, story->linux_missed, sizeof(story->linux_missed));
	}
	outcome->broken =
		r->nr_missed || nr_failures || (r->nr_linux_missed && !story->linux_misses);
	return 0;
}

static int judge(const struct scenario_result *r, char **why)
{
	if (r->verdict == SCENARIO_HELD || r->verdict == SCENARIO_BROKEN)
		return 0;
	return refuse(why, "under %s: %s%s%s", sp_strategy_name(r->strategy),
		      scenario_verdict_text(r->verdict), r->nr_failures_listed ? ": " : "",
		      r->nr_failures_listed ? r->failures[0].text : r->error);
}

static int run(struct story *story, const struct scenario *scenario, bool learning, char **why)
{
	int err = 0;

	for (unsigned int i = 0; i < SP_NR_STRATEGIES && !err; i++) {
		struct scenario_options options;
		struct scenario_result *result;

		scenario_options_init(&options);
		options.strategy = i;
		options.validate = story->failure.cause.kind == FAILURE_RECOUNT;
		err = scenario_run(scenario, &options, &result);
		if (err)
			break;
		err = learning ? learn(story, result, why) : judge(result, why);
		scenario_result_destroy(result);
	}
	return err;
}

/* Parses the text and runs it under every strategy. */
static int try_text(struct story *story, const char *text, bool learning, char **why)
{
	struct diagnostics *diagnostics = malloc(sizeof(*diagnostics));
	struct scenario *scenario;
	int err;

	if (!diagnostics)
		return -ENOMEM;
	err = scenario_parse_text("found.scn", text, strlen(text), diagnostics, &scenario);
	if (!err) {
		err = run(story, scenario, learning, why);
		scenario_destroy(scenario);
	} else if (err == -EINVAL) {
		err = refuse(why, "%s",
			     diagnostics->nr_listed ? diagnostics->list[0] : "not a scenario");
	}
	free(diagnostics);
	return err;
}

/* Does the file show what the search found? */
static int shows_failure(const struct story *story, char **why)
{
	enum sp_strategy strategy = story->origin->strategy;
	bool shown = story->outcomes[strategy].broken;

	if (story->failure.cause.kind == FAILURE_RESULT)
		return 0;
	if (strategy == SP_STRATEGY_FULL)
		shown |= story->linux_misses;
	return shown ? 0
		     : refuse(why, "under %s: run as a scenario, nothing fails",
			      sp_strategy_name(strategy));
}

static int write_story(struct story *story, char **ret)
{
	char *text = story_text(story), *why = NULL;
	int err;

	if (!text)
		return -ENOMEM;
	err = try_text(story, text, true, &why);
	if (!err)
		err = shows_failure(story, &why);
	free(text);
	text = NULL;
	if (!err) {
		text = story_text(story);
		err = text ? try_text(story, text, false, &why) : -ENOMEM;
	}
	if (err) {
		free(text);
		text = why;
	}
	*ret = text;
	return err;
}

/* Whether the sequence fails without the step, which is then taken away; -ENOMEM. */
static int try_without(struct trial *t, struct sequence *s, unsigned int at,
		       const struct story *story, struct failure *failure)
{
	struct sequence shorter = *s;
	const struct failure *found;
	struct verdict v;
	int err;

	sequence_remove(&shorter, at, 1);
	err = oracle_run(t, &shorter, story->origin->strategy, ORACLE_ALL, &v, NULL);
	if (err)
		return err;
	found = verdict_find(&v, &failure->cause);
	if (!found)
		return 0;
	shorter.nr = (uint16_t)(found->step + 1);
	*failure = *found;
	*s = shorter;
	return 1;
}

/* Takes one uneven step away, or the hold that an uneven drop is of. 0: it fails without none. */
static int make_even(struct trial *t, struct sequence *s, const struct story *story,
		     struct failure *failure)
{
	int taken = 0;

	for (unsigned int i = 0; i < story->nr_steps && !taken; i++) {
		const struct step *step = &s->steps[i];

		if (!line_is_uneven(&story->lines[i]))
			continue;
		taken = try_without(t, s, i, story, failure);
		for (unsigned int at = i; at-- && !taken && step->kind == STEP_DROP;)
			if (s->steps[at].kind == STEP_HOLD && s->steps[at].to == step->to)
				taken = try_without(t, s, at, story, failure);
	}
	return taken;
}

int story_write(struct trial *t, struct sequence *s, struct failure *failure,
		const struct story_origin *origin, char **ret)
{
	struct story *story = malloc(sizeof(*story));
	int err, taken = 1;

	*ret = NULL;
	if (!story)
		return -ENOMEM;
	do {
		err = story_see(t, s, &failure->cause, origin, story);
		if (err == -EPROTO)
			taken = make_even(t, s, story, failure);
	} while (err == -EPROTO && taken > 0);
	if (taken < 0)
		err = taken;
	if (err == -EPROTO)
		err = refuse(ret, "it has an operation that some strategies never come to");
	else if (!err)
		err = write_story(story, ret);
	free(story);
	return err;
}
