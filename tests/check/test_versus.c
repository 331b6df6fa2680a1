/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sequences on two machines: the engine agrees with itself, on every sequence and every operation;
 * one that differs on purpose is found, at the operation where it does, named, and shrunk.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "model_seed.h"
#include "shrink.h"
#include "versus.h"

#define ROUNDS 40
#define DEPTH  40

static void test_agrees_with_itself(void **state)
{
	uint64_t seed = model_seed("versus").state;
	unsigned int nr_operations = 0;
	struct versus *v;

	(void)state;
	assert_int_equal(versus_create(&engine_backend, NULL, &v), 0);
	for (uint64_t i = 0; i < ROUNDS; i++) {
		struct versus_outcome out;
		struct sequence s;

		assert_int_equal(kernel_sequence_make(versus_trial(v), seed, i, DEPTH, &s), 0);
		assert_int_equal(s.nr, DEPTH);
		assert_int_equal(versus_run(v, &s, &out), 0);
		if (out.kind != VERSUS_AGREES)
			fail_msg("sequence %u: %s %s: %s %s %s", (unsigned int)i, out.message,
				 out.difference.operation, out.difference.key,
				 out.difference.engine, out.difference.other);
		assert_true(out.nr_operations >= DEPTH);
		nr_operations += out.nr_operations;
	}
	assert_true(nr_operations >= ROUNDS * DEPTH);
	versus_destroy(v);
}

/* ---- An engine with a defect ------------------------------------------------------------- */

static int wrong_stat(const struct backend_process *p, const char *name, int64_t *ret)
{
	int err = engine_backend.process_stat(p, name, ret);

	/* As on kernels before 6.12, a fork would begin with its parent's. */
	if (!err && !strcmp(name, "ksm_merging_pages") && engine_backend.process_id(p) > 1)
		*ret += 1;
	return err;
}

static int differs(void *arg, struct sequence *s, unsigned int *last)
{
	struct versus_outcome out;
	int err = versus_run(arg, s, &out);

	if (err || out.kind != VERSUS_DIFFERS)
		return err;
	*last = out.difference.step;
	return 1;
}

static void test_defect_is_found(void **state)
{
	static const struct step steps[] = {
		{STEP_PROCESS, .process = 0},
		{STEP_MAP, .process = 0, .first = 0, .nr = 3},
		{STEP_FILL, .process = 0, .first = 0, .nr = 3, .arg = 0x77},
		{STEP_SCAN, .arg = 1},
		{STEP_FORK, .process = 0, .to = 1},
		{STEP_EXIT, .process = 0},
	};
	struct sequence s = {.shape = {.nr_pages = 3, .nr_nodes = 2}};
	struct backend_ops wrong = engine_backend;
	struct versus_outcome out;
	struct versus *v;

	(void)state;
	wrong.process_stat = wrong_stat;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		assert_true(sequence_add(&s, steps[i]));
	assert_int_equal(versus_create(&wrong, NULL, &v), 0);
	assert_int_equal(versus_run(v, &s, &out), 0);
	assert_int_equal(out.kind, VERSUS_DIFFERS);
	assert_int_equal(out.difference.step, 4);
	assert_string_equal(out.difference.operation, "a: fork b");
	assert_string_equal(out.difference.key, "b.ksm_merging_pages");
	assert_string_equal(out.difference.engine, "0");
	assert_string_equal(out.difference.other, "1");
	assert_string_equal(out.difference.group, "ksm_merging_pages after fork");
	assert_int_equal(shrink_by(versus_trial(v), &s, differs, v, NULL, NULL), 0);
	assert_int_equal(s.nr, 2);
	versus_destroy(v);
}

static void test_texts(void **state)
{
	static const struct step steps[] = {
		{STEP_PROCESS, .process = 0},
		{STEP_DROP, .to = 1}, /* holds nothing */
		{STEP_MAP_FILE, .process = 0, .first = 0, .nr = 4, .arg = 2},
		{STEP_PROCESS, .process = 1},
		{STEP_FILL, .process = 1, .first = 1, .nr = 1, .arg = 0x77},
	};
	struct sequence s = {.shape = {.nr_pages = 4, .nr_nodes = 2}};
	struct kernel_text text;
	struct trial *t;

	(void)state;
	assert_int_equal(trial_create(&t), 0);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		assert_true(sequence_add(&s, steps[i]));
	assert_int_equal(kernel_sequence_tell(t, &s, "# why\n", &text), 0);
	assert_int_equal(s.nr, 4);
	assert_string_equal(text.text, "# why\nmachine nodes 2\nfile f 16 seed 7\n\nprocess a\n"
				       "a: map x 4 file f at 2\nprocess b\nb: window x 4\n"
				       "b: fill x[1] 0x77\nexpect errno EFAULT\n");
	assert_int_equal(text.lines[0], 5);
	assert_int_equal(text.lines[1], 6);
	assert_int_equal(text.lines[3], 9);
	free(text.text);
	trial_destroy(t);
}

/* Only what V18 speaks of: locked, then forked, then scanned. */
static void test_batches(void **state)
{
	static const struct {
		enum step_kind steps[3];
		enum explanation explanation;
	} cases[] = {
		{{STEP_MLOCK, STEP_FORK, STEP_SCAN}, EXPLAINED_BATCHED},
		{{STEP_MLOCK, STEP_FORK, STEP_SCAN_PAGES}, EXPLAINED_BATCHED},
		{{STEP_FORK, STEP_MLOCK, STEP_SCAN}, NR_EXPLANATIONS},
		{{STEP_MLOCK, STEP_FORK, STEP_MIGRATE}, NR_EXPLANATIONS},
		{{STEP_FILL, STEP_FORK, STEP_SCAN}, NR_EXPLANATIONS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct versus_difference d = {.step = 2, .key = "cow_ksm"};
		struct sequence s = {.nr = 3};

		for (unsigned int k = 0; k < 3; k++)
			s.steps[k].kind = cases[i].steps[k];
		assert_int_equal(explain(&d, &s), cases[i].explanation);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_agrees_with_itself),
		cmocka_unit_test(test_defect_is_found),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_batches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
