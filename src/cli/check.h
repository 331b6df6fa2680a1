/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage check: what its files share. One search for each chosen strategy; a check_report holds them
 * all, and both printers take it.
 *
 *	check_args.c	options, and every mistake in them
 *	cmd_check.c	the searches, their progress, ^C, the exit status
 *	check_files.c	where -o writes
 *	check_people.c, check_json.c	the report
 *	check_kernel.h	another question: generated sequences on engine and kernel
 *
 * Locks: none; the main thread's alone.
 */
#ifndef SP_CHECK_COMMAND_H
#define SP_CHECK_COMMAND_H

#include <json-c/json.h>

#include "cli.h"
#include "scenario.h"
#include "search.h"

/* Causes that one file may have (--against). */
#define CHECK_MAX_AGAINST 16

struct check_options {
	bool strategies[SP_NR_STRATEGIES];
	struct search_options search; /* what all have in common; time_ns: of all together */
	const char *output;	      /* NULL: standard output */
	const char *against;	      /* NULL: none */
	bool json, no_timing;
	/* --on kernel (check_kernel.h): */
	bool on_kernel, here, events;
	const char *kernel;
	uint64_t first_sequence;
	unsigned int nr_tries;
};

/* Under one strategy. */
struct check_run {
	struct search_report *report; /* NULL: not run */
	char **files;		      /* of each finding; NULL: not written */
	struct cause against[CHECK_MAX_AGAINST];
	unsigned int nr_against;
};

struct check_report {
	const struct check_options *options;
	struct check_run runs[SP_NR_STRATEGIES];
};

/* False: complained. Fills in what was not given. */
bool check_parse(int argc, char **argv, struct check_options *o);

/* False, and complained, when scenarios could not be written to `output`, or would overwrite `against`.
 * Leaves nothing behind. */
bool check_files_prepare(const char *output, const char *against);
/* "x.scn", 2: "x-2.scn". NULL: out of memory. */
char *check_files_name(const char *output, unsigned int number);
/* All of it or nothing; false: complained. */
bool check_files_write(const char *path, const char *text);

/* The finding's cause is one of --against's file. */
bool check_is_against(const struct check_run *run, const struct finding *finding);
/* Failures found, and those of them that have the cause of --against's file. */
void check_count_against(const struct check_run *run, uint64_t *nr_same, uint64_t *nr_all);

void check_print_people(const struct check_report *report);
/* The caller puts it. */
struct json_object *check_json(const struct check_report *report);

#endif
