/* SPDX-License-Identifier: GPL-2.0-only */
/* The running kernel as a backend: its table, start and end; see kernel.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "kernel.h"
#include "linux_version.h"
#include "proc_text.h"

#define GET_MEMORY_MERGE 68
/* Whoever is asked draws a line on a terminal, too. */
#define ASK_NS UINT64_C(50000000)

int kernel_cannot(struct backend *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (b->reason_bytes)
		vsnprintf(b->reason, b->reason_bytes, fmt, ap);
	va_end(ap);
	return BACKEND_CANNOT;
}

bool kernel_stopped(struct backend *b)
{
	uint64_t now_ns = clock_measure_ns();

	if (!b->stop || now_ns - b->asked_ns < ASK_NS)
		return false;
	b->asked_ns = now_ns;
	return b->stop(b->stop_arg);
}

/* ---- What the machine of the scenario asks for -------------------------------------- */

/* "always [madvise] never" */
static bool thp_is(const char *word)
{
	char text[64], chosen[32];

	if (proc_text_read("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof(text)))
		return !strcmp(word, "never");
	snprintf(chosen, sizeof(chosen), "[%s]", word);
	return strstr(text, chosen);
}

static int take_thp(struct backend *b, enum sp_thp thp)
{
	if (thp == SP_THP_ALWAYS && !thp_is("always"))
		return kernel_cannot(b, "transparent_hugepage/enabled is not always");
	b->no_thp = thp == SP_THP_NEVER || (thp == SP_THP_MADVISE && !thp_is("madvise"));
	return 0;
}

static int take_config(struct backend *b, const struct sp_config *config)
{
	struct sp_config usual;

	sp_config_init(&usual);
	if (config->strategy != SP_STRATEGY_FULL)
		return kernel_cannot(b, "its walk strategy is its own");
	if (config->nr_frames || config->nr_swap_slots)
		return kernel_cannot(b, "its memory and swap are what they are");
	if (config->nr_nodes - config->nr_movable_nodes > b->nr_nodes)
		return kernel_cannot(b, "the scenario wants %u nodes, this kernel has %u",
				     config->nr_nodes - config->nr_movable_nodes, b->nr_nodes);
	if (config->max_map_count != usual.max_map_count)
		b->map_limit = config->max_map_count;
	return take_thp(b, config->thp);
}

/* ---- Start and end --------------------------------------------------------------------- */

static void kernel_destroy(struct backend *b)
{
	struct mem mem;
	char msg[256];

	if (!b)
		return;
	kernel_processes_destroy(b);
	if (b->taken_over)
		kernel_ksmd_finish(b);
	kernel_offline_finish(b);
	if (b->own_session && kernel_session_close(b->session, msg, sizeof(msg)) && b->remark_bytes)
		snprintf(b->remark, b->remark_bytes, "%s", msg);
	content_store_destroy(&b->store);
	mem = b->mem;
	mem_free(&mem, b, sizeof(*b));
}

static int take_over(struct backend *b, const struct sp_config *machine)
{
	const struct kernel_session *session;
	char msg[256] = "";
	int err = 0;

	b->own_session = !b->session;
	if (b->own_session)
		err = kernel_session_open(&b->session, msg, sizeof(msg));
	if (err)
		return err == BACKEND_CANNOT ? kernel_cannot(b, "%s", msg) : err;
	session = b->session;
	b->pages = session->pages;
	b->ksmd = session->ksmd;
	b->has_merge_any = session->has_merge_any;
	b->nr_nodes = session->nr_nodes;
	b->has_swap = session->has_swap;
	strcpy(b->cgroup, session->cgroup);
	err = take_config(b, machine);
	if (!err)
		err = kernel_ksmd_init(b);
	b->taken_over = !err;
	return err ? err : kernel_offline_init(b, machine);
}

static int kernel_create(const struct backend_config *config, struct backend **ret)
{
	struct mem mem;
	struct backend *b;
	int err;

	mem_init(&mem);
	b = mem_alloc(&mem, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->mem = mem;
	b->session = config->session;
	b->generation = 1;
	b->moment = 1;
	b->started_ns = clock_measure_ns();
	b->reason = config->reason;
	b->reason_bytes = config->reason_bytes;
	b->remark = config->remark;
	b->remark_bytes = config->remark_bytes;
	b->stop = config->stop;
	b->stop_arg = config->stop_arg;
	content_store_init(&b->store, &b->mem, PAGE_SIZE);
	err = take_over(b, &config->machine);
	if (err) {
		kernel_destroy(b);
		return err;
	}
	*ret = b;
	return 0;
}

/* ---- What a kernel does not do ------------------------------------------------------------ */

static int kernel_walk(struct backend_process *p, uint64_t addr, struct sp_walk_result *ret)
{
	(void)addr, (void)ret;
	return kernel_cannot(p->backend, "a kernel makes no walk on command");
}

static int kernel_metrics(struct backend *b, struct sp_walk_metrics *ret)
{
	(void)ret;
	return kernel_cannot(b, "a kernel does not count what its walks do");
}

static int kernel_memory_usage(struct backend *b, struct sp_memory_usage *ret)
{
	(void)ret;
	return kernel_cannot(b, "a kernel's memory is not counted");
}

/* It checks itself, or dies. */
static int kernel_validate(struct backend *b, char *buf, size_t size)
{
	(void)b, (void)buf, (void)size;
	return 0;
}

const struct backend_ops kernel_backend = {
	.name = "kernel",
	.blind = BACKEND_BLIND_REFCOUNT | BACKEND_BLIND_YOUNG | BACKEND_BLIND_DIRTY | BACKEND_BLIND_WRITABLE,
	.is_real = true,
	.linux_version = linux_version_running,
	.create = kernel_create,
	.destroy = kernel_destroy,
	.process_create = kernel_process_create,
	.fork = kernel_fork,
	.exit = kernel_exit,
	.process_id = kernel_process_id,
	.file_create = kernel_file_create,
	.mmap = kernel_mmap,
	.munmap = kernel_munmap,
	.mprotect = kernel_mprotect,
	.mremap = kernel_mremap,
	.madvise = kernel_madvise,
	.mlock = kernel_mlock,
	.munlock = kernel_munlock,
	.prctl_set = kernel_prctl_set,
	.prctl_get = kernel_prctl_get,
	.read = kernel_read,
	.write = kernel_write,
	.fill = kernel_fill,
	.fill_random = kernel_fill_random,
	.touch = kernel_touch,
	.random_page = kernel_random_page,
	.load_swapped = kernel_load_swapped,
	.page_info = kernel_page_info,
	.look = kernel_look,
	.vma_find = kernel_vma_find,
	.peek = kernel_peek,
	.migrate = kernel_migrate,
	.swap_out = kernel_swap_out,
	.reclaim = kernel_reclaim,
	.compact = kernel_compact,
	.offline = kernel_offline,
	.online = kernel_online,
	.hold = kernel_hold,
	.drop = kernel_drop,
	.knob_set = kernel_knob_set,
	.knob_get = kernel_knob_get,
	.counter_get = kernel_counter_get,
	.process_stat = kernel_process_stat,
	.scan = kernel_scan,
	.scan_pages = kernel_scan_pages,
	.scan_until_stable = kernel_scan_until_stable,
	.run_for_ms = kernel_run_for_ms,
	.walk = kernel_walk,
	.metrics = kernel_metrics,
	.memory_usage = kernel_memory_usage,
	.validate = kernel_validate,
};
