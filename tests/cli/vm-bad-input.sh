#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# samepage vm, where something is wrong before any guest could start: one line says what, and status
# is 2. Needs neither QEMU nor a network: what stands for them is in $dir/bin.
. "$SP_SOURCE/tests/cli/common.sh"

export SAMEPAGE_CACHE=$dir/cache
scenario good.scn 'process a' 'a: map x 2' 'a: fill x[0] 7' 'expect content a:x[0] 7'
scenario bad.scn 'nonsense'

tool()
{
	mkdir -p bin
	printf '%s\n' '#!/bin/bash' "${@:2}" > "bin/$1"
	chmod +x "bin/$1"
}
tool qemu-system-x86_64 'exit 1'

# refuses_vm NAME MESSAGE ARGUMENT...: with the tools of bin, and only those where $only is set
refuses_vm()
{
	check "$1" refused "samepage: $2" env PATH="$dir/bin${only:-:$PATH}" "$SAMEPAGE" vm "${@:3}"
}

names='6.1, 6.12, 7.2, built, built-debug, own, own-debug, all, or the path of a kernel file'
refuses_vm "no scenario" "vm run: which scenario? Try 'samepage vm run FILE', or 'samepage vm run --help'" \
	run
refuses_vm "unknown kernel" "--kernel 5.10: must be one of $names" run --kernel 5.10 good.scn
refuses_vm "near kernel" "--kernel 6.112: did you mean '6.12'? It must be one of $names" \
	run --kernel 6.112 good.scn
refuses_vm "time limit" "--time-limit 0: must be a time from 1s to 24h, such as 500ms, 10s or 2m" \
	run --time-limit 0 good.scn
refuses_vm "where to run" "--on moon: must be kernel or engine" run --on moon good.scn
refuses_vm "option" "vm run: --kernal: no such option; did you mean '--kernel'?" run --kernal 6.1 good.scn
refuses_vm "a shell on all" "vm shell: --kernel all: a shell is on one kernel" shell --kernel all
refuses_vm "a shell takes no file" "vm shell: good.scn: takes no files" shell good.scn
refuses_vm "list takes no name" "vm list: 6.1: takes no names" list 6.1
refuses_vm "fetch of a path" "vm fetch: ./x: is not one of Debian's kernels" fetch ./x
refuses_vm "fetch of what is not known" "--kernel 6: must be one of $names" fetch 6
refuses_vm "no such command" "rum: no such command; did you mean 'run'?" rum
refuses "init is for guests" \
	"samepage: vm-init: only a guest's kernel may start this, as its first process" vm-init run

mistake_in_file()
{
	status 2 "$SAMEPAGE" vm run good.scn bad.scn && [ ! -s .out ] && grep -q '^bad.scn:1:' .err &&
		[ "$(wc -l < .err)" = 1 ]
}
check "a mistake in a file is told before anything is booted" mistake_in_file

mkdir empty
check "no QEMU" refused \
	"samepage: vm: qemu-system-x86_64 is not installed; Debian has it in the package qemu-system-x86" \
	env PATH="$dir/empty" "$SAMEPAGE" vm run good.scn
check "no apt" refused \
	"samepage: vm: apt-get is not installed; Debian has it in the package apt" \
	env PATH="$dir/empty" "$SAMEPAGE" vm fetch 6.1

# An apt that knows an archive and reaches nothing.
tool apt-get 'case $* in *indextargets*) echo "Debian|main|http://archive.invalid/debian/";; *)' \
	'echo "E: Failed to fetch http://archive.invalid/x  Could not resolve" >&2' \
	'echo "E: Some index files failed to download." >&2; exit 100;; esac'
refuses_vm "no network" \
	"vm: Linux 6.1 cannot be fetched: apt-get failed: Failed to fetch http://archive.invalid/x  Could not resolve" \
	run --kernel 6.1 good.scn
mkdir -p cache/kernels/6.1
echo rubbish > cache/kernels/6.1/manifest
damaged_and_no_network()
{
	status 2 env PATH="$dir/bin:$PATH" "$SAMEPAGE" vm run --kernel 6.1 good.scn && diff -u - .err <<- END
		samepage: vm: $dir/cache/kernels/6.1/manifest is damaged; fetching it again
		samepage: vm: Linux 6.1 cannot be fetched: apt-get failed: Failed to fetch http://archive.invalid/x  Could not resolve
	END
}
check "a damaged cache, and no network" damaged_and_no_network
shown_as_damaged()
{
	status 0 "$SAMEPAGE" vm list && grep -q "^6.1 .* manifest is damaged$" <(tr / ' ' < .out)
}
check "a damaged cache is listed" shown_as_damaged
tool apt-get 'case $* in *indextargets*) echo "Ubuntu|main|http://archive.invalid/ubuntu/";; esac'
refuses_vm "another system's archive" \
	"vm: apt's sources name no Debian archive to fetch kernels from" run --kernel 6.12 good.scn
