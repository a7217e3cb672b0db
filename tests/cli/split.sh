# Tests of `cohort split`, against naive.c. Sourced by run.sh after sort.sh.

# every FOLDER: the integers of all files, in the order of their names, and what files there are, with their
# sizes.
contents() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 cat); }
sizes() { (cd "$1" && find . -type f -printf '%f %s\n' | sort); }

# split NAME u32|u64 M HOW A B BY OPTION...
split() {
    local name=$1 kind=$2 m=$3 how=$4 a=$5 b=$6 by=$7 status width
    shift 7
    width=$((${kind#u} / 8))
    rm -rf splitting && mkdir splitting
    "$cohort" split --device "$device" --$kind --buckets "$m" --by "$by" "$@" numbers splitting/out.d >printed 2>said
    status=$?
    "$naive" split "$m" "$how" "$a" "$b" $kind numbers | LC_ALL=C sort -s -n -k 1,1 >buckets
    awk -v m="$m" -v width=$width -v digits=$(printf %d $((m - 1)) | wc -c) '{ n[$1]++ }
        END { for (i = 0; i < m; i++) printf "%0*d %d\n", digits, i, n[i] * width }' buckets >expected
    if [ $status -ne 0 ] || [ -s said ] || [ -s printed ]; then
        fail "$name" "exit status $status: $(head -n 3 said)"
    elif [ "$(ls -A splitting)" != out.d ]; then
        fail "$name" "left behind: $(ls -A splitting)"
    elif ! cmp -s expected <(sizes splitting/out.d); then
        fail "$name" "$(diff expected <(sizes splitting/out.d) | head -n 5)"
    else
        contents splitting/out.d >all
        judge "$name" cmp <(text $kind all) <(cut -f 2 buckets)
    fi
}

for kind in u32 u64; do
    $naive numbers 4 50000 $kind >numbers
    most=$([ $kind = u32 ] && echo 4294967295 || echo 18446744073709551615)
    split "split --$kind by bits" $kind 256 bits 0 8 bits:0:8
    split "split --$kind by high bits" $kind 8 bits 29 3 bits:29:3
    split "split --$kind by bits, more buckets" $kind 300 bits 3 8 bits:3:8
    split "split --$kind by mod" $kind 7 mod 0 0 mod
    split "split --$kind by mod 1000, beyond memory" $kind 1000 mod 0 0 mod --memory 64K
    split "split --$kind by range" $kind 10 range 0 $most range
    split "split --$kind by a range of some" $kind 13 range 10 900 range:10:900
    split "split --$kind by hash" $kind 33 hash 0 0 hash
    split "split --$kind by another hash, 3 threads" $kind 100 hash 77 0 hash:77 --threads 3
    split "split --$kind into 1" $kind 1 mod 0 0 mod
done
split "split into 3000, beyond memory" u64 3000 mod 0 0 mod --memory 64K
many_files() { # a case of its own in a process that may have few files open
    passed=0 failed=0
    ulimit -n 100 || return 1
    split "split into 1000 with 100 descriptors" u64 1000 mod 0 0 mod --memory 64K
    [ "$passed $failed" = '1 0' ]
}
judge "split with 100 descriptors" eval '(many_files)'
cp numbers saved
: >numbers
split "split of nothing" u64 5 mod 0 0 mod
cp saved numbers
split "split into 65536" u64 65536 hash 0 0 hash
cat numbers | "$cohort" split --u64 --device "$device" --buckets 65536 --by hash --memory 1M - splitting/piped.d
judge "split from a pipe" cmp <(contents splitting/piped.d) all

mkdir splitting/empty.d
"$cohort" split --u64 --device "$device" --buckets 3 --by mod numbers splitting/empty.d/
judge "split into an empty directory" test "$(ls splitting/empty.d | tr '\n' ' ')" = '0 1 2 '
# A name may end in slashes, of a folder that is there and of one that is made.
"$cohort" split --u64 --device "$device" --buckets 3 --by mod numbers splitting/new.d// 2>said
judge "split into a new directory whose name ends in slashes" \
    test $? -eq 0 -a "$(ls splitting/new.d | tr '\n' ' ')" = '0 1 2 ' -a ! -s said
judge "and nothing is left in it or beside it" test "$(ls -A splitting splitting/new.d | grep -c tmp)" -eq 0
cp splitting/empty.d/1 one
echo other >splitting/empty.d/other
echo wrong >splitting/empty.d/1
"$cohort" split --u64 --device "$device" --buckets 3 --by mod --force numbers splitting/empty.d
judge "split --force replaces its files and lets others be" \
    test "$(cmp one splitting/empty.d/1)" = '' -a "$(ls -A splitting/empty.d | tr '\n' ' ')" = '0 1 2 other '
rm -rf splitting && mkdir -p splitting/here
chmod 750 splitting/here
(cd splitting/here && "$cohort" split --u64 --device "$device" --buckets 3 --by mod ../../numbers .)
judge "split into the folder that one is in, which stays what it is" \
    test "$(ls -A splitting/here splitting | tr '\n' ' ')" = 'splitting: here  splitting/here: 0 1 2 ' -a \
    "$(stat -c %a splitting/here)" = 750
rm -rf splitting && mkdir splitting
(ulimit -f 20 && "$cohort" split --u64 --device "$device" --buckets 3 --by mod numbers splitting/out.d 2>split.said)
judge "split to a disk that is full half way: exit status 1, nothing left" test $? -eq 1 -a -z "$(ls -A splitting)"
judge "and a line that says so" grep -qE 'OUT\.d splitting/out\.d/[012]: cannot write: File too large' split.said

mkfifo pipe
$plainly sleep 60 >pipe &
holder=$!
set -m
$plainly "$raw" split --u64 --device "$device" --buckets 3 --by mod pipe splitting/out.d 2>said &
process=$!
set +m
for _ in $(seq 100); do
    ls splitting/*.tmp/2 >/dev/null 2>&1 && break
    sleep 0.1
done
kill -s INT $process
ends "split interrupted" 30
wait $process
status=$?
kill -s KILL $holder
wait $holder 2>/dev/null
rm -f pipe
judge "split interrupted: exit status 130, nothing left" test $status -eq 130 -a -z "$(ls -A splitting)"

waiting 'splitting/*.tmp/2' split --u64 --device "$device" --buckets 3 --by mod pipe splitting/out.d
waited KILL
judge "split killed: its folder is left" test "$(ls splitting | grep -c '\.tmp$')" -eq 1
"$cohort" split --u64 --device "$device" --buckets 3 --by mod saved splitting/out.d
judge "split: the next run removes it" test "$(ls splitting)" = out.d
rm -rf splitting && mkdir -p splitting/into.d
waiting 'splitting/into.d/*.tmp/2' split --u64 --device "$device" --buckets 3 --by mod pipe splitting/into.d
waited KILL
judge "split into a folder, killed" test "$(ls splitting/into.d | grep -c '\.tmp$')" -eq 1
"$cohort" split --u64 --device "$device" --buckets 3 --by mod saved splitting/into.d
judge "split: what was left in a folder does not count as its contents" test "$(ls splitting/into.d | tr '\n' ' ')" = '0 1 2 '

s="split --device $device --u32"
mkdir full.d
echo other >full.d/other
refused "split into a directory that is not empty" 'OUT\.d full\.d: is not empty; --force' "$cohort" $s --buckets 2 --by mod saved full.d
mkdir -p own.d blocked.d/1
cp saved own.d/1
cp saved blocked.d/0
refused "split over the file itself" 'OUT\.d own\.d/1: is also read' "$cohort" $s --buckets 2 --by mod --force own.d/1 own.d
refused "split over a directory" 'OUT\.d blocked\.d/1: cannot write: Is a directory' "$cohort" $s --buckets 2 --by mod --force saved blocked.d
judge "which leaves the other files alone" cmp saved blocked.d/0
refused "split into a file" 'OUT\.d saved: is no directory' "$cohort" $s --buckets 2 --by mod saved saved
refused "split into no directory" 'OUT\.d none/out\.d: cannot write: No such file' "$cohort" $s --buckets 2 --by mod saved none/out.d
refused "split without buckets" '--buckets M must be given' "$cohort" $s --by mod saved out.d
refused "split without a way" '--by HOW must be given' "$cohort" $s --buckets 2 saved out.d
refused "split into 0" '--buckets 0: must be a whole number from 1 to 65536' "$cohort" $s --buckets 0 --by mod saved out.d
refused "split into 65537" '--buckets 65537' "$cohort" $s --buckets 65537 --by mod saved out.d
for by in bits bits:1 bits:1:2:3 bits:x:2 bits::2 mod:3 range:1 hash:1:2 hash: 'mod ' size; do
    refused "split by '$by'" "^cohort split: --by $by: must be bits:LO:N" "$cohort" $s --buckets 9 --by "$by" saved out.d
done
refused "split by bit 32 of 32" '--by bits:32:1: there are 1 to 16 bits, of bits 0 to 31' "$cohort" $s --buckets 9 --by bits:32:1 saved out.d
refused "split by bits 31 and 32 of 32" '--by bits:31:2: there are 1 to 16 bits, of bits 0 to 31' "$cohort" $s --buckets 9 --by bits:31:2 saved out.d
refused "split by 17 bits" '--by bits:0:17' "$cohort" $s --buckets 65536 --by bits:0:17 saved out.d
refused "split by more bits than buckets" '--by bits:0:4: its buckets are 16; --buckets 15' "$cohort" $s --buckets 15 --by bits:0:4 saved out.d
refused "split by a range that falls" '--by range:9:3: A must not' "$cohort" $s --buckets 2 --by range:9:3 saved out.d
refused "split by a range beyond 32 bits" '--by range:0:4294967296' "$cohort" $s --buckets 2 --by range:0:4294967296 saved out.d
printf 12345 >odd
refused "split of 5 bytes" 'odd: its 5 bytes are no whole number of 4-byte' "$cohort" $s --buckets 2 --by mod odd out.d
refused "split of no file" 'IN and OUT\.d must be given, and 0 files are' "$cohort" $s --buckets 2 --by mod
