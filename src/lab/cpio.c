/* SPDX-License-Identifier: GPL-2.0-only */
/* Archives for the kernel; see cpio.h. */
#include "cpio.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define HEADER_BYTES 110
#define PATH_BYTES   4096

struct member {
	unsigned int mode, major, minor;
	const char *name;
	const void *data;
	size_t bytes;
};

void cpio_init(struct cpio *cpio, struct mem *mem, int fd)
{
	*cpio = (struct cpio){.fd = fd};
	text_init(&cpio->names, mem);
}

void cpio_destroy(struct cpio *cpio)
{
	text_destroy(&cpio->names);
}

bool cpio_has(const struct cpio *cpio, const char *path)
{
	const char *end = cpio->names.data + cpio->names.bytes;

	for (const char *name = cpio->names.data; name && name < end; name += strlen(name) + 1)
		if (!strcmp(name, path))
			return true;
	return false;
}

static void put(struct cpio *cpio, const void *data, size_t bytes)
{
	static const char zeros[4];

	if (!cpio->err)
		cpio->err = write_all(cpio->fd, data, bytes);
	cpio->bytes += bytes;
	if (!cpio->err && cpio->bytes % 4)
		cpio->err = write_all(cpio->fd, zeros, 4 - cpio->bytes % 4);
	cpio->bytes = (cpio->bytes + 3) & ~UINT64_C(3);
}

static int put_member(struct cpio *cpio, const struct member *m)
{
	char head[HEADER_BYTES + PATH_BYTES];
	size_t name_bytes = strlen(m->name) + 1;
	int n;

	if (name_bytes > PATH_BYTES || m->bytes > UINT32_MAX)
		cpio->err = cpio->err ? cpio->err : -EFBIG;
	if (cpio->err)
		return cpio->err;
	n = snprintf(head, sizeof(head),
		     "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s",
		     ++cpio->nr_members, m->mode, 0, 0, 1, 0, (unsigned int)m->bytes, 0, 0,
		     m->major, m->minor, (unsigned int)name_bytes, 0, m->name);
	put(cpio, head, (size_t)n + 1);
	put(cpio, m->data, m->bytes);
	return cpio->err;
}

static int remember(struct cpio *cpio, const char *path)
{
	if (!cpio->err)
		cpio->err = text_add(&cpio->names, path, strlen(path) + 1);
	return cpio->err;
}

/* The directories above it; the archive's names have no slash at their start. */
static int put_parents(struct cpio *cpio, const char *path)
{
	char parent[PATH_BYTES];

	if (cpio->err)
		return cpio->err;
	if (path[0] != '/' || cpio_has(cpio, path) ||
	    (size_t)snprintf(parent, sizeof(parent), "%s", path) >= sizeof(parent)) {
		cpio->err = -EINVAL;
		return cpio->err;
	}
	for (char *slash = parent + 1; (slash = strchr(slash, '/')); slash++) {
		struct member m = {.mode = S_IFDIR | 0755, .name = parent + 1};

		*slash = 0;
		if (!cpio_has(cpio, parent) && (put_member(cpio, &m) || remember(cpio, parent)))
			break;
		*slash = '/';
	}
	return cpio->err;
}

static int add_member(struct cpio *cpio, const char *path, struct member *m)
{
	m->name = path + 1;
	if (put_parents(cpio, path) || put_member(cpio, m))
		return cpio->err;
	return remember(cpio, path);
}

int cpio_dir(struct cpio *cpio, const char *path)
{
	if (cpio_has(cpio, path))
		return cpio->err;
	return add_member(cpio, path, &(struct member){.mode = S_IFDIR | 0755});
}

int cpio_file(struct cpio *cpio, const char *path, unsigned int mode, const void *data,
	      size_t bytes)
{
	return add_member(cpio, path,
			  &(struct member){.mode = S_IFREG | mode, .data = data, .bytes = bytes});
}

int cpio_char_device(struct cpio *cpio, const char *path, unsigned int major, unsigned int minor)
{
	return add_member(cpio, path,
			  &(struct member){.mode = S_IFCHR | 0600, .major = major, .minor = minor});
}

int cpio_end(struct cpio *cpio)
{
	cpio->nr_members = UINT32_MAX; /* becomes 0, as is usual */
	return put_member(cpio, &(struct member){.name = "TRAILER!!!"});
}