tool apt-get 'case $* in *indextargets*) echo "Debian|main|http://archive.invalid/debian/";; esac'
tool apt-cache 'echo linux-image-6.13.1-cloud-amd64'
refuses_vm "an archive without it" \
	"vm: Debian's bookworm-backports has no kernel 6.12 any more (linux-image-6.12.*-cloud-amd64)" \
	run --kernel 6.12 good.scn

echo "#!/bin/sh" > script
refuses_vm "not a kernel" "vm: ./script: not a kernel: no bzImage" run --kernel ./script good.scn
refuses_vm "not a file" "vm: ./empty: not a kernel: no bzImage" run --kernel ./empty good.scn
refuses_vm "no such kernel file" "vm: ./none: No such file or directory" run --kernel ./none good.scn

# The magic of a bzImage, its release at 0x300, and nothing behind.
{
	head -c 510 /dev/zero; printf '\x55\xaa\0\0HdrS'; head -c 8 /dev/zero
	printf '\0\1'; head -c 240 /dev/zero; printf '6.9.1-own (me)'; head -c 2048 /dev/zero
} > vmlinuz
echo CONFIG_KSM=m > config-6.9.1-own
refuses_vm "a kernel without KSM" "vm: ./vmlinuz: cannot be used: built without CONFIG_KSM=y" \
	run --kernel ./vmlinuz good.scn
rm config-6.9.1-own

no_room()
(
	trap '' XFSZ
	ulimit -f 8
	status 2 env PATH="$dir/bin:$PATH" "$SAMEPAGE" vm run --kernel ./vmlinuz good.scn &&
		diff -u - .err <<< "samepage: vm: $dir/cache: the guest's image cannot be written: File too large"
)
check "no room for the guest's image" no_room

touch file
SAMEPAGE_CACHE=$dir/file refuses_vm "a cache that is a file" "vm: $dir/file: not a directory" list
SAMEPAGE_CACHE='' HOME='' XDG_CACHE_HOME='' refuses_vm "no place for a cache" \
	"vm: no place for kernels: neither SAMEPAGE_CACHE nor HOME is set" list

dead_qemu()
{
	status 4 env PATH="$dir/bin:$PATH" "$SAMEPAGE" vm run --kernel ./vmlinuz good.scn &&
		grep -q "^== ./vmlinuz: the guest died: QEMU failed with status 1" .out
}
check "a QEMU that does not start is a guest that died" dead_qemu

# ---- Kernels of one's own, with a make that takes no time ----------------------------

refuses_vm "a kernel that was not built" \
	"vm: --kernel own-debug: was not built yet; 'samepage vm build-kernel --source DIR --debug' makes it" \
	run --kernel own-debug good.scn
only=t refuses_vm "nothing to build with" \
	"vm: to build a kernel, missing: $(printf '%s ' make gcc ld flex bison m4 bc perl gzip tar xz | sed 's/ $//'); with Debian: apt-get install make gcc binutils flex bison m4 bc perl gzip tar xz-utils" \
	build-kernel
for name in gcc ld flex bison m4 bc perl; do
	tool "$name" 'exit 0'
done
# shellcheck disable=SC2016
tool make 'for word; do case $word in O=*) o=${word#O=} ;; esac; target=$word; done' \
	'echo "$target" >> "'"$dir"'/made"' \
	'case $target in' \
	'tinyconfig) echo CONFIG_TINY=y > "$o/.config" ;;' \
	'bzImage) echo "  CC      mm/ksm.o"' \
	'	[ ! -e "'"$dir"'/slow" ] || { echo $$ > "'"$dir"'/slow"; exec sleep 60; }' \
	'	[ ! -e "'"$dir"'/broken" ] || { cat "'"$dir"'/broken" >&2; exit 2; }' \
	'	mkdir -p "$o/arch/x86/boot" && cp "'"$dir"'/vmlinuz" "$o/arch/x86/boot/bzImage" ;;' \
	esac

refuses_vm "build-kernel takes no name" "vm build-kernel: 7.2: takes no names; --source 7.2 would build that tree" \
	build-kernel 7.2
refuses_vm "no tree" "vm: ./none: No such file or directory" build-kernel --source ./none
refuses_vm "not a tree" "vm: ./empty: not the source of a kernel: no Makefile" build-kernel --source ./empty
mkdir -p tree/mm tree/arch/x86
touch tree/Makefile tree/Kconfig tree/mm/ksm.c tree/arch/x86/Makefile tree/.config
refuses_vm "a tree that was built in place" \
	"vm: ./tree: was built in place (.config), which building outside does not allow: copy your .config, and 'make mrproper' there" \
	build-kernel --source ./tree
rm tree/.config
refuses_vm "no place for what is built" "vm: ./nowhere: No such file or directory" \
	build-kernel --source ./tree -o ./nowhere
