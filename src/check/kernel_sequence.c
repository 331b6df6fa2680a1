/* SPDX-License-Identifier: GPL-2.0-only */
/* Sequences that a kernel can be compared on, and their scenarios; see kernel_sequence.h. */
#include "kernel_sequence.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generate.h"
#include "names.h"

static bool kernel_can(const struct step *s)
{
	switch ((enum step_kind)s->kind) {
	case STEP_RECLAIM:
	case STEP_COMPACT:
		return false;
	case STEP_KNOB:
		return strcmp(step_knobs[s->arg].name, "merge_old_ptes") != 0;
	default:
		return true;
	}
}

/* A page of a file, which the engine does not migrate and a kernel does. */
static bool engine_cannot(enum trial_outcome outcome, int64_t result)
{
	return outcome == TRIAL_ERRNO && result == -EOPNOTSUPP;
}

/*
 * merge_across_nodes 0, 1 and 0 again can kill a kernel (K31a), which then says nothing about the
 * engine.
 */
static bool is_deadly(const struct sequence *s, const struct step *next)
{
	static const char name[] = "merge_across_nodes";
	bool split = false, joined = false;

	if (next->kind != STEP_KNOB || strcmp(step_knobs[next->arg].name, name) != 0 ||
	    strcmp(step_knobs[next->arg].value, "0") != 0)
		return false;
	for (unsigned int i = 0; i < s->nr; i++) {
		const struct step *step = &s->steps[i];

		if (step->kind != STEP_KNOB || strcmp(step_knobs[step->arg].name, name) != 0)
			continue;
		joined |= split && !strcmp(step_knobs[step->arg].value, "1");
		split |= !strcmp(step_knobs[step->arg].value, "0");
	}
	return joined;
}

int kernel_sequence_make(struct trial *t, uint64_t seed, uint64_t number, unsigned int depth,
			 struct sequence *s)
{
	struct generator g;
	int err;

	generator_start(&g, seed, number);
	generator_shape(&g, &s->shape);
	s->shape = (struct shape){.nr_pages = s->shape.nr_pages, .nr_nodes = 2};
	s->nr = 0;
	err = trial_start(t, &s->shape, SP_STRATEGY_FULL);
	if (err)
		return err;
	while (s->nr < depth) {
		struct step step = generator_next(&g, t);
		enum trial_outcome outcome;
		int64_t result = 0;

		if (!kernel_can(&step) || is_deadly(s, &step))
			continue;
		outcome = trial_step(t, &step, &result);
		if (outcome != TRIAL_SKIPPED && !engine_cannot(outcome, result))
			sequence_add(s, step);
	}
	return 0;
}

bool kernel_sequence_is_fair(const struct sequence *s)
{
	if (s->shape.nr_nodes == 2)
		return true;
	for (unsigned int i = 0; i < s->nr; i++)
		if (s->steps[i].kind == STEP_MIGRATE)
			return false;
	return true;
}

/* ---- The scenario ---------------------------------------------------------------------- */

/* The errors that the engine gives; 0 where it gives none. */
static int settle(struct trial *t, struct sequence *s, int errors[MAX_STEPS])
{
	unsigned int nr = 0;
	int err = trial_start(t, &s->shape, SP_STRATEGY_FULL);

	if (err)
		return err;
	for (unsigned int i = 0; i < s->nr; i++) {
		int64_t result = 0;
		enum trial_outcome outcome = trial_step(t, &s->steps[i], &result);

		if (outcome == TRIAL_SKIPPED || engine_cannot(outcome, result))
			continue;
		errors[nr] = outcome == TRIAL_ERRNO ? (int)result : 0;
		s->steps[nr++] = s->steps[i];
	}
	s->nr = (uint16_t)nr;
	return 0;
}

