/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of ksm/ share: the state of one machine's KSM, and the calls between them,
 * grouped by the file that has them.
 */
#ifndef SP_KSM_INTERNAL_H
#define SP_KSM_INTERNAL_H

#include "ksm.h"
#include "ksm_types.h"

/* What scanning one page costs ksmd in simulated time: what a kernel takes for a page that it has
 * to look up in both trees. A wake-up that finds nothing to do costs as much. */
#define KSM_SCAN_PAGE_NS UINT64_C(4000)
/* sizeof(struct ksm_rmap_item) of the kernel (K2, K39). */
#define KSM_ITEM_BYTES 64

enum ksm_run { KSM_RUN_STOP, KSM_RUN_MERGE, KSM_RUN_UNMERGE };

/* By their names in sysfs (K40a), all wide enough for what the kernel keeps there. */
struct ksm_knobs {
	uint64_t run;                   /* enum ksm_run */
	uint64_t pages_to_scan, sleep_millisecs;
	uint64_t merge_across_nodes, use_zero_pages, smart_scan;
	uint64_t merge_old_ptes;        /* experiment: merged PTEs start old */
	uint64_t max_page_sharing;
	uint64_t stable_node_chains_prune_millisecs;
	uint64_t advisor_mode;          /* 0 none, 1 scan-time */
	uint64_t advisor_max_cpu, advisor_min_pages_to_scan, advisor_max_pages_to_scan,
		advisor_target_scan_time;
};

struct ksm_counters {
	int64_t pages_shared, pages_sharing, pages_unshared, rmap_items;
	int64_t pages_scanned, pages_skipped, ksm_zero_pages;
	int64_t stable_node_chains, stable_node_dups;
};

struct ksm_advisor {
	uint64_t start_ms;    /* of this pass */
	uint64_t scan_time;   /* of the previous pass, in s; 0: none yet */
	uint64_t change;      /* smoothed, in percent */
	uint64_t cpu_ns;      /* ksmd's CPU time when the previous pass ended */
};

struct ksm {
	struct vm *vm;
	struct mutex thread_mutex;
	struct ksm_knobs knobs;
	struct ksm_counters count;
	enum sp_strategy strategy;
	struct pool item_pool, node_pool, slot_pool;
	struct ksm_mm_slot mm_head;      /* sentinel of the circle of slots */
	struct ksm_scan_cursor scan;
	/* vm->frames.nr_nodes of each; only the first is used while merge_across_nodes is 1. */
	struct rb_root *stable_tree, *unstable_tree;
	struct cds_list_head migrate_nodes;
	uint32_t zero_checksum;
	struct ksm_advisor advisor;
	uint64_t cpu_ns;                 /* simulated CPU time of ksmd */
	uint64_t wake_ns;                /* when its sleep ends */
	uint64_t ahead_end;              /* pages of the scanned mm below are in the cache */
	/* What was looked at since then need not be looked at again: */
	uint32_t call_seq;               /* number of this call from outside; saturates */
	uint16_t epoch;                  /* calls and splits since the pass began; saturates */
	bool no_memory;                  /* the last batch ended for want of an rmap_item */
	bool zero_leaked;                /* an mm counts zero pages that it does not have (V8) */
};

static inline void ksm_epoch_begin(struct ksm *ksm)
{
	if (ksm->epoch != UINT16_MAX)
		ksm->epoch++;
}

static inline struct ksm *ksm_of(const struct vm *vm)
{
	return vm->ksm;
}

static inline uint64_t item_address(const struct ksm_rmap_item *item)
{
	return item->address & PAGE_MASK;
}

/* The mm has passed through exit: whoever holds its slot backs out (K26a). */
static inline bool mm_exited(const struct mm *mm)
{
	return mm->users == 0;
}

/* Which tree the frame's contents belong to (K30a). */
static inline uint32_t tree_of(const struct ksm *ksm, const struct frame *frame)
{
	return ksm->knobs.merge_across_nodes ? 0 : frame->nid;
}

/* The stable node that the frame names; NULL for one that is not KSM, or not in a tree yet. */
static inline struct ksm_stable_node *frame_node(const struct frame *frame)
{
	return frame_is_ksm(frame) ? frame_mapping(frame) : NULL;
}

static inline bool node_is_chain(const struct ksm_stable_node *node)
{
	return node->rmap_hlist_len == STABLE_NODE_CHAIN;
}

static inline struct cds_list_head *stable_dup_head(struct ksm *ksm)
{
	return (struct cds_list_head *)&ksm->migrate_nodes.prev;
}

static inline bool node_is_dup(struct ksm *ksm, const struct ksm_stable_node *node)
{
	return node->head == stable_dup_head(ksm);
}

