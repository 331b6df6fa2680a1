/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ksmd's rate on the host; see host_merge.h.
 */
#include "host_merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "ksmd_thread.h"
#include "proc_text.h"

#define POLL_NS 500000
#define PROGRESS_NS UINT64_C(100000000)
#define TIMEOUT_MS_DEFAULT UINT64_C(600000)
#define FORGET_MS_MAX UINT64_C(60000)
/* More than any machine has candidates for; the knob is an unsigned int. */
#define BATCH "2000000000"
/* Checksums, then merging: two equal pages merge in the second (K18). */
#define NR_SCANS_MIN 2
#define NR_SCANS_TO_FORGET 3

/* What KSM says at one moment. */
struct sample {
	uint64_t at_ns, cpu_ns;
	uint64_t full_scans, scanned, shared, sharing, unshared, skipped;
};

struct run {
	struct host_ksm *ksm;
	const struct host_merge_job *job;
	struct host_merge_result *result;
	char *msg;
	size_t msg_bytes;
	char *region;
	pid_t ksmd;
	uint64_t timeout_ms, deadline_ns;
	struct sample start;    /* before ksmd ran */
	struct sample merged;   /* end of the scan that merged the last page */
	uint64_t next_progress_ns;
};

static int fail(struct run *run, int err, const char *what)
{
	if (run->msg_bytes)
		snprintf(run->msg, run->msg_bytes, "%s: %s", what, strerror(-err));
	return err;
}

/* ---- ksmd's CPU time ---- */

static uint64_t cpu_ns(pid_t pid)
{
	char path[64], text[128];

	if (!pid)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	return proc_text_read(path, text, sizeof(text)) ? 0 : strtoull(text, NULL, 10);
}

/* ---- Samples ---- */

static int take_sample(struct run *run, struct sample *sample)
{
	const struct {
		const char *name;
		uint64_t *value;
		bool optional; /* not in older kernels */
	} counters[] = {
		{ "full_scans", &sample->full_scans, false },
		{ "pages_shared", &sample->shared, false },
		{ "pages_sharing", &sample->sharing, false },
		{ "pages_unshared", &sample->unshared, false },
		{ "pages_scanned", &sample->scanned, true },
		{ "pages_skipped", &sample->skipped, true },
	};

	*sample = (struct sample){ .cpu_ns = cpu_ns(run->ksmd) };
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		int err = host_ksm_counter(run->ksm, counters[i].name,
					   counters[i].value);

		if (err && !(counters[i].optional && err == -ENOENT))
			return fail(run, err, counters[i].name);
	}
	sample->at_ns = clock_measure_ns();
	return 0;
}

static uint64_t merged_pages(const struct sample *sample)
{
	return sample->shared + sample->sharing;
}

