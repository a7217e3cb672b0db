#!/bin/sh
# record.sh RESULTS SECONDS NAME DEVICE COMMAND...
#
# Runs one test program, at most SECONDS long and not beyond COHORT_TEST_DEADLINE (seconds since 1970), and leaves in RESULTS
# its output (NAME.DEVICE.log) and one line for scripts/run-tests.sh (NAME.DEVICE.tsv): program, device, passed,
# failed, skipped, seconds, remark. The counts come from the program's closing line, `N passed, N failed, N skipped`; a
# program that ends badly without a failed case counts as one, a program that exits 77 as at least one skipped.
# COHORT_TEST_ARGS in the environment is handed on to programs that take a device.
results=$1 limit=$2 name=$3 device=$4
shift 4
[ "$device" = host ] || set -- "$@" $COHORT_TEST_ARGS
mkdir -p "$results"
log=$results/$name.$device.log
tsv=$results/$name.$device.tsv
rm -f "$tsv"

start=$(date +%s)
left=$((${COHORT_TEST_DEADLINE:-$((start + limit))} - start))
[ "$left" -ge "$limit" ] || limit=$left
if [ "$limit" -gt 0 ]; then
    timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null &
    child=$!
    trap 'kill "$child"' TERM INT
    wait "$child"
    code=$?
else
    echo "not started: the time for all tests is used up" >"$log"
    code=124
fi
seconds=$(($(date +%s) - start))
cat "$log"

passed=0 failed=0 skipped=0
closing=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
if [ -n "$closing" ]; then
    set -- $closing
    passed=$1 failed=$3 skipped=$5
fi
# The first reason for a skip that the program gives; with 77, failing that, its last words.
remark=$(grep -iE '^ *skip' "$log" | head -n 1 | sed -E 's/^ *skip(ped)? *:? *//I')
case $code in
0)
    if [ -z "$closing" ]; then
        failed=1 code=1 remark="no closing line"
    elif [ "$failed" -gt 0 ]; then
        code=1 remark="exit status 0 in spite of failures"
    fi
    ;;
77)
    [ "$skipped" -gt 0 ] || skipped=1
    [ -n "$remark" ] || remark=$(grep -vE '^[0-9]+ passed|^ *$' "$log" | tail -n 1)
    ;;
124 | 137)
    failed=$((failed + 1)) remark="stopped after $seconds s"
    ;;
*)
    [ "$failed" -gt 0 ] || failed=1
    remark="exit status $code, see ${log##*/build/}"
    ;;
esac
printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$name" "$device" "$passed" "$failed" "$skipped" "$seconds" \
    "$(printf '%s' "$remark" | tr '\t' ' ' | cut -c 1-100)" >"$tsv"
exit "$code"
