#!/bin/sh
# demo.sh [BUILD]
#
# Counts the 21-mers of real sequencing reads (of the lambda phage, from Debian's bowtie2-examples) with
# BUILD/cohort (default: build), compares every line with what jellyfish counts, and shows the most frequent
# ones and the spectrum. Then it intersects two real sets, compares the answer with comm's, and searches
# Debian's package index by sets; at last a table of how fast the map is here, beside the peers that were
# built. What it makes stays in BUILD/demo. COHORT_DEVICE in the environment decides where it counts, as
# everywhere. Exit status 1 if an answer differs.
set -eu
build=${1:-build}
cohort=$build/cohort
made=$build/demo
k=21
LC_ALL=C.UTF-8
export LC_ALL

fail() {
    echo "demo: $*" >&2
    exit 1
}

if [ -t 1 ]; then
    bold=$(printf '\033[1m') soft=$(printf '\033[2m') plain=$(printf '\033[0m')
else
    bold='' soft='' plain=''
fi

title() {
    printf '\n%s%s%s\n' "$bold" "$*" "$plain"
}

# timed COMMAND...: shows the command, runs it, and sets $seconds.
timed() {
    printf '%s  $ %s%s\n' "$soft" "$*" "$plain"
    start=$(date +%s%N)
    "$@"
    end=$(date +%s%N)
    seconds=$(awk "BEGIN { printf \"%.2f\", ($end - $start) / 1e9 }")
}

# 1234567 -> 1,234,567
grouped() {
    echo "$1" | sed -e ':a' -e 's/\([0-9]\)\([0-9]\{3\}\)\($\|,\)/\1,\2\3/' -e 'ta'
}

[ -x "$cohort" ] || fail "$cohort is not there; 'make' builds it"

