/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of /proc and /sys that stay open; see kept_file.h. */
#include "kept_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The entry, opened now if it was not; -errno. NULL and 0: there is no room for it. */
static int find(struct kept_files *files, const char *path, const struct kept_file **ret)
{
	struct kept_file *file;

	*ret = NULL;
	for (unsigned int i = 0; i < files->nr; i++)
		if (!strcmp(files->list[i].path, path)) {
			*ret = &files->list[i];
			return 0;
		}
	if (files->nr == KEPT_FILES_MAX || strlen(path) >= sizeof(file->path))
		return 0;
	file = &files->list[files->nr];
	file->writable = true;
	file->fd = open(path, O_RDWR | O_CLOEXEC);
	if (file->fd < 0 && (errno == EACCES || errno == EPERM || errno == EROFS)) {
		file->writable = false;
		file->fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (file->fd < 0)
		return -errno;
	strcpy(file->path, path);
	files->nr++;
	*ret = file;
	return 0;
}

int kept_read(struct kept_files *files, const char *path, char *buf, size_t size)
{
	const struct kept_file *file;
	size_t used = 0;
	int err = find(files, path, &file);

	if (err)
		return err;
	if (!file)
		return proc_text_read(path, buf, size);
	while (used < size - 1) {
		ssize_t n = pread(file->fd, buf + used, size - 1 - used, (off_t)used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		used += (size_t)n;
		/* A file of one line is known to end, without asking. */
		if (used < 64 && memchr(buf, '\n', used) == buf + used - 1)
			break;
	}
	buf[used] = '\0';
	if (used == size - 1)
		return -EFBIG;
	if (used && buf[used - 1] == '\n')
		buf[used - 1] = '\0';
	return 0;
}

int kept_value(struct kept_files *files, const char *path, int64_t *ret)
{
	char text[64];
	int err = kept_read(files, path, text, sizeof(text));

	return err ? err : proc_text_number(text, ret);
}

int kept_write(struct kept_files *files, const char *path, const char *value)
{
	const struct kept_file *file;
	char line[128];
	int length = snprintf(line, sizeof(line), "%s\n", value);
	int err = find(files, path, &file);

	if (err)
		return err;
	if (!file || !file->writable)
		return proc_text_write(path, value);
	if (length < 0 || (size_t)length >= sizeof(line))
		return -EINVAL;
	while (pwrite(file->fd, line, (size_t)length, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

void kept_files_close(struct kept_files *files)
{
	for (unsigned int i = 0; i < files->nr; i++)
		close(files->list[i].fd);
	files->nr = 0;
}
