#!/bin/sh
# free-threaded.sh: prints the command of a free-threaded Python from 3.14 on that has pip. Where there is
# none it says so, and fails. COHORT_FREE_PYTHON names one.
set -u
for python in ${COHORT_FREE_PYTHON:-python3.14t python3.15t python3.16t}; do
    "$python" -c 'import sys, pip, sysconfig
sys.exit(sys.version_info < (3, 14) or not sysconfig.get_config_var("Py_GIL_DISABLED"))' 2>/dev/null || continue
    echo "$python"
    exit
done
echo "no free-threaded Python from 3.14 on with pip is here; cp314t is neither built nor tested"
exit 1
