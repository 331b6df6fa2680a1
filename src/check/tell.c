/* SPDX-License-Identifier: GPL-2.0-only */
/* From what a search found to what it reports; see tell.h. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "crew.h"
#include "shrink.h"
#include "story.h"
#include "tell.h"

/* After ^C, what is found is made as short as it gets in this time. */
#define HURRY_NS UINT64_C(1000000000)

struct task {
	unsigned int finding;
	uint64_t number; /* FOUND_NONE: the sequence is given */
	struct sequence sequence;
	unsigned int nr_steps_before;
	int err;
};

struct telling {
	struct search_report *report;
	struct task *tasks;
	unsigned int nr_tasks;
	uint64_t begin_ns, hurry_ns; /* The caller's thread only. */
	_Alignas(64) atomic_uint next;
	atomic_uint nr_done;
	atomic_bool stop;
};

int sequence_make(struct trial *t, const struct search_options *o, uint64_t number,
		  struct sequence *s, struct verdict *v, uint64_t *nr_steps)
{
	struct generator g;
	int err;

	generator_start(&g, o->seed, number);
	generator_shape(&g, &s->shape);
	s->nr = 0;
	oracle_reset(v);
	err = trial_start(t, &s->shape, o->strategy);
	if (err)
		return err;
	while (s->nr < o->depth) {
		struct step step = generator_next(&g, t);
		enum trial_outcome outcome;
		int64_t result = 0;

		sequence_add(s, step);
		outcome = trial_step(t, &step, &result);
		*nr_steps += outcome != TRIAL_SKIPPED;
		if (oracle_check(t, o->oracles, s->nr - 1u, &step, outcome, result, v))
			break;
	}
	return 0;
}

static bool must_stop(void *arg)
{
	struct telling *tell = arg;

	return atomic_load_explicit(&tell->stop, memory_order_relaxed);
}

/* 0 with the task's sequence shrunk; -ESTALE when it does not fail again as it did. */
static int do_task(struct telling *tell, struct task *task, struct trial *t)
{
	const struct search_options *o = &tell->report->options;
	const struct cause *cause = &tell->report->findings[task->finding].cause;
	struct sequence *s = &task->sequence;
	const struct failure *failure;
	struct verdict v;
	uint64_t nr = 0;
	int err;

	if (task->number == FOUND_NONE)
		err = oracle_run(t, s, o->strategy, o->oracles, &v, &nr);
	else
		err = sequence_make(t, o, task->number, s, &v, &nr);
	if (err)
		return err;
	failure = verdict_find(&v, cause);
	if (!failure)
		return -ESTALE;
	task->nr_steps_before = s->nr;
	sequence_remove(s, failure->step + 1u, s->nr - failure->step - 1u);
	err = shrink(t, s, o->strategy, cause, must_stop, tell, NULL);
	if (err == -EINVAL)
		return -ESTALE;
	return err == -EINTR ? 0 : err;
}

static void work(void *arg, unsigned int index)
{
	struct telling *tell = arg;
	struct trial *t;
	int err = trial_create(&t);
	unsigned int i;

	(void)index;
	while ((i = atomic_fetch_add_explicit(&tell->next, 1, memory_order_relaxed)) <
	       tell->nr_tasks) {
		tell->tasks[i].err = err ? err : do_task(tell, &tell->tasks[i], t);
		atomic_fetch_add_explicit(&tell->nr_done, 1, memory_order_relaxed);
	}
	if (!err)
		trial_destroy(t);
}

static void tick(void *arg)
{
	struct telling *tell = arg;
	struct search_report *r = tell->report;
	const struct search_options *o = &r->options;
	uint64_t now = clock_measure_ns();
	struct search_progress p = {
		.nr_sequences = r->nr_sequences,
		.nr_steps = r->nr_steps,
		.nr_states = r->nr_states,
		.depth = o->depth,
		.fraction = (double)atomic_load(&tell->nr_done) / tell->nr_tasks,
		.elapsed_ns = r->elapsed_ns + now - tell->begin_ns,
		.nr_causes = r->nr_findings,
		.phase = "shrinking",
	};

	if (o->progress && o->progress(o->progress_arg, &p))
		r->interrupted = true;
	if (r->interrupted && !tell->hurry_ns)
		tell->hurry_ns = now;
	if (tell->hurry_ns && now - tell->hurry_ns > HURRY_NS)
		atomic_store(&tell->stop, true);
}

