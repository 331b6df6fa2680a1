/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of operations; see ast.h. */
#include "ast.h"

const struct op_info op_table[NR_OPS] = {
#define X(upper, word, flags, usage) \
	[OP_##upper] = { word, usage, ((flags) & OP_PROC) != 0, ((flags) & OP_FAIL) != 0 },
	SCENARIO_OPS(X)
#undef X
};
