#!/usr/bin/env python3
"""mutation.py [--n N] [--seed S] [--budget SECONDS] [--list] [--points FILE...]

Draws N random single-point mutants over src, include and cli, by their lines of code, builds each in a copy of the tree, runs the tests
of the structure that its file belongs to (scripts/touched.sh --owners) for at most 90 s, and prints the score by layer and the mutants
that survived. docs/mutants.md says what a mutant is, and how to read the table.

  --n N             mutants that count: caught or survived (60)
  --seed S          of the draw; by default the hash of the commit that the tree is at
  --budget SECONDS  no mutant begins later; the next call with the same seed goes on
  --list            prints the draw and builds nothing
  --points FILE...  prints every mutant that FILE could have, a line each

What was found is in build/mutation/SEED: the copy of the tree, its build, and results.tsv, a line a mutant. Mutants that do not compile,
and those whose objects are the same to the byte, do not count; others are drawn in their place. GPU code is tested on the simulated GPU
alone, so what only nvcc sees has the same objects here.
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

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TESTS_SECONDS = 90
BUILD_SECONDS = 1200
MEMORY_BYTES = 8 << 30
FILE_BYTES = 2 << 30

# ---- what can be changed in a text ---------------------------------------------------------------------------------

# Blanked, with newlines kept, so that places stay what they are.
UNSEEN = re.compile(r"""
    /\*.*?\*/ | //[^\n]*
  | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
  | ^[ \t]*\#[ \t]*(?!define\b)(?:\\\n|[^\n])*
  | ^[ \t]*\#[ \t]*define[ \t]+\w+(?:\([^)\n]*\))?
""", re.X | re.S | re.M)

# Their arguments make a message. What begins so may be left out as a whole.
MESSAGE = re.compile(r'\b(?:\w*_fail|\w*_failed|failed|fail\w*|complain\w*|usage\w*)\s*\(')

# Lines that change how fast something is, and nothing else.
HINT = re.compile(r'prefetch|UNROLL|likely|__builtin_expect|_Pragma|madvise|__attribute__|_Alignas|_Static_assert|static_assert')

RELATION = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '=='}
ARITHMETIC = {'+': '-', '-': '+', '*': '/', '/': '*', '%': '/', '+=': '-=', '-=': '+=', '*=': '/=', '/=': '*='}
BITS = {'&': '|', '|': '&', '^': '|', '<<': '>>', '>>': '<<', '&&': '||', '||': '&&', '|=': '&=', '&=': '|=', '^=': '|=',
        '<<=': '>>=', '>>=': '<<='}
# An operator of two operands has a space on either side: the tree's format says so.
OPERATOR = re.compile(r'(?<=[ \t])(<<=|>>=|[<>=!]=|[-+*/&|^]=|&&|\|\||<<|>>|[-+*/%&|^<>])(?=[ \t\n])')
CONSTANT = re.compile(r'(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)(?![\w.])')
CONDITION = re.compile(r'\b(if|while) \(')
KEYWORDS = {'break', 'continue', 'goto', 'return', 'if', 'else', 'for', 'while', 'do', 'switch', 'case', 'default', 'typedef', 'struct',
            'enum', 'union', 'static', 'const', 'extern', 'register', 'volatile', 'unsigned', 'signed', 'sizeof'}


def blank(text):
    return re.sub(r'[^\n]', ' ', text)


def closing(text, at):
    """The place of the bracket that closes the one at `at`, or -1."""
    depth = 0
    for i in range(at, len(text)):
        if text[i] in '([{':
            depth += 1
        elif text[i] in ')]}':
            depth -= 1
            if depth == 0:
                return i
    return -1


def mask(text):
    """The text with what is no code blanked: comments, strings, directives, and then the arguments of messages."""
    seen = UNSEEN.sub(lambda m: blank(m.group()), text)
    for m in MESSAGE.finditer(seen):
        end = closing(seen, m.end() - 1)
        if end > 0 and '"' in text[m.end():end]:
            seen = seen[:m.end()] + blank(seen[m.end():end]) + seen[end:]
    return seen


def whole_statement(seen, start, end):
    """Whether seen[start:end], which ends in a semicolon, may be left out: no declaration, no label, no return at a function's end."""
    statement = seen[start:end].strip()
    words = re.findall(r'\w+', statement)
    if not words or seen.count('(', start, end) != seen.count(')', start, end) or '{' in statement:
        return False
    before = seen[:start].rstrip()
    guarded = before.endswith(')') or before.endswith('else')
    first = words[0]
    if first in ('break', 'continue', 'goto'):
        return True
    if first == 'return':
        return guarded
    if first in KEYWORDS or not (before.endswith((';', '{', '}', ':')) or guarded):
        return False
    if re.match(r'(\w+[ \t\n]+)+\**\w+\s*(=|;|\[|,|\()', statement) or re.match(r'\w+ \*+\w', statement):
        return False  # a declaration
    return bool(re.match(r'[\w*(+-]', statement)) and bool(re.search(r'=|\(|\+\+|--', statement))


