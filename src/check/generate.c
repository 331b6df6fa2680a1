/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The random generator; see generate.h.
 *
 * Each kind of step has a weight. A step that needs mapped pages takes some that are, mostly: calls on
 * holes are worth trying too. Values are few, and one of them is common, since
 * nothing happens where nothing is equal.
 */
#include "generate.h"

#include <string.h>

#include "assertion.h"

/* Out of 1000 or so, no more than generator.kinds has room for; how they are spread matters little, that none is rare does. */
static const uint16_t weights[NR_STEP_KINDS] = {
	[STEP_PROCESS] = 20,
	[STEP_FORK] = 45,
	[STEP_EXIT] = 20,
	[STEP_MAP] = 22,
	[STEP_MAP_FILE] = 8,
	[STEP_MUNMAP] = 24,
	[STEP_MREMAP] = 110,
	[STEP_MREMAP_KEEP] = 20,
	[STEP_RESIZE] = 10,
	[STEP_MPROTECT] = 14,
	[STEP_MADVISE] = 130,
	[STEP_MLOCK] = 5,
	[STEP_MUNLOCK] = 5,
	[STEP_MERGE_ANY] = 8,
	[STEP_FILL] = 170,
	[STEP_WRITE] = 30,
	[STEP_TOUCH] = 70,
	[STEP_SWAPOUT] = 50,
	[STEP_MIGRATE] = 30,
	[STEP_HOLD] = 25,
	[STEP_DROP] = 25,
	[STEP_RECLAIM] = 6,
	[STEP_COMPACT] = 4,
	[STEP_SCAN] = 130,
	[STEP_SCAN_PAGES] = 30,
	[STEP_KNOB] = 6,
};

/* Half of it for what makes pages merge at all. */
static const uint8_t advices[] = {
	SP_MADV_MERGEABLE,  SP_MADV_MERGEABLE, SP_MADV_MERGEABLE,   SP_MADV_MERGEABLE,
	SP_MADV_MERGEABLE,  SP_MADV_MERGEABLE, SP_MADV_MERGEABLE,   SP_MADV_MERGEABLE,
	SP_MADV_UNMERGEABLE, SP_MADV_UNMERGEABLE, SP_MADV_DONTNEED, SP_MADV_DONTFORK,
	SP_MADV_DOFORK,	    SP_MADV_WIPEONFORK,
	SP_MADV_KEEPONFORK, SP_MADV_COLD,      SP_MADV_PAGEOUT,
};

static const uint8_t bytes[] = {0x77, 0x77, 0x77, 0x77, 0x77, 0x77, 0x77, 0x77, 0x55, 0x55, 0x00};

static unsigned int below(struct generator *g, unsigned int n)
{
	return random_below(&g->random, n);
}

void generator_start(struct generator *g, uint64_t seed, uint64_t number)
{
	/* Two steps of the generator apart from each other, whatever the seed. */
	struct random mix = {.state = seed};

	g->nr_made = g->nr_knobs = g->nr_kinds = 0;
	for (unsigned int i = 0; i < NR_STEP_KINDS; i++) {
		memset(&g->kinds[g->nr_kinds], (int)i, weights[i]);
		g->nr_kinds += weights[i];
	}
	SP_ASSERT(g->nr_kinds <= sizeof(g->kinds));
	g->random.state = random_next(&mix) + number * UINT64_C(0xd1342543de82ef95);
	g->random.state = random_next(&g->random);
	g->nr_processes_max = below(g, 8) ? 1 + below(g, 3) : MAX_PROCESSES;
	/* Most machines forget nothing and look at everything; the others are for the rare paths. */
	if (below(g, 4))
		g->knobs[g->nr_knobs++] = 0;
	for (unsigned int i = below(g, 3); i > 0; i--)
		g->knobs[g->nr_knobs++] = (uint8_t)below(g, nr_step_knobs - 3);
}

void generator_shape(struct generator *g, struct shape *shape)
{
	shape->nr_pages = (uint8_t)(3 + below(g, 4));
	shape->nr_nodes = below(g, 8) ? 1 : 2;
	/* Enough to begin with, and little enough to be missed. */
	shape->nr_frames = (uint8_t)(below(g, 8) ? 0 : shape->nr_pages + below(g, 8));
	shape->nr_swap_slots = (uint8_t)(below(g, 12) ? 0 : 1 + below(g, 3));
	shape->nr_maps = (uint8_t)(below(g, 12) ? 0 : 3 + below(g, 6));
}

