#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# samepage bench merge: the engine's part, what is said where the host's part is
# left out, wrong sizes. The host kernel's ksmd is driven only where
# SP_TEST_HOST_KSM=1 asks for it: it is everybody's.
. "${SP_SOURCE:?}/tests/cli/common.sh" || exit 1

# engine_row SHARED SHARING: both counts, and a rate that is not 0.
engine_row()
{
	grep -qE "^engine +[0-9.]+ [mun]?s +[0-9.]+ [mun]?s +[0-9]+ +[1-9][0-9]* +$1 +$2$" .out && return
	cat .out
	return 1
}

# 256 pages: 128 unique ones, 16 groups of 8.
half_unique()
{
	status 0 "$SAMEPAGE" bench merge --size 1M --no-host && engine_row 16 112 &&
		grep -qx "256 pages (1 MiB), 50 % unique, the others in groups of 8." .out &&
		grep -qx "The host kernel was left out: --no-host was given." .out &&
		grep -qE "^Engine metadata: [0-9.]+ bytes a page \(256 rmap_items, 16 stable nodes\).$" .out
}

nothing_equal()
{
	status 0 "$SAMEPAGE" bench merge --size 1M --unique 100 --no-host && engine_row 0 0
}

nothing_unique()
{
	status 0 "$SAMEPAGE" bench merge --size 0x10000 --unique 0 --no-host && engine_row 2 14
}

check "half of it unique" half_unique
check "nothing equal" nothing_equal
check "nothing unique, the smallest size" nothing_unique

# Without the right to drive ksmd, the engine's part runs, and what is missing is named.
cp "$SAMEPAGE" samepage
nobody=()
[ "$(id -u)" = 0 ] && nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
not_root()
{
	status 0 "${nobody[@]}" ./samepage bench merge --size 1M && engine_row 16 112 || return
	cat .out
	grep -qE "^The host kernel was left out: (no )?/sys/kernel/mm/ksm.*[.]$" .out
}
if "${nobody[@]}" ./samepage --version > /dev/null 2>&1; then
	check "not root" not_root
else
	skip "not root" "cannot become nobody"
fi

sizes="must be a size from 64K to 64G, such as 512M or 1G"
for size in 0 1 63K 65535 65G 1T 1E 1MB M -1M x '' '1 M' 1.5G 99999999999999999999 17179869185G; do
	refuses "the size '$size'" "samepage: --size $size: $sizes" bench merge --size "$size" --no-host
done
for percent in 101 -1 50% x ''; do
	refuses "the share '$percent'" "samepage: --unique $percent: must be a whole number from 0 to 100" \
		bench merge --unique "$percent" --no-host
done
refuses "an argument of bench merge" \
	"samepage: bench merge: unexpected argument '1G'; it takes options only" bench merge 1G --no-host

knobs()
{
	(cd /sys/kernel/mm/ksm && head -n 1 advisor_* max_page_sharing merge_across_nodes pages_to_scan \
		run sleep_millisecs smart_scan use_zero_pages 2> /dev/null)
}

# Both did the same, and every knob is as before.
host()
{
	knobs > before
	status 0 "$SAMEPAGE" bench merge --size 4M || return
	cat .out
	grep -qE "^The engine is [0-9.]+ times as fast as the host's ksmd.$" .out || return
	[ "$(awk '/^engine / { print $(NF - 1), $NF }' .out)" = "$(awk '/^host / { print $(NF - 1), $NF }' .out)" ] || return
	knobs | diff before -
}
if [ "${SP_TEST_HOST_KSM:-0}" = 1 ] && [ "$(id -u)" = 0 ]; then
	check "against the host's ksmd" host
fi
finish
