/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Measures the kernel's own ksmd on contents that the caller gives: the other
 * half of `bench merge`, whose first half merges the same contents in the
 * engine.
 *
 * A private anonymous region of this process, without huge pages, is filled
 * and made mergeable while ksmd stands still. Then ksmd runs without sleeping,
 * with a batch that no pass reaches, so that each batch is one full scan. A
 * scan or two later all is merged: the first keeps checksums, the second finds
 * equal pages (K18). Measured is up to the end of the scan that merged the last
 * page; one more scan that changes nothing proves that it was the last. After
 * that the region is unmapped and ksmd runs until it has forgotten it, so that
 * neither merged pages nor its records stay behind.
 *
 *	job = (struct host_merge_job){ .nr_pages = n, .fill = fill, .arg = arg };
 *	err = host_ksm_merge_rate(ksm, &job, &result, msg, sizeof(msg));
 *
 * Knobs are set here and put back by host_ksm_close(). smart_scan, zero pages
 * and max_page_sharing are left as found: the engine must be given the same.
 *
 * Times end when this process sees a scan's end, at most a millisecond late.
 * Mergeable memory of other processes is scanned along and counted in
 * pages_scanned; `others` says that there was some before.
 */
#ifndef SP_HOST_MERGE_H
#define SP_HOST_MERGE_H

#include "host_ksm.h"

struct host_merge_result {
	uint64_t nr_pages;
	uint64_t wall_ns;       /* from the start of ksmd to the last merge */
	uint64_t ksmd_cpu_ns;   /* of these; 0 when ksmd cannot be found */
	uint64_t nr_full_scans; /* of these; the one that proves it is not in */
	uint64_t pages_scanned;
	uint64_t pages_shared, pages_sharing, pages_unshared, pages_skipped;
	double pages_per_s;     /* nr_pages, not pages_scanned, by wall_ns */
	bool others;            /* other mergeable memory was known before */
};

struct host_merge_job {
	uint64_t nr_pages;
	/* Fills page `index`, which is zero. Other than 0 ends the job. */
	int (*fill)(void *arg, uint64_t index, void *page);
	/*
	 * About ten times a second, with what was reached so far; may be NULL.
	 * Other than 0 ends the job.
	 */
	int (*progress)(void *arg, const struct host_merge_result *so_far);
	void *arg;
	uint64_t timeout_ms;    /* of the scanning; 0: ten minutes */
};

/* -ETIMEDOUT when it is not merged in time; what a callback returned. */
int host_ksm_merge_rate(struct host_ksm *ksm, const struct host_merge_job *job,
			struct host_merge_result *ret, char *msg, size_t msg_bytes)
	SP_MUST_CHECK;

#endif
