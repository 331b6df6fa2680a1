/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The KSM of the kernel that this program runs on: reads its counters, turns
 * its knobs, and puts every knob back as it was found.
 *
 * Putting back must not depend on this program's good end. A guard, a forked
 * process of its own session that ignores what a terminal sends, holds the
 * saved values and waits for this process to close or to die, SIGKILL
 * included; then it writes back what differs. It is the only place that
 * restores: host_ksm_close() asks it to, waits, and checks the result.
 *
 * One program at a time: the knob `run` is locked (flock) by this process and
 * its guard until the values are back.
 *
 *	err = host_ksm_open(&mem, NULL, &ksm, msg, sizeof(msg));
 *	err = host_ksm_set(ksm, HOST_KSM_run, "1", msg, sizeof(msg));
 *	err = host_ksm_counter(ksm, "pages_sharing", &value);
 *	err = host_ksm_close(ksm, msg, sizeof(msg));
 *
 * What it cannot put back: pages of other processes that were merged meanwhile
 * stay merged (run is never set to 2 unless it was 2), and while advisor_mode
 * is scan-time the advisor owns pages_to_scan.
 *
 * Needs root and /sys/kernel/mm/ksm; the message says what is missing.
 * Locking: none; one thread. Any thread may exist when it is opened.
 */
#ifndef SP_HOST_KSM_H
#define SP_HOST_KSM_H

#include "mem.h"

#define HOST_KSM_DIR "/sys/kernel/mm/ksm"

/*
 * Every writable file, in the order in which they are put back: the advisor
 * first, because it refuses pages_to_scan while it is on and sets it when it
 * is switched (K41), ksmd itself last. Older kernels lack some.
 */
#define HOST_KSM_KNOBS(X) \
	X(advisor_mode) \
	X(advisor_max_cpu) \
	X(advisor_min_pages_to_scan) \
	X(advisor_max_pages_to_scan) \
	X(advisor_target_scan_time) \
	X(pages_to_scan) \
	X(sleep_millisecs) \
	X(max_page_sharing) \
	X(merge_across_nodes) \
	X(stable_node_chains_prune_millisecs) \
	X(use_zero_pages) \
	X(smart_scan) \
	X(run)

enum host_ksm_knob {
#define HOST_KSM_KNOB_ENUM(name) HOST_KSM_##name,
	HOST_KSM_KNOBS(HOST_KSM_KNOB_ENUM)
#undef HOST_KSM_KNOB_ENUM
	NR_HOST_KSM_KNOBS
};

struct host_ksm;

/* `dir` is NULL but for tests. */
int host_ksm_open(struct mem *mem, const char *dir, struct host_ksm **ret,
		  char *msg, size_t msg_bytes) SP_MUST_CHECK;
/* Restores, checks, frees. NULL is allowed. */
int host_ksm_close(struct host_ksm *ksm, char *msg, size_t msg_bytes);

/* -ENOENT when this kernel has no such knob. */
int host_ksm_set(struct host_ksm *ksm, enum host_ksm_knob knob, const char *value,
		 char *msg, size_t msg_bytes) SP_MUST_CHECK;
/* The value found at open; NULL when this kernel has no such knob. */
const char *host_ksm_found(const struct host_ksm *ksm, enum host_ksm_knob knob);
/* A file that holds a number, negative ones read as 0. */
int host_ksm_counter(const struct host_ksm *ksm, const char *name, uint64_t *ret)
	SP_MUST_CHECK;

#endif
