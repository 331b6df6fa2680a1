/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bytes of a core, from a file or from a buffer (the fuzz target). Reads
 * are positioned and short only at the end: a core may be larger than memory,
 * so nothing maps or loads it whole.
 *
 * Holes: Linux, and tools that copy sparsely, leave a hole in the file for
 * memory that was never touched. That is the only trace of it in a core, so
 * core_file_data() tells holes from data where the file system knows.
 *
 *	err = core_file_open(&file, path, &sink);
 *	err = core_file_read(&file, offset, buf, sizeof(buf), &got);
 *	core_file_data(&file, offset, end, &data_start, &data_end);
 *	core_file_close(&file);
 *
 * Locking: none; one thread.
 */
#ifndef SP_CORE_FILE_H
#define SP_CORE_FILE_H

#include "image_sink.h"

struct core_file {
	const char *name;    /* for messages; the caller's */
	int fd;              /* -1 when the bytes are in `data` */
	const uint8_t *data; /* the caller's */
	uint64_t size;
};

/* Regular files only: anything else is refused with a message. */
int core_file_open(struct core_file *file, const char *path,
		   struct image_sink *sink) SP_MUST_CHECK;
void core_file_open_buffer(struct core_file *file, const void *data, size_t size);
void core_file_close(struct core_file *file);

/* *ret is less than `len` only where the file ends. */
int core_file_read(const struct core_file *file, uint64_t offset, void *buf,
		   size_t len, size_t *ret) SP_MUST_CHECK;
/*
 * The first stretch of data in [offset, end): [*data_start, *data_end). What
 * lies before it is a hole; all of it is, when both are `end`.
 */
void core_file_data(const struct core_file *file, uint64_t offset, uint64_t end,
		    uint64_t *data_start, uint64_t *data_end);

#endif
