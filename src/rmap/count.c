/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rmap_count_reached(): how many entries a walk finds, for oracles that ask after every operation.
 *
 * rmap_reached() gives the entries themselves, and for that allocates and sorts. Here the entries
 * only have to be told apart, which for the few that a searched machine has is a short sorted array
 * on the stack. More are counted in rounds: a round keeps the lowest SLICE entries above the last
 * of the round before, so that each is counted once, however often the walk meets it, and no round
 * needs more than the array.
 *
 * A KSM page of a machine of few mms is not even walked: ksm/ asks each mm (reach.c).
 *
 * Locks: takes the frame's, and the walk its own.
 */
#include "entry.h"

#define SLICE 32
/* Up to here it is quicker to ask each mm than to walk. */
#define FEW_MMS 8

struct slice {
	struct pte_ref refs[SLICE]; /* ascending, each once */
	uint32_t nr;
	uint32_t pfn;
	bool more;                  /* something above the last one was left out */
	bool bounded;               /* not the first round: only what is above `bound` */
	struct pte_ref bound;
};

static bool before(const struct pte_ref *a, const struct pte_ref *b)
{
	return a->mm->id != b->mm->id ? a->mm->id < b->mm->id : a->addr < b->addr;
}

static void slice_add(struct slice *s, struct pte_ref ref)
{
	uint32_t at = s->nr;

	if (s->bounded && !before(&s->bound, &ref))
		return;
	while (at && before(&ref, &s->refs[at - 1]))
		at--;
	if (at && !before(&s->refs[at - 1], &ref))
		return;
	if (s->nr == SLICE) {
		s->more = true;
		if (at == SLICE)
			return;
		s->nr--;
	}
	for (uint32_t i = s->nr++; i > at; i--)
		s->refs[i] = s->refs[i - 1];
	s->refs[at] = ref;
}

static bool count_one(struct frame *frame, struct vma *vma, uint64_t addr, void *arg)
{
	struct slice *s = arg;

	(void)frame;
	if (entry_of(vma->mm, addr, s->pfn, TRUTH_MAPPED))
		slice_add(s, (struct pte_ref){vma->mm, addr});
	return true;
}

uint64_t rmap_count_reached(struct vm *vm, struct frame *frame, enum sp_strategy strategy)
{
	struct slice s;
	struct rmap_walk_control rwc = {
		.arg = &s,
		.rmap_one = count_one,
		.override = true,
		.strategy = strategy,
	};
	uint64_t count = 0;

	/* Nothing to reach, and the anon_vma may be gone. */
	if (!frame->mapcount)
		return 0;
	if (frame_is_ksm(frame) && vm->mm_pool.nr_used <= FEW_MMS && vm->hooks.ksm_count_reached &&
	    vm->hooks.ksm_count_reached(vm, frame, strategy, &count))
		return count;
	s.pfn = frame_pfn(&vm->frames, frame);
	s.bounded = false;
	frame_lock(frame);
	do {
		s.nr = 0;
		s.more = false;
		rmap_walk(vm, frame, &rwc);
		count += s.nr;
		if (s.more)
			s.bound = s.refs[SLICE - 1];
		s.bounded = true;
	} while (s.more);
	frame_unlock(frame);
	return count;
}
