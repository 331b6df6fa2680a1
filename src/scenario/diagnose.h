/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Collecting what is wrong with a file, in the order of its lines, whichever
 * phase found it. The same place is complained about once: a loop's body is
 * checked for its first and its last round.
 *
 * Locking: none; the thread that parses.
 */
#ifndef SP_DIAGNOSE_H
#define SP_DIAGNOSE_H

#include <stdarg.h>

#include "scenario.h"

struct diagnose {
	struct diagnostics *out;
	const char *path;
	uint32_t line[DIAGNOSTICS_MAX], column[DIAGNOSTICS_MAX];
};

void diagnose_init(struct diagnose *d, struct diagnostics *out, const char *path);
/* line 0: about the whole file. column counts from 1. */
void diagnose_add(struct diagnose *d, uint32_t line, uint32_t column, const char *fmt, ...)
	SP_PRINTF(4, 5);
void diagnose_add_va(struct diagnose *d, uint32_t line, uint32_t column, const char *fmt,
		     va_list ap) SP_PRINTF(4, 0);

#endif
