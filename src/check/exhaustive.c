/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Breadth-first search over states; see exhaustive.h.
 *
 * A state of level n is kept as its key: which state of level n - 1 it was reached from, and by which
 * step. States of a level are numbered by key, in ascending order, so numbers do not depend on who found
 * what first, and a state's sequence is found by following keys down.
 *
 *	key = level << 56 | number of the state before << 8 | step
 *
 * A worker takes states of the current level one by one, in order, and goes to each by the shortest way:
 * from the deepest state on the path to the one before that both have in common, of which it has a
 * snapshot (region.h). From there it tries each step. Where machines have no region, it starts anew for
 * each step, which is slow and does the same.
 *
 * The set of visited states is shared (visited.h). Workers stop when it might run full before
 * all have finished what they do; then it grows, and they go on.
 *
 * Failures are kept as the lowest key that shows them, for each cause. One that sp_validate() finds is
 * asked for once a state, by whoever comes first; its key is looked up when the level is done and is the
 * lowest by then.
 *
 * States of the last level are judged and forgotten. How many states the others will have is extrapolated
 * from the growth of the first ones.
 */
#include "exhaustive.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "alphabet.h"
#include "clock.h"
#include "crew.h"
#include "state.h"
#include "visited.h"

#define KEY_LEVEL_SHIFT 56
#define KEY_STEP_BITS	8
/* Two passes a step: no machine gets old enough to make states differ by their age (state.h). */
#define MAX_DEPTH	40
#define VISITED_MIN	(UINT64_C(1) << 16)
/* Growth is known after this level. */
#define ESTIMATE_LEVEL	3
#define NOWHERE		UINT64_MAX
/* In place of the state before: a start, whose number is in place of the step. */
#define NO_STATE	((UINT64_C(1) << (KEY_LEVEL_SHIFT - KEY_STEP_BITS)) - 1)

struct level {
	uint64_t *keys;
	uint64_t nr;
};

/* A failure that this worker has seen first by that key; place: whose key is known later, or NOWHERE. */
struct seen {
	struct failure failure;
	uint64_t key, place, nr;
	uint64_t found_ns;
};

struct snapshot {
	struct trial trial;
	void *machine;
	size_t max_bytes;
	uint64_t number; /* of the state in its level; NOWHERE: none */
};

struct worker {
	_Alignas(128) _Atomic uint64_t nr_transitions;
	_Atomic uint64_t nr_steps;

	struct trial *trial;
	struct state_hasher *hasher;
	struct snapshot *path; /* by level */
	struct seen *seen;
	unsigned int nr_seen, max_seen;
	struct sequence sequence;
	struct verdict verdict;
	int err;
};

struct exhaustive {
	const struct search_options *o;
	struct search_report *report;
	uint64_t begin_ns;
	int start; /* -1: all */

	struct step steps[ALPHABET_MAX];
	unsigned int nr_steps;
	struct level *levels; /* those that are done, and the one that is worked on */
	unsigned int depth;   /* that one */
	struct visited *visited;
	struct worker *workers;

	_Alignas(128) _Atomic uint64_t next;
	atomic_bool stop, full;
};

/* ---- Sequences ---- */

static uint64_t key_of(unsigned int level, uint64_t before, unsigned int step)
{
	return (uint64_t)level << KEY_LEVEL_SHIFT | before << KEY_STEP_BITS | step;
}

static unsigned int key_level(uint64_t key)
{
	return (unsigned int)(key >> KEY_LEVEL_SHIFT);
}

static uint64_t key_before(uint64_t key)
{
	return (key & ((UINT64_C(1) << KEY_LEVEL_SHIFT) - 1)) >> KEY_STEP_BITS;
}

static unsigned int key_step(uint64_t key)
{
	return (unsigned int)(key & ((1u << KEY_STEP_BITS) - 1));
}

static bool key_is_start(uint64_t key)
{
	return key_before(key) == NO_STATE;
}

