/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage vm run: scenario files on other kernels.
 *
 * The files are parsed here first, so that a mistake costs no boot. Each kernel gets a guest of its
 * own, and so does each file that kills it (vm_unit.h); two at a time: emulation is slow enough on one
 * processor each. Reports come in the order of the kernels, whichever guest ends first.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "initramfs.h"
#include "vm_unit.h"

#define GUESTS_AT_ONCE	 2
#define NS_PER_S	 UINT64_C(1000000000)
#define OPTION_WORDS_MAX 16
#define JOBS_MAX	 16
/* Where nothing else is said: a boot, and what a file takes while many others want to run. */
#define LIMIT_NS	  (120 * NS_PER_S)
#define LIMIT_FILE_NS	  (5 * NS_PER_S)

struct arguments {
	struct vm_kernels kernels;
	struct vm_kernel_words words;
	bool on_engine, json;
	const char
		*options[OPTION_WORDS_MAX]; /* what the guest's command is given before the files */
	unsigned int nr_options;
	uint64_t limit_ns; /* 0: as many files take */
	uint64_t jobs;
	const char *append;
	char **paths;
	unsigned int nr_paths;
};

/* The guest's part. */
struct job {
	struct initramfs_file *files;
	char (*names)[PATH_MAX]; /* of the files, as the guest's command is given them */
	const char **argv;
};

static bool job_init(struct job *job, const struct arguments *a, const struct vm_unit *unit)
{
	unsigned int nr = 0;

	job->files = calloc(unit->nr_paths, sizeof(*job->files));
	job->names = calloc(unit->nr_paths, sizeof(*job->names));
	job->argv = calloc(unit->nr_paths + OPTION_WORDS_MAX + 6, sizeof(*job->argv));
	if (!job->files || !job->names || !job->argv) {
		complain("out of memory");
		return false;
	}
	job->argv[nr++] = "samepage";
	job->argv[nr++] = "run";
	if (!a->on_engine) {
		job->argv[nr++] = "--on";
		job->argv[nr++] = "kernel";
	}
	for (unsigned int i = 0; i < a->nr_options; i++)
		job->argv[nr++] = a->options[i];
	if (unit->guest.deadly)
		job->argv[nr++] = "--may-kill";
	job->argv[nr++] = "--";
	for (unsigned int i = 0; i < unit->nr_paths; i++) {
		initramfs_place(unit->paths[i], i, &job->files[i], job->names[i], sizeof(*job->names));
		job->argv[nr++] = job->names[i];
	}
	return true;
}

static void job_destroy(struct job *job)
{
	free(job->files);
	free(job->names);
	free(job->argv);
}

static int start(struct lab *lab, const struct arguments *a, struct vm_unit *unit)
{
	struct qemu_spec spec = {.kernel = unit->kernel, .append = a->append};
	struct job job = {0};
	struct initramfs_spec image;
	int err;

	if (!job_init(&job, a, unit)) {
		job_destroy(&job);
		return lab_fail(lab, -ENOMEM, "out of memory");
	}
	image = (struct initramfs_spec){.kernel = unit->kernel,
					.argv = job.argv,
					.files = job.files,
					.nr_files = unit->nr_paths};
	spec.limit_ns = a->limit_ns ? a->limit_ns : LIMIT_NS + unit->nr_paths * LIMIT_FILE_NS;
	err = initramfs_build(lab, &image, &spec.initramfs);
	job_destroy(&job);
	if (err)
		return err;
	err = qemu_start(lab, &unit->guest.vm, &spec);
	close(spec.initramfs);
	return err;
}

static void show(struct qemu *const *running)
{
	char text[256] = "";
	size_t at = 0;

	for (unsigned int i = 0; i < GUESTS_AT_ONCE; i++) {
		const struct qemu *g = running[i];

		if (!g || at >= sizeof(text))
			continue;
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s: %s, %.0f s",
				       at ? "; " : "", g->kernel->name,
				       g->booted_ns ? "running" : "booting",
				       (double)(clock_measure_ns() - g->start_ns) / 1e9);
	}
	progress_line("vm: %s", text);
}

/* Starts what there is room for. */
static int fill_slots(struct lab *lab, const struct arguments *a, struct vm_units *units,
		      unsigned int *started, struct qemu **running)
{
	for (unsigned int slot = 0; slot < GUESTS_AT_ONCE; slot++) {
		int err;

		if (running[slot] && running[slot]->pid)
			continue;
		running[slot] = NULL;
		if (*started == units->nr)
			continue;
		err = start(lab, a, &units->list[*started]);
		if (err)
			return err;
		running[slot] = &units->list[(*started)++].guest.vm;
	}
	return 0;
}

