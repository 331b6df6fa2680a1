/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scenario as one stand-alone C file: the system calls that the kernel
 * backend (kernel.h) makes, the same checks, the same verdict, without anything
 * but libc and the headers of Linux. It is meant to be read: in a mail to those
 * who maintain the code, main() is the scenario, line by line.
 *
 *   ctext.c		C text: growing, breaking lines, identifiers
 *   gen_name.c		names, windows and families as C has them
 *   gen_expr.c		values and ranges
 *   gen_op.c		operations
 *   gen_work.c		operations on the machine: processes, ksmd, pages
 *   gen_expect.c	expectations
 *   gen_body.c	statements, and the comments of the scenario's file between them
 *   export.c		the file as a whole; what cannot be exported
 *   helpers.c		of the helpers in repro_*.c.in, those that are used
 *
 * PROCESSES are real ones, forked where the scenario forks, and told what to
 * do one call at a time; so the scenario reads from top to bottom although it
 * happens in several processes.
 *
 * TWICE. The text is generated twice: the first time shows which names are read
 * at all (a compiler warns of the others) and how many members a family has,
 * the second is kept.
 *
 * WHAT A KERNEL DOES NOT SHOW, walks above all, becomes a comment; what only
 * some kernels do not show is found out when the program runs, and not counted.
 *
 * WHAT CANNOT BE EXPORTED is refused before anything is written: memory that
 * comes from a core or a process, and what no kernel does at all, such as a
 * machine of so many frames.
 *
 *	err = export_c(scenario, &input, &out, msg, sizeof(msg));
 *	if (!err)
 *		fwrite(ctext_string(&out), 1, out.bytes, f);
 *
 * Locking: none; the scenario is only read.
 */
#ifndef SP_EXPORT_H
#define SP_EXPORT_H

#include <errno.h>

#include "ctext.h"
#include "scenario.h"

struct export_input {
	const char *text;    /* of the scenario's file, whose comments are kept */
	size_t bytes;
	const char *command; /* by which it is made, for the reader */
};

/* What export_c() refuses with: */
#define EXPORT_NOT_THIS (-EOPNOTSUPP) /* another scenario could be: exit status 2 */
#define EXPORT_NO_KERNEL (-ENODEV)     /* no kernel can do that: exit status 3 */

/* 0; or one of those, with a line in msg; or -ENOMEM. */
int export_c(const struct scenario *scenario, const struct export_input *input, struct ctext *out,
	     char *msg, size_t msg_bytes) SP_MUST_CHECK;

#endif
