/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interval tree against a linear search over a list in insertion order:
 * random intervals of three kinds (long ones that nest, disjoint short ones,
 * many with one start), every query compared element by element, order
 * included; and damage that the validator must see.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "interval_tree.h"
#include "model_seed.h"

#define NR_NODES 300

struct item {
	struct interval_node node;
	uint64_t born; /* sequence number of the insertion; 0: not in the tree */
};

static struct item items[NR_NODES];

static bool before(const struct item *a, const struct item *b)
{
	if (a->node.start != b->node.start)
		return a->node.start < b->node.start;
	return a->born < b->born;
}

/* The overlapping item that follows `after` (NULL: the first), by looking at all. */
static struct item *oracle_next(const struct item *after, uint64_t start, uint64_t last)
{
	struct item *best = NULL;

	for (size_t i = 0; i < NR_NODES; i++) {
		struct item *item = &items[i];

		if (!item->born || item->node.start > last || item->node.last < start)
			continue;
		if (after && !before(after, item))
			continue;
		if (!best || before(item, best))
			best = item;
	}
	return best;
}

static void check_query(struct interval_tree *tree, uint64_t start, uint64_t last)
{
	struct interval_node *node = interval_first(tree, start, last);
	struct item *item = oracle_next(NULL, start, last);

	while (item) {
		assert_ptr_equal(node, &item->node);
		node = interval_next(node, start, last);
		item = oracle_next(item, start, last);
	}
	assert_null(node);
}

static void check_valid(const struct interval_tree *tree, uint64_t expected)
{
	uint64_t nr;
	const char *wrong = interval_validate(tree, &nr);

	if (wrong)
		fail_msg("%s", wrong);
	assert_int_equal(nr, expected);
}

enum kind { NESTED, DISJOINT, SAME_START, NR_KINDS };

static void choose(struct random *r, enum kind kind, size_t i, struct interval_node *node)
{
	switch (kind) {
	case NESTED:
		node->start = random_below(r, 1000);
		node->last = node->start + random_below(r, 400);
		break;
	case DISJOINT:
		node->start = i * 4;
		node->last = i * 4 + random_below(r, 4);
		break;
	default:
		node->start = random_below(r, 3) * 100;
		node->last = node->start + random_below(r, 2) * 150;
	}
}

static void run_model(enum kind kind)
{
	struct random r = model_seed("interval_tree");
	struct interval_tree tree = { { NULL } };
	uint64_t nr = 0, born = 0;

	memset(items, 0, sizeof(items));
	for (int op = 0; op < 3000; op++) {
		size_t i = random_below(&r, NR_NODES);
		bool want = random_below(&r, 10) < ((op / 500) & 1 ? 3u : 7u);
		uint64_t a = random_below(&r, 1400), b = random_below(&r, 1400);

		if (want && !items[i].born) {
			choose(&r, kind, i, &items[i].node);
			items[i].born = ++born;
			interval_insert(&tree, &items[i].node);
			nr++;
		} else if (!want && items[i].born) {
			interval_remove(&tree, &items[i].node);
			items[i].born = 0;
			nr--;
		}
		check_valid(&tree, nr);
		check_query(&tree, a, a);
		check_query(&tree, MIN(a, b), MIN(MIN(a, b) + 20, MAX(a, b)));
		if (op % 50 == 0) {
			check_query(&tree, 0, UINT64_MAX);
			check_query(&tree, 0, 0);
			check_query(&tree, UINT64_MAX, UINT64_MAX);
		}
	}
	assert_int_equal(interval_tree_empty(&tree), nr == 0);
}

static void test_model_nested(void **state)
{
	(void)state;
	run_model(NESTED);
}

static void test_model_disjoint(void **state)
{
	(void)state;
	run_model(DISJOINT);
}

static void test_model_same_start(void **state)
{
	(void)state;
	run_model(SAME_START);
}

/* A parent's VMA comes before those of the children that were forked later. */
static void test_equal_starts_keep_insertion_order(void **state)
{
	struct interval_node nodes[50], *node;
	struct interval_tree tree = { { NULL } };
	size_t i = 0;

	(void)state;
	for (; i < ARRAY_SIZE(nodes); i++) {
		nodes[i].start = 7;
		nodes[i].last = 7 + i % 3;
		interval_insert(&tree, &nodes[i]);
	}
	i = 0;
	for (node = interval_first(&tree, 7, 7); node; node = interval_next(node, 7, 7))
		assert_ptr_equal(node, &nodes[i++]);
	assert_int_equal(i, ARRAY_SIZE(nodes));
	i = 2;
	for (node = interval_first(&tree, 9, 9); node; node = interval_next(node, 9, 9)) {
		assert_ptr_equal(node, &nodes[i]);
		i += 3;
	}
}

static void test_ends_of_the_number_range(void **state)
{
	struct interval_node low = { .start = 0, .last = 0 };
	struct interval_node high = { .start = UINT64_MAX, .last = UINT64_MAX };
	struct interval_node all = { .start = 0, .last = UINT64_MAX };
	struct interval_tree tree = { { NULL } };

	(void)state;
	assert_true(interval_tree_empty(&tree));
	assert_null(interval_first(&tree, 0, UINT64_MAX));
	interval_insert(&tree, &low);
	interval_insert(&tree, &high);
	assert_null(interval_first(&tree, 1, UINT64_MAX - 1));
	assert_ptr_equal(interval_first(&tree, 0, 0), &low);
	assert_ptr_equal(interval_first(&tree, UINT64_MAX, UINT64_MAX), &high);
	interval_insert(&tree, &all);
	assert_ptr_equal(interval_first(&tree, 1, UINT64_MAX - 1), &all);
	assert_ptr_equal(interval_next(&low, 0, UINT64_MAX), &all);
	assert_ptr_equal(interval_next(&all, 0, UINT64_MAX), &high);
	assert_null(interval_next(&high, 0, UINT64_MAX));
	assert_null(interval_validate(&tree, NULL));
}

static void test_validate_sees_damage(void **state)
{
	struct interval_node nodes[10];
	struct interval_tree tree = { { NULL } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		nodes[i].start = i * 10;
		nodes[i].last = i * 10 + 5;
		interval_insert(&tree, &nodes[i]);
	}
	assert_null(interval_validate(&tree, NULL));
	nodes[5].subtree_last += 100;
	assert_string_equal(interval_validate(&tree, NULL), "rbtree: an augmented value is stale");
	/* The check repaired it. */
	assert_null(interval_validate(&tree, NULL));
	nodes[3].left_last++;
	assert_string_equal(interval_validate(&tree, NULL), "rbtree: an augmented value is stale");
	nodes[4].start = 55;
	nodes[4].last = 56;
	while (interval_validate(&tree, NULL) && !strncmp(interval_validate(&tree, NULL), "rbtree", 6))
		; /* each run repairs one level of subtree_last */
	assert_string_equal(interval_validate(&tree, NULL), "interval tree: starts are out of order");
	nodes[4].start = 46;
	nodes[4].last = 45;
	while (interval_validate(&tree, NULL) && !strncmp(interval_validate(&tree, NULL), "rbtree", 6))
		;
	assert_string_equal(interval_validate(&tree, NULL),
			    "interval tree: an interval ends before it starts");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model_nested),
		cmocka_unit_test(test_model_disjoint),
		cmocka_unit_test(test_model_same_start),
		cmocka_unit_test(test_equal_starts_keep_insertion_order),
		cmocka_unit_test(test_ends_of_the_number_range),
		cmocka_unit_test(test_validate_sees_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
