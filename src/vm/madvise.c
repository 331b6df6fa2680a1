/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * madvise(): advice that changes VMA flags, and advice about pages.
 *
 *	flags	MERGEABLE UNMERGEABLE DONTFORK DOFORK WIPEONFORK KEEPONFORK HUGEPAGE NOHUGEPAGE
 *	pages	DONTNEED COLD PAGEOUT
 *
 * A range with holes is worked on as far as there are VMAs, and then reported as ENOMEM;
 * another error stops at once. For flags, running out of memory and hitting the map count
 * limit are both EAGAIN (M3), so that ENOMEM means a hole; advice about pages keeps ENOMEM
 * for memory too, where Linux cannot fail.
 *
 * COLD is done here: young bits and the marks of use go, so that the next round of reclaim
 * takes the page. PAGEOUT asks rmap/ through a hook to evict each page now. Neither touches
 * a page that is mapped elsewhere too (M5), hence no shared KSM page. MERGEABLE and
 * UNMERGEABLE are ksm/'s decisions, through a hook as well.
 *
 * Locks: takes mmap_lock, for write if flags change.
 */
#include "mmap.h"

#include <errno.h>

#include "fault.h"

enum advice_kind { ADVICE_INVALID, ADVICE_FLAGS, ADVICE_PAGES };

static enum advice_kind kind_of(const struct vm *vm, int advice)
{
	switch (advice) {
	case SP_MADV_MERGEABLE:
	case SP_MADV_UNMERGEABLE:
		return vm->hooks.ksm_madvise ? ADVICE_FLAGS : ADVICE_INVALID;
	case SP_MADV_DONTFORK:
	case SP_MADV_DOFORK:
	case SP_MADV_WIPEONFORK:
	case SP_MADV_KEEPONFORK:
	case SP_MADV_HUGEPAGE:
	case SP_MADV_NOHUGEPAGE:
		return ADVICE_FLAGS;
	case SP_MADV_DONTNEED:
	case SP_MADV_COLD:
	case SP_MADV_PAGEOUT:
		return ADVICE_PAGES;
	default:
		return ADVICE_INVALID;
	}
}

/* ---- Flags ---- */

static int new_flags(struct vma *vma, uint64_t start, uint64_t end, int advice, uint64_t *flags)
{
	switch (advice) {
	case SP_MADV_MERGEABLE:
	case SP_MADV_UNMERGEABLE:
		return vma->mm->vm->hooks.ksm_madvise(vma, start, end, advice == SP_MADV_MERGEABLE,
						      flags);
	case SP_MADV_DONTFORK:
		*flags |= VM_DONTCOPY;
		break;
	case SP_MADV_DOFORK:
		*flags &= ~(uint64_t)VM_DONTCOPY;
		break;
	case SP_MADV_WIPEONFORK:
		if (vma->file || (vma->flags & VM_SHARED))
			return -EINVAL;
		*flags |= VM_WIPEONFORK;
		break;
	case SP_MADV_KEEPONFORK:
		*flags &= ~(uint64_t)VM_WIPEONFORK;
		break;
	case SP_MADV_HUGEPAGE:
		*flags &= ~(uint64_t)VM_NOHUGEPAGE;
		*flags |= VM_HUGEPAGE;
		break;
	case SP_MADV_NOHUGEPAGE:
		*flags &= ~(uint64_t)VM_HUGEPAGE;
		*flags |= VM_NOHUGEPAGE;
		break;
	}
	return 0;
}

/* *vmap: the VMA that [start, end) lies in afterwards. */
static int advise_flags(struct vma **vmap, uint64_t start, uint64_t end, int advice)
{
	uint64_t flags = (*vmap)->flags;
	int err = new_flags(*vmap, start, end, advice, &flags);

	if (!err && flags != (*vmap)->flags)
		err = vma_modify_flags(*vmap, start, end, flags, vmap);
	return err == -ENOMEM ? -EAGAIN : err;
}

/* ---- Pages ---- */

/* How many of the frames that a PMD or PTE maps are mapped elsewhere too. */
static bool mapped_once(struct frames *frames, pte_t pte, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (frame_of_pfn(frames, pte_value(pte) + i)->mapcount != 1)
			return false;
	return true;
}

static void make_cold(struct mm *mm, uint64_t addr, pte_t pte, bool huge)
{
	if (pte & PTE_YOUNG) {
		if (huge)
			page_table_set_huge(&mm->pt, addr, pte & ~PTE_YOUNG);
		else
			page_table_set(&mm->pt, addr, pte & ~PTE_YOUNG);
	}
	for (uint32_t i = 0; i < (huge ? HPAGE_PMD_NR : 1); i++)
		frame_of_pfn(&mm->vm->frames, pte_value(pte) + i)->flags &=
			(uint16_t)~(FRAME_REFERENCED | FRAME_ACTIVE);
}

