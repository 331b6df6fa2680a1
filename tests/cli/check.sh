#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# samepage check: what it prints, where it writes, and that neither depends on
# the number of threads.
. "${SP_SOURCE:?}/tests/cli/common.sh" || exit 1

ln -s "$SP_SOURCE/scenarios" scenarios
search=(check --strategy address --seed 1 --runs 200 --no-timing)

check check-first is_golden check-first 1 out check --strategy address --seed 1 --first --no-timing
check check-against is_golden check-against 1 out "${search[@]}" --against scenarios/private-file.scn -o a.scn
check check-json is_golden check-json 1 out check --strategy address --seed 1 --first --no-timing --json
golden check-nothing check --strategy direct --seed 1 --runs 100 --no-timing
golden help-check check --help

# Its cause is said whether it is found or not, and where it does not fail.
says_what_other_fails_for()
{
	status 0 "$SAMEPAGE" check --strategy address --strategy direct --seed 3 --runs 1 --no-timing \
		--against scenarios/private-file.scn || return
	grep -qx "  scenarios/private-file.scn fails for file" .out &&
		grep -qx "  scenarios/private-file.scn does not fail under direct" .out
}
check "--against says what its file fails for" says_what_other_fails_for

same_for_jobs()
{
	local jobs

	for jobs in 1 2 3; do
		status 1 "$SAMEPAGE" "$@" --jobs $jobs || return
		mv .out jobs-$jobs
	done
	cmp jobs-1 jobs-2 && cmp jobs-1 jobs-3
}
check "JSON, one to three jobs" same_for_jobs "${search[@]}" --json
check "the first failure, one to three jobs" same_for_jobs check --strategy retry --strategy address --seed 3 --runs 10000 \
	--first --no-timing --json

seed_is_printed()
{
	local seed again

	"$SAMEPAGE" check --strategy address --runs 50 --no-timing > fresh
	seed=$(sed -n '1s/^seed //p' fresh)
	[ -n "$seed" ] || return
	"$SAMEPAGE" check --strategy address --runs 50 --no-timing --seed "$seed" > again
	cmp fresh again
	"$SAMEPAGE" check --strategy address --runs 50 --no-timing > other
	again=$(sed -n '1s/^seed //p' other)
	[ "$seed" != "$again" ]
}
check "a fresh seed each time, which repeats it" seed_is_printed

all_in_time()
{
	local begin=$EPOCHREALTIME tenths

	status 1 "$SAMEPAGE" check --time 1s || return
	tenths=$(((${EPOCHREALTIME/[.,]/} - ${begin/[.,]/}) / 100000))
	cat .out
	echo "0.1 s times $tenths"
	# Shrinking comes on top.
	[ "$(grep -cE '^(full|address|retry|index|direct): ' .out)" = 5 ] && [ $tenths -ge 10 ] &&
		[ ! -s .err ]
}
check "all strategies share the time" all_in_time

# ---- -o -----------------------------------------------------------------------------------

# Each file is a scenario that shows the failure, and is what is printed without -o.
writes_scenarios()
{
	mkdir out
	status 1 "$SAMEPAGE" "${search[@]}" -o out/found.v1.scn || return
	grep -q '^process' .out && return 1
	ls out
	[ -s out/found.v1.scn ] && [ -s out/found.v1-2.scn ] || return
	"$SAMEPAGE" "${search[@]}" | sed '1,/^# ---- /d' | sed -n '2,/^# ---- /p' | sed '/^# ---- /d' > printed
	# The blank line before the next one is not the file's.
	diff <(sed '$d' printed) out/found.v1.scn
}

is_narrow()
{
	status 1 "$SAMEPAGE" check --strategy full --strategy retry --seed 1 --runs 2000 || return
	grep -qE '^  [a-z, -]+: ' .out || return
	grep -E '.{101}' .out && return 1
	true
}

they_run()
{
	local file

	for file in out/*.scn; do
		status 0 "$SAMEPAGE" run --no-timing "$file" || return
		grep -q "^  address .*broken as declared" .out || return
	done
}

writes_nothing_when_nothing_is_found()
{
	echo old > old.scn
	status 0 "$SAMEPAGE" check --strategy direct --seed 1 --runs 100 -o old.scn || return
	[ "$(cat old.scn)" = old ] || return
	status 0 "$SAMEPAGE" check --strategy direct --seed 1 --runs 100 -o new.scn || return
	[ ! -e new.scn ] && ! compgen -G 'new.scn*'
}

overwrites()
{
	echo old > target.scn
	chmod 600 target.scn
	ln -sf target.scn link
	ln -sf elsewhere.scn dangling
	status 1 "$SAMEPAGE" "${search[@]}" -o link || return
	[ -L link ] && cmp target.scn out/found.v1.scn && [ "$(stat -c %a target.scn)" = 600 ] || return
	status 1 "$SAMEPAGE" "${search[@]}" -o dangling || return
	cmp dangling out/found.v1.scn
	[ "$(stat -c %a dangling-2)" = "$(printf '%o' $((0666 & ~$(umask))))" ]
}

check "-o writes a file for each cause" writes_scenarios
check "no line is wider than 100 columns" is_narrow
check "what it writes runs and fails as it says" they_run
check "-o writes nothing when nothing is found" writes_nothing_when_nothing_is_found
check "-o replaces files, through links, and keeps their modes" overwrites

full_device()
{
	local is=0

	"$SAMEPAGE" "${search[@]}" > /dev/full 2> .err || is=$?
	cat .err
	[ $is = 2 ] && grep -qx "samepage: standard output cannot be written: .*" .err
}
if [ -c /dev/full ]; then
	check "a full device" full_device
else
	skip "a full device" "there is no /dev/full"
fi

# ---- ^C -----------------------------------------------------------------------------------

# What was found so far is printed, shrunk, within seconds.
search_interrupted()
{
	interrupted 0.4 50 "$SAMEPAGE" check --strategy address --time 1h "$@"
}

people()
{
	search_interrupted && head -n 3 .out && grep -qE '^address: misses pages.*, interrupted( |$)' .out &&
		grep -q '^# ---- address: ' .out
}

programs()
{
	search_interrupted --json && grep -q '"interrupted": *true' .out && grep -q '"scenario":' .out
}

check "^C: the report so far" people
check "^C: JSON so far" programs
# ---- The manual -----------------------------------------------------------------------

manual_names_causes()
{
	local name nr=0

	while read -r name; do
		nr=$((nr + 1))
		grep -qxF "*$name*" "$SP_SOURCE/man/samepage-check.1.scd" && continue
		echo "samepage-check(1) does not name the cause $name"
		return 1
	done < <(sed -n 's/^\t\t\.name = "\(.*\)",$/\1/p' "$SP_SOURCE/src/check/cause.c")
	[ $nr -gt 5 ]
}
check "the manual names every cause" manual_names_causes

# As the report says it, but for a capital letter and where lines break.
manual_says_what_causes_are()
{
	local manual text nr=0

	manual=$(sed 's/\\_/_/g; s/^\t*//' "$SP_SOURCE/man/samepage-check.1.scd" | tr '\n' ' ')
	while read -r text; do
		nr=$((nr + 1))
		[[ $manual = *"${text^}"* ]] && continue
		echo "samepage-check(1) does not say: ${text^}"
		return 1
	done < <(tr -d '\n\t' < "$SP_SOURCE/src/check/cause.c" | sed 's/""//g' |
		grep -oE '\.text = "[^"]+"' | sed 's/^.text = "//; s/"$//')
	[ $nr -gt 5 ]
}
check "the manual says what each cause is" manual_says_what_causes_are
finish
