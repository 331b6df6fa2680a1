/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A crew: threads that do the same work until none is left, while their caller looks on.
 *
 * The caller sleeps and wakes ten times a second to show progress and to see whether it should end the
 * work, so workers never read a clock or print. Work is taken from an atomic counter, not divided
 * beforehand, and a crew may turn out smaller than was asked for: when the system gives no more threads,
 * those that there are do it all; when it gives none, the caller does, unwatched.
 *
 * Locks: a mutex around the number of workers that still run, taken once by each. What workers
 * share is their caller's affair; all that they wrote is visible once crew_run() returns.
 *
 *	crew_run(nr_jobs, work, tick, &search);	// work(&search, 0), work(&search, 1) ...
 */
#ifndef SP_CREW_H
#define SP_CREW_H

void crew_run(unsigned int nr, void (*work)(void *arg, unsigned int index), void (*tick)(void *arg),
	      void *arg);

#endif
