# scripts/gpu-check.sh without a GPU: the simulated one, and a compute-sanitizer that runs what it is given
# and finds what it is told to. Sourced by run.sh.
mkdir -p "$scratch/fake"
cat >"$scratch/fake/compute-sanitizer" <<'END'
#!/bin/bash
[ "$*" != --help ] || { echo "  --kernel-name arg      key1=val1,key2=val2,..."; exit; }
echo "$*" >>"${FAKE_LOG:-/dev/null}"
while [[ ${1:-} == --* ]]; do shift 2; done
"$@"
code=$?
[ -z "${FAKE_FINDS:-}" ] || [[ "$*" != *"$FAKE_FINDS"* ]] || { echo "========= Error: Race reported"; exit 99; }
exit $code
END
chmod +x "$scratch/fake/compute-sanitizer"

# gpu_check STATUS LAST-LINE ARGUMENT...
gpu_check() {
    local status=$1 last=$2 got
    shift 2
    PATH=$scratch/fake:$PATH scripts/gpu-check.sh --build "$build" --device sim:1 --programs litmus "$@" >"$scratch/check.log" 2>&1
    got=$?
    [ $got -eq "$status" ] && tail -n 1 "$scratch/check.log" | grep -qE -- "$last" || {
        echo "gpu-check.sh $*: exit status $got, not $status, or its last line does not say '$last':"
        cat "$scratch/check.log"
    }
}
check_gpu_check() {
    gpu_check 0 '^3 passed, 0 failed, 0 skipped$' --tools none,memcheck
    FAKE_FINDS='--part 2/2' gpu_check 1 '^1 passed, 1 failed, 0 skipped$' --tools racecheck
    gpu_check 0 '^litmus memcheck 2/2$' --list --part 1/2
    gpu_check 2 "litmuses: .* is not there" --programs litmuses
}

# racecheck is told of the kernels that use shared memory, directly or in a function that they call, and of
# no others.
check_kernels() {
    local log=$scratch/sanitizer.log name
    rm -f "$log"
    FAKE_LOG=$log gpu_check 0 '^2 passed' --tools racecheck
    for name in map_build map_stats sort_pass multisplit_table_keys_loaded multimap_rows split_direct_warp sums_prefix sssp_relax; do
        grep -qE -- "--kernel-name kns=$name( |\$)" "$log" || echo "compute-sanitizer is not told of $name: $(head -n 1 "$log")"
    done
    for name in map_find map_insert limits_copy multimap_find litmus; do
        ! grep -q -- "kns=$name" "$log" || echo "compute-sanitizer is told of $name, which uses no shared memory"
    done
    rm -f "$log"
    FAKE_LOG=$log gpu_check 0 '^2 passed' --tools memcheck
    ! grep -q -- --kernel-name "$log" || echo "memcheck is told to look at some kernels only: $(head -n 1 "$log")"
}
if [ -x "$build/tests/test_litmus" ]; then
    report "gpu-check.sh tells what passed and what was found" "$(check_gpu_check)"
    report "gpu-check.sh has racecheck look at what uses shared memory" "$(check_kernels)"
else
    skip "gpu-check.sh tells what passed and what was found" "the test programs are not built"
fi

# A case behind && or || is no case when what comes before it goes the other way.
report "no case of a script depends on a command before it" \
    "$(grep -nE '(&&|\|\|) *(judge|same|refused|pass|fail|sorted|prints|report) ' tests/cli/*.sh tests/examples/*.sh tests/structure/*.sh |
        grep -v 'then pass\|{ pass\|else fail')"

