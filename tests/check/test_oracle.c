/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The judges: every cause that has a name is shown by a sequence of its own, under the strategy
 * that has it, alone, and `direct` has none of them; what a walk misses agrees with the slow way
 * of finding out, step by step; contents, counters, results and pinned pages are judged, and what
 * is right is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "bits.h"
#include "generate.h"
#include "model_seed.h"
#include "oracle.h"
#include "trial_group.h"

/* A step is a word here, not a block. */
/* clang-format off */
#define PROCESS(p) {STEP_PROCESS, p, 0, 0, 0, 0}
#define FORK(p, to) {STEP_FORK, p, 0, 0, to, 0}
#define EXIT(p) {STEP_EXIT, p, 0, 0, 0, 0}
#define MAP(p, first, nr) {STEP_MAP, p, first, nr, 0, 0}
#define MAP_FILE(p, first, nr, at) {STEP_MAP_FILE, p, first, nr, 0, at}
#define MUNMAP(p, first, nr) {STEP_MUNMAP, p, first, nr, 0, 0}
#define MERGEABLE(p, first, nr) {STEP_MADVISE, p, first, nr, 0, SP_MADV_MERGEABLE}
#define UNMERGEABLE(p, first, nr) {STEP_MADVISE, p, first, nr, 0, SP_MADV_UNMERGEABLE}
#define FILL(p, first, nr) {STEP_FILL, p, first, nr, 0, 0x77}
#define TOUCH(p, first) {STEP_TOUCH, p, first, 1, 0, 0}
#define MREMAP(p, from, to) {STEP_MREMAP, p, from, 1, to, 1}
#define SWAPOUT(p, first) {STEP_SWAPOUT, p, first, 1, 0, 0}
#define MIGRATE(p, first) {STEP_MIGRATE, p, first, 1, 0, MIGRATE_ALL}
#define HOLD(p, first) {STEP_HOLD, p, first, 1, 0, 0}
#define DROP() {STEP_DROP, 0, 0, 0, 0, 0}
#define SCAN(n) {STEP_SCAN, 0, 0, 0, 0, n}
#define SCAN_PAGES(n) {STEP_SCAN_PAGES, 0, 0, 0, 0, n}
#define KNOB(n) {STEP_KNOB, 0, 0, 0, 0, n}
/* clang-format on */
#define SHARING_2    2 /* of step_knobs */
#define ACROSS_NODES 7

struct named {
	const char *cause;
	enum sp_strategy strategy;
	enum failure_kind kind;
	uint8_t process, page; /* that it is told of */
	uint8_t nr_pages, nr_nodes;
	unsigned int nr_steps;
	struct step steps[16];
};

#define STEPS(...) ARRAY_SIZE(((struct step[]){__VA_ARGS__})), {__VA_ARGS__}