def number_of(digits):
    """The value of an integer constant's digits, or None."""
    if digits[:2] in ('0x', '0X'):
        return int(digits, 16)
    if digits.startswith('0') and len(digits) > 1:
        return int(digits, 8) if set(digits) <= set('01234567') else None
    return int(digits)


def statements(seen):
    """Places of whole statements that may be left out."""
    start = 0
    for end, c in enumerate(seen):
        if c == ';':
            at = guard_end(seen, start + len(seen[start:end]) - len(seen[start:end].lstrip()), end)
            if whole_statement(seen, at, end + 1):
                yield at, end + 1
        if c in '{};':
            start = end + 1


def points(text):
    """The text as mask leaves it, and all its single-point mutants by place: (start, end, replacement, operator)."""
    seen = mask(text)
    hints = {number for number, line in enumerate(seen.split('\n')) if HINT.search(line)}
    found = []
    for m in OPERATOR.finditer(seen):
        for kind, others in (('relation', RELATION), ('arithmetic', ARITHMETIC), ('bits', BITS)):
            if m.group(1) in others:
                found.append((m.start(1), m.end(1), others[m.group(1)], kind))
    for m in re.finditer(r'(?<=[ \t])~(?=[\w(])', seen):
        found.append((m.start(), m.end(), '', 'bits'))
    for m in CONSTANT.finditer(seen):
        value = number_of(m.group(1))
        for change in () if value is None else (1,) if value == 0 else (1, -1):
            found.append((m.start(), m.end(), '%d%s' % (value + change, m.group(2)), 'constant'))
    for m in CONDITION.finditer(seen):
        end = closing(seen, m.end() - 1)
        if end > 0:
            found.append((m.end() - 1, end + 1, '(!' + text[m.end() - 1:end + 1] + ')', 'condition'))
    found += [(start, end, ';', 'statement') for start, end in statements(seen)]
    return seen, [point for point in sorted(found) if seen.count('\n', 0, point[0]) not in hints]


def guard_end(seen, start, end):
    """Past the `if (...)`, `else`, `for (...)`, `while (...)`, `case ...:` and labels that stand before a statement."""
    at = start
    while True:
        m = re.compile(r'\s*(?:(?:else )?(?:if|while|switch) (?=\()|else(?=\s)|(?:case [^;:{}?]+|default|\w+):(?!:))').match(seen, at, end)
        if not m or m.end() == at:
            break
        at = m.end()
        if at < end and seen[at] == '(':
            close = closing(seen, at)
            if close < 0 or close > end:
                break
            at = close + 1
    return at + len(seen[at:end]) - len(seen[at:end].lstrip())


def code_lines(seen):
    return [i for i, line in enumerate(seen.split('\n')) if re.search(r'\w', line)]


# ---- the draw ------------------------------------------------------------------------------------------------------

class Tree:
    """Its files, with their lines of code and the points of each line."""

    def __init__(self, folder):
        self.files, self.lines = {}, []
        names = []
        for top in ('src', 'include', 'cli'):
            for at, _, inside in os.walk(os.path.join(folder, top)):
                names += [os.path.relpath(os.path.join(at, n), folder) for n in inside if n.endswith(('.c', '.h', '.cu'))]
        for name in sorted(names):
            with open(os.path.join(folder, name), encoding='utf-8') as f:
                text = f.read()
            seen, found = points(text)
            by_line = {}
            for point in found:
                by_line.setdefault(text.count('\n', 0, point[0]), []).append(point)
            self.files[name] = (text, by_line)
            self.lines += [(name, number) for number in code_lines(seen)]

    def draw(self, seed):
        """Mutants without end, by lines: each line of code is as likely as any other, those without a point are passed over."""
        k, drawn = 0, set()
        while len(drawn) < 1000000:
            number = int.from_bytes(hashlib.sha256(('%s:%d' % (seed, k)).encode()).digest()[:16], 'little')
            k += 1
            name, line = self.lines[number % len(self.lines)]
            here = self.files[name][1].get(line)
            if not here:
                continue
            point = here[number // len(self.lines) % len(here)]
            if (name, point) not in drawn:
                drawn.add((name, point))
                yield k - 1, name, line + 1, point


def told(text, point):
    """The change in one line."""
    start, end, other, kind = point
    if kind == 'statement':
        return 'without ' + ' '.join(text[start:end].split())[:70]
    if kind == 'condition':
        return 'not ' + ' '.join(text[start:end].split())[:70]
    line = text[text.rfind('\n', 0, start) + 1:(text + '\n').find('\n', end)]
    return '%s -> %s in: %s' % (text[start:end], other or 'nothing', ' '.join(line.split())[:70])


# ---- building and testing ------------------------------------------------------------------------------------------

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
    """Exit status, or None when the time was up. Ends early, with status 1, when a bounded one has too much memory, and when the output
    has what `until` looks for."""
    with open(log, 'wb') as out:
        p = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=cwd, start_new_session=True,
                             preexec_fn=limits if bounded else None)
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
        self.folder, self.tree, self.build = folder, os.path.join(folder, 'tree'), os.path.join(folder, 'build')
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
            if run(['cmake', '-S', self.tree, '-B', self.build, '-DCMAKE_BUILD_TYPE=Release', '-DCMAKE_C_FLAGS_RELEASE=-O1',
                    '-DCOHORT_CUDA=OFF'], BUILD_SECONDS, self.log, ROOT):
                sys.exit('mutation: the copy of the tree cannot be configured: see %s' % self.log)

    def compile(self, targets):
        jobs = os.environ.get('JOBS') or str(os.cpu_count())
        return run(['cmake', '--build', self.build, '-j', jobs, '--target'] + targets, BUILD_SECONDS, self.log, ROOT)

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
            f.write(text[:point[0]] + point[2] + text[point[1]:])


