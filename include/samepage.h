/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * samepage: Linux's same-page merging (KSM), its reverse map and the memory
 * management around them, as a library.
 *
 * A machine has frames, swap, processes and a ksmd, all simulated, behaving as
 * Linux 7.2 on x86-64 does in the parts that samepage(7) lists.
 *
 * THREAD SAFETY. A machine and everything that belongs to it (processes,
 * files) may be used by one thread at a time; calls on the same machine must
 * be serialised by the caller. Different machines are independent. No call
 * keeps a pointer that it was given, except where it says so.
 *
 * ERRORS. Calls return 0 or a positive result, or -errno: the same value that
 * the system call returns on Linux, or -ENOMEM when the library itself could
 * not allocate. After any error the machine is valid and can be used on.
 *
 * UNITS. Addresses and lengths are bytes (uint64_t) in an x86-64 user address
 * space with 4096-byte pages; names with _pages, _ms, _ns say otherwise. `end`
 * is exclusive, `last` inclusive.
 *
 *	struct sp_machine *m;
 *	struct sp_process *p;
 *	uint64_t addr = 0x700000000000;
 *	int64_t sharing;
 *
 *	if (sp_machine_create(NULL, &m))
 *		return 1;
 *	if (!sp_process_create(m, &p) &&
 *	    !sp_mmap(p, addr, 4 * 4096, SP_PROT_READ | SP_PROT_WRITE,
 *		     SP_MAP_PRIVATE | SP_MAP_FIXED, NULL, 0, NULL) &&
 *	    !sp_madvise(p, addr, 4 * 4096, SP_MADV_MERGEABLE) &&
 *	    !sp_fill(p, addr, 4 * 4096, 0x77) &&
 *	    !sp_knob_set(m, "run", "1") &&
 *	    !sp_ksm_scan(m, 2) &&
 *	    !sp_counter_get(m, "pages_sharing", &sharing))
 *		printf("%" PRId64 "\n", sharing);	// 3
 *	sp_machine_destroy(m);
 */
#ifndef SAMEPAGE_H
#define SAMEPAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SP_API	 __attribute__((visibility("default")))
#define SP_CHECK __attribute__((warn_unused_result))

#define SP_PAGE_SIZE UINT64_C(4096)

struct sp_machine;
struct sp_process;
struct sp_file;

/* ---- Machines ---------------------------------------------------------- */

/* How rmap_walk_ksm finds the VMAs of a merged page; samepage(7) explains. */
enum sp_strategy {
	SP_STRATEGY_FULL,    /* the whole interval tree (Linux up to 7.2) */
	SP_STRATEGY_ADDRESS, /* address >> PAGE_SHIFT; wrong (S2) */
	SP_STRATEGY_RETRY,   /* address, then full when PTEs are missing; wrong (S4) */
	SP_STRATEGY_INDEX,   /* the linear index stored at merge; wrong (V6, K27) */
	SP_STRATEGY_DIRECT,  /* (mm, address) first, remembering misses (V17) */
	SP_NR_STRATEGIES
};

/* "full", "address", ...; NULL for a value out of range. */
SP_API const char *sp_strategy_name(enum sp_strategy strategy);
/* 0 and *ret, or -EINVAL. */
SP_API int sp_strategy_by_name(const char *name, enum sp_strategy *ret) SP_CHECK;

enum sp_thp { SP_THP_NEVER, SP_THP_MADVISE, SP_THP_ALWAYS };

struct sp_config {
	enum sp_strategy strategy;
	uint32_t nr_nodes;	  /* NUMA nodes, 1..64; default 1 */
	uint32_t nr_movable_nodes; /* the last so many of them can go offline; default 0, not all */
	uint64_t nr_frames;	  /* per node; 0: no limit. Faults beyond: -ENOMEM */
	uint64_t nr_swap_slots;	  /* 0: no limit */
	uint32_t max_map_count;	  /* default 65530 */
	uint32_t content_bytes;	  /* stored for each page, power of two 8..4096; default 4096 */
	enum sp_thp thp;	  /* default SP_THP_MADVISE */
	bool concurrent_readers;  /* RCU readers look VMAs up while a writer works */
	uint64_t fail_allocation; /* the Nth allocation fails, from 1; 0: none */
};

