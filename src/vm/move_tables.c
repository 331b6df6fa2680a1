/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mremap's move of page table entries from one place of an mm to another.
 *
 * Entries go as they are: young, dirty, writable, swap and migration entries too.
 * No frame notices, since the destination VMA has the same relation of address to
 * index (A8). What must not be moved while mapped, KSM pages, was unshared by the
 * caller (M1), except in a VMA that is not mergeable: ksm/ is told of those. Swap
 * entries were not unshared, which is V6's hole.
 *
 * All entries are copied, and only then the old ones cleared. So running out of
 * memory undoes the move, and a table that holds both old and new entries is never
 * empty in between, which would free it. Copying goes in steps that cross no 2 MiB
 * boundary on either side, so that one table serves a step. A huge PMD is moved whole
 * if it fits on both sides, else it is split.
 *
 * Linux moves an entry at a time. Walks find the page at its old or its new place
 * because they meet the destination after the source, or, where that is not so,
 * because the anon_vma lock is held (A8a); here over the whole move, in Linux over
 * 2 MiB of it.
 *
 * Locks: mmap_lock for write; with need_rmap_locks also the source's anon_vma lock.
 */
#include "fault_internal.h"

#include <errno.h>

struct move {
	struct mm *mm;
	uint64_t from, to; /* of this step */
	uint64_t bytes;
};

/* What is left, but not over a 2 MiB boundary of either side. */
static uint64_t step_bytes(uint64_t from, uint64_t to, uint64_t left)
{
	uint64_t bytes = MIN(HPAGE_PMD_SIZE - (from & ~HPAGE_PMD_MASK),
			     HPAGE_PMD_SIZE - (to & ~HPAGE_PMD_MASK));

	return MIN(bytes, left);
}

static int copy_huge_entry(const struct move *m, pte_t pmd)
{
	int err = page_table_prepare_huge(&m->mm->pt, m->to);

	if (!err)
		page_table_set_huge(&m->mm->pt, m->to, pmd);
	return err;
}

/* A KSM page is usually unshared before its range moves (M1), but not in a VMA that is
 * not mergeable: then it comes to a place where nobody merged it. */
static void note_ksm_moved(struct vm *vm, pte_t pte)
{
	struct frame *frame;

	if (!vm->hooks.ksm_pte_moved || !pte_present(pte) || pte_is_zero_page(pte))
		return;
	frame = frame_of_pfn(&vm->frames, pte_value(pte));
	if (frame_is_ksm(frame))
		vm->hooks.ksm_pte_moved(vm, frame);
}

static int copy_ptes(const struct move *m)
{
	struct page_table *pt = &m->mm->pt;
	uint64_t addr = m->from;
	pte_t pte;
	bool huge;
	int err;

	err = page_table_prepare(pt, m->to);
	if (err)
		return err;
	for (; page_table_next(pt, &addr, m->from + m->bytes, &pte, &huge); addr += PAGE_SIZE) {
		note_ksm_moved(m->mm->vm, pte);
		page_table_set(pt, m->to + (addr - m->from), pte);
	}
	return 0;
}

static int copy_step(const struct move *m, bool huge, pte_t pte)
{
	int err;

	if (huge) {
		if (m->bytes == HPAGE_PMD_SIZE && page_table_range_none(&m->mm->pt, m->to))
			return copy_huge_entry(m, pte);
		err = split_huge_mapping(m->mm, m->from);
		if (err)
			return err;
	}
	return copy_ptes(m);
}

static int copy_entries(struct mm *mm, uint64_t old_addr, uint64_t new_addr, uint64_t len)
{
	struct move m = { .mm = mm };
	uint64_t done = 0;

	while (done < len) {
		uint64_t at = old_addr + done;
		bool huge;
		pte_t pte;
		int err;

		if (!page_table_next(&mm->pt, &at, old_addr + len, &pte, &huge))
			return 0;
		/* A huge PMD begins below `at` if the range begins inside it. */
		m.from = MAX(at, old_addr + done);
		m.to = new_addr + (m.from - old_addr);
		m.bytes = step_bytes(m.from, m.to, old_addr + len - m.from);
		err = copy_step(&m, huge, pte);
		if (err)
			return err;
		done = m.from - old_addr + m.bytes;
	}
	return 0;
}

/* Forgets entries that are elsewhere too. */
static void clear_entries(struct mm *mm, uint64_t addr, uint64_t end)
{
	pte_t pte;
	bool huge;

	while (page_table_next(&mm->pt, &addr, end, &pte, &huge)) {
		if (huge)
			page_table_set_huge(&mm->pt, addr, 0);
		else
			page_table_set(&mm->pt, addr, 0);
		addr += huge ? HPAGE_PMD_SIZE : PAGE_SIZE;
	}
}

int move_page_tables_prepare(struct mm *mm, uint64_t old_addr, uint64_t new_addr, uint64_t len)
{
	struct page_table *pt = &mm->pt;
	uint64_t done = 0;

	while (done < len) {
		uint64_t at = old_addr + done, from, to, bytes;
		bool huge;
		pte_t pte;
		int err = 0;

		if (!page_table_next(pt, &at, old_addr + len, &pte, &huge))
			break;
		from = MAX(at, old_addr + done);
		to = new_addr + (from - old_addr);
		bytes = step_bytes(from, to, old_addr + len - from);
		if (huge && bytes == HPAGE_PMD_SIZE && page_table_range_none(pt, to)) {
			err = page_table_prepare_huge(pt, to);
		} else {
			if (huge)
				err = split_huge_mapping(mm, from);
			if (!err)
				err = page_table_prepare(pt, to);
		}
		if (err) {
			page_table_trim(pt, new_addr, new_addr + len);
			return err;
		}
		done = from - old_addr + bytes;
	}
	return 0;
}

uint64_t move_page_tables(struct vma *src, uint64_t old_addr, struct vma *dst, uint64_t new_addr,
			  uint64_t len, bool need_rmap_locks)
{
	struct anon_vma *locked = need_rmap_locks ? src->anon_vma : NULL;
	struct mm *mm = src->mm;
	int err;

	SP_ASSERT(rwsem_held(&mm->mmap_lock));
	SP_ASSERT(dst->mm == mm && page_aligned(old_addr | new_addr | len));
	if (locked)
		anon_vma_lock_write(locked);
	err = copy_entries(mm, old_addr, new_addr, len);
	if (err)
		clear_entries(mm, new_addr, new_addr + len);
	else
		clear_entries(mm, old_addr, old_addr + len);
	if (locked)
		anon_vma_unlock_write(locked);
	return err ? 0 : len;
}
