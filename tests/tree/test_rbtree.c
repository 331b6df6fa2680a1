/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The red-black tree: exact shapes, pinned from Linux's tree under the same
 * operations (KSM's unstable tree finds by shape), and random operations
 * against a bitmap, with an augmented sum that shows any forgotten update.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "bits.h"
#include "model_seed.h"
#include "rbtree.h"

struct item {
	struct rb_node rb;
	uint64_t key;
	uint64_t sum; /* of the keys of the subtree */
};

static struct item *to_item(struct rb_node *rb)
{
	return container_of(rb, struct item, rb);
}

static bool update_sum(struct rb_node *rb)
{
	struct item *item = to_item(rb);
	uint64_t sum = item->key;

	if (rb->left)
		sum += to_item(rb->left)->sum;
	if (rb->right)
		sum += to_item(rb->right)->sum;
	if (sum == item->sum)
		return false;
	item->sum = sum;
	return true;
}

static void insert(struct rb_root *root, struct item *item, rb_augment_fn augment)
{
	struct rb_node **link = &root->node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = item->key < to_item(parent)->key ? &parent->left : &parent->right;
	}
	item->sum = item->key;
	rb_link(&item->rb, parent, link);
	rb_insert(root, &item->rb, augment);
}

#define TEXT_BYTES 512

/* "(4b 2r .)": a black 4 with a red leaf 2 to its left. Returns the length. */
static size_t draw(struct rb_node *rb, char *text, size_t at)
{
	bool leaf = rb && !rb->left && !rb->right;

	if (!rb)
		return at + (size_t)snprintf(text + at, TEXT_BYTES - at, ".");
	at += (size_t)snprintf(text + at, TEXT_BYTES - at, "%s%d%c", leaf ? "" : "(",
			       (int)to_item(rb)->key, rb->parent_color & 1 ? 'b' : 'r');
	if (leaf)
		return at;
	at += (size_t)snprintf(text + at, TEXT_BYTES - at, " ");
	at = draw(rb->left, text, at);
	at += (size_t)snprintf(text + at, TEXT_BYTES - at, " ");
	at = draw(rb->right, text, at);
	return at + (size_t)snprintf(text + at, TEXT_BYTES - at, ")");
}

struct step {
	int key; /* negative: erase */
	const char *shape;
};

static const struct step ascending[] = {
	{ 1, "1b" },
	{ 2, "(1b . 2r)" },
	{ 3, "(2b 1r 3r)" },
	{ 4, "(2b 1b (3b . 4r))" },
	{ 5, "(2b 1b (4b 3r 5r))" },
	{ 6, "(2b 1b (4r 3b (5b . 6r)))" },
	{ 7, "(2b 1b (4r 3b (6b 5r 7r)))" },
	{ 8, "(4b (2r 1b 3b) (6r 5b (7b . 8r)))" },
	{ 9, "(4b (2r 1b 3b) (6r 5b (8b 7r 9r)))" },
	{ 10, "(4b (2b 1b 3b) (6b 5b (8r 7b (9b . 10r))))" },
	{ -4, "(5b (2b 1b 3b) (8b (6b . 7r) (9b . 10r)))" },
	{ -5, "(6b (2b 1b 3b) (8b 7b (9b . 10r)))" },
	{ -6, "(7b (2b 1b 3b) (9b 8b 10b))" },
	{ -1, "(7b (2b . 3r) (9r 8b 10b))" },
	{ -2, "(7b 3b (9r 8b 10b))" },
	{ -10, "(7b 3b (9b 8r .))" },
	{ -8, "(7b 3b 9b)" },
};