/* The defaults above. */
SP_API void sp_config_init(struct sp_config *config);
/* config NULL: defaults. 0 and *ret, or -EINVAL (a value out of range), -ENOMEM. */
SP_API int sp_machine_create(const struct sp_config *config, struct sp_machine **ret) SP_CHECK;
/* Frees every process and file too. NULL is ignored. */
SP_API void sp_machine_destroy(struct sp_machine *m);

/*
 * Walks everything and recounts every counter, refcount, mapcount, tree and
 * rmap truth. 0 when all hold; else -EUCLEAN, the findings as lines in buf
 * (truncated to size; buf may be NULL when size is 0).
 */
SP_API int sp_validate(struct sp_machine *m, char *buf, size_t size);

/* ---- Files (private and shared mappings) ------------------------------- */

/* A file of nr_pages pages whose page i is filled with seeded random bytes;
 * seed 0: zeroes. Lives until the machine ends. */
SP_API int sp_file_create(struct sp_machine *m, uint64_t nr_pages, uint64_t seed,
			  struct sp_file **ret) SP_CHECK;

/* ---- Processes --------------------------------------------------------- */

SP_API int sp_process_create(struct sp_machine *m, struct sp_process **ret) SP_CHECK;
SP_API int sp_process_fork(struct sp_process *p, struct sp_process **ret) SP_CHECK;
/* Unmaps everything. The handle stays valid for sp_process_exited() and
 * sp_process_stat() until the machine ends; every other call says -ESRCH. */
SP_API int sp_process_exit(struct sp_process *p);
SP_API bool sp_process_exited(const struct sp_process *p);
/* Number in order of creation, from 1; what events call mm. */
SP_API uint32_t sp_process_id(const struct sp_process *p);

enum { SP_PROT_NONE = 0, SP_PROT_READ = 1, SP_PROT_WRITE = 2, SP_PROT_EXEC = 4 };
enum {
	SP_MAP_SHARED = 0x01,
	SP_MAP_PRIVATE = 0x02,
	SP_MAP_FIXED = 0x10,
	SP_MAP_NORESERVE = 0x4000,
	SP_MAP_FIXED_NOREPLACE = 0x100000,
};
enum { SP_MREMAP_MAYMOVE = 1, SP_MREMAP_FIXED = 2, SP_MREMAP_DONTUNMAP = 4 };
enum sp_advice { /* the values of Linux */
		 SP_MADV_DONTNEED = 4,
		 SP_MADV_DONTFORK = 10,
		 SP_MADV_DOFORK = 11,
		 SP_MADV_MERGEABLE = 12,
		 SP_MADV_UNMERGEABLE = 13,
		 SP_MADV_HUGEPAGE = 14,
		 SP_MADV_NOHUGEPAGE = 15,
		 SP_MADV_WIPEONFORK = 18,
		 SP_MADV_KEEPONFORK = 19,
		 SP_MADV_COLD = 20,
		 SP_MADV_PAGEOUT = 21,
		 SP_MADV_SOFT_OFFLINE = 101,
};

/*
 * As mmap(2). file NULL: anonymous. pgoff in pages of the file. Without
 * SP_MAP_FIXED, addr is a hint and 0 lets the machine choose. *ret (may be
 * NULL) gets the address.
 */
SP_API int sp_mmap(struct sp_process *p, uint64_t addr, uint64_t length, int prot, int flags,
		   struct sp_file *file, uint64_t pgoff, uint64_t *ret) SP_CHECK;
SP_API int sp_munmap(struct sp_process *p, uint64_t addr, uint64_t length) SP_CHECK;
SP_API int sp_mprotect(struct sp_process *p, uint64_t addr, uint64_t length, int prot) SP_CHECK;
/* As mremap(2); errors as M2. *ret (may be NULL) gets the new address. */
SP_API int sp_mremap(struct sp_process *p, uint64_t addr, uint64_t old_length, uint64_t new_length,
		     int flags, uint64_t new_addr, uint64_t *ret) SP_CHECK;
/*
 * As madvise(2). SP_MADV_SOFT_OFFLINE, by a process that may, reads each page in, moves it to another
 * frame and never uses the old one again; it stops at the first error: -EFAULT no readable mapping, -EIO
 * the zero page, -EBUSY the page could not be unmapped or is held, -EOPNOTSUPP a page of a file, -EUCLEAN
 * it moved, but migration entries were left behind (V2).
 */
