#!/bin/sh
# test.sh [--quick | --ci]
#
# `make test`: installs what is missing, builds, and runs every test on every device that is here
# (run-tests.sh).
#
#   --quick            fewer schedules and smaller sizes, and nothing else
#   --ci               1,000,000 schedules instead of 200,000
#   BUILD=build        the build folder
#   ARCHS=...          as in configure.sh
#   PART=K/N           only the Kth of N parts of every program's cases
#   JOBS, TEST_BUDGET  as in run-tests.sh; the budget is for set-up and tests together; without one all of it
#                      takes 900 s, but the tests have 660 at least, whatever the build took
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
JOBS=${JOBS:-$(nproc)}
COHORT_TEST_ARGS=$*
export JOBS COHORT_TEST_ARGS

# Every program runs its Kth part on every device; what runs on the host alone is the first part's.
select=''
case ${PART:-} in
'') ;;
[1-9]*/[1-9]*)
    COHORT_TEST_ARGS="$COHORT_TEST_ARGS --part $PART"
    [ "${PART%/*}" = 1 ] || select='-LE ^host$'
    ;;
*)
    echo "test.sh: PART=$PART is not of the form K/N" >&2
    exit 2
    ;;
esac

start=$(date +%s)
scripts/deps.sh || exit 1
BUILD=$BUILD scripts/configure.sh || exit 1
cmake --build "$BUILD" -j "$JOBS" || exit 1
used=$(($(date +%s) - start))
echo "set-up and build: $used s"
if [ -n "${TEST_BUDGET:-}" ]; then
    TEST_BUDGET=$((TEST_BUDGET - used))
else
    TEST_BUDGET=$((used < 240 ? 900 - used : 660))
fi
export TEST_BUDGET
exec scripts/run-tests.sh "$BUILD" $select
