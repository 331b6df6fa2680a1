/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scenarios: text files of operations and expectations, parsed once and run
 * under any number of walk strategies. samepage-scenario(5) is the grammar.
 *
 * This header is what the command uses; the parser, the checker and the
 * interpreter have private ones (ast.h, parse.h, world.h, run.h).
 *
 * PARSING checks everything that can be known without running: names, ranges,
 * loop limits, order. A file with one mistake runs nothing. Mistakes are
 * diagnostics: "file:line:column: what, and what would be right".
 *
 * RUNNING makes a fresh machine, executes the file on it under one strategy,
 * and fills a result. The result is a function of file, seed and strategy,
 * except the fields that say _ns. A run never stops at an expectation that
 * does not hold, because what follows it is of interest too.
 *
 * VERDICTS. A strategy that the file declares broken must miss a PTE or fail
 * an expectation; one that is not declared must do neither. A PTE that the
 * whole-tree walk misses as well is Linux's own miss (R6): allowed where the
 * file says `broken linux`, and there only. A kernel that lacks what the file
 * `needs` runs nothing of it: SCENARIO_CANNOT.
 *
 *	struct diagnostics diagnostics;
 *	struct scenario *scenario;
 *	struct scenario_options options;
 *	struct scenario_result *result;
 *
 *	err = scenario_parse_file("x.scn", &diagnostics, &scenario);
 *	if (err)			// print every diagnostics.list[i]; exit 2
 *	scenario_options_init(&options);
 *	options.strategy = SP_STRATEGY_INDEX;
 *	err = scenario_run(scenario, &options, &result);
 *	if (err)			// -ENOMEM alone
 *	exit_status = scenario_verdict_exit_status(result->verdict);
 *	scenario_result_destroy(result);
 *	scenario_destroy(scenario);
 *
 * A scenario is immutable after parsing: several threads may run it at once,
 * each with a result of its own. Everything else is one thread's.
 */
#ifndef SP_SCENARIO_H
#define SP_SCENARIO_H

#include <samepage.h>

#include "backend.h"
#include "bits.h"
#include "linux_version.h"
#include "memory_image.h"
#include "observe.h"

/* ---- Limits, named in the messages that refuse what exceeds them -------- */

#define SCENARIO_MAX_LINE_BYTES 4096
#define SCENARIO_MAX_FILE_BYTES (UINT64_C(16) << 20)
#define SCENARIO_MAX_DEPTH 8                     /* of loops in each other */
#define SCENARIO_MAX_ROUNDS UINT64_C(100000000)  /* of all loops in a run */
#define SCENARIO_MAX_PAGES (UINT64_C(1) << 32)   /* of all windows together */

/* ---- Diagnostics --------------------------------------------------------- */

#define DIAGNOSTICS_MAX 20

struct diagnostics {
	uint64_t nr_total;      /* found */
	unsigned int nr_listed; /* kept in the list */
	/* Whole lines, "file:line:column: text", in order of their lines; a
	 * message about the file as a whole has no line and column. */
	char list[DIAGNOSTICS_MAX][768];
};

/* ---- Parsing ------------------------------------------------------------- */

struct scenario;

/*
 * 0 and *ret; -EINVAL with at least one diagnostic when the text is wrong;
 * another -errno, also with a diagnostic, when the file cannot be read
 * (-ENOENT, -EISDIR, -EACCES, -EFBIG ...) or memory is out.
 */
int scenario_parse_file(const char *path, struct diagnostics *diagnostics,
			struct scenario **ret) SP_MUST_CHECK;
/* `name` stands for the file in messages; cores are looked for beside it. */
int scenario_parse_text(const char *name, const char *text, size_t size,
			struct diagnostics *diagnostics, struct scenario **ret) SP_MUST_CHECK;
void scenario_destroy(struct scenario *scenario);

/* The path given. */
const char *scenario_path(const struct scenario *scenario);
/* The first comment line of the file, without '#' and licence; "" if none. */
const char *scenario_title(const struct scenario *scenario);
/* The file says `broken STRATEGY`. *why (may be NULL): the reason given, or "". */
bool scenario_is_broken(const struct scenario *scenario, enum sp_strategy strategy,
			const char **why);