/* The whole sequence that a key stands for. */
static void sequence_of(const struct exhaustive *x, uint64_t key, struct sequence *s)
{
	unsigned int steps[MAX_DEPTH], nr = 0;

	while (!key_is_start(key)) {
		steps[nr++] = key_step(key);
		key = x->levels[key_level(key) - 1].keys[key_before(key)];
	}
	alphabet_start(key_step(key), s);
	while (nr--)
		sequence_add(s, x->steps[steps[nr]]);
}

/* ---- Failures ---- */

static struct seen *find_seen(struct worker *w, const struct cause *cause, bool placed)
{
	for (unsigned int i = 0; i < w->nr_seen; i++)
		if (cause_equal(&w->seen[i].failure.cause, cause) &&
		    (w->seen[i].place != NOWHERE) == placed)
			return &w->seen[i];
	return NULL;
}

static int note_failure(struct worker *w, const struct failure *failure, uint64_t key,
			uint64_t place, uint64_t nr, uint64_t found_ns)
{
	struct seen *seen = NULL;

	/* All that wait for their key are kept: any may turn out to be the lowest. */
	if (place == NOWHERE)
		seen = find_seen(w, &failure->cause, false);
	if (!seen) {
		if (w->nr_seen == w->max_seen) {
			unsigned int max = MAX(2 * w->max_seen, 16u);

			seen = realloc(w->seen, max * sizeof(*seen));
			if (!seen)
				return -ENOMEM;
			w->seen = seen;
			w->max_seen = max;
		}
		seen = &w->seen[w->nr_seen++];
		*seen = (struct seen){*failure, key, place, 0, found_ns};
	}
	seen->nr += nr;
	seen->found_ns = MIN(seen->found_ns, found_ns);
	if (key < seen->key) {
		seen->failure = *failure;
		seen->key = key;
	}
	return 0;
}

static int note_verdict(const struct exhaustive *x, struct worker *w, uint64_t key, uint64_t place)
{
	for (unsigned int i = 0; i < w->verdict.nr; i++) {
		const struct failure *failure = &w->verdict.failures[i];
		int err = note_failure(w, failure, key, place, 1,
				       find_seen(w, &failure->cause, false)
					       ? UINT64_MAX
					       : clock_measure_ns() - x->begin_ns);

		if (err)
			return err;
	}
	return 0;
}

/* The level is done: what waited for its key has it. */
static int settle_keys(struct exhaustive *x)
{
	int err = 0;

	for (unsigned int i = 0; i < x->o->nr_jobs; i++) {
		struct worker *w = &x->workers[i];
		unsigned int nr = w->nr_seen, left = 0;
		struct seen *waiting = calloc(MAX(nr, 1u), sizeof(*waiting));

		if (!waiting)
			return -ENOMEM;
		for (unsigned int k = 0; k < nr; k++) {
			if (w->seen[k].place != NOWHERE)
				waiting[nr - 1 - (k - left)] = w->seen[k];
			else
				w->seen[left++] = w->seen[k];
		}
		w->nr_seen = left;
		for (unsigned int k = left; k < nr && !err; k++) {
			const struct seen *s = &waiting[k];

			err = note_failure(w, &s->failure, visited_key(x->visited, s->place), NOWHERE,
					   s->nr, s->found_ns);
		}
		free(waiting);
	}
	return err;
}

/* ---- Going to a state ---- */

static int snapshot_take(struct snapshot *s, const struct trial *t, uint64_t number)
{
	size_t bytes;

	s->number = NOWHERE;
	if (!t->region)
		return 0;
	bytes = region_save_bytes(t->region);
	if (bytes > s->max_bytes) {
		void *larger = realloc(s->machine, 2 * bytes);

		if (!larger)
			return -ENOMEM;
		s->machine = larger;
		s->max_bytes = 2 * bytes;
	}
	if (region_save(t->region, s->machine))
		return 0;
	s->trial = *t;
	s->number = number;
	return 0;
}

/* False when there is none of that state. */
static bool snapshot_return(const struct snapshot *s, struct trial *t, uint64_t number)
{
	if (s->number != number || region_restore(t->region, s->machine))
		return false;
	*t = s->trial;
	return true;
}

