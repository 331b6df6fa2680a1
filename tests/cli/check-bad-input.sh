#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# samepage check's options: whatever is wrong with them is said in one line,
# with exit status 2, before anything is searched or written.
. "${SP_SOURCE:?}/tests/cli/common.sh" || exit 1

printf 'process a\na: map x 1\n' > good.scn

# bad NAME MESSAGE ARGUMENT...
bad()
{
	refuses "$1" "samepage: $2" check "${@:3}"
}

strategies="one of all, full, address, retry, index, direct"
bad "an unknown strategy" "--strategy drect: did you mean 'direct'? It must be $strategies" \
	--strategy drect
bad "an unknown strategy that is near to nothing" "--strategy fast: must be $strategies" \
	--strategy=fast
for time in 0 0s -1 x 10x 1.5s '' ' 1s' 25h 18446744073709551615h; do
	bad "the time '$time'" "--time $time: must be a time from 1ms to 24h, such as 500ms, 10s or 2m" \
		--time "$time"
done
for runs in 0 -1 x 1000000000001; do
	bad "$runs runs" "--runs $runs: must be a whole number from 1 to 1000000000000" --runs "$runs"
done
for jobs in 0 257 two; do
	bad "$jobs jobs" "--jobs $jobs: must be a whole number from 1 to 256" --jobs "$jobs"
done
for depth in 0 257 18446744073709551616; do
	bad "the depth $depth" "--depth $depth: must be a whole number from 1 to 256" --depth "$depth"
done
bad "the seed x" "--seed x: must be a whole number from 0 to 18446744073709551615" --seed x

oracles="some of walks, contents, recount, with commas between"
bad "an unknown oracle" "--oracles walk: did you mean 'walks'? It must be $oracles" \
	--oracles contents,walk
bad "an oracle that is near to nothing" "--oracles delphi: must be $oracles" --oracles delphi
bad "no oracle" "--oracles : must be $oracles" --oracles ''
bad "an empty oracle" "--oracles : must be $oracles" --oracles walks,,recount

together="do not go together: it tries every sequence, in order; --depth and --time bound it"
bad "an exhaustive search of some sequences" "check: --exhaustive and --runs $together" \
	--exhaustive --runs 10
bad "an exhaustive search with a seed" "check: --exhaustive and --seed $together" \
	--seed 1 --exhaustive

bad "an argument" "check: unexpected argument 'good.scn'; it takes options only ('samepage run' takes files)" \
	good.scn
bad "an unknown option" "check: --stratgey: no such option; did you mean '--strategy'?" --stratgey
bad "one dash for two" "check: -output: no such option; did you mean '--output'?" -output x.scn
bad "no name of a file" "check: -o: needs a value: -o FILE" -o
bad "no value" "check: --time: needs a value: --time TIME" --time

# Address space that was limited is not memory that there is. (A sanitizer needs terabytes of it.)
few_states()
{
	local is=0

	(ulimit -v 40000 && exec "$SAMEPAGE" check --strategy index --exhaustive --jobs 1) \
		> .out 2> .err || is=$?
	cat .err
	[ $is = 2 ] && grep -qx "samepage: check: --depth 5: about [0-9,]* states do not fit in the 19 MiB .*" .err
}
# With luck, those that there is memory for do it all.
many_jobs()
{
	local is=0

	(ulimit -v 40000 && exec "$SAMEPAGE" check --strategy index --seed 1 --runs 1000 --jobs 256) \
		> .out 2> .err || is=$?
	cat .out .err
	[ $is = 0 ] && grep -q "^index: nothing" .out && return
	[ $is = 2 ] && [ ! -s .out ] &&
		[ "$(cat .err)" = "samepage: check: index: out of memory; fewer --jobs need less" ]
}
if (ulimit -v 40000 && exec "$SAMEPAGE" --version) > /dev/null 2>&1; then
	check "states that do not fit in the address space" few_states
	check "jobs that do not fit in the address space" many_jobs
