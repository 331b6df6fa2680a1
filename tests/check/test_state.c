/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * States: trials with the same hash go on alike, whatever comes; what only renames things leaves the
 * hash alone; what decides anything changes it.
 *
 * The first is what an exhaustive search stands on, so it is tried with many random sequences, some of
 * the alphabet of that search, some of the random one: whenever two different ones meet in a hash, both
 * get the same random continuation, and must agree in every result, verdict, counter, content and hash.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alphabet.h"
#include "generate.h"
#include "ksm_internal.h"
#include "model_seed.h"
#include "oracle.h"
#include "state.h"

#ifndef ROUNDS
#define ROUNDS 6000
#endif
#define TABLE (1u << 16)
#define CONTINUATION 12

struct fixture {
	struct trial *t[2];
	struct state_hasher *hasher;
	struct step steps[ALPHABET_MAX];
	unsigned int nr_steps;
	struct random random;
	uint64_t seed;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(trial_create(&f->t[i]), 0);
	assert_int_equal(state_hasher_create(&f->hasher), 0);
	f->nr_steps = alphabet_steps(f->steps);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	for (unsigned int i = 0; i < 2; i++)
		trial_destroy(f->t[i]);
	state_hasher_destroy(f->hasher);
	free(f);
	return 0;
}

static uint32_t below(struct fixture *f, uint32_t n)
{
	return (uint32_t)random_below(&f->random, n);
}

static struct state hash_of(struct fixture *f, const struct trial *t)
{
	struct state s;

	assert_int_equal(state_hash(f->hasher, t, &s), 0);
	return s;
}

static bool same(const struct state *a, const struct state *b)
{
	return a->hash[0] == b->hash[0] && a->hash[1] == b->hash[1];
}

static void run(struct trial *t, const struct sequence *s, enum sp_strategy strategy)
{
	int64_t result;

	assert_int_equal(trial_start(t, &s->shape, strategy), 0);
	for (unsigned int i = 0; i < s->nr; i++)
		(void)trial_step(t, &s->steps[i], &result);
}

static void print(const char *what, const struct sequence *s)
{
	char text[128];

	fprintf(stderr, "%s\n", what);
	for (unsigned int i = 0; i < s->nr; i++)
		fprintf(stderr, "\t%s\n", step_print(&s->steps[i], &s->shape, text, sizeof(text)));
}

/* ---- Same hash, same future ------------------------------------------------------------- */

static bool depends_on_numbers(const struct step *step)
{
	return step->kind == STEP_RECLAIM || step->kind == STEP_COMPACT;
}

static void make_of_alphabet(struct fixture *f, struct sequence *s)
{
	unsigned int length = 1 + below(f, 7);

	alphabet_start(below(f, 3), s);
	while (length--)
		sequence_add(s, f->steps[below(f, f->nr_steps)]);
}

/* Short ones, for they shall meet. */
static void make_of_generator(struct fixture *f, struct sequence *s, enum sp_strategy strategy)
{
	unsigned int length = 3 + below(f, 9);
	struct generator g;
	int64_t result;

	generator_start(&g, f->seed, below(f, 1 << 30));
	g.nr_processes_max = MIN(g.nr_processes_max, 3u);
	g.nr_processes_max = 3;
	s->shape = (struct shape){.nr_pages = (uint8_t)(1 + below(f, 3)), .nr_nodes = (uint8_t)(1 + !below(f, 4))};
	s->nr = 0;
	assert_int_equal(trial_start(f->t[0], &s->shape, strategy), 0);
	while (s->nr < length) {
		struct step step = generator_next(&g, f->t[0]);

		if (depends_on_numbers(&step))
			continue;
		sequence_add(s, step);
		(void)trial_step(f->t[0], &step, &result);
	}
}

/* What a process of the first trial is called in the second. */
struct renaming {
	uint8_t to[MAX_PROCESSES];
	bool known[MAX_PROCESSES];
};

static uint8_t free_name(const struct trial *t, const struct fixture *f, unsigned int start)
{
	(void)f;
	for (unsigned int i = 0; i < MAX_PROCESSES; i++)
		if (!t->processes[(start + i) % MAX_PROCESSES].p)
			return (uint8_t)((start + i) % MAX_PROCESSES);
	return MAX_PROCESSES;
}

