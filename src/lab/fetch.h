/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernels from the Debian archive into the cache.
 *
 * The archive is read by apt, which verifies what it verifies for the system (archive.h). Of what is
 * unpacked the kernel, its configuration and a few modules are kept.
 *
 * Locks: none here; the cache's own keeps two fetches apart (cache.h).
 */
#ifndef SP_FETCH_H
#define SP_FETCH_H

#include "cache.h"

/*
 * What the cache has, or else what the archive has; `newest`: what the archive has, unless the cache
 * has that already. *fetched, which may be NULL: it was not in the cache. A damaged cache is told
 * through `told`, and fetched again.
 */
int fetch_kernel(struct lab *lab, const struct known_kernel *known, bool newest,
		 struct cached_kernel *kernel, bool *fetched,
		 void (*told)(const char *)) SP_MUST_CHECK;

#endif
