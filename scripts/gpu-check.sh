#!/bin/bash
# gpu-check.sh [OPTION]...
#
# The checks that only a GPU can make: every test program on it, and compute-sanitizer's memcheck and
# racecheck over them. Programs are cut into parts, a few of which run side by side, each bounded in time; the
# table at the end tells what came of each part. In order: racecheck of test_map, memcheck of test_context and
# test_memory, all programs by themselves, racecheck of what works in shared memory, memcheck of the same,
# then the rest under both tools. What has not ended when the budget is used up is listed as skipped. Exit
# status 1 if something failed, 77 if there is no GPU.
#
# Processes that share a GPU take turns on it: sixteen of them each take many times as long as four. Parts are
# small, so that a part that is cut off takes little with it.
#
# racecheck looks for hazards in shared memory and in nothing else, so it is told to look only at kernels that
# use some: the rest then run at full speed, which is three quarters of the time of test_map's. Which ones
# those are is read from the preprocessed kernels: those in whose bodies, or in bodies of functions that they
# call, an array is __shared__. Numbers of bits and tiles are cut off the names, which makes more kernels of
# them, not fewer. Without a C preprocessor all kernels are looked at.
#
#   --build DIR       where the test programs are (default: build)
#   --programs LIST   such as map,sort (default: all)
#   --tools LIST      none (the program by itself), memcheck, racecheck, initcheck, synccheck (default: the first three)
#   --part K/N        the Kth of N shares of all this, for several machines
#   --jobs N          processes at a time (default: 4 on a GPU, else the cores)
#   --budget SECONDS  for everything (default: 290)
#   --each SECONDS    for one part (default: 120)
#   --full            not the tests' --quick form
#   --filter TEXT     only cases whose names hold it
#   --device D        cuda, cuda:N (default: cuda); sim:SEED, to try this script without a GPU
#   --list            the parts that would run, and nothing else
#   --kernels         the kernels that use shared memory, and nothing else
set -u
cd "$(dirname "$0")/.." || exit 1

# Parts run when their line comes; * stands for every program, in as many parts as the last lines say. A line
# for a program and tool that an earlier line had is left out.
plan='
map racecheck
context memcheck
memory memcheck
* none
compact racecheck
map_build racecheck
sort racecheck
multisplit racecheck
fn racecheck
sssp racecheck
multimap racecheck
map_table racecheck
compact memcheck
map_build memcheck
sort memcheck
multisplit memcheck
fn memcheck
sssp memcheck
map memcheck
multimap memcheck
* racecheck
* memcheck
* initcheck
* synccheck
'
parts_of() {
    case $2.$1 in
    none.map | none.map_build | none.map_table | none.multisplit | none.sort | none.refusals | none.refusals_bulk) echo 4 ;;
    none.*) echo 1 ;;
    *.lines) echo 8 ;;
    *.multisplit) echo 28 ;;
    *.map) echo 16 ;;
    *.map_build | *.map_table | *.map_full | *.sort | *.map_errors) echo 8 ;;
    *.compact | *.multimap | *.multisplit_gpu) echo 4 ;;
    *) echo 2 ;;
    esac
}

# The kernels that use shared memory, of the library's and of the tests'.
shared_kernels() {
    local source
    for source in src/kernels/*.cu tests/*/*.cu; do
        ${CC:-cc} -E -P -x c -D__CUDACC__ -I include -I src "$source" | sed -e 's/"[^"]*"//g' -e 's/[{}]/\n&\n/g' | awk '
            # What stands before a brace that is in no other is a head; a function has its name before its
            # last parentheses.
            function name_of(head, at, open) {
                sub(/[ \t]+$/, "", head)
                if (head !~ /\)$/)
                    return ""
                for (at = length(head); at > 0; at--) {
                    open += (substr(head, at, 1) == ")") - (substr(head, at, 1) == "(")
                    if (!open)
                        break
                }
                head = substr(head, 1, at - 1)
                sub(/[ \t]+$/, "", head)
                return match(head, /[A-Za-z_0-9]+$/) ? substr(head, RSTART) : ""
            }
            $0 == "{" {
                if (depth++ == 0) {
                    name = name_of(head)
                    if (head ~ /__global__/)
                        kernel[name]
                }
                next
            }
            $0 == "}" {
                if (--depth == 0)
                    head = ""
                next
            }
            depth == 0 {
                head = head " " $0
                sub(/.*;/, "", head)
                next
            }
            name != "" {
                if (/__shared__/)
                    uses[name] = 1
                for (rest = $0; match(rest, /[A-Za-z_][A-Za-z_0-9]*\(/); rest = substr(rest, RSTART + RLENGTH))
                    calls[name, substr(rest, RSTART, RLENGTH - 1)]
            }
            END {
                for (more = 1; more;) {
                    more = 0
                    for (pair in calls) {
                        split(pair, part, SUBSEP)
                        if (uses[part[2]] && !uses[part[1]])
                            more = uses[part[1]] = 1
                    }
                }
                for (name in kernel)
                    if (uses[name])
                        print name
            }'
    done 2>/dev/null | LC_ALL=C sort -u
}