/* The same step for the second trial; false when it has no meaning. */
static bool translate(struct fixture *f, const struct step *step, struct renaming *r, struct step *ret)
{
	*ret = *step;
	if (step->kind == STEP_PROCESS) {
		if (f->t[0]->processes[step->process].p)
			return false;
		ret->process = free_name(f->t[1], f, below(f, MAX_PROCESSES));
		r->to[step->process] = ret->process;
		r->known[step->process] = true;
		return true;
	}
	if (!step_has_process(step->kind))
		return true;
	if (!f->t[0]->processes[step->process].p)
		return false;
	assert_true(r->known[step->process]);
	ret->process = r->to[step->process];
	if (step->kind == STEP_FORK) {
		if (f->t[0]->processes[step->to].p)
			return false;
		ret->to = free_name(f->t[1], f, below(f, MAX_PROCESSES));
		r->to[step->to] = ret->to;
		r->known[step->to] = true;
	}
	return true;
}

static void compare_verdicts(struct fixture *f, const struct step step[2],
			     const enum trial_outcome outcome[2], const int64_t result[2], bool *over)
{
	struct verdict v[2];
	bool ends[2];

	for (unsigned int i = 0; i < 2; i++) {
		oracle_reset(&v[i]);
		ends[i] = oracle_check(f->t[i], ORACLE_ALL, 0, &step[i], outcome[i], result[i], &v[i]);
	}
	assert_int_equal(ends[0], ends[1]);
	assert_int_equal(v[0].nr, v[1].nr);
	for (unsigned int i = 0; i < v[0].nr; i++)
		assert_non_null(verdict_find(&v[1], &v[0].failures[i].cause));
	*over = ends[0];
}

static void compare_counters(struct fixture *f)
{
	static const char *const names[] = {"pages_shared",   "pages_sharing",	    "pages_unshared",
					    "pages_volatile", "stable_node_chains", "stable_node_dups"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int64_t value[2];

		for (unsigned int k = 0; k < 2; k++)
			assert_int_equal(sp_counter_get(f->t[k]->machine, names[i], &value[k]), 0);
		assert_int_equal(value[0], value[1]);
	}
}

static void compare_contents(struct fixture *f, const struct renaming *r)
{
	for (unsigned int i = 0; i < MAX_PROCESSES; i++) {
		if (!f->t[0]->processes[i].p)
			continue;
		for (unsigned int j = 0; j < f->t[0]->shape.nr_pages; j++) {
			uint8_t bytes[2][8] = {0};
			int err[2];

			err[0] = sp_peek(f->t[0]->processes[i].p, trial_address(f->t[0], i, j), bytes[0], 8);
			err[1] = sp_peek(f->t[1]->processes[r->to[i]].p,
					 trial_address(f->t[1], r->to[i], j), bytes[1], 8);
			assert_int_equal(err[0], err[1]);
			assert_memory_equal(bytes[0], bytes[1], 8);
		}
	}
}

/* Up to three processes, whose names have no part in a state even if none is registered (state.c). */
static void continue_both(struct fixture *f, const struct sequence *a, const struct sequence *b,
			  enum sp_strategy strategy)
{
	struct sequence done[2] = {*a, *b};
	struct renaming r = {{0}, {0}};
	struct generator g;
	struct state s[2];
	bool over = false;

	run(f->t[0], a, strategy);
	run(f->t[1], b, strategy);
	s[0] = hash_of(f, f->t[0]);
	s[1] = hash_of(f, f->t[1]);
	assert_true(same(&s[0], &s[1]));
	for (unsigned int i = 0; i < s[0].nr_processes; i++) {
		r.to[s[0].order[i]] = s[1].order[i];
		r.known[s[0].order[i]] = true;
	}
	generator_start(&g, f->seed, below(f, 1 << 30));
	g.nr_processes_max = MIN(g.nr_processes_max, 3u);
	g.nr_knobs = 0;
	for (unsigned int i = 0; i < CONTINUATION && !over; i++) {
		struct step step[2];
		enum trial_outcome outcome[2];
		int64_t result[2];

		step[0] = below(f, 2) ? f->steps[below(f, f->nr_steps)] : generator_next(&g, f->t[0]);
		if (depends_on_numbers(&step[0]) || !translate(f, &step[0], &r, &step[1]))
			continue;
		for (unsigned int k = 0; k < 2; k++) {
			outcome[k] = trial_step(f->t[k], &step[k], &result[k]);
			sequence_add(&done[k], step[k]);
			s[k] = hash_of(f, f->t[k]);
		}
		if (outcome[0] != outcome[1] || result[0] != result[1] || !same(&s[0], &s[1])) {
			print("first:", &done[0]);
			print("second:", &done[1]);
			fail_msg("seed %" PRIu64 ": equal states went on differently", f->seed);
		}
		compare_verdicts(f, step, outcome, result, &over);
		compare_counters(f);
		compare_contents(f, &r);
	}
}

