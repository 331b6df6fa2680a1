/* SPDX-License-Identifier: GPL-2.0-only */
/* What differences are about; see explained.h. */
#include "explained.h"

#include <stdio.h>
#include <string.h>

#include "bits.h"

/* The word in which two texts differ first. */
static unsigned int differing_word(const char *a, const char *b)
{
	unsigned int word = 0;

	while (*a && *a == *b) {
		word += *a == ' ';
		a++;
		b++;
	}
	return word;
}

/* Pages of a sequence's machine have a node (observe.h). */
static const char *page_part(const struct versus_difference *d)
{
	static const char *const parts[] = {"page", "page kind", "page frame", "page node",
					    "page content"};
	unsigned int word = differing_word(d->engine, d->other);

	return parts[MIN(word, (unsigned int)ARRAY_SIZE(parts) - 1)];
}

static const char *kind_word(const struct step *step)
{
	static const char *const words[NR_STEP_KINDS] = {
		[STEP_PROCESS] = "process",
		[STEP_FORK] = "fork",
		[STEP_EXIT] = "exit",
		[STEP_MAP] = "map",
		[STEP_MAP_FILE] = "map file",
		[STEP_MUNMAP] = "munmap",
		[STEP_MREMAP] = "mremap",
		[STEP_MREMAP_KEEP] = "mremap dontunmap",
		[STEP_RESIZE] = "mremap resize",
		[STEP_MPROTECT] = "mprotect",
		[STEP_MLOCK] = "mlock",
		[STEP_MUNLOCK] = "munlock",
		[STEP_MERGE_ANY] = "prctl merge-any",
		[STEP_FILL] = "fill",
		[STEP_WRITE] = "write",
		[STEP_TOUCH] = "touch",
		[STEP_SWAPOUT] = "swapout",
		[STEP_MIGRATE] = "migrate",
		[STEP_HOLD] = "hold",
		[STEP_DROP] = "drop",
		[STEP_SCAN] = "scan",
		[STEP_SCAN_PAGES] = "scan pages",
	};

	if (step->kind == STEP_MADVISE)
		return step_advice_name(step->arg);
	if (step->kind == STEP_KNOB)
		return step_knobs[step->arg].name;
	return words[step->kind] ? words[step->kind] : "?";
}

void difference_name(struct versus_difference *d, const struct step *step)
{
	const char *dot = strchr(d->key, '.');
	const char *what = d->key;

	if (strchr(d->key, ':'))
		what = page_part(d);
	else if (dot)
		what = dot + 1;
	else if (strlen(d->key) == 1)
		what = "process";
	snprintf(d->group, sizeof(d->group), "%.30s after %.24s", what, kind_word(step));
}

static const struct {
	const char *fact;
	bool ends;
} explanations[NR_EXPLANATIONS] = {
#define EXPLANATION_ENTRY(name, fact, ends) {fact, ends},
	EXPLANATIONS(EXPLANATION_ENTRY)
#undef EXPLANATION_ENTRY
};

const char *explanation_fact(enum explanation e)
{
	return explanations[e].fact;
}

bool explanation_ends(enum explanation e)
{
	return explanations[e].ends;
}

/*
 * To swap one page out that is mapped more than once, the kernel backend locks all others, and
 * unlocks them. Neither joins what belongs together; but both try to, and VMAs may have been
 * apart.
 */
static bool joined(const struct versus_difference *d, const struct step *step)
{
	const char *dot = strrchr(d->key, '.');

	return step->kind == STEP_SWAPOUT && dot && (!strcmp(dot, ".vmas") || !strcmp(dot, ".map"));
}

/*
 * A page that fork shares out of locked memory has, from the moment when ksmd replaces the locked
 * mapping, one more reference until a batch is full or the next pass begins: nothing merges it
 * elsewhere in this pass.
 */
static bool batched(const struct sequence *s, unsigned int at)
{
	bool locked = false, shared = false;

	for (unsigned int i = 0; i < at; i++) {
		locked |= s->steps[i].kind == STEP_MLOCK;
		shared |= locked && s->steps[i].kind == STEP_FORK;
	}
	return shared && (s->steps[at].kind == STEP_SCAN || s->steps[at].kind == STEP_SCAN_PAGES);
}

enum explanation explain(const struct versus_difference *d, const struct sequence *s)
{
	const struct step *step = &s->steps[d->step];

	if (joined(d, step))
		return EXPLAINED_JOINED;
	if (batched(s, d->step))
		return EXPLAINED_BATCHED;
	return NR_EXPLANATIONS;
}
