/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels on disk; see cache.h. */
#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define MANIFEST      "manifest"
#define MANIFEST_HEAD "samepage-kernel 1"

/* mkdir -p, private to the user as caches are. */
static int make_dirs(struct lab *lab, const char *path)
{
	char part[PATH_MAX];
	struct stat st;

	snprintf(part, sizeof(part), "%s", path);
	for (char *slash = part + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		if (mkdir(part, 0755) && errno != EEXIST)
			return lab_fail(lab, -errno, "%s: %s", part, strerror(errno));
		*slash = '/';
	}
	if (mkdir(part, 0755) && errno != EEXIST)
		return lab_fail(lab, -errno, "%s: %s", part, strerror(errno));
	if (stat(part, &st) || !S_ISDIR(st.st_mode))
		return lab_fail(lab, -ENOTDIR, "%s: not a directory", part);
	return 0;
}

int cache_open(struct lab *lab)
{
	const char *own = getenv("SAMEPAGE_CACHE"), *xdg = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	char dir[PATH_MAX], full[PATH_MAX];
	int n, err;

	if (own && *own)
		n = snprintf(dir, sizeof(dir), "%s", own);
	else if (xdg && *xdg == '/')
		n = snprintf(dir, sizeof(dir), "%s/samepage", xdg);
	else if (home && *home)
		n = snprintf(dir, sizeof(dir), "%s/.cache/samepage", home);
	else
		return lab_fail(lab, -ENOENT,
				"no place for kernels: neither SAMEPAGE_CACHE nor HOME is set");
	if (n < 0 || (size_t)n >= sizeof(lab->dir))
		return lab_fail(lab, -ENAMETOOLONG, "the cache's path is too long");
	err = make_dirs(lab, dir);
	if (err)
		return err;
	/* Tools are run in other directories. */
	if (!realpath(dir, full))
		return lab_fail(lab, -errno, "%s: %s", dir, strerror(errno));
	if ((size_t)snprintf(lab->dir, sizeof(lab->dir), "%s", full) >= sizeof(lab->dir))
		return lab_fail(lab, -ENAMETOOLONG, "the cache's path is too long");
	return 0;
}

int cache_lock(struct lab *lab)
{
	char path[PATH_MAX];
	bool told = false;

	snprintf(path, sizeof(path), "%s/lock", lab->dir);
	lab->dir_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (lab->dir_fd < 0)
		return lab_fail(lab, -errno, "%s: %s", path, strerror(errno));
	while (flock(lab->dir_fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return lab_fail(lab, -errno, "%s: %s", path, strerror(errno));
		if (lab_stopped(lab))
			return lab_fail(lab, -EINTR, "interrupted");
		if (!told)
			lab_progress(lab, "waiting for another samepage that changes %s", lab->dir);
		told = true;
		usleep(100000);
	}
	return 0;
}

void cache_unlock(struct lab *lab)
{
	if (lab->dir_fd >= 0)
		close(lab->dir_fd);
	lab->dir_fd = -1;
}

void remove_tree(const char *path)
{
	char copy[PATH_MAX];
	char *const paths[] = {copy, NULL};
	FTSENT *entry;
	FTS *fts;

	snprintf(copy, sizeof(copy), "%s", path);
	fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	if (!fts)
		return;
	while ((entry = fts_read(fts)))
		if (entry->fts_info != FTS_D)
			(void)remove(entry->fts_accpath);
	fts_close(fts);
}

int cache_subdir(struct lab *lab, char *path, size_t bytes, const char *fmt, ...)
{
	char below[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(below, sizeof(below), fmt, ap);
	va_end(ap);
	if ((size_t)snprintf(path, bytes, "%s/%s", lab->dir, below) >= bytes)
		return lab_fail(lab, -ENAMETOOLONG, "the cache's path is too long");
	return make_dirs(lab, path);
}

static int checksum(const char *path, struct cached_file *file)
{
	XXH3_state_t *state = XXH3_createState();
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	XXH128_canonical_t canonical;
	char data[65536];
	ssize_t n;

	if (!state)
		err = -ENOMEM;
	else if (fd < 0)
		err = -errno;
	else
		XXH3_128bits_reset(state);
	file->bytes = 0;
	while (!err && (n = read(fd, data, sizeof(data)))) {
		if (n < 0) {
			err = errno == EINTR ? 0 : -errno;
			continue;
		}
		file->bytes += (uint64_t)n;
		XXH3_128bits_update(state, data, (size_t)n);
	}
	if (!err) {
		XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state));
		for (size_t i = 0; i < sizeof(canonical.digest); i++)
			snprintf(file->sum + 2 * i, 3, "%02x", canonical.digest[i]);
	}
	if (fd >= 0)
		close(fd);
	XXH3_freeState(state);
	return err;
}

int cache_describe(struct lab *lab, const struct cached_kernel *kernel, struct cached_file *file)
{
	char path[PATH_MAX];
	int err;

	snprintf(path, sizeof(path), "%s/%s", kernel->dir, file->name);
	err = checksum(path, file);
	return err ? lab_fail(lab, err, "%s: %s", path, strerror(-err)) : 0;
}

int cache_write(struct lab *lab, const struct cached_kernel *kernel, struct cached_file *file,
		const void *data, size_t bytes)
{
	char path[PATH_MAX];
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s", kernel->dir, file->name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return lab_fail(lab, -errno, "%s: %s", path, strerror(errno));
	err = write_all(fd, data, bytes);
	if (close(fd) && !err)
		err = -errno;
	if (err)
		return lab_fail(lab, err, "%s: %s", path, strerror(-err));
	return cache_describe(lab, kernel, file);
}

