/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accounts, the Nth failure, and pools. The counts are compared with what was
 * asked for by hand; every failed call must leave the account as it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "mem.h"
#include "random.h"

static void assert_bytes(const void *ptr, size_t from, size_t to, unsigned char value)
{
	const unsigned char *bytes = ptr;

	for (size_t i = from; i < to; i++)
		assert_int_equal(bytes[i], value);
}

static void test_account_counts(void **state)
{
	struct mem mem;
	char *a, *b;

	(void)state;
	mem_init(&mem);
	a = mem_alloc(&mem, 1000);
	assert_non_null(a);
	assert_bytes(a, 0, 1000, 0);
	memset(a, 1, 1000);
	b = mem_alloc_aligned(&mem, 4096, 8192);
	assert_non_null(b);
	assert_int_equal((uintptr_t)b % 4096, 0);
	memset(b, 2, 8192);
	assert_int_equal(mem.nr_allocs, 2);
	assert_int_equal(mem.nr_live, 2);
	assert_int_equal(mem.live_bytes, 9192);

	a = mem_realloc(&mem, a, 1000, 3000);
	assert_non_null(a);
	assert_bytes(a, 0, 1000, 1);
	assert_bytes(a, 1000, 3000, 0);
	assert_int_equal(mem.nr_live, 2);
	assert_int_equal(mem.live_bytes, 11192);
	a = mem_realloc(&mem, a, 3000, 500);
	assert_non_null(a);
	assert_bytes(a, 0, 500, 1);
	assert_int_equal(mem.live_bytes, 8692);
	assert_int_equal(mem.peak_bytes, 11192);

	mem_free(&mem, NULL, 77);
	mem_free(&mem, a, 500);
	assert_int_equal(mem.live_bytes, 8192);
	mem_free(&mem, b, 8192);
	assert_int_equal(mem.nr_live, 0);
	assert_int_equal(mem.live_bytes, 0);
	assert_int_equal(mem.peak_bytes, 11192);
	assert_int_equal(mem.nr_allocs, 4);
	assert_int_equal(mem.nr_failed, 0);
}

static void test_realloc_of_nothing_allocates(void **state)
{
	struct mem mem;
	char *ptr;

	(void)state;
	mem_init(&mem);
	ptr = mem_realloc(&mem, NULL, 0, 64);
	assert_non_null(ptr);
	assert_bytes(ptr, 0, 64, 0);
	assert_int_equal(mem.nr_live, 1);
	assert_int_equal(mem.live_bytes, 64);
	mem_free(&mem, ptr, 64);
	assert_int_equal(mem.nr_live, 0);
}

/* One of each kind of allocation; the number of the one that failed, or 0. */
static int allocate_all(struct mem *mem, struct pool *pool, void *ptrs[5])
{
	memset(ptrs, 0, 5 * sizeof(ptrs[0]));
	if (!(ptrs[0] = mem_alloc(mem, 10)))
		return 1;
	if (!(ptrs[1] = mem_alloc_aligned(mem, 64, 20)))
		return 2;
	if (!(ptrs[2] = mem_realloc(mem, NULL, 0, 30)))
		return 3;
	if (!(ptrs[3] = pool_alloc(pool)))
		return 4;
	if (!(ptrs[4] = pool_alloc_raw(pool)))
		return 5;
	return 0;
}

static void free_all(struct mem *mem, struct pool *pool, void *ptrs[5])
{
	mem_free(mem, ptrs[0], 10);
	mem_free(mem, ptrs[1], 20);
	mem_free(mem, ptrs[2], 30);
	for (int i = 3; i < 5; i++)
		if (ptrs[i])
			pool_free(pool, ptrs[i]);
}

static void test_nth_allocation_fails(void **state)
{
	struct pool pool;
	struct mem mem;
	void *ptrs[5];

	(void)state;
	for (int n = 1; n <= 6; n++) {
		mem_init(&mem);
		pool_init(&pool, &mem, "test", 40);
		mem.fail_at = (uint64_t)n;
		assert_int_equal(allocate_all(&mem, &pool, ptrs), n < 6 ? n : 0);
		assert_int_equal(mem.nr_failed, n < 6);
		assert_int_equal(mem.nr_allocs, MIN(n, 5));
		assert_int_equal(mem.nr_live, MIN(n - 1, 5));
		free_all(&mem, &pool, ptrs);
		/* Only that one fails: the next attempt gets everything (n = 6: its first is the sixth). */
		assert_int_equal(allocate_all(&mem, &pool, ptrs), n == 6 ? 1 : 0);
		free_all(&mem, &pool, ptrs);
		assert_int_equal(mem.nr_live, 0);
		pool_destroy(&pool);
		assert_int_equal(mem.live_bytes, 0);
	}
}

static void test_several_allocations_fail(void **state)
{
	struct mem mem;
	void *ptr;

	(void)state;
	mem_init(&mem);
	mem.fail_at = 3;
	mem.fail_count = 4;
	for (int i = 1; i <= 10; i++) {
		ptr = mem_alloc(&mem, 8);
		if (i >= 3 && i < 7)
			assert_null(ptr);
		else
			assert_non_null(ptr);
		mem_free(&mem, ptr, 8);
	}
	assert_int_equal(mem.nr_failed, 4);
	assert_int_equal(mem.nr_allocs, 10);
	assert_int_equal(mem.nr_live, 0);
}

