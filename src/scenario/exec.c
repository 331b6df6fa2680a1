/* SPDX-License-Identifier: GPL-2.0-only */
/* Blocks, loops, and what outcomes mean; see exec.h. */
#include "exec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "names.h"
#include "random.h"

/* The dry run takes every round of short loops, and until it has had enough. */
#define DRY_ROUNDS 64
#define DRY_STATEMENTS 200000

/* Objects that validation may look at for each operation (see exec_validate_due). */
#define VALIDATE_OBJECTS 256

#define PROGRESS_OPERATIONS 4096

/* ---- What did not hold ----------------------------------------------------------- */

void exec_failure(struct exec *x, const struct stmt *s, uint32_t pos, const char *fmt, ...)
{
	struct scenario_result *result = x->result;
	struct scenario_failure *failure;
	char text[352];
	va_list ap;

	result->nr_failures++;
	if (result->nr_failures_listed == SCENARIO_MAX_FAILURES)
		return;
	failure = &result->failures[result->nr_failures_listed++];
	failure->line = s->line;
	failure->column = pos + 1;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(failure->text, sizeof(failure->text), "%.256s:%u: %s", x->world.scenario->path,
		 s->line, text);
}

void exec_checked(struct exec *x, const struct stmt *s, bool held)
{
	struct scenario_expectation *expectation = &x->result->expectations[s->expectation];

	expectation->nr_checked++;
	x->result->nr_checked++;
	if (held)
		return;
	expectation->nr_failed++;
	x->result->nr_failed++;
}

static void note_missed(struct exec *x, uint32_t line, const char *operation,
			const struct sp_missed_pte *pte)
{
	struct scenario_result *result = x->result;
	struct scenario_miss *miss;
	struct process *p;

	if (result->nr_misses_listed == SCENARIO_MAX_MISSES)
		return;
	miss = &result->misses[result->nr_misses_listed++];
	miss->line = line;
	snprintf(miss->operation, sizeof(miss->operation), "%s", operation);
	miss->pte = *pte;
	p = world_process_by_id(&x->world, pte->process);
	if (p)
		world_address_text(&x->world, p, pte->addr, miss->page, sizeof(miss->page));
	else
		snprintf(miss->page, sizeof(miss->page), "process %u (0x%" PRIx64 ")", pte->process,
			 pte->addr);
	snprintf(miss->vma, sizeof(miss->vma), "0x%" PRIx64 "-0x%" PRIx64, pte->vma_start,
		 pte->vma_end);
}

void exec_note_walk(struct exec *x, uint32_t line, const char *operation,
		    const struct sp_walk_result *walk)
{
	struct scenario_result *result = x->result;
	uint64_t listed = MIN(walk->nr_missed, (uint64_t)ARRAY_SIZE(walk->missed));
	uint64_t nr_linux = 0;

	for (uint64_t i = 0; i < listed; i++) {
		nr_linux += walk->missed[i].linux_misses;
		note_missed(x, line, operation, &walk->missed[i]);
	}
	/* Of those that are only counted, the whole-tree walk misses so many. */
	if (walk->nr_missed > listed && walk->reachable > walk->reached_full)
		nr_linux = MIN(MAX(nr_linux, walk->reachable - walk->reached_full), walk->nr_missed);
	result->nr_linux_missed += nr_linux;
	result->nr_missed += walk->nr_missed - nr_linux;
}

uint64_t exec_seed(const struct exec *x, int64_t seed)
{
	struct random r = { .state = (uint64_t)seed ^ x->random_mix };
	uint64_t mixed;

	if (!seed || !x->random_mix)
		return (uint64_t)seed;
	mixed = random_next(&r);
	return mixed ? mixed : 1;
}

/* ---- Validation --------------------------------------------------------------------- */

void exec_validate(struct exec *x, const struct stmt *s)
{
	char findings[256] = "";
	int err;

	if (!x->options->validate || x->validation_failed)
		return;
	x->nr_unvalidated = 0;
	err = x->world.ops->validate(x->world.backend, findings, sizeof(findings));
	if (err != -EUCLEAN)
		return;
	/* Once: a structure that is wrong stays wrong. */
	x->validation_failed = true;
	findings[strcspn(findings, "\n")] = '\0';
	exec_failure(x, s, s->pos, "after this, the machine's structures are wrong: %s", findings);
}

/*
 * Validation looks at everything, so a scenario of n operations on n objects
 * would take n * n steps. A machine of up to VALIDATE_OBJECTS objects is
 * validated after every operation, a larger one after as many operations as
 * make the same work for each.
 */
