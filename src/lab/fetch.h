/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernels from the Debian archive into the cache.
 *
 * apt does the work, and verifies the archive's signature and every package as it does for the system:
 * with lists, sources and caches of our own, so that the system's apt never hears of another suite. The
 * archive's address is the one that the system's apt has for Debian; the keys are the system's too.
 *
 * dpkg unpacks; of what it unpacks the kernel, its configuration and a few modules are kept. Nothing is
 * installed, and no root is needed.
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
