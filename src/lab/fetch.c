/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels from the Debian archive; see fetch.h. */
#include "fetch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "archive.h"
#include "kernel_image.h"

/* One kernel on its way from the archive. */
struct fetch {
	struct lab *lab;
	const struct known_kernel *known;
	struct cached_kernel *kernel;
	struct archive archive;
	struct debian_package packages[DEBIAN_PACKAGES_MAX];
	int nr_packages;
};

/* What the archive has: f->packages, and the release in the kernel. */
static int look_up(struct fetch *f)
{
	const char *const list[] = {"apt-cache", "pkgnames", f->known->prefix, NULL};
	char name[sizeof(f->kernel->release) + 16];
	const char *const show[] = {"apt-cache", "--no-all-versions", "show", name, NULL};
	struct text out;
	int err;

	err = archive_update(&f->archive);
	text_init(&out, f->lab->mem);
	if (!err)
		err = archive_run(&f->archive, list, &out);
	if (!err && debian_newest(f->known, text_string(&out), f->kernel->release,
				  sizeof(f->kernel->release)))
		err = lab_fail(f->lab, -ENOENT, "Debian's %s has no kernel %s any more (%s*%s)",
			       f->known->suite, f->known->name, f->known->prefix, f->known->suffix);
	text_destroy(&out);
	if (err)
		return err;
	snprintf(name, sizeof(name), "linux-image-%s", f->kernel->release);
	err = archive_run(&f->archive, show, &out);
	if (!err) {
		f->nr_packages =
			debian_packages(text_string(&out), f->kernel->release, f->packages);
		if (f->nr_packages < 0)
			err = lab_fail(f->lab, f->nr_packages,
				       "%s: apt-cache describes it strangely", name);
	}
	text_destroy(&out);
	return err;
}

/* Moves the file, wherever the package has it, into the kernel's directory. */
static int keep(struct fetch *f, const char *tree, const char *what, struct cached_file *file)
{
	static const char *const places[] = {"usr/lib/modules", "lib/modules"};
	char from[PATH_MAX + 256], to[PATH_MAX];

	snprintf(to, sizeof(to), "%s/%s", f->kernel->dir, what);
	for (unsigned int i = 0; i <= ARRAY_SIZE(places); i++) {
		if (i < ARRAY_SIZE(places))
			snprintf(from, sizeof(from), "%s/%s/%s/%s", tree, places[i],
				 f->kernel->release, what);
		else
			snprintf(from, sizeof(from), "%s/boot/%s-%s", tree, what,
				 f->kernel->release);
		if (!rename(from, to)) {
			snprintf(file->name, sizeof(file->name), "%s", what);
			return cache_describe(f->lab, f->kernel, file);
		}
	}
	return lab_fail(f->lab, -ENOENT, "%s has no %s", f->packages[0].name, what);
}

static int fill(struct fetch *f)
{
	static const char *const places[] = {"usr/lib/modules", "lib/modules"};
	char below[128], tree[PATH_MAX], root[PATH_MAX + 256];
	int err;

	snprintf(below, sizeof(below), "kernels/%s.new", f->known->name);
	err = cache_begin(f->lab, f->kernel);
	if (!err)
		err = cache_subdir(f->lab, tree, sizeof(tree), "%s/tree", below);
	if (!err)
		err = archive_unpack(&f->archive, f->packages, f->nr_packages, below, tree);
	if (!err)
		err = keep(f, tree, "vmlinuz", &f->kernel->image);
	if (!err)
		err = keep(f, tree, "config", &f->kernel->config);
	if (!err)
		err = kernel_unpack(f->lab, f->kernel);
	for (unsigned int i = 0; i < ARRAY_SIZE(places) && !err && !f->kernel->nr_modules; i++) {
		snprintf(root, sizeof(root), "%s/%s/%s", tree, places[i], f->kernel->release);
		if (!access(root, R_OK))
			err = kernel_add_modules(f->lab, root, f->kernel);
	}
	if (!err) {
		remove_tree(tree);
		f->kernel->package = f->packages[0];
		err = cache_commit(f->lab, f->kernel);
	}
	if (err)
		remove_tree(f->kernel->dir);
	return err;
}

static int fetch_locked(struct fetch *f, const struct cached_kernel *have)
{
	char why[sizeof(f->lab->msg) - 64];
	int err;

	err = archive_open(&f->archive, f->lab, f->known->name, f->known->suite);
	if (!err)
		err = look_up(f);
	if (!err && have && !strcmp(have->package.version, f->packages[0].version) &&
	    !strcmp(have->release, f->kernel->release)) {
		*f->kernel = *have;
		return 0;
	}
	if (!err)
		err = fill(f);
	if (err == -EIO) {
		snprintf(why, sizeof(why), "%.*s", (int)sizeof(why) - 1, f->lab->msg);
		return lab_fail(f->lab, err, "Linux %s cannot be fetched: %s", f->known->name, why);
	}
	return err;
}

int fetch_kernel(struct lab *lab, const struct known_kernel *known, bool newest,
		 struct cached_kernel *kernel, bool *fetched, void (*told)(const char *))
{
	struct cached_kernel have;
	struct fetch f;
	int found, err;

	if (fetched)
		*fetched = false;
	found = cache_load(lab, known->name, kernel);
	if (!newest && !found)
		return 0;
	err = cache_lock(lab);
	if (err)
		goto out;
	/* Somebody else may have fetched it meanwhile. */
	found = cache_load(lab, known->name, &have);
	if (found == -EUCLEAN && told)
		told(lab->msg);
	*kernel = have;
	if (found && found != -ENOENT && found != -EUCLEAN)
		err = found;
	else if (found || newest) {
		f = (struct fetch){.lab = lab, .known = known, .kernel = kernel};
		*kernel = (struct cached_kernel){0};
		snprintf(kernel->name, sizeof(kernel->name), "%s", known->name);
		err = fetch_locked(&f, found ? NULL : &have);
		if (!err && fetched)
			*fetched = found || strcmp(have.release, kernel->release) != 0 ||
				   strcmp(have.package.version, kernel->package.version) != 0;
	}
out:
	cache_unlock(lab);
	return err;
}
