/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One suite of the Debian archive, read by apt with lists, sources and caches of our own, so that
 * the system's apt never hears of another suite. The archive's address is the one that the system's
 * apt has for Debian; the keys are the system's too, and apt verifies what it verifies for the
 * system.
 *
 * dpkg unpacks; nothing is installed, and no root is needed.
 *
 *	err = archive_open(&a, lab, "7.2", "sid");
 *	err = archive_update(&a);
 *	err = archive_run(&a, (const char *const[]){"apt-cache", "show", name, NULL}, &out);
 *	err = archive_unpack(&a, packages, nr, below, tree);
 *
 * Locks: none here; whoever opens an archive holds the cache's lock, since its lists lie there.
 */
#ifndef SP_ARCHIVE_H
#define SP_ARCHIVE_H

#include "debian.h"

#define ARCHIVE_OPTIONS 14

struct archive {
	struct lab *lab;
	const char *name; /* of what it is read for: its lists lie in apt/NAME */
	const char *suite;
	char apt_dir[PATH_MAX];
	char options[ARCHIVE_OPTIONS][PATH_MAX + 64]; /* of every call of apt */
};

int archive_open(struct archive *a, struct lab *lab, const char *name,
		 const char *suite) SP_MUST_CHECK;
/* The suite's index as it is now. */
int archive_update(struct archive *a) SP_MUST_CHECK;
/* apt-get or apt-cache, with our options after the first of the words, which a NULL ends. */
int archive_run(struct archive *a, const char *const words[], struct text *out) SP_MUST_CHECK;
/*
 * Fetches the packages into a directory of the cache that is gone afterwards, and unpacks them
 * below `tree`.
 */
int archive_unpack(struct archive *a, const struct debian_package *packages, int nr,
		   const char *below, const char *tree) SP_MUST_CHECK;

#endif