SP_API int sp_madvise(struct sp_process *p, uint64_t addr, uint64_t length,
		      enum sp_advice advice) SP_CHECK;
SP_API int sp_mlock(struct sp_process *p, uint64_t addr, uint64_t length) SP_CHECK;
SP_API int sp_munlock(struct sp_process *p, uint64_t addr, uint64_t length) SP_CHECK;
/* prctl(PR_SET_MEMORY_MERGE, arg2, arg3, arg4, arg5); PR_GET returns 0 or 1 (K37). */
SP_API int sp_prctl_set_memory_merge(struct sp_process *p, unsigned long arg2, unsigned long arg3,
				     unsigned long arg4, unsigned long arg5) SP_CHECK;
SP_API int sp_prctl_get_memory_merge(struct sp_process *p, unsigned long arg2, unsigned long arg3,
				     unsigned long arg4, unsigned long arg5) SP_CHECK;

/*
 * Loads and stores by the process, byte-wise, faulting as the CPU would.
 * -EFAULT where a signal (SIGSEGV, SIGBUS) would end the process; -ENOMEM out
 * of frames; -EDEADLK when the access would wait for ever for a migration
 * entry that nobody will remove (V2). Bytes before the failing page are done.
 * With content_bytes < 4096 only the first content_bytes of each page exist;
 * accesses beyond are -EFAULT.
 */
SP_API int sp_read(struct sp_process *p, uint64_t addr, void *buf, uint64_t length) SP_CHECK;
SP_API int sp_write(struct sp_process *p, uint64_t addr, const void *buf, uint64_t length) SP_CHECK;
/* Whole pages of one byte value; addr and length page aligned. Stored compactly. */
SP_API int sp_fill(struct sp_process *p, uint64_t addr, uint64_t length, uint8_t byte) SP_CHECK;
/* Whole pages of random bytes; the page at addr + i pages is a function of (seed, i). */
SP_API int sp_fill_random(struct sp_process *p, uint64_t addr, uint64_t length,
			  uint64_t seed) SP_CHECK;
/* One read access to each page of the range (no contents). */
SP_API int sp_touch(struct sp_process *p, uint64_t addr, uint64_t length) SP_CHECK;
/*
 * Marks a page as swapped out with these contents, without a frame: for
 * processes that are loaded from real memory. contents NULL: unknown contents
 * (reads give zeroes but are counted as unknown).
 */
SP_API int sp_load_swapped(struct sp_process *p, uint64_t addr, const void *contents) SP_CHECK;

/* ---- What an address maps ---------------------------------------------- */

enum sp_page_state {
	SP_PAGE_NONE, /* no PTE, or no VMA */
	SP_PAGE_PRESENT,
	SP_PAGE_SWAPPED,
	SP_PAGE_ZERO,	   /* the shared zero page */
	SP_PAGE_MIGRATION, /* a migration entry (left by a broken walk) */
};

struct sp_page_info {
	enum sp_page_state state;
	bool ksm; /* a KSM page, or a KSM-placed zero page */
	bool anon, huge, young, dirty, writable, locked_in_memory;
	uint64_t pfn; /* when present */
	uint32_t mapcount;
	uint32_t refcount;
	uint32_t nid;
	uint64_t folio_index;
	uint64_t linear_index; /* of the VMA at this address */
	uint64_t vma_start, vma_end, vma_pgoff;
};

/* Looks without faulting or changing anything. 0, or -ESRCH. */
SP_API int sp_page_info(struct sp_process *p, uint64_t addr, struct sp_page_info *ret) SP_CHECK;
/* Contents as a debugger would see them, without a fault: 0, or -ENODATA when
 * nothing is mapped there. Reads swap and file pages too. */
SP_API int sp_peek(struct sp_process *p, uint64_t addr, void *buf, uint64_t length) SP_CHECK;

struct sp_vma_info {
	uint64_t start, end, pgoff;
	int prot;
	bool shared, file, mergeable, locked, dontfork;
	uint64_t anon_vma; /* 0: none; else a number that is equal for equal anon_vmas */
};

/* The first VMA with end > addr: 0 and *ret, or -ENOENT. */
SP_API int sp_vma_find(struct sp_process *p, uint64_t addr, struct sp_vma_info *ret) SP_CHECK;