static int check_file(struct lab *lab, const struct cached_kernel *kernel,
		      const struct cached_file *file)
{
	struct cached_file is = *file;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", kernel->dir, file->name);
	if (checksum(path, &is))
		return lab_fail(lab, -EUCLEAN, "%s cannot be read", path);
	if (is.bytes != file->bytes || strcmp(is.sum, file->sum) != 0)
		return lab_fail(lab, -EUCLEAN, "%s is damaged: its checksum is not the manifest's",
				path);
	return 0;
}

/* A manifest's line; false when it is none. */
static bool parse_line(const char *line, struct cached_kernel *kernel)
{
	struct cached_file file;
	char kind[16];

	if (sscanf(line, "release %127s", kernel->release) == 1)
		return true;
	if (sscanf(line, "package %127s %127s", kernel->package.name, kernel->package.version) == 2)
		return true;
	if (sscanf(line, "%15s %63s %" SCNu64 " %32s", kind, file.name, &file.bytes, file.sum) !=
		    4 ||
	    strchr(file.name, '/'))
		return false;
	if (!strcmp(kind, "image"))
		kernel->image = file;
	else if (!strcmp(kind, "config"))
		kernel->config = file;
	else if (!strcmp(kind, "module") && kernel->nr_modules < CACHED_MODULES_MAX)
		kernel->modules[kernel->nr_modules++] = file;
	else
		return false;
	return true;
}

static int load_manifest(struct lab *lab, int fd, struct cached_kernel *kernel)
{
	bool good = true;
	struct text text;
	char *at, *line;
	int err;

	text_init(&text, lab->mem);
	err = text_read(&text, fd);
	if (err) {
		err = lab_fail(lab, err == -ENOMEM ? err : -EUCLEAN, "%s/%s cannot be read",
			       kernel->dir, MANIFEST);
		goto out;
	}
	at = text.data;
	line = next_line(&at);
	good = line && !strcmp(line, MANIFEST_HEAD);
	while (good && (line = next_line(&at)))
		good = parse_line(line, kernel);
	if (!good || !kernel->image.name[0] || !kernel->release[0])
		err = lab_fail(lab, -EUCLEAN, "%s/%s is damaged", kernel->dir, MANIFEST);
out:
	text_destroy(&text);
	return err;
}

int cache_load(struct lab *lab, const char *name, struct cached_kernel *kernel)
{
	char path[PATH_MAX];
	int fd, err;

	*kernel = (struct cached_kernel){0};
	snprintf(kernel->name, sizeof(kernel->name), "%s", name);
	snprintf(kernel->dir, sizeof(kernel->dir), "%s/kernels/%s", lab->dir, name);
	snprintf(path, sizeof(path), "%s/%s", kernel->dir, MANIFEST);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return lab_fail(lab, access(kernel->dir, F_OK) ? -ENOENT : -EUCLEAN,
				"%s is missing", path);
	if (fd < 0)
		return lab_fail(lab, -errno, "%s: %s", path, strerror(errno));
	err = load_manifest(lab, fd, kernel);
	close(fd);
	if (!err)
		err = check_file(lab, kernel, &kernel->image);
	if (!err && kernel->config.name[0])
		err = check_file(lab, kernel, &kernel->config);
	for (unsigned int i = 0; i < kernel->nr_modules && !err; i++)
		err = check_file(lab, kernel, &kernel->modules[i]);
	return err;
}

int cache_begin(struct lab *lab, struct cached_kernel *kernel)
{
	char path[sizeof(kernel->dir)];
	int err;

	snprintf(path, sizeof(path), "%s/kernels/%s.new", lab->dir, kernel->name);
	remove_tree(path);
	err = cache_subdir(lab, path, sizeof(path), "kernels/%s.new", kernel->name);
	memcpy(kernel->dir, path, strlen(path) + 1);
	return err;
}

static int add_file(struct text *text, const char *kind, const struct cached_file *file)
{
	return text_printf(text, "%s %s %" PRIu64 " %s\n", kind, file->name, file->bytes,
			   file->sum);
}

static int write_manifest(struct lab *lab, const struct cached_kernel *kernel)
{
	char path[PATH_MAX];
	struct text text;
	int fd = -1, err;

	text_init(&text, lab->mem);
	err = text_printf(&text, MANIFEST_HEAD "\nrelease %s\npackage %s %s\n", kernel->release,
			  kernel->package.name, kernel->package.version);
	if (!err)
		err = add_file(&text, "image", &kernel->image);
	if (!err && kernel->config.name[0])
		err = add_file(&text, "config", &kernel->config);
	for (unsigned int i = 0; i < kernel->nr_modules && !err; i++)
		err = add_file(&text, "module", &kernel->modules[i]);
	snprintf(path, sizeof(path), "%s/%s", kernel->dir, MANIFEST);
	if (!err) {
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
		err = fd < 0 ? -errno : write_all(fd, text.data, text.bytes);
	}
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	text_destroy(&text);
	return err ? lab_fail(lab, err, "%s: %s", path, strerror(-err)) : 0;
}

int cache_commit(struct lab *lab, struct cached_kernel *kernel)
{
	char to[sizeof(kernel->dir)], old[PATH_MAX];
	int err = write_manifest(lab, kernel);

	if (err)
		return err;
	snprintf(to, sizeof(to), "%s/kernels/%s", lab->dir, kernel->name);
	snprintf(old, sizeof(old), "%s/kernels/%s.old", lab->dir, kernel->name);
	remove_tree(old);
	/* Whoever has the old files open keeps them. */
	if ((rename(to, old) && errno != ENOENT) || rename(kernel->dir, to))
		return lab_fail(lab, -errno, "%s: %s", to, strerror(errno));
	remove_tree(old);
	memcpy(kernel->dir, to, sizeof(to));
	return 0;
}
