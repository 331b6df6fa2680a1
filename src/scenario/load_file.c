/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads a scenario from disk. A directory, a device or a file too large is
 * told by name before a byte is read: whoever mistook a core for a scenario
 * shall not wait for gigabytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "diagnose.h"
#include "mem.h"

static int read_whole(int fd, char *text, size_t size, size_t *used)
{
	*used = 0;
	while (*used < size) {
		ssize_t n = read(fd, text + *used, size - *used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		*used += (size_t)n;
	}
	return 0;
}

static int open_regular(const char *path, struct diagnose *diagnose, int *fd, size_t *size)
{
	struct stat st;
	int err;

	/* Non-blocking: opening a FIFO without a writer would wait for one. */
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (*fd < 0) {
		err = -errno;
		diagnose_add(diagnose, 0, 0, "cannot be opened: %s", strerror(-err));
		return err;
	}
	if (fstat(*fd, &st)) {
		err = -errno;
		diagnose_add(diagnose, 0, 0, "cannot be read: %s", strerror(-err));
	} else if (S_ISDIR(st.st_mode)) {
		diagnose_add(diagnose, 0, 0, "is a directory, not a scenario");
		err = -EISDIR;
	} else if (!S_ISREG(st.st_mode)) {
		diagnose_add(diagnose, 0, 0, "is no regular file");
		err = -EINVAL;
	} else if ((uint64_t)st.st_size > SCENARIO_MAX_FILE_BYTES) {
		diagnose_add(diagnose, 0, 0, "%" PRIu64 " bytes: a scenario has at most %" PRIu64,
			     (uint64_t)st.st_size, SCENARIO_MAX_FILE_BYTES);
		err = -EFBIG;
	} else {
		*size = (size_t)st.st_size;
		return 0;
	}
	close(*fd);
	return err;
}

int scenario_parse_file(const char *path, struct diagnostics *diagnostics, struct scenario **ret)
{
	struct diagnose diagnose;
	struct mem mem;
	size_t size = 0, used = 0;
	char *text;
	int fd;
	int err;

	diagnose_init(&diagnose, diagnostics, path);
	mem_init(&mem);
	err = open_regular(path, &diagnose, &fd, &size);
	if (err)
		return err;
	text = mem_alloc(&mem, size + 1);
	if (!text) {
		diagnose_add(&diagnose, 0, 0, "out of memory");
		err = -ENOMEM;
	} else {
		err = read_whole(fd, text, size, &used);
		if (err)
			diagnose_add(&diagnose, 0, 0, "cannot be read: %s", strerror(-err));
	}
	close(fd);
	if (!err)
		err = scenario_parse_text(path, text, used, diagnostics, ret);
	mem_free(&mem, text, size + 1);
	return err;
}
