/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command: one table of subcommands, one file each, and what they share.
 *
 * Exit statuses, the same for every subcommand: 0 all held; 1 an expectation or a figure did not; 2
 * a wrong file, option or environment, said in one line on stderr; 3 it could not be tried here; 4 a
 * guest died, hung, or its kernel complained. Of several, the worst counts: 4, 2, 1, then 3.
 *
 * Every subcommand fills a struct and prints it either for people or, with --json, for programs.
 */
#ifndef SP_CLI_H
#define SP_CLI_H

#include <stdio.h>

#include "bits.h"
#include "samepage.h"

enum exit_status {
	EXIT_HELD = 0,
	EXIT_NOT_HELD = 1,
	EXIT_USAGE = 2,
	EXIT_SKIPPED = 3,
	EXIT_GUEST = 4
};

static inline int worse_exit_status(int a, int b)
{
	if (a == EXIT_SKIPPED)
		return b == EXIT_HELD ? a : b;
	if (b == EXIT_SKIPPED)
		return a == EXIT_HELD ? b : a;
	return MAX(a, b);
}

struct command {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv); /* argv[0] is "samepage NAME" */
};

int cmd_run(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_bench(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_vm(int argc, char **argv);
/* What a guest's kernel starts; see guest.h. Not among the commands that are listed. */
int cmd_vm_init(int argc, char **argv);
int bench_rmap(int argc, char **argv);
int bench_merge(int argc, char **argv);

/* Calls the entry named by argv[1] with argv[0] joined to it; prints the list when there is none.
 * */
int dispatch(const struct command *table, const char *program, const char *what, int argc,
	     char **argv);

/* "samepage: " and the text, on stderr. */
void complain(const char *fmt, ...) SP_PRINTF(1, 2);

struct argp;
/* As argp_parse(); a wrong option is told in one line that names the near one. argv[0] is "samepage
 * NAME". */
bool parse_options(const struct argp *argp, int argc, char **argv, void *input);

/* A whole decimal or 0x number in [min, max]; complains and returns false otherwise. */
bool parse_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret);
/* The same for sizes: 4096, 512K, 64M, 1G. */
bool parse_size(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret);

/* And for times: 500ms, 10s, 2m, 1h; without a unit, seconds. *ret is in nanoseconds. */
bool parse_duration(const char *option, const char *text, uint64_t min_ns, uint64_t max_ns,
		    uint64_t *ret);
/* The value of --strategy: sets chosen[s], of SP_NR_STRATEGIES, or all of them for "all". */
bool choose_strategies(const char *text, bool *chosen);

/*
 * ^C: from here on, interrupted() says whether it came. A command that has not ended patience_ms
 * later ends at once, with EXIT_USAGE; at a second ^C, too.
 */
void catch_interrupts(unsigned int patience_ms);
bool interrupted(void);

/* False when standard output could not be written, and *why: the first reason that a flush gave. */
bool flush_output(const char **why);

/*
 * Three quarters of the memory that is available, 1 GiB at least, is all that this process may
 * take: a scenario of a billion pages ends with ENOMEM and a report, not with the host out of
 * memory.
 */
void limit_memory(void);

/* A line on stderr that replaces itself, when stderr is a terminal; at most ten a second. "" clears
 * it. */
void progress_line(const char *fmt, ...) SP_PRINTF(1, 2);

/* "0.396 ms", "1.2 us", "577 ns": four significant figures at most. */
const char *format_ns(char *buf, size_t size, uint64_t ns);
/* "1,256,080" */
const char *format_count(char *buf, size_t size, uint64_t n);

#endif
