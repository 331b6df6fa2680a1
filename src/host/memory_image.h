/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a reader of real memory delivers, whether it reads an ELF core
 * (elf_core.h) or a running process (proc_image.h).
 *
 * A visitor, not a data structure: an image may be larger than the memory of
 * the machine that reads it, and whoever receives it (the scenario language
 * that builds a simulated process, an analysis that only hashes) keeps what it
 * needs. The readers hold one slice at a time.
 *
 * The contract, which the tests and the fuzz target check (image_check.h):
 *
 * - vma() comes first, then the pages of that VMA, then the next vma().
 * - VMAs ascend and do not overlap. Their pages ascend without gaps: each page
 *   is told exactly once, by page() or as part of a run().
 * - page() is for known contents, run() for everything else. Runs are ranges
 *   and not pages because a file may claim 2^47 bytes that it does not hold,
 *   and a process may reserve them. Neighbouring runs may have the same state.
 * - A page whose contents are not known is never told as zero. Only
 *   IMAGE_PAGE_UNTOUCHED reads as zero, because nothing was ever written.
 *
 * A callback that returns other than 0 ends the reading; the reader returns
 * that value. It writes its own message, if it has one.
 *
 *	static int vma(void *arg, const struct image_vma *vma) { ... }
 *	static int page(void *arg, uint64_t addr, enum image_page_state state,
 *			const void *contents) { ... }
 *	static int run(void *arg, uint64_t addr, uint64_t nr_pages,
 *		       enum image_page_state state) { ... }
 *	static const struct image_ops ops = { vma, page, run };
 *
 *	err = elf_core_read(&mem, path, &ops, arg, &report, msg, sizeof(msg));
 *	err = proc_image_read(&mem, pid, 0, &ops, arg, &report, msg, sizeof(msg));
 *
 * Errors are -errno, with one line in `msg` that says what, where, and what
 * would be right. The report is valid after an error too: it says how far the
 * reader came.
 *
 * Locking: none; one thread reads one image. What it does not do: tell a
 * huge page from its 4 KiB parts, or which pages two processes share.
 */
#ifndef SP_MEMORY_IMAGE_H
#define SP_MEMORY_IMAGE_H

#include "bits.h"

#define IMAGE_NAME_BYTES 128

struct image_vma {
	uint64_t start, end; /* byte addresses, page aligned, end exclusive */
	unsigned prot;       /* SP_PROT_* of samepage.h */
	bool shared;         /* MAP_SHARED: its pages are never anonymous */
	bool file_backed;    /* name and pgoff are those of a file */
	uint64_t pgoff;      /* in pages; 0 unless file_backed */
	/* Path, or "[heap]" and the like, cut to fit; "" for anonymous memory. */
	char name[IMAGE_NAME_BYTES];
};

/*
 * PRESENT	resident (or in the core); contents known
 * SWAPPED	in swap; contents known only to page(), else the reader did not
 *		fetch them
 * UNTOUCHED	no page: anonymous memory that reads as zero
 * FILE		a page of the mapped file as the file has it: not anonymous, so
 *		nothing that same-page merging would look at
 * UNKNOWN	not in the core, cut off, or not readable
 */
#define IMAGE_PAGE_STATES(X) \
	X(PRESENT, present) \
	X(SWAPPED, swapped) \
	X(UNTOUCHED, untouched) \
	X(FILE, file) \
	X(UNKNOWN, unknown)

enum image_page_state {
#define IMAGE_PAGE_STATE_ENUM(upper, lower) IMAGE_PAGE_##upper,
	IMAGE_PAGE_STATES(IMAGE_PAGE_STATE_ENUM)
#undef IMAGE_PAGE_STATE_ENUM
	NR_IMAGE_PAGE_STATES
};

struct image_ops {
	int (*vma)(void *arg, const struct image_vma *vma);
	/* One page with its PAGE_SIZE bytes, valid until the callback returns. */
	int (*page)(void *arg, uint64_t addr, enum image_page_state state,
		    const void *contents);
	/* nr_pages >= 1 pages from addr on, contents not known or not needed. */
	int (*run)(void *arg, uint64_t addr, uint64_t nr_pages,
		   enum image_page_state state);
};

struct image_report {
	uint64_t nr_pages[NR_IMAGE_PAGE_STATES];
	uint64_t nr_vmas;         /* told by vma() */
	/*
	 * Not told: mappings of the kernel or of devices ([vdso], [vvar],
	 * [vsyscall], /dev/...), huge pages of hugetlbfs, and segments that are
	 * empty or outside of user address space.
	 */
	uint64_t nr_vmas_skipped;
	uint64_t read_bytes;      /* of contents */
	bool truncated;           /* a core that ends before its segments do */
	/* A process whose pagemap may not be read: every page is UNKNOWN. */
	bool no_pagemap;
};

#endif