/* The file says `broken linux`. */
bool scenario_linux_misses(const struct scenario *scenario, const char **why);

/* ---- Versions of Linux ----------------------------------------------------- */

/* `needs linux >= 6.7 "why"`. The engine has all that a file may need. */
struct scenario_need {
	struct scenario_need *next;
	uint32_t line;
	struct linux_range kernels;
	const char *text; /* the line as written */
	const char *why;
};

/* The first need that this version does not meet; NULL: it can run. */
const struct scenario_need *scenario_lacks(const struct scenario *scenario, uint32_t version);

/* `kills linux "why"`: a real kernel of this version dies of it. NULL: it does not say so. */
const struct scenario_need *scenario_kills(const struct scenario *scenario, uint32_t version);
/* Of any version. */
bool scenario_is_deadly(const struct scenario *scenario);

/* `differs linux < 6.12 pages_sharing "why"`: of what is observed, these may differ from the
 * engine's on such a kernel; all, if there are none. */
struct scenario_key {
	struct scenario_key *next;
	const char *text;
};

struct scenario_difference {
	struct scenario_difference *next;
	uint32_t line;
	struct linux_range kernels;
	struct scenario_key *keys;
	const char *why;
};

/* In order of their lines; NULL: none. */
const struct scenario_difference *scenario_differences(const struct scenario *scenario);
/* Some declaration is about this version. *why (may be NULL): of the first one, or "". */
bool scenario_differs(const struct scenario *scenario, uint32_t version, const char **why);
/* The declaration is about this version and this observable: a key of its list is the whole of
 * it, or its end after '.', ':' or a blank. */
bool scenario_difference_covers(const struct scenario_difference *difference, uint32_t version,
				const char *key);

/* ---- Running ------------------------------------------------------------- */

struct scenario_progress {
	uint64_t nr_operations; /* executed so far */
	uint32_t line;          /* the one being executed */
	uint64_t simulated_ms;
};

struct scenario_options {
	enum sp_strategy strategy;
	bool may_kill;            /* run also what the file says a real kernel dies of */
	uint64_t seed;            /* changes all random contents; 0: as written */
	bool validate;            /* recount everything after every operation */
	bool no_audit;            /* do not compare the kernel's walks with the truth */
	uint64_t fail_allocation; /* the engine's Nth allocation fails; 0: none */
	uint64_t fail_own_allocation; /* the interpreter's */
	uint64_t max_rounds;      /* default SCENARIO_MAX_ROUNDS */
	uint64_t max_pages;       /* default SCENARIO_MAX_PAGES */
	const struct backend_ops *backend; /* default the engine */
	struct kernel_session *session; /* of the kernel's, for several runs; NULL: each has its own */
	sp_trace_fn trace;        /* one line an event; NULL: none */
	void *trace_arg;
	/* Called after so many operations, 0: 4096; returning true ends the run with the error
	 * "interrupted". */
	uint64_t progress_operations;
	bool (*progress)(void *arg, const struct scenario_progress *progress);
	void *progress_arg;
	/* Sees the machine after every operation (observe.h); NULL: nobody does. */
	scenario_observe_fn observe;
	void *observe_arg;
};

/* Defaults: full, seed 0, validate when built with debug level 2. */
void scenario_options_init(struct scenario_options *options);

enum scenario_verdict {
	SCENARIO_HELD,            /* everything held, every PTE was reached */
	SCENARIO_FAILED,          /* an expectation, an operation or a walk failed */
	SCENARIO_BROKEN,          /* failed, as the file declares */
	SCENARIO_BROKEN_HELD,     /* declared broken, but held: a failure */
	SCENARIO_ERROR,           /* a mistake that only running could find */
	SCENARIO_CANNOT,          /* the backend cannot do what the file asks */
	SCENARIO_NR_VERDICTS
};

/* "held", "failed", "broken as declared", "declared broken, but held", "error",
 * "cannot run here". */
const char *scenario_verdict_text(enum scenario_verdict verdict);
/* As the command exits: 0, 1, 2, or 3 for SCENARIO_CANNOT. A command over several runs
 * takes the worst: 2, then 1, then 3. */
