/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which kernels the lab knows by name, and which of Debian's packages hold them.
 *
 * A kernel's packages carry its release in their names, so that the newest one is found among names:
 * linux-image-6.1.0-50-cloud-amd64. Newer Debian's linux-image-* is empty and depends on linux-binary-*,
 * linux-modules-* and linux-base-* of the same release; what a stanza of the index depends on says so,
 * whatever the version.
 *
 * Pure functions on texts, without locks; apt is run in fetch.c.
 */
#ifndef SP_DEBIAN_H
#define SP_DEBIAN_H

#include "lab.h"

struct known_kernel {
	const char *name;   /* "6.12" */
	const char *suite;  /* of the archive */
	const char *prefix; /* of its package's name */
	const char *suffix;
};

/* In rising order; ended by one without a name. */
extern const struct known_kernel known_kernels[];
const struct known_kernel *kernel_by_name(const char *name);

/* As dpkg orders versions: < 0, 0, > 0. */
int debian_version_compare(const char *a, const char *b);

/* One of a kernel's packages. */
struct debian_package {
	char name[128], version[128];
};

#define DEBIAN_PACKAGES_MAX 8

/*
 * The newest of these names, one a line, that is this kernel's; its release ("6.1.0-50-cloud-amd64") in
 * `release`. -ENOENT when there is none.
 */
int debian_newest(const struct known_kernel *kernel, const char *names, char *release,
		  size_t bytes) SP_MUST_CHECK;

/*
 * What a stanza of the package index says: the package itself, then those of the same release that it
 * depends on. Their number, or -EINVAL.
 */
int debian_packages(const char *stanza, const char *release,
		    struct debian_package packages[DEBIAN_PACKAGES_MAX]) SP_MUST_CHECK;

/*
 * From lines of DEBIAN_TARGET_FORMAT, as apt-get indextargets writes them, the address of the Debian
 * archive. -ENOENT when none of them is it.
 */
int debian_archive(const char *targets, char *uri, size_t bytes) SP_MUST_CHECK;
#define DEBIAN_TARGET_FORMAT "$(LABEL)|$(COMPONENT)|$(REPO_URI)"

#endif
