#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What samepage export makes says on a real kernel what samepage run --on kernel says there: the defects
# of Linux, swap, nodes, files, loops, and failures, which must be the same lines. scripts/lab does this for
# every scenario and every kernel.
. "${SP_SOURCE:?}/tests/cli/common.sh" || exit 1

need_guests 7.2

names=(01-equal-pages-merge 05-knob-errnos 10-prctl-merge-any 15-zero-pages 21-private-file-pages-merge
	35-evict mremap-move mremap-move-migrate private-file v03-child-only-unreachable
	v04-unmerged-while-swapped v06-swapin-foreign v08-zero-page-leak)
for name in "${names[@]}"; do
	cp "$SP_SOURCE/scenarios/$name.scn" .
done
# Expectations that do not hold, and one that does.
scenario fails.scn 'process a' 'a: map x 4' 'a: madvise x mergeable' 'a: fill x 0x77' 'scan 2' \
	'expect pages_sharing == 7' 'expect same a:x' 'expect not-ksm a:x' 'expect content a:x 0x78' \
	'a: munmap x' 'expect errno EINVAL' 'a: touch x'
scenario needs.scn 'needs linux >= 7.0 "it is young"' 'process a' 'a: map x 1' 'expect vmas a:x == 1'
names+=(fails needs)
for name in "${names[@]}"; do
	"$SAMEPAGE" export "$name.scn" > "$name.c" &&
		gcc -static -O1 -Wall -Wextra -Werror -o "$name" "$name.c" || exit 1
done

"$SAMEPAGE" vm run --json "${names[@]/%/.scn}" > run.json 2> run.err
"$SAMEPAGE" vm exec "${names[@]}" > exec.out 2> exec.err
cat exec.err

# "NAME STATUS" of each
python3 - > run.statuses << 'END'
import json
[guest] = json.load(open("run.json"))
assert guest["end"] == "done", guest
for entry in guest["report"]:
    print(entry["scenario"][:-4], entry["exit_status"])
END
sed -n 's/^== \(.*\): exit status \([0-9]*\), .*/\1 \2/p' exec.out | grep -v '^7.2 ' > exec.statuses

same_verdict()
{
	local want is

	want=$(grep "^$1 " run.statuses)
	is=$(grep "^$1 " exec.statuses)
	[ -n "$want" ] && [ "$want" = "$is" ] && return
	echo "samepage run says '$want', the reproducer '$is':"
	sed -n "/^== $1$/,/^== $1: /p" exec.out
	return 1
}
for name in "${names[@]}"; do
	check "$name" same_verdict "$name"
done

same_lines()
{
	sed -n 's/^FAIL line \([0-9]*\): .*/\1/p' exec.out | diff -u - <(printf '%s\n' 6 8 9 10 12)
}
check "the same lines fail" same_lines

status_of_guest()
{
	grep -q '^fails 1$' exec.statuses && grep -q '^== 7.2: exit status 1, ' exec.out
}
check "vm exec ends with the worst status" status_of_guest

# A kernel that a scenario is not for, a program that is none, one that needs libraries.
old_kernel()
{
	"$SAMEPAGE" vm fetch 6.12 > /dev/null || return 0
	status 3 "$SAMEPAGE" vm exec --kernel 6.12 needs && grep -q '^skipped: needs linux >= 7.0' .out
}
check "a kernel that it is not for" old_kernel
with_libraries()
{
	cp "$(command -v sleep)" . && gcc -O1 -o dynamic needs.c && status 1 "$SAMEPAGE" vm exec dynamic sleep &&
		grep -q '^== dynamic: exit status 0' .out && grep -q '^== sleep: exit status 1' .out
}
check "programs with libraries" with_libraries
not_a_program()
{
	echo text > text
	chmod +x text
	status 2 "$SAMEPAGE" vm exec ./text && grep -q 'text: not a 64-bit program$' .err
}
check "not a program" not_a_program
finish
