/* SPDX-License-Identifier: GPL-2.0-only */
/* What makes a sequence plain; see plain.h. */
#include "plain.h"

#include <limits.h>
#include <string.h>

#include "bits.h"

/* ---- Cost ------------------------------------------------------------------------- */

/* How far from what a reader expects in a scenario. */
static unsigned int kind_cost(const struct step *step)
{
	static const uint8_t costs[NR_STEP_KINDS] = {
		[STEP_PROCESS] = 1,  [STEP_FORK] = 3,	     [STEP_EXIT] = 3,
		[STEP_MAP] = 2,	     [STEP_MAP_FILE] = 7,    [STEP_MUNMAP] = 3,
		[STEP_MREMAP] = 4,   [STEP_MREMAP_KEEP] = 7, [STEP_RESIZE] = 6,
		[STEP_MPROTECT] = 6, [STEP_MADVISE] = 2,     [STEP_MLOCK] = 5,
		[STEP_MUNLOCK] = 5,  [STEP_MERGE_ANY] = 6,   [STEP_FILL] = 3,
		[STEP_TOUCH] = 2,    [STEP_SWAPOUT] = 3,     [STEP_MIGRATE] = 3,
		[STEP_HOLD] = 3,     [STEP_DROP] = 2,	     [STEP_RECLAIM] = 7,
		[STEP_COMPACT] = 7,  [STEP_SCAN] = 1,	     [STEP_SCAN_PAGES] = 7,
		[STEP_KNOB] = 7,	     [STEP_WRITE] = 6,
	};

	if (step->kind == STEP_MADVISE && step->arg != SP_MADV_MERGEABLE)
		return step->arg == SP_MADV_PAGEOUT || step->arg == SP_MADV_COLD ? 7 : 5;
	return costs[step->kind];
}

const uint8_t common_bytes[NR_COMMON_BYTES] = {0x77, 0x66, 0x55, 0x44};

static unsigned int byte_cost(uint8_t byte)
{
	for (unsigned int i = 0; i < NR_COMMON_BYTES; i++)
		if (common_bytes[i] == byte)
			return i;
	return byte ? 6 : 8;
}

/* Setting memory up is plainest for the whole window, all else for one page. */
static bool sets_up(const struct step *step)
{
	switch (step->kind) {
	case STEP_MAP:
	case STEP_MAP_FILE:
	case STEP_MPROTECT:
	case STEP_MLOCK:
	case STEP_MUNLOCK:
		return true;
	case STEP_MADVISE:
		return step->arg != SP_MADV_PAGEOUT && step->arg != SP_MADV_DONTNEED;
	default:
		return false;
	}
}

static unsigned int argument_cost(const struct step *step, const struct shape *shape)
{
	unsigned int cost = step_has_process(step->kind) ? step->process : 0;

	if (step_has_range(step->kind) && !(sets_up(step) && step->nr == shape->nr_pages))
		cost += 2u * step->nr + step->first + sets_up(step);
	switch (step->kind) {
	case STEP_FORK:
	case STEP_HOLD:
	case STEP_DROP:
		return cost + step->to;
	case STEP_MAP_FILE:
	case STEP_RESIZE:
	case STEP_SCAN:
	case STEP_SCAN_PAGES:
		return cost + step->arg;
	case STEP_MREMAP:
	case STEP_MREMAP_KEEP:
	case STEP_RECLAIM:
		return cost + step->arg + step->to;
	case STEP_FILL:
	case STEP_WRITE:
		return cost + byte_cost(step->arg);
	case STEP_MIGRATE:
		return cost + (step->arg != MIGRATE_ALL);
	default:
		return cost;
	}
}

/* Where a reader expects a step among others that set memory up; 0: it is none of them. */
static unsigned int place_in_setup(const struct step *step)
{
	unsigned int stage;

	switch (step->kind) {
	case STEP_KNOB:
		return 1;
	case STEP_PROCESS:
		stage = 0;
		break;
	case STEP_MERGE_ANY:
		stage = 1;
		break;
	case STEP_MAP:
	case STEP_MAP_FILE:
		stage = 2;
		break;
	case STEP_MADVISE:
		stage = 3;
		break;
	case STEP_FILL:
		stage = 4;
		break;
	default:
		return 0;
	}
	return 2 + ((step->process * 5u + stage) << 3) + step->first;
}

/* Pairs of set-up steps, nothing else between them, that stand the wrong way round. */
static unsigned int disorder(const struct sequence *s)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < s->nr; i++) {
		unsigned int place = place_in_setup(&s->steps[i]);

		for (unsigned int j = i + 1; place && j < s->nr; j++) {
			unsigned int other = place_in_setup(&s->steps[j]);

			if (!other)
				break;
			nr += other < place;
		}
	}
	return nr;
}