static int run_start(const struct exhaustive *x, struct worker *w, unsigned int start)
{
	struct sequence *s = &w->sequence;
	int err;

	alphabet_start(start, s);
	err = trial_start(w->trial, &s->shape, x->o->strategy);
	for (unsigned int i = 0; !err && i < s->nr; i++) {
		int64_t result;

		(void)trial_step(w->trial, &s->steps[i], &result);
		w->nr_steps++;
	}
	return err;
}

/* Takes the trial to state `number` of a level. */
static int go_to(const struct exhaustive *x, struct worker *w, unsigned int level, uint64_t number)
{
	uint64_t numbers[MAX_DEPTH + 1];
	unsigned int at = level;
	int err = 0;

	numbers[level] = number;
	while (!snapshot_return(&w->path[at], w->trial, numbers[at])) {
		uint64_t key = x->levels[at].keys[numbers[at]];

		if (key_is_start(key)) {
			err = run_start(x, w, key_step(key));
			if (!err)
				err = snapshot_take(&w->path[at], w->trial, numbers[at]);
			break;
		}
		numbers[--at] = key_before(key);
	}
	while (!err && at < level) {
		int64_t result;

		at++;
		(void)trial_step(w->trial, &x->steps[key_step(x->levels[at].keys[numbers[at]])],
				 &result);
		w->nr_steps++;
		err = snapshot_take(&w->path[at], w->trial, numbers[at]);
	}
	return err;
}

/* ---- Going on from it ---- */

/* Nobody goes on from there, so it does not matter whether somebody was there before. */
static bool is_last(const struct exhaustive *x, uint64_t key)
{
	return key_level(key) == x->o->depth && !key_is_start(key);
}

/*
 * The trial has made the transition that the key stands for. *same: it is in the state that it came from,
 * whose hash is `before`.
 */
static int judge(struct exhaustive *x, struct worker *w, uint64_t key, const struct step *step,
		 enum trial_outcome outcome, int64_t result, const struct state *before, bool *same)
{
	struct state state;
	uint64_t place;
	bool over, new;
	int err;

	oracle_reset(&w->verdict);
	over = oracle_check(w->trial, x->o->oracles & ~(unsigned int)ORACLE_RECOUNT, 0, step,
			    outcome, result, &w->verdict);
	err = note_verdict(x, w, key, NOWHERE);
	if (err || over || is_last(x, key))
		return err;
	err = state_hash(w->hasher, w->trial, &state);
	if (err)
		return err;
	*same = before && state.hash[0] == before->hash[0] && state.hash[1] == before->hash[1];
	place = visited_add(x->visited, state.hash, key, &new);
	if (!new || !(x->o->oracles & ORACLE_RECOUNT))
		return 0;
	oracle_reset(&w->verdict);
	(void)oracle_check(w->trial, ORACLE_RECOUNT, 0, step, TRIAL_DONE, 0, &w->verdict);
	return note_verdict(x, w, key, place);
}

static int expand(struct exhaustive *x, struct worker *w, uint64_t number)
{
	bool last = x->depth + 1 == x->o->depth, idle[ALPHABET_MAX], there = true;
	uint64_t nr_transitions = 0;
	struct state before;
	int err = go_to(x, w, x->depth, number);

	if (!err && !last)
		err = state_hash(w->hasher, w->trial, &before);
	for (unsigned int i = 0; i < x->nr_steps && !err; i++)
		idle[i] = alphabet_is_idle(w->trial, &x->steps[i]);
	for (unsigned int i = 0; i < x->nr_steps && !err; i++) {
		enum trial_outcome outcome;
		int64_t result;

		if (idle[i])
			continue;
		if (!there)
			err = go_to(x, w, x->depth, number);
		if (err)
			break;
		outcome = trial_step(w->trial, &x->steps[i], &result);
		there = false;
		nr_transitions++;
		err = judge(x, w, key_of(x->depth + 1, number, i), &x->steps[i], outcome, result,
			    last ? NULL : &before, &there);
	}
	w->nr_transitions += nr_transitions;
	w->nr_steps += nr_transitions;
	return err;
}