static inline bool node_is_migrating(struct ksm *ksm, const struct ksm_stable_node *node)
{
	return node->head == &ksm->migrate_nodes;
}

/* May `more` further items join, besides the one that is about to (K21)? */
static inline bool node_is_candidate(const struct ksm *ksm, const struct ksm_stable_node *node,
				     int more)
{
	SP_ASSERT(node->rmap_hlist_len >= 0);
	return node->rmap_hlist_len &&
	       (uint64_t)(node->rmap_hlist_len + more) < ksm->knobs.max_page_sharing;
}

static inline bool item_is_on(const struct ksm_rmap_item *item, const struct ksm_stable_node *node)
{
	return (item->address & STABLE_FLAG) && item->head == node;
}

/* ---- ksm.c ---- */
/* A call from outside begins: what earlier ones saw may have changed. */
void ksm_call_begin(struct ksm *ksm);

/* ---- slot.c ---- */
/* 0, -ENOMEM: where KSM is best effort (fork, new mappings), that is ignored. */
int slot_enter(struct ksm *ksm, struct mm *mm);
/* Takes it off the circle, clears MMF_VM_MERGEABLE, drops the mm. Its items are gone. */
void slot_free(struct ksm *ksm, struct ksm_mm_slot *slot);
static inline struct ksm_mm_slot *slot_next(const struct ksm_mm_slot *slot)
{
	return cds_list_entry(slot->link.next, struct ksm_mm_slot, link);
}
int ksm_hook_fork(struct mm *child, struct mm *parent);
void ksm_hook_exit(struct mm *mm);
void ksm_hook_zero_page_gone(struct mm *mm);

/* ---- advice.c ---- */
uint64_t ksm_hook_vma_flags(struct mm *mm, bool has_file, uint64_t vm_flags);
int ksm_hook_madvise(struct vma *vma, uint64_t start, uint64_t end, bool mergeable,
		     uint64_t *vm_flags);

/* ---- item.c ---- */
/*
 * The item for addr at *list: lower ones are freed, a missing one is made (K10). NULL: out of
 * memory.
 */
struct ksm_rmap_item *item_get(struct ksm *ksm, struct mm *mm, struct ksm_rmap_item **list,
			       uint64_t addr);
void item_remove_from_tree(struct ksm *ksm, struct ksm_rmap_item *item);
void items_free_from(struct ksm *ksm, struct ksm_rmap_item **list);
/* Joins the node's list (K5); the KSM frame is locked. bypass: may exceed max_page_sharing. */
void item_append(struct ksm *ksm, struct ksm_rmap_item *item, struct ksm_stable_node *node,
		 bool bypass);

/* ---- stable_node.c ---- */
struct ksm_stable_node *node_alloc(struct ksm *ksm);
void node_free(struct ksm *ksm, struct ksm_stable_node *node);
/* Its KSM frame; or NULL, and then the node was stale and is freed (K3). */
struct frame *node_frame(struct ksm *ksm, struct ksm_stable_node *node);
/* Off its chain or out of its tree. */
void node_unlink(struct ksm *ksm, struct ksm_stable_node *node);
void node_to_migrate_list(struct ksm *ksm, struct ksm_stable_node *node);
/* Removes every node whose frame is not mapped; -EBUSY if one is left (K31, K35). */
int nodes_remove_all(struct ksm *ksm);
/* Looks at all nodes on migrate_nodes, so that stale ones go (K8). */
void nodes_revalidate_migrating(struct ksm *ksm);
/* Teardown: whatever is left. */
void nodes_free_all(struct ksm *ksm);

/*
 * The same as node_frame() != NULL, but asks only once in a call from outside: nothing that
 * ksmd itself does makes a node stale.
 */
static inline bool node_is_live(struct ksm *ksm, struct ksm_stable_node *node)
{
	if (__builtin_expect(node->checked == ksm->call_seq && ksm->call_seq != UINT32_MAX, 1))
		return true;
	if (!node_frame(ksm, node))
		return false;
	node->checked = ksm->call_seq;
	return true;
}

/* ---- chain.c ---- */
/* A chain with this one dup, in its place in the tree; NULL: out of memory. */
struct ksm_stable_node *chain_create(struct ksm *ksm, struct ksm_stable_node *dup,
				     struct rb_root *root);
void chain_add(struct ksm *ksm, struct ksm_stable_node *chain, struct ksm_stable_node *dup);
void chain_free(struct ksm *ksm, struct ksm_stable_node *chain, struct rb_root *root);
/*
 * The dup that a search takes (K29), after dropping stale ones; NULL when there is none, and
 * then the chain is freed. When a single one is left the chain goes and *node becomes that dup.
 */
