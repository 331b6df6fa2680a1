/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's work on pages as public calls: migration, reclaim, compaction, memory that goes
 * offline, extra references, walks.
 */
#include <errno.h>

#include "machine.h"

SP_API int sp_migrate(struct sp_process *p, uint64_t addr, int node, bool all)
{
	return p->mm ? vm_move_page(p->mm, addr & PAGE_MASK, node, all) : -ESRCH;
}

SP_API int sp_swap_out(struct sp_process *p, uint64_t addr)
{
	return p->mm ? vm_swap_out(p->mm, addr & PAGE_MASK) : -ESRCH;
}

SP_API int64_t sp_reclaim(struct sp_machine *m, uint64_t nr_pages, unsigned int rounds)
{
	return vm_reclaim(&m->vm, nr_pages, rounds);
}

SP_API int sp_compact(struct sp_machine *m, uint64_t *moved, uint64_t *failed)
{
	uint64_t counts[2];

	return vm_compact(&m->vm, moved ? moved : &counts[0], failed ? failed : &counts[1]);
}

static bool is_movable(const struct sp_machine *m, unsigned int node)
{
	uint32_t nr_nodes = m->vm.frames.nr_nodes;

	return node < nr_nodes && node >= nr_nodes - m->nr_movable_nodes;
}

SP_API int sp_offline(struct sp_machine *m, unsigned int node)
{
	if (!is_movable(m, node) || m->vm.frames.node[node].offline)
		return -EINVAL;
	return vm_offline_node(&m->vm, node);
}

SP_API int sp_online(struct sp_machine *m, unsigned int node)
{
	if (!is_movable(m, node) || !m->vm.frames.node[node].offline)
		return -EINVAL;
	if (m->vm.frames.node[node].nr_retired)
		return -EHWPOISON;
	frames_set_offline(&m->vm.frames, node, false);
	return 0;
}

/* The anonymous frame mapped at addr in a VMA that has these flags, or NULL. */
static struct frame *mapped_frame(struct mm *mm, uint64_t addr, uint64_t flags)
{
	const struct vma *vma;
	struct frame *frame;
	pte_t pte;

	rwsem_read_lock(&mm->mmap_lock);
	vma = vma_lookup(mm, addr);
	pte = vma && (vma->flags & flags) == flags ? vm_pte(mm, addr) : 0;
	rwsem_read_unlock(&mm->mmap_lock);
	if (!pte_present(pte) || pte_is_zero_page(pte))
		return NULL;
	frame = frame_of_pfn(&mm->vm->frames, pte_value(pte));
	return frame_is_anon(frame) ? frame : NULL;
}

SP_API int sp_hold(struct sp_process *p, uint64_t addr, uint64_t *handle)
{
	struct sp_machine *m = p->machine;
	struct frame *frame;
	uint32_t *grown;

	if (!p->mm)
		return -ESRCH;
	/* A pipe is given what its process may read. */
	frame = mapped_frame(p->mm, addr & PAGE_MASK, VM_READ);
	if (!frame)
		return -EFAULT;
	if (frame->nr_holds == UINT16_MAX)
		return -EOVERFLOW;
	grown = mem_realloc(&m->vm.mem, m->holds, m->nr_holds * sizeof(*grown),
			    (m->nr_holds + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	m->holds = grown;
	m->holds[m->nr_holds++] = frame_pfn(&m->vm.frames, frame);
	frame_get(frame);
	frame->nr_holds++;
	*handle = m->nr_holds;
	return 0;
}

void hold_drop(struct sp_machine *m, uint64_t i)
{
	struct frame *frame = frame_of_pfn(&m->vm.frames, m->holds[i]);

	m->holds[i] = PFN_NONE;
	frame->nr_holds--;
	frame_put(&m->vm.frames, frame);
}

SP_API int sp_drop(struct sp_machine *m, uint64_t handle)
{
	if (!handle || handle > m->nr_holds || m->holds[handle - 1] == PFN_NONE)
		return -EINVAL;
	hold_drop(m, handle - 1);
	return 0;
}

SP_API int sp_walk(struct sp_process *p, uint64_t addr, struct sp_walk_result *ret)
{
	struct frame *frame;

	if (!p->mm)
		return -ESRCH;
	frame = mapped_frame(p->mm, addr & PAGE_MASK, 0);
	return frame ? rmap_explicit_walk(p->mm->vm, frame, ret) : -EFAULT;
}
