#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The shipped scenario that takes a core, on the core of a real program; on the
# same one cut in half, whose lost pages must be unknown and not zero; and
# without any core.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$SP_SOURCE/scenarios/core-merge.scn" "$dir"

fail()
{
	echo "core-merge: $1" >&2
	cat "$dir/out" >&2
	exit 1
}

run()
{
	local status=0

	"$SAMEPAGE" run --no-timing "$dir/core-merge.scn" > "$dir/out" 2>&1 || status=$?
	[ "$status" = "$1" ] || fail "$2: exit status $status, expected $1"
}

# Number of unknown pages of process a.
unknown()
{
	sed -n 's/^  process a from core program.core: [0-9]* VMAs, \([0-9]*\) unknown pages$/\1/p' "$dir/out"
}

run 2 "without a core"
grep -q 'core-merge.scn:[0-9]*:[0-9]*: .*/program.core: No such file or directory$' "$dir/out" ||
	fail "a core that is missing is not named"

"$SP_MKCORE" "$dir/program.core" -- sleep 1000
run 0 "the whole core"
whole=$(unknown)
[ -n "$whole" ] || fail "what was loaded is not reported"
for strategy in full index direct; do
	grep -q "^  $strategy .* held, complete$" "$dir/out" || fail "$strategy is not complete"
done
for strategy in address retry; do
	grep -q "^  $strategy .* broken as declared: misses [1-9]" "$dir/out" ||
		fail "$strategy misses nothing of a real program's private file mappings"
done

size=$(stat -c %s "$dir/program.core")
truncate -s $((size / 2)) "$dir/program.core"
run 0 "half of the core"
[ "$(unknown)" -gt "$whole" ] || fail "what was cut off is not unknown"
