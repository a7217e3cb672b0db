#!/bin/sh
# format.sh [--check]: clang-format 14 on every C and CUDA file; with --check it only tells which differ, and fails.
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

files=$(find include src cli bench bindings tests examples \( -name '*.[ch]' -o -name '*.cu' \) -not -path 'bench/peers/*' -print)
case ${1:-} in
--check)
    differing=0
    for file in $files; do
        "$program" "$file" | cmp -s - "$file" || {
            echo "not formatted: $file"
            differing=$((differing + 1))
        }
    done
    echo "$(($(echo "$files" | wc -w) - differing)) passed, $differing failed, 0 skipped"
    [ "$differing" -eq 0 ]
    ;;
'') "$program" -i $files ;;
*)
    echo "format.sh: '$1' is not --check" >&2
    exit 2
    ;;
esac
