/* SPDX-License-Identifier: GPL-2.0-only */
/* One page of a running process; see host_page.h. */
#include "host_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Bits of a pagemap entry. */
#define ENTRY_PFN ((UINT64_C(1) << 55) - 1)
#define ENTRY_SWAP_TYPE UINT64_C(0x1f)
#define ENTRY_GUARD (UINT64_C(1) << 58)
#define ENTRY_FILE (UINT64_C(1) << 61)
#define ENTRY_SWAPPED (UINT64_C(1) << 62)
#define ENTRY_PRESENT (UINT64_C(1) << 63)

/* Bits of kpageflags. */
#define FLAG_HUGE (UINT64_C(1) << 17)
#define FLAG_KSM (UINT64_C(1) << 21)
#define FLAG_THP (UINT64_C(1) << 22)
#define FLAG_ZERO_PAGE (UINT64_C(1) << 24)

/* The kernel's own kinds of entry take at most this many of the 32 types. */
#define FIRST_SPECIAL_TYPE 20

void host_page_of_entry(uint64_t entry, struct host_page *ret)
{
	*ret = (struct host_page){ .kind = HOST_PAGE_NONE };
	if (entry & ENTRY_PRESENT) {
		ret->kind = HOST_PAGE_PRESENT;
		ret->anon = !(entry & ENTRY_FILE);
		ret->pfn = entry & ENTRY_PFN;
	} else if (entry & ENTRY_SWAPPED && !(entry & ENTRY_GUARD)) {
		ret->kind = (entry & ENTRY_SWAP_TYPE) >= FIRST_SPECIAL_TYPE ? HOST_PAGE_MIGRATION :
									      HOST_PAGE_SWAPPED;
	}
}

void host_page_add_flags(uint64_t flags, struct host_page *page)
{
	page->ksm = flags & FLAG_KSM;
	page->zero = flags & FLAG_ZERO_PAGE;
	page->huge = flags & (FLAG_HUGE | FLAG_THP);
	if (page->zero)
		page->anon = false;
}

static int read_word(int fd, uint64_t index, uint64_t *ret)
{
	ssize_t n;

	do {
		n = pread(fd, ret, sizeof(*ret), (off_t)(index * sizeof(*ret)));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n == sizeof(*ret) ? 0 : -ESRCH;
}

int host_page_read_entry(int pagemap_fd, uint64_t addr, struct host_page *ret)
{
	uint64_t entry = 0;
	int err = read_word(pagemap_fd, addr / PAGE_SIZE, &entry);

	if (!err)
		host_page_of_entry(entry, ret);
	return err;
}

int host_page_read(const struct host_pages *pages, int pagemap_fd, uint64_t addr,
		   struct host_page *ret)
{
	uint64_t flags = 0, count = 0;
	int err = host_page_read_entry(pagemap_fd, addr, ret);

	if (err)
		return err;
	if (ret->kind != HOST_PAGE_PRESENT)
		return 0;
	err = read_word(pages->flags_fd, ret->pfn, &flags);
	if (!err)
		err = read_word(pages->count_fd, ret->pfn, &count);
	if (err)
		return err;
	host_page_add_flags(flags, ret);
	ret->mapcount = (uint32_t)count;
	return 0;
}

/* Entries that are read at once. */
#define ROW 512

static int read_row(const struct host_pages *pages, int pagemap_fd, uint64_t addr, uint64_t nr,
		    struct host_page *ret)
{
	uint64_t entries[ROW], flags = 0;
	ssize_t n;

	do {
		n = pread(pagemap_fd, entries, nr * sizeof(entries[0]),
			  (off_t)(addr / PAGE_SIZE * sizeof(entries[0])));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if ((uint64_t)n != nr * sizeof(entries[0]))
		return -ESRCH;
	for (uint64_t i = 0; i < nr; i++) {
		int err = 0;

		host_page_of_entry(entries[i], &ret[i]);
		if (ret[i].kind != HOST_PAGE_PRESENT)
			continue;
		/* Pages that are merged have the same frame as their neighbour. */
		if (!i || ret[i - 1].kind != HOST_PAGE_PRESENT || ret[i - 1].pfn != ret[i].pfn)
			err = read_word(pages->flags_fd, ret[i].pfn, &flags);
		if (err)
			return err;
		host_page_add_flags(flags, &ret[i]);
	}
	return 0;
}

int host_page_read_row(const struct host_pages *pages, int pagemap_fd, uint64_t addr,
		       uint64_t nr_pages, struct host_page *ret)
{
	int err = 0;

	for (uint64_t done = 0; !err && done < nr_pages; done += ROW)
		err = read_row(pages, pagemap_fd, addr + done * PAGE_SIZE, MIN(nr_pages - done, (uint64_t)ROW),
			       ret + done);
	return err;
}

static int fail(struct host_pages *pages, char *msg, size_t msg_bytes, int err, const char *what)
{
	snprintf(msg, msg_bytes, "%s: %s", what, strerror(-err));
	host_pages_close(pages);
	return err;
}

/* A fresh page of this process is anonymous and no page of KSM. */
static int ask_about_own_page(struct host_pages *pages, char *msg, size_t msg_bytes)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	volatile char *own = mmap(NULL, PAGE_SIZE, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct host_page page = { 0 };
	int err = pagemap < 0 ? -errno : 0;

	if (own == MAP_FAILED)
		err = -ENOMEM;
	if (!err) {
		own[0] = 1;
		err = host_page_read(pages, pagemap, (uintptr_t)own, &page);
	}
	if (own != MAP_FAILED)
		munmap((void *)own, PAGE_SIZE);
	if (pagemap >= 0)
		close(pagemap);
	if (!err && !page.pfn)
		err = -EPERM;
	if (err)
		return fail(pages, msg, msg_bytes, err, "/proc/self/pagemap shows no frame numbers");
	pages->ksm_bit_lies = page.ksm;
	return 0;
}

int host_pages_open(struct host_pages *pages, char *msg, size_t msg_bytes)
{
	pages->count_fd = -1;
	pages->flags_fd = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
	if (pages->flags_fd < 0)
		return fail(pages, msg, msg_bytes, -errno, "/proc/kpageflags");
	pages->count_fd = open("/proc/kpagecount", O_RDONLY | O_CLOEXEC);
	if (pages->count_fd < 0)
		return fail(pages, msg, msg_bytes, -errno, "/proc/kpagecount");
	return ask_about_own_page(pages, msg, msg_bytes);
}

void host_pages_close(struct host_pages *pages)
{
	if (pages->flags_fd >= 0)
		close(pages->flags_fd);
	if (pages->count_fd >= 0)
		close(pages->count_fd);
	pages->flags_fd = -1;
	pages->count_fd = -1;
}
