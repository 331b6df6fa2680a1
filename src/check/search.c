/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The random search: workers that make and run sequences until the time, the number, or their caller says
 * stop; see search.h.
 *
 * Numbers are handed out in chunks, in order, and a chunk that was taken is finished. So what has been run
 * is always all sequences below some number, and a search that ended by time or by ^C can be repeated with that
 * number.
 *
 * A worker writes to what others read once a chunk, on a cache line of its own, and reads the clock as
 * often. It takes a lock only for a cause that is new to it.
 *
 * A search for the first failure ends when no sequence below the lowest one that failed is left: a worker
 * that has failed goes no further, and one that is beyond the lowest failure gives up. What others ran
 * beyond it is taken back from the count, which a note of each chunk's steps allows.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "crew.h"
#include "exhaustive.h"
#include "tell.h"

/* Sequences taken at once: a few milliseconds of work. */
#define CHUNK_MAX 64

struct chunk_note {
	uint64_t first;
	uint64_t nr_steps;
};

struct worker {
	/* Written by the worker once a chunk, read by anybody. */
	_Alignas(128) _Atomic uint64_t nr_sequences;
	_Atomic uint64_t nr_steps;

	/* The worker only, until it has ended. */
	struct trial *trial;
	struct found_table found;
	struct chunk_note *notes; /* only when searching for the first */
	size_t nr_notes, nr_notes_allocated;
	int err;
	struct sequence sequence;
	struct verdict verdict;
};

struct search {
	/* Immutable while workers run. */
	const struct search_options *o;
	struct search_report *report; /* The caller's thread only. */
	struct worker *workers;
	uint64_t begin_ns;
	unsigned int chunk;

	_Alignas(128) _Atomic uint64_t next;
	_Alignas(128) _Atomic uint64_t lowest_failed; /* FOUND_NONE: none yet */
	atomic_bool stop;

	pthread_mutex_t lock;
	struct found_table seen; /* Protected by lock: causes that any worker has */
};

void search_options_init(struct search_options *o)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);

	*o = (struct search_options){
		.strategy = SP_STRATEGY_DIRECT,
		.time_ns = UINT64_C(10000000000),
		.depth = SEARCH_DEPTH,
		.nr_jobs = nr_cpus < 1 ? 1 : (unsigned int)nr_cpus,
		.oracles = ORACLE_ALL,
		.max_bytes = UINT64_C(1) << 30,
	};
}

static void lower_failed(struct search *search, uint64_t number)
{
	uint64_t old = atomic_load(&search->lowest_failed);

	while (number < old && !atomic_compare_exchange_weak(&search->lowest_failed, &old, number))
		;
}

/* A cause that this worker has not seen: others may have. */
static int note_cause(struct search *search, struct worker *w, const struct cause *cause)
{
	bool new;
	int err;

	found_at(&w->found, cause, clock_measure_ns() - search->begin_ns);
	pthread_mutex_lock(&search->lock);
	err = found_add(&search->seen, cause, 0, &new);
	pthread_mutex_unlock(&search->lock);
	return err;
}

static int note_failures(struct search *search, struct worker *w, uint64_t number)
{
	for (unsigned int i = 0; i < w->verdict.nr; i++) {
		const struct cause *cause = &w->verdict.failures[i].cause;
		bool new;
		int err = found_add(&w->found, cause, number, &new);

		if (!err && new)
			err = note_cause(search, w, cause);
		if (err)
			return err;
	}
	if (search->o->first && w->verdict.nr)
		lower_failed(search, number);
	return 0;
}

static int note_chunk(struct worker *w, uint64_t first, uint64_t nr_steps)
{
	if (w->nr_notes == w->nr_notes_allocated) {
		size_t nr = w->nr_notes_allocated ? 2 * w->nr_notes_allocated : 256;
		struct chunk_note *notes = realloc(w->notes, nr * sizeof(*notes));

		if (!notes)
			return -ENOMEM;
		w->notes = notes;
		w->nr_notes_allocated = nr;
	}
	w->notes[w->nr_notes++] = (struct chunk_note){first, nr_steps};
	return 0;
}

/* Sequences [first, end). */
static int run_chunk(struct search *search, struct worker *w, uint64_t first, uint64_t end)
{
	uint64_t nr_steps = 0, number = first;
	int err = 0;

	for (; number < end && !err; number++) {
		if (atomic_load_explicit(&search->lowest_failed, memory_order_relaxed) < number)
			break;
		err = sequence_make(w->trial, search->o, number, &w->sequence, &w->verdict,
				    &nr_steps);
		if (!err && w->verdict.nr)
			err = note_failures(search, w, number);
	}
	atomic_fetch_add_explicit(&w->nr_sequences, number - first, memory_order_relaxed);
	atomic_fetch_add_explicit(&w->nr_steps, nr_steps, memory_order_relaxed);
	if (!err && search->o->first)
		err = note_chunk(w, first, nr_steps);
	return err;
}

static bool is_over(const struct search *search)
{
	const struct search_options *o = search->o;

	if (atomic_load_explicit(&search->stop, memory_order_relaxed))
		return true;
	return o->time_ns && clock_measure_ns() - search->begin_ns >= o->time_ns;
}

