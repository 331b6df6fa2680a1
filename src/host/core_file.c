/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Positioned reads of a core and its holes; see core_file.h.
 */
#include "core_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_of(mode_t mode)
{
	if (S_ISDIR(mode))
		return "a directory";
	if (S_ISFIFO(mode))
		return "a pipe";
	if (S_ISSOCK(mode))
		return "a socket";
	return "a device";
}

int core_file_open(struct core_file *file, const char *path,
		   struct image_sink *sink)
{
	struct stat st;
	int err;

	/* Without O_NONBLOCK, a named pipe would wait for its writer here. */
	*file = (struct core_file){
		.name = path,
		.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY),
	};
	if (file->fd < 0) {
		err = -errno;
		return image_sink_fail(sink, err, "%s: %s", path, strerror(-err));
	}
	if (fstat(file->fd, &st)) {
		err = -errno;
		core_file_close(file);
		return image_sink_fail(sink, err, "%s: %s", path, strerror(-err));
	}
	if (!S_ISREG(st.st_mode)) {
		core_file_close(file);
		return image_sink_fail(sink, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL,
				       "%s: is %s; a core is a regular file",
				       path, kind_of(st.st_mode));
	}
	file->size = (uint64_t)st.st_size;
	return 0;
}

void core_file_open_buffer(struct core_file *file, const void *data, size_t size)
{
	*file = (struct core_file){
		.name = "core",
		.fd = -1,
		.data = data,
		.size = size,
	};
}

void core_file_close(struct core_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
}

int core_file_read(const struct core_file *file, uint64_t offset, void *buf,
		   size_t len, size_t *ret)
{
	size_t done = 0;

	*ret = 0;
	if (offset >= file->size || !len)
		return 0;
	len = (size_t)MIN((uint64_t)len, file->size - offset);
	if (file->fd < 0) {
		memcpy(buf, file->data + offset, len);
		*ret = len;
		return 0;
	}
	while (done < len) {
		ssize_t n = pread(file->fd, (char *)buf + done, len - done,
				  (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) /* cut while it was read: as if it ended there */
			break;
		done += (size_t)n;
	}
	*ret = done;
	return 0;
}

void core_file_data(const struct core_file *file, uint64_t offset, uint64_t end,
		    uint64_t *data_start, uint64_t *data_end)
{
	off_t start, stop;

	*data_start = offset;
	*data_end = end;
	if (file->fd < 0)
		return;
	start = lseek(file->fd, (off_t)offset, SEEK_DATA);
	if (start < 0 && errno == ENXIO)
		start = (off_t)end; /* a hole up to the end of the file */
	if (start < 0)
		return; /* this file system cannot tell: all is data */
	*data_start = MIN((uint64_t)start, end);
	if (*data_start == end)
		return;
	stop = lseek(file->fd, start, SEEK_HOLE);
	if (stop > start)
		*data_end = MIN((uint64_t)stop, end);
}
