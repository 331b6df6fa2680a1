/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the validators of all layers say what they found wrong: a bounded
 * text that keeps the first findings and counts the rest, so that a broken
 * structure of a million objects is reported in a few lines.
 *
 *	report_init(&report);
 *	vm_validate(vm, &report);
 *	if (report.nr_findings) ... report.text
 */
#ifndef SP_REPORT_H
#define SP_REPORT_H

#include "bits.h"

struct report {
	uint64_t nr_findings;
	size_t used;
	char text[4096]; /* lines, each ended by a newline */
};

void report_init(struct report *report);
void report_add(struct report *report, const char *fmt, ...) SP_PRINTF(2, 3);

/* Adds the formatted text as a line when the condition is false. */
#define REPORT_UNLESS(report, cond, ...)                 \
	do {                                             \
		if (__builtin_expect(!(cond), 0))        \
			report_add(report, __VA_ARGS__); \
	} while (0)

#endif
