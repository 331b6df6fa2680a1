/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that goes: a node goes offline when all its pages can be moved, and gives none while it is;
 * a frame that was soft-offlined never comes back. After every step the machine is recounted, and
 * every allocation on the way is made to fail once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "samepage.h"

#define BASE  UINT64_C(0x200000000000)
#define PAGE  SP_PAGE_SIZE
#define RW    (SP_PROT_READ | SP_PROT_WRITE)
#define FIXED (SP_MAP_PRIVATE | SP_MAP_FIXED)
#define PAGES 6
#define DIMM  2

#define OK(call)	 assert_int_equal((call), 0)
#define FAILS(err, call) assert_int_equal((call), -(err))

struct fixture {
	struct sp_machine *m;
	struct sp_process *p;
};

static int create(struct fixture *f, uint64_t fail_allocation)
{
	struct sp_config config;
	int err;

	sp_config_init(&config);
	config.nr_nodes = 3;
	config.nr_movable_nodes = 1;
	config.nr_frames = 600;
	config.thp = SP_THP_MADVISE;
	config.fail_allocation = fail_allocation;
	f->m = NULL;
	err = sp_machine_create(&config, &f->m);
	if (!err)
		err = sp_process_create(f->m, &f->p);
	if (!err)
		err = sp_mmap(f->p, BASE, PAGES * PAGE, RW, FIXED, NULL, 0, NULL);
	return err;
}

static int setup(void **state)
{
	static struct fixture f;

	OK(create(&f, 0));
	OK(sp_fill(f.p, BASE, PAGES * PAGE, 0x77));
	*state = &f;
	return 0;
}

static void valid(struct sp_machine *m)
{
	char text[2000] = "";

	if (sp_validate(m, text, sizeof(text)))
		fail_msg("%s", text);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	valid(f->m);
	sp_machine_destroy(f->m);
	return 0;
}

static struct sp_page_info page_at(struct sp_process *p, unsigned int i)
{
	struct sp_page_info info;

	OK(sp_page_info(p, BASE + i * PAGE, &info));
	return info;
}

static void merge(struct fixture *f)
{
	OK(sp_madvise(f->p, BASE, PAGES * PAGE, SP_MADV_MERGEABLE));
	OK(sp_knob_set(f->m, "run", "1"));
	OK(sp_ksm_scan(f->m, 2));
}

static int64_t counter(const struct fixture *f, const char *name)
{
	int64_t value = -1;

	OK(sp_counter_get(f->m, name, &value));
	return value;
}

static void has_content(struct sp_process *p, uint8_t byte)
{
	uint8_t page[PAGE], wanted[PAGE];

	memset(wanted, byte, sizeof(wanted));
	for (unsigned int i = 0; i < PAGES; i++) {
		OK(sp_peek(p, BASE + i * PAGE, page, sizeof(page)));
		assert_memory_equal(page, wanted, sizeof(page));
	}
}

static void config(void **state)
{
	struct sp_machine *m;
	struct sp_config c;

	(void)state;
	sp_config_init(&c);
	c.nr_movable_nodes = 1;
	FAILS(EINVAL, sp_machine_create(&c, &m));
	c.nr_nodes = 4;
	c.nr_movable_nodes = 4;
	FAILS(EINVAL, sp_machine_create(&c, &m));
	c.nr_movable_nodes = 3;
	OK(sp_machine_create(&c, &m));
	FAILS(EINVAL, sp_offline(m, 0));
	OK(sp_offline(m, 1));
	OK(sp_offline(m, 3));
	OK(sp_offline(m, 2));
	valid(m);
	sp_machine_destroy(m);
}

static void errnos(void **state)
{
	struct fixture *f = *state;

	FAILS(EINVAL, sp_offline(f->m, 0));
	FAILS(EINVAL, sp_offline(f->m, 1));
	FAILS(EINVAL, sp_offline(f->m, 3));
	FAILS(EINVAL, sp_offline(f->m, UINT32_MAX));
	FAILS(EINVAL, sp_online(f->m, 0));
	FAILS(EINVAL, sp_online(f->m, DIMM));
	OK(sp_offline(f->m, DIMM));
	FAILS(EINVAL, sp_offline(f->m, DIMM));
	FAILS(ENODEV, sp_migrate(f->p, BASE, DIMM, true));
	OK(sp_online(f->m, DIMM));
	OK(sp_migrate(f->p, BASE, DIMM, true));
}

