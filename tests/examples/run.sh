#!/bin/bash
# run.sh BUILD
#
# Runs the examples that BUILD holds, on the CPU and on a GPU if there is one, and compares what they print
# with what they must. One line a case; the last line is `N passed, N failed, N skipped`.
set -u
build=$(cd "${1:-build}" && pwd) || exit 2
cd "$(dirname "$0")/../.." || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export LC_ALL=C
passed=0 failed=0 skipped=0

# prints NAME EXPECTED COMMAND...: its exit status is 0, and what it prints is EXPECTED.
prints() {
    local name=$1 expected=$2 status
    shift 2
    "$@" >"$scratch/printed" 2>"$scratch/said" </dev/null
    status=$?
    if [ $status -eq 77 ]; then
        echo "SKIP $name: $(sed 's/^skipped: //' "$scratch/printed")"
        skipped=$((skipped + 1))
    elif [ $status -eq 0 ] && [ "$(cat "$scratch/printed")" = "$expected" ]; then
        echo "ok   $name"
        passed=$((passed + 1))
    else
        echo "FAIL $name: exit status $status"
        cat "$scratch/printed" "$scratch/said" | head -n 20 | sed 's/^/     /'
        failed=$((failed + 1))
    fi
}

text='the cat and the dog, and THE bird; a cat
words: \303\244rger \303\244rger'
words='13 words, 8 different
       3  the
       2  and
       2  cat'
quoted='who,"what, and when",who_right,note
"Ada, Countess","a ""note"" on looms","Ada, Countess","two
lines"
,7,,
Carl,"",,'
lines='n,n_right,t
,,
2,2, b
3,,
,,
,4,c'
buckets='bucket 0: 4=1.5 12=3.5 4=6.5 4=11.5
bucket 1: 17=0.5 9=2.5 17=4.5 9=8.5 21=9.5 17=10.5
bucket 2: 2=5.5 30=7.5
bucket 3:'
turnover='turnover 385856617, 12500 products without a price: right'
roads='c a ring of five crossings, and a way across
a 1 2 4
a 2 3 4
a 3 4 4
a 4 5 4
a 5 1 4
a 1 4 9'
for how in multisplit sort steps none; do
    ways="${ways:-}${ways:+
}$how: 5 nodes reached, the farthest at 13, 34 in all: as Dijkstra's"
    nets="${nets:-}${nets:+
}$how: 2997 nodes reached, the farthest at 1863, 770033 in all: proved"
done
packages='Package: one
Description: a Library of sets
 for Python programs

Package: two
Version: 1
Description: python, a snake

Package: none

Package: three
Description: sets; a python library'
found='3 packages, 8 words
python library: 2: one three
python: 3: one two three
of snakes: 0:
: 0:'
kinds='inner left right full semi anti'

# naive_join KIND LEFT KEYS RIGHT KEYS: what examples/join prints, by a loop over both tables; no quotes in
# them.
naive_join() {
    awk -v kind="$1" -v left_keys="$3" -v right_keys="$5" '
        function key_of(row, names, columns,    wanted, names_of, n, i, j, key, fields) {
            n = split(names, wanted, ","); split(columns, names_of, ","); split(row, fields, ",")
            for (i = 1; i <= n; i++)
                for (j = 1; j in names_of; j++)
                    if (names_of[j] == wanted[i]) {
                        if (fields[j] == "")
                            return ""
                        key = key fields[j] ","
                    }
            return key
        }
        function blank(columns) { gsub(/[^,]/, "", columns); return columns }
        FNR == 1 { side++; header[side] = $0; next }
        { row[side, ++rows[side]] = $0; key[side, rows[side]] = key_of($0, side == 1 ? left_keys : right_keys, header[side]) }
        END {
            n = split(header[2], names, ",")
            titles = header[1]
            for (i = 1; i <= n; i++)
                titles = titles "," names[i] (index("," header[1] ",", "," names[i] ",") ? "_right" : "")
            print kind ~ /semi|anti/ ? header[1] : titles
            for (i = 1; i <= rows[1]; i++) {
                matches = 0
                for (j = 1; j <= rows[2]; j++)
                    if (key[1, i] != "" && key[1, i] == key[2, j]) {
                        matches++; met[j] = 1
                        if (kind !~ /semi|anti/)
                            print row[1, i] "," row[2, j]
                    }
                if (kind == "semi" && matches || kind == "anti" && !matches)
                    print row[1, i]
                if (kind ~ /left|full/ && !matches)
                    print row[1, i] "," blank(header[2])
            }
            for (j = 1; kind ~ /right|full/ && j <= rows[2]; j++)
                if (!met[j])
                    print blank(header[1]) "," row[2, j]
        }' "$2" "$4"
}

