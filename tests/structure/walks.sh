# shellcheck shell=bash disable=SC2154
#
# The walks of `keys` in docs/adding-an-operation.md, step by step against the tree: every file is there, each
# step is a call that the code makes, and no file of a walk leads back to one before it. Sourced by run.sh,
# after calls.sh, whose arrows it reads.
walks_page=docs/adding-an-operation.md

# What leads from file to file, FROM TO a line:
#
#   a call      the use of a name that another file's object defines (calls.sh)
#   a table     of a backend: who uses that of X, `backend->X->` or a `struct X_backend *`, gets to
#               src/cpu/X.c and src/cuda/X.c, which have the tables, and to the files of the functions in
#               them, cpu_X_.. and cuda_X_..; from below the border to the same backend only
#   a kernel    by its name: who calls gpu_launch.., and has all words of a kernel's name in its texts or in
#               those of files that it calls, gets to the kernel's file
#   an include  of a header, whose text is the loop or the kernel
graph_of() {
    cut -d ' ' -f 1,2 "$scratch/arrows"
    table_steps
    kernel_steps
    include_steps
}

table_steps() {
    grep -noE 'backend->[a-z]+->|struct [a-z]+_backend \*' src/*/*.c |
        sed -E 's/^([^:]*):[0-9]+:(backend->|struct )([a-z]+)(->|_backend \*)$/\1 \3/' |
        sort -u >"$scratch/tables.used"
    awk 'FILENAME ~ /arrows$/ { used[$1 " " $3] = $2; next }
        {
            for (s = split("cpu cuda", side); s; s--) {
                if ($1 ~ /^src\/(cpu|cuda)\// && $1 !~ "^src/" side[s] "/")
                    continue
                home = "src/" side[s] "/" $2 ".c"
                print $1, home
                for (u in used)
                    if (index(u, home " " side[s] "_" $2 "_") == 1)
                        print $1, used[u]
            }
        }' "$scratch/arrows" "$scratch/tables.used"
}

# The names of kernels come from their text as the simulator's compiler reads it, the words from that of the
# files that launch.
kernel_steps() {
    local file
    for file in $(awk '$3 ~ /\.cu$/ { print $3 }' "$scratch/walks" | sort -u); do
        "${CC:-cc}" -E -P -x c -DCOHORT_SIM -Itests/sim -Iinclude -Isrc "$file" 2>/dev/null |
            grep -oE 'struct sim_kernel [A-Za-z0-9_]+ = \{ *"[^"]*"' | sed -E "s|.*\"(.*)\"|kernel $file \1|"
    done >"$scratch/kernels"
    for file in src/cuda/*.c; do
        "${CC:-cc}" -E -P -Iinclude -Isrc "$file" 2>/dev/null | grep -oE '"[^"]*"' |
            tr -c 'a-z\n' '\n\n' | sort -u | sed -n "s|^..*|word $file &|p"
    done >"$scratch/words"
    awk '
        $1 == "word" { has[$2, $3] = 1; next }
        $1 == "kernel" { kernels[++k] = $2; name[k] = $3; next }
        { calls[$1, $2] = 1; called[$1] = called[$1] " " $2 }
        $3 ~ /^gpu_launch/ { launches[$1] = 1 }
        function says(file, word,    i, n, others) {
            if ((file, word) in has)
                return 1
            for (i = n = split(called[file], others, " "); i; i--)
                if ((others[i], word) in has)
                    return 1
            return 0
        }
        END {
            for (file in launches)
                for (i = 1; i <= k; i++) {
                    all = (file " " kernels[i]) in done ? 0 : 1
                    for (w = split(name[i], words, "_"); w && all; w--)
                        all = words[w] ~ /[0-9]/ || says(file, words[w])
                    if (all) {
                        done[file " " kernels[i]] = 1
                        print file, kernels[i]
                    }
                }
        }' "$scratch/words" "$scratch/kernels" "$scratch/arrows"
}

include_steps() {
    grep -oE '"[a-z_/]+\.h"' src/*/*.c src/*/*.cu src/*/*.h | tr -d '"' | awk -F : '
        { n = split($2, part, "/"); print $1, part[n] }' | sort -u | awk '
        NR == FNR { at[$2] = at[$2] " " $1; next }
        { for (n = split(at[$2], path, " "); n; n--) print $1, path[n] }' \
        <(for header in src/*/*.h; do echo "$header ${header##*/}"; done) -
}

