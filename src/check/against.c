/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A backend that watches; see against.h.
 *
 * Handles are the engine's own. What a watched operation needs to find again is reached through
 * the machine: its audit function is ours, with the watch as argument, and passes on what it is
 * told to the interpreter's.
 */
#include "against.h"

#include <errno.h>

#include "backend.h"
#include "machine.h"
#include "past.h"

/* Frames that may be looked at for each operation, and entries of one that is worth a look. */
#define LOOK_FRAMES  256
#define LOOK_ENTRIES 256

struct watch {
	enum sp_strategy strategy;
	struct sp_machine *machine;
	struct past past;
	uint64_t nr_unseen; /* operations since the last look */
	struct cause *list;
	unsigned int nr, room;
	int err;
	/* The interpreter's: */
	sp_audit_fn audit;
	void *audit_arg;
};

static struct sp_process *sp(struct backend_process *p)
{
	return (struct sp_process *)p;
}

static struct watch *watch_of_machine(struct sp_machine *m)
{
	return rmap_of(&m->vm)->audit_arg;
}

static struct watch *watch_of(struct backend_process *p)
{
	return watch_of_machine(sp(p)->machine);
}

/* ---- Causes -------------------------------------------------------------------------- */

static void note_cause(struct watch *w, struct cause cause)
{
	for (unsigned int i = 0; i < w->nr; i++)
		if (cause_equal(&w->list[i], &cause))
			return;
	if (w->nr < w->room)
		w->list[w->nr++] = cause;
}

static struct mm *find_mm(struct vm *vm, uint32_t id)
{
	struct mm *mm;

	cds_list_for_each_entry(mm, &vm->mms, link)
		if (mm->id == id)
			return mm;
	return NULL;
}

static void note_missed(struct watch *w, const struct sp_walk_result *walk)
{
	struct vm *vm = &w->machine->vm;

	for (uint64_t i = 0; i < walk->nr_missed && i < ARRAY_SIZE(walk->missed); i++) {
		const struct sp_missed_pte *missed = &walk->missed[i];
		struct mm *mm = find_mm(vm, missed->process);
		enum failure_kind kind = FAILURE_MISS;
		uint32_t features;
		pte_t pte;

		/* Of what Linux misses too, only its own walk is to blame. */
		if (!mm || (missed->linux_misses && w->strategy != SP_STRATEGY_FULL))
			continue;
		pte = vm_pte(mm, missed->addr);
		if (pte_is_migration(pte))
			kind = FAILURE_ORPHAN;
		else if (!pte_present(pte))
			continue;
		features = oracle_features(vm, mm, missed->addr,
					   frame_of_pfn(&vm->frames, pte_value(pte)),
					   past_get(&w->past, mm->id, missed->addr));
		note_cause(w, cause_of(kind, w->strategy, features));
	}
}

static void look_at(struct watch *w, struct frame *frame)
{
	struct vm *vm = &w->machine->vm;
	struct sp_walk_result walk;

	if (!frame->refcount || !frame_is_ksm(frame) || frame->mapcount <= 0 ||
	    frame->mapcount > LOOK_ENTRIES ||
	    rmap_count_reached(vm, frame, w->strategy) == (uint64_t)frame->mapcount)
		return;
	if (rmap_explicit_walk(vm, frame, &walk))
		w->err = -ENOMEM;
	else
		note_missed(w, &walk);
}

static void look(struct watch *w)
{
	struct frames *frames = &w->machine->vm.frames;

	w->nr_unseen++;
	if (w->err || w->nr_unseen <= frames->nr_frames / LOOK_FRAMES)
		return;
	w->nr_unseen = 0;
	for (uint32_t pfn = 1; pfn < frames->nr_frames; pfn++)
		look_at(w, frame_of_pfn(frames, pfn));
}

static void on_audit(void *arg, const char *operation, const struct sp_walk_result *walk)
{
	struct watch *w = arg;

	note_missed(w, walk);
	if (w->audit)
		w->audit(w->audit_arg, operation, walk);
}

/* ---- Pasts ------------------------------------------------------------------------------ */

static void remember(struct watch *w, uint32_t mm_id, uint64_t addr, unsigned int bits)
{
	int err = past_add(&w->past, mm_id, addr, bits);

	if (err)
		w->err = err;
}

