/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One page of a running process as its kernel shows it: the entry in
 * /proc/PID/pagemap, and the frame's lines in /proc/kpageflags and kpagecount.
 *
 * What they do not show: whether a page is writable, young or dirty, and how
 * many references it has.
 *
 * TWO TRAPS. A migration entry looks like a swapped page of a swap area that
 * does not exist: areas have numbers from 0 up, the kernel's own kinds of entry have
 * the numbers below 32 from the top. And Linux 6.12 says "of KSM" of every
 * anonymous page (V15), which host_pages_open() finds out by asking about one
 * of its own.
 *
 *	err = host_pages_open(&pages, msg, sizeof(msg));
 *	err = host_page_read(&pages, pagemap_fd, addr, &page);
 *	host_pages_close(&pages);
 *
 * Frame numbers need CAP_SYS_ADMIN; without it, open says so.
 *
 * Locking: none; one thread.
 */
#ifndef SP_HOST_PAGE_H
#define SP_HOST_PAGE_H

#include <stddef.h>

#include "bits.h"

enum host_page_kind {
	HOST_PAGE_NONE,
	HOST_PAGE_PRESENT,
	HOST_PAGE_SWAPPED,
	HOST_PAGE_MIGRATION, /* or another entry that is no page: hwpoison */
};

struct host_page {
	enum host_page_kind kind;
	/* Of a present page: */
	bool anon, ksm, zero, huge;
	uint64_t pfn;
	uint32_t mapcount;
};

struct host_pages {
	int flags_fd, count_fd;
	bool ksm_bit_lies; /* page.ksm means nothing here */
};

int host_pages_open(struct host_pages *pages, char *msg, size_t msg_bytes) SP_MUST_CHECK;
void host_pages_close(struct host_pages *pages);
/* 0, or -errno: -ESRCH when the address space is gone. */
int host_page_read(const struct host_pages *pages, int pagemap_fd, uint64_t addr,
		   struct host_page *ret) SP_MUST_CHECK;

/* The same of pages in a row, without their mapcounts. */
int host_page_read_row(const struct host_pages *pages, int pagemap_fd, uint64_t addr,
		       uint64_t nr_pages, struct host_page *ret) SP_MUST_CHECK;

/* The entry alone: kind, anon and pfn. */
int host_page_read_entry(int pagemap_fd, uint64_t addr, struct host_page *ret) SP_MUST_CHECK;
void host_page_of_entry(uint64_t entry, struct host_page *ret);
/* What the frame's flags add. */
void host_page_add_flags(uint64_t flags, struct host_page *page);

#endif