static void work(void *arg, unsigned int index)
{
	struct search *search = arg;
	const struct search_options *o = search->o;
	struct worker *w = &search->workers[index];

	w->err = trial_create(&w->trial);
	while (!w->err && !is_over(search)) {
		uint64_t first = atomic_fetch_add(&search->next, search->chunk);
		uint64_t end = first + search->chunk;

		if (o->nr_sequences)
			end = MIN(end, o->nr_sequences);
		if (first >= end || first > atomic_load(&search->lowest_failed))
			break;
		w->err = run_chunk(search, w, first, end);
	}
	if (w->err)
		atomic_store(&search->stop, true);
	if (w->trial)
		trial_destroy(w->trial);
}

static double fraction_done(const struct search_options *o, const struct search_progress *p)
{
	double by_time = -1, by_number = -1;

	if (o->time_ns)
		by_time = (double)p->elapsed_ns / (double)o->time_ns;
	if (o->nr_sequences)
		by_number = (double)p->nr_sequences / (double)o->nr_sequences;
	return MIN(MAX(by_time, by_number), 1.0);
}

static void tick(void *arg)
{
	struct search *search = arg;
	const struct search_options *o = search->o;
	struct search_progress p = {.phase = "searching"};

	if (!o->progress)
		return;
	for (unsigned int i = 0; i < o->nr_jobs; i++) {
		p.nr_sequences += atomic_load(&search->workers[i].nr_sequences);
		p.nr_steps += atomic_load(&search->workers[i].nr_steps);
	}
	p.elapsed_ns = clock_measure_ns() - search->begin_ns;
	p.fraction = fraction_done(o, &p);
	pthread_mutex_lock(&search->lock);
	p.nr_causes = search->seen.nr;
	pthread_mutex_unlock(&search->lock);
	if (o->progress(o->progress_arg, &p)) {
		search->report->interrupted = true;
		atomic_store(&search->stop, true);
	}
}

static int add_up(struct search *search, struct found_table *sum)
{
	struct search_report *r = search->report;
	uint64_t lowest = atomic_load(&search->lowest_failed);

	for (unsigned int i = 0; i < search->o->nr_jobs; i++) {
		const struct worker *w = &search->workers[i];
		int err = w->err ? w->err : found_merge(sum, &w->found);

		if (err)
			return err;
		r->nr_sequences += atomic_load(&w->nr_sequences);
		r->nr_steps += atomic_load(&w->nr_steps);
	}
	if (lowest != FOUND_NONE) {
		found_keep_only(sum, lowest);
		r->nr_sequences = lowest + 1;
		for (unsigned int i = 0; i < search->o->nr_jobs; i++) {
			const struct worker *w = &search->workers[i];

			for (size_t n = 0; n < w->nr_notes; n++)
				if (w->notes[n].first > lowest)
					r->nr_steps -= w->notes[n].nr_steps;
		}
	}
	found_sort(sum);
	return 0;
}

static int search_random(const struct search_options *o, struct search_report *report)
{
	struct search search = {
		.o = o,
		.report = report,
		.begin_ns = clock_measure_ns(),
		.chunk = CHUNK_MAX,
		.lowest_failed = FOUND_NONE,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	struct found_table sum = {0};
	int err;

	search.workers = aligned_alloc(_Alignof(struct worker), o->nr_jobs * sizeof(struct worker));
	if (!search.workers)
		return -ENOMEM;
	memset(search.workers, 0, o->nr_jobs * sizeof(struct worker));
	/* So that the last chunks end together. */
	if (o->nr_sequences)
		search.chunk = (unsigned int)MAX(
			MIN(o->nr_sequences / (8 * o->nr_jobs), (uint64_t)CHUNK_MAX), UINT64_C(1));
	crew_run(o->nr_jobs, work, tick, &search);
	report->elapsed_ns = clock_measure_ns() - search.begin_ns;
	err = add_up(&search, &sum);
	if (!err)
		err = tell_findings(report, &sum);
	for (unsigned int i = 0; i < o->nr_jobs; i++) {
		found_destroy(&search.workers[i].found);
		free(search.workers[i].notes);
	}
	found_destroy(&search.seen);
	found_destroy(&sum);
	free(search.workers);
	pthread_mutex_destroy(&search.lock);
	return err;
}

int search_run(const struct search_options *o, struct search_report **ret)
{
	struct search_report *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	r->options = *o;
	if (o->exhaustive) {
		err = exhaustive_run(o, r);
		if (!err)
			err = tell_findings(r, NULL);
	} else {
		err = search_random(o, r);
	}
	if (err && err != -EFBIG) {
		search_report_destroy(r);
		return err;
	}
	*ret = r;
	return err;
}

void search_report_destroy(struct search_report *r)
{
	if (!r)
		return;
	for (unsigned int i = 0; i < r->nr_findings; i++) {
		free(r->findings[i].scenario);
		free(r->findings[i].error);
	}
	free(r->findings);
	free(r);
}
