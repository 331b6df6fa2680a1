#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# samepage run --on kernel: what it says where it cannot, and, where
# SP_TEST_HOST_KSM is set, the scenarios on the kernel of this host. That drives the
# host's KSM, which is one for everybody, so nobody gets it unasked. Guests
# (tests of vm) need no asking.
#
# shellcheck source=tests/cli/common.sh
. "$SP_SOURCE/tests/cli/common.sh"

cat > x.scn <<-'END'
	process a
	a: map x 4
	a: madvise x mergeable
	a: fill x 0x77
	scan 2
	expect pages_sharing == 3
	expect same a:x
	walk a:x[0]
	expect reached all
END

# Status 3, nothing on standard output, one line that names file and reason.
skips()
{
	local want=$1 status=0

	shift
	"$@" > out 2> err || status=$?
	cat out err
	[ "$status" = 3 ] && [ ! -s out ] && [ "$(wc -l < err)" = 1 ] && grep -q "^x.scn: $want" err
}

refuses "a wrong place" 'samepage: run: --on moon: on engine, or on kernel' run --on moon x.scn
refuses "a strategy on a kernel" \
	"samepage: run: --strategy is of the engine: a kernel has its own walk, and its own tracepoints" \
	run --on kernel --strategy index x.scn
refuses "a trace on a kernel" \
	"samepage: run: --trace is of the engine: a kernel has its own walk, and its own tracepoints" \
	run --on kernel --trace x.scn

on_engine()
{
	"$SAMEPAGE" run --no-timing x.scn > default && "$SAMEPAGE" run --on engine --no-timing x.scn > named &&
		cmp default named
}
check "on the engine is the default" on_engine

if [ "$(id -u)" != 0 ]; then
	check "without root" skips "the machine cannot be made: only root may" \
		"$SAMEPAGE" run --on kernel x.scn
elif setpriv --reuid 65534 --clear-groups test -x "$SAMEPAGE" 2> "$dir/.said"; then
	check "without root" skips "the machine cannot be made: only root may" \
		setpriv --reuid 65534 --clear-groups "$SAMEPAGE" run --on kernel x.scn
else
	skip "without root" "no setpriv, or the command is where only root sees it"
fi

# A /sys without KSM, as in a kernel that has none.
without_ksm()
{
	skips "the machine cannot be made: no /sys/kernel/mm/ksm" \
		unshare --mount bash -c 'mount -t tmpfs none /sys && exec "$0" run --on kernel x.scn' "$SAMEPAGE"
}
# As in a container.
read_only()
{
	skips "the machine cannot be made: /sys/kernel/mm/ksm/[a-z_]* cannot be written (Read-only file system): only root" \
		unshare --mount bash -c 'mount --bind /sys /sys && mount -o remount,bind,ro /sys &&
			exec "$0" run --on kernel x.scn' "$SAMEPAGE"
}
if [ "$(id -u)" = 0 ] && unshare --mount true 2> "$dir/.said"; then
	check "without KSM" without_ksm
	if [ -d /sys/kernel/mm/ksm ]; then
		check "with a read-only /sys" read_only
	else
		skip "with a read-only /sys" "this kernel has no KSM"
	fi
else
	skip "without KSM" "only root can take /sys away"
	skip "with a read-only /sys" "only root can make it so"
fi

# ---- On this host's kernel ------------------------------------------------------------

knobs()
{
	(cd /sys/kernel/mm/ksm && grep . run pages_to_scan sleep_millisecs max_page_sharing \
		merge_across_nodes use_zero_pages smart_scan 2> /dev/null)
}

# Held, or not possible here; never failed, and every knob as it was.
on_this_kernel()
{
	local before status=0

	before=$(knobs)
	"$SAMEPAGE" run --on kernel "$1" || status=$?
	[ "$(knobs)" = "$before" ] || { echo "a knob is not back"; return 1; }
	[ "$status" = 0 ] || [ "$status" = 3 ]
}

# However it ends.
ended_by()
{
	local before pid

	before=$(knobs)
	printf 'process a\na: map x 4\na: madvise x mergeable\na: fill x 1\nset pages_to_scan 7\nscan 100000000\n' > long.scn
	"$SAMEPAGE" run --on kernel long.scn &
	pid=$!
	sleep 0.5
	kill "-$1" "$pid"
	wait "$pid"
	for _ in $(seq 100); do
		[ "$(knobs)" = "$before" ] && return
		sleep 0.05
	done
	echo "a knob is not back"
	return 1
}

if [ -n "${SP_TEST_HOST_KSM:-}" ] && [ "$(id -u)" = 0 ]; then
	check "the first one, on this kernel" on_this_kernel x.scn
	for file in "$SP_SOURCE"/scenarios/*.scn; do
		case ${file##*/} in
		core-merge.scn) ;; # made by the build
		28-mremap-errnos.scn) ;; # mremap of several VMAs is as in 7.2 from there on
		*) check "${file##*/}, on this kernel" on_this_kernel "$file" ;;
		esac
	done
	check "knobs are back after SIGINT" ended_by INT
	check "knobs are back after SIGTERM" ended_by TERM
	check "knobs are back after SIGKILL" ended_by KILL
else
	skip "on this kernel" "SP_TEST_HOST_KSM is not set, or this is not root"
fi

finish
