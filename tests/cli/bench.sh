# Tests of `cohort bench`: that everything runs at tiny sizes, what it writes, and what it refuses. Figures
# mean nothing here. Sourced by run.sh.

tiny="--device $device --quick --table-bytes 1M --runs 1"
bench() { "$cohort" bench "$@"; }

refused "bench of nothing" 'limits' "$cohort" bench
refused "bench of what is not" 'speed: no such measurement' "$cohort" bench speed
refused "bench limits with a file" 'x: bench limits takes no files' "$cohort" bench limits x
bench limits --device "$device" --table-bytes 16M --json limits.json >printed 2>said
judge "bench limits" grep -qE '^  copy, read and written +[0-9.]+ GB/s$' printed
judge "bench limits --json" grep -qE '"copy_bytes": [0-9.e+]+,' limits.json
valid "bench limits --json is JSON" limits.json
judge "figures carry a commit and a date" grep -qE '"commit": "[^"]+",' limits.json

# ---- map --------------------------------------------------------------------------------------------------------------
bench map $tiny --n 3000 --load 0.5,0.9 --width 32/0,32/32,64/0,64/32,64/64 --peers none --experiment operations \
    --json map.json --plot map.svg >printed 2>said
judge "bench map: exit status 0, nothing on standard error" test $? -eq 0 -a ! -s said
for row in insert find contains assign 'apply add' export run erase; do
    judge "bench map: $row" grep -qE "^map $row +64/64 " printed
done
judge "bench map: widths without values have no find" bash -c '! grep -qE "^map find +(32|64)/0 " printed'
judge "bench map: rows are held against a limit" grep -qE ' [0-9.]+ [RC]( cached)? *$' printed
valid "bench map --json is JSON" map.json
drawing "bench map --plot is XML" map.svg
bench map $tiny --n 5000 --experiment all --width 32/32,64/64 --load 0.5 --peers none --json all.json --plot all.svg \
    >printed 2>said
judge "bench map --experiment all" test $? -eq 0 -a ! -s said
for name in operations headline duplicates multimap groups sweep deletes host readers batches sums full; do
    judge "experiment $name" grep -q "\"experiment\": \"$name\"" all.json
done
judge "the sweep tells probe lengths" grep -qE '"probe_mean": [0-9.]+, "probe_max": [0-9]+' all.json
judge "the sweep ends at load 0.94" grep -qE '^sweep insert .* 0\.94 ' printed
judge "multimap: 10,000 values a key" grep -qE '^multimap retrieve .* 10000 ' printed
judge "readers tell their gain" grep -qE '^multimap readers find .* gain [0-9.]+, gain of R [0-9.]+$' printed
drawing "all experiments drawn" all.svg
if [ "$device" = cpu ] && command -v python3 >/dev/null 2>&1 && ! "$cohort" info --device cpu | grep -q ', no jansson;'; then
    mkdir -p engines rivals
    cp "$here/../../bench/peers/engines.py" engines
    cp "$here/../../bench/peers/peer_sums.py" engines/peer_sums
    chmod +x engines/peer_sums
    bench map $tiny --n 20000 --width 64/64 --experiment sums --peers engines --json engines.json >printed 2>said
    judge "sums beside engines of tables" test $? -eq 0 -a ! -s said
    if grep -q 'sums: without polars, duckdb, pandas ' printed; then
        skip "sums: the answers of polars, duckdb and pandas" "none is installed"
    else
        judge "sums: each engine has a row a column, or a line says why not" test $(($(grep -cE '"(polars|duckdb|pandas)"' engines.json) + \
            5 * $(grep '^sums: without' printed | tr ' ' '\n' | grep -cE 'polars|duckdb|pandas'))) -eq 15
    fi
    printf '#!/bin/sh\necho "{\\"rows\\": [{\\"name\\": \\"sums add\\", \\"width\\": \\"64/64\\", \\"keys\\": \\"uniform\\", %s]}"\n' \
        '\"at_name\": \"keys\", \"at\": 1, \"n\": 2000, \"median\": 1, \"peer\": {\"name\": \"pandas\"}, \"extras\": {\"groups\": 1, \"check\": 7}}' >rivals/peer_sums
    chmod +x rivals/peer_sums
    bench map $tiny --n 2000 --width 64/64 --experiment sums --peers rivals >printed 2>said
    judge "sums: another answer ends it" test $? -eq 1 -a "$(grep -c 'sums, uniform, 1 keys: another answer of pandas' said)" -eq 1
    judge "sums: a line says who is not there" grep -q '^sums: without polars, duckdb ' printed
    rm -r engines rivals
