#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# samepage vm, with real kernels in real guests. Where they cannot be had, that is said, and nothing of
# this file is tested.
#
# The kernels are kept in the user's cache, so that only the first run needs a network.
. "$SP_SOURCE/tests/cli/common.sh"

kernels=(6.1 6.12 7.2)
need_guests
options=()
for kernel in "${kernels[@]}"; do
	options+=(--kernel "$kernel")
done
cache=${SAMEPAGE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/samepage}

run()
{
	"$SAMEPAGE" vm run --on engine --time-limit 2m "$@"
}

scenario holds.scn 'process a' 'a: map x 2' 'a: fill x[0] 7' 'expect content a:x[0] 7'
scenario fails.scn 'process a' 'a: map x 2' 'a: fill x[0] 7' 'expect content a:x[0] 8'
mkdir -p deep/er
cp holds.scn deep/er/
cp "$SP_SOURCE/scenarios/mremap-move.scn" .

# The engine says in a guest what it says here, byte for byte, by the same names.
as_here()
{
	local kernel
	local files=(mremap-move.scn deep/er/holds.scn "$dir/holds.scn")

	status 0 "$SAMEPAGE" run --no-timing mremap-move.scn deep/er/holds.scn 2/holds.scn || return
	mv .out here
	status 0 run --no-timing "${options[@]}" "${files[@]}" || return
	for kernel in "${kernels[@]}"; do
		sed -n "/^== $kernel: Linux/,/^== $kernel: exit status 0/p" .out | sed '1d;$d' |
			diff -u --label here --label "in $kernel" here - || return
		grep "^== $kernel: " .out >&3
	done
}
mkdir 2
cp holds.scn 2/
exec 3>&1
check "a guest's command says what it says here" as_here

# By real system calls: the merged page that was moved is found by every kernel (S2).
by_system_calls()
{
	local kernel

	status 0 "$SAMEPAGE" vm run "${options[@]}" mremap-move.scn || return
	for kernel in "${kernels[@]}"; do
		grep -q "^  Linux $kernel\..*: held$" .out && grep -q "^== $kernel: exit status 0" .out ||
			return
	done
}
check "a kernel says what the engine says" by_system_calls

# A file that says so must kill its kernel, in a guest of its own; and the others are not lost with it.
killed()
{
	cp "$SP_SOURCE/scenarios/stale-unstable-tree.scn" .
	scenario lives.scn 'kills linux "it does not"' 'process a' 'a: map x 1'
	status 1 "$SAMEPAGE" vm run stale-unstable-tree.scn lives.scn holds.scn || return
	grep -q '^== 7.2: the guest died, as stale-unstable-tree.scn declares$' .out &&
		grep -q '^== 7.2: lives.scn says that this kernel dies of it (kills linux), and it lives$' .out &&
		grep -q '^  Linux 7.2.*: held$' .out || return
	status 0 "$SAMEPAGE" vm run stale-unstable-tree.scn holds.scn
}
check "a scenario that kills the kernel dies alone" killed

worst_status()
{
	status 1 run --kernel "${kernels[0]}" fails.scn holds.scn &&
		grep -q "^== ${kernels[0]}: exit status 1" .out
}
check "a failed expectation is the exit status" worst_status

as_json()
{
	status 0 run --kernel 7.2 --json holds.scn && python3 - .out <<- 'END'
		import json, sys
		[guest] = json.load(open(sys.argv[1]))
		assert guest["kernel"] == "7.2" and guest["end"] == "done", guest
		assert guest["release"].startswith("7.2."), guest
		assert guest["exit_status"] == 0 and guest["nr_complaints"] == 0, guest
		assert guest["report"][0]["scenario"] == "holds.scn", guest
		assert guest["notes"] == [] and guest["errors"] == [], guest
		assert 0 < guest["boot_ns"] < guest["duration_ns"], guest
	END
}
check "JSON" as_json

# It has no modules beside it, and boots all the same.
by_path()
{
	cp "$cache/kernels/6.1/vmlinuz" own-kernel &&
		status 0 run --kernel ./own-kernel holds.scn &&
		grep -q "^== ./own-kernel: Linux 6\.1\." .out &&
		grep -q "^note: no swap" .out
}
check "a kernel by its path" by_path

