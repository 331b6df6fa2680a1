/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All memory of a machine is allocated here, so that it can be counted (the
 * engine reports its metadata per simulated page), checked for leaks, and
 * made to fail on purpose at the Nth allocation.
 *
 * `struct mem` is one account; a machine owns one. A `pool` hands out objects
 * of one size from chunks, because millions of rmap_items and frames would
 * drown in malloc headers, and because neighbours in time become neighbours
 * in memory, which the tree walks feel. Under AddressSanitizer every pool
 * object is a malloc of its own, so that a use after free is caught.
 *
 * An account may take everything from a region (region.h) instead of the C library; then pools have
 * no chunks either, and a full region is out of memory.
 *
 * Locking: none. One thread at a time uses an account and its pools; different
 * accounts are independent.
 *
 *	struct mem mem;
 *	struct pool pool;
 *	mem_init(&mem);
 *	pool_init(&pool, &mem, "vma", sizeof(struct vma));
 *	struct vma *vma = pool_alloc(&pool);	// zeroed, or NULL
 *	pool_free(&pool, vma);
 *	pool_destroy(&pool);			// asserts that all came back
 *	SP_ASSERT(mem.nr_live == 0);
 */
#ifndef SP_MEM_H
#define SP_MEM_H

#include "region.h"

struct mem {
	uint64_t nr_allocs;  /* allocations asked for so far, failed ones too */
	uint64_t fail_at;    /* the allocation (counted from 1) that fails; 0: none */
	uint64_t fail_count; /* how many fail from fail_at on; 0 means 1 */
	uint64_t nr_failed;  /* allocations that were refused */
	uint64_t nr_live;    /* objects not yet freed */
	uint64_t live_bytes; /* bytes taken from the system for this account */
	uint64_t peak_bytes;
	struct region *region; /* where all of it comes from; NULL: the C library */
};

/*
 * memset() to 0 by the C library: what the compiler makes of one of a known size, `rep stos`, takes
 * longer to start than a tiny machine's structures take to clear.
 */
void mem_clear(void *ptr, size_t size);

void mem_init(struct mem *mem);
void mem_init_in(struct mem *mem, struct region *region);

/* Zeroed memory or NULL. Counted; may be told to fail. */
void *mem_alloc(struct mem *mem, size_t size) SP_MUST_CHECK;
/* Same, not zeroed and aligned to `align` (a power of two, at least 8). */
void *mem_alloc_aligned(struct mem *mem, size_t align, size_t size) SP_MUST_CHECK;
/*
 * The same, for a large object that is used from its start only as far as mem_use_prefix() says:
 * in a region, only that part counts as used.
 */
void *mem_alloc_prefix(struct mem *mem, size_t align, size_t size) SP_MUST_CHECK;
static inline void mem_use_prefix(struct mem *mem, const void *ptr, size_t used)
{
	if (mem->region)
		region_use_prefix(mem->region, ptr, used);
}
/*
 * Resizes an array of `old` bytes to `size` bytes; new bytes are zero. NULL
 * leaves the old array as it was.
 */
void *mem_realloc(struct mem *mem, void *ptr, size_t old, size_t size) SP_MUST_CHECK;
/* `size` is what was asked for; NULL is ignored. */
void mem_free(struct mem *mem, void *ptr, size_t size);
/* True when this allocation is one that must fail; counts it either way. */
bool mem_should_fail(struct mem *mem);

struct pool_chunk;
struct pool_object;

struct pool {
	struct mem *mem;
	const char *name;
	size_t object_bytes;
	uint64_t nr_used;
	uint64_t bytes;           /* taken from the system, free objects included; see pool_bytes() */
	void *free;               /* singly linked through the objects */
	struct pool_chunk *chunks;
	char *bump, *bump_end;    /* never yet used part of the newest chunk */
	struct pool_object *live; /* under AddressSanitizer only: what is in use */
};

void pool_init(struct pool *pool, struct mem *mem, const char *name,
	       size_t object_bytes);
/* Every object must have been freed, except where `abandon` says otherwise. */
void pool_destroy(struct pool *pool);
/* Frees everything, live objects too; in a region, those are free after its reset. */
void pool_abandon(struct pool *pool);
/* A zeroed object, or NULL. */
void *pool_alloc(struct pool *pool) SP_MUST_CHECK;
/* The same, contents undefined: for objects that are filled at once. */
void *pool_alloc_raw(struct pool *pool) SP_MUST_CHECK;
void pool_free(struct pool *pool, void *object);

/* What it has taken. */
static inline uint64_t pool_bytes(const struct pool *pool)
{
	return pool->mem->region ? pool->nr_used * pool->object_bytes : pool->bytes;
}

#endif
