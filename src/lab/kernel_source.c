/* SPDX-License-Identifier: GPL-2.0-only */
/* A kernel's source; see kernel_source.h. */
#include "kernel_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "archive.h"
#include "tool.h"

#define PACKAGE "linux-source-"
/* Drivers are half of a tree. Their Kconfig files and makefiles must stay. */
#define UNUSED                                                                  \
	"--exclude=*/drivers/gpu/*.[ch]", "--exclude=*/drivers/net/*/*.[ch]",   \
		"--exclude=*/drivers/media/*.[ch]", "--exclude=*/sound/*.[ch]", \
		"--exclude=*/Documentation/*.rst"

/* The last of those that are known by name. */
static const struct known_kernel *newest(void)
{
	const struct known_kernel *k = known_kernels;

	while (k[1].name)
		k++;
	return k;
}

bool kernel_source_is_here(struct lab *lab, struct kernel_source *source)
{
	const struct known_kernel *known = newest();
	char path[PATH_MAX];
	struct text text;
	bool here;
	int fd;

	*source = (struct kernel_source){0};
	snprintf(source->package.name, sizeof(source->package.name), PACKAGE "%s", known->name);
	snprintf(source->tree, sizeof(source->tree), "%s/source/%s/linux", lab->dir, known->name);
	snprintf(path, sizeof(path), "%s/source/%s/version", lab->dir, known->name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	text_init(&text, lab->mem);
	here = !text_read(&text, fd) &&
	       sscanf(text_string(&text), "%127s", source->package.version) == 1;
	text_destroy(&text);
	close(fd);
	return here;
}

/* What the archive has: its version. */
static int look_up(struct archive *a, struct kernel_source *source)
{
	const char *const show[] = {"apt-cache", "--no-all-versions", "show", source->package.name,
				    NULL};
	struct debian_package packages[DEBIAN_PACKAGES_MAX];
	struct text out;
	int err;

	err = archive_update(a);
	text_init(&out, a->lab->mem);
	if (!err)
		err = archive_run(a, show, &out);
	if (!err && debian_packages(text_string(&out), "-", packages) < 1)
		err = lab_fail(a->lab, -EINVAL, "%s: apt-cache describes it strangely",
			       source->package.name);
	if (!err)
		source->package = packages[0];
	text_destroy(&out);
	return err;
}

static int unpack(struct archive *a, const struct kernel_source *source, const char *below)
{
	char debs[PATH_MAX], tree[PATH_MAX], tar[PATH_MAX + 256];
	const char *const argv[] = {"tar", "-xf", tar, "--strip-components=1", UNUSED, NULL};
	int err;

	err = cache_subdir(a->lab, debs, sizeof(debs), "%s/package", below);
	if (!err)
		err = cache_subdir(a->lab, tree, sizeof(tree), "%s/linux", below);
	if (!err)
		err = archive_unpack(a, &source->package, 1, below, debs);
	snprintf(tar, sizeof(tar), "%s/usr/src/%s.tar.xz", debs, source->package.name);
	if (!err)
		err = tool_run(a->lab, argv, tree, NULL);
	if (!err)
		remove_tree(debs);
	return err;
}

static int write_version(struct lab *lab, const struct kernel_source *source, const char *dir)
{
	char path[PATH_MAX + 16], line[160];
	int fd, err;

	snprintf(path, sizeof(path), "%s/version", dir);
	snprintf(line, sizeof(line), "%s\n", source->package.version);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	err = fd < 0 ? -errno : write_all(fd, line, strlen(line));
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	return err ? lab_fail(lab, err, "%s: %s", path, strerror(-err)) : 0;
}

static int fetch(struct lab *lab, struct kernel_source *source)
{
	const struct known_kernel *known = newest();
	char below[64], dir[PATH_MAX], to[PATH_MAX];
	struct archive a;
	int err;

	snprintf(below, sizeof(below), "source/%s.new", known->name);
	snprintf(dir, sizeof(dir), "%s/%s", lab->dir, below);
	snprintf(to, sizeof(to), "%s/source/%s", lab->dir, known->name);
	remove_tree(dir);
	err = archive_open(&a, lab, known->name, known->suite);
	if (!err)
		err = look_up(&a, source);
	if (!err)
		err = unpack(&a, source, below);
	if (!err)
		err = write_version(lab, source, dir);
	if (!err) {
		remove_tree(to);
		if (rename(dir, to))
			err = lab_fail(lab, -errno, "%s: %s", to, strerror(errno));
	}
	if (err)
		remove_tree(dir);
	return err;
}

int kernel_source(struct lab *lab, struct kernel_source *source)
{
	char why[sizeof(lab->msg) - 64];
	int err;

	err = cache_lock(lab);
	/* Somebody else may have fetched it meanwhile. */
	if (!err && !kernel_source_is_here(lab, source))
		err = fetch(lab, source);
	cache_unlock(lab);
	if (err != -EIO)
		return err;
	snprintf(why, sizeof(why), "%.*s", (int)sizeof(why) - 1, lab->msg);
	return lab_fail(lab, err, "%s cannot be fetched: %s", source->package.name, why);
}
