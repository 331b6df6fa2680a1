/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ksmd as a daemon: batches of pages_to_scan candidates with sleeps of sleep_millisecs between
 * (K13).
 *
 * Time is the machine's clock. A batch costs KSM_SCAN_PAGE_NS for each page scanned (and one
 * for waking up in vain), a sleep what the knob says. When the next batch is due is remembered,
 * so that letting 10 ms pass twice is letting 20 ms pass. A batch that was begun is finished,
 * so the clock may end a little after the time asked for.
 *
 * Waits are bounded: full_scans stops growing when no mm is registered any more (V16), when run
 * is not 1, or when a batch has no pages; a scan that finds no memory for an rmap_item twice in
 * a row is told to the caller (Linux's would go on trying).
 *
 * Locks: thread_mutex for each batch.
 */
#include <errno.h>

#include "ksm_internal.h"

bool ksm_should_run(const struct vm *vm)
{
	struct ksm *ksm = ksm_of(vm);

	return (ksm->knobs.run & KSM_RUN_MERGE) && !cds_list_empty(&ksm->mm_head.link);
}

static void locked_batch(struct ksm *ksm, uint64_t nr)
{
	mutex_acquire(&ksm->thread_mutex);
	if (ksm_should_run(ksm->vm))
		scan_batch(ksm, nr);
	mutex_release(&ksm->thread_mutex);
}

void ksm_do_scan(struct vm *vm, uint64_t nr)
{
	struct ksm *ksm = ksm_of(vm);

	ksm_call_begin(ksm);
	locked_batch(ksm, nr);
}

/* One wake-up of ksmd: a batch, and how long it sleeps after it. */
static void wake_up(struct ksm *ksm)
{
	struct clock *clock = &ksm->vm->clock;
	int64_t scanned = ksm->count.pages_scanned;

	locked_batch(ksm, ksm->knobs.pages_to_scan);
	if (ksm->count.pages_scanned == scanned) {
		clock_advance_ns(clock, KSM_SCAN_PAGE_NS);
		ksm->cpu_ns += KSM_SCAN_PAGE_NS;
	}
	ksm->wake_ns = clock_after_ms(clock, ksm->knobs.sleep_millisecs);
}

void ksm_run_for_ms(struct vm *vm, uint64_t ms)
{
	struct ksm *ksm = ksm_of(vm);
	uint64_t end_ns = clock_after_ms(&vm->clock, ms);

	ksm_call_begin(ksm);
	while (ksm_should_run(vm)) {
		uint64_t due_ns = MAX(ksm->wake_ns, vm->clock.now_ns);

		if (due_ns >= end_ns)
			break;
		vm->clock.now_ns = due_ns;
		wake_up(ksm);
	}
	vm->clock.now_ns = MAX(vm->clock.now_ns, end_ns);
}

/* To the end of the pass. 0, -EAGAIN, -ENOMEM. */
static int finish_pass(struct ksm *ksm)
{
	uint64_t seqnr = ksm->scan.seqnr;
	unsigned int in_vain = 0;

	while (ksm->scan.seqnr == seqnr) {
		int64_t scanned = ksm->count.pages_scanned;

		if (!ksm_should_run(ksm->vm) || !ksm->knobs.pages_to_scan)
			return -EAGAIN;
		if (ksm->vm->clock.now_ns < ksm->wake_ns)
			ksm->vm->clock.now_ns = ksm->wake_ns;
		wake_up(ksm);
		in_vain = ksm->no_memory && ksm->count.pages_scanned == scanned ? in_vain + 1 : 0;
		if (in_vain == 2)
			return -ENOMEM;
	}
	return 0;
}

int ksm_scan_passes(struct vm *vm, uint64_t passes)
{
	struct ksm *ksm = ksm_of(vm);
	int err = 0;

	ksm_call_begin(ksm);
	while (passes-- && !err)
		err = finish_pass(ksm);
	return err;
}

int64_t ksm_scan_until_stable(struct vm *vm, uint64_t max_passes)
{
	struct ksm *ksm = ksm_of(vm);
	const struct ksm_counters *count = &ksm->count;
	uint64_t passes = 0;
	unsigned int same = 0;
	int err;

	ksm_call_begin(ksm);
	while (passes < max_passes && same < 2) {
		struct ksm_counters before = *count;

		err = finish_pass(ksm);
		/* Nobody is left whom another pass could change. */
		if (err == -EAGAIN && passes)
			break;
		if (err)
			return err;
		passes++;
		if (before.pages_shared == count->pages_shared &&
		    before.pages_sharing == count->pages_sharing &&
		    before.ksm_zero_pages == count->ksm_zero_pages &&
		    before.rmap_items == count->rmap_items)
			same++;
		else
			same = 0;
	}
	return (int64_t)passes;
}
