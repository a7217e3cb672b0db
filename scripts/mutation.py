#!/usr/bin/env python3
"""mutation.py [--n N] [--seed S] [--budget SECONDS] [--list] [--points FILE...]

Draws N random single-point mutants over src, include and cli, by their lines of code, builds each in a copy
of the tree, runs the tests of the structure that its file belongs to (scripts/touched.sh --owners) for at
most 90 s, and prints the score by layer and the mutants that survived. docs/mutants.md says what a mutant is,
and how to read the table.

  --n N             mutants that count: caught or survived (60)
  --seed S          of the draw; by default the hash of the commit that the tree is at
  --budget SECONDS  no mutant begins later; the next call with the same seed goes on
  --list            prints the draw and builds nothing
  --points FILE...  prints every mutant that FILE could have, a line each

What was found is in build/mutation/SEED: the copy of the tree, its build, and results.tsv, a line a mutant.
Mutants that do not compile, and those whose objects are the same to the byte, do not count; others are drawn
in their place. GPU code is tested on the simulated GPU alone, so what only nvcc sees has the same objects
here.
"""

import argparse
import hashlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from mutation_points import Tree, points, told

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TESTS_SECONDS = 90
BUILD_SECONDS = 1200
MEMORY_BYTES = 8 << 30
FILE_BYTES = 2 << 30

# ---- building and testing ----------------------------------------------------------------------------------


