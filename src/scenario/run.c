/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One run: makes a machine, executes the scenario on it, and judges. The
 * verdict compares what happened under a strategy with what the file declares
 * about it; scenario.h has the rules.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "assertion.h"
#include "clock.h"
#include "exec.h"
#include "names.h"

/* A result and the account that it is in: its owner knows no machine. */
struct run {
	struct mem mem;
	struct scenario_result result;
};

void scenario_options_init(struct scenario_options *options)
{
	*options = (struct scenario_options){
		.strategy = SP_STRATEGY_FULL,
		.validate = SP_DEBUG_LEVEL >= 2,
		.max_rounds = SCENARIO_MAX_ROUNDS,
		.max_pages = SCENARIO_MAX_PAGES,
		.backend = &engine_backend,
	};
}

const char *scenario_verdict_text(enum scenario_verdict verdict)
{
	static const char *const texts[SCENARIO_NR_VERDICTS] = {
		[SCENARIO_HELD] = "held",
		[SCENARIO_FAILED] = "failed",
		[SCENARIO_BROKEN] = "broken as declared",
		[SCENARIO_BROKEN_HELD] = "declared broken, but held",
		[SCENARIO_ERROR] = "error",
		[SCENARIO_CANNOT] = "cannot run here",
	};

	return texts[verdict];
}

int scenario_verdict_exit_status(enum scenario_verdict verdict)
{
	switch (verdict) {
	case SCENARIO_HELD:
	case SCENARIO_BROKEN:
		return 0;
	case SCENARIO_FAILED:
	case SCENARIO_BROKEN_HELD:
		return 1;
	case SCENARIO_CANNOT:
		return 3;
	default:
		return 2;
	}
}

static void on_audit(void *arg, const char *operation, const struct sp_walk_result *walk)
{
	struct exec *x = arg;

	exec_note_walk(x, x->current ? x->current->line : 0, operation, walk);
}

/* Every scenario starts with ksmd running, and nothing left of an earlier one. */
static int start_ksmd(const struct world *w)
{
	int err = w->ops->knob_set(w->backend, "run", "2");

	return err ? err : w->ops->knob_set(w->backend, "run", "1");
}

/* Before the machine is made: a kernel that is not to run the file shall not be touched for it. */
static int take_version(struct exec *x)
{
	struct scenario_result *result = x->result;
	const struct scenario *scenario = result->scenario;
	const struct scenario_need *need;
	char version[LINUX_VERSION_BYTES];
	int err = x->world.ops->linux_version(&result->linux_version);

	if (err) {
		snprintf(result->error, sizeof(result->error), "%.256s: the kernel does not tell its version: %s",
			 scenario->path, errno_name(err));
		result->verdict = SCENARIO_ERROR;
		return err;
	}
	linux_version_format(result->linux_version, version, sizeof(version));
	need = scenario_kills(scenario, result->linux_version);
	if (need && x->world.ops->is_real && !x->options->may_kill) {
		snprintf(result->error, sizeof(result->error),
			 "%.256s:%u: this is Linux %s, and would die: %.300s; samepage vm run gives it a guest to kill",
			 scenario->path, need->line, version, need->text);
		result->verdict = SCENARIO_CANNOT;
		return BACKEND_CANNOT;
	}
	need = scenario_lacks(scenario, result->linux_version);
	if (!need)
		return 0;
	snprintf(result->error, sizeof(result->error), "%.256s:%u: this is Linux %s: %.300s",
		 scenario->path, need->line, version, need->text);
	result->verdict = SCENARIO_CANNOT;
	return BACKEND_CANNOT;
}

static int start(struct exec *x)
{
	const struct scenario_options *options = x->options;
	struct world *w = &x->world;
	struct backend_config config = {
		.machine = w->scenario->machine,
		.session = options->session,
		.trace = options->trace,
		.trace_arg = options->trace_arg,
		.audit = options->no_audit ? NULL : on_audit,
		.audit_arg = x,
		.reason = x->reason,
		.reason_bytes = sizeof(x->reason),
		.remark = x->result->remark,
		.remark_bytes = sizeof(x->result->remark),
		.stop = exec_stop,
		.stop_arg = x,
	};
	int err;

	config.machine.strategy = options->strategy;
	config.machine.fail_allocation = options->fail_allocation;
	err = w->ops->create(&config, &w->backend);
	if (err) {
		w->backend = NULL;
		return err;
	}
	return start_ksmd(w);
}

static void take_totals(struct exec *x)
{
	struct scenario_result *result = x->result;
	const struct backend_ops *ops = x->world.ops;
	struct backend *b = x->world.backend;
	int64_t value;

	/* A backend that has no such figure leaves zeroes. */
	if (ops->metrics(b, &result->metrics))
		memset(&result->metrics, 0, sizeof(result->metrics));
	if (ops->memory_usage(b, &result->memory))
		memset(&result->memory, 0, sizeof(result->memory));
	if (!ops->counter_get(b, "orphan_entries", &value))
		result->nr_orphan_entries = (uint64_t)value;
	if (!ops->counter_get(b, "now_ms", &value))
		result->simulated_ms = (uint64_t)value;
}

