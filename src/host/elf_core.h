/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the memory of a process from a 64-bit little-endian ELF core, as Linux
 * and gcore write it. The headers are read by hand with bounds checks, because
 * real cores break general ELF libraries: more than 65,535 segments (PN_XNUM),
 * files cut short by a limit or a full disk, segments whose contents were
 * filtered out (memsz > filesz).
 *
 * What a core says, and what becomes of it:
 *
 *   contents in the file		PRESENT
 *   a hole in the file			UNTOUCHED: Linux leaves one where no page
 *					was; in a private file mapping: UNKNOWN;
 *					in a shared mapping: FILE
 *   memsz > filesz			UNKNOWN: filtered out, not zero. A file
 *					mapping of which only the first page was
 *					dumped has its ELF header there: FILE
 *   beyond the end of the file		UNKNOWN, and report->truncated
 *
 * A core does not know which mappings are shared; those of /dev/shm, memfd,
 * System V shared memory and shared anonymous memory are told by their names.
 * A core does not tell a page of a private file mapping that was written from
 * one that was not: what is dumped is taken as written.
 *
 * A core that contradicts itself is refused before the first callback:
 * segments must be page aligned, ascend without overlap, stay inside user
 * address space or outside of it, and not claim more contents together than
 * the file has. A cut inside the ELF header or the program headers is refused
 * too: no contents precede them. Where the cut took section header 0, which
 * holds the number of segments of a PN_XNUM core and stands last in the file,
 * that number is concluded from where the first segment's bytes begin.
 *
 * Time is linear in the size of the headers and of the data (holes are skipped
 * whole); memory is one slice and the NT_FILE note. Locking: none.
 */
#ifndef SP_ELF_CORE_H
#define SP_ELF_CORE_H

#include "mem.h"
#include "memory_image.h"

int elf_core_read(struct mem *mem, const char *path, const struct image_ops *ops,
		  void *arg, struct image_report *report, char *msg,
		  size_t msg_bytes) SP_MUST_CHECK;
/* The same from a buffer, which has no holes. */
int elf_core_read_buffer(struct mem *mem, const void *data, size_t size,
			 const struct image_ops *ops, void *arg,
			 struct image_report *report, char *msg,
			 size_t msg_bytes) SP_MUST_CHECK;

#endif
