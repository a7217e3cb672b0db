#!/bin/sh
# deps.sh [--check | --bench | --all]
#
# Installs what is missing from Debian's packages, as root or through sudo, each named with its reason. What
# the bench measures beside our own is installed with --bench or --all, and what only .ci/run needs (a
# second compiler, fuzzers, the formatter) with --all alone. With --check nothing is installed: it says what
# the build lacks and how to get it, and fails if the build cannot do without. Where nothing can be
# installed it says so in one line, and goes on if what is missing is optional. docs/dependencies.md tells
# more of each.
#
# COHORT_DEPS=no in the environment: install nothing.
set -u

# For | shows that it is there | package | why. build: nothing goes without; tool: build/cohort; test, demo,
# bench, ci: those.
needs='
build|command cc|gcc|compiles the library
build|file /usr/include/stdlib.h|libc6-dev|headers of the C library
build|command cmake|cmake|describes the build
build|command make|make|runs the build
tool|file /usr/include/zlib.h|zlib1g-dev|reads gzip-compressed FASTA and FASTQ
tool|file /usr/include/jansson.h|libjansson-dev|reads figures of the bench back, to compare and draw them
test|command g++|g++|compiles the public headers as C++ in a test
test|command pkg-config|pkg-config|builds the installed-library example in a test
test|command nm|binutils|lists the exported symbols in a test
test|command patch|patch|applies the patches of a page and of the mutants in tests
demo|file /usr/include/csv.h|libcsv-dev|reads the files of the example of joins
demo|command jellyfish|jellyfish|counts the same k-mers, to compare with
demo|glob /usr/share/doc/bowtie2/examples/reads/*|bowtie2-examples|holds the sequencing reads of the demo
bench|file /usr/include/absl/container/flat_hash_map.h|libabsl-dev|holds a map to be measured beside ours
bench|file /usr/include/boost/unordered/unordered_flat_map.hpp|libboost1.81-dev|holds a map to be measured beside ours
bench|file /usr/include/tbb/concurrent_hash_map.h|libtbb-dev|holds maps to be measured beside ours
bench|file /usr/include/libcuckoo/cuckoohash_map.hh|libcuckoo-dev|holds a map to be measured beside ours
bench|glob /usr/include/*/urcu/rculfhash.h|liburcu-dev|holds a map to be measured beside ours
bench|command kmc|kmc|counts k-mers, to be measured beside ours
ci|command clang|clang|is the second compiler, and builds the fuzzers
ci|glob /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a|libclang-rt-14-dev|run time of the fuzzers
ci|command clang-format-14|clang-format-14|checks the style
'

mode=install
wanted='build|tool|test|demo'
case ${1:-} in
--check) mode=check wanted='build|tool' ;;
--bench) wanted='build|tool|test|demo|bench' ;;
--all) wanted='build|tool|test|demo|bench|ci' ;;
'') ;;
*)
    echo "deps.sh: '$1' is none of --check, --bench, --all" >&2
    exit 2
    ;;
esac

# there KIND WHAT: is it on this machine?
there() {
    case $1 in
    command) command -v "$2" >/dev/null 2>&1 ;;
    file) [ -e "$2" ] ;;
    glob) ls $2 >/dev/null 2>&1 ;;
    esac
}

# The lines of `needs` that are wanted and not there.
missing() {
    printf '%s' "$needs" | grep -E "^($wanted)\\|" | while IFS='|' read -r what test package why; do
        there ${test%% *} "${test#* }" || printf '%s|%s|%s\n' "$what" "$package" "$why"
    done
}

names() {
    printf '%s\n' "$1" | cut -d '|' -f 2 | tr '\n' ' ' | sed 's/ $//'
}

