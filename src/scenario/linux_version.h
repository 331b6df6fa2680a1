/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Versions of Linux, as scenarios speak of them: MAJOR.MINOR, as one number
 * that compares, and ranges of them. The third number of a release is left
 * out on purpose: what a stable release mends is as in the version that it came
 * from, as far as scenarios are concerned, and the newest stable release counts (V22).
 *
 * A range is inclusive on both sides, so that each of < <= == >= > makes one,
 * and two conditions on a line are their intersection.
 *
 *	uint32_t version;
 *
 *	err = linux_version_of_release("7.2.13+deb14-cloud-amd64", &version);
 *	if (!err && linux_range_has(&range, version))
 *		...
 *
 * What it does not do: tell what differs between two versions. Scenarios
 * declare that, and docs/facts.md says why.
 *
 * Locking: none; plain data.
 */
#ifndef SP_LINUX_VERSION_H
#define SP_LINUX_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bits.h"

#define LINUX_VERSION(major, minor) ((uint32_t)(major) << 16 | (uint32_t)(minor))
#define LINUX_VERSION_LAST_PART 65535

/* The Linux that the engine does as. */
#define LINUX_VERSION_ENGINE LINUX_VERSION(7, 2)

struct linux_range {
	uint32_t first, last; /* first > last: no version */
};

#define LINUX_RANGE_ALL ((struct linux_range){ 0, UINT32_MAX })

/* "7.2.13-whatever", as uname(2) has it. -EINVAL: no version stands there. */
int linux_version_of_release(const char *release, uint32_t *ret) SP_MUST_CHECK;
/* Of the running kernel. */
int linux_version_running(uint32_t *ret) SP_MUST_CHECK;
/* "7.2" */
void linux_version_format(uint32_t version, char *buf, size_t size);
#define LINUX_VERSION_BYTES 16

static inline bool linux_range_has(const struct linux_range *range, uint32_t version)
{
	return version >= range->first && version <= range->last;
}

static inline bool linux_range_is_all(const struct linux_range *range)
{
	return !range->first && range->last == UINT32_MAX;
}

#endif
