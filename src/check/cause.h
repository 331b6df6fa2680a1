/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Causes: what tells one defect from another, so that one that is found a thousand times prints as one
 * line.
 *
 * A cause is a kind of failure and a name for how the entry came to be where the walk does not look:
 * by mremap, from a file, by fork, from swap. It is computed from what the machine shows at the moment
 * of failure (rmap_items, anon_vmas, VMAs) and the page's past, by an ordered table of rules; what no
 * rule names is `other` and tells its features, so that a new defect never hides in a known one.
 *
 * Several rules may have one name, where one defect shows in several ways. Causes compare equal when
 * kind, name and, for `other`, features are the same.
 *
 * Locks: none; pure functions on constant tables, for any thread.
 */
#ifndef SP_CAUSE_H
#define SP_CAUSE_H

#include "samepage.h"

enum failure_kind {
	FAILURE_MISS,	 /* a walk did not reach an entry */
	FAILURE_ORPHAN,	 /* migration left an entry behind: an access would wait for ever */
	FAILURE_PINNED,	 /* the page could not be unmapped, for no reason but the walk */
	FAILURE_CONTENT, /* a page does not hold what was written */
	FAILURE_RECOUNT, /* sp_validate() */
	FAILURE_RESULT,	 /* a step returned what it must not */
	NR_FAILURE_KINDS
};

/* What is known of the entry that the failure is about. */
enum feature {
	FEATURE_OWN_ITEM = 1 << 0,	 /* an rmap_item of this mm and address is on the page's node */
	FEATURE_RELATIVE_ITEM = 1 << 1,	 /* one of another mm at this address, in whose anon_vma the VMA is */
	FEATURE_OFF_LIST = 1 << 2,	 /* ksmd has an item for it that is not on the page's node */
	FEATURE_OTHER_ANON_VMA = 1 << 3, /* the VMA is not in the own item's anon_vma */
	FEATURE_OTHER_INDEX = 1 << 4,	 /* the item that should lead here was made for another index */
	FEATURE_MOVED_VMA = 1 << 5,	 /* anonymous, and linear index != address >> PAGE_SHIFT */
	FEATURE_FILE = 1 << 6,		 /* a private file mapping */
	FEATURE_NOT_MERGEABLE = 1 << 7,	 /* the VMA */
	FEATURE_FORKED = 1 << 8,	 /* as enum page_past */
	FEATURE_SHARED = 1 << 9,
	FEATURE_SWAPPED = 1 << 10,
	FEATURE_MOVED = 1 << 11,
	FEATURE_UNMERGED = 1 << 12,
	FEATURE_LINUX = 1 << 13,	 /* `full` misses it too */
	FEATURE_WRONG_TREE = 1 << 14,	 /* the page's node is not in the tree of the NUMA node it is on */
	FEATURE_INHERITED = 1 << 15,	 /* as enum page_past */
	FEATURE_NO_NODE = 1 << 16,	 /* a merged page without a node */
	FEATURE_REJOINED = 1 << 17,	 /* as enum page_past */
};

struct cause {
	uint8_t kind;
	uint8_t name; /* index of the table in cause.c */
	uint32_t features;
};

struct cause cause_of(enum failure_kind kind, enum sp_strategy strategy, uint32_t features);
bool cause_equal(const struct cause *a, const struct cause *b);
/* "moved", "file", "forked-before-merge" ...: stable, for JSON and file names. */
const char *cause_name(const struct cause *cause);
/* One clause for people: "a private file mapping is keyed by the file's offset, not by its address". */
const char *cause_text(const struct cause *cause, char *buf, size_t size);
/* "miss", "orphan", ... */
const char *failure_kind_name(enum failure_kind kind);
/* The facts behind it: "S2, V1"; "" if none. */
const char *cause_facts(const struct cause *cause);

#endif
