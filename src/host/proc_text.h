/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small texts of /proc and /sys: files that hold one value, and files of lines
 * "name value" (vmstat) or "name: value" (status, ksm_stat). Numbers may be
 * negative; "yes" is 1 and "no" is 0, as ksm_stat says it.
 *
 *	err = proc_text_read("/proc/vmstat", text, sizeof(text));
 *	err = proc_text_find(text, "cow_ksm", &value);
 *	err = proc_text_value("/sys/kernel/mm/ksm/full_scans", &value);
 *
 * A text longer than the buffer is -EFBIG: half a file has the wrong answer to
 * "is there such a line".
 *
 * Locking: none.
 */
#ifndef SP_PROC_TEXT_H
#define SP_PROC_TEXT_H

#include <stddef.h>

#include "bits.h"

/* 0 and a string, its last newline cut off. */
int proc_text_read(const char *path, char *buf, size_t size) SP_MUST_CHECK;
/* What write(2) says of value and a newline. */
int proc_text_write(const char *path, const char *value) SP_MUST_CHECK;
/* -ENOENT: no such line; -EINVAL: its value is no number. */
int proc_text_find(const char *text, const char *name, int64_t *ret) SP_MUST_CHECK;
/* A number, or "yes" or "no". -EINVAL: neither. */
int proc_text_number(const char *text, int64_t *ret) SP_MUST_CHECK;
/* The number that is all there is in a file. */
int proc_text_value(const char *path, int64_t *ret) SP_MUST_CHECK;

#endif