static const struct named named[] = {
	/* Moved, and merged again (S2, S3). */
	{"moved", SP_STRATEGY_ADDRESS, FAILURE_MISS, 0, 2, 3, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 3), MERGEABLE(0, 0, 3), FILL(0, 0, 2), SCAN(2), MREMAP(0, 1, 2),
	       SCAN(2))},
	{"file", SP_STRATEGY_ADDRESS, FAILURE_MISS, 0, 0, 2, 1,
	 STEPS(PROCESS(0), MAP_FILE(0, 0, 2, 5), MERGEABLE(0, 0, 2), FILL(0, 0, 2), SCAN(2))},
	/* The restore walk stops early (V2). */
	{"moved", SP_STRATEGY_RETRY, FAILURE_ORPHAN, 0, 0, 3, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 3), MERGEABLE(0, 0, 3), FILL(0, 1, 2), MREMAP(0, 1, 0), SCAN(2),
	       MIGRATE(0, 0))},
	{"file", SP_STRATEGY_RETRY, FAILURE_ORPHAN, 0, 0, 2, 1,
	 STEPS(PROCESS(0), MAP_FILE(0, 0, 2, 0), MERGEABLE(0, 0, 2), FILL(0, 0, 2), SCAN(2),
	       MIGRATE(0, 0))},
	/* One entry is met twice, another passes for found (S4, R2). */
	{"moved", SP_STRATEGY_RETRY, FAILURE_MISS, 0, 0, 2, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 2), MERGEABLE(0, 0, 2), FILL(0, 0, 2), FORK(0, 1), MREMAP(0, 1, 0),
	       SCAN(2))},
	{"file", SP_STRATEGY_RETRY, FAILURE_MISS, 0, 0, 3, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 3), MAP_FILE(0, 0, 1, 0), MERGEABLE(0, 0, 3), FILL(0, 0, 3),
	       FORK(0, 1), SCAN(2))},
	/* V6. */
	{"swapped-elsewhere", SP_STRATEGY_INDEX, FAILURE_MISS, 0, 1, 3, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 3), MERGEABLE(0, 0, 3), FILL(0, 0, 2), SCAN(2), HOLD(0, 0),
	       SWAPOUT(0, 0), MREMAP(0, 0, 1), TOUCH(0, 1))},
	/* S9: at last the fork alone. */
	{"swapped-forked", SP_STRATEGY_INDEX, FAILURE_MISS, 1, 1, 3, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 3), MERGEABLE(0, 0, 3), FILL(0, 0, 2), SCAN(2), PROCESS(2),
	       MAP(2, 0, 1), MERGEABLE(2, 0, 1), FILL(2, 0, 1), SCAN(2), HOLD(0, 0), SWAPOUT(0, 0),
	       MREMAP(0, 0, 1), FORK(0, 1), TOUCH(1, 1))},
	/* S6. */
	{"moved-plain", SP_STRATEGY_INDEX, FAILURE_MISS, 1, 0, 2, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 2), FILL(0, 0, 2), FORK(0, 1), MERGEABLE(0, 0, 2), SCAN(3),
	       MREMAP(1, 1, 0))},
	/* The same in one process: the item is its own. */
	{"moved-plain", SP_STRATEGY_INDEX, FAILURE_MISS, 0, 1, 2, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 2), FILL(0, 0, 2), FORK(0, 1), MERGEABLE(0, 1, 1),
	       MERGEABLE(1, 0, 2), SCAN(2), MREMAP(0, 0, 1))},
	/* S7: who shares has moved its page away; then, who does not. */
	{"upgraded", SP_STRATEGY_INDEX, FAILURE_MISS, 1, 0, 2, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 2), FILL(0, 0, 2), FORK(0, 1), MERGEABLE(0, 0, 2), MREMAP(1, 1, 0),
	       SCAN(2))},
	{"upgraded", SP_STRATEGY_INDEX, FAILURE_MISS, 1, 0, 4, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 4), FILL(0, 0, 2), FORK(0, 1), MUNMAP(1, 1, 3), MREMAP(0, 0, 3),
	       MREMAP(0, 1, 0), FILL(0, 0, 1), MERGEABLE(0, 0, 1), MERGEABLE(0, 3, 1), SCAN(2))},
	/* S13: a narrow walk finds it by the size of its VMA, and does not after the split. */
	{"upgraded", SP_STRATEGY_INDEX, FAILURE_MISS, 1, 0, 3, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 3), FILL(0, 0, 1), FORK(0, 1), MERGEABLE(0, 0, 3),
	       {STEP_MREMAP, 0, 0, 1, 1, 2}, MREMAP(0, 2, 0), FILL(0, 0, 1), SCAN(2), MIGRATE(0, 0),
	       MREMAP(1, 1, 2))},
	/* S8. */
	{"remade", SP_STRATEGY_INDEX, FAILURE_MISS, 1, 0, 2, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 2), MERGEABLE(0, 0, 2), FILL(0, 0, 2), SCAN(2), FORK(0, 1),
	       MREMAP(0, 1, 0), MUNMAP(1, 1, 1), SCAN_PAGES(1))},
	/* V3. */
	{"parent", SP_STRATEGY_FULL, FAILURE_MISS, 0, 1, 2, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 2), FILL(0, 0, 2), FORK(0, 1), MERGEABLE(1, 0, 2), SCAN(2))},
	/* V3's child, which has moved. */
	{"child", SP_STRATEGY_FULL, FAILURE_MISS, 1, 0, 3, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 3), FILL(0, 1, 2), FORK(0, 1), MERGEABLE(0, 0, 3), MREMAP(1, 2, 0),
	       SCAN(2))},
	/* R6 (c). */
	{"fork-unscanned", SP_STRATEGY_FULL, FAILURE_MISS, 1, 1, 2, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 2), MERGEABLE(0, 0, 2), FILL(0, 0, 2), SCAN(2), FORK(0, 1),
	       MREMAP(0, 1, 0), SCAN_PAGES(2))},
	/* S11: x[1] becomes a merged page, x[0] cannot be, and only one process is set right. */
	{"no-node", SP_STRATEGY_FULL, FAILURE_MISS, 1, 1, 2, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 2), MERGEABLE(0, 0, 2), FILL(0, 0, 2), HOLD(0, 0), FORK(0, 1),
	       SCAN(2))},
	/* V4. */
	{"unmerged", SP_STRATEGY_FULL, FAILURE_MISS, 0, 0, 2, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 2), MERGEABLE(0, 0, 2), FILL(0, 0, 2), PROCESS(1), MAP(1, 0, 1),
	       MERGEABLE(1, 0, 1), SCAN(2), HOLD(0, 0), SWAPOUT(0, 0), UNMERGEABLE(0, 0, 2),
	       TOUCH(0, 0), DROP(), SCAN(1))},
	/* V6, where nothing can reach it. */
	{"swapped-foreign", SP_STRATEGY_FULL, FAILURE_MISS, 0, 0, 3, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 1), MERGEABLE(0, 0, 1), FILL(0, 0, 1), MAP(0, 2, 1),
	       MERGEABLE(0, 2, 1), FILL(0, 2, 1), SCAN(2), HOLD(0, 0), SWAPOUT(0, 0), MREMAP(0, 2, 0),
	       TOUCH(0, 0))},
	/* V6, where nothing does yet. */
	{"swapped-fresh", SP_STRATEGY_FULL, FAILURE_MISS, 0, 2, 3, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 3), MERGEABLE(0, 0, 3), FILL(0, 0, 2), SCAN(2), HOLD(0, 0),
	       SWAPOUT(0, 0), MREMAP(0, 1, 2), TOUCH(0, 2))},
	/* S10. */
	{"moved-foreign", SP_STRATEGY_FULL, FAILURE_MISS, 1, 0, 4, 1,
	 STEPS(PROCESS(0), MAP(0, 2, 2), FILL(0, 2, 2), FORK(0, 1), MERGEABLE(0, 2, 2), MAP(1, 0, 1),
	       MERGEABLE(1, 0, 1), FILL(1, 0, 1), SCAN(2), MREMAP(1, 3, 0))},
	{"moved-fresh", SP_STRATEGY_FULL, FAILURE_MISS, 1, 0, 3, 1,
	 STEPS(PROCESS(0), MAP(0, 0, 3), FILL(0, 1, 2), FORK(0, 1), MERGEABLE(0, 0, 3), SCAN(2),
	       MREMAP(1, 2, 0))},
	/* K30a: a migrated page meets its equal. */
	{"wrong-tree", SP_STRATEGY_FULL, FAILURE_MISS, 0, 2, 4, 2,
	 STEPS(KNOB(ACROSS_NODES), PROCESS(0), MAP(0, 0, 4), MERGEABLE(0, 0, 4), FILL(0, 0, 2), SCAN(2),
	       MIGRATE(0, 0), FILL(0, 2, 2), SCAN(2), MUNMAP(0, 3, 1), MIGRATE(0, 2), SCAN(1))},
	/* A migrated page that is full. */
	{"full-node", SP_STRATEGY_FULL, FAILURE_MISS, 0, 0, 2, 2,
	 STEPS(KNOB(SHARING_2), KNOB(ACROSS_NODES), PROCESS(0), MAP(0, 0, 2), MERGEABLE(0, 0, 2),
	       FILL(0, 0, 2), SCAN(2), MIGRATE(0, 0), SCAN(1))},
};