static void merged_pages_move(void **state)
{
	struct fixture *f = *state;
	uint64_t pfn;

	merge(f);
	OK(sp_migrate(f->p, BASE, DIMM, true));
	pfn = page_at(f->p, 0).pfn;
	assert_int_equal(page_at(f->p, PAGES - 1).nid, DIMM);
	OK(sp_offline(f->m, DIMM));
	valid(f->m);
	for (unsigned int i = 0; i < PAGES; i++) {
		assert_int_not_equal(page_at(f->p, i).nid, DIMM);
		assert_int_equal(page_at(f->p, i).pfn, page_at(f->p, 0).pfn);
		assert_true(page_at(f->p, i).ksm);
	}
	assert_int_not_equal(page_at(f->p, 0).pfn, pfn);
	assert_int_equal(counter(f, "pages_shared"), 1);
	assert_int_equal(counter(f, "pages_sharing"), PAGES - 1);
	has_content(f->p, 0x77);
}

/* The node is all that is left of a page which is gone: it goes with the memory. */
static void stale_nodes_go(void **state)
{
	struct fixture *f = *state;

	merge(f);
	OK(sp_migrate(f->p, BASE, DIMM, true));
	OK(sp_munmap(f->p, BASE, PAGES * PAGE));
	assert_int_equal(counter(f, "pages_shared"), 1);
	OK(sp_offline(f->m, DIMM));
	assert_int_equal(counter(f, "pages_shared"), 0);
	assert_int_equal(counter(f, "pages_sharing"), 0);
}

/* Also those of a chain, and those that wait on the list of migrated ones. */
static void stale_dups_go(void **state)
{
	struct fixture *f = *state;

	OK(sp_knob_set(f->m, "max_page_sharing", "2"));
	merge(f);
	OK(sp_ksm_scan(f->m, 2));
	assert_int_equal(counter(f, "stable_node_chains"), 1);
	assert_int_equal(counter(f, "stable_node_dups"), PAGES / 2);
	for (unsigned int i = 0; i < PAGES; i++)
		OK(sp_migrate(f->p, BASE + i * PAGE, DIMM, true));
	OK(sp_munmap(f->p, BASE + 4 * PAGE, 2 * PAGE));
	OK(sp_offline(f->m, DIMM));
	valid(f->m);
	assert_in_range(counter(f, "stable_node_dups"), 1, PAGES / 2);
	OK(sp_online(f->m, DIMM));
	for (unsigned int i = 0; i < 4; i++)
		OK(sp_migrate(f->p, BASE + i * PAGE, DIMM, true));
	OK(sp_munmap(f->p, BASE, 4 * PAGE));
	OK(sp_offline(f->m, DIMM));
	assert_int_equal(counter(f, "stable_node_chains"), 0);
	assert_int_equal(counter(f, "stable_node_dups"), 0);
	assert_int_equal(counter(f, "pages_shared"), 0);
}

/* One mapping that no walk finds (V3) keeps the node; what moved has moved. */
static void unreachable_page_stays(void **state)
{
	struct fixture *f = *state;
	struct sp_process *child;

	for (unsigned int i = 0; i < PAGES; i++)
		OK(sp_migrate(f->p, BASE + i * PAGE, DIMM, true));
	OK(sp_process_fork(f->p, &child));
	OK(sp_madvise(child, BASE, 2 * PAGE, SP_MADV_MERGEABLE));
	OK(sp_knob_set(f->m, "run", "1"));
	OK(sp_ksm_scan(f->m, 3));
	assert_true(page_at(f->p, 1).ksm);
	FAILS(EBUSY, sp_madvise(child, BASE, PAGE, SP_MADV_SOFT_OFFLINE));
	FAILS(EBUSY, sp_offline(f->m, DIMM));
	valid(f->m);
	assert_int_equal(page_at(f->p, 1).nid, DIMM);
	assert_int_equal(page_at(f->p, 2).nid, 0);
	assert_int_equal(sp_orphan_entries(f->m), 0);
	/* A write frees it. */
	OK(sp_write(f->p, BASE + PAGE, "x", 1));
	OK(sp_offline(f->m, DIMM));
	assert_int_equal(page_at(child, 0).pfn, page_at(child, 1).pfn);
}