static void test_failed_realloc_keeps_the_array(void **state)
{
	struct mem mem;
	char *ptr;

	(void)state;
	mem_init(&mem);
	ptr = mem_alloc(&mem, 100);
	assert_non_null(ptr);
	memset(ptr, 7, 100);
	mem.fail_at = 2;
	assert_null(mem_realloc(&mem, ptr, 100, 100000));
	assert_bytes(ptr, 0, 100, 7);
	assert_int_equal(mem.nr_live, 1);
	assert_int_equal(mem.live_bytes, 100);
	mem_free(&mem, ptr, 100);
}

/* Objects of a pool are zeroed, aligned, disjoint, and survive any order of frees. */
static void run_pool(size_t bytes, unsigned int nr, struct random *r)
{
	unsigned char **objects;
	struct pool pool;
	struct mem mem;
	unsigned int used = 0;

	mem_init(&mem);
	pool_init(&pool, &mem, "test", bytes);
	objects = mem_alloc(&mem, nr * sizeof(*objects));
	assert_non_null(objects);
	for (unsigned int op = 0; op < 6 * nr; op++) {
		unsigned int i = random_below(r, nr);

		if (objects[i]) {
			assert_bytes(objects[i], 0, bytes, (unsigned char)(i | 1));
			pool_free(&pool, objects[i]);
			objects[i] = NULL;
			used--;
		} else {
			objects[i] = pool_alloc(&pool);
			assert_non_null(objects[i]);
			assert_int_equal((uintptr_t)objects[i] % 8, 0);
			assert_bytes(objects[i], 0, bytes, 0);
			memset(objects[i], (int)(i | 1), bytes);
			used++;
		}
		assert_int_equal(pool.nr_used, used);
		assert_int_equal(mem.nr_live, used + 1);
		assert_true(mem.live_bytes >= used * bytes);
	}
	for (unsigned int i = 0; i < nr; i++) {
		if (!objects[i])
			continue;
		assert_bytes(objects[i], 0, bytes, (unsigned char)(i | 1));
		pool_free(&pool, objects[i]);
	}
	pool_destroy(&pool);
	mem_free(&mem, objects, nr * sizeof(*objects));
	assert_int_equal(mem.nr_live, 0);
	assert_int_equal(mem.live_bytes, 0);
}

static void test_pool_objects(void **state)
{
	struct random r = { 1 };

	(void)state;
	run_pool(1, 100, &r);
	run_pool(24, 3000, &r);
	run_pool(104, 2000, &r);
	/* Larger than the first chunk, and than the largest. */
	run_pool(5000, 20, &r);
	run_pool((size_t)3 << 20, 3, &r);
}

static void test_pool_memory_is_reused(void **state)
{
	void *objects[1000];
	struct pool pool;
	struct mem mem;
	uint64_t peak = 0;

	(void)state;
	mem_init(&mem);
	pool_init(&pool, &mem, "test", 96);
	for (int round = 0; round < 5; round++) {
		for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
			objects[i] = pool_alloc_raw(&pool);
			assert_non_null(objects[i]);
		}
		if (!round)
			peak = mem.peak_bytes;
		for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
			pool_free(&pool, objects[i]);
	}
	assert_int_equal(mem.peak_bytes, peak);
	/* Chunks grow, so a pool may be the larger part unused, but not more. */
	assert_true(peak >= sizeof(objects) / sizeof(objects[0]) * 96);
	assert_true(peak < 5 * sizeof(objects) / sizeof(objects[0]) * 96);
	pool_destroy(&pool);
	assert_int_equal(mem.live_bytes, 0);
}

static void test_abandon_frees_live_objects(void **state)
{
	struct pool pool, other;
	struct mem mem;
	void *kept;

	(void)state;
	mem_init(&mem);
	pool_init(&pool, &mem, "test", 200);
	pool_init(&other, &mem, "other", 200);
	kept = pool_alloc(&other);
	assert_non_null(kept);
	for (int i = 0; i < 500; i++) {
		void *object = pool_alloc(&pool);

		assert_non_null(object);
		if (i % 3 == 0)
			pool_free(&pool, object);
	}
	pool_abandon(&pool);
	assert_int_equal(mem.nr_live, 1);
	pool_free(&other, kept);
	pool_destroy(&other);
	assert_int_equal(mem.nr_live, 0);
	assert_int_equal(mem.live_bytes, 0);
	/* Both may be destroyed again: owners that failed half-way do. */
	pool_destroy(&pool);
	pool_destroy(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_account_counts),
		cmocka_unit_test(test_realloc_of_nothing_allocates),
		cmocka_unit_test(test_nth_allocation_fails),
		cmocka_unit_test(test_several_allocations_fail),
		cmocka_unit_test(test_failed_realloc_keeps_the_array),
		cmocka_unit_test(test_pool_objects),
		cmocka_unit_test(test_pool_memory_is_reused),
		cmocka_unit_test(test_abandon_frees_live_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
