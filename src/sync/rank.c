/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The checker behind rank.h: a stack of the locks that this thread holds.
 * Thread-local, so it needs no lock itself. A violation names both locks and
 * aborts; tests/sync/test_rank.c provokes each kind.
 */
#include "rank.h"

#if SP_DEBUG_LEVEL >= 2

#include <stdio.h>
#include <stdlib.h>

#define MAX_HELD 64

static const struct {
	const char *name;
	bool many;
} ranks[NR_LOCK_RANKS] = {
#define X(name, many) { #name, many },
	SP_LOCK_RANKS(X)
#undef X
};

static _Thread_local struct {
	unsigned int n;
	struct {
		enum lock_rank rank;
		const void *lock;
	} held[MAX_HELD];
} stack;

static _Noreturn void violation(const char *what, enum lock_rank rank, const void *lock)
{
	fprintf(stderr, "samepage: lock order: %s: %s (%p) while holding:", what,
		ranks[rank].name, lock);
	for (unsigned int i = 0; i < stack.n; i++)
		fprintf(stderr, " %s (%p)", ranks[stack.held[i].rank].name,
			stack.held[i].lock);
	fputc('\n', stderr);
	abort();
}

void rank_acquire(enum lock_rank rank, const void *lock, bool trylock)
{
	for (unsigned int i = 0; i < stack.n; i++) {
		if (stack.held[i].lock == lock)
			violation("taken twice", rank, lock);
		if (trylock)
			continue;
		if (stack.held[i].rank > rank)
			violation("taken below", rank, lock);
		if (stack.held[i].rank == rank && !ranks[rank].many)
			violation("second of its rank", rank, lock);
	}
	if (stack.n == MAX_HELD)
		violation("too many locks", rank, lock);
	stack.held[stack.n].rank = rank;
	stack.held[stack.n++].lock = lock;
}

void rank_release(enum lock_rank rank, const void *lock)
{
	for (unsigned int i = stack.n; i-- > 0;) {
		if (stack.held[i].lock != lock)
			continue;
		for (; i + 1 < stack.n; i++)
			stack.held[i] = stack.held[i + 1];
		stack.n--;
		return;
	}
	violation("released, not held", rank, lock);
}

bool rank_held(const void *lock)
{
	for (unsigned int i = 0; i < stack.n; i++)
		if (stack.held[i].lock == lock)
			return true;
	return false;
}

void rank_assert_none_held(void)
{
	if (stack.n)
		violation("still held", stack.held[0].rank, stack.held[0].lock);
}

#else
/* A translation unit must declare something. */
typedef int rank_checks_are_off;
#endif
