/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The search for a shorter sequence that fails alike; see shrink.h. What is plainer, and what to
 * try, is plain.h's.
 *
 * Everything is a loop over candidates in a fixed order, each taken if it costs less and still
 * fails for the cause; so the result is a function of the sequence. Rounds go on until one
 * changes nothing.
 */
#include "shrink.h"

#include <errno.h>

#include "plain.h"

/* Pairs are tried once what is left is this short: then it is a thousand runs at most. */
#define MAX_STEPS_FOR_PAIRS 48

struct shrinking {
	struct trial *t;
	enum sp_strategy strategy;
	shrink_fails_fn fails;
	void *fails_arg;
	bool (*stop)(void *arg);
	void *arg;
	uint64_t nr_tries, nr_taken;
	struct sequence *best;
	struct cost cost;
	unsigned int nr_errnos; /* operations of *best that give an error */
	int err;		/* ends it all */
};

/* Judges that see the cause; the others only cost time. */
static unsigned int oracles_of(const struct cause *cause)
{
	switch ((enum failure_kind)cause->kind) {
	case FAILURE_MISS:
		return ORACLE_WALKS;
	case FAILURE_CONTENT:
		return ORACLE_CONTENTS;
	case FAILURE_RECOUNT:
		return ORACLE_WALKS | ORACLE_RECOUNT;
	default:
		return 0;
	}
}

/* Steps that give an error: a reader stumbles over each. Not a cost, since only a run can tell. */
static int count_errnos(struct shrinking *sh, const struct sequence *s, unsigned int *ret)
{
	int err = trial_start(sh->t, &s->shape, sh->strategy);

	*ret = 0;
	for (unsigned int i = 0; i < s->nr && !err; i++) {
		int64_t result;

		*ret += trial_step(sh->t, &s->steps[i], &result) == TRIAL_ERRNO;
	}
	return err;
}

/* Takes the candidate over if it is plainer and fails for the same cause. */
static bool attempt(struct shrinking *sh, struct sequence *candidate)
{
	unsigned int nr_errnos, last;
	struct cost cost;
	int fails;

	if (sh->err)
		return false;
	sequence_normalize(candidate);
	cost = sequence_cost(candidate);
	/* One that is no plainer, of the same size, can only be better by its errors. */
	if (!cost_less(&cost, &sh->cost) && (cost.size != sh->cost.size || !sh->nr_errnos))
		return false;
	if (sh->stop && sh->stop(sh->arg)) {
		sh->err = -EINTR;
		return false;
	}
	sh->nr_tries++;
	fails = sh->fails(sh->fails_arg, candidate, &last);
	if (fails <= 0) {
		sh->err = fails;
		return false;
	}
	candidate->nr = (uint16_t)(last + 1);
	sh->err = count_errnos(sh, candidate, &nr_errnos);
	cost = sequence_cost(candidate);
	if (sh->err || (cost.size == sh->cost.size &&
			(nr_errnos != sh->nr_errnos ? nr_errnos > sh->nr_errnos
						    : !cost_less(&cost, &sh->cost))))
		return false;
	*sh->best = *candidate;
	sh->cost = cost;
	sh->nr_errnos = nr_errnos;
	sh->nr_taken++;
	return true;
}

/* ---- Fewer steps -------------------------------------------------------------------- */

static bool without(struct shrinking *sh, unsigned int at, unsigned int nr)
{
	struct sequence candidate = *sh->best;

	sequence_remove(&candidate, at, nr);
	return attempt(sh, &candidate);
}

/* Halves, quarters ... single steps, the last ones first. */
static void drop_chunks(struct shrinking *sh)
{
	for (unsigned int size = MAX(sh->best->nr / 2u, 1u); size; size /= 2)
		for (unsigned int end = sh->best->nr; end >= size && !sh->err;) {
			without(sh, end - size, size);
			end = MIN(end - size, (unsigned int)sh->best->nr);
		}
}

/* A process with all that it does: no part of it can go alone. */
static void drop_processes(struct shrinking *sh)
{
	for (unsigned int p = 0; p < MAX_PROCESSES; p++) {
		struct sequence candidate = *sh->best;

		for (unsigned int i = candidate.nr; i--;) {
			const struct step *step = &candidate.steps[i];

			if ((step_has_process(step->kind) && step->process == p) ||
			    (step->kind == STEP_FORK && step->to == p))
				sequence_remove(&candidate, i, 1);
		}
		attempt(sh, &candidate);
	}
}

