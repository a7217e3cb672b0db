#!/bin/sh
# fuzz.sh [JOBS [SECONDS]]
#
# Builds the fuzzers with clang, whose warnings are errors there, and runs them, JOBS at a time, each for
# SECONDS (20) on its corpus, tests/fuzz/corpus/NAME. What a run finds new stays in build/fuzz/found/NAME;
# an input that crashes, hangs or leaks is named and kept there too. FUZZ_ONLY='NAME ...': only these.
# COHORT_TEST_DEADLINE (seconds since 1970): each runs shorter if they would not all be done by then.
set -u
cd "$(dirname "$0")/.." || exit 1
jobs=${1:-$(nproc)}
seconds=${2:-20}
command -v clang >/dev/null 2>&1 || {
    echo "SKIP fuzzers: clang is missing (scripts/deps.sh --all installs it)"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}
[ -f build/fuzz/CMakeCache.txt ] || cmake --preset fuzz || exit 1
cmake --build build/fuzz -j "$jobs" || exit 1
all=${FUZZ_ONLY:-$(ls build/fuzz/fuzz | sed -n 's/^fuzz_//p')}

# What each may have: turns of `jobs` fuzzers, and three seconds around each turn.
if [ -n "${COHORT_TEST_DEADLINE:-}" ]; then
    turns=$((($(echo "$all" | wc -w) + jobs - 1) / jobs))
    share=$(((COHORT_TEST_DEADLINE - $(date +%s)) / turns - 3))
    [ "$share" -ge "$seconds" ] || seconds=$share
    [ "$seconds" -gt 0 ] || seconds=1
fi

# fuzz PROGRAM: leaves the lines that tell what came of it in build/fuzz/found/NAME.told.
fuzz() {
    name=${1##*/fuzz_}
    found=build/fuzz/found/$name
    corpus=tests/fuzz/corpus/$name
    [ -d "$corpus" ] || corpus=''
    mkdir -p "$found"
    if timeout -k 10 $((seconds + 60)) "$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="$found/" "$found" $corpus >"$found.log" 2>&1 </dev/null; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$found.log")
        echo "ok   fuzz_$name: $runs inputs in $seconds s" >"$found.told"
    else
        {
            echo "FAIL fuzz_$name: see $found.log"
            tail -n 40 "$found.log"
        } >"$found.told"
    fi
}

# As many at a time as there are jobs.
rm -f build/fuzz/found/*.told
running=0
for name in $all; do
    program=build/fuzz/fuzz/fuzz_$name
    [ -f "$program" ] && [ -x "$program" ] || continue
    fuzz "$program" &
    running=$((running + 1))
    if [ "$running" -ge "$jobs" ]; then
        wait
        running=0
    fi
done
wait
cat build/fuzz/found/*.told
passed=$(cat build/fuzz/found/*.told | grep -c '^ok   fuzz_')
failed=$(cat build/fuzz/found/*.told | grep -c '^FAIL fuzz_')
[ $((passed + failed)) -gt 0 ] || failed=1
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
