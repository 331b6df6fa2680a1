/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes an archive in the format that Linux takes as an initramfs ("newc": a header of hexadecimal
 * numbers, the name and the contents, each padded to four bytes).
 *
 * Directories come into being with what is in them. Owners are root, whoever writes it, and times are
 * 0, so that the same contents give the same archive.
 *
 *	cpio_init(&cpio, &mem, fd);
 *	err = cpio_file(&cpio, "/bin/samepage", 0755, data, bytes);
 *	...
 *	err = cpio_end(&cpio);
 *	cpio_destroy(&cpio);
 *
 * Paths are absolute, and no member is written twice; an error, -errno of write(), is final.
 *
 * Locks: none; one thread uses an archive.
 */
#ifndef SP_CPIO_H
#define SP_CPIO_H

#include "lab.h"

struct cpio {
	int fd, err;
	uint32_t nr_members; /* also the inode numbers, since Linux takes equal ones for one file */
	uint64_t bytes;
	struct text names; /* of what there is, each ended by a NUL */
};

void cpio_init(struct cpio *cpio, struct mem *mem, int fd);
void cpio_destroy(struct cpio *cpio);
/* Is there a member of this name? */
bool cpio_has(const struct cpio *cpio, const char *path);
int cpio_dir(struct cpio *cpio, const char *path) SP_MUST_CHECK;
int cpio_file(struct cpio *cpio, const char *path, unsigned int mode, const void *data,
	      size_t bytes) SP_MUST_CHECK;
int cpio_char_device(struct cpio *cpio, const char *path, unsigned int major,
		     unsigned int minor) SP_MUST_CHECK;
/* The member that ends it. */
int cpio_end(struct cpio *cpio) SP_MUST_CHECK;

#endif
