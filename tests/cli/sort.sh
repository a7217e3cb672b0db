# Tests of `cohort sort`, against od and sort(1). Sourced by run.sh.

# sorted NAME u32|u64 IN OPTION...: what comes out is what sort(1) makes of it, and nothing is left beside it.
sorted() {
    local name=$1 kind=$2 in=$3 order= status
    shift 3
    case " $* " in *' --descending '*) order=r ;; esac
    rm -rf sorting && mkdir sorting
    "$cohort" sort --device "$device" --$kind "$@" "$in" sorting/out >printed 2>said
    status=$?
    if [ $status -ne 0 ] || [ -s said ] || [ -s printed ]; then
        fail "$name" "exit status $status: $(head -n 3 said)"
    elif [ "$(ls -A sorting)" != out ]; then
        fail "$name" "left behind: $(ls -A sorting)"
    elif cmp -s <(text $kind sorting/out) <(text $kind "$in" | LC_ALL=C sort -n$order); then
        pass "$name"
    else
        fail "$name" "$(cmp <(text $kind sorting/out) <(text $kind "$in" | LC_ALL=C sort -n$order))"
    fi
}

: >nothing
for kind in u32 u64; do
    $naive numbers 3 60000 $kind >numbers
    sorted "sort --$kind" $kind numbers
    sorted "sort --$kind --descending" $kind numbers --descending
    sorted "sort --$kind of nothing" $kind nothing
    head -c 8 numbers >one
    sorted "sort --$kind of 8 bytes" $kind one
    for threads in 1 5; do
        sorted "sort --$kind, $threads threads" $kind numbers --threads $threads
    done
    # Larger than memory: in one step, in several, and where one value is more than fits.
    sorted "sort --$kind beyond memory" $kind numbers --memory 400K
    sorted "sort --$kind far beyond memory" $kind numbers --memory 64K
    sorted "sort --$kind --descending far beyond memory" $kind numbers --memory 64K --descending
    head -c 400000 /dev/zero >zeros
    sorted "sort --$kind of equal integers beyond memory" $kind zeros --memory 64K
    tr '\0' '\377' <zeros >ones
    cat ones zeros ones numbers zeros >mixed
    sorted "sort --$kind of a few frequent ones beyond memory" $kind mixed --memory 64K
    "$cohort" sort --$kind --device "$device" numbers ascending
    sorted "sort --$kind of what is sorted, beyond memory" $kind ascending --memory 64K
    sorted "sort --$kind of what is sorted the other way, beyond memory" $kind ascending --memory 64K --descending
    for memory in 64K 1G; do
        "$cohort" sort --$kind --device "$device" --memory $memory - - <numbers >printed
        judge "sort --$kind, standard input and output, --memory $memory" cmp printed ascending
        cat numbers | "$cohort" sort --$kind --device "$device" --memory $memory - streamed
        judge "sort --$kind from a pipe, --memory $memory" cmp streamed ascending
        $naive dribble 3 numbers | "$cohort" sort --$kind --device "$device" --memory $memory - streamed
        judge "sort --$kind from a pipe, 3 bytes at a time, --memory $memory" cmp streamed ascending
    done
done
units "sort --memory bounds the library's workspace" test_sort_memory
echo old >old
chmod 640 old
"$cohort" sort --u64 --device "$device" numbers old
judge "sort replaces a file and keeps its mode" test "$(stat -c %a old)" = 640 -a "$(cmp old ascending)" = ''
cp numbers ./-odd
"$cohort" sort --u64 --device "$device" -- -odd ./-out
judge "sort of files after --" cmp ./-out ascending
rm -f ./-odd ./-out
if [ -e /dev/full ]; then
    "$cohort" sort --u64 --device "$device" numbers /dev/full 2>said
    judge "sort to a full disk: exit status 1" test $? -eq 1 -a "$(wc -l <said)" -eq 1
fi
rm -rf sorting && mkdir sorting
cp numbers sorting/in
(ulimit -f 100 && "$cohort" sort --u64 --device "$device" --memory 100K sorting/in sorting/out 2>sorting.said)
judge "sort to a disk that is full half way: exit status 1, nothing left" test $? -eq 1 -a "$(ls -A sorting)" = in
judge "and a line that says so" grep -q 'cannot write: File too large' sorting.said

if command -v script >/dev/null 2>&1; then
    for _ in $(seq 10); do cat mixed; done >many
    TERM=xterm timeout 60 script -qec "$cohort sort --u64 --device $device --memory 1M many many.out" screen >/dev/null </dev/null
    judge "sort beyond memory: a progress bar on a terminal" grep -q 'splitting \[' screen
    judge "sort beyond memory: one of what is written, too" grep -q 'writing \[' screen
    rm -f many many.out
else
    skip "sort: a progress bar on a terminal" "no script(1) here"
fi

# A signal in the middle: the input waits.
mkfifo pipe
$plainly sleep 60 >pipe &
holder=$!
echo old >sorting/out
set -m
$plainly "$raw" sort --u64 --device "$device" --memory 64K pipe sorting/out 2>said &
process=$!
set +m
for _ in $(seq 100); do
    ls sorting/out.*.tmp >/dev/null 2>&1 && break
    sleep 0.1
done
kill -s TERM $process
ends "sort terminated" 30
wait $process
status=$?
kill -s KILL $holder
wait $holder 2>/dev/null
rm -f pipe
judge "sort terminated: exit status 143, the old file stays" \
    test $status -eq 143 -a "$(cat sorting/out)" = old -a "$(ls -A sorting | tr '\n' ' ')" = 'in out '

for folder in none numbers; do
    env TMPDIR="$work/$folder" "$cohort" sort --u64 --device "$device" --memory 64K - - <numbers >printed 2>said
    judge "sort: TMPDIR is $folder" test $? -eq 1 -a ! -s printed -a "$(grep -c "^cohort sort: TMPDIR: cannot make a temporary file in $work/$folder: No" said)" -eq 1
done

s="sort --device $device"
refused "sort without a width" 'one of --u32 and --u64' "$cohort" $s numbers out
refused "sort of two widths" '--u32 and --u64' "$cohort" $s --u32 --u64 numbers out
refused "sort of no file" 'IN and OUT must be given, and 0 files are' "$cohort" $s --u32
refused "sort of one file" 'and 1 file is' "$cohort" $s --u32 numbers
refused "sort of three files" 'and 3 files are' "$cohort" $s --u32 numbers numbers out
refused "sort: no such file" 'none: cannot open: No such file' "$cohort" $s --u32 none out
refused "sort of a directory" '\./: is a directory' "$cohort" $s --u32 ./ out
refused "sort into a directory" 'OUT \./: cannot write: Is a directory' "$cohort" $s --u32 numbers ./
refused "sort into no directory" 'OUT none/out: cannot write: No such file' "$cohort" $s --u32 numbers none/out
refused "sort into the file itself" 'OUT \./numbers: is also read' "$cohort" $s --u32 numbers ./numbers
printf 12345 >odd
refused "sort of 5 bytes" 'odd: its 5 bytes are no whole number of 4-byte' "$cohort" $s --u32 odd out
refused "sort of 5 bytes from a pipe" 'standard input: its 5 bytes are no whole number' bash -c "printf 12345 | '$cohort' $s --u32 - out"
refused "sort of too little memory" '--memory 1000: must be a whole number, at least 64000' "$cohort" $s --u32 --memory 1000 numbers out
refused "sort on a device that is not there" '--device cuda:999' "$cohort" sort --device cuda:999 --u32 numbers out
refused "sort: an unknown option" '--kmer: no such option' "$cohort" $s --kmer 5 numbers out
