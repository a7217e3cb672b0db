#!/bin/bash
# touched.sh [BASE]
# touched.sh --owners FILE...
# touched.sh --structures
# touched.sh --files [BASE]
#
# Which structures does a change touch? Their tests' names, tests/NAME, a line each: those whose files
# differ between BASE and the tree, and those that stand on them. A file that no rule below knows touches
# all. So does a tree of which no older commit is known.
#
#   BASE             a commit; by default COHORT_BASE of the environment, else where the branch left origin/main, else the last commit that
#                    was a day old when HEAD was made
#   --owners         of each FILE: the one structure it belongs to, `all`, or `none` for what has no test by structure
#   --structures     all names
#   --files          the files that differ; `all` where no older commit is known
set -u
cd "$(dirname "$0")/.." || exit 1

structures() {
    ls tests/*/test_*.c | cut -d / -f 2 | sort -u | grep -vxE 'cli|examples'
}

# The more special name comes first.
owner() {
    local name=${1##*/}
    case $1 in
    tests/mutants/*.patch | tests/cli/* | tests/structure/* | tests/examples/* | tests/fuzz/* | tests/data/*) echo none ;;
    tests/kernels/* | tests/mutants/* | tests/sim/*) echo all ;;
    tests/*/*) echo "$1" | cut -d / -f 2 ;;
    src/* | include/*)
        case $name in
        multimap*) echo multimap ;;
        map* | combine*) echo map ;;
        multisplit* | histogram* | payload* | split* | sums* | fn* | jit* | nvrtc* | tuning*) echo multisplit ;;
        sort*) echo sort ;;
        compact*) echo compact ;;
        set.* | set_* | sets* | roaring*) echo sets ;;
        table* | join* | group* | frame* | gather* | column* | arrow* | keys* | factor*) echo table ;;
        lines*) echo lines ;;
        kmer* | reads*) echo kmer ;;
        context* | call* | status* | pool* | loans* | limits* | alloc* | driver*) echo context ;;
        *) echo all ;;
        esac
        ;;
    tests/*) echo all ;;
    bench/sectors.h | bench/peers/rivals_kernels.h) echo lines ;;
    *) echo none ;;
    esac
}

# What stands on a structure.
above() {
    case $1 in
    map) echo map multimap kmer ;;
    multisplit) echo multisplit sort compact multimap table ;;
    sort | compact) echo "$1" table ;;
    *) echo "$1" ;;
    esac | tr ' ' '\n'
}

base() {
    local base=${1:-${COHORT_BASE:-}}
    if [ -z "$base" ]; then
        base=$(git merge-base HEAD origin/main 2>/dev/null)
        [ "$base" != "$(git rev-parse HEAD 2>/dev/null)" ] || base=''
    fi
    [ -n "$base" ] || base=$(git rev-list -1 --before="$(($(git log -1 --format=%ct 2>/dev/null || echo 0) - 86400))" HEAD 2>/dev/null)
    git merge-base HEAD "${base:-none}" 2>/dev/null
}

case ${1:-} in
--structures) structures && exit ;;
--owners)
    shift
    for file in "$@"; do
        owner "$file"
    done
    exit
    ;;
--files) ;;
-*)
    echo "touched.sh: '$1' is none of --files, --owners, --structures" >&2
    exit 2
    ;;
esac

files=''
if [ "${1:-}" = --files ]; then
    files=yes
    shift
fi
if ! since=$(base "${1:-}"); then
    [ -n "$files" ] && echo all || structures
    exit
fi
changed() {
    git diff --name-only "$since" --
    git ls-files --others --exclude-standard
}
if [ -n "$files" ]; then
    changed
    exit
fi
owners=$(changed | while read -r file; do owner "$file"; done | sort -u)
if grep -qx all <<<"$owners"; then
    structures
else
    for name in $owners; do
        above "$name"
    done | sort -u | grep -xF "$(structures)"
fi
exit 0