mkdir "a blank" && cp -r tree "a blank/"
refuses_vm "a blank in the path" "vm: $dir/a blank/tree: kernels do not build below a path with a blank" \
	build-kernel --source "a blank/tree"

build()
{
	env PATH="$dir/bin:$PATH" "$SAMEPAGE" vm build-kernel --source ./tree "$@"
}

does_not_compile()
{
	printf '%s\n' 'mm/ksm.c:7:1: error: no such thing' 'make: *** [x] Error 1' > broken
	status 2 build && [ ! -s .out ] && [ "$(wc -l < .err)" = 1 ] &&
		grep -q '^samepage: vm: ./tree: make bzImage failed: mm/ksm.c:7:1: error: no such thing; all of it is in .*/log$' .err &&
		grep -q 'Error 1' "$(sed 's/.*all of it is in //' .err)" && [ ! -e cache/kernels/own ]
}
check "a tree that does not compile" does_not_compile
rm -f broken

stops()
{
	local status=0

	touch slow
	interrupted 1.5 30 env PATH="$dir/bin:$PATH" "$SAMEPAGE" vm build-kernel --source ./tree || return
	[ -s slow ] && ! kill -0 "$(cat slow)" 2> /dev/null && [ ! -e cache/kernels/own ] || status=1
	rm slow
	return $status
}
check "^C in a build leaves no make and no kernel" stops

builds()
{
	mkdir -p put
	rm -f made
	status 0 build -o put && grep -q '^own  *6\.9\.1-own ' .out && [ ! -s .err ] || return
	cmp put/vmlinuz-6.9.1-own vmlinuz && grep -q '^CONFIG_KSM=y$' put/config-6.9.1-own || return
	! grep -q PROVE_LOCKING put/config-6.9.1-own && status 0 "$SAMEPAGE" vm list &&
		grep -q "^own  *$dir/tree  *6\.9\.1-own  *here$" .out || return
	# Configured before: a second build does not begin anew.
	rm made
	status 0 build && [ "$(tr '\n' ' ' < made)" = "olddefconfig bzImage " ] || return
	status 0 build --debug && grep -q '^own-debug ' .out &&
		grep -q '^CONFIG_PROVE_LOCKING=y$' cache/kernels/own-debug/config
}
check "a tree that compiles is a kernel" builds

runs_it()
{
	status 4 env PATH="$dir/bin:$PATH" "$SAMEPAGE" vm run --kernel own good.scn &&
		grep -q "^== own: the guest died: QEMU failed with status 1" .out
}
check "and is run by its name" runs_it

# ---- A kernel that is here needs no network -------------------------------------------------

tool apt-get 'echo "E: no network" >&2; exit 100'
rm -rf cache/kernels/6.12
cp -r cache/kernels/own cache/kernels/6.12
without_network()
{
	status 4 env PATH="$dir/bin:$PATH" "$SAMEPAGE" vm run --kernel 6.12 good.scn &&
		grep -q "^== 6.12: the guest died: QEMU failed with status 1" .out
}
check "a kernel that is here needs no network" without_network

damaged_image()
{
	local status=0

	echo >> cache/kernels/6.12/vmlinuz
	status 2 env PATH="$dir/bin:$PATH" "$SAMEPAGE" vm run --kernel 6.12 good.scn && diff -u - .err <<- END ||
		samepage: vm: $dir/cache/kernels/6.12/vmlinuz is damaged: its checksum is not the manifest's; fetching it again
		samepage: vm: Linux 6.12 cannot be fetched: apt-get failed: no network
	END
		status=1
	cp vmlinuz cache/kernels/6.12/vmlinuz
	return $status
}
check "a damaged image, and no network" damaged_image

full_disk()
{
	status 2 unshare --mount bash -c 'mkdir small && mount -t tmpfs -o size=256k none small &&
		cp -r cache/kernels small/ && SAMEPAGE_CACHE=$PWD/small exec "$@"' \
		bash env PATH="$dir/bin:$PATH" "$SAMEPAGE" vm run --kernel 6.12 good.scn &&
		diff -u - .err <<< "samepage: vm: $dir/small: the guest's image cannot be written: No space left on device"
}
no_room_to_build()
{
	status 2 unshare --mount bash -c 'mkdir -p small && mount -t tmpfs -o size=64m none small &&
		SAMEPAGE_CACHE=$PWD/small exec "$@"' \
		bash env PATH="$dir/bin:$PATH" "$SAMEPAGE" vm build-kernel --source ./tree &&
		grep -q "^samepage: vm: $dir/small: no room: a build takes 1000 MiB there, and 6[0-9] MiB are free$" .err
}
if [ "$(id -u)" = 0 ] && unshare --mount true 2> "$dir/.said"; then
	check "a full disk" full_disk
	check "a disk too small for a build" no_room_to_build
else
	skip "a full disk" "only root can make a small one"
	skip "a disk too small for a build" "only root can make a small one"
fi
finish
