/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a page contains.
 *
 * A content is one word. Most simulated pages hold a single repeated byte
 * (zero pages, test patterns), so that case is stored in the word itself:
 *
 *	bit 0 set:   every byte is bits 8..15                   ("uniform")
 *	bit 0 clear: pointer to content_bytes bytes in a pool; never NULL
 *
 * Uniform content needs no memory; a partial write makes it a buffer. A buffer
 * may happen to hold one repeated byte (partial writes do not look), so whether
 * two contents are equal is content_compare()'s to say, never the words'. The
 * order of two contents is memcmp's over content_bytes (K20), the checksum is
 * the low 32 bits of XXH64 with seed 0 (K18); both give the same answer for
 * either representation.
 *
 * A machine may store fewer than 4096 bytes a page (content_bytes): searches
 * over millions of tiny machines do not care for contents, only for equality.
 *
 *	content_t c = CONTENT_ZERO;
 *	err = content_write(&store, &c, 0, "text", 4);	// may fail: needs a buffer
 *	sum = content_checksum(&store, c);
 *	content_free(&store, c);
 *
 * Locking: none; the owner of the frame or swap slot that holds the content.
 */
#ifndef SP_CONTENT_H
#define SP_CONTENT_H

#include <endian.h>
#include <string.h>

#include "mem.h"

typedef uintptr_t content_t;

#define CONTENT_BYTES_MIN 8u
#define CONTENT_BYTES_MAX 4096u

/* A machine has few different ones, and this is part of each of millions of machines. */
#define CONTENT_NR_SUMS 32u

struct content_store {
	struct pool buffers;
	uint32_t bytes;              /* per page: power of two, 8..4096 */
	/* Checksums of uniform contents, the last met of those that share a place. */
	uint32_t uniform_sum[CONTENT_NR_SUMS];
	uint16_t uniform_byte[CONTENT_NR_SUMS]; /* whose: the byte, plus 1; 0: nobody's */
};

static inline content_t content_uniform(uint8_t byte)
{
	return (content_t)byte << 8 | 1;
}

#define CONTENT_ZERO content_uniform(0)

static inline bool content_is_uniform(content_t c)
{
	return c & 1;
}

static inline uint8_t content_byte(content_t c)
{
	return (uint8_t)(c >> 8);
}

void content_store_init(struct content_store *store, struct mem *mem, uint32_t bytes);
/* Every content must have been freed. */
void content_store_destroy(struct content_store *store);

/* A private copy: 0 and *ret, or -ENOMEM. Uniform contents never fail. */
int content_copy(struct content_store *store, content_t c, content_t *ret) SP_MUST_CHECK;
/* Gives the memory back; the word is then worthless. */
void content_free(struct content_store *store, content_t c);
/*
 * Overwrites length bytes at offset (offset + length <= bytes). *c may change
 * representation; -ENOMEM leaves it as it was. A write of a whole page of one
 * byte makes it uniform.
 */
int content_write(struct content_store *store, content_t *c, uint32_t offset, const void *buf,
		  uint32_t length) SP_MUST_CHECK;
void content_read(const struct content_store *store, content_t c, uint32_t offset, void *buf,
		  uint32_t length);
/*
 * Fills the page with random bytes that are a function of (seed, index). A store
 * of fewer bytes a page gets the first bytes of the same page. -ENOMEM leaves *c
 * as it was.
 */
int content_random(struct content_store *store, content_t *c, uint64_t seed,
		   uint64_t index) SP_MUST_CHECK;

uint32_t content_checksum(struct content_store *store, content_t c);

/*
 * The first eight bytes as a big-endian number: orders as memcmp does, so two
 * different prefixes decide a comparison without touching the rest.
 */
static inline uint64_t content_prefix(content_t c)
{
	uint64_t word;

	if (content_is_uniform(c))
		return content_byte(c) * UINT64_C(0x0101010101010101);
	memcpy(&word, (const void *)c, sizeof(word));
	return be64toh(word);
}

/* The rest of content_compare(), for equal prefixes. */
int content_compare_rest(const struct content_store *store, content_t a, content_t b);

/* <0, 0, >0 as memcmp of the pages. Inline, since a tree search is made of it. */
static inline int content_compare(const struct content_store *store, content_t a, content_t b)
{
	uint64_t prefix_a, prefix_b;

	if (a == b)
		return 0;
	prefix_a = content_prefix(a);
	prefix_b = content_prefix(b);
	if (prefix_a != prefix_b)
		return prefix_a < prefix_b ? -1 : 1;
	return content_compare_rest(store, a, b);
}

#endif
