/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The alphabet of `samepage check`: one step is one operation of a scenario on a machine of a few
 * pages, in six bytes, so that millions can be made, kept and changed.
 *
 * Every top-level process has one window of the machine's pages, called x; a fork has its parent's.
 * Ranges are pages of that window. A process is called by a name (0 is a, 1 is b ...) that the step
 * which starts it chooses, so a step means the same when others before it are taken away; a step that
 * cannot be written down any more (its process does not run, its hold holds nothing) is skipped, and
 * removed from what is shown.
 *
 * A sequence has a shape, which is its machine, and its steps. Knobs are steps.
 *
 *	struct sequence s = {.shape = {.nr_pages = 3, .nr_nodes = 1}};
 *	sequence_add(&s, (struct step){STEP_PROCESS, .process = 0});
 *	sequence_add(&s, (struct step){STEP_MAP, .process = 0, .first = 0, .nr = 3});
 *
 * Nothing here runs anything: trial.h does.
 *
 * Locks: none; values.
 */
#ifndef SP_STEP_H
#define SP_STEP_H

#include "samepage.h"

#define MAX_PROCESSES 5 /* names at a time: a to e, since f is the file */
#define MAX_PAGES     8 /* of a window */
#define MAX_HOLDS     4 /* names at a time */
#define MAX_STEPS     256
#define FILE_PAGES    16 /* of the one file */
#define FILE_SEED     7

/* What the fields mean is said at each. */
enum step_kind {
	STEP_PROCESS, /* process starts */
	STEP_FORK,    /* process forks; `to` is the child */
	STEP_EXIT,
	STEP_MAP,      /* first, nr: private anonymous, MAP_FIXED */
	STEP_MAP_FILE, /* and of the file, from page `arg` on */
	STEP_MUNMAP,
	STEP_MREMAP,	  /* first, nr -> to, arg pages (MAYMOVE|FIXED) */
	STEP_MREMAP_KEEP, /* the same with DONTUNMAP; arg == nr */
	STEP_RESIZE,	  /* first, nr: arg pages, in place */
	STEP_MPROTECT,	  /* arg: SP_PROT_ bits */
	STEP_MADVISE,	  /* arg: enum sp_advice */
	STEP_MLOCK,
	STEP_MUNLOCK,
	STEP_MERGE_ANY, /* arg: 0 or 1 */
	STEP_FILL,	/* arg: byte */
	STEP_WRITE,	/* one page; arg: its first byte, the others stay */
	STEP_TOUCH,
	STEP_SWAPOUT,
	STEP_MIGRATE, /* one page; arg: MIGRATE_ALL or MIGRATE_OWN */
	STEP_HOLD,    /* one page; `to`: the hold's name */
	STEP_DROP,    /* `to` */
	STEP_RECLAIM, /* arg pages, `to` rounds */
	STEP_COMPACT,
	STEP_SCAN,	 /* arg passes */
	STEP_SCAN_PAGES, /* arg candidates */
	STEP_KNOB,	 /* arg: index of step_knobs */
	NR_STEP_KINDS
};

enum { MIGRATE_OWN, MIGRATE_ALL };

struct step {
	uint8_t kind;
	uint8_t process; /* name; meaningless where the machine itself is meant */
	uint8_t first, nr;
	uint8_t to;
	uint8_t arg;
};

struct shape {
	uint8_t nr_pages; /* 1..MAX_PAGES */
	uint8_t nr_nodes; /* 1..2 */
	/* Limits; 0: none. */
	uint8_t nr_frames; /* of each node */
	uint8_t nr_swap_slots;
	uint8_t nr_maps; /* of each process */
};

/* Some operations may be out of memory. */
static inline bool shape_is_limited(const struct shape *shape)
{
	return shape->nr_frames || shape->nr_maps;
}

struct sequence {
	struct shape shape;
	uint16_t nr;
	struct step steps[MAX_STEPS];
};

/* A knob and a value that the search tries. */
struct step_knob {
	const char *name, *value;
};
extern const struct step_knob step_knobs[];
extern const unsigned int nr_step_knobs;

/* What fields a kind has. */
bool step_has_process(enum step_kind kind);
bool step_has_range(enum step_kind kind); /* first and nr; for one page nr is 1 */

/* "MADV_MERGEABLE" is "mergeable", SP_PROT_READ is "r", as a scenario writes them. */
const char *step_advice_name(uint8_t advice);
const char *step_prot_name(uint8_t prot);

/* "machine nodes 2 frames 9"; "" for a machine that needs no such line. Returns buf. */
char *shape_print(const struct shape *shape, char *buf, size_t size);
/* The step as a line of a scenario, no newline: "a: mremap x[1] -> x[2]". Returns buf. */
char *step_print(const struct step *step, const struct shape *shape, char *buf, size_t size);

/* False when it is full. */
bool sequence_add(struct sequence *s, struct step step);
/* Takes nr steps away. */
void sequence_remove(struct sequence *s, unsigned int at, unsigned int nr);

#endif
