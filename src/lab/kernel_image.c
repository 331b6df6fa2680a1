/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel files; see kernel_image.h. */
#include "kernel_image.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "elf_needs.h"
#include "tool.h"

/* The x86 boot protocol: offsets in the file's first sectors. */
#define BOOT_FLAG	  0x1fe
#define BOOT_MAGIC	  0x202
#define BOOT_VERSION	  0x20e /* of the release's text, from 0x200 on */
#define BOOT_HEADER_BYTES 0x264

int bzimage_release(int fd, char *release, size_t bytes)
{
	unsigned char head[BOOT_HEADER_BYTES];
	char text[256] = "";
	unsigned int at;

	if (pread(fd, head, sizeof(head), 0) != (ssize_t)sizeof(head))
		return -ENOEXEC;
	if (head[BOOT_FLAG] != 0x55 || head[BOOT_FLAG + 1] != 0xaa ||
	    memcmp(head + BOOT_MAGIC, "HdrS", 4) != 0)
		return -ENOEXEC;
	*release = 0;
	at = head[BOOT_VERSION] | (unsigned int)head[BOOT_VERSION + 1] << 8;
	/* The release, then who built it and when. */
	if (at && pread(fd, text, sizeof(text) - 1, at + 0x200) > 0)
		snprintf(release, bytes, "%.*s", (int)strcspn(text, " \n\t"), text);
	return 0;
}

static bool has_line(const char *text, const char *wanted)
{
	size_t length = strlen(wanted);

	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n");

		if (n == length && !memcmp(line, wanted, n))
			return true;
		line += n + (line[n] == '\n');
	}
	return false;
}

const char *config_lacks(const char *config)
{
	static const char *const needed[] = {"CONFIG_KSM=y",	   "CONFIG_BLK_DEV_INITRD=y",
					     "CONFIG_DEVTMPFS=y",  "CONFIG_SERIAL_8250_CONSOLE=y",
					     "CONFIG_PROC_FS=y",   "CONFIG_SYSFS=y",
					     "CONFIG_BINFMT_ELF=y"};

	for (unsigned int i = 0; i < ARRAY_SIZE(needed); i++)
		if (!has_line(config, needed[i]))
			return needed[i];
	return NULL;
}

