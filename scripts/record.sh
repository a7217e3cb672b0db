#!/bin/sh
# record.sh RESULTS SECONDS NAME DEVICE COMMAND...
#
# Runs one test program, at most SECONDS long, and leaves in RESULTS its output (NAME.DEVICE.log) and one line for
# scripts/summary.sh (NAME.DEVICE.tsv): program, device, passed, failed, skipped, seconds, remark. The counts come from the
# program's closing line, `N passed, N failed, N skipped`; a program that ends badly without one counts as one failed
# case, one that exits 77 as one skipped. COHORT_TEST_ARGS in the environment is handed on to test programs.
results=$1 limit=$2 name=$3 device=$4
shift 4
mkdir -p "$results"
log=$results/$name.$device.log
tsv=$results/$name.$device.tsv
rm -f "$tsv"
[ "$device" = host ] || set -- "$@" $COHORT_TEST_ARGS

start=$(date +%s)
timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null
code=$?
seconds=$(($(date +%s) - start))
cat "$log"

closing=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
if [ -n "$closing" ]; then
    set -- $closing
    passed=$1 failed=$3 skipped=$5
else
    passed=0 failed=0 skipped=0
fi
remark=$(grep -iE '^ *skip' "$log" | head -n 1 | sed -E 's/^ *[Ss][Kk][Ii][Pp](ped)?:? *//' | tr '\t' ' ' | cut -c 1-90)
case $code in
0)
    [ -n "$closing" ] || { failed=1 remark="no closing line"; code=1; }
    [ "$failed" -eq 0 ] || { remark="$failed failed, yet exit status 0"; code=1; }
    ;;
77)
    [ -n "$closing" ] || skipped=1
    [ -n "$remark" ] || remark=$(grep -vE '^[0-9]+ passed|^ *$' "$log" | tail -n 1 | cut -c 1-90)
    ;;
124 | 137)
    failed=$((failed + 1)) remark="stopped after $limit s"
    ;;
*)
    [ "$failed" -gt 0 ] || { failed=1 remark="ended with exit status $code"; }
    [ "$failed" -gt 0 ] && remark="see $(basename "$results")/$name.$device.log${remark:+; $remark}"
    ;;
esac
printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$name" "$device" "$passed" "$failed" "$skipped" "$seconds" "$remark" >"$tsv"
exit "$code"