static void work(void *arg, unsigned int index)
{
	struct exhaustive *x = arg;
	struct worker *w = &x->workers[index];
	uint64_t room = (uint64_t)x->nr_steps * x->o->nr_jobs, number;

	while (!w->err && !atomic_load_explicit(&x->stop, memory_order_relaxed)) {
		if (visited_room(x->visited) < room) {
			atomic_store(&x->full, true);
			break;
		}
		number = atomic_fetch_add(&x->next, 1);
		if (number >= x->levels[x->depth].nr)
			break;
		w->err = expand(x, w, number);
	}
	if (w->err)
		atomic_store(&x->stop, true);
}

static void tick(void *arg)
{
	struct exhaustive *x = arg;
	const struct search_options *o = x->o;
	struct search_progress p = {
		.nr_states = visited_nr(x->visited),
		.depth = x->depth + 1,
		.elapsed_ns = clock_measure_ns() - x->begin_ns,
		.fraction = -1,
		.phase = "searching",
	};

	for (unsigned int i = 0; i < o->nr_jobs; i++) {
		p.nr_sequences += x->workers[i].nr_transitions;
		p.nr_steps += x->workers[i].nr_steps;
	}
	/* The last level is nearly all of the work. */
	if (p.depth == o->depth)
		p.fraction = MIN((double)x->next / (double)MAX(x->levels[x->depth].nr, UINT64_C(1)), 1.0);
	if (o->time_ns && p.elapsed_ns >= o->time_ns)
		atomic_store(&x->stop, true);
	if (o->progress && o->progress(o->progress_arg, &p)) {
		x->report->interrupted = true;
		atomic_store(&x->stop, true);
	}
}

/* ---- Levels ---- */

static uint64_t nr_bytes(const struct exhaustive *x)
{
	uint64_t bytes = visited_bytes(x->visited);

	for (unsigned int i = 0; i <= x->depth; i++)
		bytes += x->levels[i].nr * sizeof(uint64_t);
	return bytes;
}

/* States that will be gone on from, if every further level is larger than that before it as this one is. */
static uint64_t estimate(const struct exhaustive *x)
{
	const struct level *l = x->levels;
	double total = (double)visited_nr(x->visited), nr = (double)l[x->depth].nr, growth = 1;

	if (x->depth)
		growth = nr / (double)MAX(l[x->depth - 1].nr, UINT64_C(1));
	for (unsigned int i = x->depth + 1; i < x->o->depth && total < 1e18; i++) {
		nr *= growth;
		total += nr;
	}
	return (uint64_t)MIN(total, 1e18);
}

/* Makes the set of visited states large enough for the estimate and a fourth more, if it may be. */
static int prepare(struct exhaustive *x)
{
	uint64_t nr = estimate(x);

	while (visited_nr(x->visited) + visited_room(x->visited) < nr + nr / 4) {
		int err;

		if (nr_bytes(x) + visited_bytes(x->visited) + nr * sizeof(uint64_t) > x->o->max_bytes) {
			x->report->nr_states = nr;
			return -EFBIG;
		}
		err = visited_grow(x->visited);
		if (err)
			return err;
	}
	return 0;
}

static int make_room(struct exhaustive *x)
{
	if (nr_bytes(x) + visited_bytes(x->visited) > x->o->max_bytes) {
		x->report->nr_states = MAX(estimate(x), visited_nr(x->visited));
		return -EFBIG;
	}
	return visited_grow(x->visited);
}

static int first_error(const struct exhaustive *x)
{
	for (unsigned int i = 0; i < x->o->nr_jobs; i++)
		if (x->workers[i].err)
			return x->workers[i].err;
	return 0;
}

