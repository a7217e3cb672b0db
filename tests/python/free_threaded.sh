#!/bin/bash
# free_threaded.sh: what scripts/free-threaded.sh prints where there is such a Python, where there is none,
# and where a Python of that name is another.
set -u
cd "$(dirname "$0")/../.." || exit 1
there=$(mktemp -d)
trap 'rm -rf "$there"' EXIT
none="no free-threaded Python from 3.14 on with pip is here; cp314t is neither built nor tested"
# expect CODE TEXT: of a search among the commands of $there alone
expect() {
    local text code
    text=$(PATH=$there COHORT_FREE_PYTHON= /bin/sh scripts/free-threaded.sh)
    code=$?
    [ "$code" = "$1" ] && [ "$text" = "$2" ] || {
        echo "exit $code instead of $1, and '$text' instead of '$2'"
        exit 1
    }
}
expect 1 "$none"
printf '#!/bin/sh\nexit 1\n' >"$there/python3.14t" # a Python that has a GIL, or no pip
chmod +x "$there/python3.14t"
expect 1 "$none"
printf '#!/bin/sh\ncase $2 in *Py_GIL_DISABLED*3.14*|*version_info*Py_GIL_DISABLED*) exit 0 ;; esac\nexit 2\n' >"$there/python3.15t"
chmod +x "$there/python3.15t"
expect 0 python3.15t
