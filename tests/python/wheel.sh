#!/bin/bash
# wheel.sh BUILD
#
# The wheel that `make wheel` makes: one file, at most 40 MB, for manylinux_2_28, that an environment with nothing
# else in it takes and runs the examples of the docstrings with. Where ziglang cannot be had its tag is not
# tested. The last line is `N passed, N failed, N skipped`.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=$(cd "${1:?which build folder}" && pwd) || exit 2
log=$build/wheel-test.log
skipped=0
. tests/python/check.sh
one() { [ "$(find "$build/wheel" -maxdepth 1 -name '*.whl' | wc -l)" = 1 ]; }
small() { find "$build/wheel" -name '*.whl' -size -41943041c | grep .; }
tagged() { ls "$build"/wheel/*-cp311-abi3-*manylinux_2_28_*.whl; }
# runs: as docs/python.md says that it is installed.
runs() {
    rm -rf "$build/wheel-env"
    "${COHORT_PYTHON:-python3}" -m venv "$build/wheel-env" &&
        "$build/wheel-env/bin/pip" install --disable-pip-version-check -q --no-index "$build"/wheel/*.whl &&
        (cd "$build" && wheel-env/bin/python "$OLDPWD/tests/python/doctests.py")
}
# sealed: the module exports its entry alone.
sealed() {
    rm -rf "$build/wheel-open" && mkdir "$build/wheel-open" && python3 -m zipfile -e "$build"/wheel/*.whl "$build/wheel-open" &&
        [ "$(nm -D --defined-only "$build"/wheel-open/libcohort/_core*.so | awk '{ print $3 }' | xargs)" = PyInit__core ]
}
check "make wheel" env COHORT_DEPS=no BUILD="$build" scripts/wheel.sh
cat "$log"
check "one wheel" one
check "it has at most 40 MB" small
if [ -f "$build/wheel-tools/stamp" ]; then
    check "it is for manylinux_2_28" tagged
else
    skipped=1
fi
check "it exports its entry alone" sealed
check "an environment with nothing else takes it and runs the examples in the docstrings" runs
echo "$passed passed, $bad failed, $skipped skipped"
[ $bad -eq 0 ]
