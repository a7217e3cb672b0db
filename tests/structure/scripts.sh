# scripts/gpu-check.sh without a GPU: the simulated one, and a compute-sanitizer that runs what it is given and finds what it is
# told to. Sourced by run.sh.
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

# racecheck is told of the kernels that use shared memory, directly or in a function that they call, and of no others.
check_kernels() {
    local log=$scratch/sanitizer.log name
    rm -f "$log"
    FAKE_LOG=$log gpu_check 0 '^2 passed' --tools racecheck
    for name in map_build map_stats sort_pass multisplit_keys multimap_rows split_direct_warp sums_prefix sssp_relax; do
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
