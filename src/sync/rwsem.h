/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The locks that sleep: a reader-writer semaphore (mmap_lock, anon_vma) and a
 * mutex (ksm_thread_mutex), each with its rank checked in debug builds.
 *
 * Both are the C library's; writers are preferred, as a waiting writer blocks
 * new readers of a kernel rwsem too. Neither is recursive.
 *
 *	rwsem_init(&mm->mmap_lock, RANK_mmap_lock);
 *	rwsem_read_lock(&mm->mmap_lock);
 *	...
 *	rwsem_read_unlock(&mm->mmap_lock);
 */
#ifndef SP_RWSEM_H
#define SP_RWSEM_H

#include <pthread.h>

#include "assertion.h"
#include "rank.h"

struct rwsem {
	pthread_rwlock_t lock;
	enum lock_rank rank;
};

static inline void rwsem_init(struct rwsem *sem, enum lock_rank rank)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&sem->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	sem->rank = rank;
}

static inline void rwsem_destroy(struct rwsem *sem)
{
	pthread_rwlock_destroy(&sem->lock);
}

static inline void rwsem_read_lock(struct rwsem *sem)
{
	rank_acquire(sem->rank, sem, false);
	if (pthread_rwlock_rdlock(&sem->lock))
		SP_BUG("rwsem: read lock refused");
}

static inline bool rwsem_read_trylock(struct rwsem *sem)
{
	if (pthread_rwlock_tryrdlock(&sem->lock))
		return false;
	rank_acquire(sem->rank, sem, true);
	return true;
}

static inline void rwsem_read_unlock(struct rwsem *sem)
{
	rank_release(sem->rank, sem);
	pthread_rwlock_unlock(&sem->lock);
}

static inline void rwsem_write_lock(struct rwsem *sem)
{
	rank_acquire(sem->rank, sem, false);
	if (pthread_rwlock_wrlock(&sem->lock))
		SP_BUG("rwsem: write lock refused");
}

/* The same for a lock that nests inside another of its rank (fork's child). */
static inline void rwsem_write_lock_nested(struct rwsem *sem, enum lock_rank rank)
{
	rank_acquire(rank, sem, false);
	if (pthread_rwlock_wrlock(&sem->lock))
		SP_BUG("rwsem: write lock refused");
}

static inline void rwsem_write_unlock(struct rwsem *sem)
{
	rank_release(sem->rank, sem);
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
};

static inline void mutex_setup(struct mutex *mutex, enum lock_rank rank)
{
	pthread_mutex_init(&mutex->lock, NULL);
	mutex->rank = rank;
}

static inline void mutex_teardown(struct mutex *mutex)
{
	pthread_mutex_destroy(&mutex->lock);
}

static inline void mutex_acquire(struct mutex *mutex)
{
	rank_acquire(mutex->rank, mutex, false);
	if (pthread_mutex_lock(&mutex->lock))
		SP_BUG("mutex: lock refused");
}

static inline void mutex_release(struct mutex *mutex)
{
	rank_release(mutex->rank, mutex);
	pthread_mutex_unlock(&mutex->lock);
}

static inline bool mutex_held(const struct mutex *mutex)
{
	return rank_held(mutex);
}

#endif
