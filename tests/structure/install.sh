# Installs into a folder, moves it elsewhere, and builds examples/installed against it. Sourced by run.sh.
stage=$scratch/stage
prefix=$scratch/moved
export COHORT_DEVICE=cpu

report "make install" "$(attempt cmake --install "$build" --prefix "$stage")"
mv "$stage" "$prefix" 2>/dev/null

libdir=$(cd "$prefix" 2>/dev/null && dirname "$(find lib* -name libcohort.a | head -n 1)")
check_files() {
    local file
    for file in include/cohort.h $(cd include && find cohort -name '*.h' | sed 's|^|include/|') \
        "$libdir/libcohort.a" "$libdir/libcohort.so" "$libdir/$soname" "$libdir/libcohort.so.$version" \
        "$libdir/pkgconfig/cohort.pc" "$libdir/cmake/cohort/cohort-config.cmake" \
        "$libdir/cmake/cohort/cohort-config-version.cmake"; do
        [ -e "$prefix/$file" ] || echo "$file is not installed"
    done
    [ ! -f docs/cohort.1 ] || [ -f "$prefix/share/man/man1/cohort.1" ] || echo "the manual page is not installed"
    [ ! -x "$build/cohort" ] || [ -x "$prefix/bin/cohort" ] || echo "the tool is not installed"
}
report "what is installed is complete" "$(check_files)"

# expect COMMAND...: it must print what the example prints.
expect() {
    local wanted='0 occurs 100 times
7 occurs 0 times
1234 occurs 0 times' got
    got=$("$@" 2>&1)
    [ "$got" = "$wanted" ] || printf '%s prints:\n%s\n' "$1" "$got"
}

example=$scratch/example
cp -r examples/installed "$example"
if command -v pkg-config >/dev/null; then
    report "the example builds through pkg-config and runs" "$(
        attempt make -s -C "$example" OUT="$example/by-pkg-config" PKG_CONFIG_PATH="$prefix/$libdir/pkgconfig"
        expect "$example/by-pkg-config")"
    report "pkg-config tells the version" "$(
        told=$(PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig pkg-config --modversion cohort)
        [ "$told" = "$version" ] || echo "'$told', not '$version'")"
else
    skip "the example builds through pkg-config and runs" "no pkg-config"
    skip "pkg-config tells the version" "no pkg-config"
fi

report "the example builds through find_package" "$(
    attempt cmake -S "$example" -B "$example/build" -DCMAKE_PREFIX_PATH="$prefix"
    attempt cmake --build "$example/build")"
report "the example runs with the shared library" "$(expect "$example/build/count")"
report "the example runs with the static library" "$(expect "$example/build/count_static")"
report "the static example does not need libcohort.so" \
    "$(ldd "$example/build/count_static" 2>&1 | grep -E 'libcohort|No such file')"

# C++ sees the same headers: every initialiser, and a function of the user's own.
cat >"$scratch/initialisers.cpp" <<'END'
#include <cohort.h>
COHORT_DEFINE_FN(last_digit, uint32_t, { return key % 10; })
int main()
{
    cohort_context_options context = COHORT_CONTEXT_OPTIONS_INIT;
    cohort_context_info info = COHORT_CONTEXT_INFO_INIT;
    cohort_limits limits = COHORT_LIMITS_INIT;
    cohort_map_options map = COHORT_MAP_OPTIONS_INIT;
    cohort_batch batch = COHORT_BATCH_INIT;
    cohort_map_stats stats = COHORT_MAP_STATS_INIT;
    cohort_multimap_options multimap = COHORT_MULTIMAP_OPTIONS_INIT;
    cohort_retrieve retrieve = COHORT_RETRIEVE_INIT;
    cohort_multisplit_desc split = COHORT_MULTISPLIT_INIT;
    cohort_compact_desc compact = COHORT_COMPACT_INIT;
    cohort_histogram_desc histogram = COHORT_HISTOGRAM_INIT;
    cohort_sort_desc sort = COHORT_SORT_INIT;
    cohort_fn fn = COHORT_FN(last_digit, NULL, 0), none = COHORT_FN_INIT;
    split.fn = &fn;
    return context.size && info.size && limits.size && map.size && batch.size && stats.size && multimap.size && retrieve.size &&
                   split.size && compact.size && histogram.size && sort.size && split.fn->size && none.size ? 0 : 1;
}
END
initialisers="the headers and their initialisers are C++ too"
if command -v c++ >/dev/null; then
    report "$initialisers" "$(attempt c++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -I "$prefix/include" -fsyntax-only \
        "$scratch/initialisers.cpp")"
else
    skip "$initialisers" "no C++ compiler"
fi

# A kernel of the user's own, around a lookup in a map.
kernel="a user's kernel builds with nvcc against the installed headers"
if [ -x "$nvcc" ]; then
    cp examples/fused_lookup.* "$scratch"
    report "$kernel" "$(attempt "$nvcc" -O3 -arch=sm_90 -allow-unsupported-compiler -I "$prefix/include" \
        -o "$scratch/fused_lookup" "$scratch/fused_lookup.cu" -L "$prefix/$libdir" -lcohort)"
    LD_LIBRARY_PATH=$prefix/$libdir "$scratch/fused_lookup" >"$scratch/fused.log" 2>&1
    if [ $? -eq 77 ]; then
        skip "and runs" "$(sed 's/^skipped: //' "$scratch/fused.log")"
    else
        report "and runs" "$(grep -q ': right$' "$scratch/fused.log" || cat "$scratch/fused.log")"
    fi
else
    skip "$kernel" "nvcc not found"
fi

if [ -x "$prefix/bin/cohort" ]; then
    report "the installed tool finds its library" "$(attempt "$prefix/bin/cohort" --version)"
else
    skip "the installed tool finds its library" "the tool is not built"
fi
