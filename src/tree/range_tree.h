/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Range tree: a map from disjoint, ordered ranges [start, end) of addresses to
 * objects (the VMAs of an mm), searchable by RCU readers while one writer
 * changes it.
 *
 * A B+ tree whose nodes are never changed once readers can see them: every
 * update copies the path from the root to the changed leaf and publishes the
 * new root with one store. A reader therefore sees the tree before or after
 * an update, never between. Each entry stores start, end and object by value,
 * so that a search touches no object.
 *
 * Replaced nodes are kept on a list and reused after a grace period, which many
 * of them share. Where range_tree_init() is told that nobody reads without the
 * lock, nothing is copied and updates happen in place.
 *
 * range_tree_reserve() may wait for readers; whoever calls it holds no lock that
 * a reader may wait for inside its section, and is not in one (rcu.h).
 *
 * Updates cannot fail: range_tree_reserve() fetches enough nodes for the
 * coming updates beforehand and is the only call that returns -ENOMEM, so that
 * a VMA operation that has begun is always completed.
 *
 * Locking: writers are excluded by the user (mmap_lock held for write).
 * Readers hold mmap_lock, or are between rcu_reader_lock() and
 * rcu_reader_unlock(); range_tree_find() is safe in both.
 *
 *	err = range_tree_reserve(tree, 2);
 *	range_tree_erase(tree, old_start);
 *	range_tree_insert(tree, start, end, vma);
 */
#ifndef SP_RANGE_TREE_H
#define SP_RANGE_TREE_H

#include "mem.h"

struct range_node;

struct range_tree {
	struct mem *mem;
	struct range_node *root;    /* RCU: load with rcu_load() outside the lock */
	unsigned int height;        /* writer only; readers read it from the root */
	uint64_t nr_entries;
	struct range_node *spare;   /* reserved nodes */
	unsigned int nr_spare;
	struct range_node *retired; /* replaced; readers may still be inside */
	unsigned int nr_retired;
	bool has_readers;           /* false: nobody reads without the lock */
};

struct range_entry {
	uint64_t start, end;
	void *object;
};

void range_tree_init(struct range_tree *tree, struct mem *mem, bool has_readers);
void range_tree_destroy(struct range_tree *tree);

/* Enough spare nodes for `updates` insertions, erasures or changes. 0 or -ENOMEM. */
int range_tree_reserve(struct range_tree *tree, unsigned int updates) SP_MUST_CHECK;

/* [start, end) must not overlap an entry. Consumes one reserved update. */
void range_tree_insert(struct range_tree *tree, uint64_t start, uint64_t end, void *object);
/* Removes the entry that begins at start, which must exist. Consumes one. */
void range_tree_erase(struct range_tree *tree, uint64_t start);
/* Changes the bounds of the entry that begins at start; it keeps its place in
 * the order and must not come to overlap a neighbour. Consumes one. */
void range_tree_resize(struct range_tree *tree, uint64_t start, uint64_t new_start, uint64_t new_end);

/* The entry that contains addr: true and *ret, or false. Reader or writer. */
bool range_tree_find(const struct range_tree *tree, uint64_t addr, struct range_entry *ret);
/* The first entry with end > addr (it contains addr or lies above it). */
bool range_tree_find_above(const struct range_tree *tree, uint64_t addr, struct range_entry *ret);
/* The last entry with start < addr. */
bool range_tree_find_below(const struct range_tree *tree, uint64_t addr, struct range_entry *ret);

/* The lowest gap of `bytes` bytes at or above `floor` and ending at or below
 * `ceiling`; UINT64_MAX when there is none. Holding the lock. */
uint64_t range_tree_find_gap(const struct range_tree *tree, uint64_t floor, uint64_t ceiling, uint64_t bytes);

/* The same, the highest such gap: what a top-down mmap wants. */
uint64_t range_tree_find_gap_last(const struct range_tree *tree, uint64_t floor, uint64_t ceiling, uint64_t bytes);

/* NULL, or what is wrong (order, overlap, fill, heights, entry count). */
const char *range_tree_validate(const struct range_tree *tree);

#endif
