#!/bin/sh
# werror.sh COMPILER [JOBS]: has COMPILER look at every C text, tests and kernels for the simulator
# included, with warnings as errors.
#
# clang finds all that it warns of without making code, so it makes none. Another compiler builds everything
# for the host. In build/werror-COMPILER.
set -u
cd "$(dirname "$0")/.." || exit 1
compiler=${1:?which compiler}
jobs=${2:-$(nproc)}
command -v "$compiler" >/dev/null 2>&1 || {
    echo "SKIP warnings of $compiler: it is missing"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}
tree=build/werror-$compiler
cmake -S . -B "$tree" -DCMAKE_C_COMPILER="$compiler" -DCOHORT_WERROR=ON -DCOHORT_CUDA=OFF || exit
case $compiler in
*clang*) ;;
*) exec cmake --build "$tree" -j "$jobs" ;;
esac
cmake --build "$tree" --target cohort_commit || exit # a generated text

# A line a text: the command that compiles it. Programs of other languages, and of assembler, are left out.
commands=$tree/commands
sed -n 's/^ *"command": "\(.*\)",$/\1/p' "$tree/compile_commands.json" | sed 's/\\"/"/g; s/\\\\/\\/g' |
    grep -vE '\.(S|cpp|cc)$' >"$commands"
rm -f "$tree/warned"
xargs -d '\n' -n 1 -P "$jobs" sh -c 'cd "$1" && sh -c "$2 -fsyntax-only" || { echo "$2" >>warned; }' - "$tree" <"$commands" 2>&1
texts=$(wc -l <"$commands")
warned=$(cat "$tree/warned" 2>/dev/null | wc -l)
printf '%d passed, %d failed, 0 skipped\n' $((texts - warned)) "$warned"
[ "$warned" -eq 0 ] && [ "$texts" -gt 0 ]
