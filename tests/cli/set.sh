# Tests of `cohort set`, against sort, uniq and awk. Sourced by run.sh after split.sh.

# ids SEED N MODULUS: that many integers, in no order, with duplicates.
ids() { awk -v s="$1" -v n="$2" -v m="$3" 'BEGIN { srand(s); for (i = 0; i < n; i++) printf "%d\n", rand() * m }'; }
ascending() { LC_ALL=C sort -n -u "$1"; }

# Members of at least K of the files after it.
shared() {
    local k=$1 file
    shift
    for file in "$@"; do ascending "$file"; done | LC_ALL=C sort -n | uniq -c | awk -v k="$k" '$1 >= k { print $2 }'
}
odd() { for file in "$@"; do ascending "$file"; done | LC_ALL=C sort -n | uniq -c | awk '$1 % 2 { print $2 }'; }
first_alone() {
    ascending "$1" >one
    shift
    shared 1 "$@" >others
    awk 'NR == FNR { out[$1] = 1; next } !($1 in out)' others one
}

set_() { "$cohort" set --device "$device" "$@"; }

# operation NAME EXPECTED OP FILE...: the members, their count, and the same by way of Roaring.
operation() {
    local name=$1 expected=$2
    shift 2
    judge "set $name" cmp <(set_ "$@" 2>&1) "$expected"
    judge "set $name --count" test "$(set_ "$@" --count 2>&1)" = "$(wc -l <"$expected")"
    rm -f answer.roaring
    set_ "$@" --format roaring --out answer.roaring
    judge "set $name by way of Roaring" cmp <(set_ or answer.roaring 2>&1) "$expected"
}

# every NAME FILE...: all operations over these files.
every() {
    local name=$1
    shift
    shared $# "$@" >expected && operation "and of $name" expected and "$@"
    shared 1 "$@" >expected && operation "or of $name" expected or "$@"
    odd "$@" >expected && operation "xor of $name" expected xor "$@"
    shared 2 "$@" >expected && operation "atleast:2 of $name" expected atleast:2 "$@"
    first_alone "$@" >expected && operation "andnot of $name" expected andnot "$@"
}

ids 1 20000 50000 >a.ids
ids 2 9000 50000 | tr '\n' ',' >b.ids
ids 3 30000 400000 | paste -sd ' ' >c.ids
tr ',' '\n' <b.ids >b.lines
tr ' ' '\n' <c.ids >c.lines
every "two texts" a.ids b.lines
every "three texts" a.ids b.lines c.lines
shared 3 a.ids b.lines c.lines >expected
operation "and of lines, commas and spaces" expected and a.ids b.ids c.ids
set_ or a.ids --format roaring --out a.roaring
set_ or c.ids --format roaring | gzip >c.roaring.gz
operation "and of Roaring, text and compressed Roaring" expected and a.roaring b.ids c.roaring.gz
judge "set and with standard input" cmp <(set_ and - b.ids c.ids <a.ids 2>&1) expected
seq 4294967200 4294967295 >high.ids
seq 65500 70000 >run.ids
every "runs and the greatest of 32 bits" high.ids run.ids a.ids
printf '0 18446744073709551615,4294967296\r\n7' >wide.ids
printf '0\n7\n4294967296\n18446744073709551615\n' >expected
operation "or of integers of 64 bits" expected or wide.ids
set_ or wide.ids --format roaring --out wide.roaring
printf '0\n1\n2\n3\n7\n4294967296\n18446744073709551615\n' >expected
seq 0 3 >low.ids
set_ or low.ids --format roaring --out low.roaring
operation "or of Roaring of 32 and 64 bits" expected or low.roaring wide.roaring
printf '0\n' >expected
operation "and of 32 and 64 bits" expected and low.roaring wide.roaring
: >nothing.ids
: >expected
operation "or of an empty file" expected or nothing.ids
operation "atleast:3 of two" expected atleast:3 a.ids a.ids
printf '5\n4294967296' >last.ids
judge "set or of a text whose last integer alone is above 2^32, and ends it" cmp <(set_ or last.ids) <(cat last.ids; echo)
judge "set --format u32" cmp <(set_ or a.ids --format u32 | od -An -v -t u4 -w4 | tr -d ' ') <(ascending a.ids)
printf ':0\0\0\1\0\0\0\5\0\1\0\20\0\0\0\1\0\2\0' >tiny.roaring
printf '327681\n327682\n' >expected
operation "of a Roaring file by its bytes" expected or tiny.roaring
judge "what it writes is that file" cmp <(set_ or tiny.roaring --format roaring) tiny.roaring
set_ info a.roaring wide.ids nothing.ids >told
judge "set info: Roaring" grep -q '^  format   Roaring of 32 bits, ' told
judge "set info: members" grep -q "^  members  $(ascending a.ids | wc -l), from " told
judge "set info: edges" grep -q '^  members  4, from 0 to 18446744073709551615$' told
judge "set info: an empty text" grep -q '^  members  0$' told
judge "set info: 3 files" test "$(grep -c '^  format' told)" = 3
echo old >kept.out
refused "set without OP" 'OP must be given' "$cohort" set
refused "set of a strange OP" '^cohort set: nand: no such operation' "$cohort" set nand a.ids
refused "set atleast:0" 'atleast:0: no such operation' "$cohort" set atleast:0 a.ids
refused "set atleast:" 'atleast:: no such operation' "$cohort" set atleast: a.ids
refused "set without FILE" 'and: a FILE must be given' "$cohort" set and
refused "set --format csv" '--format csv: must be' "$cohort" set and --format csv a.ids
refused "set --count --out" '--out: does not go with --count' "$cohort" set and --count --out x a.ids
refused "set info --count" '--count: does not go with info' "$cohort" set info --count a.ids
refused "set of - twice" '-: standard input can be read only once' "$cohort" set and - -
refused "set of a file that is not there" 'none\.ids: cannot open' "$cohort" set and a.ids none.ids
printf '1 2 x' >bad.ids
refused "set of a text with a letter" "bad\\.ids: byte 4: 'x'; a text" "$cohort" set or --out kept.out a.ids bad.ids
printf '1 -2' >bad.ids
refused "set of a negative integer" "bad\\.ids: byte 2: '-'" "$cohort" set or bad.ids
printf '1\0002' >bad.ids
refused "set of a text with a zero" "bad\\.ids: Roaring of 64 bits: " "$cohort" set or bad.ids
printf '18446744073709551616' >bad.ids
refused "set of 2^64" 'bad\.ids: byte 19: an integer above 2\^64 - 1' "$cohort" set or bad.ids
head -c 100 a.roaring >cut.roaring
refused "set of a Roaring file cut short" 'cut\.roaring: Roaring of 32 bits: ' "$cohort" set or --out kept.out a.roaring cut.roaring
head -c 20 wide.roaring >cut.roaring
refused "set of a Roaring file of 64 bits cut short" 'cut\.roaring: Roaring of 64 bits: ' "$cohort" set or cut.roaring
seq 4294967200 4294967400 >across.ids
refused "set --format u32 of a run across 2^32" '--format u32: the answer has the member 4294967400' "$cohort" set or across.ids --format u32
refused "set --format u32 of 64 bits" '--format u32: the answer has the member 18446744073709551615' "$cohort" set or wide.ids --format u32
judge "after all these the old file of a set is there" test "$(cat kept.out)" = old