/* All transitions from the current level. */
static int run_level(struct exhaustive *x)
{
	int err;

	atomic_store(&x->next, 0);
	do {
		atomic_store(&x->full, false);
		if (visited_room(x->visited) < (uint64_t)x->nr_steps * x->o->nr_jobs) {
			err = settle_keys(x);
			if (!err)
				err = make_room(x);
			if (err)
				return err;
		}
		crew_run(x->o->nr_jobs, work, tick, x);
		err = first_error(x);
	} while (!err && x->full && !x->stop);
	return err;
}

static int collect(struct exhaustive *x, unsigned int level)
{
	struct level *l = &x->levels[level];

	l->nr = visited_collect(x->visited, key_of(level, 0, 0), NULL);
	l->keys = malloc(MAX(l->nr, UINT64_C(1)) * sizeof(*l->keys));
	if (!l->keys)
		return -ENOMEM;
	visited_collect(x->visited, key_of(level, 0, 0), l->keys);
	return 0;
}

/* The starts that count as states of this level. */
static int run_starts(struct exhaustive *x, unsigned int level)
{
	struct worker *w = &x->workers[0];
	int err = 0;

	for (unsigned int i = 0; alphabet_start_name(i) && !err; i++) {
		bool same;

		if (x->start < 0 ? alphabet_start_level(i) != level
				 : (unsigned int)x->start != i || level)
			continue;
		err = run_start(x, w, i);
		if (!err)
			err = judge(x, w, key_of(level, NO_STATE, i),
				    &w->sequence.steps[w->sequence.nr - 1], TRIAL_DONE, 0, NULL,
				    &same);
	}
	return err;
}

static bool any_failure(const struct exhaustive *x)
{
	for (unsigned int i = 0; i < x->o->nr_jobs; i++)
		if (x->workers[i].nr_seen)
			return true;
	return false;
}

static uint64_t nr_transitions(const struct exhaustive *x)
{
	uint64_t nr = 0;

	for (unsigned int i = 0; i < x->o->nr_jobs; i++)
		nr += x->workers[i].nr_transitions;
	return nr;
}

static int run_levels(struct exhaustive *x, struct exhaustive_level *levels)
{
	int err = run_starts(x, 0);

	if (!err)
		err = settle_keys(x);
	if (!err)
		err = collect(x, 0);
	if (!err && levels)
		levels[0] = (struct exhaustive_level){.nr_states = x->levels[0].nr};
	while (!err && x->depth < x->o->depth && !(x->o->first && any_failure(x))) {
		uint64_t begin_ns = clock_measure_ns(), transitions = nr_transitions(x);
		uint64_t states = visited_nr(x->visited);

		if (x->depth == ESTIMATE_LEVEL)
			err = prepare(x);
		if (!err)
			err = run_level(x);
		if (!err)
			err = run_starts(x, x->depth + 1);
		if (!err)
			err = settle_keys(x);
		if (err || x->stop)
			break;
		if (x->depth + 1 < x->o->depth)
			err = collect(x, x->depth + 1);
		x->depth++;
		if (levels)
			levels[x->depth] = (struct exhaustive_level){
				.nr_states = visited_nr(x->visited) - states,
				.nr_transitions = nr_transitions(x) - transitions,
				.elapsed_ns = clock_measure_ns() - begin_ns,
			};
	}
	return err;
}

/* ---- The report ---- */

static int merge_seen(struct exhaustive *x)
{
	struct worker *sum = &x->workers[0];

	for (unsigned int i = 1; i < x->o->nr_jobs; i++) {
		for (unsigned int k = 0; k < x->workers[i].nr_seen; k++) {
			const struct seen *s = &x->workers[i].seen[k];
			int err = note_failure(sum, &s->failure, s->key, NOWHERE, s->nr,
					       s->found_ns);

			if (err)
				return err;
		}
	}
	return 0;
}

static int compare_seen(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->nr != y->nr)
		return x->nr < y->nr ? 1 : -1;
	return (x->key > y->key) - (x->key < y->key);
}

