/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Address spaces: struct mm, its VMAs, and looking them up.
 *
 * Lifetime of an mm. `users` is 1 from creation until exit, then 0: the mm has no VMAs and no pages
 * any more. `count` is one for users > 0, one for each ksm_mm_slot; at 0 it is freed. Handles of
 * exited processes hold no mm.
 *
 * A VMA is found through mm->vmas, a range tree that RCU readers may search
 * while a writer changes it. Its entries repeat [start, end) of the VMA; the
 * two agree whenever mmap_lock is not held for write.
 */
#ifndef SP_MM_H
#define SP_MM_H

#include "vm.h"

/* VM flags: those that the engine gives a meaning or compares when merging (A9). */
enum vm_flags {
	VM_READ = 1 << 0,
	VM_WRITE = 1 << 1,
	VM_EXEC = 1 << 2,
	VM_SHARED = 1 << 3,
	VM_MAYSHARE = 1 << 4,
	VM_MAYWRITE = 1 << 5,
	VM_MERGEABLE = 1 << 6,
	VM_DONTCOPY = 1 << 7,     /* MADV_DONTFORK */
	VM_WIPEONFORK = 1 << 8,
	VM_LOCKED = 1 << 9,
	VM_HUGEPAGE = 1 << 10,
	VM_NOHUGEPAGE = 1 << 11,
	VM_ACCOUNT = 1 << 12,     /* private writable: charged to the commit limit */
	VM_NORESERVE = 1 << 13,
};

#define VM_ACCESS_FLAGS ((uint64_t)(VM_READ | VM_WRITE | VM_EXEC))

enum mm_flags {
	MMF_VM_MERGEABLE = 1 << 0, /* registered with ksm (K11) */
	MMF_VM_MERGE_ANY = 1 << 1, /* PR_SET_MEMORY_MERGE (K37) */
};

struct mm {
	/* Immutable after creation: */
	struct vm *vm;
	uint32_t id;                     /* from 1, in order of creation */
	/* Protected by the machine's one-thread rule: */
	struct cds_list_head link;       /* vm->mms */
	uint32_t users, count;           /* see above */
	uint32_t flags;                  /* enum mm_flags */
	struct rwsem mmap_lock;
	/* Written under mmap_lock held for write; read under it, or RCU where said: */
	struct range_tree vmas;          /* RCU readers: range_tree_find() */
	uint32_t map_count;
	uint64_t mmap_base;              /* where sp_mmap() without address begins to look */
	/* Entries change under mmap_lock for read or an anon_vma lock: */
	struct page_table pt;
	/* RSS counters, one for each page (a huge page counts HPAGE_PMD_NR): */
	int64_t rss_anon, rss_file, rss_shmem, rss_swap;
	/* Owned by ksm/ (K5, K19, K39): */
	int64_t ksm_merging_pages, ksm_rmap_items, ksm_zero_pages;
	int64_t ksm_zero_leaked;         /* of ksm_zero_pages: counted by fork, never mapped (V8) */
	void *ksm_slot;                  /* its ksm_mm_slot, or NULL */
};

struct vma {
	/* Immutable: */
	struct mm *mm;
	struct file *file;               /* NULL: anonymous private; holds a reference */
	/* Written with mmap_lock for write, and the anon_vma lock where start, end or
	 * pgoff of a linked VMA change; stable under either: */
	uint64_t start, end;             /* bytes, end exclusive */
	uint64_t pgoff;                  /* pages; of the file, or start >> 12 at birth (A7) */
	/* Written with mmap_lock for write, read with it: */
	uint64_t flags;                  /* enum vm_flags */
	/* Written once from NULL under mmap_lock for read (A3); cleared for write: */
	struct anon_vma *anon_vma;       /* where new anonymous pages of this VMA go */
	struct cds_list_head anon_vma_chain; /* avc->same_vma, newest first; mmap_lock */
};

static inline uint64_t vma_pages(const struct vma *vma)
{
	return (vma->end - vma->start) >> PAGE_SHIFT;
}

/* Largest page offset of the VMA, inclusive. */
static inline uint64_t vma_last_pgoff(const struct vma *vma)
{
	return vma->pgoff + vma_pages(vma) - 1;
}

/* The linear page index of an address in the VMA (A7): what keys the interval tree and what an
 * anonymous page's index is. */
static inline uint64_t vma_linear_index(const struct vma *vma, uint64_t addr)
{
	return vma->pgoff + ((addr - vma->start) >> PAGE_SHIFT);
}

static inline bool vma_is_anonymous(const struct vma *vma)
{
	return !vma->file;
}

/* 0 and *ret with users = count = 1, or -ENOMEM. */
int mm_create(struct vm *vm, struct mm **ret) SP_MUST_CHECK;
void mm_grab(struct mm *mm); /* count++ */
void mm_drop(struct mm *mm); /* count--, frees at 0 */

/* The VMA that contains addr, or NULL. mmap_lock held, or inside an RCU section
 * (then only address fields copied by the tree may be trusted; see range_tree.h). */
static inline struct vma *vma_lookup(const struct mm *mm, uint64_t addr)
{
	struct range_entry e;

	return range_tree_find(&mm->vmas, addr, &e) ? e.object : NULL;
}

/* The first VMA with end > addr, or NULL (find_vma). mmap_lock held. */
static inline struct vma *vma_find(const struct mm *mm, uint64_t addr)
{
	struct range_entry e;

	return range_tree_find_above(&mm->vmas, addr, &e) ? e.object : NULL;
}

/* for each VMA that intersects [from, to), ascending; the body may not change the tree. */
#define for_each_vma_range(vma, mm, from, to)                             \
	for ((vma) = vma_find((mm), (from)); (vma) && (vma)->start < (to); \
	     (vma) = vma_find((mm), (vma)->end))
#define for_each_vma(vma, mm) for_each_vma_range(vma, mm, 0, UINT64_MAX)

#endif
