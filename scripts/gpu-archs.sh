#!/bin/sh
# gpu-archs.sh [NVCC]
#
# Prints what `nvcc` is to make code for so that the GPUs of this machine can run it: a line each, sm_90 or,
# where NVCC is older than the GPU, the newest compute_NN that it knows. Prints nothing, with exit status 1,
# where no GPU is found.
set -u
command -v nvidia-smi >/dev/null 2>&1 || exit 1
found=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d ' ' | grep -E '^[0-9]+\.[0-9]$' | tr -d . | sort -nu)
[ -n "$found" ] || exit 1
known=$("${1:-nvcc}" --list-gpu-code 2>/dev/null | sed -n 's/^sm_\([0-9]*\)$/\1/p' | sort -n)
for number in $found; do
    if [ -z "$known" ] || printf '%s\n' "$known" | grep -qx "$number"; then
        echo "sm_$number"
    else
        printf '%s\n' "$known" | awk -v most="$number" '$1 < most { best = $1 } END { if (best) print "compute_" best }'
    fi
done | sort -u