/* In the order of what a reader has to keep in mind. */
static unsigned int shape_cost(const struct shape *shape)
{
	unsigned int nr_limits = !!shape->nr_frames + !!shape->nr_swap_slots + !!shape->nr_maps;

	return nr_limits << 12 | (unsigned int)shape->nr_nodes << 8 | shape->nr_pages;
}

struct cost sequence_cost(const struct sequence *s)
{
	uint64_t kinds = 0, arguments = 0;

	for (unsigned int i = 0; i < s->nr; i++) {
		kinds += kind_cost(&s->steps[i]);
		arguments += argument_cost(&s->steps[i], &s->shape);
	}
	return (struct cost){
		.size = (uint64_t)s->nr << 16 | shape_cost(&s->shape),
		.manner = kinds << 44 | arguments << 20 | disorder(s),
	};
}

bool cost_less(const struct cost *a, const struct cost *b)
{
	return a->size != b->size ? a->size < b->size : a->manner < b->manner;
}

/* ---- Names ------------------------------------------------------------------------- */

#define NO_NAME UINT8_MAX

static uint8_t free_name(const uint8_t *names, unsigned int nr)
{
	uint8_t name = 0;

	for (unsigned int i = 0; i < nr; i++)
		if (names[i] == name) {
			name++;
			i = UINT_MAX; /* from the start again */
		}
	return name;
}

struct names {
	uint8_t list[MAX_PROCESSES]; /* the new ones of those that run */
	uint8_t nr_used;	     /* a name is used again only when there is no other */
};

static uint8_t next_name(struct names *names)
{
	if (names->nr_used < MAX_PROCESSES)
		return names->nr_used++;
	return free_name(names->list, MAX_PROCESSES);
}

/* False: the step is of a process that does not run, or starts one that does. */
static bool rename_processes(struct step *step, struct names *names)
{
	uint8_t *list = names->list, *starts = NULL;

	if (step->kind == STEP_PROCESS)
		starts = &step->process;
	else if (step_has_process(step->kind) && list[step->process] == NO_NAME)
		return false;
	else if (step->kind == STEP_FORK)
		starts = &step->to;
	if (starts && list[*starts] != NO_NAME)
		return false;
	if (step_has_process(step->kind) && step->kind != STEP_PROCESS) {
		uint8_t old = step->process;

		step->process = list[old];
		if (step->kind == STEP_EXIT)
			list[old] = NO_NAME;
	}
	if (starts)
		*starts = list[*starts] = next_name(names);
	return true;
}

/* A hold that failed leaves its name free, which only a run can tell: then names stay. */
static void rename_holds(struct sequence *s)
{
	struct sequence renamed = *s;
	uint8_t names[MAX_HOLDS];

	memset(names, NO_NAME, sizeof(names));
	for (unsigned int i = 0; i < s->nr; i++) {
		struct step *step = &renamed.steps[i];
		uint8_t old = step->to;

		if (step->kind == STEP_HOLD) {
			if (names[old] != NO_NAME)
				return;
			step->to = names[old] = free_name(names, MAX_HOLDS);
		} else if (step->kind == STEP_DROP) {
			if (names[old] == NO_NAME)
				return;
			step->to = names[old];
			names[old] = NO_NAME;
		}
	}
	*s = renamed;
}

void sequence_normalize(struct sequence *s)
{
	struct names names = {.nr_used = 0};
	unsigned int kept = 0;

	memset(names.list, NO_NAME, sizeof(names.list));
	for (unsigned int i = 0; i < s->nr; i++) {
		struct step step = s->steps[i];

		if (!step_has_process(step.kind))
			step.process = 0;
		if (!step_has_range(step.kind))
			step.first = step.nr = 0;
		if (rename_processes(&step, &names))
			s->steps[kept++] = step;
	}
	s->nr = (uint16_t)kept;
	rename_holds(s);
}

/* ---- Plainer steps ------------------------------------------------------------------ */

struct variants {
	struct step *list;
	unsigned int nr;
};

static void add(struct variants *v, struct step step)
{
	if (v->nr < MAX_PLAINER)
		v->list[v->nr++] = step;
}

static void add_kind(struct variants *v, struct step step, enum step_kind kind, unsigned int arg)
{
	step.kind = kind;
	step.arg = (uint8_t)arg;
	add(v, step);
}

/* The same, done to one page of one process. */
static void add_for_each_page(struct variants *v, const struct shape *shape, enum step_kind kind,
			      unsigned int arg)
{
	for (unsigned int p = 0; p < MAX_PROCESSES; p++)
		for (unsigned int i = 0; i < shape->nr_pages; i++)
			add(v, (struct step){kind, (uint8_t)p, (uint8_t)i, 1, 0, (uint8_t)arg});
}

