#!/bin/sh
# variant.sh PRESET [JOBS [CTEST-SELECTION...]]
#
# Builds a preset in build/PRESET and runs its tests: all of them for debug, else those of the CPU, of the
# tool and, under the address sanitizer, of lifetimes in the Python package. The simulated GPU is left out
# unless selected: it takes long under the address sanitizer, and the thread sanitizer cannot follow the
# stack switches of its lanes. The model of maps of LINES is left out of the thread sanitizer's run as well:
# it is one thread that goes through all schedules, and would take an hour there. The environment is as in
# run-tests.sh.
set -u
cd "$(dirname "$0")/.." || exit 1
preset=${1:?which preset}
jobs=${2:-$(nproc)}
shift
[ $# -eq 0 ] || shift
case $preset in
debug) select='' ;;
tsan) select='-L ^cpu$ -E ^lines_model' ;;
*) select='-R (\.cpu|^(cli|python)\.host)$' ;;
esac
[ $# -eq 0 ] || select=$*
[ -f "build/$preset/CMakeCache.txt" ] || cmake --preset "$preset" || exit 1
cmake --build "build/$preset" -j "$jobs" || exit 1

export ASAN_OPTIONS="${ASAN_OPTIONS:-allocator_may_return_null=1:detect_leaks=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1}"
JOBS=$jobs exec scripts/run-tests.sh "build/$preset" $select