/* [start, end) is about to cease to be mergeable: what is swapped out is not looked at (K32). */
static void remember_unmerged(struct watch *w, struct mm *mm, uint64_t start, uint64_t end)
{
	uint64_t addr = start;
	pte_t pte;
	bool huge;

	for (; page_table_next(&mm->pt, &addr, end, &pte, &huge);
	     addr += huge ? HPAGE_PMD_SIZE : SP_PAGE_SIZE) {
		const struct vma *vma = pte_is_swap(pte) ? vma_lookup(mm, addr) : NULL;

		if (vma && vma->flags & VM_MERGEABLE)
			remember(w, mm->id, addr, PAST_UNMERGED);
	}
}

static void forget_range(struct watch *w, const struct mm *mm, uint64_t start, uint64_t length)
{
	/* Most scenarios have no past that is worth a loop over a large mapping. */
	for (uint64_t at = 0; w->past.nr && at < length; at += SP_PAGE_SIZE)
		past_forget(&w->past, mm->id, start + at);
}

static void remember_swapped(struct watch *w)
{
	struct mm *mm;

	cds_list_for_each_entry(mm, &w->machine->vm.mms, link) {
		uint64_t addr = 0;
		pte_t pte;
		bool huge;

		for (; page_table_next(&mm->pt, &addr, TASK_SIZE, &pte, &huge);
		     addr += huge ? HPAGE_PMD_SIZE : SP_PAGE_SIZE)
			if (pte_is_swap(pte))
				remember(w, mm->id, addr, PAST_SWAPPED);
	}
}

static bool is_merged(const struct mm *mm, pte_t pte)
{
	return pte_present(pte) && !pte_is_zero_page(pte) &&
	       frame_is_ksm(frame_of_pfn(&mm->vm->frames, pte_value(pte)));
}

/* It may have been copied, or have come back from swap as a page like any other. */
static void forget_merged(struct watch *w, struct mm *mm, uint64_t addr)
{
	unsigned int bits = past_get(&w->past, mm->id, addr);
	pte_t pte = bits & PAST_OF_MERGED ? vm_pte(mm, addr) : 0;

	if (!pte_present(pte) || is_merged(mm, pte))
		return;
	past_forget(&w->past, mm->id, addr);
	if (bits & PAST_SWAPPED)
		bits |= PAST_REJOINED;
	remember(w, mm->id, addr, bits & ~PAST_OF_MERGED);
}

static void remember_accessed(struct watch *w, struct mm *mm, uint64_t addr, uint64_t length)
{
	for (uint64_t at = addr & PAGE_MASK; w->past.nr && at < addr + length; at += SP_PAGE_SIZE)
		forget_merged(w, mm, at);
}

/* Parent and child have the same pages, but what the parent kept from it. */
static void remember_fork(struct watch *w, struct mm *parent, struct mm *child)
{
	uint64_t addr = 0;
	pte_t pte;
	bool huge;

	for (; page_table_next(&child->pt, &addr, TASK_SIZE, &pte, &huge);
	     addr += huge ? HPAGE_PMD_SIZE : SP_PAGE_SIZE) {
		if (huge)
			continue;
		forget_merged(w, parent, addr);
		remember(w, child->id, addr,
			 past_get(&w->past, parent->id, addr) |
				 (is_merged(child, pte) ? PAST_INHERITED : PAST_FORKED));
		if (!is_merged(child, pte))
			remember(w, parent->id, addr, PAST_SHARED);
	}
}

static void remember_move(struct watch *w, struct mm *mm, uint64_t from, uint64_t to,
			  uint64_t length)
{
	for (uint64_t at = 0; at < length; at += SP_PAGE_SIZE) {
		unsigned int bits = past_get(&w->past, mm->id, from + at);

		past_forget(&w->past, mm->id, from + at);
		past_forget(&w->past, mm->id, to + at);
		if (is_merged(mm, vm_pte(mm, to + at)))
			bits |= PAST_MOVED;
		if (vm_pte(mm, to + at))
			remember(w, mm->id, to + at, bits);
	}
}

/* ---- Operations of processes ---------------------------------------------------------------- */

static int watch_fork(struct backend_process *p, struct backend_process **ret)
{
	struct watch *w = watch_of(p);
	int err = engine_backend.fork(p, ret);

	if (!err)
		remember_fork(w, sp(p)->mm, sp(*ret)->mm);
	look(w);
	return err;
}

