#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The output is a function of the files, the seed and the options: two runs are
# the same byte for byte once measured times are left out, although addresses of
# the host differ. Every shipped scenario but the one that needs a core and the
# three large ones.
. "${SP_SOURCE:?}/tests/cli/common.sh" || exit 1

ln -s "$SP_SOURCE/scenarios" scenarios
files=()
for file in scenarios/*.scn; do
	case $file in
	*/core-merge.scn | */vmas-20000.scn | */forks-1000.scn | */32-split-vmas.scn) ;;
	*) files+=("$file") ;;
	esac
done

# twice ARGUMENT...: the same output and exit status, and not a refusal. That
# scenarios hold is what their own tests show.
twice()
{
	local first=0 second=0

	"$SAMEPAGE" run "$@" > first || first=$?
	"$SAMEPAGE" run "$@" > second || second=$?
	[ -s first ] && [ $first = $second ] && [ $first -le 1 ] && cmp first second
}

# What --no-timing leaves out are the keys that say _ns, what is computed of
# them, and nothing else.
only_times_differ()
{
	"$SAMEPAGE" run --json scenarios/34-migrate.scn > timed || return
	"$SAMEPAGE" run --json --no-timing scenarios/34-migrate.scn > untimed || return
	grep -q _ns timed || return
	# A comma more or less is the place of a last key.
	diff <(grep -v -e '_ns' -e '"ratio_to_full"' timed | tr -d ,) <(tr -d , < untimed)
}

# Random contents change with the seed, and nothing that a file expects does.
seeds_hold()
{
	local seed

	for seed in 1 0xffffffffffffffff; do
		"$SAMEPAGE" run --json --no-timing --seed "$seed" "${files[@]}" > "seed-$seed"
		sed -i '/^    "seed":/d' "seed-$seed"
	done
	"$SAMEPAGE" run --json --no-timing "${files[@]}" | sed '/^    "seed":/d' > seed-0
	[ -s seed-0 ] && cmp seed-0 seed-1 && cmp seed-0 seed-0xffffffffffffffff
}

check "reports" twice --no-timing "${files[@]}"
check "JSON, seed 7" twice --no-timing --json --seed 7 "${files[@]}"
check "traces, seed 7" twice --no-timing --trace --seed 7 "${files[@]}"
check "times are all that --no-timing leaves out" only_times_differ
check "every seed holds" seeds_hold
finish
