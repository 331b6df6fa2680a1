/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the names of a scenario stand for while it runs: processes, windows of
 * addresses, files, held pages, variables.
 *
 * The same interpreter runs a file twice. The DRY run, right after parsing,
 * has no machine (world.ops is NULL): it follows names, ranges and values, and
 * so finds every mistake that does not depend on what a machine does. What it
 * cannot know (a counter, the middle rounds of a long loop) it calls unsure
 * and lets pass: a file is refused for what is certainly wrong. The WET run
 * checks the same things again, now with values.
 *
 * WINDOWS name addresses, not mappings: x[2] is the same address whatever was
 * mapped, moved or unmapped there. Each window gets a stretch of its own, with
 * GUARD_PAGES of unmapped space behind it, in the order in which the windows
 * are named; so neighbours never merge by accident, and addresses are a
 * function of the file. A forked child shares its parent's table until either
 * names another window.
 *
 * MEMBERS of an indexed name (c{i}) lie in an array that grows to the highest
 * index used.
 *
 * Locking: none; one world belongs to one run of one thread.
 */
#ifndef SP_WORLD_H
#define SP_WORLD_H

#include "ast.h"
#include "diagnose.h"
#include "unknown.h"
#include "windows.h"

/* A mistake in the file, which has been told already: stop. */
#define WORLD_ERROR (-20001)

struct window {
	uint32_t line;     /* where it was named; 0: not at all */
	bool unsure;       /* dry: its size is not known */
	uint64_t addr, nr_pages;
};

/* Members of one symbol. Each begins with the line that made it, 0: absent. */
struct family {
	void *members;
	uint32_t nr;
	/* Dry: members from..last may exist although they do not. */
	bool unsure;
	uint32_t unsure_first, unsure_last;
};

struct window_table {
	uint32_t nr_users;
	uint32_t nr;                /* symbols */
	struct family families[];   /* of struct window */
};

struct process {
	bool exited;
	bool unsure;                /* dry: a process whose windows are not known */
	uint32_t number;            /* in order of creation, whatever the name */
	uint32_t exited_line;
	struct backend_process *handle;
	struct window_table *windows; /* NULL: none yet */
	struct unknown unknown;
	char name[64];
	struct process *next;       /* world.processes, newest first */
};

struct process_slot {
	uint32_t line;
	struct process *process;
};

struct hold_slot {
	uint32_t line;
	uint64_t handle;
};

struct file_slot {
	uint32_t line;
	uint64_t nr_pages;
	struct backend_file *handle;
};

struct variable {
	int64_t value;
	bool set, unsure;
	bool cannot; /* wet: of something that the backend does not show */
};

struct world {
	const struct scenario *scenario;
	struct mem *mem;
	/* NULL in the dry run: */
	const struct backend_ops *ops;
	struct backend *backend;
	/* Where mistakes go: dry, the file's diagnostics; wet, one line. */
	struct diagnose *diagnose;
	char *error;
	size_t error_bytes;

	struct family *processes;   /* of struct process_slot; one for each symbol */
	struct family *holds;       /* of struct hold_slot */
	struct file_slot *files;
	struct variable *variables;
	struct process *all;        /* every process ever made */

	uint64_t next_addr;
	uint64_t nr_pages, max_pages;
	bool sampled;               /* dry: inside a loop of which rounds are left out */
	bool unsure;                /* dry: the statement used a value that is not known */
	bool cannot;                /* wet: a value that the backend does not have */
};

int world_init(struct world *w, const struct scenario *scenario, struct mem *mem) SP_MUST_CHECK;
void world_destroy(struct world *w);

static inline bool world_is_dry(const struct world *w)
{
	return !w->ops;
}

/* Tells a mistake; returns WORLD_ERROR. */
int world_fail(struct world *w, const struct stmt *s, uint32_t pos, const char *fmt, ...)
	SP_PRINTF(4, 5) SP_MUST_CHECK;

/* ---- Values (world_value.c) ------------------------------------------------- */

/* 0 and *ret; sets w->unsure (dry) or w->cannot (wet) when *ret means nothing. */
int world_value(struct world *w, const struct stmt *s, const struct expr *e,
		int64_t *ret) SP_MUST_CHECK;
/* The same, refusing what is not in least..most. */
int world_value_in(struct world *w, const struct stmt *s, const struct expr *e, const char *what,
		   int64_t least, int64_t most, int64_t *ret) SP_MUST_CHECK;

/* ---- Processes ----------------------------------------------------------------- */

/*
 * *ret: a process that has not exited (or may have: `exited_too`). NULL: dry,
 * and it may exist.
 */
int world_process(struct world *w, const struct stmt *s, const struct name_ref *ref,
		  bool exited_too, struct process **ret) SP_MUST_CHECK;
/* That ref can name a new process now. */
int world_process_may_start(struct world *w, const struct stmt *s,
			    const struct name_ref *ref) SP_MUST_CHECK;
/* Names a new process, which inherits parent's windows (NULL: none). */
int world_process_start(struct world *w, const struct stmt *s, const struct name_ref *ref,
			struct backend_process *handle, const struct process *parent,
			struct process **ret) SP_MUST_CHECK;
void world_process_exit(struct world *w, const struct stmt *s, struct process *p);
/* By the number that the backend gave it; NULL when there is none. */
struct process *world_process_by_id(const struct world *w, uint32_t id);

/* ---- Windows and ranges ---------------------------------------------------------- */

/* Names a new window. p may be NULL (dry, unsure). *ret may be NULL when p is. */
int world_window(struct world *w, const struct stmt *s, struct process *p,
		 const struct name_ref *ref, uint64_t nr_pages, bool huge_align,
		 struct window **ret) SP_MUST_CHECK;
/* A name for addresses that exist already. */
int world_window_at(struct world *w, const struct stmt *s, struct process *p,
		    const struct name_ref *ref, uint64_t addr, uint64_t nr_pages) SP_MUST_CHECK;

struct place {
	struct process *process;
	bool unsure;        /* dry: the rest is not known */
	bool all;           /* every VMA: addr and nr_pages are unset */
	uint64_t addr;      /* with the offset */
	uint64_t nr_pages;
};

int world_place(struct world *w, const struct stmt *s, const struct range *range,
		struct place *ret) SP_MUST_CHECK;
/* How many VMAs lie in or reach into the place. Wet only. 0 or -errno. */
int world_count_vmas(const struct world *w, const struct place *place, int64_t *ret) SP_MUST_CHECK;
/* "a:x[2] (0x200000002000)", by the window that has it; "a (0x...)" outside of all. */
void world_address_text(const struct world *w, const struct process *p, uint64_t addr, char *buf,
			size_t size);

/* ---- Files, held pages ------------------------------------------------------------ */

int world_file(struct world *w, const struct stmt *s, const struct name_ref *ref,
	       struct file_slot **ret) SP_MUST_CHECK;
/* A slot for a new name; fails if it is taken. NULL: dry, unsure. */
int world_hold_new(struct world *w, const struct stmt *s, const struct name_ref *ref,
		   struct hold_slot **ret) SP_MUST_CHECK;
int world_hold(struct world *w, const struct stmt *s, const struct name_ref *ref,
	       struct hold_slot **ret) SP_MUST_CHECK;

#endif
