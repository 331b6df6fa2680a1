/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trials for a story: the sequence under every strategy, then its consequences; see story_seen.h.
 *
 * The operations are the same under all strategies, since they become one file. What they are is
 * chosen on the trial of the strategy that failed: a walk of the page, its migration and
 * eviction, a read of it.
 */
#include "story_seen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "names.h"

#define EXPECT_ERRNO 0
#define EXPECT_STATE 1
#define EXPECT_OTHER 2

static struct story_line *line_add(struct story *story, struct step step)
{
	struct story_line *line = &story->lines[story->nr_lines++];

	line->step = step;
	return line;
}

/* The sequence, then what shows what follows from it. */
static void choose_lines(struct story *story, const struct trial *t)
{
	const struct failure *f = &story->failure;
	struct step page = {.process = f->process, .first = f->page, .nr = 1};

	for (unsigned int i = 0; i < story->sequence->nr; i++)
		line_add(story, story->sequence->steps[i]);
	story->nr_steps = story->nr_lines;
	if (f->cause.kind == FAILURE_RECOUNT || f->cause.kind == FAILURE_RESULT ||
	    f->cause.kind == FAILURE_CONTENT)
		return;
	/* A held page cannot be migrated, whatever finds it. */
	for (unsigned int i = 0; i < MAX_HOLDS; i++)
		if (t->holds[i])
			line_add(story, (struct step){STEP_DROP, .to = (uint8_t)i});
	line_add(story, page)->walk = true;
	if (!step_migrates(story->sequence->steps[story->sequence->nr - 1].kind)) {
		page.kind = STEP_MIGRATE;
		page.arg = MIGRATE_ALL;
		line_add(story, page);
	}
	if (f->cause.kind != FAILURE_ORPHAN) {
		page.kind = STEP_SWAPOUT;
		line_add(story, page);
	}
	page.kind = STEP_TOUCH;
	line_add(story, page);
}

/* ---- One strategy ------------------------------------------------------------------- */

struct watch {
	struct story *story;
	struct trial *t;
	enum sp_strategy strategy;
	struct story_outcome *outcome;
	/* Another page that is in the same frame after the sequence. */
	bool has_other;
	unsigned int other_process, other_page;
	uint64_t pfn; /* the page's frame before it is swapped out; 0: it is in none */
};

static bool page_info(const struct trial *t, unsigned int process, unsigned int page,
		      struct sp_page_info *info)
{
	struct sp_process *p = t->processes[process].p;

	return p && !sp_page_info(p, trial_address(t, process, page), info);
}

static const char *state_word(const struct sp_page_info *info)
{
	switch (info->state) {
	case SP_PAGE_PRESENT:
		return "present";
	case SP_PAGE_SWAPPED:
		return "swapped";
	case SP_PAGE_ZERO:
		return "zero";
	case SP_PAGE_MIGRATION:
		return "migration";
	default:
		return "absent";
	}
}

static void expect_state(struct watch *w, struct story_line *line, unsigned int which,
			 unsigned int process, unsigned int page)
{
	char *text = line->expects[which][w->strategy];
	struct sp_page_info info;

	if (page_info(w->t, process, page, &info))
		snprintf(text, sizeof(line->expects[0][0]), "%s %c:x[%u]", state_word(&info),
			 'a' + process, page);
}

static void find_other(struct watch *w)
{
	const struct failure *f = &w->story->failure;
	struct sp_page_info mine, info;

	if (!page_info(w->t, f->process, f->page, &mine) || mine.state != SP_PAGE_PRESENT)
		return;
	for (unsigned int p = 0; p < MAX_PROCESSES; p++)
		for (unsigned int i = 0; i < w->t->shape.nr_pages && !w->has_other; i++) {
			if ((p == f->process && i == f->page) || !page_info(w->t, p, i, &info) ||
			    info.state != SP_PAGE_PRESENT || info.pfn != mine.pfn)
				continue;
			w->has_other = true;
			w->other_process = p;
			w->other_page = i;
		}
}

static bool maps_pfn(const struct watch *w, uint64_t pfn)
{
	struct sp_page_info info;

	for (unsigned int p = 0; p < MAX_PROCESSES && pfn; p++)
		for (unsigned int i = 0; i < w->t->shape.nr_pages; i++)
			if (page_info(w->t, p, i, &info) && info.state == SP_PAGE_PRESENT &&
			    info.pfn == pfn)
				return true;
	return false;
}