static int watch_exit(struct backend_process *p)
{
	struct watch *w = watch_of(p);
	int err = engine_backend.exit(p);

	look(w);
	return err;
}

static int watch_mmap(struct backend_process *p, uint64_t addr, uint64_t length, int prot,
		      int flags, struct backend_file *file, uint64_t pgoff)
{
	struct watch *w = watch_of(p);
	int err = engine_backend.mmap(p, addr, length, prot, flags, file, pgoff);

	if (!err)
		forget_range(w, sp(p)->mm, addr, length);
	look(w);
	return err;
}

static int watch_munmap(struct backend_process *p, uint64_t addr, uint64_t length)
{
	struct watch *w = watch_of(p);
	int err = engine_backend.munmap(p, addr, length);

	if (!err)
		forget_range(w, sp(p)->mm, addr, length);
	look(w);
	return err;
}

static int watch_mprotect(struct backend_process *p, uint64_t addr, uint64_t length, int prot)
{
	int err = engine_backend.mprotect(p, addr, length, prot);

	look(watch_of(p));
	return err;
}

static int watch_mremap(struct backend_process *p, uint64_t addr, uint64_t old_length,
			uint64_t new_length, int flags, uint64_t new_addr, uint64_t *ret)
{
	struct watch *w = watch_of(p);
	int err = engine_backend.mremap(p, addr, old_length, new_length, flags, new_addr, ret);

	if (!err && *ret != addr)
		remember_move(w, sp(p)->mm, addr, *ret, MIN(old_length, new_length));
	look(w);
	return err;
}

static int watch_madvise(struct backend_process *p, uint64_t addr, uint64_t length,
			 enum sp_advice advice)
{
	struct watch *w = watch_of(p);
	int err;

	if (advice == SP_MADV_UNMERGEABLE)
		remember_unmerged(w, sp(p)->mm, addr, addr + length);
	err = engine_backend.madvise(p, addr, length, advice);
	switch (advice) {
	case SP_MADV_DONTNEED:
		if (!err)
			forget_range(w, sp(p)->mm, addr, length);
		break;
	case SP_MADV_PAGEOUT:
		remember_swapped(w);
		break;
	default:
		break;
	}
	look(w);
	return err;
}

static int watch_prctl_set(struct backend_process *p, const unsigned long args[4])
{
	struct watch *w = watch_of(p);
	int err;

	if (!args[0] && !args[1] && !args[2] && !args[3])
		remember_unmerged(w, sp(p)->mm, 0, TASK_SIZE);
	err = engine_backend.prctl_set(p, args);
	look(w);
	return err;
}

static int watch_write(struct backend_process *p, uint64_t addr, const void *buf, uint64_t length)
{
	struct watch *w = watch_of(p);
	int err = engine_backend.write(p, addr, buf, length);

	if (!err)
		forget_range(w, sp(p)->mm, addr & PAGE_MASK, length + (addr & ~PAGE_MASK));
	look(w);
	return err;
}

static int watch_fill(struct backend_process *p, uint64_t addr, uint64_t length, uint8_t byte)
{
	struct watch *w = watch_of(p);
	int err = engine_backend.fill(p, addr, length, byte);

	if (!err)
		forget_range(w, sp(p)->mm, addr, length);
	look(w);
	return err;
}

static int watch_fill_random(struct backend_process *p, uint64_t addr, uint64_t length,
			     uint64_t seed)
{
	struct watch *w = watch_of(p);
	int err = engine_backend.fill_random(p, addr, length, seed);

	if (!err)
		forget_range(w, sp(p)->mm, addr, length);
	look(w);
	return err;
}

static int watch_read(struct backend_process *p, uint64_t addr, void *buf, uint64_t length)
{
	int err = engine_backend.read(p, addr, buf, length);

	remember_accessed(watch_of(p), sp(p)->mm, addr, length);
	look(watch_of(p));
	return err;
}

static int watch_touch(struct backend_process *p, uint64_t addr, uint64_t length)
{
	int err = engine_backend.touch(p, addr, length);

	remember_accessed(watch_of(p), sp(p)->mm, addr, length);
	look(watch_of(p));
	return err;
}

static int watch_migrate(struct backend_process *p, uint64_t addr, int node, bool all)
{
	int err = engine_backend.migrate(p, addr, node, all);

	look(watch_of(p));
	return err;
}

