/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RCU: a grace period ends no earlier than the readers that were inside when it
 * began, sections and registrations nest, and what is published is complete.
 * Threads only record; the main thread asserts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "rcu.h"

/* All atomic: */
static int stage; /* 1: the reader is inside, 2: it may leave */
static bool reader_left, wait_ended;

static int load(const int *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void *stay_inside(void *arg)
{
	(void)arg;
	rcu_thread_begin();
	rcu_thread_begin();
	rcu_reader_lock();
	rcu_reader_lock();
	rcu_reader_unlock();
	/* Still inside: the sections nest. */
	__atomic_store_n(&stage, 1, __ATOMIC_RELEASE);
	while (load(&stage) != 2)
		sched_yield();
	__atomic_store_n(&reader_left, true, __ATOMIC_RELEASE);
	rcu_reader_unlock();
	rcu_thread_end();
	/* Still registered: so do these. */
	rcu_reader_lock();
	rcu_reader_unlock();
	rcu_thread_end();
	return NULL;
}

static void *wait_for_readers(void *arg)
{
	bool *left_first = arg;

	rcu_wait();
	*left_first = __atomic_load_n(&reader_left, __ATOMIC_ACQUIRE);
	__atomic_store_n(&wait_ended, true, __ATOMIC_RELEASE);
	return NULL;
}

static void test_wait_outlasts_readers(void **state)
{
	const struct timespec pause = { .tv_nsec = 50 * 1000000 };
	pthread_t reader, waiter;
	bool left_first = false;

	(void)state;
	stage = 0;
	reader_left = wait_ended = false;
	/* Nobody inside: returns at once. */
	rcu_wait();
	assert_int_equal(pthread_create(&reader, NULL, stay_inside, NULL), 0);
	while (load(&stage) != 1)
		sched_yield();
	assert_int_equal(pthread_create(&waiter, NULL, wait_for_readers, &left_first), 0);
	nanosleep(&pause, NULL);
	assert_false(__atomic_load_n(&wait_ended, __ATOMIC_ACQUIRE));
	__atomic_store_n(&stage, 2, __ATOMIC_RELEASE);
	pthread_join(waiter, NULL);
	pthread_join(reader, NULL);
	assert_true(wait_ended);
	assert_true(left_first);
}

struct pair {
	int a, b;
};

static struct pair *published;
static bool stop; /* atomic */

static void *check_pairs(void *arg)
{
	int *nr_torn = arg;

	rcu_thread_begin();
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		const struct pair *pair;

		rcu_reader_lock();
		pair = rcu_load(published);
		for (int i = 0; i < 4; i++) {
			*nr_torn += pair->a != pair->b;
			sched_yield();
		}
		rcu_reader_unlock();
	}
	rcu_thread_end();
	return NULL;
}

static void test_publish_and_reclaim(void **state)
{
	int nr_torn[2] = { 0 };
	pthread_t threads[2];

	(void)state;
	stop = false;
	published = calloc(1, sizeof(*published));
	assert_non_null(published);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, check_pairs, &nr_torn[i]), 0);
	for (int i = 1; i < 2000; i++) {
		struct pair *old = published, *new = malloc(sizeof(*new));

		if (!new)
			break;
		new->a = new->b = i;
		rcu_publish(published, new);
		rcu_wait();
		/* Nobody can be reading it any more. */
		old->a = -1;
		old->b = -2;
		free(old);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(published->a, 1999);
	free(published);
	assert_int_equal(nr_torn[0] + nr_torn[1], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wait_outlasts_readers),
		cmocka_unit_test(test_publish_and_reclaim),
	};
	int err;

	rcu_thread_begin();
	err = cmocka_run_group_tests(tests, NULL, NULL);
	rcu_thread_end();
	return err;
}
