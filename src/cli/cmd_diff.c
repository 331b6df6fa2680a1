/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage diff: scenario files on the engine and on kernels, compared after every operation by
 * all that is to be seen; see diff.h.
 *
 * Files are parsed first, and the engine runs them first: a mistake costs no boot.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"

#define NS_PER_S UINT64_C(1000000000)

struct arguments {
	struct diff diff;
	struct vm_kernel_words words;
	char **paths;
};

static bool parse_files(struct diff *diff, char **paths)
{
	struct diagnostics *diagnostics = malloc(sizeof(*diagnostics));
	bool good = diagnostics != NULL;

	if (!diagnostics)
		complain("out of memory");
	for (unsigned int i = 0; i < diff->nr_files && diagnostics; i++) {
		struct diff_file *file = &diff->files[i];

		file->path = paths[i];
		if (!scenario_parse_file(file->path, diagnostics, &file->scenario))
			continue;
		file->scenario = NULL;
		for (unsigned int d = 0; d < diagnostics->nr_listed; d++)
			fprintf(stderr, "%s\n", diagnostics->list[d]);
		if (diagnostics->nr_total > diagnostics->nr_listed)
			complain("%s: and %" PRIu64 " more", file->path,
				 diagnostics->nr_total - diagnostics->nr_listed);
		good = false;
	}
	free(diagnostics);
	return good;
}

/* What a file says about kernels that it is not for needs no guest. */
static void leave_out(struct diff *diff)
{
	for (unsigned int side = 1; side < diff->nr_sides; side++) {
		if (linux_version_of_release(diff->kernels.list[side - 1].release, &diff->versions[side]))
			continue;
		for (unsigned int i = 0; i < diff->nr_files; i++) {
			const struct scenario *scenario = diff->files[i].scenario;
			struct diff_side *s = &diff->files[i].sides[side];
			const struct scenario_need *need = scenario_lacks(scenario, diff->versions[side]);

			if (!need)
				need = scenario_kills(scenario, diff->versions[side]);
			if (!need)
				continue;
			s->verdict = DIFF_LACKS;
			s->settled = true;
			snprintf(s->why, sizeof(s->why), "line %u: %.400s", need->line, need->text);
		}
	}
}

static bool run_engine(struct diff *diff)
{
	for (unsigned int i = 0; i < diff->nr_files && !interrupted(); i++) {
		const struct diff_side *side = &diff->files[i].sides[0];

		if (!diff_run_engine(&diff->files[i])) {
			complain("%s: out of memory", diff->files[i].path);
			return false;
		}
		if (side->status != EXIT_USAGE || interrupted())
			continue;
		complain("%s", side->end);
		return false;
	}
	return !interrupted();
}

static bool report(struct diff *diff, struct diff_file *file)
{
	if (!diff_compare(diff, file))
		return false;
	for (unsigned int side = 1; side < diff->nr_sides; side++)
		diff->exit_status = worse_exit_status(diff->exit_status, diff_exit_status(&file->sides[side]));
	if (!diff->json)
		diff_print_people(diff, file);
	return true;
}

static bool run_kernels(struct diff *diff, const struct arguments *a, struct lab *lab)
{
	char path[PATH_MAX];
	int status = 0;

	if (qemu_require(lab, path, sizeof(path))) {
		complain("diff: %s", lab->msg);
		return false;
	}
	if (!status)
		status = vm_add_kernel_words(lab, &diff->kernels, &a->words, "all");
	if (status)
		return false;
	diff->nr_sides = 1 + diff->kernels.nr;
	leave_out(diff);
	if (!run_engine(diff))
		return false;
	if (!diff_run_guests(diff, lab, report))
		return true;
	if (!interrupted())
		complain("diff: %s", lab->msg);
	return false;
}