else
    skip "sums beside engines of tables" "the device is $device, or python3 or libjansson is missing"
fi
bench map $tiny --n 2000 --load 0.5 --width 32/32 --only 'map find,erase' --peers none --experiment operations >printed
judge "--only" test "$(grep -cE '^map (find|erase) ' printed)" -eq 4 -a "$(grep -c '^map ' printed)" -eq 4
bench map $tiny --n 2000 --load 0.5 --width 32/32 --only spin --peers none --experiment operations --json only.json >printed 2>said
judge "--only of no row: exit status 2, no file" test $? -eq 2 -a ! -e only.json -a -n "$(grep -- '--only spin: no row' said)"
bench map $tiny --n 2000 --load 0.5 --width 32/32 --experiment operations --peers none --json - >printed
valid "--json - prints JSON and nothing else" printed
bench sort $tiny --n 1K,2M,1.5k --width 32/0 --input equal --experiment sort --peers none >printed 2>said
judge "--n with K and M" test $? -eq 0 -a ! -s said -a "$(grep -cE '^sort .* (1,000|2,000,000|1,500) ' printed)" -eq 3
for n in 1 2; do
    bench map $tiny --n $n --load 1 --width 64/64 --experiment operations,headline,deletes,host --peers none >printed 2>said
    judge "n = $n" test $? -eq 0 -a ! -s said
done

for what in --tune '--experiment loads'; do # of GPUs alone
    # shellcheck disable=SC2086
    bench map $tiny --n 2000 --load 0.5 --width 32/32 --peers none $what >printed 2>said
    judge "bench map $what on a CPU" test $? -eq 0 -a ! -s said -a -n "$(grep 'a matter of GPUs' printed)"
done
refused "map with a file" 'x: bench map takes no files' "$cohort" bench map x
refused "--n 0" '--n 0: must be a whole number from 1' "$cohort" bench map --n 0
refused "--n of two things" '--n many: must be' "$cohort" bench map --n 1000,many
refused "--n of an unknown suffix" '--n 1T: must be a whole number' "$cohort" bench map --n 1T
refused "--n of a suffix and more" '--n 1KB: must be a whole number' "$cohort" bench sort --n 1KB
refused "--n of no whole number" '--n 2.5: must be a whole number' "$cohort" bench multisplit --n 2.5
refused "--n too large for its width" '--n 3000000000: at most 2147483648' "$cohort" bench map $tiny --n 3000000000 \
    --width 32/32 --json -
refused "--table-bytes 65535" '--table-bytes 65535: must be .* 65536' "$cohort" bench limits --table-bytes 65535
refused "--load 0" '--load 0: must be' "$cohort" bench map --load 0
refused "--load 1.5" '--load 1.5: must be' "$cohort" bench map --load 0.5,1.5
refused "--width 16/16" '--width 16/16: must be' "$cohort" bench map --width 32/32,16/16
refused "--experiment of none" '--experiment spin: must be' "$cohort" bench map --experiment sweep,spin
refused "--runs 33" '--runs 33.*1 to 32' "$cohort" bench map --runs 33
refused "--json in no directory" '--json none/x: cannot write' "$cohort" bench map $tiny --json none/x
refused "--plot over --json" '--plot x: is also the file of --json' "$cohort" bench map --json x --plot x
refused "--plot over --json by another path" "--plot \./x: is also the file of --json" "$cohort" bench map --json x --plot ./x
refused "--peers in no directory" '--peers none: |no such folder' "$cohort" bench map $tiny --json - --peers nowhere

