#!/bin/bash
# nightly.sh [K/N]
#
# What .ci/run draws a part of, whole: every mutant at 20 seeds, every structure's programs through all
# their schedules, every fuzzer for ten minutes, random mutants (scripts/mutation.py); and what is explored in
# shares elsewhere: the model of LINES, and its plans of three operations through all schedules. The work is
# dealt out to N slices; slice K/N takes at most NIGHTLY_SECONDS (3,540), and what it did not begin is what
# its next call begins with. What is done is noted in build/nightly/COMMIT, so a new commit begins anew.
#
#   --list [K/N]      the units of work, one a line, with what came of those that are done
#   --only KIND K/N   the slice's units of one kind: mutants, schedules, whole, fuzz or mutation
#   JOBS=N            parallel jobs (default: the cores)
#   NIGHTLY_MUTATION  random mutants in all (300)
#
# At the end a table of the slice, and as the last line `N passed, N failed, N skipped`: skipped are those
# that were not begun.
set -u
cd "$(dirname "$0")/.." || exit 1
# For itself: one program's schedules, with the last lines of what it said.
if [ "${1:-}" = --schedules ]; then
    # In the slice's group of processes, so that it ends with the slice.
    said=$(timeout --foreground 1800 "$2/tests/$3" --device sim:1 --ci 2>&1)
    code=$?
    grep -E '^FAIL' <<<"$said" | head -n 3
    echo "$3: $(tail -n 1 <<<"$said")"
    [ $code -eq 0 ] || [ $code -eq 77 ]
    exit
fi
# For itself: a part of the model of LINES, as model-3/64, or of a width's plans, as plans-64_64-1/3.
if [ "${1:-}" = --whole ]; then
    case $3 in
    model-*)
        said=$(COHORT_MODEL=${3#model-} timeout --foreground 1800 "$2/tests/test_lines_model" --device cpu --ci --filter plans 2>&1)
        ;;
    plans-*)
        plans=${3#plans-}
        said=$(COHORT_SCHEDULES=${plans#*-} timeout --foreground 1800 "$2/tests/test_schedules" --device sim:1 --ci --filter "small_lines/${plans%-*}" 2>&1)
        ;;
    esac
    code=$?
    grep -E '^(FAIL|model:|small:)' <<<"$said"
    echo "$3: $(tail -n 1 <<<"$said")"
    exit $code
fi
build=${BUILD:-build}
jobs=${JOBS:-$(nproc)}
budget=${NIGHTLY_SECONDS:-3540}
list='' only=''
if [ "${1:-}" = --list ]; then
    list=yes
    shift
elif [ "${1:-}" = --only ]; then
    only=${2:-}
    shift 2
    case $only in
    mutants | schedules | whole | fuzz | mutation) ;;
    *)
        echo "nightly.sh: --only is '$only'; it must be mutants, schedules, whole, fuzz or mutation" >&2
        exit 2
        ;;
    esac
fi
slice=${1:-1/1}
if ! [[ $slice =~ ^([1-9][0-9]*)/([1-9][0-9]*)$ ]] || [ "${slice%/*}" -gt "${slice#*/}" ]; then
    echo "nightly.sh: SLICE is '$slice'; it must be K/N with K from 1 to N, such as 2/8" >&2
    exit 2
fi
commit=$(git rev-parse --short=12 HEAD 2>/dev/null || echo none)
state=build/nightly/$commit
mkdir -p "$state"

# ---- the units: KIND ARGUMENT... ----------------------------------------------------------------------------------
# A unit keeps all cores busy. Mutants go by eights, as the tree is built once a call, programs by eights,
# parts of the model by eights, fuzzers by twos, random mutants by tenths.
units() {
    basename -s .patch tests/mutants/*.patch | xargs -n 8 echo mutants
    find tests/*/test_*.c ! -path 'tests/cli/*' -exec basename {} .c \; | sort | xargs -n 8 echo schedules
    seq -f 'model-%g/64' 64 | xargs -n 8 echo whole
    # A case may take ten minutes: widths with values have four times the parts.
    printf '%s\n' plans-{32_0,64_0}-{1,2,3}/3 plans-{32_32,64_32,64_64,128_64}-{1..12}/12 | xargs -n 6 echo whole
    basename -s .c tests/fuzz/fuzz_*.c | sed 's/^fuzz_//' | xargs -n 2 echo fuzz
    for tenth in 1 2 3 4 5 6 7 8 9 10; do
        echo "mutation $tenth/10"
    done
}

# The file that holds what came of a unit.
file_of() { echo "$state/$(tr ' /' '_-' <<<"$1" | cut -c 1-120)"; }

mapfile -t mine < <(units | awk -v k="${slice%/*}" -v n="${slice#*/}" -v only="$only" \
    '(NR - 1) % n == k - 1 && (only == "" || $1 == only)')
if [ -n "$list" ]; then
    for unit in "${mine[@]}"; do
        printf '%-9s %s\n' "$(cut -f 1 "$(file_of "$unit").done" 2>/dev/null || echo -)" "$unit"
    done
    exit 0
fi

# ---- one unit: its exit status -------------------------------------------------------------------------------------
do_unit() {
    local kind=$1 left=$2 code
    shift 2
    case $kind in
    # shellcheck disable=SC2086
    mutants) MUTANT_JOBS=$jobs timeout -k 10 "$left" tests/mutants/run.sh "$@" ;;
    schedules | whole)
        timeout -k 10 "$left" xargs -n 1 -P "$jobs" scripts/nightly.sh --"$kind" "$build" <<<"$*" >"$file.told"
        code=$?
        cat "$file.told"
        grep -oE '[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$file.told" |
            awk '{ p += $1; f += $3; s += $5 } END { printf "%d passed, %d failed, %d skipped\n", p, f, s }'
        return $code
        ;;
    fuzz) FUZZ_ONLY=$* timeout -k 10 "$left" scripts/fuzz.sh "$jobs" 600 ;;
    mutation)
        # What survives is told, and fails nothing: the score is judged by people.
        JOBS=$jobs timeout -k 10 "$left" python3 scripts/mutation.py --jobs "$jobs" --budget $((left - 600)) \
            --n $((${NIGHTLY_MUTATION:-300} * ${1%/*} / ${1#*/}))
        ;;
    esac
}

