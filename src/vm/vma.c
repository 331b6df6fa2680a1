/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VMAs one at a time: allocating, linking, splitting, copying (A5, A8).
 *
 * A VMA is in one of these states:
 *
 *	free standing  allocated, in no tree, no AVCs: vma_alloc() .. vma_link()
 *	linked         in mm->vmas and counted in map_count; may have AVCs
 *	unlinked       out of the tree, AVCs perhaps still there: until anon_vma_unlink(),
 *			vma_free()
 *
 * The linear index of an address, pgoff + (addr - start) / PAGE_SIZE, is what all of this
 * keeps: a split gives its upper part a larger pgoff, a copy takes the pgoff along, and
 * only a VMA that never had an anonymous page may be given the pgoff of its new place (A8).
 *
 * Reserving. Each operation first gets everything that can fail (VMA, AVCs, tree nodes, a
 * page table for a huge page that the new boundary cuts), then changes things. mremap(), whose last
 * steps come after page table entries have moved, sets VMAs and AVCs aside with vma_spare_fill().
 *
 *	err = vma_split(vma, addr, false, &upper);
 *
 * Locks: mmap_lock for write; the anon_vma lock around every change of bounds of a VMA with AVCs.
 */
#include "vma.h"

#include <errno.h>

#include "fault.h"
#include "vma_merge.h"

/* ---- Allocation ---- */

static struct vma *vma_get_memory(struct vm *vm)
{
	struct vma *vma;

	if (cds_list_empty(&vm->spare_vmas))
		return pool_alloc(&vm->vma_pool);
	vma = cds_list_first_entry(&vm->spare_vmas, struct vma, anon_vma_chain);
	cds_list_del(&vma->anon_vma_chain);
	return vma;
}

struct vma *vma_alloc(struct mm *mm, uint64_t start, uint64_t end, uint64_t pgoff, uint64_t flags,
		      struct file *file)
{
	struct vma *vma = vma_get_memory(mm->vm);

	if (!vma)
		return NULL;
	vma->mm = mm;
	vma->file = file;
	vma->start = start;
	vma->end = end;
	vma->pgoff = pgoff;
	vma->flags = flags;
	CDS_INIT_LIST_HEAD(&vma->anon_vma_chain);
	if (file)
		file_get(file);
	return vma;
}

void vma_free(struct vma *vma)
{
	SP_ASSERT(!vma->anon_vma && cds_list_empty(&vma->anon_vma_chain));
	if (vma->file)
		file_put(vma->file);
	pool_free(&vma->mm->vm->vma_pool, vma);
}

int vma_spare_fill(struct vm *vm, unsigned int nr_vmas, unsigned int nr_avcs)
{
	SP_ASSERT(cds_list_empty(&vm->spare_vmas) && cds_list_empty(&vm->spare_avcs));
	for (; nr_vmas; nr_vmas--) {
		struct vma *vma = pool_alloc(&vm->vma_pool);

		if (!vma)
			goto undo;
		cds_list_add(&vma->anon_vma_chain, &vm->spare_vmas);
	}
	for (; nr_avcs; nr_avcs--) {
		struct anon_vma_chain *avc = pool_alloc(&vm->avc_pool);

		if (!avc)
			goto undo;
		cds_list_add(&avc->same_vma, &vm->spare_avcs);
	}
	return 0;
undo:
	vma_spare_drop(vm);
	return -ENOMEM;
}

void vma_spare_drop(struct vm *vm)
{
	struct anon_vma_chain *avc, *next_avc;
	struct vma *vma, *next_vma;

	cds_list_for_each_entry_safe(vma, next_vma, &vm->spare_vmas, anon_vma_chain) {
		cds_list_del(&vma->anon_vma_chain);
		pool_free(&vm->vma_pool, vma);
	}
	cds_list_for_each_entry_safe(avc, next_avc, &vm->spare_avcs, same_vma) {
		cds_list_del(&avc->same_vma);
		pool_free(&vm->avc_pool, avc);
	}
}

/* ---- The tree ---- */

void vma_link(struct vma *vma)
{
	range_tree_insert(&vma->mm->vmas, vma->start, vma->end, vma);
	vma->mm->map_count++;
}

void vma_unlink(struct vma *vma)
{
	range_tree_erase(&vma->mm->vmas, vma->start);
	vma->mm->map_count--;
}

