/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which VMAs become one, and how (A9).
 *
 * Two neighbours merge when nothing distinguishes them but the boundary: they touch, have
 * the same flags and file, their page offsets continue each other, and their anonymous
 * pages, if any, are found through the same anon_vma. A VMA without an anon_vma may join
 * one that has, which then serves for both; but not if that one was forked (its chain has
 * more than one link): the joined VMA would sit in the trees of all ancestors, and the
 * engine must refuse where Linux refuses.
 *
 * An existing VMA whose flags change over a range at its start, end, or over all of it:
 *
 *	both      prev |*****| next  ->  prev____________       middle and next removed
 *	left      prev |***--|       ->  prev_____|--|          middle removed or shortened
 *	right          |--***| next  ->  |--|_____next          middle removed or shortened
 *
 * A new range, empty before, does the same without a middle.
 *
 * The VMA that remains keeps its identity (for the range tree, for whoever knows its
 * address under mmap_lock); its AVCs leave the interval trees and come back with the new
 * key, at the end of those of equal start.
 *
 * Locks: mmap_lock for write; commit takes the anon_vma lock around the changes of keys.
 */
#include "vma_merge.h"

#include <errno.h>

static struct vma *vma_below(const struct mm *mm, uint64_t addr)
{
	struct range_entry e;

	return range_tree_find_below(&mm->vmas, addr, &e) ? e.object : NULL;
}

static uint64_t pages_of(uint64_t start, uint64_t end)
{
	return (end - start) >> PAGE_SHIFT;
}

/* ---- The conditions ---- */

static bool is_fork_child(const struct vma *vma)
{
	const struct cds_list_head *chain = &vma->anon_vma_chain;

	return vma->anon_vma && chain->next != chain->prev;
}

static bool anon_vma_fits(const struct vma_merge *m, const struct vma *neighbour)
{
	if (!neighbour->anon_vma && m->anon_vma)
		return !(m->middle && is_fork_child(m->middle)) &&
		       !(m->copied_from && is_fork_child(m->copied_from));
	if (neighbour->anon_vma && !m->anon_vma)
		return !is_fork_child(neighbour);
	return neighbour->anon_vma == m->anon_vma;
}

static bool fits(const struct vma_merge *m, const struct vma *neighbour)
{
	return neighbour->flags == m->flags && neighbour->file == m->file &&
	       anon_vma_fits(m, neighbour);
}

static bool fits_left(const struct vma_merge *m)
{
	const struct vma *prev = m->prev;

	return prev && prev->end == m->start && fits(m, prev) &&
	       prev->pgoff + vma_pages(prev) == m->pgoff;
}

static bool fits_right(const struct vma_merge *m, bool left)
{
	const struct vma *prev = m->prev, *next = m->next;

	if (!next || next->start != m->end || !fits(m, next) ||
	    next->pgoff != m->pgoff + pages_of(m->start, m->end))
		return false;
	/* Each fits the range, but do they fit each other? */
	return !left || !prev->anon_vma || !next->anon_vma || prev->anon_vma == next->anon_vma;
}

/* ---- The plans ---- */

static void plan_both(struct vma_merge *m)
{
	struct vma *prev = m->prev, *next = m->next;

	m->base = m->target = prev;
	m->start = prev->start;
	m->pgoff = prev->pgoff;
	m->end = next->end;
	m->removed[m->middle ? 1 : 0] = next;
	m->removed[0] = m->middle ? m->middle : next;
}

/* Does [start, end), at one end of m->middle, change to m->flags in a merger? */
static bool plan_existing(struct vma_merge *m)
{
	struct vma *prev, *middle = m->middle, *next;
	bool at_start = m->start == middle->start, at_end = m->end == middle->end;
	bool whole = at_start && at_end;
	bool left, right;

	if (at_start)
		m->prev = vma_below(m->mm, m->start);
	if (at_end)
		m->next = vma_lookup(m->mm, m->end);
	left = at_start && fits_left(m);
	right = at_end && fits_right(m, left);
	prev = m->prev;
	next = m->next;

	if (left && right) {
		plan_both(m);
		m->donor[0] = next->anon_vma ? next : middle;
	} else if (left) {
		m->base = m->target = prev;
		m->start = prev->start;
		m->pgoff = prev->pgoff;
		m->donor[0] = middle;
		if (whole) {
			m->removed[0] = middle;
		} else {
			m->adjusted = middle;
			m->adjusted_start = m->end;
		}
	} else if (right && whole) {
		m->base = m->target = next;
		m->end = next->end;
		m->removed[0] = middle;
		m->donor[0] = middle;
	} else if (right) {
		m->target = m->adjusted = next;
		m->adjusted_start = m->start;
		m->base = middle;
		m->end = m->start;
		m->start = middle->start;
		m->pgoff = middle->pgoff;
		m->donor[0] = middle;
	}
	return left || right;
}

void vma_merge_init_new(struct vma_merge *m, struct mm *mm, uint64_t start, uint64_t end,
			uint64_t pgoff, uint64_t flags, struct file *file)
{
	struct range_entry e;

	*m = (struct vma_merge){
		.mm = mm,
		.start = start,
		.end = end,
		.pgoff = pgoff,
		.flags = flags,
		.file = file,
		.prev = vma_below(mm, start),
	};
	if (range_tree_find_above(&mm->vmas, end, &e))
		m->next = e.object;
}

