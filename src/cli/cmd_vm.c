/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage vm: kernels in virtual machines; see cmd_vm.h and the lab's lab.h.
 *
 * Kernels are fetched when they are first asked for, and kept.
 */
#include <argp.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd_vm.h"
#include "fetch.h"
#include "guest.h"
#include "kernel_build.h"
#include "kernel_image.h"
#include "suggest.h"

static void show_progress(const char *what)
{
	progress_line("vm: %s", what);
}

static void tell(const char *what)
{
	complain("vm: %s; fetching it again", what);
}

bool vm_open_lab(struct lab *lab, struct mem *mem)
{
	mem_init(mem);
	lab_init(lab, mem);
	lab->stop = interrupted;
	lab->progress = show_progress;
	if (!cache_open(lab))
		return true;
	complain("vm: %s", lab->msg);
	lab_destroy(lab);
	return false;
}

/* A built kernel that is not here is not fetched, and one that is damaged is not built by itself. */
static int load_built(struct lab *lab, const char *name, struct cached_kernel *kernel)
{
	bool own = !strncmp(name, "own", 3), debug = strstr(name, "-debug") != NULL;
	char why[512];
	int err = cache_load(lab, name, kernel);

	if (!err)
		return 0;
	snprintf(why, sizeof(why), "%.511s", err == -ENOENT ? "was not built yet" : lab->msg);
	return lab_fail(lab, err, "--kernel %s: %s; 'samepage vm build-kernel%s%s' makes it", name,
			why, own ? " --source DIR" : "", debug ? " --debug" : "");
}

/* -EINTR has been told by nobody yet either. */
static int fail(const struct lab *lab)
{
	if (interrupted())
		complain("interrupted");
	else
		complain("vm: %s", lab->msg);
	return EXIT_USAGE;
}

bool vm_check_kernel_word(const char *text)
{
	struct suggestion near;
	char names[128] = "";

	if (!strcmp(text, "all") || strchr(text, '/') || kernel_by_name(text) ||
	    is_built_name(text) || !access(text, F_OK))
		return true;
	suggest_init(&near, text, strlen(text));
	for (const struct known_kernel *k = known_kernels; k->name; k++) {
		suggest_consider(&near, k->name);
		strcat(strcat(names, k->name), ", ");
	}
	for (const char *const *name = built_names; *name; name++) {
		suggest_consider(&near, *name);
		strcat(strcat(names, *name), ", ");
	}
	if (near.best)
		complain(
			"--kernel %s: did you mean '%s'? It must be one of %sall, or the path of a "
			"kernel file",
			text, near.best, names);
	else
		complain("--kernel %s: must be one of %sall, or the path of a kernel file", text,
			 names);
	return false;
}

bool vm_check_append(const char *words)
{
	if (strlen(words) <= 512 && !strstr(words, "--"))
		return true;
	complain("--append: up to 512 bytes without --, which ends a kernel's own words");
	return false;
}

static int add_kernel(struct lab *lab, struct vm_kernels *kernels, const char *text,
		      const struct known_kernel *known)
{
	struct cached_kernel *kernel = &kernels->list[kernels->nr];
	int err;

	for (unsigned int i = 0; i < kernels->nr; i++)
		if (!strcmp(kernels->list[i].name, text))
			return 0;
	if (kernels->nr == VM_KERNELS_MAX) {
		complain("vm: more than %d kernels", VM_KERNELS_MAX);
		return EXIT_USAGE;
	}
	if (known)
		err = fetch_kernel(lab, known, false, kernel, NULL, tell);
	else if (is_built_name(text))
		err = load_built(lab, text, kernel);
	else
		err = kernel_from_path(lab, text, kernel);
	if (!err)
		err = kernel_check_config(lab, kernel);
	progress_line("%s", "");
	if (err)
		return fail(lab);
	kernels->nr++;
	return 0;
}

int vm_add_kernels(struct lab *lab, struct vm_kernels *kernels, const char *text)
{
	int status = 0;

	if (strcmp(text, "all") != 0)
		return add_kernel(lab, kernels, text, kernel_by_name(text));
	for (const struct known_kernel *k = known_kernels; k->name && !status; k++)
		status = add_kernel(lab, kernels, k->name, k);
	return status;
}

bool vm_take_kernel_word(struct vm_kernel_words *words, const char *command, const char *text)
{
	if (!vm_check_kernel_word(text))
		return false;
	if (words->nr == ARRAY_SIZE(words->list)) {
		complain("%s: --kernel %s: more than %d kernels", command, text, VM_KERNELS_MAX);
		return false;
	}
	words->list[words->nr++] = text;
	return true;
}

int vm_add_kernel_words(struct lab *lab, struct vm_kernels *kernels,
			const struct vm_kernel_words *words, const char *otherwise)
{
	int status = 0;

	if (!words->nr)
		return vm_add_kernels(lab, kernels, otherwise);
	for (unsigned int i = 0; i < words->nr && !status; i++)
		status = vm_add_kernels(lab, kernels, words->list[i]);
	return status;
}

