#!/bin/sh
# run-tests.sh BUILD [CTEST-SELECTION...]
#
# Runs the tests of a build folder through ctest and prints one table of what ran: program, device, passed, failed, skipped,
# seconds, and why something failed or was skipped. The last line is the sum of all cases: `N passed, N failed, N skipped`. Exit
# status 1 if a case failed.
#
#   JOBS=2                  tests that run at a time (default: the cores)
#   TEST_BUDGET=840         seconds for all; a test that has not ended by then is stopped, and has failed
#   COHORT_TEST_ARGS=...    more arguments for the test programs
#   COHORT_TEST_DEEP=...    names of structures whose programs go through more schedules on the simulated GPU
set -u
build=$1
shift
budget=${TEST_BUDGET:-840}
COHORT_TEST_DEADLINE=$(($(date +%s) + budget))
export COHORT_TEST_DEADLINE

rm -rf "$build/results"
mkdir -p "$build/results"
ctest --test-dir "$build" -j "${JOBS:-$(nproc)}" "$@" --output-on-failure --no-tests=error </dev/null
code=$?

# A listed test without a line of scripts/record.sh did not even start.
for test in $(ctest --test-dir "$build" -N "$@" | sed -n 's/^ *Test *#[0-9]*: //p'); do
    if [ -f "$build/results/$test.tsv" ]; then
        cat "$build/results/$test.tsv"
    else
        printf '%s\t%s\t0\t1\t0\t0\tdid not run\n' "${test%.*}" "${test##*.}"
    fi
done | awk -F '\t' -v code="$code" '
    BEGIN {
        printf "\n%-16s %-6s %9s %7s %8s %8s  %s\n", "program", "device", "passed", "failed", "skipped", "seconds", "skipped or failed why"
    }
    {
        printf "%-16s %-6s %9d %7d %8d %8d  %s\n", $1, $2, $3, $4, $5, $6, $7
        for (i = 8; i <= NF; ++i)
            printf "%61s%s\n", "", $i
        passed += $3; failed += $4; skipped += $5
    }
    END {
        if (code != 0 && failed == 0) {
            printf "ctest ended with exit status %d\n", code
            failed = 1
        }
        printf "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit failed > 0
    }'
