#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What the shipped scenarios declare broken. Each one's own test shows that it
# is as declared; this one, that nothing is declared beyond what is known of the
# strategies, so that a defect of the engine is not explained away by a line in
# a scenario.
set -eu

cd "$SP_SOURCE/scenarios"

declared()
{
	grep -lE "^broken( [a-z]+)* $1( |\$)" ./*.scn | sed 's|^\./||; s|\.scn$||' | tr '\n' ' '
}

expect()
{
	local found

	found=$(declared "$1" || true)
	[ "$found" = "$2" ] && return
	echo "declared-broken: $1 is declared broken in: $found" >&2
	echo "expected: $2" >&2
	exit 1
}

expect full ""
expect direct ""
# The stale index (S5, V6); mappings without an item that another item's address
# leads to, but not its index (S6 to S9, S13).
expect index "39-stored-index-hole found-index-moved-plain found-index-remade found-index-swapped-elsewhere found-index-swapped-forked found-index-upgraded item-made-again moved-in-plain-vma split-after-walk stale-index-fork upgraded-elsewhere v06-swapin-elsewhere "
# Linux's own misses (R6, V3, V4, V6, K30a, S10 to S12, S14).
expect linux "empty-node found-full-child found-full-fork-unscanned found-full-full-node found-full-moved-foreign found-full-moved-fresh found-full-no-node found-full-parent found-full-rejoined found-full-swapped-foreign found-full-swapped-fresh found-full-unmerged found-full-upgraded-unscanned found-full-wrong-tree offline-unreachable v03-child-only-unreachable v04-unmerged-while-swapped v06-swapin-foreign v06-swapin-fresh "
