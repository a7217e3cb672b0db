#!/bin/sh
# format.sh [--check]: clang-format 14 on every C, C++ and CUDA file; with --check it only tells which differ,
# and fails.
set -u
cd "$(dirname "$0")/.." || exit 1
for program in clang-format-14 clang-format; do
    command -v "$program" >/dev/null 2>&1 && break
    program=''
done
[ -n "$program" ] || {
    echo "format.sh: clang-format is missing (Debian: clang-format-14)" >&2
    exit 2
}
"$program" --version | grep -q 'version 14\.' || echo "format.sh: $("$program" --version): the style is that of 14" >&2

files=$(find include src cli bench bindings tests examples -name '*.[ch]' -print -o -name '*.cu' -print -o -name '*.cuh' -print \
    -o -name '*.cpp' -print -o -name '*.hpp' -print)
case ${1:-} in
--check)
    # Many files a process, and a process a core: to start one takes longer than to read a file.
    told=$(echo "$files" | xargs -P "$(nproc)" -n 40 "$program" --dry-run 2>&1) || {
        echo "$program failed: $(echo "$told" | grep -v 'should be clang-formatted' | head -n 3)"
        echo "0 passed, 1 failed, 0 skipped"
        exit 1
    }
    differing=$(echo "$told" | sed -n 's/^\([^: ]*\):[0-9]*:[0-9]*: warning: code should be clang-formatted.*/\1/p' | sort -u)
    [ -z "$differing" ] || echo "$differing" | sed 's/^/not formatted: /'
    count=$(echo "$differing" | grep -c .)
    echo "$(($(echo "$files" | wc -w) - count)) passed, $count failed, 0 skipped"
    [ "$count" -eq 0 ]
    ;;
'') "$program" -i $files ;;
*)
    echo "format.sh: '$1' is not --check" >&2
    exit 2
    ;;
esac
