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
 * Splitting. split_huge_mapping() splits one mm's PMD; others that map the same
 * page keep theirs, as in Linux. The page stops being a huge page (FRAME_HEAD,
 * FRAME_TAIL) with the first PMD that is split, where Linux waits for memory
 * pressure: there is no large page that is mapped by PTEs. Splitting the folio
 * itself, that is all PMDs, is a walk that calls this at each.
 *
 * Locks: mmap_lock; for split_huge_mapping() an anon_vma lock will do. None is taken.
 */
#include "fault_internal.h"

#include <errno.h>

static struct frame *piece_of(const struct vm *vm, pte_t pmd, uint32_t i)
{
	return frame_of_pfn(&vm->frames, pte_value(pmd) + i);
}

/* The page is no longer a huge page; what maps it stays. */
static void dissolve(struct vm *vm, pte_t pmd)
{
	struct frame *head = piece_of(vm, pmd, 0);

	if (head->flags & FRAME_HEAD)
		frame_split_huge(&vm->frames, head);
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
	/* Pieces to which somebody else holds a reference live on, each by itself. */
	if (piece_of(vm, pmd, 0)->mapcount == 1)
		dissolve(vm, pmd);
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
	const pte_t *entry;
	pte_t pmd;
	bool huge;
	int err;

	entry = page_table_find(&mm->pt, addr, &huge);
	if (!huge)
		return 0;
	pmd = *entry;
	err = page_table_split_huge(&mm->pt, addr);
	if (err)
		return err;
	mm->vm->stat.thp_split_pmd++;
	dissolve(mm->vm, pmd);
	return 0;
}