def limits():
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def resident(pid):
    """Bytes of memory that a process has, 0 if it has ended."""
    try:
        with open('/proc/%d/statm' % pid) as f:
            return int(f.read().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def run(command, seconds, log, cwd, bounded=False, until=None):
    """Exit status, or None when the time was up. Ends early, with status 1, when a bounded one has too much
    memory, and when the output has what `until` looks for."""
    with open(log, 'wb') as out:
        p = subprocess.Popen(
            command,
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=cwd,
            start_new_session=True,
            preexec_fn=limits if bounded else None,
        )
        end, code = time.time() + seconds, None
        try:
            while code is None and time.time() < end:
                try:
                    code = p.wait(min(0.5, max(0.01, end - time.time())))
                except subprocess.TimeoutExpired:
                    if bounded and resident(p.pid) > MEMORY_BYTES:
                        code = 1
                    elif until and re.search(until, open(log, 'rb').read(), re.M):
                        code = 1
        finally:
            if p.poll() is None:
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()
    return code


# A folder with the tree of a commit; without commits, with the tree as it is.
COPY = """rm -rf "$1" && mkdir -p "$1" && if [ -n "$2" ]; then git archive "$2" | tar -x -C "$1"; else
    for f in *; do [ "$f" = build ] || cp -a "$f" "$1" || exit 1; done
fi"""


class Copy:
    """The copy of the tree, its build, and what the tests take there without a mutant."""

    def __init__(self, folder):
        self.folder, self.tree, self.build = (
            folder,
            os.path.join(folder, 'tree'),
            os.path.join(folder, 'build'),
        )
        self.log, self.scratch = os.path.join(folder, 'log'), os.path.join(folder, 'scratch')
        self.saved = os.path.join(folder, 'original')
        self.times_file, self.times = os.path.join(folder, 'times.json'), {}

    def make(self, commit):
        os.makedirs(self.scratch, exist_ok=True)
        if not os.path.isdir(self.tree):
            part = self.tree + '.part'
            subprocess.run(['/bin/sh', '-c', COPY, 'sh', part, commit], check=True, cwd=ROOT)
            os.rename(part, self.tree)
        self.restore()
        if os.path.exists(self.times_file):
            with open(self.times_file) as f:
                self.times = json.load(f)
        if not os.path.exists(os.path.join(self.build, 'CMakeCache.txt')):
            if run(
                [
                    'cmake',
                    '-S',
                    self.tree,
                    '-B',
                    self.build,
                    '-DCMAKE_BUILD_TYPE=Release',
                    '-DCMAKE_C_FLAGS_RELEASE=-O1',
                    '-DCOHORT_CUDA=OFF',
                ],
                BUILD_SECONDS,
                self.log,
                ROOT,
            ):
                sys.exit('mutation: the copy of the tree cannot be configured: see %s' % self.log)

    def compile(self, targets):
        jobs = os.environ.get('JOBS') or str(os.cpu_count())
        return run(
            ['cmake', '--build', self.build, '-j', jobs, '--target'] + targets, BUILD_SECONDS, self.log, ROOT
        )

    def objects(self):
        found = {}
        for at, _, names in os.walk(os.path.join(self.build, 'CMakeFiles')):
            for name in names:
                if name.endswith('.o'):
                    path = os.path.join(at, name)
                    found[path] = os.stat(path).st_mtime_ns
        return found

    def restore(self):
        """Takes the mutant out that an earlier run may have left."""
        if os.path.exists(self.saved):
            with open(self.saved, encoding='utf-8') as f:
                name, text = f.read().split('\n', 1)
            with open(os.path.join(self.tree, name), 'w', encoding='utf-8') as f:
                f.write(text)
            os.remove(self.saved)

    def put(self, name, text, point):
        with open(self.saved + '.part', 'w', encoding='utf-8') as f:
            f.write(name + '\n' + text)
        os.rename(self.saved + '.part', self.saved)
        with open(os.path.join(self.tree, name), 'w', encoding='utf-8') as f:
            f.write(text[: point[0]] + point[2] + text[point[1] :])


def digest(path):
    with open(path, 'rb') as f:
        return hashlib.sha256(f.read()).hexdigest()


def owner(tree, name):
    if name.startswith('cli/'):
        return 'cli'
    return subprocess.run(
        ['scripts/touched.sh', '--owners', name], cwd=tree, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


CLI_PARTS = {
    'sort': 'sort',
    'spill': 'sort',
    'split': 'split',
    'place': 'split',
    'ids': 'set',
    'set': 'set',
    'bench': 'bench',
}


def suites(tree, name):
    """The tests for a file, as (program or part of tests/cli, device): those of its structure, or of all."""
    structure = owner(tree, name)
    if structure == 'cli':
        part = CLI_PARTS.get(os.path.basename(name).split('.')[0], 'count')
        return [('cli ' + part, 'host')]
    devices = (
        ['sim:1']
        if name.startswith(('src/kernels/', 'src/cuda/'))
        else ['cpu'] if name.startswith('src/cpu/') else ['cpu', 'sim:1']
    )
    folders = [structure]
    if structure == 'all':
        folders = subprocess.run(
            ['scripts/touched.sh', '--structures'], cwd=tree, check=True, stdout=subprocess.PIPE, text=True
        ).stdout.split()
    found = []
    for folder in folders:
        at = os.path.join(tree, 'tests', folder)
        programs = (
            sorted(f[:-2] for f in os.listdir(at) if f.startswith('test_') and f.endswith('.c'))
            if os.path.isdir(at)
            else []
        )
        found += [(p, d) for p in programs for d in devices]
    return found


def command(copy, suite):
    program, device = suite
    if program.startswith('cli '):
        return ['bash', os.path.join(copy.tree, 'tests/cli/run.sh'), copy.build, 'cpu', program.split()[1]]
    return [os.path.join(copy.build, 'tests', program), '--device', device, '--quick', '--stop']


def targets_of(found):
    if found and found[0][0].startswith('cli '):
        return ['all']
    return sorted({program for program, _ in found})


def test_one(copy, suite, seconds):
    os.environ['TMPDIR'] = copy.scratch
    cli = suite[0].startswith('cli ')
    return run(
        command(copy, suite),
        seconds,
        os.path.join(copy.folder, 'test.log'),
        copy.scratch,
        bounded=True,
        until=rb'^FAIL' if cli else None,
    )


def measure(copy, found):
    """What each takes without a mutant, once; all must pass there."""
    for suite in found:
        key = ' '.join(suite)
        if key in copy.times:
            continue
        start = time.time()
        code = test_one(copy, suite, 900)
        if code not in (0, 77):
            sys.exit(
                'mutation: without a mutant %s %s'
                % (key, 'does not end' if code is None else 'fails, status %d' % code)
            )
        copy.times[key] = -1 if code == 77 else round(time.time() - start, 2)
        with open(copy.times_file + '.part', 'w') as f:
            json.dump(copy.times, f, indent=1)
        os.rename(copy.times_file + '.part', copy.times_file)


def judge(copy, found):
    """What catches the mutant that is built: ('caught', by) or ('survived', how much of the tests ran). The
    quick ones come first."""
    there = sorted((s for s in found if copy.times[' '.join(s)] >= 0), key=lambda s: copy.times[' '.join(s)])
    end = time.time() + TESTS_SECONDS
    for done, suite in enumerate(there):
        left = end - time.time()
        if left <= 0:
            return 'survived', '%d of %d programs in %d s' % (done, len(there), TESTS_SECONDS)
        hang = 20 + 5 * copy.times[' '.join(suite)]
        code = test_one(copy, suite, min(left, hang))
        if code is None and hang <= left:
            return 'caught', ' '.join(suite) + ' hung'
        if code is None:
            return 'survived', '%d of %d programs in %d s' % (done, len(there), TESTS_SECONDS)
        if code not in (0, 77):
            return 'caught', ' '.join(suite)
    return 'survived', 'all of %d programs' % len(there)


def one(copy, tree, drawn):
    """(verdict, by) of one mutant: caught, survived, same (the objects are), broken (it does not compile)."""
    _, name, _, point = drawn
    found = suites(copy.tree, name)
    if not found:
        return 'survived', 'no tests'
    targets = targets_of(found)
    if copy.compile(targets):
        sys.exit('mutation: the tree does not build without a mutant: see %s' % copy.log)
    measure(copy, found)
    before = {path: digest(path) for path in copy.objects()}
    times = copy.objects()
    time.sleep(0.01)
    copy.put(name, tree.files[name][0], point)
    try:
        code = copy.compile(targets)
        if code is None:
            return 'broken', 'not built in %d s' % BUILD_SECONDS
        if code:
            return 'broken', 'does not compile'
        changed = [p for p, at in copy.objects().items() if times.get(p) != at]
        if all(before.get(p) == digest(p) for p in changed):
            return 'same', '%d objects' % len(changed)
        return judge(copy, found)
    finally:
        copy.restore()


# ---- results -----------------------------------------------------------------------------------------------


def layer(name):
    top = name.split('/')
    return '/'.join(top[:2]) if top[0] == 'src' else top[0]


def read_results(path):
    rows = {}
    if os.path.exists(path):
        with open(path, encoding='utf-8') as f:
            for line in f:
                row = line.rstrip('\n').split('\t')
                if len(row) == 7:
                    rows[int(row[0])] = row
    return rows


def table(rows):
    """The score by layer, then the survivors; rows as results.tsv has them."""
    lines, by = [], {}
    for row in rows:
        by.setdefault(layer(row[1]), []).append(row[3])
    lines.append('%-14s %7s %9s %6s %8s %8s' % ('layer', 'caught', 'survived', 'score', 'same', 'broken'))

    def line(name, verdicts):
        caught, survived = verdicts.count('caught'), verdicts.count('survived')
        score = '%.2f' % (caught / (caught + survived)) if caught + survived else '-'
        lines.append(
            '%-14s %7d %9d %6s %8d %8d'
            % (name, caught, survived, score, verdicts.count('same'), verdicts.count('broken'))
        )

    for name in sorted(by):
        line(name, by[name])
    line('all', [row[3] for row in rows])
    survivors = [row for row in rows if row[3] == 'survived']
    if survivors:
        lines += ['', 'survived:'] + [
            '%s:%s: %s: %s (%s)' % (r[1], r[2], r[5], r[6], r[4]) for r in survivors
        ]
    return '\n'.join(lines)


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument('--n', type=int, default=60)
    parser.add_argument('--seed', default='')
    parser.add_argument('--budget', type=float, default=0)
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--points', nargs='+')
    parser.add_argument('--help', action='store_true')
    a = parser.parse_args()
    if a.help:
        print(__doc__)
        return 0
    if a.points:
        for name in a.points:
            with open(name, encoding='utf-8') as f:
                text = f.read()
            for point in points(text)[1]:
                print(
                    '%s:%d: %s: %s' % (name, text.count('\n', 0, point[0]) + 1, point[3], told(text, point))
                )
        return 0
    if a.n < 1:
        sys.exit('mutation: --n is %d; it must be at least 1' % a.n)
    head = subprocess.run(
        ['git', 'rev-parse', 'HEAD'], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ).stdout.strip()
    seed = a.seed or head
    if not re.fullmatch(r'[\w.-]+', seed):
        sys.exit("mutation: --seed is '%s'; without a commit it must be given, of letters and digits" % seed)
    copy = Copy(os.path.join(ROOT, 'build', 'mutation', seed[:12]))
    if a.list:
        tree = Tree(ROOT)
    else:
        copy.make(head)
        tree = Tree(copy.tree)
    results = os.path.join(copy.folder, 'results.tsv')
    rows, listed, counted = read_results(results), [], 0
    start, left_out = time.time(), False
    for drawn in tree.draw(seed):
        if counted >= a.n:
            break
        k, name, line, point = drawn
        text = tree.files[name][0]
        if a.list:
            print('%s:%d: %s: %s' % (name, line, point[3], told(text, point)))
            counted += 1
            continue
        if k not in rows:
            if a.budget and time.time() - start > a.budget:
                left_out = True
                break
            verdict, by = one(copy, tree, drawn)
            rows[k] = [str(k), name, str(line), verdict, by, point[3], told(text, point).replace('\t', ' ')]
            with open(results, 'a', encoding='utf-8') as f:
                f.write('\t'.join(rows[k]) + '\n')
            print('%s:%d: %s: %s: %s (%s)' % (name, line, point[3], rows[k][6], verdict, by), flush=True)
        listed.append(rows[k])
        counted += rows[k][3] in ('caught', 'survived')
    if not a.list:
        print(
            '\nseed %s, %d of %d mutants%s\n%s'
            % (seed, counted, a.n, '; the time was up' if left_out else '', table(listed))
        )
    return 0


if __name__ == '__main__':
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