static void make(const struct named *n, struct sequence *s)
{
	s->shape = (struct shape){.nr_pages = n->nr_pages, .nr_nodes = n->nr_nodes};
	s->nr = 0;
	for (unsigned int i = 0; i < n->nr_steps; i++)
		assert_true(sequence_add(s, n->steps[i]));
}

static void print_verdict(const struct verdict *v)
{
	for (unsigned int i = 0; i < v->nr; i++) {
		const struct failure *f = &v->failures[i];
		char text[256];

		fprintf(stderr, "  step %u, %c:x[%u]: %s %s: %s\n", f->step, 'a' + f->process,
			f->page, failure_kind_name(f->cause.kind), cause_name(&f->cause),
			cause_text(&f->cause, text, sizeof(text)));
	}
}

static void test_named(void **state)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(named); i++) {
		const struct named *n = &named[i];
		struct sequence s;
		struct verdict v;
		const struct failure *f = &v.failures[0];
		char text[256];

		make(n, &s);
		assert_int_equal(oracle_run(*state, &s, n->strategy, ORACLE_ALL, &v, NULL), 0);
		if (v.nr != 1 || f->cause.kind != n->kind || f->process != n->process ||
		    f->page != n->page || strcmp(cause_name(&f->cause), n->cause)) {
			print_verdict(&v);
			fail_msg("case %u, %s %s of %c:x[%u] under %s", i,
				 failure_kind_name(n->kind), n->cause, 'a' + n->process, n->page,
				 sp_strategy_name(n->strategy));
		}
		assert_true(strlen(cause_text(&f->cause, text, sizeof(text))) > 20);
		assert_true(*cause_facts(&f->cause));
		if (n->kind == FAILURE_MISS && n->strategy != SP_STRATEGY_FULL)
			assert_int_not_equal(f->asked, f->linear_index);
		assert_int_equal(oracle_run(*state, &s, SP_STRATEGY_DIRECT, ORACLE_ALL, &v, NULL), 0);
		if (v.nr) {
			print_verdict(&v);
			fail_msg("case %u, %s: direct fails too", i, n->cause);
		}
	}
}

