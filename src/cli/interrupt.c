/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ^C: a long command ends soon, says so, and prints what it has found so far; see cli.h.
 *
 * The handler only sets a flag and a timer. Whatever the command is in the middle of when the timer
 * runs out is not worth waiting for. Handlers may run on any thread.
 *
 * A second ^C does not wait for the timer; but timeout(1) sends its signal to the process and then to its
 * group, so that what comes at once is the same one again.
 */
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

static volatile sig_atomic_t is_interrupted;
static volatile sig_atomic_t patience;
static bool on_terminal;

static void on_impatience(int sig)
{
	static const char text[] = "\r\033[Ksamepage: interrupted\n";
	size_t skip = on_terminal ? 0 : 4;

	(void)sig;
	(void)!write(STDERR_FILENO, text + skip, sizeof(text) - 1 - skip);
	_exit(EXIT_USAGE);
}

static bool is_echo(void)
{
	static struct timespec first;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!is_interrupted)
		first = now;
	return (now.tv_sec - first.tv_sec) * 1000 + (now.tv_nsec - first.tv_nsec) / 1000000 < 200;
}

static void on_interrupt(int sig)
{
	const struct itimerval timer = {
		.it_value = {.tv_sec = patience / 1000, .tv_usec = patience % 1000 * 1000}};

	if (!is_echo())
		on_impatience(sig);
	is_interrupted = 1;
	setitimer(ITIMER_REAL, &timer, NULL);
}

void catch_interrupts(unsigned int patience_ms)
{
	struct sigaction interrupt = {.sa_handler = on_interrupt};
	struct sigaction alarm_clock = {.sa_handler = on_impatience};

	patience = (int)patience_ms;
	on_terminal = isatty(STDERR_FILENO);
	sigaction(SIGALRM, &alarm_clock, NULL);
	sigaction(SIGINT, &interrupt, NULL);
}

bool interrupted(void)
{
	return is_interrupted;
}
