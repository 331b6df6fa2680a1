/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a guest is given: this command with the libraries it needs, the kernel's modules, and the files
 * that it works on. No other program is in it, so that nothing but the kernel and this command
 * decides what happens; a shell's guest has the host's shell and a few tools.
 *
 * Which libraries a program needs is asked of its own loader. Inside, all of them lie in /lib, which
 * the kernel's command line names to the loader (qemu.c).
 *
 * The archive is a file without a name in the cache's directory: it is gone with its descriptor.
 *
 * Locks: none; one thread.
 */
#ifndef SP_INITRAMFS_H
#define SP_INITRAMFS_H

#include "cache.h"

struct initramfs_file {
	const char *host_path;
	char guest_path[PATH_MAX]; /* absolute */
	bool program;              /* to be run: its libraries come along */
};

struct initramfs_spec {
	const struct cached_kernel *kernel;
	const char *const *argv; /* of the command, argv[0] included; NULL: none */
	const struct initramfs_file *files;
	unsigned int nr_files;
	bool shell;
};

/* *ret: the archive, to be closed by the caller. */
int initramfs_build(struct lab *lab, const struct initramfs_spec *spec, int *ret) SP_MUST_CHECK;

/*
 * The path inside of a file that the command is to name as the host does, where that can be: below
 * GUEST_WORK, or, for a path that leads elsewhere, under its last name there; `nr` keeps those apart.
 * `name` is what the command is then given.
 */
void initramfs_place(const char *host_path, unsigned int nr, struct initramfs_file *file,
		     char *name, size_t bytes);

#endif
