#!/bin/bash
# run-tests.sh BUILD [CTEST-SELECTION...]
#
# Runs the tests of a build folder through ctest and prints one table of what ran: program, device, passed,
# failed, skipped, seconds, and why something failed or was skipped. The last line is the sum of all cases:
# `N passed, N failed, N skipped`. Exit status 1 if a case failed.
#
# There are two turns. In the first one every program runs in its short form (--quick), which must end in
# time. What is left of the time is the long form's: as many of the programs as there is time for, those of
# COHORT_TEST_DEEP first, the others in an order that is drawn. A program that has ended in its long form is
# in the table with that; the others, and how many they are, are told in a line, and count as skipped. So a
# slow machine tries less, and fails nothing for it. With --quick or --ci among COHORT_TEST_ARGS there is
# one turn.
# In the short form the simulated GPU has a sixth of the combinations of a case (of memory, width and layout),
# drawn by COHORT_TEST_DRAW: six numbers in a row have all of them. By the same number cases that take long have
# a share of their parts, on any device (test_drawn in tests/test.h); what is left out is told, a line a case.
#
#   JOBS=2                  tests that run at a time (default: the cores)
#   TEST_BUDGET=840         seconds for all; COHORT_TEST_DEADLINE, seconds since 1970, may end them earlier
#   COHORT_TEST_ARGS=...    more arguments for the test programs
#   COHORT_TEST_DEEP=...    names of structures whose programs go through more schedules on the simulated GPU, in
#                           the long form
#   COHORT_TEST_REST=skip   in one turn, too, what the time does not reach is skipped and told; the order is drawn
#   COHORT_TEST_DRAW=N      draws as the run did that told N; by default another number each time
set -u
build=$1
shift
budget=${TEST_BUDGET:-840} jobs=${JOBS:-$(nproc)} args=${COHORT_TEST_ARGS:-} deep=${COHORT_TEST_DEEP:-}
deadline=$(($(date +%s) + budget))
[ "${COHORT_TEST_DEADLINE:-$deadline}" -lt "$deadline" ] || COHORT_TEST_DEADLINE=$deadline
COHORT_TEST_DRAW=${COHORT_TEST_DRAW:-$((RANDOM % 1000))}
export COHORT_TEST_DEADLINE COHORT_TEST_DRAW COHORT_TEST_ARGS COHORT_TEST_DEEP COHORT_TEST_TURN
export COHORT_TEST_REST=${COHORT_TEST_REST:-}

# names CTEST-SELECTION...: of the tests it selects.
names() { ctest --test-dir "$build" -N "$@" | sed -n 's/^ *Test *#[0-9]*: //p'; }

# turn ARGUMENTS CTEST-ARGUMENTS...
turn() {
    local none=error
    [ -z "${COHORT_TEST_TURN:-}" ] || none=ignore
    COHORT_TEST_ARGS=$1
    shift
    ctest --test-dir "$build" -j "$jobs" "$@" --output-on-failure --no-tests=$none </dev/null
}

rm -rf "$build/results"
mkdir -p "$build/results"
echo "draw: COHORT_TEST_DRAW=$COHORT_TEST_DRAW"
mapfile -t tests < <(names "$@")
code=0
case " $args " in
*' --quick '* | *' --ci '*)
    long=no
    turn "$args" ${COHORT_TEST_REST:+--schedule-random} "$@" || code=$?
    ;;
*)
    long=yes
    COHORT_TEST_DEEP='' turn "$args --quick" "$@" || code=$?
    COHORT_TEST_TURN=long
    # Tests of the simulator bear the name of its device: by that name all would be first. What ran is not
    # begun again; what bears another label has a short form alone.
    first=$(tr ' ' '\n' <<<"$deep" | grep -vx sim | xargs | tr ' ' '|')
    [ -z "$first" ] || turn "$args" --schedule-random -L '^sim$' -L "^($first)\$" "$@" || code=$?
    turn "$args" --schedule-random -L '^(cpu|sim|cuda)$' "$@" || code=$?
    ;;
esac

# A line of scripts/record.sh for each test: that of the long form, if it ended or failed. A listed test
# without one did not even start.
lines() {
    local test
    for test in "${tests[@]}"; do
        if grep -qsvP '\t(time was up|not begun)' "$build/results/long/$test.tsv"; then
            cat "$build/results/long/$test.tsv"
        elif [ -f "$build/results/$test.tsv" ]; then
            cat "$build/results/$test.tsv"
        else
            printf '%s\t%s\t0\t1\t0\t0\tdid not run\n' "${test%.*}" "${test##*.}"
        fi
    done
}
# What the time did not reach in the last turn. Of the long form nothing else counts it as skipped.
last=$build/results
[ $long = no ] || last=$last/long
unreached=$(grep -lsP '\t(time was up|not begun)' "$last"/*.tsv | sed 's|.*/||; s|\.tsv$||' | xargs)
left=0
[ $long = no ] || left=$(wc -w <<<"$unreached")
printf '\nlast turn: %d programs; the time was up before these had ended: %s\n' \
    "$(find "$last" -maxdepth 1 -name '*.tsv' | wc -l)" "${unreached:-none}"

lines | awk -F '\t' -v code="$code" -v left="$left" '
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
        printf "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped + left
        exit failed > 0
    }'
