/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage vm build-kernel: a kernel with the lab's configuration, of Debian's newest source or of
 * a tree of the user's, into the cache; the lab's kernel_build.h has how.
 *
 * What is missing is told before anything is fetched. A build says every tenth of a second what it
 * compiles; ^C ends it, and the next one goes on from there.
 */
#include <argp.h>
#include <errno.h>
#include <string.h>

#include "clock.h"
#include "cmd_vm.h"
#include "kernel_build.h"

/* make puts away what is half done. */
#define PATIENCE_MS 5000

enum { KEY_DEBUG = 256, KEY_SOURCE };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct build_spec *spec = state->input;

	switch (key) {
	case KEY_DEBUG:
		spec->debug = true;
		return 0;
	case KEY_SOURCE:
		spec->source = arg;
		return 0;
	case 'o':
		spec->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		complain("vm build-kernel: %s: takes no names; --source %s would build that tree",
			 arg, arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void tell_note(const char *what)
{
	progress_line("%s", "");
	complain("vm: %s", what);
}

int vm_build_kernel(int argc, char **argv)
{
	static const struct argp_option list[] = {
		{"debug", KEY_DEBUG, NULL, 0,
		 "prove the order of locks, that nothing sleeps in atomic context, and more", 0},
		{"source", KEY_SOURCE, "DIR", 0,
		 "build this tree, as 'own' or 'own-debug'; nothing is written into it", 0},
		{"output", 'o', "DIR", 0, "also put vmlinuz-RELEASE and config-RELEASE there", 0},
		{0},
	};
	static const struct argp argp = {
		list,
		parse,
		"",
		"Builds a kernel with what scenarios need and little else, for --kernel built (or "
		"built-debug, own, own-debug). Without --source, of Debian's linux-source-7.2, "
		"which is "
		"fetched."
		"\vThe first build takes minutes; later ones compile what was changed.\n\n"
		"Examples:\n"
		"  samepage vm build-kernel\n"
		"  samepage vm build-kernel --source ~/linux --debug\n"
		"  samepage vm run --kernel own-debug scenarios/*.scn\n\n"
		"Exit status: 0 built; 2 something is missing, it does not compile, or "
		"interrupted.",
		NULL,
		NULL,
		NULL};
	struct build_spec spec = {0};
	struct cached_kernel kernel;
	uint64_t start_ns = clock_measure_ns();
	struct lab lab;
	struct mem mem;
	int err;

	if (!parse_options(&argp, argc, argv, &spec))
		return EXIT_USAGE;
	catch_interrupts(PATIENCE_MS);
	if (!vm_open_lab(&lab, &mem))
		return EXIT_USAGE;
	err = build_require(&lab, &spec);
	if (!err)
		err = build_kernel(&lab, &spec, &kernel, tell_note);
	progress_line("%s", "");
	if (err && interrupted())
		complain("interrupted");
	else if (err)
		complain("vm: %s", lab.msg);
	else
		printf("%-12s %-28s built in %.0f s; samepage vm run --kernel %s FILE\n",
		       kernel.name, kernel.release, (double)(clock_measure_ns() - start_ns) / 1e9,
		       kernel.name);
	lab_destroy(&lab);
	return err ? EXIT_USAGE : EXIT_HELD;
}
