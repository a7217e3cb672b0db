#!/bin/bash
# nvcc.sh NVCC ARGUMENT... -o OUT SOURCE
#
# nvcc, whose results are kept: the same text with the same arguments and the same nvcc is not compiled
# twice, whichever folder it lies in. Comments, folders of -I and the names of outputs do not count. A
# result is in ~/.cache/cohort/nvcc (or $XDG_CACHE_HOME/cohort/nvcc) under a hash of all this, and goes when
# it has not been used for 30 days. Nothing is lost with that folder but time.
#
#   COHORT_KEEP=FOLDER     another folder; COHORT_KEEP=no: none, nvcc alone
#   -MD -MF FILE -MT NAME  are made here, since nvcc has nothing to do where a result is kept
set -u
nvcc=$1
shift
arguments=() folders=() out='' depends='' name='' source=''
while [ $# -gt 0 ]; do
    case $1 in
    -o) out=$2 && shift ;;
    -I) folders+=(-I "$2") && shift ;;
    -MD) ;;
    -MF) depends=$2 && shift ;;
    -MT) name=$2 && shift ;;
    *.cu) source=$1 ;;
    *) arguments+=("$1") ;;
    esac
    shift
done
if [ -z "$out" ] || [ -z "$source" ]; then
    echo "nvcc.sh: -o OUT and a source are missing" >&2
    exit 2
fi

kept=${COHORT_KEEP:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/cohort/nvcc}
texts() { ${CC:-cc} -MM -x c -D__CUDACC__ "${folders[@]}" "$source" 2>/dev/null | sed 's/^[^:]*://; s/\\$//' | xargs -n 1; }
files=$(texts)

# Without a list of the texts there is nothing to go by.
if [ "$kept" = no ] || [ -z "$files" ] || ! mkdir -p "$kept" 2>/dev/null; then
    [ -z "$depends" ] || depends_of=(-MD -MF "$depends" -MT "${name:-$out}")
    exec "$nvcc" "${arguments[@]}" "${folders[@]}" "${depends_of[@]}" -o "$out" "$source"
fi
[ -z "$depends" ] || printf '%s: %s\n' "${name:-$out}" "$(tr '\n' ' ' <<<"$files")" >"$depends"

# A compiler that cannot take comments out leaves them in: then they count.
plain() { ${CC:-cc} -fpreprocessed -dD -E -P -x c "$1" 2>/dev/null || cat "$1"; }
key=$({
    "$nvcc" --version
    printf '%s\n' "${arguments[@]}"
    for file in $files; do
        echo "==== $(basename "$file")"
        plain "$file"
    done
} | sha256sum | cut -d ' ' -f 1)

if cp "$kept/$key" "$out" 2>/dev/null; then
    touch "$kept/$key"
    exit 0
fi
"$nvcc" "${arguments[@]}" "${folders[@]}" -o "$out" "$source" || exit
if cp "$out" "$kept/$key.$$" 2>/dev/null; then
    mv "$kept/$key.$$" "$kept/$key"
else
    rm -f "$kept/$key.$$"
fi
find "$kept" -type f -mtime +30 -delete 2>/dev/null
exit 0
