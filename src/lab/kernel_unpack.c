/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel that is packed in a bzImage; see kernel_image.h.
 *
 * The boot protocol says where the packed part lies, and its first bytes by what it was packed. After
 * it, for all but gzip, comes its size, which its own unpacker would take for damage.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "elf_needs.h"
#include "kernel_image.h"
#include "tool.h"

#define SECTOR_BYTES   512
#define SETUP_SECTORS  0x1f1
#define PAYLOAD_OFFSET 0x248
#define PAYLOAD_BYTES  0x24c
#define SIZE_BYTES     4
#define PACKED	       "packed" /* the part's name while it is unpacked */

struct packer {
	const char *magic;
	size_t magic_bytes;
	const char *tool;
	size_t after; /* bytes that are not the packer's */
};

static const struct packer packers[] = {
	{"\x28\xb5\x2f\xfd", 4, "zstd", SIZE_BYTES},
	{"\xfd"
	 "7zXZ",
	 5, "xz", SIZE_BYTES},
	{"\x1f\x8b", 2, "gzip", 0},
};

static uint32_t number(const char *at)
{
	const unsigned char *b = (const unsigned char *)at;

	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

/* The packed part, and what unpacks it; NULL when none of ours does. */
static const struct packer *find_packed(const struct text *image, const char **data, size_t *bytes)
{
	size_t sectors, start, length;

	if (image->bytes < PAYLOAD_BYTES + 4)
		return NULL;
	sectors = (unsigned char)image->data[SETUP_SECTORS];
	/* 0 stands for what it was before there was a field for it. */
	start = ((sectors ? sectors : 4) + 1) * SECTOR_BYTES + number(image->data + PAYLOAD_OFFSET);
	length = number(image->data + PAYLOAD_BYTES);
	if (start > image->bytes || length > image->bytes - start)
		return NULL;
	for (unsigned int i = 0; i < ARRAY_SIZE(packers); i++) {
		const struct packer *p = &packers[i];

		if (length < p->magic_bytes + p->after ||
		    memcmp(image->data + start, p->magic, p->magic_bytes) != 0)
			continue;
		*data = image->data + start;
		*bytes = length - p->after;
		return p;
	}
	return NULL;
}

static int read_image(struct lab *lab, const struct cached_kernel *kernel, struct text *image)
{
	char path[PATH_MAX];
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s", kernel->dir, kernel->image.name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return lab_fail(lab, -errno, "%s: %s", path, strerror(errno));
	err = text_read(image, fd);
	close(fd);
	return err ? lab_fail(lab, err, "%s: %s", path, strerror(-err)) : 0;
}

static int remove_file(struct lab *lab, const struct cached_kernel *kernel, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", kernel->dir, name);
	return unlink(path) ? lab_fail(lab, -errno, "%s: %s", path, strerror(errno)) : 0;
}

int kernel_unpack(struct lab *lab, struct cached_kernel *kernel)
{
	struct cached_file packed = {.name = PACKED}, plain = {.name = "vmlinux"};
	const struct packer *packer;
	char tool[PATH_MAX];
	const char *const argv[] = {tool, "-dc", PACKED, NULL};
	struct text image, out;
	const char *data;
	size_t bytes;
	int err;

	text_init(&image, lab->mem);
	text_init(&out, lab->mem);
	err = read_image(lab, kernel, &image);
	if (err)
		goto out;
	packer = find_packed(&image, &data, &bytes);
	if (!packer || tool_find(packer->tool, tool, sizeof(tool)))
		goto out;
	err = cache_write(lab, kernel, &packed, data, bytes);
	if (!err)
		err = tool_run(lab, argv, kernel->dir, &out);
	/* What cannot be unpacked here may still be what the kernel itself can. */
	if (err == -EIO)
		err = 0;
	if (!err)
		err = remove_file(lab, kernel, PACKED);
	if (!err && elf_starts_by_pvh(out.data, out.bytes)) {
		err = cache_write(lab, kernel, &plain, out.data, out.bytes);
		if (!err)
			err = remove_file(lab, kernel, kernel->image.name);
		if (!err)
			kernel->image = plain;
	}
out:
	text_destroy(&image);
	text_destroy(&out);
	return err;
}
