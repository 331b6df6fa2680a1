/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which guest runs which files. A unit is one guest: a kernel, and the files that it is given.
 * Those of which its kernel dies (`kills linux`) are alone in theirs, since nothing comes after
 * them. The others are spread over as many guests as were asked for, in order.
 *
 * Locks: none.
 */
#include <stdlib.h>

#include "vm_unit.h"

/* False: its version is not known, so nothing is known of it. */
static bool dies(const struct scenario *scenario, const struct cached_kernel *kernel)
{
	uint32_t version;

	return !linux_version_of_release(kernel->release, &version) &&
	       scenario_kills(scenario, version);
}

/* The unit's file array lies behind the units. */
static void add_unit(struct vm_units *units, const struct cached_kernel *kernel, char **paths)
{
	struct vm_unit *unit = &units->list[units->nr++];

	unit->kernel = kernel;
	unit->paths = paths;
}

/* The files from `from` on, as equally as can be. */
static void spread(struct vm_units *units, const struct cached_kernel *kernel, char **from,
		   unsigned int nr, unsigned int nr_parts)
{
	unsigned int parts = MIN(nr, nr_parts), done = 0;

	for (unsigned int i = 0; i < parts; i++) {
		struct vm_unit *unit = &units->list[units->nr];

		add_unit(units, kernel, from + done);
		unit->nr_paths = (nr - done) / (parts - i);
		unit->guest.part = parts > 1 ? i + 1 : 0;
		unit->guest.nr_parts = parts;
		done += unit->nr_paths;
	}
}

bool vm_units_init(struct vm_units *units, const struct vm_kernels *kernels,
		   const struct vm_files *files, unsigned int nr_parts, bool on_engine)
{
	unsigned int most = kernels->nr * (files->nr + 1);
	char **at;

	units->nr = 0;
	units->list = calloc(most, sizeof(*units->list));
	units->paths = at = calloc((size_t)kernels->nr * files->nr, sizeof(*units->paths));
	if (!units->list || !units->paths) {
		complain("out of memory");
		return false;
	}
	for (unsigned int k = 0; k < kernels->nr; k++) {
		const struct cached_kernel *kernel = &kernels->list[k];
		unsigned int nr = 0;

		for (unsigned int f = 0; f < files->nr; f++)
			if (on_engine || !dies(files->scenarios[f], kernel))
				at[nr++] = files->paths[f];
		spread(units, kernel, at, nr, nr_parts);
		at += nr;
		for (unsigned int f = 0; f < files->nr; f++) {
			if (on_engine || !dies(files->scenarios[f], kernel))
				continue;
			add_unit(units, kernel, at);
			*at++ = files->paths[f];
			units->list[units->nr - 1].nr_paths = 1;
			units->list[units->nr - 1].guest.deadly = files->paths[f];
		}
	}
	return true;
}

void vm_units_destroy(struct vm_units *units)
{
	free(units->list);
	free(units->paths);
}

bool vm_files_parse(struct vm_files *files, char **paths, unsigned int nr)
{
	struct diagnostics *diagnostics = malloc(sizeof(*diagnostics));
	bool good;

	files->paths = paths;
	files->nr = 0;
	files->scenarios = calloc(nr, sizeof(*files->scenarios));
	good = diagnostics && files->scenarios;
	if (!good)
		complain("out of memory");
	for (unsigned int i = 0; i < nr && diagnostics && files->scenarios; i++) {
		if (!scenario_parse_file(paths[i], diagnostics, &files->scenarios[i]))
			continue;
		files->scenarios[i] = NULL;
		for (unsigned int d = 0; d < diagnostics->nr_listed; d++)
			fprintf(stderr, "%s\n", diagnostics->list[d]);
		if (diagnostics->nr_total > diagnostics->nr_listed)
			complain("%s: and %" PRIu64 " more", paths[i],
				 diagnostics->nr_total - diagnostics->nr_listed);
		good = false;
	}
	if (files->scenarios)
		files->nr = nr;
	free(diagnostics);
	return good;
}

void vm_files_destroy(struct vm_files *files)
{
	for (unsigned int i = 0; i < files->nr; i++)
		scenario_destroy(files->scenarios[i]);
	free(files->scenarios);
}
