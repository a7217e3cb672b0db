"""Replacing numpy.unique and numpy.isin: the same calls with another prefix, and how long each takes.

    python unique.py [ROWS]
"""

import sys
import time

import numpy as np

import libcohort as lc

rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 2_000_000
rng = np.random.default_rng(1)
visits = rng.integers(0, 2**40, rows)
visits[rows // 2 :] = rng.choice(visits[: rows // 2], rows - rows // 2)
known = rng.choice(visits, rows // 10)

CALLS = {
    "unique(visits)": lambda library: library.unique(visits),
    "unique(visits, return_inverse=True)": lambda library: library.unique(visits, return_inverse=True),
    "isin(visits, known)": lambda library: (library.isin if library is np else library.is_in)(visits, known),
    "argsort(visits)": lambda library: np.argsort(visits, kind="stable") if library is np else library.argsort(visits),
}


def timed(call, library):
    best = float("inf")
    for _ in range(2):
        start = time.perf_counter()
        result = call(library)
        best = min(best, time.perf_counter() - start)
    return best, result if isinstance(result, tuple) else (result,)


print(f"{rows:,} visits; milliseconds of numpy and of libcohort")
for text, call in CALLS.items():
    theirs, expected = timed(call, np)
    ours, got = timed(call, lc)
    for a, b in zip(expected, got, strict=True):
        assert np.array_equal(a, b), text
    longest = max(theirs, ours)
    for name, seconds in (("np", theirs), ("lc", ours)):
        bar = "#" * max(1, round(40 * seconds / longest))
        print(f"  {name}.{text if name == 'np' else text.replace('isin', 'is_in'):<38} {1000 * seconds:8.1f}  {bar}")
