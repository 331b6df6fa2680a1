/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Feeds arbitrary text to the scenario parser and its dry run, and runs what
 * is accepted on a small machine: a scenario that parses must never crash,
 * whatever it does, and the machine must be in order after each operation.
 *
 * Cores and processes of the host are out of bounds: what a file says must not
 * choose what the fuzzer reads.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Inputs are short; their loops, windows and waits must be too. */
#define MAX_ROUNDS 64
#define MAX_PAGES 1024
#define MAX_MS 100000

static bool contains(const uint8_t *data, size_t size, const char *text)
{
	return data && memmem(data, size, text, strlen(text)) != NULL;
}

/* Steps that a few letters can ask billions of. */
static int few_passes(struct backend *b, uint64_t passes)
{
	return engine_backend.scan(b, MIN(passes, UINT64_C(20)));
}

static int few_candidates(struct backend *b, uint64_t nr_pages)
{
	return engine_backend.scan_pages(b, MIN(nr_pages, UINT64_C(1000)));
}

static int64_t soon_stable(struct backend *b, uint64_t max_passes)
{
	return engine_backend.scan_until_stable(b, MIN(max_passes, UINT64_C(20)));
}

static int short_time(struct backend *b, uint64_t ms)
{
	return engine_backend.run_for_ms(b, MIN(ms, (uint64_t)MAX_MS));
}

static int64_t few_rounds(struct backend *b, uint64_t nr_pages, unsigned int rounds)
{
	return engine_backend.reclaim(b, nr_pages, MIN(rounds, 4u));
}

static int small_file(struct backend *b, uint64_t nr_pages, uint64_t seed, struct backend_file **ret)
{
	return nr_pages > MAX_PAGES ? -ENOMEM : engine_backend.file_create(b, nr_pages, seed, ret);
}

static int small_mremap(struct backend_process *p, uint64_t addr, uint64_t old_length, uint64_t new_length,
			int flags, uint64_t new_addr, uint64_t *ret)
{
	if (new_length > MAX_PAGES * PAGE_SIZE)
		return -ENOMEM;
	return engine_backend.mremap(p, addr, old_length, new_length, flags, new_addr, ret);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct diagnostics diagnostics;
	struct backend_ops ops = engine_backend;
	struct scenario_options options;
	struct scenario *scenario;
	struct scenario_result *result;

	if (scenario_parse_text("fuzz.scn", (const char *)data, size, &diagnostics, &scenario)) {
		if (!diagnostics.nr_total)
			abort();
		return 0;
	}
	if (contains(data, size, "from") || contains(data, size, "@")) {
		scenario_destroy(scenario);
		return 0;
	}
	ops.scan = few_passes;
	ops.scan_pages = few_candidates;
	ops.scan_until_stable = soon_stable;
	ops.run_for_ms = short_time;
	ops.reclaim = few_rounds;
	ops.file_create = small_file;
	ops.mremap = small_mremap;
	scenario_options_init(&options);
	options.backend = &ops;
	options.max_rounds = MAX_ROUNDS;
	options.max_pages = MAX_PAGES;
	options.validate = true;
	options.strategy = size % SP_NR_STRATEGIES;
	if (!scenario_run(scenario, &options, &result)) {
		for (uint32_t i = 0; i < result->nr_failures_listed; i++)
			if (strstr(result->failures[i].text, "structures are wrong")) {
				fprintf(stderr, "%s\n", result->failures[i].text);
				abort();
			}
		scenario_result_destroy(result);
	}
	scenario_destroy(scenario);
	return 0;
}
