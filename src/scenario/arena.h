/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory of a syntax tree: thousands of small objects that are made while a
 * file is parsed, never change, and go all at once. Allocations are bumps in
 * chunks that come from the account of base/mem.h.
 *
 *	arena_init(&arena, &mem);
 *	struct expr *e = arena_alloc(&arena, sizeof(*e));	// zeroed, or NULL
 *	arena_destroy(&arena);
 *
 * Locking: none; the thread that parses. Afterwards the contents are read only.
 */
#ifndef SP_ARENA_H
#define SP_ARENA_H

#include "mem.h"

struct arena_chunk;

struct arena {
	struct mem *mem;
	struct arena_chunk *chunks;
	char *bump, *bump_end;
};

void arena_init(struct arena *arena, struct mem *mem);
void arena_destroy(struct arena *arena);
/* Zeroed and aligned for any object; NULL out of memory. */
void *arena_alloc(struct arena *arena, size_t size) SP_MUST_CHECK;
/* A terminated copy of length bytes; NULL out of memory. */
char *arena_text(struct arena *arena, const char *text, size_t length) SP_MUST_CHECK;

#endif
