/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A small seeded generator (SplitMix64) for page contents and for tests: the
 * same seed gives the same sequence on every machine. Not for secrets.
 */
#ifndef SP_RANDOM_H
#define SP_RANDOM_H

#include "bits.h"

struct random {
	uint64_t state;
};

static inline uint64_t random_next(struct random *r)
{
	uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Uniform enough in [0, n) for n far below 2^32; n must not be 0. */
static inline uint32_t random_below(struct random *r, uint32_t n)
{
	return (uint32_t)(((random_next(r) >> 32) * (uint64_t)n) >> 32);
}

#endif
