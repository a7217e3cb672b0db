#!/bin/bash
# run.sh BUILD [DEVICE [PART...]]
#
# Tests of the command line BUILD/cohort on DEVICE (default: cpu): its counts against a naive oracle
# (naive.c) and against jellyfish where that is installed, every error that a user can cause, and what an
# interrupt leaves behind. The readers have unit tests of their own (test_readers.c). One line a case; the
# last is 'N passed, N failed, N skipped'.
set -u
build=$(cd "${1:-build}" && pwd) || exit 2
device=${2:-cpu}
parts=("${@:3}")
[ $# -gt 2 ] || parts=(count sort split set bench bench_table bench_hopscotch)
here=$(cd "$(dirname "$0")" && pwd)
raw=$build/cohort
work=$(mktemp -d)
tools=$(mktemp -d)
trap 'rm -rf "$work" "$tools"' EXIT
cd "$work" || exit 2
# A run that hangs is one case's failure, exit status 124, and not that of all that come after it.
cohort=$tools/cohort
# Signals are as at a terminal: what a parent ignores (nohup, the background of a script) its children
# ignore too.
plainly='env --default-signal=HUP,INT,QUIT,PIPE,TERM'
$plainly true 2>/dev/null || plainly=''
printf '#!/bin/sh\nexec %s timeout --foreground -k 5 %s "%s" "$@"\n' "$plainly" "${CASE_SECONDS:-120}" "$raw" >"$cohort"
chmod 755 "$tools" "$cohort"
export LC_ALL=C TMPDIR=$work
unset COHORT_DEVICE
passed=0 failed=0 skipped=0

pass() { passed=$((passed + 1)); echo "ok   $1"; }
fail() { failed=$((failed + 1)); echo "FAIL $1"; shift; for line in "$@"; do printf '     %s\n' "$line"; done; }
skip() { skipped=$((skipped + 1)); echo "SKIP $1: $2"; }
close() { echo "$passed passed, $failed failed, $skipped skipped"; [ "$failed" -eq 0 ]; exit; }

# judge NAME CONDITION...: the case passes if the command succeeds.
judge() {
    local name=$1
    shift
    if "$@" >judged 2>&1; then pass "$name"; else fail "$name" "$(head -c 500 judged)"; fi
}

count() { "$cohort" count --device "$device" "$@"; }

# same NAME EXPECTED ARGUMENT...: what count prints is the file EXPECTED, and it says nothing else.
same() {
    local name=$1 expected=$2 status
    shift 2
    count "$@" >printed 2>said
    status=$?
    if [ $status -ne 0 ] || [ -s said ]; then
        fail "$name" "exit status $status: $(head -n 3 said)" "cohort count $*"
    elif cmp -s printed "$expected"; then
        pass "$name"
    else
        fail "$name" "$(diff "$expected" printed | head -n 5)" "cohort count $*"
    fi
}

# refused NAME PATTERN COMMAND...: exit status 2, nothing on standard output, one line that matches on
# standard error, and no new file.
refused() {
    local name=$1 pattern=$2 status
    shift 2
    : >printed
    : >said
    ls -A >before
    "$@" >printed 2>said </dev/null
    status=$?
    ls -A >after
    if [ $status -eq 2 ] && [ ! -s printed ] && [ "$(grep -vc "^device: " said)" -eq 1 ] && grep -qE -- "$pattern" said &&
        cmp -s before after; then
        pass "refused: $name"
    else
        fail "refused: $name" "exit status $status" "$(head -n 3 said)" "$(diff before after)"
    fi
}

# text u32|u64 FILE: its integers, one a line.
text() { od -An -v "-tu$((${1#u} / 8))" "-w$((${1#u} / 8))" "$2" | tr -d ' '; }

# Runs that get a signal do not go by way of timeout(1): that is ended by one that comes before it knows its
# child's number, and the child goes on.

# waiting FILE OPTION...: a run that has FILE, and pipe open, and waits for more input; its number in
# $process. waited SIGNAL ends it.
waiting() {
    local file=$1
    shift
    mkfifo pipe
    $plainly sleep 60 >pipe &
    holder=$!
    $plainly "$raw" "$@" >/dev/null 2>said &
    process=$!
    for _ in $(seq 100); do
        # shellcheck disable=SC2086
        ls $file >/dev/null 2>&1 && readlink /proc/$process/fd/* 2>/dev/null | grep -q '/pipe$' && return
        sleep 0.1
    done
}
waited() {
    kill -s "$1" $process $holder
    wait $process $holder 2>/dev/null
    rm -f pipe
}

# ends NAME SECONDS: whether $process ends in that time; if not, what it waits for is told and it is killed.
ends() {
    local name=$1 tenths=$((10 * $2)) number
    while [ $tenths -gt 0 ] && [ -d /proc/$process ] && ! grep -q '^State:.*zombie' /proc/$process/status; do
        sleep 0.1
        tenths=$((tenths - 1))
    done 2>/dev/null
    [ $tenths -eq 0 ] || return 0
    echo "$name: goes on after $2 s"
    for number in $process $(ps -o pid= --ppid "$process"); do
        tr '\0' ' ' </proc/"$number"/cmdline
        printf '\n  waits in %s; ' "$(cat /proc/"$number"/wchan)"
        grep -E '^(State|Threads|Sig|Shd)' /proc/"$number"/status | tr '\t\n' '  '
        ls -l /proc/"$number"/fd
        kill -s KILL "$number"
    done 2>&1
}

# valid NAME FILE: it is JSON.
valid() {
    if command -v python3 >/dev/null 2>&1; then
        judge "$1" python3 -m json.tool "$2"
    else
        skip "$1" "python3 is not installed"
    fi
}

# drawing NAME FILE: it is XML whose root is closed.
drawing() {
    if command -v python3 >/dev/null 2>&1; then
        judge "$1" python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$2"
    else
        judge "$1" grep -q '^</svg>$' "$2"
    fi
}

# units NAME PROGRAM: the cases of a program of tests/cli, which gets an empty folder.
units() {
    local name=$1 status counts
    rm -rf folder && mkdir folder
    "$build/tests/cli/$2" folder >said 2>&1
    status=$?
    grep -v "passed," said
    read -r counts <<<"$(grep -oE "^[0-9]+ passed, [0-9]+ failed" said | tr -dc "0-9 ")"
    if [ $status -lt 2 ] && [ -n "$counts" ]; then
        passed=$((passed + ${counts%% *})) failed=$((failed + ${counts##* }))
        [ $status -ne 0 ] || echo "ok   $name: ${counts%% *} cases"
    else
        fail "$name" "exit status $status"
    fi
    rm -rf folder
}

: >before >after
[ -x "$raw" ] || { skip "command line" "$raw was not built"; close; }
if "$cohort" info --device cpu | grep -q ', no zlib,'; then
    printf '\037\213\010' >reads.gz
    refused "gzip without zlib" 'reads\.gz: compressed by gzip, .* no zlib' "$cohort" count --kmer 5 reads.gz
    printf 'AAAAA\t1\n' >expected
    printf '>a\nAAAAA\n' >a.fa
    same "plain files without zlib" expected --kmer 5 a.fa
    skip "everything else" "the tool is built without zlib"
    close
fi
naive=$build/tests/cli/naive
[ -x "$naive" ] || { skip "command line" "its oracle tests/cli/naive was not built"; close; }

for part in "${parts[@]}"; do
    . "$here/$part.sh"
done
close
