/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A short life of a machine, in which the Nth allocation fails, for every N: whatever fails is
 * told as -ENOMEM or is what Linux's ksmd would try again, contents are right, nothing leaks,
 * everything recounts.
 */
#include "ksm_fixture.h"

#define NR_PAGES 10

struct life {
	struct fixture f;
	struct mm *mm, *child;
	uint64_t addr;
	uint64_t number[NR_PAGES];
	unsigned int nr_errors; /* -ENOMEM told */
};

static void no_or_no_memory(struct life *l, int err)
{
	assert_true(err == 0 || err == -ENOMEM);
	l->nr_errors += err != 0;
}

static void write_page(struct life *l, uint32_t i, uint64_t number)
{
	int err = try_put(l->mm, PG(l->addr, i), number);

	no_or_no_memory(l, err);
	if (!err)
		l->number[i] = number;
}

static void check(struct life *l, struct mm *mm)
{
	for (uint32_t i = 0; i < NR_PAGES; i++) {
		struct frame *frame;
		uint64_t number = 0;
		int err = vm_access(mm, PG(l->addr, i), false, &frame);

		no_or_no_memory(l, err);
		if (err)
			continue;
		content_read(&l->f.vm.frames.content, frame->content, 0, &number, sizeof(number));
		assert_int_equal(number, l->number[i]);
	}
}

/* EAGAIN is what madvise makes of ENOMEM (M3). */
static void advise_life(struct life *l, uint32_t from, uint32_t nr, int advice)
{
	int err = vm_madvise(l->mm, PG(l->addr, from), nr * PAGE_SIZE, advice);

	no_or_no_memory(l, err == -EAGAIN ? -ENOMEM : err);
}

static void passes(struct life *l, uint64_t nr)
{
	int err = ksm_scan_passes(&l->f.vm, nr);

	/* Not registered, for want of memory. */
	if (err == -EAGAIN)
		return;
	no_or_no_memory(l, err);
}

static void live(struct life *l)
{
	pte_t pte;

	advise_life(l, 0, NR_PAGES, SP_MADV_MERGEABLE);
	for (uint32_t i = 0; i < NR_PAGES; i++)
		write_page(l, i, i < 6 ? 7 : i);
	passes(l, 2);
	fixture_validate(&l->f);
	write_page(l, 9, 0);
	no_or_no_memory(l, ksm_knob_set(&l->f.vm, "use_zero_pages", "1"));
	passes(l, 3);
	no_or_no_memory(l, mm_fork(l->mm, &l->child));
	fixture_validate(&l->f);
	passes(l, 1);
	write_page(l, 1, 5);
	if (l->child)
		mm_exit(l->child);
	advise_life(l, 4, 6, SP_MADV_UNMERGEABLE);
	fixture_validate(&l->f);
	passes(l, 1);
	pte = vm_pte(l->mm, l->addr);
	if (pte_present(pte) && !pte_is_zero_page(pte)) {
		int result = vm_swap_out(l->mm, l->addr);

		no_or_no_memory(l, result < 0 ? result : 0);
	}
	check(l, l->mm);
	fixture_validate(&l->f);
	no_or_no_memory(l, ksm_set_memory_merge(l->mm, 1, 0, 0, 0));
	no_or_no_memory(l, ksm_knob_set(&l->f.vm, "run", "2"));
	fixture_validate(&l->f);
	no_or_no_memory(l, ksm_knob_set(&l->f.vm, "run", "1"));
	passes(l, 2);
	no_or_no_memory(l, ksm_set_memory_merge(l->mm, 0, 0, 0, 0));
	check(l, l->mm);
}

/*
 * One life in which `count` allocations from the Nth on fail (0: none); returns how many were
 * made.
 */
static uint64_t life(uint64_t n, uint64_t count)
{
	struct life l;
	uint64_t before, nr_allocs;

	memset(&l, 0, sizeof(l));
	fixture_setup(&l.f, NULL);
	knob(&l.f, "max_page_sharing", "3");
	/* That a process begins and maps memory is not what is tested here. */
	l.mm = new_mm(&l.f);
	l.addr = map(l.mm, NR_PAGES);
	before = l.f.vm.mem.nr_allocs;
	l.f.vm.mem.fail_at = n ? before + n : 0;
	l.f.vm.mem.fail_count = count;
	live(&l);
	nr_allocs = l.f.vm.mem.nr_allocs - before;
	l.f.vm.mem.fail_at = 0;
	if (!n)
		assert_int_equal(l.nr_errors, 0);
	fixture_teardown(&l.f);
	return nr_allocs;
}

static void sweep(uint64_t count)
{
	uint64_t nr_allocs = life(0, 0);

	assert_true(nr_allocs > 50);
	for (uint64_t n = 1; n <= nr_allocs; n++)
		(void)life(n, count);
}

static void one_allocation_fails(void **state)
{
	(void)state;
	sweep(1);
}

/* As long as it takes to fail in the clean-up of a failure too. */
static void a_few_allocations_fail(void **state)
{
	(void)state;
	sweep(4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_allocation_fails),
		cmocka_unit_test(a_few_allocations_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
