/* SPDX-License-Identifier: GPL-2.0-only */
/* The backend that writes down what it is asked; see fake_backend.h. */
#include "fake_backend.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

struct backend {
	uint32_t nr_processes;
	sp_audit_fn audit;
	void *audit_arg;
};

/* A process is its number. */
static struct backend machine;
static char lines[1 << 16];
static struct {
	char call[64];
	int64_t value;
} returns[16];
static unsigned int nr_returns;
static struct sp_walk_result walk_result, audit_result;
static char audit_call[64];

void fake_reset(void)
{
	memset(&machine, 0, sizeof(machine));
	lines[0] = '\0';
	nr_returns = 0;
	memset(&walk_result, 0, sizeof(walk_result));
	audit_call[0] = '\0';
}

void fake_return(const char *call, int64_t value)
{
	snprintf(returns[nr_returns].call, sizeof(returns[0].call), "%s", call);
	returns[nr_returns++].value = value;
}

void fake_walk(const struct sp_walk_result *result)
{
	walk_result = *result;
}

void fake_audit_at(const char *call, const struct sp_walk_result *result)
{
	snprintf(audit_call, sizeof(audit_call), "%s", call);
	audit_result = *result;
}

const char *fake_log(void)
{
	return lines;
}

/* The latest return value set for a call that begins like this line. */
static int64_t answer(const char *line)
{
	for (unsigned int i = nr_returns; i-- > 0;)
		if (!strncmp(line, returns[i].call, strlen(returns[i].call)))
			return returns[i].value;
	return 0;
}

static int64_t say(const char *fmt, ...) SP_PRINTF(1, 2);

