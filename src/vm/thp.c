/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Huge pages: 2 MiB of anonymous memory that one PMD maps.
 *
 * A fault takes one when the VMA may have huge pages, covers the whole aligned
 * 2 MiB, and has no page table there yet; out of huge frames, it is resolved with a
 * small page. This creates the VMA's anon_vma even for a load (A3, C4), because the
 * machine behaves as one with transparent_hugepage/use_zero_page=0: a load gets a
 * huge page of zeroes. (Linux's default is a huge zero page, which the first store
 * replaces by what a load gets here.)
 *
 * Each of the 512 frames keeps its own counts, so what a huge mapping means can be
 * said frame by frame: a mapping and a reference each, and all are exclusive when
 * the PMD is writable. Splitting a PMD then only changes the page table.
 *
 * Splitting. split_huge_mapping() splits one mm's PMD; others that map the same page keep
 * theirs, and the folio stays large, as in Linux: frame_is_large() is true of its frames.
 * Splitting the folio itself (K26b) is splitting all PMDs that map it, then
 * frame_split_huge(), and zero_piece_unmap() for every mapping of every piece, because
 * that saves the pieces to which nobody has written. split_folio_alone() does it for a
 * folio of one mm; KSM, which must find the others, has a walk of its own. What
 * differs from Linux: a piece that is not mapped any more is free at once, and so is an
 * empty page table, so that its 2 MiB may get a huge page again sooner (V21).
 *
 * Locks: mmap_lock; for split_huge_mapping() an anon_vma lock will do. None is taken.
 */
#include "fault_internal.h"

#include <errno.h>

static struct frame *piece_of(const struct vm *vm, pte_t pmd, uint32_t i)
{
	return frame_of_pfn(&vm->frames, pte_value(pmd) + i);
}

bool thp_allowed(const struct vma *vma, uint64_t addr)
{
	enum thp_mode mode = vma->mm->vm->config.thp;
	uint64_t start = addr & HPAGE_PMD_MASK;

	if (!vma_is_anonymous(vma) || (vma->flags & VM_NOHUGEPAGE) || mode == THP_NEVER)
		return false;
	if (mode == THP_MADVISE && !(vma->flags & VM_HUGEPAGE))
		return false;
	return start >= vma->start && start + HPAGE_PMD_SIZE <= vma->end;
}

int fault_huge_anonymous(struct fault *f)
{
	struct vm *vm = f->vm;
	uint64_t start = f->addr & HPAGE_PMD_MASK;
	struct frame *head;
	pte_t pmd;
	int err;

	err = anon_vma_prepare(f->vma);
	if (err)
		return err;
	head = frame_alloc_huge(&vm->frames, -1);
	if (!head)
		return FAULT_FALLBACK;
	pmd = pte_for_store(pte_of_frame(vm, head), f->vma) | PTE_HUGE;
	err = page_table_prepare_huge(&f->mm->pt, start);
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++) {
		if (err)
			frame_put(&vm->frames, piece_of(vm, pmd, i));
		else
			frame_add_new_anon(piece_of(vm, pmd, i), f->vma, start + i * PAGE_SIZE);
	}
	if (err)
		return err;
	page_table_set_huge(&f->mm->pt, start, pmd);
	vm->stat.thp_fault_alloc++;
	return 0;
}

static bool all_exclusive(const struct vm *vm, pte_t pmd)
{
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++)
		if (!(piece_of(vm, pmd, i)->flags & FRAME_EXCLUSIVE))
			return false;
	return true;
}