/* ---- list ---- */

static error_t parse_nothing(int key, char *arg, struct argp_state *state)
{
	(void)state;
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	complain("vm list: %s: takes no names", arg);
	return EINVAL;
}

/* `from` is NULL for one that was built, which its manifest says. */
static void list_kernel(struct lab *lab, const char *name, const char *from)
{
	struct cached_kernel kernel;
	int err = cache_load(lab, name, &kernel);

	if (!from && err == -ENOENT)
		return;
	printf("%-12s %-20s %-28s %s\n", name, from ? from : kernel.package.name,
	       err ? "-" : kernel.release,
	       !err	       ? "here"
	       : err == -ENOENT ? "not fetched"
				: lab->msg);
}

static int vm_list(int argc, char **argv)
{
	static const struct argp_option list[] = {{0}};
	static const struct argp argp = {
		list, parse_nothing,
		"",   "Lists the kernels that are known by name, and which of them are here; those "
		      "that were built, too.",
		NULL, NULL,
		NULL};
	struct lab lab;
	struct mem mem;

	if (!parse_options(&argp, argc, argv, NULL) || !vm_open_lab(&lab, &mem))
		return EXIT_USAGE;
	printf("%-12s %-20s %-28s %s\n", "kernel", "from", "release", "state");
	for (const struct known_kernel *k = known_kernels; k->name; k++)
		list_kernel(&lab, k->name, k->suite);
	for (const char *const *name = built_names; *name; name++)
		list_kernel(&lab, *name, NULL);
	printf("\nin %s\n", lab.dir);
	lab_destroy(&lab);
	return EXIT_HELD;
}

/* ---- fetch ---- */

struct fetch_arguments {
	bool wanted[8], any, newest;
};

enum { KEY_NEWEST = 256 };

static error_t parse_fetch(int key, char *arg, struct argp_state *state)
{
	struct fetch_arguments *a = state->input;
	const struct known_kernel *known;

	switch (key) {
	case KEY_NEWEST:
		a->newest = true;
		return 0;
	case ARGP_KEY_ARG:
		known = kernel_by_name(arg);
		if (!known && strcmp(arg, "all") != 0) {
			/* A path needs no fetching. */
			if (vm_check_kernel_word(arg))
				complain("vm fetch: %s: is not one of Debian's kernels", arg);
			return EINVAL;
		}
		for (unsigned int i = 0; known_kernels[i].name; i++)
			a->wanted[i] |= !known || known == &known_kernels[i];
		a->any = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int vm_fetch(int argc, char **argv)
{
	static const struct argp_option list[] = {
		{"newest", KEY_NEWEST, NULL, 0, "look for a newer one than is here", 0}, {0}};
	static const struct argp argp = {list,
					 parse_fetch,
					 "[KERNEL...]",
					 "Fetches Debian's kernels, all of them or those named, "
					 "where they are not here yet.",
					 NULL,
					 NULL,
					 NULL};
	struct fetch_arguments a = {0};
	struct cached_kernel kernel;
	struct lab lab;
	struct mem mem;
	int status = EXIT_HELD;

	if (!parse_options(&argp, argc, argv, &a))
		return EXIT_USAGE;
	catch_interrupts(2000);
	if (!vm_open_lab(&lab, &mem))
		return EXIT_USAGE;
	for (unsigned int i = 0; known_kernels[i].name && !interrupted(); i++) {
		bool fetched;
		int err;

		if (a.any && !a.wanted[i])
			continue;
		err = fetch_kernel(&lab, &known_kernels[i], a.newest, &kernel, &fetched, tell);
		progress_line("%s", "");
		if (err)
			status = fail(&lab);
		else
			printf("%-8s %-28s %s\n", kernel.name, kernel.release,
			       fetched ? "fetched" : "is here");
	}
	lab_destroy(&lab);
	return status;
}

int cmd_vm(int argc, char **argv)
{
	static const struct command table[] = {
		{"run", "run scenario files on other kernels", vm_run},
		{"exec", "run programs on other kernels", vm_exec},
		{"list", "which kernels are known, and which are here", vm_list},
		{"fetch", "fetch Debian's kernels", vm_fetch},
		{"shell", "a shell in a guest", vm_shell},
		{"build-kernel", "build one with all that scenarios need", vm_build_kernel},
		{NULL, NULL, NULL},
	};

	if (argc > 1 && !strcmp(argv[1], "each"))
		return vm_each(argc - 1, argv + 1);
	return dispatch(table, "samepage vm", "command", argc, argv);
}

int cmd_vm_init(int argc, char **argv)
{
	(void)guest_main(argc > 1 && !strcmp(argv[1], "shell"));
	complain("vm-init: only a guest's kernel may start this, as its first process");
	return EXIT_USAGE;
}
