/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The red-black tree behind rbtree.h: rebalancing as in the textbook
 * (Cormen et al.), both mirror images of each case written once.
 *
 * The shape matters, not only the balance: KSM's unstable tree is ordered by
 * contents that change while it stands (K23), so which page a search meets
 * depends on who is above whom. Three choices decide the shape, and all are
 * Linux's: an insertion recolours as long as the uncle is red and rotates
 * otherwise; a node with two children is replaced by its in-order successor;
 * an erasure tests the nephew that is farther from the gap first.
 *
 * `right` of a side() is a value, not a branch: which way a fix-up leans is
 * random, and a mispredicted branch costs more than the address arithmetic.
 *
 * Augmented values are kept by two rules. A rotation recomputes the two nodes
 * that changed places, lower one first; the subtree as a whole holds the same
 * nodes as before, so nothing above it changes. Everything else is propagate(),
 * from the lowest node whose children changed up to the first ancestor whose
 * value stayed as it was.
 *
 * Locks: none here, see rbtree.h. This file does not search and compares
 * nothing.
 */
#include "rbtree.h"

#define BLACK ((uintptr_t)1)

static inline bool is_red(const struct rb_node *node)
{
	return node && !(node->parent_color & BLACK);
}

static inline void paint_black(struct rb_node *node)
{
	node->parent_color |= BLACK;
}

static inline void paint_red(struct rb_node *node)
{
	node->parent_color &= ~BLACK;
}

static inline void set_parent(struct rb_node *node, struct rb_node *parent)
{
	node->parent_color = (uintptr_t)parent | (node->parent_color & BLACK);
}

static inline struct rb_node **side(struct rb_node *node, bool right)
{
	return right ? &node->right : &node->left;
}

/* Puts `new` where `old` hangs below parent; parent links are the caller's. */
static inline void replace_child(struct rb_root *root, struct rb_node *parent,
				 struct rb_node *old, struct rb_node *new)
{
	if (!parent)
		root->node = new;
	else
		*side(parent, parent->right == old) = new;
}

static inline void propagate(struct rb_node *node, rb_augment_fn augment)
{
	while (node && augment(node))
		node = rb_parent(node);
}

/* `top` sinks to the right or left; its child on the other side rises. */
static inline void rotate(struct rb_root *root, struct rb_node *top, bool right,
			  rb_augment_fn augment)
{
	struct rb_node *above = rb_parent(top);
	struct rb_node *riser = *side(top, !right);
	struct rb_node *middle = *side(riser, right);

	*side(top, !right) = middle;
	if (middle)
		set_parent(middle, top);
	replace_child(root, above, top, riser);
	set_parent(riser, above);
	*side(riser, right) = top;
	set_parent(top, riser);
	if (augment) {
		augment(top);
		augment(riser);
	}
}

void rb_insert(struct rb_root *root, struct rb_node *node, rb_augment_fn augment)
{
	struct rb_node *parent = rb_parent(node);

	if (augment)
		propagate(parent, augment);

	/* node is red; what may be wrong is that its parent is red as well. */
	while (is_red(parent)) {
		struct rb_node *grand = rb_parent(parent);
		bool right = grand->right == parent;
		struct rb_node *uncle = *side(grand, !right);

		if (is_red(uncle)) {
			paint_black(parent);
			paint_black(uncle);
			paint_red(grand);
			node = grand;
			parent = rb_parent(node);
			continue;
		}
		/* An inner grandchild goes to the outside first. */
		if (node == *side(parent, !right)) {
			rotate(root, parent, right, augment);
			parent = node;
		}
		paint_black(parent);
		paint_red(grand);
		rotate(root, grand, !right, augment);
		break;
	}
	paint_black(root->node);
}

/*
 * Every path through parent's child on that side has one black node too few.
 * The child itself is black or absent.
 */