/* ---- Walks against the slow way -------------------------------------------------------- */

/* Is the page one that a walk under the machine's strategy is to blame for missing? */
static bool is_missed(struct trial *t, unsigned int process, unsigned int page)
{
	struct sp_process *p = t->processes[process].p;
	uint64_t addr = trial_address(t, process, page);
	struct sp_walk_result walk;

	if (!p || sp_walk(p, addr, &walk) || !walk.ksm)
		return false;
	for (unsigned int i = 0; i < MIN(walk.nr_missed, ARRAY_SIZE(walk.missed)); i++) {
		const struct sp_missed_pte *missed = &walk.missed[i];

		if (missed->process == sp_process_id(p) && missed->addr == addr)
			return !missed->linux_misses || t->strategy == SP_STRATEGY_FULL;
	}
	return false;
}

static bool any_missed(struct trial *t)
{
	for (unsigned int i = 0; i < MAX_PROCESSES; i++)
		for (unsigned int j = 0; j < t->shape.nr_pages; j++)
			if (is_missed(t, i, j))
				return true;
	return false;
}

/* False: it cannot go on. */
static bool check_step(struct trial *t, struct generator *g, unsigned int index, uint64_t *nr_missed)
{
	struct step step = generator_next(g, t);
	struct verdict v;
	int64_t result;
	enum trial_outcome outcome = trial_step(t, &step, &result);
	bool ended;

	oracle_reset(&v);
	ended = oracle_check(t, ORACLE_WALKS | ORACLE_CONTENTS, index, &step, outcome, result, &v);
	if (ended || outcome == TRIAL_SKIPPED) {
		/* By orphans, at most, and only where they are to be had. */
		if (ended)
			assert_int_equal(t->strategy, SP_STRATEGY_RETRY);
		return !ended;
	}
	if (t->strategy == SP_STRATEGY_DIRECT)
		assert_int_equal(v.nr, 0);
	assert_int_equal(any_missed(t), v.nr > 0);
	for (unsigned int i = 0; i < v.nr; i++) {
		assert_int_equal(v.failures[i].cause.kind, FAILURE_MISS);
		assert_int_equal(v.failures[i].step, index);
		assert_true(is_missed(t, v.failures[i].process, v.failures[i].page));
	}
	*nr_missed += v.nr;
	return true;
}

