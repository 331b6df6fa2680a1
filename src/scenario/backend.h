/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a scenario needs from the machine that it runs on: system calls of its
 * processes, ksmd's knobs and counters, kernel work on pages, and a look at
 * the outcome. One interpreter runs over several such machines; the engine
 * (engine_backend.c) is one.
 *
 * The interface stays at the level of system calls and sysfs files, so that a
 * real kernel can be another backend: a page, an address and an errno mean the
 * same in both. Plain data is shared with samepage.h (sp_page_info and its
 * like), because a backend answers the same questions.
 *
 * RESULTS. 0 or a positive result, -errno as Linux returns it, or
 * BACKEND_CANNOT: this machine has no way to do that (a real kernel cannot
 * walk on command). The last is no errno on purpose: a scenario may expect any
 * errno, but it can never expect what a backend lacks.
 *
 * What a machine can do but not show is said in other ways, so that an
 * expectation is left undecided and the rest of the scenario goes on: `blind` names
 * facts about pages that it never shows; page_info() returns
 * BACKEND_KSM_UNKNOWN when it cannot tell this once; an index of
 * BACKEND_INDEX_UNKNOWN is none. walk() may be BACKEND_CANNOT for the same reason.
 *
 * ADDRESSES are chosen by the interpreter, never by the backend, except where
 * mremap moves without a fixed target.
 *
 * Locking: one thread uses a backend and everything that belongs to it.
 *
 *	struct backend *b;
 *	struct backend_process *p;
 *
 *	err = engine_backend.create(&config, &b);
 *	err = engine_backend.process_create(b, &p);
 *	err = engine_backend.madvise(p, addr, length, SP_MADV_MERGEABLE);
 *	engine_backend.destroy(b);	// every process and file too
 *
 * What it does not do: names, loops, expectations, reports. Those are the
 * interpreter's.
 */
#ifndef SP_BACKEND_H
#define SP_BACKEND_H

#include <samepage.h>

#include "bits.h"

/* Below every -errno, which ends at -4095. */
#define BACKEND_CANNOT (-10000)
/* Of page_info(): done, but whether the page is one of KSM is not known. */
#define BACKEND_KSM_UNKNOWN 1
#define BACKEND_INDEX_UNKNOWN UINT64_MAX
#define BACKEND_NODE_UNKNOWN UINT32_MAX

/* Bits of backend_ops.blind. */
enum {
	BACKEND_BLIND_REFCOUNT = 1,
	BACKEND_BLIND_YOUNG = 2,
	BACKEND_BLIND_DIRTY = 4,
	BACKEND_BLIND_WRITABLE = 8,
};

/* What look() says of a page, in samepage.h's terms. */
struct backend_page {
	enum sp_page_state state;
	bool anon, ksm;
	bool ksm_unknown; /* as BACKEND_KSM_UNKNOWN */
	uint32_t nid;     /* if it was asked for; BACKEND_NODE_UNKNOWN */
	uint64_t pfn;     /* when present */
};

struct backend;         /* one machine */
struct backend_process;
struct backend_file;

struct kernel_session;

struct backend_config {
	struct sp_config machine;
	struct kernel_session *session; /* of the kernel's backend (kernel_session.h); NULL: its own */
	sp_trace_fn trace; /* NULL: none */
	void *trace_arg;
	sp_audit_fn audit; /* NULL: walks that the kernel makes are not audited */
	void *audit_arg;
	/* Why something is BACKEND_CANNOT; and what is to be told when all is over. "" at first. */
	char *reason, *remark;
	size_t reason_bytes, remark_bytes;
	/*
	 * Called a few times a second while something is waited for; true: it is to end, with -EINTR. NULL:
	 * nobody hurries.
	 */
	bool (*stop)(void *arg);
	void *stop_arg;
};

struct backend_ops {
	const char *name;
	unsigned int blind;
	bool is_real; /* a scenario can kill it */
	/* As which Linux it does, without a machine (linux_version.h). 0, or -errno: not known. */
	int (*linux_version)(uint32_t *ret) SP_MUST_CHECK;

	int (*create)(const struct backend_config *config, struct backend **ret) SP_MUST_CHECK;
	void (*destroy)(struct backend *b);

	/* ---- Processes and their system calls --------------------------- */
	int (*process_create)(struct backend *b, struct backend_process **ret) SP_MUST_CHECK;
	int (*fork)(struct backend_process *p, struct backend_process **ret) SP_MUST_CHECK;
	/* The handle stays valid for process_stat() alone. */
	int (*exit)(struct backend_process *p) SP_MUST_CHECK;
	/* What sp_missed_pte and events call the process. */
	uint32_t (*process_id)(const struct backend_process *p);
	int (*file_create)(struct backend *b, uint64_t nr_pages, uint64_t seed,
			   struct backend_file **ret) SP_MUST_CHECK;