struct met {
	uint64_t hash[2];
	struct sequence *s;
};

static void remember(struct met *met, const struct sequence *s)
{
	/* Only what there is of it. */
	met->s = malloc(sizeof(*s));
	assert_non_null(met->s);
	*met->s = *s;
}

static bool same_steps(const struct sequence *a, const struct sequence *b)
{
	return a->nr == b->nr && !memcmp(a->steps, b->steps, a->nr * sizeof(a->steps[0]));
}

static void check_bisimilar(struct fixture *f, const char *name, bool of_alphabet)
{
	struct met *table = calloc(TABLE, sizeof(*table));
	unsigned int nr_met = 0;

	assert_non_null(table);
	f->random = model_seed(name);
	f->seed = f->random.state;
	for (unsigned int round = 0; round < ROUNDS; round++) {
		enum sp_strategy strategy = round % SP_NR_STRATEGIES;
		struct sequence s;
		struct state state;
		struct met *met;

		if (of_alphabet)
			make_of_alphabet(f, &s);
		else
			make_of_generator(f, &s, strategy);
		run(f->t[0], &s, strategy);
		if (sp_orphan_entries(f->t[0]->machine))
			continue;
		state = hash_of(f, f->t[0]);
		met = &table[state.hash[0] % TABLE];
		if (met->s && same(&state, &(struct state){.hash = {met->hash[0], met->hash[1]}})) {
			if (!same_steps(met->s, &s)) {
				continue_both(f, met->s, &s, strategy);
				nr_met++;
			}
			continue;
		}
		free(met->s);
		memcpy(met->hash, state.hash, sizeof(met->hash));
		remember(met, &s);
	}
	for (unsigned int i = 0; i < TABLE; i++)
		free(table[i].s);
	free(table);
	print_message("%u of %u sequences met another one\n", nr_met, ROUNDS);
	assert_true(nr_met > ROUNDS / 100);
}

static void test_equal_states_of_the_alphabet(void **state)
{
	check_bisimilar(*state, "state of the alphabet", true);
}

static void test_equal_states_of_random_search(void **state)
{
	check_bisimilar(*state, "state of random search", false);
}

/* ---- Names ------------------------------------------------------------------------------- */

/* Somebody was there before: other mm ids, frames, slots, windows, anon_vmas, handles. */
static const struct step stranger[] = {
	{STEP_PROCESS, .process = 4},
	{STEP_MAP, .process = 4, .nr = 3},
	{STEP_FILL, .process = 4, .nr = 3, .arg = 0x33},
	{STEP_HOLD, .process = 4, .nr = 1, .to = 3},
	{STEP_FORK, .process = 4, .to = 3},
	{STEP_SWAPOUT, .process = 4, .first = 1, .nr = 2},
	{STEP_MAP_FILE, .process = 4, .nr = 2, .arg = 4},
	{STEP_TOUCH, .process = 4, .nr = 2},
	{STEP_DROP, .to = 3},
	{STEP_EXIT, .process = 4},
	{STEP_EXIT, .process = 3},
};

static void rename_step(struct step *step, const uint8_t names[MAX_PROCESSES])
{
	if (step_has_process(step->kind))
		step->process = names[step->process];
	if (step->kind == STEP_FORK)
		step->to = names[step->to];
}

