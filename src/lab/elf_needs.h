/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an ELF file needs beside itself: a module other modules, a program its loader and libraries, a
 * kernel a boot loader, or not.
 *
 * Only 64-bit little-endian files, which is what runs in a guest. The file comes from a package or from
 * this system, but may be damaged: every offset is checked.
 *
 * Locks: none; pure functions on memory.
 */
#ifndef SP_ELF_NEEDS_H
#define SP_ELF_NEEDS_H

#include "lab.h"

/* The modules that a module depends on, by commas: "zsmalloc,lz4_compress", or "". -ENOEXEC. */
int elf_module_depends(const void *data, size_t bytes, char *depends,
		       size_t depends_bytes) SP_MUST_CHECK;

/* A program's loader, "" of a static one. -ENOEXEC. */
int elf_interpreter(const void *data, size_t bytes, char *path, size_t path_bytes) SP_MUST_CHECK;

/* Can a machine start at this kernel's entry for PVH, without a boot loader's real mode? */
bool elf_starts_by_pvh(const void *data, size_t bytes);

#endif
