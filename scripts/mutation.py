#!/usr/bin/env python3
"""mutation.py [--n N] [--seed S] [--budget SECONDS] [--jobs J] [--list] [--points FILE...]

Draws N random single-point mutants over src, include and cli, by their lines of code, builds each in a copy
of the tree, runs the tests of the structure that its file belongs to (scripts/touched.sh --owners) for at
most 90 s, and prints the score by layer and the mutants that survived. docs/mutants.md says what a mutant is,
and how to read the table.

  --n N             mutants that count: caught or survived (60)
  --seed S          of the draw; by default the hash of the commit that the tree is at
  --budget SECONDS  no mutant begins later; the next call with the same seed goes on
  --jobs J          mutants at a time, each in a copy of the tree of its own (1)
  --list            prints the draw and builds nothing
  --points FILE...  prints every mutant that FILE could have, a line each

What was found is in build/mutation/SEED: the copies of the tree, their builds (ccache, where it is
installed, makes the second and later ones quick), and results.tsv, a line a mutant in the order of judging.
Mutants that do not compile, and those whose objects are the same to the byte, do not count; others are drawn
in their place. GPU code is tested on the simulated GPU alone, so what only nvcc sees has the same objects
here.
"""

import argparse
import hashlib
import itertools
import json
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
from mutation_points import Tree, points, told

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TESTS_SECONDS = 90
BUILD_SECONDS = 1200
MEMORY_BYTES = 8 << 30

# ---- building and testing ----------------------------------------------------------------------------------


# Files of at most 2 GiB, in blocks of 512 bytes, and no core files.
BOUNDED = ['/bin/sh', '-c', 'ulimit -f 4194304; ulimit -c 0; exec "$@"', 'sh']


