/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Migration (W5).
 *
 * One attempt is two walks: try_to_migrate() turns every mapping into a migration entry and
 * stops when the page is unmapped; remove_migration_ptes() turns the entries back, into the new
 * frame or, after a failure, into the old one. The second walk has no `done`: it cannot know how
 * many entries there are, which is why a strategy that guesses from the mapcount loses some (V2).
 *
 * Linux tries three times in a batch of pages and seven times the page alone before it gives up one
 * that it cannot unmap: twenty walks (V1). A page that it can unmap, but that somebody holds a
 * reference on, stays unmapped while the rest of the three, and of the seven, are tried: four
 * walks.
 *
 * Here the number of entries made is known, so an entry left behind is noticed at once: it is
 * counted, the frame it names is kept for ever (FRAME_ORPHANED), and the caller is told. Linux
 * would crash.
 *
 * Contents move by handing the content word over: both frames are locked and unmapped.
 *
 * Locks: both frames' locks; vm_move_page() takes mmap_lock for read to find the page.
 */
#include "migrate.h"

#include <errno.h>

#include "entry.h"

/* In a batch (NR_MAX_MIGRATE_ASYNC_RETRY), then alone (NR_MAX_MIGRATE_SYNC_RETRY). */
static const unsigned int max_attempts[] = {3, 7};

struct migration {
	struct vm *vm;
	uint32_t src_pfn;
	uint64_t nr_entries; /* made, or restored */
};

static bool not_mapped(struct frame *frame)
{
	return frame->mapcount == 0;
}

static bool migrate_one(struct frame *frame, struct vma *vma, uint64_t addr, void *arg)
{
	struct migration *m = arg;
	struct mm *mm = vma->mm;
	pte_t pte = entry_of(mm, addr, m->src_pfn, TRUTH_MAPPED);
	uint64_t flags = PTE_MIGRATION;

	if (!pte)
		return true;
	if ((pte & PTE_HUGE) && split_huge_mapping(mm, addr))
		return false;
	if (frame->flags & FRAME_EXCLUSIVE) {
		frame->flags &= (uint16_t)~FRAME_EXCLUSIVE;
		flags |= PTE_EXCLUSIVE;
	}
	flags |= pte & (PTE_WRITE | PTE_DIRTY | PTE_YOUNG);
	page_table_set(&mm->pt, addr, pte_make(m->src_pfn, flags));
	frame_remove_map(frame, vma);
	frame_put(&m->vm->frames, frame);
	m->nr_entries++;
	return true;
}

/* Replaces every mapping by a migration entry (done: unmapped); the entries made. Frame locked. */
static uint64_t try_to_migrate(struct vm *vm, struct frame *frame)
{
	struct migration m = {.vm = vm, .src_pfn = frame_pfn(&vm->frames, frame)};
	struct rmap_walk_control rwc = {
		.arg = &m,
		.rmap_one = migrate_one,
		.done = not_mapped,
	};

	if (frame->mapcount)
		rmap_walk(vm, frame, &rwc);
	return m.nr_entries;
}

static bool restore_one(struct frame *dst, struct vma *vma, uint64_t addr, void *arg)
{
	struct migration *m = arg;
	struct mm *mm = vma->mm;
	pte_t pte = entry_of(mm, addr, m->src_pfn, TRUTH_MIGRATION);

	if (!pte)
		return true;
	if (pte & PTE_EXCLUSIVE)
		dst->flags |= FRAME_EXCLUSIVE;
	frame_get(dst);
	frame_add_map(dst, vma);
	page_table_set(&mm->pt, addr,
		       pte_make(frame_pfn(&m->vm->frames, dst),
				PTE_PRESENT | (pte & (PTE_WRITE | PTE_DIRTY | PTE_YOUNG))));
	m->nr_entries++;
	return true;
}

/* Restores every entry of src to map dst (src itself: rollback), without `done` (R4); how many. Dst
 * locked. */