static int run(struct arguments *a)
{
	struct diff *diff = &a->diff;
	struct lab lab;
	struct mem mem;
	bool good;

	if (!vm_open_lab(&lab, &mem))
		return EXIT_USAGE;
	good = run_kernels(diff, a, &lab);
	if (good && diff->json)
		diff_print_json(diff);
	else if (good)
		diff_each_bad_guest(diff, diff_print_guest);
	if (interrupted())
		complain("interrupted");
	diff_guests_destroy(diff);
	lab_destroy(&lab);
	return good ? diff->exit_status : EXIT_USAGE;
}

enum { KEY_KERNEL = 256, KEY_JSON, KEY_ALL, KEY_LIMIT, KEY_APPEND };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_KERNEL:
		return vm_take_kernel_word(&a->words, "diff", arg) ? 0 : EINVAL;
	case KEY_JSON:
		a->diff.json = true;
		return 0;
	case KEY_ALL:
		a->diff.all = true;
		return 0;
	case KEY_LIMIT:
		return parse_duration("--time-limit", arg, NS_PER_S, 24 * 3600 * NS_PER_S,
				      &a->diff.silence_ns)
			       ? 0
			       : EINVAL;
	case KEY_APPEND:
		if (strlen(arg) > 512 || strstr(arg, "--")) {
			complain("--append: up to 512 bytes without --, which ends a kernel's own words");
			return EINVAL;
		}
		a->diff.append = arg;
		return 0;
	case ARGP_KEY_ARGS:
		a->paths = state->argv + state->next;
		a->diff.nr_files = (unsigned int)(state->argc - state->next);
		return 0;
	case ARGP_KEY_NO_ARGS:
		complain("diff: which scenario? Try 'samepage diff FILE', or 'samepage diff --help'");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cmd_diff(int argc, char **argv)
{
	static const struct argp_option list[] = {
		{"kernel", KEY_KERNEL, "KERNEL", 0,
		 "6.1, 6.12, 7.2, all, or the path of a kernel file; may be repeated (default all)", 0},
		{"all", KEY_ALL, NULL, 0, "show every operation after which something differs anew", 0},
		{"time-limit", KEY_LIMIT, "TIME", 0,
		 "that a guest may take for one operation (default 2m)", 0},
		{"append", KEY_APPEND, "WORDS", 0, "more words for the kernels' command line", 0},
		{"json", KEY_JSON, NULL, 0, "print JSON", 0},
		{0},
	};
	static const struct argp argp = {
		list,
		parse,
		"FILE...",
		"Runs scenario files on the engine and on real kernels in guests, and compares what is to "
		"be seen after every operation: its outcome, counters, figures of processes, VMAs, and the "
		"state, frame and contents of every page."
		"\vExamples:\n"
		"  samepage diff scenarios/18-fork-after-merging.scn\n"
		"  samepage diff --kernel 7.2 scenarios/*.scn\n"
		"  samepage diff --kernel linux/arch/x86/boot/bzImage --all my.scn\n"
		"  samepage diff --json *.scn | jq '.[].kernels[] | select(.verdict != \"same\")'\n\n"
		"Exit status: 0 nothing differs but what a file declares, 1 something does, 3 a kernel "
		"could not do all of it, 2 wrong file or option, 4 a guest died or hung.",
		NULL,
		NULL,
		NULL};
	static struct arguments a;
	int status = EXIT_USAGE;

	a = (struct arguments){.diff.silence_ns = 120 * NS_PER_S};
	if (!parse_options(&argp, argc, argv, &a))
		return EXIT_USAGE;
	a.diff.files = calloc(a.diff.nr_files, sizeof(*a.diff.files));
	if (!a.diff.files) {
		complain("out of memory");
		return EXIT_USAGE;
	}
	if (parse_files(&a.diff, a.paths)) {
		catch_interrupts(2000);
		status = run(&a);
	}
	for (unsigned int i = 0; i < a.diff.nr_files; i++)
		diff_file_destroy(&a.diff.files[i], a.diff.nr_sides);
	free(a.diff.files);
	return status;
}