static void test_walks(void **state)
{
	struct trial *t = *state;
	uint64_t seed = model_seed("walks").state;

	for (unsigned int strategy = 0; strategy < SP_NR_STRATEGIES; strategy++) {
		uint64_t nr_missed = 0;

		for (uint64_t number = 0; number < 1200; number++) {
			struct generator g;
			struct shape shape;

			generator_start(&g, seed, number);
			generator_shape(&g, &shape);
			assert_int_equal(trial_start(t, &shape, strategy), 0);
			for (unsigned int i = 0; i < 50; i++)
				if (!check_step(t, &g, i, &nr_missed))
					break;
		}
		/* Those that miss much do so in any thousand sequences. */
		if (strategy == SP_STRATEGY_ADDRESS || strategy == SP_STRATEGY_FULL)
			assert_int_not_equal(nr_missed, 0);
	}
}

/* ---- Other judges ------------------------------------------------------------------------ */

static void run_steps(struct trial *t, const struct step *steps, unsigned int nr)
{
	struct shape shape = {.nr_pages = 4, .nr_nodes = 1};

	assert_int_equal(trial_start(t, &shape, SP_STRATEGY_DIRECT), 0);
	for (unsigned int i = 0; i < nr; i++) {
		int64_t result;

		assert_int_equal(trial_step(t, &steps[i], &result), TRIAL_DONE);
	}
}

static const struct step touched = TOUCH(0, 0);

static void test_contents(void **state)
{
	/* a: merged, swapped out, zero page, of the file untouched; b: of the file, read. */
	static const struct step steps[] = {PROCESS(0),	      MAP(0, 0, 3),	 MAP_FILE(0, 3, 1, 2),
					    MERGEABLE(0, 0, 3), FILL(0, 0, 2),	 SCAN(2),
					    SWAPOUT(0, 1),    TOUCH(0, 0),	 TOUCH(0, 2),
					    FORK(0, 1),	      TOUCH(1, 3)};
	struct trial *t = *state;
	struct verdict v;

	run_steps(t, steps, ARRAY_SIZE(steps));
	oracle_reset(&v);
	assert_false(oracle_check(t, ORACLE_ALL, 0, &touched, TRIAL_DONE, 0, &v));
	assert_int_equal(v.nr, 0);
	for (unsigned int i = 0; i < 2; i++)
		for (unsigned int j = 0; j < 4; j++) {
			struct model_page *page = &t->processes[i].pages[j];
			uint64_t value = page->value;

			page->value ^= 1;
			oracle_reset(&v);
			assert_true(oracle_check(t, ORACLE_CONTENTS, 7, &touched, TRIAL_DONE, 0, &v));
			assert_int_equal(v.nr, 1);
			assert_int_equal(v.failures[0].cause.kind, FAILURE_CONTENT);
			assert_string_equal(cause_name(&v.failures[0].cause), "content");
			assert_int_equal(v.failures[0].step, 7);
			assert_int_equal(v.failures[0].process, i);
			assert_int_equal(v.failures[0].page, j);
			assert_int_equal(v.failures[0].holds, value);
			assert_int_equal(v.failures[0].should_hold, value ^ 1);
			/* Who does not ask is not told. */
			oracle_reset(&v);
			assert_false(oracle_check(t, ORACLE_WALKS | ORACLE_RECOUNT, 0, &touched,
						  TRIAL_DONE, 0, &v));
			page->value = value;
		}
	/* An entry where nothing is mapped. */
	t->processes[0].pages[0].mapped = false;
	oracle_reset(&v);
	assert_true(oracle_check(t, ORACLE_CONTENTS, 0, &touched, TRIAL_DONE, 0, &v));
	assert_int_equal(v.failures[0].cause.kind, FAILURE_CONTENT);
}

