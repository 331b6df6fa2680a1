/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Knobs and counters by name, over all layers, and ksmd's time.
 *
 * Names are those of /sys/kernel/mm/ksm, /proc/PID/ksm_stat and /proc/vmstat. The one
 * table of each layer is asked in turn; sp_stat_name() enumerates them for help and suggestions.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "machine.h"

static const struct {
	const char *name;
	size_t offset;
} vmstats[] = {
#define X(name) {#name, offsetof(struct vmstat, name)},
	SP_VMSTATS(X)
#undef X
};

static const struct {
	const char *name;
	size_t offset;
} rss_stats[] = {
	{"rss_anon", offsetof(struct mm, rss_anon)},
	{"rss_file", offsetof(struct mm, rss_file)},
	{"rss_shmem", offsetof(struct mm, rss_shmem)},
	{"swap", offsetof(struct mm, rss_swap)},
};

SP_API int sp_counter_get(struct sp_machine *m, const char *name, int64_t *ret)
{
	int err = ksm_counter_get(&m->vm, name, ret);

	if (err != -ENOENT)
		return err;
	for (size_t i = 0; i < ARRAY_SIZE(vmstats); i++) {
		if (!strcmp(vmstats[i].name, name)) {
			*ret = (int64_t) * (uint64_t *)((char *)&m->vm.stat + vmstats[i].offset);
			return 0;
		}
	}
	return -ENOENT;
}

SP_API int sp_process_stat(const struct sp_process *p, const char *name, int64_t *ret)
{
	const struct mm *mm = p->mm;

	if (!strcmp(name, "exited")) {
		*ret = !mm;
		return 0;
	}
	if (!mm)
		return -ESRCH;
	if (!strcmp(name, "vmas")) {
		*ret = mm->map_count;
		return 0;
	}
	if (!strcmp(name, "rss")) {
		*ret = mm->rss_anon + mm->rss_file + mm->rss_shmem;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(rss_stats); i++) {
		if (!strcmp(rss_stats[i].name, name)) {
			*ret = *(const int64_t *)((const char *)mm + rss_stats[i].offset);
			return 0;
		}
	}
	return ksm_mm_stat_get(mm, name, ret);
}

SP_API const char *sp_stat_name(int kind, unsigned int i)
{
	static const char *const own[] = {"vmas", "rss", "exited"};
	unsigned int n;

	if (kind == 2)
		return ksm_knob_name(i);
	for (n = 0; kind == 0 ? ksm_counter_name(n) != NULL : ksm_mm_stat_name(n) != NULL; n++)
		if (n == i)
			return kind == 0 ? ksm_counter_name(n) : ksm_mm_stat_name(n);
	i -= n;
	if (kind == 0)
		return i < ARRAY_SIZE(vmstats) ? vmstats[i].name : NULL;
	if (i < ARRAY_SIZE(rss_stats))
		return rss_stats[i].name;
	i -= ARRAY_SIZE(rss_stats);
	return i < ARRAY_SIZE(own) ? own[i] : NULL;
}

SP_API int sp_knob_set(struct sp_machine *m, const char *name, const char *value)
{
	enum sp_strategy strategy;
	int err;

	if (strcmp(name, "strategy"))
		return ksm_knob_set(&m->vm, name, value);
	err = sp_strategy_by_name(value, &strategy);
	if (!err)
		ksm_strategy_set(&m->vm, strategy);
	return err;
}

SP_API int sp_knob_get(struct sp_machine *m, const char *name, char *buf, size_t size)
{
	const char *value;

	if (strcmp(name, "strategy"))
		return ksm_knob_get(&m->vm, name, buf, size);
	value = sp_strategy_name(ksm_strategy(&m->vm));
	if (strlen(value) >= size)
		return -ENOSPC;
	memcpy(buf, value, strlen(value) + 1);
	return 0;
}

SP_API int sp_ksm_scan(struct sp_machine *m, uint64_t passes)
{
	return ksm_scan_passes(&m->vm, passes);
}

SP_API int sp_ksm_scan_pages(struct sp_machine *m, uint64_t nr_pages)
{
	if (!ksm_should_run(&m->vm))
		return -EAGAIN;
	ksm_do_scan(&m->vm, nr_pages);
	return 0;
}

SP_API int64_t sp_ksm_scan_until_stable(struct sp_machine *m, uint64_t max_passes)
{
	return ksm_scan_until_stable(&m->vm, max_passes);
}

SP_API int sp_run_for_ms(struct sp_machine *m, uint64_t ms)
{
	ksm_run_for_ms(&m->vm, ms);
	return 0;
}

SP_API uint64_t sp_now_ms(const struct sp_machine *m)
{
	return clock_now_ms(&m->vm.clock);
}
