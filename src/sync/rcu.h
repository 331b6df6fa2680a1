/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read-copy-update, by liburcu (the memory-barrier flavour).
 *
 * Readers run between rcu_reader_lock() and rcu_reader_unlock(), load shared
 * pointers with rcu_load(), and never block inside. A writer publishes with
 * rcu_publish() and may free what it unlinked after rcu_wait(). Rule: never
 * call rcu_wait() while holding a lock that a reader may wait for inside its
 * section; the VMA tree's readers wait for nothing (vma_tree.h).
 *
 * Each thread that reads registers once: rcu_thread_begin() and
 * rcu_thread_end(); the calls nest, so library entry points may call them.
 *
 * ThreadSanitizer does not understand this liburcu's barriers. Under it, the
 * same interface is a reader-writer lock: publication is still checked (the
 * loads and stores are C11 atomics), grace periods are trivially right.
 */
#ifndef SP_RCU_H
#define SP_RCU_H

#include <stdbool.h>

void rcu_thread_begin(void);
void rcu_thread_end(void);
void rcu_reader_lock(void);
void rcu_reader_unlock(void);
/* Returns after every reader section that had begun has ended. */
void rcu_wait(void);

/* Acquire and release: what a reader sees behind a pointer was complete. */
#define rcu_load(p) __atomic_load_n(&(p), __ATOMIC_ACQUIRE)
#define rcu_publish(p, v) __atomic_store_n(&(p), (v), __ATOMIC_RELEASE)

#endif
