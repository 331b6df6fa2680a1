/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Other programs: apt-get, dpkg, xz, QEMU. They are found, run without a shell, and die with this
 * process, however it dies; what they say is kept, and their last line of complaint is what a
 * message quotes.
 *
 *	const char *argv[] = {"xz", "-dc", path, NULL};
 *
 *	err = tool_run(lab, argv, NULL, &out);
 *
 * A program must be started by the thread that lives as long as the process, the main one: Linux
 * takes the end of that thread for the parent's death.
 */
#ifndef SP_TOOL_H
#define SP_TOOL_H

#include <sys/types.h>

#include "lab.h"

/* -ENOENT when PATH has no such program; says nothing. */
int tool_find(const char *name, char *path, size_t bytes) SP_MUST_CHECK;
/* The same, saying which of Debian's packages would have it. */
int tool_require(struct lab *lab, const char *name, const char *package, char *path,
		 size_t bytes) SP_MUST_CHECK;

/*
 * Standard input, output and error of the new process; -1 is /dev/null. Other descriptors are
 * closed but those of keep[], which end with -1.
 */
struct tool_files {
	int in, out, err;
	const int *keep;
};

/* Starts it, not in the terminal's foreground group where `apart` is set: ^C is then ours alone. */
int tool_start(struct lab *lab, const char *const argv[], const char *dir,
	       const struct tool_files *files, bool apart, pid_t *ret) SP_MUST_CHECK;

/* What is heard of it while it runs; each may be NULL. */
struct tool_ears {
	struct text *out, *err;
	/* Some more was added to *out, which must not be NULL then. */
	void (*heard)(void *arg, const struct text *out);
	void *arg;
};

/*
 * Runs it to its end, in `dir` where that is not NULL. -EIO when it failed, with its last words in
 * lab->msg; -EINTR when it was stopped: it was asked to end, with all that it started, had a second
 * to put away what is half done, and was killed then.
 */
int tool_hear(struct lab *lab, const char *const argv[], const char *dir,
	      const struct tool_ears *ears) SP_MUST_CHECK;
/* The same; its output is added to *out, which may be NULL. */
int tool_run(struct lab *lab, const char *const argv[], const char *dir,
	     struct text *out) SP_MUST_CHECK;

#endif
