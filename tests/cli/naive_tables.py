#!/usr/bin/env python3
"""A peer of `bench table` in plain Python, dicts and loops: the oracle of its answers where neither duckdb nor
polars is.

NAIVE_WRONG in the environment: the sum of the first answer is wrong."""
import json
import math
import os
import sys

options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
N, K, INPUT = int(options["--n"]), int(options["--k"]), options["--input"]
SORTED, NULLS, MASK = INPUT == "sorted", INPUT == "nulls", (1 << 64) - 1
QUERIES = options["--query"].split(",")


def hashed(i, stream):
    x = (i * 32 + stream + 108) & MASK
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & MASK
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return x ^ x >> 33


def null(i, stream):
    return NULLS and hashed(i, stream + 16) % 20 == 0


def group_id(i, id):
    k, many = K, max(N // K, 1)
    if SORTED and id <= 3:
        each = max(N // k // k, 1)
        pair, j = min(i // each, k * k - 1), i % each
        value = (pair // k, pair % k, (j * many + hashed(i, 3) % many) // each % many)[id - 1] + 1
    else:
        value = hashed(i, id) % (many if id in (3, 6) else k) + 1
    return None if null(value, id) else value


def group_value(i, v):
    value = hashed(i, 6 + v) % (5, 15, 100000000)[v - 1]
    return None if null(i, 6 + v) else value / 1e6 if v == 3 else value + 1


def size(id):
    return max(10, (N // 1000000, N // 1000, N)[id - 1] // 10 * 10)


def shuffled(i, n, stream):
    half = 1
    while n > 1 << 2 * half:
        half += 1
    mask = (1 << half) - 1
    while True:
        left, right = i >> half, i & mask
        for turn in range(4):
            left, right = right, left ^ (hashed(right, stream + turn) & mask)
        i = left << half | right
        if i < n:
            return i


def key(e, right):
    return e // 10 * 11 + (10 if right and e % 10 == 9 else e % 10) + 1


def left_id(i, id):
    if id == 3:
        e = i if SORTED else shuffled(i, size(3), 0)
    else:
        e = i * size(id) // size(3) if SORTED else hashed(i, id) % size(id)
    return None if null(i, id) else key(e, False)


def right_id(i, id, own):
    if id != own:
        e = hashed(i + (1 << 40), id) % size(id)
    else:
        e = i if SORTED else shuffled(i, size(own), 4)
    return None if null(i, 8 + id) else key(e, True)


def join_value(i, v):
    return None if null(i, 12 + v) else hashed(i, 12 + v) % 100000000 / 1e6


def answer_of(lines):
    """Of (keys, values) pairs."""
    out = {"rows": 0, "sum": 0.0, "weighted": 0.0, "valid": 0}
    for keys, values in lines:
        weight = 1 + sum((k + 1) * (v or 0) for k, v in enumerate(keys)) % 1009
        out["rows"] += 1
        for c, v in enumerate(values):
            if v is not None:
                out["sum"] += (c + 1) * v
                out["weighted"] += (c + 1) * v * weight
                out["valid"] += c + 1
    return out


def total(values):
    return sum(values) if values else None


def mean(values):
    return sum(values) / len(values) if values else None


def variance(values):
    if len(values) < 2:
        return None
    middle = math.fsum(values) / len(values)
    return math.fsum((v - middle) ** 2 for v in values) / (len(values) - 1)


def deviation(values):
    return None if len(values) < 2 else math.sqrt(variance(values))


# By the numbers of keys; of v1 to v3, and from number 4 on id1 to id6.
GROUPS = {"q1": ([1], [(total, 1)]), "q2": ([1, 2], [(total, 1)]), "q3": ([3], [(total, 1), (mean, 3)]),
          "q4": ([4], [(mean, 1), (mean, 2), (mean, 3)]), "q5": ([6], [(total, 1), (total, 2), (total, 3)]),
          "q7": ([3], [(lambda v: max(v, default=None), 1), (lambda v: min(v, default=None), 2)]),
          "q10": ([1, 2, 3, 4, 5, 6], [(total, 3), (len, 0)]),
          "sd": ([4, 5], [(deviation, 3), (variance, 3)]), "nunique": ([4], [(lambda v: len(set(v)), 9)])}
JOINS = {"j1": (1, 1, False), "j2": (2, 2, False), "j3": (2, 2, True), "j4": (2, 2, False), "j5": (3, 3, False)}


def groups():
    rows = [([group_id(i, id) for id in range(1, 7)], [0] + [group_value(i, v) for v in range(1, 4)]) for i in range(N)]
    rows = [(ids, v + ids) for ids, v in rows]
    for name, (by, values) in GROUPS.items():
        if name in ("sd", "nunique") and name not in QUERIES:
            continue
        found = {}
        for ids, v in rows:
            found.setdefault(tuple(ids[k - 1] for k in by), []).append(v)
        yield f"group {name}", f"K = {K}", answer_of(
            (k, [how([v[c] for v in of if v[c] is not None]) for how, c in values]) for k, of in found.items())


def joins():
    left = [([left_id(i, id) for id in (1, 2, 3)], join_value(i, 1)) for i in range(size(3))]
    for name, (id, own, outer) in JOINS.items():
        right = {}
        for i in range(size(own)):
            right[right_id(i, own, own)] = (join_value(i, 2), right_id(i, 1, own))
        right.pop(None, None)
        lines = [(ids, (v, *right.get(ids[id - 1], (None, None)))) for ids, v in left if outer or ids[id - 1] in right]
        yield f"join {name}", "", answer_of(lines)


report = []
for name, keys, extras in groups() if options["--experiment"] == "table groups" else joins():
    if INPUT != "plain":
        keys += (", " if keys else "") + INPUT
    if not report and os.environ.get("NAIVE_WRONG"):
        extras["sum"] += 1
    report.append({"name": name, "keys": keys, "variant": options["--text"], "n": N,
                   "threads": int(options["--threads"]),
                   "median": 1, "least": 1, "most": 1, "runs": 1, "peer": {"name": "naive", "version": "1"},
                   "extras": extras})
print(json.dumps({"rows": report}))