int kernel_check_config(struct lab *lab, const struct cached_kernel *kernel)
{
	char path[PATH_MAX];
	const char *lacks;
	struct text text;
	int fd, err;

	if (!kernel->config.name[0])
		return 0;
	snprintf(path, sizeof(path), "%s/%s", kernel->dir, kernel->config.name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return lab_fail(lab, -errno, "%s: %s", path, strerror(errno));
	text_init(&text, lab->mem);
	err = text_read(&text, fd);
	if (err)
		err = lab_fail(lab, err, "%s: %s", path, strerror(-err));
	lacks = err ? NULL : config_lacks(text_string(&text));
	if (lacks)
		err = lab_fail(lab, -ENOTSUP, "%s: cannot be used: built without %s", kernel->name,
			       lacks);
	text_destroy(&text);
	close(fd);
	return err;
}

/* "lz4_compress.ko.xz" is the module lz4-compress too. */
static bool is_module(const char *file, const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (file[i] != name[i] &&
		    !(strchr("-_", name[i]) && file[i] && strchr("-_", file[i])))
			return false;
	return !strncmp(file + length, ".ko", 3);
}

static bool find_module(const char *root, const char *name, size_t length, char *path, size_t bytes)
{
	char copy[PATH_MAX];
	char *const paths[] = {copy, NULL};
	bool found = false;
	FTSENT *entry;
	FTS *fts;

	snprintf(copy, sizeof(copy), "%s", root);
	fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	while (fts && !found && (entry = fts_read(fts))) {
		if (entry->fts_info != FTS_F || !is_module(entry->fts_name, name, length))
			continue;
		found = (size_t)snprintf(path, bytes, "%s", entry->fts_path) < bytes;
	}
	if (fts)
		fts_close(fts);
	return found;
}

static int read_module(struct lab *lab, const char *path, struct text *out)
{
	static const struct {
		const char *suffix, *tool, *package;
	} packers[] = {
		{".xz", "xz", "xz-utils"}, {".zst", "zstd", "zstd"}, {".gz", "gzip", "gzip"}};
	char tool[PATH_MAX];
	int fd, err;

	for (unsigned int i = 0; i < ARRAY_SIZE(packers); i++) {
		const char *argv[] = {tool, "-dc", path, NULL};
		size_t length = strlen(path), suffix = strlen(packers[i].suffix);

		if (length < suffix || strcmp(path + length - suffix, packers[i].suffix) != 0)
			continue;
		err = tool_require(lab, packers[i].tool, packers[i].package, tool, sizeof(tool));
		return err ? err : tool_run(lab, argv, NULL, out);
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return lab_fail(lab, -errno, "%s: %s", path, strerror(errno));
	err = text_read(out, fd);
	close(fd);
	return err ? lab_fail(lab, err, "%s: %s", path, strerror(-err)) : 0;
}

static bool is_listed(const struct cached_kernel *kernel, const char *name, size_t length)
{
	for (unsigned int i = 0; i < kernel->nr_modules; i++)
		if (is_module(kernel->modules[i].name, name, length))
			return true;
	return false;
}

static int keep_module(struct lab *lab, struct cached_kernel *kernel, const char *name,
		       size_t length, const struct text *data)
{
	struct cached_file *file = &kernel->modules[kernel->nr_modules];
	int err;

	snprintf(file->name, sizeof(file->name), "%.*s.ko", (int)length, name);
	err = cache_write(lab, kernel, file, data->data, data->bytes);
	kernel->nr_modules += !err;
	return err;
}

/* The module after what it depends on. One that is not there may be built in. */
static int add_module(struct lab *lab, const char *root, struct cached_kernel *kernel,
		      const char *name, size_t length, unsigned int depth)
{
	char path[PATH_MAX], depends[512];
	struct text data;
	int err;

	if (is_listed(kernel, name, length) || !find_module(root, name, length, path, sizeof(path)))
		return 0;
	text_init(&data, lab->mem);
	err = read_module(lab, path, &data);
	if (!err && elf_module_depends(data.data, data.bytes, depends, sizeof(depends)))
		err = lab_fail(lab, -EUCLEAN, "%s: not a module", path);
	if (!err && (depth > 8 || length >= sizeof(kernel->modules[0].name) - 3))
		err = lab_fail(lab, -ELOOP, "%s: depends on too much", path);
	for (const char *d = depends; !err && *d;) {
		size_t n = strcspn(d, ",");

		err = add_module(lab, root, kernel, d, n, depth + 1);
		d += n + (d[n] == ',');
	}
	if (!err && kernel->nr_modules == CACHED_MODULES_MAX)
		err = lab_fail(lab, -E2BIG, "%s: too many modules", path);
	if (!err)
		err = keep_module(lab, kernel, name, length, &data);
	text_destroy(&data);
	return err;
}

int kernel_add_modules(struct lab *lab, const char *root, struct cached_kernel *kernel)
{
	/* Older zram finds its compressor by a request that only a modprobe could answer. */
	static const char *const wanted[] = {"lzo-rle", "zram"};
	int err = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(wanted) && !err; i++)
		err = add_module(lab, root, kernel, wanted[i], strlen(wanted[i]), 0);
	return err;
}

/* The configuration and the modules that lie where they do for a kernel of this release. */
static int complete(struct lab *lab, const char *full, struct cached_kernel *kernel)
{
	char dir[PATH_MAX], path[PATH_MAX + 160], to[PATH_MAX];
	const char *const configs[] = {"%s/config-%s", "%s/config", "%s/../../../../.config"};
	const char *const modules[] = {"%s/../lib/modules/%s", "%s/../usr/lib/modules/%s",
				       "/lib/modules/%.0s%s"};
	int err = 0;

	snprintf(dir, sizeof(dir), "%s", full);
	*strrchr(dir, '/') = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	for (unsigned int i = 0; i < ARRAY_SIZE(configs) && !err && !kernel->config.name[0]; i++) {
		snprintf(path, sizeof(path), configs[i], dir, kernel->release);
		snprintf(to, sizeof(to), "%s/config", kernel->dir);
		if (access(path, R_OK))
			continue;
		snprintf(kernel->config.name, sizeof(kernel->config.name), "config");
		err = symlink(path, to) ? lab_fail(lab, -errno, "%s: %s", to, strerror(errno))
					: cache_describe(lab, kernel, &kernel->config);
	}
	for (unsigned int i = 0; i < ARRAY_SIZE(modules) && !err && !kernel->nr_modules; i++) {
		snprintf(path, sizeof(path), modules[i], dir, kernel->release);
		if (*kernel->release && !access(path, R_OK))
			err = kernel_add_modules(lab, path, kernel);
	}
#pragma GCC diagnostic pop
	return err;
}

int kernel_from_path(struct lab *lab, const char *path, struct cached_kernel *kernel)
{
	char full[PATH_MAX], to[PATH_MAX];
	struct stat st;
	int fd, err;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !realpath(path, full)) {
		err = lab_fail(lab, -errno, "%s: %s", path, strerror(errno));
		goto out;
	}
	*kernel = (struct cached_kernel){0};
	if (!S_ISREG(st.st_mode) || bzimage_release(fd, kernel->release, sizeof(kernel->release))) {
		err = lab_fail(lab, -ENOEXEC, "%s: not a kernel: no bzImage", path);
		goto out;
	}
	if (!kernel->release[0])
		snprintf(kernel->release, sizeof(kernel->release), "unnamed");
	snprintf(kernel->name, sizeof(kernel->name), "path-%016" PRIx64,
		 (uint64_t)XXH3_64bits(full, strlen(full)));
	snprintf(kernel->image.name, sizeof(kernel->image.name), "vmlinuz");
	snprintf(kernel->package.name, sizeof(kernel->package.name), "-");
	snprintf(kernel->package.version, sizeof(kernel->package.version), "-");
	err = cache_lock(lab);
	if (!err)
		err = cache_begin(lab, kernel);
	if (!err) {
		snprintf(to, sizeof(to), "%s/vmlinuz", kernel->dir);
		err = symlink(full, to) ? lab_fail(lab, -errno, "%s: %s", to, strerror(errno))
					: cache_describe(lab, kernel, &kernel->image);
		if (!err)
			err = complete(lab, full, kernel);
		if (!err)
			err = kernel_unpack(lab, kernel);
		if (!err)
			err = cache_commit(lab, kernel);
		if (err)
			remove_tree(kernel->dir);
	}
	cache_unlock(lab);
	snprintf(kernel->name, sizeof(kernel->name), "%s", path);
out:
	if (fd >= 0)
		close(fd);
	return err;
}
