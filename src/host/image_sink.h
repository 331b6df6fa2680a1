/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The reader's side of a memory image (memory_image.h): tells VMAs and pages
 * to the visitor, counts them in the report, and writes error messages. Both
 * readers use it, so that both count and word alike.
 *
 *	image_sink_init(&sink, ops, arg, report, msg, msg_bytes);
 *	err = image_sink_vma(&sink, &vma);
 *	err = image_sink_pages(&sink, addr, nr, IMAGE_PAGE_PRESENT, slice);
 *	err = image_sink_run(&sink, addr, nr, IMAGE_PAGE_UNKNOWN);
 *	return image_sink_fail(&sink, -EINVAL, "%s: not a core", path);
 *
 * Locking: none, it belongs to the thread that reads. It does not check the
 * order of what it is told: that is the readers' contract.
 */
#ifndef SP_IMAGE_SINK_H
#define SP_IMAGE_SINK_H

#include "memory_image.h"

struct image_sink {
	const struct image_ops *ops;
	void *arg;
	struct image_report *report;
	char *msg;
	size_t msg_bytes;
};

/* Clears the report and the message. */
void image_sink_init(struct image_sink *sink, const struct image_ops *ops,
		     void *arg, struct image_report *report, char *msg,
		     size_t msg_bytes);
int image_sink_vma(struct image_sink *sink, const struct image_vma *vma)
	SP_MUST_CHECK;
/* `contents` holds nr_pages pages. */
int image_sink_pages(struct image_sink *sink, uint64_t addr, uint64_t nr_pages,
		     enum image_page_state state, const void *contents)
	SP_MUST_CHECK;
/* nr_pages may be 0, and then nothing is told. */
int image_sink_run(struct image_sink *sink, uint64_t addr, uint64_t nr_pages,
		   enum image_page_state state) SP_MUST_CHECK;
/* Writes the message and returns `err`. */
int image_sink_fail(struct image_sink *sink, int err, const char *fmt, ...)
	SP_PRINTF(3, 4);

/* Copies a name, cut to fit and always terminated. */
void image_vma_set_name(struct image_vma *vma, const char *name, size_t len);
/* Mappings of devices and of hugetlbfs, told by their names. */
bool image_name_is_special(const char *name);
/*
 * Memory that has a file only in name: a private mapping of /dev/zero is
 * anonymous.
 */
bool image_name_is_zero_device(const char *name);

#endif