static const struct step descending[] = {
	{ 10, "10b" },
	{ 9, "(10b 9r .)" },
	{ 8, "(9b 8r 10r)" },
	{ 7, "(9b (8b 7r .) 10b)" },
	{ 6, "(9b (7b 6r 8r) 10b)" },
	{ 5, "(9b (7r (6b 5r .) 8b) 10b)" },
	{ 4, "(9b (7r (5b 4r 6r) 8b) 10b)" },
	{ 3, "(7b (5r (4b 3r .) 6b) (9r 8b 10b))" },
	{ 2, "(7b (5r (3b 2r 4r) 6b) (9r 8b 10b))" },
	{ 1, "(7b (5b (3r (2b 1r .) 4b) 6b) (9b 8b 10b))" },
	{ -10, "(5b (3b (2b 1r .) 4b) (7b 6b (9b 8r .)))" },
	{ -9, "(5b (3b (2b 1r .) 4b) (7b 6b 8b))" },
	{ -7, "(5b (3r (2b 1r .) 4b) (8b 6r .))" },
	{ -8, "(5b (3r (2b 1r .) 4b) 6b)" },
	{ -3, "(5b (2r 1b 4b) 6b)" },
	{ -6, "(2b 1b (5b 4r .))" },
};

static const struct step mixed[] = {
	{ 7, "7b" },
	{ 2, "(7b 2r .)" },
	{ 9, "(7b 2r 9r)" },
	{ 4, "(7b (2b . 4r) 9b)" },
	{ 11, "(7b (2b . 4r) (9b . 11r))" },
	{ 12, "(7b (2b . 4r) (11b 9r 12r))" },
	{ 5, "(7b (4b 2r 5r) (11b 9r 12r))" },
	{ 8, "(7b (4b 2r 5r) (11r (9b 8r .) 12b))" },
	{ 1, "(7b (4r (2b 1r .) 5b) (11r (9b 8r .) 12b))" },
	{ 10, "(7b (4r (2b 1r .) 5b) (11r (9b 8r 10r) 12b))" },
	{ 3, "(7b (4r (2b 1r 3r) 5b) (11r (9b 8r 10r) 12b))" },
	{ 6, "(7b (4r (2b 1r 3r) (5b . 6r)) (11r (9b 8r 10r) 12b))" },
	{ -4, "(7b (5r (2b 1r 3r) 6b) (11r (9b 8r 10r) 12b))" },
	{ -9, "(7b (5r (2b 1r 3r) 6b) (11r (10b 8r .) 12b))" },
	{ -12, "(7b (5r (2b 1r 3r) 6b) (10r 8b 11b))" },
	{ -7, "(8b (5r (2b 1r 3r) 6b) (10b . 11r))" },
	{ -1, "(8b (5r (2b . 3r) 6b) (10b . 11r))" },
	{ -2, "(8b (5r 3b 6b) (10b . 11r))" },
	{ -3, "(8b (5b . 6r) (10b . 11r))" },
	{ -11, "(8b (5b . 6r) 10b)" },
};

static void check_shapes(const struct step *steps, size_t nr)
{
	struct item items[16] = { 0 };
	struct rb_root root = { NULL };

	for (size_t i = 0; i < nr; i++) {
		struct item *item = &items[abs(steps[i].key)];
		char text[TEXT_BYTES];

		if (steps[i].key > 0) {
			item->key = (uint64_t)steps[i].key;
			insert(&root, item, update_sum);
		} else {
			rb_erase(&root, &item->rb, update_sum);
		}
		draw(root.node, text, 0);
		assert_string_equal(text, steps[i].shape);
		assert_null(rb_validate(&root, update_sum, NULL));
	}
}

static void test_shapes_are_linux_ones(void **state)
{
	(void)state;
	check_shapes(ascending, ARRAY_SIZE(ascending));
	check_shapes(descending, ARRAY_SIZE(descending));
	check_shapes(mixed, ARRAY_SIZE(mixed));
}

#define NR_KEYS 400

