/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mappings of a process with their flags: /proc/PID/smaps, read line by
 * line, of one stretch of its address space.
 *
 * The file is ordered by address and made while it is read, page tables walked
 * and all; so reading ends as soon as the stretch does, and a process may have
 * any number of mappings behind it. Where nobody asks for the flags, the same
 * is read from /proc/PID/maps, which costs a fraction.
 *
 *	err = smaps_read(&list, &mem, pid, true, start, end);
 *	... list.vmas[0 .. list.nr - 1], ascending
 *	smaps_free(&list);
 *
 * Locking: none, one thread.
 */
#ifndef SP_PROC_SMAPS_H
#define SP_PROC_SMAPS_H

#include <sys/types.h>

#include "mem.h"
#include "memory_image.h"

struct smaps_vma {
	struct image_vma map;
	/* Unset unless flags were asked for: */
	bool mergeable, locked, dontfork;
	bool has_ksm_bytes;  /* this kernel counts them (6.7) */
	uint64_t ksm_bytes;  /* in pages of KSM, zero pages not counted */
};

struct smaps {
	struct mem *mem;
	struct smaps_vma *vmas;
	size_t nr, room;
	bool ended; /* the stretch did */
};

/* On error nothing needs to be freed. */
int smaps_read(struct smaps *list, struct mem *mem, pid_t pid, bool with_flags, uint64_t start,
	       uint64_t end) SP_MUST_CHECK;
void smaps_free(struct smaps *list);

/* One line, without its newline: of a new mapping, or of the last one. */
int smaps_add_line(struct smaps *list, const char *line, size_t length, uint64_t start,
		   uint64_t end) SP_MUST_CHECK;

#endif
