/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What scenarios on one kernel share, when several run one after the other (kernel.h): KSM
 * taken over once, with the guard of its knobs; files that are read again and again; groups;
 * and the agent that all processes are forked from, which was made before this program grew, so
 * that they are small.
 *
 * A session is a cost saved, no state of scenarios: each of them begins with the same knobs,
 * and nothing merged. Without one, a run makes its own.
 *
 *	err = kernel_session_open(&session, msg, sizeof(msg));
 *	options.backend = &kernel_backend;
 *	options.session = session;
 *	err = scenario_run(...); ...
 *	err = kernel_session_close(session, msg, sizeof(msg));
 *
 * Open it early: what the program holds in memory then, every process of a scenario is forked with.
 *
 * Locks: none; one thread, which is also the one that runs the scenarios.
 */
#ifndef SP_KERNEL_SESSION_H
#define SP_KERNEL_SESSION_H

#include <stddef.h>

#include "bits.h"

struct kernel_session;

/* 0; BACKEND_CANNOT with the reason in msg; -ENOMEM. */
int kernel_session_open(struct kernel_session **ret, char *msg, size_t msg_bytes) SP_MUST_CHECK;
/* Puts the knobs back. NULL is allowed. -errno and msg when that did not do. */
int kernel_session_close(struct kernel_session *session, char *msg, size_t msg_bytes);

#endif
