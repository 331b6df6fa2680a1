/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accounts, failure injection, and fixed-size pools; see mem.h.
 *
 * A pool grows by chunks of up to 2 MiB. The free list is last-in,
 * first-out: the object freed last is the one still in cache, and the order
 * of addresses is the same in every run of the same scenario.
 *
 * In a region a pool has nothing of its own: its objects come from the region and go back there.
 */
#include "mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "assertion.h"

#define POOL_USES_MALLOC REGION_USES_MALLOC

#define CHUNK_BYTES_MIN ((size_t)4096)
#define CHUNK_BYTES_MAX ((size_t)2 << 20)

struct pool_chunk {
	struct pool_chunk *next;
	size_t bytes;
	/* Objects follow, from the next multiple of 64 bytes on. */
};

#define CHUNK_HEADER ((size_t)64)

/* In front of each object that is a malloc of its own. */
struct pool_object {
	struct pool_object *prev, *next;
};

void mem_clear(void *ptr, size_t size)
{
	memset(ptr, 0, size);
}

void mem_init(struct mem *mem)
{
	memset(mem, 0, sizeof(*mem));
}

void mem_init_in(struct mem *mem, struct region *region)
{
	mem_init(mem);
	mem->region = region;
}

static void account(struct mem *mem, size_t bytes)
{
	mem->live_bytes += bytes;
	if (mem->live_bytes > mem->peak_bytes)
		mem->peak_bytes = mem->live_bytes;
}

bool mem_should_fail(struct mem *mem)
{
	mem->nr_allocs++;
	if (__builtin_expect(!mem->fail_at, 1) || mem->nr_allocs < mem->fail_at)
		return false;
	if (mem->nr_allocs - mem->fail_at >= MAX(mem->fail_count, UINT64_C(1)))
		return false;
	mem->nr_failed++;
	return true;
}

void *mem_alloc(struct mem *mem, size_t size)
{
	void *ptr;

	if (mem_should_fail(mem))
		return NULL;
	if (mem->region) {
		ptr = region_alloc(mem->region, size);
		if (ptr)
			memset(ptr, 0, size);
	} else {
		ptr = calloc(1, size);
	}
	if (ptr) {
		mem->nr_live++;
		account(mem, size);
	}
	return ptr;
}

void *mem_alloc_aligned(struct mem *mem, size_t align, size_t size)
{
	void *ptr;

	if (mem_should_fail(mem))
		return NULL;
	if (mem->region)
		ptr = region_alloc_slow(mem->region, align, size);
	else if (posix_memalign(&ptr, align, size))
		ptr = NULL;
	if (ptr) {
		mem->nr_live++;
		account(mem, size);
	}
	return ptr;
}

void *mem_alloc_prefix(struct mem *mem, size_t align, size_t size)
{
	void *ptr;

	if (!mem->region)
		return mem_alloc_aligned(mem, align, size);
	if (mem_should_fail(mem))
		return NULL;
	ptr = region_alloc_prefix(mem->region, align, size);
	if (ptr) {
		mem->nr_live++;
		account(mem, size);
	}
	return ptr;
}

static void *realloc_in(struct region *region, void *ptr, size_t old, size_t size)
{
	void *new = region_alloc(region, size);

	if (new && ptr) {
		memcpy(new, ptr, MIN(old, size));
		region_free(region, ptr, old);
	}
	return new;
}

void *mem_realloc(struct mem *mem, void *ptr, size_t old, size_t size)
{
	void *new;

	if (mem_should_fail(mem))
		return NULL;
	new = mem->region ? realloc_in(mem->region, ptr, old, size) : realloc(ptr, size);
	if (!new)
		return NULL;
	if (size > old)
		memset((char *)new + old, 0, size - old);
	if (!ptr)
		mem->nr_live++;
	mem->live_bytes -= old;
	account(mem, size);
	return new;
}

void mem_free(struct mem *mem, void *ptr, size_t size)
{
	if (!ptr)
		return;
	SP_ASSERT(mem->nr_live > 0);
	mem->nr_live--;
	mem->live_bytes -= size;
	if (!mem->region)
		free(ptr);
	else if (!region_is_prefix(mem->region, ptr))
		region_free(mem->region, ptr, size);
}

void pool_init(struct pool *pool, struct mem *mem, const char *name,
	       size_t object_bytes)
{
	memset(pool, 0, sizeof(*pool));
	pool->mem = mem;
	pool->name = name;
	/* A free object holds the link of the free list. */
	pool->object_bytes = (MAX(object_bytes, sizeof(void *)) + 7) & ~(size_t)7;
}