# ---- what others measured ----------------------------------------------------------------------------------------------
cat >peer.json <<'END'
{"peer": {"name": "their map", "version": "1.2", "date": "2026-08-01", "machine": "a <machine> & more"},
 "rows": [{"name": "map find", "width": "32/32", "keys": "all there", "n": 3000, "load": 0.5, "median": 1e6},
          {"name": "map find", "width": "32/32", "keys": "all there", "n": 3000, "load": 0.5, "median": 1e3},
          {"name": "map find", "width": "64/64", "keys": "all there", "n": 3000, "median": 2e6, "least": 1e6, "most": 3e6}]}
END
if ! "$cohort" info --device cpu | grep -q ', no jansson;'; then
    bench show map.json >printed 2>said
    judge "bench show: exit status 0" test $? -eq 0 -a ! -s said
    judge "bench show" test "$(grep -c '^map ' printed)" -eq "$(grep -c '"name"' map.json)"
    bench show map.json --name 'map find' --width 64/64 --plot find.svg --against peer.json >printed
    judge "bench show: a selection" test "$(grep -c '^map find ' printed)" -eq 6 -a "$(grep -c '^map ' printed)" -eq 6
    judge "--against: beside each load where the peer has none" test "$(grep -cE '[0-9.]+ their map$' printed)" -eq 2
    judge "--against: who that is" grep -qF '  their map 1.2, 2026-08-01, on a <machine> & more' printed
    drawing "bench show --plot is XML" find.svg
    judge "the drawing names the peer" grep -q 'their map' find.svg
    bench map $tiny --n 3000 --load 0.5 --width 32/32 --experiment operations --peers none --against peer.json >printed
    judge "--against while measuring, the best of them" test "$(grep -cE '[0-9.]+ their map$' printed)" -eq 1

    bench compare map.json map.json >printed 2>said
    judge "bench compare with itself" test $? -eq 0 -a ! -s said -a "$(grep -c slower printed)" -eq 1
    sed -E '0,/"median": [0-9.e+]+, "least": [0-9.e+]+, "most": [0-9.e+]+/s//"median": 2, "least": 1, "most": 3/' map.json >slow.json
    bench compare map.json slow.json >printed 2>said
    judge "bench compare: slower is exit status 1" test $? -eq 1 -a "$(grep -c '^slower ' printed)" -eq 1
    bench compare slow.json map.json >printed 2>said
    judge "bench compare: faster is exit status 0" test $? -eq 0 -a "$(grep -c '^faster ' printed)" -eq 1
    refused "bench compare of one file" 'two files' "$cohort" bench compare map.json
    refused "bench compare of what is not there" 'none.json: cannot open' "$cohort" bench compare none.json map.json
    refused "bench compare --tolerance" '--tolerance x: must be' "$cohort" bench compare --tolerance x map.json map.json
    refused "bench compare of nothing in common" 'no row in common' "$cohort" bench compare map.json peer.json

    cat >page.md <<'END'
# A page
<!-- figures: map.json --against peer.json --name "map find,map erase" --width 32/32 --columns load --plot page.svg --limits -->
<!-- end of figures -->
and
<!-- figures: map.json
     --name "map insert" --width 64/64 -->
