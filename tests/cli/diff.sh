#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# samepage diff with real kernels in real guests: what is the same, what must differ, what is declared,
# and a guest that dies. Where guests cannot be had, that is said, and nothing of this file is tested.
. "$SP_SOURCE/tests/cli/common.sh"

need_guests

forked=('process a' 'a: map x 4' 'a: madvise x mergeable' 'a: fill x 0x77' 'scan 2' 'a: fork b'
	'b: fill x[1] 0x11' 'scan 1' 'b: exit' 'scan 1')
scenario forked.scn "${forked[@]}"
scenario declared.scn 'differs linux < 6.4 ksm_merging_pages ksm_rmap_items "fork copies the figures"' \
	"${forked[@]}"
scenario needs.scn 'needs linux >= 6.4 "prctl"' 'process a' 'a: map x 2' 'a: prctl merge-any 1' \
	'a: fill x 7' 'scan 2'
# Every state of a page, protections, swap, two nodes.
scenario states.scn 'machine nodes 2' 'process a' 'a: map x 8' 'a: madvise x mergeable' 'a: fill x[0..3] 5' \
	'a: fill x[4] random 3' 'a: touch x[5]' 'scan 2' 'a: mprotect x[1] none' 'a: migrate x[0]' \
	'a: swapout x[4]' 'a: mlock x[6]' 'a: munmap x[7]' 'a: madvise x[6..7] mergeable' \
	'expect errno ENOMEM' 'a: swapin x[4]' 'file f 3 seed 4' 'a: map d 3 file f at 0' 'a: read d' \
	'a: fill d[1] 5' 'a: mremap x[2] -> x[7]' 'scan 2'

# What 6.1 does otherwise, and the others do not (V22).
must_differ()
{
	status 1 "$SAMEPAGE" diff forked.scn || return
	cat .out
	grep -q '^forked.scn: differs on 6.1; same on 6.12, 7.2 (10 operations)$' .out &&
		grep -q '^forked.scn:6: a: fork b$' .out &&
		grep -q '^  > b.ksm_merging_pages *0 *4 ! *0 *0$' .out &&
		grep -q '^ *engine *6.1 *6.12 *7.2$' .out
}
check "what must differ does, and where is told" must_differ

same_or_explained()
{
	status 0 "$SAMEPAGE" diff declared.scn needs.scn states.scn || {
		cat .out
		return 1
	}
	diff -u - .out <<- END
		declared.scn: as declared on 6.1; same on 6.12, 7.2 (10 operations)
		  6.1: fork copies the figures
		needs.scn: not for it on 6.1; same on 6.12, 7.2 (5 operations)
		  6.1: line 1: needs linux >= 6.4 "prctl"
		states.scn: same on 6.1, 6.12, 7.2 (20 operations)
	END
}
check "what is the same, or explained, is told in a line" same_or_explained

as_json()
{
	status 1 "$SAMEPAGE" diff --kernel 6.1 --json forked.scn declared.scn && python3 - .out <<- 'END'
		import json, sys
		forked, declared = json.load(open(sys.argv[1]))
		[side] = forked["kernels"]
		assert side["kernel"] == "6.1" and side["release"].startswith("6.1."), side
		assert side["verdict"] == "differs" and side["nr_operations"] == 10, side
		first = side["differences"][0]
		assert first == {"operation": 6, "line": 6, "text": "a: fork b", "key": "b.ksm_merging_pages",
				 "engine": "0", "kernel": "4", "declared": None}, first
		[side] = declared["kernels"]
		assert side["verdict"] == "as declared", side
		assert all(d["declared"] == "fork copies the figures" for d in side["differences"]), side
		assert not side["failures"], side
	END
}
check "JSON" as_json

# The first file's end is not waited for: the guest is given up, and another one runs the next.
silent()
{
	scenario silent.scn 'process a' 'run 3600s' 'a: map x 1'
	status 4 "$SAMEPAGE" diff --kernel 7.2 --time-limit 50s silent.scn needs.scn || return
	cat .out
	grep -q '^silent.scn: died on 7.2 (1 operation)$' .out &&
		grep -q '^  7.2: the guest hung: the command did not end within' .out &&
		grep -q '^needs.scn: same on 7.2 (5 operations)$' .out
}
check "a guest that falls silent, and the next file" silent
finish
