/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The source of the newest kernel that the lab knows, in the cache:
 *
 *	DIR/source/7.2/version	the package's
 *	DIR/source/7.2/linux	the tree, without the parts that no guest has a use for
 *
 * It comes from the Debian archive as kernels do (fetch.h), verified by apt, and appears whole, by
 * a rename, or not at all. Nothing is built in it (kernel_build.h).
 *
 *	err = kernel_source(&lab, &source);
 *
 * Locks: takes the cache's own, which keeps two fetches apart (cache.h).
 */
#ifndef SP_KERNEL_SOURCE_H
#define SP_KERNEL_SOURCE_H

#include "cache.h"

/* What it takes on disk while it is fetched and afterwards. */
#define KERNEL_SOURCE_BYTES (UINT64_C(1500) << 20)

struct kernel_source {
	char tree[PATH_MAX];
	struct debian_package package; /* "linux-source-7.2" and its version */
};

/* Is it here? No network is needed then. */
bool kernel_source_is_here(struct lab *lab, struct kernel_source *source);
/* What the cache has, or else what the archive has. */
int kernel_source(struct lab *lab, struct kernel_source *source) SP_MUST_CHECK;

#endif
