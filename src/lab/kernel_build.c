/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels of our own making; see kernel_build.h. */
#include "kernel_build.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <xxhash.h>

#include "clock.h"
#include "kernel_image.h"
#include "kernel_source.h"
#include "tool.h"

#define OBJECTS_BYTES (UINT64_C(1000) << 20)
#define IMAGE	      "arch/x86/boot/bzImage"
#define FRAGMENT      "lab.config" /* in the build's directory: what its .config was made of */

/* The build makes C strings of the files. */
static const char lab_config[] =
#include "lab.config.inc"
	;
static const char lab_debug_config[] =
#include "lab-debug.config.inc"
	;

const char *const built_names[] = {"built", "built-debug", "own", "own-debug", NULL};

struct build {
	struct lab *lab;
	const struct build_spec *spec;
	char tree[PATH_MAX], dir[PATH_MAX];
	struct text fragment;
	int lock_fd;
	uint64_t start_ns;
	/* What make says while it runs. */
	size_t heard;
	unsigned int nr_files;
};

bool is_built_name(const char *name)
{
	for (const char *const *built = built_names; *built; built++)
		if (!strcmp(*built, name))
			return true;
	return false;
}

const char *built_name(const struct build_spec *spec)
{
	return built_names[(spec->source ? 2 : 0) + spec->debug];
}

/* ---- what must be there ---- */

static bool is_there(const char *dir, const char *name)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return !access(path, F_OK);
}

static int require_tree(struct lab *lab, const char *path, char *full)
{
	static const char *const has[] = {"Makefile", "Kconfig", "mm/ksm.c", "arch/x86/Makefile"};
	static const char *const has_not[] = {".config", "include/config",
					      "arch/x86/include/generated"};

	if (!realpath(path, full))
		return lab_fail(lab, -errno, "%s: %s", path, strerror(errno));
	for (unsigned int i = 0; i < ARRAY_SIZE(has); i++)
		if (!is_there(full, has[i]))
			return lab_fail(lab, -EINVAL, "%s: not the source of a kernel: no %s", path,
					has[i]);
	/* The kernel's makefile refuses too, in twenty lines, after half a minute. */
	for (unsigned int i = 0; i < ARRAY_SIZE(has_not); i++)
		if (is_there(full, has_not[i]))
			return lab_fail(lab, -EBUSY,
					"%s: was built in place (%s), which building outside does "
					"not allow: copy your .config, and 'make mrproper' there",
					path, has_not[i]);
	return 0;
}

static void add_word(char *list, size_t bytes, const char *word)
{
	size_t at = strlen(list);

	snprintf(list + at, bytes - at, "%s%s", at ? " " : "", word);
}

static bool has_header(struct lab *lab, const char *header)
{
	const char *const argv[] = {"gcc", "-E", "-x", "c", "-include", header, "/dev/null", NULL};
	char path[PATH_MAX];

	/* Without a compiler that is what is missed. */
	return tool_find("gcc", path, sizeof(path)) || !tool_run(lab, argv, NULL, NULL);
}

static int require_tools(struct lab *lab)
{
	static const struct {
		const char *name, *package;
	} tools[] = {
		{"make", "make"},   {"gcc", "gcc"}, {"ld", "binutils"}, {"flex", "flex"},
		{"bison", "bison"}, {"m4", "m4"},   {"bc", "bc"},	{"perl", "perl"},
		{"gzip", "gzip"},   {"tar", "tar"}, {"xz", "xz-utils"},
	};
	char missing[256] = "", packages[256] = "", path[PATH_MAX];

	for (unsigned int i = 0; i < ARRAY_SIZE(tools); i++) {
		if (!tool_find(tools[i].name, path, sizeof(path)))
			continue;
		add_word(missing, sizeof(missing), tools[i].name);
		add_word(packages, sizeof(packages), tools[i].package);
	}
	if (!has_header(lab, "libelf.h")) {
		add_word(missing, sizeof(missing), "libelf.h");
		add_word(packages, sizeof(packages), "libelf-dev");
	}
	if (!*missing)
		return 0;
	return lab_fail(lab, -ENOENT,
			"to build a kernel, missing: %s; with Debian: apt-get install %s", missing,
			packages);
}