old
<!-- end of figures -->
its end
END
    cp page.md before.md
    bench pages --check page.md >printed 2>said
    judge "bench pages --check: exit status 1" test $? -eq 1 -a "$(cmp page.md before.md && echo same)" = same
    bench pages page.md >printed 2>said
    judge "bench pages" test $? -eq 0 -a ! -s said -a "$(grep -c '^| map find | 32/32 |' page.md)" -eq 3
    judge "bench pages: columns and the best of others" \
        grep -qE '^. map find . 32/32 . all there . [0-9.]+ . [0-9.]+ . [GM]/s . [0-9.]+ / - .$' page.md
    judge "bench pages: a line a row" test "$(grep -c '^| map insert | 64/64 |' page.md)" -eq 6
    {
        echo '<!-- figures: map.json --against peer.json --name "map find" --width 32/32,64/64 --columns peer -->'
        echo '<!-- end of figures -->'
    } >peers.md
    bench pages peers.md >printed 2>said
    judge "bench pages: a column for each of the others" test $? -eq 0 -a ! -s said -a \
        "$(grep -c '^| | width | keys | ours | their map | unit |$' peers.md)" -eq 1 -a "$(grep -c '^| map find |' peers.md)" -eq 12
    judge "bench pages: the best of each of them, where it stands beside ours" test \
        "$(grep -cE '^. map find . 32/32 . all there . [0-9.]+ . [0-9.]+ . [GM]/s .$' peers.md)" -eq 1 -a \
        "$(grep -cE '^. map find . 64/64 . all there . [0-9.]+ . [0-9.]+ . [GM]/s .$' peers.md)" -eq 2 -a \
        "$(grep -cE '^. map find .*. [0-9.]+ .  . [GM]/s .$' peers.md)" -eq 9 -a "$(grep -c '^Others: their map 1.2.$' peers.md)" -eq 1
    judge "bench pages: text around stays" test "$(grep -cE '^(# A page|and|its end|old)$' page.md)" -eq 3
    judge "bench pages: the command and the limits" test "$(grep -c '^Limits in the same run: copy' page.md)" -eq 1 -a \
        "$(grep -c 'cohort bench map' page.md)" -eq 2
    drawing "bench pages --plot is XML" page.svg
    sed 's/"median"/"extras": {"prefix": 65536}, "median"/' peer.json >prefix.json
    printf '<!-- figures: map.json --against prefix.json --name "map find" --width 32/32 -->\n<!-- end of figures -->\n' >prefix.md
    bench pages prefix.md >printed 2>said
    judge "bench pages: a peer that was measured on a prefix" test $? -eq 0 -a \
        "$(grep -cE '^By a prefix, as all would take too long: their map, map find, .* \(65,536\)' prefix.md)" -eq 1
    bench pages --check page.md >printed 2>said
    judge "bench pages --check after that" test $? -eq 0 -a ! -s said
    sed -i 's/^<text/<text /' page.svg
    bench pages --check page.md >printed 2>said
    judge "bench pages --check: another drawing" test $? -eq 1 -a "$(grep -c 'page.svg: not what' said)" -eq 1
    refused "bench pages of nothing" 'needs a PAGE' "$cohort" bench pages
    refused "bench pages: no such page" 'PAGE none.md: cannot be read' "$cohort" bench pages none.md
    echo text >page.md
    refused "bench pages: nothing to write" "page.md: has no '<!-- figures:'" "$cohort" bench pages page.md
    echo '<!-- figures: map.json --columns age --><!-- end of figures -->' >page.md
    refused "bench pages --columns" '--columns age: must be' "$cohort" bench pages page.md
    echo '<!-- figures: map.json --name none --><!-- end of figures -->' >page.md
    refused "bench pages: no such row" 'shows no row' "$cohort" bench pages page.md
    echo '<!-- figures: map.json --name "none --><!-- end of figures -->' >page.md
    refused "bench pages: a quotation mark" 'quotation mark' "$cohort" bench pages page.md
    echo '<!-- figures: map.json -->' >page.md
    refused "bench pages: no end" 'has no .<!-- end' "$cohort" bench pages page.md
    refused "bench show of nothing" 'needs a FILE' "$cohort" bench show
    refused "bench show --plot over the figures" '--plot \./map\.json: is also read' "$cohort" bench show map.json --plot ./map.json
    refused "bench show: no such row" 'no row to show' "$cohort" bench show map.json --experiment sweep
    echo '{"rows": [' >bad.json
    refused "no JSON" 'bad\.json:.*: no JSON' "$cohort" bench show bad.json
    echo '{"lines": []}' >bad.json
    refused "JSON of something else" 'bad\.json: no file of figures' "$cohort" bench show bad.json
    echo '{"rows": [{"name": "map find", "median": -1}]}' >bad.json
    refused "a row that cannot be" 'bad\.json: row 0: needs a name' "$cohort" bench map --against bad.json
else
    bench show map.json >printed 2>said
    judge "bench show without a JSON library: one line" grep -qE 'reads no JSON.*libjansson' said
    skip "bench show, bench compare, --against" "libjansson was not there when the tool was built"
