#!/usr/bin/env python3
"""duckdb and polars: the questions of `bench table`, each engine from its own resident form; rows as JSON.

The tables are those of bench/table_inputs.h. `--text dictionary` is polars' Categorical and, of groups, duckdb's
ENUM (of at most a million values, else VARCHAR, as in joins); utf8 is both engines' strings. The answer's figures
are taken after the timed runs.
"""
import engines
from engines import experiment, mix, options, threads

engines.only("table groups", "table joins")
try:
    import duckdb
    import numpy as np
    import polars as pl
    import pyarrow as pa
except ImportError:
    engines.elsewhere()

N, K, RUNS = int(options["--n"]), int(options.get("--k", "100")), int(options.get("--runs", "3"))
INPUT, TEXT = options.get("--input", "plain"), options.get("--text", "dictionary")
SORTED, NULLS = INPUT == "sorted", INPUT == "nulls"
QUERIES = options.get("--query", "all").split(",")
u64 = np.uint64


# ---- the tables: bench/table_inputs.h --------------------------------------------------------------------

def hashed(i, stream):
    return mix(i * u64(32) + u64(stream + 108))


def is_null(i, stream):
    return hashed(i, stream + 16) % u64(20) == 0


def rows(n):
    return np.arange(n, dtype=u64)


