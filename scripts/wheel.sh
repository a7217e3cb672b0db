#!/bin/sh
# wheel.sh: the Python package around the libcohort.a of a build folder, as $BUILD/wheel/*.whl. Called by `make wheel`.
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
library=$(cd "$BUILD" && pwd)/libcohort.a
for python in ${COHORT_PYTHON:-python3 python3.13 python3.12 python3.11} ''; do
    [ -n "$python" ] || {
        echo "wheel.sh: no Python from 3.11 on with pip is here" >&2
        exit 1
    }
    "$python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break
done
rm -rf "$BUILD/wheel"
"$python" -m pip wheel --disable-pip-version-check -q --no-deps -w "$BUILD/wheel" -C cmake.define.COHORT_LIBRARY="$library" \
    bindings/python || exit 1
if grep -q '^COHORT_CUDA:BOOL=ON' "$BUILD/CMakeCache.txt" && grep -q '^COHORT_NVCC_PROGRAM:[A-Z]*=/' "$BUILD/CMakeCache.txt"; then
    code="GPU code inside"
else
    code="for CPUs only: no nvcc was found, or COHORT_CUDA is OFF"
fi
ls "$BUILD"/wheel/*.whl | sed "s|\$| ($code)|"