static unsigned int nr_running(const struct trial *t)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < MAX_PROCESSES; i++)
		nr += t->processes[i].p != NULL;
	return nr;
}

/* The n-th that runs, or that does not. */
static uint8_t nth_process(const struct trial *t, bool running, unsigned int n)
{
	for (unsigned int i = 0; i < MAX_PROCESSES; i++)
		if ((t->processes[i].p != NULL) == running && n-- == 0)
			return (uint8_t)i;
	return 0;
}

/* A page that is as wanted, evenly; any page when none is. */
static unsigned int pick_one(struct generator *g, const struct trial *t, const struct step *s,
			     bool (*wanted)(const struct model_page *page))
{
	const struct model_page *pages = t->processes[s->process].pages;
	unsigned int found[MAX_PAGES], nr = 0;

	for (unsigned int i = 0; i < t->shape.nr_pages; i++)
		if (wanted(&pages[i]))
			found[nr++] = i;
	return nr ? found[below(g, nr)] : below(g, t->shape.nr_pages);
}

static bool is_mapped(const struct model_page *page)
{
	return page->mapped;
}

static bool is_written(const struct model_page *page)
{
	return page->mapped && page->value;
}

static bool is_any(const struct model_page *page)
{
	(void)page;
	return true;
}

/* From a page that is as wanted on, over such pages, mostly; now and then over whatever comes. */
static void pick_range(struct generator *g, const struct trial *t, struct step *s,
		       bool (*wanted)(const struct model_page *page))
{
	const struct model_page *pages = t->processes[s->process].pages;
	bool wild = !below(g, 12);

	s->first = (uint8_t)pick_one(g, t, s, wild ? is_any : wanted);
	s->nr = 1;
	while (s->first + s->nr < t->shape.nr_pages && below(g, 2) &&
	       (wild || wanted(&pages[s->first + s->nr])))
		s->nr++;
}

static void pick_page(struct generator *g, const struct trial *t, struct step *s)
{
	s->nr = 1;
	s->first = (uint8_t)pick_one(g, t, s, is_written);
}

/* Where nothing is mapped, or on what is: both matter. Overlapping the source is an error, and rare. */
static void pick_target(struct generator *g, const struct trial *t, struct step *s)
{
	const struct model_page *pages = t->processes[s->process].pages;
	unsigned int nr_pages = t->shape.nr_pages, found[MAX_PAGES], nr = 0;
	bool free = below(g, 3) != 0;

	s->arg = s->nr;
	if (s->kind == STEP_MREMAP && !below(g, 8))
		s->arg = (uint8_t)(1 + below(g, nr_pages));
	for (unsigned int to = 0; to + s->arg <= nr_pages; to++)
		if ((to + s->arg <= s->first || s->first + s->nr <= to) &&
		    (!free || !pages[to].mapped))
			found[nr++] = to;
	s->to = (uint8_t)(nr ? found[below(g, nr)] : below(g, nr_pages - s->arg + 1));
}

static enum step_kind pick_kind(struct generator *g)
{
	return g->kinds[below(g, g->nr_kinds)];
}

