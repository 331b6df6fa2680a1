/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes ELF cores, for tests: any layout that a test describes, and the core
 * of a running process, as Linux would write it. Knows nothing of src/host, so
 * that a misunderstanding there is not repeated here.
 *
 *	const struct core_segment segments[] = { { 0x10000, 2, 2, PROT_READ } };
 *	const struct core_layout layout = { segments, 1, NULL, 0, 0 };
 *	err = core_write(path, &layout, fill, arg);
 *
 *	err = core_write_pid(path, pid);
 *
 * The order is Linux's: ELF header, program headers (the note first), notes,
 * contents from the next multiple of a page on, and for 65,535 headers or more
 * section header 0 at the very end. Errors are -errno.
 */
#ifndef TEST_CORE_WRITER_H
#define TEST_CORE_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct core_segment {
	uint64_t vaddr;
	uint64_t nr_pages;        /* in memory */
	uint64_t nr_dumped_pages; /* in the file */
	int prot;                 /* PROT_* */
};

struct core_file_map { /* an entry of NT_FILE */
	uint64_t start, end, pgoff;
	const char *name;
};

struct core_layout {
	const struct core_segment *segments;
	size_t nr_segments;
	const struct core_file_map *files;
	size_t nr_files;
	uint64_t vdso; /* address told by NT_AUXV; 0: no such note */
};

/* Fills one page; 1 when it has contents, 0 for a hole, -errno. */
typedef int (*core_page_fn)(void *arg, size_t segment, uint64_t page, void *buf);

int core_write(const char *path, const struct core_layout *layout,
	       core_page_fn fill, void *arg) __attribute__((warn_unused_result));
/* What Linux dumps by default (coredump_filter 0x33); the process runs on. */
int core_write_pid(const char *path, pid_t pid) __attribute__((warn_unused_result));

/*
 * Waits until a program has started and sleeps, for a while; -ESRCH when it
 * ended, -ETIMEDOUT after ten seconds.
 */
int core_wait_until_asleep(pid_t pid) __attribute__((warn_unused_result));

/* Where core_write() puts the notes and the contents of the first segment. */
uint64_t core_notes_offset(const struct core_layout *layout);
uint64_t core_contents_offset(const struct core_layout *layout);

#endif
