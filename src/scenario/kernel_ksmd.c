/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The running kernel's ksmd: knobs, counters, and passes one by one; see
 * kernel.h.
 *
 * A PASS. ksmd is parked (run 0), or asleep for so long that nothing but
 * another value of sleep_millisecs wakes it. Woken, it looks at pages_to_scan
 * pages, or to the end of the pass, and goes to sleep again. So: as many pages
 * as there could be, one wake, and wait until full_scans has grown. When ksmd
 * sleeps and it has not, there is nobody to scan (V16), or the advisor keeps
 * pages_to_scan small, and then it is woken again.
 *
 * A wake is lost when ksmd is not asleep yet: its state is asked first. Where
 * ksmd is not to be seen (a PID namespace), time must do.
 *
 * The scenario's own pages_to_scan and sleep_millisecs stand in the files while
 * no pass is made, and rule when it lets time pass.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "kernel.h"
#include "ksmd_thread.h"
#include "proc_text.h"

/* More than any machine has candidates for; the knob is an unsigned int. */
#define ALL_PAGES "2000000000"
#define PASS_MS 120000
/* ksmd looks asleep so long before it is believed. */
#define ASLEEP_NS 200000L
#define POLL_NS 50000L
/* Where it cannot be seen: nothing was scanned for so long. */
#define QUIET_MS 500
#define BLIND_NAP_NS 50000000L

static const struct {
	const char *name, *value;
} defaults[] = {
	{ "advisor_mode", "none" },
	{ "pages_to_scan", "100" },
	{ "sleep_millisecs", "20" },
	{ "max_page_sharing", "256" },
	{ "merge_across_nodes", "1" },
	{ "stable_node_chains_prune_millisecs", "2000" },
	{ "use_zero_pages", "0" },
	{ "smart_scan", "1" },
};

static const struct counter_base based[] = {
	{ .name = "pages_scanned" },
	{ .name = "pages_skipped" },
	{ .name = "ksm_zero_pages" },
	{ .name = "general_profit" },
	{ .name = "cow_ksm", .vmstat = true },
	{ .name = "ksm_swpin_copy", .vmstat = true },
	{ .name = "pswpin", .vmstat = true },
	{ .name = "pswpout", .vmstat = true },
	{ .name = "pgmigrate_success", .vmstat = true },
	{ .name = "pgmigrate_fail", .vmstat = true },
};

_Static_assert(ARRAY_SIZE(based) <= KERNEL_NR_BASES, "a place for each");

static void pause_ns(long ns)
{
	const struct timespec time = { ns / 1000000000L, ns % 1000000000L };

	nanosleep(&time, NULL);
}

static uint64_t after_ms(uint64_t ms)
{
	return clock_measure_ns() + ms * UINT64_C(1000000);
}

/* ---- Files -------------------------------------------------------------------------- */

static void knob_path(const char *name, char path[128])
{
	snprintf(path, 128, "%s/%.80s", HOST_KSM_DIR, name);
}

static int knob_write(struct backend *b, const char *name, const char *value)
{
	char path[128];

	knob_path(name, path);
	return kept_write(&b->session->files, path, value);
}

static int knob_read(struct backend *b, const char *name, char *buf, size_t size)
{
	char path[128];

	knob_path(name, path);
	return kept_read(&b->session->files, path, buf, size);
}

static int counter(struct backend *b, const char *name, int64_t *ret)
{
	char path[128];

	knob_path(name, path);
	return kept_value(&b->session->files, path, ret);
}

/* All of them are read at once, which takes long: what was read is kept until something is done. */
static int vmstat(struct backend *b, const char *name, int64_t *ret)
{
	int err = 0;

	if (b->vmstat_moment != b->moment) {
		err = kept_read(&b->session->files, "/proc/vmstat", b->vmstat, sizeof(b->vmstat));
		b->vmstat_moment = err ? 0 : b->moment;
	}
	return err ? err : proc_text_find(b->vmstat, name, ret);
}

