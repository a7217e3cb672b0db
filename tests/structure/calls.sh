# Which file of the library calls which, read from its objects: no circles. Sourced by run.sh, after
# layers.sh.
objects=$build/CMakeFiles/cohort_objects.dir

# Every use of a name that another file defines, FROM TO NAME a line. Objects of files that are gone may still
# lie there.
arrows() {
    (cd "$objects" && find src -name '*.c.o') | sort | while read -r object; do
        [ ! -f "${object%.o}" ] || echo "$object"
    done | (cd "$objects" && xargs nm -A 2>/dev/null) | awk '
        { from = $1; sub(/\.o:.*/, "", from); name = $NF; kind = $(NF - 1) }
        kind ~ /^[TDBRVWC]$/ { home[name] = from }
        kind ~ /U$/ { n++; user[n] = from; used[n] = name }
        END {
            for (i = 1; i <= n; i++)
                if (used[i] in home && home[used[i]] != user[i])
                    print user[i], home[used[i]], used[i]
        }' | sort -u
}

check_calls() {
    arrows >"$scratch/arrows"
    [ "$(wc -l <"$scratch/arrows")" -gt 100 ] || echo "no calls were found in $objects"
    cut -d ' ' -f 1,2 "$scratch/arrows" | sort -u | loops_of
    awk '$1 !~ /^src\/api/ && $2 ~ /^src\/api/ { print $1 " calls up: " $3 " of " $2 }' "$scratch/arrows"
}

# The check itself finds a circle that it is shown.
check_loops_of() {
    [ "$(printf 'a.c b.c\nb.c c.c\nc.c a.c\nc.c d.c\n' | loops_of | grep -c loop)" -eq 1 ] || echo "a circle of three files is not found"
    [ -z "$(printf 'a.c b.c\nb.c c.c\na.c c.c\n' | loops_of)" ] || echo "a circle is found where there is none"
}
report "circles are found where there are some" "$(check_loops_of)"
if [ -d "$objects/src" ]; then
    report "no file calls itself by way of others" "$(check_calls)"
else
    skip "no file calls itself by way of others" "the library's objects are not in $objects"
fi