static void see_walk(struct watch *w, struct story_line *line)
{
	const struct failure *f = &w->story->failure;
	size_t size = sizeof(line->expects[0][0]);
	struct sp_walk_result result;
	int err = sp_walk(w->t->processes[f->process].p, w->story->address, &result);

	if (err) {
		snprintf(line->expects[EXPECT_ERRNO][w->strategy], size, "errno %s",
			 errno_name(err));
		snprintf(w->outcome->walk, sizeof(w->outcome->walk), "%s", errno_name(err));
		return;
	}
	w->outcome->misses = result.reached < result.reachable;
	snprintf(w->outcome->walk, sizeof(w->outcome->walk), "%u of %u",
		 (unsigned int)result.reached, (unsigned int)result.reachable);
	snprintf(line->expects[EXPECT_STATE][w->strategy], size, "reached %s", w->outcome->walk);
}

static void outcome_word(char *word, size_t size, int64_t result, const char *done)
{
	snprintf(word, size, "%s", result < 0 ? errno_name((int)result) : done);
}

static void see_swapout(struct watch *w, struct story_line *line, int64_t result)
{
	const struct failure *f = &w->story->failure;
	struct sp_page_info mine, other;
	const char *word = "stays";
	bool is_mapped = maps_pfn(w, w->pfn);

	expect_state(w, line, EXPECT_STATE, f->process, f->page);
	if (w->has_other)
		expect_state(w, line, EXPECT_OTHER, w->other_process, w->other_page);
	if (!page_info(w->t, f->process, f->page, &mine))
		return;
	if (mine.state == SP_PAGE_SWAPPED)
		word = is_mapped ? "in part" : "evicted";
	else if (w->has_other && page_info(w->t, w->other_process, w->other_page, &other) &&
		 other.state == SP_PAGE_SWAPPED)
		word = "in part";
	outcome_word(w->outcome->swapout, sizeof(w->outcome->swapout), result, word);
}

static void see_read(struct watch *w, struct story_line *line, int64_t result)
{
	const struct failure *f = &w->story->failure;
	const struct trial_process *p = &w->t->processes[f->process];
	bool lost = false;
	uint8_t bytes[8];

	if (!result && !sp_peek(p->p, w->story->address, bytes, sizeof(bytes))) {
		uint64_t value = 0;

		for (unsigned int i = 0; i < sizeof(bytes); i++)
			value = value << 8 | bytes[i];
		lost = value != p->pages[f->page].value;
		if (!memcmp(bytes, bytes + 1, sizeof(bytes) - 1))
			snprintf(line->expects[EXPECT_STATE][w->strategy],
				 sizeof(line->expects[0][0]), "content %c:x[%u] 0x%02x",
				 'a' + f->process, f->page, bytes[0]);
	}
	outcome_word(w->outcome->read, sizeof(w->outcome->read), result, lost ? "lost" : "right");
}

static void see_step(struct watch *w, unsigned int i)
{
	struct story *story = w->story;
	struct story_line *line = &story->lines[i];
	const struct failure *f = &story->failure;
	bool consequence = i >= story->nr_steps;
	enum trial_outcome outcome;
	struct sp_page_info info;
	int64_t result;

	if (line->step.kind == STEP_SWAPOUT && consequence &&
	    page_info(w->t, f->process, f->page, &info) && info.state == SP_PAGE_PRESENT)
		w->pfn = info.pfn;
	outcome = trial_step(w->t, &line->step, &result);
	line->skipped[w->strategy] = outcome == TRIAL_SKIPPED;
	if (outcome == TRIAL_ERRNO)
		snprintf(line->expects[EXPECT_ERRNO][w->strategy], sizeof(line->expects[0][0]),
			 "errno %s", errno_name((int)result));
	if (i + 1 < story->nr_steps)
		return;
	if (step_migrates(line->step.kind)) {
		expect_state(w, line, EXPECT_STATE, f->process, f->page);
		outcome_word(w->outcome->migrate, sizeof(w->outcome->migrate), result,
			     line->step.kind == STEP_MIGRATE ? "moves" : "");
	} else if (line->step.kind == STEP_SWAPOUT && consequence) {
		see_swapout(w, line, result);
	} else if (line->step.kind == STEP_TOUCH && consequence) {
		see_read(w, line, result);
	}
}

/*
 * Leaves out what a reader would think anyway: that a page which was migrated is present, that a
 * migration entry is still one. Of a second page, only where the first stayed in memory without
 * it.
 */
static void drop_usual(struct story_line *line)
{
	for (unsigned int i = 0; i < SP_NR_STRATEGIES; i++) {
		char *mine = line->expects[EXPECT_STATE][i],
		     *other = line->expects[EXPECT_OTHER][i];
		bool migrates = step_migrates(line->step.kind);

		if (strncmp(mine, "present", 7) || strncmp(other, "swapped", 7))
			*other = '\0';
		if (!strncmp(mine, migrates ? "present" : "migration", 7))
			*mine = '\0';
	}
}

