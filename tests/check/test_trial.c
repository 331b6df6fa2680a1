/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trials: random sequences never surprise the model, and mean the same as the scenario that they are
 * printed as: every step has the same result there, and the counters agree at the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "generate.h"
#include "model_seed.h"
#include "names.h"
#include "scenario.h"
#include "trial.h"

#define LENGTH 60

static const char *const counters[] = {"pages_shared",	"pages_sharing", "pages_unshared",
				       "pages_volatile", "full_scans",	 "pages_scanned",
				       "ksm_zero_pages", "cow_ksm",	 "pswpout"};

/* Every readable page of every process holds the model's value. */
static void check_contents(struct trial *t, uint64_t seed, uint64_t number, const char *text)
{
	for (unsigned int i = 0; i < MAX_PROCESSES; i++) {
		struct trial_process *p = &t->processes[i];

		for (unsigned int j = 0; p->p && j < t->shape.nr_pages; j++) {
			const struct model_page *page = &p->pages[j];
			uint8_t buf[8];
			uint64_t value = 0;
			int err = sp_read(p->p, trial_address(t, i, j), buf, sizeof(buf));

			/* From swap, into a frame that is not there. */
			if (err == -ENOMEM && shape_is_limited(&t->shape))
				continue;
			for (unsigned int k = 0; k < sizeof(buf); k++)
				value = value << 8 | buf[k];
			if (err != (page->mapped && page->readable ? 0 : -EFAULT) ||
			    (!err && value != page->value)) {
				fputs(text, stderr);
				fail_msg("seed %" PRIu64 ", sequence %" PRIu64
					 ": process %c page %u: read gives %d, %" PRIx64
					 ", the model has %" PRIx64,
					 seed, number, 'a' + i, j, err, value, page->value);
			}
		}
	}
}

/* One sequence, its text going to `out`. */
static void run_sequence(struct trial *t, uint64_t seed, uint64_t number, FILE *out)
{
	struct generator g;
	struct shape shape;
	char machine[64];

	generator_start(&g, seed, number);
	generator_shape(&g, &shape);
	assert_int_equal(trial_start(t, &shape, SP_STRATEGY_DIRECT), 0);
	fprintf(out, "%s\nfile f %u seed %u\n", shape_print(&shape, machine, sizeof(machine)),
		FILE_PAGES, FILE_SEED);
	for (unsigned int i = 0; i < LENGTH; i++) {
		struct step step = generator_next(&g, t);
		enum trial_outcome outcome;
		int64_t result;
		char text[128];

		outcome = trial_step(t, &step, &result);
		if (outcome == TRIAL_SKIPPED)
			continue;
		fprintf(out, "%s\n", step_print(&step, &shape, text, sizeof(text)));
		if (outcome == TRIAL_ERRNO)
			fprintf(out, "expect errno %s\n", errno_name((int)result));
		else if (result && step.kind != STEP_RECLAIM && step.kind != STEP_COMPACT)
			fprintf(out, "expect result == %" PRId64 "\n", result);
		if (step.kind == STEP_PROCESS)
			fprintf(out, "%c: window x %u\n", 'a' + step.process, shape.nr_pages);
	}
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		int64_t value;

		assert_int_equal(sp_counter_get(t->machine, counters[i], &value), 0);
		fprintf(out, "expect %s == %" PRId64 "\n", counters[i], value);
	}
}

static void test_sequences_mean_their_scenarios(void **state)
{
	uint64_t seed = model_seed("trial").state;
	struct trial *t;

	(void)state;
	assert_int_equal(trial_create(&t), 0);
	for (uint64_t number = 0; number < 150; number++) {
		struct scenario_options options;
		struct scenario_result *result;
		struct diagnostics diagnostics;
		struct scenario *scenario;
		char *text;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		assert_non_null(out);
		run_sequence(t, seed, number, out);
		fclose(out);
		check_contents(t, seed, number, text);
		if (scenario_parse_text("sequence", text, size, &diagnostics, &scenario))
			fail_msg("seed %" PRIu64 ", sequence %" PRIu64 ": %s\n%s", seed, number,
				 diagnostics.list[0], text);
		scenario_options_init(&options);
		options.strategy = SP_STRATEGY_DIRECT;
		options.no_audit = true; /* Linux's own misses are no matter here */
		assert_int_equal(scenario_run(scenario, &options, &result), 0);
		if (result->nr_failures || result->error[0])
			fail_msg("seed %" PRIu64 ", sequence %" PRIu64 ": %s%s\n%s", seed, number,
				 result->error, result->nr_failures ? result->failures[0].text : "",
				 text);
		scenario_result_destroy(result);
		scenario_destroy(scenario);
		free(text);
	}
	trial_destroy(t);
}

/* Limits are the machine's, and what a step did before it met one is in the model. */
static void test_limits(void **state)
{
	static const struct shape shape = {.nr_pages = 4, .nr_nodes = 1, .nr_frames = 2, .nr_maps = 2};
	static const struct {
		struct step step;
		enum trial_outcome outcome;
		int64_t result;
	} steps[] = {
		{{STEP_PROCESS, 0, 0, 0, 0, 0}, TRIAL_DONE, 0},
		{{STEP_MAP, 0, 0, 4, 0, 0}, TRIAL_DONE, 0},
		{{STEP_FILL, 0, 0, 4, 0, 0x77}, TRIAL_ERRNO, -ENOMEM},
		{{STEP_WRITE, 0, 1, 1, 0, 0x55}, TRIAL_DONE, 0},
		{{STEP_MPROTECT, 0, 2, 1, 0, SP_PROT_NONE}, TRIAL_ERRNO, -ENOMEM},
		{{STEP_MPROTECT, 0, 2, 2, 0, SP_PROT_READ}, TRIAL_DONE, 0},
		/* Two mappings: nobody could say how far it came. */
		{{STEP_MREMAP, 0, 1, 2, 0, 2}, TRIAL_SKIPPED, 0},
	};
	static const uint64_t values[] = {UINT64_C(0x7777777777777777), UINT64_C(0x5577777777777777),
					  0, 0};
	struct trial *t;

	(void)state;
	assert_int_equal(trial_create(&t), 0);
	assert_int_equal(trial_start(t, &shape, SP_STRATEGY_DIRECT), 0);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int64_t result;

		assert_int_equal(trial_step(t, &steps[i].step, &result), steps[i].outcome);
		assert_int_equal(result, steps[i].result);
	}
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(t->processes[0].pages[i].value, values[i]);
		assert_int_equal(t->processes[0].pages[i].writable, i < 2);
		assert_true(t->processes[0].pages[i].readable);
	}
	check_contents(t, 0, 0, "");
	trial_destroy(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_sequences_mean_their_scenarios),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