static int report_findings(struct exhaustive *x)
{
	struct search_report *r = x->report;
	struct worker *w = &x->workers[0];
	int err = merge_seen(x);

	if (err || !w->nr_seen)
		return err;
	qsort(w->seen, w->nr_seen, sizeof(*w->seen), compare_seen);
	r->findings = calloc(w->nr_seen, sizeof(*r->findings));
	if (!r->findings)
		return -ENOMEM;
	r->nr_findings = w->nr_seen;
	for (unsigned int i = 0; i < w->nr_seen; i++) {
		const struct seen *s = &w->seen[i];
		struct finding *f = &r->findings[i];

		f->cause = s->failure.cause;
		f->nr_found = s->nr;
		f->sequence = s->key;
		f->found_ns = s->found_ns;
		f->failure = s->failure;
		sequence_of(x, s->key, &f->sequence_shrunk);
		f->nr_steps_before = f->sequence_shrunk.nr;
		f->failure.step = (uint16_t)(f->sequence_shrunk.nr - 1);
	}
	return 0;
}

static void report_counts(struct exhaustive *x)
{
	struct search_report *r = x->report;

	r->nr_states = visited_nr(x->visited);
	r->nr_transitions = r->nr_sequences = nr_transitions(x);
	r->nr_steps = 0;
	for (unsigned int i = 0; i < x->o->nr_jobs; i++)
		r->nr_steps += x->workers[i].nr_steps;
	r->elapsed_ns = clock_measure_ns() - x->begin_ns;
	r->complete = x->depth == x->o->depth && !x->stop;
}

static int workers_create(struct exhaustive *x)
{
	size_t bytes = x->o->nr_jobs * sizeof(*x->workers);
	int err = 0;

	x->workers = aligned_alloc(_Alignof(struct worker), bytes);
	if (!x->workers)
		return -ENOMEM;
	memset(x->workers, 0, bytes);
	for (unsigned int i = 0; i < x->o->nr_jobs && !err; i++) {
		struct worker *w = &x->workers[i];

		w->path = calloc(x->o->depth + 1, sizeof(*w->path));
		if (!w->path)
			return -ENOMEM;
		for (unsigned int k = 0; k <= x->o->depth; k++)
			w->path[k].number = NOWHERE;
		err = trial_create(&w->trial);
		if (!err)
			err = state_hasher_create(&w->hasher);
	}
	return err;
}

static void workers_destroy(struct exhaustive *x)
{
	for (unsigned int i = 0; x->workers && i < x->o->nr_jobs; i++) {
		struct worker *w = &x->workers[i];

		for (unsigned int k = 0; w->path && k <= x->o->depth; k++)
			free(w->path[k].machine);
		free(w->path);
		free(w->seen);
		if (w->hasher)
			state_hasher_destroy(w->hasher);
		trial_destroy(w->trial);
	}
	free(x->workers);
}

int exhaustive_run_levels(const struct search_options *o, int start, struct search_report *report,
			  struct exhaustive_level *levels)
{
	struct exhaustive x = {
		.o = o,
		.report = report,
		.begin_ns = clock_measure_ns(),
		.start = start,
	};
	int err;

	if (o->depth > MAX_DEPTH) {
		report->nr_states = UINT64_MAX;
		return -EFBIG;
	}
	x.nr_steps = alphabet_steps(x.steps);
	x.levels = calloc(o->depth + 1, sizeof(*x.levels));
	err = x.levels ? visited_create(VISITED_MIN, &x.visited) : -ENOMEM;
	if (!err)
		err = workers_create(&x);
	if (!err)
		err = run_levels(&x, levels);
	if (!err)
		err = report_findings(&x);
	if (!err)
		report_counts(&x);
	if (x.workers)
		workers_destroy(&x);
	visited_destroy(x.visited);
	for (unsigned int i = 0; x.levels && i <= o->depth; i++)
		free(x.levels[i].keys);
	free(x.levels);
	return err;
}

int exhaustive_run(const struct search_options *o, struct search_report *report)
{
	return exhaustive_run_levels(o, -1, report, NULL);
}
