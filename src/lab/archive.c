/* SPDX-License-Identifier: GPL-2.0-only */
/* A suite of the Debian archive; see archive.h. */
#include "archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cache.h"
#include "tool.h"

#define KEYRING "/usr/share/keyrings/debian-archive-keyring.gpg"

static int run_in(struct archive *a, const char *const words[], const char *dir, struct text *out)
{
	const char *argv[2 * ARCHIVE_OPTIONS + DEBIAN_PACKAGES_MAX + 8];
	unsigned int nr = 0;

	argv[nr++] = *words++;
	for (unsigned int i = 0; i < ARCHIVE_OPTIONS && a->options[i][0]; i++) {
		argv[nr++] = "-o";
		argv[nr++] = a->options[i];
	}
	while (*words)
		argv[nr++] = *words++;
	argv[nr] = NULL;
	return tool_run(a->lab, argv, dir, out);
}

int archive_run(struct archive *a, const char *const words[], struct text *out)
{
	return run_in(a, words, NULL, out);
}

static int write_sources(struct archive *a)
{
	const char *const argv[] = {
		"apt-get", "indextargets", "--format", DEBIAN_TARGET_FORMAT, "Created-By: Packages",
		NULL};
	char uri[512], line[1024], path[PATH_MAX + 32];
	struct text targets;
	int fd, err;

	text_init(&targets, a->lab->mem);
	err = tool_run(a->lab, argv, NULL, &targets);
	if (!err && debian_archive(text_string(&targets), uri, sizeof(uri)))
		err = lab_fail(a->lab, -ENOENT,
			       "apt's sources name no Debian archive to fetch kernels from");
	text_destroy(&targets);
	if (err)
		return err;
	snprintf(line, sizeof(line), "deb [arch=amd64%s] %s %s main\n",
		 access(KEYRING, R_OK) ? "" : " signed-by=" KEYRING, uri, a->suite);
	snprintf(path, sizeof(path), "%s/sources.list", a->apt_dir);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	err = fd < 0 ? -errno : write_all(fd, line, strlen(line));
	if (fd >= 0 && close(fd) && !err)
		err = -errno;
	return err ? lab_fail(a->lab, err, "%s: %s", path, strerror(-err)) : 0;
}

int archive_open(struct archive *a, struct lab *lab, const char *name, const char *suite)
{
	char path[PATH_MAX];
	unsigned int nr = 0;
	int err;

	*a = (struct archive){.lab = lab, .name = name, .suite = suite};
	err = tool_require(lab, "apt-get", "apt", path, sizeof(path));
	if (!err)
		err = cache_subdir(lab, path, sizeof(path), "apt/%s/lists/partial", name);
	if (!err)
		err = cache_subdir(lab, path, sizeof(path), "apt/%s/archives/partial", name);
	if (!err)
		err = cache_subdir(lab, a->apt_dir, sizeof(a->apt_dir), "apt/%s", name);
	if (!err)
		err = write_sources(a);
	if (err)
		return err;
#define OPTION(...) snprintf(a->options[nr++], sizeof(a->options[0]), __VA_ARGS__)
	OPTION("Dir::State::lists=%s/lists", a->apt_dir);
	OPTION("Dir::State::status=/dev/null");
	OPTION("Dir::Etc::sourcelist=%s/sources.list", a->apt_dir);
	OPTION("Dir::Etc::sourceparts=/dev/null");
	OPTION("Dir::Etc::preferences=/dev/null");
	OPTION("Dir::Etc::preferencesparts=/dev/null");
	OPTION("Dir::Cache=%s", a->apt_dir);
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

int archive_update(struct archive *a)
{
	const char *const update[] = {"apt-get", "-qq", "update", NULL};

	lab_progress(a->lab, "%s: the package index of %s", a->name, a->suite);
	return archive_run(a, update, NULL);
}

int archive_unpack(struct archive *a, const struct debian_package *packages, int nr,
		   const char *below, const char *tree)
{
	const char *words[DEBIAN_PACKAGES_MAX + 4] = {"apt-get", "-qq", "download"};
	char exact[DEBIAN_PACKAGES_MAX][264], debs[PATH_MAX];
	struct dirent *entry;
	int err;
	DIR *d;

	for (int i = 0; i < nr; i++) {
		snprintf(exact[i], sizeof(exact[i]), "%s=%s", packages[i].name,
			 packages[i].version);
		words[3 + i] = exact[i];
	}
	err = cache_subdir(a->lab, debs, sizeof(debs), "%s/debs", below);
	lab_progress(a->lab, "%s: fetching %s", a->name, packages[0].name);
	if (!err)
		err = run_in(a, words, debs, NULL);
	if (err)
		return err;
	lab_progress(a->lab, "%s: unpacking %s", a->name, packages[0].name);
	d = opendir(debs);
	if (!d)
		return lab_fail(a->lab, -errno, "%s: %s", debs, strerror(errno));
	while (!err && (entry = readdir(d))) {
		const char *const argv[] = {"dpkg-deb", "-x", entry->d_name, tree, NULL};

		if (entry->d_name[0] != '.')
			err = tool_run(a->lab, argv, debs, NULL);
	}
	closedir(d);
	remove_tree(debs);
	return err;
}
