#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Output that cannot be written, and ^C: exit status 2 and one line.
. "${SP_SOURCE:?}/tests/cli/common.sh" || exit 1

ln -s "$SP_SOURCE/scenarios" scenarios
printf 'process a from core "c.core"\n' > core.scn
"${SP_MKCORE:?}" c.core -- sleep 1000 || exit 1

to_full_device()
{
	local is=0

	"$SAMEPAGE" "$@" > /dev/full 2> .err || is=$?
	cat .err
	[ $is = 2 ] && [ "$(cat .err)" = "samepage: standard output cannot be written: No space left on device" ]
}

# With a lot of output the write that fails is not the last one.
much_to_full_device()
{
	local is=0

	"$SAMEPAGE" "$@" > /dev/full 2> .err || is=$?
	cat .err
	[ $is = 2 ] && [ "$(wc -l < .err)" = 1 ] &&
		grep -qxE "samepage: standard output cannot be written: (No space left on device|an earlier write failed)" .err
}

# The files that it opens must not become its output.
to_nowhere()
{
	local is=0

	"$SAMEPAGE" "$@" >&- 2> .err || is=$?
	cat .err
	[ $is = 2 ] && [ "$(cat .err)" = "samepage: standard output cannot be written: Bad file descriptor" ]
}

without_any_file()
{
	local is=0

	"$SAMEPAGE" run "$@" <&- >&- 2>&- || is=$?
	[ $is = 2 ]
}

bench=(bench rmap --vmas 64 --scale 1)
if [ -c /dev/full ]; then
	check "a report to a full device" to_full_device run scenarios/mremap-move.scn
	check "JSON to a full device" much_to_full_device run --json scenarios/01-equal-pages-merge.scn
	check "a long trace to a full device" much_to_full_device run --trace scenarios/13-sharing-limit.scn
	check "help to a full device" to_full_device run --help
	check "the list of commands to a full device" to_full_device --help
	check "the version to a full device" to_full_device --version
	check "bench rmap to a full device" to_full_device "${bench[@]}"
	check "bench merge to a full device" to_full_device bench merge --size 1M --no-host
else
	skip "output to a full device" "there is no /dev/full"
fi
check "a report to a closed standard output" to_nowhere run scenarios/mremap-move.scn
check "a core read with a closed standard output" to_nowhere run core.scn
check "the version to a closed standard output" to_nowhere --version
check "bench rmap to a closed standard output" to_nowhere "${bench[@]}"
check "no standard files at all" without_any_file core.scn

# ---- ^C -------------------------------------------------------------------------------

# Both would run for minutes at least: one has many operations, one a long one.
printf '%s\n' 'process a' 'a: map x 100' 'for i in 1..100000000' '	a: fill x[3] i%256' 'end' > many.scn
printf '%s\n' 'process a' 'a: map x 10000' 'a: madvise x mergeable' 'a: fill x random 3' \
	'scan 1000000000' > long.scn

# It says a second; the rest is for a busy machine.
run_interrupted()
{
	interrupted 0.2 30 "$SAMEPAGE" run "$@"
}

report_until_then()
{
	run_interrupted --strategy full many.scn && grep -q "^  full .* error$" .out
}

nothing_but_json()
{
	run_interrupted --json many.scn && [ ! -s .out ]
}

check "an interrupted loop" report_until_then
check "an interrupted loop, JSON" nothing_but_json
check "an interrupted operation" run_interrupted long.scn
check "an interrupted trace" run_interrupted --trace --strategy full long.scn
finish
