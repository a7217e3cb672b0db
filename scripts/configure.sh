#!/bin/sh
# configure.sh [--tool] [CMAKE-ARGUMENT...]
#
# Prepares the build folder for make, unless it is prepared already. GPU code is made for the GPUs of this
# machine; where there is none, for one architecture.
#
#   --tool         for `make demo`: where there is no GPU, GPU code waits for the next `make`
#   BUILD=build    the build folder
#   ARCHS=...      GPU code for others: `all`, or names such as "sm_80 sm_90 compute_90". Later calls without it keep what was asked for.
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
cache=$BUILD/CMakeCache.txt
later=''
if [ "${1:-}" = --tool ]; then
    shift
    scripts/gpu-archs.sh >/dev/null || later=yes
fi

# cached NAME: its value in the build folder, or nothing.
cached() {
    sed -n "s/^$1:[A-Z]*=//p" "$cache" 2>/dev/null
}

wanted=$(printf '%s' "${ARCHS:-}" | tr ' ' ';')
had=$(cached COHORT_CUDA_ARCHS)
if [ ! -f "$cache" ]; then
    set -- "-DCOHORT_CUDA_ARCHS=${wanted:-auto}" "$@"
    [ -z "$later" ] || set -- -DCOHORT_CUDA=LATER "$@"
elif [ -n "$wanted" ] && [ "$wanted" != "$had" ]; then
    set -- "-DCOHORT_CUDA_ARCHS=$wanted" "$@"
fi
if [ -z "$later" ]; then
    [ "$(cached COHORT_CUDA)" != LATER ] || set -- -DCOHORT_CUDA=ON "$@"
elif [ ! -f "$cache" ] || [ "$(cached COHORT_CUDA)" = LATER ]; then
    echo "The CPU's tool alone, as there is no GPU here: make builds GPU code."
fi
if [ ! -f "$cache" ] || [ $# -gt 0 ]; then
    exec cmake --preset release -B "$BUILD" "$@"
fi
