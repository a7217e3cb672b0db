#!/bin/bash
# run.sh BUILD
#
# Runs the examples that BUILD holds, on the CPU and on a GPU if there is one, and compares what they print with what they
# must. One line a case; the last line is `N passed, N failed, N skipped`.
set -u
build=$(cd "${1:-build}" && pwd) || exit 2
cd "$(dirname "$0")/../.." || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C
passed=0 failed=0 skipped=0

# prints NAME EXPECTED COMMAND...: its exit status is 0, and what it prints, sorted where the order is open, is EXPECTED.
prints() {
    local name=$1 expected=$2 status
    shift 2
    "$@" >"$scratch/printed" 2>"$scratch/said" </dev/null
    status=$?
    [ -z "${SORTED:-}" ] || sort -o "$scratch/printed" "$scratch/printed"
    if [ $status -eq 77 ]; then
        echo "SKIP $name: $(sed 's/^skipped: //' "$scratch/printed")"
        skipped=$((skipped + 1))
    elif [ $status -eq 0 ] && [ "$(cat "$scratch/printed")" = "$expected" ]; then
        echo "ok   $name"
        passed=$((passed + 1))
    else
        echo "FAIL $name: exit status $status"
        cat "$scratch/printed" "$scratch/said" | head -n 20 | sed 's/^/     /'
        failed=$((failed + 1))
    fi
}

text='the cat and the dog, and THE bird; a cat
words: \303\244rger \303\244rger'
words='13 words, 8 different
       3  the
       2  and
       2  cat'
inner='1,Ada,London,102,1,punched cards
1,Ada,London,106,1,loom
2,Blaise,Paris,101,2,adding machine
2,Blaise,Paris,104,2,barometer
2,Blaise,Paris,107,2,roulette wheel
5,Emmy,Erlangen,103,5,chalk'
outer='3,Carl,Braunschweig,,,
4,Dorothy,Cairo,,,'
titles='id,name,city,order,customer,item'
buckets='bucket 0: 4=1.5 12=3.5 4=6.5 4=11.5
bucket 1: 17=0.5 9=2.5 17=4.5 9=8.5 21=9.5 17=10.5
bucket 2: 2=5.5 30=7.5
bucket 3:'
turnover='turnover 385856617, 12500 products without a price: right'
roads='c a ring of five crossings, and a way across
a 1 2 4
a 2 3 4
a 3 4 4
a 4 5 4
a 5 1 4
a 1 4 9'
for how in multisplit sort steps none; do
    ways="${ways:-}${ways:+
}$how: 5 nodes reached, the farthest at 13, 34 in all: as Dijkstra's"
    nets="${nets:-}${nets:+
}$how: 2997 nodes reached, the farthest at 1863, 770033 in all: proved"
done
packages='Package: one
Description: a Library of sets
 for Python programs

Package: two
Version: 1
Description: python, a snake

Package: none

Package: three
Description: sets; a python library'
found='3 packages, 8 words
python library: 2: one three
python: 3: one two three
of snakes: 0:
: 0:'
tables="examples/data/customers.csv id examples/data/orders.csv customer"

devices=cpu
"$build/cohort" info --device cuda >/dev/null 2>&1 && devices="cpu cuda"
# shellcheck disable=SC2059
printf "$text\n" >"$scratch/text"
: >"$scratch/nothing"
printf '%s\n' "$roads" >"$scratch/roads"
printf '%s\n' "$packages" >"$scratch/packages"
for device in $devices; do
    export COHORT_DEVICE=$device
    prints "count_words, $device" "$words" "$build/examples/count_words" "$scratch/text" 3
    prints "count_words of nothing, $device" "0 words, 0 different" "$build/examples/count_words" "$scratch/nothing"
    prints "multisplit, $device" "$buckets" "$build/examples/multisplit"
    prints "an inverted index, $device" "$found" "$build/examples/index" "$scratch/packages" 'python library' python \
        'of snakes' ''
    # shellcheck disable=SC2086
    SORTED=1 prints "inner join, $device" "$(printf '%s\n' "$inner" "$titles" | sort)" \
        "$build/examples/join" $tables
    # shellcheck disable=SC2086
    SORTED=1 prints "outer join, $device" "$(printf '%s\n' "$inner" "$outer" "$titles" | sort)" \
        "$build/examples/join" --outer $tables
    prints "shortest paths in a file's graph, $device" "$ways" "$build/examples/sssp" --graph "$scratch/roads" --source 1 \
        --check --brief
    prints "shortest paths in a network, $device" "$nets" "$build/examples/sssp" --rmat 16 --brief --runs 1
done
unset COHORT_DEVICE
prints "a lookup in one's own threads" "$turnover" "$build/examples/fused_lookup_cpu"
if [ -x "$build/examples/fused_lookup" ]; then
    prints "a lookup in one's own kernel" "$turnover" "$build/examples/fused_lookup"
else
    echo "SKIP a lookup in one's own kernel: nvcc not found when the examples were built"
    skipped=$((skipped + 1))
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
