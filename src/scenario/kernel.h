/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The running kernel as a backend of scenarios (backend.h): for each process
 * of the scenario a real one (agent.h), its system calls made by it, its
 * outcome read from /proc and sysfs.
 *
 *   kernel_backend.c	the table; what is refused, and what is put back
 *   kernel_process.c	processes, files, system calls, accesses
 *   kernel_look.c	pages, mappings, contents, counters
 *   kernel_ksmd.c	knobs, and passes of ksmd one by one
 *   kernel_work.c	migration, swap, compaction, references
 *   kernel_offline.c	memory that goes
 *   kernel_session.c	what several scenarios share
 *
 * WHAT A KERNEL CANNOT DO is BACKEND_CANNOT with a reason in b->reason: walks
 * on command, a swapped page out of nothing. What it
 * cannot show is in the table's `blind`.
 *
 * OTHERS. KSM is one for all of a kernel, and its counters too. So nobody else
 * may use it: create() refuses while another process has merged or mergeable
 * memory. What counts for ever, and what an earlier defect left behind (V8), is
 * taken off: those counters are differences from the start (C2).
 *
 * PUTTING BACK. The knobs are host_ksm's, whose guard outlives this program. Agents die
 * with it. What is left of merging is gone when the last agent is; where the
 * program is killed, at ksmd's next pass.
 *
 * PASSES (C1). ksmd sleeps so long that only writing another sleep wakes it,
 * and looks at more pages than there are: each wake is one pass. Between passes
 * it does not run, whatever the scenario set; `run` is what the scenario last
 * wrote, and the real one is 1 only while passes are made.
 *
 * Locking: none; one thread.
 */
#ifndef SP_KERNEL_H
#define SP_KERNEL_H

#include <sys/types.h>

#include "agent.h"
#include "backend.h"
#include "content.h"
#include "host_frames.h"
#include "host_ksm.h"
#include "host_memory.h"
#include "host_page.h"
#include "kept_file.h"
#include "kernel_session.h"
#include "mem.h"
#include "proc_smaps.h"

struct kernel_session {
	struct mem mem;
	struct host_ksm *ksm;
	struct host_pages pages;
	struct host_frames frames; /* closed where the kernel does not show them */
	struct kept_files files;
	pid_t owner; /* who opened it: agents, which are its forks, are not */
	pid_t ksmd;  /* 0: not to be seen */
	bool has_merge_any; /* prctl(PR_SET_MEMORY_MERGE): Linux 6.4 */
	bool examined;	    /* nobody else has mergeable memory, as of the last look */
	uint32_t nr_nodes;
	bool has_swap;
	char cgroup[128]; /* the root of version 2; "": none with memory */
	uint32_t nr_groups; /* made below it, from 1 on */
	unsigned int nr_naps; /* sleeps differ, or writing one would wake nobody */

	struct agent *first; /* whom processes are forked from */
	/* What it, and so each of them, needs for itself: private memory. */
	struct agent_range own[128];
	unsigned int nr_own;
	unsigned int nr_own_vmas; /* all of them */
};

struct backend_process {
	struct backend *backend;
	struct agent *agent;    /* NULL: exited */
	struct backend_process *next;
	uint32_t id;            /* from 1, in order of creation */
	int pagemap_fd, mem_fd;
	bool beyond;            /* has mappings outside of the windows, put there by mremap */
	uint32_t cgroup_id;     /* the id of the process whose group this is in; 0: in none */

	uint64_t generation;    /* of its mappings: its own calls count it */

	/* Its mappings, as of the sum of both generations, its own and b's, being seen: */
	struct smaps vmas;
	uint64_t seen;          /* 0: never */
	bool with_flags;

	/* Its ksm_stat, as of b->moment: */
	uint64_t stat_moment;
	char stat[512];
};

struct backend_file {
	struct backend_file *next;
	int fd;
	char name[32];          /* as /proc/PID/maps shows it, after "/memfd:" */
};

struct counter_base {
	const char *name;
	bool vmstat;
	bool present;
	int64_t value;
};

