/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Scenario files, and which guest runs which of them; see vm_unit.c.
 *
 *	good = vm_files_parse(&files, paths, nr);	// before any guest: a mistake costs no boot
 *	if (good && vm_units_init(&units, &kernels, &files, 1, false))
 *		for (i = 0; i < units.nr; i++)		// start units.list[i].guest
 *	vm_units_destroy(&units);
 *	vm_files_destroy(&files);
 *
 * Locks: none; the main thread's alone.
 */
#ifndef SP_VM_UNIT_H
#define SP_VM_UNIT_H

#include <inttypes.h>

#include "cmd_vm.h"
#include "scenario.h"

struct vm_files {
	char **paths;
	unsigned int nr;
	struct scenario **scenarios;
};

struct vm_unit {
	const struct cached_kernel *kernel;
	char **paths;
	unsigned int nr_paths;
	struct vm_guest guest;
};

struct vm_units {
	struct vm_unit *list;
	unsigned int nr;
	char **paths; /* of all of them */
};

/* False, told, when one has a mistake or cannot be read. To be destroyed in any case. */
bool vm_files_parse(struct vm_files *files, char **paths, unsigned int nr);
void vm_files_destroy(struct vm_files *files);

/*
 * In order of the kernels, and of the files of each, which are spread over so many guests. False, told,
 * without memory. To be destroyed in any case.
 */
bool vm_units_init(struct vm_units *units, const struct vm_kernels *kernels,
		   const struct vm_files *files, unsigned int nr_parts, bool on_engine);
void vm_units_destroy(struct vm_units *units);

#endif
