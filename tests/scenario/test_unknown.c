/* SPDX-License-Identifier: GPL-2.0-only */
/* Ranges of unknown contents against one bit a page. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "model_seed.h"
#include "unknown.h"

#define PAGES 64

static uint64_t addr_of(unsigned int page)
{
	return page * PAGE_SIZE;
}

static void check(const struct unknown *u, const bool *bits)
{
	uint64_t total = 0;

	for (unsigned int i = 0; i < PAGES; i++) {
		assert_int_equal(unknown_pages(u, addr_of(i), addr_of(i + 1)), bits[i]);
		total += bits[i];
	}
	assert_int_equal(unknown_pages(u, 0, UINT64_MAX), total);
	for (uint32_t i = 0; i < u->nr; i++) {
		assert_true(u->list[i].start < u->list[i].end);
		if (i)
			assert_true(u->list[i - 1].end < u->list[i].start);
	}
}

static void test_model(void **state)
{
	struct random r = model_seed("scenario/unknown");
	struct unknown u = { 0 };
	bool bits[PAGES] = { false };
	struct mem mem;

	(void)state;
	mem_init(&mem);
	for (int round = 0; round < 20000; round++) {
		unsigned int a = random_below(&r, PAGES), b = random_below(&r, PAGES);
		unsigned int start = MIN(a, b), length = MAX(a, b) - start;
		unsigned int to = random_below(&r, PAGES - length);
		bool moved[PAGES];

		switch (random_below(&r, 4)) {
		case 0:
			assert_int_equal(unknown_add(&u, &mem, addr_of(start), addr_of(start + length)), 0);
			memset(bits + start, true, length);
			break;
		case 1:
		case 2:
			assert_int_equal(unknown_remove(&u, &mem, addr_of(start), addr_of(start + length)), 0);
			memset(bits + start, false, length);
			break;
		default:
			/* mremap refuses ranges that overlap (M2). */
			if (to < start + length && start < to + length)
				continue;
			assert_int_equal(unknown_move(&u, &mem, addr_of(start), addr_of(to), addr_of(length)), 0);
			memcpy(moved, bits + start, length);
			memset(bits + start, false, length);
			memcpy(bits + to, moved, length);
			break;
		}
		check(&u, bits);
	}
	unknown_destroy(&u, &mem);
	assert_int_equal(mem.nr_live, 0);
	assert_int_equal(mem.live_bytes, 0);
}

static void test_copy_is_its_own(void **state)
{
	struct unknown u = { 0 }, copy;
	struct mem mem;

	(void)state;
	mem_init(&mem);
	assert_int_equal(unknown_copy(&copy, &mem, &u), 0);
	assert_int_equal(copy.nr, 0);
	assert_int_equal(unknown_add(&u, &mem, addr_of(1), addr_of(4)), 0);
	assert_int_equal(unknown_copy(&copy, &mem, &u), 0);
	assert_int_equal(unknown_remove(&copy, &mem, addr_of(2), addr_of(3)), 0);
	assert_int_equal(unknown_pages(&u, 0, UINT64_MAX), 3);
	assert_int_equal(unknown_pages(&copy, 0, UINT64_MAX), 2);
	unknown_destroy(&u, &mem);
	unknown_destroy(&copy, &mem);
	assert_int_equal(mem.nr_live, 0);
}

static void test_out_of_memory(void **state)
{
	struct unknown u = { 0 }, copy;
	struct mem mem;

	(void)state;
	mem_init(&mem);
	mem.fail_at = 1;
	assert_int_equal(unknown_add(&u, &mem, addr_of(1), addr_of(2)), -ENOMEM);
	assert_int_equal(u.nr, 0);
	for (unsigned int i = 0; i < 16; i++)
		assert_int_equal(unknown_add(&u, &mem, addr_of(4 * i), addr_of(4 * i + 3)), 0);
	mem.fail_at = mem.nr_allocs + 1;
	assert_int_equal(unknown_remove(&u, &mem, addr_of(1), addr_of(2)), -ENOMEM);
	assert_int_equal(unknown_pages(&u, 0, UINT64_MAX), 48);
	mem.fail_at = mem.nr_allocs + 1;
	assert_int_equal(unknown_copy(&copy, &mem, &u), -ENOMEM);
	assert_int_equal(copy.nr, 0);
	unknown_destroy(&u, &mem);
	assert_int_equal(mem.nr_live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_copy_is_its_own),
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