static bool validate_due(struct exec *x)
{
	struct sp_memory_usage usage;

	x->nr_unvalidated++;
	if (x->world.ops->memory_usage(x->world.backend, &usage))
		return true;
	return (usage.nr_frames_used + usage.nr_rmap_items + usage.nr_vmas) / VALIDATE_OBJECTS <
	       x->nr_unvalidated;
}

/* ---- Outcomes --------------------------------------------------------------------------- */

bool exec_must_fail(const struct stmt *s)
{
	for (const struct stmt *e = s->errnos; e; e = e->next)
		if (e->strategies == STRATEGIES_ALL && linux_range_is_all(&e->kernels))
			return true;
	return false;
}

bool exec_applies(const struct exec *x, const struct stmt *s)
{
	return s->strategies & (1u << x->options->strategy) &&
	       linux_range_has(&s->kernels, x->result->linux_version);
}

static int cannot(struct exec *x, const struct stmt *s)
{
	struct scenario_result *result = x->result;

	if (result->verdict != SCENARIO_CANNOT)
		snprintf(result->error, sizeof(result->error),
			 "%.256s:%u:%u: the %s backend cannot do `%.100s`%s%.200s", x->world.scenario->path,
			 s->line, s->pos + 1, x->world.ops->name, s->text, *x->reason ? ": " : "",
			 x->reason);
	result->verdict = SCENARIO_CANNOT;
	return EXEC_STOP;
}

/* When it fails, everything below would be about something that is not there. */
static bool names_what_it_makes(const struct stmt *s)
{
	return s->op == OP_PROCESS || s->op == OP_FORK || s->op == OP_FILE || s->op == OP_HOLD ||
	       s->options & OPTION_TARGET;
}

/* Compares an operation's outcome with what `expect errno` lines say about it. */
static int judge(struct exec *x, const struct stmt *s, const struct outcome *out)
{
	const struct stmt *expected = NULL;

	if (out->err == BACKEND_CANNOT && s->op != OP_WALK)
		return cannot(x, s);
	for (const struct stmt *e = s->errnos; e; e = e->next) {
		if (!exec_applies(x, e))
			continue;
		if (out->err == BACKEND_CANNOT) {
			x->result->expectations[e->expectation].nr_cannot++;
			continue;
		}
		expected = e;
		exec_checked(x, e, out->err == -e->number);
		if (out->err == -e->number)
			continue;
		if (out->err)
			exec_failure(x, e, e->pos, "expected errno %s, is %s", errno_name(e->number),
				     errno_name(out->err));
		else
			exec_failure(x, e, e->pos, "expected errno %s, but `%.100s` succeeded",
				     errno_name(e->number), s->text);
	}
	if (!out->err || out->err == BACKEND_CANNOT || expected)
		return 0;
	/* A core or a process that cannot be read is a mistake of whoever named it. */
	if (x->note[0])
		return world_fail(&x->world, s, s->pos, "%s", x->note);
	exec_failure(x, s, s->pos, "`%.100s` failed: %s", s->text, errno_name(out->err));
	return names_what_it_makes(s) ? EXEC_STOP : 0;
}

static int interrupted(struct exec *x)
{
	return world_fail(&x->world, x->current, x->current->pos, "interrupted");
}

bool exec_stop(void *arg)
{
	struct exec *x = arg;
	struct scenario_progress progress = { .nr_operations = x->result->nr_operations };

	if (!x->options->progress || !x->current)
		return false;
	progress.line = x->current->line;
	x->stopped = x->options->progress(x->options->progress_arg, &progress);
	return x->stopped;
}

static int report_progress(struct exec *x)
{
	struct scenario_progress progress = {
		.nr_operations = x->result->nr_operations,
		.line = x->current->line,
	};
	int64_t now = 0;

	if (!x->options->progress)
		return 0;
	if (!x->world.ops->counter_get(x->world.backend, "now_ms", &now))
		progress.simulated_ms = (uint64_t)now;
	if (!x->options->progress(x->options->progress_arg, &progress))
		return 0;
	return interrupted(x);
}

static uint64_t progress_operations(const struct exec *x)
{
	return x->options->progress_operations ? x->options->progress_operations : PROGRESS_OPERATIONS;
}

static int exec_operation(struct exec *x, const struct stmt *s)
{
	exec_fn fn = exec_memory_fns[s->op] ? exec_memory_fns[s->op] : exec_machine_fns[s->op];
	struct outcome out = { 0, 0 };
	int err;

	x->note[0] = '\0';
	err = fn(x, s, &out);
	if (world_is_dry(&x->world))
		return err == EXEC_DRY ? 0 : err;
	if (err == EXEC_CANNOT)
		return cannot(x, s);
	if (!err && x->stopped)
		return interrupted(x);
	if (err)
		return err;
	x->last = out;
	x->result->nr_operations++;
	if (out.err != BACKEND_CANNOT || s->op == OP_WALK)
		err = exec_observe(x, s, &out);
	if (err)
		return err;
	if (x->options->validate && validate_due(x))
		exec_validate(x, s);
	err = judge(x, s, &out);
	if (!err && x->result->nr_operations % progress_operations(x) == 0)
		err = report_progress(x);
	return err;
}