#define KERNEL_NR_BASES 16
#define KERNEL_NR_MOVABLE 8

struct backend {
	struct mem mem;
	struct content_store store;
	struct kernel_session *session;
	bool own_session, taken_over;
	struct host_pages pages; /* the session's, like all that is here twice */
	struct backend_process *processes; /* newest first */
	struct backend_file *files;
	uint32_t nr_processes, nr_files;
	uint64_t generation;   /* of mappings: what may change those of any process counts it */
	uint32_t nr_nodes;
	uint64_t map_limit;    /* 0: the kernel's own */
	bool no_thp;
	bool has_merge_any;
	uint64_t started_ns;

	/* kernel_ksmd.c */
	pid_t ksmd;
	char run[4];           /* as the scenario set it */
	bool awake;            /* the real run is 1 */
	bool mid_pass;         /* the last pass may not have ended */
	struct counter_base bases[KERNEL_NR_BASES];
	uint64_t moment;       /* every operation counts it */
	uint64_t vmstat_moment; /* of vmstat; 0: never */
	char vmstat[16384];

	/* kernel_work.c */
	bool has_swap;
	char cgroup[128];

	/* kernel_offline.c: nodes [nr_nodes - nr_movable, nr_nodes) */
	uint32_t nr_movable;
	struct host_memory *movable[KERNEL_NR_MOVABLE];
	bool is_offline[KERNEL_NR_MOVABLE];

	/* The interpreter's: why something cannot be done, and what it should be told. */
	char *reason, *remark;
	size_t reason_bytes, remark_bytes;
	bool (*stop)(void *arg);
	void *stop_arg;
	uint64_t asked_ns; /* last time */
};

/* Says why; returns BACKEND_CANNOT. */
int kernel_cannot(struct backend *b, const char *fmt, ...) SP_PRINTF(2, 3);

/* Something was done: what is kept of figures is so no longer. */
static inline void kernel_did(struct backend *b)
{
	b->moment++;
}

/* In every loop that waits: true when it is to end, with -EINTR. */
bool kernel_stopped(struct backend *b);

/* A system call of the process, which may have changed its mappings. */
static inline void kernel_called(struct backend_process *p)
{
	p->generation++;
	kernel_did(p->backend);
}

/* Preferred memory policy, and the first node as its mask. */
#define KERNEL_PREFERRED 1
extern const unsigned long kernel_first_node;

/* ---- kernel_process.c ----------------------------------------------------------- */

int kernel_process_create(struct backend *b, struct backend_process **ret);
int kernel_fork(struct backend_process *parent, struct backend_process **ret);
int kernel_exit(struct backend_process *p);
uint32_t kernel_process_id(const struct backend_process *p);
/* Every process and file; counts in b->remark what could not be ended. */
void kernel_processes_destroy(struct backend *b);
int kernel_file_create(struct backend *b, uint64_t nr_pages, uint64_t seed,
		       struct backend_file **ret);
int kernel_mmap(struct backend_process *p, uint64_t addr, uint64_t length, int prot, int flags,
		struct backend_file *file, uint64_t pgoff);
int kernel_munmap(struct backend_process *p, uint64_t addr, uint64_t length);
int kernel_mprotect(struct backend_process *p, uint64_t addr, uint64_t length, int prot);
int kernel_mremap(struct backend_process *p, uint64_t addr, uint64_t old_length,
		  uint64_t new_length, int flags, uint64_t new_addr, uint64_t *ret);
int kernel_madvise(struct backend_process *p, uint64_t addr, uint64_t length,
		   enum sp_advice advice);
int kernel_mlock(struct backend_process *p, uint64_t addr, uint64_t length);
int kernel_munlock(struct backend_process *p, uint64_t addr, uint64_t length);
int kernel_prctl_set(struct backend_process *p, const unsigned long args[4]);
int kernel_prctl_get(struct backend_process *p, const unsigned long args[4]);
int kernel_read(struct backend_process *p, uint64_t addr, void *buf, uint64_t length);
int kernel_write(struct backend_process *p, uint64_t addr, const void *buf, uint64_t length);
int kernel_fill(struct backend_process *p, uint64_t addr, uint64_t length, uint8_t byte);
int kernel_fill_random(struct backend_process *p, uint64_t addr, uint64_t length, uint64_t seed);
int kernel_touch(struct backend_process *p, uint64_t addr, uint64_t length);
int kernel_random_page(struct backend *b, uint64_t seed, uint64_t index, void *buf);
int kernel_load_swapped(struct backend_process *p, uint64_t addr, const void *contents);

