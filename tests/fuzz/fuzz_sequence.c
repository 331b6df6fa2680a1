/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Any sequence of a search's steps, also one that its generator would never make up: it runs and is
 * judged, its failures are shrunk, and what is left is told as a scenario, which runs as it is told.
 *
 * Every input is a sequence: six bytes say what is searched for and on which machine, and every six
 * after them are a step, each number taken modulo what it can be. The corpus,
 * tests/fuzz/corpus/sequence/, was begun with what searches had found.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "shrink.h"
#include "story.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD_BYTES 6
#define STEP_BYTES 6
/* Of a sequence, and of shrinking it: an input must not take seconds. */
#define MAX_FUZZED_STEPS 64
#define MAX_TRIES	 3000

static const uint8_t advices[] = {
	SP_MADV_MERGEABLE,  SP_MADV_UNMERGEABLE, SP_MADV_DONTNEED, SP_MADV_DONTFORK, SP_MADV_DOFORK,
	SP_MADV_WIPEONFORK, SP_MADV_KEEPONFORK,	 SP_MADV_COLD,	   SP_MADV_PAGEOUT,
};
static const uint8_t prots[] = {SP_PROT_NONE, SP_PROT_READ, SP_PROT_READ | SP_PROT_WRITE};

static uint8_t argument(enum step_kind kind, uint8_t nr, uint8_t byte)
{
	switch (kind) {
	case STEP_MREMAP_KEEP:
		return nr;
	case STEP_MAP_FILE:
		return byte % FILE_PAGES;
	case STEP_MREMAP:
	case STEP_RESIZE:
		return byte % (MAX_PAGES + 1);
	case STEP_MPROTECT:
		return prots[byte % ARRAY_SIZE(prots)];
	case STEP_MADVISE:
		return advices[byte % ARRAY_SIZE(advices)];
	case STEP_MERGE_ANY:
	case STEP_MIGRATE:
		return byte % 2;
	case STEP_RECLAIM:
		return 1 + byte % 16;
	case STEP_SCAN:
		return 1 + byte % 4;
	case STEP_SCAN_PAGES:
		return 1 + byte % 32;
	case STEP_KNOB:
		return (uint8_t)(byte % nr_step_knobs);
	case STEP_FILL:
	case STEP_WRITE:
		return byte;
	default:
		return 0;
	}
}

static uint8_t target(enum step_kind kind, uint8_t byte)
{
	switch (kind) {
	case STEP_FORK:
		return byte % MAX_PROCESSES;
	case STEP_MREMAP:
	case STEP_MREMAP_KEEP:
		return byte % MAX_PAGES;
	case STEP_HOLD:
	case STEP_DROP:
		return byte % MAX_HOLDS;
	case STEP_RECLAIM:
		return 1 + byte % 3;
	default:
		return 0;
	}
}

static bool is_of_one_page(enum step_kind kind)
{
	return kind == STEP_WRITE || kind == STEP_MIGRATE || kind == STEP_HOLD;
}

static struct step make_step(const uint8_t *bytes, const struct shape *shape)
{
	struct step s = {.kind = bytes[0] % NR_STEP_KINDS};

	if (step_has_process(s.kind))
		s.process = bytes[1] % MAX_PROCESSES;
	if (step_has_range(s.kind)) {
		s.first = bytes[2] % shape->nr_pages;
		s.nr = is_of_one_page(s.kind) ? 1 : bytes[3] % (shape->nr_pages + 1);
	}
	s.to = target(s.kind, bytes[4]);
	s.arg = argument(s.kind, s.nr, bytes[5]);
	return s;
}

static enum sp_strategy make_sequence(const uint8_t *data, size_t size, struct sequence *s)
{
	*s = (struct sequence){
		.shape =
			{
				.nr_pages = 1 + data[1] % MAX_PAGES,
				.nr_nodes = 1 + data[2] % 2,
				.nr_frames = data[3],
				.nr_swap_slots = data[4],
				.nr_maps = data[5],
			},
	};
	for (size_t at = HEAD_BYTES; at + STEP_BYTES <= size && s->nr < MAX_FUZZED_STEPS;
	     at += STEP_BYTES)
		sequence_add(s, make_step(data + at, &s->shape));
	return data[0] % SP_NR_STRATEGIES;
}

static void require(bool holds, const struct sequence *s, enum sp_strategy strategy,
		    const char *what)
{
	char text[128];

	if (holds)
		return;
	fprintf(stderr, "fuzz_sequence: under %s: %s\n%s\n", sp_strategy_name(strategy), what,
		shape_print(&s->shape, text, sizeof(text)));
	for (unsigned int i = 0; i < s->nr; i++)
		fprintf(stderr, "%s\n", step_print(&s->steps[i], &s->shape, text, sizeof(text)));
	abort();
}

static bool is_patience_over(void *arg)
{
	unsigned int *nr_tries = arg;

	return ++*nr_tries > MAX_TRIES;
}

/* Its failure for that cause, which it must have. */
static struct failure failure_of(struct trial *t, const struct sequence *s,
				 enum sp_strategy strategy, const struct cause *cause)
{
	struct verdict v;

	require(!oracle_run(t, s, strategy, ORACLE_ALL, &v, NULL) && verdict_find(&v, cause), s,
		strategy, "does not fail any more when shrunk");
	return *verdict_find(&v, cause);
}

static void tell(struct trial *t, const struct sequence *s, enum sp_strategy strategy,
		 const struct failure *found)
{
	struct story_origin origin = {.strategy = strategy, .nr_steps_before = s->nr};
	struct sequence shrunk = *s;
	unsigned int nr_tries = 0;
	struct failure failure;
	char *text;
	int err;

	shrunk.nr = (uint16_t)(found->step + 1);
	err = shrink(t, &shrunk, strategy, &found->cause, is_patience_over, &nr_tries, NULL);
	require(!err || err == -EINTR, s, strategy, "cannot be shrunk");
	failure = failure_of(t, &shrunk, strategy, &found->cause);
	err = story_write(t, &shrunk, &failure, &origin, &text);
	require(!err, &shrunk, strategy, text ? text : "has no story");
	failure_of(t, &shrunk, strategy, &found->cause);
	free(text);
}

/* Kinds of failure that are the engine's, or the model's, and never a walk's. */
static bool is_of_walks(const struct failure *f)
{
	return f->cause.kind == FAILURE_MISS || f->cause.kind == FAILURE_ORPHAN ||
	       f->cause.kind == FAILURE_PINNED;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Made once: the region that machines live in takes longer to make than to run most inputs. */
	static struct trial *t;
	enum sp_strategy strategy;
	struct sequence s;
	struct verdict v, again;

	if (size < HEAD_BYTES)
		return 0;
	if (!t && trial_create(&t))
		abort();
	strategy = make_sequence(data, size, &s);
	require(!oracle_run(t, &s, strategy, ORACLE_ALL, &v, NULL), &s, strategy, "does not run");
	require(!oracle_run(t, &s, strategy, ORACLE_ALL, &again, NULL) && v.nr == again.nr, &s,
		strategy, "does not fail again as it did");
	for (unsigned int i = 0; i < v.nr; i++) {
		require(is_of_walks(&v.failures[i]), &s, strategy, "the machine is wrong");
		require(strategy != SP_STRATEGY_DIRECT, &s, strategy, "misses what full reaches");
		tell(t, &s, strategy, &v.failures[i]);
	}
	return 0;
}
