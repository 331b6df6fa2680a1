/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The copy-on-write B+ tree behind range_tree.h.
 *
 * Nodes. Leaves (level 0) hold entries, inner nodes hold children; both keep
 * arrays of the same layout, so one function moves slots of either. For a child
 * the slot says what is below it: the first start, the last end, and the widest
 * gap between two neighbours. Starts steer searches, ends and gaps answer
 * range_tree_find_gap() without visiting the entries.
 *
 * Updates. open_path() makes every node from the root to the leaf the writer's
 * own: with readers by copying it, without by doing nothing. What follows is a
 * textbook update in place, bottom up, and ends with publishing the root. A node
 * is thus in one of these states:
 *
 *	spare      on tree->spare; contents meaningless
 *	own        on the path of the update that runs; no reader can see it
 *	published  reachable from tree->root; never written to if has_readers
 *	retired    on tree->retired; unreachable from the root, but readers that
 *	           loaded an older root may be inside; `next` is not theirs
 *
 * Retired nodes become spare in range_tree_reserve(), after a grace period that
 * BATCH of them or more share.
 *
 * Shape. A full node splits in halves, except when the new slot comes last: then
 * the old node stays full, because cutting one mapping from its low to its high
 * end is how trees of many VMAs come about. A node that falls to half is merged
 * with a neighbour when a quarter of the result stays free, so that insertion
 * and erasure at one place do not split and merge for ever. Nodes are never
 * empty, an inner root has two children or more.
 *
 * Visibility to readers: (1) a reader sees the tree of one root, whole; (2) an
 * update is visible when its function returns; (3) two updates of one operation
 * (resize and insert of a split) are visible one after the other, so a reader
 * without the lock may see a hole between them and has to ask again with it.
 */
#include "range_tree.h"

#include <errno.h>
#include <string.h>

#include "assertion.h"
#include "rcu.h"

/*
 * Measured with 20,000 and 200,000 entries: from 15 to 47, searches and updates
 * differ by a tenth (searches gain a little, copies lose a little). Memory
 * decided: a process of one VMA has a root and its reserve. Tests use 4 as well.
 */
#ifndef RANGE_FANOUT
#define RANGE_FANOUT 23
#endif

/* A level needs twice the insertions of the one below it, at the least. */
#define MAX_HEIGHT 56
/*
 * Retired nodes that are worth a grace period, and spare ones worth keeping. A
 * few, reused while still in cache, cost less than fewer grace periods save.
 */
#define BATCH 64

struct range_node {
	struct range_node *next; /* when spare or retired */
	uint32_t nr;
	uint32_t level;
	uint64_t start[RANGE_FANOUT];
	uint64_t end[RANGE_FANOUT];
	void *ptr[RANGE_FANOUT];    /* level 0: object; else: child */
	uint64_t gap[RANGE_FANOUT]; /* inner nodes only */
};

struct path {
	struct range_node *node[MAX_HEIGHT]; /* by level */
	unsigned int slot[MAX_HEIGHT];
};

void range_tree_init(struct range_tree *tree, struct mem *mem, bool has_readers)
{
	*tree = (struct range_tree){ .mem = mem, .has_readers = has_readers };
}

/* --- Nodes ------------------------------------------------------------- */

static void push(struct range_node **list, unsigned int *nr, struct range_node *node)
{
	node->next = *list;
	*list = node;
	++*nr;
}

static struct range_node *pop(struct range_node **list, unsigned int *nr)
{
	struct range_node *node = *list;

	*list = node->next;
	--*nr;
	return node;
}

static struct range_node *take_spare(struct range_tree *tree, unsigned int level)
{
	struct range_node *node;

	if (!tree->spare)
		SP_BUG("range tree: an update that was not reserved");
	node = pop(&tree->spare, &tree->nr_spare);
	node->nr = 0;
	node->level = level;
	return node;
}

/* For a node that no reader has ever been able to see. */
static void drop_own(struct range_tree *tree, struct range_node *node)
{
	push(&tree->spare, &tree->nr_spare, node);
}

static void retire(struct range_tree *tree, struct range_node *node)
{
	if (tree->has_readers)
		push(&tree->retired, &tree->nr_retired, node);
	else
		drop_own(tree, node);
}

