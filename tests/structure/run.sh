#!/bin/bash
# run.sh BUILD
#
# Tests of the house itself: which layer includes which, what the shared library needs and exports, that the
# headers stand alone, and that a program outside the tree builds against what `make install` lays down. One
# line a case; the last line is `N passed, N failed, N skipped`.
set -u
cd "$(dirname "$0")/../.." || exit 1
if [ ! -f "${1:-}/CMakeCache.txt" ]; then
    echo "run.sh: '${1:-}' is not a build folder" >&2
    exit 2
fi
build=$(cd "$1" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0 skipped=0

# report NAME PROBLEMS: passed if PROBLEMS is empty.
report() {
    if [ -z "$2" ]; then
        echo "ok   $1"
        passed=$((passed + 1))
    else
        echo "FAIL $1"
        printf '%s\n' "$2" | head -n 40 | sed 's/^/     /'
        failed=$((failed + 1))
    fi
}

skip() {
    echo "SKIP $1: $2"
    skipped=$((skipped + 1))
}

# attempt COMMAND...: prints the output if the command fails.
attempt() {
    "$@" >"$scratch/attempt.log" 2>&1 </dev/null || {
        echo "failed: $*"
        cat "$scratch/attempt.log"
    }
}

. tests/structure/layers.sh
. tests/structure/calls.sh
. tests/structure/walks.sh
. tests/structure/library.sh
. tests/structure/install.sh
. tests/structure/docs.sh
. tests/structure/scripts.sh
. tests/structure/mutation.sh

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
