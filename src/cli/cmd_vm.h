/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage vm: what its files share.
 *
 *   cmd_vm.c	the subcommands: list, fetch, and what a guest's kernel starts
 *   vm_build.c	build-kernel
 *   vm_exec.c	exec: programs, and the part of it that runs in the guest
 *   vm_shell.c	shell
 *   vm_run.c	run: several kernels, two guests at a time
 *   vm_unit.c	which guest runs which files
 *   vm_report.c	what came of them, for people and for programs
 *
 * Locks: none; the main thread's alone.
 */
#ifndef SP_CMD_VM_H
#define SP_CMD_VM_H

#include "cli.h"
#include "qemu.h"

#define VM_KERNELS_MAX 16

/* The kernels that a command was given, in that order. */
struct vm_kernels {
	struct cached_kernel list[VM_KERNELS_MAX];
	unsigned int nr;
};

/* A guest that ran scenarios. */
struct vm_guest {
	struct qemu vm;
	const char *deadly; /* the file that its kernel must die of (`kills linux`), or NULL */
	unsigned int part, nr_parts; /* of its kernel's files, from 1 on; part 0: all of them */
};

struct vm_units;

/* A lab that shows its progress and ends at ^C. False when something is missing, told. */
bool vm_open_lab(struct lab *lab, struct mem *mem);
/*
 * Adds what --kernel says: a name, "all" (of Debian's), or a path of a kernel file. 0, or EXIT_USAGE with
 * a message; it may fetch.
 */
int vm_add_kernels(struct lab *lab, struct vm_kernels *kernels, const char *text);
/* False, told, for a word that is neither; without looking for the kernel itself. */
bool vm_check_kernel_word(const char *text);
/* Those of --kernel, which may be repeated, until the lab is open. */
struct vm_kernel_words {
	const char *list[VM_KERNELS_MAX];
	unsigned int nr;
};
/* The next one; `command` is for the message. False, told, when it is wrong or one too many. */
bool vm_take_kernel_word(struct vm_kernel_words *words, const char *command, const char *text);
/* vm_add_kernels() of each, or of `otherwise` where there is none. */
int vm_add_kernel_words(struct lab *lab, struct vm_kernels *kernels,
			const struct vm_kernel_words *words, const char *otherwise);
/* Of --append, likewise. */
bool vm_check_append(const char *words);

int vm_run(int argc, char **argv);
int vm_build_kernel(int argc, char **argv);
int vm_shell(int argc, char **argv);
int vm_exec(int argc, char **argv);
/* Its part inside of a guest; not among the commands that are listed. */
int vm_each(int argc, char **argv);

/* The guest's part of the exit status: its command's, or EXIT_GUEST. */
int vm_exit_status(const struct vm_guest *guest);
void vm_print_people(const struct vm_guest *guest, bool first);
void vm_print_json(const struct vm_units *units);

#endif
