/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is to be seen of a machine after an operation, in words that are the same for every
 * backend: an ordered list of keys and values, all of them text. So the engine and a kernel are
 * compared by comparing texts, a person reads them, and a guest can send them.
 *
 * KEYS, in this order. A machine with too much of something leaves out what depends on it:
 *
 *	outcome			"0", "0 3" with a result, "EBUSY"
 *	pages_sharing ...	counters, by their names (exec_observe.c lists them)
 *	a			"running", "exited"; for every process, in order of creation
 *	a.vmas ...		figures of a process that runs
 *	a.map			its VMAs inside its windows: "x[0..3]:rwm x[4..7]:rw"
 *	a:x[2]			a page of a window: "present ksm f1 0x77"
 *
 * A PAGE is one of
 *
 *	unmapped		no VMA is there
 *	absent			nothing has been put there, or it has been taken away
 *	zero			the shared zero page, whoever placed it
 *	swapped			its contents are not shown: a kernel would have to swap it in
 *	migration		an entry that a walk left behind (V2)
 *	present KIND FRAME [NODE] CONTENT
 *
 * where KIND is anon, ksm or file; FRAME numbers the frames in order of their first appearance
 * in this list, so that "the same frame" shows and frame numbers do not; NODE ("n1") is there
 * when the scenario asks for several; CONTENT is "0x77" for a page of that byte alone, else a
 * hash ("#9d2c01fe"), "unknown" where nobody knows it.
 *
 * "?" for a word, or for a whole value, says that this backend does not show it: it is equal to
 * anything. A key that one list lacks is a difference, unless one of them is brief.
 *
 * LOOKING CHANGES NOTHING: no page is faulted in, and none is marked as used.
 *
 *	static bool on_observe(void *arg, const struct observation *o)
 *	{
 *		struct observation_difference d;
 *		uint32_t at = 0;
 *
 *		while (observation_differs(expected, o, &at, &d))
 *			printf("%u: %s: %s, here %s\n", o->line, d.key, d.a, d.b);
 *		return observation_copy(kept, o);	// true ends the run
 *	}
 *
 *	options.observe = on_observe;
 *
 * Locking: none; one observation belongs to one thread.
 */
#ifndef SP_OBSERVE_H
#define SP_OBSERVE_H

#include "mem.h"

/* More processes than this: none is observed. */
#define OBSERVE_MAX_PROCESSES 64
/* More pages in the windows of all processes that run: none is. */
#define OBSERVE_MAX_PAGES 1024
/* More VMAs in the windows of one process: no map of it. */
#define OBSERVE_MAX_VMAS 64
/* From this operation on, what is done in a process is observed by its outcome alone. */
#define OBSERVE_MAX_OPERATIONS 500

/* Offsets of NUL-ended texts in observation.words. */
struct observed {
	uint32_t key, value;
};

struct observation {
	struct mem *mem;
	uint64_t operation; /* counted from 1, rounds of loops one by one */
	uint32_t line;
	bool brief;         /* the outcome alone */
	uint32_t text;      /* the operation as written */
	uint32_t nr, room;
	struct observed *list;
	char *words;
	uint32_t nr_word_bytes, word_room;
	uint32_t live_bytes; /* of the words, when those of old values were last thrown away */
};

/* Called after every operation of a run, not after expectations; true ends the run. */
typedef bool (*scenario_observe_fn)(void *arg, const struct observation *o);

void observation_init(struct observation *o, struct mem *mem);
void observation_destroy(struct observation *o);

/* Empties it, for another operation. */
int observation_begin(struct observation *o, uint64_t operation, uint32_t line,
		      const char *text) SP_MUST_CHECK;
/* The same, but everything keeps its value until it is set. */
int observation_go_on(struct observation *o, uint64_t operation, uint32_t line,
		      const char *text) SP_MUST_CHECK;
int observation_add(struct observation *o, const char *key, const char *value) SP_MUST_CHECK;
/* Changes the value of a key, or adds it behind all others. */
int observation_set(struct observation *o, const char *key, const char *value) SP_MUST_CHECK;
void observation_remove(struct observation *o, const char *key);
/* `to` has been initialised and keeps its account; on -ENOMEM it is empty. */
int observation_copy(struct observation *to, const struct observation *from) SP_MUST_CHECK;

static inline const char *observation_text(const struct observation *o)
{
	return o->words + o->text;
}

static inline const char *observation_key(const struct observation *o, uint32_t i)
{
	return o->words + o->list[i].key;
}

static inline const char *observation_value(const struct observation *o, uint32_t i)
{
	return o->words + o->list[i].value;
}

/* NULL when it has no such key. */
const char *observation_find(const struct observation *o, const char *key);

/* The same, word by word, where "?" is equal to anything. */
bool observed_agree(const char *a, const char *b);

struct observation_difference {
	const char *key;
	const char *a, *b; /* NULL: that one has no such key */
};

/*
 * The next difference, from *at on (0 at first): a's keys in order, then those that b alone has.
 * False when there is none left.
 */
bool observation_differs(const struct observation *a, const struct observation *b, uint32_t *at,
			 struct observation_difference *ret);

/*
 * The same for what an operation changed: "?" is a value like any other, and keys that are gone
 * are no change, since the process or the window they were of says so.
 */
bool observation_changed(const struct observation *before, const struct observation *after,
			 uint32_t *at, struct observation_difference *ret);

#endif