struct ksm_stable_node *chain_choose(struct ksm *ksm, struct ksm_stable_node **node,
				     struct rb_root *root, bool prune);

/* ---- stable_tree.c ---- */
enum stable_result {
	STABLE_NONE,   /* go on to the unstable tree */
	STABLE_FOUND,  /* *ret is the KSM frame; maybe the scanned one itself */
	STABLE_BUSY,   /* its lock is busy: no more this time */
};
enum stable_result stable_search(struct ksm *ksm, struct frame *frame, struct frame **ret);
/* A node for a frame that was just made KSM; NULL: out of memory. The frame is locked. */
struct ksm_stable_node *stable_insert(struct ksm *ksm, struct frame *kframe);

/* ---- unstable_tree.c ---- */
void unstable_reset(struct ksm *ksm);
/* The pass is given up: what it inserted counts as left over from an earlier one. */
void unstable_orphan_all(struct ksm *ksm);
/* The item whose page equals the frame, and that page; or NULL, item inserted or not (K23). */
struct ksm_rmap_item *unstable_search_insert(struct ksm *ksm, struct ksm_rmap_item *item,
					     struct frame *frame, struct frame **tree_frame);

/* ---- merge.c ---- */
/* The VMA of mm at addr if pages there may still be merged (K25). mmap_lock held. */
struct vma *find_mergeable_vma(const struct mm *mm, uint64_t addr);
int merge_with_zero_page(struct ksm *ksm, struct ksm_rmap_item *item, struct frame *frame);
/* kframe NULL: the frame becomes a KSM frame. 0, or -EFAULT. */
int merge_with_ksm_page(struct ksm *ksm, struct ksm_rmap_item *item, struct frame *frame,
			struct frame *kframe);
/* 0: both map `frame` now, which is KSM but in no tree. */
int merge_two_pages(struct ksm *ksm, struct ksm_rmap_item *item, struct frame *frame,
		    struct ksm_rmap_item *tree_item, struct frame *tree_frame);
/* Are both pieces of one huge page? */
bool same_huge_page(struct ksm *ksm, const struct frame *a, const struct frame *b);
/*
 * Splits the huge page that the frame is part of, unless locked or referenced. 0, -EBUSY,
 * -ENOMEM.
 */
int split_huge_page(struct ksm *ksm, struct mm *mm, struct frame *frame);

/* ---- break.c ---- */
int break_ksm(struct vma *vma, uint64_t start, uint64_t end);
void break_cow(struct ksm_rmap_item *item);
int unmerge_all(struct ksm *ksm) SP_MUST_CHECK;

/* ---- smart_scan.c ---- */
/* Leave this candidate out this time (K15)? Its item is then out of its tree. */
bool smart_skip(struct ksm *ksm, const struct frame *frame, struct ksm_rmap_item *item);

/* ---- lookahead.c ---- */
/* Warms the cache for the candidates from addr on; returns up to where. */
uint64_t lookahead(const struct ksm *ksm, const struct mm *mm, uint64_t addr);

/* ---- scan.c ---- */
/* One batch; thread_mutex held. */
void scan_batch(struct ksm *ksm, uint64_t nr);

/* ---- advisor.c ---- */
void advisor_start_pass(struct ksm *ksm);
void advisor_stop_pass(struct ksm *ksm);
/* The mode has changed: pages_to_scan starts anew. */
void advisor_set_defaults(struct ksm *ksm);

/* ---- swapin.c ---- */
struct frame *ksm_hook_might_need_to_copy(struct frame *frame, struct vma *vma, uint64_t addr);
void ksm_hook_migrate_frame(struct frame *dst, struct frame *src);
void ksm_hook_node_offline(struct vm *vm, uint32_t nid);
void ksm_hook_pte_moved(struct vm *vm, struct frame *frame);

/* ---- reach.c ---- */
bool ksm_hook_count_reached(struct vm *vm, struct frame *frame, enum sp_strategy strategy,
			    uint64_t *ret);

/* ---- walk.c ---- */
void rmap_walk_ksm(struct vm *vm, struct frame *frame, struct rmap_walk_control *rwc);
/* W3: a swapped-in KSM frame was mapped as is: its index need not be any item's (V6), so `direct`
 * walks this node in full until a narrow walk has emptied it. */
void ksm_walk_note_swapin(struct ksm_stable_node *node);
/*
 * The item is about to leave the node's list: mappings that only it reached may be missed from
 * now on.
 */
void ksm_walk_note_removal(struct vm *vm, struct frame *frame, struct ksm_stable_node *node,
			   const struct ksm_rmap_item *item);

#endif
