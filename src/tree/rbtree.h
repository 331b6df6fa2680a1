/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Red-black tree, intrusive, with an optional augmented value per node.
 *
 * The stable and unstable trees of KSM are plain ones ordered by page
 * contents; the interval tree of an anon_vma augments each node with the
 * largest `last` below it. Searching is the user's: walk left and right
 * yourself and link where you fell off; then the tree is rebalanced. The
 * shape after each operation is that of the textbook algorithm, hence of
 * Linux's trees: what an unstable tree finds after its pages changed depends
 * on the shape, and the engine must find the same.
 *
 * Locking: the user's. Nodes are not RCU safe.
 */
#ifndef SP_RBTREE_H
#define SP_RBTREE_H

#include "bits.h"

struct rb_node {
	uintptr_t parent_color; /* parent pointer; bit 0: 1 black, 0 red */
	struct rb_node *left, *right;
};

struct rb_root {
	struct rb_node *node;
};

/* Recomputes the augmented value of one node from itself and its children;
 * returns true if it changed. */
typedef bool (*rb_augment_fn)(struct rb_node *node);

/* Links node as the child of parent at *link (parent NULL: the root). */
static inline void rb_link(struct rb_node *node, struct rb_node *parent, struct rb_node **link)
{
	node->parent_color = (uintptr_t)parent;
	node->left = node->right = NULL;
	*link = node;
}

/* Rebalances after rb_link(). `augment` may be NULL; else node's own value
 * must already be right for a leaf, and ancestors are updated here. */
void rb_insert(struct rb_root *root, struct rb_node *node, rb_augment_fn augment);
void rb_erase(struct rb_root *root, struct rb_node *node, rb_augment_fn augment);
/* Puts `new` in the place of `old`, colour and links; no rebalancing. */
void rb_replace(struct rb_root *root, struct rb_node *old, struct rb_node *new);

struct rb_node *rb_first(const struct rb_root *root);
struct rb_node *rb_next(const struct rb_node *node);

static inline struct rb_node *rb_parent(const struct rb_node *node)
{
	return (struct rb_node *)(node->parent_color & ~(uintptr_t)1);
}

/* Colours, black heights and parent links hold; `augment` values too when
 * given. Returns NULL or what is wrong. *nr gets the number of nodes. */
const char *rb_validate(const struct rb_root *root, rb_augment_fn augment, uint64_t *nr);

#endif
