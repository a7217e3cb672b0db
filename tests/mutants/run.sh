#!/bin/bash
# Puts known bugs back, one at a time, and demands that the tests catch each: from each of 20 seeds, within
# a tenth of the default budget (--quick). A bug is a patch, tests/mutants/NAME.patch, which begins with
# lines for people and for this script:
#
#     Bug: what is wrong, in one line
#     Program: the test program (default: test_schedules)
#     Run: its arguments (default: --device sim:1)
#     Needs: what of the processor's, as /proc/cpuinfo spells it; elsewhere the mutant is skipped
#
# The tree is copied, built once, and copied again for each patch. A patch that does not apply to the very
# lines it names, does not compile, or whose bug is missed by one seed is a failure. docs/mutants.md has
# more.
#
#     tests/mutants/run.sh [--sample PERCENT] [NAME]...        a word with a slash or of no patch is taken for the build folder, and ignored
#
# --sample: all mutants of what a change touches (scripts/touched.sh), and of the others PERCENT of a
# hundred, other ones each time; a line that begins with `sampled:` tells which were left out.
# MUTANT_SAMPLE=N in the environment draws the same ones again. MUTANT_BUDGET=SECONDS: no mutant begins
# later; those that were not begun are told in such a line, and count as skipped if they are of what a
# change touches. 100 seconds later no seed begins: a mutant that was caught from each seed so far counts as
# skipped, and its row tells how many they were.
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD seeds=${MUTANT_SEEDS:-20} jobs=${MUTANT_JOBS:-$(nproc)} budget=${MUTANT_BUDGET:-1000000}
work=$(mktemp -d "${TMPDIR:-/tmp}/mutants.XXXXXX")
trap 'rm -rf "$work"' EXIT

percent=100
if [ "${1:-}" = --sample ]; then
    percent=$2
    shift 2
fi
names=()
for name in "$@"; do
    [ ! -f "tests/mutants/$name.patch" ] || names+=("$name")
done
if [ ${#names[@]} -eq 0 ]; then
    for patch in tests/mutants/*.patch; do
        names+=("$(basename "$patch" .patch)")
    done
fi

# ---- which of them ------------------------------------------------------------------------------------------------
# A mutant is touched if its patch has changed, or a structure that its program tests or that its patch is
# about is touched.
draw=${MUTANT_SAMPLE:-$(date +%s)}
sampled=''

# The names in an order that the draw makes, by the numbers of cksum.
shuffled() {
    local name
    for name in "$@"; do
        echo "$(cksum <<<"$draw $name" | cut -d ' ' -f 1) $name"
    done | sort -n | cut -d ' ' -f 2
}

choose() {
    local name program structures touched changed first=() others=() all
    touched=$(scripts/touched.sh)
    changed=$(scripts/touched.sh --files)
    for name in "${names[@]}"; do
        program=$(sed -n '/^--- /q; s/^Program: *//p' "tests/mutants/$name.patch")
        structures=$({
            ls tests/*/"${program:-test_schedules}.c" | cut -d / -f 2
            # shellcheck disable=SC2046
            scripts/touched.sh --owners $(sed -n 's|^--- a/||p' "tests/mutants/$name.patch")
        } 2>/dev/null)
        if [ "$changed" = all ] || grep -qxF "tests/mutants/$name.patch" <<<"$changed" || grep -qxF "$structures" <<<"$touched"; then
            first+=("$name")
        else
            others+=("$name")
        fi
    done
    all=${#others[@]}
    # What is touched comes in the order of the draw, too: where time is up before all were tried, it is
    # other ones each time.
    mapfile -t first < <(shuffled ${first[@]+"${first[@]}"})
    mapfile -t others < <(shuffled ${others[@]+"${others[@]}"} | head -n $(((all * percent + 99) / 100)))
    sampled="sampled: ${#first[@]} mutants of what is touched, and ${#others[@]} of $all others (MUTANT_SAMPLE=$draw)"
    names=(${first[@]+"${first[@]}"} ${others[@]+"${others[@]}"})
    must=${#first[@]}
}
must=${#names[@]}
[ "$percent" -ge 100 ] || choose

# ---- the tree as it is: builds, and passes ------------------------------------------------------------------------
mkdir "$work/base"
if [ -z "${CC:-}" ] && command -v ccache >/dev/null 2>&1; then
    export CC='ccache cc'
fi
cp -a include src bench tests cmake "$work/base"
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

# Whether what is to catch the mutant passes without it: else a filter that no case has would catch anything.
passes_without() {
    local arguments
    arguments=$(header Run "$2")
    # shellcheck disable=SC2086
    timeout 120 "$work/base/obj/${1:-test_schedules}" ${arguments:---device sim:1} --quick --stop --seed 1000003 \
        >"$work/$2.log" 2>&1
}

mutant() {
    local name=$1 tree=$work/$1 caught=0 tried=0 start=$SECONDS note='' missed='' seed code program arguments
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
    elif ! passes_without "$program" "$name"; then
        note='the tests that are to catch it fail without it, too'
    else
        arguments=$(header Run "$name")
        for ((k = 1; k <= seeds && SECONDS < budget + 100; k++)); do
            seed=$((k * 1000003)) tried=$k
            # The outer redirection is for what bash itself says of a crash.
            # shellcheck disable=SC2086
            {
                timeout 60 "$tree/obj/${program:-test_schedules}" ${arguments:---device sim:1} --quick --stop \
                    --seed $seed >"$work/$name.out" 2>&1
                code=$?
            } 2>/dev/null
            # 1: a case failed; 124: it hung; from 128 on: it crashed
            if [ $code -eq 1 ] || [ $code -ge 124 ]; then
                caught=$((caught + 1))
            else
                missed="$missed $seed"
            fi
        done
        [ -z "$missed" ] || note="missed with --seed$missed"
        [ $tried -eq "$seeds" ] || [ -n "$note" ] || touch "$work/$name.skipped"
    fi
    [ $caught -eq "$seeds" ] || [ -f "$work/$name.skipped" ] || tail -n 5 "$work/$name.log" >"$work/$name.why"
    printf '%-20s %3d/%-3d %8d  %s\n' "$name" $caught "$seeds" $((SECONDS - start)) \
        "${note:-$(header Bug "$name")}" >"$work/$name.row"
    rm -rf "$tree"
}

begun=0
for name in "${names[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
        wait -n
    done
    [ $SECONDS -lt "$budget" ] || break
    mutant "$name" &
    begun=$((begun + 1))
done
wait

printf '%-20s %7s %8s  %s\n' mutant caught seconds bug
passed=0 failed=0 skipped=0
for name in "${names[@]:0:begun}"; do
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
[ -z "$sampled" ] || echo "$sampled"
if [ $begun -lt ${#names[@]} ]; then
    echo "sampled: the time was up before ${names[*]:begun}"
    [ $begun -ge "$must" ] || skipped=$((skipped + must - begun))
fi
printf '\n%d passed, %d failed, %d skipped\n' $passed $failed $skipped
[ $failed -eq 0 ]