# ---- the reads ---------------------------------------------------------------------------------------------
reads=$(dpkg -L bowtie2-examples 2>/dev/null | grep '/reads_1\.fq\.gz$' || true)
reads=${reads:-/usr/share/doc/bowtie2/examples/reads/reads_1.fq.gz}
folder=${reads%/*}
set --
for name in reads_1 reads_2 longreads; do
    [ -r "$folder/$name.fq.gz" ] && set -- "$@" "$folder/$name.fq.gz"
done
[ $# -gt 0 ] || fail "the reads are missing: 'scripts/deps.sh' or 'apt-get install bowtie2-examples' brings them"
mkdir -p "$made"

title "Sequencing reads of the lambda phage, from Debian's bowtie2-examples"
for file in "$@"; do
    printf '  %s  %s bytes\n' "$file" "$(grouped "$(wc -c <"$file")")"
done

# ---- count -------------------------------------------------------------------------------------------------
title "Count their $k-mers, a k-mer and its reverse complement as one"
timed "$cohort" count --kmer $k --canonical --stats --out "$made/kmers.tsv" \
    --spectrum "$made/spectrum.svg" --spectrum "$made/spectrum.txt" "$@" 2>&1
distinct=$(grouped "$(wc -l <"$made/kmers.tsv")")
echo "  $distinct distinct $k-mers in $seconds s, in $made/kmers.tsv"

# ---- compare -----------------------------------------------------------------------------------------------
title "The same with jellyfish"
if command -v jellyfish >/dev/null 2>&1; then
    gzip -dc "$@" >"$made/reads.fq"
    timed jellyfish count -m $k -C -s 1M -t "$(nproc)" -o "$made/jellyfish.jf" "$made/reads.fq"
    jellyfish dump -c -t "$made/jellyfish.jf" | LC_ALL=C sort -k 2,2nr -k 1,1 >"$made/jellyfish.tsv"
    rm -f "$made/reads.fq" "$made/jellyfish.jf"
    echo "  $(grouped "$(wc -l <"$made/jellyfish.tsv")") distinct $k-mers in $seconds s (from the inflated file)"
    cmp "$made/kmers.tsv" "$made/jellyfish.tsv" || fail "the counts differ"
    echo "  every line is the same"
else
    echo "  jellyfish is not installed ('apt-get install jellyfish'), so there is nothing to compare with"
fi

# ---- look --------------------------------------------------------------------------------------------------
title "The ten most frequent"
head -n 10 "$made/kmers.tsv" | sed 's/^/  /'

title "How many $k-mers occur how often"
sed 's/^/  /' "$made/spectrum.txt"
cat <<END
  Left, what sequencing errors made: seen once. Right, the genome itself, seen as often as the reads cover it.
  Drawn: $made/spectrum.svg
END

# ---- sets --------------------------------------------------------------------------------------------------
# Two of the real sets of CRoaring's benchmarks; comm has the last word.
one=examples/data/census-income.csv19.txt two=examples/data/census-income.csv46.txt

# lines FILE: a text's integers, one a line, in the order that comm wants
lines() {
    tr ', ' '\n\n' <"$1" | grep . | sort
}

# share OF ALL: in percent
share() {
    awk "BEGIN { printf \"%.1f %%\", 100 * $1 / $2 }"
}

title "Two real sets, of the rows of a census that have one value each: which rows have both?"
timed "$cohort" set and $one $two --out "$made/census.ids"
lines $one >"$made/one.lines"
lines $two >"$made/two.lines"
comm -12 "$made/one.lines" "$made/two.lines" | sort -n | cmp -s - "$made/census.ids" ||
    fail "comm finds other rows in both"
first=$(wc -l <"$made/one.lines") second=$(wc -l <"$made/two.lines") both=$(wc -l <"$made/census.ids")
either=$("$cohort" set or $one $two --count)
echo "  $(grouped "$both") rows, the same as comm finds: $(share "$both" "$first") of the first set's" \
    "$(grouped "$first"), $(share "$both" "$second") of the second's $(grouped "$second")," \
    "$(share "$both" "$either") of all $(grouped "$either")"
"$cohort" set or $one $two --format roaring --out "$made/census.roaring"
bytes=$(wc -c <"$made/census.roaring")
echo "  all $(grouped "$either") as Roaring's format: $(grouped "$bytes") bytes," \
    "$(awk "BEGIN { printf \"%.1f\", 8 * $bytes / $either }") bits a row"

# The packages that this machine knows, numbered; those whose descriptions name a word are a set.
packages=$made/packages.txt
cat /var/lib/apt/lists/*_Packages /var/lib/dpkg/status 2>/dev/null | grep '^Description:' | sort -u >"$packages" || true
if [ -s "$packages" ]; then
    title "Which of the $(grouped "$(wc -l <"$packages")") packages of Debian's index name both words? As sets of line numbers"
    for word in library python; do
        grep -niw "$word" "$packages" | cut -d : -f 1 >"$made/$word.ids"
    done
    "$cohort" set or "$made/library.ids" --format roaring --out "$made/library.roaring"
    timed "$cohort" set and "$made/library.roaring" "$made/python.ids" --out "$made/both.ids"
    grep -iw library "$packages" | grep -ciw python >"$made/both.count" || true
    [ "$(wc -l <"$made/both.ids")" -eq "$(cat "$made/both.count")" ] || fail "the two words are in $(cat "$made/both.count") lines"
    echo "  $(cat "$made/both.count") packages, as many as grep finds; the first:"
    sed -n "$(head -n 5 "$made/both.ids" | sed 's/$/p;/' | tr -d '\n')" "$packages" | sed 's/^Description: /  /'
    "$cohort" set info "$made/library.roaring" "$made/python.ids" | sed 's/^/  /'
fi

# ---- measure -----------------------------------------------------------------------------------------------
title "How fast this machine does it, beside the limits of its memory and other maps (M or G of keys a second)"
timeout 15 "$cohort" bench map --quick --experiment operations --only 'map find,map insert,map apply add' --load 0.5 \
    --width 64/64 || echo "  the quick table did not end within 15 s"

title "Where to go next"
cat <<END
  $cohort count --kmer 31 --canonical --min 2 --top 20 YOUR_READS.fq.gz
  $cohort info                 what this machine has; '$cohort --help' tells more
  $cohort bench map            the same table for all operations, widths and loads
  make test                    everything that is promised, checked
  README.md                    the same in 25 lines of C; docs/map.md how the map works
END
