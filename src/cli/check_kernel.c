/* SPDX-License-Identifier: GPL-2.0-only */
/* samepage check --on kernel: in guests, or on the running kernel; see check_kernel.h. */
#include "check_kernel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cmd_vm.h"
#include "on_guests.h"

/* A comparison here ends at the end of a sequence, guests at once. */
#define PATIENCE_MS 5000

struct watched {
	const struct check_options *o;
	struct compared *compared;
	uint64_t begin_ns;
	const char *kernel;
	int err;
};

/* ---- Progress ------------------------------------------------------------------------- */

static void show(const struct watched *w, double fraction, const char *doing)
{
	const struct compared *c = w->compared;
	double seconds = MAX((double)(clock_measure_ns() - w->begin_ns) / 1e9, 1e-3);
	char hashes[11], left[32] = "", count[32];

	for (unsigned int i = 0; i < 10; i++)
		hashes[i] = (double)i < fraction * 10 ? '#' : '-';
	hashes[10] = 0;
	if (fraction > 0.005)
		snprintf(left, sizeof(left), ", %.0f s left", seconds * (1 - fraction) / fraction);
	progress_line("%s [%s] %s seq. (%.1f/s), %u differences%s%s", w->kernel, hashes,
		      format_count(count, sizeof(count), c->nr_sequences),
		      (double)c->nr_sequences / seconds, c->nr_findings + c->nr_ends, left, doing);
}

static void on_guests_progress(void *arg, const struct on_guests_progress *p)
{
	show(arg, p->fraction,
	     p->nr_shrinking ? ", shrinking" : p->nr_booting == p->nr_running ? ", booting" : "");
}

/* ---- Here --------------------------------------------------------------------------------- */

static bool print_event(const struct on_kernel_event *e)
{
	char *line = event_print(e);
	bool good = line && fputs(line, stdout) >= 0 && !fflush(stdout);

	free(line);
	return good;
}

static bool on_event(void *arg, const struct on_kernel_event *e)
{
	struct watched *w = arg;
	const struct search_options *search = &w->o->search;
	uint64_t elapsed_ns = clock_measure_ns() - w->begin_ns;
	double fraction = 0;

	w->err = compared_add(w->compared, e);
	if (w->o->events && !print_event(e))
		return true;
	if (search->nr_sequences)
		fraction = (double)w->compared->nr_sequences / (double)search->nr_sequences;
	if (search->time_ns)
		fraction = MAX(fraction, (double)elapsed_ns / (double)search->time_ns);
	show(w, MIN(fraction, 1.0), e->kind == 't' ? ", shrinking" : "");
	w->compared->interrupted |= interrupted();
	w->compared->out_of_time = search->time_ns && elapsed_ns >= search->time_ns;
	return w->err || interrupted() || (w->compared->out_of_time && e->kind == 'd');
}

static int compare_here(const struct check_options *o, struct compared *c)
{
	struct watched w = {.o = o, .compared = c, .begin_ns = clock_measure_ns(),
			    .kernel = "this kernel"};
	const struct on_kernel_options options = {
		.seed = o->search.seed,
		.first = o->first_sequence,
		.nr = o->search.nr_sequences ? o->search.nr_sequences : UINT64_MAX,
		.depth = o->search.depth,
		.nr_tries = o->nr_tries,
		.event = on_event,
		.event_arg = &w,
	};
	int err = on_kernel_run(&options);

	progress_line("%s", "");
	if (!err)
		err = w.err;
	c->elapsed_ns = clock_measure_ns() - w.begin_ns;
	compared_sort(c);
	if (!err)
		return EXIT_HELD;
	complain("check: out of memory");
	return EXIT_USAGE;
}

/* ---- In guests ----------------------------------------------------------------------------- */

