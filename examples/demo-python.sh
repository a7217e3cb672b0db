#!/bin/sh
# demo-python.sh [BUILD]
#
# Three examples of the Python package, with pictures: replacing numpy's unique and isin, tables beside SQL,
# the spectrum of k-mers. The wheel of BUILD (default: build) is installed in an environment of its own,
# BUILD/demo-python, with numpy of PyPI, and with pandas, polars and pyarrow for a drawing of all of them, if
# they can be had.
set -eu
build=${1:-build}
here=$build/demo-python
cd "$(dirname "$0")/.."
mkdir -p "$here"
for python in ${COHORT_PYTHON:-python3 python3.13 python3.12 python3.11} ''; do
    [ -n "$python" ] || {
        echo "demo-python: no Python from 3.11 on with venv is here" >&2
        exit 1
    }
    "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && break
done
[ -x "$here/venv/bin/python" ] || "$python" -m venv "$here/venv"
pip="$here/venv/bin/pip --disable-pip-version-check -q"
pins=tests/python/requirements.txt
$pip install --retries 0 -c $pins numpy pandas polars pyarrow || $pip install -c $pins numpy
$pip install --no-index --no-deps --force-reinstall "$build"/wheel/*.whl
run="$here/venv/bin/python"

title() {
    printf '\n== %s\n' "$*"
}
title "numpy's calls with another prefix"
"$run" examples/python/unique.py
title "two CSV files: join, group, and SQL"
"$run" examples/python/tables.py
title "the spectrum of 21-mers"
SPECTRUM_SVG=$here/spectrum.svg "$run" examples/python/spectrum.py
title "beside the others"
"$run" -m libcohort.bench --rows 1e6 --types int64 --only unique,is_in,join,group_by --svg "$here/bench.svg"
echo "pictures: $here/spectrum.svg, $here/bench.svg"