/* ---- kernel_look.c ----------------------------------------------------------------- */

int kernel_look(struct backend_process *p, uint64_t addr, uint64_t nr_pages, bool with_nodes,
		struct backend_page *ret);
int kernel_page_info(struct backend_process *p, uint64_t addr, struct sp_page_info *ret);
int kernel_vma_find(struct backend_process *p, uint64_t addr, struct sp_vma_info *ret);
int kernel_peek(struct backend_process *p, uint64_t addr, void *buf, uint64_t length);
int kernel_process_stat(const struct backend_process *p, const char *name, int64_t *ret);
/* Where it is the mapping that tells which pages are merged, it has to be read again. */
static inline void kernel_pages_changed(struct backend *b)
{
	b->generation += b->pages.ksm_bit_lies;
}
/* The mapping that holds addr, or the next one; NULL: none. 0 or -errno. */
int kernel_vma_at(struct backend_process *p, uint64_t addr, bool with_flags,
		  const struct smaps_vma **ret) SP_MUST_CHECK;

/* ---- kernel_ksmd.c ------------------------------------------------------------------ */

/* Takes KSM over: knobs at their defaults, nothing merged, counters at their bases. */
int kernel_ksmd_init(struct backend *b) SP_MUST_CHECK;
/* Unmerges what is left. */
void kernel_ksmd_finish(struct backend *b);
int kernel_knob_set(struct backend *b, const char *name, const char *value);
int kernel_knob_get(struct backend *b, const char *name, char *buf, size_t size);
int kernel_counter_get(struct backend *b, const char *name, int64_t *ret);
int kernel_scan(struct backend *b, uint64_t passes);
int kernel_scan_pages(struct backend *b, uint64_t nr_pages);
int64_t kernel_scan_until_stable(struct backend *b, uint64_t max_passes);
int kernel_run_for_ms(struct backend *b, uint64_t ms);

/* ---- kernel_work.c -------------------------------------------------------------------- */

/* What this kernel has of nodes and swap. */
void kernel_work_find(struct kernel_session *session);
/* Groups are taken away. */
void kernel_work_forget(struct kernel_session *session);
/* A group of its own, so that reclaim takes nobody else's pages. */
void kernel_work_adopt(struct backend_process *p);
/* Whether pages of the scenario's processes may go to swap at all. */
void kernel_work_allow_swap(struct kernel_session *session, bool allow);
int kernel_migrate(struct backend_process *p, uint64_t addr, int node, bool all);
int kernel_swap_out(struct backend_process *p, uint64_t addr);
int64_t kernel_reclaim(struct backend *b, uint64_t nr_pages, unsigned int rounds);
int64_t kernel_compact(struct backend *b);
/* References that batches of processors hold are gone (V18). */
void kernel_work_drain(void);
int kernel_hold(struct backend_process *p, uint64_t addr, uint64_t *handle);
int kernel_drop(struct backend *b, uint64_t handle);

/* ---- kernel_offline.c ------------------------------------------------------------------- */

/* Takes the last nodes of the scenario's, all of whose memory must be offline, and puts it online. */
int kernel_offline_init(struct backend *b, const struct sp_config *machine) SP_MUST_CHECK;
/* And offline again. */
void kernel_offline_finish(struct backend *b);
int kernel_offline(struct backend *b, unsigned int node);
int kernel_online(struct backend *b, unsigned int node);
/* The next one, in a circle, that is online. */
int kernel_next_node(const struct backend *b, int node);
/* 0, or why no page of this kernel may be soft-offlined. */
int kernel_may_soft_offline(struct backend_process *p) SP_MUST_CHECK;

#endif
