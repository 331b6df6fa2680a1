/* SPDX-License-Identifier: GPL-2.0-only */
/* samepage bench: the table of benchmarks. */
#include "cli.h"

static const struct command benches[] = {
	{"rmap", "reverse walks of merged pages, every strategy, with ratios to full", bench_rmap},
	{"merge", "ksmd's rate on the same contents, engine against host kernel", bench_merge},
	{NULL, NULL, NULL},
};

int cmd_bench(int argc, char **argv)
{
	return dispatch(benches, "samepage bench", "benchmark", argc, argv);
}