static uint64_t remove_migration_ptes(struct vm *vm, struct frame *src, struct frame *dst)
{
	struct migration m = {.vm = vm, .src_pfn = frame_pfn(&vm->frames, src)};
	struct rmap_walk_control rwc = {.arg = &m, .rmap_one = restore_one};

	rmap_walk(vm, dst, &rwc);
	return m.nr_entries;
}

/* `left` migration entries name src and nobody will restore them: the frame must outlive them. */
static void keep_orphaned(struct vm *vm, struct frame *src, uint64_t left)
{
	vm->nr_orphan_entries += left;
	if (src->flags & FRAME_ORPHANED)
		return;
	src->flags |= FRAME_ORPHANED;
	src->nr_holds++;
	frame_get(src);
}

/* Hands everything that makes src the page it is over to dst. Both locked, src unmapped. */
static void move_identity(struct vm *vm, struct frame *src, struct frame *dst)
{
	const uint16_t moved = FRAME_DIRTY | FRAME_REFERENCED | FRAME_ACTIVE | FRAME_MLOCKED |
			       FRAME_SUM_VALID | FRAME_UNKNOWN;

	dst->mapping = src->mapping;
	dst->index = src->index;
	dst->content = src->content;
	dst->checksum = src->checksum;
	src->content = CONTENT_ZERO;
	dst->flags |= src->flags & moved;
	src->flags &= (uint16_t)~moved;
	if (src->flags & FRAME_SWAPCACHE)
		swap_cache_replace(&vm->swap, src, dst);
	if (frame_is_ksm(dst)) {
		/* No reader may take src for a KSM page of that node any more (K3). */
		src->mapping = MAPPING_KSM;
		if (vm->hooks.ksm_migrate_frame)
			vm->hooks.ksm_migrate_frame(dst, src);
	}
}

/* References beyond the mappings, the swap cache's and the migration's own. */
static bool has_extra_references(const struct frame *frame)
{
	return frame->refcount != 1 + frame->mapcount + !!(frame->flags & FRAME_SWAPCACHE);
}

/*
 * One attempt. The caller holds one reference on src. 0; -EAGAIN: still mapped; -EBUSY: held by
 * somebody; -EUCLEAN.
 */
static int attempt(struct vm *vm, struct frame *src, struct frame *dst, bool first)
{
	struct sp_walk_metrics *metrics = &rmap_of(vm)->metrics;
	uint32_t src_pfn = frame_pfn(&vm->frames, src);
	uint64_t mapped = (uint64_t)src->mapcount, made, restored;
	bool was_mapped = mapped != 0;
	int err = 0;

	frame_lock(src);
	made = try_to_migrate(vm, src);
	/* Nine more attempts find the same PTEs: they would only blow the sums up. */
	if (first) {
		metrics->reachable += mapped;
		metrics->reached += made;
	}
	if (src->mapcount && first)
		rmap_audit_left(vm, "migrate: unmap walk", src, src_pfn, TRUTH_MAPPED);
	if (src->mapcount)
		err = -EAGAIN;
	else if (has_extra_references(src))
		err = -EBUSY;
	frame_lock(dst);
	if (!err)
		move_identity(vm, src, dst);
	restored = was_mapped ? remove_migration_ptes(vm, src, err ? src : dst) : 0;
	if (first) {
		metrics->reachable += made;
		metrics->reached += restored;
	}
	if (restored < made) {
		rmap_audit_left(vm, err ? "migrate: rollback walk" : "migrate: restore walk",
				err ? src : dst, src_pfn, TRUTH_MIGRATION);
		keep_orphaned(vm, src, made - restored);
		if (!err)
			err = -EUCLEAN;
	}
	frame_unlock(dst);
	frame_unlock(src);
	return err;
}

