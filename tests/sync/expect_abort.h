/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs a function in a child process and says how it ended: the checkers abort,
 * and a test of them has to outlive that. The child's stderr is returned, so
 * that the message can be compared and the test's own output stays clean.
 */
#ifndef SP_EXPECT_ABORT_H
#define SP_EXPECT_ABORT_H

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* True if the child was aborted; false if it returned. text: what it said. */
static inline bool child_aborts(void (*fn)(void), char *text, size_t size)
{
	int pipes[2], status;
	size_t used = 0;
	ssize_t n;
	pid_t pid;

	if (pipe(pipes))
		fail_msg("pipe failed");
	pid = fork();
	if (pid < 0)
		fail_msg("fork failed");
	if (!pid) {
		const struct rlimit no_core = { 0, 0 };

		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL);
		dup2(pipes[1], STDERR_FILENO);
		fn();
		_exit(0);
	}
	close(pipes[1]);
	while ((n = read(pipes[0], text + used, size - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	close(pipes[0]);
	if (waitpid(pid, &status, 0) != pid)
		fail_msg("waitpid failed");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return false;
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
		fail_msg("the child ended with status 0x%x: %s", status, text);
	return true;
}

static inline void expect_violation(void (*fn)(void), const char *what, const char *holding)
{
	char text[4096];

	if (!child_aborts(fn, text, sizeof(text)))
		fail_msg("no violation was seen, expected: %s", what);
	if (!strstr(text, what))
		fail_msg("expected '%s' in: %s", what, text);
	if (!strstr(text, holding))
		fail_msg("expected '%s' in: %s", holding, text);
}

static inline void expect_allowed(void (*fn)(void))
{
	char text[4096];

	if (child_aborts(fn, text, sizeof(text)))
		fail_msg("refused: %s", text);
}

#endif
