/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage check --on kernel: generated sequences on the engine and on a kernel, compared.
 *
 *	check_kernel.c		in guests, or, with --here, on the running kernel; the exit status
 *	check_kernel_report.c	what came of it, for people and for programs
 *
 * Locks: none; the main thread's alone.
 */
#ifndef SP_CHECK_KERNEL_H
#define SP_CHECK_KERNEL_H

#include "check.h"
#include "compared.h"

struct check_kernel_report {
	const struct check_options *options;
	struct compared compared;
	const char *kernel; /* its name, or "this kernel" */
	char **files;	    /* of each finding, then of each end; NULL: not written */
};

/* Exit status. */
int check_on_kernel(const struct check_options *o);

void check_kernel_print_people(const struct check_kernel_report *r);
void check_kernel_print_json(const struct check_kernel_report *r);
/* The scenario with a comment that says what differs. To be freed; NULL: out of memory. */
char *check_kernel_scenario(const struct check_kernel_report *r, const struct compared_finding *f);
char *check_kernel_end_scenario(const struct check_kernel_report *r, const struct compared_end *e);

#endif