def resident(pid):
    """Bytes of memory that a process has, 0 if it has ended."""
    try:
        with open('/proc/%d/statm' % pid) as f:
            return int(f.read().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def run(command, seconds, log, cwd, bounded=False, until=None, env=None):
    """Exit status, or None when the time was up. Ends early, with status 1, when a bounded one has too much
    memory, and when the output has what `until` looks for."""
    with open(log, 'wb') as out:
        p = subprocess.Popen(
            BOUNDED + command if bounded else command,
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=cwd,
            env=env,
            start_new_session=True,
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


class Times:
    """What the tests take without a mutant, in seconds; -1 for those that are skipped. All copies have one."""

    def __init__(self, folder):
        self.file, self.lock, self.locks, self.seconds = (
            os.path.join(folder, 'times.json'),
            threading.Lock(),
            {},
            {},
        )
        if os.path.exists(self.file):
            with open(self.file) as f:
                self.seconds = json.load(f)

    def of(self, key):
        return self.seconds[key]

    def measured(self, key, measure):
        """Measures once, whoever asks first; the others wait for that."""
        with self.lock:
            lock = self.locks.setdefault(key, threading.Lock())
        with lock:
            if key in self.seconds:
                return
            seconds = measure()
            with self.lock:
                self.seconds[key] = seconds
                with open(self.file + '.part', 'w') as f:
                    json.dump(self.seconds, f, indent=1)
                os.rename(self.file + '.part', self.file)


class Copy:
    """A copy of the tree, and its build."""

    def __init__(self, folder, times, jobs):
        self.times, self.jobs = times, jobs
        self.folder, self.tree, self.build = (
            folder,
            os.path.join(folder, 'tree'),
            os.path.join(folder, 'build'),
        )
        self.log, self.scratch = os.path.join(folder, 'log'), os.path.join(folder, 'scratch')
        self.saved = os.path.join(folder, 'original')
        self.env = dict(
            os.environ,
            TMPDIR=self.scratch,
            CCACHE_BASEDIR=folder,
            CCACHE_NOHASHDIR='1',
            CCACHE_SLOPPINESS='time_macros',
        )

    def make(self, commit):
        os.makedirs(self.scratch, exist_ok=True)
        if not os.path.isdir(self.tree):
            part = self.tree + '.part'
            subprocess.run(['/bin/sh', '-c', COPY, 'sh', part, commit], check=True, cwd=ROOT)
            os.rename(part, self.tree)
        self.restore()
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
        return run(
            ['cmake', '--build', self.build, '-j', str(self.jobs), '--target'] + targets,
            BUILD_SECONDS,
            self.log,
            ROOT,
            env=self.env,
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
    'folder': 'split',
    'numbers': 'split',
    'ids': 'set',
    'set': 'set',
    'bench': 'bench',
}


# Folders that test files of other structures too, by the files' names.
BESIDE = {'compact': r'sums', 'files': r'\w*_(file|check)|sets?\.h', 'map': r'lines'}


def suites(tree, name):
    """The tests for a file, as (program or part of tests/cli, device): those of its structure and what else
    tests it, or of all."""
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
    folders += [f for f, names in BESIDE.items() if f not in folders and re.match(names, os.path.basename(name))]
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
    cli = suite[0].startswith('cli ')
    return run(
        command(copy, suite),
        seconds,
        os.path.join(copy.folder, 'test.log'),
        copy.scratch,
        bounded=True,
        until=rb'^FAIL' if cli else None,
        env=copy.env,
    )


def measure(copy, found):
    """What each takes without a mutant, once; all must pass there."""

    def one_of(suite):
        start = time.time()
        code = test_one(copy, suite, 900)
        if code not in (0, 77):
            raise SystemExit(
                'mutation: without a mutant %s %s'
                % (' '.join(suite), 'does not end' if code is None else 'fails, status %d' % code)
            )
        return -1 if code == 77 else round(time.time() - start, 2)

    for suite in found:
        copy.times.measured(' '.join(suite), lambda: one_of(suite))


def judge(copy, found):
    """What catches the mutant that is built: ('caught', by) or ('survived', how much of the tests ran). The
    quick ones come first."""
    there = sorted(
        (s for s in found if copy.times.of(' '.join(s)) >= 0), key=lambda s: copy.times.of(' '.join(s))
    )
    end = time.time() + TESTS_SECONDS
    for done, suite in enumerate(there):
        left = end - time.time()
        if left <= 0:
            return 'survived', '%d of %d programs in %d s' % (done, len(there), TESTS_SECONDS)
        hang = 20 + 5 * copy.times.of(' '.join(suite))
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
        raise SystemExit('mutation: the tree does not build without a mutant: see %s' % copy.log)
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


class Queue:
    """Hands out mutants in the order of the draw until n of them count, and keeps the rows of what was judged
    (results.tsv). Never are more at work than could still count, so the first n that count are found whatever
    the number of workers."""

    def __init__(self, draws, results, n, budget):
        self.draws, self.results, self.n = draws, results, n
        self.end = time.time() + budget if budget else None
        self.rows, self.order, self.counted, self.at_work = read_results(results), [], 0, 0
        self.changed, self.error, self.left_out = threading.Condition(), None, False

    def next(self):
        """The next mutant to judge, or None when there is nothing more to do."""
        with self.changed:
            while self.error is None and self.counted < self.n and not self.left_out:
                if self.counted + self.at_work >= self.n:
                    self.changed.wait()
                    continue
                drawn = next(self.draws, None)
                if drawn is None:
                    break
                if drawn[0] in self.rows:
                    self.order.append(drawn[0])
                    self.counted += self.rows[drawn[0]][3] in ('caught', 'survived')
                elif self.end and time.time() > self.end:
                    self.left_out = True
                else:
                    self.order.append(drawn[0])
                    self.at_work += 1
                    return drawn
            self.changed.notify_all()
            return None

    def judged(self, drawn, verdict, by, text):
        k, name, line, point = drawn
        row = [str(k), name, str(line), verdict, by, point[3], told(text, point).replace('\t', ' ')]
        with self.changed:
            self.rows[k] = row
            with open(self.results, 'a', encoding='utf-8') as f:
                f.write('\t'.join(row) + '\n')
            print('%s:%d: %s: %s: %s (%s)' % (name, line, point[3], row[6], verdict, by), flush=True)
            self.counted += verdict in ('caught', 'survived')
            self.at_work -= 1
            self.changed.notify_all()

    def failed(self, error):
        with self.changed:
            self.error = self.error or error
            self.changed.notify_all()

    def listed(self):
        return [self.rows[k] for k in self.order if k in self.rows]


def work(queue, copy, tree):
    """What a worker does, in its own copy."""
    try:
        for drawn in iter(queue.next, None):
            queue.judged(drawn, *one(copy, tree, drawn), tree.files[drawn[1]][0])
    except BaseException as error:
        queue.failed(error)


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


def copies_of(folder, commit, jobs):
    """As many copies as there are jobs. The first is built whole by all cores before the others, so that a
    cache of compilations has everything when those begin."""
    times, cores = Times(folder), int(os.environ.get('JOBS') or os.cpu_count())
    copies = []
    for job in range(jobs):
        copy = Copy(os.path.join(folder, str(job)), times, cores)
        copy.make(commit)
        if job == 0 and jobs > 1 and copy.compile(['all']):
            sys.exit('mutation: the tree does not build without a mutant: see %s' % copy.log)
        copy.jobs = max(1, cores // jobs)
        copies.append(copy)
    return copies


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument('--n', type=int, default=60)
    parser.add_argument('--seed', default='')
    parser.add_argument('--budget', type=float, default=0)
    parser.add_argument('--jobs', type=int, default=1)
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
    if not 1 <= a.jobs <= 64:
        sys.exit('mutation: --jobs is %d; it must be from 1 to 64' % a.jobs)
    head = subprocess.run(
        ['git', 'rev-parse', 'HEAD'], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ).stdout.strip()
    seed = a.seed or head
    if not re.fullmatch(r'[\w.-]+', seed):
        sys.exit("mutation: --seed is '%s'; without a commit it must be given, of letters and digits" % seed)
    if a.list:
        tree = Tree(ROOT)
        for _, name, line, point in itertools.islice(tree.draw(seed), a.n):
            print('%s:%d: %s: %s' % (name, line, point[3], told(tree.files[name][0], point)))
        return 0
    folder = os.path.join(ROOT, 'build', 'mutation', seed[:12])
    copies = copies_of(folder, head, a.jobs)
    tree = Tree(copies[0].tree)
    queue = Queue(tree.draw(seed), os.path.join(folder, 'results.tsv'), a.n, a.budget)
    workers = [threading.Thread(target=work, args=(queue, copy, tree), daemon=True) for copy in copies]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if queue.error:
        raise queue.error
    print(
        '\nseed %s, %d of %d mutants%s\n%s'
        % (seed, queue.counted, a.n, '; the time was up' if queue.left_out else '', table(queue.listed()))
    )
    return 0


if __name__ == '__main__':
    # As tests of signals need them, also where the shell has put this in the background.
    for number in (signal.SIGPIPE, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    sys.exit(main())