static void test_recount(void **state)
{
	static const struct step steps[] = {PROCESS(0), MAP(0, 0, 3), MERGEABLE(0, 0, 3),
					    FILL(0, 0, 2), SCAN(2)};
	struct trial *t = *state;
	struct sp_page_info info;
	struct frame *frame;
	struct verdict v;

	run_steps(t, steps, ARRAY_SIZE(steps));
	oracle_reset(&v);
	assert_false(oracle_check(t, ORACLE_ALL, 0, &touched, TRIAL_DONE, 0, &v));
	t->processes[0].p->mm->rss_anon++;
	assert_false(oracle_check(t, ORACLE_WALKS | ORACLE_CONTENTS, 0, &touched, TRIAL_DONE, 0, &v));
	assert_true(oracle_check(t, ORACLE_RECOUNT, 0, &touched, TRIAL_DONE, 0, &v));
	assert_int_equal(v.nr, 1);
	assert_int_equal(v.failures[0].cause.kind, FAILURE_RECOUNT);
	t->processes[0].p->mm->rss_anon--;
	/* A page that is mapped where the judges do not look. */
	assert_int_equal(sp_page_info(t->processes[0].p, trial_address(t, 0, 0), &info), 0);
	frame = frame_of_pfn(&t->machine->vm.frames, (uint32_t)info.pfn);
	frame->mapcount++;
	oracle_reset(&v);
	assert_true(oracle_check(t, ORACLE_WALKS, 0, &touched, TRIAL_DONE, 0, &v));
	assert_int_equal(v.failures[0].cause.kind, FAILURE_RECOUNT);
	frame->mapcount--;
}

struct told {
	struct step step;
	int64_t result;
	bool fails;
};

static void check_results(struct trial *t, const struct told *results, size_t nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		const struct step *step = &results[i].step;
		struct verdict v;
		bool ended;

		oracle_reset(&v);
		ended = oracle_check(t, 0, i, step, TRIAL_ERRNO, results[i].result, &v);
		assert_int_equal(ended, results[i].fails);
		assert_int_equal(v.nr, results[i].fails);
		if (v.nr)
			assert_int_equal(v.failures[0].cause.kind, FAILURE_RESULT);
		/* What was not called says nothing. */
		oracle_reset(&v);
		assert_false(oracle_check(t, ORACLE_ALL, i, step, TRIAL_SKIPPED, results[i].result, &v));
		assert_int_equal(v.nr, 0);
	}
}

