/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A failing sequence as a scenario file that tells what happens: the steps as operations,
 * comments that say which page, which VMA, its pgoff and the offset that was asked for, what each
 * strategy makes of it, and the consequences as they were tried: the page migrated, swapped out,
 * read.
 *
 * Everything it expects has been seen: each expectation is what a trial did under that strategy.
 * The text is then parsed and run as `samepage run` would; a story that does not hold is an error
 * of ours and is reported as such, never printed as a finding.
 *
 *	struct story_origin origin = {.strategy = SP_STRATEGY_INDEX, .is_random = true, ...};
 *	struct failure failure = *verdict_find(&v, &cause);
 *
 *	err = story_write(t, &sequence, &failure, &origin, &text);
 *	fputs(text, err ? stderr : stdout);
 *	free(text);
 *
 * Locks: none. One thread uses the trial; others may tell other stories meanwhile.
 */
#ifndef SP_STORY_H
#define SP_STORY_H

#include "oracle.h"

struct story_origin {
	enum sp_strategy strategy;
	bool is_random;		      /* else it is from an exhaustive search */
	uint64_t seed, sequence;      /* when random */
	unsigned int nr_steps_before; /* of shrinking */
	unsigned int depth;	      /* that was asked for; 0: the usual one */
};

/*
 * 0 and *ret, a string to free(). -ENOMEM (*ret is NULL); -EINVAL when the sequence does not fail
 * for that cause (NULL too); -EPROTO when the scenario does not show what the trial did (why: in
 * *ret, to free too).
 *
 * Steps that mean something under some strategies only, as the drop of a hold that failed under
 * others, cannot be told. A sequence that was shrunk to the end hardly ever has one; *s loses those
 * that it fails without, and *failure is then that of what is left.
 */
int story_write(struct trial *t, struct sequence *s, struct failure *failure,
		const struct story_origin *origin, char **ret) SP_CHECK;

#endif