fi
if [ -x "$build/peers/peer_std" ] && grep -q . find.svg 2>/dev/null; then
    bench map $tiny --threads 1 --n 3000 --load 0.5 --width 32/32 --experiment operations --json peers.json \
        --peers "$build/peers" >printed 2>said
    judge "peers in the same run" grep -qE '^  std::unordered_map +1 +[0-9.]' printed
    if [ "$device" = cpu ]; then
        judge "peers beside our rows" grep -qE '^map insert .* [0-9.]+ (std|absl|boost|tbb)::' printed
    fi
    judge "peers' rows in the JSON" grep -q '"peer": {"name": "std::unordered_map", "version": "' peers.json
    mkdir broken-peers
    printf '#!/bin/sh\necho wrong >&2\nexit 3\n' >broken-peers/peer_bad
    printf '#!/bin/sh\necho "{}"\n' >broken-peers/peer_empty
    chmod +x broken-peers/peer_bad broken-peers/peer_empty
    bench map $tiny --n 3000 --load 0.5 --width 32/32 --experiment operations --peers broken-peers >printed 2>said
    judge "peers that fail do not end the bench" test $? -eq 0 -a "$(grep -c '^peer left out: ' printed)" -eq 2
    rm -r broken-peers
else
    skip "peers in the same run" "they were not built, or libjansson was not there"
fi

# ---- multisplit and sort ----------------------------------------------------------------------------------------------
bench multisplit $tiny --n 1,3000 --buckets 1,2,3,1000 --width 32/0,32/32,64/0,64/32,64/64,32/96 --experiment all \
    --peers none --json split.json --plot split.svg >printed 2>said
judge "bench multisplit: exit status 0, nothing on standard error" test $? -eq 0 -a ! -s said
for name in methods inputs sizes functions; do
    judge "experiment $name" grep -q "\"experiment\": \"$name\"" split.json
done
for input in uniform skewed binomial equal sorted; do
    judge "input $input" grep -qE "^multisplit auto +32/96 +$input, buckets 1000 +3,000 .* B/36" printed
done
judge "a bucket function of one's own" grep -qE "^multisplit by user's own +64/0 " printed
judge "rows are held against what must be read and written" grep -qE '^multisplit auto +64/64 .* [0-9.]+ B/40' printed
valid "bench multisplit --json is JSON" split.json
drawing "bench multisplit --plot is XML" split.svg
mkdir -p nobody
bench multisplit $tiny --n 3000 --buckets 8,1000 --width 32/32 --experiment methods --method auto --peers nobody >printed 2>said
judge "rivals of multisplit" test "$(grep -cE '<- (recursive split|reduced-bit sort)' printed)" -eq 3
judge "rivals beside our rows" test "$(grep -cE '^multisplit auto .* [0-9.]+ (recursive|reduced)' printed)" -eq 2
if bench compare split.json split.json >printed 2>said || ! grep -q 'reads no JSON' said; then
    judge "bench compare tells methods and experiments apart" test "$(grep -c slower printed)" -eq 1
fi
bench multisplit $tiny --n 3000 --buckets 65536 --width 32/0 --peers none >printed 2>said
judge "bench multisplit: 65,536 buckets" test $? -eq 0 -a "$(grep -c 'buckets 65536' printed)" -ge 7
bench sort $tiny --n 1,5000 --width 32/0,32/32,64/0,64/64 --input uniform,equal --experiment all --peers none --json sort.json \
    --plot sort.svg >printed 2>said
judge "bench sort: exit status 0, nothing on standard error" test $? -eq 0 -a ! -s said
for row in sort compact histogram scan reduce; do
    judge "bench sort: $row" grep -qE "^$row +64/0 " printed
done
valid "bench sort --json is JSON" sort.json
drawing "bench sort --plot is XML" sort.svg

