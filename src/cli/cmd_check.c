/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage check: searches for sequences of operations that break a walk strategy.
 *
 * Everything that can be wrong with the options is found before the first search: --against's file is
 * run, -o is tried. Then one search after the other, each on all threads; --time is shared
 * equally by those that are still to come, so what an early end leaves over is not lost.
 *
 * ^C ends the search that runs; what it has found is shrunk for a second, and told.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "against.h"
#include "check.h"
#include "check_kernel.h"
#include "clock.h"
#include "names.h"

/* Shrinking after ^C ends by itself long before. */
#define PATIENCE_MS 5000

struct watched {
	enum sp_strategy strategy;
	unsigned int nr_later;	    /* strategies */
	uint64_t begin_ns, time_ns; /* of all */
};

bool check_is_against(const struct check_run *run, const struct finding *finding)
{
	for (unsigned int i = 0; i < run->nr_against; i++)
		if (cause_equal(&run->against[i], &finding->cause))
			return true;
	return false;
}

void check_count_against(const struct check_run *run, uint64_t *nr_same, uint64_t *nr_all)
{
	*nr_same = *nr_all = 0;
	for (unsigned int i = 0; i < run->report->nr_findings; i++) {
		const struct finding *f = &run->report->findings[i];

		*nr_all += f->nr_found;
		if (check_is_against(run, f))
			*nr_same += f->nr_found;
	}
}

/* ", 12 s left"; "" when nobody can know. */
static const char *time_left(const struct watched *w, const struct search_progress *p, char *buf,
			     size_t size)
{
	double elapsed = (double)p->elapsed_ns, left;

	if (w->time_ns)
		left = (double)w->time_ns - (double)(clock_measure_ns() - w->begin_ns);
	else if (p->fraction > 0.005)
		left = elapsed * (1 - p->fraction) / p->fraction +
		       w->nr_later * elapsed / p->fraction;
	else
		return "";
	left = MAX(left, 0.0) / 1e9;
	if (left < 100)
		snprintf(buf, size, ", %.0f s left", left);
	else
		snprintf(buf, size, ", %.0f min left", left / 60);
	return buf;
}

/* "4.9 G", "12.1 M" */
static const char *format_large(char *buf, size_t size, uint64_t n)
{
	if (n >= 1000000000)
		snprintf(buf, size, "%.1f G", (double)n / 1e9);
	else
		snprintf(buf, size, "%.1f M", (double)n / 1e6);
	return buf;
}

static const char *bar(double fraction, char buf[static 11])
{
	for (unsigned int i = 0; i < 10; i++)
		buf[i] = (double)i < fraction * 10 ? '#' : '-';
	buf[10] = 0;
	return buf;
}

/* Below 80 columns. */
static bool on_progress(void *arg, const struct search_progress *p)
{
	const struct watched *w = arg;
	double seconds = MAX((double)p->elapsed_ns / 1e9, 1e-3);
	char hashes[11], left[32], a[32], b[32], causes[32];

	snprintf(causes, sizeof(causes), "%u cause%s", p->nr_causes, p->nr_causes == 1 ? "" : "s");
	bar(MAX(p->fraction, 0.0), hashes);
	if (!strcmp(p->phase, "shrinking"))
		progress_line("%s [%s] shrinking, %s", sp_strategy_name(w->strategy), hashes,
			      causes);
	else if (p->nr_states)
		progress_line(
			"%s [%s] depth %u, %s states (%.0f k/s)%s", sp_strategy_name(w->strategy),
			hashes, p->depth, format_count(a, sizeof(a), p->nr_states),
			(double)p->nr_states / seconds / 1e3, time_left(w, p, left, sizeof(left)));
	else
		progress_line("%s [%s] %s seq. (%.1f k/s), %s op., %s%s",
			      sp_strategy_name(w->strategy), hashes,
			      format_count(a, sizeof(a), p->nr_sequences),
			      (double)p->nr_sequences / seconds / 1e3,
			      format_large(b, sizeof(b), p->nr_steps), causes,
			      time_left(w, p, left, sizeof(left)));
	return interrupted();
}

static void complain_too_big(const struct search_options *o, const struct search_report *r)
{
	char states[32];
	bool known = r->nr_states < UINT64_C(1000000000000000000);

	complain("check: --depth %u: about %s states do not fit in the %" PRIu64
		 " MiB that there are for them; a smaller --depth does",
		 o->depth,
		 known ? format_count(states, sizeof(states), r->nr_states) : "10^18 or more",
		 o->max_bytes >> 20);
}

