/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernels of our own making, in the cache beside Debian's:
 *
 *	built, built-debug	Debian's newest source (kernel_source.h)
 *	own, own-debug		a tree of the user's
 *
 * Each is tinyconfig with what the lab asks of a kernel (kernel/lab.config), and with what finds
 * mistakes in locking (kernel/lab-debug.config) for those called debug. It is built outside its
 * source, in DIR/build, which stays: the next build compiles what was changed. Whatever a build
 * ends with, the kernel of that name in the cache is whole, the new one or the old one.
 *
 *	err = build_require(&lab, &spec);		// before anything is fetched or written
 *	err = build_kernel(&lab, &spec, &kernel, told);
 *
 * Locks: a build's directory has one of its own, held while it is built in; the cache's is held
 * only while the kernel is put there.
 */
#ifndef SP_KERNEL_BUILD_H
#define SP_KERNEL_BUILD_H

#include "cache.h"

struct build_spec {
	const char *source; /* a tree of the user's; NULL: Debian's */
	const char *
		output; /* a directory that also gets vmlinuz-RELEASE and config-RELEASE; or NULL */
	bool debug;
};

/* The names, ended by NULL. */
extern const char *const built_names[];
bool is_built_name(const char *name);
const char *built_name(const struct build_spec *spec);

/* The tree, the tools and the room on disk are there: all that is missing is in one message. */
int build_require(struct lab *lab, const struct build_spec *spec) SP_MUST_CHECK;
/* `told` gets one line for what is worth knowing of a build that succeeds. */
int build_kernel(struct lab *lab, const struct build_spec *spec, struct cached_kernel *kernel,
		 void (*told)(const char *)) SP_MUST_CHECK;

/*
 * The options that `wanted` sets and `config` has not, or otherwise, separated by blanks; "" when
 * all are met. What does not fit is left out.
 */
void config_unmet(const char *wanted, const char *config, char *list, size_t bytes);

#endif