static int run_guests(struct lab *lab, const struct arguments *a, struct vm_units *units)
{
	struct qemu *running[GUESTS_AT_ONCE] = {NULL};
	unsigned int started = 0, printed = 0;
	int status = EXIT_HELD, err = 0;

	while (!err && !interrupted()) {
		err = fill_slots(lab, a, units, &started, running);
		if (err || !(running[0] || running[1]))
			break;
		(void)qemu_watch(running, GUESTS_AT_ONCE, 100);
		show(running);
		for (; printed < started && !units->list[printed].guest.vm.pid; printed++) {
			const struct vm_guest *guest = &units->list[printed].guest;

			progress_line("%s", "");
			if (!a->json)
				vm_print_people(guest, !printed);
			status = worse_exit_status(status, vm_exit_status(guest));
		}
	}
	progress_line("%s", "");
	if (interrupted() || err) {
		complain("%s%s",
			 interrupted() ? "interrupted" : "vm: ", interrupted() ? "" : lab->msg);
		status = EXIT_USAGE;
	} else if (a->json) {
		vm_print_json(units);
	}
	for (unsigned int i = 0; i < started; i++)
		qemu_destroy(&units->list[i].guest.vm);
	return status;
}

static int run(struct arguments *a, const struct vm_files *files)
{
	struct vm_units units = {0};
	char path[PATH_MAX];
	int status = 0;
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
	if (!status &&
	    !vm_units_init(&units, &a->kernels, files, (unsigned int)a->jobs, a->on_engine))
		status = EXIT_USAGE;
	if (!status)
		status = run_guests(&lab, a, &units);
	lab_destroy(&lab);
	vm_units_destroy(&units);
	return status;
}

enum { KEY_KERNEL = 256, KEY_ON, KEY_JSON, KEY_LIMIT, KEY_NO_TIMING, KEY_APPEND, KEY_JOBS };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_KERNEL:
		return vm_take_kernel_word(&a->words, "vm run", arg) ? 0 : EINVAL;
	case KEY_ON:
		a->on_engine = !strcmp(arg, "engine");
		if (a->on_engine || !strcmp(arg, "kernel"))
			return 0;
		complain("--on %s: must be kernel or engine", arg);
		return EINVAL;
	case KEY_JSON:
		a->json = true;
		a->options[a->nr_options++] = "--json";
		return 0;
	case KEY_NO_TIMING:
		a->options[a->nr_options++] = "--no-timing";
		return 0;
	case KEY_LIMIT:
		return parse_duration("--time-limit", arg, NS_PER_S, 24 * 3600 * NS_PER_S,
				      &a->limit_ns)
			       ? 0
			       : EINVAL;
	case KEY_JOBS:
		return parse_number("--jobs", arg, 1, JOBS_MAX, &a->jobs) ? 0 : EINVAL;
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
		complain("vm run: which scenario? Try 'samepage vm run FILE', or 'samepage vm run "
			 "--help'");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int vm_run(int argc, char **argv)
{
	static const struct argp_option list[] = {
		{"kernel", KEY_KERNEL, "KERNEL", 0,
		 "6.1, 6.12, 7.2, all of these, one that was built (built, built-debug, own, "
		 "own-debug), or the path of a kernel file; may be repeated (default 7.2)",
		 0},
		{"on", KEY_ON, "WHAT", 0,
		 "kernel: by real system calls (default); engine: the engine, in the guest", 0},
		{"time-limit", KEY_LIMIT, "TIME", 0,
		 "of each guest, from its start on (default 2m, and 5s for each of its files)", 0},
		{"jobs", KEY_JOBS, "N", 0,
		 "spread each kernel's files over so many guests, two at a time (default 1)", 0},
		{"append", KEY_APPEND, "WORDS", 0,
		 "more words for the kernel's command line, such as slab_debug=FZPU", 0},
		{"json", KEY_JSON, NULL, 0, "print JSON", 0},
		{"no-timing", KEY_NO_TIMING, NULL, 0, "leave the engine's measured times out", 0},
		{0},
	};
	static const struct argp argp = {
		list,
		parse,
		"FILE...",
		"Runs scenario files on other kernels, each in a virtual machine of its own. A "
		"kernel "
		"that is not here is fetched first."
		"\vExamples:\n"
		"  samepage vm run scenarios/mremap-move.scn\n"
		"  samepage vm run --kernel all scenarios/*.scn\n"
		"  samepage vm run --jobs 2 scenarios/*.scn\n"
		"  samepage vm run --kernel linux/arch/x86/boot/bzImage my.scn\n\n"
		"Exit status: the worst of the guests': 0 all held, 3 not possible on a kernel, 1 "
		"an "
		"expectation did not hold, 2 wrong file or option, 4 a guest died, hung, or its "
		"kernel complained.",
		NULL,
		NULL,
		NULL};
	static struct arguments a;
	struct vm_files files;
	int status = EXIT_USAGE;

	a = (struct arguments){.jobs = 1};
	if (!parse_options(&argp, argc, argv, &a))
		return EXIT_USAGE;
	if (vm_files_parse(&files, a.paths, a.nr_paths)) {
		catch_interrupts(2000);
		status = run(&a, &files);
	}
	vm_files_destroy(&files);
	return status;
}
