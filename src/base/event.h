/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events: what --trace prints, one line each, under the kernel's tracepoint
 * names where Linux has one (K42) and under ours elsewhere.
 *
 * One table holds every event with the names of its arguments; the tracer,
 * its help and the man page derive from it. Emitting costs one branch while
 * nobody listens. The listener is called synchronously, with whatever locks
 * the emitter holds; it must not call back into the machine.
 *
 *	event_emit(&vm->events, EV_ksm_enter, mm->id);
 *
 * Locking: none; a machine and its events belong to one thread at a time.
 */
#ifndef SP_EVENT_H
#define SP_EVENT_H

#include "bits.h"

#define EVENT_MAX_ARGS 6

/* name, argument names (space separated; a leading '*' prints as hexadecimal) */
#define SP_EVENTS(X)                                                        \
	X(ksm_start_scan, "seq rmap_entries")                               \
	X(ksm_stop_scan, "seq rmap_entries")                                \
	X(ksm_enter, "mm")                                                  \
	X(ksm_exit, "mm")                                                   \
	X(ksm_merge_one_page, "pfn *addr mm err")                           \
	X(ksm_merge_with_ksm_page, "ksm_pfn pfn *addr mm err")              \
	X(ksm_remove_ksm_page, "pfn")                                       \
	X(ksm_remove_rmap_item, "pfn *addr mm")                             \
	X(ksm_advisor, "scan_time pages_to_scan cpu_percent")               \
	X(mm_migrate_page, "old_pfn new_pfn err")                           \
	X(mm_vmscan_reclaim_page, "pfn err")                                \
	X(rmap_walk, "pfn pass iterations out_of_range mm_mismatch calls")  \
	X(rmap_walk_fallback, "pfn")                                        \
	X(page_fault, "mm *addr flags err")                                 \
	X(cow_ksm, "mm *addr old_pfn new_pfn")                              \
	X(ksm_swpin_copy, "mm *addr old_pfn new_pfn")                       \
	X(vma_split, "mm *start *addr")                                     \
	X(vma_merge, "mm *start *end")                                      \
	X(mremap_move, "mm *old *new bytes")                                \
	X(fork, "parent child")                                             \
	X(exit, "mm")                                                       \
	X(orphan_migration_entry, "mm *addr pfn")

enum event_id {
#define X(name, args) EV_##name,
	SP_EVENTS(X)
#undef X
	NR_EVENTS
};

struct event_table {
	const char *name;
	const char *args;
};

extern const struct event_table event_table[NR_EVENTS];

typedef void (*event_fn)(void *arg, enum event_id id, const uint64_t *args);

struct events {
	event_fn fn; /* NULL: nobody listens */
	void *arg;
};

#define event_emit(events, id, ...)                                         \
	do {                                                                \
		if (__builtin_expect((events)->fn != NULL, 0))              \
			(events)->fn((events)->arg, (id),                   \
				     (const uint64_t[EVENT_MAX_ARGS]){ __VA_ARGS__ }); \
	} while (0)

/* Writes "name: arg=value ..." into buf, always terminated; returns buf. */
char *event_format(char *buf, size_t size, enum event_id id, const uint64_t *args);

#endif
