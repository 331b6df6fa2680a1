#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# samepage export: every scenario becomes one C file that compilers have nothing to say about, or is
# refused for a reason that is on the list below. What it does on real kernels is tested by
# export-guest.sh and scripts/lab.
. "${SP_SOURCE:?}/tests/cli/common.sh" || exit 1

# Closed: every other scenario can be exported.
declare -A refused=(
	[core-merge]='memory that comes from a core cannot be exported'
)

# compiles FILE.c
compiles()
{
	gcc -std=gnu11 -Wall -Wextra -Werror -O2 -c -o "${1%.c}.o" "$1" || return
	! command -v clang > /dev/null || clang -std=gnu11 -Wall -Wextra -Werror -fsyntax-only "$1"
}

# Both processors compile; what they say is looked at one by one.
for file in "$SP_SOURCE"/scenarios/*.scn; do
	name=$(basename "$file" .scn)
	[ -n "${refused[$name]:-}" ] || "$SAMEPAGE" export "$file" > "$name.c" || rm -f "$name.c"
done
export -f compiles
printf '%s\n' *.c | xargs -P "$(nproc)" -I{} bash -c 'compiles {} > {}.said 2>&1 && mv {} {}.good'

exports()
{
	local name=$1

	if [ -n "${refused[$name]:-}" ]; then
		status 2 "$SAMEPAGE" export "$SP_SOURCE/scenarios/$name.scn" && [ ! -s .out ] &&
			grep -q ": ${refused[$name]}$" .err
		return
	fi
	cat "$name.c.said"
	[ -e "$name.c.good" ] && [ ! -s "$name.c.said" ] &&
		[ "$(head -n 1 "$name.c.good")" = "/* SPDX-License-Identifier: GPL-2.0-only */" ] &&
		! grep -n -E '^.{200}' "$name.c.good"
}

for file in "$SP_SOURCE"/scenarios/*.scn; do
	name=$(basename "$file" .scn)
	check "$name" exports "$name"
done

cat > odd.scn << 'END'
# Odd names: */ and /* in a comment, and ??= \
set run 1        # it does already */
process int
int: map while 3
int: map linux 5
process process_
process_: map while 4 shared
for i in 0..3
	int: fork c{i}
	c{i}: map w{i} i + 1 noreserve
	c{i}: fill w{i}[i] i
	let n = i * 2
	expect n == 2 * i
	c{i}: madvise all mergeable
	expect mergeable c{i}:all
	c{i}: swapout all
	c{i}: migrate all move
end
let first = index int:while[0]
int: write while[1]+8 0x01 (1 + 1) first
int: mremap while[0] resize 2 maymove as moved
int: read moved
int: munmap while+1
under linux < 6.12: expect errno EINVAL
under linux >= 6.12: expect errno EINVAL
set advisor_mode "none"
set pages_to_scan first + 100
expect knob pages_to_scan first + 100
scan pages 3
run 10ms
reclaim 3
compact
expect result >= 0
expect now_ms >= 0
END
odd_names()
{
	"$SAMEPAGE" export odd.scn > odd.c && compiles odd.c
}
check "odd names" odd_names

to_a_file()
{
	status 0 "$SAMEPAGE" export -o out.c odd.scn && [ ! -s .out ] && cmp out.c odd.c
}
check "-o" to_a_file

# Only root may; what the reproducer says about that stands in its head.
not_root()
{
	local is=0

	gcc -O1 -o odd odd.c && chmod 755 odd || return
	as_nobody ./odd > said || is=$?
	cat said
	[ $is = 2 ] && grep -q '^cannot run: only root may' said
}
check "a reproducer without root" not_root

scenario frames.scn 'machine frames 100' 'process a'
no_kernel()
{
	status 3 "$SAMEPAGE" export frames.scn && [ ! -s .out ] &&
		diff -u - .err <<< "frames.scn: the scenario limits the machine's memory or swap: a kernel has what it has"
}
check "what no kernel can do" no_kernel

scenario wrong.scn 'proces a'
refuses "a mistake" 'wrong.scn:1:1: unknown operation "proces"; did you mean "process"?' export wrong.scn
refuses "no file" "samepage: export: which scenario? Try 'samepage export FILE', or 'samepage export --help'" \
	export
refuses "two files" 'samepage: export: wrong.scn: one scenario at a time' export odd.scn wrong.scn
refuses "no such file" 'none.scn: cannot be opened: No such file or directory' export none.scn
refuses "a directory" '.: is a directory, not a scenario' export .
refuses "an output that cannot be" 'samepage: -o none/out.c: No such file or directory' export -o none/out.c odd.scn
refuses "an option" "samepage: export: --outputs: no such option; did you mean '--output'?" export --outputs odd.scn
full_disk()
{
	[ -w /dev/full ] || return 0
	status 2 "$SAMEPAGE" export -o /dev/full odd.scn && [ -c /dev/full ] &&
		[ "$(cat .err)" = "samepage: -o /dev/full: No space left on device" ]
}
check "a full disk" full_disk
finish