static void test_results(void **state)
{
	static const struct told results[] = {
		{PROCESS(0), -ENOMEM, true},	   {FORK(0, 1), -EAGAIN, true},
		{MAP(0, 0, 1), -ENOMEM, true},	   {MUNMAP(0, 0, 1), -ENOMEM, true},
		{TOUCH(0, 0), -EDEADLK, true},	   {TOUCH(0, 0), -EFAULT, false},
		{FILL(0, 0, 1), -ENOMEM, true},	   {MERGEABLE(0, 0, 1), -ENOMEM, false},
		{SCAN(1), -EAGAIN, false},	   {SCAN(1), -ENOMEM, true},
		{MREMAP(0, 0, 1), -EFAULT, false}, {KNOB(2), -EBUSY, false},
		{DROP(), -EINVAL, true},	   {MIGRATE(0, 3), -ENOENT, false},
	};
	/* Where frames are few. */
	static const struct told scarce[] = {
		{FILL(0, 0, 1), -ENOMEM, false}, {FILL(0, 0, 1), -EINVAL, true},
		{MUNMAP(0, 0, 1), -ENOMEM, false}, {MUNMAP(0, 0, 1), -EINVAL, true},
		{TOUCH(0, 0), -EDEADLK, true},	 {FORK(0, 1), -ENOMEM, true},
	};
	static const struct step steps[] = {PROCESS(0), MAP(0, 0, 4)};
	struct trial *t = *state;

	run_steps(t, steps, ARRAY_SIZE(steps));
	check_results(t, results, ARRAY_SIZE(results));
	t->shape.nr_frames = 9;
	check_results(t, scarce, ARRAY_SIZE(scarce));
}

/* Told that a migration failed, they ask why. */
static void test_pinned(void **state)
{
	static const struct step steps[] = {PROCESS(0),	   MAP(0, 0, 4), MERGEABLE(0, 0, 2),
					    FILL(0, 0, 3), SCAN(2)};
	static const struct step hold = HOLD(0, 0), drop = DROP(), migrate_plain = MIGRATE(0, 2);
	struct trial *t = *state;
	struct frame *frame;
	struct verdict v;
	int64_t result;

	run_steps(t, steps, ARRAY_SIZE(steps));
	for (uint8_t page = 0; page < 4; page++) {
		struct step migrate = MIGRATE(0, page);
		bool is_mapped = page < 3;

		oracle_reset(&v);
		assert_false(oracle_check(t, ORACLE_WALKS, 3, &migrate, TRIAL_ERRNO, -EBUSY, &v));
		assert_int_equal(v.nr, is_mapped);
		if (is_mapped)
			assert_int_equal(v.failures[0].cause.kind, FAILURE_PINNED);
	}
	/* Somebody holds it: that is reason enough. */
	assert_int_equal(trial_step(t, &hold, &result), TRIAL_DONE);
	oracle_reset(&v);
	assert_false(oracle_check(t, ORACLE_WALKS, 3, &(struct step)MIGRATE(0, 0), TRIAL_ERRNO, -EBUSY,
				  &v));
	assert_int_equal(v.nr, 0);
	assert_int_equal(trial_step(t, &drop, &result), TRIAL_DONE);
	oracle_reset(&v);
	assert_false(oracle_check(t, ORACLE_WALKS, 3, &(struct step)MIGRATE(0, 0), TRIAL_ERRNO, -EBUSY,
				  &v));
	assert_int_equal(v.nr, 1);
	/* One that is not merged is found by its own index, which is damaged here. */
	frame = frame_of_pfn(&t->machine->vm.frames,
			     pte_value(vm_pte(t->processes[0].p->mm, trial_address(t, 0, 2))));
	frame->index += 100;
	assert_int_equal(trial_step(t, &migrate_plain, &result), TRIAL_ERRNO);
	assert_int_equal(result, -EBUSY);
	oracle_reset(&v);
	assert_false(oracle_check(t, ORACLE_WALKS, 3, &migrate_plain, TRIAL_ERRNO, result, &v));
	frame->index -= 100;
	assert_int_equal(v.nr, 1);
	assert_int_equal(v.failures[0].cause.kind, FAILURE_PINNED);
}

