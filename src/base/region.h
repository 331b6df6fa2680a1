/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A region: one contiguous piece of memory that a whole machine lives in.
 *
 * A search makes a machine, does a few dozen operations on it, throws it away, and makes the next
 * one; or goes back to an earlier state of the same machine. Both are cheap when everything that
 * belongs to the machine lies together: throwing away is setting a bump pointer back, going back is
 * copying a few pages, and since the region does not move, pointers into it stay right.
 *
 * Memory is taken from the bottom upwards, and what is freed goes to a list of its size class, from
 * which the last one freed is taken first. Nothing is ever merged: machines ask for the same few
 * sizes again and again. A full region says NULL; it does not grow.
 *
 * A prefix object is large, and used from its start only as far as its owner says (the frames of a
 * machine that could have 512 of them, and has ten). It comes from the top, so that its unused rest
 * does not lie in what is saved.
 *
 * Under AddressSanitizer each object is a malloc of its own, so that a use after free is caught;
 * saving is then not supported.
 *
 *	err = region_create(1 << 20, &region);
 *	mem_init_in(&mem, region);			// an account of mem.h: all from the region
 *	...
 *	bytes = region_save_bytes(region);
 *	err = region_save(region, buf);			// -EOPNOTSUPP: see above
 *	...
 *	err = region_restore(region, buf);		// as it was, whatever was done since
 *	region_reset(region);				// empty
 *	region_destroy(region);
 *
 * What it does not do: count (mem.h does, and the account lies in the region with the rest), or
 * clear memory.
 *
 * Locking: none; one thread at a time.
 */
#ifndef SP_REGION_H
#define SP_REGION_H

#include <string.h>

#include "bits.h"

#if defined(__SANITIZE_ADDRESS__)
#define REGION_USES_MALLOC 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REGION_USES_MALLOC 1
#endif
#endif
#ifndef REGION_USES_MALLOC
#define REGION_USES_MALLOC 0
#endif

#define REGION_ALIGN 16u
/* Up to here a class is a multiple of REGION_ALIGN; above, a quarter of a power of two. */
#define REGION_SMALL_MAX 1024u
#define REGION_NR_SMALL (REGION_SMALL_MAX / REGION_ALIGN + 1)
#define REGION_NR_CLASSES (REGION_NR_SMALL + 4 * 22)
#define REGION_BYTES_MIN ((size_t)16 << 10)
#define REGION_BYTES_MAX ((size_t)1 << 31)
#define REGION_NR_PREFIXES 4u

struct region_object;

/* Lies at the start of the region, so that saving the region saves it. */
struct region {
	uint32_t bytes;       /* of the region; immutable */
	uint32_t top;         /* [0, top) has been handed out, this header included */
	uint32_t bottom;      /* [bottom, bytes) too: prefix objects */
	uint32_t nr_prefixes;
	struct {
		uint32_t at, used;
	} prefix[REGION_NR_PREFIXES];
	uint32_t free[REGION_NR_CLASSES]; /* offset of the object freed last; 0: none */
	struct region_object *live;       /* under AddressSanitizer only */
};

/* 0 and *ret, -EINVAL (bytes is out of bounds), -ENOMEM. */
int region_create(size_t bytes, struct region **ret) SP_MUST_CHECK;
void region_destroy(struct region *region);
/* Everything in it is gone. */
void region_reset(struct region *region);
/* From its start to the highest byte ever handed out since the reset, and the prefix objects. */
size_t region_used_bytes(const struct region *region);

/* For sizes that are not small; `align` is a power of two. NULL: full. */
void *region_alloc_slow(struct region *region, size_t align, size_t bytes) SP_MUST_CHECK;
void region_free_slow(struct region *region, void *ptr, size_t bytes);

/* In units of REGION_ALIGN; an object of no bytes still has an address of its own. */
static inline uint32_t region_small_class(size_t bytes)
{
	return bytes ? (uint32_t)(bytes + REGION_ALIGN - 1) / REGION_ALIGN : 1;
}

/* Uncleared memory, aligned to REGION_ALIGN, or NULL. */
SP_MUST_CHECK static inline void *region_alloc(struct region *region, size_t bytes)
{
	uint32_t class, at;

	if (REGION_USES_MALLOC || bytes > REGION_SMALL_MAX)
		return region_alloc_slow(region, REGION_ALIGN, bytes);
	class = region_small_class(bytes);
	at = region->free[class];
	if (at) {
		void *object = (char *)region + at;

		memcpy(&region->free[class], object, sizeof(uint32_t));
		return object;
	}
	at = region->top;
	if (class * REGION_ALIGN > region->bottom - at)
		return NULL;
	region->top += class * REGION_ALIGN;
	return (char *)region + at;
}

/* `bytes` is what was asked for. */
static inline void region_free(struct region *region, void *ptr, size_t bytes)
{
	uint32_t class;

	if (REGION_USES_MALLOC || bytes > REGION_SMALL_MAX) {
		region_free_slow(region, ptr, bytes);
		return;
	}
	class = region_small_class(bytes);
	memcpy(ptr, &region->free[class], sizeof(uint32_t));
	region->free[class] = (uint32_t)((char *)ptr - (char *)region);
}

/*
 * A prefix object, or NULL. Nothing of it is used yet. It is freed by the reset only; where there
 * are too many already, or no room at the top, it is an ordinary object.
 */
void *region_alloc_prefix(struct region *region, size_t align, size_t bytes) SP_MUST_CHECK;
/* Its first `used` bytes are used now. Does nothing for an ordinary object. */
void region_use_prefix(struct region *region, const void *object, size_t used);
/* Whether it is one: region_free_slow() must not see it. */
bool region_is_prefix(const struct region *region, const void *object);

/* How many bytes region_save() writes now. */
size_t region_save_bytes(const struct region *region);
/* 0, or -EOPNOTSUPP under AddressSanitizer. */
int region_save(const struct region *region, void *buf) SP_MUST_CHECK;
/* `buf` was saved from this region, and it has not been destroyed since. As region_save(). */
int region_restore(struct region *region, const void *buf) SP_MUST_CHECK;

#endif
