/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A machine with one process whose mappings are told by page number, for the tests of VMAs
 * and of the system calls on them. Expected layouts are written as text:
 *
 *	"0-3 rw 5-8 r"		two VMAs; of the flags, what tells them apart
 *
 * and compared as text, so that a failure shows both.
 */
#ifndef VMA_FIXTURE_H
#define VMA_FIXTURE_H

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fork.h"
#include "mmap.h"
#include "recount.h"

#define BASE UINT64_C(0x700000000000)
#define AT(page) (BASE + (uint64_t)(page) * PAGE_SIZE)
#define LEN(pages) ((uint64_t)(pages) * PAGE_SIZE)
#define PROT_R SP_PROT_READ
#define PROT_RW (SP_PROT_READ | SP_PROT_WRITE)
#define CONTENT_BYTES 64u

struct fixture {
	struct vm vm;
	struct mm *mm;
	/* The stand-in for ksm/ (hooks.ksm_madvise) and for rmap/ (hooks.madvise_pageout): */
	unsigned int nr_unmergeable; /* breaks asked for */
	int ksm_error;               /* what it answers; 0: flips VM_MERGEABLE */
	unsigned int nr_pageout;
};

/*
 * cmocka setup and teardown: *state is the fixture. Teardown validates, exits all, checks
 * that nothing is left.
 */
int setup(void **state);
int teardown(void **state);
void validate(struct fixture *f);

/* mmap of anonymous private memory at a fixed place. */
void map(struct fixture *f, unsigned int page, unsigned int nr, int prot);
int map_how(struct fixture *f, unsigned int page, unsigned int nr, int prot, int flags,
	    struct file *file, uint64_t pgoff);
int unmap(struct fixture *f, unsigned int page, unsigned int nr);
int protect(struct fixture *f, unsigned int page, unsigned int nr, int prot);
int advise(struct fixture *f, unsigned int page, unsigned int nr, int advice);
int lock(struct fixture *f, unsigned int page, unsigned int nr, bool on);
/* FIXED | MAYMOVE | flags. */
int move(struct fixture *f, unsigned int page, unsigned int nr, unsigned int to, int flags);

/* Stores value into the page's first word; loads it. Must succeed. */
void store(struct mm *mm, unsigned int page, uint32_t value);
uint32_t load(struct mm *mm, unsigned int page);
struct vma *vma_at(struct mm *mm, unsigned int page);
/* The frame mapped at the page, NULL if none or the zero page. */
struct frame *frame_at(struct mm *mm, unsigned int page);

/*
 * "start-end flags" of every VMA: r w x (access), s (shared), f (file), m (mergeable), d
 * (dontfork), l (locked), h n (huge pages), W (wipeonfork), a (charged, shown only when it
 * differs from w without s), - (nothing of these), @N: pgoff where it is not that of the
 * address (anonymous) or of the page number (file).
 */
const char *layout(struct mm *mm, char *buf, size_t size);
#define assert_layout(mm, expected)                                              \
	do {                                                                     \
		char layout_buf[1024];                                           \
		assert_string_equal(layout(mm, layout_buf, sizeof(layout_buf)), expected); \
	} while (0)

#endif
