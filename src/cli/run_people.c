/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage run's output for people: what was expected and whether it held, then a table of
 * strategies, then what was missed.
 */
#include <inttypes.h>
#include <string.h>

#include "run.h"

/* Expectations beyond this many are only counted, unless they fail. */
#define MAX_HELD_LINES 24
/* Of what one strategy missed, and of what failed under it. */
#define MAX_DETAILS 4

static void print_expectations(const struct scenario_result *r)
{
	unsigned int shown = 0, hidden = 0, unseen = 0;

	for (uint32_t i = 0; i < r->nr_expectations; i++) {
		const struct scenario_expectation *e = &r->expectations[i];
		char times[64] = "";

		if (!e->nr_checked && e->nr_cannot)
			unseen++;
		if (!e->nr_checked)
			continue;
		if (!e->nr_failed && shown >= MAX_HELD_LINES) {
			hidden++;
			continue;
		}
		shown++;
		if (e->nr_checked > 1 && e->nr_failed)
			snprintf(times, sizeof(times), "  (%" PRIu64 " of %" PRIu64 " times)",
				 e->nr_failed, e->nr_checked);
		else if (e->nr_checked > 1)
			snprintf(times, sizeof(times), "  (%" PRIu64 " times)", e->nr_checked);
		printf("  %-6s %4u  %s%s\n", e->nr_failed ? "FAILED" : "held", e->line, e->text,
		       times);
	}
	if (hidden)
		printf("  held         and %u more\n", hidden);
	if (unseen)
		printf("  not seen     %u, of what a kernel does not show\n", unseen);
	if (!r->nr_expectations)
		printf("  nothing is expected here: only the walks are judged\n");
}

static const char *verdict(const struct scenario_result *r, char *buf, size_t size)
{
	uint64_t failed = r->nr_failures;

	switch (r->verdict) {
	case SCENARIO_HELD:
		if (r->nr_linux_missed)
			snprintf(buf, size, "held; misses %" PRIu64 " as Linux does",
				 r->nr_linux_missed);
		else
			snprintf(buf, size, "held%s", r->metrics.reachable ? ", complete" : "");
		return buf;
	case SCENARIO_FAILED:
	case SCENARIO_BROKEN:
		snprintf(buf, size, "%s",
			 r->verdict == SCENARIO_FAILED ? "FAILED" : "broken as declared");
		if (r->nr_missed)
			snprintf(buf + strlen(buf), size - strlen(buf), ": misses %" PRIu64,
				 r->nr_missed);
		if (failed)
			snprintf(buf + strlen(buf), size - strlen(buf), "%s %" PRIu64 " failed",
				 r->nr_missed ? "," : ":", failed);
		if (r->nr_orphan_entries)
			snprintf(buf + strlen(buf), size - strlen(buf), ", %" PRIu64 " orphan %s",
				 r->nr_orphan_entries,
				 r->nr_orphan_entries == 1 ? "entry" : "entries");
		return buf;
	default:
		snprintf(buf, size, "%s%s", r->verdict == SCENARIO_BROKEN_HELD ? "FAILED: " : "",
			 scenario_verdict_text(r->verdict));
		return buf;
	}
}

static void print_table(const struct run_report *report, const struct run_options *o)
{
	printf("\n  %-8s %10s %10s %12s %11s %9s  %s\n", "strategy",
	       o->no_timing ? "" : "lock hold", "iterations", "out of range", "mm mismatch",
	       "reached", "verdict");
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++) {
		const struct scenario_result *r = report->results[s];
		char hold[32] = "", reached[48] = "-", text[160];

		if (!r)
			continue;
		if (!o->no_timing && r->metrics.all.nr_loops)
			format_ns(hold, sizeof(hold), r->metrics.all.hold_ns_max);
		if (r->metrics.reachable)
			snprintf(reached, sizeof(reached), "%" PRIu64 "/%" PRIu64,
				 r->metrics.reached, r->metrics.reachable);
		printf("  %-8s %10s %10" PRIu64 " %12" PRIu64 " %11" PRIu64 " %9s  %s\n",
		       sp_strategy_name(s), hold, r->metrics.pass[0].nr_iteration_max,
		       r->metrics.pass[0].skip_addr_out_of_range_max,
		       r->metrics.pass[0].skip_mm_mismatch_max, reached,
		       verdict(r, text, sizeof(text)));
	}
}

static void print_kernel_verdict(const struct scenario_result *r)
{
	char name[96], text[64] = "";

	if (r->verdict == SCENARIO_FAILED)
		snprintf(text, sizeof(text), "FAILED: %" PRIu64, r->nr_failures);
	printf("\n  %s: %s%s\n", run_kernel_name(name, sizeof(name)),
	       *text ? text : scenario_verdict_text(r->verdict), *text ? " failed" : "");
}

static bool same_miss(const struct scenario_miss *a, const struct scenario_miss *b)
{
	return !strcmp(a->page, b->page) && !strcmp(a->vma, b->vma);
}

