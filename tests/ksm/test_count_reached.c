/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rmap_count_reached() against rmap_reached(): under every strategy, for every frame that random
 * forks, moves, merges and evictions leave behind, and for pages with more mappings than it keeps
 * at a time.
 */
#include "ksm_fixture.h"

#define NR_PAGES 8
#define NR_PROCESSES 3
#define ROUNDS 1500

static const int fixed = SP_MREMAP_MAYMOVE | SP_MREMAP_FIXED;

static uint64_t reached(struct fixture *f, struct frame *frame, enum sp_strategy strategy)
{
	struct pte_refs refs;
	uint64_t calls, nr;

	frame_lock(frame);
	assert_int_equal(rmap_reached(&f->vm, frame, frame_pfn(&f->vm.frames, frame), TRUTH_MAPPED,
				      strategy, &refs, &calls),
			 0);
	frame_unlock(frame);
	nr = refs.nr;
	pte_refs_free(&refs);
	return nr;
}

/* Returns how many entries all walks reach, so that a test can tell that there were any. */
static uint64_t compare(struct fixture *f)
{
	uint64_t total = 0;

	for (uint32_t pfn = 1; pfn < f->vm.frames.nr_frames; pfn++) {
		struct frame *frame = frame_of_pfn(&f->vm.frames, pfn);

		if (!frame_is_anon(frame))
			continue;
		for (int s = 0; s < SP_NR_STRATEGIES; s++) {
			struct sp_walk_metrics before = rmap_of(&f->vm)->metrics;
			uint64_t nr = rmap_count_reached(&f->vm, frame, s);

			assert_memory_equal(&before, &rmap_of(&f->vm)->metrics, sizeof(before));
			assert_false(frame->flags & FRAME_LOCKED);
			if (frame->mapcount)
				assert_int_equal(nr, reached(f, frame, s));
			else
				assert_int_equal(nr, 0);
			/* Walked, as where there are more mms or mappings. */
			f->vm.hooks.ksm_count_reached = NULL;
			assert_int_equal(rmap_count_reached(&f->vm, frame, s), nr);
			f->vm.hooks.ksm_count_reached = ksm_hook_count_reached;
			total += nr;
		}
	}
	return total;
}

/* Items of one page, of many, and forks: each slice of the count is filled and crossed. */
static void many_mappings(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 100, 0x77);
	struct frame *frame;

	scan(f, 2);
	frame = frame_at(mm, a);
	assert_int_equal(rmap_count_reached(&f->vm, frame, SP_STRATEGY_FULL), 100);
	fork_mm(mm);
	fork_mm(mm);
	assert_int_equal(rmap_count_reached(&f->vm, frame, SP_STRATEGY_FULL), 300);
	compare(f);
	scan(f, 1);
	assert_int_equal(rmap_count_reached(&f->vm, frame, SP_STRATEGY_FULL), 300);
	compare(f);
}

/* Moved and merged again: `address` reaches half (S3). An item that is met twice counts once. */
static void moved(void **state)
{
	struct fixture *f = *state;
	struct mm *mm = new_mm(f);
	uint64_t a = map_mergeable(mm, 3, -1), at;
	struct frame *frame;

	fill(mm, a, 2, 0x77);
	scan(f, 2);
	assert_int_equal(vm_mremap(mm, PG(a, 1), PAGE_SIZE, PAGE_SIZE, fixed, PG(a, 2), &at), 0);
	scan(f, 2);
	frame = frame_at(mm, a);
	assert_int_equal(frame->mapcount, 2);
	assert_int_equal(rmap_count_reached(&f->vm, frame, SP_STRATEGY_ADDRESS), 1);
	assert_int_equal(rmap_count_reached(&f->vm, frame, SP_STRATEGY_RETRY), 2);
	assert_int_equal(rmap_count_reached(&f->vm, frame, SP_STRATEGY_FULL), 2);
}

static void one_step(struct fixture *f, struct random *r, struct mm **mm, uint64_t a)
{
	struct mm *one = mm[random_below(r, NR_PROCESSES)];
	uint64_t from = PG(a, random_below(r, NR_PAGES)), to = PG(a, random_below(r, NR_PAGES)), at;
	uint32_t i;
	int err = 0;

	switch (random_below(r, 8)) {
	case 0:
		err = vm_mmap(one, from, PAGE_SIZE, RW, SP_MAP_PRIVATE | SP_MAP_FIXED, NULL, 0, &at);
		break;
	case 1:
	case 2:
		err = vm_mremap(one, from, PAGE_SIZE, PAGE_SIZE, fixed, to, &at);
		break;
	case 3:
		err = vm_madvise(one, from, PAGE_SIZE,
				 random_below(r, 3) ? SP_MADV_MERGEABLE : SP_MADV_UNMERGEABLE);
		break;
	case 4:
		err = try_put(one, from, random_below(r, 2));
		break;
	case 5:
		i = random_below(r, NR_PROCESSES);
		if (mm[i] != one && !random_below(r, 4)) {
			mm_exit(mm[i]);
			mm[i] = fork_mm(one);
		}
		break;
	case 6:
		err = vm_swap_out(one, from);
		break;
	case 7:
		ksm_do_scan(&f->vm, 1 + random_below(r, 2 * NR_PAGES));
		break;
	}
	/* What is not mapped, or would move onto itself, is refused. */
	(void)err;
}

static void random_machines(void **state)
{
	struct random r = model_seed();
	struct fixture *f = *state;
	struct mm *mm[NR_PROCESSES];
	uint64_t a, total = 0;

	mm[0] = new_mm(f);
	a = map_mergeable(mm[0], NR_PAGES, 0x77);
	knob(f, "smart_scan", "0");
	for (int i = 1; i < NR_PROCESSES; i++)
		mm[i] = fork_mm(mm[0]);
	for (int i = 0; i < ROUNDS; i++) {
		one_step(f, &r, mm, a);
		total += compare(f);
	}
	assert_true(total > ROUNDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KSM_TEST(many_mappings),
		KSM_TEST(moved),
		KSM_TEST(random_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
