/* SPDX-License-Identifier: GPL-2.0-only */
/* One sequence on two machines; see versus.h. */
#include "versus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Steps, and declarations that count as operations. */
#define MAX_KEPT (MAX_STEPS + 2 * MAX_PROCESSES * MAX_STEPS / 8 + 8)

struct versus {
	const struct backend_ops *other;
	struct kernel_session *session;
	struct trial *trial;
	struct mem mem;
	struct observation *kept; /* of the engine; MAX_KEPT of them */
	unsigned int nr_kept;

	/* While a sequence runs: */
	const struct sequence *sequence;
	const struct kernel_text *text;
	struct versus_outcome *outcome;
	unsigned int at; /* kept observations that were compared */
	int err;
};

int versus_create(const struct backend_ops *other, struct kernel_session *session,
		  struct versus **ret)
{
	struct versus *v = calloc(1, sizeof(*v));
	int err;

	if (!v)
		return -ENOMEM;
	v->other = other;
	v->session = session;
	mem_init(&v->mem);
	v->kept = calloc(MAX_KEPT, sizeof(*v->kept));
	err = v->kept ? trial_create(&v->trial) : -ENOMEM;
	if (err) {
		versus_destroy(v);
		return err;
	}
	for (unsigned int i = 0; i < MAX_KEPT; i++)
		observation_init(&v->kept[i], &v->mem);
	*ret = v;
	return 0;
}

void versus_destroy(struct versus *v)
{
	if (!v)
		return;
	for (unsigned int i = 0; v->kept && v->trial && i < MAX_KEPT; i++)
		observation_destroy(&v->kept[i]);
	free(v->kept);
	if (v->trial)
		trial_destroy(v->trial);
	free(v);
}

struct trial *versus_trial(struct versus *v)
{
	return v->trial;
}

/* ---- Looking on ---------------------------------------------------------------------- */

static bool keep(void *arg, const struct observation *o)
{
	struct versus *v = arg;

	if (v->nr_kept == MAX_KEPT) {
		v->err = -E2BIG;
		return true;
	}
	v->err = observation_copy(&v->kept[v->nr_kept], o);
	v->nr_kept += !v->err;
	return v->err;
}

/* The step that a line is of; what declares a window is part of the step before it. */
static unsigned int step_at(const struct versus *v, unsigned int line)
{
	unsigned int i = 0;

	while (i + 1 < v->text->nr_steps && v->text->lines[i + 1] <= line)
		i++;
	return i;
}

static void fill_in(const struct versus *v, const struct observation *o,
		    const struct observation_difference *found, struct versus_difference *d)
{
	*d = (struct versus_difference){.step = step_at(v, o->line)};
	snprintf(d->operation, sizeof(d->operation), "%s", observation_text(o));
	snprintf(d->key, sizeof(d->key), "%s", found->key);
	snprintf(d->engine, sizeof(d->engine), "%s", found->a ? found->a : "-");
	snprintf(d->other, sizeof(d->other), "%s", found->b ? found->b : "-");
	difference_name(d, &v->sequence->steps[d->step]);
}

/* True ends the run. */
static bool compare_one(struct versus *v, const struct observation *engine,
			const struct observation *other)
{
	struct versus_outcome *out = v->outcome;
	struct observation_difference found;
	struct versus_difference d;
	bool ends = false;
	uint32_t at = 0;

	while (observation_differs(engine, other, &at, &found)) {
		enum explanation e;

		if (out->kind == VERSUS_DIFFERS) {
			out->difference.nr_more++;
			continue;
		}
		fill_in(v, other, &found, &d);
		e = explain(&d, v->sequence);
		if (e < NR_EXPLANATIONS) {
			out->nr_explained[e]++;
			ends |= explanation_ends(e);
			if (ends)
				return true;
			continue;
		}
		out->kind = VERSUS_DIFFERS;
		out->difference = d;
	}
	return out->kind == VERSUS_DIFFERS;
}

static bool compare(void *arg, const struct observation *o)
{
	struct versus *v = arg;

	if (v->at == v->nr_kept)
		return true;
	v->outcome->nr_operations++;
	return compare_one(v, &v->kept[v->at++], o);
}

/* ---- Both runs -------------------------------------------------------------------------- */

static int run_on(struct versus *v, const struct scenario *scenario, const struct backend_ops *on,
		  scenario_observe_fn observe)
{
	struct scenario_options options;
	struct scenario_result *result;
	int err;

	scenario_options_init(&options);
	options.backend = on;
	options.session = on == v->other ? v->session : NULL;
	options.validate = false;
	options.no_audit = true;
	options.observe = observe;
	options.observe_arg = v;
	err = scenario_run(scenario, &options, &result);
	if (err)
		return err;
	if (result->verdict == SCENARIO_ERROR || result->verdict == SCENARIO_CANNOT) {
		v->outcome->lacks = result->verdict == SCENARIO_CANNOT && v->at;
		if (!v->outcome->lacks)
			v->outcome->kind = on == v->other && result->verdict == SCENARIO_CANNOT ?
						   VERSUS_CANNOT :
						   VERSUS_INVALID;
		snprintf(v->outcome->message, sizeof(v->outcome->message), "%.500s", result->error);
	}
	scenario_result_destroy(result);
	return 0;
}

static int run_both(struct versus *v, const struct scenario *scenario)
{
	int err = run_on(v, scenario, &engine_backend, keep);

	if (!err)
		err = v->err;
	if (err || v->outcome->kind != VERSUS_AGREES)
		return err;
	return run_on(v, scenario, v->other, compare);
}

int versus_run(struct versus *v, struct sequence *s, struct versus_outcome *ret)
{
	struct diagnostics *diagnostics = malloc(sizeof(*diagnostics));
	struct scenario *scenario;
	struct kernel_text text;
	int err;

	if (!diagnostics)
		return -ENOMEM;
	*ret = (struct versus_outcome){.kind = VERSUS_AGREES};
	err = kernel_sequence_tell(v->trial, s, "", &text);
	if (err)
		goto out;
	v->sequence = s;
	v->text = &text;
	v->outcome = ret;
	v->nr_kept = v->at = 0;
	v->err = 0;
	err = scenario_parse_text("sequence", text.text, text.size, diagnostics, &scenario);
	if (!err) {
		err = run_both(v, scenario);
		scenario_destroy(scenario);
	} else if (err != -ENOMEM) {
		ret->kind = VERSUS_INVALID;
		snprintf(ret->message, sizeof(ret->message), "%.500s", diagnostics->list[0]);
		err = 0;
	}
	free(text.text);
out:
	free(diagnostics);
	return err;
}
