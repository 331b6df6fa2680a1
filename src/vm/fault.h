/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Page faults: what a load or a store of a process does to its page table.
 *
 * handle_fault() resolves one fault as Linux's handle_mm_fault() does: anonymous (zero page or
 * new page, huge where allowed), file (read: the page cache's frame; private write: a copy),
 * swap-in (W3), write to a read-only PTE (reuse or copy, K33), unshare.
 */
#ifndef SP_FAULT_H
#define SP_FAULT_H

#include "anon_vma.h"

enum fault_flags {
	FAULT_WRITE = 1,
	FAULT_UNSHARE = 2, /* break sharing without writing (K32) */
	FAULT_REMOTE = 4,  /* not by the process itself */
};

/*
 * mmap_lock held for read or write, addr inside vma, access allowed by the VMA (except REMOTE). 0;
 * -ENOMEM; -EFAULT (beyond the end of a file); -EDEADLK (a migration entry nobody will remove);
 * -EHWPOISON never yet. On error nothing has changed, except that an anon_vma or empty tables may
 * have been prepared.
 */
int handle_fault(struct vma *vma, uint64_t addr, unsigned int flags) SP_MUST_CHECK;

/*
 * The frame that a load (or store) of the process at addr gets, faulting as needed; sets
 * young and, for a store, dirty in the PTE. Takes mmap_lock for read. *ret may be the zero page on
 * a load. No reference is taken. 0, -EFAULT (no VMA, no permission), or as handle_fault().
 */
int vm_access(struct mm *mm, uint64_t addr, bool write, struct frame **ret) SP_MUST_CHECK;

/* Entry lookup with huge PMDs resolved to the 4 KiB piece: the PTE value as if it were a PTE
 * (PTE_HUGE kept), 0 when none. */
pte_t vm_pte(const struct mm *mm, uint64_t addr);

/* Frees the pages of [start, end) of the VMA (unmap, DONTNEED): drops mappings, swap entries, KSM
 * zero pages. Splits a huge PMD that is only partly covered: -ENOMEM if that fails (nothing zapped
 * then). mmap_lock for read is enough. */
int zap_range(struct vma *vma, uint64_t start, uint64_t end) SP_MUST_CHECK;

/* Splits a huge PMD mapping addr, if there is one, into PTEs. The folio stays large, and other mms
 * that map it keep their PMDs. Takes no lock: walks may call it. 0 or -ENOMEM. */
int split_huge_mapping(struct mm *mm, uint64_t addr) SP_MUST_CHECK;
/* After a split of the folio itself (K26b): if addr maps a small frame of zeroes that no lock
 * keeps, it maps the shared zero page instead. Takes no lock. */
void zero_piece_unmap(struct vma *vma, uint64_t addr);
/* Do the entries from addr on map all of the large folio that starts with frame, and no
 * others? */
bool folio_mapped_whole(const struct mm *mm, uint64_t addr, const struct frame *frame);
/* Is all that refers to the large folio of which frame, mapped at addr, is a piece, entries of this
 * mm? */
bool folio_is_alone(struct mm *mm, uint64_t addr, const struct frame *frame);
/* Splits the large folio of which frame, mapped at addr, is a piece: 0, -EBUSY when another mm maps
 * part of it too or somebody holds a reference, -ENOMEM. */
int split_folio_alone(struct mm *mm, uint64_t addr, struct frame *frame) SP_MUST_CHECK;

/*
 * Mapping and unmapping one small frame, as folio_add_anon_rmap_pte() and folio_remove_rmap_pte()
 * do: mapcount, RSS of the mm, and, for the first mapping of a fresh anonymous page, mapping and
 * index. The caller moves refcounts and sets the PTE.
 */
void frame_add_new_anon(struct frame *frame, struct vma *vma, uint64_t addr); /* exclusive */
void frame_add_map(struct frame *frame, struct vma *vma);
/* Drops mapcount and RSS; when the frame is left unmapped, FRAME_MLOCKED goes. */
void frame_remove_map(struct frame *frame, struct vma *vma);

/* Everything about [start,end) of src's entries is moved to dst at new_addr (mremap): entries keep
 * young, dirty and swap values. Returns bytes moved: all or, on -ENOMEM for tables, 0. */
uint64_t move_page_tables(struct vma *src, uint64_t old_addr, struct vma *dst, uint64_t new_addr,
			  uint64_t len, bool need_rmap_locks);
/* Makes the tables and splits the huge PMDs that a move of that range, to a place where nothing is
 * mapped, needs: it then cannot fail. 0, or -ENOMEM and only huge PMDs have been split. */
int move_page_tables_prepare(struct mm *mm, uint64_t old_addr, uint64_t new_addr,
			     uint64_t len) SP_MUST_CHECK;

/* Takes a locked frame out of the swap cache when no swap entry is left: true if it
 * left. The caller holds a reference. */
bool frame_free_swap(struct vm *vm, struct frame *frame);
/* vm_swap_full(): more than half of the slots are used. */
bool swap_is_full(const struct swap *swap);

#endif
