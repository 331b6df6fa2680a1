/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The locks that sleep: who excludes whom, that a waiting writer keeps new
 * readers out, and that every way to take or drop one tells the rank checker,
 * which is included with checks on whatever the build says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>
#include <time.h>

#undef SP_DEBUG_LEVEL
#define SP_DEBUG_LEVEL 2
#include "rank.c"
#include "rwsem.h"

#include "expect_abort.h"

static struct rwsem sem, other;
static struct mutex mutex;

static int set_up(void **state)
{
	(void)state;
	rwsem_init(&sem, RANK_mmap_lock, false);
	rwsem_init(&other, RANK_anon_vma, false);
	mutex_setup(&mutex, RANK_ksm_thread_mutex, false);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rank_assert_none_held();
	rwsem_destroy(&sem);
	rwsem_destroy(&other);
	mutex_teardown(&mutex);
	return 0;
}

/* Tries from another thread, which gives back what it got. */
static void *try_read(void *arg)
{
	bool *got = arg;

	*got = rwsem_read_trylock(&sem);
	if (*got != rwsem_held(&sem))
		abort();
	if (*got)
		rwsem_read_unlock(&sem);
	return NULL;
}

static bool other_thread_may_read(void)
{
	pthread_t thread;
	bool got;

	if (pthread_create(&thread, NULL, try_read, &got))
		fail_msg("pthread_create failed");
	pthread_join(thread, NULL);
	return got;
}

static void test_readers_share_writers_do_not(void **state)
{
	(void)state;
	assert_false(rwsem_held(&sem));
	rwsem_read_lock(&sem);
	assert_true(rwsem_held(&sem));
	assert_true(other_thread_may_read());
	rwsem_read_unlock(&sem);
	assert_false(rwsem_held(&sem));

	rwsem_write_lock(&sem);
	assert_true(rwsem_held(&sem));
	assert_false(other_thread_may_read());
	rwsem_write_unlock(&sem);
	assert_false(rwsem_held(&sem));
	assert_true(other_thread_may_read());

	assert_true(rwsem_read_trylock(&sem));
	assert_true(rwsem_held(&sem));
	rwsem_read_unlock(&sem);
}

static int shared_a, shared_b; /* equal, except while a writer is inside */

#define ROUNDS 5000

static void *write_both(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		rwsem_write_lock(&sem);
		shared_a++;
		if (i % 64 == 0)
			sched_yield();
		shared_b++;
		rwsem_write_unlock(&sem);
	}
	return NULL;
}

static void *read_both(void *arg)
{
	int *nr_torn = arg;

	for (int i = 0; i < ROUNDS; i++) {
		rwsem_read_lock(&sem);
		*nr_torn += shared_a != shared_b;
		rwsem_read_unlock(&sem);
	}
	return NULL;
}

static void test_exclusion_under_load(void **state)
{
	pthread_t threads[4];
	int nr_torn[2] = { 0 };

	(void)state;
	shared_a = shared_b = 0;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, write_both, NULL), 0);
		assert_int_equal(pthread_create(&threads[2 + i], NULL, read_both, &nr_torn[i]), 0);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(nr_torn[0] + nr_torn[1], 0);
	assert_int_equal(shared_a, 2 * ROUNDS);
	assert_int_equal(shared_b, 2 * ROUNDS);
}

static bool writer_was_in; /* atomic */

static void *write_once(void *arg)
{
	(void)arg;
	rwsem_write_lock(&sem);
	__atomic_store_n(&writer_was_in, true, __ATOMIC_RELEASE);
	rwsem_write_unlock(&sem);
	return NULL;
}

/* As with a kernel rwsem: otherwise busy readers would starve mmap() for ever. */
static void test_waiting_writer_keeps_readers_out(void **state)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	pthread_t writer;
	bool refused = false;

	(void)state;
	writer_was_in = false;
	rwsem_read_lock(&sem);
	assert_int_equal(pthread_create(&writer, NULL, write_once, NULL), 0);
	/* Until the writer has come to wait, others get in. */
	for (int i = 0; i < 20000 && !refused; i++) {
		refused = !other_thread_may_read();
		if (!refused)
			nanosleep(&pause, NULL);
	}
	assert_true(refused);
	assert_false(__atomic_load_n(&writer_was_in, __ATOMIC_ACQUIRE));
	rwsem_read_unlock(&sem);
	pthread_join(writer, NULL);
	assert_true(writer_was_in);
	assert_true(other_thread_may_read());
}

static void test_child_nests_in_parent(void **state)
{
	struct rwsem child;

	(void)state;
	rwsem_init(&child, RANK_mmap_lock, false);
	rwsem_write_lock(&sem);
	rwsem_write_lock_nested(&child, RANK_mmap_lock_nested);
	assert_true(rwsem_held(&child));
	rwsem_read_lock(&other);
	rwsem_read_unlock(&other);
	rwsem_write_unlock(&child);
	assert_false(rwsem_held(&child));
	assert_true(rwsem_held(&sem));
	rwsem_write_unlock(&sem);
	rwsem_destroy(&child);
}

static void *count_under_mutex(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		mutex_acquire(&mutex);
		shared_a++;
		mutex_release(&mutex);
	}
	return NULL;
}

