#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# samepage check --on kernel: what it refuses; and, where guests can be had, a few sequences of a fixed
# seed on the kernel that the engine is compared with, and on one that differs from it: on 6.1 a fork
# begins with its parent's ksm_rmap_items, which must be found and shrunk.
#
# shellcheck source=tests/cli/common.sh
. "$SP_SOURCE/tests/cli/common.sh"

refuses "a wrong place" 'samepage: check: --on moon: on engine, or on kernel' check --on moon
refuses "a strategy on a kernel" 'samepage: check: --strategy does not go with --on kernel' \
	check --on kernel --strategy index
refuses "an exhaustive search on a kernel" 'samepage: check: --exhaustive does not go with --on kernel' \
	check --on kernel --exhaustive
refuses "a kernel for the search" 'samepage: check: --kernel goes with --on kernel' check --kernel 7.2
refuses "this kernel for the search" 'samepage: check: --here goes with --on kernel' check --here
refuses "two kernels" 'samepage: check: --here is this kernel, --kernel another one' \
	check --on kernel --here --kernel 7.2
refuses "all kernels" 'samepage: check: --kernel all: it compares with one kernel' \
	check --on kernel --kernel all
refuses "too many guests" 'samepage: check: --jobs 9: at most 8 guests at a time' \
	check --on kernel --jobs 9

without_root()
{
	local status=0

	setpriv --reuid 65534 --clear-groups "$SAMEPAGE" check --on kernel --here --runs 2 --seed 1 \
		> out 2> err || status=$?
	cat out err
	[ "$status" = 3 ] && grep -q "only root may drive the kernel's KSM" out
}
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --clear-groups test -x "$SAMEPAGE" 2> /dev/null; then
	check "here, without root" without_root
else
	skip "here, without root" "no setpriv, or the command is where only root sees it"
fi

need_guests 6.1 7.2

agrees()
{
	status 0 "$SAMEPAGE" check --on kernel --kernel 7.2 --runs 20 --seed 1 --no-timing || return
	grep -q '^7\.2\..*: 20 sequences, [0-9,]* operations compared, seed 1$' .out &&
		grep -q '^no unexplained difference$' .out
}
check "engine and 7.2 agree" agrees

differs()
{
	status 1 "$SAMEPAGE" check --on kernel --kernel 6.1 --runs 30 --seed 1 --json -o found.scn ||
		return
	python3 - .out <<- 'END'
		import json, sys
		o = json.load(open(sys.argv[1]))
		assert o["kernel"] == "6.1" and o["release"].startswith("6.1."), o
		assert o["sequences"] == 30 and not o["interrupted"] and not o["ends"], o
		groups = {f["group"]: f for f in o["findings"]}
		f = groups["ksm_rmap_items after fork"]
		assert f["engine"] == "0" and int(f["kernel"]) > 0, f
		assert f["operations"] <= 8 < f["operations_before"], f
		text = open(f["file"]).read()
		assert text == f["scenario"] and "fork" in text, text
	END
}
check "on 6.1 a fork begins with its parent's rmap_items" differs

finish