static int require_room(struct lab *lab, uint64_t bytes)
{
	struct statvfs fs;

	if (statvfs(lab->dir, &fs))
		return lab_fail(lab, -errno, "%s: %s", lab->dir, strerror(errno));
	if ((uint64_t)fs.f_bavail * fs.f_frsize >= bytes)
		return 0;
	return lab_fail(lab, -ENOSPC,
			"%s: no room: a build takes %" PRIu64 " MiB there, and %" PRIu64
			" MiB are free",
			lab->dir, bytes >> 20, ((uint64_t)fs.f_bavail * fs.f_frsize) >> 20);
}

/* The directory of the objects, below the cache's. Every tree has one of its own. */
static void name_dir(const struct build_spec *spec, const char *tree, char *dir, size_t bytes)
{
	if (spec->source)
		snprintf(dir, bytes, "build/%s-%016" PRIx64, built_name(spec),
			 (uint64_t)XXH3_64bits(tree, strlen(tree)));
	else
		snprintf(dir, bytes, "build/%s", built_name(spec));
}

int build_require(struct lab *lab, const struct build_spec *spec)
{
	char tree[PATH_MAX] = "", below[128];
	struct kernel_source source;
	uint64_t bytes = 0;
	int err = 0;

	if (spec->source)
		err = require_tree(lab, spec->source, tree);
	else if (!kernel_source_is_here(lab, &source))
		bytes += KERNEL_SOURCE_BYTES;
	if (!err && strpbrk(tree, " :"))
		err = lab_fail(lab, -EINVAL, "%s: kernels do not build below a path with a %s",
			       tree, strchr(tree, ' ') ? "blank" : "colon");
	if (!err && strpbrk(lab->dir, " :"))
		err = lab_fail(lab, -EINVAL, "%s: kernels do not build below a path with a %s",
			       lab->dir, strchr(lab->dir, ' ') ? "blank" : "colon");
	if (!err && spec->output && access(spec->output, W_OK | X_OK))
		err = lab_fail(lab, -errno, "%s: %s", spec->output, strerror(errno));
	if (!err)
		err = require_tools(lab);
	name_dir(spec, tree, below, sizeof(below));
	/* Objects that are here are written again at most. */
	if (!err && !is_there(lab->dir, below))
		bytes += OBJECTS_BYTES;
	return err ? err : require_room(lab, bytes);
}

/* ---- the configuration ---- */

void config_unmet(const char *wanted, const char *config, char *list, size_t bytes)
{
	*list = 0;
	for (const char *line = wanted; *line;) {
		size_t length = strcspn(line, "\n");
		char option[128] = "\n";
		size_t shown = MIN(length, sizeof(option) - 3);

		memcpy(option + 1, line, shown);
		memcpy(option + 1 + shown, "\n", 2);
		if (!strncmp(line, "CONFIG_", 7) && !strstr(config, option) &&
		    strncmp(config, option + 1, length + 1) != 0 &&
		    strlen(list) + length + 1 < bytes) {
			snprintf(option, sizeof(option), "%.*s", (int)strcspn(line, "="), line);
			add_word(list, bytes, option);
		}
		line += length + (line[length] == '\n');
	}
}

static int read_file(struct build *b, const char *name, struct text *text)
{
	char path[PATH_MAX + 64];
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s", b->dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return lab_fail(b->lab, -errno, "%s: %s", path, strerror(errno));
	err = text_read(text, fd);
	close(fd);
	return err ? lab_fail(b->lab, err, "%s: %s", path, strerror(-err)) : 0;
}

static int write_file(struct build *b, const char *dir, const char *name, int flags,
		      const struct text *text)
{
	char path[2 * PATH_MAX];
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
	err = fd < 0 ? -errno : write_all(fd, text_string(text), text->bytes);
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	return err ? lab_fail(b->lab, err, "%s: %s", path, strerror(-err)) : 0;
}

static void heard(void *arg, const struct text *out)
{
	struct build *b = arg;
	const char *line = out->data + b->heard, *end;
	char file[128] = "";

	/* "  CC      mm/ksm.o" */
	while ((end = strchr(line, '\n'))) {
		if (sscanf(line, " %*15[A-Z] %127[^\n]", file) == 1)
			b->nr_files++;
		line = end + 1;
	}
	b->heard = (size_t)(line - out->data);
	if (*file)
		lab_progress(b->lab, "%s: %u files, %.0f s: %s", built_name(b->spec), b->nr_files,
			     (double)(clock_measure_ns() - b->start_ns) / 1e9, file);
}

