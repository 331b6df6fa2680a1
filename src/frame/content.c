/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Contents of pages: uniform words and buffers; see content.h.
 *
 * Whether a run of bytes repeats one byte is asked of memcmp, which is
 * vectorised: a run equals itself shifted by one exactly when all its bytes are
 * equal. The same idea orders a buffer against a uniform page without making
 * that page: once the first eight bytes are known to be the uniform byte, the
 * first place where the buffer differs from itself shifted by eight is the first
 * place where it differs from the uniform page, and with the same sign.
 *
 * What this does not do: share equal buffers between frames. Merging equal pages
 * is what the engine simulates; doing it to the simulation's own memory would
 * make the cost of a copy depend on what was merged.
 */
#include "content.h"

#include <errno.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "assertion.h"
#include "random.h"

void content_store_init(struct content_store *store, struct mem *mem, uint32_t bytes)
{
	SP_ASSERT(bytes >= CONTENT_BYTES_MIN && bytes <= CONTENT_BYTES_MAX);
	SP_ASSERT((bytes & (bytes - 1)) == 0);
	pool_init(&store->buffers, mem, "content", bytes);
	store->bytes = bytes;
	memset(store->uniform_byte, 0, sizeof(store->uniform_byte));
}

void content_store_destroy(struct content_store *store)
{
	pool_destroy(&store->buffers);
}

int content_copy(struct content_store *store, content_t c, content_t *ret)
{
	void *page;

	if (content_is_uniform(c)) {
		*ret = c;
		return 0;
	}
	page = pool_alloc_raw(&store->buffers);
	if (!page)
		return -ENOMEM;
	memcpy(page, (const void *)c, store->bytes);
	*ret = (content_t)page;
	return 0;
}

void content_free(struct content_store *store, content_t c)
{
	if (!content_is_uniform(c))
		pool_free(&store->buffers, (void *)c);
}

/* All bytes of the run are equal; length is not 0. */
static bool repeats_one_byte(const uint8_t *bytes, uint32_t length)
{
	return bytes[0] == bytes[length - 1] && memcmp(bytes, bytes + 1, length - 1) == 0;
}

int content_write(struct content_store *store, content_t *c, uint32_t offset, const void *buf,
		  uint32_t length)
{
	const uint8_t *bytes = buf;
	bool whole = length == store->bytes;

	SP_ASSERT(offset <= store->bytes && length <= store->bytes - offset);
	if (!length)
		return 0;
	if (whole && repeats_one_byte(bytes, length)) {
		content_free(store, *c);
		*c = content_uniform(bytes[0]);
		return 0;
	}
	if (content_is_uniform(*c)) {
		uint8_t byte = content_byte(*c);
		void *page;

		/* A test that rewrites what is there must not cost a buffer. */
		if (bytes[0] == byte && repeats_one_byte(bytes, length))
			return 0;
		page = pool_alloc_raw(&store->buffers);
		if (!page)
			return -ENOMEM;
		if (!whole)
			memset(page, byte, store->bytes);
		*c = (content_t)page;
	}
	memcpy((uint8_t *)*c + offset, bytes, length);
	return 0;
}

void content_read(const struct content_store *store, content_t c, uint32_t offset, void *buf,
		  uint32_t length)
{
	SP_ASSERT(offset <= store->bytes && length <= store->bytes - offset);
	if (content_is_uniform(c))
		memset(buf, content_byte(c), length);
	else
		memcpy(buf, (const uint8_t *)c + offset, length);
}

int content_random(struct content_store *store, content_t *c, uint64_t seed, uint64_t index)
{
	struct random r = { .state = seed };
	uint32_t offset;
	uint8_t *page;

	if (content_is_uniform(*c)) {
		page = pool_alloc_raw(&store->buffers);
		if (!page)
			return -ENOMEM;
		*c = (content_t)page;
	} else {
		page = (uint8_t *)*c;
	}
	/* Mixed twice, so that neighbouring seeds and indexes share no stretch of the stream. */
	r.state = random_next(&r) ^ index;
	r.state = random_next(&r);
	for (offset = 0; offset < store->bytes; offset += sizeof(uint64_t)) {
		uint64_t word = htole64(random_next(&r));

		memcpy(page + offset, &word, sizeof(word));
	}
	return 0;
}

int content_compare_rest(const struct content_store *store, content_t a, content_t b)
{
	const uint8_t *page_a = (const uint8_t *)a, *page_b = (const uint8_t *)b;

	if (content_is_uniform(a) && content_is_uniform(b))
		return 0;
	/* A buffer against itself shifted: the essay above says why. */
	if (content_is_uniform(a))
		page_a = page_b - 8;
	else if (content_is_uniform(b))
		page_b = page_a - 8;
	return memcmp(page_a + 8, page_b + 8, store->bytes - 8);
}

uint32_t content_checksum(struct content_store *store, content_t c)
{
	uint8_t byte = content_byte(c);
	uint32_t at = byte % CONTENT_NR_SUMS;

	if (!content_is_uniform(c))
		return (uint32_t)XXH64((const void *)c, store->bytes, 0);
	if (store->uniform_byte[at] != byte + 1) {
		uint8_t page[CONTENT_BYTES_MAX];

		memset(page, byte, store->bytes);
		store->uniform_sum[at] = (uint32_t)XXH64(page, store->bytes, 0);
		store->uniform_byte[at] = (uint16_t)(byte + 1);
	}
	return store->uniform_sum[at];
}