static uint64_t above(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void fill_result(struct run *run, const struct sample *now)
{
	const struct sample *start = &run->start;
	struct host_merge_result *result = run->result;

	result->wall_ns = now->at_ns - start->at_ns;
	result->ksmd_cpu_ns = above(now->cpu_ns, start->cpu_ns);
	result->nr_full_scans = above(now->full_scans, start->full_scans);
	result->pages_scanned = above(now->scanned, start->scanned);
	result->pages_shared = above(now->shared, start->shared);
	result->pages_sharing = above(now->sharing, start->sharing);
	result->pages_unshared = above(now->unshared, start->unshared);
	result->pages_skipped = above(now->skipped, start->skipped);
	result->pages_per_s = result->wall_ns ?
		(double)result->nr_pages * 1e9 / (double)result->wall_ns : 0;
}

static int check_time(struct run *run, const struct sample *now)
{
	if (now->at_ns >= run->deadline_ns)
		return fail(run, -ETIMEDOUT,
			    "ksmd did not come to an end with these pages in time");
	if (!run->job->progress || now->at_ns < run->next_progress_ns)
		return 0;
	run->next_progress_ns = now->at_ns + PROGRESS_NS;
	fill_result(run, now);
	return run->job->progress(run->job->arg, run->result);
}

/* Waits for the end of a full scan after `full_scans` of them. */
static int wait_for_scan(struct run *run, uint64_t full_scans, struct sample *ret)
{
	const struct timespec poll = { 0, POLL_NS };

	for (;;) {
		uint64_t now;
		int err;

		err = host_ksm_counter(run->ksm, "full_scans", &now);
		if (err)
			return fail(run, err, "full_scans");
		if (now > full_scans)
			return take_sample(run, ret);
		err = take_sample(run, ret);
		if (!err)
			err = check_time(run, ret);
		if (err)
			return err;
		nanosleep(&poll, NULL);
	}
}

/* ---- The job ---- */

static int set(struct run *run, enum host_ksm_knob knob, const char *value)
{
	return host_ksm_set(run->ksm, knob, value, run->msg, run->msg_bytes);
}

static int prepare_ksmd(struct run *run)
{
	int err;

	err = set(run, HOST_KSM_run, "0");
	if (!err && host_ksm_found(run->ksm, HOST_KSM_advisor_mode))
		err = set(run, HOST_KSM_advisor_mode, "none");
	if (!err)
		err = set(run, HOST_KSM_pages_to_scan, BATCH);
	if (!err)
		err = set(run, HOST_KSM_sleep_millisecs, "0");
	return err;
}

static int prepare_region(struct run *run)
{
	size_t bytes = run->job->nr_pages * PAGE_SIZE;

	run->region = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (run->region == MAP_FAILED) {
		run->region = NULL;
		return fail(run, -errno, "memory for the pages to merge");
	}
	/* Refused by kernels without huge pages, and then there are none. */
	(void)madvise(run->region, bytes, MADV_NOHUGEPAGE);
	for (uint64_t i = 0; i < run->job->nr_pages; i++) {
		int err = run->job->fill(run->job->arg, i, run->region + i * PAGE_SIZE);

		if (err)
			return err;
	}
	if (madvise(run->region, bytes, MADV_MERGEABLE))
		return fail(run, -errno, "madvise(MADV_MERGEABLE)");
	return 0;
}

static int scan_until_merged(struct run *run)
{
	struct sample now = { 0 };
	int err;

	err = take_sample(run, &run->start);
	if (!err)
		err = set(run, HOST_KSM_run, "1");
	run->merged = now = run->start;
	while (!err) {
		uint64_t nr_before = now.full_scans - run->start.full_scans;
		uint64_t merged_before = merged_pages(&now);

		err = wait_for_scan(run, now.full_scans, &now);
		if (err)
			break;
		if (nr_before < NR_SCANS_MIN || merged_pages(&now) != merged_before)
			run->merged = now;
		else
			return 0;
	}
	return err;
}

static uint64_t known_pages(const struct sample *sample)
{
	return merged_pages(sample) + sample->unshared;
}

/*
 * Scans on until nothing of the region is left: a scan drops the records of
 * addresses above its cursor, so one that was under way may leave some to the
 * next. That it takes too long is no failure of the measurement.
 */
static void forget_region(struct run *run)
{
	struct sample now = { 0 };
	int err;

	if (!run->region)
		return;
	munmap(run->region, run->job->nr_pages * PAGE_SIZE);
	run->region = NULL;
	if (!run->start.at_ns)
		return; /* ksmd never saw it */
	run->deadline_ns = clock_measure_ns() +
			   MIN(run->timeout_ms, FORGET_MS_MAX) * 1000000;
	run->next_progress_ns = UINT64_MAX;
	run->msg_bytes = 0;
	err = take_sample(run, &now);
	for (int i = 0; !err && i < NR_SCANS_TO_FORGET; i++) {
		err = wait_for_scan(run, now.full_scans, &now);
		if (known_pages(&now) <= known_pages(&run->start))
			break;
	}
}

int host_ksm_merge_rate(struct host_ksm *ksm, const struct host_merge_job *job,
			struct host_merge_result *ret, char *msg, size_t msg_bytes)
{
	struct run run = {
		.ksm = ksm,
		.job = job,
		.result = ret,
		.msg = msg,
		.msg_bytes = msg_bytes,
		.ksmd = ksmd_find(),
		.timeout_ms = job->timeout_ms ? job->timeout_ms : TIMEOUT_MS_DEFAULT,
	};
	int err;

	*ret = (struct host_merge_result){ .nr_pages = job->nr_pages };
	if (msg_bytes)
		msg[0] = '\0';
	if (!job->nr_pages || job->nr_pages > SIZE_MAX / PAGE_SIZE)
		return fail(&run, -EINVAL, "number of pages to merge");
	err = prepare_ksmd(&run);
	if (!err)
		err = prepare_region(&run);
	run.deadline_ns = clock_measure_ns() + run.timeout_ms * 1000000;
	if (!err)
		err = scan_until_merged(&run);
	if (!err) {
		fill_result(&run, &run.merged);
		ret->others = run.start.shared || run.start.unshared;
	}
	forget_region(&run);
	/* Until the knobs are put back, nobody's pages are scanned at this rate. */
	if (host_ksm_set(ksm, HOST_KSM_run, "0", msg, err ? 0 : msg_bytes) && !err)
		err = -EIO;
	return err;
}