static void held_page_stays(void **state)
{
	struct fixture *f = *state;
	uint64_t hold;

	merge(f);
	OK(sp_migrate(f->p, BASE, DIMM, true));
	OK(sp_write(f->p, BASE, "x", 1));
	OK(sp_migrate(f->p, BASE, DIMM, true));
	OK(sp_hold(f->p, BASE + PAGE, &hold));
	FAILS(EBUSY, sp_offline(f->m, DIMM));
	valid(f->m);
	assert_int_equal(page_at(f->p, 0).nid, 0);
	assert_int_equal(page_at(f->p, 1).nid, DIMM);
	FAILS(EBUSY, sp_madvise(f->p, BASE + PAGE, PAGE, SP_MADV_SOFT_OFFLINE));
	OK(sp_drop(f->m, hold));
	OK(sp_offline(f->m, DIMM));
}

static void swap_cache_moves(void **state)
{
	struct fixture *f = *state;
	uint64_t hold;

	merge(f);
	OK(sp_migrate(f->p, BASE, DIMM, true));
	OK(sp_hold(f->p, BASE, &hold));
	assert_in_range(sp_reclaim(f->m, PAGES, 4), 0, PAGES);
	OK(sp_drop(f->m, hold));
	valid(f->m);
	OK(sp_offline(f->m, DIMM));
	has_content(f->p, 0x77);
}

static void no_room(void **state)
{
	struct fixture *f = *state;
	uint64_t pages = 0;

	OK(sp_mmap(f->p, BASE, 2000 * PAGE, RW, FIXED, NULL, 0, NULL));
	while (!sp_fill(f->p, BASE + pages * PAGE, PAGE, 1))
		pages++;
	assert_in_range(pages, 1700, 1800);
	FAILS(ENOMEM, sp_offline(f->m, DIMM));
	valid(f->m);
	OK(sp_munmap(f->p, BASE, 600 * PAGE));
	OK(sp_offline(f->m, DIMM));
	/* What is left is full. */
	while (!sp_fill(f->p, BASE + pages * PAGE, PAGE, 1))
		pages++;
	FAILS(ENOMEM, sp_fill(f->p, BASE + pages * PAGE, PAGE, 1));
}

static void soft_offline(void **state)
{
	struct fixture *f = *state;
	struct sp_memory_usage before, after;
	uint64_t pfn;

	merge(f);
	sp_memory_usage(f->m, &before);
	pfn = page_at(f->p, 0).pfn;
	OK(sp_madvise(f->p, BASE, PAGE, SP_MADV_SOFT_OFFLINE));
	valid(f->m);
	sp_memory_usage(f->m, &after);
	assert_int_equal(after.nr_frames_used, before.nr_frames_used + 1);
	assert_int_not_equal(page_at(f->p, 0).pfn, pfn);
	for (unsigned int i = 1; i < PAGES; i++)
		assert_int_equal(page_at(f->p, i).pfn, page_at(f->p, 0).pfn);
	has_content(f->p, 0x77);
	/* It never comes back: neither free, nor taken. */
	OK(sp_knob_set(f->m, "run", "2"));
	for (unsigned int round = 0; round < 3; round++) {
		OK(sp_madvise(f->p, BASE, PAGES * PAGE, SP_MADV_DONTNEED));
		OK(sp_fill(f->p, BASE, PAGES * PAGE, 1));
		for (unsigned int i = 0; i < PAGES; i++)
			assert_int_not_equal(page_at(f->p, i).pfn, pfn);
	}
}

static void soft_offline_errnos(void **state)
{
	struct fixture *f = *state;
	struct sp_file *file;
	uint64_t pfn;

	OK(sp_file_create(f->m, 1, 5, &file));
	OK(sp_mmap(f->p, BASE, PAGE, RW, FIXED, file, 0, NULL));
	FAILS(EOPNOTSUPP, sp_madvise(f->p, BASE, PAGE, SP_MADV_SOFT_OFFLINE));
	OK(sp_mprotect(f->p, BASE + PAGE, PAGE, SP_PROT_NONE));
	FAILS(EFAULT, sp_madvise(f->p, BASE + PAGE, PAGE, SP_MADV_SOFT_OFFLINE));
	OK(sp_madvise(f->p, BASE + 2 * PAGE, PAGE, SP_MADV_DONTNEED));
	FAILS(EIO, sp_madvise(f->p, BASE + 2 * PAGE, PAGE, SP_MADV_SOFT_OFFLINE));
	assert_int_equal(page_at(f->p, 2).state, SP_PAGE_ZERO);
	FAILS(EFAULT, sp_madvise(f->p, BASE - PAGE, PAGE, SP_MADV_SOFT_OFFLINE));
	FAILS(EINVAL, sp_madvise(f->p, BASE + 1, PAGE, SP_MADV_SOFT_OFFLINE));
	FAILS(EINVAL, sp_madvise(f->p, BASE, UINT64_MAX, SP_MADV_SOFT_OFFLINE));
	OK(sp_madvise(f->p, BASE - PAGE, 0, SP_MADV_SOFT_OFFLINE));
	/* What came before the error is done. */
	OK(sp_munmap(f->p, BASE + 5 * PAGE, PAGE));
	OK(sp_migrate(f->p, BASE + 4 * PAGE, 1, true));
	pfn = page_at(f->p, 4).pfn;
	FAILS(EFAULT, sp_madvise(f->p, BASE + 4 * PAGE, 2 * PAGE, SP_MADV_SOFT_OFFLINE));
	assert_int_not_equal(page_at(f->p, 4).pfn, pfn);
	assert_int_equal(page_at(f->p, 4).nid, 1);
}

