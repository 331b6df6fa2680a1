/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage run: scenario files under walk strategies.
 *
 * Every file is parsed before any runs, so a mistake in the last one costs nothing. Each strategy
 * gets a machine of its own. The exit status is the worst of all runs.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "kernel_session.h"
#include "names.h"
#include "run.h"

const struct scenario_result *run_baseline(const struct run_report *report)
{
	if (report->results[SP_STRATEGY_FULL])
		return report->results[SP_STRATEGY_FULL];
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++)
		if (report->results[s])
			return report->results[s];
	return NULL;
}

const char *run_kernel_name(char *buf, size_t size)
{
	struct utsname name;

	if (uname(&name))
		snprintf(buf, size, "Linux");
	else
		snprintf(buf, size, "%.20s %.60s", name.sysname, name.release);
	return buf;
}

struct watched {
	const struct scenario *scenario;
	enum sp_strategy strategy;
	bool many, kernel;
};

static bool on_progress(void *arg, const struct scenario_progress *progress)
{
	const struct watched *w = arg;

	progress_line("%s: %s: line %u, %" PRIu64 " operations", scenario_path(w->scenario),
		      w->kernel ? "kernel" : sp_strategy_name(w->strategy), progress->line,
		      progress->nr_operations);
	return interrupted();
}

static void on_trace(void *arg, const char *line)
{
	const struct watched *w = arg;

	if (w->many)
		printf("%s: %s\n", sp_strategy_name(w->strategy), line);
	else
		puts(line);
}

/* Before anything runs, for steps come while it does. */
static void print_steps_head(const struct run_report *report, const struct run_options *o,
			     enum sp_strategy strategy, bool first, bool many)
{
	const char *title = scenario_title(report->scenario);

	if (o->steps == STEPS_LINES)
		printf("# %s\n", scenario_path(report->scenario));
	if (o->steps != STEPS_PEOPLE)
		return;
	if (first)
		printf("%s%s%s\n", scenario_path(report->scenario), *title ? ": " : "", title);
	if (many)
		printf("%s  %s:\n", first ? "" : "\n", sp_strategy_name(strategy));
}

static void print_steps_end(const struct scenario_result *r)
{
	for (uint32_t i = 0; i < r->nr_failures_listed; i++)
		printf("! %s\n", r->failures[i].text);
	printf(". %d %s%s%s\n", scenario_verdict_exit_status(r->verdict),
	       scenario_verdict_text(r->verdict), *r->error ? ": " : "", r->error);
	fflush(stdout);
}

/* What was tried before is worth a report. */
static bool stopped_halfway(const struct scenario_result *r)
{
	return r->verdict != SCENARIO_ERROR && r->nr_operations;
}

/* Fills the report; false when not even a result could be made. */
static bool run_all(struct run_report *report, const struct run_options *o,
		    struct kernel_session *session)
{
	unsigned int nr = 0;

	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++)
		nr += o->strategies[s];
	for (unsigned int s = 0; s < SP_NR_STRATEGIES && !interrupted(); s++) {
		struct watched w = {report->scenario, s, nr > 1, o->kernel};
		struct scenario_options options;
		struct steps steps;
		int err;

		if (!o->strategies[s])
			continue;
		print_steps_head(report, o, s, !run_baseline(report), nr > 1);
		steps_init(&steps, o->steps, stdout);
		scenario_options_init(&options);
		options.strategy = s;
		options.seed = o->seed;
		options.may_kill = o->may_kill;
		options.progress = on_progress;
		options.progress_arg = &w;
		if (o->kernel) {
			options.backend = &kernel_backend;
			options.session = session;
			/* Walks are the kernel's own, and so is the state. */
			options.no_audit = true;
			options.validate = false;
			options.progress_operations = 1;
		}
		if (o->trace) {
			/* JSON on stdout stays JSON. */
			options.trace = on_trace;
			options.trace_arg = &w;
		}
		if (o->steps) {
			options.observe = steps_observe;
			options.observe_arg = &steps;
		}
		err = scenario_run(report->scenario, &options, &report->results[s]);
		if (!err)
			err = steps.err;
		report->steps[s] = json_object_get(steps.list);
		steps_destroy(&steps);
		if (err) {
			complain("%s: %s", scenario_path(report->scenario), errno_name(err));
			report->exit_status = EXIT_USAGE;
			return false;
		}
		report->exit_status =
			worse_exit_status(report->exit_status,
					  scenario_verdict_exit_status(report->results[s]->verdict));
		if (o->steps == STEPS_LINES)
			print_steps_end(report->results[s]);
		/* A mistake that only running can find has nothing to do with the strategy. */
		if (report->results[s]->error[0] && !interrupted() &&
		    !stopped_halfway(report->results[s])) {
			progress_line("%s", "");
			fprintf(stderr, "%s\n", report->results[s]->error);
			return false;
		}
	}
	progress_line("%s", "");
	return true;
}

