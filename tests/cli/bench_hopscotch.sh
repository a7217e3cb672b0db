# Tests of `cohort bench hopscotch`: that every experiment runs at tiny sizes with right answers (a wrong
# one ends it), and what it refuses. Sourced by run.sh.

hopscotch() { "$cohort" bench hopscotch --device "$device" --table-bytes 1M --runs 1 "$@"; }

units "the check of mixed streams" test_bench_mix
hopscotch --quick --experiment all --n 3000 --peers none --json hop.json --plot hop.svg >printed 2>said
judge "bench hopscotch: exit status 0, nothing on standard error" test $? -eq 0 -a ! -s said
for row in "mix 20/20/60 lines +64/64 +half there, key range 100 " "mix 40/40/20 pages +64/64 +half there, key range 100000 " \
    "mix find lines .*none there, exponent 1.2 " "mix find pages .* 0.95 "; do
    judge "bench hopscotch: $row" grep -qE "^$row" printed
done
valid "bench hopscotch --json is JSON" hop.json
drawing "bench hopscotch --plot is XML" hop.svg
if [ "$device" = cpu ]; then
    judge "bench hopscotch: lines never refuse in ageing" bash -c '! grep -q "^lines at load .*: refused" printed'
    judge "bench hopscotch: rows of ageing" test "$(grep -c '^age changes lines ' printed)" -ge 6
fi
tables='lines pages linear quadratic cuckoo'
[ "$device" = cpu ] || tables='lines pages' # the others are a program's
for table in $tables; do
    judge "bench hopscotch: static, $table" test "$(grep -cE "^static (build|retrieve|absent) $table .* GPU sectors [0-9.]+$" printed)" -eq 12
    lines=3 # build, retrieve and absent; of lines and pages the two mixes of ranges, too
    [[ $table != lines && $table != pages ]] || lines=5
    judge "bench hopscotch: $table, sectors in the drawing" test "$(grep -cE ">$table, [0-9.]+ sectors<" hop.svg)" -eq $lines
done
if [ "$device" != cpu ] && [ -x "$build/peers/peer_rivals" ]; then
    hopscotch --quick --experiment static --peers "$build/peers" >printed 2>said
    for table in linear quadratic cuckoo; do
        judge "bench hopscotch: static on a GPU, $table" test "$(grep -cE "^static (build|retrieve|absent) $table " printed)" -eq 12
    done
fi
if [ "$device" = cpu ]; then
    hopscotch --quick --experiment zipf --exponent 1.2 --n 700000 --layout pages --row-seconds 1 --peers none --json cut.json >printed 2>said
    judge "bench hopscotch: pages that one key wears out do a prefix" test $? -eq 0 -a "$(grep -c '^mix 40/40/20 pages .* exponent 1.2 .* prefix [0-9]*,' printed)" -eq 1
    valid "bench hopscotch: such a row is JSON" cut.json
fi
hopscotch --experiment loads --n 500 --load 0.7 --width 32/32 --layout lines --peers none >printed 2>said
judge "bench hopscotch --layout" test $? -eq 0 -a "$(grep -c '^mix .* lines ' printed)" -eq 4 -a "$(grep -c ' pages ' printed)" -eq 0
hopscotch --experiment sizes --n 1,700 --layout lines --peers none >printed 2>said
judge "bench hopscotch: one operation" test $? -eq 0 -a "$(grep -c '^mix ' printed)" -eq 4
hopscotch --experiment zipf --exponent 0.5,2 --n 700 --layout lines --peers none >printed 2>said
judge "bench hopscotch --exponent" test $? -eq 0 -a "$(grep -c '^mix .* exponent 0.5 ' printed)" -eq 4 -a "$(grep -c '^mix .* exponent 2 ' printed)" -eq 4 \
    -a "$(grep -c '^mix ' printed)" -eq 8