# scripts/record.sh, on programs that pass, fail, hang, crash, or say nothing.
# recorded NAME EXPECTED COMMAND...: the line that it leaves, less the seconds.
recorded() {
    local name=$1 expected=$2 got
    shift 2
    COHORT_TEST_DEADLINE='' COHORT_TEST_ARGS='' scripts/record.sh "$scratch/recorded" 1 "$name" host "$@" >/dev/null 2>&1
    got=$(cut -f 1-5,7- "$scratch/recorded/$name.host.tsv" | tr '\t' ' ')
    printf '%s' "$got" | grep -qE -- "^$expected\$" || echo "$name: '$got', not '$expected'"
}
check_record() {
    recorded passes 'passes host 3 0 1 1 skipped: no such thing' sh -c 'echo "skip: x: no such thing"; echo "3 passed, 0 failed, 1 skipped"'
    recorded fails 'fails host 2 1 0 exit status 1, .*: b: no' sh -c 'echo "FAIL b: no"; echo "2 passed, 1 failed, 0 skipped"; exit 1'
    recorded silent 'silent host 0 1 0 no closing line' true
    recorded lies 'lies host 2 1 0 exit status 0 in spite of failures' echo '2 passed, 1 failed, 0 skipped'
    recorded crashes 'crashes host 0 1 0 exit status 134, .*: c: crashed' sh -c 'echo "FAIL c: crashed"; kill -ABRT $$'
    recorded hangs 'hangs host 0 1 0 stopped after [0-9]+ s: d: was stopped' \
        bash -c 'trap "echo FAIL d: was stopped; exit 1" TERM; for i in $(seq 100); do sleep 0.1; done'
}
report "record.sh tells what passed, failed, hung and crashed" "$(check_record)"

# turned NAME EXPECTED DEADLINE COMMAND...: the same of the long form, whose deadline is so many seconds away.
turned() {
    local name=$1 expected=$2 deadline=$(($(date +%s) + $3)) got
    shift 3
    COHORT_TEST_TURN=long COHORT_TEST_DEADLINE=$deadline COHORT_TEST_ARGS='' \
        scripts/record.sh "$scratch/recorded" 30 "$name" cpu "$@" >/dev/null 2>&1
    got="$? $(cut -f 1-5,7- "$scratch/recorded/long/$name.cpu.tsv" 2>/dev/null | tr '\t' ' ')"
    printf '%s' "$got" | grep -qE -- "^$expected\$" || echo "$name: '$got', not '$expected'"
}
check_turns() {
    local slow='trap "echo FAIL d: was stopped; exit 1" TERM; for i in $(seq 50); do sleep 0.1; done'
    turned passes '0 passes cpu 3 0 0' 9 echo '3 passed, 0 failed, 0 skipped'
    turned passes '0 passes cpu 3 0 0' 9 sh -c 'exit 1'
    turned fails '1 fails cpu 2 1 0 .*b: no' 9 sh -c 'echo "FAIL b: no"; echo "2 passed, 1 failed, 0 skipped"; exit 1'
    turned stopped '77 stopped cpu 0 0 1 time was up after [0-9]+ s' 1 bash -c "$slow"
    turned wrong '124 wrong cpu 0 1 0 stopped after .*' 1 bash -c "echo 'FAIL c: no'; $slow"
    turned late '77 late cpu 0 0 1 not begun' 0 echo '3 passed, 0 failed, 0 skipped'
    turned short '0 ' 9 sh -c 'exit 1' --quick
}
# The same where there is one turn (COHORT_TEST_REST), and where what the deadline stops has failed.
# rested STATUS LINE REST SECONDS COMMAND...
rested() {
    local expected="$1 rested cpu $2" rest=$3 seconds=$4 got
    shift 4
    COHORT_TEST_REST=$rest COHORT_TEST_TURN='' COHORT_TEST_DEEP='' COHORT_TEST_ARGS='' \
        COHORT_TEST_DEADLINE=$(($(date +%s) + seconds)) scripts/record.sh "$scratch/recorded" 99 rested cpu "$@" >/dev/null
    got="$? $(cut -f 1-5,7- "$scratch/recorded/rested.cpu.tsv" | tr '\t' ' ')"
    printf '%s' "$got" | grep -qE -- "^$expected\$" || echo "rest '$rest', $*: '$got', not '$expected'"
}
check_rest() {
    rested 77 '0 0 1 not begun' skip 0 echo '3 passed, 0 failed, 0 skipped'
    rested 77 '0 0 1 time was up after [0-9]+ s' skip 1 sleep 9
    rested 1 '2 1 0 .*b: no' skip 9 sh -c 'echo "FAIL b: no"; echo "2 passed, 1 failed, 0 skipped"; exit 1'
    rested 124 '0 1 0 stopped after .*' '' 0 echo '3 passed, 0 failed, 0 skipped'
    rested 124 '0 1 0 stopped after .*' '' 1 sleep 9
}

