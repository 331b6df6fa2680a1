/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The range tree against a sorted array that is searched linearly: random
 * insertions, erasures, changes of bounds, splits and merges, every search after
 * each of them, with and without readers. Then what the model cannot see: that
 * a reservation is enough in the worst case, that a failed one changes nothing,
 * that an update leaves published nodes alone, and that nodes come back.
 *
 * test_range_tree_tiny.c runs all of it again with nodes of four slots, where
 * every update splits, merges, or changes the height.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "model_seed.h"
#include "range_tree.h"
#include "rcu.h"

#define SPACE 3000 /* addresses 0 .. SPACE - 1 */
#define MAX_RANGES 512

static struct range_entry model[MAX_RANGES];
static unsigned int nr_model;
static char objects[1 << 16];

static void model_insert(unsigned int at, uint64_t start, uint64_t end, void *object)
{
	memmove(model + at + 1, model + at, (nr_model - at) * sizeof(model[0]));
	model[at] = (struct range_entry){ start, end, object };
	nr_model++;
}

static void model_erase(unsigned int at)
{
	nr_model--;
	memmove(model + at, model + at + 1, (nr_model - at) * sizeof(model[0]));
}

static void check_entry(bool found, const struct range_entry *entry, bool expected,
			const struct range_entry *right)
{
	assert_int_equal(found, expected);
	if (!expected)
		return;
	assert_int_equal(entry->start, right->start);
	assert_int_equal(entry->end, right->end);
	assert_ptr_equal(entry->object, right->object);
}

static void check_searches(const struct range_tree *tree, uint64_t addr)
{
	struct range_entry entry;
	unsigned int above = 0, below = nr_model;
	bool found;

	while (above < nr_model && model[above].end <= addr)
		above++;
	while (below && model[below - 1].start >= addr)
		below--;
	found = range_tree_find(tree, addr, &entry);
	check_entry(found, &entry, above < nr_model && model[above].start <= addr, &model[above]);
	found = range_tree_find_above(tree, addr, &entry);
	check_entry(found, &entry, above < nr_model, &model[above]);
	found = range_tree_find_below(tree, addr, &entry);
	check_entry(found, &entry, below > 0, &model[below ? below - 1 : 0]);
}

static uint64_t model_gap(uint64_t floor, uint64_t ceiling, uint64_t bytes)
{
	uint64_t at = floor;

	for (unsigned int i = 0; i < nr_model; i++) {
		if (model[i].end <= at)
			continue;
		if (model[i].start >= at && model[i].start - at >= bytes)
			break;
		at = model[i].end;
	}
	return at + bytes <= ceiling ? at : UINT64_MAX;
}

static uint64_t model_gap_last(uint64_t floor, uint64_t ceiling, uint64_t bytes)
{
	uint64_t at = ceiling;

	for (unsigned int i = nr_model; i-- > 0;) {
		if (model[i].start >= at)
			continue;
		if (model[i].end <= at && at - model[i].end >= bytes)
			break;
		at = model[i].start;
	}
	return at >= bytes && at - bytes >= floor ? at - bytes : UINT64_MAX;
}

static void check_valid(const struct range_tree *tree)
{
	const char *wrong = range_tree_validate(tree);

	if (wrong)
		fail_msg("%s", wrong);
	assert_int_equal(tree->nr_entries, nr_model);
}

static void check_all(const struct range_tree *tree, struct random *r)
{
	struct range_entry entry;
	uint64_t addr = 0;

	check_valid(tree);
	for (unsigned int i = 0; i < nr_model; i++) {
		check_entry(range_tree_find_above(tree, addr, &entry), &entry, true, &model[i]);
		addr = entry.end;
	}
	assert_false(range_tree_find_above(tree, addr, &entry));
	check_searches(tree, 0);
	check_searches(tree, UINT64_MAX);
	for (int i = 0; i < 4; i++) {
		uint64_t floor = random_below(r, SPACE), bytes = 1 + random_below(r, 60);
		uint64_t ceiling = i ? UINT64_MAX : floor + random_below(r, SPACE);

		check_searches(tree, random_below(r, SPACE + 10));
		assert_int_equal(range_tree_find_gap(tree, floor, ceiling, bytes),
				 model_gap(floor, ceiling, bytes));
		ceiling = i ? random_below(r, SPACE + 100) : UINT64_MAX;
		floor = i == 1 ? random_below(r, SPACE) : 0;
		assert_int_equal(range_tree_find_gap_last(tree, floor, ceiling, bytes),
				 model_gap_last(floor, ceiling, bytes));
	}
}

static void reserve(struct range_tree *tree, unsigned int updates)
{
	assert_int_equal(range_tree_reserve(tree, updates), 0);
}