static void test_mutex(void **state)
{
	pthread_t threads[2];

	(void)state;
	shared_a = 0;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count_under_mutex, NULL), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(shared_a, 2 * ROUNDS);
	assert_false(mutex_held(&mutex));
	mutex_acquire(&mutex);
	assert_true(mutex_held(&mutex));
	rwsem_read_lock(&sem);
	rwsem_read_unlock(&sem);
	mutex_release(&mutex);
	assert_false(mutex_held(&mutex));
}

static void read_twice(void)
{
	rwsem_read_lock(&sem);
	rwsem_read_lock(&sem);
}

static void write_in_read(void)
{
	rwsem_read_lock(&sem);
	rwsem_write_lock(&sem);
}

static void mmap_lock_in_anon_vma(void)
{
	rwsem_write_lock(&other);
	rwsem_read_lock(&sem);
}

static void mutex_in_mmap_lock(void)
{
	rwsem_read_lock(&sem);
	mutex_acquire(&mutex);
}

static void mutex_twice(void)
{
	mutex_acquire(&mutex);
	mutex_acquire(&mutex);
}

static void nested_twice(void)
{
	rwsem_write_lock_nested(&sem, RANK_mmap_lock_nested);
	rwsem_write_lock_nested(&other, RANK_mmap_lock_nested);
}

static void unlock_read_of_none(void)
{
	rwsem_read_unlock(&sem);
}

static void unlock_write_of_none(void)
{
	rwsem_write_unlock(&sem);
}

static void unlock_mutex_of_none(void)
{
	mutex_release(&mutex);
}

static void try_out_of_order(void)
{
	rwsem_read_lock(&other);
	if (!rwsem_read_trylock(&sem))
		abort();
	rwsem_read_unlock(&other);
	rwsem_read_unlock(&sem);
	rank_assert_none_held();
}

static void test_order_is_checked(void **state)
{
	(void)state;
	expect_violation(read_twice, "taken twice: mmap_lock", "while holding: mmap_lock");
	expect_violation(write_in_read, "taken twice: mmap_lock", "while holding: mmap_lock");
	expect_violation(mmap_lock_in_anon_vma, "taken below: mmap_lock", "while holding: anon_vma");
	expect_violation(mutex_in_mmap_lock, "taken below: ksm_thread_mutex", "while holding: mmap_lock");
	expect_violation(mutex_twice, "taken twice: ksm_thread_mutex", "while holding: ksm_thread_mutex");
	expect_violation(nested_twice, "second of its rank: mmap_lock_nested", "while holding: mmap_lock_nested");
	expect_violation(unlock_read_of_none, "released, not held: mmap_lock", "while holding:");
	expect_violation(unlock_write_of_none, "released, not held: mmap_lock", "while holding:");
	expect_violation(unlock_mutex_of_none, "released, not held: ksm_thread_mutex", "while holding:");
	expect_allowed(try_out_of_order);
}

/* ---- Locks of a machine that nobody else knows ---- */

static void set_up_alone(void)
{
	rwsem_init(&sem, RANK_mmap_lock, true);
	mutex_setup(&mutex, RANK_ksm_thread_mutex, true);
}

/* Past the rank checker, as in a build without it. */
static void alone_write_in_read(void)
{
	set_up_alone();
	rwsem_read_lock(&sem);
	rank_release(RANK_mmap_lock, &sem);
	rwsem_write_lock(&sem);
}

static void alone_read_in_write(void)
{
	set_up_alone();
	rwsem_write_lock(&sem);
	rank_release(RANK_mmap_lock, &sem);
	rwsem_read_lock(&sem);
}

static void alone_mutex_twice(void)
{
	set_up_alone();
	mutex_acquire(&mutex);
	rank_release(RANK_ksm_thread_mutex, &mutex);
	mutex_acquire(&mutex);
}

static void alone_out_of_order(void)
{
	set_up_alone();
	rwsem_read_lock(&sem);
	mutex_acquire(&mutex);
}

static void test_alone(void **state)
{
	(void)state;
	set_up_alone();
	rwsem_read_lock(&sem);
	assert_true(rwsem_held(&sem));
	rwsem_read_unlock(&sem);
	assert_true(rwsem_read_trylock(&sem));
	rwsem_read_unlock(&sem);
	rwsem_write_lock_nested(&sem, RANK_mmap_lock_nested);
	assert_false(rwsem_read_trylock(&sem));
	rwsem_write_unlock(&sem);
	rwsem_write_lock(&sem);
	rwsem_write_unlock(&sem);
	mutex_acquire(&mutex);
	assert_true(mutex_held(&mutex));
	mutex_release(&mutex);
	rank_assert_none_held();
	rwsem_destroy(&sem);
	mutex_teardown(&mutex);
	expect_violation(alone_write_in_read, "write lock of a lock that is held", "");
	expect_violation(alone_read_in_write, "held for write", "");
	expect_violation(alone_mutex_twice, "mutex: taken twice", "");
	expect_violation(alone_out_of_order, "taken below: ksm_thread_mutex", "holding: mmap_lock");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_readers_share_writers_do_not, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_exclusion_under_load, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_waiting_writer_keeps_readers_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_child_nests_in_parent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_mutex, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_order_is_checked, set_up, tear_down),
		cmocka_unit_test(test_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