fail() {
    echo "gpu-check.sh: $*" >&2
    exit 2
}

build=build programs='' filter='' tools=none,memcheck,racecheck jobs='' budget=290 each=120 device=cuda share=1/1 list=0
arguments=(--quick)
while [ $# -gt 0 ]; do
    case $1 in
    --build | --programs | --tools | --part | --jobs | --budget | --each | --filter | --device)
        [ $# -gt 1 ] || fail "$1 needs a value"
        case $1 in
        --build) build=$2 ;;
        --programs) programs=$2 ;;
        --tools) tools=$2 ;;
        --part) share=$2 ;;
        --jobs) jobs=$2 ;;
        --budget) budget=$2 ;;
        --each) each=$2 ;;
        --filter) arguments+=(--filter "$2") filter=$2 ;;
        --device) device=$2 ;;
        esac
        shift
        ;;
    --full) unset 'arguments[0]' ;;
    --list) list=1 ;;
    --kernels)
        shared_kernels
        exit
        ;;
    *) fail "$1: no such option (the head of this script tells them)" ;;
    esac
    shift
done
if [ -z "$jobs" ]; then
    [[ $device == cuda* ]] && jobs=4 || jobs=$(nproc)
fi
for number in "$jobs" "$budget" "$each" "${share%/*}" "${share#*/}"; do
    [[ $number =~ ^[1-9][0-9]{0,5}$ ]] || fail "'$number': must be a number from 1 to 999999"
