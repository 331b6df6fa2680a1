/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A group of tests that share one trial, which is their *state: making one costs more than what most
 * of them do with it.
 *
 *	return cmocka_run_group_tests(tests, trial_group_setup, trial_group_teardown);
 */
#ifndef SP_TRIAL_GROUP_H
#define SP_TRIAL_GROUP_H

#include "trial.h"

static inline int trial_group_setup(void **state)
{
	return trial_create((struct trial **)state);
}

static inline int trial_group_teardown(void **state)
{
	trial_destroy(*state);
	return 0;
}

#endif