/* A file's page stays in its file, where nobody sees whether it is in memory. */
static int page_out(struct vma *vma, uint64_t addr, struct frame *frame)
{
	struct vm *vm = vma->mm->vm;

	if (!frame_is_anon(frame))
		return zap_range(vma, addr, addr + PAGE_SIZE);
	if (vm->hooks.madvise_pageout)
		vm->hooks.madvise_pageout(vma, addr, frame);
	return 0;
}

/*
 * Advice about part of a large folio splits it, or does nothing where it cannot be split. Of a
 * whole folio, COLD is said page by page; evicting works on small pages only, so that PAGEOUT
 * splits it too, but keeps the pieces of zeroes: Linux evicts it as one. *addr moves to where to go
 * on; it stays when there are small pages now.
 */
static int advise_folio(struct mm *mm, uint64_t *addr, uint64_t start, uint64_t end, pte_t pte,
			bool huge, bool pageout)
{
	struct frame *frame = frame_of_pfn(&mm->vm->frames, pte_value(pte));
	int err;

	if (*addr < start || end - *addr < HPAGE_PMD_SIZE ||
	    !(huge || folio_mapped_whole(mm, *addr, frame))) {
		err = split_folio_alone(mm, *addr, frame);
		if (err == -EBUSY)
			*addr += huge ? HPAGE_PMD_SIZE : PAGE_SIZE;
		else if (!err)
			*addr = MAX(*addr, start);
		return err == -EBUSY ? 0 : err;
	}
	if (pageout) {
		err = split_huge_mapping(mm, *addr);
		if (!err)
			frame_split_huge(&mm->vm->frames, frame);
		return err;
	}
	for (uint64_t i = 0; i < (huge ? 1 : HPAGE_PMD_NR); i++)
		make_cold(mm, *addr + i * PAGE_SIZE, huge ? pte : vm_pte(mm, *addr + i * PAGE_SIZE),
			  huge);
	*addr += HPAGE_PMD_SIZE;
	return 0;
}

static int cold_or_pageout(struct vma *vma, uint64_t start, uint64_t end, bool pageout)
{
	struct mm *mm = vma->mm;
	struct frames *frames = &mm->vm->frames;
	uint64_t addr = start;
	int err = 0;
	pte_t pte;
	bool huge;

	if (vma->flags & VM_LOCKED)
		return -EINVAL;
	while (!err && page_table_next(&mm->pt, &addr, end, &pte, &huge)) {
		if (!pte_present(pte) || pte_is_zero_page(pte) ||
		    !mapped_once(frames, pte, huge ? HPAGE_PMD_NR : 1)) {
			addr += huge ? HPAGE_PMD_SIZE : PAGE_SIZE;
			continue;
		}
		if (frame_is_large(frame_of_pfn(frames, pte_value(pte)))) {
			err = advise_folio(mm, &addr, start, end, pte, huge, pageout);
			continue;
		}
		if (pageout)
			err = page_out(vma, addr, frame_of_pfn(frames, pte_value(pte)));
		else
			make_cold(mm, addr, pte, false);
		addr += PAGE_SIZE;
	}
	return err;
}

static int advise_pages(struct vma *vma, uint64_t start, uint64_t end, int advice)
{
	if (advice == SP_MADV_DONTNEED)
		return vma->flags & VM_LOCKED ? -EINVAL : zap_range(vma, start, end);
	return cold_or_pageout(vma, start, end, advice == SP_MADV_PAGEOUT);
}

/* ---- The walk over VMAs ---- */

static int advise_range(struct mm *mm, uint64_t start, uint64_t end, int advice,
			enum advice_kind kind)
{
	bool hole = false;

	while (start < end) {
		struct vma *vma = vma_find(mm, start);
		uint64_t part_end;
		int err;

		if (!vma)
			return -ENOMEM;
		if (start < vma->start) {
			hole = true;
			start = vma->start;
			if (start >= end)
				break;
		}
		part_end = MIN(end, vma->end);
		if (kind == ADVICE_FLAGS)
			err = advise_flags(&vma, start, part_end, advice);
		else
			err = advise_pages(vma, start, part_end, advice);
		if (err)
			return err;
		/* Merged with a neighbour above, that one had the flags already. */
		start = MAX(part_end, vma->end);
	}
	return hole ? -ENOMEM : 0;
}

int vm_madvise(struct mm *mm, uint64_t addr, uint64_t length, int advice)
{
	enum advice_kind kind = kind_of(mm->vm, advice);
	uint64_t pages_length = (length + PAGE_SIZE - 1) & PAGE_MASK;
	int err;

	if (kind == ADVICE_INVALID || !page_aligned(addr))
		return -EINVAL;
	if ((length && !pages_length) || addr + pages_length < addr)
		return -EINVAL;
	if (!length)
		return 0;
	if (kind == ADVICE_FLAGS)
		rwsem_write_lock(&mm->mmap_lock);
	else
		rwsem_read_lock(&mm->mmap_lock);
	err = advise_range(mm, addr, addr + pages_length, advice, kind);
	if (kind == ADVICE_FLAGS)
		rwsem_write_unlock(&mm->mmap_lock);
	else
		rwsem_read_unlock(&mm->mmap_lock);
	return err;
}
