/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Regions: random allocations that keep their bytes and do not overlap, a full region, accounts and
 * pools in one, and snapshots after which every byte is as it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "model_seed.h"

#define NR_OBJECTS 200
#define ROUNDS 20000

static struct region *create(size_t bytes)
{
	struct region *region;

	assert_int_equal(region_create(bytes, &region), 0);
	return region;
}

static void test_bounds(void **state)
{
	struct region *region;

	(void)state;
	assert_int_equal(region_create(REGION_BYTES_MIN - 1, &region), -EINVAL);
	assert_int_equal(region_create(REGION_BYTES_MAX + 1, &region), -EINVAL);
	region_destroy(NULL);
}

/* What is freed is reused: the region does not fill up, however long it is used. */
static void test_reuse(void **state)
{
	static const size_t sizes[] = { 0, 1, 16, 17, 72, 752, 1024, 1025, 1280, 1281, 5000, 6000 };
	struct region *region = create(64 << 10);
	size_t used;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		void *ptr = region_alloc(region, sizes[i]);

		assert_non_null(ptr);
		region_free(region, ptr, sizes[i]);
	}
	used = region_used_bytes(region);
	for (int round = 0; round < 1000; round++) {
		void *ptr[ARRAY_SIZE(sizes)];

		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			ptr[i] = region_alloc(region, sizes[i]);
			assert_non_null(ptr[i]);
			assert_int_equal((uintptr_t)ptr[i] % REGION_ALIGN, 0);
			memset(ptr[i], 0x5a, sizes[i]);
		}
		if (!round)
			/* No two of the sizes above share a class but 0, 1 and 16. */
			used = MAX(used, region_used_bytes(region));
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
			region_free(region, ptr[i], sizes[i]);
	}
	assert_true(region_used_bytes(region) <= used);
	region_destroy(region);
}

static void test_full(void **state)
{
	struct region *region = create(REGION_BYTES_MIN);
	unsigned int nr = 0, again = 0;

	(void)state;
	while (region_alloc(region, 100))
		nr++;
	assert_true(nr > 100 && nr < REGION_BYTES_MIN / 100);
	assert_null(region_alloc(region, REGION_BYTES_MIN));
	assert_null(region_alloc_slow(region, 4096, 100));
	region_reset(region);
	while (region_alloc(region, 100))
		again++;
	assert_int_equal(nr, again);
	region_destroy(region);
}

struct object {
	unsigned char *ptr;
	size_t bytes;
	unsigned char fill;
};

static void check(const struct object *o)
{
	for (size_t i = 0; o->ptr && i < o->bytes; i++)
		assert_int_equal(o->ptr[i], o->fill);
}

/* One allocation or release. */
static void step(struct region *region, struct object *objects, struct random *r)
{
	struct object *o = &objects[random_below(r, NR_OBJECTS)];
	size_t align = (size_t)1 << random_below(r, 9);

	if (o->ptr) {
		check(o);
		region_free(region, o->ptr, o->bytes);
		o->ptr = NULL;
		return;
	}
	o->bytes = random_below(r, 8) ? random_below(r, 300) : random_below(r, 9000);
	o->fill = (unsigned char)random_next(r);
	if (random_below(r, 4)) {
		o->ptr = region_alloc(region, o->bytes);
	} else {
		o->ptr = region_alloc_slow(region, align, o->bytes);
		assert_int_equal((uintptr_t)o->ptr % align, 0);
	}
	if (o->ptr)
		memset(o->ptr, o->fill, o->bytes);
}

static void test_objects_do_not_overlap(void **state)
{
	struct random r = model_seed("region");
	struct region *region = create(512 << 10);
	struct object objects[NR_OBJECTS] = { 0 };

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		step(region, objects, &r);
		if (i % 5000 == 4999) {
			for (int k = 0; k < NR_OBJECTS; k++)
				check(&objects[k]);
			region_reset(region);
			memset(objects, 0, sizeof(objects));
		}
	}
	region_destroy(region);
}