# Six numbers in a row have all combinations, and each fewer than all.
check_draws() {
    local program=$build/tests/test_map_errors draw
    for draw in 0 1 2 3 4 5; do
        COHORT_TEST_DRAW=$draw "$program" --device sim:1 --quick --verbose | sed -n 's/^ok *\([^ ]*\).*/\1/p'
    done >"$scratch/drawn"
    COHORT_TEST_DRAW='' "$program" --device sim:1 --quick --verbose | sed -n 's/^ok *\([^ ]*\).*/\1/p' | sort >"$scratch/all"
    sort -u "$scratch/drawn" | cmp -s - "$scratch/all" || echo "six draws have $(sort -u "$scratch/drawn" | wc -l) of $(wc -l <"$scratch/all")"
    [ "$(wc -l <"$scratch/drawn")" -le $((2 * $(wc -l <"$scratch/all"))) ] || echo "a draw has more than its share"
}
report "the short form on the simulated GPU has all combinations by six draws" "$(check_draws)"

# Each part of a case meets each combination: three parts of ten combinations, by three times six numbers.
check_parts() {
    local program=$build/tests/test_draws draw met
    for draw in $(seq 0 17); do
        COHORT_TEST_DRAW=$draw "$program" --device sim:1 --quick | grep '^part ' >"$scratch/parts"
        [ "$(wc -l <"$scratch/parts")" -le 10 ] || echo "number $draw has $(wc -l <"$scratch/parts") of 30 parts"
        cat "$scratch/parts"
    done | sort >"$scratch/parts.all"
    grep -v '^part ' "$scratch/parts.all"
    met=$(grep '^part ' "$scratch/parts.all" | uniq | wc -l)
    [ "$met" -eq 30 ] || echo "$met of 30 parts in all"
}
report "each part of a case meets each combination" "$(check_parts)"
report "record.sh tells what one turn did not reach" "$(check_rest)"
report "record.sh tells what the long form came to, and what the time was up for" "$(check_turns)"

# On the simulated GPU alone, wherever the structure stands among those that go through more schedules.
check_deep() {
    local device deep count
    for device in sim cpu; do
        for deep in a 'a b' 'b a' 'b a c' b ''; do
            count=$(COHORT_TEST_DEEP=$deep COHORT_TEST_STRUCTURE=a COHORT_TEST_DEADLINE='' COHORT_TEST_ARGS='' \
                scripts/record.sh "$scratch/recorded" 9 deep $device echo '1 passed, 0 failed, 0 skipped' | grep -c -e --ci)
            case "$device: $deep " in "sim:"*" a "*) count=$((count - 1)) ;; esac
            [ "$count" -eq 0 ] || echo "$device, more schedules of '$deep'"
        done
    done
}
report "record.sh gives more schedules to the structures that are named" "$(check_deep)"

# A program that has no case of that name, and one that is stopped, tell so.
check_main() {
    local program=$build/tests/test_litmus
    "$program" --filter nosuch >"$scratch/main.log" 2>&1 && echo "--filter nosuch: exit status 0"
    grep -q '^FAIL --filter nosuch' "$scratch/main.log" || echo "--filter nosuch: nothing is said"
    timeout 0.5 "$program" --device sim:1 --ci >"$scratch/main.log" 2>&1
    grep -qE '^FAIL [^ ]+ \(--seed 1\): was stopped|^[0-9]+ passed, 0 failed' "$scratch/main.log" || {
        echo "a program that is stopped does not name its case:"
        tail -n 3 "$scratch/main.log"
    }
}
if [ -x "$build/tests/test_litmus" ]; then
    report "test programs name no case, and the case that is stopped" "$(check_main)"
fi
