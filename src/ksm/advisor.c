/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The advisor (K41): after each pass it sets pages_to_scan so that a pass takes the
 * target time, within bounds of ksmd's CPU use.
 *
 * All of it is integer arithmetic on seconds and percents, rounding down at every step, and the
 * figures depend on that. The lower bound on CPU use is a constant; advisor_min_pages_to_scan
 * is only where pages_to_scan starts when the advisor is switched on. The first pass after that
 * sees all CPU time that ksmd ever used.
 *
 * Time is simulated (daemon.c), so what the advisor decides is a function of the scenario.
 */
#include "ksm_internal.h"

#define ADVISOR_MIN_CPU 10
/* Weight of the newest change in the average, in percent. */
#define ADVISOR_WEIGHT 30
#define ADVISOR_OFF_PAGES 100

static uint64_t at_least_1(uint64_t value)
{
	return MAX(value, UINT64_C(1));
}

void advisor_start_pass(struct ksm *ksm)
{
	if (ksm->knobs.advisor_mode)
		ksm->advisor.start_ms = clock_now_ms(&ksm->vm->clock);
}

void advisor_stop_pass(struct ksm *ksm)
{
	struct ksm_advisor *advisor = &ksm->advisor;
	const struct ksm_knobs *knobs = &ksm->knobs;
	uint64_t scan_time, before, cpu_ms, cpu, factor, change, pages, pages_per_percent;

	if (!knobs->advisor_mode)
		return;
	scan_time = at_least_1((clock_now_ms(&ksm->vm->clock) - advisor->start_ms) / 1000);
	cpu_ms = (ksm->cpu_ns - advisor->cpu_ns) / 1000000;
	cpu = at_least_1(cpu_ms * 100 / (scan_time * 1000));
	factor = at_least_1(knobs->advisor_target_scan_time * 100 / scan_time);
	before = advisor->scan_time ? advisor->scan_time : scan_time;
	change = at_least_1(scan_time * 100 / before);
	change = ((100 - ADVISOR_WEIGHT) * advisor->change + ADVISOR_WEIGHT * change) / 100;

	/* 32 bits wide in the kernel. */
	pages = (uint32_t)(knobs->pages_to_scan * 100) / factor;
	pages = pages * change / 100;
	pages_per_percent = at_least_1(knobs->pages_to_scan / cpu);
	pages = MIN(pages, pages_per_percent * knobs->advisor_max_cpu);
	pages = MAX(pages, pages_per_percent * ADVISOR_MIN_CPU);
	pages = MIN(pages, knobs->advisor_max_pages_to_scan);

	advisor->change = change;
	advisor->scan_time = scan_time;
	advisor->cpu_ns = ksm->cpu_ns;
	ksm->knobs.pages_to_scan = (uint32_t)pages;
	event_emit(&ksm->vm->events, EV_ksm_advisor, scan_time, pages, cpu);
}

void advisor_set_defaults(struct ksm *ksm)
{
	if (!ksm->knobs.advisor_mode) {
		ksm->knobs.pages_to_scan = ADVISOR_OFF_PAGES;
		return;
	}
	ksm->advisor = (struct ksm_advisor){ 0 };
	ksm->knobs.pages_to_scan = (uint32_t)ksm->knobs.advisor_min_pages_to_scan;
}