/* The first line that says what is wrong: a compiler's, else make's own. */
static void find_fault(const char *said, char *fault, size_t bytes)
{
	static const char *const marks[] = {"error: ", "ERROR: ", "*** "};

	*fault = 0;
	for (unsigned int i = 0; i < ARRAY_SIZE(marks) && !*fault; i++) {
		const char *at = strstr(said, marks[i]);

		while (at && at > said && at[-1] != '\n')
			at--;
		if (at)
			snprintf(fault, bytes, "%.*s", (int)strcspn(at, "\n"), at);
	}
}

static int make(struct build *b, const char *target)
{
	char jobs[16], objects[PATH_MAX + 8], fault[384], reason[64] = "";
	/* Variables of whoever calls would change what is built. */
	const char *const argv[] = {
		"env",		 "-u", "MAKEFLAGS",	 "-u",	 "MAKELEVEL",	"-u",
		"KBUILD_OUTPUT", "-u", "KCONFIG_CONFIG", "make", "ARCH=x86_64", "CROSS_COMPILE=",
		objects,	 jobs, target,		 NULL};
	struct text out, said;
	const struct tool_ears ears = {&out, &said, heard, b};
	int err, told;

	snprintf(objects, sizeof(objects), "O=%s", b->dir);
	snprintf(jobs, sizeof(jobs), "-j%ld", MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L));
	text_init(&out, b->lab->mem);
	text_init(&said, b->lab->mem);
	b->heard = 0;
	err = tool_hear(b->lab, argv, b->tree, &ears);
	if (err == -EIO) {
		snprintf(reason, sizeof(reason), "%.63s", b->lab->msg);
		find_fault(text_string(&said), fault, sizeof(fault));
		told = text_add(&out, text_string(&said), said.bytes);
		if (!told)
			told = write_file(b, b->dir, "log", O_TRUNC, &out);
		err = lab_fail(b->lab, err, "%s: make %s failed: %s%s%s%s",
			       b->spec->source ? b->spec->source : built_name(b->spec), target,
			       *fault ? fault : reason, told ? "" : "; all of it is in ",
			       told ? "" : b->dir, told ? "" : "/log");
	}
	text_destroy(&out);
	text_destroy(&said);
	return err;
}

/* Only what was configured to its end counts as configured. */
static int configure(struct build *b)
{
	struct text was;
	char path[PATH_MAX + 64];
	bool same;
	int err = 0;

	lab_progress(b->lab, "%s: configuring", built_name(b->spec));
	text_init(&was, b->lab->mem);
	same = !read_file(b, FRAGMENT, &was) &&
	       !strcmp(text_string(&was), text_string(&b->fragment)) && is_there(b->dir, ".config");
	text_destroy(&was);
	if (!same) {
		snprintf(path, sizeof(path), "%s/" FRAGMENT, b->dir);
		(void)unlink(path);
		err = make(b, "tinyconfig");
		if (!err)
			err = write_file(b, b->dir, ".config", O_APPEND, &b->fragment);
	}
	if (!err)
		err = make(b, "olddefconfig");
	if (!err && !same)
		err = write_file(b, b->dir, FRAGMENT, O_TRUNC, &b->fragment);
	return err;
}

/* ---- the kernel ---- */

static int put_out(struct build *b, const struct cached_kernel *kernel, const struct text *image,
		   const struct text *config)
{
	char name[160];
	int err;

	if (!b->spec->output)
		return 0;
	snprintf(name, sizeof(name), "vmlinuz-%s", kernel->release);
	err = write_file(b, b->spec->output, name, O_TRUNC, image);
	snprintf(name, sizeof(name), "config-%s", kernel->release);
	return err ? err : write_file(b, b->spec->output, name, O_TRUNC, config);
}