# A panel a width with a line a method (or input) and a point a size, and its name beside it.
# drawn_lines FILE PANELS POINTS NAME...: so many lines, points and names.
drawn_lines() {
    local file=$1 panels=$2 points=$3 name
    shift 3
    [ "$(grep -o '<polyline' "$file" | wc -l)" -eq $((panels * $#)) ] || return
    [ "$(grep -o '<circle' "$file" | wc -l)" -eq $((panels * points * $#)) ] || return
    for name in "$@"; do
        [ "$(grep -cE "<text [^>]*>$name</text>" "$file")" -eq "$panels" ] || return
    done
}
bench multisplit $tiny --n 3000 --buckets 2,8,32 --width 32/0,32/32 --experiment methods --method auto,block,look-back --peers none \
    --plot methods.svg >printed
judge "the drawing of methods: a line and a name each" drawn_lines methods.svg 2 3 auto block look-back
drawing "the drawing of methods is XML" methods.svg
bench sort $tiny --n 1000,2000,5000 --width 32/0,64/64 --input uniform,equal --experiment sort --peers none --plot inputs.svg >printed
judge "the drawing of the sort: a line and a name an input" drawn_lines inputs.svg 2 3 uniform equal
drawing "the drawing of the sort is XML" inputs.svg
refused "multisplit with a file" 'x: bench multisplit takes no files' "$cohort" bench multisplit x
refused "--buckets 0" '--buckets 0: must be a whole number from 1 to 65536' "$cohort" bench multisplit --buckets 0
refused "--buckets 65537" '--buckets 65537: must be' "$cohort" bench multisplit --buckets 2,65537
refused "--input of none" '--input odd: must be uniform, skewed, binomial, equal, sorted, ascending, descending, stride-16, stride-256, values-100, values-1000000, cycle-1000, steps-64 or nearly-sorted' "$cohort" bench multisplit --input odd
refused "--method of none" '--method fast: must be auto, ' "$cohort" bench multisplit --method fast
refused "--width of neither" '--width 32/48: must be 32/0, ' "$cohort" bench multisplit --width 32/48
refused "--experiment of multisplit" '--experiment map: must be methods, ' "$cohort" bench multisplit --experiment map
refused "--n beyond its payload" '--n 5000000000: at most 4294967296 with --width 32/32' "$cohort" bench multisplit \
    --n 5000000000 --width 32/32
refused "sort with a file" 'x: bench sort takes no files' "$cohort" bench sort x
refused "--experiment of sort" '--experiment methods: must be sort, primitives, patterns or all' "$cohort" bench sort --experiment methods

# ---- count ---------------------------------------------------------------------------------------------------------------
bench count $tiny --bytes 200K --reads reads.fq --kmer 15 --json count.json --plot count.svg >printed 2>said
judge "bench count" test $? -eq 0 -a ! -s said
judge "bench count: ours with and without a hint" test "$(grep -cE '^count( with size hint)? +15-mers' printed)" -ge 2
valid "bench count --json is JSON" count.json
drawing "bench count --plot is XML" count.svg
judge "bench count: the counters agree" bash -c '! grep -q "distinct k-mers, cohort" printed'
judge "--reads keeps the file" test "$(awk 'NR % 4 == 2 && length($0) == 150' reads.fq | wc -l)" -eq $((200000 / 316))
$naive count 15 canonical reads.fq | wc -l >expected
judge "bench count: as many k-mers as there are" grep -qE "\"distinct\": $(awk '{ printf "%.6g", $1 }' expected)[,}]" count.json
cp reads.fq before.fq
rm reads.fq
bench count $tiny --bytes 200K --reads reads.fq --kmer 15 >/dev/null
judge "the same seed, the same reads" cmp reads.fq before.fq
rm reads.fq
bench count $tiny --bytes 200K --reads reads.fq --kmer 15 --seed 2 --error 0 >/dev/null
judge "another seed, other reads" bash -c '! cmp -s reads.fq before.fq'
judge "no temporary folder stays" bash -c '! ls -d cohort-bench-* 2>/dev/null'
refused "count with a file" 'x: bench count takes no files' "$cohort" bench count x
refused "--error 2" '--error 2: must be a number from 0 to 1' "$cohort" bench count --error 2
refused "--kmer 33" '--kmer 33' "$cohort" bench count --kmer 33
refused "--reads a directory" '--reads \.: is no file' "$cohort" bench count $tiny --json - --reads .