hopscotch --exponent 5 >printed 2>said
judge "bench hopscotch --exponent 5 is refused" test $? -eq 2 -a "$(grep -c -- '--exponent' said)" -eq 1
hopscotch --quick --experiment ranges,loads,zipf,ageing --n 900 --load 0.7 --width 128/64 --peers none >printed 2>said
judge "bench hopscotch: keys of 16 bytes" test $? -eq 0 -a ! -s said -a "$(grep -c '^mix .* lines  *128/64 ' printed)" -eq 32
judge "bench hopscotch: keys of 16 bytes, no pages" test "$(grep -c ' pages ' printed)" -eq 0
if [ "$device" = cpu ]; then
    judge "bench hopscotch: ageing with keys of 16 bytes" test "$(grep -c '^age .* lines  *128/64 ' printed)" -ge 12
fi
hopscotch --quick --width 128/64 --peers none >printed 2>said
judge "bench hopscotch: keys of 16 bytes, static is left out" test $? -eq 0 -a "$(grep -c '^static: left out' printed)" -eq 1 -a \
    "$(grep -c '^static build' printed)" -eq 0
if [ "$device" = cpu ] && ! "$cohort" info --device cpu | grep -q ', no jansson;'; then
    mkdir -p nobody
    hopscotch --experiment loads --n 500 --load 0.7 --layout lines --peers nobody >printed 2>said
    judge "bench hopscotch without peers: a line each" test $? -eq 0 -a "$(grep -c '^no figures of peer_.*scripts/deps.sh --bench' printed)" -eq 3
    rmdir nobody
    if [ -d "$build/peers" ] && ls "$build"/peers/peer_{cuckoo,tbb,urcu} >/dev/null 2>&1; then
        hopscotch --experiment loads --n 5000 --load 0.7 --layout lines --peers "$build/peers" >printed 2>said
        judge "bench hopscotch beside peers" test $? -eq 0 -a "$(grep -c '^mix .* lines .* [0-9.]* [tl]' printed)" -eq 4
        judge "bench hopscotch: peers' answers are right" bash -c '! grep -q "^peer left out" printed'
        hopscotch --experiment loads --n 5000 --load 0.7 --width 128/64 --peers "$build/peers" >printed 2>said
        judge "bench hopscotch beside peers, keys of 16 bytes" test $? -eq 0 -a "$(grep -c '^mix .* lines .* [0-9.]* [tl]' printed)" -eq 4 -a \
            "$(grep -c '^peer left out' printed)" -eq 0
        for name in peer_cuckoo peer_tbb peer_urcu; do
            peer=$build/peers/$name
            [ -x "$peer" ] || continue
            "$peer" --experiment mixes --n 40000 --runs 3 --threads 2 --range 2000 --room 2000 --bound 0.00001 >cut.json 2>said
            judge "bench hopscotch: $name that takes too long does a prefix" test $? -eq 0 -a "$(grep -c '"runs": [123], "extras": {"prefix": 16384}' cut.json)" -eq 4
            valid "bench hopscotch: $name, a prefix is JSON" cut.json
            "$peer" --experiment mixes --n 40000 --runs 3 --threads 2 --range 2000 --room 2000 --bound 1000 >cut.json 2>said
            judge "bench hopscotch: $name that does not is whole" test $? -eq 0 -a "$(grep -c '"runs": 3, "peer"' cut.json)" -eq 4
        done
    else
        skip "bench hopscotch beside peers" "none is built"
    fi
fi
refused "bench hopscotch with a file" 'x: bench hopscotch takes no files' "$cohort" bench hopscotch x
refused "bench hopscotch --layout" '--layout rows: must be lines or pages' "$cohort" bench hopscotch --layout rows
refused "bench hopscotch --width" '--width 64/0: must be 32/32, 64/64 or 128/64' "$cohort" bench hopscotch --width 64/0
refused "bench hopscotch --experiment" '--experiment spin: must be static, ranges, sizes, loads, zipf, threads, ageing or all' "$cohort" bench hopscotch --experiment spin
refused "bench hopscotch: static of a width" '--width 128/64: the tables of static hold a pair in one word: 32/32 alone' \
    "$cohort" bench hopscotch --width 128/64 --experiment ranges,static
refused "bench hopscotch: pages of keys of 16 bytes" '--width 128/64: maps of pages have no keys of 16 bytes' \
    "$cohort" bench hopscotch --width 128/64 --layout pages
refused "bench hopscotch --row-seconds" '--row-seconds' "$cohort" bench hopscotch --row-seconds 0
