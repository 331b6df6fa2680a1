/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where -o writes: FILE for the first scenario, FILE-2, FILE-3 ... (before the extension) for the others.
 *
 * A search may take an hour, so whether its result can be written is found out before, by making the very
 * kind of file that will be written later, beside FILE, and taking it away again. A file that exists is
 * replaced only by a whole one. Files of an earlier search with higher numbers stay as they are.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

/* Names that are looked at before the search; nobody finds that many causes. */
#define NR_LOOKED_AT 32

char *check_files_name(const char *output, unsigned int number)
{
	const char *slash = strrchr(output, '/'), *base = slash ? slash + 1 : output;
	const char *dot = strrchr(base, '.');
	size_t stem = dot && dot != base ? (size_t)(dot - output) : strlen(output);
	char *name;

	if (number == 1)
		return strdup(output);
	if (asprintf(&name, "%.*s-%u%s", (int)stem, output, number, output + stem) < 0)
		return NULL;
	return name;
}

/* The file that the name stands for, when it is a symbolic link. NULL: out of memory. */
static char *resolve(const char *path)
{
	char *real = realpath(path, NULL);

	return real || errno == ENOMEM ? real : strdup(path);
}

/* A file beside path, opened for writing; *name: its own, to free. -errno otherwise. */
static int open_temporary(const char *path, char **name)
{
	int fd;

	if (asprintf(name, "%s.XXXXXX", path) < 0) {
		*name = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(*name, O_CLOEXEC);
	if (fd >= 0)
		return fd;
	fd = -errno;
	free(*name);
	*name = NULL;
	return fd;
}

static void complain_write(const char *path, int err)
{
	complain("-o %s: cannot be written: %s", path, strerror(err));
}

/* A signal that ends the command comes before a temporary file is made, or after it is gone. */
static void hold_signals(sigset_t *old)
{
	static const int ends[] = {SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
	sigset_t held;

	sigemptyset(&held);
	for (unsigned int i = 0; i < ARRAY_SIZE(ends); i++)
		sigaddset(&held, ends[i]);
	sigprocmask(SIG_BLOCK, &held, old);
}

static bool is_file(const struct stat *file, int fd)
{
	struct stat other;

	return !fstat(fd, &other) && other.st_dev == file->st_dev && other.st_ino == file->st_ino;
}

/* What is at the path may be replaced. */
static bool check_target(const char *path, const char *against)
{
	struct stat is, other;

	if (stat(path, &is)) {
		if (errno == ENOENT || errno == ENOTDIR)
			return true;
		complain_write(path, errno);
		return false;
	}
	if (S_ISDIR(is.st_mode)) {
		complain("-o %s: is a directory; it must be the name of a file, such as "
			 "%s/found.scn",
			 path, path);
		return false;
	}
	if (!S_ISREG(is.st_mode)) {
		complain("-o %s: is no regular file; without -o, scenarios go to standard output",
			 path);
		return false;
	}
	if (is_file(&is, STDOUT_FILENO) || is_file(&is, STDERR_FILENO)) {
		complain("-o %s: is the file of standard %s, which would be overwritten", path,
			 is_file(&is, STDOUT_FILENO) ? "output" : "error");
		return false;
	}
	if (against && !stat(against, &other) && other.st_dev == is.st_dev &&
	    other.st_ino == is.st_ino) {
		complain("-o %s: is the file of --against, which would be overwritten", path);
		return false;
	}
	if (access(path, W_OK)) {
		complain_write(path, errno);
		return false;
	}
	return true;
}

/* False: complained. */
static bool try_to_make(const char *output, unsigned int number)
{
	char *name = check_files_name(output, number), *real = name ? resolve(name) : NULL;
	char *temporary = NULL;
	sigset_t signals;
	int fd;

	hold_signals(&signals);
	fd = real ? open_temporary(real, &temporary) : -ENOMEM;
	if (fd >= 0) {
		close(fd);
		unlink(temporary);
	}
	sigprocmask(SIG_SETMASK, &signals, NULL);
	if (fd < 0)
		complain("-o %s: no file can be made in its directory: %s", name ? name : output,
			 strerror(-fd));
	free(temporary);
	free(real);
	free(name);
	return fd >= 0;
}

bool check_files_prepare(const char *output, const char *against)
{
	if (!*output || output[strlen(output) - 1] == '/') {
		complain("-o %s: must be the name of a file, such as %sfound.scn", output, output);
		return false;
	}
	for (unsigned int i = 1; i <= NR_LOOKED_AT; i++) {
		char *name = check_files_name(output, i);
		bool good = name && check_target(name, against);

		if (!name)
			complain_write(output, ENOMEM);
		free(name);
		if (!good)
			return false;
	}
	/* The others may be in another directory, if the first is a link, and have longer names. */
	return try_to_make(output, 1) && try_to_make(output, NR_LOOKED_AT);
}

static bool write_all(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t nr = write(fd, text, left);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr < 0)
			return false;
		text += nr;
		left -= (size_t)nr;
	}
	return true;
}

/* As a file that is made by open() would have. */
static mode_t usual_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

bool check_files_write(const char *path, const char *text)
{
	char *real = resolve(path), *temporary = NULL;
	sigset_t signals;
	struct stat old;
	int fd, err = 0;

	hold_signals(&signals);
	fd = real ? open_temporary(real, &temporary) : -ENOMEM;
	if (fd < 0) {
		err = -fd;
		goto out;
	}
	if (!write_all(fd, text) ||
	    fchmod(fd, stat(real, &old) ? usual_mode() : old.st_mode & 0777))
		err = errno;
	if (close(fd) && !err)
		err = errno;
	if (!err && rename(temporary, real))
		err = errno;
	if (err)
		unlink(temporary);
out:
	sigprocmask(SIG_SETMASK, &signals, NULL);
	if (err)
		complain_write(path, err);
	free(temporary);
	free(real);
	return !err;
}
