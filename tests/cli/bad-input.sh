#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Wrong files and options, by name: exit status 2, one line on standard error
# for each mistake, which says what is wrong, where, and what would be right, and
# nothing run. bad-source.sh does the same for cores and processes.
. "${SP_SOURCE:?}/tests/cli/common.sh" || exit 1

scenario good.scn 'process a' 'a: map x 1'

# ---- Files ----------------------------------------------------------------------

refuses "no such file" "nosuch.scn: cannot be opened: No such file or directory" \
	run nosuch.scn
refuses "an empty name" ": cannot be opened: No such file or directory" run ''
mkdir directory
refuses "a directory" "directory: is a directory, not a scenario" run directory
mkfifo fifo
refuses "a FIFO" "fifo: is no regular file" run fifo
refuses "a device" "/dev/null: is no regular file" run /dev/null
cp /bin/true binary
refuses "a binary file" "binary: a binary file (it has a zero byte), not a scenario" run binary
: > empty.scn
nothing='no operation in this file: a scenario starts with `process NAME`'
refuses "an empty file" "empty.scn: $nothing" run empty.scn
scenario comments.scn '# only' '' '	# comments'
refuses "a file of comments" "comments.scn: $nothing" run comments.scn
truncate -s 17M huge.scn
refuses "a file too large" "huge.scn: 17825792 bytes: a scenario has at most 16777216" run huge.scn

{ echo "process a"; head -c 1M /dev/zero | tr '\0' x; echo; } > long.scn
refuses "a line of 1 MiB" "long.scn:2:4097: a line of 1048576 bytes: at most 4096 are allowed" \
	run long.scn
{ echo "process a"; head -c 1M /dev/zero | tr '\0' '#'; } > long-comment.scn
refuses "a comment of 1 MiB without an end" \
	"long-comment.scn:2:4097: a line of 1048576 bytes: at most 4096 are allowed" run long-comment.scn
printf 'process \033[31ma\n\377\376: map x 1\n' > control.scn
refuses "control characters are not passed on" 'control.scn:1:9: expected the name of a process, found "\x1b"
control.scn:2:1: expected an operation, found "\xff"' run control.scn
printf 'process a\r\na: map x 1\r\n' > crlf.scn
check "lines that end in CRLF" status 0 "$SAMEPAGE" run crlf.scn

echo "process a" > unreadable.scn
chmod 000 unreadable.scn
cp "$SAMEPAGE" samepage
if as_nobody ./samepage --version > /dev/null 2>&1; then
	check "an unreadable file" refused "unreadable.scn: cannot be opened: Permission denied" \
		as_nobody ./samepage run unreadable.scn
else
	skip "an unreadable file" "cannot become nobody"
fi

refuses "a mistake in the last file runs none" "nosuch.scn: cannot be opened: No such file or directory" \
	run good.scn nosuch.scn
scenario two.scn 'process a' 'a: mpa x 3' 'process b' 'b: fill y[ 1'
refuses "every mistake of every file" "two.scn:2:4: unknown operation \"mpa\"; did you mean \"map\"?
two.scn:4:13: expected ']' after the pages of a range, found the end of the line
nosuch.scn: cannot be opened: No such file or directory" run two.scn good.scn nosuch.scn
{ echo "process a"; for ((i = 0; i < 30; i++)); do echo "a: fill y 1"; done; } > many.scn
refuses "more mistakes than are listed" "$(for ((i = 2; i < 22; i++)); do
	echo "many.scn:$i:9: a has no window \"y\""
done)
samepage: many.scn: and 10 more" run many.scn

# ---- Mistakes in a scenario ---------------------------------------------------------

# wrong NAME MESSAGE LINE...: the message without the file's name.
wrong()
{
	scenario wrong.scn "${@:3}"
	refuses "$1" "wrong.scn:${2//$'\n'/$'\n'wrong.scn:}" run wrong.scn
}

wrong "an unknown operation" '2:4: unknown operation "madvice"; did you mean "madvise"?' \
	'process a' 'a: madvice x mergeable'
wrong "an unknown operation that is near to nothing" \
	'2:4: unknown operation "frobnicate"; samepage-scenario(5) lists them' \
	'process a' 'a: frobnicate x'
wrong "an unknown advice" '3:14: unknown advice "mergable"; did you mean "mergeable"?' \
	'process a' 'a: map x 1' 'a: madvise x mergable'
wrong "an unknown knob" '1:5: unknown knob "pages_to_scna"; did you mean "pages_to_scan"?' \
	'set pages_to_scna 100'
wrong "an unknown counter" '2:8: unknown name "pages_shraed"; did you mean "pages_shared"?' \
	'process a' 'expect pages_shraed == 1'
wrong "overlapping names of windows" \
	'3:8: "x" is a window of a already (line 2): another name, or map x[...] to map inside it' \
	'process a' 'a: map x 3' 'a: map x 3'
wrong "overlapping names of processes" \
	'2:9: there is a process "a" already (line 1), and it has not exited' \
	'process a' 'process a'
wrong "overlapping names of a fork" \
	'3:9: there is a process "b" already (line 2), and it has not exited' \
	'process a' 'process b' 'a: fork b'
