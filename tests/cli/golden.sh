#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What the command prints, byte for byte: reports of shipped scenarios and of
# one that fails in every way, JSON, traces, and every help text.
. "${SP_SOURCE:?}/tests/cli/common.sh" || exit 1

ln -s "$SP_SOURCE/scenarios" scenarios

golden mremap-move run --no-timing scenarios/mremap-move.scn
golden child-only run --no-timing scenarios/v03-child-only-unreachable.scn
golden swapin-elsewhere run --no-timing scenarios/v06-swapin-elsewhere.scn
golden unscanned-children run --no-timing scenarios/33-unscanned-children.scn
golden one-strategy run --no-timing --strategy direct scenarios/mremap-move.scn
golden two-strategies run --no-timing --strategy index --strategy full scenarios/v06-swapin-elsewhere.scn
golden two-files run --no-timing --strategy full scenarios/private-file.scn scenarios/04-run-2-unmerges-all.scn
golden json run --no-timing --json scenarios/mremap-move.scn
golden trace run --no-timing --trace --strategy index scenarios/mremap-move.scn
golden trace-all run --no-timing --trace scenarios/v05-swapin-as-it-is.scn

golden steps run --no-timing --steps scenarios/18-fork-after-merging.scn
golden steps-two run --no-timing --steps --strategy index --strategy full scenarios/v06-swapin-elsewhere.scn
golden steps-json run --no-timing --steps --json scenarios/mremap-move.scn
golden steps-lines run --steps=lines scenarios/18-fork-after-merging.scn

# Expectations that do not hold, once and in a loop; an operation that fails; a
# strategy that misses a page and is not declared broken.
scenario failing.scn '# Nothing here holds' \
	'process a' \
	'a: map x 4' \
	'a: madvise x mergeable' \
	'a: fill x[0..1] 0x77' \
	'scan until-stable' \
	'expect pages_sharing == 2' \
	'for i in 0..3' \
	'	expect ksm a:x[i]' \
	'end' \
	'a: swapout x[3]' \
	'a: mremap x[1] -> x[2]' \
	'scan until-stable' \
	'walk a:x[0]' \
	'expect reached all' \
	'a: munmap x[1]' \
	'expect errno EINVAL' \
	'expect content a:x[0..2] 0x78'
check failing is_golden failing 1 out run --no-timing failing.scn
check failing-json is_golden failing-json 1 out run --no-timing --json --strategy address failing.scn

scenario declared.scn 'broken index direct "they are not"' \
	'broken linux' \
	'process a' \
	'a: map x 2' \
	'a: madvise x mergeable' \
	'a: fill x 0x77' \
	'scan 2' \
	'a: migrate x[0]' \
	'expect ksm a:x'
check declared-held is_golden declared-held 1 out run --no-timing declared.scn

scenario silent.scn 'process a' 'a: map x 1'
golden nothing-expected run --no-timing silent.scn

check no-command is_golden no-command 2 err
check bench-no-command is_golden bench-no-command 2 err bench
for option in --help -? help; do
	golden help "$option"
	golden help-bench bench "$option"
done
golden help-run run --help
golden help-run help run
golden usage-run run --usage
golden help-diff diff --help
golden help-export export --help
golden help-bench-rmap bench rmap --help
golden help-bench-rmap help bench rmap
golden help-bench-merge bench merge --help

version()
{
	local is

	is=$("$SAMEPAGE" "$1") || return
	echo "$1 prints '$is'"
	[ "$is" = "samepage $(sed -n "s/^  version: '\(.*\)',$/\1/p" "$SP_SOURCE/meson.build")" ]
}

check "--version" version --version
check "-V" version -V
finish