static void add_failure(struct scenario_result *result, const char *text)
{
	struct scenario_failure *failure;

	result->nr_failures++;
	if (result->nr_failures_listed == SCENARIO_MAX_FAILURES)
		return;
	failure = &result->failures[result->nr_failures_listed++];
	snprintf(failure->text, sizeof(failure->text), "%.256s: %s", scenario_path(result->scenario), text);
}

static void judge(struct scenario_result *result, bool audited)
{
	const struct scenario *scenario = result->scenario;
	bool broken = scenario_is_broken(scenario, result->strategy, NULL);
	bool declared = scenario_linux_misses(scenario, NULL);
	bool failed;

	if (result->nr_linux_missed && !declared)
		add_failure(result, "Linux itself (the whole-tree walk) misses PTEs here, and the file does not say `broken linux`");
	if (declared && audited && !result->nr_linux_missed && result->strategy == SP_STRATEGY_FULL)
		add_failure(result, "declared `broken linux`, but the whole-tree walk misses nothing");
	failed = result->nr_failures || result->nr_missed;
	if (broken)
		result->verdict = failed ? SCENARIO_BROKEN : SCENARIO_BROKEN_HELD;
	else
		result->verdict = failed ? SCENARIO_FAILED : SCENARIO_HELD;
}

static struct run *run_create(const struct scenario *scenario, const struct scenario_options *options)
{
	struct mem mem;
	struct run *run;
	struct scenario_result *result;

	mem_init(&mem);
	mem.fail_at = options->fail_own_allocation;
	run = mem_alloc(&mem, sizeof(*run));
	if (!run)
		return NULL;
	run->mem = mem;
	result = &run->result;
	result->scenario = scenario;
	result->strategy = options->strategy;
	result->seed = options->seed;
	result->nr_expectations = scenario->nr_expectations;
	result->expectations = mem_alloc(&run->mem, (scenario->nr_expectations + 1) * sizeof(*result->expectations));
	if (!result->expectations) {
		mem = run->mem;
		mem_free(&mem, run, sizeof(*run));
		return NULL;
	}
	for (uint32_t i = 0; i < scenario->nr_expectations; i++) {
		result->expectations[i].line = scenario->expectations[i]->line;
		result->expectations[i].text = scenario->expectations[i]->text;
	}
	return run;
}

int scenario_run(const struct scenario *scenario, const struct scenario_options *options,
		 struct scenario_result **ret)
{
	struct run *run = run_create(scenario, options);
	struct exec x = { .options = options };
	struct scenario_result *result;
	uint64_t started = clock_measure_ns();
	int err;

	if (!run)
		return -ENOMEM;
	result = &run->result;
	if (world_init(&x.world, scenario, &run->mem)) {
		scenario_result_destroy(result);
		return -ENOMEM;
	}
	x.result = result;
	x.random_mix = options->seed;
	x.world.ops = options->backend;
	x.world.max_pages = options->max_pages;
	x.world.error = result->error;
	x.world.error_bytes = sizeof(result->error);

	err = take_version(&x);
	if (!err)
		err = start(&x);
	if (!err)
		err = exec_observe_init(&x);
	if (err && *result->error) {
		/* told already */
	} else if (err) {
		snprintf(result->error, sizeof(result->error), "%.256s: the machine cannot be made: %s",
			 scenario->path, err != BACKEND_CANNOT ? errno_name(err) :
			 *x.reason ? x.reason : "not by this backend");
		result->verdict = err == BACKEND_CANNOT ? SCENARIO_CANNOT : SCENARIO_ERROR;
	} else {
		err = exec_block(&x, scenario->first);
		if (!err)
			exec_validate(&x, x.current);
		if (err == WORLD_ERROR || err == -ENOMEM)
			result->verdict = SCENARIO_ERROR;
		if (err == -ENOMEM)
			snprintf(result->error, sizeof(result->error), "%.256s: out of memory", scenario->path);
	}
	if (x.world.backend) {
		take_totals(&x);
		x.world.ops->destroy(x.world.backend);
	}
	exec_observe_finish(&x);
	world_destroy(&x.world);
	for (uint32_t i = 0; i < result->nr_expectations; i++)
		result->nr_cannot += result->expectations[i].nr_cannot;
	/* What did not hold before the run stopped, did not hold. */
	if (!*result->error || (result->verdict == SCENARIO_CANNOT && result->nr_failures))
		judge(result, !options->no_audit);
	result->duration_ns = clock_measure_ns() - started;
	*ret = result;
	return 0;
}

void scenario_result_destroy(struct scenario_result *result)
{
	struct run *run;
	struct mem mem;

	if (!result)
		return;
	run = container_of(result, struct run, result);
	mem_free(&run->mem, result->loads, result->nr_loads * sizeof(*result->loads));
	mem_free(&run->mem, result->expectations,
		 (result->nr_expectations + 1) * sizeof(*result->expectations));
	mem = run->mem;
	mem_free(&mem, run, sizeof(*run));
	SP_ASSERT(mem.nr_live == 0);
}
