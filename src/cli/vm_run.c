/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage vm run: scenario files on other kernels.
 *
 * The files are parsed here first, so that a mistake costs no boot. Each kernel gets a guest of its
 * own, two at a time: emulation is slow enough on one processor each. Reports come in the order of the
 * kernels, whichever guest ends first.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "cmd_vm.h"
#include "initramfs.h"
#include "scenario.h"

#define GUESTS_AT_ONCE	 2
#define NS_PER_S	 UINT64_C(1000000000)
#define OPTION_WORDS_MAX 16

struct arguments {
	struct vm_kernels kernels;
	const char *words[VM_KERNELS_MAX]; /* of --kernel, as written */
	unsigned int nr_words;
	bool on_engine, json;
	const char
		*options[OPTION_WORDS_MAX]; /* what the guest's command is given before the files */
	unsigned int nr_options;
	uint64_t limit_ns;
	const char *append;
	char **paths;
	unsigned int nr_paths;
};

/* The guest's part, whatever the kernel. */
struct job {
	const struct arguments *args;
	struct initramfs_file *files;
	char (*names)[PATH_MAX]; /* of the files, as the guest's command is given them */
	const char **argv;
};

static bool files_are_good(const struct arguments *a)
{
	struct diagnostics *diagnostics = malloc(sizeof(*diagnostics));
	bool good = diagnostics != NULL;

	if (!diagnostics)
		complain("out of memory");
	for (unsigned int i = 0; i < a->nr_paths && diagnostics; i++) {
		struct scenario *scenario;

		if (!scenario_parse_file(a->paths[i], diagnostics, &scenario)) {
			scenario_destroy(scenario);
			continue;
		}
		for (unsigned int d = 0; d < diagnostics->nr_listed; d++)
			fprintf(stderr, "%s\n", diagnostics->list[d]);
		if (diagnostics->nr_total > diagnostics->nr_listed)
			complain("%s: and %" PRIu64 " more", a->paths[i],
				 diagnostics->nr_total - diagnostics->nr_listed);
		good = false;
	}
	free(diagnostics);
	return good;
}

