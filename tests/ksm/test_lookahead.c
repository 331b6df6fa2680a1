/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ksmd remembers within a call what it has looked at (ksm.c). With the call counter saturated
 * it looks every time, as Linux does. Two machines, one of each kind, are put through the same
 * random operations, most of them between the batches of a pass: every counter and every page
 * must be the same.
 *
 * Also here: the counters when they saturate.
 */
#include "ksm_fixture.h"

#define NR_PAGES 96
#define ROUNDS 400

struct twin {
	struct fixture f;
	struct mm *mm[3];
	uint64_t addr[3];
};

static void looks_every_time(struct fixture *f)
{
	ksm_of(&f->vm)->call_seq = UINT32_MAX;
	ksm_of(&f->vm)->epoch = UINT16_MAX;
}

static void start(struct twin *t, bool remembers)
{
	const struct setup setup = { .nr_nodes = 2 };

	fixture_setup(&t->f, &setup);
	if (!remembers)
		looks_every_time(&t->f);
	knob(&t->f, "max_page_sharing", "3");
	for (int i = 0; i < 3; i++) {
		t->mm[i] = new_mm(&t->f);
		t->addr[i] = map_mergeable(t->mm[i], NR_PAGES, -1);
	}
}

static void operate(struct twin *t, struct random r)
{
	uint32_t what = random_below(&r, 14), i = random_below(&r, 3),
		 page = random_below(&r, NR_PAGES);
	uint32_t nr = 1 + random_below(&r, 12), few = random_below(&r, 2);
	struct mm *mm = t->mm[i];
	uint64_t addr = PG(t->addr[i], page);

	switch (what) {
	case 0:
	case 1:
	case 2:
	case 3: /* few contents, or nearly unique ones that begin alike */
		for (uint32_t k = page; k < MIN(page + nr, (uint32_t)NR_PAGES); k++) {
			uint64_t number =
				few ? random_below(&r, 3) : (uint64_t)random_below(&r, 400) << 56;

			put(mm, PG(t->addr[i], k), number);
		}
		break;
	case 4:
		advise(mm, addr, 1, SP_MADV_DONTNEED);
		break;
	case 5:
		assert_true(vm_swap_out(mm, addr) >= -EFAULT);
		break;
	case 6:
		(void)!vm_move_page(mm, addr, (int)few, true);
		break;
	case 7:
		advise(mm, addr, 1, few ? SP_MADV_UNMERGEABLE : SP_MADV_MERGEABLE);
		break;
	case 8:
		(void)!ksm_knob_set(&t->f.vm, "merge_across_nodes", few ? "0" : "1");
		break;
	case 9:
		assert_int_equal(ksm_scan_passes(&t->f.vm, 1 + few), 0);
		break;
	default:
		ksm_do_scan(&t->f.vm, 1 + random_below(&r, 60));
	}
}

static void compare(struct twin *a, struct twin *b)
{
	for (unsigned int i = 0; ksm_counter_name(i); i++)
		assert_int_equal(counter(&a->f, ksm_counter_name(i)),
				 counter(&b->f, ksm_counter_name(i)));
	for (int i = 0; i < 3; i++) {
		for (uint32_t page = 0; page < NR_PAGES; page++)
			assert_int_equal(vm_pte(a->mm[i], PG(a->addr[i], page)),
					 vm_pte(b->mm[i], PG(b->addr[i], page)));
	}
}

static void remembering_changes_nothing(void **state)
{
	struct random r = model_seed();
	static struct twin remembers, looks;

	(void)state;
	start(&remembers, true);
	start(&looks, false);
	for (int round = 0; round < ROUNDS; round++) {
		struct random op = { random_next(&r) };

		operate(&remembers, op);
		operate(&looks, op);
		compare(&remembers, &looks);
	}
	assert_true(ksm_of(&remembers.f.vm)->call_seq < UINT32_MAX);
	assert_int_equal(ksm_of(&looks.f.vm)->call_seq, UINT32_MAX);
	fixture_teardown(&remembers.f);
	fixture_teardown(&looks.f);
}

/*
 * Enough pages for windows of them to be fetched ahead (lookahead.c), many with contents that
 * begin alike.
 */
static void big_processes(void **state)
{
	const uint64_t nr = 3000;
	struct random r = model_seed();
	struct twin twin[2];

	(void)state;
	memset(twin, 0, sizeof(twin));
	for (int k = 0; k < 2; k++) {
		fixture_setup(&twin[k].f, NULL);
		if (k)
			looks_every_time(&twin[k].f);
		twin[k].mm[0] = new_mm(&twin[k].f);
		twin[k].addr[0] = map_mergeable(twin[k].mm[0], nr, -1);
	}
	for (uint64_t i = 0; i < nr; i++) {
		uint64_t number = random_below(&r, 2) ? random_next(&r) : random_below(&r, 700);

		put(twin[0].mm[0], PG(twin[0].addr[0], i), number);
		put(twin[1].mm[0], PG(twin[1].addr[0], i), number);
	}
	for (int pass = 0; pass < 4; pass++) {
		for (int k = 0; k < 2; k++)
			assert_int_equal(ksm_scan_passes(&twin[k].f.vm, 1), 0);
		for (unsigned int i = 0; ksm_counter_name(i); i++)
			assert_int_equal(counter(&twin[0].f, ksm_counter_name(i)),
					 counter(&twin[1].f, ksm_counter_name(i)));
		for (uint64_t i = 0; i < nr; i++)
			assert_int_equal(vm_pte(twin[0].mm[0], PG(twin[0].addr[0], i)),
					 vm_pte(twin[1].mm[0], PG(twin[1].addr[0], i)));
	}
	assert_true(counter(&twin[0].f, "pages_unshared") > 1024);
	assert_true(counter(&twin[0].f, "pages_shared") > 400);
	fixture_teardown(&twin[0].f);
	fixture_teardown(&twin[1].f);
}

/* 65,535 calls in one pass. */
static void epochs_saturate(void **state)
{
	struct fixture *f = *state;
	struct ksm *ksm = ksm_of(&f->vm);
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 8, -1);

	for (uint64_t i = 0; i < 8; i++)
		put(mm, PG(a, i), i + 1);
	scan(f, 1);
	ksm_do_scan(&f->vm, 2);
	ksm->epoch = UINT16_MAX - 1;
	ksm_do_scan(&f->vm, 2);
	assert_int_equal(ksm->epoch, UINT16_MAX);
	put(mm, PG(a, 2), 8); /* in the tree; equal to the last */
	ksm_do_scan(&f->vm, 2);
	put(mm, PG(a, 0), 77);
	assert_int_equal(ksm->epoch, UINT16_MAX);
	scan(f, 1);
	assert_true(ksm_at(mm, PG(a, 2)));
	assert_int_equal(pfn_at(mm, PG(a, 2)), pfn_at(mm, PG(a, 7)));
	assert_int_equal(ksm->epoch, UINT16_MAX);
	scan(f, 1);
	assert_int_equal(ksm->epoch, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(remembering_changes_nothing),
		cmocka_unit_test(big_processes),
		KSM_TEST(epochs_saturate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
