/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage run: what its files share. One scenario file, run under one or more strategies, is a
 * run_report; both printers take it.
 */
#ifndef SP_RUN_H
#define SP_RUN_H

#include <json-c/json.h>

#include "cli.h"
#include "scenario.h"
#include "steps.h"

struct run_report {
	const struct scenario *scenario;
	struct scenario_result
		*results[SP_NR_STRATEGIES]; /* in order of strategies; NULL: not run */
	struct json_object *steps[SP_NR_STRATEGIES]; /* of the same runs; NULL unless asked for */
	int exit_status;
};

struct run_options {
	bool strategies[SP_NR_STRATEGIES];
	bool json, no_timing, trace;
	enum steps_form steps;
	bool may_kill; /* what the file says kills the kernel it runs on */
	bool kernel; /* on the running kernel: one result, full's */
	uint64_t seed;
};

/* The result that stands for the scenario itself: full's if it ran, else the first. */
const struct scenario_result *run_baseline(const struct run_report *report);

void run_print_people(const struct run_report *report, const struct run_options *options);
/* "Linux 6.12.48", of the running kernel. */
const char *run_kernel_name(char *buf, size_t size);
/* The caller puts it. */
struct json_object *run_json(const struct run_report *report, const struct run_options *options);

#endif