static int read_release(struct build *b, struct cached_kernel *kernel)
{
	char path[PATH_MAX + 64];
	int fd, err;

	snprintf(path, sizeof(path), "%s/" IMAGE, b->dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	err = fd < 0 ? -errno : bzimage_release(fd, kernel->release, sizeof(kernel->release));
	if (fd >= 0)
		close(fd);
	return err || !kernel->release[0] ? lab_fail(b->lab, -ENOEXEC, "%s: not a bzImage", path)
					  : 0;
}

static int put_in_cache(struct build *b, struct cached_kernel *kernel)
{
	struct text image, config;
	int err;

	text_init(&image, b->lab->mem);
	text_init(&config, b->lab->mem);
	snprintf(kernel->image.name, sizeof(kernel->image.name), "vmlinuz");
	snprintf(kernel->config.name, sizeof(kernel->config.name), "config");
	err = read_release(b, kernel);
	if (!err)
		err = read_file(b, IMAGE, &image);
	if (!err)
		err = read_file(b, ".config", &config);
	if (!err)
		err = put_out(b, kernel, &image, &config);
	if (!err)
		err = cache_lock(b->lab);
	if (!err)
		err = cache_begin(b->lab, kernel);
	if (!err) {
		err = cache_write(b->lab, kernel, &kernel->image, image.data, image.bytes);
		if (!err)
			err = cache_write(b->lab, kernel, &kernel->config, config.data,
					  config.bytes);
		if (!err)
			err = kernel_unpack(b->lab, kernel);
		if (!err)
			err = cache_commit(b->lab, kernel);
		if (err)
			remove_tree(kernel->dir);
	}
	cache_unlock(b->lab);
	text_destroy(&image);
	text_destroy(&config);
	return err;
}

static void tell_unmet(struct build *b, void (*told)(const char *))
{
	char list[512], line[640];
	struct text config;

	text_init(&config, b->lab->mem);
	if (!read_file(b, ".config", &config)) {
		config_unmet(text_string(&b->fragment), text_string(&config), list, sizeof(list));
		snprintf(line, sizeof(line), "%s: not in this kernel's configuration: %s",
			 built_name(b->spec), list);
		if (*list && told)
			told(line);
	}
	text_destroy(&config);
}

static int lock_dir(struct build *b)
{
	char path[PATH_MAX + 64];
	bool told = false;

	snprintf(path, sizeof(path), "%s.lock", b->dir);
	b->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (b->lock_fd < 0)
		return lab_fail(b->lab, -errno, "%s: %s", path, strerror(errno));
	while (flock(b->lock_fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return lab_fail(b->lab, -errno, "%s: %s", path, strerror(errno));
		if (lab_stopped(b->lab))
			return lab_fail(b->lab, -EINTR, "interrupted");
		if (!told)
			lab_progress(b->lab, "waiting for another build of %s",
				     built_name(b->spec));
		told = true;
		usleep(100000);
	}
	return 0;
}

static int find_source(struct build *b, struct cached_kernel *kernel)
{
	struct kernel_source source;
	size_t length, room = sizeof(kernel->package.name) - 1;
	int err;

	if (!b->spec->source) {
		err = kernel_source(b->lab, &source);
		if (!err) {
			memcpy(b->tree, source.tree, sizeof(b->tree));
			kernel->package = source.package;
		}
		return err;
	}
	err = require_tree(b->lab, b->spec->source, b->tree);
	if (err)
		return err;
	/* Of a long path its end says more. */
	length = strlen(b->tree);
	snprintf(kernel->package.name, sizeof(kernel->package.name), "%s",
		 b->tree + (length > room ? length - room : 0));
	snprintf(kernel->package.version, sizeof(kernel->package.version), "-");
	return 0;
}

int build_kernel(struct lab *lab, const struct build_spec *spec, struct cached_kernel *kernel,
		 void (*told)(const char *))
{
	struct build b = {.lab = lab, .spec = spec, .lock_fd = -1};
	char below[128];
	int err;

	*kernel = (struct cached_kernel){0};
	snprintf(kernel->name, sizeof(kernel->name), "%s", built_name(spec));
	text_init(&b.fragment, lab->mem);
	err = find_source(&b, kernel);
	if (!err && (text_add(&b.fragment, lab_config, sizeof(lab_config) - 1) ||
		     (spec->debug &&
		      text_add(&b.fragment, lab_debug_config, sizeof(lab_debug_config) - 1))))
		err = lab_fail(lab, -ENOMEM, "out of memory");
	name_dir(spec, b.tree, below, sizeof(below));
	if (!err)
		err = cache_subdir(lab, b.dir, sizeof(b.dir), "%s", below);
	if (!err)
		err = lock_dir(&b);
	b.start_ns = clock_measure_ns();
	if (!err)
		err = configure(&b);
	if (!err)
		err = make(&b, "bzImage");
	if (!err) {
		tell_unmet(&b, told);
		err = put_in_cache(&b, kernel);
	}
	if (b.lock_fd >= 0)
		close(b.lock_fd);
	text_destroy(&b.fragment);
	return err;
}
