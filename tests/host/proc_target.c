/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The process that test_proc_image reads: every kind of page once, at addresses
 * that it tells, and changes on command. A program of its own, built without
 * sanitizers, because their shadow memory is terabytes of mappings, which a
 * kernel without PAGEMAP_SCAN lists at eight bytes a page.
 *
 * It prints one line, "ANON FILE SHARED PLAIN RESERVED GUARDED", the first five
 * being addresses in hexadecimal (RESERVED may be 0) and the last 0 or 1, and
 * then obeys one command a byte on its standard input, answering each with one
 * byte:
 *
 *	u	unmap pages 300 to 399 of PLAIN
 *
 * ANON, 16 pages, private anonymous:
 *	0 written 'A'; 1 only read; 2 untouched; 3 written 'D' and without access
 *	since; 4 written and given back; 5 a guard where the kernel has them
 *	(GUARDED); 15 written 'P'; the others untouched
 * FILE, 6 pages of a file of 'f', private: 0 written 'C', 1 read
 * SHARED, 2 pages, shared anonymous: 0 written
 * PLAIN, 768 pages, private anonymous, all written 'v'
 * RESERVED, 256 GiB without access, nothing there
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
#define NR_FILE_PAGES 6
#define RESERVED_BYTES ((size_t)256 << 30)
/* madvise(MADV_GUARD_INSTALL), from Linux 6.13 on. */
#define GUARD_INSTALL 102

static volatile char *map_pages(size_t nr_pages, int flags, int fd)
{
	void *addr = mmap(NULL, nr_pages * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (addr == MAP_FAILED)
		exit(1);
	madvise(addr, nr_pages * PAGE, MADV_NOHUGEPAGE);
	return addr;
}

static int make_file(void)
{
	FILE *file = tmpfile();

	if (!file)
		exit(1);
	for (size_t i = 0; i < NR_FILE_PAGES * PAGE; i++)
		putc('f', file);
	if (fflush(file))
		exit(1);
	return fileno(file);
}

static bool lay_out_anon(volatile char *anon)
{
	anon[0] = 'A';
	(void)anon[PAGE];
	anon[3 * PAGE] = 'D';
	mprotect((void *)(anon + 3 * PAGE), PAGE, PROT_NONE);
	anon[4 * PAGE] = 'E';
	madvise((void *)(anon + 4 * PAGE), PAGE, MADV_DONTNEED);
	anon[15 * PAGE] = 'P';
	return madvise((void *)(anon + 5 * PAGE), PAGE, GUARD_INSTALL) == 0;
}

int main(void)
{
	volatile char *anon = map_pages(16, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	volatile char *file = map_pages(NR_FILE_PAGES, MAP_PRIVATE, make_file());
	volatile char *shared = map_pages(2, MAP_SHARED | MAP_ANONYMOUS, -1);
	volatile char *plain = map_pages(768, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	void *reserved = mmap(NULL, RESERVED_BYTES, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	bool guarded = lay_out_anon(anon);
	int command;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	file[0] = 'C';
	(void)file[PAGE];
	shared[0] = 'S';
	memset((void *)plain, 'v', 768 * PAGE);
	printf("%lx %lx %lx %lx %lx %d\n", (unsigned long)anon, (unsigned long)file,
	       (unsigned long)shared, (unsigned long)plain,
	       reserved == MAP_FAILED ? 0 : (unsigned long)reserved, guarded);
	fflush(stdout);
	while ((command = getchar()) != EOF) {
		if (command == 'u')
			munmap((void *)(plain + 300 * PAGE), 100 * PAGE);
		putchar(command);
		fflush(stdout);
	}
	return 0;
}