static void test_names_do_not_matter(void **state)
{
	struct fixture *f = *state;

	f->random = model_seed("state names");
	f->seed = f->random.state;
	for (unsigned int round = 0; round < ROUNDS / 4; round++) {
		uint8_t names[MAX_PROCESSES] = {0, 1, 2, 3, 4};
		struct sequence s, renamed;
		struct state a, b;

		make_of_generator(f, &s, SP_STRATEGY_DIRECT);
		run(f->t[0], &s, SP_STRATEGY_DIRECT);
		if (sp_orphan_entries(f->t[0]->machine))
			continue;
		for (unsigned int i = MAX_PROCESSES - 1; i > 0; i--) {
			unsigned int k = below(f, i + 1);
			uint8_t name = names[i];

			names[i] = names[k];
			names[k] = name;
		}
		renamed = (struct sequence){.shape = s.shape};
		for (size_t i = 0; i < sizeof(stranger) / sizeof(stranger[0]) && s.shape.nr_pages == 3; i++)
			sequence_add(&renamed, stranger[i]);
		for (unsigned int i = 0; i < s.nr; i++) {
			sequence_add(&renamed, s.steps[i]);
			rename_step(&renamed.steps[renamed.nr - 1], names);
		}
		run(f->t[1], &renamed, SP_STRATEGY_DIRECT);
		a = hash_of(f, f->t[0]);
		b = hash_of(f, f->t[1]);
		if (!same(&a, &b)) {
			print("first:", &s);
			print("second:", &renamed);
			fail_msg("seed %" PRIu64 ": other names, another hash", f->seed);
		}
		for (unsigned int i = 0; i < a.nr_processes; i++)
			assert_non_null(f->t[1]->processes[b.order[i]].p);
	}
}

/* ---- What changes a state, and what does not ---------------------------------------------- */

#define A(k, f, n, x) {.kind = (k), .process = 0, .first = (f), .nr = (n), .arg = (x)}

static void expect_changes(struct fixture *f, const struct sequence *s, const struct step *step,
			   bool changes)
{
	struct sequence longer = *s;
	struct state before, after;
	char text[128];

	run(f->t[0], s, SP_STRATEGY_DIRECT);
	before = hash_of(f, f->t[0]);
	sequence_add(&longer, *step);
	run(f->t[1], &longer, SP_STRATEGY_DIRECT);
	after = hash_of(f, f->t[1]);
	if (same(&before, &after) == changes)
		fail_msg("\"%s\" %s the state",
			 step_print(step, &s->shape, text, sizeof(text)),
			 changes ? "does not change" : "changes");
}

static void test_what_matters(void **state)
{
	static const struct step changing[] = {
		A(STEP_MUNMAP, 0, 1, 0), A(STEP_MAP, 0, 1, 0), A(STEP_MAP_FILE, 0, 1, 0),
		A(STEP_FILL, 0, 1, ALPHABET_BYTE), A(STEP_FILL, 0, 1, 0x22),
		A(STEP_MADVISE, 0, 1, SP_MADV_UNMERGEABLE), A(STEP_MADVISE, 0, 1, SP_MADV_DONTFORK),
		A(STEP_MADVISE, 0, 1, SP_MADV_DONTNEED), A(STEP_MPROTECT, 0, 1, SP_PROT_READ),
		A(STEP_SWAPOUT, 0, 1, 0), A(STEP_HOLD, 0, 1, 0), A(STEP_FORK, 0, 0, 0),
		A(STEP_MLOCK, 0, 1, 0), A(STEP_MERGE_ANY, 0, 0, 1), A(STEP_EXIT, 0, 0, 0),
		{.kind = STEP_SCAN_PAGES, .arg = 1}, {.kind = STEP_KNOB, .arg = 1},
		{.kind = STEP_PROCESS, .process = 1},
	};
	static const struct step idle[] = {
		A(STEP_MIGRATE, 0, 1, MIGRATE_ALL), A(STEP_TOUCH, 0, 1, 0), {.kind = STEP_SCAN, .arg = 1},
		A(STEP_MADVISE, 0, 1, SP_MADV_MERGEABLE), A(STEP_MADVISE, 0, 1, SP_MADV_DOFORK),
		A(STEP_MPROTECT, 0, 1, SP_PROT_READ | SP_PROT_WRITE), {.kind = STEP_KNOB, .arg = 0},
	};
	struct fixture *f = *state;
	struct sequence s;

	alphabet_start(0, &s);
	for (size_t i = 0; i < sizeof(changing) / sizeof(changing[0]); i++) {
		struct step step = changing[i];

		step.to = step.kind == STEP_FORK;
		expect_changes(f, &s, &step, true);
	}
	for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++)
		expect_changes(f, &s, &idle[i], false);
}