	int (*mmap)(struct backend_process *p, uint64_t addr, uint64_t length, int prot, int flags,
		    struct backend_file *file, uint64_t pgoff) SP_MUST_CHECK;
	int (*munmap)(struct backend_process *p, uint64_t addr, uint64_t length) SP_MUST_CHECK;
	int (*mprotect)(struct backend_process *p, uint64_t addr, uint64_t length,
			int prot) SP_MUST_CHECK;
	int (*mremap)(struct backend_process *p, uint64_t addr, uint64_t old_length,
		      uint64_t new_length, int flags, uint64_t new_addr,
		      uint64_t *ret) SP_MUST_CHECK;
	int (*madvise)(struct backend_process *p, uint64_t addr, uint64_t length,
		       enum sp_advice advice) SP_MUST_CHECK;
	int (*mlock)(struct backend_process *p, uint64_t addr, uint64_t length) SP_MUST_CHECK;
	int (*munlock)(struct backend_process *p, uint64_t addr, uint64_t length) SP_MUST_CHECK;
	/* args: arg2..arg5 of prctl(2). */
	int (*prctl_set)(struct backend_process *p, const unsigned long args[4]) SP_MUST_CHECK;
	int (*prctl_get)(struct backend_process *p, const unsigned long args[4]) SP_MUST_CHECK;

	/* ---- Accesses by the process ------------------------------------ */
	int (*read)(struct backend_process *p, uint64_t addr, void *buf,
		    uint64_t length) SP_MUST_CHECK;
	int (*write)(struct backend_process *p, uint64_t addr, const void *buf,
		     uint64_t length) SP_MUST_CHECK;
	/* Whole pages: */
	int (*fill)(struct backend_process *p, uint64_t addr, uint64_t length,
		    uint8_t byte) SP_MUST_CHECK;
	int (*fill_random)(struct backend_process *p, uint64_t addr, uint64_t length,
			   uint64_t seed) SP_MUST_CHECK;
	int (*touch)(struct backend_process *p, uint64_t addr, uint64_t length) SP_MUST_CHECK;
	/* What fill_random(seed) writes to page `index` of its range. */
	int (*random_page)(struct backend *b, uint64_t seed, uint64_t index,
			   void *buf) SP_MUST_CHECK;
	/* A page that starts out in swap; contents NULL: not known. */
	int (*load_swapped)(struct backend_process *p, uint64_t addr,
			    const void *contents) SP_MUST_CHECK;

	/* ---- Looking, without changing anything -------------------------- */
	int (*page_info)(struct backend_process *p, uint64_t addr,
			 struct sp_page_info *ret) SP_MUST_CHECK;
	/* So many pages in a row. NULL: nothing is cheaper than page_info() for each of them. */
	int (*look)(struct backend_process *p, uint64_t addr, uint64_t nr_pages, bool with_nodes,
		    struct backend_page *ret) SP_MUST_CHECK;
	/* -ENOENT past the last. */
	int (*vma_find)(struct backend_process *p, uint64_t addr,
			struct sp_vma_info *ret) SP_MUST_CHECK;
	/* -ENODATA: nothing is mapped there. */
	int (*peek)(struct backend_process *p, uint64_t addr, void *buf,
		    uint64_t length) SP_MUST_CHECK;

	/* ---- Kernel work on pages ---------------------------------------- */
	int (*migrate)(struct backend_process *p, uint64_t addr, int node, bool all) SP_MUST_CHECK;
	int (*swap_out)(struct backend_process *p, uint64_t addr) SP_MUST_CHECK;
	int64_t (*reclaim)(struct backend *b, uint64_t nr_pages, unsigned int rounds) SP_MUST_CHECK;
	/* Returns the number of frames moved. */
	int64_t (*compact)(struct backend *b) SP_MUST_CHECK;
	/* All memory of one of the machine's movable nodes, which are online at first. */
	int (*offline)(struct backend *b, unsigned int node) SP_MUST_CHECK;
	int (*online)(struct backend *b, unsigned int node) SP_MUST_CHECK;
	int (*hold)(struct backend_process *p, uint64_t addr, uint64_t *handle) SP_MUST_CHECK;
	int (*drop)(struct backend *b, uint64_t handle) SP_MUST_CHECK;

	/* ---- ksmd --------------------------------------------------------- */
	int (*knob_set)(struct backend *b, const char *name, const char *value) SP_MUST_CHECK;
	int (*knob_get)(struct backend *b, const char *name, char *buf, size_t size) SP_MUST_CHECK;
	/* sp_counter_get's names, and orphan_entries and now_ms. */
	int (*counter_get)(struct backend *b, const char *name, int64_t *ret) SP_MUST_CHECK;
	int (*process_stat)(const struct backend_process *p, const char *name,
			    int64_t *ret) SP_MUST_CHECK;
	int (*scan)(struct backend *b, uint64_t passes) SP_MUST_CHECK;
	int (*scan_pages)(struct backend *b, uint64_t nr_pages) SP_MUST_CHECK;
	int64_t (*scan_until_stable)(struct backend *b, uint64_t max_passes) SP_MUST_CHECK;
	int (*run_for_ms)(struct backend *b, uint64_t ms) SP_MUST_CHECK;

	/* ---- Walks and accounting ----------------------------------------- */
	int (*walk)(struct backend_process *p, uint64_t addr,
		    struct sp_walk_result *ret) SP_MUST_CHECK;
	int (*metrics)(struct backend *b, struct sp_walk_metrics *ret) SP_MUST_CHECK;
	int (*memory_usage)(struct backend *b, struct sp_memory_usage *ret) SP_MUST_CHECK;
	/* -EUCLEAN and the findings in buf. */
	int (*validate)(struct backend *b, char *buf, size_t size) SP_MUST_CHECK;
};

extern const struct backend_ops engine_backend;
/* The running kernel (kernel.h): needs root, and KSM for itself. */
extern const struct backend_ops kernel_backend;
/* What is behind it; its processes' handles are struct sp_process. */
struct sp_machine *engine_backend_machine(struct backend *b);

#endif
