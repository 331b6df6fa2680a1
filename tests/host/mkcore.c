/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes the core of a running program, for tests and scenarios that need one,
 * where neither gdb nor the host's core_pattern can be relied on.
 *
 *	mkcore OUTPUT -- COMMAND [ARGUMENT]...	starts the command, waits until
 *						it sleeps, dumps and ends it
 *	mkcore OUTPUT PID			dumps a process, which runs on
 *
 * A started command gets no address space randomisation, so that two runs give
 * the same layout. Exit status 0 when OUTPUT is complete, else 1; 2 for wrong
 * arguments.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core_writer.h"

static int dump_command(const char *output, char **argv)
{
	pid_t pid = fork();
	int err;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		personality(ADDR_NO_RANDOMIZE);
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		execvp(argv[0], argv);
		fprintf(stderr, "mkcore: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	err = core_wait_until_asleep(pid);
	if (!err)
		err = core_write_pid(output, pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return err;
}

int main(int argc, char **argv)
{
	int err;

	if (argc >= 4 && strcmp(argv[2], "--") == 0) {
		err = dump_command(argv[1], argv + 3);
	} else if (argc == 3 && atoi(argv[2]) > 0) {
		err = core_write_pid(argv[1], atoi(argv[2]));
	} else {
		fprintf(stderr, "usage: mkcore OUTPUT PID\n"
				"       mkcore OUTPUT -- COMMAND [ARGUMENT]...\n");
		return 2;
	}
	if (err) {
		fprintf(stderr, "mkcore: %s: %s\n", argv[1], strerror(-err));
		unlink(argv[1]);
		return 1;
	}
	return 0;
}
