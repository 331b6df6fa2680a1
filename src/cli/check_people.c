/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage check's output for people: for each strategy one line that answers the question, for each cause
 * what it is and how often it was found, no line wider than 100 columns; then the scenarios, unless
 * they went to files.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "check.h"

#define COLUMNS 100
/* More scenarios than this would bury the report. */
#define SCENARIOS_SHOWN 2u

/* Text that grows, and then is printed between words. */
struct words {
	char text[1024];
	size_t used;
};

static void SP_PRINTF(2, 3) say(struct words *w, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(w->text + w->used, sizeof(w->text) - w->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		w->used = MIN(w->used + (size_t)n, sizeof(w->text) - 1);
}

/* The first line from column `first` on, the others from `rest` on. */
static void print_words(struct words *w, int first, int rest)
{
	int column = 0;

	for (char *at = w->text, *word; (word = strtok_r(NULL, " ", &at));) {
		int length = (int)strlen(word);

		if (column && column + 1 + length > COLUMNS) {
			putchar('\n');
			column = 0;
			first = rest;
		}
		column += printf("%*s%s", column ? 1 : first, "", word);
	}
	putchar('\n');
	w->used = 0;
}

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

static void say_phrases(struct words *w, const struct search_report *r)
{
	unsigned int seen = 0;

	for (unsigned int kind = 0; kind < NR_FAILURE_KINDS; kind++) {
		for (unsigned int i = 0; i < r->nr_findings; i++) {
			if (r->findings[i].cause.kind != kind || seen & 1u << kind)
				continue;
			say(w, "%s%s", seen ? ", " : "", failure_phrase(kind));
			seen |= 1u << kind;
		}
	}
}

static void say_rate(struct words *w, const struct check_options *o, const struct search_report *r,
		     uint64_t nr)
{
	double seconds = (double)r->elapsed_ns / 1e9;
	char time[32];

	if (o->no_timing)
		return;
	say(w, ", %s", format_ns(time, sizeof(time), r->elapsed_ns));
	if (seconds > 0)
		say(w, ", %.2f M/s", (double)nr / seconds / 1e6);
}

static void say_extent(struct words *w, const struct check_options *o,
		       const struct search_report *r)
{
	const char *interrupted = r->interrupted ? ", interrupted" : "";
	char a[32], b[32];

	if (r->options.exhaustive) {
		say(w, "%s of up to %u operations after the start%s%s (%s states, ",
		    r->complete ? "every sequence" : "sequences", r->options.depth,
		    r->complete ? " was tried" : ", not all", interrupted,
		    format_count(a, sizeof(a), r->nr_states));
		say(w, "%s operations", format_count(b, sizeof(b), r->nr_transitions));
		say_rate(w, o, r, r->nr_transitions);
	} else {
		say(w, "%s sequence%s%s (%s operations",
		    format_count(a, sizeof(a), r->nr_sequences), r->nr_sequences == 1 ? "" : "s",
		    interrupted, format_count(b, sizeof(b), r->nr_steps));
		say_rate(w, o, r, r->nr_steps);
	}
	say(w, ")");
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
	char name[64], text[512], times[32], time[32];
	const char *facts = cause_facts(&f->cause);
	struct words w = {.used = 0};

	say(&w, "%s: %s", title(&f->cause, name, sizeof(name)),
	    cause_text(&f->cause, text, sizeof(text)));
	if (*facts)
		say(&w, " (%s)", facts);
	print_words(&w, 2, 4);
	format_count(times, sizeof(times), f->nr_found);
	if (o->search.exhaustive)
		printf("    seen %s time%s", times, f->nr_found == 1 ? "" : "s");
	else
		printf("    in %s sequence%s", times, f->nr_found == 1 ? "" : "s");
	if (!o->no_timing)
		printf(", first after %s", format_ns(time, sizeof(time), f->found_ns));
	if (f->error) {
		printf("; NOT SHOWN: %s\n", f->error);
		return;
	}
	printf("; shrunk from %u operations to %u", f->nr_steps_before, f->sequence_shrunk.nr);
	if (file)
		printf(": %s", file);
	putchar('\n');
	if (check_is_against(run, f))
		printf("    %s fails for this, too\n", o->against);
}

/* What --against's file fails for, whether that was found or not; then how often it was. */
static void print_against(const struct check_report *report, const struct check_run *run,
			  enum sp_strategy s)
{
	const char *file = report->options->against;
	uint64_t nr_same, nr_all;
	char a[64], b[32];

	if (!file)
		return;
	if (!run->nr_against) {
		printf("  %s does not fail under %s\n", file, sp_strategy_name(s));
		return;
	}
	printf("  %s fails for", file);
	for (unsigned int i = 0; i < run->nr_against; i++)
		printf("%s %s", i ? ";" : "", title(&run->against[i], a, sizeof(a)));
	putchar('\n');
	check_count_against(run, &nr_same, &nr_all);
	if (nr_all)
		printf("  %s of %s failure%s ha%s a cause of %s\n",
		       format_count(a, sizeof(a), nr_same), format_count(b, sizeof(b), nr_all),
		       nr_all == 1 ? "" : "s", nr_same == 1 ? "s" : "ve", file);
}

static void print_run(const struct check_report *report, enum sp_strategy s)
{
	const struct check_run *run = &report->runs[s];
	const struct search_report *r = run->report;
	struct words w = {.used = 0};

	say(&w, "%s: ", sp_strategy_name(s));
	if (r->nr_findings) {
		say_phrases(&w, r);
		say(&w, ": %u cause%s", r->nr_findings, r->nr_findings == 1 ? "" : "s");
	} else {
		say(&w, "nothing found");
	}
	say(&w, "%s", r->options.exhaustive ? "; " : " in ");
	say_extent(&w, report->options, r);
	print_words(&w, 0, 4);
	/* No other walk is measured against: what it misses, the kernel does. */
	if (s == SP_STRATEGY_FULL && r->nr_findings)
		puts("  This is Linux's own walk: these are defects of Linux.");
	for (unsigned int i = 0; i < r->nr_findings; i++)
		print_finding(report, run, &r->findings[i], run->files[i]);
	print_against(report, run, s);
}

/* The first ones of a strategy; returns how many are left out. */
static unsigned int print_scenarios(const struct check_run *run, enum sp_strategy s,
				    unsigned int nr_shown)
{
	const struct search_report *r = run->report;
	unsigned int nr_left_out = 0;

	for (unsigned int i = 0; i < r->nr_findings; i++) {
		const struct finding *f = &r->findings[i];
		char name[64];

		if (!f->scenario || run->files[i])
			continue;
		if (!nr_shown) {
			nr_left_out++;
			continue;
		}
		nr_shown--;
		printf("\n# ---- %s: %s ----\n\n%s", sp_strategy_name(s),
		       title(&f->cause, name, sizeof(name)), f->scenario);
	}
	return nr_left_out;
}

void check_print_people(const struct check_report *report)
{
	const struct check_options *o = report->options;
	unsigned int nr_strategies = 0, nr_left_out = 0;

	if (!o->search.exhaustive)
		printf("seed %" PRIu64 "\n", o->search.seed);
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++) {
		if (!report->runs[s].report)
			continue;
		print_run(report, s);
		nr_strategies++;
	}
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++)
		if (report->runs[s].report)
			nr_left_out += print_scenarios(&report->runs[s], s,
						       nr_strategies == 1 ? SCENARIOS_SHOWN : 0);
	if (nr_left_out)
		printf("\n%u%s scenario%s not shown: -o FILE writes them all to files.\n", nr_left_out,
		       nr_strategies == 1 ? " more" : "", nr_left_out == 1 ? "" : "s");
}
