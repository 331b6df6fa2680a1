/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The random generator: makes up sequences, one step at a time, looking at the trial's model so that
 * most steps mean something (moves of what is mapped, forks of what runs), and some do not.
 *
 * It knows the alphabet and how often each letter is worth trying, none of the sequences that are known
 * to fail. A sequence is a function of (seed, number, length) and of what the machine does.
 *
 *	generator_start(&g, seed, number);
 *	generator_shape(&g, &sequence.shape);
 *	trial_start(...)
 *	while (sequence.nr < length) {
 *		sequence_add(&sequence, step = generator_next(&g, t));
 *		trial_step(t, &step, &result);
 *	}
 *
 * Locks: none. One thread uses a generator.
 */
#ifndef SP_GENERATE_H
#define SP_GENERATE_H

#include "random.h"
#include "trial.h"

struct generator {
	struct random random;
	unsigned int nr_made;
	unsigned int nr_processes_max;
	uint8_t knobs[8]; /* to be set first; nr_knobs of them */
	unsigned int nr_knobs;
	unsigned int nr_kinds;
	uint8_t kinds[1024]; /* each kind as often as it weighs; nr_kinds of them */
};

void generator_start(struct generator *g, uint64_t seed, uint64_t number);
void generator_shape(struct generator *g, struct shape *shape);
struct step generator_next(struct generator *g, const struct trial *t);

#endif
