# Tests of `cohort bench table`: every answer against one made by plain loops (naive_tables.py), sourced by
# run.sh.

table() { "$cohort" bench table --device "$device" --table-bytes 1M --runs 1 "$@"; }

table --n 2000 --peers none --json table.json --plot table.svg >printed 2>said
judge "bench table: exit status 0, nothing on standard error" test $? -eq 0 -a ! -s said
for row in "group q1" "group q10" "join j1" "join j5"; do
    judge "bench table: $row" grep -qE "^$row dictionary " printed
done
valid "bench table --json is JSON" table.json
drawing "bench table --plot is XML" table.svg
judge "bench table: three K of groups, one of joins" test "$(grep -c '^group q5 ' printed)" -eq 3 -a "$(grep -c '^join j2 ' printed)" -eq 1
table --n 5K --quick --experiment sweep --peers none --plot sweep.svg >printed 2>said
judge "bench table: the sweep" test $? -eq 0 -a ! -s said -a "$(grep -c '^join pairs ' printed)" -eq 36
table --n 5K --quick --experiment sweep --method partitioned,factor --peers none >printed 2>said
judge "bench table: the sweep by methods, of the same pairs" test $? -eq 0 -a ! -s said -a \
    "$(grep -c '^join pairs partitioned ' printed)" -eq 36 -a \
    "$(grep '^join pairs factor ' printed | grep -o 'pairs [0-9]*$')" = "$(grep '^join pairs partitioned ' printed | grep -o 'pairs [0-9]*$')"
table --n 5K --quick --experiment sweep --peers none --plot sweep.svg >printed 2>said
judge "bench table: the sweep's pairs where nothing matches" bash -c '! grep -E "match 0 .*pairs [1-9]" printed'
judge "bench table: the sweep's pairs, 16 a row" grep -qE 'right 1/1, 16 a key, share with a match 1 .* pairs (79|80)[0-9]{3}$' printed
drawing "bench table: the sweep drawn" sweep.svg
table --n 1000 --k 10 --query q2,j4 --peers none >printed 2>said
judge "bench table --query" test "$(grep -cE '^(group|join) ' printed)" -eq 2
table --n 1000 --k 10 --query sd,nunique --peers none >printed 2>said
judge "bench table --query of those that are only asked by name" test "$(grep -cE '^group (sd|nunique) ' printed)" -eq 2 -a \
    "$(grep -cE '^(group|join) ' printed)" -eq 2 -a ! -s said

if command -v python3 >/dev/null 2>&1 && ! "$cohort" info --device cpu | grep -q ', no jansson;'; then
    mkdir -p naive
    cp "$here/naive_tables.py" naive/peer_tables
    chmod +x naive/peer_tables
    for threads in 1 2; do
        table --n 1000 --k 7,2 --threads $threads --input plain,sorted,nulls --text dictionary,utf8 --peers naive >printed 2>said
        judge "bench table: all answers are those of plain loops, threads $threads" test $? -eq 0 -a ! -s said -a \
            "$(grep -cE '^(group|join) .* naive ' printed)" -eq 114
        table --n 1000 --k 7,2 --threads $threads --experiment groups --query sd,nunique --input plain,sorted,nulls \
            --text dictionary,utf8 --peers naive >printed 2>said
        judge "bench table: deviations and counts of distinct values are those of plain loops, threads $threads" test \
            $? -eq 0 -a ! -s said -a "$(grep -cE '^group (sd|nunique) .* naive ' printed)" -eq 24
    done
    NAIVE_WRONG=1 table --n 1000 --k 7 --experiment groups --query q1 --peers naive >printed 2>said
    judge "bench table: another answer ends it" test $? -eq 1 -a "$(grep -c 'the answers differ' said)" -eq 1
else
    skip "bench table: answers" "python3 or libjansson is missing"
fi
# The answers of duckdb and polars at 10^5 rows, where they are installed (scripts/deps.sh --bench).
if [ "$device" = cpu ]; then
    mkdir -p real
    cp "$here/../../bench/peers/engines.py" real
    cp "$here/../../bench/peers/peer_tables.py" real/peer_tables
    chmod +x real/peer_tables
    table --n 100K --k 100,2 --threads 2 --input plain,nulls --peers real >printed 2>said
    status=$?
    table --n 100K --k 100,2 --threads 2 --experiment groups --query sd,nunique --input plain,nulls --peers real \
        >printed-named 2>said-named
    status_named=$?
fi
if [ "$device" != cpu ] || grep -qE 'neither duckdb nor polars|reads no JSON' printed; then
    skip "bench table: the answers of duckdb and polars at 10^5 rows" "the device is $device, or they are not installed"
else
    judge "bench table: 10^5 rows, all answers are those of duckdb and polars" test $status -eq 0 -a ! -s said -a \
        "$(grep -c '^peers, beside 38 of 38 rows' printed)" -eq 1
    judge "bench table: 10^5 rows, their deviations and counts of distinct values" test $status_named -eq 0 -a \
        ! -s said-named -a "$(grep -c '^peers, beside 8 of 8 rows' printed-named)" -eq 1
fi
printf '#!/bin/sh\necho "{\\"rows\\": []}"\n' >naive-none
mkdir -p nobody
mv naive-none nobody/peer_tables
chmod +x nobody/peer_tables
table --n 1000 --k 7 --experiment groups --query q1 --peers nobody >printed 2>said
if ! grep -q 'reads no JSON' printed; then
    judge "bench table without peers: one line" test "$(grep -c 'neither duckdb nor polars' printed)" -eq 1
fi
rm -r nobody
refused "bench table with a file" 'x: bench table takes no files' "$cohort" bench table x
refused "bench table --k 0" '--k 0: must be' "$cohort" bench table --device "$device" --table-bytes 1M --k 0
refused "bench table --input odd" '--input odd: must be plain, sorted or nulls' "$cohort" bench table --input odd
refused "bench table --text wide" '--text wide: must be dictionary or utf8' "$cohort" bench table --text wide
refused "bench table --method many" '--method many: must be auto, dense, partitioned or factor' "$cohort" bench table --experiment sweep --method many
refused "bench table --experiment all of it" '--experiment spin: must be groups, joins, sweep or all' "$cohort" bench table --experiment spin
