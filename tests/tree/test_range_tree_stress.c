/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RCU readers search a range tree while a writer splits, merges, moves bounds
 * and erases, with the nodes of a tree that fits in few of them, so that every
 * node a reader is in is soon replaced, reused or freed.
 *
 * A reader can tell a torn or reused node from a good one: each object keeps
 * every pair of bounds it was ever published with, and what a search returns
 * must be one of them and fit the address. Anchors, one entry in each segment
 * that is never touched, must be found at all times, whatever happens around
 * them. Reader threads only count; the main thread asserts (cmocka's failures
 * are for the thread that runs the test).
 *
 * A search takes nanoseconds, and a missing grace period would rarely show. So a
 * reader loads the root once and searches below it for a whole section, at times
 * giving up the processor: what a reader does that is interrupted in a search.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "model_seed.h"
#include "range_tree.h"
#include "rcu.h"

#define NR_READERS 2
#define SEGMENT 64 /* addresses; the first one is the anchor */
#define NR_SEGMENTS 64
#define SPACE (SEGMENT * NR_SEGMENTS)
#define NR_OPS 150000
#define MAX_NS UINT64_C(2000000000)
#define MAX_VERSIONS 8

struct object {
	uint32_t nr_versions; /* atomic: published after the version itself */
	struct {
		uint64_t start, end;
	} version[MAX_VERSIONS];
};

/* Read by all while the writer runs: */
static struct range_tree tree;
static bool stop; /* atomic */

/* Writer only: */
static struct object objects[NR_SEGMENTS + 2 * NR_OPS + 2];
static size_t nr_objects;
static struct object *at_address[SPACE]; /* the model: who covers it */

struct reader {
	pthread_t thread;
	struct random random;
	uint64_t nr_found, nr_missed, nr_anchors_lost, nr_wrong;
};

static bool was_published(const struct range_entry *entry)
{
	const struct object *object = entry->object;
	uint32_t nr = __atomic_load_n(&object->nr_versions, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < nr; i++)
		if (object->version[i].start == entry->start && object->version[i].end == entry->end)
			return true;
	return false;
}

static void search(struct reader *reader, const struct range_tree *seen, uint64_t addr)
{
	struct range_entry entry;

	if (range_tree_find(seen, addr, &entry)) {
		reader->nr_found++;
		if (addr < entry.start || addr >= entry.end || !was_published(&entry))
			reader->nr_wrong++;
	} else {
		reader->nr_missed++;
		if (addr % SEGMENT == 0)
			reader->nr_anchors_lost++;
	}
	/* No search passes an anchor by. */
	if (!range_tree_find_above(seen, addr - addr % SEGMENT, &entry) ||
	    entry.start != addr - addr % SEGMENT || !was_published(&entry))
		reader->nr_wrong++;
	if (range_tree_find_above(seen, addr, &entry) &&
	    (entry.end <= addr || entry.start > addr - addr % SEGMENT + SEGMENT ||
	     !was_published(&entry)))
		reader->nr_wrong++;
	if (!range_tree_find_below(seen, addr + 1, &entry) || entry.start > addr ||
	    entry.start < addr - addr % SEGMENT || !was_published(&entry))
		reader->nr_wrong++;
}

static void *read_all_the_time(void *arg)
{
	struct reader *reader = arg;

	rcu_thread_begin();
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		struct range_tree seen = { .root = NULL };

		rcu_reader_lock();
		seen.root = rcu_load(tree.root);
		for (int i = 0; i < 8; i++) {
			uint64_t addr = random_below(&reader->random, SPACE);

			search(reader, &seen, i ? addr : addr - addr % SEGMENT);
			if (random_below(&reader->random, 500) == 0)
				sched_yield();
		}
		rcu_reader_unlock();
	}
	rcu_thread_end();
	return NULL;
}

static void add_version(struct object *object, uint64_t start, uint64_t end)
{
	uint32_t nr = object->nr_versions;

	object->version[nr].start = start;
	object->version[nr].end = end;
	__atomic_store_n(&object->nr_versions, nr + 1, __ATOMIC_RELEASE);
}

static uint64_t start_of(const struct object *object)
{
	return object->version[object->nr_versions - 1].start;
}

static uint64_t end_of(const struct object *object)
{
	return object->version[object->nr_versions - 1].end;
}

