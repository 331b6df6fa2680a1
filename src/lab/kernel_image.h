/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a kernel file says of itself, before half a minute is spent on booting what is none: the magic
 * of a bzImage, its release, and, where its configuration lies beside it, whether it has KSM.
 *
 * A path is completed to what the cache has for a kernel that is known by name: vmlinuz-R has its
 * config-R in the same directory, or vmlinuz its config; modules are looked for in the lib/modules/R
 * of the same tree and in the running system's.
 *
 * Locks: none; one thread.
 */
#ifndef SP_KERNEL_IMAGE_H
#define SP_KERNEL_IMAGE_H

#include "cache.h"

/* The release that a bzImage names, "" where it names none. -ENOEXEC: not a bzImage. */
int bzimage_release(int fd, char *release, size_t bytes) SP_MUST_CHECK;

/* NULL, or what the configuration lacks that the lab cannot do without. */
const char *config_lacks(const char *config);

/* The kernel's configuration, where there is one, has what is needed; -ENOTSUP, and why. */
int kernel_check_config(struct lab *lab, const struct cached_kernel *kernel) SP_MUST_CHECK;

/* The kernel at this path. Modules, unpacked, go to the cache. */
int kernel_from_path(struct lab *lab, const char *path, struct cached_kernel *kernel) SP_MUST_CHECK;

/*
 * Unpacks the image, where its packer is installed and the kernel can start without a boot loader, and
 * makes that the kernel's image: unpacking a kernel takes an emulated processor two seconds, at every
 * boot. Else the image stays as it is.
 */
int kernel_unpack(struct lab *lab, struct cached_kernel *kernel) SP_MUST_CHECK;

/*
 * Finds the modules that a guest needs below `root`, unpacks them into kernel->dir and lists them in
 * the order of loading. `root` may lack them: then the guest has no swap.
 */
int kernel_add_modules(struct lab *lab, const char *root,
		       struct cached_kernel *kernel) SP_MUST_CHECK;

#endif
