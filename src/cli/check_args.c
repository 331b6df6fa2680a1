/* SPDX-License-Identifier: GPL-2.0-only */
/* samepage check's options: what each means, and every mistake that needs no search to be found. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "check.h"
#include "cmd_vm.h"
#include "on_guests.h"
#include "random.h"
#include "suggest.h"

#define NS_PER_MS  UINT64_C(1000000)
#define NS_PER_DAY (UINT64_C(86400) * 1000 * NS_PER_MS)

#define JOBS_MAX 256
#define RUNS_MAX UINT64_C(1000000000000)

struct given {
	struct check_options *o;
	bool strategy, time, runs, seed, depth, jobs, kernel, oracles;
};

enum {
	KEY_STRATEGY = 256,
	KEY_TIME,
	KEY_RUNS,
	KEY_SEED,
	KEY_JOBS,
	KEY_DEPTH,
	KEY_ORACLES,
	KEY_EXHAUSTIVE,
	KEY_FIRST,
	KEY_AGAINST,
	KEY_JSON,
	KEY_NO_TIMING,
	KEY_ON,
	KEY_KERNEL,
	KEY_HERE,
	KEY_EVENTS,
	KEY_FIRST_SEQUENCE,
	KEY_TRIES,
};

static const struct {
	const char *name;
	enum oracle oracle;
} oracle_names[] = {
	{"walks", ORACLE_WALKS},
	{"contents", ORACLE_CONTENTS},
	{"recount", ORACLE_RECOUNT},
};

static bool parse_oracle(const char *word, size_t length, unsigned int *oracles)
{
	struct suggestion near;

	suggest_init(&near, word, length);
	for (unsigned int i = 0; i < ARRAY_SIZE(oracle_names); i++) {
		const char *name = oracle_names[i].name;

		suggest_consider(&near, name);
		if (strlen(name) == length && !strncmp(name, word, length)) {
			*oracles |= oracle_names[i].oracle;
			return true;
		}
	}
	if (near.best)
		complain("--oracles %.*s: did you mean '%s'? It must be some of walks, contents, "
			 "recount, with commas between",
			 (int)length, word, near.best);
	else
		complain("--oracles %.*s: must be some of walks, contents, recount, with commas "
			 "between",
			 (int)length, word);
	return false;
}

static bool parse_oracles(const char *text, unsigned int *oracles)
{
	*oracles = 0;
	for (;;) {
		size_t length = strcspn(text, ",");

		if (!parse_oracle(text, length, oracles))
			return false;
		if (!text[length])
			return true;
		text += length + 1;
	}
}

static bool parse_on(const char *word, struct check_options *o)
{
	o->on_kernel = !strcmp(word, "kernel");
	if (o->on_kernel || !strcmp(word, "engine"))
		return true;
	complain("check: --on %s: on engine, or on kernel", word);
	return false;
}

static bool parse_kernel(const char *word)
{
	if (strcmp(word, "all") != 0)
		return vm_check_kernel_word(word);
	complain("check: --kernel all: it compares with one kernel");
	return false;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct given *g = state->input;
	struct check_options *o = g->o;
	uint64_t number;

	switch (key) {
	case KEY_STRATEGY:
		g->strategy = true;
		return choose_strategies(arg, o->strategies) ? 0 : EINVAL;
	case KEY_TIME:
		g->time = true;
		return parse_duration("--time", arg, NS_PER_MS, NS_PER_DAY, &o->search.time_ns)
			       ? 0
			       : EINVAL;
	case KEY_RUNS:
		g->runs = true;
		return parse_number("--runs", arg, 1, RUNS_MAX, &o->search.nr_sequences) ? 0
											 : EINVAL;
	case KEY_SEED:
		g->seed = true;
		return parse_number("--seed", arg, 0, UINT64_MAX, &o->search.seed) ? 0 : EINVAL;
	case KEY_JOBS:
		g->jobs = true;
		if (!parse_number("--jobs", arg, 1, JOBS_MAX, &number))
			return EINVAL;
		o->search.nr_jobs = (unsigned int)number;
		return 0;
	case KEY_DEPTH:
		g->depth = true;
		if (!parse_number("--depth", arg, 1, MAX_STEPS, &number))
			return EINVAL;
		o->search.depth = (unsigned int)number;
		return 0;
	case KEY_ORACLES:
		g->oracles = true;
		return parse_oracles(arg, &o->search.oracles) ? 0 : EINVAL;
	case KEY_EXHAUSTIVE:
		o->search.exhaustive = true;
		return 0;
	case KEY_FIRST:
		o->search.first = true;
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case KEY_AGAINST:
		o->against = arg;
		return 0;
	case KEY_JSON:
		o->json = true;
		return 0;
	case KEY_NO_TIMING:
		o->no_timing = true;
		return 0;
	case KEY_ON:
		return parse_on(arg, o) ? 0 : EINVAL;
	case KEY_KERNEL:
		g->kernel = true;
		o->kernel = arg;
		return parse_kernel(arg) ? 0 : EINVAL;
	case KEY_HERE:
		o->here = true;
		return 0;
	case KEY_EVENTS:
		o->events = true;
		return 0;
	case KEY_FIRST_SEQUENCE:
		return parse_number("--first-sequence", arg, 0, UINT64_MAX / 2, &o->first_sequence)
			       ? 0
			       : EINVAL;
	case KEY_TRIES:
		if (!parse_number("--tries", arg, 0, 1000000, &number))
			return EINVAL;
		o->nr_tries = (unsigned int)number;
		return 0;
	case ARGP_KEY_ARG:
		complain("check: unexpected argument '%s'; it takes options only ('samepage run' "
			 "takes files)",
			 arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Nine digits at most: it is there to be typed again. */