static int watch_swap_out(struct backend_process *p, uint64_t addr)
{
	struct watch *w = watch_of(p);
	int ret = engine_backend.swap_out(p, addr);

	remember_swapped(w);
	look(w);
	return ret;
}

static int watch_walk(struct backend_process *p, uint64_t addr, struct sp_walk_result *ret)
{
	int err = engine_backend.walk(p, addr, ret);

	if (!err)
		note_missed(watch_of(p), ret);
	return err;
}

/* ---- Operations of the machine --------------------------------------------------------------- */

static struct watch *watch_of_backend(struct backend *b)
{
	return watch_of_machine(engine_backend_machine(b));
}

static int64_t watch_reclaim(struct backend *b, uint64_t nr_pages, unsigned int rounds)
{
	struct watch *w = watch_of_backend(b);
	int64_t ret = engine_backend.reclaim(b, nr_pages, rounds);

	remember_swapped(w);
	look(w);
	return ret;
}

static int64_t watch_compact(struct backend *b)
{
	int64_t ret = engine_backend.compact(b);

	look(watch_of_backend(b));
	return ret;
}

static int watch_knob_set(struct backend *b, const char *name, const char *value)
{
	int err = engine_backend.knob_set(b, name, value);

	look(watch_of_backend(b));
	return err;
}

static int watch_scan(struct backend *b, uint64_t passes)
{
	int err = engine_backend.scan(b, passes);

	look(watch_of_backend(b));
	return err;
}

static int watch_scan_pages(struct backend *b, uint64_t nr_pages)
{
	int err = engine_backend.scan_pages(b, nr_pages);

	look(watch_of_backend(b));
	return err;
}

static int64_t watch_scan_until_stable(struct backend *b, uint64_t max_passes)
{
	int64_t ret = engine_backend.scan_until_stable(b, max_passes);

	look(watch_of_backend(b));
	return ret;
}

static int watch_run_for_ms(struct backend *b, uint64_t ms)
{
	int err = engine_backend.run_for_ms(b, ms);

	look(watch_of_backend(b));
	return err;
}

/* The watch comes as the trace's argument, which nothing else uses. */
static int watch_create(const struct backend_config *config, struct backend **ret)
{
	struct backend_config watched = *config;
	struct watch *w = config->trace_arg;
	int err;

	w->audit = config->audit;
	w->audit_arg = config->audit_arg;
	watched.audit = on_audit;
	watched.audit_arg = w;
	err = engine_backend.create(&watched, ret);
	if (!err)
		w->machine = engine_backend_machine(*ret);
	return err;
}

int against_causes(const struct scenario *scenario, enum sp_strategy strategy, struct cause *list,
		   unsigned int *nr)
{
	struct watch w = {.strategy = strategy, .list = list, .room = *nr};
	struct backend_ops ops = engine_backend;
	struct scenario_options options;
	struct scenario_result *result;
	int err;

	ops.create = watch_create;
	ops.fork = watch_fork;
	ops.exit = watch_exit;
	ops.mmap = watch_mmap;
	ops.munmap = watch_munmap;
	ops.mprotect = watch_mprotect;
	ops.mremap = watch_mremap;
	ops.madvise = watch_madvise;
	ops.prctl_set = watch_prctl_set;
	ops.write = watch_write;
	ops.fill = watch_fill;
	ops.fill_random = watch_fill_random;
	ops.read = watch_read;
	ops.touch = watch_touch;
	ops.migrate = watch_migrate;
	ops.swap_out = watch_swap_out;
	ops.walk = watch_walk;
	ops.reclaim = watch_reclaim;
	ops.compact = watch_compact;
	ops.knob_set = watch_knob_set;
	ops.scan = watch_scan;
	ops.scan_pages = watch_scan_pages;
	ops.scan_until_stable = watch_scan_until_stable;
	ops.run_for_ms = watch_run_for_ms;
	past_init(&w.past);
	scenario_options_init(&options);
	options.strategy = strategy;
	options.validate = false;
	options.backend = &ops;
	options.trace_arg = &w;
	err = scenario_run(scenario, &options, &result);
	if (!err) {
		err = w.err;
		if (!err &&
		    (result->verdict == SCENARIO_ERROR || result->verdict == SCENARIO_CANNOT))
			err = -EINVAL;
		scenario_result_destroy(result);
	}
	past_destroy(&w.past);
	*nr = w.nr;
	return err;
}
