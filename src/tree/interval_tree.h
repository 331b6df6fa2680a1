/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interval tree: which intervals [start, last], both ends inclusive, overlap
 * a query [start, last], in O(log n + found).
 *
 * It is the reverse map's index: one node for each anon_vma_chain, keyed by
 * the VMA's page offsets (A2). Iteration is in order of ascending start;
 * nodes of equal start keep the order of their insertion, which is what makes
 * a parent come before the children forked later. [0, UINT64_MAX] yields all.
 *
 * Locking: the user's (the anon_vma root's rwsem).
 *
 *	for (n = interval_first(&tree, lo, hi); n; n = interval_next(n, lo, hi))
 */
#ifndef SP_INTERVAL_TREE_H
#define SP_INTERVAL_TREE_H

#include "rbtree.h"

struct interval_node {
	struct rb_node rb;
	uint64_t start, last;  /* inclusive; do not change while inserted */
	uint64_t left_last;    /* the left child's subtree_last; 0 without one */
	uint64_t subtree_last; /* largest `last` in this subtree */
};

struct interval_tree {
	struct rb_root root;
};

void interval_insert(struct interval_tree *tree, struct interval_node *node);
void interval_remove(struct interval_tree *tree, struct interval_node *node);
struct interval_node *interval_first(const struct interval_tree *tree, uint64_t start, uint64_t last);
struct interval_node *interval_next(struct interval_node *node, uint64_t start, uint64_t last);

static inline bool interval_tree_empty(const struct interval_tree *tree)
{
	return !tree->root.node;
}

/* NULL, or what is wrong with order, balance or the two derived keys. */
const char *interval_validate(const struct interval_tree *tree, uint64_t *nr);

#endif