/* ---- Is it asleep? --------------------------------------------------------------------- */

/*
 * Whoever is woken says for a moment that it sleeps again, until it has seen
 * why it was woken, and may be preempted there. Where it waits can be told of
 * one alone that has left its processor. Without that file: no.
 */
static bool is_on_processor(struct backend *b)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/%d/wchan", b->ksmd);
	return !kept_read(&b->session->files, path, text, sizeof(text)) && !strcmp(text, "0");
}

/* 'S' and the like; 0: not to be seen. */
static char state(struct backend *b)
{
	char path[64], text[1024];
	const char *end;
	char now;

	if (!b->ksmd)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", b->ksmd);
	if (kept_read(&b->session->files, path, text, sizeof(text)))
		return 0;
	end = strrchr(text, ')');
	now = end && end[1] == ' ' ? end[2] : 0;
	return now == 'S' && is_on_processor(b) ? 'R' : now;
}

static bool is_asleep(char state_now)
{
	return state_now == 'S' || state_now == 'I';
}

/* 0 when it has gone to sleep; -ETIMEDOUT. */
static int wait_asleep(struct backend *b)
{
	uint64_t deadline_ns = after_ms(PASS_MS);

	if (!b->ksmd) {
		pause_ns(BLIND_NAP_NS);
		return 0;
	}
	while (!is_asleep(state(b))) {
		if (clock_measure_ns() > deadline_ns)
			return -ETIMEDOUT;
		if (kernel_stopped(b))
			return -EINTR;
		pause_ns(POLL_NS);
	}
	return 0;
}

/* Another long sleep than the last one: whoever sleeps notices. */
static int nap(struct backend *b)
{
	char value[16];

	snprintf(value, sizeof(value), "%u", 100000000 + b->session->nr_naps++ % 1000);
	return knob_write(b, "sleep_millisecs", value);
}

/* ---- Passes --------------------------------------------------------------------------------- */

/* Waits for full_scans to grow. */
static int finish_pass(struct backend *b, int64_t before)
{
	uint64_t deadline_ns = after_ms(PASS_MS), quiet_ns = after_ms(QUIET_MS);
	int64_t scanned = -1, now = 0;
	bool slept = false;

	for (;;) {
		int64_t full_scans, last = now;
		bool asleep = is_asleep(state(b));
		int err = counter(b, "full_scans", &full_scans);

		if (err)
			return err;
		if (full_scans > before)
			return wait_asleep(b);
		if (clock_measure_ns() > deadline_ns) {
			kernel_cannot(b, "ksmd did not finish a pass in %d s", PASS_MS / 1000);
			return -ETIMEDOUT;
		}
		if (kernel_stopped(b))
			return -EINTR;
		if (counter(b, "pages_scanned", &now))
			now = 0; /* not on older kernels */
		if (now != last)
			quiet_ns = after_ms(QUIET_MS);
		if (b->ksmd ? asleep && slept : clock_measure_ns() > quiet_ns) {
			/* A wake that scanned nothing ends the hope that another would. */
			if (now == scanned || !now)
				return -EAGAIN;
			scanned = now;
			err = nap(b);
			if (err)
				return err;
			asleep = false;
			quiet_ns = after_ms(QUIET_MS);
		}
		slept = asleep;
		pause_ns(asleep ? ASLEEP_NS : POLL_NS);
	}
}

/* Wakes ksmd once: it looks at up to pages_to_scan pages. */
static int wake(struct backend *b)
{
	/* Where it is parked, a sleep from before run was 0 may still last. Whether it has left that by
	 * the time run is 1, or leaves it only then, it makes one batch. */
	int err = nap(b);

	if (err || b->awake)
		return err;
	err = knob_write(b, "run", "1");
	b->awake = !err;
	return err;
}

