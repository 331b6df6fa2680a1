/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Integer arithmetic of the language: signed 64 bits, and an error where C
 * would overflow or trap. Used while parsing (constants are folded) and while
 * running.
 */
#ifndef SP_VALUE_H
#define SP_VALUE_H

#include "ast.h"

/* 0 and *ret; -EINVAL and what is wrong in buf. */
int value_apply(enum expr_op op, int64_t a, int64_t b, int64_t *ret, char *buf,
		size_t size) SP_MUST_CHECK;
bool value_compare(enum compare compare, int64_t a, int64_t b);

#endif
