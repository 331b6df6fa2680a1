/* SPDX-License-Identifier: GPL-2.0-only */
/* The one file that includes liburcu's flavour; see rcu.h. */
#include "rcu.h"

#if defined(__SANITIZE_THREAD__)
#define RCU_IS_RWLOCK 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RCU_IS_RWLOCK 1
#endif
#endif
#ifndef RCU_IS_RWLOCK
#define RCU_IS_RWLOCK 0
#endif

static _Thread_local unsigned int nr_begun;

#if RCU_IS_RWLOCK

#include <pthread.h>

/* Busy readers must not keep rcu_wait() out for ever; `depth` makes nesting safe. */
static pthread_rwlock_t readers = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static _Thread_local unsigned int depth;

void rcu_thread_begin(void)
{
	nr_begun++;
}

void rcu_thread_end(void)
{
	nr_begun--;
}

void rcu_reader_lock(void)
{
	if (!depth++)
		pthread_rwlock_rdlock(&readers);
}

void rcu_reader_unlock(void)
{
	if (!--depth)
		pthread_rwlock_unlock(&readers);
}

void rcu_wait(void)
{
	pthread_rwlock_wrlock(&readers);
	pthread_rwlock_unlock(&readers);
}

#else

#include <urcu/urcu-memb.h>

void rcu_thread_begin(void)
{
	if (!nr_begun++)
		urcu_memb_register_thread();
}

void rcu_thread_end(void)
{
	if (!--nr_begun)
		urcu_memb_unregister_thread();
}

void rcu_reader_lock(void)
{
	urcu_memb_read_lock();
}

void rcu_reader_unlock(void)
{
	urcu_memb_read_unlock();
}

void rcu_wait(void)
{
	urcu_memb_synchronize_rcu();
}

#endif
