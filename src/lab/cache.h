/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernels on disk:
 *
 *	DIR/lock			held by whoever changes anything
 *	DIR/kernels/6.12/manifest	what is here, and the checksum of each file
 *	DIR/kernels/6.12/vmlinux, config, zram.ko, ...
 *	DIR/apt/6.12/...		apt's lists, so that the next look is short
 *
 * DIR is $SAMEPAGE_CACHE, else $XDG_CACHE_HOME/samepage, else ~/.cache/samepage.
 *
 * A kernel's directory appears whole, by a rename, or not at all. Its checksums guard against what
 * disks and hands do to files; that the files are Debian's was verified by apt when they were fetched.
 *
 * Modules are kept unpacked, in the order in which they must be loaded.
 */
#ifndef SP_CACHE_H
#define SP_CACHE_H

#include "debian.h"

#define CACHED_MODULES_MAX 16

struct cached_file {
	char name[64];
	uint64_t bytes;
	char sum[33]; /* 128 bits of xxHash in hexadecimal */
};

struct cached_kernel {
	char name[64];			  /* "6.12", or the path of a kernel that was named by it */
	char release[128];		  /* "6.12.95+deb12-cloud-amd64" */
	struct debian_package package;	  /* where it is from; "" for a path */
	char dir[PATH_MAX - 128];	  /* where the files are */
	struct cached_file image, config; /* config.name is "" where there is none */
	struct cached_file modules[CACHED_MODULES_MAX];
	unsigned int nr_modules;
};

/* Finds and makes the directory. */
int cache_open(struct lab *lab) SP_MUST_CHECK;
/* Waits for whoever else changes the cache. */
int cache_lock(struct lab *lab) SP_MUST_CHECK;
void cache_unlock(struct lab *lab);

/*
 * Reads and checks what is there: 0; -ENOENT not there; -EUCLEAN what is there is damaged, and how in
 * lab->msg.
 */
int cache_load(struct lab *lab, const char *name, struct cached_kernel *kernel) SP_MUST_CHECK;

/* An empty directory to put a kernel's files in; its path in kernel->dir. The caller holds the lock. */
int cache_begin(struct lab *lab, struct cached_kernel *kernel) SP_MUST_CHECK;
/* Size and checksum of a file in kernel->dir, for the manifest. */
int cache_describe(struct lab *lab, const struct cached_kernel *kernel,
		   struct cached_file *file) SP_MUST_CHECK;
/* Writes a file of that name into kernel->dir, and describes it. */
int cache_write(struct lab *lab, const struct cached_kernel *kernel, struct cached_file *file,
		const void *data, size_t bytes) SP_MUST_CHECK;
/* Writes the manifest and takes the place of what was there. */
int cache_commit(struct lab *lab, struct cached_kernel *kernel) SP_MUST_CHECK;

/* A directory below DIR, made where it is missing: cache_subdir(lab, path, sizeof(path), "apt/%s", name). */
int cache_subdir(struct lab *lab, char *path, size_t bytes, const char *fmt, ...)
	SP_PRINTF(4, 5) SP_MUST_CHECK;
/* All that is below it, and itself; errors are not told: it is only ever what will be made again. */
void remove_tree(const char *path);

#endif
