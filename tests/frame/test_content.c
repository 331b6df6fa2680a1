/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Contents against plain byte arrays: whatever the representation, a content reads,
 * compares and sums as the page that it stands for.
 */
#include "frame_test.h"

#include <errno.h>

#include <xxhash.h>

#include "content.h"

#define NR_PAGES 24u

static int sign(int value)
{
	return (value > 0) - (value < 0);
}

static void test_known_checksums(void **state)
{
	struct content_store store;
	struct mem mem;

	(void)state;
	mem_init(&mem);
	content_store_init(&store, &mem, 4096);
	/* K18. Twice: the second comes from the store's memory. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(content_checksum(&store, CONTENT_ZERO), 0x32d8bbdb);
		assert_int_equal(content_checksum(&store, content_uniform(0x77)), 0xb01071aa);
		assert_int_equal(content_checksum(&store, content_uniform(0xcf)), 0xced8678f);
	}
	content_store_destroy(&store);
	assert_int_equal(mem.nr_live, 0);
}

static void test_uniform_needs_no_memory(void **state)
{
	content_t c = CONTENT_ZERO, copy;
	struct content_store store;
	uint8_t page[4096];
	struct mem mem;

	(void)state;
	mem_init(&mem);
	content_store_init(&store, &mem, 4096);
	memset(page, 0x5a, sizeof(page));
	assert_int_equal(content_write(&store, &c, 0, page, 4096), 0);
	assert_true(content_is_uniform(c));
	assert_int_equal(content_byte(c), 0x5a);
	/* What is there already is no reason for a buffer. */
	assert_int_equal(content_write(&store, &c, 100, page, 7), 0);
	assert_int_equal(content_copy(&store, c, &copy), 0);
	assert_int_equal(copy, c);
	assert_int_equal(mem.nr_allocs, 0);

	/* One other byte is, and a whole uniform page gives the buffer back. */
	assert_int_equal(content_write(&store, &c, 100, "x", 1), 0);
	assert_false(content_is_uniform(c));
	assert_int_equal(mem.nr_live, 1);
	assert_int_equal(content_write(&store, &c, 0, page, 4096), 0);
	assert_true(content_is_uniform(c));
	assert_int_equal(mem.nr_live, 0);
	content_store_destroy(&store);
}

/* Orders at the places where the representations meet. */
static void test_compare_edges(void **state)
{
	static const uint32_t places[] = { 0, 7, 8, 9, 4088, 4095 };
	struct content_store store;
	struct mem mem;

	(void)state;
	mem_init(&mem);
	content_store_init(&store, &mem, 4096);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		content_t uniform = content_uniform(0x80), c = uniform;

		assert_int_equal(content_write(&store, &c, places[i], "\x81", 1), 0);
		assert_true(content_compare(&store, c, uniform) > 0);
		assert_true(content_compare(&store, uniform, c) < 0);
		assert_int_equal(content_write(&store, &c, places[i], "\x7f", 1), 0);
		assert_true(content_compare(&store, c, uniform) < 0);
		assert_true(content_compare(&store, uniform, c) > 0);
		/* A buffer that holds one repeated byte after all. */
		assert_int_equal(content_write(&store, &c, places[i], "\x80", 1), 0);
		assert_false(content_is_uniform(c));
		assert_int_equal(content_compare(&store, c, uniform), 0);
		assert_int_equal(content_compare(&store, uniform, c), 0);
		assert_int_equal(content_checksum(&store, c), content_checksum(&store, uniform));
		content_free(&store, c);
	}
	content_store_destroy(&store);
}

static void test_random_is_a_function_of_seed_and_index(void **state)
{
	content_t a = CONTENT_ZERO, b = CONTENT_ZERO, small = CONTENT_ZERO;
	struct content_store store, small_store;
	uint8_t bytes[4096], small_bytes[64];
	unsigned int ones = 0;
	struct mem mem;

	(void)state;
	mem_init(&mem);
	content_store_init(&store, &mem, 4096);
	content_store_init(&small_store, &mem, 64);
	assert_int_equal(content_random(&store, &a, 7, 9), 0);
	assert_int_equal(content_random(&store, &b, 7, 9), 0);
	assert_int_equal(content_compare(&store, a, b), 0);
	assert_int_equal(content_random(&store, &b, 7, 10), 0);
	assert_int_not_equal(content_compare(&store, a, b), 0);
	assert_int_equal(content_random(&store, &b, 8, 9), 0);
	assert_int_not_equal(content_compare(&store, a, b), 0);

	assert_int_equal(content_random(&small_store, &small, 7, 9), 0);
	content_read(&store, a, 0, bytes, sizeof(bytes));
	content_read(&small_store, small, 0, small_bytes, sizeof(small_bytes));
	assert_memory_equal(bytes, small_bytes, sizeof(small_bytes));

	/* 32768 bits; six standard deviations are 543. */
	for (size_t i = 0; i < sizeof(bytes); i++)
		ones += (unsigned int)__builtin_popcount(bytes[i]);
	assert_in_range(ones, 16384 - 543, 16384 + 543);

	content_free(&store, a);
	content_free(&store, b);
	content_free(&small_store, small);
	content_store_destroy(&store);
	content_store_destroy(&small_store);
	assert_int_equal(mem.nr_live, 0);
}