int scenario_verdict_exit_status(enum scenario_verdict verdict);

/* One `expect` line, over all its rounds. */
struct scenario_expectation {
	uint32_t line;
	const char *text;     /* the line as written, trimmed; belongs to the scenario */
	uint64_t nr_checked;  /* 0: never reached, or not under this strategy or on this kernel */
	uint64_t nr_failed;
	uint64_t nr_cannot;   /* the backend has no answer */
};

/* Texts of failures are kept up to this many; nr_failures counts all. */
#define SCENARIO_MAX_FAILURES 32
#define SCENARIO_MAX_MISSES 32
#define SCENARIO_MAX_WALKS 32

/* Anything that did not hold: an expectation, an operation, a validation. */
struct scenario_failure {
	uint32_t line, column;
	char text[640];       /* "file:line: expected pages_sharing == 1, is 2" */
};

/* A PTE that a walk did not reach. */
struct scenario_miss {
	uint32_t line;
	char operation[32];   /* "walk", "migrate", "swapout", ... as audited */
	struct sp_missed_pte pte;
	/* Readable: "a:x[2] (0x200000002000)", and "0x...-0x...". */
	char page[96];
	char vma[96];
};

/* An explicit `walk`. */
struct scenario_walk {
	uint32_t line;
	char page[96];
	struct sp_walk_result result;
};

/* What `process NAME from ...` read. */
struct scenario_load {
	uint32_t line;
	char process[64];
	char source[160];     /* "core FILE", "pid N" */
	struct image_report report;
	uint64_t nr_vmas;     /* of the simulated process when loading was done */
	uint64_t nr_unknown_pages; /* not in the source: neither zero nor merged */
};

struct scenario_result {
	const struct scenario *scenario;
	enum sp_strategy strategy;
	uint64_t seed;
	enum scenario_verdict verdict;
	uint32_t linux_version; /* that it ran on; the engine's is LINUX_VERSION_ENGINE */
	/* For SCENARIO_ERROR, SCENARIO_CANNOT: "file:line:column: text". */
	char error[768];
	/* Of the backend, when all is over: what it could not end or put back; "" mostly. */
	char remark[256];

	uint64_t nr_operations; /* expectations not counted */
	uint64_t nr_rounds;

	/* Every `expect` line of the file, in order. */
	struct scenario_expectation *expectations;
	uint32_t nr_expectations;
	uint64_t nr_checked, nr_failed, nr_cannot; /* their sums: rounds, not lines */

	uint64_t nr_failures;   /* nr_failed, failed operations, failed validations */
	uint32_t nr_failures_listed;
	struct scenario_failure failures[SCENARIO_MAX_FAILURES];

	/* PTEs that some walk missed though the whole-tree walk reaches them. */
	uint64_t nr_missed;
	/* PTEs that the whole-tree walk misses as well (R6). */
	uint64_t nr_linux_missed;
	uint32_t nr_misses_listed;
	struct scenario_miss misses[SCENARIO_MAX_MISSES];

	uint64_t nr_walks;      /* explicit ones */
	uint32_t nr_walks_listed;
	struct scenario_walk walks[SCENARIO_MAX_WALKS];
	/* Sums over explicit walks; of audited ones, what was missed. */
	uint64_t reached, reachable, reached_full;

	struct scenario_load *loads;
	uint32_t nr_loads;
	uint64_t nr_unknown_pages;       /* sum over loads */
	uint64_t nr_unknown_read;        /* reads of pages whose contents are unknown */

	struct sp_walk_metrics metrics;
	uint64_t nr_orphan_entries;
	struct sp_memory_usage memory;
	uint64_t simulated_ms;
	uint64_t duration_ns;            /* wall clock of the whole run */
};

/* 0 and *ret, whatever the verdict; -ENOMEM when not even a result could be made. */
int scenario_run(const struct scenario *scenario, const struct scenario_options *options,
		 struct scenario_result **ret) SP_MUST_CHECK;
void scenario_result_destroy(struct scenario_result *result);

#endif