static int migrate(struct vm *vm, struct frame *frame, int nid, bool retire)
{
	uint32_t src_pfn = frame_pfn(&vm->frames, frame), dst_pfn;
	struct frame *dst;
	bool first = true;
	int err = -EAGAIN;

	SP_ASSERT(frame_is_anon(frame));
	dst = frame_alloc(&vm->frames, nid);
	if (!dst)
		return -ENOMEM;
	dst_pfn = frame_pfn(&vm->frames, dst);
	frame_get(frame);
	for (size_t i = 0; i < ARRAY_SIZE(max_attempts) && (err == -EAGAIN || err == -EBUSY); i++) {
		unsigned int left = max_attempts[i];

		do {
			err = attempt(vm, frame, dst, first);
			first = false;
		} while (err == -EAGAIN && --left);
	}
	if (err == -EAGAIN)
		err = -EBUSY;
	if (err && err != -EUCLEAN)
		vm->stat.pgmigrate_fail++;
	else
		vm->stat.pgmigrate_success++;
	event_emit(&vm->events, EV_mm_migrate_page, src_pfn, dst_pfn, (uint64_t)err);
	if (retire && !err)
		frame_retire(&vm->frames, frame);
	else
		frame_put(&vm->frames, frame);
	frame_put(&vm->frames, dst);
	return err;
}

int migrate_frame(struct vm *vm, struct frame *frame, int nid)
{
	return migrate(vm, frame, nid, false);
}

int migrate_frame_for_good(struct vm *vm, struct frame *frame)
{
	return migrate(vm, frame, frame->nid, true);
}

/* The frame that move_pages(2) finds at addr, or its errno. mmap_lock held. */
static int page_to_move(struct mm *mm, uint64_t addr, struct frame **ret)
{
	struct vma *vma = vma_lookup(mm, addr);
	struct frame *frame;
	pte_t pte;

	if (!vma)
		return -EFAULT;
	pte = vm_pte(mm, addr);
	if (pte_is_migration(pte))
		return -EDEADLK;
	if (!pte_present(pte))
		return -ENOENT;
	if (pte_is_zero_page(pte))
		return -EFAULT;
	frame = frame_of_pfn(&mm->vm->frames, pte_value(pte));
	if (frame->flags & FRAME_FILE)
		return -EOPNOTSUPP;
	*ret = frame;
	return 0;
}

int vm_move_page(struct mm *mm, uint64_t addr, int node, bool all)
{
	struct vm *vm = mm->vm;
	struct frame *frame;
	int err;

	if (node < -1 || node >= (int)vm->frames.nr_nodes ||
	    (node >= 0 && vm->frames.node[node].offline))
		return -ENODEV;
	rwsem_read_lock(&mm->mmap_lock);
	err = page_to_move(mm, addr, &frame);
	rwsem_read_unlock(&mm->mmap_lock);
	if (err)
		return err;
	/* Where it is already, a page may be shared (M5). */
	if (node >= 0 && (unsigned int)node == frame->nid)
		return 0;
	if (frame->mapcount > 1 && !all)
		return -EACCES;
	if (node < 0)
		node = frames_next_node(&vm->frames, frame->nid);
	return migrate_frame(vm, frame, node);
}

int vm_compact(struct vm *vm, uint64_t *moved, uint64_t *failed)
{
	/* Frames allocated meanwhile are targets, not work. */
	uint32_t end = vm->frames.nr_frames;
	int result = 0;

	*moved = *failed = 0;
	for (uint32_t pfn = 1; pfn < end; pfn++) {
		struct frame *frame = frame_of_pfn(&vm->frames, pfn);
		int err;

		if (frame->refcount <= 0 || frame->mapcount == 0 || !frame_is_anon(frame))
			continue;
		/* A page that somebody holds is not even isolated. */
		if (!(frame->flags & FRAME_SWAPCACHE) && frame->refcount > frame->mapcount) {
			++*failed;
			continue;
		}
		err = migrate_frame(vm, frame, frame->nid);
		if (err == -ENOMEM)
			return err;
		if (err == -EUCLEAN)
			result = err;
		++*(err && err != -EUCLEAN ? failed : moved);
	}
	return result;
}
