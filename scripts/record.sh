#!/bin/sh
# record.sh RESULTS SECONDS NAME DEVICE COMMAND...
#
# Runs one test program, at most SECONDS long and not beyond COHORT_TEST_DEADLINE (seconds since 1970), and
# leaves in RESULTS its output (NAME.DEVICE.log) and one line for scripts/run-tests.sh (NAME.DEVICE.tsv):
# program, device, passed, failed, skipped, seconds, and remarks. The counts come from the program's closing
# line, `N passed, N failed, N skipped`; a program that ends badly without a failed case counts as one, a
# program that exits 77 as at least one skipped. Of one that fails, hangs or crashes the last failing case
# is named. With --ci among the arguments the limit is at least half an hour. COHORT_TEST_ARGS in the
# environment is handed on to programs that take a device. COHORT_TEST_DEEP holds the names of structures
# whose programs go through more schedules on the simulated GPU (--ci).
#
# COHORT_TEST_TURN=long: the program had its short form. It leaves its line in RESULTS/long, is not run a
# second time, and has not failed if the deadline stops it: its line says `time was up` or `not begun`. What
# one program may take is half an hour then, or what the deadline leaves.
# COHORT_TEST_REST=skip: so it is with what the deadline stops in the only turn there is.
results=$1${COHORT_TEST_TURN:+/$COHORT_TEST_TURN} limit=$2 name=$3 device=$4 turn=${COHORT_TEST_TURN:-}
shift 4
case "$turn $*" in long*' --quick'*) exit 0 ;; esac # it has no other form
[ "$device" = host ] || set -- "$@" $COHORT_TEST_ARGS
case "$device: ${COHORT_TEST_DEEP:-} " in
"sim:"*" ${COHORT_TEST_STRUCTURE:-none} "*) set -- "$@" --ci ;;
esac
case "$turn $* " in long* | *" --ci "*) [ "$limit" -ge 1800 ] || limit=1800 ;; esac
mkdir -p "$results"
log=$results/$name.$device.log
tsv=$results/$name.$device.tsv
[ -z "$turn" ] || [ ! -f "$tsv" ] || exit 0
rm -f "$tsv"

start=$(date +%s) rest=$turn${COHORT_TEST_REST:-} cut=''
left=$((${COHORT_TEST_DEADLINE:-$((start + limit))} - start))
[ "$left" -ge "$limit" ] || limit=$left cut=$rest
if [ -n "$cut" ] && [ "$limit" -le 0 ]; then
    printf '%s\t%s\t0\t0\t1\t0\tnot begun\n' "$name" "$device" >"$tsv"
    exit 77
fi
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

# The last case that failed: of a program that hung or crashed, the one that did.
failing() { sed -n 's/^FAIL \(.*\)/: \1/p' "$log" | tail -n 1 | cut -c 1-160 | tr '\t' ' '; }
remark=''
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
    remark="$skipped skipped: $(sed -nE 's/^ *skip(ped)?[: ] *//Ip' "$log" | head -n 1)"
    ;;
124 | 137)
    if [ -n "$cut" ] && ! grep '^FAIL ' "$log" | grep -qv ': was stopped$'; then
        code=77 skipped=1 remark="time was up after $seconds s"
    else
        failed=$((failed + 1)) remark="stopped after $seconds s$(failing)"
    fi
    ;;
*)
    [ "$failed" -gt 0 ] || failed=1
    remark="exit status $code, see ${log##*/build/}$(failing)"
    ;;
esac

# Lines such as `skip: CASE: why` or `SKIP CASE: why`: each reason once, with the number of its cases.
reasons() {
    grep -iE '^ *skip' "$log" | sed -E 's/^ *skip(ped)?[: ] *//I; s/^[^:]*: //' | cut -c 1-100 | tr '\t' ' ' |
        sort | uniq -c | sort -rn | sed -E 's/^ *([0-9]+) (.*)/\1 skipped: \2/' | head -n 12
}
{
    printf '%s\t%s\t%s\t%s\t%s\t%s' "$name" "$device" "$passed" "$failed" "$skipped" "$seconds"
    [ -z "$remark" ] || printf '\t%s' "$remark"
    [ "$code" = 77 ] || reasons | while read -r line; do printf '\t%s' "$line"; done
    echo
} >"$tsv"
exit "$code"