static int one_pass(struct backend *b)
{
	int64_t before;
	int err = counter(b, "full_scans", &before);

	if (!err)
		err = wake(b);
	return err ? err : finish_pass(b, before);
}

struct batch {
	char pages[32], sleep[32];
	bool pages_set;
};

static int begin_passes(struct backend *b, struct batch *batch, const char *nr_pages)
{
	int err = knob_read(b, "pages_to_scan", batch->pages, sizeof(batch->pages));

	if (!err)
		err = knob_read(b, "sleep_millisecs", batch->sleep, sizeof(batch->sleep));
	if (err)
		return err;
	if (strcmp(b->run, "1"))
		return -EAGAIN;
	kernel_pages_changed(b);
	/* A pass that begins does this by itself. */
	if (b->mid_pass)
		kernel_work_drain();
	b->mid_pass = false;
	/* EINVAL: the advisor has it. */
	err = knob_write(b, "pages_to_scan", nr_pages);
	batch->pages_set = !err;
	return err == -EINVAL ? 0 : err;
}

/* Parks ksmd: the sleep that is written wakes it, and it finds run 0. */
static int end_passes(struct backend *b, const struct batch *batch)
{
	int err = 0;

	kernel_did(b);
	if (b->awake) {
		/* This waits for the end of a batch: nothing changes from here on. */
		err = knob_write(b, "run", "0");
		b->awake = false;
		if (!err)
			err = nap(b);
	}
	if (!err && batch->pages_set)
		err = knob_write(b, "pages_to_scan", batch->pages);
	return err ? err : knob_write(b, "sleep_millisecs", batch->sleep);
}

int kernel_scan(struct backend *b, uint64_t passes)
{
	struct batch batch = { .pages_set = false };
	int err = begin_passes(b, &batch, ALL_PAGES);
	int end_err;

	if (err == -EAGAIN)
		return err;
	for (uint64_t i = 0; !err && i < passes; i++)
		err = kernel_stopped(b) ? -EINTR : one_pass(b);
	end_err = end_passes(b, &batch);
	return err ? err : end_err;
}

/* What moves when ksmd does anything. -ENOENT: this kernel does not count all of it. */
static int read_progress(struct backend *b, int64_t *ret)
{
	static const char *const names[] = { "full_scans", "pages_scanned", "pages_skipped" };
	int64_t value;
	int err = 0;

	*ret = 0;
	for (size_t i = 0; !err && i < ARRAY_SIZE(names); i++) {
		err = counter(b, names[i], &value);
		*ret += err ? 0 : value;
	}
	return err;
}

static int look_at_some(struct backend *b)
{
	int64_t before, after;
	int uncounted = read_progress(b, &before);
	int err = wake(b);

	if (!err)
		err = wait_asleep(b);
	b->mid_pass = true;
	if (err || uncounted || read_progress(b, &after))
		return err;
	return after == before ? -EAGAIN : 0;
}

int kernel_scan_pages(struct backend *b, uint64_t nr_pages)
{
	struct batch batch = { .pages_set = false };
	char value[24];
	int err, end_err;

	if (!b->ksmd)
		return kernel_cannot(b, "ksmd is not to be seen from here: who knows when it has looked at so many pages");
	snprintf(value, sizeof(value), "%llu", (unsigned long long)MIN(nr_pages, UINT64_C(2000000000)));
	err = begin_passes(b, &batch, value);
	if (err == -EAGAIN)
		return err;
	if (!err && !batch.pages_set)
		err = kernel_cannot(b, "the advisor decides how many pages ksmd looks at");
	if (!err)
		err = look_at_some(b);
	end_err = end_passes(b, &batch);
	return err ? err : end_err;
}

struct figures {
	int64_t shared, sharing, zero, profit;
};

