/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage: the command. Picks the subcommand; everything else is in its file. Output that could
 * not be written is found here, at the exit of every subcommand and of argp's --help too.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const struct command commands[] = {
	{"run", "run scenario files under the walk strategies", cmd_run},
	{"check", "search for a sequence that breaks a walk strategy", cmd_check},
	{"bench", "measure walks and merging", cmd_bench},
	{"diff", "compare the engine with real kernels, operation by operation", cmd_diff},
	{"export", "print a scenario as one stand-alone C file", cmd_export},
	{"vm", "run scenario files on other kernels, in virtual machines", cmd_vm},
	{NULL, NULL, NULL},
};

static void check_output(void)
{
	const char *why;

	if (flush_output(&why))
		return;
	complain("standard output cannot be written: %s", why);
	_exit(EXIT_USAGE);
}

/*
 * A file that is opened must not become the standard output of a command that was started without
 * one. What stands in for it refuses to be written, so that the lack is still told.
 */
static void occupy_standard_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	occupy_standard_files();
	limit_memory();
	atexit(check_output);
	if (argc > 1 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))) {
		printf("samepage %s\n", SP_VERSION);
		return EXIT_HELD;
	}
	/* A kernel puts what it does not know of its own command line before its init's arguments. */
	for (int i = 1; i < (getpid() == 1 ? argc : MIN(argc, 2)); i++)
		if (!strcmp(argv[i], "vm-init"))
			return cmd_vm_init(argc - i, argv + i);
	/* "samepage help bench rmap" is what some try first. */
	if (argc > 2 && !strcmp(argv[1], "help")) {
		static char help[] = "--help";

		for (int i = 1; i < argc - 1; i++)
			argv[i] = argv[i + 1];
		argv[argc - 1] = help;
	}
	return dispatch(commands, "samepage", "command", argc, argv);
}
