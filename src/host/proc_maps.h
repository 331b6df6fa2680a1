/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The text of /proc/PID/maps, read whole and taken apart line by line.
 *
 * Whole, because a message about a process that exits half-way says how many
 * of its mappings were read, and because the text is small beside the memory
 * it describes (65,530 mappings make 6 MiB).
 *
 *	err = proc_maps_read(&maps, mem, fd);
 *	while (proc_maps_next(&maps, &vma)) ...
 *	proc_maps_free(&maps);
 *
 * Locking: none, one thread.
 */
#ifndef SP_PROC_MAPS_H
#define SP_PROC_MAPS_H

#include "mem.h"
#include "memory_image.h"

struct proc_maps {
	struct mem *mem;
	char *text;
	size_t text_bytes, room_bytes;
	size_t pos; /* of the next line */
	uint64_t nr_lines;
};

/* On error nothing needs to be freed. */
int proc_maps_read(struct proc_maps *maps, struct mem *mem, int fd) SP_MUST_CHECK;
/* False at the end. A line that makes no sense ends the text, too. */
bool proc_maps_next(struct proc_maps *maps, struct image_vma *ret);
void proc_maps_free(struct proc_maps *maps);

/* One line without its newline. */
bool proc_maps_parse(const char *line, size_t len, struct image_vma *ret);

#endif
