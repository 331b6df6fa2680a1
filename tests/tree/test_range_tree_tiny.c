/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tests of the range tree once more, with nodes of four slots: splits,
 * merges and changes of height, rare with full-size nodes, happen all the time.
 * The tree's source is included, so the library's copy is not linked.
 */
#define RANGE_FANOUT 4
#include "range_tree.c"
#include "test_range_tree.c"
