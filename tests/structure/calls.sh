# Which file of the library calls which, read from its objects: no circles. Sourced by run.sh, after layers.sh.
objects=$build/CMakeFiles/cohort_objects.dir

# Arrows that close a circle as the house stands, FROM TO NAME: a name that a lower file takes from a higher one. None is to be added; one
# that is gone is to be struck here.
known_arrows() {
    cat <<'END'
src/api/loans.c src/api/context.c context_end
src/api/pool.c src/api/loans.c loans_trim
src/cpu/limits.c src/api/context.c context_progress
src/api/sets_build_roaring.c src/api/sets_build.c cohort_sets_build
END
}

# Every use of a name that another file defines, FROM TO NAME a line. Objects of files that are gone may still lie there.
arrows() {
    (cd "$objects" && find src -name '*.c.o') | sort | while read -r object; do
        [ ! -f "${object%.o}" ] || (cd "$objects" && nm -A "$object" 2>/dev/null)
    done | awk '
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
    known_arrows | sort >"$scratch/known"
    comm -23 "$scratch/known" "$scratch/arrows" | sed 's/$/: is gone; strike it in calls.sh/'
    comm -13 "$scratch/known" "$scratch/arrows" | cut -d ' ' -f 1,2 | sort -u | loops_of
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
