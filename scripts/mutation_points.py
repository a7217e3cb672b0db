"""mutation_points.py: what mutation.py can change in a text, and which of all changes a seed draws."""

import hashlib
import os
import re

# ---- what can be changed in a text -------------------------------------------------------------------------

# Blanked, with newlines kept, so that places stay what they are.
UNSEEN = re.compile(
    r"""
    /\*.*?\*/ | //[^\n]*
  | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
  | ^[ \t]*\#[ \t]*(?!define\b)(?:\\\n|[^\n])*
  | ^[ \t]*\#[ \t]*define[ \t]+\w+(?:\([^)\n]*\))?
""",
    re.X | re.S | re.M,
)

# Their arguments make a message. What begins so may be left out as a whole.
MESSAGE = re.compile(r'\b(?:\w*_fail|\w*_failed|failed|fail\w*|complain\w*|usage\w*)\s*\(')

# Lines that change how fast something is, and nothing else.
HINT = re.compile(
    r'prefetch|UNROLL|likely|__builtin_expect|_Pragma|madvise|__attribute__|_Alignas|static_assert|_Static'
)

RELATION = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '=='}
ARITHMETIC = {
    '+': '-',
    '-': '+',
    '*': '/',
    '/': '*',
    '%': '/',
    '+=': '-=',
    '-=': '+=',
    '*=': '/=',
    '/=': '*=',
}
BITS = {
    '&': '|',
    '|': '&',
    '^': '|',
    '<<': '>>',
    '>>': '<<',
    '&&': '||',
    '||': '&&',
    '|=': '&=',
    '&=': '|=',
    '^=': '|=',
    '<<=': '>>=',
    '>>=': '<<=',
}
# An operator of two operands has a space on either side: the tree's format says so.
OPERATOR = re.compile(r'(?<=[ \t])(<<=|>>=|[<>=!]=|[-+*/&|^]=|&&|\|\||<<|>>|[-+*/%&|^<>])(?=[ \t\n])')
CONSTANT = re.compile(r'(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)(?![\w.])')
CONDITION = re.compile(r'\b(if|while) \(')
KEYWORDS = {
    'break',
    'continue',
    'goto',
    'return',
    'if',
    'else',
    'for',
    'while',
    'do',
    'switch',
    'case',
    'default',
    'typedef',
    'struct',
    'enum',
    'union',
    'static',
    'const',
    'extern',
    'register',
    'volatile',
    'unsigned',
    'signed',
    'sizeof',
}


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
    """The text with what is no code blanked: comments, strings, directives, then messages."""
    seen = UNSEEN.sub(lambda m: blank(m.group()), text)
    for m in MESSAGE.finditer(seen):
        end = closing(seen, m.end() - 1)
        if end > 0 and '"' in text[m.end() : end]:
            seen = seen[: m.end()] + blank(seen[m.end() : end]) + seen[end:]
    return seen


def whole_statement(seen, start, end):
    """Whether seen[start:end], which ends in a semicolon, may be left out: it is no declaration, no
    label, and no return at a function's end."""
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
    """The text as mask leaves it, and its mutants by place: (start, end, replacement, operator)."""
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
            found.append((m.end() - 1, end + 1, '(!' + text[m.end() - 1 : end + 1] + ')', 'condition'))
    found += [(start, end, ';', 'statement') for start, end in statements(seen)]
    return seen, [point for point in sorted(found) if seen.count('\n', 0, point[0]) not in hints]


def guard_end(seen, start, end):
    """Past `if (...)`, `else`, `for (...)`, `while (...)`, `case ...:` and labels before a statement."""
    at = start
    while True:
        m = re.compile(
            r'\s*(?:(?:else )?(?:if|while|switch) (?=\()|else(?=\s)|(?:case [^;:{}?]+|default|\w+):(?!:))'
        ).match(seen, at, end)
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


# ---- the draw ----------------------------------------------------------------------------------------------


class Tree:
    """Its files, with their lines of code and the points of each line."""

    def __init__(self, folder):
        self.files, self.lines = {}, []
        names = []
        for top in ('src', 'include', 'cli'):
            for at, _, inside in os.walk(os.path.join(folder, top)):
                names += [
                    os.path.relpath(os.path.join(at, n), folder)
                    for n in inside
                    if n.endswith(('.c', '.h', '.cu'))
                ]
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
        """Mutants without end: each line of code is as likely as any other, those without a point are passed
        over."""
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
    line = text[text.rfind('\n', 0, start) + 1 : (text + '\n').find('\n', end)]
    return '%s -> %s in: %s' % (text[start:end], other or 'nothing', ' '.join(line.split())[:70])