static int compare_in_guests(const struct check_options *o, struct compared *c)
{
	static struct vm_kernels kernels;
	struct on_guests_options options = {
		.seed = o->search.seed,
		.nr = o->search.nr_sequences,
		.time_ns = o->search.time_ns,
		.depth = o->search.depth,
		.nr_tries = o->nr_tries,
		.nr_jobs = o->search.nr_jobs,
		.progress = on_guests_progress,
	};
	struct watched w = {.o = o, .compared = c};
	char path[PATH_MAX];
	struct lab lab;
	struct mem mem;
	int status = EXIT_HELD;

	if (!vm_open_lab(&lab, &mem))
		return EXIT_USAGE;
	if (qemu_require(&lab, path, sizeof(path))) {
		complain("check: %s", lab.msg);
		status = EXIT_USAGE;
	}
	if (!status)
		status = vm_add_kernels(&lab, &kernels, o->kernel);
	if (!status) {
		options.kernel = &kernels.list[0];
		options.progress_arg = &w;
		w.kernel = options.kernel->name;
		w.begin_ns = clock_measure_ns();
		if (on_guests_run(&lab, &options, c)) {
			progress_line("%s", "");
			complain("check: %s", lab.msg);
			status = EXIT_GUEST;
		}
		progress_line("%s", "");
	}
	lab_destroy(&lab);
	return status;
}

/* ---- The report ------------------------------------------------------------------------------- */

static bool write_one(struct check_kernel_report *r, unsigned int i, char *text)
{
	bool good = text != NULL;

	if (good)
		r->files[i] = check_files_name(r->options->output, i + 1);
	if (!good || !r->files[i]) {
		complain("check: out of memory");
		good = false;
	}
	good = good && check_files_write(r->files[i], text);
	free(text);
	return good;
}

static bool write_files(struct check_kernel_report *r)
{
	const struct compared *c = &r->compared;
	bool good = true;

	r->files = calloc(c->nr_findings + c->nr_ends + 1, sizeof(*r->files));
	if (!r->files) {
		complain("check: out of memory");
		return false;
	}
	for (unsigned int i = 0; good && i < c->nr_findings; i++)
		if (c->findings[i].text)
			good = write_one(r, i, check_kernel_scenario(r, &c->findings[i]));
	for (unsigned int i = 0; good && i < c->nr_ends; i++)
		good = write_one(r, c->nr_findings + i, check_kernel_end_scenario(r, &c->ends[i]));
	return good;
}

static int status_of(const struct compared *c)
{
	if (c->nr_ends)
		return EXIT_GUEST;
	if (c->nr_findings)
		return EXIT_NOT_HELD;
	return c->nr_skipped ? EXIT_SKIPPED : EXIT_HELD;
}

static void report_destroy(struct check_kernel_report *r)
{
	for (unsigned int i = 0; r->files && i < r->compared.nr_findings + r->compared.nr_ends; i++)
		free(r->files[i]);
	free(r->files);
	compared_destroy(&r->compared);
}

int check_on_kernel(const struct check_options *o)
{
	struct check_kernel_report r = {.options = o, .kernel = o->here ? "this kernel" : o->kernel};
	int status;

	if (o->output && !check_files_prepare(o->output, NULL))
		return EXIT_USAGE;
	catch_interrupts(PATIENCE_MS);
	compared_init(&r.compared);
	status = o->here ? compare_here(o, &r.compared) : compare_in_guests(o, &r.compared);
	if (o->events && !status) {
		report_destroy(&r);
		return EXIT_HELD;
	}
	if (status == EXIT_HELD || r.compared.nr_sequences) {
		status = worse_exit_status(status, status_of(&r.compared));
		if (o->output && !write_files(&r))
			status = EXIT_USAGE;
		if (o->json)
			check_kernel_print_json(&r);
		else
			check_kernel_print_people(&r);
	}
	if (interrupted()) {
		complain("interrupted");
		status = EXIT_USAGE;
	}
	report_destroy(&r);
	return status;
}
