# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the scripts beside it share: cases, each counted for itself as cmocka's
# are, and two ways to judge a run of the command.
#
#	. "$SP_SOURCE/tests/cli/common.sh"
#	golden run-x run --no-timing x.scn	standard output is golden/run-x
#	refuses "no such file" 'x.scn: ...' run x.scn
#						status 2, nothing on standard output,
#						and this on standard error
#	check "a name" FUNCTION [ARGUMENT]...	whatever FUNCTION says by its status;
#						what it prints is shown when it fails
#	skip "a name" "why"
#	need_guests 7.2				real kernels, or nothing is tested
#	finish
#
# Every case runs, whatever the others did. $dir is a directory of this script's
# own, the current one from here on, and removed at the end.
set -uo pipefail
export LC_ALL=C
unset ARGP_HELP_FMT

[ -n "${SAMEPAGE:-}" ] && [ -n "${SP_SOURCE:-}" ] || {
	echo "SAMEPAGE must be the command, SP_SOURCE the top of the source tree" >&2
	exit 1
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
cd "$dir" || exit 1

nr_failed=0
skipped=()

check()
{
	local name=$1

	shift
	echo "[ RUN      ] $name"
	if "$@" > "$dir/.said" 2>&1; then
		echo "[       OK ] $name"
	else
		cat "$dir/.said"
		echo "[  FAILED  ] $name"
		nr_failed=$((nr_failed + 1))
	fi
}

skip()
{
	echo "[ RUN      ] $1"
	echo "$2"
	echo "[  SKIPPED ] $1"
	skipped+=("$1")
}

# need_guests [KERNEL...]: ends the script where guests of these kernels (all) cannot be had, loudly.
need_guests()
{
	local why=

	if grep -q __asan_init "$SAMEPAGE"; then
		why="a sanitizer's shadow memory does not fit into a guest; the release build boots them"
	elif ! command -v qemu-system-x86_64 > /dev/null; then
		why="QEMU is not installed"
	elif ! "$SAMEPAGE" vm fetch "$@" 2> .err; then
		why="no kernels: $(cat .err)"
	fi
	[ -n "$why" ] || return 0
	echo "NO GUEST WAS BOOTED: $why" >&2
	# What was tested so far was.
	[ "$nr_failed" = 0 ] || finish
	exit 77
}

finish()
{
	if [ ${#skipped[@]} -gt 0 ]; then
		echo "[  SKIPPED ] ${#skipped[@]} test(s), listed below:"
		printf '[  SKIPPED ] %s\n' "${skipped[@]}"
	fi
	exit $((nr_failed > 0))
}

# A command as an unprivileged user runs it.
as_nobody()
{
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
	else
		"$@"
	fi
}

catches_interrupts()
{
	local mask

	mask=$(sed -n 's/^SigCgt:[^0-9a-f]*//p' "/proc/$1/status")
	((16#${mask:-0} & 2))
}

# interrupted DELAY TENTHS COMMAND...: ^C after DELAY seconds of a run with its output in .out and .err
# ends it within TENTHS tenths of a second, with status 2, and it says so.
interrupted()
{
	local delay=$1 most=$2 pid is=0 begin tenths

	shift 2
	"$@" > .out 2> .err &
	pid=$!
	until catches_interrupts $pid; do
		[ -e "/proc/$pid" ] || return
	done
	sleep "$delay"
	begin=$EPOCHREALTIME
	kill -INT $pid
	wait $pid || is=$?
	tenths=$(((${EPOCHREALTIME/[.,]/} - ${begin/[.,]/}) / 100000))
	echo "exit status $is after 0.1 s times $tenths"
	cat .err
	[ $is = 2 ] && [ "$(cat .err)" = "samepage: interrupted" ] && [ $tenths -lt "$most" ]
}

# Lines to a file: scenario NAME LINE...
scenario()
{
	printf '%s\n' "${@:2}" > "$1"
}

# status WANTED COMMAND...: runs it with its output in .out and .err.
status()
{
	local wanted=$1 is=0

	shift
	"$@" > "$dir/.out" 2> "$dir/.err" || is=$?
	[ "$is" = "$wanted" ] && return
	echo "$*"
	echo "exit status $is, expected $wanted; on standard error:"
	head -c 2000 "$dir/.err"
	return 1
}

compare_error()
{
	if [ -s "$dir/.out" ]; then
		echo "something was run: standard output is not empty"
		head -n 5 "$dir/.out"
		return 1
	fi
	diff -u --label "expected on standard error" --label "is" - "$dir/.err" <<< "$1"
}

# refused EXPECTED COMMAND...
refused()
{
	local expected=$1

	shift
	status 2 "$@" && compare_error "$expected"
}

refuses()
{
	check "$1" refused "$2" "$SAMEPAGE" "${@:3}"
}

compare_golden()
{
	local golden=$SP_SOURCE/tests/cli/golden/$1 new

	diff -u --label "tests/cli/golden/$1" --label "is" "$golden" "$dir/.$2" && return
	new=$(dirname "$SAMEPAGE")/golden
	mkdir -p "$new"
	cp "$dir/.$2" "$new/$1"
	echo "to accept the new output:"
	echo "	cp $new/$1 $golden"
	return 1
}

# is_golden NAME STATUS STREAM ARGUMENT...
is_golden()
{
	status "$2" "$SAMEPAGE" "${@:4}" && compare_golden "$1" "$3"
}

golden()
{
	check "$1" is_golden "$1" 0 out "${@:2}"
}