static void soft_offline_splits(void **state)
{
	struct fixture *f = *state;
	uint64_t huge = BASE + (UINT64_C(2) << 20);
	struct sp_page_info info;

	OK(sp_mmap(f->p, huge, UINT64_C(2) << 20, RW, FIXED, NULL, 0, NULL));
	OK(sp_madvise(f->p, huge, UINT64_C(2) << 20, SP_MADV_HUGEPAGE));
	OK(sp_fill(f->p, huge, PAGE, 3));
	OK(sp_page_info(f->p, huge, &info));
	assert_true(info.huge);
	OK(sp_madvise(f->p, huge, PAGE, SP_MADV_SOFT_OFFLINE));
	valid(f->m);
	OK(sp_page_info(f->p, huge, &info));
	assert_false(info.huge);
	assert_int_equal(info.state, SP_PAGE_PRESENT);
	/* K26b */
	OK(sp_page_info(f->p, huge + PAGE, &info));
	assert_int_equal(info.state, SP_PAGE_ZERO);
}

/* Retired frames do not keep a node, but it does not come back with them. */
static void poisoned_node(void **state)
{
	struct fixture *f = *state;

	OK(sp_migrate(f->p, BASE, DIMM, true));
	OK(sp_madvise(f->p, BASE, PAGE, SP_MADV_SOFT_OFFLINE));
	OK(sp_offline(f->m, DIMM));
	valid(f->m);
	FAILS(EHWPOISON, sp_online(f->m, DIMM));
}

static void no_memory(void **state)
{
	(void)state;
	for (uint64_t nth = 1;; nth++) {
		struct sp_memory_usage usage;
		struct fixture f;
		int err = create(&f, nth);

		if (!err)
			err = sp_fill(f.p, BASE, PAGES * PAGE, 0x77);
		if (!err)
			err = sp_madvise(f.p, BASE, PAGES * PAGE, SP_MADV_MERGEABLE);
		if (!err)
			err = sp_knob_set(f.m, "run", "1");
		if (!err)
			err = sp_ksm_scan(f.m, 2);
		for (unsigned int i = 0; !err && i < PAGES; i++)
			err = sp_migrate(f.p, BASE + i * PAGE, DIMM, true);
		if (!err)
			err = sp_madvise(f.p, BASE + PAGE, PAGE, SP_MADV_SOFT_OFFLINE);
		if (!err)
			err = sp_migrate(f.p, BASE, DIMM, true);
		if (!err)
			err = sp_offline(f.m, DIMM);
		if (err)
			assert_true(err == -ENOMEM || err == -EAGAIN);
		if (f.m) {
			valid(f.m);
			sp_memory_usage(f.m, &usage);
		}
		sp_machine_destroy(f.m);
		if (f.m && usage.nr_allocations < nth)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(config),
		cmocka_unit_test_setup_teardown(errnos, setup, teardown),
		cmocka_unit_test_setup_teardown(merged_pages_move, setup, teardown),
		cmocka_unit_test_setup_teardown(stale_nodes_go, setup, teardown),
		cmocka_unit_test_setup_teardown(stale_dups_go, setup, teardown),
		cmocka_unit_test_setup_teardown(unreachable_page_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(held_page_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(swap_cache_moves, setup, teardown),
		cmocka_unit_test_setup_teardown(no_room, setup, teardown),
		cmocka_unit_test_setup_teardown(soft_offline, setup, teardown),
		cmocka_unit_test_setup_teardown(soft_offline_errnos, setup, teardown),
		cmocka_unit_test_setup_teardown(soft_offline_splits, setup, teardown),
		cmocka_unit_test_setup_teardown(poisoned_node, setup, teardown),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
