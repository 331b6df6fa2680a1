/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A backend that does nothing but write down what it is asked, one line a
 * call, addresses relative to where windows start ("w+0x2000"). A call can be
 * told what to return. Pages are all absent, and have no contents.
 *
 *	fake_reset();
 *	fake_return("madvise", -EAGAIN);	// every madvise from now on
 *	fake_return("counter pages_sharing", 3);
 *	options.backend = &fake_backend;
 *	... fake_log()
 *
 * One machine at a time: the log is the test's.
 */
#ifndef SP_FAKE_BACKEND_H
#define SP_FAKE_BACKEND_H

#include "backend.h"

extern const struct backend_ops fake_backend;

void fake_reset(void);
void fake_return(const char *call, int64_t value);
/* What a walk finds. */
void fake_walk(const struct sp_walk_result *result);
/* Tells the interpreter of a miss, as the kernel's own walks do. */
void fake_audit_at(const char *call, const struct sp_walk_result *result);
/* Everything since the machine was made, without the knobs that start ksmd. */
const char *fake_log(void);

#endif