static uint64_t fresh_seed(void)
{
	struct random r;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	r.state = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	return 1 + random_below(&r, 999999999);
}

/* Half of what this process may take (limit_memory(), ulimit -v). */
static uint64_t memory_for_states(void)
{
	static const int resources[] = {RLIMIT_DATA, RLIMIT_AS};
	uint64_t least = UINT64_MAX;

	for (unsigned int i = 0; i < ARRAY_SIZE(resources); i++) {
		struct rlimit limit;

		if (!getrlimit(resources[i], &limit) && limit.rlim_cur != RLIM_INFINITY)
			least = MIN(least, (uint64_t)limit.rlim_cur);
	}
	return least == UINT64_MAX ? UINT64_C(1) << 30 : least / 2;
}

/* What is the search's alone, or the comparison's alone. */
static const char *out_of_place(const struct given *g)
{
	const struct check_options *o = g->o;

	if (!o->on_kernel)
		return g->kernel ? "--kernel" : o->here ? "--here" : NULL;
	return g->strategy	      ? "--strategy"
	       : g->oracles	      ? "--oracles"
	       : o->search.exhaustive ? "--exhaustive"
	       : o->search.first      ? "--first"
	       : o->against	      ? "--against"
				      : NULL;
}

/* --on kernel */
static bool complete_on_kernel(const struct given *g)
{
	struct check_options *o = g->o;
	struct search_options *search = &o->search;

	if (o->here && g->kernel) {
		complain("check: --here is this kernel, --kernel another one");
		return false;
	}
	if (!g->jobs)
		search->nr_jobs = ON_GUESTS_JOBS;
	if (search->nr_jobs > ON_GUESTS_JOBS_MAX) {
		complain("check: --jobs %u: at most %d guests at a time", search->nr_jobs,
			 ON_GUESTS_JOBS_MAX);
		return false;
	}
	if (!g->time)
		search->time_ns = g->runs ? 0 : UINT64_C(120) * 1000 * NS_PER_MS;
	if (!g->seed)
		search->seed = fresh_seed();
	return true;
}

static bool complete(const struct given *g)
{
	struct check_options *o = g->o;
	struct search_options *search = &o->search;
	const char *wrong = out_of_place(g);

	if (wrong) {
		complain("check: %s %s --on kernel", wrong,
			 o->on_kernel ? "does not go with" : "goes with");
		return false;
	}
	if (o->on_kernel)
		return complete_on_kernel(g);

	if (search->exhaustive && (g->runs || g->seed)) {
		complain("check: --exhaustive and --%s do not go together: it tries every "
			 "sequence, in order; --depth and --time bound it",
			 g->runs ? "runs" : "seed");
		return false;
	}
	if (search->exhaustive && !g->depth)
		search->depth = 5;
	if (!g->time && (g->runs || search->exhaustive))
		search->time_ns = 0;
	if (!g->seed && !search->exhaustive)
		search->seed = fresh_seed();
	if (!g->strategy)
		(void)choose_strategies("all", o->strategies);
	search->max_bytes = memory_for_states();
	return true;
}