static void check_against(struct rb_root *root, const bool *in, rb_augment_fn augment)
{
	const char *wrong;
	struct rb_node *rb = rb_first(root);
	uint64_t nr, expected = 0;

	wrong = rb_validate(root, augment, &nr);
	if (wrong)
		fail_msg("%s", wrong);
	for (uint64_t key = 0; key < NR_KEYS; key++) {
		if (!in[key])
			continue;
		expected++;
		assert_non_null(rb);
		assert_int_equal(to_item(rb)->key, key);
		rb = rb_next(rb);
	}
	assert_null(rb);
	assert_int_equal(nr, expected);
}

static void run_model(rb_augment_fn augment)
{
	struct random r = model_seed("rbtree");
	static struct item items[NR_KEYS];
	static bool in[NR_KEYS];
	struct rb_root root = { NULL };

	memset(in, 0, sizeof(in));
	for (uint64_t key = 0; key < NR_KEYS; key++)
		items[key].key = key;
	for (int op = 0; op < 12000; op++) {
		uint32_t key = random_below(&r, NR_KEYS);
		/* Waves: mostly growing, mostly shrinking, so all sizes occur. */
		bool want = random_below(&r, 10) < ((op / 1500) & 1 ? 2u : 8u);

		if (want == in[key])
			continue;
		in[key] = want;
		if (want)
			insert(&root, &items[key], augment);
		else
			rb_erase(&root, &items[key].rb, augment);
		check_against(&root, in, augment);
	}
}

static void test_model_augmented(void **state)
{
	(void)state;
	run_model(update_sum);
}

static void test_model_plain(void **state)
{
	(void)state;
	run_model(NULL);
}

static void test_replace(void **state)
{
	struct item items[20] = { 0 }, other;
	struct rb_root root = { NULL };
	char before[TEXT_BYTES], after[TEXT_BYTES];
	uint64_t nr;

	(void)state;
	for (uint64_t key = 0; key < ARRAY_SIZE(items); key++) {
		items[key].key = key;
		insert(&root, &items[key], update_sum);
	}
	for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
		draw(root.node, before, 0);
		other = items[i];
		rb_replace(&root, &items[i].rb, &other.rb);
		/* Nothing may still refer to the old one. */
		memset(&items[i], 0xff, sizeof(items[i]));
		draw(root.node, after, 0);
		assert_string_equal(before, after);
		assert_null(rb_validate(&root, update_sum, &nr));
		assert_int_equal(nr, ARRAY_SIZE(items));
		items[i] = other;
		rb_replace(&root, &other.rb, &items[i].rb);
	}
}

static void test_validate_sees_damage(void **state)
{
	struct item items[8] = { 0 };
	struct rb_root root = { NULL };

	(void)state;
	for (uint64_t key = 0; key < ARRAY_SIZE(items); key++) {
		items[key].key = key;
		insert(&root, &items[key], update_sum);
	}
	assert_null(rb_validate(&root, update_sum, NULL));
	root.node->parent_color ^= 1;
	assert_string_equal(rb_validate(&root, NULL, NULL), "rbtree: the root is red");
	root.node->parent_color ^= 1;
	/* Keys ascend, so the last one is a red leaf below a black parent. */
	items[7].rb.parent_color ^= 1;
	assert_string_equal(rb_validate(&root, NULL, NULL), "rbtree: black heights differ");
	items[7].rb.parent_color ^= 1;
	rb_parent(&items[7].rb)->parent_color ^= 1;
	assert_string_equal(rb_validate(&root, NULL, NULL), "rbtree: a red node has a red child");
	rb_parent(&items[7].rb)->parent_color ^= 1;
	items[3].sum++;
	assert_string_equal(rb_validate(&root, update_sum, NULL), "rbtree: an augmented value is stale");
	assert_null(rb_validate(&root, NULL, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shapes_are_linux_ones),
		cmocka_unit_test(test_model_augmented),
		cmocka_unit_test(test_model_plain),
		cmocka_unit_test(test_replace),
		cmocka_unit_test(test_validate_sees_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
