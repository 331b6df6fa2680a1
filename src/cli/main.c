/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage: the command. Picks the subcommand; everything else is in its file.
 */
#include <string.h>

#include "cli.h"

static const struct command commands[] = {
	{ "run", "run scenario files under the walk strategies", cmd_run },
	{ "bench", "measure walks and merging", cmd_bench },
	{ NULL, NULL, NULL },
};

int main(int argc, char **argv)
{
	if (argc > 1 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))) {
		printf("samepage %s\n", SP_VERSION);
		return EXIT_HELD;
	}
	/* "samepage help run" is what some try first. */
	if (argc == 3 && !strcmp(argv[1], "help")) {
		char help[] = "--help";
		char *swapped[] = { argv[0], argv[2], help, NULL };

		return dispatch(commands, "samepage", "command", 3, swapped);
	}
	return dispatch(commands, "samepage", "command", argc, argv);
}