/* Which of two equal pages ksmd saw first, who forked whom, and which page was filled with what. */
static void test_order_matters(void **state)
{
	static const struct step pairs[][2][2] = {
		{{A(STEP_FILL, 0, 1, 1), A(STEP_FILL, 1, 1, 2)}, {A(STEP_FILL, 0, 1, 2), A(STEP_FILL, 1, 1, 1)}},
		{{A(STEP_MUNMAP, 0, 1, 0), A(STEP_FILL, 1, 1, 1)}, {A(STEP_MUNMAP, 2, 1, 0), A(STEP_FILL, 1, 1, 1)}},
		{{A(STEP_SWAPOUT, 0, 3, 0), A(STEP_TOUCH, 0, 1, 0)}, {A(STEP_SWAPOUT, 0, 3, 0), A(STEP_TOUCH, 1, 1, 0)}},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct state a, b;

		for (unsigned int k = 0; k < 2; k++) {
			struct sequence s;

			alphabet_start(0, &s);
			sequence_add(&s, pairs[i][k][0]);
			sequence_add(&s, pairs[i][k][1]);
			run(f->t[k], &s, SP_STRATEGY_DIRECT);
		}
		a = hash_of(f, f->t[0]);
		b = hash_of(f, f->t[1]);
		assert_false(same(&a, &b));
	}
}

/* ---- Every field that decides anything, and those that do not ------------------------------ */

/* A machine that has one of everything: forked, merged, held, swapped out, not yet merged. */
static const struct step of_everything[] = {
	{STEP_FORK, .process = 0, .to = 1},
	A(STEP_FILL, 1, 1, 0x22),
	A(STEP_SWAPOUT, 1, 1, 0),
	A(STEP_HOLD, 0, 1, 0),
	A(STEP_FILL, 2, 1, 0x33),
	{.kind = STEP_SCAN, .arg = 2},
	{.kind = STEP_SCAN_PAGES, .arg = 4},
};

struct parts {
	struct ksm *ksm;
	struct vm *vm;
	struct mm *mm;
	struct vma *vma;
	struct anon_vma *anon_vma;
	struct ksm_rmap_item *stable, *unstable;
	struct ksm_stable_node *node;
	struct frame *merged;
	struct swap_slot *slot;
};

static void find_parts(struct trial *t, struct parts *p)
{
	struct ksm_mm_slot *slot;
	pte_t pte;

	memset(p, 0, sizeof(*p));
	p->vm = &t->machine->vm;
	p->ksm = ksm_of(p->vm);
	p->mm = t->processes[0].p->mm;
	p->vma = vma_lookup(p->mm, trial_address(t, 0, 0));
	p->anon_vma = p->vma->anon_vma;
	cds_list_for_each_entry(slot, &p->ksm->mm_head.link, link) {
		for (struct ksm_rmap_item *item = slot->rmap_list; item; item = item->next) {
			if (item->address & STABLE_FLAG)
				p->stable = item;
			else if (item->address & UNSTABLE_FLAG)
				p->unstable = item;
		}
	}
	assert_non_null(p->stable);
	assert_non_null(p->unstable);
	p->node = p->stable->head;
	p->merged = frame_of_pfn(&p->vm->frames, p->node->kpfn);
	pte = vm_pte(p->mm, trial_address(t, 0, 1));
	assert_true(pte_is_swap(pte));
	p->slot = &p->vm->swap.slots[pte_value(pte)];
	assert_true(p->slot->written);
}

