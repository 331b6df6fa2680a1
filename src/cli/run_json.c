/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage run's JSON: the same report, with both passes and sums. Keys are stable; samepage-run(1)
 * lists them.
 */
#include "json.h"
#include "run.h"

static struct json_object *json_pass(const struct sp_loop_metrics *p,
				     const struct run_options *options)
{
	struct json_object *o = json_object_new_object();

	json_add_number(o, "nr_loops", p->nr_loops);
	json_add_number(o, "nr_iteration_total", p->nr_iteration_max);
	json_add_number(o, "skip_addr_out_of_range", p->skip_addr_out_of_range_max);
	json_add_number(o, "skip_mm_mismatch", p->skip_mm_mismatch_max);
	json_add_number(o, "nr_iteration_sum", p->nr_iteration_total);
	json_add_number(o, "skip_addr_out_of_range_sum", p->skip_addr_out_of_range);
	json_add_number(o, "skip_mm_mismatch_sum", p->skip_mm_mismatch);
	json_add_number(o, "nr_rmap_one", p->nr_rmap_one);
	if (!options->no_timing) {
		json_add_number(o, "hold_ns_max", p->hold_ns_max);
		json_add_number(o, "hold_ns_sum", p->hold_ns_sum);
	}
	return o;
}

static struct json_object *json_misses(const struct scenario_result *r)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < r->nr_misses_listed; i++) {
		const struct scenario_miss *m = &r->misses[i];
		struct json_object *o = json_object_new_object();

		json_add_number(o, "line", m->line);
		json_add_text(o, "operation", m->operation);
		json_add_text(o, "page", m->page);
		json_add_text(o, "vma", m->vma);
		json_add_number(o, "vma_pgoff", m->pte.vma_pgoff);
		json_add_number(o, "linear_index", m->pte.linear_index);
		json_object_object_add(o, "linux_misses",
				       json_object_new_boolean(m->pte.linux_misses));
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *json_failures(const struct scenario_result *r)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < r->nr_failures_listed; i++)
		json_object_array_add(list, json_object_new_string(r->failures[i].text));
	return list;
}

static struct json_object *json_result(const struct scenario_result *r,
				       const struct scenario_result *full,
				       const struct run_options *options)
{
	const struct sp_walk_metrics *m = &r->metrics;
	struct json_object *o = json_object_new_object();

	if (options->kernel) {
		char name[96];

		json_add_text(o, "kernel", run_kernel_name(name, sizeof(name)));
		json_add_number(o, "expectations_not_seen", r->nr_cannot);
	} else {
		json_add_text(o, "strategy", sp_strategy_name(r->strategy));
	}
	json_add_text(o, "verdict", scenario_verdict_text(r->verdict));
	json_add_number(o, "nr_iteration_total", m->pass[0].nr_iteration_max);
	json_add_number(o, "skip_addr_out_of_range", m->pass[0].skip_addr_out_of_range_max);
	json_add_number(o, "skip_mm_mismatch", m->pass[0].skip_mm_mismatch_max);
	if (!options->no_timing) {
		json_add_number(o, "hold_ns_max", m->all.hold_ns_max);
		json_add_number(o, "hold_ns_sum", m->all.hold_ns_sum);
		json_add_number(o, "walk_ns_max", m->walk_ns_max);
		json_add_number(o, "walk_ns_sum", m->walk_ns_sum);
		if (full)
			json_add_double(o, "ratio_to_full",
					(double)full->metrics.all.hold_ns_max /
						(double)MAX(m->all.hold_ns_max, UINT64_C(1)));
		json_add_number(o, "duration_ns", r->duration_ns);
	}
	json_add_number(o, "reached", m->reached);
	json_add_number(o, "reachable", m->reachable);
	json_add_number(o, "nr_walks", m->nr_walks);
	json_add_number(o, "nr_fallback", m->nr_fallback);
	json_add_number(o, "missed", r->nr_missed);
	json_add_number(o, "linux_missed", r->nr_linux_missed);
	json_add_number(o, "orphan_entries", r->nr_orphan_entries);
	json_add_number(o, "expectations_checked", r->nr_checked);
	json_add_number(o, "expectations_failed", r->nr_failed);
	json_object_object_add(o, "pass0", json_pass(&m->pass[0], options));
	json_object_object_add(o, "pass1", json_pass(&m->pass[1], options));
	json_object_object_add(o, "misses", json_misses(r));
	json_object_object_add(o, "failures", json_failures(r));
	if (r->error[0])
		json_add_text(o, "error", r->error);
	if (r->remark[0])
		json_add_text(o, "remark", r->remark);
	return o;
}

static struct json_object *json_expectations(const struct scenario_result *r)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < r->nr_expectations; i++) {
		const struct scenario_expectation *e = &r->expectations[i];
		struct json_object *o = json_object_new_object();

		json_add_number(o, "line", e->line);
		json_add_text(o, "text", e->text);
		json_add_number(o, "checked", e->nr_checked);
		json_add_number(o, "failed", e->nr_failed);
		if (e->nr_cannot)
			json_add_number(o, "not_seen", e->nr_cannot);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *json_loads(const struct scenario_result *r)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; i < r->nr_loads; i++) {
		struct json_object *o = json_object_new_object();

		json_add_text(o, "process", r->loads[i].process);
		json_add_text(o, "source", r->loads[i].source);
		json_add_number(o, "vmas", r->loads[i].nr_vmas);
		json_add_number(o, "unknown_pages", r->loads[i].nr_unknown_pages);
		json_object_array_add(list, o);
	}
	return list;
}

struct json_object *run_json(const struct run_report *report, const struct run_options *options)
{
	const struct scenario_result *base = run_baseline(report);
	struct json_object *o = json_object_new_object(), *list = json_object_new_array();

	json_add_text(o, "scenario", scenario_path(report->scenario));
	json_add_text(o, "title", scenario_title(report->scenario));
	json_add_number(o, "seed", base->seed);
	json_add_number(o, "exit_status", (uint64_t)report->exit_status);
	json_add_number(o, "nr_operations", base->nr_operations);
	json_object_object_add(o, "expectations", json_expectations(base));
	if (base->nr_loads)
		json_object_object_add(o, "loads", json_loads(base));
	for (unsigned int s = 0; s < SP_NR_STRATEGIES; s++)
		if (report->results[s]) {
			struct json_object *result =
				json_result(report->results[s], report->results[SP_STRATEGY_FULL],
					    options);

			if (report->steps[s])
				json_object_object_add(result, "steps",
						       json_object_get(report->steps[s]));
			json_object_array_add(list, result);
		}
	json_object_object_add(o, "strategies", list);
	return o;
}