# walks_of PAGE: WALK STEP FILE a line, of the table's rows: the last cell is the walk, its steps parted by
# arrows; files of one step are alternatives. WALK is the row's line.
walks_of() {
    awk -F '|' '
        /^#/ { inside = /walks of `keys`/ }
        inside && /^\|/ && /→/ {
            for (steps = split($(NF - 1), step, "→"); steps; steps--)
                for (names = split(step[steps], name, "`"); names > 1; names--)
                    if (name[names] ~ /\.(c|cu|h)$/)
                        print NR, steps, "src/" name[names]
        }' "$1" | sort -n -k 1,1 -k 2,2
}

# judge_walks GRAPH WALKS: what is wrong with them.
judge_walks() {
    awk '
        function check(from, to,    f, t, reached) {
            for (t in to) {
                reached = 0
                for (f in from)
                    reached += (f " " t) in leads
                if (!reached)
                    print "line " walk ": nothing leads from" list(from) " to " t
            }
            for (f in from) {
                reached = 0
                for (t in to)
                    reached += (f " " t) in leads
                if (!reached)
                    print "line " walk ": nothing leads from " f " to" list(to)
            }
        }
        function list(set,    f, text) { for (f in set) text = text " " f; return text }
        function end_walk(    i, a, b, from, to, parts, n) {
            for (i = 2; i <= last; i++) {
                delete from; delete to
                for (n = split(files[i - 1], parts, " "); n; n--) from[parts[n]]
                for (n = split(files[i], parts, " "); n; n--) to[parts[n]]
                check(from, to)
            }
            for (a in place)
                for (b in place)
                    if (place[a] < place[b] && (b " " a) in leads)
                        print "line " walk ": " b " leads back to " a
            delete place; delete files; last = 0
        }
        NR == FNR { leads[$1 " " $2]; next }
        $1 != walk { end_walk(); walk = $1 }
        {
            if ($3 in place)
                print "line " walk ": " $3 " is entered twice"
            place[$3] = $2
            files[$2] = files[$2] " " $3
            last = $2
        }
        END { end_walk() }' "$1" "$2" | sort -u
}

check_walks() {
    local call files
    walks_of "$walks_page" >"$scratch/walks"
    graph_of | sort -u >"$scratch/graph"
    awk '{ print $3 }' "$scratch/walks" | sort -u | while read -r file; do
        [ -f "$file" ] || echo "$file is in a walk, but not in the tree"
    done
    for call in cohort_map_find cohort_multisplit cohort_sort cohort_multimap_build; do
        for files in cuda/ cpu/; do
            grep "^| .$call" "$walks_page" | grep -q "$files" || echo "$call has no walk by way of $files"
        done
    done
    judge_walks "$scratch/graph" "$scratch/walks"
}

# The check itself finds what is wrong with walks that it is shown.
check_judge() {
    local graph=$scratch/graph.shown walks=$scratch/walks.shown
    printf 'a b\nb c\nb d\nc e\nd e\n' >"$graph"
    printf '1 1 a\n1 2 b\n1 3 c\n1 3 d\n1 4 e\n2 1 b\n2 2 c\n' >"$walks"
    [ -z "$(judge_walks "$graph" "$walks")" ] || echo "a right walk is refused"
    judged() {
        printf '%b' "$2" >"$walks"
        judge_walks "$graph" "$walks" | grep -q "$3" || echo "not found: $1"
    }
    judged "a call that is not there" '1 1 a\n1 2 c\n' 'nothing leads from a to c'
    judged "one alternative that nobody calls" '1 1 a\n1 2 b\n1 2 d\n' 'nothing leads from a to d'
    judged "one alternative that calls nobody" '1 1 b\n1 2 c\n1 2 a\n1 3 e\n' 'nothing leads from a to e'
    judged "a file that is entered twice" '1 1 a\n1 2 b\n1 3 a\n' 'a is entered twice'
    echo 'e b' >>"$graph"
    judged "a call back up" '1 1 a\n1 2 b\n1 3 c\n1 4 e\n' 'e leads back to b'
    # And in the page itself: each walk without its second file.
    awk '$2 != 2' "$scratch/walks" | awk '{ print $1, ($2 > 2 ? $2 - 1 : $2), $3 }' >"$walks"
    [ "$(judge_walks "$scratch/graph" "$walks" | cut -d : -f 1 | sort -u | wc -l)" -ge \
        "$(($(cut -d ' ' -f 1 "$scratch/walks" | sort -u | wc -l) / 2))" ] ||
        echo "walks of which a file is left out are not found"
}

if [ -d "$objects/src" ]; then
    report "the walks of keys in the page are those of the code" "$(check_walks)"
    report "walks that are wrong are found" "$(check_judge)"
else
    skip "the walks of keys in the page are those of the code" "the library's objects are not in $objects"
fi