wrong "overlapping names in a loop" \
	'2:10: there is a process "p" already (line 2), and it has not exited' \
	'for i in 0..1' '	process p' 'end'
wrong "a page outside of the map" '3:11: page 3 is outside x, which has the pages 0..2' \
	'process a' 'a: map x 3' 'a: fill x[3] 1'
wrong "a range outside of the map" '3:14: page 5 is outside x, which has the pages 0..2' \
	'process a' 'a: map x 3' 'a: fill x[1..5] 1'
wrong "a range outside of the map in the last round" \
	'4:12: page 3 is outside x, which has the pages 0..2' \
	'process a' 'a: map x 3' 'for i in 0..3' '	a: fill x[i] 1' 'end'
wrong "a window that is none" '2:9: a has no window "x"' 'process a' 'a: fill x 1'
wrong "a process that is none" '1:1: there is no process "b" here' 'b: exit'
wrong "an operation on an exited process" '4:1: process "a" has exited (line 3)' \
	'process a' 'a: map x 1' 'a: exit' 'a: fill x 1'
wrong "a second exit" '3:1: process "a" has exited (line 2)' 'process a' 'a: exit' 'a: exit'
wrong "a loop of 10^12 rounds" \
	'3:1: a loop of 1000000000000 rounds: at most 100000000 rounds are run in a scenario' \
	'process a' 'a: map x 1' 'for i in 1..1000000000000' '	a: fill x i%256' 'end'
wrong "10^12 rounds of two loops" \
	'3:2: a loop of 1000000 rounds, with those of the loops before and around it: at most 100000000 rounds are run in a scenario' \
	'process a' 'for i in 1..1000000' '	for j in 1..1000000' '		scan 1' '	end' 'end'
wrong "a loop without an end" '2:1: this `for` has no `end`' 'process a' 'for i in 1..3' 'scan 1'
wrong "an unknown strategy in a file" '1:8: unknown strategy "indx"; did you mean "index"?' \
	'broken indx "typed wrong"' 'process a'

# ---- Options --------------------------------------------------------------------------

refuses "an unknown option" "samepage: run: --jsno: no such option; did you mean '--json'?" \
	run --jsno good.scn
refuses "an unknown option that is near to nothing" \
	"samepage: run: --frob: no such option; 'samepage run --help' lists them" run --frob good.scn
refuses "one dash for two" "samepage: run: -json: no such option; did you mean '--json'?" \
	run good.scn -json
refuses "an unknown option of bench" \
	"samepage: bench rmap: --froks: no such option; did you mean '--forks'?" bench rmap --froks=2
refuses "a value for a flag" "samepage: run: --json=3: --json takes no value" run --json=3 good.scn
refuses "an option without its value" "samepage: run: --strategy: needs a value: --strategy NAME" \
	run good.scn --strategy
strategies="one of all, full, address, retry, index, direct"
refuses "an unknown strategy" \
	"samepage: --strategy indx: did you mean 'index'? It must be $strategies" \
	run --strategy indx good.scn
refuses "an unknown strategy that is near to nothing" "samepage: --strategy fast: must be $strategies" \
	run --strategy=fast good.scn
seeds="must be a whole number from 0 to 18446744073709551615"
for seed in -1 x 1x 1.5 '' ' 1' 18446744073709551616 0x; do
	refuses "the seed '$seed'" "samepage: --seed $seed: $seeds" run --seed "$seed" good.scn
done
refuses "a form of steps" \
	"samepage: run: --steps=colour: for people, or as lines (for programs)" \
	run --steps=colour good.scn
refuses "JSON with lines" \
	"samepage: run: --steps=lines and --json do not go together: both write to standard output" \
	run --json --steps=lines good.scn
refuses "JSON with a trace" \
	"samepage: run: --trace and --json do not go together: both write to standard output" \
	run --json --trace good.scn
refuses "no file" "samepage: run: which scenario? Try 'samepage run FILE', or 'samepage run --help'" run
refuses "options and no file" \
	"samepage: run: which scenario? Try 'samepage run FILE', or 'samepage run --help'" run --json
refuses "a file that looks like an option" "--json: cannot be opened: No such file or directory" \
	run -- --json
refuses "an unknown command" "samepage: rnu: no such command; did you mean 'run'?" rnu
refuses "an unknown command that is near to nothing" \
	"samepage: frobnicate: no such command; 'samepage --help' lists them" frobnicate
refuses "an unknown benchmark" "samepage: rmpa: no such benchmark; did you mean 'rmap'?" bench rmpa
refuses "help on an unknown command" "samepage: rnu: no such command; did you mean 'run'?" help rnu
refuses "too few VMAs" "samepage: --vmas 31: must be a whole number from 32 to 4000000" \
	bench rmap --vmas 31
refuses "too many VMAs in all" "samepage: bench rmap: --vmas times --scale must not exceed 8000000" \
	bench rmap --vmas 1000000 --scale 9
refuses "an argument of bench rmap" \
	"samepage: bench rmap: unexpected argument 'x'; it takes options only" bench rmap x
finish
