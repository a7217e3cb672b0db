# Tests of `cohort count`, its readers and outputs, what it refuses, and of `info` and help. Sourced by
# run.sh.
# ---- readers ---------------------------------------------------------------------------------------------------------
units readers test_readers

# ---- counts ----------------------------------------------------------------------------------------------------------
seed=0
for k in 1 2 3 4 8 15 16 17 21 27 31 32; do
    for format in fasta fastq; do
        seed=$((seed + 1))
        $naive make $seed 40 $format >reads
        $naive count $k plain reads >expected
        same "$k-mers of $format" expected --kmer $k reads
        $naive count $k canonical reads >expected
        same "canonical $k-mers of $format" expected --kmer $k --canonical reads
    done
done

$naive make 100 300 fastq >a.fq
$naive make 101 300 fasta >b.fa
gzip -c a.fq >a.fq.gz
{ gzip -c a.fq; gzip -c </dev/null; gzip -9c a.fq; } >members.gz
$naive count 21 canonical a.fq >expected
same "gzip" expected --kmer 21 --canonical a.fq.gz
cp a.fq.gz misnamed
same "gzip by its contents" expected --kmer 21 --canonical misnamed
for threads in 1 2 3 16; do
    same "$threads threads" expected --kmer 21 --canonical --threads $threads a.fq
done
same "a map that begins too small" expected --kmer 21 --canonical --size-hint 1 a.fq
same "a map that begins large" expected --kmer 21 --canonical --size-hint=1M a.fq
same "options after files" expected a.fq --kmer=21 --canonical
count --kmer 21 --canonical - <a.fq >printed
judge "standard input" cmp printed expected
cat a.fq.gz | count --kmer 21 --canonical - >printed
judge "standard input, gzip, from a pipe" cmp printed expected
# A pipe may give as little as a byte at a time, whatever lies in it.
$naive make 130 30 fastq >slow.fq
$naive count 7 plain slow.fq >expected.slow
gzip -c slow.fq >slow.gz
{ gzip -c slow.fq; head -c 100 /dev/zero; } >slow.padded.gz
for file in slow.fq slow.gz slow.padded.gz; do
    for piece in 1 7; do
        $naive dribble $piece $file | count --kmer 7 - >printed
        judge "$file, $piece at a time" cmp printed expected.slow
    done
done
{ head -c 300 slow.gz; sleep 1.2; tail -c +301 slow.gz; } | count --kmer 7 - >printed
judge "a pipe that waits in the middle of a gzip block" cmp printed expected.slow
head -c $(($(wc -c <slow.gz) - 1)) slow.gz >slow.cut.gz
: >before
: >after
refused "a gzip cut at its last byte, a byte at a time" 'standard input: byte [0-9]+: truncated' \
    bash -c "'$naive' dribble 1 slow.cut.gz | '$cohort' count --device '$device' --kmer 7 -"
rm -f slow.cut.gz
mkfifo pipe
cat a.fq >pipe &
same "a named pipe" expected --kmer 21 --canonical pipe
rm -f pipe
cp a.fq ./-odd.fq
same "a file after --" expected --kmer 21 --canonical -- -odd.fq
for said in '' '--device auto'; do
    # shellcheck disable=SC2086
    COHORT_DEVICE=$device "$cohort" count $said --kmer 21 --canonical a.fq >printed
    judge "COHORT_DEVICE=$device $said" cmp printed expected
    # shellcheck disable=SC2086
    refused "COHORT_DEVICE=cuda:999 $said" '^cohort count: COHORT_DEVICE: device "cuda:999"' \
        env COHORT_DEVICE=cuda:999 "$cohort" count $said --kmer 5 b.fa
