/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernels from the Debian archive; see fetch.h. */
#include "fetch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel_image.h"
#include "tool.h"

#define KEYRING	   "/usr/share/keyrings/debian-archive-keyring.gpg"
#define NR_OPTIONS 14

/* One kernel on its way from the archive. */
struct fetch {
	struct lab *lab;
	const struct known_kernel *known;
	struct cached_kernel *kernel;
	char apt_dir[PATH_MAX];
	char options[NR_OPTIONS][PATH_MAX + 64]; /* of every call of apt */
	struct debian_package packages[DEBIAN_PACKAGES_MAX];
	int nr_packages;
};

/* apt with our options after the first word of `words`, which a NULL ends. */
static int apt(struct fetch *f, const char *const words[], const char *dir, struct text *out)
{
	const char *argv[2 * NR_OPTIONS + DEBIAN_PACKAGES_MAX + 8];
	unsigned int nr = 0;

	argv[nr++] = *words++;
	for (unsigned int i = 0; i < NR_OPTIONS && f->options[i][0]; i++) {
		argv[nr++] = "-o";
		argv[nr++] = f->options[i];
	}
	while (*words)
		argv[nr++] = *words++;
	argv[nr] = NULL;
	return tool_run(f->lab, argv, dir, out);
}

static int write_sources(struct fetch *f)
{
	const char *const argv[] = {
		"apt-get", "indextargets", "--format", DEBIAN_TARGET_FORMAT, "Created-By: Packages",
		NULL};
	char uri[512], line[1024], path[PATH_MAX + 32];
	struct text targets;
	int fd, err;

	text_init(&targets, f->lab->mem);
	err = tool_run(f->lab, argv, NULL, &targets);
	if (!err && debian_archive(text_string(&targets), uri, sizeof(uri)))
		err = lab_fail(f->lab, -ENOENT,
			       "apt's sources name no Debian archive to fetch kernels from");
	text_destroy(&targets);
	if (err)
		return err;
	snprintf(line, sizeof(line), "deb [arch=amd64%s] %s %s main\n",
		 access(KEYRING, R_OK) ? "" : " signed-by=" KEYRING, uri, f->known->suite);
	snprintf(path, sizeof(path), "%s/sources.list", f->apt_dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	err = fd < 0 ? -errno : write_all(fd, line, strlen(line));
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	return err ? lab_fail(f->lab, err, "%s: %s", path, strerror(-err)) : 0;
}

static int prepare(struct fetch *f)
{
	char path[PATH_MAX];
	unsigned int nr = 0;
	int err;

	err = cache_subdir(f->lab, path, sizeof(path), "apt/%s/lists/partial", f->known->name);
	if (!err)
		err = cache_subdir(f->lab, path, sizeof(path), "apt/%s/archives/partial",
				   f->known->name);
	if (!err)
		err = cache_subdir(f->lab, f->apt_dir, sizeof(f->apt_dir), "apt/%s",
				   f->known->name);
	if (!err)
		err = write_sources(f);
	if (err)
		return err;
#define OPTION(...) snprintf(f->options[nr++], sizeof(f->options[0]), __VA_ARGS__)
	OPTION("Dir::State::lists=%s/lists", f->apt_dir);
	OPTION("Dir::State::status=/dev/null");
	OPTION("Dir::Etc::sourcelist=%s/sources.list", f->apt_dir);
	OPTION("Dir::Etc::sourceparts=/dev/null");
	OPTION("Dir::Etc::preferences=/dev/null");
	OPTION("Dir::Etc::preferencesparts=/dev/null");
	OPTION("Dir::Cache=%s", f->apt_dir);
	OPTION("APT::Architecture=amd64");
	OPTION("APT::Architectures::=amd64");
	OPTION("APT::Update::Error-Mode=any");
	OPTION("Acquire::Languages=none");
	OPTION("Acquire::Retries=2");
	OPTION("Acquire::http::Timeout=20");
	OPTION("Acquire::https::Timeout=20");
#undef OPTION
	return 0;
}

/* What the archive has: f->packages, and the release in the kernel. */
static int look_up(struct fetch *f)
{
	const char *const update[] = {"apt-get", "-qq", "update", NULL};
	const char *const list[] = {"apt-cache", "pkgnames", f->known->prefix, NULL};
	char name[sizeof(f->kernel->release) + 16];
	const char *const show[] = {"apt-cache", "--no-all-versions", "show", name, NULL};
	struct text out;
	int err;

	lab_progress(f->lab, "%s: the package index of %s", f->known->name, f->known->suite);
	err = apt(f, update, NULL, NULL);
	text_init(&out, f->lab->mem);
	if (!err)
		err = apt(f, list, NULL, &out);
	if (!err && debian_newest(f->known, text_string(&out), f->kernel->release,
				  sizeof(f->kernel->release)))
		err = lab_fail(f->lab, -ENOENT, "Debian's %s has no kernel %s any more (%s*%s)",
			       f->known->suite, f->known->name, f->known->prefix, f->known->suffix);
	text_destroy(&out);
	if (err)
		return err;
	snprintf(name, sizeof(name), "linux-image-%s", f->kernel->release);
	err = apt(f, show, NULL, &out);
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

/* Fetches the packages and unpacks them below `tree`. */
static int unpack(struct fetch *f, const char *tree)
{
	const char *words[DEBIAN_PACKAGES_MAX + 4] = {"apt-get", "-qq", "download"};
	char exact[DEBIAN_PACKAGES_MAX][264], debs[PATH_MAX];
	struct dirent *entry;
	int err;
	DIR *d;

	for (int i = 0; i < f->nr_packages; i++) {
		snprintf(exact[i], sizeof(exact[i]), "%s=%s", f->packages[i].name,
			 f->packages[i].version);
		words[3 + i] = exact[i];
	}
	err = cache_subdir(f->lab, debs, sizeof(debs), "kernels/%s.new/debs", f->known->name);
	lab_progress(f->lab, "%s: fetching %s", f->known->name, f->packages[0].name);
	if (!err)
		err = apt(f, words, debs, NULL);
	if (err)
		return err;
	lab_progress(f->lab, "%s: unpacking %s", f->known->name, f->packages[0].name);
	d = opendir(debs);
	if (!d)
		return lab_fail(f->lab, -errno, "%s: %s", debs, strerror(errno));
	while (!err && (entry = readdir(d))) {
		const char *const argv[] = {"dpkg-deb", "-x", entry->d_name, tree, NULL};

		if (entry->d_name[0] != '.')
			err = tool_run(f->lab, argv, debs, NULL);
	}
	closedir(d);
	remove_tree(debs);
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
	char tree[PATH_MAX], root[PATH_MAX + 256];
	int err;

	err = cache_begin(f->lab, f->kernel);
	if (!err)
		err = cache_subdir(f->lab, tree, sizeof(tree), "kernels/%s.new/tree",
				   f->known->name);
	if (!err)
		err = unpack(f, tree);
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

	err = prepare(f);
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
	char apt_path[PATH_MAX];
	struct fetch f;
	int found, err;

	if (fetched)
		*fetched = false;
	found = cache_load(lab, known->name, kernel);
	if (!newest && !found)
		return 0;
	err = tool_require(lab, "apt-get", "apt", apt_path, sizeof(apt_path));
	if (err)
		return err;
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