# CRoaring of today is no Debian package; its two files are in the source package of PyPI's pyroaring.
# bench_croaring: fetches them, or says in one line why not. Only pyroaring itself is wanted as a source;
# what pip builds its metadata with may come built (with ':all:' Cython would be compiled first, which takes
# minutes).
pins=$(dirname "$0")/../tests/python/requirements.txt
croaring=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/cohort/croaring
bench_croaring() {
    case $wanted in *bench*) ;; *) return ;; esac
    [ ! -f "$croaring/roaring.c" ] || return 0
    if [ "${COHORT_DEPS:-yes}" = no ] || ! command -v python3 >/dev/null 2>&1; then
        echo "deps: missing: CRoaring, for the bench of sets; COHORT_DEPS=no forbids to fetch it, or there is no python3" >&2
        return
    fi
    fetched=$(mktemp -d)
    if timeout 300 python3 -m pip download -q --no-deps --no-binary pyroaring -d "$fetched" -c "$pins" pyroaring >/dev/null 2>&1 &&
        tar -xzf "$fetched"/pyroaring-*.tar.gz -C "$fetched" && mkdir -p "$croaring" &&
        cp "$fetched"/pyroaring-*/pyroaring/roaring.h "$fetched"/pyroaring-*/pyroaring/roaring.c "$croaring"; then
        echo "deps: CRoaring, which is measured beside our sets, is in $croaring"
    else
        echo "deps: CRoaring could not be fetched from PyPI ($(grep pyroaring "$pins")); the bench of sets goes without" >&2
    fi
    rm -rf "$fetched"
}
[ $mode != install ] || bench_croaring

# duckdb, polars and pandas, which joins, groups and sums are measured beside, in an environment of their
# own. bench_tables: makes it, or says in one line why not.
tables=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/cohort/tables
bench_tables() {
    case $wanted in *bench*) ;; *) return ;; esac
    if python3 -c 'import duckdb, numpy, pandas, polars, pyarrow' 2>/dev/null || [ -x "$tables/bin/pandas-is-here" ]; then
        return 0
    fi
    if [ "${COHORT_DEPS:-yes}" = no ] || ! python3 -m venv --help >/dev/null 2>&1; then
        echo "deps: missing: duckdb, polars and pandas, for the bench of tables and sums; COHORT_DEPS=no forbids to fetch them, or python3 has no venv" >&2
        return
    fi
    if python3 -m venv "$tables" >/dev/null 2>&1 &&
        timeout 300 "$tables/bin/pip" install -q -c "$pins" duckdb polars pandas pyarrow numpy >/dev/null 2>&1 &&
        ln -sf python3 "$tables/bin/pandas-is-here"; then
        echo "deps: duckdb, polars and pandas, which are measured beside our tables and sums, are in $tables"
    else
        echo "deps: duckdb, polars and pandas could not be fetched from PyPI; the bench of tables and sums goes without" >&2
    fi
}
[ $mode != install ] || bench_tables

lacking=$(missing)
if [ -z "$lacking" ]; then
    [ $mode = check ] || echo "deps: nothing is missing"
    exit 0
fi

# fail_or_go_on REASON: one line; only what the build itself needs is fatal.
fail_or_go_on() {
    echo "deps: missing: $(names "$lacking"); $1 (by hand: apt-get install $(names "$lacking"))" >&2
    printf '%s\n' "$lacking" | grep -q '^build|' && exit 1
    exit 0
}

[ $mode = install ] || fail_or_go_on "make deps installs what is missing"
[ "${COHORT_DEPS:-yes}" != no ] || fail_or_go_on "COHORT_DEPS=no forbids to install"
command -v apt-get >/dev/null 2>&1 || fail_or_go_on "there is no apt-get here"
as_root=''
if [ "$(id -u)" -ne 0 ]; then
    as_root=sudo
    [ -t 0 ] || as_root='sudo -n'
    $as_root true 2>/dev/null || fail_or_go_on "neither root nor sudo"
fi

printf '%s\n' "$lacking" | while IFS='|' read -r what package why; do
    echo "deps: installing $package, which $why" | sed 's/which \(headers\|run time\)/the \1/'
done
# Small images leave /usr/share/doc out, where the reads are; --reinstall is for those that left them out
# already.
options='-o DPkg::Options::=--path-include=/usr/share/doc/bowtie2* -qq -o Acquire::Retries=1 -o Acquire::http::Timeout=15 -o Dpkg::Use-Pty=0'
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt_install() {
    $as_root env DEBIAN_FRONTEND=noninteractive timeout -k 10 600 \
        apt-get $options install -y --reinstall --no-install-recommends "$@" >"$log" 2>&1 </dev/null
}
# Package lists may be absent or stale: fetch them when a first try fails; then one by one, as a release may
# lack one.
if ! apt_install $(names "$lacking"); then
    $as_root timeout -k 10 180 apt-get $options update >>"$log" 2>&1 </dev/null
    if ! apt_install $(names "$lacking"); then
        for package in $(names "$lacking"); do
            apt_install "$package" || true
        done
    fi
fi

lacking=$(missing)
[ -z "$lacking" ] || fail_or_go_on "apt-get could not install: $(grep -E '^(E|W):' "$log" | head -n 1)"
