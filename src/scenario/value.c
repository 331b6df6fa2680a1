/* SPDX-License-Identifier: GPL-2.0-only */
/* Checked integer arithmetic; see value.h. */
#include "value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "assertion.h"

static const char *operator_text(enum expr_op op)
{
	switch (op) {
	case EXPR_ADD:
		return "+";
	case EXPR_SUBTRACT:
		return "-";
	case EXPR_MULTIPLY:
		return "*";
	case EXPR_DIVIDE:
		return "/";
	default:
		return "%";
	}
}

int value_apply(enum expr_op op, int64_t a, int64_t b, int64_t *ret, char *buf, size_t size)
{
	bool overflow = false;

	switch (op) {
	case EXPR_ADD:
		overflow = __builtin_add_overflow(a, b, ret);
		break;
	case EXPR_SUBTRACT:
		overflow = __builtin_sub_overflow(a, b, ret);
		break;
	case EXPR_MULTIPLY:
		overflow = __builtin_mul_overflow(a, b, ret);
		break;
	case EXPR_NEGATE:
		overflow = __builtin_sub_overflow(INT64_C(0), a, ret);
		if (overflow) {
			snprintf(buf, size, "-(%" PRId64 ") does not fit in 64 bits", a);
			return -EINVAL;
		}
		break;
	case EXPR_DIVIDE:
	case EXPR_REMAINDER:
		if (!b) {
			snprintf(buf, size, "division by zero: %" PRId64 " %s 0", a,
				 operator_text(op));
			return -EINVAL;
		}
		overflow = a == INT64_MIN && b == -1;
		if (!overflow)
			*ret = op == EXPR_DIVIDE ? a / b : a % b;
		break;
	default:
		SP_BUG("not an operator");
	}
	if (!overflow)
		return 0;
	snprintf(buf, size, "%" PRId64 " %s %" PRId64 " does not fit in 64 bits", a,
		 operator_text(op), b);
	return -EINVAL;
}

bool value_compare(enum compare compare, int64_t a, int64_t b)
{
	switch (compare) {
	case COMPARE_EQ:
		return a == b;
	case COMPARE_NE:
		return a != b;
	case COMPARE_LT:
		return a < b;
	case COMPARE_LE:
		return a <= b;
	case COMPARE_GT:
		return a > b;
	case COMPARE_GE:
		return a >= b;
	}
	SP_BUG("not a comparison");
}