static int see_strategy(struct watch *w)
{
	struct story *story = w->story;
	int err = trial_start(w->t, &story->sequence->shape, w->strategy);

	for (unsigned int i = 0; i < story->nr_lines && !err; i++) {
		if (i == story->nr_steps)
			find_other(w);
		if (story->lines[i].walk)
			see_walk(w, &story->lines[i]);
		else
			see_step(w, i);
	}
	if (!err)
		w->outcome->nr_orphans = sp_orphan_entries(w->t->machine);
	return err;
}

static int see_strategies(struct trial *t, struct story *story)
{
	int err = 0;

	for (unsigned int i = 0; i < SP_NR_STRATEGIES && !err; i++) {
		struct watch w = {
			.story = story, .t = t, .strategy = i, .outcome = &story->outcomes[i]};

		err = see_strategy(&w);
	}
	return err;
}

/* As before the strategies were seen. */
static void forget_seen(struct story *story)
{
	for (unsigned int i = 0; i < story->nr_lines; i++) {
		memset(story->lines[i].skipped, 0, sizeof(story->lines[i].skipped));
		memset(story->lines[i].expects, 0, sizeof(story->lines[i].expects));
	}
	for (unsigned int i = 0; i < SP_NR_STRATEGIES; i++) {
		struct verdict verdict = story->outcomes[i].verdict;

		story->outcomes[i] = (struct story_outcome){.verdict = verdict};
	}
}

/* A page that some strategies could not hold: the others are told with their reference. */
static bool leave_out_drops(struct story *story)
{
	unsigned int kept = story->nr_steps;

	for (unsigned int i = story->nr_steps; i < story->nr_lines; i++)
		if (!line_is_uneven(&story->lines[i]))
			story->lines[kept++] = story->lines[i];
	if (kept == story->nr_lines)
		return false;
	story->nr_lines = kept;
	return true;
}

/* ---- The whole ----------------------------------------------------------------------------- */

static bool is_missed(const struct trial *t, unsigned int process, unsigned int page)
{
	struct sp_process *p = t->processes[process].p;
	uint64_t addr = trial_address(t, process, page);
	struct sp_walk_result result;

	if (!p || sp_walk(p, addr, &result))
		return false;
	for (uint64_t i = 0; i < MIN(result.nr_missed, ARRAY_SIZE(result.missed)); i++)
		if (result.missed[i].process == sp_process_id(p) && result.missed[i].addr == addr)
			return true;
	return false;
}

/* Which page, where, and what the trial that failed looks like afterwards. */
static int see_failure(struct trial *t, struct story *story, const struct cause *cause)
{
	struct verdict *v = &story->outcomes[story->origin->strategy].verdict;
	const struct failure *failure = verdict_find(v, cause);
	int64_t result;
	int err;

	if (!failure)
		return -EINVAL;
	story->failure = *failure;
	err = trial_start(t, &story->sequence->shape, story->origin->strategy);
	if (err)
		return err;
	for (unsigned int i = 0; i < story->sequence->nr; i++) {
		if (i + 1u == story->sequence->nr && cause->kind == FAILURE_MISS)
			story->missed_before = is_missed(t, failure->process, failure->page);
		trial_step(t, &story->sequence->steps[i], &result);
	}
	story->address = trial_address(t, failure->process, failure->page);
	if (!page_info(t, failure->process, failure->page, &story->info))
		memset(&story->info, 0, sizeof(story->info));
	choose_lines(story, t);
	return 0;
}

/* One file for all strategies: a step that is none under some of them cannot be written. */
static int drop_skipped(struct story *story)
{
	unsigned int kept = 0, nr_steps = story->nr_steps;

	for (unsigned int i = 0; i < story->nr_lines; i++)
		if (line_is_uneven(&story->lines[i]))
			return -EPROTO;
	for (unsigned int i = 0; i < story->nr_lines; i++) {
		const struct story_line *line = &story->lines[i];

		if (line->skipped[0])
			nr_steps -= i < story->nr_steps;
		else
			story->lines[kept++] = *line;
	}
	story->nr_lines = kept;
	story->nr_steps = nr_steps;
	return 0;
}

int story_see(struct trial *t, const struct sequence *s, const struct cause *cause,
	      const struct story_origin *origin, struct story *story)
{
	int err = 0;

	memset(story, 0, sizeof(*story));
	story->sequence = s;
	story->origin = origin;
	for (unsigned int i = 0; i < SP_NR_STRATEGIES && !err; i++)
		err = oracle_run(t, s, i, ORACLE_ALL, &story->outcomes[i].verdict, NULL);
	if (!err)
		err = see_failure(t, story, cause);
	if (!err)
		err = see_strategies(t, story);
	if (!err && leave_out_drops(story)) {
		forget_seen(story);
		err = see_strategies(t, story);
	}
	if (!err)
		err = drop_skipped(story);
	for (unsigned int i = 0; i < story->nr_lines && !err; i++)
		if (!story->lines[i].walk)
			drop_usual(&story->lines[i]);
	return err;
}