static int read_figures(struct backend *b, struct figures *f)
{
	int err = counter(b, "pages_shared", &f->shared);

	*f = (struct figures){ .shared = f->shared };
	if (!err)
		err = counter(b, "pages_sharing", &f->sharing);
	/* Together with the profit, this is the number of rmap_items. */
	if (counter(b, "ksm_zero_pages", &f->zero))
		f->zero = 0;
	if (counter(b, "general_profit", &f->profit))
		f->profit = 0;
	return err;
}

int64_t kernel_scan_until_stable(struct backend *b, uint64_t max_passes)
{
	struct batch batch = { .pages_set = false };
	int err = begin_passes(b, &batch, ALL_PAGES);
	struct figures before, now;
	uint64_t passes = 0;
	unsigned int same = 0;
	int end_err;

	if (err == -EAGAIN)
		return err;
	if (!err)
		err = read_figures(b, &before);
	while (!err && passes < max_passes && same < 2) {
		err = kernel_stopped(b) ? -EINTR : one_pass(b);
		if (err == -EAGAIN && passes) {
			err = 0;
			break;
		}
		if (!err)
			err = read_figures(b, &now);
		if (err)
			break;
		passes++;
		same = memcmp(&before, &now, sizeof(now)) ? 0 : same + 1;
		before = now;
	}
	end_err = end_passes(b, &batch);
	if (err || end_err)
		return err ? err : end_err;
	return (int64_t)passes;
}

int kernel_run_for_ms(struct backend *b, uint64_t ms)
{
	uint64_t until_ns = after_ms(ms);
	bool runs = !strcmp(b->run, "1");
	char sleep[32];
	int err = knob_read(b, "sleep_millisecs", sleep, sizeof(sleep));

	kernel_pages_changed(b);
	kernel_did(b);
	if (!err && runs)
		err = knob_write(b, "run", "1");
	while (!err && clock_measure_ns() < until_ns) {
		pause_ns((long)MIN(until_ns - clock_measure_ns(), UINT64_C(100000000)));
		err = kernel_stopped(b) ? -EINTR : 0;
	}
	if (!err && runs)
		err = knob_write(b, "run", "0");
	if (!err && runs)
		err = nap(b);
	if (!err && runs)
		err = wait_asleep(b);
	return err ? err : knob_write(b, "sleep_millisecs", sleep);
}

/* ---- Knobs and counters ---------------------------------------------------------------------- */

static bool engine_has(int kind, const char *name)
{
	const char *known;

	for (unsigned int i = 0; (known = sp_stat_name(kind, i)); i++)
		if (!strcmp(known, name))
			return true;
	return false;
}

static int missing(struct backend *b, int err, const char *name)
{
	if (err != -ENOENT)
		return err;
	if (!strcmp(name, "strategy") || !strcmp(name, "merge_old_ptes"))
		return kernel_cannot(b, "%s is a knob of the engine", name);
	if (engine_has(2, name) || engine_has(0, name))
		return kernel_cannot(b, "this kernel has no %s/%s", HOST_KSM_DIR, name);
	return err;
}