def digest(path):
    with open(path, 'rb') as f:
        return hashlib.sha256(f.read()).hexdigest()


def owner(tree, name):
    if name.startswith('cli/'):
        return 'cli'
    return subprocess.run(['scripts/touched.sh', '--owners', name], cwd=tree, check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()


CLI_PARTS = {'sort': 'sort', 'spill': 'sort', 'split': 'split', 'place': 'split', 'ids': 'split', 'set': 'set', 'bench': 'bench'}


def suites(tree, name):
    """The tests for a file, as (program or part of tests/cli, device): those of its structure, of `all` those of every one."""
    structure = owner(tree, name)
    if structure == 'cli':
        part = CLI_PARTS.get(os.path.basename(name).split('.')[0], 'count')
        return [('cli ' + part, 'host')]
    devices = ['sim:1'] if name.startswith(('src/kernels/', 'src/cuda/')) else ['cpu'] if name.startswith('src/cpu/') else \
        ['cpu', 'sim:1']
    folders = [structure]
    if structure == 'all':
        folders = subprocess.run(['scripts/touched.sh', '--structures'], cwd=tree, check=True, stdout=subprocess.PIPE,
                                 text=True).stdout.split()
    found = []
    for folder in folders:
        at = os.path.join(tree, 'tests', folder)
        programs = sorted(f[:-2] for f in os.listdir(at) if f.startswith('test_') and f.endswith('.c')) if os.path.isdir(at) else []
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
    return run(command(copy, suite), seconds, os.path.join(copy.folder, 'test.log'), copy.scratch, bounded=True,
               until=rb'^FAIL' if cli else None)


def measure(copy, found):
    """What each takes without a mutant, once; all must pass there."""
    for suite in found:
        key = ' '.join(suite)
        if key in copy.times:
            continue
        start = time.time()
        code = test_one(copy, suite, 900)
        if code not in (0, 77):
            sys.exit('mutation: without a mutant %s %s' % (key, 'does not end' if code is None else 'fails, status %d' % code))
        copy.times[key] = -1 if code == 77 else round(time.time() - start, 2)
        with open(copy.times_file + '.part', 'w') as f:
            json.dump(copy.times, f, indent=1)
        os.rename(copy.times_file + '.part', copy.times_file)


def judge(copy, found):
    """What catches the mutant that is built: ('caught', by) or ('survived', how much of the tests ran). The quick ones come first."""
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


# ---- results -------------------------------------------------------------------------------------------------------

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
        lines.append('%-14s %7d %9d %6s %8d %8d' % (name, caught, survived, score, verdicts.count('same'), verdicts.count('broken')))

    for name in sorted(by):
        line(name, by[name])
    line('all', [row[3] for row in rows])
    survivors = [row for row in rows if row[3] == 'survived']
    if survivors:
        lines += ['', 'survived:'] + ['%s:%s: %s: %s (%s)' % (r[1], r[2], r[5], r[6], r[4]) for r in survivors]
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
                print('%s:%d: %s: %s' % (name, text.count('\n', 0, point[0]) + 1, point[3], told(text, point)))
        return 0
    if a.n < 1:
        sys.exit('mutation: --n is %d; it must be at least 1' % a.n)
    head = subprocess.run(['git', 'rev-parse', 'HEAD'], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True).stdout.strip()
    seed = a.seed or head
    if not re.fullmatch(r'[\w.-]+', seed):
        sys.exit("mutation: --seed is '%s'; without a commit it must be given, of letters and digits" % seed)
    copy = Copy(os.path.join(ROOT, 'build', 'mutation', seed[:12]))
    start = time.time()
    if a.list:
        tree = Tree(ROOT)
    else:
        copy.make(head)
        tree = Tree(copy.tree)
    results = os.path.join(copy.folder, 'results.tsv')
    rows, listed, counted = read_results(results), [], 0
    left_out = False
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
        print('\nseed %s, %d of %d mutants%s\n%s' % (seed, counted, a.n, '; the time was up' if left_out else '', table(listed)))
    return 0


if __name__ == '__main__':
    sys.exit(main())
