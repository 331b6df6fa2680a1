/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage check's output for people: for each strategy one line that answers the question, for each cause
 * two; then the scenarios, unless they went to files.
 */
#include <inttypes.h>
#include <string.h>

#include "check.h"

static const char *failure_phrase(enum failure_kind kind)
{
	switch (kind) {
	case FAILURE_MISS:
		return "misses pages";
	case FAILURE_ORPHAN:
		return "leaves migration entries behind";
	case FAILURE_PINNED:
		return "cannot unmap pages";
	case FAILURE_CONTENT:
		return "changes contents";
	case FAILURE_RECOUNT:
		return "miscounts";
	default:
		return "returns what it must not";
	}
}

static void print_phrases(const struct search_report *r)
{
	unsigned int seen = 0;

	for (unsigned int kind = 0; kind < NR_FAILURE_KINDS; kind++) {
		for (unsigned int i = 0; i < r->nr_findings; i++) {
			if (r->findings[i].cause.kind != kind || seen & 1u << kind)
				continue;
			printf("%s%s", seen ? ", " : "", failure_phrase(kind));
			seen |= 1u << kind;
		}
	}
}

static void print_rate(const struct check_options *o, const struct search_report *r, uint64_t nr)
{
	double seconds = (double)r->elapsed_ns / 1e9;
	char time[32];

	if (o->no_timing)
		return;
	printf(", %s", format_ns(time, sizeof(time), r->elapsed_ns));
	if (seconds > 0)
		printf(", %.2f M/s", (double)nr / seconds / 1e6);
}

static void print_extent(const struct check_options *o, const struct search_report *r)
{
	char a[32], b[32];

	if (r->options.exhaustive) {
		printf("%s of up to %u operations%s (%s states, ",
		       r->complete ? "every sequence" : "sequences", r->options.depth,
		       r->complete ? " was tried" : ", not all",
		       format_count(a, sizeof(a), r->nr_states));
		printf("%s operations", format_count(b, sizeof(b), r->nr_transitions));
		print_rate(o, r, r->nr_transitions);
	} else {
		printf("%s sequence%s (%s operations", format_count(a, sizeof(a), r->nr_sequences),
		       r->nr_sequences == 1 ? "" : "s", format_count(b, sizeof(b), r->nr_steps));
		print_rate(o, r, r->nr_steps);
	}
	printf(")%s\n", r->interrupted ? ", interrupted" : "");
}

/* "file", "orphan, file", "content" */
static const char *title(const struct cause *cause, char *buf, size_t size)
{
	const char *kind = failure_kind_name(cause->kind), *name = cause_name(cause);

	if (cause->kind == FAILURE_MISS || !strcmp(kind, name))
		snprintf(buf, size, "%s", name);
	else
		snprintf(buf, size, "%s, %s", kind, name);
	return buf;
}

static void print_finding(const struct check_report *report, const struct check_run *run,
			  const struct finding *f, const char *file)
{
	const struct check_options *o = report->options;
	char name[64], text[512], times[32];
	const char *facts = cause_facts(&f->cause);

	printf("  %s: %s", title(&f->cause, name, sizeof(name)),
	       cause_text(&f->cause, text, sizeof(text)));
	if (*facts)
		printf(" (%s)", facts);
	format_count(times, sizeof(times), f->nr_found);
	if (o->search.exhaustive)
		printf("\n    seen %s time%s", times, f->nr_found == 1 ? "" : "s");
	else
		printf("\n    in %s sequence%s", times, f->nr_found == 1 ? "" : "s");
	if (!o->no_timing)
		printf(", first after %.2f s", (double)f->found_ns / 1e9);
	if (f->error) {
		printf("; NOT SHOWN: %s\n", f->error);
		return;
	}
	printf("; shrunk from %u operations to %u", f->nr_steps_before, f->sequence_shrunk.nr);
	if (run->nr_against && check_is_against(run, f))
		printf("; the cause of %s", o->against);
	if (file)
		printf(": %s", file);
	putchar('\n');
}

static void print_run(const struct check_report *report, enum sp_strategy s)
{
	const struct check_run *run = &report->runs[s];
	const struct search_report *r = run->report;

	printf("%s: ", sp_strategy_name(s));
	if (!r->nr_findings) {
		printf("nothing found%s", r->options.exhaustive ? "; " : " in ");
		print_extent(report->options, r);
		return;
	}
	print_phrases(r);
	printf(": %u cause%s%s", r->nr_findings, r->nr_findings == 1 ? "" : "s",
	       r->options.exhaustive ? "; " : " in ");
	print_extent(report->options, r);
	/* No other walk is measured against: what it misses, the kernel does. */
	if (s == SP_STRATEGY_FULL)
		puts("  Linux walks so: these are its own defects.");
	for (unsigned int i = 0; i < r->nr_findings; i++)
		print_finding(report, run, &r->findings[i], run->files[i]);
	if (run->nr_against) {
		uint64_t nr_same, nr_all;
		char a[32], b[32];

		check_count_against(run, &nr_same, &nr_all);
		printf("  %s of %s failure%s ha%s the cause of %s\n",
		       format_count(a, sizeof(a), nr_same), format_count(b, sizeof(b), nr_all),
		       nr_all == 1 ? "" : "s", nr_same == 1 ? "s" : "ve", report->options->against);
	}
}

static void print_scenarios(const struct check_run *run, enum sp_strategy s)
{
	const struct search_report *r = run->report;

	for (unsigned int i = 0; i < r->nr_findings; i++) {
		const struct finding *f = &r->findings[i];
		char name[64];

		if (!f->scenario || run->files[i])
			continue;
		printf("\n# ---- %s: %s ----\n\n%s", sp_strategy_name(s),
		       title(&f->cause, name, sizeof(name)), f->scenario);
	}
}

void check_print_people(const struct check_report *report)
{
	const struct check_options *o = report->options;

	if (!o->search.exhaustive)
		printf("seed %" PRIu64 "\n", o->search.seed);
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++)
		if (report->runs[s].report)
			print_run(report, s);
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++)
		if (report->runs[s].report)
			print_scenarios(&report->runs[s], s);
}
