#!/bin/bash
# asan.sh BUILD
#
# Lifetimes of arrays, tables, maps and sets under the address sanitizer: the extension module and the libcohort.a
# of a build with the sanitizer, in a Python that has its run time by LD_PRELOAD. Called by run.sh for such
# a build. It takes the environment that run.sh has made for the ordinary build, whose folder BUILD lies in:
# where there is none, one line says so. Leaks are not looked for: Python itself has some at its end;
# test_process.py counts. The last line is `N passed, N failed, N skipped`.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "${1:?which build folder}" && pwd) || exit 2
skip() {
    echo "SKIP python: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
}
python=$build/../python/venv/bin/python
[ -x "$python" ] && [ -f "$build/../python/stamp" ] || skip "the ordinary build has not run tests/python/run.sh"
[ -f "$build/libcohort.a" ] || skip "libcohort.a is not built"
cc=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
sanitize=$(sed -n 's/^COHORT_SANITIZE:[A-Z]*=//p' "$build/CMakeCache.txt")
asan=$("$cc" -print-file-name=libasan.so)
[ -f "$asan" ] || skip "$cc has no libasan.so to preload"

here=$build/python
log=$here/asan.log
rm -rf "$here/asan"
mkdir -p "$here/asan/o"
cp -r bindings/python/libcohort "$here/asan/"
echo 'const char cohort_commit[] = "";' >"$here/asan/commit.c"
headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
compile="$cc -std=gnu11 -O1 -g -fPIC -fvisibility=hidden -fno-omit-frame-pointer -fsanitize=$sanitize
    -fno-sanitize-recover=all -Iinclude -I$headers"
! command -v ccache >/dev/null || compile="ccache $compile"
for source in bindings/python/src/*.c "$here/asan/commit.c"; do
    $compile -c "$source" -o "$here/asan/o/$(basename "$source" .c).o" || exit 1
done >"$log" 2>&1
"$cc" -shared -fsanitize="$sanitize" -o "$here/asan/libcohort/_core.abi3.so" "$here"/asan/o/*.o "$build/libcohort.a" \
    -Wl,--exclude-libs,ALL -lpthread -ldl -lm >>"$log" 2>&1 || {
    cat "$log"
    exit 1
}

# Python's own pieces of memory are malloc's, so that the sanitizer sees the end of each.
tests=$PWD/tests/python
cd "$here" || exit 1
LD_PRELOAD=$asan ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:log_path=$here/asan/report \
    PYTHONMALLOC=malloc COHORT_DEVICE=cpu PYTHONPATH=$here/asan \
    timeout 500 "$python" -m pytest -q -p no:cacheprovider -p no:warnings \
    "$tests"/test_{arrays,table,map,multimap,sets,threads,errors}.py >"$log" 2>&1
code=$?
[ $code -eq 0 ] || tail -n 40 "$log" # pytest has what the sanitizer prints, and it ends pytest: hence the file
[ $code -eq 0 ] || head -n 40 "$here"/asan/report.* 2>/dev/null
count() {
    tail -n 1 "$log" | grep -oE "[0-9]+ $1" | cut -d ' ' -f 1 | grep . || echo 0
}
failed=$(($(count failed) + $(count errors?)))
[ $code -eq 0 ] || [ $failed -gt 0 ] || failed=1
echo "$(count passed) passed, $failed failed, $(count skipped) skipped"
[ $failed -eq 0 ]