else
	skip "states that do not fit in the address space" "it cannot be limited"
	skip "jobs that do not fit in the address space" "it cannot be limited"
fi

# ---- Files: nothing is left behind, nothing overwritten -----------------------------------

mkdir directory
before=$(ls)
file="must be the name of a file, such as"
bad "an output without a name" "-o : $file found.scn" -o ''
bad "an output that ends in a slash" "-o directory/: $file directory/found.scn" -o directory/
bad "an output that is a directory" \
	"-o directory: is a directory; it $file directory/found.scn" -o directory
bad "an output in no directory" \
	"-o nosuch/x.scn: no file can be made in its directory: No such file or directory" \
	-o nosuch/x.scn
bad "an output in a file" "-o good.scn/x.scn: no file can be made in its directory: Not a directory" \
	-o good.scn/x.scn
bad "an output that is a device" \
	"-o /dev/null: is no regular file; without -o, scenarios go to standard output" -o /dev/null
long=$(printf 'x%.0s' {1..250})
bad "an output with too long a name" "-o $long: no file can be made in its directory: File name too long" \
	-o "$long"
longer=$(printf 'x%.0s' {1..247})
bad "a second output with too long a name" \
	"-o $longer-32: no file can be made in its directory: File name too long" -o "$longer"
mkdir second-2
bad "a second output that is a directory" \
	"-o second-2: is a directory; it $file second-2/found.scn" -o second
rmdir second-2

# What is printed would be lost.
is_standard_file()
{
	local is=0

	"$SAMEPAGE" check --strategy direct --runs 1 -o .standard.scn > .standard.scn 2> .err || is=$?
	cat .err
	[ $is = 2 ] && [ ! -s .standard.scn ] || return
	[ "$(cat .err)" = "samepage: -o .standard.scn: is the file of standard output, which would be overwritten" ] ||
		return
	is=0
	"$SAMEPAGE" check --strategy direct --runs 1 -o .standard-2.scn > .out 2> .standard-2.scn || is=$?
	[ $is = 2 ] && grep -q "is the file of standard error" .standard-2.scn
}
check "an output that is the file of standard output, or error" is_standard_file

cp "$SAMEPAGE" .samepage
if as_nobody ./.samepage --version > /dev/null 2>&1; then
	chmod 555 directory
	check "an output in a directory that is not writable" refused \
		"samepage: -o directory/x.scn: no file can be made in its directory: Permission denied" \
		as_nobody ./.samepage check -o directory/x.scn
	chmod 444 good.scn
	check "an output that is not writable" refused \
		"samepage: -o good.scn: cannot be written: Permission denied" \
		as_nobody ./.samepage check -o good.scn
	chmod 644 good.scn
else
	skip "an output in a directory that is not writable" "cannot become nobody"
	skip "an output that is not writable" "cannot become nobody"
fi

bad "no such file to compare with" "--against nosuch.scn: cannot be opened: No such file or directory" \
	--against nosuch.scn
printf 'process a\na: mpa x 1\n' > wrong.scn
bad "a wrong file to compare with" \
	'--against wrong.scn:2:4: unknown operation "mpa"; did you mean "map"?' --against wrong.scn
rm wrong.scn
bad "a file to compare with in which nothing fails" \
	"--against good.scn: nothing fails in it under the chosen strategies, so no failure can have its cause" \
	--against good.scn
cp "$SP_SOURCE/scenarios/mremap-move.scn" moved.scn
bad "an output that would overwrite the file to compare with" \
	"-o ./moved.scn: is the file of --against, which would be overwritten" \
	--strategy address --against moved.scn -o ./moved.scn
cp moved.scn found-3.scn
bad "a third output that would overwrite the file to compare with" \
	"-o found-3.scn: is the file of --against, which would be overwritten" \
	--strategy address --against found-3.scn -o found.scn
rm moved.scn found-3.scn

nothing_left()
{
	diff <(echo "$before") <(ls) && [ "$(cat good.scn)" = $'process a\na: map x 1' ]
}
check "nothing is left behind" nothing_left
finish
