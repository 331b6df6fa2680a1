/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The state of a trial as a number: equal for two trials that can never be told apart any more.
 *
 * What decides how a machine goes on is written down in an order that names have no part in, each
 * frame, swap slot, anon_vma, rmap_item and stable node under the number of its first mention, and
 * hashed with 128 bits. So two trials have the same hash when they differ in nothing but the names of their
 * processes, page frame numbers, swap slots, the places of windows, and what was counted on the way.
 *
 * Promise: of two trials with the same hash, the same steps give the same results, verdicts and
 * hashes, until somebody asks for what depends on frame numbers (STEP_RECLAIM, STEP_COMPACT), or one of
 * them gets old enough for the pruning of chains (stable_node_chains_prune_millisecs, 100 passes by
 * default). Where processes were renamed, "the same step" is that of the process in the same place of
 * `order`.
 *
 * The reverse is not promised: two that cannot be told apart may differ in a bit that nobody will
 * ever read, and are then visited both.
 *
 * Locks: none; a hasher is one thread's, and the trial is not changed.
 *
 *	err = state_hasher_create(&hasher);
 *	err = state_hash(hasher, t, &state);
 *	if (state.hash[0] == other.hash[0] && state.hash[1] == other.hash[1])
 *		...
 *	state_hasher_destroy(hasher);
 */
#ifndef SP_STATE_H
#define SP_STATE_H

#include "trial.h"

struct state {
	uint64_t hash[2];
	unsigned int nr_processes;
	uint8_t order[MAX_PROCESSES]; /* names of the processes that run, in canonical order */
};

struct state_hasher;

int state_hasher_create(struct state_hasher **ret) SP_CHECK;
void state_hasher_destroy(struct state_hasher *h);
/* 0 and *ret, or -ENOMEM. */
int state_hash(struct state_hasher *h, const struct trial *t, struct state *ret) SP_CHECK;

#endif
