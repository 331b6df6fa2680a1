/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine for the tests of faults, fork, swap and huge pages: VMAs made by hand,
 * stores and loads of one word a page, and crude stand-ins for the layers above,
 * which find every mapping of a frame by looking through all page tables.
 */
#ifndef FAULT_FIXTURE_H
#define FAULT_FIXTURE_H

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "fork.h"
#include "mmap.h"
#include "random.h"
#include "recount.h"
#include "vma.h"

#define CONTENT_BYTES 64u
#define BASE UINT64_C(0x700000000000)
#define PAGE(n) (BASE + (uint64_t)(n) * PAGE_SIZE)
#define RW ((uint64_t)(VM_READ | VM_WRITE | VM_MAYWRITE))
#define RW_SHARED (RW | VM_SHARED | VM_MAYSHARE)

struct fixture {
	struct vm vm;
	/* The stand-in for KSM: */
	bool unmerging;          /* run=2: nothing is mapped again as it is (W3) */
	bool copy_fails;
	unsigned int nr_copies;
	int64_t zero_pages;      /* the machine's count of KSM zero pages */
	unsigned int nr_orphans_met;
};

/* No limits, THP_NEVER, the hooks of the stand-in registered. */
void fixture_setup(struct fixture *f);
/* Exits every process that is left; nothing may stay allocated. */
void fixture_teardown(struct fixture *f);
/* The same in memory of its own, and a first process. */
struct fixture *setup_one(struct mm **mm);
void teardown(struct fixture *f);
/* Every validator of this layer and below. */
void fixture_validate(struct fixture *f);

struct mm *new_mm(struct fixture *f);
struct mm *fork_mm(struct mm *parent);
/* [addr, addr + nr_pages): pgoff is that of addr when file is NULL. */
struct vma *map_pages(struct mm *mm, uint64_t addr, uint64_t nr_pages, uint64_t flags,
		      struct file *file, uint64_t pgoff);

/* A store or load of the page's first word: 0, or what vm_access() says. */
int store(struct mm *mm, uint64_t addr, uint32_t value);
int load(struct mm *mm, uint64_t addr, uint32_t *value);
void poke(struct mm *mm, uint64_t addr, uint32_t value);
uint32_t peek(struct mm *mm, uint64_t addr);
/* The first word of a frame. */
uint32_t frame_word(const struct vm *vm, const struct frame *frame);
/* handle_fault() under the lock. */
int fault(struct mm *mm, uint64_t addr, unsigned int flags);
/* zap_range() of whole or part of one VMA, under the lock. */
int zap(struct mm *mm, uint64_t addr, uint64_t nr_pages);

/* The present frame at addr, not the zero page. */
struct frame *frame_at(struct mm *mm, uint64_t addr);
/* One reference more, and one less, as somebody outside would hold it. */
void hold(struct frame *frame);
void drop(struct fixture *f, struct frame *frame);

/* Turns every mapping of the frame into a swap entry, writes it out and, unless it is to
 * stay in the swap cache or somebody holds it, frees it. The slot. */
uint32_t swap_out(struct fixture *f, struct frame *frame, bool keep_cached);
/* Every mapping becomes a migration entry; the frame is kept by a hold. */
void make_migrating(struct fixture *f, struct frame *frame);
/* The page at addr becomes a KSM page of its own. */
void make_ksm(struct fixture *f, struct mm *mm, uint64_t addr);
/* addr gives its page up for that of a KSM page. */
void merge_into(struct fixture *f, struct mm *mm, uint64_t addr, struct frame *kframe);
/* addr gives its page up for a KSM-placed zero page. */
void make_ksm_zero(struct fixture *f, struct mm *mm, uint64_t addr);

/* A new seed each run, so that runs add up; SP_SEED repeats one that failed. */
struct random test_random(void);

#endif
