#!/usr/bin/env python3
"""duckdb, polars and pandas: sums by key of `bench map --experiment sums`, 64-bit keys and values, each engine
from its own resident form; rows as JSON.

The columns are those of bench/sums.c. Every answer is judged by the sum over all groups of the sum times a mix of
the key, modulo 2^64, which the entries themselves give without a group; our bench judges this in turn by its own
columns. An engine that is not installed has no rows.
"""
import importlib
import math
import sys

import engines
from engines import mix, options, threads

engines.only("map sums")
try:
    import numpy as np
    import pyarrow as pa
except ImportError:
    engines.elsewhere()

N, RUNS, STEP = int(options["--n"]), int(options.get("--runs", "3")), int(options.get("--step", "10"))
MOST = 100000000
u64 = np.uint64


# ---- the columns: bench/keys.h, bench/zipf.h ------------------------------------------------------------

def key(i):
    return mix(i + u64(0x51ED270B))


def step_of(n):
    step = int(n * 0.6180339887) | 1
    while math.gcd(n, step) != 1:
        step += 2
    return step


def other():
    """Where entry i goes in another order; products of two numbers below 2^32 fit."""
    return (np.arange(N, dtype=u64) * u64(step_of(N)) + u64(N // 3)) % u64(N)


def zipf(n):
    """Ranks by Zipf's law with exponent 1, by rejection-inversion."""
    low, high = math.log(1.5) - 1, math.log(n + 0.5)
    rank, left, draw = np.zeros(N, dtype=u64), np.arange(N), 0
    while len(left):
        drawn = mix(mix(left.astype(u64) + u64(1)) + u64(draw * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF))
        y = high + (drawn >> u64(11)).astype(np.float64) * 2.0**-53 * (low - high)
        k = np.floor(np.clip(np.exp(y) + 0.5, 1, n))
        taken = y >= np.log(k + 0.5) - 1 / k
        rank[left[taken]] = k[taken].astype(u64) - u64(1)
        left, draw = left[~taken], draw + 1
    return rank


def check(keys, values):
    """The low 32 bits of the sum of values times mixed keys."""
    return int((mix(keys) * values).sum(dtype=u64) & u64(0xFFFFFFFF))


# ---- the engines: each has a form, a question, and the groups of an answer --------------------------------

def polars_run(pl, keys, values):
    x = pl.DataFrame({"k": keys.view(np.int64), "v": values.view(np.int64)})
    yield lambda: x.lazy().group_by("k").agg(pl.col("v").sum()).collect()
    answer = yield
    yield answer["k"].to_numpy(), answer["v"].to_numpy()


def duckdb_run(duckdb, keys, values):
    db = duckdb.connect()
    db.execute(f"SET threads={threads}")
    db.register("source", pa.table({"k": keys.view(np.int64), "v": values.view(np.int64)}))
    db.execute("CREATE TABLE x AS SELECT * FROM source")
    yield lambda: db.execute("CREATE OR REPLACE TABLE answer AS SELECT k, SUM(v) AS v FROM x GROUP BY k")
    yield
    wide = 1 << 64
    answer = db.execute(
        f"SELECT k, CAST((v % {wide} + {wide}) % {wide} AS UBIGINT) AS v FROM answer").fetchnumpy()
    yield answer["k"], answer["v"]


def pandas_run(pd, keys, values):
    x = pd.DataFrame({"k": keys.view(np.int64), "v": values.view(np.int64)})
    yield lambda: x.groupby("k", sort=False)["v"].sum()
    answer = yield
    yield answer.index.to_numpy(), answer.to_numpy()


report = []


def point(law, distinct, keys, values):
    due = check(keys, values)
    for name, run in (("polars", polars_run), ("duckdb", duckdb_run), ("pandas", pandas_run)):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        steps = run(module, keys, values)
        seconds, answer = engines.timed(next(steps), RUNS)
        next(steps)
        groups, sums = (np.ascontiguousarray(c).view(u64) for c in steps.send(answer))
        if check(groups, sums) != due or len(np.unique(groups)) != len(groups):
            sys.exit(f"{name}: another answer, {law}, {distinct} keys")
        row = engines.row(name, module.__version__, N, seconds, name="sums add", width="64/64", keys=law,
                          at_name="keys", at=distinct, extras={"groups": len(groups), "check": due})
        report.append(row if name == "pandas" else {**row, "threads": threads})  # pandas has one always


values, distinct = key(np.arange(N, dtype=u64)), 1
while distinct <= min(MOST, N):
    point("uniform", distinct, key(other() % u64(distinct)), values)
    if distinct >= 100:
        point("zipf 1", distinct, key(zipf(distinct)), values)
    distinct *= STEP
engines.tell(report)
