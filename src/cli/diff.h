/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage diff: what its files share.
 *
 *   cmd_diff.c		options; the order of things
 *   diff_guests.c	a scenario on each kernel: guests, and what they said, file by file
 *   diff_compare.c	engine and kernels side by side: what differs, and whether that is declared
 *   diff_people.c	the report for people
 *   diff_json.c	and for programs
 *
 * The engine and each kernel is a SIDE: the lines (observe_text.h) that a run of the file left,
 * complete or not. All sides are read in step, one operation at a time, so that nothing is kept of
 * an operation in which nothing differs.
 *
 * NEWS. A counter that differs once mostly differs from then on. A difference is news when engine
 * or kernel has another value than at the operation before; only news is kept.
 *
 * Locks: none; one thread.
 */
#ifndef SP_DIFF_H
#define SP_DIFF_H

#include "cmd_vm.h"
#include "scenario.h"

#define DIFF_SIDES (1 + VM_KERNELS_MAX) /* the engine is side 0 */

enum diff_verdict {
	DIFF_SAME,
	DIFF_DECLARED, /* what differs is what the file says */
	DIFF_DIFFERS,
	DIFF_LACKS,    /* the file says that it is not for this kernel */
	DIFF_SKIPPED,  /* this side cannot do what the file asks, from some operation on */
	DIFF_DIED,     /* the guest, while it ran the file */
	DIFF_LOST,     /* there was no guest to run it in */
};

/* "same", "as declared", "differs", "not for it", "skipped", "died", "not run" */
const char *diff_verdict_name(enum diff_verdict verdict);

/* What a run of one file left behind. */
struct diff_side {
	char *text;      /* all of it; the rest points into it */
	char *lines;     /* the steps, NUL-ended; reading cuts them. NULL: there are none */
	bool ended;      /* the run came to its end */
	bool settled;    /* nothing more will come */
	int status;      /* of samepage run, when it ended */
	char *end;       /* "held", "cannot run here: ..." */
	char *failures;  /* each ended by a newline; "" or NULL: none */
	enum diff_verdict verdict;
	char why[512];   /* for LACKS, SKIPPED, DIED, LOST; the first declaration's for DECLARED */
	const struct qemu *guest; /* that it ran in; NULL for the engine */
	uint64_t nr_operations;   /* compared */
	uint64_t nr_differing;    /* operations with news that is not declared */
};

/* One key after one operation. */
struct diff_row {
	char *key;
	char *values[DIFF_SIDES];        /* NULL: no such key, or this side is at its end */
	const char *declared[DIFF_SIDES]; /* NULL: differs and is not declared, or does not differ */
	bool differs[DIFF_SIDES], news[DIFF_SIDES];
};

struct diff_operation {
	struct diff_operation *next;
	uint64_t operation;
	uint32_t line;
	char *text;
	unsigned int nr_rows;
	struct diff_row *rows;
};

struct diff_file {
	struct scenario *scenario;
	const char *path;
	struct diff_side sides[DIFF_SIDES];
	struct diff_operation *first, **last; /* those with news */
};

struct diff {
	struct vm_kernels kernels;
	uint32_t versions[DIFF_SIDES]; /* of Linux; 0: not known */
	struct diff_file *files;
	unsigned int nr_files, nr_sides;
	uint64_t silence_ns;           /* that a guest may take for one operation */
	const char *append;
	bool json, all;
	unsigned int nr_reported; /* files, from the first on */
	int exit_status;
	struct diff_guest *guests;     /* all that were started, newest first */
};

/* ---- diff_guests.c ---- */

/*
 * Runs what the kernels can run, and has each file reported as soon as nothing more will come of it
 * and of those before it. 0, or -errno with lab->msg; -EINTR when interrupted.
 */
int diff_run_guests(struct diff *diff, struct lab *lab, bool (*report)(struct diff *, struct diff_file *))
	SP_MUST_CHECK;
void diff_guests_destroy(struct diff *diff);
/* Calls fn for each guest whose kernel complained, died or hung. */
void diff_each_bad_guest(const struct diff *diff, void (*fn)(const struct qemu *guest));

/* ---- diff_compare.c ---- */

/* The engine's side. False when memory is out. */
bool diff_run_engine(struct diff_file *file);
/* Fills verdicts and operations of a file of which all sides are there. */
bool diff_compare(struct diff *diff, struct diff_file *file);
/* Splits side->text, as samepage run --steps=lines wrote it, but for its first line. */
void diff_take_text(struct diff_side *side);
void diff_file_destroy(struct diff_file *file, unsigned int nr_sides);
int diff_exit_status(const struct diff_side *side);

/* ---- diff_people.c, diff_json.c ---- */

void diff_print_people(const struct diff *diff, const struct diff_file *file);
/* What its kernel said, where something is wrong with it. */
void diff_print_guest(const struct qemu *guest);
void diff_print_json(const struct diff *diff);

#endif