/* ---- Kernel work on pages ---------------------------------------------- */

/*
 * move_pages(2) of the page at addr to node (-1: another node where there is
 * one, else a new frame on the same node). all: MPOL_MF_MOVE_ALL, otherwise a
 * page mapped more than once gives -EACCES (M5). -ENODEV no such node, or offline. -EBUSY when the page could not be
 * unmapped (pinned), -EFAULT for a zero page, -ENOENT nothing mapped.
 * -EUCLEAN: it moved, but migration entries were left behind (V2).
 */
SP_API int sp_migrate(struct sp_process *p, uint64_t addr, int node, bool all) SP_CHECK;
/* Reclaim's work on the page at addr, as many rounds as it takes to evict it:
 * 1 evicted, 0 not (still mapped, young, unevictable, referenced elsewhere). */
SP_API int sp_swap_out(struct sp_process *p, uint64_t addr) SP_CHECK;
/* Reclaims up to nr_pages frames in pfn order, rounds passes over all; returns how many. */
SP_API int64_t sp_reclaim(struct sp_machine *m, uint64_t nr_pages, unsigned int rounds) SP_CHECK;
/* Migrates every movable frame; *moved and *failed may be NULL. */
SP_API int sp_compact(struct sp_machine *m, uint64_t *moved, uint64_t *failed) SP_CHECK;
/*
 * Memory offline of a node: every page is migrated to another node, and none comes to this one any
 * more. -EINVAL: not one of the movable nodes, or offline already; -EBUSY: a page could not be moved,
 * on which Linux never gives up (until a signal comes); -ENOMEM: no room for one; -EUCLEAN as sp_migrate.
 * The node then stays online, and what moved has moved. Online undoes it: -EINVAL: it is online, or no
 * such node, -EHWPOISON: a page of it was soft-offlined. All nodes are online at first.
 */
SP_API int sp_offline(struct sp_machine *m, unsigned int node) SP_CHECK;
SP_API int sp_online(struct sp_machine *m, unsigned int node) SP_CHECK;
/* One more reference on the page at addr, as vmsplice to a pipe holds one; and
 * its release. *handle names it. -EFAULT nothing present there. */
SP_API int sp_hold(struct sp_process *p, uint64_t addr, uint64_t *handle) SP_CHECK;
SP_API int sp_drop(struct sp_machine *m, uint64_t handle) SP_CHECK;

/* ---- ksmd --------------------------------------------------------------- */

/*
 * Knobs by their names in /sys/kernel/mm/ksm (K40a); "merge_old_ptes" (0 or 1: a merged PTE starts old
 * instead of young); "strategy" (a name of sp_strategy_name()). Errors as Linux gives them: -EINVAL,
 * -EBUSY, -EACCES for a read-only file; -ENOENT for a name that is none.
 */
SP_API int sp_knob_set(struct sp_machine *m, const char *name, const char *value) SP_CHECK;
SP_API int sp_knob_get(struct sp_machine *m, const char *name, char *buf, size_t size) SP_CHECK;
/* ksm's read-only files, and vmstat's cow_ksm, ksm_swpin_copy, pswpin, pswpout, pgmigrate_success,
 * pgmigrate_fail. */
SP_API int sp_counter_get(struct sp_machine *m, const char *name, int64_t *ret) SP_CHECK;
/* ksm_stat's fields (K40) and vmas, rss, rss_anon, rss_file, swap, exited. */
SP_API int sp_process_stat(const struct sp_process *p, const char *name, int64_t *ret) SP_CHECK;
/* The name of counter i of the machine (kind 0), of a process (1), of a knob (2); NULL past the
 * end. */
SP_API const char *sp_stat_name(int kind, unsigned int i);

/* Lets ksmd run until `passes` more full scans are done. -EAGAIN when run is
 * not 1, or no process is registered (nothing would ever happen: V16). */
SP_API int sp_ksm_scan(struct sp_machine *m, uint64_t passes) SP_CHECK;
/* One batch of at most nr_pages candidates, without a sleep. */
SP_API int sp_ksm_scan_pages(struct sp_machine *m, uint64_t nr_pages) SP_CHECK;
/* Passes until shared, sharing, zero pages and rmap_items stay the same for two
 * passes; at most max_passes. Returns the passes made. */