done
[[ $share == */* ]] && [ "${share%/*}" -le "${share#*/}" ] || fail "--part $share: must be K/N, K at most N"
for tool in ${tools//,/ }; do
    [[ $tool =~ ^(none|memcheck|racecheck|initcheck|synccheck)$ ]] ||
        fail "--tools $tool: must be of none, memcheck, racecheck, initcheck, synccheck"
done

# ---- what there is --------------------------------------------------------------------------------------------------
all=$(find "$build/tests" -maxdepth 1 -type f -name 'test_*' -perm -u+x 2>/dev/null | sed 's|.*/test_||' | LC_ALL=C sort)
[ -n "$all" ] || fail "$build/tests has no test programs ('make' builds them)"
wanted=
for program in ${programs//,/ }; do
    program=${program#test_}
    grep -qxF -- "$program" <<<"$all" || fail "--programs $program: $build/tests/test_$program is not there"
    wanted="$wanted $program"
done
sanitizer=$(PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin command -v compute-sanitizer)

# ---- the parts --------------------------------------------------------------------------------------------------------
out=$build/gpu-check
plan_print() {
    local program tool parts one k had=' '
    while read -r program tool parts; do
        [ -n "$program" ] && [[ ,$tools, == *,$tool,* ]] || continue
        [ "$program" != '*' ] || program=$all
        for one in $program; do
            [[ $had != *" $one.$tool "* ]] && grep -qxF -- "$one" <<<"$all" || continue
            [ -z "$wanted" ] || [[ "$wanted " == *" $one "* ]] || continue
            [ -z "$filter" ] || "$build/tests/test_$one" --filter "$filter" --list >/dev/null || continue
            had="$had$one.$tool "
            for ((k = 1; k <= ${parts:-$(parts_of "$one" "$tool")}; k++)); do
                echo "$one $tool $k/${parts:-$(parts_of "$one" "$tool")}"
            done
        done
    done <<<"$plan" | awk -v k="${share%/*}" -v n="${share#*/}" 'NR % n == k % n'
}
if [ "$list" = 1 ]; then
    plan_print
    exit
fi
case $device in
sim*) ;;
*)
    # A program that finds no GPU says so and exits with status 77.
    said=$("$build/tests/test_context" --device "$device" --quick --filter 'no case has this name' 2>&1 </dev/null)
    if [ $? -eq 77 ]; then
        echo "gpu-check.sh: nothing is checked: $(sed -nE 's/^skip(ped)?[: ] *//Ip' <<<"$said" | head -n 1)"
        exit 77
    fi
    ;;
esac
rm -rf "$out"
mkdir -p "$out" || exit 1
plan_print >"$out/plan"

# racecheck's filters; older forms of the tool call them by another name, or have none.
filters=()
if [ -n "$sanitizer" ] && grep -q ' racecheck ' "$out/plan"; then
    help=$(timeout 30 "$sanitizer" --help 2>&1 </dev/null)
    option=$(grep -oE -m 1 -- '--kernel-(name|regex) ' <<<"$help")
    names=$([ -z "$option" ] || shared_kernels | sed -E 's/_[0-9].*//' | sort -u)
    for name in $names; do
        filters+=("${option% }" "kns=$name")
    done
    echo "racecheck looks at" ${names:-all kernels}
    echo
fi
deadline=$(($(date +%s) + budget))

# check PROGRAM TOOL K/N: leaves a line in the results: program, part, tool, seconds, result, remark.
check() {
    local program=$1 tool=$2 part=$3 log start=$(date +%s) limit=$each code result remark closing
    local command=("$build/tests/test_$program" --device "$device" --part "$part" --limit "$each" "${arguments[@]}") chosen=()
    log=$out/$program.$tool.${part%/*}.log
    [ $((deadline - start)) -ge "$limit" ] || limit=$((deadline - start))
    [ "$tool" != racecheck ] || chosen=("${filters[@]}")
    if [ "$tool" != none ]; then
        command=("$sanitizer" --tool "$tool" --report-api-errors no --error-exitcode 99 "${chosen[@]}" "${command[@]}")
    fi
    if [ "$tool" != none ] && [ -z "$sanitizer" ]; then
        code=-1 remark="compute-sanitizer was not found"
    elif [ "$limit" -le 0 ]; then
        code=-1 remark="not started: the $budget s are used up"
    else
        timeout -k 5 "$limit" "${command[@]}" >"$log" 2>&1 </dev/null
        code=$?
        closing=$(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1)
        remark=${closing:-no closing line}
    fi
    case $code in
    -1 | 77) result=skipped ;;
    124 | 137)
        result=failed remark="stopped after $limit s, see $log"
        [ "$limit" -ge "$each" ] || result=skipped remark="cut off after $limit s: the $budget s are used up"
        ;;
    0) [ -n "$closing" ] && result=passed || result=failed ;;
    99) result=failed remark="$(grep -c '^========= .*\(Error\|Invalid\|hazard\|Race\)' "$log") findings, see $log" ;;
    *) result=failed remark="exit status $code, $remark, see $log" ;;
    esac
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "test_$program" "$part" "$tool" $(($(date +%s) - start)) "$result" "$remark" \
        >>"$out/results.tsv"
}
export -f check
export build device out budget deadline each sanitizer
# Arrays do not travel through the environment.
declare -p arguments filters >"$out/arguments"
# shellcheck disable=SC2016
xargs -P "$jobs" -L 1 bash -c '. "$out/arguments"; check "$@"' check <"$out/plan"

# ---- what came of it --------------------------------------------------------------------------------------------------
[ -f "$out/results.tsv" ] || fail "nothing to run (--programs, --tools and --part leave nothing)"
LC_ALL=C sort -t "$(printf '\t')" -k 5,5 -k 1,1 -k 3,3 -k 2,2V "$out/results.tsv" | awk -F '\t' '
    BEGIN { printf "%-24s %-6s %-10s %8s  %-8s %s\n", "program", "part", "tool", "seconds", "result", "" }
    { n[$5]++ }
    /\tnot started: / { waits[$1 "\t" $3 "\t" $6]++; next } # one line for all of them
    { printf "%-24s %-6s %-10s %8d  %-8s %s\n", $1, $2, $3, $4, $5, $6 }
    END {
        fflush()
        for (one in waits) {
            split(one, part, "\t")
            printf "%-24s %-6s %-10s %8d  %-8s %s\n", part[1], waits[one], part[2], 0, "skipped", part[3] | "sort"
        }
        close("sort")
        printf "\n%d passed, %d failed, %d skipped\n", n["passed"], n["failed"], n["skipped"]
        exit n["failed"] > 0
    }'