static bool pool_grow(struct pool *pool)
{
	size_t last = pool->chunks ? pool->chunks->bytes : CHUNK_BYTES_MIN / 4;
	size_t bytes = MIN(last * 4, CHUNK_BYTES_MAX);
	struct pool_chunk *chunk;

	while (bytes < CHUNK_HEADER + pool->object_bytes)
		bytes *= 2;
	if (posix_memalign((void **)&chunk, bytes >= CHUNK_BYTES_MAX ? CHUNK_BYTES_MAX : 64, bytes))
		return false;
	/*
	 * Walks jump between objects of one pool: huge pages keep the TLB out
	 * of what they measure. A refusal costs nothing but speed.
	 */
	if (bytes >= CHUNK_BYTES_MAX)
		(void)madvise(chunk, bytes, MADV_HUGEPAGE);
	chunk->next = pool->chunks;
	chunk->bytes = bytes;
	pool->chunks = chunk;
	pool->bump = (char *)chunk + CHUNK_HEADER;
	pool->bump_end = (char *)chunk + bytes;
	account(pool->mem, bytes);
	pool->bytes += bytes;
	return true;
}

void *pool_alloc_raw(struct pool *pool)
{
	void *object;

	if (mem_should_fail(pool->mem))
		return NULL;
	if (pool->mem->region) {
		object = region_alloc(pool->mem->region, pool->object_bytes);
		if (!object)
			return NULL;
		account(pool->mem, pool->object_bytes);
	} else if (POOL_USES_MALLOC) {
		struct pool_object *header = malloc(sizeof(*header) + pool->object_bytes);

		if (!header)
			return NULL;
		header->prev = NULL;
		header->next = pool->live;
		if (pool->live)
			pool->live->prev = header;
		pool->live = header;
		object = header + 1;
		account(pool->mem, pool->object_bytes);
		pool->bytes += pool->object_bytes;
	} else if (pool->free) {
		object = pool->free;
		memcpy(&pool->free, object, sizeof(void *));
	} else {
		if ((size_t)(pool->bump_end - pool->bump) < pool->object_bytes &&
		    !pool_grow(pool))
			return NULL;
		object = pool->bump;
		pool->bump += pool->object_bytes;
	}
	pool->nr_used++;
	pool->mem->nr_live++;
	return object;
}

void *pool_alloc(struct pool *pool)
{
	void *object = pool_alloc_raw(pool);

	if (object)
		memset(object, 0, pool->object_bytes);
	return object;
}

void pool_free(struct pool *pool, void *object)
{
	SP_ASSERT(pool->nr_used > 0);
	pool->nr_used--;
	pool->mem->nr_live--;
	if (pool->mem->region) {
		if (SP_DEBUG_LEVEL >= 1)
			memset(object, 0x6b, pool->object_bytes);
		pool->mem->live_bytes -= pool->object_bytes;
		region_free(pool->mem->region, object, pool->object_bytes);
		return;
	}
	if (POOL_USES_MALLOC) {
		struct pool_object *header = (struct pool_object *)object - 1;

		if (header->prev)
			header->prev->next = header->next;
		else
			pool->live = header->next;
		if (header->next)
			header->next->prev = header->prev;
		pool->mem->live_bytes -= pool->object_bytes;
		pool->bytes -= pool->object_bytes;
		free(header);
		return;
	}
	/* Whoever still reads a freed object reads junk, not its old state. */
	if (SP_DEBUG_LEVEL >= 1)
		memset(object, 0x6b, pool->object_bytes);
	memcpy(object, &pool->free, sizeof(void *));
	pool->free = object;
}

void pool_abandon(struct pool *pool)
{
	struct pool_chunk *chunk = pool->chunks;

	while (pool->live) {
		struct pool_object *next = pool->live->next;

		pool->mem->live_bytes -= pool->object_bytes;
		pool->bytes -= pool->object_bytes;
		free(pool->live);
		pool->live = next;
	}
	pool->mem->nr_live -= pool->nr_used;
	/* Whose objects they are, only the region's reset knows. */
	if (pool->mem->region)
		pool->mem->live_bytes -= pool_bytes(pool);
	while (chunk) {
		struct pool_chunk *next = chunk->next;

		pool->mem->live_bytes -= chunk->bytes;
		free(chunk);
		chunk = next;
	}
	memset(pool, 0, sizeof(*pool));
}

void pool_destroy(struct pool *pool)
{
	if (pool->mem)
		SP_ASSERT(pool->nr_used == 0);
	if (pool->mem)
		pool_abandon(pool);
}
