/* SPDX-License-Identifier: GPL-2.0-only */
/* The simulated machine of samepage.h as a backend of scenarios; see backend.h. */
#include <errno.h>
#include <string.h>

#include "backend.h"
#include "content.h"
#include "linux_version.h"
#include "mem.h"

struct backend {
	struct mem mem;
	struct sp_machine *machine;
	/* What random_page() makes its page in. */
	struct content_store store;
};

struct sp_machine *engine_backend_machine(struct backend *b)
{
	return b->machine;
}

static struct sp_process *sp(struct backend_process *p)
{
	return (struct sp_process *)p;
}

static void engine_destroy(struct backend *b)
{
	struct mem mem;

	if (!b)
		return;
	sp_machine_destroy(b->machine);
	content_store_destroy(&b->store);
	mem = b->mem;
	mem_free(&mem, b, sizeof(*b));
}

static int engine_linux_version(uint32_t *ret)
{
	*ret = LINUX_VERSION_ENGINE;
	return 0;
}

static int engine_create(const struct backend_config *config, struct backend **ret)
{
	struct mem mem;
	struct backend *b;
	int err;

	mem_init(&mem);
	b = mem_alloc(&mem, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->mem = mem;
	content_store_init(&b->store, &b->mem, PAGE_SIZE);
	err = sp_machine_create(&config->machine, &b->machine);
	if (err) {
		b->machine = NULL;
		engine_destroy(b);
		return err;
	}
	if (config->trace)
		sp_trace_set(b->machine, config->trace, config->trace_arg);
	if (config->audit)
		sp_audit_set(b->machine, config->audit, config->audit_arg);
	*ret = b;
	return 0;
}

/* ---- Processes -------------------------------------------------------------------- */

static int engine_process_create(struct backend *b, struct backend_process **ret)
{
	return sp_process_create(b->machine, (struct sp_process **)ret);
}

static int engine_fork(struct backend_process *p, struct backend_process **ret)
{
	return sp_process_fork(sp(p), (struct sp_process **)ret);
}

static int engine_exit(struct backend_process *p)
{
	return sp_process_exit(sp(p));
}

static uint32_t engine_process_id(const struct backend_process *p)
{
	return sp_process_id((const struct sp_process *)p);
}

static int engine_file_create(struct backend *b, uint64_t nr_pages, uint64_t seed,
			      struct backend_file **ret)
{
	return sp_file_create(b->machine, nr_pages, seed, (struct sp_file **)ret);
}

static int engine_mmap(struct backend_process *p, uint64_t addr, uint64_t length, int prot, int flags,
		       struct backend_file *file, uint64_t pgoff)
{
	return sp_mmap(sp(p), addr, length, prot, flags, (struct sp_file *)file, pgoff, NULL);
}

static int engine_munmap(struct backend_process *p, uint64_t addr, uint64_t length)
{
	return sp_munmap(sp(p), addr, length);
}

static int engine_mprotect(struct backend_process *p, uint64_t addr, uint64_t length, int prot)
{
	return sp_mprotect(sp(p), addr, length, prot);
}

static int engine_mremap(struct backend_process *p, uint64_t addr, uint64_t old_length,
			 uint64_t new_length, int flags, uint64_t new_addr, uint64_t *ret)
{
	return sp_mremap(sp(p), addr, old_length, new_length, flags, new_addr, ret);
}

static int engine_madvise(struct backend_process *p, uint64_t addr, uint64_t length,
			  enum sp_advice advice)
{
	return sp_madvise(sp(p), addr, length, advice);
}

static int engine_mlock(struct backend_process *p, uint64_t addr, uint64_t length)
{
	return sp_mlock(sp(p), addr, length);
}

static int engine_munlock(struct backend_process *p, uint64_t addr, uint64_t length)
{
	return sp_munlock(sp(p), addr, length);
}

static int engine_prctl_set(struct backend_process *p, const unsigned long args[4])
{
	return sp_prctl_set_memory_merge(sp(p), args[0], args[1], args[2], args[3]);
}

static int engine_prctl_get(struct backend_process *p, const unsigned long args[4])
{
	return sp_prctl_get_memory_merge(sp(p), args[0], args[1], args[2], args[3]);
}

/* ---- Accesses ----------------------------------------------------------------------- */

static int engine_read(struct backend_process *p, uint64_t addr, void *buf, uint64_t length)
{
	return sp_read(sp(p), addr, buf, length);
}

static int engine_write(struct backend_process *p, uint64_t addr, const void *buf, uint64_t length)
{
	return sp_write(sp(p), addr, buf, length);
}

static int engine_fill(struct backend_process *p, uint64_t addr, uint64_t length, uint8_t byte)
{
	return sp_fill(sp(p), addr, length, byte);
}

static int engine_fill_random(struct backend_process *p, uint64_t addr, uint64_t length, uint64_t seed)
{
	return sp_fill_random(sp(p), addr, length, seed);
}

static int engine_touch(struct backend_process *p, uint64_t addr, uint64_t length)
{
	return sp_touch(sp(p), addr, length);
}

static int engine_random_page(struct backend *b, uint64_t seed, uint64_t index, void *buf)
{
	content_t content = CONTENT_ZERO;
	int err = content_random(&b->store, &content, seed, index);

	if (err)
		return err;
	content_read(&b->store, content, 0, buf, PAGE_SIZE);
	content_free(&b->store, content);
	return 0;
}

static int engine_load_swapped(struct backend_process *p, uint64_t addr, const void *contents)
{
	return sp_load_swapped(sp(p), addr, contents);
}

/* ---- Looking ------------------------------------------------------------------------- */

static int engine_page_info(struct backend_process *p, uint64_t addr, struct sp_page_info *ret)
{
	return sp_page_info(sp(p), addr, ret);
}

static int engine_vma_find(struct backend_process *p, uint64_t addr, struct sp_vma_info *ret)
{
	return sp_vma_find(sp(p), addr, ret);
}

static int engine_peek(struct backend_process *p, uint64_t addr, void *buf, uint64_t length)
{
	return sp_peek(sp(p), addr, buf, length);
}

/* ---- Kernel work on pages -------------------------------------------------------------- */

static int engine_migrate(struct backend_process *p, uint64_t addr, int node, bool all)
{
	return sp_migrate(sp(p), addr, node, all);
}

static int engine_swap_out(struct backend_process *p, uint64_t addr)
{
	return sp_swap_out(sp(p), addr);
}

static int64_t engine_reclaim(struct backend *b, uint64_t nr_pages, unsigned int rounds)
{
	return sp_reclaim(b->machine, nr_pages, rounds);
}

static int64_t engine_compact(struct backend *b)
{
	uint64_t moved = 0;
	int err = sp_compact(b->machine, &moved, NULL);

	return err ? err : (int64_t)moved;
}

static int engine_offline(struct backend *b, unsigned int node)
{
	return sp_offline(b->machine, node);
}

static int engine_online(struct backend *b, unsigned int node)
{
	return sp_online(b->machine, node);
}

static int engine_hold(struct backend_process *p, uint64_t addr, uint64_t *handle)
{
	return sp_hold(sp(p), addr, handle);
}

static int engine_drop(struct backend *b, uint64_t handle)
{
	return sp_drop(b->machine, handle);
}

/* ---- ksmd -------------------------------------------------------------------------------- */

static int engine_knob_set(struct backend *b, const char *name, const char *value)
{
	return sp_knob_set(b->machine, name, value);
}

static int engine_knob_get(struct backend *b, const char *name, char *buf, size_t size)
{
	return sp_knob_get(b->machine, name, buf, size);
}

static int engine_counter_get(struct backend *b, const char *name, int64_t *ret)
{
	if (!strcmp(name, "orphan_entries")) {
		*ret = (int64_t)sp_orphan_entries(b->machine);
		return 0;
	}
	if (!strcmp(name, "now_ms")) {
		*ret = (int64_t)sp_now_ms(b->machine);
		return 0;
	}
	return sp_counter_get(b->machine, name, ret);
}

static int engine_process_stat(const struct backend_process *p, const char *name, int64_t *ret)
{
	return sp_process_stat((const struct sp_process *)p, name, ret);
}

static int engine_scan(struct backend *b, uint64_t passes)
{
	return sp_ksm_scan(b->machine, passes);
}

static int engine_scan_pages(struct backend *b, uint64_t nr_pages)
{
	return sp_ksm_scan_pages(b->machine, nr_pages);
}

static int64_t engine_scan_until_stable(struct backend *b, uint64_t max_passes)
{
	return sp_ksm_scan_until_stable(b->machine, max_passes);
}

static int engine_run_for_ms(struct backend *b, uint64_t ms)
{
	return sp_run_for_ms(b->machine, ms);
}

/* ---- Walks and accounting ------------------------------------------------------------------ */

static int engine_walk(struct backend_process *p, uint64_t addr, struct sp_walk_result *ret)
{
	return sp_walk(sp(p), addr, ret);
}

static int engine_metrics(struct backend *b, struct sp_walk_metrics *ret)
{
	sp_walk_metrics_get(b->machine, ret);
	return 0;
}

static int engine_memory_usage(struct backend *b, struct sp_memory_usage *ret)
{
	sp_memory_usage(b->machine, ret);
	return 0;
}

static int engine_validate(struct backend *b, char *buf, size_t size)
{
	return sp_validate(b->machine, buf, size);
}

const struct backend_ops engine_backend = {
	.name = "engine",
	.linux_version = engine_linux_version,
	.create = engine_create,
	.destroy = engine_destroy,
	.process_create = engine_process_create,
	.fork = engine_fork,
	.exit = engine_exit,
	.process_id = engine_process_id,
	.file_create = engine_file_create,
	.mmap = engine_mmap,
	.munmap = engine_munmap,
	.mprotect = engine_mprotect,
	.mremap = engine_mremap,
	.madvise = engine_madvise,
	.mlock = engine_mlock,
	.munlock = engine_munlock,
	.prctl_set = engine_prctl_set,
	.prctl_get = engine_prctl_get,
	.read = engine_read,
	.write = engine_write,
	.fill = engine_fill,
	.fill_random = engine_fill_random,
	.touch = engine_touch,
	.random_page = engine_random_page,
	.load_swapped = engine_load_swapped,
	.page_info = engine_page_info,
	.vma_find = engine_vma_find,
	.peek = engine_peek,
	.migrate = engine_migrate,
	.swap_out = engine_swap_out,
	.reclaim = engine_reclaim,
	.compact = engine_compact,
	.offline = engine_offline,
	.online = engine_online,
	.hold = engine_hold,
	.drop = engine_drop,
	.knob_set = engine_knob_set,
	.knob_get = engine_knob_get,
	.counter_get = engine_counter_get,
	.process_stat = engine_process_stat,
	.scan = engine_scan,
	.scan_pages = engine_scan_pages,
	.scan_until_stable = engine_scan_until_stable,
	.run_for_ms = engine_run_for_ms,
	.walk = engine_walk,
	.metrics = engine_metrics,
	.memory_usage = engine_memory_usage,
	.validate = engine_validate,
};
