/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lock order as data.
 *
 * Every lock has a rank. A thread may take a lock only if its rank is above
 * that of every lock it holds; several locks of one rank may be held together
 * only where the table says so, and then in any order: whoever holds one folio
 * takes another by trylock, or takes one that is new and nobody else's.
 * docs/locking.md draws the same tree. Debug builds (SP_DEBUG_LEVEL >= 2) keep
 * a per-thread stack of held locks and abort on a violation; other builds
 * compile all of this to nothing.
 *
 * Trylocks may be taken out of order (they cannot deadlock), but what is
 * taken while one is held must still be above it.
 */
#ifndef SP_RANK_H
#define SP_RANK_H

#include "bits.h"

/* name, whether several of the rank may be held */
#define SP_LOCK_RANKS(X)                                                    \
	X(ksm_thread_mutex, false) /* one scanner, knob writers */          \
	X(mmap_lock, false)        /* one mm's VMAs */                      \
	X(mmap_lock_nested, false) /* the child's, during fork */           \
	X(folio_lock, true)        /* a folio's identity; several in a merge */ \
	X(anon_vma, false)         /* the root's: interval trees, parent links */

enum lock_rank {
#define X(name, many) RANK_##name,
	SP_LOCK_RANKS(X)
#undef X
	NR_LOCK_RANKS
};

#ifndef SP_DEBUG_LEVEL
#define SP_DEBUG_LEVEL 0
#endif

#if SP_DEBUG_LEVEL >= 2
void rank_acquire(enum lock_rank rank, const void *lock, bool trylock);
void rank_release(enum lock_rank rank, const void *lock);
/* True if this thread holds that lock. */
bool rank_held(const void *lock);
/* Aborts if this thread holds any lock: called where an operation returns. */
void rank_assert_none_held(void);
#else
static inline void rank_acquire(enum lock_rank rank, const void *lock, bool trylock)
{
	(void)rank, (void)lock, (void)trylock;
}
static inline void rank_release(enum lock_rank rank, const void *lock)
{
	(void)rank, (void)lock;
}
static inline bool rank_held(const void *lock)
{
	(void)lock;
	return true;
}
static inline void rank_assert_none_held(void)
{
}
#endif

#endif