/* The map of the whole window that is the first use of it can give it its name. */
static unsigned int naming_map(const struct sequence *s, unsigned int at)
{
	unsigned int name = s->steps[at].process;

	for (unsigned int i = at + 1; i < s->nr; i++) {
		const struct step *step = &s->steps[i];

		if (step->kind == STEP_PROCESS)
			return 0;
		if (!step_has_process(step->kind) || step->process != name ||
		    step->kind == STEP_MERGE_ANY)
			continue;
		if ((step->kind == STEP_MAP || step->kind == STEP_MAP_FILE) && !step->first &&
		    step->nr == s->shape.nr_pages)
			return i;
		return 0;
	}
	return 0;
}

/*
 * Chains are looked through when so much time has passed since the last look: on a kernel that is
 * time that nobody chose. So it is none, or an hour.
 */
static bool chains_matter(const struct sequence *s)
{
	for (unsigned int i = 0; i < s->nr; i++)
		if (s->steps[i].kind == STEP_KNOB &&
		    !strcmp(step_knobs[s->steps[i].arg].name, "max_page_sharing"))
			return true;
	return false;
}

struct writing {
	FILE *to;
	struct kernel_text *ret;
	unsigned int line; /* the next one's number */
};

static void put(struct writing *w, const char *text)
{
	fputs(text, w->to);
	for (; *text; text++)
		w->line += *text == '\n';
}

static void put_head(struct writing *w, const struct sequence *s, const char *head)
{
	char text[128];
	bool file = false;

	put(w, head);
	shape_print(&s->shape, text, sizeof(text));
	put(w, text);
	put(w, *text ? "\n" : "");
	for (unsigned int i = 0; i < s->nr; i++)
		file |= s->steps[i].kind == STEP_MAP_FILE;
	if (file) {
		snprintf(text, sizeof(text), "file f %u seed %u\n", FILE_PAGES, FILE_SEED);
		put(w, text);
	}
	put(w, "\n");
	if (chains_matter(s))
		put(w, "set stable_node_chains_prune_millisecs 3600000\n");
}

static void put_steps(struct writing *w, const struct sequence *s, const int errors[MAX_STEPS])
{
	bool names[MAX_STEPS] = {false};
	char text[160];

	for (unsigned int i = 0; i < s->nr; i++) {
		const struct step *step = &s->steps[i];
		unsigned int map = step->kind == STEP_PROCESS ? naming_map(s, i) : 0;
		char p = (char)('a' + step->process);

		w->ret->lines[i] = (uint16_t)w->line;
		if (names[i] && step->kind == STEP_MAP)
			snprintf(text, sizeof(text), "%c: map x %u", p, s->shape.nr_pages);
		else if (names[i])
			snprintf(text, sizeof(text), "%c: map x %u file f at %u", p, s->shape.nr_pages,
				 step->arg);
		else
			step_print(step, &s->shape, text, sizeof(text));
		put(w, text);
		put(w, "\n");
		if (errors[i]) {
			snprintf(text, sizeof(text), "expect errno %s\n", errno_name(errors[i]));
			put(w, text);
		}
		names[map] = map;
		if (step->kind == STEP_PROCESS && !map) {
			snprintf(text, sizeof(text), "%c: window x %u\n", p, s->shape.nr_pages);
			put(w, text);
		}
	}
}

int kernel_sequence_tell(struct trial *t, struct sequence *s, const char *head,
			 struct kernel_text *ret)
{
	struct writing w = {.ret = ret, .line = 1};
	int errors[MAX_STEPS];
	bool failed;
	int err = settle(t, s, errors);

	if (err)
		return err;
	*ret = (struct kernel_text){.nr_steps = s->nr};
	w.to = open_memstream(&ret->text, &ret->size);
	if (!w.to)
		return -ENOMEM;
	put_head(&w, s, head);
	put_steps(&w, s, errors);
	failed = ferror(w.to);
	failed |= fclose(w.to);
	if (!failed)
		return 0;
	free(ret->text);
	ret->text = NULL;
	return -ENOMEM;
}