static void add_other_kinds(struct variants *v, const struct step *s, const struct shape *shape)
{
	switch (s->kind) {
	case STEP_MAP_FILE:
		add_kind(v, *s, STEP_MAP, 0);
		break;
	case STEP_MREMAP_KEEP:
		add_kind(v, *s, STEP_MREMAP, s->arg);
		break;
	case STEP_RESIZE:
		if (s->arg < s->nr) {
			struct step tail = *s;

			tail.first = (uint8_t)(s->first + s->arg);
			tail.nr = (uint8_t)(s->nr - s->arg);
			add_kind(v, tail, STEP_MUNMAP, 0);
		}
		break;
	case STEP_MERGE_ANY: {
		struct step all = *s;

		all.nr = shape->nr_pages;
		add_kind(v, all, STEP_MADVISE, s->arg ? SP_MADV_MERGEABLE : SP_MADV_UNMERGEABLE);
		break;
	}
	case STEP_MADVISE:
		if (s->arg == SP_MADV_PAGEOUT)
			add_kind(v, *s, STEP_SWAPOUT, 0);
		if (s->arg == SP_MADV_DONTNEED)
			add_kind(v, *s, STEP_MUNMAP, 0);
		break;
	case STEP_MLOCK:
		/* What mlock faults in, writable memory being written to: either may be its point. */
		add_kind(v, *s, STEP_TOUCH, 0);
		add_kind(v, *s, STEP_FILL, common_bytes[0]);
		break;
	case STEP_WRITE:
		add_kind(v, *s, STEP_FILL, s->arg);
		add_kind(v, *s, STEP_TOUCH, 0);
		break;
	case STEP_FILL:
		add_kind(v, *s, STEP_TOUCH, 0);
		break;
	case STEP_RECLAIM:
		add_for_each_page(v, shape, STEP_SWAPOUT, 0);
		break;
	case STEP_COMPACT:
		add_for_each_page(v, shape, STEP_MIGRATE, MIGRATE_ALL);
		break;
	case STEP_SCAN_PAGES:
		add_kind(v, *s, STEP_SCAN, 1);
		add_kind(v, *s, STEP_SCAN, 2);
		break;
	case STEP_MIGRATE:
		add_kind(v, *s, STEP_MIGRATE, MIGRATE_ALL);
		break;
	}
}

static bool moves(const struct step *s)
{
	return s->kind == STEP_MREMAP || s->kind == STEP_MREMAP_KEEP;
}

static void add_ranges(struct variants *v, const struct step *s, const struct shape *shape)
{
	struct step part = *s;

	if (sets_up(s) && s->nr != shape->nr_pages) {
		part.first = 0;
		part.nr = shape->nr_pages;
		add(v, part);
	}
	for (unsigned int nr = 1; nr < s->nr; nr++)
		for (unsigned int skip = 0; skip + nr <= s->nr; skip++) {
			part = *s;
			part.first = (uint8_t)(s->first + skip);
			part.nr = (uint8_t)nr;
			if (s->kind == STEP_MAP_FILE)
				part.arg = (uint8_t)(s->arg + skip);
			if (moves(s)) {
				part.arg = (uint8_t)nr;
				if (part.to + nr > shape->nr_pages)
					continue;
				add(v, part);
				part.to = (uint8_t)(s->to + skip);
				if (part.to + nr > shape->nr_pages)
					continue;
			}
			add(v, part);
		}
	for (unsigned int first = 0; first < s->first; first++) {
		part = *s;
		part.first = (uint8_t)first;
		add(v, part);
	}
	for (unsigned int to = 0; moves(s) && to < s->to; to++) {
		part = *s;
		part.to = (uint8_t)to;
		add(v, part);
	}
}

static void add_smaller_arguments(struct variants *v, const struct step *s)
{
	struct step less = *s;

	switch (s->kind) {
	case STEP_FILL:
	case STEP_WRITE:
		for (unsigned int i = 0; i < byte_cost(s->arg) && i < NR_COMMON_BYTES; i++)
			add_kind(v, *s, s->kind, common_bytes[i]);
		break;
	case STEP_RECLAIM:
		less.to = 1;
		add(v, less);
		add_kind(v, less, STEP_RECLAIM, 1);
		add_kind(v, *s, STEP_RECLAIM, 1);
		break;
	case STEP_MAP_FILE:
	case STEP_RESIZE:
	case STEP_SCAN:
	case STEP_SCAN_PAGES:
		for (unsigned int arg = s->kind == STEP_MAP_FILE ? 0 : 1; arg < s->arg && arg < 8;
		     arg++)
			add_kind(v, *s, s->kind, arg);
		if (s->arg > 8)
			add_kind(v, *s, s->kind, s->arg - 1u);
		break;
	}
}