int vma_cut_huge(struct mm *mm, uint64_t addr)
{
	return addr & ~HPAGE_PMD_MASK ? split_huge_mapping(mm, addr) : 0;
}

/* ---- Splitting ---- */

int vma_split_nocheck(struct vma *vma, uint64_t addr, bool new_below, struct vma **ret)
{
	struct mm *mm = vma->mm;
	uint64_t upper_pgoff = vma_linear_index(vma, addr);
	struct vma *new;
	int err;

	SP_ASSERT(rwsem_held(&mm->mmap_lock));
	SP_ASSERT(vma->start < addr && addr < vma->end && page_aligned(addr));
	if (new_below)
		new = vma_alloc(mm, vma->start, addr, vma->pgoff, vma->flags, vma->file);
	else
		new = vma_alloc(mm, addr, vma->end, upper_pgoff, vma->flags, vma->file);
	if (!new)
		return -ENOMEM;
	err = range_tree_reserve(&mm->vmas, 2);
	if (!err)
		err = vma_cut_huge(mm, addr);
	if (!err)
		err = anon_vma_clone(new, vma);
	if (err) {
		vma_free(new);
		return err;
	}

	if (vma->anon_vma)
		anon_vma_lock_write(vma->anon_vma);
	anon_vma_interval_remove(vma);
	if (new_below) {
		range_tree_resize(&mm->vmas, vma->start, addr, vma->end);
		vma->start = addr;
		vma->pgoff = upper_pgoff;
	} else {
		range_tree_resize(&mm->vmas, vma->start, vma->start, addr);
		vma->end = addr;
	}
	vma_link(new);
	anon_vma_interval_insert(vma);
	if (vma->anon_vma)
		anon_vma_unlock_write(vma->anon_vma);
	event_emit(&mm->vm->events, EV_vma_split, mm->id, new_below ? new->start : vma->start,
		   addr);
	if (ret)
		*ret = new;
	return 0;
}

int vma_split(struct vma *vma, uint64_t addr, bool new_below, struct vma **ret)
{
	if (vma->mm->map_count >= vma->mm->vm->config.max_map_count)
		return -ENOMEM;
	return vma_split_nocheck(vma, addr, new_below, ret);
}

/* ---- Copying, for mremap ---- */

static struct vma *copy_unmerged(struct vma *vma, uint64_t addr, uint64_t len, uint64_t pgoff)
{
	struct vma *new = vma_alloc(vma->mm, addr, addr + len, pgoff, vma->flags, vma->file);
	int err;

	if (!new)
		return NULL;
	err = range_tree_reserve(&vma->mm->vmas, 1);
	if (!err)
		err = anon_vma_clone(new, vma);
	if (err) {
		vma_free(new);
		return NULL;
	}
	vma_link(new);
	return new;
}

struct vma *vma_copy(struct vma **vmap, uint64_t addr, uint64_t len, uint64_t pgoff,
		     bool keep_source, bool *need_rmap_locks)
{
	struct vma *vma = *vmap, *new;
	uint64_t vma_start = vma->start;
	struct vma_merge merge;
	bool unfaulted = vma_is_anonymous(vma) && !vma->anon_vma;

	SP_ASSERT(rwsem_held(&vma->mm->mmap_lock));
	if (unfaulted)
		pgoff = addr >> PAGE_SHIFT;
	vma_merge_init_new(&merge, vma->mm, addr, addr + len, pgoff, vma->flags, vma->file);
	merge.anon_vma = vma->anon_vma;
	merge.copied_from = vma;
	/* What stays behind and what goes must remain two VMAs. */
	if (unfaulted && keep_source) {
		if (merge.prev == vma)
			merge.prev = NULL;
		if (merge.next == vma)
			merge.next = NULL;
	}
	if (!vma_merge_plan_new(&merge)) {
		*need_rmap_locks = false;
		return copy_unmerged(vma, addr, len, pgoff);
	}
	if (vma_merge_reserve(&merge))
		return NULL;
	new = vma_merge_commit(&merge);
	if (vma_start >= new->start && vma_start < new->end)
		*vmap = vma = new;
	*need_rmap_locks = new->pgoff <= vma->pgoff;
	return new;
}