/* Makes the whole page this VMA's own if nothing but this PMD refers to it. */
static bool take_over_huge(struct fault *f, pte_t pmd)
{
	uint32_t i;

	for (i = 0; i < HPAGE_PMD_NR; i++) {
		struct frame *frame = piece_of(f->vm, pmd, i);

		if (frame_is_ksm(frame) ||
		    frame->refcount > 1 + !!(frame->flags & FRAME_SWAPCACHE))
			return false;
	}
	for (i = 0; i < HPAGE_PMD_NR; i++) {
		struct frame *frame = piece_of(f->vm, pmd, i);

		if (!(frame->flags & FRAME_SWAPCACHE))
			continue;
		if (!frame_trylock(frame))
			return false;
		(void)frame_free_swap(f->vm, frame);
		frame_unlock(frame);
		if (frame->refcount != 1)
			return false;
	}
	for (i = 0; i < HPAGE_PMD_NR; i++) {
		struct frame *frame = piece_of(f->vm, pmd, i);

		frame->mapping = (uintptr_t)f->vma->anon_vma | MAPPING_ANON;
		frame->flags |= FRAME_EXCLUSIVE;
	}
	return true;
}

/* do_huge_pmd_wp_page() */
int fault_huge_wp(struct fault *f, pte_t pmd)
{
	int err;

	if (all_exclusive(f->vm, pmd) || take_over_huge(f, pmd)) {
		if (!(f->flags & FAULT_UNSHARE))
			page_table_set_huge(&f->mm->pt, f->addr & HPAGE_PMD_MASK,
					    pte_for_store(pmd | PTE_YOUNG, f->vma));
		return 0;
	}
	err = split_huge_mapping(f->mm, f->addr);
	return err ? err : FAULT_FALLBACK;
}

void zap_huge(struct vma *vma, uint64_t addr, pte_t pmd)
{
	struct vm *vm = vma->mm->vm;

	SP_ASSERT(addr >= vma->start && addr + HPAGE_PMD_SIZE <= vma->end);
	page_table_set_huge(&vma->mm->pt, addr, 0);
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++) {
		struct frame *frame = piece_of(vm, pmd, i);

		frame_remove_map(frame, vma);
		frame_put_unmapped(vm, frame);
	}
}

int copy_huge(struct vma *child, struct vma *parent, uint64_t addr, pte_t pmd)
{
	struct vm *vm = parent->mm->vm;
	int err;

	err = page_table_prepare_huge(&child->mm->pt, addr);
	if (err)
		return err;
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++) {
		struct frame *frame = piece_of(vm, pmd, i);

		frame_get(frame);
		frame->flags &= (uint16_t)~FRAME_EXCLUSIVE;
		frame_add_map(frame, child);
	}
	pmd &= ~PTE_WRITE;
	page_table_set_huge(&parent->mm->pt, addr, pmd);
	page_table_set_huge(&child->mm->pt, addr, pmd & ~PTE_YOUNG);
	return 0;
}

int split_huge_mapping(struct mm *mm, uint64_t addr)
{
	bool huge;
	int err;

	(void)page_table_find(&mm->pt, addr, &huge);
	if (!huge)
		return 0;
	err = page_table_split_huge(&mm->pt, addr);
	if (!err)
		mm->vm->stat.thp_split_pmd++;
	return err;
}

/* try_to_map_unused_to_zeropage() */
void zero_piece_unmap(struct vma *vma, uint64_t addr)
{
	struct vm *vm = vma->mm->vm;
	pte_t pte = vm_pte(vma->mm, addr);
	struct frame *frame;

	if (!pte_present(pte) || (pte & (PTE_HUGE | PTE_SPECIAL)) || (vma->flags & VM_LOCKED))
		return;
	frame = frame_of_pte(vm, pte);
	if (!frame_is_anon(frame) || frame_is_ksm(frame) ||
	    (frame->flags & (FRAME_MLOCKED | FRAME_UNKNOWN)) ||
	    frame_compare(&vm->frames, frame, vm->frames.zero))
		return;
	page_table_set(&vma->mm->pt, addr, pte_of_frame(vm, vm->frames.zero) | PTE_SPECIAL);
	frame_remove_map(frame, vma);
	frame_put_unmapped(vm, frame);
}

