/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two clocks of a machine.
 *
 * `struct clock` is the machine's simulated time: daemon sleeps and scan
 * intervals advance it, so a run is a function of the file and the seed.
 * clock_measure_ns() is the host's monotonic clock, for durations of walks and
 * lock holds, which are always measured and never steer what the engine does.
 */
#ifndef SP_CLOCK_H
#define SP_CLOCK_H

#include <time.h>

#include "bits.h"

struct clock {
	uint64_t now_ns; /* simulated time since the machine was created */
};

/* Time ends after 584 years: then it stands still, it never goes back. */
static inline uint64_t clock_after_ns(const struct clock *clock, uint64_t ns)
{
	return ns > UINT64_MAX - clock->now_ns ? UINT64_MAX : clock->now_ns + ns;
}

static inline uint64_t clock_after_ms(const struct clock *clock, uint64_t ms)
{
	return clock_after_ns(clock, ms > UINT64_MAX / 1000000 ? UINT64_MAX : ms * 1000000);
}

static inline void clock_advance_ns(struct clock *clock, uint64_t ns)
{
	clock->now_ns = clock_after_ns(clock, ns);
}

static inline uint64_t clock_now_ms(const struct clock *clock)
{
	return clock->now_ns / 1000000;
}

static inline uint64_t clock_measure_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

#endif
