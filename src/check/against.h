/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why a given scenario fails, in the terms of a search: the causes (cause.h) that it shows under
 * a strategy, so that a search can say how many of its findings are that one.
 *
 * The scenario runs as it would in `samepage run`, on a backend that passes everything on to the
 * engine and looks at the machine after every operation: entries that a walk misses, migration
 * entries that are left behind. So it needs neither a `walk` nor an expectation. What a cause
 * wants to know of a page's past is kept beside the machine, as a trial keeps it (trial.h).
 *
 * A machine that is much larger than a search's is not looked at after every operation; what its
 * own walks and the file's miss is noticed all the same.
 *
 * Locks: none; one thread.
 *
 *	struct cause list[32];
 *	unsigned int nr = ARRAY_SIZE(list);
 *
 *	err = against_causes(scenario, SP_STRATEGY_INDEX, list, &nr);
 *	for (i = 0; !err && i < nr; i++)
 *		if (cause_equal(&list[i], &finding->cause))
 */
#ifndef SP_AGAINST_H
#define SP_AGAINST_H

#include "oracle.h"
#include "scenario.h"

/*
 * *nr: room in the list, then how many there are, each once, in order of appearance; what has no
 * room is left out. 0; -ENOMEM; -EINVAL: the scenario could not be run to its end.
 */
int against_causes(const struct scenario *scenario, enum sp_strategy strategy, struct cause *list,
		   unsigned int *nr) SP_CHECK;

#endif