/* Changes the field, hashes, and changes it back. */
#define TRY(field, value, changes)                                                                 \
	do {                                                                                       \
		__typeof__(field) old = (field);                                                   \
		struct state after;                                                                \
                                                                                                   \
		(field) = (__typeof__(field))(value);                                              \
		assert_true((field) != old);                                                       \
		after = hash_of(f, f->t[0]);                                                       \
		if (same(&before, &after) == (changes))                                            \
			fail_msg("%s %s the hash", #field, (changes) ? "does not change" : "changes"); \
		(field) = old;                                                                     \
		after = hash_of(f, f->t[0]);                                                       \
		assert_true(same(&before, &after));                                                \
	} while (0)

static void test_fields(void **state)
{
	struct fixture *f = *state;
	struct sequence s;
	struct state before;
	struct parts p;

	alphabet_start(0, &s);
	for (size_t i = 0; i < sizeof(of_everything) / sizeof(of_everything[0]); i++)
		sequence_add(&s, of_everything[i]);
	run(f->t[0], &s, SP_STRATEGY_DIRECT);
	find_parts(f->t[0], &p);
	before = hash_of(f, f->t[0]);

	TRY(p.ksm->strategy, SP_STRATEGY_FULL, true);
	TRY(p.ksm->knobs.smart_scan, 1, true);
	TRY(p.ksm->knobs.max_page_sharing, 3, true);
	TRY(p.ksm->knobs.merge_old_ptes, 1, true);
	TRY(p.ksm->knobs.run, 0, true);
	TRY(p.ksm->scan.address, old + PAGE_SIZE, true);
	TRY(p.ksm->scan.mm_slot, slot_next(old), true);
	TRY(p.mm->flags, old ^ MMF_VM_MERGE_ANY, true);
	TRY(p.vma->flags, old ^ VM_DONTCOPY, true);
	TRY(p.vma->anon_vma, NULL, true);
	TRY(p.anon_vma->forked, !old, true);
	TRY(p.anon_vma->num_children, old + 1, true);
	TRY(p.anon_vma->num_active_vmas, old + 1, true);
	TRY(p.anon_vma->refcount, old + 1, true);
	TRY(p.stable->index, old + 1, true);
	TRY(p.stable->oldchecksum, old + 1, true);
	TRY(p.stable->age, 3, true);
	TRY(p.stable->remaining_skips, 1, true);
	TRY(p.stable->address, old ^ STABLE_FLAG, true);
	TRY(p.unstable->address, old ^ UNSTABLE_FLAG, true);
	TRY(p.node->wide, !old, true);
	TRY(p.node->nid, 1, true);
	TRY(p.node->node.parent_color, old ^ 1, true);
	TRY(p.node->kpfn, 0, true);
	TRY(p.merged->flags, old ^ FRAME_REFERENCED, true);
	TRY(p.merged->flags, old ^ FRAME_ACTIVE, true);
	TRY(p.merged->flags, old ^ FRAME_MLOCKED, true);
	TRY(p.merged->nr_holds, old + 1, true);
	TRY(p.merged->refcount, old + 1, true);
	TRY(p.merged->mapcount, old + 1, true);
	TRY(p.merged->content, content_uniform(0x44), true);
	TRY(p.merged->mapping, MAPPING_KSM, true);
	TRY(p.vm->frames.node[0].offline, true, true);
	TRY(p.vm->frames.node[0].nr_retired, 1, true);
	TRY(p.slot->count, old + 1, true);
	TRY(p.slot->content, content_uniform(0x44), true);
	TRY(f->t[0]->shape.nr_frames, 9, true);
	TRY(f->t[0]->shape.nr_swap_slots, 9, true);
	TRY(f->t[0]->shape.nr_maps, 9, true);
	TRY(f->t[0]->processes[0].pages[0].value, 1, true);
	TRY(f->t[0]->processes[0].pages[0].past, old ^ PAST_MOVED, true);
	TRY(f->t[0]->holds[0], 0, true);

	TRY(p.ksm->count.pages_scanned, 1000, false);
	TRY(p.ksm->call_seq, 1000, false);
	TRY(p.ksm->epoch, 1000, false);
	TRY(p.ksm->wake_ns, 1000, false);
	TRY(p.vm->clock.now_ns, old + 1000000, false);
	TRY(p.vm->stat.pgfault, 1000, false);
	TRY(p.mm->id, 1000, false);
	TRY(p.anon_vma->id, 1000, false);
	TRY(p.unstable->epoch, 1000, false);
	TRY(p.unstable->prefix, 1000, false);
	TRY(p.node->checked, 1000, false);
	TRY(p.merged->checksum, 1000, false);
	TRY(p.merged->index, 1000, false);
	TRY(p.merged->flags, old ^ FRAME_DIRTY, false);
	TRY(f->t[0]->processes[0].pages[0].mergeable, !old, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_equal_states_of_the_alphabet, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_equal_states_of_random_search, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_names_do_not_matter, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_matters, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_order_matters, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fields, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
