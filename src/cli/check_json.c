/* SPDX-License-Identifier: GPL-2.0-only */
/* samepage check's JSON: the same report. Keys are stable; samepage-check(1) lists them. */
#include "check.h"
#include "json.h"

static struct json_object *json_finding(const struct check_report *report,
					const struct check_run *run, const struct finding *f,
					const char *file)
{
	struct json_object *o = json_object_new_object();
	char text[512];

	json_add_text(o, "kind", failure_kind_name(f->cause.kind));
	json_add_text(o, "cause", cause_name(&f->cause));
	json_add_text(o, "text", cause_text(&f->cause, text, sizeof(text)));
	json_add_text(o, "facts", cause_facts(&f->cause));
	json_add_number(o, "found", f->nr_found);
	if (!report->options->search.exhaustive)
		json_add_number(o, "sequence", f->sequence);
	if (!report->options->no_timing)
		json_add_number(o, "found_ns", f->found_ns);
	if (report->options->against)
		json_object_object_add(o, "against",
				       json_object_new_boolean(check_is_against(run, f)));
	if (f->error) {
		json_add_text(o, "error", f->error);
		return o;
	}
	json_add_number(o, "operations_before", f->nr_steps_before);
	json_add_number(o, "operations", f->sequence_shrunk.nr);
	json_add_text(o, "scenario", f->scenario);
	if (file)
		json_add_text(o, "file", file);
	return o;
}

static struct json_object *json_run(const struct check_report *report, enum sp_strategy s)
{
	const struct check_run *run = &report->runs[s];
	const struct search_report *r = run->report;
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	json_add_text(o, "strategy", sp_strategy_name(s));
	if (r->options.exhaustive) {
		json_add_number(o, "states", r->nr_states);
		json_add_number(o, "operations", r->nr_transitions);
		json_object_object_add(o, "complete", json_object_new_boolean(r->complete));
	} else {
		json_add_number(o, "sequences", r->nr_sequences);
		json_add_number(o, "operations", r->nr_steps);
	}
	json_object_object_add(o, "interrupted", json_object_new_boolean(r->interrupted));
	if (!report->options->no_timing) {
		json_add_number(o, "elapsed_ns", r->elapsed_ns);
		json_add_number(o, "shrink_ns", r->shrink_ns);
	}
	if (report->options->against) {
		uint64_t nr_same, nr_all;

		check_count_against(run, &nr_same, &nr_all);
		json_add_number(o, "failures", nr_all);
		json_add_number(o, "failures_against", nr_same);
	}
	for (unsigned int i = 0; i < r->nr_findings; i++)
		json_object_array_add(list,
				      json_finding(report, run, &r->findings[i], run->files[i]));
	json_object_object_add(o, "findings", list);
	return o;
}

static struct json_object *json_oracles(unsigned int oracles)
{
	struct json_object *list = json_object_new_array();

	if (oracles & ORACLE_WALKS)
		json_object_array_add(list, json_object_new_string("walks"));
	if (oracles & ORACLE_CONTENTS)
		json_object_array_add(list, json_object_new_string("contents"));
	if (oracles & ORACLE_RECOUNT)
		json_object_array_add(list, json_object_new_string("recount"));
	return list;
}

struct json_object *check_json(const struct check_report *report)
{
	const struct check_options *options = report->options;
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	json_object_object_add(o, "exhaustive",
			       json_object_new_boolean(options->search.exhaustive));
	if (!options->search.exhaustive)
		json_add_number(o, "seed", options->search.seed);
	json_add_number(o, "depth", options->search.depth);
	json_object_object_add(o, "oracles", json_oracles(options->search.oracles));
	if (!options->no_timing)
		json_add_number(o, "jobs", options->search.nr_jobs);
	if (options->against)
		json_add_text(o, "against", options->against);
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++)
		if (report->runs[s].report)
			json_object_array_add(list, json_run(report, s));
	json_object_object_add(o, "strategies", list);
	return o;
}
