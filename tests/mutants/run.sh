#!/bin/bash
# Puts known bugs back, one at a time, and demands that the tests catch each: from each of 20 seeds, within a tenth of the
# default budget (--quick). A bug is a patch, tests/mutants/NAME.patch, which begins with lines for people and for this
# script:
#
#     Bug: what is wrong, in one line
#     Program: the test program (default: test_schedules)
#     Run: its arguments (default: --device sim:1)
#     Needs: what of the processor's, as /proc/cpuinfo spells it; elsewhere the mutant is skipped
#
# The tree is copied, built once, and copied again for each patch. A patch that does not apply to the very lines it names, does
# not compile, or whose bug is missed by one seed is a failure. docs/mutants.md has more.
#
#     tests/mutants/run.sh [NAME]...        a word with a slash or of no patch is taken for the build folder, and ignored
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD seeds=${MUTANT_SEEDS:-20} jobs=${MUTANT_JOBS:-$(nproc)}
work=$(mktemp -d "${TMPDIR:-/tmp}/mutants.XXXXXX")
trap 'rm -rf "$work"' EXIT

names=()
for name in "$@"; do
    [ ! -f "tests/mutants/$name.patch" ] || names+=("$name")
done
if [ ${#names[@]} -eq 0 ]; then
    for patch in tests/mutants/*.patch; do
        names+=("$(basename "$patch" .patch)")
    done
fi

# ---- the tree as it is: builds, and passes ------------------------------------------------------------------------
mkdir "$work/base"
cp -a include src tests cmake "$work/base"
if ! make -s -C "$work/base" -f tests/mutants/Makefile -j"$jobs" >"$work/base.log" 2>&1; then
    cat "$work/base.log"
    echo "the tree does not build without a mutant"
    printf '\n0 passed, %d failed, 0 skipped\n' ${#names[@]}
    exit 1
fi

for arguments in 'test_schedules --device sim:1' 'test_schedules --device cpu' 'test_multisplit_gpu --device sim:1' \
    'test_map_ranges --device cpu' 'test_map_build --device sim:1 --filter batches' \
    'test_multisplit_cpu --device cpu --filter few'; do
    # shellcheck disable=SC2086
    if ! timeout 120 "$work/base/obj/"$arguments --quick >"$work/base.log" 2>&1; then
        cat "$work/base.log"
        echo "the tests fail without a mutant: $arguments --quick"
        printf '\n0 passed, %d failed, 0 skipped\n' ${#names[@]}
        exit 1
    fi
done

# ---- one mutant: leaves the line of the table in $work/NAME.row ---------------------------------------------------
header() { sed -n "/^--- /q; s/^$1: *//p" "$root/tests/mutants/$2.patch"; }

# What a mutant needs that this processor has not.
lacks() {
    local flag
    for flag in $(header Needs "$1"); do
        grep -qwm 1 "$flag" /proc/cpuinfo || echo "$flag"
    done
}

mutant() {
    local name=$1 tree=$work/$1 caught=0 start=$SECONDS note='' missed='' seed code program arguments
    if [ -n "$(lacks "$name")" ]; then
        printf '%-20s skipped: this processor has no %s\n' "$name" "$(lacks "$name" | xargs)" >"$work/$name.row"
        touch "$work/$name.skipped"
        return
    fi
    cp -a "$work/base" "$tree"
    if ! patch -s -F0 -p1 -d "$tree" <"tests/mutants/$name.patch" >"$work/$name.log" 2>&1; then
        note='the patch does not apply as it is'
    elif program=$(header Program "$name") && [ ! -x "$tree/obj/${program:-test_schedules}" ]; then
        note="there is no program $program (tests/mutants/Makefile)"
    elif ! make -s -C "$tree" -f tests/mutants/Makefile "obj/${program:-test_schedules}" >>"$work/$name.log" 2>&1; then
        note='does not compile'
    else
        arguments=$(header Run "$name")
        for ((k = 1; k <= seeds; k++)); do
            seed=$((k * 1000003))
            # shellcheck disable=SC2086
            timeout 60 "$tree/obj/${program:-test_schedules}" ${arguments:---device sim:1} --quick --stop --seed $seed \
                >"$work/$name.out" 2>&1
            code=$?
            # 1: a case failed; 124: it hung; from 128 on: it crashed
            if [ $code -eq 1 ] || [ $code -ge 124 ]; then
                caught=$((caught + 1))
            else
                missed="$missed $seed"
            fi
        done
        [ -z "$missed" ] || note="missed with --seed$missed"
    fi
    [ $caught -eq "$seeds" ] || tail -n 5 "$work/$name.log" >"$work/$name.why"
    printf '%-20s %3d/%-3d %8d  %s\n' "$name" $caught "$seeds" $((SECONDS - start)) \
        "${note:-$(header Bug "$name")}" >"$work/$name.row"
    rm -rf "$tree"
}

for name in "${names[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
        wait -n
    done
    mutant "$name" &
done
wait

printf '%-20s %7s %8s  %s\n' mutant caught seconds bug
passed=0 failed=0 skipped=0
for name in "${names[@]}"; do
    cat "$work/$name.row"
    if [ -f "$work/$name.why" ]; then
        failed=$((failed + 1))
        cat "$work/$name.why"
    elif [ -f "$work/$name.skipped" ]; then
        skipped=$((skipped + 1))
    else
        passed=$((passed + 1))
    fi
done
printf '\n%d passed, %d failed, %d skipped\n' $passed $failed $skipped
[ $failed -eq 0 ]