bool folio_mapped_whole(const struct mm *mm, uint64_t addr, const struct frame *frame)
{
	if (!(frame->flags & FRAME_HEAD))
		return false;
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++) {
		pte_t pte = vm_pte(mm, addr + i * PAGE_SIZE);

		if (!pte_present(pte) || pte_value(pte) != frame->pfn + i ||
		    !frame_is_large(frame + i) || frame[i].mapcount != 1)
			return false;
	}
	return true;
}

#define NOWHERE UINT64_MAX

static bool maps_frame(pte_t pte, const struct frame *frame)
{
	return pte_present(pte) && !(pte & PTE_SPECIAL) && pte_value(pte) == frame->pfn;
}

/* Where this mm maps the pieces, if one lies at addr and the others around it. */
static void pieces_around(const struct mm *mm, uint64_t addr, const struct frame *row,
			  uint64_t *at)
{
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++) {
		uint64_t piece_addr = addr + i * PAGE_SIZE;

		at[i] = frame_is_large(row + i) && maps_frame(vm_pte(mm, piece_addr), row + i) ?
				piece_addr : NOWHERE;
	}
}

/* The same if mremap has scattered them. */
static void pieces_anywhere(const struct mm *mm, const struct frame *row, uint64_t *at)
{
	uint64_t addr = 0;
	pte_t pte;
	bool huge;

	for (; page_table_next(&mm->pt, &addr, TASK_SIZE, &pte, &huge);
	     addr += huge ? HPAGE_PMD_SIZE : PAGE_SIZE) {
		uint64_t i = (uint64_t)pte_value(pte) - row->pfn;

		if (!huge && i < HPAGE_PMD_NR && maps_frame(pte, row + i) &&
		    frame_is_large(row + i))
			at[i] = addr;
	}
}

/*
 * No page but a KSM page is mapped twice by one mm: a piece with two mappings tells at once that
 * the folio is shared, and one place for each is all of them.
 */
static bool may_be_alone(const struct frame *row)
{
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++) {
		const struct frame *piece = row + i;

		if (frame_is_large(piece) &&
		    (piece->mapcount > 1 ||
		     piece->refcount != piece->mapcount + !!(piece->flags & FRAME_SWAPCACHE)))
			return false;
	}
	return true;
}

static bool are_all_places(const struct frame *row, const uint64_t *at)
{
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++)
		if (frame_is_large(row + i) && row[i].mapcount != (at[i] != NOWHERE))
			return false;
	return true;
}

/* All that refers to the folio is entries of this mm: where they are. */
static bool find_alone(const struct mm *mm, uint64_t addr, const struct frame *frame,
		       const struct frame *row, uint64_t *at)
{
	if (!may_be_alone(row))
		return false;
	pieces_around(mm, addr - (uint64_t)(frame - row) * PAGE_SIZE, row, at);
	if (are_all_places(row, at))
		return true;
	pieces_anywhere(mm, row, at);
	return are_all_places(row, at);
}

bool folio_is_alone(struct mm *mm, uint64_t addr, const struct frame *frame)
{
	uint64_t at[HPAGE_PMD_NR];

	return find_alone(mm, addr, frame, frame_row(&mm->vm->frames, frame), at);
}

int split_folio_alone(struct mm *mm, uint64_t addr, struct frame *frame)
{
	uint64_t at[HPAGE_PMD_NR];
	int err;

	if (!find_alone(mm, addr, frame, frame_row(&mm->vm->frames, frame), at))
		return -EBUSY;
	err = split_huge_mapping(mm, addr);
	if (err)
		return err;
	frame_split_huge(&mm->vm->frames, frame);
	for (uint32_t i = 0; i < HPAGE_PMD_NR; i++)
		if (at[i] != NOWHERE)
			zero_piece_unmap(vma_lookup(mm, at[i]), at[i]);
	return 0;
}