# joins NAME LEFT KEYS RIGHT KEYS: the example against the loop, in every kind.
join=$build/examples/join
joins() {
    local name=$1 kind
    [ -x "$join" ] || return
    shift
    for kind in $kinds; do
        prints "$kind join of $name, $device" "$(naive_join "$kind" "$@")" "$join" "--$kind" "$@"
    done
}

# join_refuses NAME PATTERN ARGUMENT...: exit status 1, nothing printed, a line that matches.
join_refuses() {
    local name=$1 pattern=$2 status
    [ -x "$join" ] || return
    shift 2
    "$join" "$@" >"$scratch/printed" 2>"$scratch/said" </dev/null
    status=$?
    if [ $status -eq 1 ] && [ ! -s "$scratch/printed" ] && grep -q -- "$pattern" "$scratch/said"; then
        echo "ok   join refuses $name"
        passed=$((passed + 1))
    else
        echo "FAIL join refuses $name: exit status $status: $(head -n 3 "$scratch/said")"
        failed=$((failed + 1))
    fi
}

devices=cpu
"$build/cohort" info --device cuda >/dev/null 2>&1 && devices="cpu cuda"
# shellcheck disable=SC2059
printf "$text\n" >"$scratch/text"
: >"$scratch/nothing"
printf '%s\n' "$roads" >"$scratch/roads"
printf '%s\n' "$packages" >"$scratch/packages"
printf 'a,b\n1,x\n2,\n,y\n1,y\n3,x\n,\n1,x\n' >"$scratch/left.csv"
printf 'b,c\n1,x\n1,x\n,x\n3,\n4,y\n,\n1,y\n' >"$scratch/right.csv"
printf 'who,"what, and when"\r\n"Ada, Countess","a ""note"" on looms"\r\n,7\r\nCarl,""' >"$scratch/quoted.csv"
printf 'who,note\n"Ada, Countess","two\nlines"\n' >"$scratch/notes.csv"
printf 'who,note\n1,"two\n' >"$scratch/open.csv"
printf 'who,note\n1,"""' >"$scratch/doubled.csv"
printf 'who,note\n1\n' >"$scratch/short.csv"
printf 'who,note\n1,one\n2,two\n3,"th\nree",3\n' >"$scratch/long.csv"
printf 'who,note\n\n1,one\n' >"$scratch/blank.csv"
printf 'who,note\n1,5" nails\n' >"$scratch/inches.csv"
printf 'who,note\n1,"one" more\n' >"$scratch/behind.csv"
printf 'who,note\n1,one\n2,t\000o\n' >"$scratch/zero.csv"
printf 'n\n\n2\n3\n' >"$scratch/lines.csv"
printf 'n,t\r\n,\r\n4,c\r\n2, b\r\n' >"$scratch/returns.csv"
for device in $devices; do
    export COHORT_DEVICE=$device
    prints "count_words, $device" "$words" "$build/examples/count_words" "$scratch/text" 3
    prints "count_words of nothing, $device" "0 words, 0 different" "$build/examples/count_words" "$scratch/nothing"
    prints "multisplit, $device" "$buckets" "$build/examples/multisplit"
    prints "an inverted index, $device" "$found" "$build/examples/index" "$scratch/packages" 'python library' python \
        'of snakes' ''
    joins "flights and weather by three columns" examples/data/flights.csv origin,day,hour examples/data/weather.csv \
        origin,day,hour
    joins "weather and flights by the day, many to many" examples/data/weather.csv day examples/data/flights.csv day
    joins "customers and orders" examples/data/customers.csv id examples/data/orders.csv customer
    joins "tables with empty fields" "$scratch/left.csv" a,b "$scratch/right.csv" b,c
    if [ -x "$join" ]; then
        prints "join of fields in quotes, $device" "$quoted" "$join" --left "$scratch/quoted.csv" who \
            "$scratch/notes.csv" who
        prints "join of rows that are empty lines, $device" "$lines" "$join" --full "$scratch/lines.csv" n \
            "$scratch/returns.csv" n
    fi
    prints "shortest paths in a file's graph, $device" "$ways" "$build/examples/sssp" --graph "$scratch/roads" --source 1 \
        --check --brief
    prints "shortest paths in a network, $device" "$nets" "$build/examples/sssp" --rmat 16 --brief --runs 1