static int64_t say(const char *fmt, ...)
{
	size_t used = strlen(lines);
	char line[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	snprintf(lines + used, sizeof(lines) - used, "%s\n", line);
	if (audit_call[0] && !strncmp(line, audit_call, strlen(audit_call)))
		machine.audit(machine.audit_arg, "migrate: unmap walk", &audit_result);
	return answer(line);
}

static unsigned int id(const struct backend_process *p)
{
	return (unsigned int)(uintptr_t)p;
}

static uint64_t at(uint64_t addr)
{
	return addr - WINDOWS_START;
}

/* 7.2, unless told otherwise. */
static int fake_linux_version(uint32_t *ret)
{
	int64_t version = answer("linux_version");

	*ret = version ? (uint32_t)version : LINUX_VERSION(7, 2);
	return version < 0 ? (int)version : 0;
}

static int fake_create(const struct backend_config *config, struct backend **ret)
{
	lines[0] = '\0';
	machine.nr_processes = 0;
	machine.audit = config->audit;
	machine.audit_arg = config->audit_arg;
	*ret = &machine;
	return (int)answer("create");
}

static void fake_destroy(struct backend *b)
{
	(void)b;
}

static int new_process(int64_t err, struct backend_process **ret)
{
	if (!err)
		*ret = (struct backend_process *)(uintptr_t)++machine.nr_processes;
	return (int)err;
}

static int fake_process_create(struct backend *b, struct backend_process **ret)
{
	return new_process(say("process %u", b->nr_processes + 1), ret);
}

static int fake_fork(struct backend_process *p, struct backend_process **ret)
{
	return new_process(say("%u fork %u", id(p), machine.nr_processes + 1), ret);
}

static int fake_exit(struct backend_process *p)
{
	return (int)say("%u exit", id(p));
}

static uint32_t fake_process_id(const struct backend_process *p)
{
	return id(p);
}

static int fake_file_create(struct backend *b, uint64_t nr_pages, uint64_t seed, struct backend_file **ret)
{
	(void)b;
	*ret = (struct backend_file *)(uintptr_t)nr_pages;
	return (int)say("file %" PRIu64 " seed %" PRIu64, nr_pages, seed);
}

static int fake_mmap(struct backend_process *p, uint64_t addr, uint64_t length, int prot, int flags,
		     struct backend_file *file, uint64_t pgoff)
{
	return (int)say("%u mmap w+0x%" PRIx64 " 0x%" PRIx64 " prot %d flags 0x%x file %u at %" PRIu64, id(p),
			at(addr), length, prot, (unsigned int)flags, (unsigned int)(uintptr_t)file, pgoff);
}

static int fake_munmap(struct backend_process *p, uint64_t addr, uint64_t length)
{
	return (int)say("%u munmap w+0x%" PRIx64 " 0x%" PRIx64, id(p), at(addr), length);
}

static int fake_mprotect(struct backend_process *p, uint64_t addr, uint64_t length, int prot)
{
	return (int)say("%u mprotect w+0x%" PRIx64 " 0x%" PRIx64 " %d", id(p), at(addr), length, prot);
}

static int fake_mremap(struct backend_process *p, uint64_t addr, uint64_t old_length, uint64_t new_length,
		       int flags, uint64_t new_addr, uint64_t *ret)
{
	*ret = new_addr ? new_addr : WINDOWS_START + 0x1000000;
	return (int)say("%u mremap w+0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " flags %d to %s0x%" PRIx64, id(p),
			at(addr), old_length, new_length, flags, new_addr ? "w+" : "",
			new_addr ? at(new_addr) : 0);
}

static int fake_madvise(struct backend_process *p, uint64_t addr, uint64_t length, enum sp_advice advice)
{
	return (int)say("%u madvise w+0x%" PRIx64 " 0x%" PRIx64 " %d", id(p), at(addr), length, advice);
}

static int fake_mlock(struct backend_process *p, uint64_t addr, uint64_t length)
{
	return (int)say("%u mlock w+0x%" PRIx64 " 0x%" PRIx64, id(p), at(addr), length);
}

static int fake_munlock(struct backend_process *p, uint64_t addr, uint64_t length)
{
	return (int)say("%u munlock w+0x%" PRIx64 " 0x%" PRIx64, id(p), at(addr), length);
}

static int fake_prctl_set(struct backend_process *p, const unsigned long a[4])
{
	return (int)say("%u prctl-set %lu %lu %lu %lu", id(p), a[0], a[1], a[2], a[3]);
}

static int fake_prctl_get(struct backend_process *p, const unsigned long a[4])
{
	return (int)say("%u prctl-get %lu %lu %lu %lu", id(p), a[0], a[1], a[2], a[3]);
}

static int fake_read(struct backend_process *p, uint64_t addr, void *buf, uint64_t length)
{
	memset(buf, 0, length);
	return (int)say("%u read w+0x%" PRIx64 " 0x%" PRIx64, id(p), at(addr), length);
}

static int fake_write(struct backend_process *p, uint64_t addr, const void *buf, uint64_t length)
{
	const uint8_t *bytes = buf;

	return (int)say("%u write w+0x%" PRIx64 " %" PRIu64 ": %u..%u", id(p), at(addr), length, bytes[0],
			bytes[length - 1]);
}

static int fake_fill(struct backend_process *p, uint64_t addr, uint64_t length, uint8_t byte)
{
	return (int)say("%u fill w+0x%" PRIx64 " 0x%" PRIx64 " 0x%02x", id(p), at(addr), length, byte);
}

static int fake_fill_random(struct backend_process *p, uint64_t addr, uint64_t length, uint64_t seed)
{
	return (int)say("%u fill w+0x%" PRIx64 " 0x%" PRIx64 " random %" PRIu64, id(p), at(addr), length, seed);
}

static int fake_touch(struct backend_process *p, uint64_t addr, uint64_t length)
{
	return (int)say("%u touch w+0x%" PRIx64 " 0x%" PRIx64, id(p), at(addr), length);
}

static int fake_random_page(struct backend *b, uint64_t seed, uint64_t index, void *buf)
{
	(void)b;
	memset(buf, (int)(seed + index), PAGE_SIZE);
	return 0;
}

static int fake_load_swapped(struct backend_process *p, uint64_t addr, const void *contents)
{
	return (int)say("%u load_swapped w+0x%" PRIx64 "%s", id(p), at(addr), contents ? " known" : "");
}

static int fake_page_info(struct backend_process *p, uint64_t addr, struct sp_page_info *ret)
{
	(void)p;
	(void)addr;
	memset(ret, 0, sizeof(*ret));
	ret->state = (enum sp_page_state)answer("state");
	ret->pfn = (uint64_t)answer("pfn");
	ret->ksm = answer("ksm");
	return (int)answer("page_info");
}

/* One VMA: the 4 pages that `vma` says from the start of windows on. */
static int fake_vma_find(struct backend_process *p, uint64_t addr, struct sp_vma_info *ret)
{
	uint64_t pages = (uint64_t)answer("vma");

	(void)p;
	memset(ret, 0, sizeof(*ret));
	ret->start = WINDOWS_START;
	ret->end = WINDOWS_START + pages * PAGE_SIZE;
	return pages && ret->end > addr ? 0 : -ENOENT;
}

static int fake_peek(struct backend_process *p, uint64_t addr, void *buf, uint64_t length)
{
	(void)p;
	(void)addr;
	memset(buf, (int)answer("byte"), length);
	return (int)answer("peek");
}

static int fake_migrate(struct backend_process *p, uint64_t addr, int node, bool all)
{
	return (int)say("%u migrate w+0x%" PRIx64 " node %d%s", id(p), at(addr), node, all ? " all" : "");
}

static int fake_swap_out(struct backend_process *p, uint64_t addr)
{
	return (int)say("%u swap_out w+0x%" PRIx64, id(p), at(addr));
}

static int64_t fake_reclaim(struct backend *b, uint64_t nr_pages, unsigned int rounds)
{
	(void)b;
	return say("reclaim %" PRIu64 " rounds %u", nr_pages, rounds);
}

static int64_t fake_compact(struct backend *b)
{
	(void)b;
	return say("compact");
}

static int fake_offline(struct backend *b, unsigned int node)
{
	(void)b;
	return (int)say("offline %u", node);
}

static int fake_online(struct backend *b, unsigned int node)
{
	(void)b;
	return (int)say("online %u", node);
}

static int fake_hold(struct backend_process *p, uint64_t addr, uint64_t *handle)
{
	*handle = at(addr);
	return (int)say("%u hold w+0x%" PRIx64, id(p), at(addr));
}

static int fake_drop(struct backend *b, uint64_t handle)
{
	(void)b;
	return (int)say("drop w+0x%" PRIx64, handle);
}

static int fake_knob_set(struct backend *b, const char *name, const char *value)
{
	(void)b;
	/* Those that start every run are no news. */
	if (!machine.nr_processes && !strcmp(name, "run"))
		return 0;
	return (int)say("set %s %s", name, value);
}

static int fake_knob_get(struct backend *b, const char *name, char *buf, size_t size)
{
	(void)b;
	if (!strcmp(name, "advisor_mode"))
		snprintf(buf, size, "none [scan-time]\n");
	else
		snprintf(buf, size, "7\n");
	return 0;
}

static int fake_counter_get(struct backend *b, const char *name, int64_t *ret)
{
	char line[64];

	(void)b;
	snprintf(line, sizeof(line), "counter %s", name);
	*ret = answer(line);
	return *ret == BACKEND_CANNOT ? BACKEND_CANNOT : 0;
}

static int fake_process_stat(const struct backend_process *p, const char *name, int64_t *ret)
{
	char line[64];

	snprintf(line, sizeof(line), "stat %u %s", id(p), name);
	*ret = answer(line);
	return 0;
}

static int fake_scan(struct backend *b, uint64_t passes)
{
	(void)b;
	return (int)say("scan %" PRIu64, passes);
}

static int fake_scan_pages(struct backend *b, uint64_t nr_pages)
{
	(void)b;
	return (int)say("scan pages %" PRIu64, nr_pages);
}

static int64_t fake_scan_until_stable(struct backend *b, uint64_t max_passes)
{
	(void)b;
	return say("scan until-stable %" PRIu64, max_passes);
}

static int fake_run_for_ms(struct backend *b, uint64_t ms)
{
	(void)b;
	return (int)say("run %" PRIu64 " ms", ms);
}

static int fake_walk_page(struct backend_process *p, uint64_t addr, struct sp_walk_result *ret)
{
	*ret = walk_result;
	return (int)say("%u walk w+0x%" PRIx64, id(p), at(addr));
}

static int fake_metrics(struct backend *b, struct sp_walk_metrics *ret)
{
	(void)b;
	memset(ret, 0, sizeof(*ret));
	return 0;
}

static int fake_memory_usage(struct backend *b, struct sp_memory_usage *ret)
{
	(void)b;
	memset(ret, 0, sizeof(*ret));
	return 0;
}

static int fake_validate(struct backend *b, char *buf, size_t size)
{
	(void)b;
	snprintf(buf, size, "frame 7: mapcount 1, found 2\nmore\n");
	return (int)answer("validate");
}

const struct backend_ops fake_backend = {
	.name = "fake",
	.is_real = true,
	.linux_version = fake_linux_version,
	.create = fake_create,
	.destroy = fake_destroy,
	.process_create = fake_process_create,
	.fork = fake_fork,
	.exit = fake_exit,
	.process_id = fake_process_id,
	.file_create = fake_file_create,
	.mmap = fake_mmap,
	.munmap = fake_munmap,
	.mprotect = fake_mprotect,
	.mremap = fake_mremap,
	.madvise = fake_madvise,
	.mlock = fake_mlock,
	.munlock = fake_munlock,
	.prctl_set = fake_prctl_set,
	.prctl_get = fake_prctl_get,
	.read = fake_read,
	.write = fake_write,
	.fill = fake_fill,
	.fill_random = fake_fill_random,
	.touch = fake_touch,
	.random_page = fake_random_page,
	.load_swapped = fake_load_swapped,
	.page_info = fake_page_info,
	.vma_find = fake_vma_find,
	.peek = fake_peek,
	.migrate = fake_migrate,
	.swap_out = fake_swap_out,
	.reclaim = fake_reclaim,
	.compact = fake_compact,
	.offline = fake_offline,
	.online = fake_online,
	.hold = fake_hold,
	.drop = fake_drop,
	.knob_set = fake_knob_set,
	.knob_get = fake_knob_get,
	.counter_get = fake_counter_get,
	.process_stat = fake_process_stat,
	.scan = fake_scan,
	.scan_pages = fake_scan_pages,
	.scan_until_stable = fake_scan_until_stable,
	.run_for_ms = fake_run_for_ms,
	.walk = fake_walk_page,
	.metrics = fake_metrics,
	.memory_usage = fake_memory_usage,
	.validate = fake_validate,
};
