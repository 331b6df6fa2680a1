/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interpreter: executes statements on a world (world.h), dry or wet.
 *
 *   exec.c		blocks, loops, variables; what an operation's outcome means
 *   exec_memory.c	what a process does: system calls, accesses
 *   exec_machine.c	what happens to the machine: processes, ksmd, reclaim, walks
 *   exec_load.c	processes from real memory
 *   exec_expect.c	expectations
 *   exec_content.c	expectations on contents and frames
 *   exec_observe.c	what is to be seen after an operation, for whoever asked
 *
 * An executor resolves its names and values first, which is all there is to do
 * in the dry run; then it asks the backend. It returns
 *
 *   0			done; what the backend said is in the outcome
 *   EXEC_DRY		dry, nothing more to do
 *   WORLD_ERROR	a mistake in the file, told
 *   EXEC_CANNOT	a value that the backend does not have
 *   EXEC_STOP		the run cannot go on; its failure is recorded
 *   -ENOMEM		of the interpreter itself
 *
 * Locking: none; one thread runs one exec.
 */
#ifndef SP_EXEC_H
#define SP_EXEC_H

#include "world.h"

#define EXEC_DRY 1
#define EXEC_STOP (-20002)
#define EXEC_CANNOT (-20003)

struct outcome {
	int err;        /* 0, -errno or BACKEND_CANNOT */
	int64_t result; /* of what counts or returns something */
};

struct exec {
	struct world world;
	const struct stmt *current;

	/* Dry: */
	double weight;          /* rounds that one executed round stands for */
	double dry_rounds;
	uint64_t nr_dry_statements;

	/* Wet: */
	const struct scenario_options *options;
	struct scenario_result *result;
	char reason[256];       /* the backend's, for what it cannot */
	struct outcome last;    /* of the last operation */
	char note[512];         /* what its errno does not tell; "" mostly */
	bool walked;
	bool walk_cannot;           /* the backend has no walks: what is expected of one is undecided */
	struct sp_walk_result walk; /* the last one */
	uint64_t nr_unvalidated;    /* operations since the last validation */
	bool validation_failed;
	uint64_t random_mix;        /* of the run's seed */
	struct observer *observer;  /* NULL: nobody looks on */
	bool stopped;               /* while the backend waited */
};

typedef int (*exec_fn)(struct exec *x, const struct stmt *s, struct outcome *out);
extern const exec_fn exec_memory_fns[NR_OPS];  /* NULL where another table has it */
extern const exec_fn exec_machine_fns[NR_OPS];

/* ---- exec.c ------------------------------------------------------------------ */

int exec_block(struct exec *x, const struct stmt *first) SP_MUST_CHECK;
/* The backend's stop(); arg is the struct exec. */
bool exec_stop(void *arg);
/* Something did not hold. */
void exec_failure(struct exec *x, const struct stmt *s, uint32_t pos, const char *fmt, ...)
	SP_PRINTF(4, 5);
/* Notes the outcome of one check of an expectation. */
void exec_checked(struct exec *x, const struct stmt *s, bool held);
/* The statement is one that will fail under every strategy and on every kernel: it names nothing. */
bool exec_must_fail(const struct stmt *s);
/* The expectation is for this strategy and this kernel. */
bool exec_applies(const struct exec *x, const struct stmt *s);
/* Counts a walk, and keeps what it missed. */
void exec_note_walk(struct exec *x, uint32_t line, const char *operation,
		    const struct sp_walk_result *walk);
/* A seed of the file, changed by the run's. 0 stays 0. */
uint64_t exec_seed(const struct exec *x, int64_t seed);
/* Recounts everything, and records findings as failures. */
void exec_validate(struct exec *x, const struct stmt *s);

/* ---- exec_memory.c -------------------------------------------------------------- */

/* A value of the statement; NULL gives `absent`. */
int exec_value(struct exec *x, const struct stmt *s, const struct expr *e, const char *what,
	       int64_t least, int64_t most, int64_t absent, int64_t *ret) SP_MUST_CHECK;
/* The place of a range; EXEC_DRY in the dry run. */
int exec_place(struct exec *x, const struct stmt *s, const struct range *range,
	       struct place *ret) SP_MUST_CHECK;
/* The same, of one page. */
int exec_page(struct exec *x, const struct stmt *s, const struct range *range,
	      struct place *ret) SP_MUST_CHECK;
/* Calls fn for the place, or for each VMA of all; ends at an error. */
typedef int (*exec_span_fn)(struct exec *x, const struct stmt *s, struct process *p, uint64_t addr,
			    uint64_t length, struct outcome *out);
int exec_spans(struct exec *x, const struct stmt *s, const struct place *place, exec_span_fn fn,
	       struct outcome *out) SP_MUST_CHECK;

/* ---- exec_load.c ------------------------------------------------------------------- */

/* Fills the new process from a core or a running process. */
int exec_load(struct exec *x, const struct stmt *s, struct process *p,
	      struct outcome *out) SP_MUST_CHECK;
/* Dry: the process has windows that only loading will tell. */
int exec_load_dry(struct exec *x, const struct stmt *s) SP_MUST_CHECK;

/* ---- exec_expect.c, exec_content.c ---------------------------------------------------- */

int exec_expect(struct exec *x, const struct stmt *s) SP_MUST_CHECK;
int exec_expect_content(struct exec *x, const struct stmt *s) SP_MUST_CHECK;
int exec_expect_frames(struct exec *x, const struct stmt *s) SP_MUST_CHECK;

/* ---- exec_observe.c ------------------------------------------------------------------------ */

int exec_observe_init(struct exec *x) SP_MUST_CHECK;
void exec_observe_finish(struct exec *x);
/* Tells the observer what there is after an operation. EXEC_STOP when it has seen enough. */
int exec_observe(struct exec *x, const struct stmt *s, const struct outcome *out) SP_MUST_CHECK;

#endif