static void free_list(struct range_tree *tree, struct range_node **list, unsigned int *nr,
		      unsigned int keep)
{
	while (*nr > keep)
		mem_free(tree->mem, pop(list, nr), sizeof(struct range_node));
}

static void free_subtree(struct range_tree *tree, struct range_node *node)
{
	if (node->level)
		for (unsigned int i = 0; i < node->nr; i++)
			free_subtree(tree, node->ptr[i]);
	mem_free(tree->mem, node, sizeof(*node));
}

void range_tree_destroy(struct range_tree *tree)
{
	if (tree->has_readers && (tree->root || tree->retired))
		rcu_wait();
	if (tree->root)
		free_subtree(tree, tree->root);
	free_list(tree, &tree->spare, &tree->nr_spare, 0);
	free_list(tree, &tree->retired, &tree->nr_retired, 0);
	range_tree_init(tree, tree->mem, tree->has_readers);
}

/*
 * The most that `updates` updates can take. One update of a tree of height k
 * copies k nodes (only with readers), splits each of them, and adds a root. The
 * height grows at once when the root is full, and then not again before the new
 * root, which has two children, has got RANGE_FANOUT - 1 more.
 */
static unsigned int worst_case(const struct range_tree *tree, unsigned int updates)
{
	unsigned int height = tree->height + 1 + updates / (RANGE_FANOUT - 1);

	/* A leaf with room for all of them, which nobody copies, is all that a tiny process needs. */
	if (!tree->has_readers && tree->height <= 1 && tree->nr_entries + updates <= RANGE_FANOUT)
		return !tree->height;
	return updates * (tree->has_readers ? 2 * height - 1 : height);
}

int range_tree_reserve(struct range_tree *tree, unsigned int updates)
{
	unsigned int need = worst_case(tree, updates);

	if (tree->nr_spare < need && tree->nr_retired >= BATCH) {
		rcu_wait();
		while (tree->retired)
			drop_own(tree, pop(&tree->retired, &tree->nr_retired));
	}
	while (tree->nr_spare < need) {
		struct range_node *node = mem_alloc_aligned(tree->mem, 64, sizeof(*node));

		if (!node)
			return -ENOMEM;
		drop_own(tree, node);
	}
	free_list(tree, &tree->spare, &tree->nr_spare, need + 2 * BATCH);
	return 0;
}

/* --- Slots ------------------------------------------------------------- */

/* The last slot that starts at or below addr; 0 if none does. */
static inline unsigned int slot_below(const struct range_node *node, uint64_t addr)
{
	const uint64_t *base = node->start;
	unsigned int nr = node->nr;

	/* Halving without branches: the outcome is as good as random. */
	while (nr > 1) {
		unsigned int half = nr / 2;

		base += base[half] <= addr ? half : 0;
		nr -= half;
	}
	return (unsigned int)(base - node->start);
}

/* Copies nr slots; the two nodes may be one. */
static inline void move_slots(struct range_node *to, unsigned int at, const struct range_node *from,
			      unsigned int first, unsigned int nr)
{
	memmove(to->start + at, from->start + first, nr * sizeof(to->start[0]));
	memmove(to->end + at, from->end + first, nr * sizeof(to->end[0]));
	memmove(to->ptr + at, from->ptr + first, nr * sizeof(to->ptr[0]));
	if (from->level)
		memmove(to->gap + at, from->gap + first, nr * sizeof(to->gap[0]));
}

static void remove_slot(struct range_node *node, unsigned int slot)
{
	move_slots(node, slot, node, slot + 1, node->nr - slot - 1);
	node->nr--;
}

/* Fills parent's slot from what its child holds now. */
static void describe_child(struct range_node *parent, unsigned int slot, struct range_node *child)
{
	uint64_t gap = 0;

	for (unsigned int i = 0; i + 1 < child->nr; i++)
		gap = MAX(gap, child->start[i + 1] - child->end[i]);
	if (child->level)
		for (unsigned int i = 0; i < child->nr; i++)
			gap = MAX(gap, child->gap[i]);
	parent->start[slot] = child->start[0];
	parent->end[slot] = child->end[child->nr - 1];
	parent->ptr[slot] = child;
	parent->gap[slot] = gap;
}

/*
 * Makes room for a slot at *at of *node, which is then the caller's to fill.
 * Returns NULL, or the new right neighbour of a node that was full; the room
 * may then be there, and *node and *at say so.
 */
