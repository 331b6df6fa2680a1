/* SPDX-License-Identifier: GPL-2.0-only */
/* Small texts of /proc and /sys; see proc_text.h. */
#include "proc_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int proc_text_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n = 1;
	int err = 0;

	if (fd < 0)
		return -errno;
	while (n && used < size) {
		n = read(fd, buf + used, size - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err = -errno;
			break;
		}
		used += (size_t)n;
	}
	close(fd);
	if (err)
		return err;
	if (used == size)
		return -EFBIG;
	buf[used] = '\0';
	if (used && buf[used - 1] == '\n')
		buf[used - 1] = '\0';
	return 0;
}

int proc_text_write(const char *path, const char *value)
{
	char line[128];
	int fd, err = 0;
	int length = snprintf(line, sizeof(line), "%s\n", value);

	if (length < 0 || (size_t)length >= sizeof(line))
		return -EINVAL;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (write(fd, line, (size_t)length) < 0) {
		if (errno == EINTR)
			continue;
		err = -errno;
		break;
	}
	close(fd);
	return err;
}

int proc_text_number(const char *text, int64_t *ret)
{
	char *end;

	if (!strncmp(text, "yes", 3) || !strncmp(text, "no", 2)) {
		*ret = text[0] == 'y';
		return 0;
	}
	errno = 0;
	*ret = strtoll(text, &end, 10);
	return end == text || errno ? -EINVAL : 0;
}

int proc_text_find(const char *text, const char *name, int64_t *ret)
{
	size_t length = strlen(name);

	while (text && *text) {
		const char *end = strchr(text, '\n');

		if (!strncmp(text, name, length) && strchr(": \t", text[length]) && text[length]) {
			text += length;
			text += strspn(text, ": \t");
			return proc_text_number(text, ret);
		}
		text = end ? end + 1 : NULL;
	}
	return -ENOENT;
}

int proc_text_value(const char *path, int64_t *ret)
{
	char text[64];
	int err = proc_text_read(path, text, sizeof(text));

	return err ? err : proc_text_number(text, ret);
}
