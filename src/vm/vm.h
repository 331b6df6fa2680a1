/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory of one machine: what every part of vm/ and above works on, and
 * the hooks through which vm/ and rmap/ reach what lies above them.
 *
 * Linux calls upward in several places (fork and exit into ksm, the reverse map into
 * rmap_walk_ksm, swap-in into ksm_might_need_to_copy, madvise into reclaim).
 * Here an upper layer registers a table of functions at machine creation; a
 * NULL entry means that the layer is absent, and the caller behaves as a
 * kernel without it.
 *
 * Locking: one thread at a time works on a machine (RCU readers of an mm's VMA tree excepted);
 * locks inside it are real, in the order of sync/rank.h, and are what walks measure.
 */
#ifndef SP_VM_H
#define SP_VM_H

#include <urcu/list.h>

#include "clock.h"
#include "event.h"
#include "frame.h"
#include "page_table.h"
#include "range_tree.h"
#include "report.h"
#include "rwsem.h"
#include "samepage.h"
#include "swap.h"

struct mm;
struct vma;
struct anon_vma;
struct rmap_walk_control;
struct vm;

/* vmstat counters, by Linux's names where Linux has them. */
#define SP_VMSTATS(X)     \
	X(pgfault)        \
	X(cow_ksm)        \
	X(ksm_swpin_copy) \
	X(pswpin)         \
	X(pswpout)        \
	X(pgmigrate_success) \
	X(pgmigrate_fail) \
	X(thp_fault_alloc) \
	X(thp_split_pmd)

struct vmstat {
#define X(name) uint64_t name;
	SP_VMSTATS(X)
#undef X
};

enum thp_mode { THP_NEVER, THP_MADVISE, THP_ALWAYS };

struct vm_config {
	uint32_t max_map_count;
	enum thp_mode thp;
	bool concurrent_readers;
	uint64_t fail_allocation; /* the Nth of the machine's account fails; 0: none */
	struct region *region;    /* all memory is taken from; NULL: the C library */
};

struct vm_hooks {
	/* ---- ksm ---- */
	/* VM flags for a new mapping: adds VM_MERGEABLE under merge-any (K37). */
	uint64_t (*ksm_vma_flags)(struct mm *mm, bool has_file, uint64_t vm_flags);
	/* MADV_MERGEABLE/UNMERGEABLE on [start, end) of a VMA: may change *vm_flags;
	 * UNMERGEABLE breaks the KSM pages first. mmap_lock held for write (M1, K34). */
	int (*ksm_madvise)(struct vma *vma, uint64_t start, uint64_t end, bool mergeable, uint64_t *vm_flags);
	/* Child of a fork, before its VMAs are copied (K38). 0 or -ENOMEM. */
	int (*ksm_fork)(struct mm *child, struct mm *parent);
	/* mm->users has become 0; nothing is unmapped yet (L8). */
	void (*ksm_exit)(struct mm *mm);
	/*
	 * Swap-in found `frame` in the swap cache (locked) for addr: returns it, or a
	 * new copy (locked, refcount 1, counted as ksm_swpin_copy), or NULL out of memory (W3).
	 */
	struct frame *(*ksm_might_need_to_copy)(struct frame *frame, struct vma *vma, uint64_t addr);
	/* A KSM-placed zero page went away (K19): -1 for each. */
	void (*ksm_zero_page_gone)(struct mm *mm);
	/* Reverse walk of a KSM frame (locked). */
	void (*rmap_walk_ksm)(struct vm *vm, struct frame *frame, struct rmap_walk_control *rwc);
	/* rmap_count_reached() of a KSM frame, in a machine of few mms; false: to be walked. */
	bool (*ksm_count_reached)(struct vm *vm, struct frame *frame, enum sp_strategy strategy,
				  uint64_t *ret);
	/* mremap moved a PTE of this KSM frame without breaking it (its VMA is not mergeable). */
	void (*ksm_pte_moved)(struct vm *vm, struct frame *frame);
	/* dst takes src's place (W5); both locked. */
	void (*ksm_migrate_frame)(struct frame *dst, struct frame *src);
	/* No frame of this node is in use any more: what still names one is to forget it. */
	void (*ksm_node_offline)(struct vm *vm, uint32_t nid);
	/* ---- rmap ---- */
	/* MADV_PAGEOUT of one anonymous frame mapped once (M5): evict it. mmap read lock held. */
	void (*madvise_pageout)(struct vma *vma, uint64_t addr, struct frame *frame);
	/* Before a PTE move or unmap of a migration entry, Linux waits for the migration: in a
	 * machine of one thread such an entry is an orphan. Reports it. */
	void (*orphan_entry_met)(struct mm *mm, uint64_t addr, pte_t pte);
};

struct vm {
	struct mem mem;
	struct clock clock;
	struct events events;
	struct frames frames;
	struct swap swap;
	struct vm_config config;
	struct vmstat stat;
	struct pool mm_pool, vma_pool, avc_pool, anon_vma_pool, table_pool;
	struct cds_list_head mms;    /* mm->link, in order of creation; dead ones until mm_drop */
	struct cds_list_head files;
	/* What mremap() set aside so that its later steps cannot fail; empty between operations. */
	struct cds_list_head spare_vmas; /* vma->anon_vma_chain */
	struct cds_list_head spare_avcs; /* avc->same_vma */
	uint32_t nr_mms_created;
	uint32_t nr_anon_vmas_created;
	uint64_t nr_orphan_entries;  /* migration entries that broken walks left behind, ever */
	struct vm_hooks hooks;       /* copied at registration */
	void *rmap;                  /* the layers' own state */
	void *ksm;
};

int vm_init(struct vm *vm, const struct vm_config *config, uint32_t nr_nodes, uint64_t frames_per_node,
	    uint64_t nr_swap_slots, uint32_t content_bytes) SP_MUST_CHECK;
/* All mms must be gone. */
void vm_destroy(struct vm *vm);

/* ---- Files: an array of page-cache frames, read lazily from a seed. ---- */

struct file {
	struct cds_list_head link;
	struct vm *vm;
	uint64_t nr_pages;
	uint64_t seed;             /* 0: zeroes */
	bool shmem;                /* anonymous shared memory, as large as its first mapping */
	int refcount;              /* VMAs, plus one of the owner */
	struct frame **pages;      /* NULL: not yet in the page cache */
};

/* 0 and *ret (refcount 1) or -ENOMEM. */
int file_create(struct vm *vm, uint64_t nr_pages, uint64_t seed, bool shmem, struct file **ret) SP_MUST_CHECK;
void file_get(struct file *file);
void file_put(struct file *file);
/* The page-cache frame (no reference taken; the cache's keeps it): 0; -EFAULT beyond the end;
 * -ENOMEM. */
int file_page(struct file *file, uint64_t pgoff, struct frame **ret) SP_MUST_CHECK;

#endif
