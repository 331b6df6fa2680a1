/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Regions: their birth and end, large objects, prefix objects, snapshots; see region.h.
 *
 * A saved region is its bottom part, header first, and behind it the used part of each prefix
 * object, in order. How long each is stands in the header, so a buffer describes itself.
 *
 *	|header|objects ...      ->top|   free   |bottom->  prefix objects|
 *
 * Small objects are the inline functions' business. A large object's class is the size rounded up
 * to a quarter of a power of two, so that a class has one size and any object of it serves; larger
 * alignments than 64 are looked at in the one object that comes next, no further.
 */
#include "region.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "assertion.h"
#include "mem.h"

#define LARGE_ALIGN 64u

/* In front of each object that is a malloc of its own; keeps it aligned to 64. */
struct region_object {
	struct region_object *prev, *next;
	size_t offset; /* from what malloc returned to this header */
};

#define HEADER_BYTES ((uint32_t)((sizeof(struct region) + LARGE_ALIGN - 1) & ~(LARGE_ALIGN - 1)))

_Static_assert(sizeof(struct region) <= 1024, "every snapshot has it");

int region_create(size_t bytes, struct region **ret)
{
	struct region *region;

	if (bytes < REGION_BYTES_MIN || bytes > REGION_BYTES_MAX)
		return -EINVAL;
	bytes = (bytes + PAGE_SIZE - 1) & ~(size_t)(PAGE_SIZE - 1);
	if (REGION_USES_MALLOC) {
		region = calloc(1, sizeof(*region));
		if (!region)
			return -ENOMEM;
	} else {
		region = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (region == MAP_FAILED)
			return -ENOMEM;
	}
	region->bytes = (uint32_t)bytes;
	region_reset(region);
	*ret = region;
	return 0;
}

static void free_live(struct region *region)
{
	while (region->live) {
		struct region_object *next = region->live->next;

		free((char *)region->live - region->live->offset);
		region->live = next;
	}
}

void region_destroy(struct region *region)
{
	if (!region)
		return;
	if (REGION_USES_MALLOC) {
		free_live(region);
		free(region);
	} else {
		munmap(region, region->bytes);
	}
}

void region_reset(struct region *region)
{
	uint32_t bytes = region->bytes;

	if (REGION_USES_MALLOC)
		free_live(region);
	mem_clear(region, sizeof(*region));
	region->bytes = bytes;
	region->top = HEADER_BYTES;
	region->bottom = bytes;
}

size_t region_used_bytes(const struct region *region)
{
	return region_save_bytes(region);
}

/* ---- Large objects ---- */

/* The class of a size above REGION_SMALL_MAX, and what an object of it takes. */
static uint32_t large_class(size_t bytes, size_t *rounded)
{
	uint32_t log = 63 - (uint32_t)__builtin_clzll(bytes - 1); /* 2^log < bytes <= 2^(log + 1) */
	size_t quarter = (size_t)1 << (log - 2);
	size_t quarters = (bytes + quarter - 1) / quarter; /* 5 to 8 */

	*rounded = quarters * quarter;
	return REGION_NR_SMALL + 4 * (log - 10) + (uint32_t)quarters - 5;
}

static void *alloc_by_malloc(struct region *region, size_t align, size_t bytes)
{
	size_t room = sizeof(struct region_object), offset;
	struct region_object *object;
	char *block;

	align = align < REGION_ALIGN ? REGION_ALIGN : align;
	/* The header ends where the object begins. */
	offset = ((room + align - 1) & ~(align - 1)) - room;
	if (bytes > region->bytes - region->top ||
	    posix_memalign((void **)&block, align, offset + room + bytes))
		return NULL;
	region->top += (uint32_t)bytes;
	object = (struct region_object *)(block + offset);
	object->offset = offset;
	object->prev = NULL;
	object->next = region->live;
	if (region->live)
		region->live->prev = object;
	region->live = object;
	return object + 1;
}

static void free_by_malloc(struct region *region, void *ptr, size_t bytes)
{
	struct region_object *object = (struct region_object *)ptr - 1;

	if (object->prev)
		object->prev->next = object->next;
	else
		region->live = object->next;
	if (object->next)
		object->next->prev = object->prev;
	region->top -= (uint32_t)bytes;
	free((char *)object - object->offset);
}