static void report_destroy(struct run_report *report)
{
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++) {
		scenario_result_destroy(report->results[s]);
		json_object_put(report->steps[s]);
	}
}

static int run_files(char **paths, unsigned int nr, const struct run_options *o)
{
	struct scenario **scenarios = calloc(nr, sizeof(*scenarios));
	struct diagnostics *diagnostics = malloc(sizeof(*diagnostics));
	struct json_object *list = o->json ? json_object_new_array() : NULL;
	struct kernel_session *session = NULL;
	const char *unwritten;
	int status = EXIT_HELD;
	char why[256] = "";
	bool parsed;

	if (!scenarios || !diagnostics) {
		complain("out of memory");
		status = EXIT_USAGE;
		goto out;
	}
	for (unsigned int i = 0; i < nr; i++) {
		if (!scenario_parse_file(paths[i], diagnostics, &scenarios[i]))
			continue;
		for (unsigned int d = 0; d < diagnostics->nr_listed; d++)
			fprintf(stderr, "%s\n", diagnostics->list[d]);
		if (diagnostics->nr_total > diagnostics->nr_listed)
			complain("%s: and %" PRIu64 " more", paths[i],
				 diagnostics->nr_total - diagnostics->nr_listed);
		scenarios[i] = NULL;
		status = EXIT_USAGE;
	}
	/* What only running can find ends the run of its own file alone. */
	parsed = status != EXIT_USAGE;
	/* Why there is none, each of them finds out by itself. */
	if (o->kernel && parsed && kernel_session_open(&session, why, sizeof(why)))
		session = NULL;
	for (unsigned int i = 0; i < nr && parsed && !interrupted(); i++) {
		struct run_report report = {.scenario = scenarios[i]};

		if (i && !o->json && o->steps != STEPS_LINES)
			putchar('\n');
		if (run_all(&report, o, session) && run_baseline(&report)) {
			if (o->json)
				json_object_array_add(list, run_json(&report, o));
			else if (o->steps != STEPS_LINES)
				run_print_people(&report, o);
		}
		status = worse_exit_status(status, report.exit_status);
		report_destroy(&report);
		if (!flush_output(&unwritten))
			break;
	}
	if (list && parsed && !interrupted())
		puts(json_object_to_json_string_ext(list, JSON_C_TO_STRING_PRETTY));
	if (interrupted()) {
		complain("interrupted");
		status = EXIT_USAGE;
	}
out:
	if (kernel_session_close(session, why, sizeof(why))) {
		complain("%s", why);
		status = EXIT_USAGE;
	}
	for (unsigned int i = 0; scenarios && i < nr; i++)
		scenario_destroy(scenarios[i]);
	json_object_put(list);
	free(diagnostics);
	free(scenarios);
	return status;
}

struct arguments {
	struct run_options options;
	bool chosen;
	char **paths;
	unsigned int nr_paths;
};

