/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Machines: creation, destruction, memory report, tracing.
 *
 * The layers are initialised from below (vm, rmap, ksm), each registering its hooks with vm; they
 * are torn down from above, after every process has exited.
 */
#include "machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "machine_region.h"

static const char *const strategy_names[SP_NR_STRATEGIES] = {
	[SP_STRATEGY_FULL] = "full",	 [SP_STRATEGY_ADDRESS] = "address",
	[SP_STRATEGY_RETRY] = "retry",	 [SP_STRATEGY_INDEX] = "index",
	[SP_STRATEGY_DIRECT] = "direct",
};

SP_API const char *sp_strategy_name(enum sp_strategy strategy)
{
	return (unsigned int)strategy < SP_NR_STRATEGIES ? strategy_names[strategy] : NULL;
}

SP_API int sp_strategy_by_name(const char *name, enum sp_strategy *ret)
{
	for (unsigned int i = 0; i < SP_NR_STRATEGIES; i++) {
		if (!strcmp(name, strategy_names[i])) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

SP_API void sp_config_init(struct sp_config *config)
{
	*config = (struct sp_config){
		.strategy = SP_STRATEGY_FULL,
		.nr_nodes = 1,
		.max_map_count = 65530,
		.content_bytes = SP_PAGE_SIZE,
		.thp = SP_THP_MADVISE,
	};
}

static bool config_is_valid(const struct sp_config *c)
{
	return (unsigned int)c->strategy < SP_NR_STRATEGIES && c->nr_nodes >= 1 &&
	       c->nr_nodes <= 64 && c->nr_movable_nodes < c->nr_nodes && c->max_map_count >= 1 && c->content_bytes >= 8 &&
	       c->content_bytes <= SP_PAGE_SIZE && !(c->content_bytes & (c->content_bytes - 1)) &&
	       (unsigned int)c->thp <= SP_THP_ALWAYS;
}

static struct sp_machine *machine_alloc(struct region *region)
{
	struct sp_machine *m;

	/* vm_init() clears what is most of it. */
	m = region ? region_alloc_slow(region, 64, sizeof(*m)) : malloc(sizeof(*m));
	if (m)
		memset((char *)m + sizeof(m->vm), 0, sizeof(*m) - sizeof(m->vm));
	return m;
}

static void machine_free(struct sp_machine *m, struct region *region)
{
	if (region)
		region_free_slow(region, m, sizeof(*m));
	else
		free(m);
}

static int machine_create(struct region *region, const struct sp_config *config,
			  struct sp_machine **ret)
{
	struct vm_config vm_config;
	struct sp_config defaults;
	struct sp_machine *m;
	int err;

	if (!config) {
		sp_config_init(&defaults);
		config = &defaults;
	}
	if (!config_is_valid(config))
		return -EINVAL;
	/* A reader may be inside when the region is reset. */
	if (region && config->concurrent_readers)
		return -EINVAL;
	m = machine_alloc(region);
	if (!m)
		return -ENOMEM;
	CDS_INIT_LIST_HEAD(&m->processes);
	CDS_INIT_LIST_HEAD(&m->files);
	vm_config = (struct vm_config){
		.max_map_count = config->max_map_count,
		.thp = (enum thp_mode)config->thp,
		.concurrent_readers = config->concurrent_readers,
		.fail_allocation = config->fail_allocation,
		.region = region,
	};
	err = vm_init(&m->vm, &vm_config, config->nr_nodes, config->nr_frames,
		      config->nr_swap_slots, config->content_bytes);
	if (err)
		goto free_machine;
	err = rmap_init(&m->vm);
	if (err)
		goto destroy_vm;
	err = ksm_init(&m->vm);
	if (err)
		goto destroy_rmap;
	ksm_strategy_set(&m->vm, config->strategy);
	m->nr_movable_nodes = config->nr_movable_nodes;
	/* A clock costs more than all of such a machine's walk. */
	if (region)
		rmap_of(&m->vm)->measure_time = false;
	*ret = m;
	return 0;

destroy_rmap:
	rmap_destroy(&m->vm);
destroy_vm:
	vm_destroy(&m->vm);
free_machine:
	machine_free(m, region);
	return err;
}

SP_API int sp_machine_create(const struct sp_config *config, struct sp_machine **ret)
{
	return machine_create(NULL, config, ret);
}

int machine_create_in(struct region *region, const struct sp_config *config,
		      struct sp_machine **ret)
{
	return machine_create(region, config, ret);
}

SP_API void sp_machine_destroy(struct sp_machine *m)
{
	struct sp_process *p, *next_p;
	struct sp_file *f, *next_f;
	struct region *region;

	if (!m)
		return;
	region = m->vm.mem.region;
	cds_list_for_each_entry_safe(p, next_p, &m->processes, link) {
		if (p->mm)
			mm_exit(p->mm);
		mem_free(&m->vm.mem, p, sizeof(*p));
	}
	cds_list_for_each_entry_safe(f, next_f, &m->files, link) {
		file_put(f->file);
		mem_free(&m->vm.mem, f, sizeof(*f));
	}
	for (uint64_t i = 0; i < m->nr_holds; i++)
		if (m->holds[i] != PFN_NONE)
			hold_drop(m, i);
	mem_free(&m->vm.mem, m->holds, m->nr_holds * sizeof(*m->holds));
	ksm_destroy(&m->vm);
	rmap_destroy(&m->vm);
	vm_destroy(&m->vm);
	SP_ASSERT(m->vm.mem.nr_live == 0);
	machine_free(m, region);
}

SP_API void sp_memory_usage(const struct sp_machine *m, struct sp_memory_usage *ret)
{
	const struct vm *vm = &m->vm;
	uint64_t content = pool_bytes(&vm->frames.content.buffers);

	*ret = (struct sp_memory_usage){
		.content_bytes = content,
		.metadata_bytes = vm->mem.live_bytes - content,
		.nr_frames_used = vm->frames.nr_used,
		.nr_vmas = vm->vma_pool.nr_used,
		.nr_allocations = vm->mem.nr_allocs,
	};
	ksm_memory(vm, &ret->nr_rmap_items, &ret->nr_stable_nodes);
}

static void trace_event(void *arg, enum event_id id, const uint64_t *args)
{
	struct sp_machine *m = arg;
	char line[256];

	m->trace(m->trace_arg, event_format(line, sizeof(line), id, args));
}

SP_API void sp_trace_set(struct sp_machine *m, sp_trace_fn fn, void *arg)
{
	m->trace = fn;
	m->trace_arg = arg;
	m->vm.events = (struct events){fn ? trace_event : NULL, m};
}

SP_API void sp_audit_set(struct sp_machine *m, sp_audit_fn fn, void *arg)
{
	rmap_of(&m->vm)->audit = fn;
	rmap_of(&m->vm)->audit_arg = arg;
}

SP_API void sp_walk_metrics_get(const struct sp_machine *m, struct sp_walk_metrics *ret)
{
	*ret = ((const struct rmap *)m->vm.rmap)->metrics;
}

SP_API void sp_walk_metrics_reset(struct sp_machine *m)
{
	memset(&rmap_of(&m->vm)->metrics, 0, sizeof(struct sp_walk_metrics));
}

SP_API uint64_t sp_orphan_entries(const struct sp_machine *m)
{
	return m->vm.nr_orphan_entries;
}
