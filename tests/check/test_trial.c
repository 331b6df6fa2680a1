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

	generator_start(&g, seed, number);
	generator_shape(&g, &shape);
	assert_int_equal(trial_start(t, &shape, SP_STRATEGY_DIRECT), 0);
	fprintf(out, "machine nodes %u\nfile f %u seed %u\n", shape.nr_nodes, FILE_PAGES, FILE_SEED);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sequences_mean_their_scenarios),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
