# SPDX-License-Identifier: GPL-2.0-only
#
# The few commands that a person types; Meson does the work. build/ is the
# release build, build/asan and its neighbours are those of `make check`.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

FUZZ_SECONDS ?= 300

.PHONY: run check build setup format clean install fuzz

run: build
	@build/samepage run --strategy all scenarios/mremap-move.scn
	@build/samepage bench rmap

check: setup
	@scripts/check

build: setup
	@test -f build/build.ninja || meson setup build
	@ninja -C build --quiet | { grep -v '^ninja: no work to do' || true; }

setup:
	@scripts/setup

install: build
	@meson install -C build
	@test -n "$$DESTDIR" || ldconfig

fuzz: setup
	@scripts/fuzz $(FUZZ_SECONDS)

format:
	@git ls-files '*.[ch]' | xargs clang-format -i

clean:
	rm -rf build
