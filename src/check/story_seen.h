/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a story tells: a failing sequence, the operations that show its consequences, and what
 * each did under each strategy. story_seen.c finds out, story_text.c writes it down, story.c has
 * it run.
 *
 * Locks: none; see story.h.
 */
#ifndef SP_STORY_SEEN_H
#define SP_STORY_SEEN_H

#include "story.h"

#define EXPECTS_PER_LINE 3
#define MAX_STORY_LINES	 (MAX_STEPS + MAX_HOLDS + 8)

/* An operation, and what is expected behind it. */
struct story_line {
	struct step step;
	bool walk; /* of the failure's page, instead of the step */
	bool skipped[SP_NR_STRATEGIES];
	/* "errno EBUSY", "swapped a:x[0]"; "": nothing. */
	char expects[EXPECTS_PER_LINE][SP_NR_STRATEGIES][40];
};

/* What became of the page under one strategy, in a word or two. */
struct story_outcome {
	char walk[24], migrate[16], swapout[16], read[16];
	bool misses;	     /* the walk */
	uint64_t nr_orphans; /* migration entries left behind */
	struct verdict verdict;
	/* What `samepage run` says: */
	bool broken;
	char missed[48]; /* "swapout misses b:x[1]": the first */
};

struct story {
	const struct sequence *sequence;
	const struct story_origin *origin;
	struct failure failure;
	struct sp_page_info info; /* of the failure's page, after the sequence */
	uint64_t address;
	unsigned int nr_lines;
	unsigned int nr_steps; /* lines that are the sequence's */
	bool missed_before; /* the last step: the cause is new, the miss is not */
	bool linux_misses;
	char linux_missed[48];
	struct story_outcome outcomes[SP_NR_STRATEGIES];
	struct story_line lines[MAX_STORY_LINES];
};

/* Skipped under some strategies, and not under others. */
static inline bool line_is_uneven(const struct story_line *line)
{
	for (unsigned int i = 1; i < SP_NR_STRATEGIES; i++)
		if (line->skipped[i] != line->skipped[0])
			return true;
	return false;
}

static inline bool step_migrates(enum step_kind kind)
{
	return kind == STEP_MIGRATE || kind == STEP_COMPACT;
}

/*
 * Runs the sequence and what follows on trials under every strategy. 0; -ENOMEM; -EINVAL: it does
 * not fail for that cause; -EPROTO: it means something else under another strategy, so that no
 * file can be written that runs under both; lines are still one for each step then.
 */
int story_see(struct trial *t, const struct sequence *s, const struct cause *cause,
	      const struct story_origin *origin, struct story *story) SP_CHECK;

/* The scenario, to free(), or NULL out of memory. `broken` lines are those that outcomes say. */
char *story_text(const struct story *story) SP_CHECK;

#endif