done
for given in '' '--device auto' 'COHORT_DEVICE=auto'; do
    # shellcheck disable=SC2086
    env ${given##--*} "$cohort" count ${given##COHORT*} --kmer 21 --canonical a.fq >printed 2>said
    judge "auto says which device it took and why: ${given:-by default}" grep -qxE 'device: .+ \(auto: .+\)' said
    judge "and nothing else: ${given:-by default}" test "$(wc -l <said)" -eq 1 -a "$(cmp printed expected)" = ''
done
COHORT_DEVICE=$device "$cohort" count --kmer 21 --canonical a.fq 2>said >/dev/null
judge "a device that is named is not told" test ! -s said
COHORT_DEVICE=cuda:999 count --kmer 21 --canonical a.fq >printed
judge "what --device says holds, whatever COHORT_DEVICE says" cmp printed expected
$naive count 21 canonical a.fq b.fa a.fq >expected
same "several files of several kinds" expected --kmer 21 --canonical a.fq.gz b.fa a.fq
$naive count 21 canonical a.fq a.fq >expected
same "gzip of several members" expected --kmer 21 --canonical members.gz

$naive count 5 plain b.fa >expected
awk '$2 >= 3' expected >expected.3
head -n 7 expected >expected.top
awk '$2 >= 3' expected | head -n 20 >expected.both
same "--min" expected.3 --kmer 5 --min 3 b.fa
same "--top" expected.top --kmer 5 --top 7 b.fa
same "--min and --top" expected.both --kmer 5 --min 3 --top 20 b.fa
same "--top beyond all" expected --kmer 5 --top 18446744073709551615 b.fa
: >nothing
same "--min beyond all" nothing --kmer 5 --min 18446744073709551615 b.fa
same "an empty file" nothing --kmer 5 nothing
gzip -c nothing >nothing.gz
same "an empty gzip file" nothing --kmer 5 nothing.gz
printf '>a\nACGNACG\n' >short.fa
same "sequences shorter than K" nothing --kmer 4 short.fa
printf '>a\n\n>b\nNNNN\n' >blank.fa
same "no letters" nothing --kmer 1 blank.fa
printf '@a\r\nAc\r\ngT\r\n+\r\nII\r\nII\r\n\r\n' >crlf.fq
printf 'ACGT\t1\n' >expected
lines_in_lf() { sed 's/\r$//' | tr '\r' '\n'; }
same "CRLF, wrapped, lower case" expected --kmer 4 crlf.fq
for format in fasta fastq; do
    $naive make 150 100 $format | lines_in_lf >lf.$format
    $naive count 7 plain lf.$format >expected
    tr '\n' '\r' <lf.$format >cr.$format
    same "$format whose lines end in CR alone" expected --kmer 7 cr.$format
    sed 's/$/\r/' lf.$format >crlf.$format
    same "$format whose lines end in CRLF" expected --kmer 7 crlf.$format
done

for kind in u32 u64; do
    $naive numbers 7 20000 $kind >numbers
    $naive $kind numbers >expected
    same "--$kind" expected --$kind numbers
    $naive $kind numbers numbers >expected
    same "--$kind, twice the file" expected --$kind numbers numbers
    count --$kind - <numbers >printed
    $naive $kind numbers >expected
    judge "--$kind, standard input" cmp printed expected
    same "--$kind of nothing" nothing --$kind nothing
done
printf '\037\213\0\0\037\213\0\0' >magic.bin
printf '35615\t2\n' >expected
same "--u32 that looks like gzip" expected --u32 magic.bin

# Several batches: the same reads many times over, and one sequence on one line against the same wrapped.
$naive make 200 4000 fastq >many.fq
$naive count 19 canonical many.fq | awk -F '\t' '{ printf "%s\t%d\n", $1, $2 * 12 }' >expected
same "reads over many batches" expected --kmer 19 --canonical many.fq many.fq many.fq many.fq many.fq many.fq many.fq \
    many.fq many.fq many.fq many.fq many.fq
awk 'BEGIN { srand(5); print ">long"; for (i = 0; i < 100000; i++) { s = ""
    for (j = 0; j < 31; j++) s = s substr("ACGTACGTACGTACGTACGTACGTACGTACGN", 1 + int(rand() * 32), 1); print s } }' >wrapped.fa
{ echo '>long'; tail -n +2 wrapped.fa | tr -d '\n'; } >long.fa
count --kmer 31 wrapped.fa >wrapped.tsv
same "one line of 3 million letters" wrapped.tsv --kmer 31 long.fa
count --kmer 31 long.fa --top 1000 >printed
head -n 1000 wrapped.tsv >expected
judge "--top of many of one count" cmp printed expected
# Told how many there are, the map has room for them from the beginning and does not grow, though a batch
# holds more entries.
distinct=$(wc -l <wrapped.tsv)
count --kmer 31 --size-hint "$distinct" --stats wrapped.fa wrapped.fa >printed 2>said
# All counts are twice what they were, so the order is the same.
paste wrapped.tsv printed >both.tsv
judge "--size-hint: all that is counted" awk -F '\t' 'NF != 4 || $3 != $1 || $4 != 2 * $2 { exit 1 }' both.tsv
judge "--size-hint: at most 24 bytes a k-mer, $distinct of them" \
    awk -v n="$distinct" '$1 == "slots" { gsub(",", ""); if ($2 * 16 <= n * 24) ok = 1 } END { exit !ok }' said
