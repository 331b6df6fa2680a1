#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Cores and processes that cannot be read: told in one line like any other
# mistake. A core is cut at every boundary of its headers; a process ends while
# it is read, once surely (the reader is stopped meanwhile) and then at whatever
# moment it happens.
. "${SP_SOURCE:?}/tests/cli/common.sh" || exit 1

# ---- Cores ------------------------------------------------------------------------

echo 'process a from core "x.core"' > core.scn

# core_is NAME MESSAGE: what is said of x.core.
core_is()
{
	refuses "$1" "core.scn:1:1: x.core: $2" run core.scn
}

core_is "a core that is missing" "No such file or directory"
: > x.core
core_is "a core of 0 bytes" "empty file; a 64-bit ELF core is expected"
mkdir directory && rm x.core && ln -s directory x.core
core_is "a directory as a core" "is a directory; a core is a regular file"
rm x.core
echo "no core" > x.core
core_is "a text as a core" "not an ELF file; a 64-bit ELF core is expected"
gzip -c x.core > y.core && mv y.core x.core
core_is "a compressed core" "gzip data; decompress it first (gunzip)"
cp /bin/true x.core
core_is "an executable as a core" "a shared object or executable (ET_DYN); a core (ET_CORE) is expected"
mkdir below
cp core.scn below
refuses "a core beside the scenario, not beside the caller" \
	"below/core.scn:1:1: below/x.core: No such file or directory" run below/core.scn

"${SP_MKCORE:?}" whole.core -- sleep 1000 || exit 1

# number OFFSET BYTES: a field of the core.
number()
{
	od -A n -t "u$2" -j "$1" -N "$2" whole.core | tr -d ' '
}

cut_at()
{
	head -c "$1" whole.core > x.core
}

inside_the_elf_header()
{
	local at

	# Where its fields begin, and in the middle of the last.
	for at in 1 4 5 6 7 8 16 18 20 24 32 40 48 52 54 56 58 60 62 63; do
		cut_at $at
		refused "core.scn:1:1: x.core: cut after $at bytes, inside the ELF header of 64" \
			"$SAMEPAGE" run core.scn || return
	done
}

inside_the_program_headers()
{
	local phoff phnum at i

	phoff=$(number 32 8)
	phnum=$(number 56 2)
	[ "$phnum" -gt 10 ] || return
	for ((i = 0; i < phnum; i++)); do
		for at in $((phoff + 56 * i)) $((phoff + 56 * i + 1 + i % 55)); do
			cut_at $at
			refused "core.scn:1:1: x.core: cut after $at bytes, inside the $phnum program headers at byte $phoff" \
				"$SAMEPAGE" run core.scn || return
		done
	done
}

# What is behind the headers is missing, and unknown; the core can be run.
behind_the_headers()
{
	local phoff phnum first last i

	phoff=$(number 32 8)
	phnum=$(number 56 2)
	first=$((phoff + 56 * phnum))
	last=$(stat -c %s whole.core)
	for ((i = 0; i < phnum; i++)); do
		cut_at "$(number $((phoff + 56 * i + 8)) 8)"
		status 0 "$SAMEPAGE" run --strategy full core.scn || return
		[ ! -s .err ] || return
	done
	for i in "$first" $((first + 1)) $((last - 1)); do
		cut_at "$i"
		status 0 "$SAMEPAGE" run --strategy full core.scn || return
		grep -q ' [1-9][0-9]* unknown pages$' .out || return
	done
}

check "a core cut inside the ELF header" inside_the_elf_header
check "a core cut inside the program headers" inside_the_program_headers
check "a core cut at each segment" behind_the_headers

# ---- Processes --------------------------------------------------------------------

# from_pid PID: a scenario that reads it.
from_pid()
{
	echo "process a from pid $1" > pid.scn
}

from_pid 2147483647
refuses "a pid that does not exist" "pid.scn:1:1: pid 2147483647: no such process" run pid.scn
from_pid 0
refuses "pid 0" "pid.scn:1:20: a process number is 1..2147483647, not 0" run pid.scn
from_pid 2147483648
refuses "a pid beyond all" "pid.scn:1:20: a process number is 1..2147483647, not 2147483648" run pid.scn

# A process of somebody else.
cp "$SAMEPAGE" samepage
chmod 644 pid.scn
other=$$
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if [ "$(id -u)" != 0 ]; then
	other=1
	nobody=()
fi
from_pid $other
if [ ! -O /proc/1 ] || [ "$(id -u)" = 0 ] && "${nobody[@]}" ./samepage --version > /dev/null 2>&1; then
	check "a pid that may not be read" refused \
		"pid.scn:1:1: pid $other: its memory may not be read (Permission denied); be root or its owner, and see kernel.yama.ptrace_scope" \
		"${nobody[@]}" ./samepage run pid.scn
else
	skip "a pid that may not be read" "every process here belongs to this user"
fi

# target MEGABYTES: a process with as much memory, all of it touched; sets $target.
target()
{
	dd if=/dev/zero of=full-pipe bs="$1M" count=1 2> /dev/null &
	target=$!
	# It sleeps when its buffer is filled: nobody takes it out of the pipe.
	while [ "$(awk '/^VmRSS/ { print $2 }' "/proc/$target/status")" -lt $(($1 * 1000)) ]; do
		sleep 0.01
	done
}

end_target()
{
	kill -9 "$target" 2> /dev/null
	wait "$target" 2> /dev/null
}

mkfifo full-pipe
exec 9<> full-pipe
target 16
from_pid "$target"
readable=false
if "$SAMEPAGE" run --strategy full pid.scn > /dev/null 2> .err; then
	readable=true
else
	cat .err
fi
end_target

reads_target()
{
	local fd

	for fd in "/proc/$reader/fd"/*; do
		[ "$(readlink "$fd")" = "/proc/$target/mem" ] && return
	done
	return 1
}

# Status 2 and one line, or all of it was read before.
exited_in_time()
{
	local is=0

	wait "$reader" || is=$?
	[ $is = 0 ] && [ ! -s .err ] && return
	[ $is = 2 ] && [ ! -s .out ] && [ "$(wc -l < .err)" = 1 ] &&
		grep -qxE "pid.scn:1:1: pid $target: (exited while it was read \([0-9]+ of [0-9]+ mappings read\)|no such process|has exited already and waits for its parent \(a zombie\)|is just exiting)" .err &&
		return
	echo "exit status $is"
	cat .err
	return 1
}

read_target()
{
	from_pid "$target"
	"$SAMEPAGE" run --strategy full pid.scn > .out 2> .err &
	reader=$!
}

exits_while_read()
{
	local try is

	for ((try = 0; try < 10; try++)); do
		target 256
		read_target
		until reads_target || [ ! -e "/proc/$reader/fd/0" ]; do
			:
		done
		kill -STOP $reader
		end_target
		kill -CONT $reader
		is=0
		exited_in_time || return
		grep -q "exited while it was read" .err && return
	done
	echo "it was never met while it was read"
	return 1
}

exits_at_any_moment()
{
	local try

	for ((try = 0; try < 20; try++)); do
		target 16
		read_target
		sleep "0.00$((try % 10))"
		end_target
		exited_in_time || return
	done
}

if $readable; then
	check "a pid that exits while it is read" exits_while_read
	check "a pid that exits at any moment" exits_at_any_moment
else
	skip "a pid that exits while it is read" "other processes may not be read here"
	skip "a pid that exits at any moment" "other processes may not be read here"
fi
finish