done
unset COHORT_DEVICE

# The join's frames in the memory of the simulated GPU, where the library with that is built.
if [ ! -x "$join" ]; then
    echo "SKIP joins of tables: libcsv-dev was not there when the examples were built"
    skipped=$((skipped + 1))
elif [ -f "$build/libcohort_sim.a" ]; then
    join=$scratch/join
    if ${CC:-cc} -std=c11 -I include -I examples -o "$join" examples/join.c examples/join/table.c \
        "$build/libcohort_sim.a" -lcsv -lpthread -ldl -lm -rdynamic >"$scratch/said" 2>&1; then
        device=sim:1
        export COHORT_DEVICE=$device
        joins "flights and weather by three columns" examples/data/flights.csv origin,day,hour \
            examples/data/weather.csv origin,day,hour
        joins "tables with empty fields" "$scratch/left.csv" a,b "$scratch/right.csv" b,c
        unset COHORT_DEVICE
    else
        echo "FAIL the join with the simulated GPU is built: $(head -n 3 "$scratch/said")"
        failed=$((failed + 1))
    fi
    join=$build/examples/join
else
    echo "SKIP the join on the simulated GPU: libcohort_sim.a is not built"
    skipped=$((skipped + 1))
fi
join_refuses "a column that is not there" 'nobody' "$scratch/left.csv" nobody "$scratch/right.csv" b
join_refuses "a text against a number" COHORT_RANGE "$scratch/left.csv" a "$scratch/right.csv" c
join_refuses "two columns against one" COHORT_RANGE "$scratch/left.csv" a,b "$scratch/right.csv" b
join_refuses "a quote that is not closed" 'open.csv, line 2, column 2 note: .*not closed' "$scratch/open.csv" who \
    "$scratch/notes.csv" who
join_refuses "one that is only doubled" 'line 2, column 2 note: .*not closed' "$scratch/doubled.csv" who \
    "$scratch/notes.csv" who
join_refuses "a quote in a field without" 'inches.csv, line 2, column 2 note: a quote' "$scratch/inches.csv" who \
    "$scratch/notes.csv" who
join_refuses "more behind a closing quote" 'line 2, column 2 note: .*behind the closing quote' "$scratch/behind.csv" \
    who "$scratch/notes.csv" who
join_refuses "a row that is too short" 'line 2, column 2 note: .*fewer fields' "$scratch/short.csv" who \
    "$scratch/notes.csv" who
join_refuses "one that is too long, over two lines" 'long.csv, line 4, column 3: .*more fields' "$scratch/long.csv" \
    who "$scratch/notes.csv" who
join_refuses "an empty line between rows of two fields" 'line 2, column 2 note: .*fewer fields' "$scratch/blank.csv" \
    who "$scratch/notes.csv" who
join_refuses "a byte of 0" 'zero.csv, line 3, column 2 note: has a byte of 0' "$scratch/zero.csv" who \
    "$scratch/notes.csv" who
join_refuses "an empty file" 'is empty' "$scratch/nothing" who "$scratch/notes.csv" who
join_refuses "a file that is not there" 'No such file' "$scratch/none.csv" who "$scratch/notes.csv" who
prints "a lookup in one's own threads" "$turnover" "$build/examples/fused_lookup_cpu"
if [ -x "$build/examples/fused_lookup" ]; then
    prints "a lookup in one's own kernel" "$turnover" "$build/examples/fused_lookup"
else
    echo "SKIP a lookup in one's own kernel: nvcc not found when the examples were built"
    skipped=$((skipped + 1))
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