if command -v jellyfish >/dev/null 2>&1; then
    lines_in_lf <many.fq >lf.fq
    for k in 9 21 31; do
        jellyfish count -m $k -C -s 4M -t 2 -o jf lf.fq long.fa
        jellyfish dump -c -t jf | sort -k 2,2nr -k 1,1 >expected
        same "as jellyfish, $k-mers" expected --kmer $k --canonical many.fq long.fa
    done
else
    skip "as jellyfish" "jellyfish is not installed"
fi

# More input than memory: the limit is far below the input's size.
if { (ulimit -v 500000 && "$cohort" --version) >/dev/null; } 2>/dev/null && [ "$device" = cpu ]; then
    { echo '>a'; yes NNNNNNNNNNNNNNNNNNNNNNNNNNNNNNN | tr -d '\n' | head -c 900000000; echo ACGTTGCAAC; } |
        (ulimit -v 500000 && count --kmer 4 --threads 2 -) >printed 2>said
    judge "900 MB in 500 MB of memory" test "$(wc -l <printed)" -eq 7
else
    skip "more input than memory" "memory cannot be limited here"
fi

# Less memory than the machine has: what nobody asked for is tried smaller.
if { (ulimit -v 300000 && "$cohort" --version) >/dev/null; } 2>/dev/null && [ "$device" = cpu ]; then
    { echo '>a'; yes NNNNNNNNNNNNNNNNNNNNNNNNNNNNNNN | head -c 90000000; echo; echo ACGTTGCAAC; } >large.fa
    (ulimit -v 300000 && count --kmer 4 --threads 2 large.fa) >printed 2>said
    judge "a first table where less may be had" test $? -eq 0 -a "$(wc -l <printed)" -eq 7
    (ulimit -v 300000 && "$cohort" count --device cpu --kmer 4 --size-hint 100M large.fa) >printed 2>said
    judge "but not another than was asked for" test $? -eq 1 -a "$(grep -c -- '--size-hint 100000000: cannot make the map' said)" -eq 1
    rm -f large.fa
    $naive numbers 9 20000 u64 >numbers
    "$cohort" sort --u64 --device cpu numbers sorted.bin
    (ulimit -v 300000 && cat numbers | "$cohort" sort --u64 --device cpu --threads 2 - out.bin) 2>said
    judge "sort where less may be had" cmp out.bin sorted.bin
    (ulimit -v 300000 && cat numbers | "$cohort" split --u64 --device cpu --threads 2 --buckets 2 --by mod - split.d) 2>said
    judge "split where less may be had" test "$(cat split.d/* | wc -c)" -eq 160000
    (ulimit -v 300000 && "$cohort" sort --u64 --device cpu --memory 8G - out.bin <numbers) 2>said
    judge "but not with less than was asked for" test $? -eq 1 -a "$(grep -c -- '--memory can ask for less' said)" -eq 1
    rm -rf split.d out.bin
else
    skip "less memory than the machine has" "memory cannot be limited here"
fi