struct model {
	struct content_store store;
	content_t content[NR_PAGES];
	uint8_t page[NR_PAGES][4096];
};

static void model_check_pair(struct model *m, uint32_t a, uint32_t b)
{
	uint32_t bytes = m->store.bytes;
	uint8_t page[4096];

	content_read(&m->store, m->content[a], 0, page, bytes);
	assert_memory_equal(page, m->page[a], bytes);
	assert_int_equal(content_checksum(&m->store, m->content[a]),
			 (uint32_t)XXH64(m->page[a], bytes, 0));
	assert_int_equal(sign(content_compare(&m->store, m->content[a], m->content[b])),
			 sign(memcmp(m->page[a], m->page[b], bytes)));
}

static void model_step(struct model *m, struct random *r)
{
	uint32_t i = random_below(r, NR_PAGES), j = random_below(r, NR_PAGES);
	uint32_t bytes = m->store.bytes;
	uint32_t offset = random_below(r, bytes), length = random_below(r, bytes - offset + 1);
	uint8_t buf[4096];

	switch (random_below(r, 6)) {
	case 0: /* few values, so that pages do meet */
		memset(buf, (int)random_below(r, 3), length);
		assert_int_equal(content_write(&m->store, &m->content[i], offset, buf, length), 0);
		memcpy(m->page[i] + offset, buf, length);
		break;
	case 1:
		memset(buf, (int)random_below(r, 3) + 0x7f, bytes);
		assert_int_equal(content_write(&m->store, &m->content[i], 0, buf, bytes), 0);
		memcpy(m->page[i], buf, bytes);
		break;
	case 2:
		for (uint32_t k = 0; k < length; k++)
			buf[k] = (uint8_t)random_next(r);
		assert_int_equal(content_write(&m->store, &m->content[i], offset, buf, length), 0);
		memcpy(m->page[i] + offset, buf, length);
		break;
	case 3:
		if (i == j)
			break;
		content_free(&m->store, m->content[i]);
		assert_int_equal(content_copy(&m->store, m->content[j], &m->content[i]), 0);
		memcpy(m->page[i], m->page[j], bytes);
		break;
	case 4: /* a copy that differs in one byte */
		if (i == j)
			break;
		content_free(&m->store, m->content[i]);
		assert_int_equal(content_copy(&m->store, m->content[j], &m->content[i]), 0);
		memcpy(m->page[i], m->page[j], bytes);
		m->page[i][offset] ^= (uint8_t)(1u << random_below(r, 8));
		assert_int_equal(content_write(&m->store, &m->content[i], offset,
					       &m->page[i][offset], 1), 0);
		break;
	case 5:
		content_read(&m->store, m->content[i], offset, buf, length);
		assert_memory_equal(buf, m->page[i] + offset, length);
		break;
	}
	model_check_pair(m, i, j);
	model_check_pair(m, j, i);
}

static void test_model(void **state)
{
	static const uint32_t sizes[] = { 8, 16, 256, 4096 };
	struct random r = test_random();
	struct model *m = malloc(sizeof(*m));

	(void)state;
	assert_non_null(m);
	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
		uint64_t nr_buffers = 0;
		struct mem mem;

		mem_init(&mem);
		content_store_init(&m->store, &mem, sizes[s]);
		memset(m->page, 0, sizeof(m->page));
		for (uint32_t i = 0; i < NR_PAGES; i++)
			m->content[i] = CONTENT_ZERO;
		for (int step = 0; step < 3000; step++)
			model_step(m, &r);
		for (uint32_t i = 0; i < NR_PAGES; i++)
			nr_buffers += !content_is_uniform(m->content[i]);
		assert_int_equal(mem.nr_live, nr_buffers);
		for (uint32_t i = 0; i < NR_PAGES; i++)
			content_free(&m->store, m->content[i]);
		content_store_destroy(&m->store);
		assert_int_equal(mem.live_bytes, 0);
	}
	free(m);
}

static bool failing_body(struct mem *mem)
{
	content_t c = content_uniform(3), copy = CONTENT_ZERO, random = content_uniform(4);
	struct content_store store;
	bool failed = false;
	int err;

	content_store_init(&store, mem, 4096);
	err = content_write(&store, &c, 5, "text", 4);
	if (err) {
		assert_int_equal(err, -ENOMEM);
		assert_int_equal(c, content_uniform(3));
		failed = true;
	}
	err = content_copy(&store, c, &copy);
	if (err) {
		assert_int_equal(err, -ENOMEM);
		assert_int_equal(copy, CONTENT_ZERO);
		failed = true;
	}
	err = content_random(&store, &random, 1, 2);
	if (err) {
		assert_int_equal(err, -ENOMEM);
		assert_int_equal(random, content_uniform(4));
		failed = true;
	}
	content_free(&store, c);
	content_free(&store, copy);
	content_free(&store, random);
	content_store_destroy(&store);
	return failed;
}

static void test_allocation_failures(void **state)
{
	(void)state;
	sweep_allocation_failures(failing_body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_checksums),
		cmocka_unit_test(test_uniform_needs_no_memory),
		cmocka_unit_test(test_compare_edges),
		cmocka_unit_test(test_random_is_a_function_of_seed_and_index),
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