static void test_run(void **state)
{
	struct trial *t = *state;
	struct sequence s;
	struct verdict v;
	uint64_t nr_steps;

	make(&named[0], &s);
	assert_int_equal(oracle_run(t, &s, SP_STRATEGY_ADDRESS, ORACLE_WALKS, &v, &nr_steps), 0);
	assert_int_equal(nr_steps, s.nr);
	assert_int_equal(v.nr, 1);
	assert_int_equal(v.failures[0].step, s.nr - 1);
	assert_ptr_equal(verdict_find(&v, &v.failures[0].cause), &v.failures[0]);
	/* Twice is once, and what is skipped is not counted. */
	sequence_add(&s, (struct step)TOUCH(0, 2));
	sequence_add(&s, (struct step)DROP());
	assert_int_equal(oracle_run(t, &s, SP_STRATEGY_ADDRESS, ORACLE_WALKS, &v, &nr_steps), 0);
	assert_int_equal(nr_steps, s.nr - 1);
	assert_int_equal(v.nr, 1);
	assert_int_equal(oracle_run(t, &s, SP_STRATEGY_ADDRESS, ORACLE_CONTENTS, &v, NULL), 0);
	assert_int_equal(v.nr, 0);
	/* An orphan ends it. */
	make(&named[2], &s);
	sequence_add(&s, (struct step)TOUCH(0, 0));
	assert_int_equal(oracle_run(t, &s, SP_STRATEGY_RETRY, ORACLE_ALL, &v, &nr_steps), 0);
	assert_int_equal(nr_steps, s.nr - 1);
}

/* ---- Causes ------------------------------------------------------------------------------ */

static void test_causes(void **state)
{
	struct cause a = cause_of(FAILURE_MISS, SP_STRATEGY_DIRECT, FEATURE_OWN_ITEM),
		     b = cause_of(FAILURE_MISS, SP_STRATEGY_DIRECT, FEATURE_OWN_ITEM | FEATURE_FILE),
		     file = cause_of(FAILURE_MISS, SP_STRATEGY_ADDRESS, FEATURE_FILE),
		     more = cause_of(FAILURE_MISS, SP_STRATEGY_ADDRESS, FEATURE_FILE | FEATURE_FORKED),
		     orphan = cause_of(FAILURE_ORPHAN, SP_STRATEGY_RETRY, FEATURE_FILE);
	char text[256];

	(void)state;
	/* What no rule explains is told by its features, and differs by them. */
	assert_string_equal(cause_name(&a), "other");
	assert_string_equal(cause_facts(&a), "");
	assert_true(cause_equal(&a, &a));
	assert_false(cause_equal(&a, &b));
	assert_non_null(strstr(cause_text(&b, text, sizeof(text)), "own item, file"));
	for (size_t size = 1; size < 40; size++) {
		memset(text, '#', sizeof(text));
		cause_text(&b, text, size);
		assert_true(strlen(text) < size);
		assert_int_equal(text[size], '#');
	}
	/* What one does is one cause, whatever else is there. */
	assert_string_equal(cause_name(&file), "file");
	assert_true(cause_equal(&file, &more));
	assert_false(cause_equal(&file, &orphan));
	/* No name is for nothing known. */
	for (unsigned int i = 0; i < SP_NR_STRATEGIES; i++)
		for (unsigned int k = 0; k <= FAILURE_PINNED; k++) {
			struct cause none = cause_of(k, i, 0);

			assert_string_equal(cause_name(&none), "other");
		}
	for (unsigned int k = FAILURE_CONTENT; k < NR_FAILURE_KINDS; k++) {
		struct cause plain = cause_of(k, SP_STRATEGY_FULL, FEATURE_FILE);

		assert_string_equal(cause_name(&plain), failure_kind_name(k));
		assert_true(*cause_text(&plain, text, sizeof(text)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_walks),
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_recount),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_pinned),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_causes),
	};

	return cmocka_run_group_tests(tests, trial_group_setup, trial_group_teardown);
}
