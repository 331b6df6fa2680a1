#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# samepage diff, where something is wrong before any guest could start: one line says what, and status is
# 2. Needs neither QEMU nor a network: what stands for them is in $dir/bin.
. "$SP_SOURCE/tests/cli/common.sh"

export SAMEPAGE_CACHE=$dir/cache
scenario good.scn 'process a' 'a: map x 2'
scenario bad.scn 'nonsense'
mkdir bin empty
printf '#!/bin/bash\nexit 1\n' > bin/qemu-system-x86_64
chmod +x bin/qemu-system-x86_64
{
	head -c 510 /dev/zero; printf '\x55\xaa\0\0HdrS'; head -c 8 /dev/zero
	printf '\0\1'; head -c 240 /dev/zero; printf '6.9.1-own (me)'; head -c 2048 /dev/zero
} > vmlinuz

refuses_diff()
{
	check "$1" refused "samepage: $2" env PATH="$dir/bin:$PATH" "$SAMEPAGE" diff "${@:3}"
}

refuses_diff "no scenario" "diff: which scenario? Try 'samepage diff FILE', or 'samepage diff --help'"
near_kernel()
{
	status 2 "$SAMEPAGE" diff --kernel 7.3 good.scn && [ ! -s .out ] &&
		grep -q "^samepage: --kernel 7.3: did you mean '7.2'? " .err
}
check "near kernel" near_kernel
refuses_diff "option" "diff: --kernal: no such option; did you mean '--kernel'?" --kernal 6.1 good.scn
refuses_diff "time limit" "--time-limit 0: must be a time from 1s to 24h, such as 500ms, 10s or 2m" \
	--time-limit 0 good.scn
refuses_diff "words of a kernel" "--append: up to 512 bytes without --, which ends a kernel's own words" \
	--append 'a -- b' good.scn
refuses_diff "not a kernel" "vm: ./good.scn: not a kernel: no bzImage" --kernel ./good.scn good.scn
check "no QEMU" refused \
	"samepage: diff: qemu-system-x86_64 is not installed; Debian has it in the package qemu-system-x86" \
	env PATH="$dir/empty" "$SAMEPAGE" diff good.scn

mistake_in_file()
{
	status 2 "$SAMEPAGE" diff good.scn bad.scn none.scn && [ ! -s .out ] && grep -q '^bad.scn:1:' .err &&
		grep -q '^none.scn: ' .err && [ "$(wc -l < .err)" = 2 ]
}
check "mistakes in files are told before anything is booted" mistake_in_file

# What only running can find, the engine finds before a guest is booted.
scenario late.scn 'process a' 'a: map x 2' 'let n = pages_shared' 'a: fill x[n + 2] 7'
late()
{
	status 2 env PATH="$dir/bin:$PATH" "$SAMEPAGE" diff --kernel ./vmlinuz late.scn && [ ! -s .out ] &&
		grep -q '^samepage: late.scn:4:' .err
}
check "a mistake that only running finds" late

dead_qemu()
{
	status 4 env PATH="$dir/bin:$PATH" "$SAMEPAGE" diff --kernel ./vmlinuz good.scn || return
	cat .out
	grep -q '^good.scn: not run on ./vmlinuz$' .out &&
		grep -q '^  ./vmlinuz: the guest died: QEMU failed with status 1$' .out
}
check "a QEMU that does not start" dead_qemu

dead_qemu_json()
{
	status 4 env PATH="$dir/bin:$PATH" "$SAMEPAGE" diff --json --kernel ./vmlinuz good.scn &&
		python3 -c 'import json, sys
[side] = json.load(open(sys.argv[1]))[0]["kernels"]
assert side["verdict"] == "not run" and side["why"] and side["differences"] == [], side' .out
}
check "and as JSON" dead_qemu_json
finish
