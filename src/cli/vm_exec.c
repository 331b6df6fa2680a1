/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage vm exec: programs on other kernels, such as those that samepage export makes.
 *
 * They are copied into a guest with the libraries they need, and run there one after the other, as root,
 * by `samepage vm each`, the part of this file that runs inside. A program that does not end is killed,
 * and left behind where even that does not end it: the ones after it run all the same.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "cmd_vm.h"
#include "initramfs.h"

#define NS_PER_S UINT64_C(1000000000)
#define LIMIT_NS (120 * NS_PER_S)
/* Of one program, in the guest; after it, so long for SIGKILL. */
#define EACH_NS (300 * NS_PER_S)
#define KILL_NS (2 * NS_PER_S)

struct arguments {
	struct vm_kernels kernels;
	struct vm_kernel_words words;
	uint64_t limit_ns; /* 0: as many programs take */
	const char *append;
	char **paths;
	unsigned int nr_paths;
};

/* ---- In the guest ---------------------------------------------------------------------- */

static bool wait_until(pid_t pid, uint64_t deadline_ns, int *status)
{
	while (clock_measure_ns() < deadline_ns) {
		if (waitpid(pid, status, WNOHANG) == pid)
			return true;
		usleep(5000);
	}
	return false;
}

/* As samepage's own statuses count, whatever the program means by others. */
static int run_one(const char *path)
{
	uint64_t start_ns = clock_measure_ns();
	int status = 0;
	pid_t pid;

	printf("== %s\n", path);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		execl(path, path, (char *)NULL);
		printf("%s: %s\n", path, strerror(errno));
		fflush(stdout);
		_exit(127);
	}
	if (pid < 0 || !wait_until(pid, start_ns + EACH_NS, &status)) {
		if (pid > 0)
			kill(pid, SIGKILL);
		printf("== %s: did not end%s\n", path,
		       pid > 0 && wait_until(pid, clock_measure_ns() + KILL_NS, &status) ? "" : ", nor by SIGKILL");
		return EXIT_NOT_HELD;
	}
	if (WIFSIGNALED(status))
		printf("== %s: killed by signal %d", path, WTERMSIG(status));
	else
		printf("== %s: exit status %d", path, WEXITSTATUS(status));
	printf(", %.1f s\n", (double)(clock_measure_ns() - start_ns) / 1e9);
	if (WIFSIGNALED(status) || WEXITSTATUS(status) > EXIT_SKIPPED)
		return EXIT_NOT_HELD;
	return WEXITSTATUS(status);
}

int vm_each(int argc, char **argv)
{
	int status = EXIT_HELD;

	for (int i = 1; i < argc; i++)
		status = worse_exit_status(status, run_one(argv[i]));
	return status;
}

/* ---- Outside ------------------------------------------------------------------------------- */

static int start(struct lab *lab, const struct arguments *a, const struct cached_kernel *kernel,
		 struct qemu *guest)
{
	struct initramfs_file *files = calloc(a->nr_paths, sizeof(*files));
	char (*names)[PATH_MAX] = calloc(a->nr_paths, sizeof(*names));
	const char **argv = calloc(a->nr_paths + 4, sizeof(*argv));
	struct initramfs_spec image = {
		.kernel = kernel, .argv = argv, .files = files, .nr_files = a->nr_paths};
	struct qemu_spec spec = {.kernel = kernel, .append = a->append};
	int err = files && names && argv ? 0 : lab_fail(lab, -ENOMEM, "out of memory");

	spec.limit_ns = a->limit_ns ? a->limit_ns : LIMIT_NS + a->nr_paths * 5 * NS_PER_S;
	if (!err) {
		argv[0] = "samepage";
		argv[1] = "vm";
		argv[2] = "each";
		for (unsigned int i = 0; i < a->nr_paths; i++) {
			initramfs_place(a->paths[i], i, &files[i], names[i], sizeof(*names));
			files[i].program = true;
			argv[i + 3] = names[i];
		}
		err = initramfs_build(lab, &image, &spec.initramfs);
	}
	free(files);
	free(names);
	free(argv);
	if (err)
		return err;
	err = qemu_start(lab, guest, &spec);
	close(spec.initramfs);
	return err;
}

