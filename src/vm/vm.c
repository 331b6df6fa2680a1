/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine's memory: its accounts, frames, swap and pools, put together and taken apart.
 *
 * Order matters twice. Everything counts its memory in vm->mem, so that comes first and
 * goes last; and frames hold contents, swap slots refer to frames, so swap goes before
 * frames.
 *
 * A typical machine:
 *
 *	err = vm_init(&vm, &config, 1, 0, 0, 4096);
 *	err = mm_create(&vm, &mm);
 *	...
 *	mm_exit(mm);
 *	vm_destroy(&vm);
 *
 * Hooks are registered by the upper layers after vm_init(), which leaves them NULL.
 *
 * Locking: none; nobody else knows the machine yet, or any more.
 */
#include "anon_vma.h"

#include <string.h>

int vm_init(struct vm *vm, const struct vm_config *config, uint32_t nr_nodes,
	    uint64_t frames_per_node, uint64_t nr_swap_slots, uint32_t content_bytes)
{
	int err;

	mem_clear(vm, sizeof(*vm));
	vm->config = *config;
	mem_init_in(&vm->mem, config->region);
	vm->mem.fail_at = config->fail_allocation;
	err = frames_init(&vm->frames, &vm->mem, nr_nodes, frames_per_node, content_bytes);
	if (err)
		return err;
	swap_init(&vm->swap, &vm->mem, &vm->frames, nr_swap_slots);
	pool_init(&vm->mm_pool, &vm->mem, "mm", sizeof(struct mm));
	pool_init(&vm->vma_pool, &vm->mem, "vma", sizeof(struct vma));
	pool_init(&vm->avc_pool, &vm->mem, "anon_vma_chain", sizeof(struct anon_vma_chain));
	pool_init(&vm->anon_vma_pool, &vm->mem, "anon_vma", sizeof(struct anon_vma));
	page_table_pool_init(&vm->table_pool, &vm->mem);
	CDS_INIT_LIST_HEAD(&vm->mms);
	CDS_INIT_LIST_HEAD(&vm->files);
	CDS_INIT_LIST_HEAD(&vm->spare_vmas);
	CDS_INIT_LIST_HEAD(&vm->spare_avcs);
	return 0;
}

void vm_destroy(struct vm *vm)
{
	SP_ASSERT(cds_list_empty(&vm->mms));
	SP_ASSERT(cds_list_empty(&vm->files));
	SP_ASSERT(cds_list_empty(&vm->spare_vmas) && cds_list_empty(&vm->spare_avcs));
	swap_destroy(&vm->swap);
	pool_destroy(&vm->table_pool);
	pool_destroy(&vm->anon_vma_pool);
	pool_destroy(&vm->avc_pool);
	pool_destroy(&vm->vma_pool);
	pool_destroy(&vm->mm_pool);
	frames_destroy(&vm->frames);
}
