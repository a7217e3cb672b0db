"""Cases of libcohort.bench on tables: joins, groups, and strings."""

from __future__ import annotations

from typing import Any, Callable, Iterator

import libcohort as lc

Options = dict[str, Callable[[], Any]]
Case = tuple[str, str, Options, Callable[[Any], Any]]


def _forms(columns: dict[str, Any], mods: dict[str, Any]) -> dict[str, Any]:
    """The columns as each library's own table."""
    out: dict[str, Any] = {"libcohort": lc.Table(columns)}
    if "pandas" in mods:
        out["pandas"] = mods["pandas"].DataFrame(columns)
    if "polars" in mods:
        out["polars"] = mods["polars"].DataFrame(columns)
    if "pyarrow" in mods:
        out["pyarrow"] = mods["pyarrow"].table(out["libcohort"])
    return out


def _sums(names: tuple[str, ...]) -> Callable[[Any], Any]:
    """How many rows a result has, and the sum of each column: one number for each, whatever the order of
    rows."""
    import numpy

    def of(result: Any) -> list[int]:
        columns = [numpy.asarray(result[name]) for name in names]
        return [len(columns[0]), *(int(c.astype("uint64").sum()) for c in columns)]

    return of


def join_cases(rows: int, distinct: int, mods: dict[str, Any]) -> Iterator[Case]:
    """Each left row has one partner, of `distinct` right rows."""
    import numpy

    rng = numpy.random.default_rng(3)
    keys = rng.permutation(rng.integers(0, 2**62, distinct))
    right = {"k": keys, "w": rng.integers(0, 1000, distinct)}
    left = {"k": keys[rng.integers(0, distinct, rows)], "v": rng.integers(0, 1000, rows)}
    a, b = _forms(left, mods), _forms(right, mods)
    options: Options = {"libcohort": lambda: a["libcohort"].join(b["libcohort"], "k")}
    if "pandas" in a:
        options["pandas"] = lambda: a["pandas"].merge(b["pandas"], on="k")
    if "polars" in a:
        options["polars"] = lambda: a["polars"].join(b["polars"], on="k")
    if "pyarrow" in a:
        options["pyarrow"] = lambda: a["pyarrow"].join(b["pyarrow"], "k", join_type="inner")
    if "duckdb" in mods:
        db = mods["duckdb"].connect()
        db.register("l", a.get("pyarrow", a.get("pandas")))
        db.register("r", b.get("pyarrow", b.get("pandas")))
        options["duckdb"] = lambda: db.sql("SELECT l.k, v, w FROM l JOIN r ON l.k = r.k").fetchnumpy()
    yield "join", f"{distinct:,} right rows", options, _sums(("v", "w"))


def group_cases(rows: int, distinct: int, mods: dict[str, Any]) -> Iterator[Case]:
    import numpy

    rng = numpy.random.default_rng(4)
    columns = {
        "k": rng.integers(0, 2**62, distinct)[rng.integers(0, distinct, rows)],
        "v": rng.integers(0, 1000, rows),
    }
    a = _forms(columns, mods)
    options: Options = {
        "libcohort": lambda: a["libcohort"].group_by("k").agg(s=("v", "sum"), n="size", m=("v", "max"))
    }
    if "pandas" in a:
        options["pandas"] = lambda: (
            a["pandas"]
            .groupby("k", sort=False)
            .agg(s=("v", "sum"), n=("v", "size"), m=("v", "max"))
            .reset_index()
        )
    if "polars" in a:
        c = mods["polars"].col
        options["polars"] = lambda: (
            a["polars"]
            .group_by("k")
            .agg(c("v").sum().alias("s"), c("v").len().alias("n"), c("v").max().alias("m"))
        )
    if "pyarrow" in a:
        options["pyarrow"] = lambda: (
            a["pyarrow"]
            .group_by("k")
            .aggregate([("v", "sum"), ("v", "count"), ("v", "max")])
            .rename_columns(list("ksnm"))
        )
    if "duckdb" in mods:
        db = mods["duckdb"].connect()
        db.register("t", a.get("pyarrow", a.get("pandas")))
        options["duckdb"] = lambda: db.sql(
            "SELECT k, sum(v)::BIGINT s, count(*) n, max(v) m FROM t GROUP BY k"
        ).fetchnumpy()
    yield "group_by", "sum, size, max", options, _sums(("k", "s", "n", "m"))


def string_cases(rows: int, distinct: int, mods: dict[str, Any]) -> Iterator[Case]:
    """Strings of 4 to 24 letters, as pyarrow and polars have them."""
    import numpy

    if "pyarrow" not in mods:
        return
    arrow, rng = mods["pyarrow"], numpy.random.default_rng(5)
    pool = arrow.array(
        [f"{x:x}"[: 4 + x % 20] + f"-{i}" for i, x in enumerate(rng.integers(0, 2**62, distinct).tolist())]
    )
    a = pool.take(arrow.array(rng.integers(0, distinct, rows)))
    some = pool[: min(1000, distinct)]
    compute = __import__("pyarrow.compute").compute
    series = mods["polars"].from_arrow(a) if "polars" in mods else None
    factorize: Options = {"libcohort": lambda: lc.factorize(a)[0]}
    unique: Options = {"libcohort": lambda: lc.unique(a, sorted=False)}
    is_in: Options = {"libcohort": lambda: lc.is_in(a, some)}
    if series is not None:
        polars = mods["polars"]
        ours, few = lc.Column(series), polars.Series(lc.Column(some))
        factorize["libcohort on polars' views"] = lambda: lc.factorize(ours)[0]
        factorize["polars"] = lambda: series.cast(polars.Categorical).to_physical()
        unique["polars"] = lambda: series.unique()
        is_in["polars"] = lambda: series.is_in(few.implode())
    if "pandas" in mods:
        frame = mods["pandas"].Series(a.to_pandas())
        factorize["pandas"] = lambda: frame.factorize()[0]
        unique["pandas"] = lambda: frame.unique()
    factorize["pyarrow"] = lambda: a.dictionary_encode().indices
    unique["pyarrow"] = lambda: a.unique()
    is_in["pyarrow"] = lambda: compute.is_in(a, some)
    yield "factorize", "", factorize, lambda r: len(set(numpy.asarray(r).tolist()))
    yield "unique", "in no order", unique, len
    yield "is_in", "1,000 needles", is_in, lambda r: int(numpy.asarray(r, dtype=bool).sum())