/* Without steps i and j of it, which may be one. */
static bool without_both(struct shrinking *sh, const struct sequence *s, unsigned int i,
			 unsigned int j)
{
	struct sequence candidate = *s;

	sequence_remove(&candidate, j, 1);
	if (i != j)
		sequence_remove(&candidate, i, 1);
	return attempt(sh, &candidate);
}

/* A hold and its drop, a fork and an exit, a move there and back. */
static void drop_pairs(struct shrinking *sh)
{
	if (sh->best->nr > MAX_STEPS_FOR_PAIRS)
		return;
	for (unsigned int i = 0; i < sh->best->nr; i++)
		for (unsigned int j = i + 1; j < sh->best->nr && !sh->err; j++)
			without_both(sh, sh->best, i, j);
}

/* What a fork, or a write to another process, was good for may be had by one more page. */
static void drop_for_page(struct shrinking *sh)
{
	struct sequence wide;

	if (sh->best->nr > MAX_STEPS_FOR_PAIRS || sh->best->shape.nr_pages == MAX_PAGES)
		return;
	sequence_with_page(sh->best, &wide);
	for (unsigned int i = 0; i < wide.nr; i++)
		for (unsigned int j = i; j < wide.nr && !sh->err; j++)
			if (without_both(sh, &wide, i, j))
				return;
}

static void fold_processes(struct shrinking *sh)
{
	for (unsigned int at = 1; at < sh->best->nr; at++)
		for (unsigned int into = 0; into < MAX_PROCESSES; into++)
			for (unsigned int shift = 0; shift < MAX_PAGES && !sh->err; shift++) {
				const struct step *start = &sh->best->steps[at];
				struct sequence candidate;

				if (at >= sh->best->nr ||
				    (start->kind != STEP_PROCESS && start->kind != STEP_FORK))
					break;
				if (sequence_fold_process(sh->best, at, into, shift, &candidate))
					attempt(sh, &candidate);
			}
}

static bool join(struct shrinking *sh, unsigned int kept, unsigned int gone, struct step step)
{
	struct sequence candidate = *sh->best;

	candidate.steps[kept] = step;
	sequence_remove(&candidate, gone, 1);
	return attempt(sh, &candidate);
}

static void join_steps(struct shrinking *sh)
{
	for (unsigned int i = 0; i < sh->best->nr; i++)
		for (unsigned int j = i + 1; j < sh->best->nr && !sh->err;) {
			struct step *a = &sh->best->steps[i], *b = &sh->best->steps[j];
			struct step first, second;

			/* Of two fills, either may give the value. */
			if (step_join(a, b, &first) && step_join(b, a, &second) &&
			    (join(sh, i, j, first) || join(sh, j, i, first) ||
			     join(sh, i, j, second) || join(sh, j, i, second)))
				continue;
			j++;
		}
}

/* ---- Plainer ones ------------------------------------------------------------------------ */

static void plainer_steps(struct shrinking *sh)
{
	for (unsigned int i = sh->best->nr; i--;) {
		struct step list[MAX_PLAINER];
		unsigned int nr;
		bool changed = true;

		while (changed && i < sh->best->nr) {
			changed = false;
			nr = step_plainer(&sh->best->steps[i], &sh->best->shape, list);
			for (unsigned int k = 0; k < nr && !changed && !sh->err; k++) {
				struct sequence candidate = *sh->best;

				candidate.steps[i] = list[k];
				changed = attempt(sh, &candidate);
			}
		}
	}
}

/* A process that merges all it maps, and one that merges what it has mapped by then. */
static void plainer_merge_any(struct shrinking *sh)
{
	for (unsigned int i = 0; i < sh->best->nr; i++)
		for (unsigned int to = i + 1; to < sh->best->nr && !sh->err; to++) {
			struct sequence candidate = *sh->best;
			struct step step = candidate.steps[i];

			if (step.kind != STEP_MERGE_ANY || !step.arg)
				break;
			step.kind = STEP_MADVISE;
			step.arg = SP_MADV_MERGEABLE;
			step.first = 0;
			step.nr = candidate.shape.nr_pages;
			for (unsigned int k = i; k < to; k++)
				candidate.steps[k] = candidate.steps[k + 1];
			candidate.steps[to] = step;
			attempt(sh, &candidate);
		}
}