/* The next multiple of `align` that is an address, not only an offset. */
static uint64_t aligned_top(const struct region *region, size_t align)
{
	uintptr_t base = (uintptr_t)region, at = base + region->top;

	return ((at + align - 1) & ~(uintptr_t)(align - 1)) - base;
}

void *region_alloc_slow(struct region *region, size_t align, size_t bytes)
{
	size_t rounded;
	uint32_t class;
	uint64_t at;

	SP_ASSERT(align && !(align & (align - 1)));
	if (bytes > region->bytes)
		return NULL;
	if (REGION_USES_MALLOC)
		return alloc_by_malloc(region, align, bytes);
	if (bytes > REGION_SMALL_MAX) {
		class = large_class(bytes, &rounded);
		align = align < LARGE_ALIGN ? LARGE_ALIGN : align;
	} else {
		class = region_small_class(bytes);
		rounded = class * REGION_ALIGN;
	}
	at = region->free[class];
	if (at && !(((uintptr_t)region + at) & (align - 1))) {
		memcpy(&region->free[class], (char *)region + at, sizeof(uint32_t));
		return (char *)region + at;
	}
	at = aligned_top(region, align);
	if (at + rounded > region->bottom)
		return NULL;
	region->top = (uint32_t)(at + rounded);
	return (char *)region + at;
}

void region_free_slow(struct region *region, void *ptr, size_t bytes)
{
	size_t rounded;
	uint32_t class;

	SP_ASSERT(!region_is_prefix(region, ptr));
	if (REGION_USES_MALLOC) {
		free_by_malloc(region, ptr, bytes);
		return;
	}
	if (bytes > REGION_SMALL_MAX)
		class = large_class(bytes, &rounded);
	else
		class = region_small_class(bytes);
	memcpy(ptr, &region->free[class], sizeof(uint32_t));
	region->free[class] = (uint32_t)((char *)ptr - (char *)region);
}

/* ---- Prefix objects ---- */

void *region_alloc_prefix(struct region *region, size_t align, size_t bytes)
{
	uintptr_t base = (uintptr_t)region, at;

	if (REGION_USES_MALLOC || region->nr_prefixes == REGION_NR_PREFIXES ||
	    bytes > region->bottom - region->top)
		return region_alloc_slow(region, align, bytes);
	at = ((base + region->bottom - bytes) & ~(uintptr_t)(align - 1)) - base;
	/* Wrapped, or into what is used: the alignment ate the room. */
	if (at > region->bottom || at < region->top)
		return region_alloc_slow(region, align, bytes);
	region->bottom = (uint32_t)at;
	region->prefix[region->nr_prefixes].at = (uint32_t)at;
	region->prefix[region->nr_prefixes++].used = 0;
	return (char *)region + at;
}

static uint32_t find_prefix(const struct region *region, const void *object)
{
	uint32_t i;

	for (i = 0; i < region->nr_prefixes; i++)
		if ((const char *)region + region->prefix[i].at == object)
			break;
	return i;
}

void region_use_prefix(struct region *region, const void *object, size_t used)
{
	uint32_t i = find_prefix(region, object);

	if (i < region->nr_prefixes)
		region->prefix[i].used = (uint32_t)used;
}

bool region_is_prefix(const struct region *region, const void *object)
{
	return find_prefix(region, object) < region->nr_prefixes;
}

/* ---- Snapshots ---- */

size_t region_save_bytes(const struct region *region)
{
	size_t bytes = region->top;

	for (uint32_t i = 0; i < region->nr_prefixes; i++)
		bytes += region->prefix[i].used;
	return bytes;
}

int region_save(const struct region *region, void *buf)
{
	char *to = buf;

	if (REGION_USES_MALLOC)
		return -EOPNOTSUPP;
	memcpy(to, region, region->top);
	to += region->top;
	for (uint32_t i = 0; i < region->nr_prefixes; i++) {
		memcpy(to, (const char *)region + region->prefix[i].at, region->prefix[i].used);
		to += region->prefix[i].used;
	}
	return 0;
}

int region_restore(struct region *region, const void *buf)
{
	const struct region *saved = buf;
	const char *from = buf;

	if (REGION_USES_MALLOC)
		return -EOPNOTSUPP;
	SP_ASSERT(saved->bytes == region->bytes);
	memcpy(region, from, saved->top);
	from += region->top;
	for (uint32_t i = 0; i < region->nr_prefixes; i++) {
		memcpy((char *)region + region->prefix[i].at, from, region->prefix[i].used);
		from += region->prefix[i].used;
	}
	return 0;
}