static void cover(uint64_t start, uint64_t end, struct object *object)
{
	while (start < end)
		at_address[start++] = object;
}

static void insert(uint64_t start, uint64_t end)
{
	struct object *object = &objects[nr_objects++];

	add_version(object, start, end);
	cover(start, end, object);
	range_tree_insert(&tree, start, end, object);
}

static void erase(struct object *object)
{
	cover(start_of(object), end_of(object), NULL);
	range_tree_erase(&tree, start_of(object));
}

/* Changes bounds while the object has room to remember them, else replaces it. */
static void resize(struct object *object, uint64_t start, uint64_t end)
{
	uint64_t old = start_of(object);

	if (object->nr_versions == MAX_VERSIONS) {
		erase(object);
		insert(start, end);
		return;
	}
	cover(old, end_of(object), NULL);
	add_version(object, start, end);
	cover(start, end, object);
	range_tree_resize(&tree, old, start, end);
}

static void change_something(struct random *r)
{
	uint64_t addr = random_below(r, SPACE);
	struct object *object = at_address[addr], *next;
	uint64_t start, end;

	if (addr % SEGMENT == 0)
		return;
	if (!object) {
		for (end = addr + 1; end % SEGMENT && !at_address[end] && random_below(r, 8); end++)
			;
		insert(addr, end);
		return;
	}
	start = start_of(object);
	end = end_of(object);
	next = end % SEGMENT ? at_address[end] : NULL;
	switch (random_below(r, 6)) {
	case 0:
	case 1: /* split */
		if (addr > start) {
			resize(object, start, addr);
			insert(addr, end);
		}
		break;
	case 2:
	case 3: /* merge, or grow by one into the hole */
		if (next) {
			end = end_of(next);
			erase(next);
			resize(object, start, end);
		} else if (end % SEGMENT) {
			resize(object, start, end + 1);
		}
		break;
	case 4: /* cut off the front */
		if (addr > start)
			resize(object, addr, end);
		break;
	default:
		erase(object);
	}
}

static void test_readers_see_published_versions_only(void **state)
{
	struct random r = model_seed("range_tree_stress");
	struct reader readers[NR_READERS];
	uint64_t begin = clock_measure_ns();
	const char *wrong = NULL;
	unsigned int nr_ops = 0;
	struct mem mem;
	int err = 0;

	(void)state;
	memset(objects, 0, sizeof(objects));
	memset(at_address, 0, sizeof(at_address));
	nr_objects = 0;
	stop = false;
	mem_init(&mem);
	range_tree_init(&tree, &mem, true);
	for (uint64_t i = 0; i < NR_SEGMENTS; i++) {
		assert_int_equal(range_tree_reserve(&tree, 1), 0);
		insert(i * SEGMENT, i * SEGMENT + 1);
	}
	memset(readers, 0, sizeof(readers));
	for (int i = 0; i < NR_READERS; i++) {
		readers[i].random.state = random_next(&r);
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_all_the_time,
						&readers[i]), 0);
	}
	for (; nr_ops < NR_OPS && !err && !wrong; nr_ops++) {
		err = range_tree_reserve(&tree, 3);
		if (!err)
			change_something(&r);
		if (nr_ops % 256)
			continue;
		wrong = range_tree_validate(&tree);
		if (clock_measure_ns() - begin > MAX_NS)
			break;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < NR_READERS; i++)
		pthread_join(readers[i].thread, NULL);

	assert_int_equal(err, 0);
	if (!wrong)
		wrong = range_tree_validate(&tree);
	if (wrong)
		fail_msg("%s", wrong);
	for (int i = 0; i < NR_READERS; i++) {
		assert_int_equal(readers[i].nr_wrong, 0);
		assert_int_equal(readers[i].nr_anchors_lost, 0);
		assert_true(readers[i].nr_found > 1000);
		assert_true(readers[i].nr_missed > 0);
	}
	assert_true(nr_ops > 1000);
	/* Nodes were reused behind the readers' backs, not piled up. */
	assert_true(mem.peak_bytes < 2 * 1024 * 1024);
	range_tree_destroy(&tree);
	assert_int_equal(mem.nr_live, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readers_see_published_versions_only),
	};
	int err;

	rcu_thread_begin();
	err = cmocka_run_group_tests(tests, NULL, NULL);
	rcu_thread_end();
	return err;
}
