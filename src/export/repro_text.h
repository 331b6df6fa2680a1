/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The helpers of reproducers as text: repro_*.c.in, one behind the other,
 * which the build puts here (scripts/embed-text). helpers.h has their format.
 *
 * Locks: none; constants.
 */
#ifndef SP_REPRO_TEXT_H
#define SP_REPRO_TEXT_H

#include <stddef.h>

extern const char repro_text[];
extern const size_t repro_text_bytes;

#endif
