/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage export: a scenario as one C file for those who do not have samepage; see export.h.
 *
 * The file is made whole before a byte of it is written, so that what cannot be exported leaves nothing.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "export.h"

struct arguments {
	const char *path, *output;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'o':
		a->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (a->path) {
			complain("export: %s: one scenario at a time", arg);
			return EINVAL;
		}
		a->path = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		complain("export: which scenario? Try 'samepage export FILE', or 'samepage export --help'");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static bool read_source(const char *path, struct ctext *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char buf[65536];
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, buf, sizeof(buf))) > 0)
		ctext_add(text, buf, (size_t)n);
	if (n < 0)
		complain("export: %s: %s", path, strerror(errno));
	else if (text->err)
		complain("out of memory");
	if (fd >= 0)
		close(fd);
	return !n && !text->err;
}

/* Where it fails, no half of a file stays. */
static bool write_output(const char *path, const struct ctext *text)
{
	FILE *f;
	bool good;

	if (!path)
		return fwrite(ctext_string(text), 1, text->bytes, stdout) == text->bytes;
	f = fopen(path, "we");
	if (!f) {
		complain("-o %s: %s", path, strerror(errno));
		return false;
	}
	good = fwrite(ctext_string(text), 1, text->bytes, f) == text->bytes;
	good &= !fclose(f);
	if (!good) {
		struct stat st;

		complain("-o %s: %s", path, strerror(errno));
		if (!stat(path, &st) && S_ISREG(st.st_mode))
			(void)unlink(path);
	}
	return good;
}

static bool parse_scenario(const char *path, struct scenario **ret)
{
	struct diagnostics *diagnostics = malloc(sizeof(*diagnostics));
	int err = diagnostics ? scenario_parse_file(path, diagnostics, ret) : -ENOMEM;

	if (!diagnostics)
		complain("out of memory");
	for (unsigned int i = 0; err && diagnostics && i < diagnostics->nr_listed; i++)
		fprintf(stderr, "%s\n", diagnostics->list[i]);
	free(diagnostics);
	return !err;
}

static int export(const struct arguments *a, const struct scenario *scenario, struct mem *mem)
{
	struct ctext source, out;
	char command[512], msg[640] = "out of memory";
	struct export_input input;
	int status = EXIT_USAGE, err;

	ctext_init(&source, mem);
	ctext_init(&out, mem);
	snprintf(command, sizeof(command), "samepage export %s", a->path);
	if (read_source(a->path, &source)) {
		input = (struct export_input){ ctext_string(&source), source.bytes, command };
		err = export_c(scenario, &input, &out, msg, sizeof(msg));
		if (err)
			fprintf(stderr, "%s\n", msg);
		if (err == EXPORT_NO_KERNEL)
			status = EXIT_SKIPPED;
		else if (!err && write_output(a->output, &out))
			status = EXIT_HELD;
	}
	ctext_destroy(&source);
	ctext_destroy(&out);
	return status;
}

int cmd_export(int argc, char **argv)
{
	static const struct argp_option list[] = {
		{"output", 'o', "FILE", 0, "write it there instead of standard output", 0}, {0}};
	static const struct argp argp = {
		list,
		parse,
		"FILE",
		"Prints a scenario as one stand-alone C file: the same system calls by real processes, the "
		"same checks, the same verdict, for a kernel developer who has nothing but a compiler."
		"\vExamples:\n"
		"  samepage export scenarios/mremap-move.scn > repro.c\n"
		"  cc -O2 -o repro repro.c && sudo ./repro\n"
		"  cc -O2 -static -o repro repro.c && samepage vm exec --kernel 6.12 repro\n\n"
		"Exit status: 0 written, 2 wrong file or option, or memory that comes from a core or a "
		"process, 3 no kernel can do what the scenario asks for. That of the C program: 0 all held, "
		"1 an expectation did not, 2 it cannot run (not root, no KSM, KSM in use), 3 this kernel "
		"lacks something.",
		NULL,
		NULL,
		NULL};
	struct arguments a = {0};
	struct scenario *scenario;
	struct mem mem;
	int status;

	if (!parse_options(&argp, argc, argv, &a) || !parse_scenario(a.path, &scenario))
		return EXIT_USAGE;
	mem_init(&mem);
	status = export(&a, scenario, &mem);
	scenario_destroy(scenario);
	return status;
}