/* False: not now. */
static bool fill_in(struct generator *g, const struct trial *t, struct step *s)
{
	unsigned int running = nr_running(t);
	enum step_kind kind = s->kind;

	if (kind == STEP_PROCESS) {
		if (running >= g->nr_processes_max)
			return false;
		s->process = nth_process(t, false, 0);
		return true;
	}
	if (step_has_process(kind))
		s->process = nth_process(t, true, below(g, running));
	switch (kind) {
	case STEP_FORK:
		if (running >= g->nr_processes_max)
			return false;
		s->to = nth_process(t, false, 0);
		break;
	case STEP_EXIT:
		return running > 1;
	case STEP_MAP:
		pick_range(g, t, s, is_any);
		break;
	case STEP_MAP_FILE:
		pick_range(g, t, s, is_any);
		s->arg = (uint8_t)below(g, 4);
		break;
	case STEP_MREMAP:
	case STEP_MREMAP_KEEP:
		pick_range(g, t, s, is_mapped);
		pick_target(g, t, s);
		break;
	case STEP_RESIZE:
		pick_range(g, t, s, is_mapped);
		s->arg = (uint8_t)(1 + below(g, t->shape.nr_pages - s->first));
		break;
	case STEP_MPROTECT: {
		static const uint8_t prots[] = {SP_PROT_NONE, SP_PROT_READ,
						SP_PROT_READ | SP_PROT_WRITE,
						SP_PROT_READ | SP_PROT_WRITE};

		pick_range(g, t, s, is_mapped);
		s->arg = prots[below(g, ARRAY_SIZE(prots))];
		break;
	}
	case STEP_MADVISE:
		pick_range(g, t, s, is_mapped);
		s->arg = advices[below(g, ARRAY_SIZE(advices))];
		break;
	case STEP_MERGE_ANY:
		s->arg = (uint8_t)(below(g, 3) != 0);
		break;
	case STEP_FILL:
		pick_range(g, t, s, is_mapped);
		s->arg = bytes[below(g, ARRAY_SIZE(bytes))];
		break;
	case STEP_WRITE:
		pick_page(g, t, s);
		s->arg = bytes[below(g, ARRAY_SIZE(bytes))];
		break;
	case STEP_MUNMAP:
	case STEP_MLOCK:
	case STEP_MUNLOCK:
	case STEP_TOUCH:
		pick_range(g, t, s, is_mapped);
		break;
	case STEP_SWAPOUT:
		pick_range(g, t, s, is_written);
		break;
	case STEP_MIGRATE:
		pick_page(g, t, s);
		s->arg = below(g, 5) ? MIGRATE_ALL : MIGRATE_OWN;
		break;
	case STEP_HOLD:
		pick_page(g, t, s);
		while (s->to < MAX_HOLDS && t->holds[s->to])
			s->to++;
		return s->to < MAX_HOLDS;
	case STEP_DROP:
		while (s->to < MAX_HOLDS && !t->holds[s->to])
			s->to++;
		return s->to < MAX_HOLDS;
	case STEP_RECLAIM:
		s->arg = (uint8_t)(1 + below(g, 6));
		s->to = (uint8_t)(1 + below(g, 3));
		break;
	case STEP_SCAN:
		s->arg = (uint8_t)(1 + below(g, 3));
		break;
	case STEP_SCAN_PAGES:
		s->arg = (uint8_t)(1 + below(g, 4));
		break;
	case STEP_KNOB:
		s->arg = (uint8_t)below(g, nr_step_knobs);
		break;
	default:
		break;
	}
	return true;
}

/* What one process has to work with. */
static unsigned int nr_mapped(const struct trial *t, const struct trial_process *p, bool mergeable)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < t->shape.nr_pages; i++)
		nr += p->pages[i].mapped && (p->pages[i].mergeable || !mergeable);
	return nr;
}

static unsigned int nr_written(const struct trial *t, const struct trial_process *p)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < t->shape.nr_pages; i++)
		nr += is_written(&p->pages[i]);
	return nr;
}

/*
 * A process without memory, or with none to merge, does little: it gets some, often, before it is used
 * for anything else.
 */
static bool equip(struct generator *g, const struct trial *t, struct step *s)
{
	const struct trial_process *p = &t->processes[s->process];
	unsigned int nr_pages = t->shape.nr_pages;

	if (!step_has_range(s->kind))
		return false;
	if (!nr_mapped(t, p, false)) {
		s->kind = below(g, 4) ? STEP_MAP : STEP_MAP_FILE;
		s->arg = s->kind == STEP_MAP_FILE ? (uint8_t)below(g, 4) : 0;
	} else if (!nr_mapped(t, p, true) && below(g, 3) == 0) {
		s->kind = STEP_MADVISE;
		s->arg = SP_MADV_MERGEABLE;
	} else if (nr_written(t, p) < 2 && below(g, 3) == 0) {
		s->kind = STEP_FILL;
		s->arg = bytes[below(g, ARRAY_SIZE(bytes))];
	} else {
		return false;
	}
	s->nr = (uint8_t)(below(g, 4) ? nr_pages - below(g, 2) : 1 + below(g, nr_pages));
	s->first = (uint8_t)below(g, nr_pages - s->nr + 1);
	return true;
}

struct step generator_next(struct generator *g, const struct trial *t)
{
	unsigned int i = g->nr_made++;
	struct step s;

	if (i < g->nr_knobs)
		return (struct step){.kind = STEP_KNOB, .arg = g->knobs[i]};
	if (!nr_running(t))
		return (struct step){.kind = STEP_PROCESS};
	do {
		s = (struct step){.kind = pick_kind(g)};
	} while (!fill_in(g, t, &s));
	(void)equip(g, t, &s);
	return s;
}
