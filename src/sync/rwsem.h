/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The locks that sleep: a reader-writer semaphore (mmap_lock, anon_vma) and a
 * mutex (ksm_thread_mutex), each with its rank checked in debug builds.
 *
 * Both are the C library's; writers are preferred, as a waiting writer blocks
 * new readers of a kernel rwsem too. Neither is recursive.
 *
 * A lock may be made `alone`: for a machine that nobody else can know of, because it lives in the
 * region of one thread (region.h). It excludes nobody, and only counts its holders: whoever would
 * have to wait would wait for himself, for ever, which is a bug that it reports in every build.
 * Trylocks fail as on a real one, and ranks are checked as for a real one.
 *
 *	rwsem_init(&mm->mmap_lock, RANK_mmap_lock, false);
 *	rwsem_read_lock(&mm->mmap_lock);
 *	...
 *	rwsem_read_unlock(&mm->mmap_lock);
 */
#ifndef SP_RWSEM_H
#define SP_RWSEM_H

#include <pthread.h>
#include <stdint.h>

#include "assertion.h"
#include "rank.h"

struct rwsem {
	union {
		pthread_rwlock_t lock;
		int32_t holders; /* when alone: readers, or -1 for a writer */
	};
	enum lock_rank rank;
	bool alone;
};

static inline void rwsem_init(struct rwsem *sem, enum lock_rank rank, bool alone)
{
	pthread_rwlockattr_t attr;

	sem->rank = rank;
	sem->alone = alone;
	if (alone) {
		sem->holders = 0;
		return;
	}
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&sem->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
}

static inline void rwsem_destroy(struct rwsem *sem)
{
	if (!sem->alone)
		pthread_rwlock_destroy(&sem->lock);
}

static inline void rwsem_read_lock(struct rwsem *sem)
{
	rank_acquire(sem->rank, sem, false);
	if (sem->alone) {
		if (sem->holders < 0)
			SP_BUG("rwsem: read lock of a lock that is held for write");
		sem->holders++;
	} else if (pthread_rwlock_rdlock(&sem->lock)) {
		SP_BUG("rwsem: read lock refused");
	}
}

static inline bool rwsem_read_trylock(struct rwsem *sem)
{
	if (sem->alone) {
		if (sem->holders < 0)
			return false;
		sem->holders++;
	} else if (pthread_rwlock_tryrdlock(&sem->lock)) {
		return false;
	}
	rank_acquire(sem->rank, sem, true);
	return true;
}

static inline void rwsem_read_unlock(struct rwsem *sem)
{
	rank_release(sem->rank, sem);
	if (sem->alone)
		sem->holders--;
	else
		pthread_rwlock_unlock(&sem->lock);
}

static inline void rwsem_write_lock_ranked_(struct rwsem *sem, enum lock_rank rank)
{
	rank_acquire(rank, sem, false);
	if (sem->alone) {
		if (sem->holders)
			SP_BUG("rwsem: write lock of a lock that is held");
		sem->holders = -1;
	} else if (pthread_rwlock_wrlock(&sem->lock)) {
		SP_BUG("rwsem: write lock refused");
	}
}

static inline void rwsem_write_lock(struct rwsem *sem)
{
	rwsem_write_lock_ranked_(sem, sem->rank);
}

/* The same for a lock that nests inside another of its rank (fork's child). */
static inline void rwsem_write_lock_nested(struct rwsem *sem, enum lock_rank rank)
{
	rwsem_write_lock_ranked_(sem, rank);
}

static inline void rwsem_write_unlock(struct rwsem *sem)
{
	rank_release(sem->rank, sem);
	if (sem->alone)
		sem->holders = 0;
	else
		pthread_rwlock_unlock(&sem->lock);
}

/* Contract checks: always true where ranks are not checked. */
static inline bool rwsem_held(const struct rwsem *sem)
{
	return rank_held(sem);
}

struct mutex {
	pthread_mutex_t lock;
	enum lock_rank rank;
	bool alone;
	bool taken; /* when alone */
};

static inline void mutex_setup(struct mutex *mutex, enum lock_rank rank, bool alone)
{
	mutex->rank = rank;
	mutex->alone = alone;
	mutex->taken = false;
	if (!alone)
		pthread_mutex_init(&mutex->lock, NULL);
}

static inline void mutex_teardown(struct mutex *mutex)
{
	if (!mutex->alone)
		pthread_mutex_destroy(&mutex->lock);
}

static inline void mutex_acquire(struct mutex *mutex)
{
	rank_acquire(mutex->rank, mutex, false);
	if (mutex->alone) {
		if (mutex->taken)
			SP_BUG("mutex: taken twice");
		mutex->taken = true;
	} else if (pthread_mutex_lock(&mutex->lock)) {
		SP_BUG("mutex: lock refused");
	}
}

static inline void mutex_release(struct mutex *mutex)
{
	rank_release(mutex->rank, mutex);
	if (mutex->alone)
		mutex->taken = false;
	else
		pthread_mutex_unlock(&mutex->lock);
}

static inline bool mutex_held(const struct mutex *mutex)
{
	return rank_held(mutex);
}

#endif
