/* SPDX-License-Identifier: GPL-2.0-only */
/* Chunks of bumped allocations; see arena.h. */
#include "arena.h"

#include <string.h>

#define CHUNK_BYTES ((size_t)32 << 10)

struct arena_chunk {
	struct arena_chunk *next;
	size_t bytes;
	_Alignas(16) char data[];
};

void arena_init(struct arena *arena, struct mem *mem)
{
	memset(arena, 0, sizeof(*arena));
	arena->mem = mem;
}

void arena_destroy(struct arena *arena)
{
	struct arena_chunk *chunk = arena->chunks;

	while (chunk) {
		struct arena_chunk *next = chunk->next;

		mem_free(arena->mem, chunk, chunk->bytes);
		chunk = next;
	}
	arena_init(arena, arena->mem);
}

void *arena_alloc(struct arena *arena, size_t size)
{
	char *object;

	size = (size + 15) & ~(size_t)15;
	if ((size_t)(arena->bump_end - arena->bump) < size) {
		size_t bytes = sizeof(struct arena_chunk) + MAX(size, CHUNK_BYTES);
		struct arena_chunk *chunk = mem_alloc(arena->mem, bytes);

		if (!chunk)
			return NULL;
		chunk->next = arena->chunks;
		chunk->bytes = bytes;
		arena->chunks = chunk;
		arena->bump = chunk->data;
		arena->bump_end = (char *)chunk + bytes;
	}
	object = arena->bump;
	arena->bump += size;
	return object;
}

char *arena_text(struct arena *arena, const char *text, size_t length)
{
	char *copy = arena_alloc(arena, length + 1);

	if (copy)
		memcpy(copy, text, length);
	return copy;
}