unsigned int step_plainer(const struct step *step, const struct shape *shape,
			  struct step list[MAX_PLAINER])
{
	struct variants v = {list, 0};

	add_other_kinds(&v, step, shape);
	if (step_has_range(step->kind))
		add_ranges(&v, step, shape);
	add_smaller_arguments(&v, step);
	for (unsigned int p = 0; step_has_process(step->kind) && p < step->process; p++) {
		struct step other = *step;

		other.process = (uint8_t)p;
		add(&v, other);
	}
	return v.nr;
}

/* ---- Whole sequences ------------------------------------------------------------------ */

/* [*first, *first + *nr) without the page; false when nothing is left. */
static bool range_without(uint8_t *first, uint8_t *nr, unsigned int page)
{
	if (*first > page)
		(*first)--;
	else if (*first + *nr > page)
		(*nr)--;
	return *nr;
}

void sequence_without_page(const struct sequence *s, unsigned int page, struct sequence *ret)
{
	ret->shape = s->shape;
	ret->shape.nr_pages--;
	ret->nr = 0;
	for (unsigned int i = 0; i < s->nr; i++) {
		struct step step = s->steps[i];
		uint8_t first = step.first;
		bool left = true;

		if (step.kind == STEP_MAP_FILE && step.first == page)
			step.arg++;
		if (step_has_range(step.kind))
			left = range_without(&step.first, &step.nr, page);
		if (left && moves(&step))
			left = range_without(&step.to, &step.arg, page);
		else if (left && step.kind == STEP_RESIZE)
			left = range_without(&first, &step.arg, page);
		if (left)
			sequence_add(ret, step);
	}
}

void sequence_with_page(const struct sequence *s, struct sequence *ret)
{
	*ret = *s;
	ret->shape.nr_pages++;
	for (unsigned int i = 0; i < s->nr; i++)
		if (step_has_range(s->steps[i].kind) && s->steps[i].nr == s->shape.nr_pages &&
		    !moves(&s->steps[i]))
			ret->steps[i].nr++;
}

bool sequence_fold_process(const struct sequence *s, unsigned int at, unsigned int into,
			   unsigned int shift, struct sequence *ret)
{
	const struct step *start = &s->steps[at];
	unsigned int gone = start->kind == STEP_FORK ? start->to : start->process;

	*ret = *s;
	for (unsigned int i = s->nr - 1u; i > at; i--) {
		struct step *step = &ret->steps[i];
		unsigned int end = 0;

		if (!step_has_process(step->kind) ||
		    (step->process != gone && step->process != into))
			continue;
		if (step->kind == STEP_EXIT) {
			sequence_remove(ret, i, 1);
			continue;
		}
		if (step->process == into)
			continue;
		step->process = (uint8_t)into;
		if (step_has_range(step->kind)) {
			step->first = (uint8_t)(step->first + shift);
			end = step->first + step->nr;
		}
		if (moves(step)) {
			step->to = (uint8_t)(step->to + shift);
			end = MAX(end, (unsigned int)step->to + step->arg);
		}
		if (end > MAX_PAGES)
			return false;
		ret->shape.nr_pages = MAX(ret->shape.nr_pages, (uint8_t)end);
	}
	sequence_remove(ret, at, 1);
	return true;
}

bool step_join(const struct step *a, const struct step *b, struct step *ret)
{
	if (a->kind != b->kind || a->process != b->process)
		return false;
	*ret = *a;
	switch (a->kind) {
	case STEP_SCAN:
		if (a->arg + b->arg > UINT8_MAX)
			return false;
		ret->arg = (uint8_t)(a->arg + b->arg);
		return true;
	case STEP_MADVISE:
	case STEP_MPROTECT:
		if (a->arg != b->arg)
			return false;
		break;
	case STEP_MAP:
	case STEP_MAP_FILE:
	case STEP_MUNMAP:
	case STEP_MLOCK:
	case STEP_MUNLOCK:
	case STEP_FILL:
	case STEP_TOUCH:
	case STEP_SWAPOUT:
		break;
	default:
		return false;
	}
	ret->first = MIN(a->first, b->first);
	ret->nr = (uint8_t)(MAX(a->first + a->nr, b->first + b->nr) - ret->first);
	if (a->kind == STEP_MAP_FILE)
		ret->arg = a->first <= b->first ? a->arg : b->arg;
	return true;
}
