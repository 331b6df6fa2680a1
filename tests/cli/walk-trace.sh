#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What two scenarios say of walks that are not made by hand, and that no
# expectation can see: the trace shows them.
set -eu

trace()
{
	"$SAMEPAGE" run --no-timing --trace --strategy "$1" "$SP_SOURCE/scenarios/$2.scn"
}

fail()
{
	echo "walk-trace: $1" >&2
	exit 1
}

# Scenario 33: with `done` and no child mapping left, pass 1 never starts. The
# migration is the last to walk: unmap, then restore, which has both passes.
passes=$(trace full 33-unscanned-children | sed -n 's/^rmap_walk: .*pass=\([01]\) .*/\1/p' |
	 tail -n 3 | tr -d '\n')
[ "$passes" = 001 ] || fail "33: the migration's passes are $passes, expected 001"

# V1: ten attempts of two walks, not one call; the page's first frame says which
# walks are the migration's, the explicit one before it left aside.
trace address v01-private-file-pinned | awk '
	/^rmap_walk: / {
		walks += /pass=0 /
		calls += !/calls=0$/
	}
	/^mm_migrate_page: / && !seen++ {
		exit !(walks == 1 + 20 && calls == 0 && /err=-16$/)
	}
	END { if (!seen) exit 1 }' || fail "V1: not twenty walks without a call"