/* False: complained. */
static bool search(struct check_report *report, struct watched *w)
{
	struct check_run *run = &report->runs[w->strategy];
	struct search_options o = report->options->search;
	int err;

	o.strategy = w->strategy;
	if (w->time_ns) {
		uint64_t used = clock_measure_ns() - w->begin_ns;

		o.time_ns = used < w->time_ns ? (w->time_ns - used) / (w->nr_later + 1) : 0;
		o.time_ns = MAX(o.time_ns, UINT64_C(1000000));
	}
	o.progress = on_progress;
	o.progress_arg = w;
	err = search_run(&o, &run->report);
	if (err == -EFBIG) {
		complain_too_big(&o, run->report);
		search_report_destroy(run->report);
		run->report = NULL;
		return false;
	}
	if (!err) {
		run->files = calloc(run->report->nr_findings + 1, sizeof(*run->files));
		err = run->files ? 0 : -ENOMEM;
	}
	if (err == -ENOMEM)
		complain("check: %s: out of memory%s", sp_strategy_name(w->strategy),
			 o.nr_jobs > 1 ? "; fewer --jobs need less" : "");
	else if (err)
		complain("check: %s: %s", sp_strategy_name(w->strategy), errno_name(err));
	return !err;
}

static bool search_all(struct check_report *report)
{
	const struct check_options *o = report->options;
	struct watched w = {.begin_ns = clock_measure_ns(), .time_ns = o->search.time_ns};
	bool good = true;

	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++)
		w.nr_later += o->strategies[s];
	for (unsigned int s = 0; s < SP_NR_STRATEGIES && good && !interrupted(); s++) {
		if (!o->strategies[s])
			continue;
		w.strategy = s;
		w.nr_later--;
		good = search(report, &w);
	}
	progress_line("%s", "");
	return good;
}

static bool write_files(struct check_report *report)
{
	unsigned int nr = 0;

	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++) {
		struct check_run *run = &report->runs[s];

		for (unsigned int i = 0; run->report && i < run->report->nr_findings; i++) {
			const char *text = run->report->findings[i].scenario;

			if (!text)
				continue;
			run->files[i] = check_files_name(report->options->output, ++nr);
			if (!run->files[i]) {
				complain("check: out of memory");
				return false;
			}
			if (!check_files_write(run->files[i], text))
				return false;
		}
	}
	return true;
}

/* The causes of --against's file, under each strategy. */
static bool read_against(struct check_report *report)
{
	const struct check_options *o = report->options;
	struct diagnostics *diagnostics = malloc(sizeof(*diagnostics));
	struct scenario *scenario = NULL;
	unsigned int nr = 0;
	bool good = false;

	if (!diagnostics) {
		complain("check: out of memory");
		return false;
	}
	if (scenario_parse_file(o->against, diagnostics, &scenario)) {
		for (unsigned int i = 0; i < diagnostics->nr_listed; i++)
			complain("--against %s", diagnostics->list[i]);
		scenario = NULL;
		goto out;
	}
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++) {
		struct check_run *run = &report->runs[s];
		int err;

		if (!o->strategies[s])
			continue;
		run->nr_against = CHECK_MAX_AGAINST;
		err = against_causes(scenario, s, run->against, &run->nr_against);
		if (err) {
			complain("--against %s: cannot be run under %s: %s", o->against,
				 sp_strategy_name(s), errno_name(err));
			goto out;
		}
		nr += run->nr_against;
	}
	good = nr > 0;
	if (!good)
		complain("--against %s: nothing fails in it under the chosen strategies, so no "
			 "failure can have its cause",
			 o->against);
out:
	scenario_destroy(scenario);
	free(diagnostics);
	return good;
}

static int status_of(const struct check_report *report)
{
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++)
		if (report->runs[s].report && report->runs[s].report->nr_findings)
			return EXIT_NOT_HELD;
	return EXIT_HELD;
}

static void report_destroy(struct check_report *report)
{
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++) {
		struct check_run *run = &report->runs[s];

		for (unsigned int i = 0; run->files && i < run->report->nr_findings; i++)
			free(run->files[i]);
		free(run->files);
		search_report_destroy(run->report);
	}
	free(report);
}

int cmd_check(int argc, char **argv)
{
	struct check_options o;
	struct check_report *report;
	int status = EXIT_USAGE;

	if (!check_parse(argc, argv, &o))
		return EXIT_USAGE;
	if (o.on_kernel)
		return check_on_kernel(&o);
	report = calloc(1, sizeof(*report));
	if (!report) {
		complain("check: out of memory");
		return EXIT_USAGE;
	}
	report->options = &o;
	if (o.against && !read_against(report))
		goto out;
	if (o.output && !check_files_prepare(o.output, o.against))
		goto out;
	catch_interrupts(PATIENCE_MS);
	if (!search_all(report))
		goto out;
	status = status_of(report);
	if (o.output && !write_files(report))
		status = EXIT_USAGE;
	if (o.json) {
		struct json_object *json = check_json(report);

		puts(json_object_to_json_string_ext(json, JSON_C_TO_STRING_PRETTY |
								  JSON_C_TO_STRING_NOSLASHESCAPE));
		json_object_put(json);
	} else {
		check_print_people(report);
	}
	if (interrupted()) {
		complain("interrupted");
		status = EXIT_USAGE;
	}
out:
	report_destroy(report);
	return status;
}