hung()
{
	status 4 run --kernel 7.2 --time-limit 1s holds.scn &&
		grep -q "^== 7.2: the guest hung: the kernel did not reach its first process within 1 s$" .out
}
check "a guest that hangs" hung

# Setup code, magic and release are whole; the kernel behind them is not.
dead()
{
	cp "$cache/kernels/6.1/vmlinuz" dead-kernel &&
		dd if=/dev/zero of=dead-kernel bs=64K seek=1 count=64 conv=notrunc status=none &&
		status 4 run --kernel ./dead-kernel --time-limit 20s holds.scn &&
		grep -q "^== ./dead-kernel: the guest \(died\|hung\): the kernel d" .out
}
check "a guest that dies" dead

# boot_interrupted SIGNAL STATUS: in the middle of a boot
boot_interrupted()
{
	local pid qemu='' tries

	"$SAMEPAGE" vm run --on engine --kernel 7.2 holds.scn > .out 2> .err &
	pid=$!
	for ((tries = 0; tries < 200 && ${#qemu} == 0; tries++)); do
		sleep 0.05
		qemu=$(pgrep -P "$pid" qemu-system)
	done
	[ -n "$qemu" ] || return
	sleep 0.5
	kill "-$1" "$pid"
	wait "$pid"
	[ $? = "$2" ] || return
	for ((tries = 0; tries < 100; tries++)); do
		kill -0 "$qemu" 2> /dev/null || return 0
		sleep 0.05
	done
	echo "QEMU is left behind"
	return 1
}
check "^C during a boot leaves nothing behind" boot_interrupted INT 2
check "nor does SIGKILL" boot_interrupted KILL 137
check "nor does SIGTERM" boot_interrupted TERM 143

# Whoever ends QEMU says nothing about the guest: that is no guest that died.
qemu_killed()
{
	local pid qemu='' tries

	"$SAMEPAGE" vm run --on engine --kernel 6.1 holds.scn > .out 2> .err &
	pid=$!
	for ((tries = 0; tries < 200 && ${#qemu} == 0; tries++)); do
		sleep 0.05
		qemu=$(pgrep -P "$pid" qemu-system)
	done
	[ -n "$qemu" ] || return
	sleep 0.5
	kill "-$1" "$qemu"
	wait "$pid"
	[ $? = 2 ] && grep "^== 6.1: the guest was killed: QEMU by signal $2" .out
}
check "a QEMU that somebody ends" qemu_killed TERM "15 from pid [0-9]* (.*)$"
check "a QEMU that somebody kills" qemu_killed KILL "9, by somebody"

spread()
{
	status 0 run --kernel 6.1 --jobs 2 --json holds.scn deep/er/holds.scn mremap-move.scn &&
		python3 - .out <<- 'END'
			import json, sys
			guests = json.load(open(sys.argv[1]))
			assert [g["part"] for g in guests] == [1, 2], guests
			names = [r["scenario"] for g in guests for r in g["report"]]
			assert names == ["holds.scn", "deep/er/holds.scn", "mremap-move.scn"], names
		END
}
check "files spread over two guests, in order" spread

# Typed before there is a kernel; and the end of the input is the shell's.
shell()
{
	status 0 timeout 120 "$SAMEPAGE" vm shell --kernel 6.1 <<< "echo \$((6 * 7)) is answered; samepage --version" &&
		grep -q "42 is answered" .out && grep -q "^samepage [0-9]" .out
}
check "a shell gets what was typed before it was there" shell

mended()
{
	export SAMEPAGE_CACHE=$dir/cache
	mkdir -p cache/kernels && cp -r "$cache/kernels/6.1" cache/kernels/ || return
	echo >> cache/kernels/6.1/zram.ko
	status 0 "$SAMEPAGE" vm fetch 6.1 &&
		grep -q 'zram.ko is damaged: its checksum is not the manifest.s; fetching it again' .err &&
		grep -q '^6.1 .* fetched$' .out && cmp cache/kernels/6.1/zram.ko "$cache/kernels/6.1/zram.ko" &&
		status 0 "$SAMEPAGE" vm fetch 6.1 && grep -q '^6.1 .* is here$' .out && [ ! -s .err ]
}
check "a damaged cache is fetched again" mended
finish