/* Shortest first, then lowest number. */
static bool is_better(const struct task *a, const struct task *b)
{
	if (a->sequence.nr != b->sequence.nr)
		return a->sequence.nr < b->sequence.nr;
	return a->number < b->number;
}

static int say_error(struct finding *f, const char *what)
{
	f->error = strdup(what);
	return f->error ? 0 : -ENOMEM;
}

/* The best of the finding's sequences, as a scenario. */
static int tell_one(struct telling *tell, unsigned int index, struct trial *t)
{
	const struct search_options *o = &tell->report->options;
	struct finding *f = &tell->report->findings[index];
	struct story_origin origin = {.strategy = o->strategy};
	const struct task *best = NULL;
	const struct failure *failure;
	struct verdict v;
	char *text = NULL;
	int err;

	for (unsigned int i = 0; i < tell->nr_tasks; i++) {
		const struct task *task = &tell->tasks[i];

		if (task->finding != index)
			continue;
		if (task->err == -ENOMEM)
			return -ENOMEM;
		if (task->err)
			return say_error(f, "a sequence that failed does not fail again");
		if (!best || is_better(task, best))
			best = task;
	}
	f->sequence_shrunk = best->sequence;
	f->nr_steps_before = best->nr_steps_before;
	err = oracle_run(t, &f->sequence_shrunk, o->strategy, o->oracles, &v, NULL);
	if (err)
		return err;
	failure = verdict_find(&v, &f->cause);
	if (!failure)
		return say_error(f, "the shrunk sequence does not fail again");
	f->failure = *failure;
	/* The table's is of whichever worker saw it first. */
	f->cause = failure->cause;
	if (best->number != FOUND_NONE) {
		origin.is_random = true;
		origin.seed = o->seed;
		origin.sequence = best->number;
	}
	origin.nr_steps_before = f->nr_steps_before;
	if (o->exhaustive || o->depth != SEARCH_DEPTH)
		origin.depth = o->depth;
	err = story_write(t, &f->sequence_shrunk, &f->failure, &origin, &text);
	if (!err) {
		f->scenario = text;
		return 0;
	}
	if (err == -ENOMEM)
		return err;
	if (err == -EPROTO && text) {
		f->error = text;
		return 0;
	}
	free(text);
	return say_error(f, "its scenario cannot be told");
}

static int make_tasks(struct telling *tell, const struct found_table *table)
{
	struct search_report *r = tell->report;

	if (table) {
		r->findings = calloc(MAX(table->nr, 1u), sizeof(*r->findings));
		if (!r->findings)
			return -ENOMEM;
		r->nr_findings = table->nr;
	}
	tell->tasks = calloc((size_t)MAX(r->nr_findings, 1u) * FOUND_KEPT, sizeof(*tell->tasks));
	if (!tell->tasks)
		return -ENOMEM;
	for (unsigned int i = 0; i < r->nr_findings; i++) {
		struct finding *f = &r->findings[i];

		if (!table) {
			tell->tasks[tell->nr_tasks++] = (struct task){
				.finding = i, .number = FOUND_NONE, .sequence = f->sequence_shrunk};
			continue;
		}
		f->cause = table->list[i].cause;
		f->nr_found = table->list[i].nr;
		f->sequence = table->list[i].lowest[0];
		f->found_ns = table->list[i].first_ns;
		for (unsigned int k = 0; k < FOUND_KEPT; k++) {
			if (table->list[i].lowest[k] == FOUND_NONE)
				break;
			tell->tasks[tell->nr_tasks++] =
				(struct task){.finding = i, .number = table->list[i].lowest[k]};
		}
	}
	return 0;
}

int tell_findings(struct search_report *report, const struct found_table *table)
{
	struct telling tell = {.report = report, .begin_ns = clock_measure_ns()};
	struct trial *t;
	int err;

	if (report->interrupted)
		tell.hurry_ns = tell.begin_ns;
	err = make_tasks(&tell, table);
	if (err || !tell.nr_tasks)
		goto out;
	err = trial_create(&t);
	if (err)
		goto out;
	crew_run(MIN(report->options.nr_jobs, tell.nr_tasks), work, tick, &tell);
	for (unsigned int i = 0; i < report->nr_findings && !err; i++)
		err = tell_one(&tell, i, t);
	trial_destroy(t);
out:
	free(tell.tasks);
	report->shrink_ns = clock_measure_ns() - tell.begin_ns;
	return err;
}
