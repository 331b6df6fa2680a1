/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lock order checker: each kind of violation is provoked in a child process
 * and must end it with a message that names both locks; each legal sequence
 * must not. The checker's source is included with checks on, so that it is
 * tested in release builds too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#undef SP_DEBUG_LEVEL
#define SP_DEBUG_LEVEL 2
#include "rank.c"

#include "expect_abort.h"

static char locks[MAX_HELD + 1];

static void take_below(void)
{
	rank_acquire(RANK_anon_vma, &locks[0], false);
	rank_acquire(RANK_mmap_lock, &locks[1], false);
}

static void take_below_an_older_one(void)
{
	rank_acquire(RANK_mmap_lock, &locks[0], false);
	rank_acquire(RANK_anon_vma, &locks[1], false);
	rank_release(RANK_mmap_lock, &locks[0]);
	rank_acquire(RANK_folio_lock, &locks[2], false);
}

static void take_below_a_tried_one(void)
{
	rank_acquire(RANK_anon_vma, &locks[0], true);
	rank_acquire(RANK_folio_lock, &locks[1], false);
}

static void take_second_of_its_rank(void)
{
	rank_acquire(RANK_mmap_lock, &locks[0], false);
	rank_acquire(RANK_mmap_lock, &locks[1], false);
}

static void take_twice(void)
{
	rank_acquire(RANK_folio_lock, &locks[0], false);
	rank_acquire(RANK_folio_lock, &locks[0], false);
}

static void try_twice(void)
{
	rank_acquire(RANK_folio_lock, &locks[0], false);
	rank_acquire(RANK_folio_lock, &locks[0], true);
}

static void take_twice_under_another_rank(void)
{
	rank_acquire(RANK_mmap_lock, &locks[0], false);
	rank_acquire(RANK_mmap_lock_nested, &locks[0], false);
}

static void release_what_is_not_held(void)
{
	rank_acquire(RANK_mmap_lock, &locks[0], false);
	rank_release(RANK_mmap_lock, &locks[1]);
}

static void release_twice(void)
{
	rank_acquire(RANK_mmap_lock, &locks[0], false);
	rank_acquire(RANK_anon_vma, &locks[1], false);
	rank_release(RANK_anon_vma, &locks[1]);
	rank_release(RANK_anon_vma, &locks[1]);
}

static void take_too_many(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(locks); i++)
		rank_acquire(RANK_folio_lock, &locks[i], false);
}

static void return_with_a_lock(void)
{
	rank_assert_none_held();
	rank_acquire(RANK_ksm_thread_mutex, &locks[0], false);
	rank_assert_none_held();
}

static void test_violations(void **state)
{
	(void)state;
	expect_violation(take_below, "taken below: mmap_lock", "while holding: anon_vma");
	expect_violation(take_below_an_older_one, "taken below: folio_lock", "while holding: anon_vma");
	expect_violation(take_below_a_tried_one, "taken below: folio_lock", "while holding: anon_vma");
	expect_violation(take_second_of_its_rank, "second of its rank: mmap_lock", "while holding: mmap_lock");
	expect_violation(take_twice, "taken twice: folio_lock", "while holding: folio_lock");
	expect_violation(try_twice, "taken twice: folio_lock", "while holding: folio_lock");
	expect_violation(take_twice_under_another_rank, "taken twice: mmap_lock_nested", "while holding: mmap_lock");
	expect_violation(release_what_is_not_held, "released, not held: mmap_lock", "while holding: mmap_lock");
	expect_violation(release_twice, "released, not held: anon_vma", "while holding: mmap_lock");
	expect_violation(take_too_many, "too many locks: folio_lock", "while holding: folio_lock");
	expect_violation(return_with_a_lock, "still held: ksm_thread_mutex", "while holding: ksm_thread_mutex");
}

/* Any pair of ranks: allowed upward, refused downward; equal as the table says. */
static enum lock_rank first_rank, second_rank;

static void take_pair(void)
{
	rank_acquire(first_rank, &locks[0], false);
	rank_acquire(second_rank, &locks[1], false);
}

static void try_pair(void)
{
	rank_acquire(first_rank, &locks[0], false);
	rank_acquire(second_rank, &locks[1], true);
}

static void test_every_pair_of_ranks(void **state)
{
	(void)state;
	for (int first = 0; first < NR_LOCK_RANKS; first++) {
		for (int second = 0; second < NR_LOCK_RANKS; second++) {
			first_rank = (enum lock_rank)first;
			second_rank = (enum lock_rank)second;
			if (first < second || (first == second && ranks[first].many))
				expect_allowed(take_pair);
			else
				expect_violation(take_pair, ranks[second].name, ranks[first].name);
			expect_allowed(try_pair);
		}
	}
}

static void test_held_is_tracked(void **state)
{
	(void)state;
	rank_assert_none_held();
	assert_false(rank_held(&locks[0]));
	rank_acquire(RANK_mmap_lock, &locks[0], false);
	rank_acquire(RANK_folio_lock, &locks[1], true);
	rank_acquire(RANK_folio_lock, &locks[2], false);
	rank_acquire(RANK_anon_vma, &locks[3], false);
	for (int i = 0; i < 4; i++)
		assert_true(rank_held(&locks[i]));
	assert_false(rank_held(&locks[4]));
	/* Locks may be dropped in any order; the others stay held. */
	rank_release(RANK_folio_lock, &locks[1]);
	assert_false(rank_held(&locks[1]));
	rank_release(RANK_mmap_lock, &locks[0]);
	assert_true(rank_held(&locks[2]));
	assert_true(rank_held(&locks[3]));
	rank_release(RANK_anon_vma, &locks[3]);
	rank_release(RANK_folio_lock, &locks[2]);
	rank_assert_none_held();
	/* What was dropped is in nobody's way. */
	rank_acquire(RANK_ksm_thread_mutex, &locks[0], false);
	rank_release(RANK_ksm_thread_mutex, &locks[0]);
	rank_assert_none_held();
}

static void *look_from_another_thread(void *arg)
{
	bool *seen = arg;

	rank_assert_none_held();
	*seen = rank_held(&locks[0]);
	rank_acquire(RANK_ksm_thread_mutex, &locks[1], false);
	rank_release(RANK_ksm_thread_mutex, &locks[1]);
	return NULL;
}

static void test_each_thread_has_its_own(void **state)
{
	pthread_t thread;
	bool seen = true;

	(void)state;
	rank_acquire(RANK_anon_vma, &locks[0], false);
	assert_int_equal(pthread_create(&thread, NULL, look_from_another_thread, &seen), 0);
	pthread_join(thread, NULL);
	assert_false(seen);
	rank_release(RANK_anon_vma, &locks[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_violations),
		cmocka_unit_test(test_every_pair_of_ranks),
		cmocka_unit_test(test_held_is_tracked),
		cmocka_unit_test(test_each_thread_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