static struct range_node *open_slot(struct range_tree *tree, struct range_node **node,
				    unsigned int *at)
{
	struct range_node *left = *node, *right = NULL;

	if (left->nr == RANGE_FANOUT) {
		unsigned int keep = *at == left->nr ? left->nr : (left->nr + 1) / 2;

		right = take_spare(tree, left->level);
		right->nr = left->nr - keep;
		move_slots(right, 0, left, keep, right->nr);
		left->nr = keep;
		if (*at > keep || keep == RANGE_FANOUT) {
			*node = right;
			*at -= keep;
		}
	}
	move_slots(*node, *at + 1, *node, *at, (*node)->nr - *at);
	(*node)->nr++;
	return right;
}

/* --- Updates ----------------------------------------------------------- */

static struct range_node *make_own(struct range_tree *tree, struct range_node *node)
{
	struct range_node *own;

	if (!tree->has_readers)
		return node;
	own = take_spare(tree, node->level);
	own->nr = node->nr;
	move_slots(own, 0, node, 0, node->nr);
	retire(tree, node);
	return own;
}

static void open_path(struct range_tree *tree, uint64_t addr, struct path *path)
{
	struct range_node *node = make_own(tree, tree->root);

	for (;;) {
		unsigned int slot = slot_below(node, addr);

		path->node[node->level] = node;
		path->slot[node->level] = slot;
		if (!node->level)
			return;
		node = node->ptr[slot] = make_own(tree, node->ptr[slot]);
	}
}

/* The leaf of an open path holds an entry that begins at start. */
static void check_found(const struct path *path, uint64_t start)
{
	if (path->node[0]->start[path->slot[0]] != start)
		SP_BUG("range tree: no entry begins there");
}

static void check_no_overlap(const struct range_node *leaf, unsigned int slot)
{
	SP_ASSERT(leaf->start[slot] < leaf->end[slot]);
	SP_ASSERT(!slot || leaf->end[slot - 1] <= leaf->start[slot]);
	SP_ASSERT(slot + 1 == leaf->nr || leaf->end[slot] <= leaf->start[slot + 1]);
}

/* The root is one of two halves now: a new one goes above both. */
static struct range_node *grow(struct range_tree *tree, struct range_node *left,
			       struct range_node *right)
{
	struct range_node *root = take_spare(tree, left->level + 1);

	SP_ASSERT(tree->height < MAX_HEIGHT);
	root->nr = 2;
	describe_child(root, 0, left);
	describe_child(root, 1, right);
	tree->height++;
	return root;
}

void range_tree_insert(struct range_tree *tree, uint64_t start, uint64_t end, void *object)
{
	struct range_node *leaf, *right, *root;
	struct path path;
	unsigned int at;

	if (tree->root) {
		open_path(tree, start, &path);
	} else {
		path.node[0] = take_spare(tree, 0);
		path.slot[0] = 0;
		tree->height = 1;
	}
	leaf = path.node[0];
	at = path.slot[0];
	if (leaf->nr && leaf->start[at] < start)
		at++;
	right = open_slot(tree, &leaf, &at);
	leaf->start[at] = start;
	leaf->end[at] = end;
	leaf->ptr[at] = object;
	check_no_overlap(leaf, at);

	for (unsigned int level = 1; level < tree->height; level++) {
		struct range_node *parent = path.node[level], *split = right;

		describe_child(parent, path.slot[level], path.node[level - 1]);
		right = NULL;
		if (split) {
			at = path.slot[level] + 1;
			right = open_slot(tree, &parent, &at);
			describe_child(parent, at, split);
		}
	}
	root = path.node[tree->height - 1];
	if (right)
		root = grow(tree, root, right);
	tree->nr_entries++;
	rcu_publish(tree->root, root);
}

void range_tree_resize(struct range_tree *tree, uint64_t start, uint64_t new_start, uint64_t new_end)
{
	struct range_node *leaf;
	struct path path;

	SP_ASSERT(tree->root);
	open_path(tree, start, &path);
	check_found(&path, start);
	leaf = path.node[0];
	leaf->start[path.slot[0]] = new_start;
	leaf->end[path.slot[0]] = new_end;
	check_no_overlap(leaf, path.slot[0]);
	for (unsigned int level = 1; level < tree->height; level++)
		describe_child(path.node[level], path.slot[level], path.node[level - 1]);
	rcu_publish(tree->root, path.node[tree->height - 1]);
}