/* Bounds between which entry i may move. */
static uint64_t lowest(unsigned int i)
{
	return i ? model[i - 1].end : 0;
}

static uint64_t highest(unsigned int i)
{
	return i + 1 < nr_model ? model[i + 1].start : SPACE;
}

static void insert_somewhere(struct range_tree *tree, struct random *r)
{
	uint64_t start = random_below(r, SPACE), end;
	unsigned int at = 0;

	while (at < nr_model && model[at].end <= start)
		at++;
	if (at < nr_model && model[at].start <= start)
		return;
	end = at < nr_model ? model[at].start : SPACE;
	end = start + 1 + random_below(r, (uint32_t)MIN(end - start, UINT64_C(12)));
	reserve(tree, 1);
	model_insert(at, start, MIN(end, (uint64_t)SPACE), &objects[random_below(r, sizeof(objects))]);
	range_tree_insert(tree, start, model[at].end, model[at].object);
}

static void change_bounds(struct range_tree *tree, struct random *r, unsigned int i)
{
	uint64_t low = MAX(lowest(i), model[i].start - MIN(model[i].start, UINT64_C(9)));
	uint64_t high = MIN(highest(i), model[i].end + 9);
	uint64_t start = low + random_below(r, (uint32_t)(high - low));
	uint64_t end = start + 1 + random_below(r, (uint32_t)(high - start));

	reserve(tree, 1);
	range_tree_resize(tree, model[i].start, start, end);
	model[i].start = start;
	model[i].end = end;
}

static void split(struct range_tree *tree, struct random *r, unsigned int i)
{
	uint64_t start = model[i].start, end = model[i].end, at;

	if (end - start < 2)
		return;
	at = start + 1 + random_below(r, (uint32_t)(end - start - 1));
	reserve(tree, 2);
	range_tree_resize(tree, start, start, at);
	range_tree_insert(tree, at, end, &objects[at]);
	model[i].end = at;
	model_insert(i + 1, at, end, &objects[at]);
}

static void merge(struct range_tree *tree, unsigned int i)
{
	uint64_t end = model[i + 1].end;

	reserve(tree, 2);
	range_tree_erase(tree, model[i + 1].start);
	range_tree_resize(tree, model[i].start, model[i].start, end);
	model_erase(i + 1);
	model[i].end = end;
}

static void run_model(bool has_readers)
{
	struct random r = model_seed("range_tree");
	struct range_tree tree;
	struct mem mem;

	mem_init(&mem);
	range_tree_init(&tree, &mem, has_readers);
	nr_model = 0;
	for (int op = 0; op < 12000; op++) {
		/* Waves, so that the tree is now tall and now empty. */
		bool growing = !((op / 2000) & 1);
		uint32_t kind = random_below(&r, 10);
		unsigned int i = nr_model ? random_below(&r, nr_model) : 0;

		if (nr_model < MAX_RANGES - 2 && (!nr_model || kind < (growing ? 4u : 1u))) {
			insert_somewhere(&tree, &r);
		} else if (!nr_model) {
			continue;
		} else if (kind < 5) {
			change_bounds(&tree, &r, i);
		} else if (growing && kind < 8 && nr_model < MAX_RANGES - 2) {
			split(&tree, &r, i);
		} else if (i + 1 < nr_model && kind < 9) {
			merge(&tree, i);
		} else {
			reserve(&tree, 1);
			range_tree_erase(&tree, model[i].start);
			model_erase(i);
		}
		check_all(&tree, &r);
	}
	range_tree_destroy(&tree);
	assert_int_equal(mem.nr_live, 0);
	assert_int_equal(mem.live_bytes, 0);
}

static void test_model_in_place(void **state)
{
	(void)state;
	run_model(false);
}

static void test_model_with_readers(void **state)
{
	(void)state;
	run_model(true);
}

#define STEP 100

/* Entries [i * STEP, i * STEP + 1) for i in [0, nr), in the order that leaves full nodes. */
static void fill(struct range_tree *tree, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++) {
		reserve(tree, 1);
		range_tree_insert(tree, i * STEP, i * STEP + 1, &objects[i]);
	}
}

/*
 * Nodes filled in ascending order are full up to the root, so insertions spread
 * over the tree split at every level. Running out is fatal by itself.
 */
