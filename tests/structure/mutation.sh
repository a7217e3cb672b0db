# scripts/mutation.py and scripts/nightly.sh: what is a mutant, what is drawn, how work is dealt out.
# Sourced by run.sh.
mkdir -p "$scratch/mutation"
cat >"$scratch/mutation/all.c" <<'END'
/* a + b in a comment, 1 < 2 */
#include <a - b>
#define WIDTH 7
static int f(int *p, unsigned n)
{
    int sum = 010, *q = p;
    const char *s = "a < b";
    co_prefetch(p + 1);
    for (unsigned i = 0; i < n; i++)
        sum += p[i] & ~n;
    if (n && !p)
        return context_fail(NULL, COHORT_RANGE, "n is %u", n + 1);
    q = p;
    twice(q);
    return sum << 0x10u;
}
END
cat >"$scratch/mutation/expected" <<'END'
3: constant: 7 -> 6 in: #define WIDTH 7
3: constant: 7 -> 8 in: #define WIDTH 7
6: constant: 010 -> 7 in: int sum = 010, *q = p;
6: constant: 010 -> 9 in: int sum = 010, *q = p;
9: constant: 0 -> 1 in: for (unsigned i = 0; i < n; i++)
9: relation: < -> <= in: for (unsigned i = 0; i < n; i++)
10: arithmetic: += -> -= in: sum += p[i] & ~n;
10: bits: & -> | in: sum += p[i] & ~n;
10: bits: ~ -> nothing in: sum += p[i] & ~n;
11: bits: && -> || in: if (n && !p)
11: condition: not (n && !p)
12: statement: without return context_fail(NULL, COHORT_RANGE, "n is %u", n + 1);
13: statement: without q = p;
14: statement: without twice(q);
15: bits: << -> >> in: return sum << 0x10u;
15: constant: 0x10u -> 15u in: return sum << 0x10u;
15: constant: 0x10u -> 17u in: return sum << 0x10u;
END
check_points() {
    scripts/mutation.py --points "$scratch/mutation/all.c" | sed 's/^[^:]*://' | LC_ALL=C sort -V >"$scratch/mutation/points"
    diff <(LC_ALL=C sort -V "$scratch/mutation/expected") "$scratch/mutation/points"
}

# The same seed draws the same mutants, another one others; each file is drawn from by its lines.
check_draw() {
    scripts/mutation.py --list --n 200 --seed one >"$scratch/mutation/one" || echo "--list fails"
    cmp <(scripts/mutation.py --list --n 200 --seed one) "$scratch/mutation/one"
    cmp -s <(scripts/mutation.py --list --n 200 --seed two) "$scratch/mutation/one" && echo "two seeds draw the same"
    [ "$(sort -u "$scratch/mutation/one" | wc -l)" -ge 195 ] || echo "200 mutants: $(sort -u "$scratch/mutation/one" | wc -l) different ones"
    for top in src/api src/cpu src/cuda src/kernels cli; do
        grep -q "^$top/" "$scratch/mutation/one" || echo "nothing of $top among 200"
    done
    attempt_fails "--n is 0" scripts/mutation.py --n 0
    attempt_fails "--seed is 'a b'" scripts/mutation.py --seed 'a b'
}

# attempt_fails WORDS COMMAND...: fails, and says so.
attempt_fails() {
    local words=$1
    shift
    "$@" >"$scratch/attempt.log" 2>&1 && echo "does not fail: $*"
    grep -qF -- "$words" "$scratch/attempt.log" || echo "$*: '$(head -n 2 "$scratch/attempt.log")' and not '$words'"
}

# The table of results, and which tests a file's mutants are given.
check_results() {
    python3 - <<'END'
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, 'scripts')
import mutation as m
rows = [['1', 'src/cpu/map.c', '3', 'caught', 'test_map cpu', 'bits', 'x'], ['2', 'src/cpu/sort.c', '4', 'survived', 'all of 2 programs', 'bits', 'y'],
        ['3', 'cli/sort.c', '5', 'same', '1 objects', 'constant', 'z'], ['4', 'include/cohort/map.h', '5', 'broken', 'b', 'constant', 'z']]
lines = [' '.join(line.split()) for line in m.table(rows).split('\n')]
for due in ('src/cpu 1 1 0.50 0 0', 'cli 0 0 - 1 0', 'include 0 0 - 0 1', 'all 1 1 0.50 1 1', 'src/cpu/sort.c:4: bits: y (all of 2 programs)'):
    if due not in lines:
        print('the table has no line "%s"' % due)
for name, due in (('cli/set.c', [('cli set', 'host')]), ('src/cpu/map.c', ('test_map', 'cpu')), ('src/kernels/sort.cu', ('test_sort', 'sim:1')),
                  ('src/api/multimap.c', ('test_multimap', 'cpu')), ('src/api/sums.c', ('test_batch_errors', 'cpu')),
                  ('src/shape/sums.h', ('test_compact', 'cpu')), ('src/io/multimap_file.c', ('test_files', 'cpu')),
                  ('src/shape/map_check_width.h', ('test_files_table', 'cpu')), ('src/kernels/lines.cu', ('test_schedules', 'sim:1')),
                  ('include/cohort/device/hash.h', ('test_sets', 'sim:1'))):
    got = m.suites('.', name)
    if got != due and due not in got:
        print('%s: tested by %s' % (name, got[:5]))
if any(device != 'cpu' for _, device in m.suites('.', 'src/cpu/map.c')):
    print('src/cpu/map.c: not by the CPU alone')
END
}

# Every file of src, include and cli has tests of its own.
check_owners() {
    local names name
    names=$(ls tests)
    git ls-files src include 2>/dev/null | grep -E '\.(c|h|cu)$' | while read -r name; do
        owner=$(scripts/touched.sh --owners "$name")
        [ "$owner" = all ] || [ "$owner" = none ] || grep -qxF "$owner" <<<"$names" || echo "$name: no folder tests/$owner"
    done
}

# Every unit is in one slice of three, and a slice that is none is refused.
check_nightly() {
    for k in 1 2 3; do scripts/nightly.sh --list $k/3; done | sort >"$scratch/mutation/slices"
    scripts/nightly.sh --list | sort | cmp - "$scratch/mutation/slices"
    for kind in 'mutants .*any-match' 'schedules .*test_map( |$)' 'fuzz .*map_file( |$)' 'mutation 10/10$' 'whole .*model-64/64$' 'whole .*plans-64_64-2/12( |$)'; do
        [ "$(grep -cE "$kind" "$scratch/mutation/slices")" -eq 1 ] || echo "'$kind': $(grep -cE "$kind" "$scratch/mutation/slices") units"
    done
    attempt_fails "--only is 'all'" scripts/nightly.sh --only all 1/3
    for slice in 0/3 4/3 x 1/0 1; do attempt_fails "SLICE is '$slice'" scripts/nightly.sh $slice; done
}
if command -v python3 >/dev/null 2>&1; then
    report "mutation.py finds the mutants of a text" "$(check_points)"
    report "mutation.py draws by seed and lines" "$(check_draw)"
    report "mutation.py tells the score, and knows each file's tests" "$(check_results)"
else
    skip "mutation.py" "python3 is missing"
fi
report "touched.sh knows folders of tests" "$(check_owners)"
report "nightly.sh deals all work out" "$(check_nightly)"