/* What a kernel without the knob does anyway. */
static bool needs_no_knob(const char *name, const char *value)
{
	static const struct {
		const char *name, *value;
	} without[] = {
		{ "advisor_mode", "none" },
		{ "smart_scan", "0" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(without); i++)
		if (!strcmp(name, without[i].name) && !strcmp(value, without[i].value))
			return true;
	return false;
}

int kernel_knob_set(struct backend *b, const char *name, const char *value)
{
	const char *real = value;
	int64_t number = -1;
	int err;

	b->generation++;
	kernel_did(b);
	if (!strcmp(name, "run")) {
		number = strtoll(value, NULL, 10);
		/* ksmd runs when it is told to scan, or time passes. */
		real = number == 1 ? "0" : value;
	}
	err = knob_write(b, name, real);
	if (!err && number >= 0)
		snprintf(b->run, sizeof(b->run), "%d", (int)(number & 3));
	return err == -ENOENT && needs_no_knob(name, value) ? 0 : missing(b, err, name);
}

int kernel_knob_get(struct backend *b, const char *name, char *buf, size_t size)
{
	if (!strcmp(name, "run"))
		return snprintf(buf, size, "%s", b->run) < (int)size ? 0 : -ENOSPC;
	return missing(b, knob_read(b, name, buf, size), name);
}

static int count_orphans(struct backend *b, int64_t *ret)
{
	int err = 0;

	*ret = 0;
	for (struct backend_process *p = b->processes; !err && p; p = p->next) {
		int64_t nr = 0;

		if (p->agent && !p->agent->ended)
			err = kernel_process_stat(p, "orphan_entries", &nr);
		*ret += nr;
	}
	return err;
}

int kernel_counter_get(struct backend *b, const char *name, int64_t *ret)
{
	if (!strcmp(name, "orphan_entries"))
		return count_orphans(b, ret);
	if (!strcmp(name, "now_ms")) {
		*ret = (int64_t)((clock_measure_ns() - b->started_ns) / 1000000);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(based); i++) {
		const struct counter_base *base = &b->bases[i];
		int err;

		if (strcmp(name, based[i].name))
			continue;
		if (!base->present)
			return kernel_cannot(b, "this kernel does not count %s", name);
		err = base->vmstat ? vmstat(b, name, ret) : counter(b, name, ret);
		*ret -= base->value;
		return err;
	}
	return missing(b, counter(b, name, ret), name);
}

/* ---- Taking over, and giving back ---------------------------------------------------------------- */

/* Another process whose memory KSM would look at, or has: 0 when there is none. */
static pid_t other_user(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t pid = 0;

	while (proc && !pid && (entry = readdir(proc))) {
		char path[64], text[1024];
		int64_t items = 0, mergeable = 0;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/ksm_stat", entry->d_name);
		if (proc_text_read(path, text, sizeof(text)))
			continue;
		if (proc_text_find(text, "ksm_rmap_items", &items))
			items = 0;
		if (proc_text_find(text, "ksm_mergeable", &mergeable))
			mergeable = 0;
		if (items || mergeable)
			pid = atoi(entry->d_name);
	}
	if (proc)
		closedir(proc);
	return pid;
}

static int set_defaults(struct backend *b)
{
	int err = knob_write(b, "run", "2");

	for (size_t i = 0; !err && i < ARRAY_SIZE(defaults); i++) {
		err = knob_write(b, defaults[i].name, defaults[i].value);
		if (err == -ENOENT)
			err = 0;
		if (err == -EBUSY)
			return kernel_cannot(b, "%s/%s cannot be set: pages that no process can give back are still merged",
					     HOST_KSM_DIR, defaults[i].name);
		if (err)
			return kernel_cannot(b, "%s/%s: %s", HOST_KSM_DIR, defaults[i].name, strerror(-err));
	}
	if (!err)
		err = knob_write(b, "run", "0");
	snprintf(b->run, sizeof(b->run), "0");
	return err;
}

/* Once in a session, unless something may have been left behind. */
static int look_for_others(struct backend *b)
{
	pid_t other = b->session->examined ? 0 : other_user();

	if (other)
		return kernel_cannot(b, "process %d has mergeable memory: what it and ksmd do would be counted too",
				     other);
	b->session->examined = true;
	return 0;
}

int kernel_ksmd_init(struct backend *b)
{
	int err = look_for_others(b);

	if (!err)
		err = set_defaults(b);
	for (size_t i = 0; !err && i < ARRAY_SIZE(based); i++) {
		struct counter_base *base = &b->bases[i];

		*base = based[i];
		base->present = !(base->vmstat ? vmstat(b, base->name, &base->value) :
						 counter(b, base->name, &base->value));
	}
	return err;
}

/* The guard of the knobs does the rest. */
void kernel_ksmd_finish(struct backend *b)
{
	(void)knob_write(b, "run", "2");
	(void)knob_write(b, "run", "0");
	(void)nap(b);
}