bool check_parse(int argc, char **argv, struct check_options *o)
{
	static const struct argp_option list[] = {
		{"strategy", KEY_STRATEGY, "NAME", 0,
		 "full, address, retry, index, direct or all; may be repeated (default all)", 0},
		{"time", KEY_TIME, "TIME", 0,
		 "search for 500ms, 10s, 2m: of all strategies together (default 10s)", 0},
		{"runs", KEY_RUNS, "N", 0, "stop after N sequences for each strategy", 0},
		{"seed", KEY_SEED, "N", 0, "the same sequences every time (default: a fresh one)",
		 0},
		{"jobs", KEY_JOBS, "N", 0, "threads (default: one for each CPU)", 0},
		{"depth", KEY_DEPTH, "N", 0,
		 "operations of a sequence (default 40; 5 with --exhaustive)", 0},
		{"oracles", KEY_ORACLES, "LIST", 0, "some of walks,contents,recount (default: all)",
		 0},
		{"exhaustive", KEY_EXHAUSTIVE, NULL, 0,
		 "try every sequence of up to --depth operations", 0},
		{"first", KEY_FIRST, NULL, 0, "stop at each strategy's first failure", 0},
		{"output", 'o', "FILE", 0,
		 "write scenarios to FILE, FILE-2, ... (default: standard output)", 0},
		{"against", KEY_AGAINST, "OTHER.scn", 0,
		 "say what that one fails for, and how many failures have its cause", 0},
		{"on", KEY_ON, "WHERE", 0,
		 "kernel: compare the engine with a kernel after every operation (default: engine, "
		 "the search)",
		 0},
		{"kernel", KEY_KERNEL, "KERNEL", 0,
		 "with --on kernel: 6.1, 6.12, 7.2 (default), or the path of a kernel file", 0},
		{"here", KEY_HERE, NULL, 0,
		 "with --on kernel: the running kernel, which may die of it; needs root", 0},
		{"events", KEY_EVENTS, NULL, OPTION_HIDDEN, "for guests", 0},
		{"first-sequence", KEY_FIRST_SEQUENCE, "N", OPTION_HIDDEN, "for guests", 0},
		{"tries", KEY_TRIES, "N", OPTION_HIDDEN, "of shrinking a difference", 0},
		{"json", KEY_JSON, NULL, 0, "print JSON", 0},
		{"no-timing", KEY_NO_TIMING, NULL, 0,
		 "leave measured times out: with --runs and --seed, the same output every time", 0},
		{0},
	};
	static const struct argp argp = {
		list,
		parse,
		NULL,
		"Searches for a sequence of operations that breaks a walk strategy, and prints the "
		"shortest it can find as a scenario, one for each cause."
		"\vExamples:\n"
		"  samepage check\n"
		"  samepage check --strategy address --first\n"
		"  samepage check --strategy direct --time 10m -o found.scn\n"
		"  samepage check --strategy index --runs 100000 --seed 1 --json\n"
		"  samepage check --strategy index --exhaustive --depth 5\n"
		"  samepage check --strategy index --against scenarios/39-stored-index-hole.scn\n"
		"  samepage check --on kernel --kernel 7.2 --runs 1000 --seed 1\n\n"
		"Exit status: 0 nothing found, 1 something found (under full: a defect of Linux; on a "
		"kernel: a difference), 2 wrong option, or interrupted, 3 it cannot be compared here, "
		"4 a guest died or hung.\n"
		"samepage-check(1) lists the operations, what is not among them, and the causes.",
		NULL,
		NULL,
		NULL};
	struct given g = {.o = o};

	*o = (struct check_options){.kernel = "7.2", .nr_tries = ON_KERNEL_TRIES};
	search_options_init(&o->search);
	return parse_options(&argp, argc, argv, &g) && complete(&g);
}