/* ---- Variables and loops ------------------------------------------------------------------- */

static int exec_let(struct exec *x, const struct stmt *s)
{
	struct world *w = &x->world;
	struct variable *variable = &w->variables[s->target.symbol];
	int64_t value;
	int err = world_value(w, s, s->value[0], &value);

	if (err)
		return err;
	/* What a round leaves behind is not known when rounds are left out. */
	*variable = (struct variable){
		.value = value,
		.set = true,
		.unsure = w->unsure || w->sampled,
		.cannot = w->cannot,
	};
	return 0;
}

static int refuse_rounds(struct exec *x, const struct stmt *s, double rounds, double before)
{
	uint64_t limit = x->options ? x->options->max_rounds : SCENARIO_MAX_ROUNDS;

	return world_fail(&x->world, s, s->pos,
			  "a loop of %.0f rounds%s: at most %" PRIu64 " rounds are run in a scenario",
			  rounds, rounds + before > rounds ? ", with those of the loops before and around it" : "",
			  limit);
}

static int exec_rounds(struct exec *x, const struct stmt *s, int64_t first, int64_t last)
{
	struct variable *variable = &x->world.variables[s->target.symbol];

	for (int64_t i = first;; i++) {
		int err;

		*variable = (struct variable){ .value = i, .set = true };
		err = exec_block(x, s->body);
		if (err || i == last)
			return err;
	}
}

/* Follows a loop without a machine: all rounds, or the first and the last. */
static int dry_loop(struct exec *x, const struct stmt *s, int64_t first, int64_t last, bool unsure)
{
	struct world *w = &x->world;
	double rounds = (double)last - (double)first + 1;
	double weight = x->weight;
	bool sampled = w->sampled;
	int err;

	if (unsure) {
		w->variables[s->target.symbol] = (struct variable){ .value = first, .set = true, .unsure = true };
		w->sampled = true;
		err = exec_block(x, s->body);
		w->sampled = sampled;
		return err;
	}
	x->dry_rounds += weight * rounds;
	if (x->dry_rounds > (double)SCENARIO_MAX_ROUNDS)
		return refuse_rounds(x, s, rounds, x->dry_rounds - rounds);
	if (rounds <= 2 || (rounds <= DRY_ROUNDS && x->nr_dry_statements < DRY_STATEMENTS))
		return exec_rounds(x, s, first, last);
	x->weight = weight * rounds / 2;
	w->sampled = true;
	err = exec_rounds(x, s, first, first);
	if (!err)
		err = exec_rounds(x, s, last, last);
	x->weight = weight;
	w->sampled = sampled;
	return err;
}

static int exec_loop(struct exec *x, const struct stmt *s)
{
	struct world *w = &x->world;
	int64_t first, last = 0;
	uint64_t rounds;
	int err = world_value(w, s, s->value[0], &first);

	if (!err)
		err = world_value(w, s, s->value[1], &last);
	if (err)
		return err;
	if (w->cannot)
		return cannot(x, s);
	if (last < first && !w->unsure)
		return 0;
	if (world_is_dry(w))
		return dry_loop(x, s, first, last, w->unsure);
	rounds = (uint64_t)last - (uint64_t)first + 1;
	if (!rounds || rounds > x->options->max_rounds ||
	    x->result->nr_rounds > x->options->max_rounds - rounds)
		return refuse_rounds(x, s, (double)last - (double)first + 1,
				     (double)x->result->nr_rounds);
	x->result->nr_rounds += rounds;
	return exec_rounds(x, s, first, last);
}

static int exec_statement(struct exec *x, const struct stmt *s)
{
	x->current = s;
	x->world.unsure = false;
	x->world.cannot = false;
	switch (s->op) {
	case OP_FOR:
		return exec_loop(x, s);
	case OP_LET:
		return exec_let(x, s);
	case OP_EXPECT:
		return exec_expect(x, s);
	default:
		return exec_operation(x, s);
	}
}

int exec_block(struct exec *x, const struct stmt *first)
{
	bool wrong = false;

	for (const struct stmt *s = first; s; s = s->next) {
		int err = exec_statement(x, s);

		x->nr_dry_statements++;
		/* The dry run tells every mistake, the wet one stops at its first. */
		if (err == WORLD_ERROR && world_is_dry(&x->world))
			wrong = true;
		else if (err)
			return err;
	}
	return wrong ? WORLD_ERROR : 0;
}
