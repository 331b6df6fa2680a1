/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interval tree behind interval_tree.h: a red-black tree ordered by
 * `start`, each node knowing the largest `last` of its subtree, and of its left
 * subtree. The second is the left child's value kept once more: whether to go
 * left is then decided without touching the left child, and a search touches
 * only the nodes on its way (measured: half the time for a warm one).
 *
 * A search goes to the leftmost node that can overlap. A left subtree whose
 * subtree_last reaches the query either holds the answer, or holds only nodes
 * that start beyond the query, and then so does everything to their right: no
 * branch is ever tried twice, and a search is one way down. A node is entered
 * only when its subtree_last reaches the query, so when neither its left
 * subtree nor itself does, its right subtree must, and is entered unread.
 *
 * interval_next() continues from a node without the root: down to the right if
 * something there reaches, otherwise up to the first ancestor that lies to the
 * right. Over all of [0, UINT64_MAX] it is a plain in-order walk.
 *
 * Locks: none here; the anon_vma root's rwsem covers the tree (R1, R5).
 */
#include "interval_tree.h"

static inline struct interval_node *to_interval(const struct rb_node *rb)
{
	return container_of(rb, struct interval_node, rb);
}

static inline bool reaches(const struct rb_node *rb, uint64_t start)
{
	return rb && to_interval(rb)->subtree_last >= start;
}

static bool update_lasts(struct rb_node *rb)
{
	struct interval_node *node = to_interval(rb);
	uint64_t left_last = rb->left ? to_interval(rb->left)->subtree_last : 0;
	uint64_t last = MAX(node->last, left_last);

	if (rb->right)
		last = MAX(last, to_interval(rb->right)->subtree_last);
	if (last == node->subtree_last && left_last == node->left_last)
		return false;
	node->subtree_last = last;
	node->left_last = left_last;
	return true;
}

void interval_insert(struct interval_tree *tree, struct interval_node *node)
{
	struct rb_node **link = &tree->root.node, *parent = NULL;

	node->left_last = 0;
	node->subtree_last = node->last;
	/* Raised on the way down, so that rb_insert() need not go up for it. */
	while (*link) {
		struct interval_node *above = to_interval(*link);

		parent = *link;
		above->subtree_last = MAX(above->subtree_last, node->last);
		if (node->start < above->start) {
			above->left_last = MAX(above->left_last, node->last);
			link = &parent->left;
		} else {
			link = &parent->right;
		}
	}
	rb_link(&node->rb, parent, link);
	rb_insert(&tree->root, &node->rb, update_lasts);
}

void interval_remove(struct interval_tree *tree, struct interval_node *node)
{
	rb_erase(&tree->root, &node->rb, update_lasts);
}

/* The lowest overlapping node below rb, whose subtree_last reaches start. */
static inline struct interval_node *lowest_in(const struct rb_node *rb, uint64_t start,
					      uint64_t last)
{
	while (rb) {
		struct interval_node *node = to_interval(rb);

		if (rb->left && node->left_last >= start) {
			rb = rb->left;
			continue;
		}
		if (node->start > last)
			return NULL;
		if (node->last >= start)
			return node;
		rb = rb->right;
	}
	return NULL;
}

struct interval_node *interval_first(const struct interval_tree *tree, uint64_t start, uint64_t last)
{
	if (!reaches(tree->root.node, start))
		return NULL;
	return lowest_in(tree->root.node, start, last);
}

struct interval_node *interval_next(struct interval_node *node, uint64_t start, uint64_t last)
{
	const struct rb_node *rb = &node->rb;

	for (;;) {
		const struct rb_node *below;

		if (reaches(rb->right, start))
			return lowest_in(rb->right, start, last);
		do {
			below = rb;
			rb = rb_parent(rb);
			if (!rb)
				return NULL;
		} while (rb->right == below);
		node = to_interval(rb);
		if (node->start > last)
			return NULL;
		if (node->last >= start)
			return node;
	}
}

const char *interval_validate(const struct interval_tree *tree, uint64_t *nr)
{
	const char *wrong = rb_validate(&tree->root, update_lasts, nr);
	const struct interval_node *before = NULL;

	if (wrong)
		return wrong;
	for (struct rb_node *rb = rb_first(&tree->root); rb; rb = rb_next(rb)) {
		const struct interval_node *node = to_interval(rb);

		if (node->start > node->last)
			return "interval tree: an interval ends before it starts";
		if (before && before->start > node->start)
			return "interval tree: starts are out of order";
		before = node;
	}
	return NULL;
}
