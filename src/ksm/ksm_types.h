/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KSM's structures: one for each registered mm, each scanned page, each merged page (K1-K3).
 *
 * Only ksm/ includes this. Locks: ksm->thread_mutex protects the cursor, all trees, and every
 * field here; a stable node's hlist of rmap_items also needs the KSM frame's lock (K26a).
 */
#ifndef SP_KSM_TYPES_H
#define SP_KSM_TYPES_H

#include <urcu/hlist.h>

#include "rbtree.h"
#include "rmap.h"

/* rmap_item->address: page aligned, flags in the low bits. */
#define SEQNR_MASK UINT64_C(0x0ff)
#define UNSTABLE_FLAG UINT64_C(0x100)
#define STABLE_FLAG UINT64_C(0x200)

struct ksm_mm_slot {
	struct cds_list_head link;   /* ksm->mm_head, a circle with the cursor */
	struct mm *mm;               /* holds one count */
	struct ksm_rmap_item *rmap_list; /* ascending address */
};

struct ksm_stable_node;

/*
 * One page that ksmd has seen. The kernel's is 64 bytes, and general_profit counts it as such
 * whatever this one's size is (K39). What a search of the unstable tree reads stands together
 * at the end.
 */
struct ksm_rmap_item {
	struct ksm_rmap_item *next;
	struct mm *mm;
	uint64_t address;            /* | flags | seqnr when unstable */
	union {
		struct anon_vma *anon_vma; /* when stable: holds a reference */
		uint32_t nid;              /* when in an unstable tree: which */
	};
	uint32_t oldchecksum;
	uint8_t age;
	uint8_t remaining_skips;
	uint16_t epoch;              /* when unstable: in which prefix is right (unstable_tree.c) */
	union {
		uint64_t index;      /* when stable: linear page index when it was merged */
		uint64_t prefix;     /* when unstable: first bytes of its page (content_prefix) */
	};
	union {
		struct rb_node node; /* when unstable */
		struct {             /* when stable */
			struct ksm_stable_node *head;
			struct cds_hlist_node hlist;
		};
	};
};

#define STABLE_NODE_CHAIN (-1024)

/*
 * One KSM page, or a chain of nodes of equal contents (K28). `head` lies over the rb node's parent
 * pointer, which is never one of the two addresses below. States:
 *
 *	in a stable tree      rb node linked
 *	on migrate_nodes      head == &ksm->migrate_nodes (K17)
 *	dup of a chain        head == stable_dup_head(ksm), hlist_dup linked in chain->hlist
 *	chain                 rmap_hlist_len == STABLE_NODE_CHAIN, hlist holds dups; in a tree
 */
struct ksm_stable_node {
	union {
		struct rb_node node;
		struct {
			struct cds_list_head *head;
			struct cds_hlist_node hlist_dup;
			struct cds_list_head list; /* migrate_nodes */
		};
	};
	uint64_t prefix;             /* first bytes of its page (content_prefix) */
	union {
		struct {
			uint32_t kpfn;
			uint32_t checked; /* the call that found it live (stable_node.c) */
		};
		uint64_t chain_prune_time_ms; /* of a chain */
	};
	struct cds_hlist_head hlist; /* rmap_items newest first; or dups */
	int32_t rmap_hlist_len;
	uint16_t nid;                /* whose tree it is in; kpfn may have moved since */
	bool wide;                   /* `direct` walks the whole tree (V17, walk.c) */
};

struct ksm_scan_cursor {
	struct ksm_mm_slot *mm_slot;
	uint64_t address;
	struct ksm_rmap_item **rmap_list;
	uint64_t seqnr;
};

#endif
