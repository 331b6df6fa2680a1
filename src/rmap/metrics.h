/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The metrics of reverse walks (R5): counting one loop, folding a walk into totals.
 *
 * A loop is one rmap_item in one pass. It counts into a small struct on the stack and is
 * folded once, after its lock is released, so that counting adds nothing to the hold that it
 * measures.
 *
 * Locks: none; the totals belong to the machine's thread.
 */
#ifndef SP_METRICS_H
#define SP_METRICS_H

#include "bits.h"
#include "samepage.h"

struct walk_loop {
	uint64_t iterations, out_of_range, mm_mismatch, invalid, calls;
	uint64_t hold_ns;
};

void walk_metrics_add_loop(struct sp_walk_metrics *metrics, unsigned int pass,
			   const struct walk_loop *loop);
/* One walk ended. */
void walk_metrics_add_walk(struct sp_walk_metrics *metrics, uint64_t walk_ns);
/* Adds what `part` counted: sums add, maxima are the larger. */
void walk_metrics_fold(struct sp_walk_metrics *metrics, const struct sp_walk_metrics *part);

#endif