static void test_reservation_covers_the_worst_case(void **state)
{
	(void)state;
	for (int readers = 0; readers < 2; readers++) {
		for (unsigned int nr = 0; nr <= 300; nr = nr * 2 + 1) {
			for (unsigned int updates = 1; updates <= 40; updates += 3) {
				struct range_tree tree;
				struct mem mem;
				uint64_t nr_allocs;

				mem_init(&mem);
				range_tree_init(&tree, &mem, readers);
				fill(&tree, nr);
				reserve(&tree, updates);
				nr_allocs = mem.nr_allocs;
				for (unsigned int i = 0; i < updates; i++) {
					uint64_t slot = nr ? (uint64_t)i * nr / updates : 0;
					uint64_t start = slot * STEP + 2 + 2 * i;

					range_tree_insert(&tree, start, start + 1, &tree);
					assert_null(range_tree_validate(&tree));
				}
				assert_int_equal(mem.nr_allocs, nr_allocs);
				assert_int_equal(tree.nr_entries, nr + updates);
				range_tree_destroy(&tree);
				assert_int_equal(mem.nr_live, 0);
			}
		}
	}
}

/* Erasing and inserting at one place shrinks and grows the tree each time. */
static void test_reservation_covers_alternation(void **state)
{
	struct range_tree tree;
	struct mem mem;

	(void)state;
	for (int readers = 0; readers < 2; readers++) {
		for (unsigned int nr = 1; nr < 120; nr++) {
			mem_init(&mem);
			range_tree_init(&tree, &mem, readers);
			fill(&tree, nr);
			reserve(&tree, 24);
			for (unsigned int i = 0; i < 12; i++) {
				range_tree_erase(&tree, (nr - 1) / 2 * STEP);
				assert_null(range_tree_validate(&tree));
				range_tree_insert(&tree, (nr - 1) / 2 * STEP, (nr - 1) / 2 * STEP + 5, &mem);
				assert_null(range_tree_validate(&tree));
			}
			range_tree_destroy(&tree);
			assert_int_equal(mem.nr_live, 0);
		}
	}
}

static void test_failed_reservation_changes_nothing(void **state)
{
	(void)state;
	for (int readers = 0; readers < 2; readers++) {
		for (uint64_t fail = 1;; fail++) {
			struct range_node *root;
			struct range_tree tree;
			struct mem mem;
			int err;

			mem_init(&mem);
			range_tree_init(&tree, &mem, readers);
			fill(&tree, 200);
			root = tree.root;
			mem.fail_at = mem.nr_allocs + fail;
			err = range_tree_reserve(&tree, 30);
			if (!err) {
				assert_int_equal(mem.nr_failed, 0);
				assert_true(fail > 1);
				range_tree_destroy(&tree);
				break;
			}
			assert_int_equal(err, -ENOMEM);
			assert_ptr_equal(tree.root, root);
			assert_int_equal(tree.nr_entries, 200);
			assert_null(range_tree_validate(&tree));
			/* Only that one failed: the next attempt has what it needs. */
			reserve(&tree, 1);
			range_tree_insert(&tree, 5, 6, &mem);
			assert_null(range_tree_validate(&tree));
			range_tree_destroy(&tree);
			assert_int_equal(mem.nr_live, 0);
		}
	}
}

static void check_pages(const struct range_tree *tree, uint64_t nr)
{
	struct range_entry entry;

	for (uint64_t i = 0; i < nr; i++) {
		assert_true(range_tree_find(tree, i * STEP, &entry));
		assert_int_equal(entry.start, i * STEP);
		assert_int_equal(entry.end, i * STEP + 1);
		assert_ptr_equal(entry.object, &objects[i]);
	}
}

/* What a reader holds: the root it loaded, whatever is done to the tree. */
static void test_old_root_stays_whole(void **state)
{
	const uint64_t nr = 150;
	struct range_tree tree, old;
	struct mem mem;

	(void)state;
	mem_init(&mem);
	range_tree_init(&tree, &mem, true);
	fill(&tree, nr);
	reserve(&tree, 450);
	old = tree;
	for (uint64_t i = 0; i < nr; i++) {
		range_tree_resize(&tree, i * STEP, i * STEP + 1, i * STEP + 2);
		range_tree_insert(&tree, i * STEP + 5, i * STEP + 6, &mem);
		if (i % 10 == 0)
			check_pages(&old, nr);
	}
	for (uint64_t i = 0; i < nr; i++)
		range_tree_erase(&tree, i * STEP + 1);
	check_pages(&old, nr);
	old.spare = old.retired = NULL;
	assert_null(range_tree_validate(&old));
	assert_null(range_tree_validate(&tree));
	assert_int_equal(tree.nr_entries, nr);
	range_tree_destroy(&tree);
	assert_int_equal(mem.nr_live, 0);
}