def values_of(id):
    return max(N // K, 1) if id in (3, 6) else K


def sorted_id(i, id):
    each = max(N // K // K, 1)
    pair, j = i // u64(each), i % u64(each)
    pair = np.minimum(pair, u64(K * K - 1))
    if id == 1:
        return pair // u64(K) + u64(1)
    if id == 2:
        return pair % u64(K) + u64(1)
    many = u64(values_of(3))
    return (j * many + hashed(i, 3) % many) // u64(each) % many + u64(1)


def group_id(i, id):
    value = sorted_id(i, id) if SORTED and id <= 3 else hashed(i, id) % u64(values_of(id)) + u64(1)
    return np.where(is_null(value, id), u64(0), value) if NULLS else value


def group_value(i, v):
    value = hashed(i, 6 + v) % u64([0, 5, 15, 100000000][v]) + u64((v < 3) + 1)
    return np.where(is_null(i, 6 + v), u64(0), value) if NULLS else value


def size_of(id):
    n = N // 1000000 if id == 1 else N // 1000 if id == 2 else N
    return max(10, n // 10 * 10)


def shuffled(i, n, stream):
    half = 1
    while n > 1 << 2 * half:
        half += 1
    mask, out, open_ = u64((1 << half) - 1), i.copy(), np.arange(len(i))
    while len(open_):
        x = out[open_]
        left, right = x >> u64(half), x & mask
        for turn in range(4):
            left, right = right, left ^ (hashed(right, stream + turn) & mask)
        x = left << u64(half) | right
        out[open_] = x
        open_ = open_[x >= u64(n)]
    return out


def key(e, right):
    rest = e % u64(10)
    return e // u64(10) * u64(11) + (np.where(rest == 9, u64(10), rest) if right else rest) + u64(1)


def left_id(i, id):
    n = size_of(id)
    if id == 3:
        e = i if SORTED else shuffled(i, n, 0)
    else:
        e = i * u64(n) // u64(size_of(3)) if SORTED else hashed(i, id) % u64(n)
    value = key(e, False)
    return np.where(is_null(i, id), u64(0), value) if NULLS else value


def right_id(i, id, own):
    if id != own:
        e = hashed(i + u64(1 << 40), id) % u64(size_of(id))
    else:
        e = i if SORTED else shuffled(i, size_of(own), 4)
    value = key(e, True)
    return np.where(is_null(i, 8 + id), u64(0), value) if NULLS else value


def join_value(i, v):
    value = hashed(i, 12 + v) % u64(100000000) + u64(1)
    return np.where(is_null(i, 12 + v), u64(0), value) if NULLS else value


# ---- as polars and arrow have them -----------------------------------------------------------------------

def column(value, form, digits=0, most=0):
    """An arrow array; 0 is null."""
    mask = value == 0 if NULLS else None
    if form == "int":
        return pa.array(value.astype(np.int32), mask=mask)
    if form == "small":
        return pa.array((value - u64(1)).astype(np.int32), mask=mask)
    if form == "real":
        return pa.array((value - u64(1)).astype(np.float64) / 1e6, mask=mask)
    names = pa.array(["id%0*d" % (digits, i) for i in range(1, most + 1)])
    codes = pa.array((value - u64(1)).astype(np.int32), mask=mask)
    return pa.DictionaryArray.from_arrays(codes, names)


def groups_table():
    i, columns = rows(N), {}
    for id in range(1, 7):
        form = ("text", (3, 3, 10)[id - 1], values_of(id)) if id <= 3 else ("int",)
        columns[f"id{id}"] = column(group_id(i, id), *form)
    for v in range(1, 4):
        columns[f"v{v}"] = column(group_value(i, v), "real" if v == 3 else "small")
    return pa.table(columns)


def side_table(own):
    i, columns = rows(size_of(own or 3)), {}
    for id in range(1, 7):
        of = id - 3 if id > 3 else id
        if own and of > own:
            continue
        value = right_id(i, of, own) if own else left_id(i, of)
        form = ("text", 0, size_of(of) // 10 * 11) if id > 3 else ("int",)
        columns[("r" if own else "id") + str(id)] = column(value, *form)
    columns["v2" if own else "v1"] = column(join_value(i, 2 if own else 1), "real")
    return pa.table(columns)


def as_strings(table):
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.string()))
    return table


def as_enums(table):
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) and len(table.column(i).chunk(0).dictionary) > 1000000:
            table = table.set_column(i, field.name, table.column(i).cast(pa.string()))
    return table


# ---- answers ---------------------------------------------------------------------------------------------

def number(frame, name):
    c = frame.get_column(name)
    if c.dtype == pl.Categorical or c.dtype == pl.Enum or c.dtype == pl.String:
        c = c.cast(pl.String).str.slice(2).cast(pl.Int64)
    return c.cast(pl.Float64)


def answer_of(frame, keys, values):
    weight = sum((k + 1) * number(frame, name).fill_null(0).to_numpy() for k, name in enumerate(keys))
    weight = 1 + np.fmod(weight, 1009)
    out = {"rows": len(frame), "sum": 0.0, "weighted": 0.0, "valid": 0}
    for c, name in enumerate(values):
        value = number(frame, name)
        own = (c + 1) * value.fill_null(0).to_numpy()
        out["sum"] += float(own.sum())
        out["weighted"] += float((own * weight).sum())
        out["valid"] += (c + 1) * (len(value) - value.null_count())
    return out


report = []


def measure(peer, version, name, keys, run, answer):
    seconds, result = engines.timed(run, RUNS)
    extras = {"ms": seconds[RUNS // 2] * 1e3, **answer(result)}
    report.append(engines.row(peer, version, N, seconds, name=name, keys=keys, variant=TEXT, threads=threads,
                              extras=extras))


def database():
    db = duckdb.connect()
    db.execute(f"SET threads={threads}")
    return db


def from_duckdb(db):
    return lambda _: pl.from_arrow(db.execute("SELECT * FROM answer").to_arrow_table())


# ---- groups ----------------------------------------------------------------------------------------------

GROUPS = {
    "q1": (["id1"], [("sum", "v1")]),
    "q2": (["id1", "id2"], [("sum", "v1")]),
    "q3": (["id3"], [("sum", "v1"), ("avg", "v3")]),
    "q4": (["id4"], [("avg", "v1"), ("avg", "v2"), ("avg", "v3")]),
    "q5": (["id6"], [("sum", "v1"), ("sum", "v2"), ("sum", "v3")]),
    "q7": (["id3"], [("max", "v1"), ("min", "v2")]),
    "q10": (["id1", "id2", "id3", "id4", "id5", "id6"], [("sum", "v3"), ("count", "*")]),
    "sd": (["id4", "id5"], [("stddev_samp", "v3"), ("var_samp", "v3")]),
    "nunique": (["id4"], [("nunique", "id6")]),
}
NAMED = {"sd", "nunique"}  # only where they are asked for


def polars_aggregate(how, name, to):
    if how == "count":
        return pl.len().alias(to)
    c = pl.col(name)
    if how == "sum" and name != "v3":
        c = c.cast(pl.Int64)
    if how == "nunique":
        # SQL's, and ours: null is no value.
        c = c.drop_nulls() if NULLS else c
    return {"sum": c.sum, "avg": c.mean, "max": c.max, "min": c.min, "stddev_samp": c.std, "var_samp": c.var,
            "nunique": c.n_unique}[how]().alias(to)


def sql_aggregate(how, name, to):
    return (f"count(DISTINCT {name})" if how == "nunique" else f"{how}({name})") + f" AS {to}"


def groups():
    table, keys = groups_table(), f"K = {K}" + ("" if INPUT == "plain" else ", " + INPUT)
    x, names = pl.from_arrow(table if TEXT == "dictionary" else as_strings(table)), {}
    for name, (by, values) in GROUPS.items():
        if name in NAMED if QUERIES == ["all"] else name not in QUERIES:
            continue
        to = [f"a{i}" for i in range(len(values))]
        wanted = [polars_aggregate(how, c, t) for (how, c), t in zip(values, to)]
        # A sum of no value is null in SQL and here, 0 in polars.
        empty = [pl.when(pl.col(c).count() > 0).then(w).alias(t) if NULLS and how == "sum" else w
                 for w, (how, c), t in zip(wanted, values, to)]
        names[name] = (by, to)
        measure("polars", pl.__version__, f"group {name}", keys,
                lambda: x.lazy().group_by(by).agg(empty).collect(), lambda f: answer_of(f, by, to))
    del x
    db = database()
    db.register("source", as_enums(table) if TEXT == "dictionary" else as_strings(table))
    db.execute("CREATE TABLE x AS SELECT * FROM source")
    db.unregister("source")
    for name, (by, to) in names.items():
        columns = ", ".join(by + [sql_aggregate(how, c, t) for (how, c), t in zip(GROUPS[name][1], to)])
        sql = f"CREATE OR REPLACE TABLE answer AS SELECT {columns} FROM x GROUP BY {', '.join(by)}"
        measure("duckdb", duckdb.__version__, f"group {name}", keys,
                lambda: db.execute(sql), lambda _: answer_of(from_duckdb(db)(_), by, to))


# ---- joins -----------------------------------------------------------------------------------------------

JOINS = {"j1": ("id1", "r1", 1, "inner"), "j2": ("id2", "r2", 2, "inner"), "j3": ("id2", "r2", 2, "left"),
         "j4": ("id5", "r5", 2, "inner"), "j5": ("id3", "r3", 3, "inner")}


def joins():
    chosen = {name: j for name, j in JOINS.items() if QUERIES == ["all"] or name in QUERIES}
    keys, by, to = "" if INPUT == "plain" else INPUT, ["id1", "id2", "id3"], ["v1", "v2", "r4"]
    x = side_table(0)
    rights = {own: side_table(own) for own in {j[2] for j in chosen.values()}}
    form = (lambda t: t) if TEXT == "dictionary" else as_strings
    left, others = pl.from_arrow(form(x)), {own: pl.from_arrow(form(t)) for own, t in rights.items()}
    for name, (a, b, own, how) in chosen.items():
        right = others[own]
        measure("polars", pl.__version__, f"join {name}", keys,
                lambda: left.lazy().join(right.lazy(), left_on=a, right_on=b, how=how, coalesce=True).collect(),
                lambda f: answer_of(f, by, to))
    del left, others
    db = database()
    for table, name in [(x, "x")] + [(t, f"r{own}") for own, t in rights.items()]:
        db.register("source", as_strings(table))
        db.execute(f"CREATE TABLE {name} AS SELECT * FROM source")
        db.unregister("source")
    for name, (a, b, own, how) in chosen.items():
        sql = (f"CREATE OR REPLACE TABLE answer AS SELECT x.*, r.* EXCLUDE ({b}) FROM x {how.upper()} JOIN r{own} r "
               f"ON x.{a} = r.{b}")
        measure("duckdb", duckdb.__version__, f"join {name}", keys,
                lambda: db.execute(sql), lambda _: answer_of(from_duckdb(db)(_), by, to))


groups() if experiment == "table groups" else joins()
engines.tell(report)