/* Unites the child in that slot, which is own, with a neighbour if both fit. */
static void merge_child(struct range_tree *tree, struct range_node *parent, unsigned int slot)
{
	const unsigned int limit = RANGE_FANOUT - RANGE_FANOUT / 4;
	struct range_node *child = parent->ptr[slot], *other;

	if (child->nr > RANGE_FANOUT / 2)
		return;
	if (slot + 1 < parent->nr) {
		other = parent->ptr[slot + 1];
		if (child->nr + other->nr <= limit) {
			move_slots(child, child->nr, other, 0, other->nr);
			child->nr += other->nr;
			remove_slot(parent, slot + 1);
			describe_child(parent, slot, child);
			retire(tree, other);
			return;
		}
	}
	if (slot) {
		other = parent->ptr[slot - 1];
		if (child->nr + other->nr <= limit) {
			move_slots(child, other->nr, child, 0, child->nr);
			move_slots(child, 0, other, 0, other->nr);
			child->nr += other->nr;
			remove_slot(parent, slot);
			describe_child(parent, slot - 1, child);
			retire(tree, other);
		}
	}
}

void range_tree_erase(struct range_tree *tree, uint64_t start)
{
	struct range_node *root;
	struct path path;
	bool own = true;

	SP_ASSERT(tree->root);
	open_path(tree, start, &path);
	check_found(&path, start);
	remove_slot(path.node[0], path.slot[0]);

	for (unsigned int level = 1; level < tree->height; level++) {
		struct range_node *parent = path.node[level], *child = path.node[level - 1];
		unsigned int slot = path.slot[level];

		if (child->nr) {
			describe_child(parent, slot, child);
			merge_child(tree, parent, slot);
		} else {
			remove_slot(parent, slot);
			drop_own(tree, child);
		}
	}

	root = path.node[tree->height - 1];
	while (root && (!root->nr || (root->level && root->nr == 1))) {
		struct range_node *below = root->nr ? root->ptr[0] : NULL;

		/* Below the path's root may be a node that is not of the path. */
		if (own)
			drop_own(tree, root);
		else
			retire(tree, root);
		tree->height--;
		root = below;
		own = root && root == path.node[root->level];
	}
	tree->nr_entries--;
	rcu_publish(tree->root, root);
}

/* --- Searches ---------------------------------------------------------- */

static inline bool entry_at(const struct range_node *leaf, unsigned int slot,
			    struct range_entry *ret)
{
	ret->start = leaf->start[slot];
	ret->end = leaf->end[slot];
	ret->object = leaf->ptr[slot];
	return true;
}

/* A root of so few entries that halving them takes longer than going through. */
static inline bool is_tiny(const struct range_node *root)
{
	return !root->level && root->nr <= 8;
}

bool range_tree_find(const struct range_tree *tree, uint64_t addr, struct range_entry *ret)
{
	const struct range_node *node = rcu_load(tree->root);
	unsigned int slot;

	if (!node)
		return false;
	if (is_tiny(node)) {
		for (slot = 0; slot < node->nr && node->end[slot] <= addr; slot++)
			;
		return slot < node->nr && addr >= node->start[slot] && entry_at(node, slot, ret);
	}
	while (node->level)
		node = node->ptr[slot_below(node, addr)];
	slot = slot_below(node, addr);
	if (addr < node->start[slot] || addr >= node->end[slot])
		return false;
	return entry_at(node, slot, ret);
}

bool range_tree_find_above(const struct range_tree *tree, uint64_t addr, struct range_entry *ret)
{
	const struct range_node *node = rcu_load(tree->root);
	unsigned int slot;

	if (!node || node->end[node->nr - 1] <= addr)
		return false;
	if (is_tiny(node)) {
		for (slot = 0; node->end[slot] <= addr; slot++)
			;
		return entry_at(node, slot, ret);
	}
	for (;;) {
		slot = slot_below(node, addr);
		/* The slot after it ends above addr: the node's last one does. */
		if (node->end[slot] <= addr)
			slot++;
		if (!node->level)
			return entry_at(node, slot, ret);
		node = node->ptr[slot];
	}
}