static void refill_black(struct rb_root *root, struct rb_node *parent, bool right,
			 rb_augment_fn augment)
{
	while (parent) {
		struct rb_node *sibling = *side(parent, !right);
		struct rb_node *far, *near, *node;

		if (is_red(sibling)) {
			paint_black(sibling);
			paint_red(parent);
			rotate(root, parent, right, augment);
			sibling = *side(parent, !right);
		}
		far = *side(sibling, !right);
		near = *side(sibling, right);
		if (!is_red(far) && !is_red(near)) {
			/* Make the sibling's paths short too; go on one up. */
			paint_red(sibling);
			if (is_red(parent)) {
				paint_black(parent);
				return;
			}
			node = parent;
			parent = rb_parent(node);
			right = parent && parent->right == node;
			continue;
		}
		if (!is_red(far)) {
			paint_black(near);
			paint_red(sibling);
			rotate(root, sibling, !right, augment);
			far = sibling;
			sibling = near;
		}
		if (is_red(parent))
			paint_red(sibling);
		else
			paint_black(sibling);
		paint_black(parent);
		paint_black(far);
		rotate(root, parent, right, augment);
		return;
	}
}

void rb_erase(struct rb_root *root, struct rb_node *node, rb_augment_fn augment)
{
	struct rb_node *parent = rb_parent(node);
	struct rb_node *child;
	bool right, lost_black;

	if (!node->left || !node->right) {
		child = node->left ? node->left : node->right;
		lost_black = !is_red(node);
		right = parent && parent->right == node;
		replace_child(root, parent, node, child);
		if (child)
			set_parent(child, parent);
		if (augment)
			propagate(parent, augment);
	} else {
		struct rb_node *next = node->right;

		while (next->left)
			next = next->left;
		child = next->right;
		lost_black = !is_red(next);
		right = next == node->right;
		if (right) {
			parent = next;
		} else {
			parent = rb_parent(next);
			parent->left = child;
			if (child)
				set_parent(child, parent);
			next->right = node->right;
			set_parent(next->right, next);
		}
		next->left = node->left;
		set_parent(next->left, next);
		next->parent_color = node->parent_color;
		replace_child(root, rb_parent(node), node, next);
		if (augment) {
			/*
			 * next's value is that of its old place, so whether it
			 * changes says nothing about the nodes above.
			 */
			for (struct rb_node *n = parent; n != next && augment(n);)
				n = rb_parent(n);
			augment(next);
			propagate(rb_parent(next), augment);
		}
	}

	if (!lost_black)
		return;
	if (child) /* an only child is red */
		paint_black(child);
	else
		refill_black(root, parent, right, augment);
}

void rb_replace(struct rb_root *root, struct rb_node *old, struct rb_node *new)
{
	*new = *old;
	replace_child(root, rb_parent(old), old, new);
	if (new->left)
		set_parent(new->left, new);
	if (new->right)
		set_parent(new->right, new);
}

struct rb_node *rb_first(const struct rb_root *root)
{
	struct rb_node *node = root->node;

	while (node && node->left)
		node = node->left;
	return node;
}

struct rb_node *rb_next(const struct rb_node *node)
{
	struct rb_node *next = node->right;

	if (next) {
		while (next->left)
			next = next->left;
		return next;
	}
	next = rb_parent(node);
	while (next && next->right == node) {
		node = next;
		next = rb_parent(node);
	}
	return next;
}

struct check {
	rb_augment_fn augment;
	uint64_t nr;
	const char *wrong;
};

/* Black nodes on each path below node, itself included. */
static unsigned int check_subtree(struct check *check, struct rb_node *node)
{
	unsigned int left, right;

	if (!node || check->wrong)
		return 0;
	for (int i = 0; i < 2; i++) {
		struct rb_node *child = *side(node, i);

		if (child && rb_parent(child) != node) {
			check->wrong = "rbtree: a child does not point to its parent";
			return 0;
		}
		if (is_red(node) && is_red(child)) {
			check->wrong = "rbtree: a red node has a red child";
			return 0;
		}
	}
	left = check_subtree(check, node->left);
	right = check_subtree(check, node->right);
	if (check->wrong)
		return 0;
	if (left != right)
		check->wrong = "rbtree: black heights differ";
	else if (check->augment && check->augment(node))
		check->wrong = "rbtree: an augmented value is stale";
	check->nr++;
	return left + !is_red(node);
}

const char *rb_validate(const struct rb_root *root, rb_augment_fn augment, uint64_t *nr)
{
	struct check check = { .augment = augment };

	if (root->node && rb_parent(root->node))
		return "rbtree: the root has a parent";
	if (is_red(root->node))
		return "rbtree: the root is red";
	check_subtree(&check, root->node);
	if (nr)
		*nr = check.nr;
	return check.wrong;
}
