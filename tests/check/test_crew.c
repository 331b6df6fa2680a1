/* SPDX-License-Identifier: GPL-2.0-only */
/* A crew does all the work once, its caller looks on meanwhile, and sees all that was written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "crew.h"

#define NR_WORKERS 4
#define NR_ITEMS   10000

struct job {
	atomic_uint next;
	unsigned int done[NR_ITEMS]; /* plain: each is one worker's */
	unsigned int nr_calls[NR_WORKERS];
	unsigned int nr_ticks;
	atomic_bool go_on;
};

static void work(void *arg, unsigned int index)
{
	struct job *job = arg;
	unsigned int i;

	job->nr_calls[index]++;
	while ((i = atomic_fetch_add(&job->next, 1)) < NR_ITEMS)
		job->done[i]++;
}

static void tick(void *arg)
{
	struct job *job = arg;

	job->nr_ticks++;
	atomic_store(&job->go_on, false);
}

static void test_all_work_once(void **state)
{
	(void)state;
	for (unsigned int nr = 1; nr <= NR_WORKERS; nr++) {
		struct job job = {0};

		crew_run(nr, work, tick, &job);
		for (unsigned int i = 0; i < NR_ITEMS; i++)
			assert_int_equal(job.done[i], 1);
		for (unsigned int i = 0; i < NR_WORKERS; i++)
			assert_int_equal(job.nr_calls[i], i < nr);
	}
}

static void wait_for_tick(void *arg, unsigned int index)
{
	struct job *job = arg;
	struct timespec pause = {.tv_nsec = 1000000};

	(void)index;
	while (atomic_load(&job->go_on))
		nanosleep(&pause, NULL);
}

static void test_caller_looks_on(void **state)
{
	struct job job = {.go_on = true};

	(void)state;
	crew_run(2, wait_for_tick, tick, &job);
	assert_true(job.nr_ticks >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_work_once),
		cmocka_unit_test(test_caller_looks_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
