/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine for the tests of ksm/: processes with anonymous mappings, contents of one byte or
 * one number a page, scans, and counters by their names. Every teardown validates and checks
 * that nothing leaked.
 *
 * Tests are written as in the facts: S(k) is k complete scans.
 */
#ifndef KSM_FIXTURE_H
#define KSM_FIXTURE_H

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "ksm_internal.h"
#include "migrate.h"
#include "random.h"
#include "reclaim.h"
#include "recount.h"

#define RW (SP_PROT_READ | SP_PROT_WRITE)

struct fixture {
	struct vm vm;
};

struct setup {
	uint32_t nr_nodes;      /* 0: one */
	uint32_t content_bytes; /* 0: 64 */
	enum thp_mode thp;
	uint64_t frames_per_node;
};

void fixture_setup(struct fixture *f, const struct setup *setup); /* NULL: defaults; run is 1 */
void fixture_teardown(struct fixture *f);
void fixture_validate(struct fixture *f);
/* For cmocka: a fixture with defaults in *state. */
int setup_default(void **state);
int teardown_default(void **state);
#define KSM_TEST(fn) cmocka_unit_test_setup_teardown(fn, setup_default, teardown_default)

struct mm *new_mm(struct fixture *f);
struct mm *fork_mm(struct mm *parent);
/* Anonymous private memory, not mergeable, not filled. */
uint64_t map(struct mm *mm, uint64_t nr_pages);
/* The same, mergeable, and filled with one byte unless byte < 0. */
uint64_t map_mergeable(struct mm *mm, uint64_t nr_pages, int byte);
void unmap(struct mm *mm, uint64_t addr, uint64_t nr_pages);
void advise(struct mm *mm, uint64_t addr, uint64_t nr_pages, int advice);

/* Stores: a page of one byte; a page that begins with a number and is zero behind. */
void fill(struct mm *mm, uint64_t addr, uint64_t nr_pages, uint8_t byte);
void put(struct mm *mm, uint64_t addr, uint64_t number);
/* -ENOMEM where the machine is out of memory. */
int try_put(struct mm *mm, uint64_t addr, uint64_t number);
/* Loads: the first byte; the number. */
uint8_t byte_at(struct mm *mm, uint64_t addr);
uint64_t number_at(struct mm *mm, uint64_t addr);

struct frame *frame_at(struct mm *mm, uint64_t addr);
uint32_t pfn_at(struct mm *mm, uint64_t addr);
bool ksm_at(struct mm *mm, uint64_t addr);

/* Somebody else's reference. */
void hold(struct frame *frame);
void drop(struct fixture *f, struct frame *frame);

void scan(struct fixture *f, uint64_t passes);
void knob(struct fixture *f, const char *name, const char *value);
int64_t counter(struct fixture *f, const char *name);
int64_t stat_of(struct mm *mm, const char *name);

/* From SP_SEED or the clock, and printed. */
struct random model_seed(void);

#define expect_counter(f, name, value) assert_int_equal(counter(f, #name), value)
#define expect_stat(mm, name, value) assert_int_equal(stat_of(mm, #name), value)
#define PG(addr, n) ((addr) + (uint64_t)(n) * PAGE_SIZE)

#endif
