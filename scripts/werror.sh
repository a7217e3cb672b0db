#!/bin/sh
# werror.sh COMPILER [JOBS]: builds everything for the host with COMPILER, warnings as errors, in build/werror-COMPILER.
set -u
cd "$(dirname "$0")/.." || exit 1
compiler=${1:?which compiler}
command -v "$compiler" >/dev/null 2>&1 || {
    echo "SKIP warnings of $compiler: it is missing"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}
cmake -S . -B "build/werror-$compiler" -DCMAKE_C_COMPILER="$compiler" -DCOHORT_WERROR=ON -DCOHORT_CUDA=OFF &&
    cmake --build "build/werror-$compiler" -j "${2:-$(nproc)}"
