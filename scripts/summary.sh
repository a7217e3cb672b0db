#!/bin/sh
# summary.sh BUILD PART CODE
#
# The table of what scripts/record.sh left in BUILD/results: program, device, passed, failed, skipped, seconds, and why
# something was skipped. A test of ctest's list (as far as PART goes) without a line did not end: one failed case. The
# last line is the sum. Exit status 1 if a case failed, or ctest itself did (CODE) with no case that explains it.
set -u
build=$1 part=$2 code=$3
listed=$(ctest --test-dir "$build" -N $part | sed -n 's/^ *Test *#[0-9]*: //p')

{
    for test in $listed; do
        if [ -f "$build/results/$test.tsv" ]; then
            cat "$build/results/$test.tsv"
        else
            printf '%s\t%s\t0\t1\t0\t-\tdid not end\n' "${test%.*}" "${test##*.}"
        fi
    done
} | awk -F '\t' -v code="$code" '
    BEGIN {
        printf "\n%-16s %-6s %9s %7s %8s %8s  %s\n", "program", "device", "passed", "failed", "skipped", "seconds", "remark"
    }
    {
        printf "%-16s %-6s %9d %7d %8d %8s  %s\n", $1, $2, $3, $4, $5, $6, $7
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