enum { KEY_STRATEGY = 256, KEY_ON, KEY_SEED, KEY_JSON, KEY_NO_TIMING, KEY_TRACE, KEY_STEPS, KEY_MAY_KILL };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_STRATEGY:
		a->chosen = true;
		return choose_strategies(arg, a->options.strategies) ? 0 : EINVAL;
	case KEY_ON:
		if (strcmp(arg, "kernel") != 0 && strcmp(arg, "engine") != 0) {
			complain("run: --on %s: on engine, or on kernel", arg);
			return EINVAL;
		}
		a->options.kernel = !strcmp(arg, "kernel");
		return 0;
	case KEY_SEED:
		return parse_number("--seed", arg, 0, UINT64_MAX, &a->options.seed) ? 0 : EINVAL;
	case KEY_JSON:
		a->options.json = true;
		return 0;
	case KEY_NO_TIMING:
		a->options.no_timing = true;
		return 0;
	case KEY_STEPS:
		a->options.steps = STEPS_PEOPLE;
		if (arg && !strcmp(arg, "lines"))
			a->options.steps = STEPS_LINES;
		else if (arg && strcmp(arg, "people") != 0) {
			complain("run: --steps=%s: for people, or as lines (for programs)", arg);
			return EINVAL;
		}
		return 0;
	case KEY_MAY_KILL:
		a->options.may_kill = true;
		return 0;
	case KEY_TRACE:
		a->options.trace = true;
		return 0;
	case ARGP_KEY_ARGS:
		a->paths = state->argv + state->next;
		a->nr_paths = (unsigned int)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		complain("run: which scenario? Try 'samepage run FILE', or 'samepage run --help'");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_run(int argc, char **argv)
{
	static const struct argp_option list[] = {
		{"strategy", KEY_STRATEGY, "NAME", 0,
		 "full, address, retry, index, direct or all; may be repeated (default all)", 0},
		{"on", KEY_ON, "WHERE", 0,
		 "engine (the default), or kernel: with real processes on the running kernel, as "
		 "root",
		 0},
		{"may-kill", KEY_MAY_KILL, NULL, 0,
		 "on a kernel, run also what kills it (`kills linux`)", 0},
		{"json", KEY_JSON, NULL, 0, "print JSON", 0},
		{"seed", KEY_SEED, "N", 0, "changes all random contents (default 0: as written)",
		 0},
		{"no-timing", KEY_NO_TIMING, NULL, 0,
		 "leave measured times out: the same output every time", 0},
		{"steps", KEY_STEPS, "FORM", OPTION_ARG_OPTIONAL,
		 "print what each operation changed; under full, unless strategies are named. FORM: "
		 "people (the default), lines",
		 0},
		{"trace", KEY_TRACE, NULL, 0,
		 "print one line for each event, under tracepoint names", 0},
		{0},
	};
	static const struct argp argp = {
		list,
		parse,
		"FILE...",
		"Runs scenario files on the engine, under each walk strategy, or on the running "
		"kernel."
		"\vExamples:\n"
		"  samepage run scenarios/mremap-move.scn\n"
		"  samepage run --strategy direct --strategy full my.scn\n"
		"  samepage run --strategy index --trace my.scn\n"
		"  samepage run --steps my.scn\n"
		"  sudo samepage run --on kernel my.scn\n"
		"  samepage run --json *.scn | jq '.[].strategies[].verdict'\n\n"
		"Exit status: 0 all held, 1 an expectation or a walk failed, 2 wrong file or "
		"option, 3 not possible on this kernel.\n"
		"The language is described in samepage-scenario(5).",
		NULL,
		NULL,
		NULL};
	struct arguments a = {0};

	if (!parse_options(&argp, argc, argv, &a))
		return EXIT_USAGE;
	if (a.options.kernel && (a.chosen || a.options.trace)) {
		complain("run: --%s is of the engine: a kernel has its own walk, and its own "
			 "tracepoints",
			 a.chosen ? "strategy" : "trace");
		return EXIT_USAGE;
	}
	if (a.options.json && a.options.steps == STEPS_LINES) {
		complain("run: --steps=lines and --json do not go together: both write to standard "
			 "output");
		return EXIT_USAGE;
	}
	if (a.options.json && a.options.steps)
		a.options.steps = STEPS_JSON;
	if (a.options.kernel || (a.options.steps && !a.chosen))
		a.options.strategies[SP_STRATEGY_FULL] = true;
	else if (!a.chosen)
		(void)choose_strategies("all", a.options.strategies);
	if (a.options.trace && a.options.json) {
		complain("run: --trace and --json do not go together: both write to standard "
			 "output");
		return EXIT_USAGE;
	}
	/*
	 * One operation may take for ever, such as a scan of many passes: nothing it found is worth
	 * waiting for. A kernel's waits end when they are told to; one that does not is a hung process,
	 * and then the knobs' guard, which outlives this one, puts them back.
	 */
	catch_interrupts(a.options.kernel ? 900 : 500);
	return run_files(a.paths, a.nr_paths, &a.options);
}