/* Each page once, with the first operation that missed it. What Linux misses too is shown under the
 * baseline alone: the others can do no better. */
static void print_misses(const struct scenario_result *r, bool baseline)
{
	uint32_t shown = 0, hidden = 0;

	for (uint32_t i = 0; i < r->nr_misses_listed; i++) {
		const struct scenario_miss *m = &r->misses[i];
		bool seen = m->pte.linux_misses && !baseline;
		unsigned int times = 0;

		for (uint32_t j = 0; j < r->nr_misses_listed; j++) {
			if (!same_miss(m, &r->misses[j]))
				continue;
			seen |= j < i;
			times++;
		}
		if (seen)
			continue;
		if (shown == MAX_DETAILS) {
			hidden++;
			continue;
		}
		shown++;
		printf("  %s: line %u: %s misses %s", sp_strategy_name(r->strategy), m->line,
		       m->operation, m->page);
		if (times > 1)
			printf(times == 2 ? ", and once more" : ", and %u times more", times - 1);
		if (m->pte.linux_misses)
			printf("; so does Linux\n    no rmap_item of the page leads to its VMA %s\n", m->vma);
		else
			printf("\n    its VMA %s has it at index 0x%" PRIx64
			       "; its address says 0x%" PRIx64 "\n",
			       m->vma, m->pte.linear_index, m->pte.addr / SP_PAGE_SIZE);
	}
	if (hidden)
		printf("  %s: and %s%u more pages\n", sp_strategy_name(r->strategy),
		       r->nr_misses_listed == SCENARIO_MAX_MISSES ? "at least " : "", hidden);
}

static uint32_t count_failure(const struct scenario_result *r, const char *text, uint32_t from)
{
	uint32_t nr = 0;

	for (uint32_t i = from; i < r->nr_failures_listed; i++)
		nr += !strcmp(r->failures[i].text, text);
	return nr;
}

/* More than one strategy ran, and this failed equally often under each. */
static bool failed_under_all(const struct run_report *report, const char *text)
{
	uint32_t times = count_failure(run_baseline(report), text, 0);
	unsigned int nr = 0;

	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++) {
		if (!report->results[s])
			continue;
		if (count_failure(report->results[s], text, 0) != times)
			return false;
		nr++;
	}
	return nr > 1;
}

/* Each text once; what failed under every strategy, under the baseline alone. */
static void print_failures(const struct run_report *report, const struct scenario_result *r,
			   const struct run_options *o)
{
	const char *name = o->kernel ? "kernel" : sp_strategy_name(r->strategy);
	uint64_t left = r->nr_failures;
	uint32_t shown = 0, hidden_of_all = 0;

	for (uint32_t i = 0; i < r->nr_failures_listed; i++) {
		const char *text = r->failures[i].text;
		uint32_t times = count_failure(r, text, i);
		bool all = failed_under_all(report, text);

		if (times != count_failure(r, text, 0))
			continue;
		if (all && r != run_baseline(report)) {
			left -= times;
			continue;
		}
		if (shown == MAX_DETAILS) {
			hidden_of_all += all ? times : 0;
			continue;
		}
		shown++;
		left -= times;
		printf("  %s: %s", all ? "all" : name, text);
		if (times > 1)
			printf("  (%u times)", times);
		putchar('\n');
	}
	if (hidden_of_all)
		printf("  all: and %u more failures\n", hidden_of_all);
	if (left > hidden_of_all)
		printf("  %s: and %" PRIu64 " more failures\n", name,
		       left - hidden_of_all);
	if (r->error[0])
		printf("  %s: %s\n", name, r->error);
	if (r->remark[0])
		printf("  %s: %s\n", name, r->remark);
}

static void print_loads(const struct scenario_result *r)
{
	for (uint32_t i = 0; i < r->nr_loads; i++) {
		const struct scenario_load *l = &r->loads[i];

		printf("  process %s from %s: %" PRIu64 " VMAs, %" PRIu64 " unknown pages\n",
		       l->process, l->source, l->nr_vmas, l->nr_unknown_pages);
	}
}

static bool has_details(const struct scenario_result *r, bool baseline)
{
	return r->nr_missed || (baseline && r->nr_linux_missed) || r->nr_failures_listed ||
	       r->error[0] || r->remark[0];
}

void run_print_people(const struct run_report *report, const struct run_options *o)
{
	const struct scenario_result *base = run_baseline(report);
	const char *title = scenario_title(report->scenario);
	bool separated = false;

	if (o->steps)
		putchar('\n');
	else
		printf("%s%s%s\n", scenario_path(report->scenario), *title ? ": " : "", title);
	print_loads(base);
	print_expectations(base);
	if (o->kernel)
		print_kernel_verdict(base);
	else
		print_table(report, o);
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++) {
		const struct scenario_result *r = report->results[s];

		if (!r || !has_details(r, r == base))
			continue;
		if (!separated)
			putchar('\n');
		separated = true;
		print_misses(r, r == base);
		print_failures(report, r, o);
	}
}