/* Every page of one value gets another: two at a time, since equal ones must stay equal. */
static void plainer_values(struct shrinking *sh)
{
	for (unsigned int i = 0; i < sh->best->nr; i++) {
		for (unsigned int j = 0; j < NR_COMMON_BYTES && i < sh->best->nr; j++) {
			struct sequence candidate = *sh->best;
			uint8_t old = candidate.steps[i].arg;

			if (candidate.steps[i].kind != STEP_FILL)
				break;
			for (unsigned int k = 0; k < candidate.nr; k++) {
				struct step *step = &candidate.steps[k];

				if (step->kind != STEP_FILL)
					continue;
				if (step->arg == old)
					step->arg = common_bytes[j];
				else if (step->arg == common_bytes[j])
					step->arg = old;
			}
			attempt(sh, &candidate);
		}
	}
}

static void smaller_machine(struct shrinking *sh)
{
	struct sequence candidate = *sh->best;

	candidate.shape.nr_nodes = 1;
	attempt(sh, &candidate);
	candidate = *sh->best;
	candidate.shape.nr_frames = 0;
	attempt(sh, &candidate);
	candidate = *sh->best;
	candidate.shape.nr_swap_slots = 0;
	attempt(sh, &candidate);
	candidate = *sh->best;
	candidate.shape.nr_maps = 0;
	attempt(sh, &candidate);
	for (unsigned int page = sh->best->shape.nr_pages; page--;) {
		if (sh->best->shape.nr_pages == 1 || page >= sh->best->shape.nr_pages)
			continue;
		sequence_without_page(sh->best, page, &candidate);
		attempt(sh, &candidate);
	}
}

static void better_order(struct shrinking *sh)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (unsigned int i = 1; i < sh->best->nr && !sh->err; i++) {
			struct sequence candidate = *sh->best;

			candidate.steps[i] = sh->best->steps[i - 1];
			candidate.steps[i - 1] = sh->best->steps[i];
			changed |= attempt(sh, &candidate);
		}
	}
}

static int shrink_all(struct shrinking *sh)
{
	struct sequence whole = *sh->best;
	bool changed = true;

	if (!attempt(sh, &whole) && !sh->err)
		sh->err = -EINVAL;
	while (changed && !sh->err) {
		uint64_t nr_taken = sh->nr_taken;

		drop_chunks(sh);
		drop_processes(sh);
		fold_processes(sh);
		drop_pairs(sh);
		drop_for_page(sh);
		join_steps(sh);
		smaller_machine(sh);
		plainer_steps(sh);
		plainer_merge_any(sh);
		plainer_values(sh);
		better_order(sh);
		changed = sh->nr_taken != nr_taken;
	}
	return sh->err;
}

/* ---- For a cause ---------------------------------------------------------------------- */

struct by_cause {
	struct trial *t;
	enum sp_strategy strategy;
	const struct cause *cause;
	unsigned int oracles;
};

static int fails_for_cause(void *arg, struct sequence *candidate, unsigned int *last)
{
	const struct by_cause *by = arg;
	const struct failure *failure;
	struct verdict v;
	int err = oracle_run(by->t, candidate, by->strategy, by->oracles, &v, NULL);

	if (err)
		return err;
	failure = verdict_find(&v, by->cause);
	if (failure)
		*last = failure->step;
	return failure != NULL;
}

int shrink(struct trial *t, struct sequence *s, enum sp_strategy strategy,
	   const struct cause *cause, bool (*stop)(void *arg), void *arg, uint64_t *nr_tries)
{
	struct by_cause by = {t, strategy, cause, oracles_of(cause)};
	struct shrinking sh = {
		.t = t,
		.strategy = strategy,
		.fails = fails_for_cause,
		.fails_arg = &by,
		.stop = stop,
		.arg = arg,
		.best = s,
		.cost = {UINT64_MAX, UINT64_MAX},
	};
	int err = shrink_all(&sh);

	if (nr_tries)
		*nr_tries = sh.nr_tries;
	return err;
}

int shrink_by(struct trial *t, struct sequence *s, shrink_fails_fn fails, void *fails_arg,
	      bool (*stop)(void *arg), void *arg)
{
	struct shrinking sh = {
		.t = t,
		.strategy = SP_STRATEGY_FULL,
		.fails = fails,
		.fails_arg = fails_arg,
		.stop = stop,
		.arg = arg,
		.best = s,
		.cost = {UINT64_MAX, UINT64_MAX},
	};

	return shrink_all(&sh);
}
