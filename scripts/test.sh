#!/bin/sh
# test.sh [--quick] [--ci]
#
# Installs what is missing, builds, runs every test on every device through ctest, and prints one table of what ran. The
# last line is the sum of all cases: `N passed, N failed, N skipped`. Exit status 1 if a case failed.
#
#   BUILD=build        the build folder
#   JOBS=2             tests that run at a time (default: the cores)
#   PART=K/N           only the Kth of N parts (each has every Nth program)
#   TEST_BUDGET=840    seconds for the tests; what has not ended by then has failed
#   --quick            fewer schedules and smaller sizes: two minutes
#   --ci               1,000,000 schedules instead of 200,000
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
JOBS=${JOBS:-$(nproc)}
budget=${TEST_BUDGET:-840}
COHORT_TEST_ARGS=$*
export COHORT_TEST_ARGS

part=''
if [ -n "${PART:-}" ]; then
    case $PART in
    [1-9]*/[1-9]*) part="-I ${PART%/*},,${PART#*/}" ;;
    *)
        echo "PART=$PART is not of the form K/N" >&2
        exit 2
        ;;
    esac
fi

start=$(date +%s)
scripts/deps.sh || exit 1
[ -f "$BUILD/CMakeCache.txt" ] || cmake --preset release -B "$BUILD" >"$BUILD.configure.log" 2>&1 || {
    cat "$BUILD.configure.log"
    exit 1
}
rm -f "$BUILD.configure.log"
cmake --build "$BUILD" -j "$JOBS" || exit 1
echo "set-up and build: $(($(date +%s) - start)) s"

rm -rf "$BUILD/results"
mkdir -p "$BUILD/results"
timeout -k 20 "$budget" ctest --test-dir "$BUILD" -j "$JOBS" $part --output-on-failure --no-tests=error </dev/null
code=$?
scripts/summary.sh "$BUILD" "$part" "$code"