# ---- outputs ---------------------------------------------------------------------------------------------------------
$naive count 11 plain b.fa >expected
count --kmer 11 --out out.tsv --stats --spectrum s.svg --spectrum s.txt --spectrum s.tsv --spectrum - b.fa >printed 2>said
judge "--out" cmp out.tsv expected
judge "--spectrum -: text" cmp printed s.txt
cut -f 2 expected | sort -n | uniq -c | awk '{ print $2 "\t" $1 }' >expected.tsv
judge "--spectrum: a table" cmp s.tsv expected.tsv
total=$(awk -F '\t' '{ n += $2 } END { print n }' expected)
judge "--stats tells the k-mers" grep -qE "^k-mers +$(echo "$total" | sed -E ':a;s/([0-9])([0-9]{3})($|,)/\1,\2\3/;ta')$" said
judge "--stats tells the map's load" grep -qE '^ +load +0\.[0-9]+$' said
judge "--spectrum: a drawing" grep -qE '^</svg>$' s.svg
if command -v xmllint >/dev/null 2>&1; then
    judge "the drawing is well-formed" xmllint --noout s.svg
elif command -v python3 >/dev/null 2>&1; then
    judge "the drawing is well-formed" python3 -c 'import xml.dom.minidom, sys; xml.dom.minidom.parse("s.svg")'
else
    skip "the drawing is well-formed" "no XML parser here"
fi
count --kmer 11 --spectrum none.svg --out none.tsv nothing
judge "the spectrum of nothing" grep -q '</svg>' none.svg
count --kmer 11 --out - b.fa >printed
judge "--out -" cmp printed expected
count --kmer 11 --out /dev/null b.fa
judge "--out /dev/null" test -c /dev/null
echo old >out.tsv
chmod 640 out.tsv
count --kmer 11 --out out.tsv b.fa
judge "--out replaces a file and keeps its mode" test "$(stat -c %a out.tsv)" = 640 -a "$(cmp out.tsv expected)" = ''
if [ -e /dev/full ]; then
    count --kmer 11 b.fa >/dev/full 2>said
    judge "a full disk: exit status 1" test $? -eq 1 -a "$(wc -l <said)" -eq 1
    for what in --help --version 'count --help'; do
        # shellcheck disable=SC2086
        "$cohort" $what >/dev/full 2>said
        judge "cohort $what to a full disk: exit status 1" test $? -eq 1 -a "$(wc -l <said)" -eq 1
    done
fi
# Without the standard streams no message gets into a file instead, nor a file's bytes into another.
"$raw" count --device "$device" --kmer 11 --stats --out closed.tsv b.fa <&- >&- 2>&-
judge "standard streams that are closed: the output is whole" test $? -eq 0 -a "$(cmp closed.tsv expected)" = ''
"$raw" count --device "$device" --kmer 11 --out closed.tsv --spectrum - b.fa >&- 2>said
judge "standard output that is closed" test $? -eq 1 -a "$(cat said)" = \
    'cohort count: --spectrum -: cannot write: Bad file descriptor'
rm -f closed.tsv
count --kmer 11 b.fa 2>said >/dev/null
judge "no progress bar without a terminal" test ! -s said
if command -v script >/dev/null 2>&1; then
    TERM=xterm timeout 180 script -qec "$cohort count --device $device --kmer 21 --out out.tsv many.fq" screen >/dev/null </dev/null
    judge "a progress bar on a terminal" grep -q 'counting \[' screen
else
    skip "a progress bar on a terminal" "no script(1) here"
fi

judge "files that are not complete: none is left" test "$(ls | grep -c '\.tmp$')" -eq 0

# equal THIS THAT: if not, says what they are.
equal() { [ "$1" = "$2" ] || { echo "'$1', not '$2'" && return 1; }; }

