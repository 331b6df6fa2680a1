/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a failed assertion ends: one line on stderr, then abort, so that a
 * debugger or a sanitizer shows the stack. Takes no lock.
 */
#include "assertion.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void sp_assert_failed(const char *expr, const char *file, int line,
				const char *func)
{
	fprintf(stderr, "samepage: %s:%d: %s: assertion failed: %s\n", file,
		line, func, expr);
	abort();
}