/* Memory follows the entries: no pile of nodes after long use, few when empty. */
static void test_nodes_come_back(void **state)
{
	(void)state;
	for (int readers = 0; readers < 2; readers++) {
		struct range_tree tree;
		struct mem mem;
		uint64_t one_round = 0;

		mem_init(&mem);
		range_tree_init(&tree, &mem, readers);
		for (int round = 0; round < 20; round++) {
			fill(&tree, 1000);
			for (uint64_t i = 0; i < 1000; i++) {
				reserve(&tree, 1);
				range_tree_erase(&tree, (i * 7 % 1000) * STEP);
			}
			assert_null(range_tree_validate(&tree));
			assert_int_equal(tree.nr_entries, 0);
			assert_null(tree.root);
			if (!round)
				one_round = mem.peak_bytes;
		}
		assert_int_equal(mem.peak_bytes, one_round);
		range_tree_destroy(&tree);
		assert_int_equal(mem.nr_live, 0);
	}
}

/* Erasing most entries must not leave a node for each that is left. */
static void test_sparse_nodes_are_merged(void **state)
{
	struct range_tree tree;
	struct mem mem;
	unsigned int height;

	(void)state;
	mem_init(&mem);
	range_tree_init(&tree, &mem, false);
	fill(&tree, 2000);
	height = tree.height;
	for (uint64_t i = 0; i < 2000; i++) {
		if (i % 200 == 0)
			continue;
		reserve(&tree, 1);
		range_tree_erase(&tree, i * STEP);
	}
	assert_int_equal(tree.nr_entries, 10);
	assert_null(range_tree_validate(&tree));
	assert_true(tree.height < height);
	/* At least a third full: three levels of four slots hold ten entries. */
	assert_in_range(tree.height, 1, 3);
	range_tree_destroy(&tree);
	assert_int_equal(mem.nr_live, 0);
}

static void test_empty_and_extremes(void **state)
{
	struct range_entry entry;
	struct range_tree tree;
	struct mem mem;

	(void)state;
	mem_init(&mem);
	range_tree_init(&tree, &mem, false);
	assert_null(range_tree_validate(&tree));
	assert_false(range_tree_find(&tree, 0, &entry));
	assert_false(range_tree_find_above(&tree, 0, &entry));
	assert_false(range_tree_find_below(&tree, UINT64_MAX, &entry));
	assert_int_equal(range_tree_find_gap(&tree, 100, 200, 100), 100);
	assert_int_equal(range_tree_find_gap(&tree, 100, 200, 101), UINT64_MAX);
	assert_int_equal(range_tree_find_gap(&tree, 0, 10, 11), UINT64_MAX);
	assert_int_equal(range_tree_find_gap_last(&tree, 100, 200, 30), 170);
	assert_int_equal(range_tree_find_gap_last(&tree, 100, 200, 101), UINT64_MAX);
	assert_int_equal(range_tree_find_gap_last(&tree, 0, 10, 11), UINT64_MAX);
	reserve(&tree, 2);
	range_tree_insert(&tree, 0, 1, objects);
	range_tree_insert(&tree, UINT64_MAX - 1, UINT64_MAX, objects + 1);
	assert_true(range_tree_find(&tree, 0, &entry));
	assert_false(range_tree_find_below(&tree, 0, &entry));
	assert_true(range_tree_find(&tree, UINT64_MAX - 1, &entry));
	assert_ptr_equal(entry.object, objects + 1);
	assert_false(range_tree_find(&tree, UINT64_MAX, &entry));
	assert_int_equal(range_tree_find_gap(&tree, 0, UINT64_MAX, 10), 1);
	assert_int_equal(range_tree_find_gap(&tree, 0, UINT64_MAX, UINT64_MAX - 2), 1);
	assert_int_equal(range_tree_find_gap(&tree, 0, UINT64_MAX, UINT64_MAX - 1), UINT64_MAX);
	assert_int_equal(range_tree_find_gap_last(&tree, 0, UINT64_MAX, 10), UINT64_MAX - 11);
	assert_int_equal(range_tree_find_gap_last(&tree, 0, UINT64_MAX, UINT64_MAX - 2), 1);
	assert_int_equal(range_tree_find_gap_last(&tree, 0, UINT64_MAX, UINT64_MAX - 1), UINT64_MAX);
	range_tree_destroy(&tree);
	assert_int_equal(mem.nr_live, 0);
	assert_int_equal(mem.live_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model_in_place),
		cmocka_unit_test(test_model_with_readers),
		cmocka_unit_test(test_reservation_covers_the_worst_case),
		cmocka_unit_test(test_reservation_covers_alternation),
		cmocka_unit_test(test_failed_reservation_changes_nothing),
		cmocka_unit_test(test_old_root_stays_whole),
		cmocka_unit_test(test_nodes_come_back),
		cmocka_unit_test(test_sparse_nodes_are_merged),
		cmocka_unit_test(test_empty_and_extremes),
	};
	int err;

	rcu_thread_begin();
	err = cmocka_run_group_tests(tests, NULL, NULL);
	rcu_thread_end();
	return err;
}