# interrupt SIGNAL STATUS: while the count waits for more input. What writes to the pipe may have to be killed:
# it waits for a reader with the signals that the shell has, and the shell may ignore TERM.
interrupt() {
    local name="interrupted by $1: exit status $2, the old file stays" status
    echo old >out.tsv
    rm -f s.svg pipe ./*.tmp
    mkfifo pipe
    $plainly sleep 60 >pipe &
    local holder=$!
    # A background job of a script ignores SIGINT; a job-controlled one does not.
    set -m
    $plainly "$raw" count --device "$device" --kmer 11 --out out.tsv --spectrum s.svg b.fa pipe >/dev/null 2>said &
    process=$!
    set +m
    for _ in $(seq 100); do
        ls out.tsv.*.tmp >/dev/null 2>&1 && break
        sleep 0.1
    done
    ls s.svg.*.tmp >/dev/null 2>&1 || sleep 0.5
    kill -s "$1" $process
    ends "$name" 30
    wait $process
    status=$?
    kill -s KILL $holder
    wait $holder 2>/dev/null
    rm -f pipe
    judge "$name" equal "$status, $(cat out.tsv), $(ls | grep -E '^s\.svg|\.tmp$' | tr '\n' ' ')" "$2, old, "
}
interrupt INT 130
interrupt TERM 143
interrupt HUP 129
interrupt QUIT 131

# nohup: what is ignored when the tool begins it does not take up.
mkdir ignoring
mkfifo pipe
$plainly sleep 60 >pipe &
holder=$!
(trap '' HUP && exec "$raw" count --device "$device" --kmer 11 --out ignoring/out.tsv b.fa pipe 2>said) &
process=$!
# The writer may go once the tool has the pipe open.
for _ in $(seq 300); do
    readlink /proc/$process/fd/* 2>/dev/null | grep -q '/pipe$' && break
    sleep 0.1
done
kill -s HUP $process
sleep 0.2
kill -s KILL $holder
ends "a HUP that is ignored" 60
wait $process
judge "a HUP that is ignored ends nothing" test $? -eq 0 -a "$(ls ignoring)" = out.tsv
wait $holder 2>/dev/null
rm -rf pipe ignoring

# Killed, a run leaves what is not complete; the next one with the same output removes it, but not what a
# run has that still goes on.
mkdir killing
rm -f s.svg
waiting 'killing/s.svg.*.tmp' count --device "$device" --kmer 11 --out killing/out.tsv --spectrum killing/s.svg b.fa pipe
waited KILL
judge "killed: files that are not complete are left" test "$(ls killing | grep -c '\.tmp$')" -eq 2
count --kmer 11 --out killing/out.tsv --spectrum killing/s.svg b.fa
judge "the next run removes them" test "$(ls killing | tr '\n' ' ')" = 'out.tsv s.svg '
waiting 'killing/out.tsv.*.tmp' count --device "$device" --kmer 11 --out killing/out.tsv b.fa pipe
count --kmer 5 --out killing/out.tsv b.fa
judge "but not those of a run that goes on" test "$(ls killing | grep -c '\.tmp$')" -eq 1 -a "$(head -n 1 killing/out.tsv | cut -f 1 | wc -c)" -eq 6
kill $holder
wait $process
judge "which ends well" test $? -eq 0 -a "$(ls killing | tr '\n' ' ')" = 'out.tsv s.svg ' -a "$(cmp killing/out.tsv expected)" = ''
rm -rf pipe killing
wait $holder 2>/dev/null

rm -f s.svg
"$cohort" count --device "$device" --kmer 31 --spectrum s.svg wrapped.fa | head -n 1 >/dev/null
status=${PIPESTATUS[0]}
judge "standard output that nobody reads any more: no unfinished file stays" \
    test "$status" -eq 141 -a ! -e s.svg -a "$(ls | grep -c '\.tmp$')" -eq 0

# ---- what is refused -------------------------------------------------------------------------------------------------
c="count --device $device"
: >before
: >after
refused "no command" 'usage' bash -c "'$cohort' 2>&1 >/dev/null | head -n 3 | tail -n 1 >&2; exit \${PIPESTATUS[0]}"
refused "an unknown command" 'cohort: cuont: no such command' "$cohort" cuont
refused "no kind" 'one of --kmer K, --u32 and --u64' "$cohort" $c b.fa
refused "two kinds" '--kmer and --u32' "$cohort" $c --kmer 5 --u32 b.fa
refused "--u32 and --u64" '--u32 and --u64' "$cohort" $c --u64 --u32 b.fa
for k in 0 33 -1 +5 5x 1e1 '' 18446744073709551617; do
    refused "K = '$k'" "^cohort count: --kmer $(printf %s "$k" | sed 's/+/\\+/').*from 1 to 32" "$cohort" $c --kmer "$k" b.fa
done
refused "--top 0" '--top 0: must be a whole number, at least 1' "$cohort" $c --kmer 5 --top 0 b.fa
refused "--min 0" '--min 0' "$cohort" $c --kmer 5 --min 0 b.fa
refused "--threads 0" '--threads 0' "$cohort" $c --kmer 5 --threads 0 b.fa
refused "--threads 1025" '--threads 1025.*1 to 1024' "$cohort" $c --kmer 5 --threads 1025 b.fa
refused "--size-hint 5Q" '--size-hint 5Q' "$cohort" $c --kmer 5 --size-hint 5Q b.fa
refused "--size-hint beyond 64 bits" '--size-hint 99999999999G' "$cohort" $c --kmer 5 --size-hint 99999999999G b.fa
refused "--size-hint beyond the largest map" '--size-hint 100000000000000: cannot make the map' \
    "$cohort" $c --kmer 5 --size-hint 100000G b.fa
refused "an unknown option" '--kmers: no such option' "$cohort" $c --kmers 5 b.fa
refused "an option without its value" '--kmer: needs a value' "$cohort" $c b.fa --kmer
refused "a value for a flag" '--canonical=1: takes no value' "$cohort" $c --kmer 5 --canonical=1 b.fa
refused "an option twice" '--kmer: given twice' "$cohort" $c --kmer 5 --kmer 6 b.fa
refused "an empty --out" '--out: its value is empty' "$cohort" $c --kmer 5 --out '' b.fa
refused "--canonical without --kmer" '--canonical' "$cohort" $c --u32 --canonical b.fa
refused "no file" 'no FILE given' "$cohort" $c --kmer 5
refused "standard input twice" 'only once' "$cohort" $c --kmer 5 - -
refused "a device that is not there" '--device cuda:999' "$cohort" count --device cuda:999 --kmer 5 b.fa
refused "a device that is none" '^cohort count: --device toaster: must be "auto", "cpu"' "$cohort" count --device toaster --kmer 5 b.fa
refused "COHORT_DEVICE that is none" '^cohort count: COHORT_DEVICE: device "toaster": must be "auto"' \
    env COHORT_DEVICE=toaster "$cohort" count --kmer 5 b.fa
refused "COHORT_CPU that is none" '^cohort count: COHORT_CPU is "toaster"; it must be' \
    env COHORT_CPU=toaster "$cohort" count --device cpu --kmer 5 b.fa
refused "no such file" 'none\.fa: cannot open: No such file' "$cohort" $c --kmer 5 b.fa none.fa
refused "a directory" ' \./: is a directory' "$cohort" $c --kmer 5 ./
refused "a directory, --u32" ': is a directory' "$cohort" $c --u32 ./
for how in '--kmer 5' --u32; do
    refused "standard input that cannot be read, $how" 'standard input: cannot read: Bad file' \
        bash -c "timeout 20 '$cohort' $c $how - 0>/dev/null"
done
refused "--out a directory" '--out \./: cannot write: Is a directory' "$cohort" $c --kmer 5 --out ./ b.fa
refused "--out in no directory" '--out none/x: cannot write: No such file' "$cohort" $c --kmer 5 --out none/x b.fa
refused "--out over an input" '--out b\.fa: is also read' "$cohort" $c --kmer 5 --out b.fa b.fa
cp b.fa s.svg
refused "--spectrum over an input" '--spectrum \./s\.svg: is also read' "$cohort" $c --kmer 5 --spectrum ./s.svg s.svg
refused "--spectrum of an unknown form" '--spectrum s\.png: .*\.svg' "$cohort" $c --kmer 5 --spectrum s.png b.fa
refused "--spectrum and counts both to standard output" '--spectrum -' "$cohort" $c --kmer 5 --spectrum - b.fa
# Outputs are compared as files: by other paths, through links, before they are there and after.
same_file() {
    refused "one file twice: $1" 'is also the file of' "$cohort" $c --kmer 5 "${@:2}" b.fa
}
mkdir -p sub
ln -s . here
echo old >there.tsv
ln there.tsv hard.tsv
ln -s there.tsv soft.tsv
same_file "--spectrum and --out" --spectrum x.tsv --out x.tsv
same_file "./" --out ./x.tsv --spectrum x.tsv
same_file "through a folder and back" --out x.tsv --spectrum sub/../x.tsv
same_file "through a link to the folder" --out here/x.tsv --spectrum x.tsv
same_file "by its full path" --out "$PWD/x.tsv" --spectrum x.tsv
same_file "two spectra" --out x.out --spectrum s.tsv --spectrum ./s.tsv
same_file "- twice" --out x.out --spectrum - --spectrum -
same_file "one that is there" --out there.tsv --spectrum ./there.tsv
same_file "a hard link" --out there.tsv --spectrum hard.tsv
same_file "a symbolic link" --out there.tsv --spectrum soft.tsv
judge "after these the old one is there" test "$(cat there.tsv)" = old
: >redirected.tsv
"$cohort" $c --kmer 5 --out - --spectrum redirected.tsv b.fa >redirected.tsv 2>said
judge "one file twice: standard output" test $? -eq 2 -a ! -s redirected.tsv -a "$(grep -c 'is also the file of --out' said)" -eq 1
refused "--out over standard input" '--out there\.fa: is also read' bash -c "cp b.fa there.fa; touch before; '$cohort' $c --kmer 5 --out there.fa - <there.fa; s=\$?; rm there.fa; exit \$s"
count --kmer 5 --out x.tsv --spectrum sub/x.tsv b.fa
judge "two files of one name in two folders" test -s x.tsv -a -s sub/x.tsv
rm -rf sub here there.tsv hard.tsv soft.tsv x.tsv redirected.tsv

echo old >keep.tsv
keep="--kmer 5 --out keep.tsv --spectrum keep.svg"
head -c 3000 a.fq.gz >cut.gz
refused "a truncated gzip" 'cut\.gz: byte 3000: truncated' "$cohort" $c $keep cut.gz
head -c 5 a.fq.gz >cut.gz
refused "a gzip cut in its header" 'cut\.gz: byte 5: truncated' "$cohort" $c $keep cut.gz
size=$(wc -c <a.fq.gz)
head -c $((size - 3)) a.fq.gz >cut.gz
refused "a gzip cut in its checksum" 'cut\.gz: byte [0-9]+: truncated' "$cohort" $c $keep cut.gz
{ cat a.fq.gz; echo garbage; } >cut.gz
refused "garbage after gzip" "cut\\.gz: byte $size: something that is not gzip" "$cohort" $c $keep cut.gz
{ head -c 1000 a.fq.gz; printf '\377\377\377\377\377\377'; tail -c +1007 a.fq.gz; } >cut.gz
refused "a damaged gzip" 'cut\.gz: .*(damaged|length|truncated)' "$cohort" $c $keep cut.gz
printf '@a\nACGT\n' >bad.fq
refused "FASTQ without quality" 'bad\.fq:3: .*quality is missing' "$cohort" $c $keep bad.fq
printf '@a\nACGT\n@b\nACGT\n' >bad.fq
refused "FASTQ without quality, next record" "bad\\.fq:3: .*no quality: '\\+' expected" "$cohort" $c $keep bad.fq
printf '@a\nACGT\n+\nIII' >bad.fq
refused "FASTQ whose quality is shorter" 'bad\.fq:4: .*4 letters but 3 quality' "$cohort" $c $keep bad.fq
printf '@a\nACGT\n+\nIIIIII\n' >bad.fq
refused "FASTQ whose quality is longer" 'bad\.fq:4: .*4 letters but 6 quality' "$cohort" $c $keep bad.fq
printf '@a\nA\n+\nI\nACGT\n' >bad.fq
refused "FASTQ with letters between records" "bad\\.fq:5: '@' expected" "$cohort" $c $keep bad.fq
gzip -c bad.fq >bad.fq.gz
refused "the same in gzip" "bad\\.fq\\.gz:5: '@' expected" "$cohort" $c $keep bad.fq.gz
printf '>a\nTTTT\n@r\nACGT\n+\nAAAA\n' >bad.fa
refused "a FASTQ record after FASTA" "bad\\.fa:3: '@' begins a line in the FASTA record of line 1" "$cohort" $c $keep bad.fa
refused "the same on standard input" "standard input:3: '@' begins" bash -c "cat bad.fa | '$cohort' $c --kmer 4 -"
printf '>a\nACGT\n+\nAAAA\n' >bad.fa
refused "FASTQ whose headers are FASTA's" "bad\\.fa:3: '\\+' begins" "$cohort" $c $keep bad.fa
printf 'ACGT\n' >bad.fa
refused "neither FASTA nor FASTQ" 'bad\.fa:1: neither FASTA nor FASTQ' "$cohort" $c $keep bad.fa
refused "the last of several files" 'bad\.fa:1: neither' "$cohort" $c $keep a.fq b.fa bad.fa
refused "bad standard input" 'standard input:1: neither' bash -c "echo x | '$cohort' $c --kmer 5 -"
printf 'BZh91AY&SY' >bad.bz2
printf '\3757zXZ\0\0\4' >bad.xz
refused "an xz file whose first bytes come late" 'standard input: compressed by xz' \
    bash -c "{ head -c 3 bad.xz; sleep 0.5; tail -c +4 bad.xz; } | '$cohort' $c $keep -"
refused "a bzip2 file" 'bad\.bz2: compressed by bzip2' "$cohort" $c $keep bad.bz2
printf '12345' >odd.bin
refused "--u32 of 5 bytes" 'odd\.bin: its 5 bytes are no whole number of 4-byte' "$cohort" $c --u32 --out keep.tsv odd.bin
printf '123456789012' >odd.bin
refused "--u64 of 12 bytes" 'odd\.bin: its 12 bytes are no whole number of 8-byte' "$cohort" $c --u64 --out keep.tsv odd.bin
judge "after all these the old file is there" test "$(cat keep.tsv)" = old
cp b.fa secret.fa
chmod 0 secret.fa
if [ "$(id -u)" -ne 0 ]; then
    refused "an unreadable file" 'secret\.fa: cannot open: Permission denied' "$cohort" $c --kmer 5 secret.fa
elif chmod 755 . && setpriv --reuid 65534 --clear-groups --regid 65534 "$cohort" --version >/dev/null 2>&1; then
    refused "an unreadable file" 'secret\.fa: cannot open: Permission denied' setpriv --reuid 65534 --clear-groups \
        --regid 65534 "$cohort" $c --kmer 5 secret.fa
else
    skip "refused: an unreadable file" "root reads everything"
fi

# ---- the rest --------------------------------------------------------------------------------------------------------
judge "--version" bash -c "'$cohort' --version | grep -qE '^cohort [0-9]+\.[0-9]+\.[0-9]+$'"
for command in '' count sort split set info bench; do
    judge "cohort $command --help shows an example" bash -c "'$cohort' $command --help | grep -q '^  cohort .*[a-z]'"
done
judge "cohort help count" bash -c "'$cohort' help count | grep -q -- --canonical"
judge "cohort help sort" bash -c "'$cohort' help sort | grep -q -- --descending"
judge "info names the CPU" bash -c "'$cohort' info | grep -q '^cpu$'"
"$cohort" info --device "$device" >told
for line in 'device          .+' '(threads        |multiprocessors) [1-9][0-9]*' 'memory          [0-9.]+ .*, [0-9.]+ .* free' \
    'map widths     .*64/64.* \(bits of key/value\)'; do
    judge "info has a line '$line'" grep -qxE "  $line" told
done
refused "info of a device that is not there" '--device cuda:999' "$cohort" info --device cuda:999