passed=0 failed=0 skipped=0 rows=()
if ! [ -d "$build/tests" ]; then
    echo "nightly.sh: there are no test programs in $build: make first" >&2
    exit 2
fi
for unit in "${mine[@]}"; do
    file=$(file_of "$unit")
    left=$((budget - SECONDS))
    if ! [ -f "$file.done" ]; then
        if [ $left -lt 60 ]; then
            skipped=$((skipped + 1))
            continue
        fi
        begun=$SECONDS
        # shellcheck disable=SC2086
        do_unit ${unit%% *} $left ${unit#* } >"$file.log" 2>&1 </dev/null
        code=$?
        if [ $code -eq 124 ] || [ $code -eq 137 ]; then
            # Stopped for the slice's end: it begins again, unless it had a whole slice.
            if [ $begun -gt 60 ]; then
                skipped=$((skipped + 1))
                continue
            fi
            result=over
        elif [ $code -eq 0 ] || [ $code -eq 77 ]; then
            result=ok
        else
            result=failed
        fi
        printf '%s\t%s\t%s\t%s\n' $result $((SECONDS - begun)) "$(grep -vE '^ *$' "$file.log" | tail -n 1 | cut -c 1-100 | tr '\t' ' ')" \
            "$unit" >"$file.done"
    fi
    IFS=$'\t' read -r result seconds last _ <"$file.done"
    if [ "$result" = ok ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
    rows+=("$(printf '%-7s %6d  %-52s %s' "$result" "$seconds" "${unit:0:52}" "$last")")
done

printf '%-7s %6s  %-52s %s\n' result seconds unit 'last line'
[ ${#rows[@]} -eq 0 ] || printf '%s\n' "${rows[@]}"
printf '\nslice %s of %s, logs in %s\n' "$slice" "$commit" "$state"
printf '%d passed, %d failed, %d skipped\n' $passed $failed $skipped
[ $failed -eq 0 ]