bool vma_merge_plan_new(struct vma_merge *m)
{
	bool left = fits_left(m), right = fits_right(m, left);

	m->donor[1] = m->copied_from;
	if (left && right) {
		m->donor[0] = m->next;
		plan_both(m);
	} else if (left) {
		m->base = m->target = m->prev;
		m->start = m->prev->start;
		m->pgoff = m->prev->pgoff;
	} else if (right) {
		m->base = m->target = m->next;
		m->end = m->next->end;
	}
	return left || right;
}

/* ---- Carrying one out ---- */

int vma_merge_reserve(struct vma_merge *m)
{
	int err;

	SP_ASSERT(rwsem_held(&m->mm->mmap_lock));
	err = range_tree_reserve(&m->mm->vmas, 4);
	if (!err && m->adjusted)
		err = vma_cut_huge(m->mm, m->adjusted_start);
	for (int i = 0; !err && !m->target->anon_vma && i < 2; i++) {
		if (!m->donor[i] || !m->donor[i]->anon_vma)
			continue;
		err = anon_vma_clone(m->target, m->donor[i]);
		m->duplicated = !err;
	}
	return err;
}

void vma_merge_abort(struct vma_merge *m)
{
	if (m->duplicated)
		anon_vma_unlink(m->target);
}

static void set_range(struct vma *vma, uint64_t start, uint64_t end, uint64_t pgoff)
{
	range_tree_resize(&vma->mm->vmas, vma->start, start, end);
	vma->start = start;
	vma->end = end;
	vma->pgoff = pgoff;
}

static void set_ranges(struct vma_merge *m)
{
	struct vma *adjusted = m->adjusted;
	uint64_t pgoff;

	if (!adjusted) {
		set_range(m->base, m->start, m->end, m->pgoff);
		return;
	}
	/* Up or down: the difference wraps as it should. */
	pgoff = adjusted->pgoff + (m->adjusted_start >> PAGE_SHIFT) -
		(adjusted->start >> PAGE_SHIFT);
	/* The tree bears no overlap: whoever shrinks goes first. */
	if (m->end > m->base->end) {
		set_range(adjusted, m->adjusted_start, adjusted->end, pgoff);
		set_range(m->base, m->start, m->end, m->pgoff);
	} else {
		set_range(m->base, m->start, m->end, m->pgoff);
		set_range(adjusted, m->adjusted_start, adjusted->end, pgoff);
	}
}

struct vma *vma_merge_commit(struct vma_merge *m)
{
	struct vma *base = m->base, *adjusted = m->adjusted;
	struct anon_vma *anon_vma = base->anon_vma;

	if (!anon_vma && adjusted)
		anon_vma = adjusted->anon_vma;
	for (int i = 0; i < 2; i++)
		if (m->removed[i])
			vma_unlink(m->removed[i]);

	if (anon_vma)
		anon_vma_lock_write(anon_vma);
	anon_vma_interval_remove(base);
	if (adjusted)
		anon_vma_interval_remove(adjusted);
	set_ranges(m);
	anon_vma_interval_insert(base);
	if (adjusted)
		anon_vma_interval_insert(adjusted);
	if (anon_vma)
		anon_vma_unlock_write(anon_vma);

	for (int i = 0; i < 2; i++) {
		if (m->removed[i]) {
			anon_vma_unlink(m->removed[i]);
			vma_free(m->removed[i]);
		}
	}
	event_emit(&m->mm->vm->events, EV_vma_merge, m->mm->id, m->target->start, m->target->end);
	return m->target;
}

/* ---- What vma.h offers ---- */

int vma_modify_flags(struct vma *vma, uint64_t start, uint64_t end, uint64_t new_flags,
		     struct vma **ret)
{
	struct vma_merge m = {
		.mm = vma->mm,
		.middle = vma,
		.start = start,
		.end = end,
		.pgoff = vma_linear_index(vma, start),
		.flags = new_flags,
		.file = vma->file,
		.anon_vma = vma->anon_vma,
	};
	int err;

	SP_ASSERT(rwsem_held(&vma->mm->mmap_lock));
	SP_ASSERT(vma->start <= start && start < end && end <= vma->end);
	if (plan_existing(&m)) {
		err = vma_merge_reserve(&m);
		if (err)
			return err;
		*ret = vma_merge_commit(&m);
		return 0;
	}
	if (vma->start < start) {
		err = vma_split(vma, start, true, NULL);
		if (err)
			return err;
	}
	if (vma->end > end) {
		err = vma_split(vma, end, false, NULL);
		if (err)
			return err;
	}
	vma->flags = new_flags;
	*ret = vma;
	return 0;
}

static struct vma *merge_new(struct vma_merge *m, int *err)
{
	*err = 0;
	if (!vma_merge_plan_new(m))
		return NULL;
	*err = vma_merge_reserve(m);
	return *err ? NULL : vma_merge_commit(m);
}

struct vma *vma_merge_new(struct mm *mm, uint64_t start, uint64_t end, uint64_t pgoff,
			  uint64_t flags, struct file *file, int *err)
{
	struct vma_merge m;

	vma_merge_init_new(&m, mm, start, end, pgoff, flags, file);
	return merge_new(&m, err);
}

struct vma *vma_merge_extend(struct vma *vma, uint64_t delta_bytes)
{
	uint64_t end = vma->end + delta_bytes;
	struct vma_merge m;
	struct vma *next;
	int err;

	if (end < vma->end || end > TASK_SIZE)
		return NULL;
	vma_merge_init_new(&m, vma->mm, vma->end, end, vma->pgoff + vma_pages(vma), vma->flags,
			   vma->file);
	m.anon_vma = vma->anon_vma;
	next = vma_find(vma->mm, vma->end);
	if (next && next->start < end)
		return NULL;
	return merge_new(&m, &err);
}
