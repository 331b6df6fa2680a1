/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The comparison of on_kernel.h in guests: a batch of sequences a boot, several guests at a time.
 *
 * Batches are the same for any number of jobs. A guest that dies, hangs, or whose kernel
 * complains costs the sequence that it was at: that is told, and the next boot goes on behind
 * it. One whose kernel cannot be compared any more (processes hang in it, say) is replaced, and
 * the sequence is tried once more.
 *
 *	struct on_guests_options o = {.kernel = &kernel, .seed = 1, .nr = 1000, .nr_jobs = 2, ...};
 *	err = on_guests_run(lab, &o, &report);
 *	if (err)
 *		complain("%s", lab->msg);
 *
 * Locks: none; the main thread (qemu.h). lab->stop ends it; report->interrupted says so.
 */
#ifndef SP_ON_GUESTS_H
#define SP_ON_GUESTS_H

#include "cache.h"
#include "compared.h"

#define ON_GUESTS_JOBS	   2
#define ON_GUESTS_JOBS_MAX 8
/* So many bad ends are enough. */
#define ON_GUESTS_ENDS_MAX 16

struct on_guests_progress {
	const struct compared *report;
	double fraction;
	uint64_t elapsed_ns;
	unsigned int nr_running, nr_booting;
	unsigned int nr_shrinking;
};

struct on_guests_options {
	const struct cached_kernel *kernel;
	uint64_t seed;
	uint64_t nr;	  /* sequences; 0: until the time is over */
	uint64_t time_ns; /* 0: no limit */
	unsigned int depth, nr_tries, nr_jobs;
	void (*progress)(void *arg, const struct on_guests_progress *p); /* a few times a second */
	void *progress_arg;
};

/* 0, also when guests ended badly; -errno with lab->msg when none could be had, -ENOMEM. */
int on_guests_run(struct lab *lab, const struct on_guests_options *o,
		  struct compared *report) SP_CHECK;

#endif