/* The same steps after a restore find the same addresses, and the bytes of the save. */
static void test_snapshot(void **state)
{
	struct random r = model_seed("region snapshot"), replay;
	struct region *region = create(512 << 10);
	struct object objects[NR_OBJECTS] = { 0 }, saved[NR_OBJECTS], later[NR_OBJECTS];
	unsigned char *prefix = region_alloc_prefix(region, 64, 24576);
	size_t bytes;
	void *buf;

	(void)state;
	assert_non_null(prefix);
	memset(prefix, 1, 1000);
	region_use_prefix(region, prefix, 1000);
	for (int i = 0; i < 500; i++)
		step(region, objects, &r);
	bytes = region_save_bytes(region);
	buf = malloc(bytes);
	assert_non_null(buf);
	if (REGION_USES_MALLOC) {
		assert_int_equal(region_save(region, buf), -EOPNOTSUPP);
		assert_int_equal(region_restore(region, buf), -EOPNOTSUPP);
		goto out;
	}
	/* What is not used of the prefix object is not saved. */
	assert_true(region_is_prefix(region, prefix));
	assert_true(bytes < (size_t)(prefix - (unsigned char *)region));
	assert_int_equal(region_save(region, buf), 0);
	memcpy(saved, objects, sizeof(saved));
	replay = r;
	memset(prefix, 2, 2000);
	region_use_prefix(region, prefix, 2000);
	for (int i = 0; i < 500; i++)
		step(region, objects, &r);
	memcpy(later, objects, sizeof(later));

	for (int round = 0; round < 3; round++) {
		struct random again = replay;

		assert_int_equal(region_restore(region, buf), 0);
		assert_int_equal(region_save_bytes(region), bytes);
		memcpy(objects, saved, sizeof(objects));
		for (int k = 0; k < NR_OBJECTS; k++)
			check(&objects[k]);
		for (int i = 0; i < 1000; i++)
			assert_int_equal(prefix[i], 1);
		for (int i = 0; i < 500; i++)
			step(region, objects, &again);
		for (int k = 0; k < NR_OBJECTS; k++)
			assert_ptr_equal(objects[k].ptr, later[k].ptr);
	}
out:
	free(buf);
	region_destroy(region);
}

/* More prefix objects than a region has places for, and one that is too large for its rest. */
static void test_prefixes(void **state)
{
	struct region *region = create(64 << 10);
	void *ptr;

	(void)state;
	for (unsigned int i = 0; i < REGION_NR_PREFIXES + 2; i++) {
		ptr = region_alloc_prefix(region, 64, 2000);
		assert_non_null(ptr);
		assert_int_equal((uintptr_t)ptr % 64, 0);
		memset(ptr, 3, 2000);
		region_use_prefix(region, ptr, 2000);
		assert_int_equal(region_is_prefix(region, ptr),
				 !REGION_USES_MALLOC && i < REGION_NR_PREFIXES);
	}
	assert_null(region_alloc_prefix(region, 64, 60000));
	assert_null(region_alloc_prefix(region, 64, 70000));
	region_destroy(region);
}

/* An account counts as elsewhere, and a full region is out of memory. */
static void test_account(void **state)
{
	struct region *region = create(REGION_BYTES_MIN);
	struct pool pool;
	struct mem mem;
	char *a, *p;
	unsigned int nr;

	(void)state;
	mem_init_in(&mem, region);
	pool_init(&pool, &mem, "test", 48);
	a = mem_alloc(&mem, 1000);
	assert_non_null(a);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(a[i], 0);
	memset(a, 7, 1000);
	a = mem_realloc(&mem, a, 1000, 2000);
	assert_non_null(a);
	assert_true(a[999] == 7 && a[1000] == 0 && a[1999] == 0);
	p = mem_alloc_aligned(&mem, 256, 300);
	assert_non_null(p);
	assert_int_equal((uintptr_t)p % 256, 0);
	assert_int_equal(mem.nr_live, 2);
	assert_int_equal(mem.live_bytes, 2300);
	mem_free(&mem, p, 300);
	p = mem_alloc_prefix(&mem, 64, 4096);
	assert_non_null(p);
	mem_use_prefix(&mem, p, 100);
	mem_free(&mem, p, 4096);

	p = pool_alloc(&pool);
	assert_non_null(p);
	memset(p, 9, 48);
	pool_free(&pool, p);
	p = pool_alloc(&pool);
	assert_non_null(p);
	for (int i = 0; i < 48; i++)
		assert_int_equal(p[i], 0);
	assert_int_equal(pool.nr_used, 1);
	for (nr = 0; pool_alloc(&pool); nr++)
		;
	assert_true(nr > 50);
	assert_int_equal(mem.nr_live, nr + 2);
	assert_null(mem_alloc(&mem, 8000));
	assert_null(mem_realloc(&mem, a, 2000, 8000));
	assert_true(a[999] == 7);
	assert_int_equal(mem.nr_failed, 0);
	pool_free(&pool, p);
	assert_non_null(pool_alloc(&pool));
	pool_abandon(&pool);
	mem_free(&mem, a, 2000);
	assert_int_equal(mem.nr_live, 0);
	assert_int_equal(mem.live_bytes, 0);
	region_destroy(region);
}

static void test_injected_failures(void **state)
{
	struct region *region = create(REGION_BYTES_MIN);
	struct mem mem;

	(void)state;
	mem_init_in(&mem, region);
	mem.fail_at = 2;
	assert_non_null(mem_alloc(&mem, 8));
	assert_null(mem_alloc_prefix(&mem, 64, 64));
	assert_non_null(mem_alloc_prefix(&mem, 64, 64));
	assert_int_equal(mem.nr_failed, 1);
	region_destroy(region);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_objects_do_not_overlap),
		cmocka_unit_test(test_snapshot),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_account),
		cmocka_unit_test(test_injected_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