bool range_tree_find_below(const struct range_tree *tree, uint64_t addr, struct range_entry *ret)
{
	const struct range_node *node = rcu_load(tree->root);
	unsigned int slot;

	if (!node || node->start[0] >= addr)
		return false;
	while (node->level)
		node = node->ptr[slot_below(node, addr - 1)];
	slot = slot_below(node, addr - 1);
	return entry_at(node, slot, ret);
}

/* Moves *at up to the lowest gap of that size below node, or past its end. */
static bool gap_in(const struct range_node *node, uint64_t bytes, uint64_t *at)
{
	for (unsigned int i = slot_below(node, *at); i < node->nr; i++) {
		if (node->start[i] > *at && node->start[i] - *at >= bytes)
			return true;
		/* False only where the gap lies below *at: on one path. */
		if (node->level && node->gap[i] >= bytes && node->end[i] > *at &&
		    gap_in(node->ptr[i], bytes, at))
			return true;
		*at = MAX(*at, node->end[i]);
	}
	return false;
}

uint64_t range_tree_find_gap(const struct range_tree *tree, uint64_t floor, uint64_t ceiling, uint64_t bytes)
{
	uint64_t at = floor;

	if (tree->root)
		gap_in(tree->root, bytes, &at);
	if (ceiling < bytes || at > ceiling - bytes)
		return UINT64_MAX;
	return at;
}

/* Moves *at down to the end of the highest gap of that size below it, or past node's start. */
static bool gap_last_in(const struct range_node *node, uint64_t bytes, uint64_t *at)
{
	unsigned int i = *at ? slot_below(node, *at - 1) : 0;

	for (;; i--) {
		if (node->start[i] < *at) {
			if (node->end[i] < *at && *at - node->end[i] >= bytes)
				return true;
			if (node->level && node->gap[i] >= bytes &&
			    gap_last_in(node->ptr[i], bytes, at))
				return true;
			*at = MIN(*at, node->start[i]);
		}
		if (!i)
			return false;
	}
}

uint64_t range_tree_find_gap_last(const struct range_tree *tree, uint64_t floor, uint64_t ceiling,
				  uint64_t bytes)
{
	uint64_t at = ceiling;

	if (tree->root)
		gap_last_in(tree->root, bytes, &at);
	if (at < bytes || at - bytes < floor)
		return UINT64_MAX;
	return at - bytes;
}

/* --- Checks ------------------------------------------------------------ */

struct check {
	uint64_t nr_entries;
	const struct range_node *before; /* the leaf to the left */
};

static const char *check_subtree(struct check *check, struct range_node *node, unsigned int level)
{
	if (node->level != level)
		return "range tree: leaves are not all at one depth";
	if (!node->nr || node->nr > RANGE_FANOUT)
		return "range tree: a node is empty or too full";
	for (unsigned int i = 0; i < node->nr; i++) {
		if (node->start[i] >= node->end[i])
			return "range tree: a range ends before it starts";
		if (i && node->end[i - 1] > node->start[i])
			return "range tree: ranges overlap or are out of order";
	}
	if (!level) {
		const struct range_node *before = check->before;

		if (before && before->end[before->nr - 1] > node->start[0])
			return "range tree: two leaves overlap";
		check->before = node;
		check->nr_entries += node->nr;
		return NULL;
	}
	for (unsigned int i = 0; i < node->nr; i++) {
		struct range_node truth = { .level = level };
		const char *wrong = check_subtree(check, node->ptr[i], level - 1);

		if (wrong)
			return wrong;
		describe_child(&truth, 0, node->ptr[i]);
		if (truth.start[0] != node->start[i] || truth.end[0] != node->end[i] ||
		    truth.gap[0] != node->gap[i])
			return "range tree: a slot does not describe its child";
	}
	return NULL;
}

const char *range_tree_validate(const struct range_tree *tree)
{
	struct check check = { 0 };
	const char *wrong;

	if (!tree->root)
		return tree->height || tree->nr_entries ? "range tree: entries without a root" : NULL;
	if (tree->height != tree->root->level + 1)
		return "range tree: the height is not the root's";
	if (tree->root->level && tree->root->nr < 2)
		return "range tree: the root has one child";
	wrong = check_subtree(&check, tree->root, tree->root->level);
	if (!wrong && check.nr_entries != tree->nr_entries)
		wrong = "range tree: the number of entries is wrong";
	return wrong;
}