SP_API int64_t sp_ksm_scan_until_stable(struct sp_machine *m, uint64_t max_passes) SP_CHECK;
/* Lets simulated time pass, ksmd working as it would. Time stands still after 584 years. */
SP_API int sp_run_for_ms(struct sp_machine *m, uint64_t ms) SP_CHECK;
SP_API uint64_t sp_now_ms(const struct sp_machine *m);

/* ---- Reverse walks ------------------------------------------------------ */

/*
 * What loops counted (R5). A loop is one rmap_item in one pass of one walk, under one anon_vma lock:
 * iterations = out of range + mm mismatch + invalid + rmap_one calls. _max: of one loop.
 */
struct sp_loop_metrics {
	uint64_t nr_loops;
	uint64_t nr_iteration_total, nr_iteration_max;
	uint64_t skip_addr_out_of_range, skip_addr_out_of_range_max;
	uint64_t skip_mm_mismatch, skip_mm_mismatch_max;
	uint64_t skip_invalid_vma;
	uint64_t nr_rmap_one;
	uint64_t hold_ns_max, hold_ns_sum; /* of the lock */
};

struct sp_walk_metrics {
	uint64_t nr_walks;
	struct sp_loop_metrics all;     /* both passes */
	struct sp_loop_metrics pass[2]; /* 0 visits the owners' VMAs, 1 those of other mms */
	uint64_t nr_fallback;           /* second or whole-tree passes of retry and direct */
	uint64_t walk_ns_max, walk_ns_sum;
	uint64_t reached;               /* PTEs that walks reached ... */
	uint64_t reachable;             /* ... of those that there were */
};

/* A PTE that a walk did not reach. */
struct sp_missed_pte {
	uint32_t process; /* sp_process_id() */
	uint64_t addr;
	uint64_t pfn;
	uint64_t vma_start, vma_end, vma_pgoff;
	uint64_t linear_index; /* what a query had to contain */
	bool linux_misses;     /* the whole-tree walk misses it too (R6) */
};

struct sp_walk_result {
	bool ksm;
	uint64_t pfn;
	uint64_t reached, reachable, reached_full;
	uint64_t calls;			 /* rmap_one calls; may exceed reached (R2) */
	uint64_t nr_missed;		 /* all of them ... */
	struct sp_missed_pte missed[16]; /* ... and the first few */
	struct sp_walk_metrics metrics;	 /* of this walk alone */
};

/* A walk of the page at addr that changes nothing and never stops early (no `done`),
 * under the machine's strategy; compared with a scan of all page tables.
 * -EFAULT when no anonymous page is present there. */
SP_API int sp_walk(struct sp_process *p, uint64_t addr, struct sp_walk_result *ret) SP_CHECK;

/*
 * Every KSM or anonymous walk that the kernel's own work made (migration, reclaim)
 * is audited when this is set: what it failed to reach is reported to fn, after the walk, with the
 * operation's name. Costs a scan of all page tables per walk.
 */
typedef void (*sp_audit_fn)(void *arg, const char *operation, const struct sp_walk_result *result);
SP_API void sp_audit_set(struct sp_machine *m, sp_audit_fn fn, void *arg);

/* Totals since creation or the last reset, of the KSM walks under this machine's strategy. */
SP_API void sp_walk_metrics_get(const struct sp_machine *m, struct sp_walk_metrics *ret);
SP_API void sp_walk_metrics_reset(struct sp_machine *m);
/* Migration entries that broken walks left behind so far (V2). */
SP_API uint64_t sp_orphan_entries(const struct sp_machine *m);

/* ---- Tracing and accounting --------------------------------------------- */

/* One line an event, no newline, under tracepoint names (K42). Must not call the machine. */
typedef void (*sp_trace_fn)(void *arg, const char *line);
SP_API void sp_trace_set(struct sp_machine *m, sp_trace_fn fn, void *arg);

struct sp_memory_usage {
	uint64_t content_bytes;	 /* page contents, free buffers included */
	uint64_t metadata_bytes; /* everything else */
	uint64_t nr_frames_used, nr_rmap_items, nr_stable_nodes, nr_vmas;
	uint64_t nr_allocations; /* made so far; what fail_allocation counts */
};
SP_API void sp_memory_usage(const struct sp_machine *m, struct sp_memory_usage *ret);

#ifdef __cplusplus
}
#endif
#endif