static int run_guest(struct lab *lab, const struct arguments *a, unsigned int nr)
{
	struct vm_guest guest = {.deadly = NULL};
	struct qemu *guests[] = {&guest.vm};
	int status;

	if (start(lab, a, &a->kernels.list[nr], &guest.vm)) {
		complain("vm: %s", lab->msg);
		return EXIT_USAGE;
	}
	while (guest.vm.pid && !interrupted()) {
		(void)qemu_watch(guests, 1, 100);
		progress_line("vm: %s: %s, %.0f s", guest.vm.kernel->name,
			      guest.vm.booted_ns ? "running" : "booting",
			      (double)(clock_measure_ns() - guest.vm.start_ns) / 1e9);
	}
	progress_line("%s", "");
	if (interrupted()) {
		complain("interrupted");
		status = EXIT_USAGE;
	} else {
		vm_print_people(&guest, !nr);
		status = vm_exit_status(&guest);
	}
	qemu_destroy(&guest.vm);
	return status;
}

static int run(struct arguments *a)
{
	char path[PATH_MAX];
	int status = EXIT_HELD;
	struct lab lab;
	struct mem mem;

	if (!vm_open_lab(&lab, &mem))
		return EXIT_USAGE;
	if (qemu_require(&lab, path, sizeof(path))) {
		complain("vm: %s", lab.msg);
		status = EXIT_USAGE;
	}
	if (!status)
		status = vm_add_kernel_words(&lab, &a->kernels, &a->words, "7.2");
	for (unsigned int i = 0; i < a->kernels.nr && status != EXIT_USAGE; i++)
		status = worse_exit_status(status, run_guest(&lab, a, i));
	lab_destroy(&lab);
	return status;
}

enum { KEY_KERNEL = 256, KEY_LIMIT, KEY_APPEND };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_KERNEL:
		return vm_take_kernel_word(&a->words, "vm exec", arg) ? 0 : EINVAL;
	case KEY_LIMIT:
		return parse_duration("--time-limit", arg, NS_PER_S, 24 * 3600 * NS_PER_S, &a->limit_ns) ?
			       0 :
			       EINVAL;
	case KEY_APPEND:
		if (!vm_check_append(arg))
			return EINVAL;
		a->append = arg;
		return 0;
	case ARGP_KEY_ARGS:
		a->paths = state->argv + state->next;
		a->nr_paths = (unsigned int)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		complain("vm exec: which program? Try 'samepage vm exec ./repro', or 'samepage vm exec --help'");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Before a guest is made for them. */
static bool programs_are_there(const struct arguments *a)
{
	for (unsigned int i = 0; i < a->nr_paths; i++)
		if (access(a->paths[i], X_OK)) {
			complain("vm exec: %s: %s", a->paths[i], strerror(errno));
			return false;
		}
	return true;
}

int vm_exec(int argc, char **argv)
{
	static const struct argp_option list[] = {
		{"kernel", KEY_KERNEL, "KERNEL", 0,
		 "6.1, 6.12, 7.2, all, or the path of a kernel file; may be repeated (default 7.2)", 0},
		{"time-limit", KEY_LIMIT, "TIME", 0,
		 "of each guest, from its start on (default 2m, and 5s for each program)", 0},
		{"append", KEY_APPEND, "WORDS", 0, "more words for the kernel's command line", 0},
		{0},
	};
	static const struct argp argp = {
		list,
		parse,
		"PROGRAM...",
		"Runs programs as root on other kernels, one after the other, in a virtual machine for each "
		"kernel: two memory nodes, compressed swap, control groups, nothing else that runs."
		"\vExamples:\n"
		"  samepage export scenarios/mremap-move.scn > repro.c\n"
		"  cc -O2 -o repro repro.c && samepage vm exec --kernel all repro\n\n"
		"Exit status: the worst of the programs', where those above 3 count as 1; 2 wrong option or "
		"program, 4 a guest died, hung, or its kernel complained.",
		NULL,
		NULL,
		NULL};
	static struct arguments a;

	a = (struct arguments){.limit_ns = 0};
	if (!parse_options(&argp, argc, argv, &a) || !programs_are_there(&a))
		return EXIT_USAGE;
	catch_interrupts(2000);
	return run(&a);
}