static bool job_init(struct job *job, const struct arguments *a)
{
	unsigned int nr = 0;

	job->args = a;
	job->files = calloc(a->nr_paths, sizeof(*job->files));
	job->names = calloc(a->nr_paths, sizeof(*job->names));
	job->argv = calloc(a->nr_paths + OPTION_WORDS_MAX + 5, sizeof(*job->argv));
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
	job->argv[nr++] = "--";
	for (unsigned int i = 0; i < a->nr_paths; i++) {
		initramfs_place(a->paths[i], i, &job->files[i], job->names[i], sizeof(*job->names));
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

static int start(struct lab *lab, const struct job *job, const struct cached_kernel *kernel,
		 struct qemu *guest)
{
	struct initramfs_spec image = {.kernel = kernel,
				       .argv = job->argv,
				       .files = job->files,
				       .nr_files = job->args->nr_paths};
	struct qemu_spec spec = {.kernel = kernel, .limit_ns = job->args->limit_ns,
				 .append = job->args->append};
	int err;

	err = initramfs_build(lab, &image, &spec.initramfs);
	if (err)
		return err;
	err = qemu_start(lab, guest, &spec);
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
static int fill_slots(struct lab *lab, const struct job *job, struct qemu *guests,
		      unsigned int *started, struct qemu **running)
{
	const struct vm_kernels *kernels = &job->args->kernels;

	for (unsigned int slot = 0; slot < GUESTS_AT_ONCE; slot++) {
		int err;

		if (running[slot] && running[slot]->pid)
			continue;
		running[slot] = NULL;
		if (*started == kernels->nr)
			continue;
		err = start(lab, job, &kernels->list[*started], &guests[*started]);
		if (err)
			return err;
		running[slot] = &guests[(*started)++];
	}
	return 0;
}

static int run_guests(struct lab *lab, const struct job *job, struct qemu *guests)
{
	struct qemu *running[GUESTS_AT_ONCE] = {NULL};
	unsigned int started = 0, printed = 0;
	int status = EXIT_HELD, err = 0;

	while (!err && !interrupted()) {
		err = fill_slots(lab, job, guests, &started, running);
		if (err || !(running[0] || running[1]))
			break;
		(void)qemu_watch(running, GUESTS_AT_ONCE, 100);
		show(running);
		for (; printed < started && !guests[printed].pid; printed++) {
			progress_line("%s", "");
			if (!job->args->json)
				vm_print_people(&guests[printed], !printed);
			status = worse_exit_status(status, vm_exit_status(&guests[printed]));
		}
	}
	progress_line("%s", "");
	if (interrupted() || err) {
		complain("%s%s",
			 interrupted() ? "interrupted" : "vm: ", interrupted() ? "" : lab->msg);
		status = EXIT_USAGE;
	} else if (job->args->json) {
		vm_print_json(&(struct vm_report){guests, started, true});
	}
	for (unsigned int i = 0; i < started; i++)
		qemu_destroy(&guests[i]);
	return status;
}

static int run(struct arguments *a)
{
	struct qemu *guests = calloc(VM_KERNELS_MAX, sizeof(*guests));
	struct job job = {0};
	char path[PATH_MAX];
	int status = 0;
	struct lab lab;
	struct mem mem;

	if (!guests || !job_init(&job, a) || !vm_open_lab(&lab, &mem)) {
		job_destroy(&job);
		free(guests);
		return EXIT_USAGE;
	}
	if (qemu_require(&lab, path, sizeof(path))) {
		complain("vm: %s", lab.msg);
		status = EXIT_USAGE;
	}
	for (unsigned int i = 0; i < a->nr_words && !status; i++)
		status = vm_add_kernels(&lab, &a->kernels, a->words[i]);
	if (!status)
		status = run_guests(&lab, &job, guests);
	lab_destroy(&lab);
	job_destroy(&job);
	free(guests);
	return status;
}

enum { KEY_KERNEL = 256, KEY_ON, KEY_JSON, KEY_LIMIT, KEY_NO_TIMING, KEY_APPEND };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_KERNEL:
		if (!vm_check_kernel_word(arg))
			return EINVAL;
		if (a->nr_words == ARRAY_SIZE(a->words)) {
			complain("vm run: --kernel %s: more than %d kernels", arg, VM_KERNELS_MAX);
			return EINVAL;
		}
		a->words[a->nr_words++] = arg;
		return 0;
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
	case KEY_APPEND:
		if (strlen(arg) > 512 || strstr(arg, "--")) {
			complain("--append: up to 512 bytes without --, which ends a kernel's own words");
			return EINVAL;
		}
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
		 "6.1, 6.12, 7.2, all of these, one that was built (built, built-debug, own, own-debug), or the "
		 "path of a kernel file; may be repeated (default 7.2)",
		 0},
		{"on", KEY_ON, "WHAT", 0,
		 "kernel: by real system calls (default); engine: the engine, in the guest", 0},
		{"time-limit", KEY_LIMIT, "TIME", 0,
		 "of each guest, from its start on (default 2m)", 0},
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
		"  samepage vm run --kernel linux/arch/x86/boot/bzImage my.scn\n\n"
		"Exit status: the worst of the guests': 0 all held, 3 not possible on a kernel, 1 "
		"an "
		"expectation did not hold, 2 wrong file or option, 4 a guest died, hung, or its "
		"kernel complained.",
		NULL,
		NULL,
		NULL};
	static struct arguments a;

	a = (struct arguments){.limit_ns = 120 * NS_PER_S};
	if (!parse_options(&argp, argc, argv, &a))
		return EXIT_USAGE;
	if (!a.nr_words)
		a.words[a.nr_words++] = "7.2";
	if (!files_are_good(&a))
		return EXIT_USAGE;
	catch_interrupts(2000);
	return run(&a);
}
