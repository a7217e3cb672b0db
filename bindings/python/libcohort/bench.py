"""python -m libcohort.bench: this package beside numpy, pandas, polars, pyarrow, duckdb and pyroaring,
whichever are installed.

    python -m libcohort.bench --rows 1e6,1e7 --only unique,is_in --json out.json --svg out.svg

Each case runs with all cores, once to be compared with our answer, and then `--runs` times, by turns: each
library once, and again. The median counts. One that gives another answer is told, has no figure, and makes
the exit status 1. What takes longer than five seconds runs once. Rates are millions of rows a second. numpy
is needed. `--only question` asks db-benchmark's questions of whole tables. `--calls` measures this package's
calls on ten elements instead. `--json` writes the form of all recorded figures of the project
(docs/bench.md), which `cohort bench show` and `cohort bench pages` read.
"""

from __future__ import annotations

import argparse
import importlib
import operator
import statistics
import sys
import time
from typing import Any, Callable, Iterator

import libcohort as lc

from . import _bench_calls, _bench_questions, _bench_record
from ._bench_table import group_cases, join_cases, string_cases

Case = tuple[str, str, dict[str, Callable[[], Any]], Callable[[Any], Any]]
PEERS = ("numpy", "pandas", "polars", "pyarrow", "duckdb", "pyroaring")
COLOURS = {
    "libcohort": "#1b6ca8",
    "libcohort on polars' views": "#5b9bd0",
    "numpy": "#8a8a8a",
    "pandas": "#c08a2d",
    "polars": "#4f9d69",
    "pyarrow": "#a65d8c",
    "duckdb": "#b8b04a",
    "pyroaring": "#c0564a",
}
SETS = ("and", "or", "andnot", "xor")
# What takes so many seconds runs once.
LONG = 5.0


def installed() -> dict[str, Any]:
    """The peers that are there."""
    there = {}
    for name in PEERS:
        try:
            there[name] = importlib.import_module(name)
        except ImportError:
            continue
    return there


def _same(result: Any) -> Any:
    return result


def _sorted(result: Any) -> Any:
    import numpy

    return numpy.sort(numpy.asarray(result))


def _counted(result: Any) -> Any:
    """(values, counts) of value counts, in one order."""
    import numpy

    values, counts = (numpy.asarray(x) for x in result)
    order = numpy.argsort(values, kind="stable")
    return numpy.concatenate([values[order], counts[order].astype(values.dtype)])


class Data:
    """Columns of a kind, in every library's own form."""

    def __init__(self, rows: int, dtype: str, distinct: int, mods: dict[str, Any]) -> None:
        import numpy as np

        rng = np.random.default_rng(1)
        wide = 2**62 if dtype.endswith("64") else 2**31 - 1
        pool = rng.integers(0, wide, distinct)
        few = distinct < rows
        self.a = (pool[rng.integers(0, distinct, rows)] if few else rng.integers(0, wide, rows)).astype(dtype)
        self.needles = np.unique(np.concatenate([rng.choice(self.a, 500), pool[:500].astype(dtype)]))
        self.all = rng.permutation(self.a)
        self.many = self.all[: rows // 10]
        self.mods = mods

    def forms(self) -> dict[str, Any]:
        mods = self.mods
        out: dict[str, Any] = {}
        if "pandas" in mods:
            out["pandas"] = mods["pandas"].Series(self.a)
        if "polars" in mods:
            out["polars"] = mods["polars"].Series(self.a)
        if "pyarrow" in mods:
            out["pyarrow"] = mods["pyarrow"].array(self.a)
        return out


def _sorting(d: Data, f: dict[str, Any], np: Any) -> Iterator[Case]:
    a = d.a
    yield (
        "sort",
        "",
        _given(
            {
                "libcohort": lambda: lc.sort(a),
                "numpy": lambda: np.sort(a),
                "polars": lambda: f["polars"].sort(),
            },
            f,
        ),
        _same,
    )
    yield (
        "argsort",
        "",
        _given(
            {
                "libcohort": lambda: lc.argsort(a),
                "numpy": lambda: np.argsort(a, kind="stable"),
                "pyarrow": lambda: d.mods["pyarrow"].compute.array_sort_indices(f["pyarrow"]),
            },
            f,
        ),
        lambda r: a[np.asarray(r)],
    )


def _distinct(d: Data, f: dict[str, Any], np: Any) -> Iterator[Case]:
    a, db = d.a, d.mods.get("duckdb", None)
    yield (
        "unique",
        "sorted",
        _given(
            {
                "libcohort": lambda: lc.unique(a),
                "numpy": lambda: np.unique(a),
                "polars": lambda: f["polars"].unique().sort(),
            },
            f,
        ),
        _same,
    )
    yield (
        "unique",
        "in no order",
        _given(
            {
                "libcohort": lambda: lc.unique(a, sorted=False),
                "pandas": lambda: f["pandas"].unique(),
                "polars": lambda: f["polars"].unique(),
                "pyarrow": lambda: f["pyarrow"].unique(),
                "duckdb": lambda: d.mods["duckdb"].sql("SELECT DISTINCT a FROM a_table").fetchnumpy()["a"],
            },
            f,
            db,
            a,
        ),
        _sorted,
    )
    yield (
        "factorize",
        "",
        _given(
            {
                "libcohort": lambda: lc.factorize(a)[0],
                "pandas": lambda: d.mods["pandas"].factorize(a)[0],
                "pyarrow": lambda: f["pyarrow"].dictionary_encode().indices,
            },
            f,
        ),
        _same,
    )
    yield (
        "value_counts",
        "",
        _given(
            {
                "libcohort": lambda: lc.value_counts(a),
                "numpy": lambda: np.unique(a, return_counts=True),
                "pandas": lambda: (lambda s: (s.index.to_numpy(), s.to_numpy()))(f["pandas"].value_counts()),
                "polars": lambda: (lambda t: (t.to_series(0), t.to_series(1)))(
                    f["polars"].value_counts(sort=True)
                ),
            },
            f,
        ),
        _counted,
    )


def _looking(d: Data, f: dict[str, Any], np: Any) -> Iterator[Case]:
    a, mods = d.a, d.mods
    for name, b in (
        ("1,000 needles", d.needles),
        ("rows / 10 needles", d.many),
        ("as many needles as rows", d.all),
    ):
        yield "is_in", name, _given(_members(d, f, np, b), f), lambda r: np.asarray(r, dtype=bool)
        yield "index_in", name, _given(_indices(d, f, np, np.unique(b)), f), lambda r: np.asarray(r, "int64")


def _members(d: Data, f: dict[str, Any], np: Any, b: Any) -> dict[str, Callable[[], Any]]:
    a, mods = d.a, d.mods
    both = {k: (mods[k].Series(b) if k != "pyarrow" else mods[k].array(b)) for k in f}
    return {
        "libcohort": lambda: lc.is_in(a, b),
        "numpy": lambda: np.isin(a, b),
        "pandas": lambda: f["pandas"].isin(b),
        "polars": lambda: f["polars"].is_in(both["polars"].implode()),
        "pyarrow": lambda: mods["pyarrow"].compute.is_in(f["pyarrow"], both["pyarrow"]),
    }


def _searched(np: Any, a: Any, b: Any) -> Any:
    """By a stable sort of what is looked in, and a binary search in that."""
    order = np.argsort(b, kind="stable")
    at = np.minimum(np.searchsorted(b, a, sorter=order), len(b) - 1)
    rows = order[at]
    return np.where(b[rows] == a, rows, -1)


def _joined(polars: Any, a: Any, b: Any) -> Any:
    """By a left join, in the order of the left side."""
    numbered = b.to_frame("k").with_row_index("row")
    rows = a.to_frame("k").join(numbered, on="k", how="left", maintain_order="left")
    return rows["row"].cast(polars.Int64).fill_null(-1)


def _indices(d: Data, f: dict[str, Any], np: Any, b: Any) -> dict[str, Callable[[], Any]]:
    mods = d.mods
    arrow = mods["pyarrow"].array(b) if "pyarrow" in f else None
    series = mods["polars"].Series(b) if "polars" in f else None
    return {
        "libcohort": lambda: lc.index_in(d.a, b),
        "numpy": lambda: _searched(np, d.a, b),
        "polars": lambda: _joined(mods["polars"], f["polars"], series),
        "pandas": lambda: mods["pandas"].Index(b).get_indexer(f["pandas"]),
        "pyarrow": lambda: mods["pyarrow"].compute.index_in(f["pyarrow"], arrow).fill_null(-1),
    }


def _given(
    options: dict[str, Callable[[], Any]], forms: dict[str, Any], db: Any = None, a: Any = None
) -> dict[str, Callable[[], Any]]:
    """Of the options those whose libraries are there."""
    there = {"libcohort", "numpy", *forms}
    if db is not None:
        a_table = {"a": a}
        db.sql("DROP VIEW IF EXISTS a_table")
        db.register("a_table", a_table)
        there.add("duckdb")
    return {name: call for name, call in options.items() if name in there}


def column_cases(rows: int, dtype: str, distinct: int, mods: dict[str, Any]) -> Iterator[Case]:
    import numpy

    if "pyarrow" in mods:
        importlib.import_module("pyarrow.compute")
    data = Data(rows, dtype, distinct, mods)
    forms = data.forms()
    for part in (_sorting, _distinct, _looking):
        yield from part(data, forms, numpy)


def set_cases(rows: int, mods: dict[str, Any]) -> Iterator[Case]:
    """Two sets of `rows` members in a space of eight times as many; and a thousand intersections of a
    thousand sets."""
    import numpy as np

    rng = np.random.default_rng(2)
    x, y = (np.unique(rng.integers(0, min(8 * rows, 2**32), rows)).astype("uint32") for _ in range(2))
    s, t = lc.Set(x), lc.Set(y)
    roaring = mods.get("pyroaring")
    if roaring:
        p, q = roaring.BitMap(x), roaring.BitMap(y)
        p.run_optimize(), q.run_optimize()

    operators: dict[str, Callable[[Any, Any], Any]] = {
        "and": operator.and_,
        "or": operator.or_,
        "andnot": operator.sub,
        "xor": operator.xor,
    }
    arrays: dict[str, Callable[[], Any]] = {
        "and": lambda: np.intersect1d(x, y, assume_unique=True),
        "or": lambda: np.union1d(x, y),
        "andnot": lambda: np.setdiff1d(x, y, assume_unique=True),
        "xor": lambda: np.setxor1d(x, y, assume_unique=True),
    }

    def options(op: str) -> dict[str, Callable[[], Any]]:
        by = operators[op]
        out: dict[str, Callable[[], Any]] = {"libcohort": lambda: by(s, t), "numpy": arrays[op]}
        if roaring:
            out["pyroaring"] = lambda: by(p, q)
        return out

    for op in SETS:
        yield f"sets: {op}", "2 sets", options(op), lambda r: len(r)
    n = 1000
    parts = [np.unique(rng.integers(0, rows, max(rows // 100, 1))).astype("uint32") for _ in range(n)]
    all, pairs = lc.Sets(parts), rng.integers(0, n, (n, 2))
    many: dict[str, Callable[[], Any]] = {
        "libcohort": lambda: all.query("and", pairs, want="counts").tolist()
    }
    if roaring:
        maps = [roaring.BitMap(p) for p in parts]
        many["pyroaring"] = lambda: [maps[i].intersection_cardinality(maps[j]) for i, j in pairs.tolist()]
    yield "sets: sizes of 1,000 ands", "1,000 sets", many, _same


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def measure(
    cases: Iterator[Case], rows: int, dtype: str, keys: str, only: list[str], runs: int
) -> Iterator[dict[str, Any]]:
    """A record a case: seconds of each run of each library. Libraries take turns, so that what else the
    machine does meets all of them. One that gives another answer than ours has no figure: it is told, and
    the record has its name in `wrong`."""
    import numpy

    for name, variant, options, canonical in cases:
        if not _wanted(only, name):
            continue
        times, ours, wrong = {}, None, []
        for who, call in options.items():
            first, result = _timed(call)
            times[who] = [first] if first > LONG else []
            answer = canonical(result)
            if who == "libcohort":
                ours = answer
            elif not numpy.array_equal(numpy.asarray(answer), numpy.asarray(ours)):
                print(f"{name} {variant} {dtype}, {keys}: {who} gives another answer", flush=True)
                wrong.append(who)
                del times[who]
            del result, answer
        again = [who for who in times if not times[who]]
        for _ in range(runs):
            for who in again:
                times[who].append(_timed(options[who])[0])
        about = {"operation": name, "variant": variant, "type": dtype, "keys": keys, "rows": rows}
        yield {**about, "seconds": times, "wrong": wrong}


def run(rows: list[int], types: list[str], only: list[str], runs: int) -> Iterator[dict[str, Any]]:
    mods = installed()
    for n in rows:
        for dtype in types:
            for distinct in (1000, n):
                keys = _distinct_text(distinct == 1000)
                cases = (
                    string_cases(n, distinct, mods)
                    if dtype == "string"
                    else column_cases(n, dtype, distinct, mods)
                )
                yield from measure(cases, n, dtype, keys, only, runs)
        for distinct in (1000, max(n // 10, 1)):
            keys = _distinct_text(distinct == 1000)
            if _wanted(only, "join"):
                yield from measure(join_cases(n, distinct, mods), n, "int64", keys, only, runs)
            if _wanted(only, "group_by"):
                yield from measure(group_cases(n, distinct, mods), n, "int64", keys, only, runs)
        if _wanted(only, "sets: and, or, andnot, xor, sizes of 1,000 ands"):
            yield from measure(set_cases(n, mods), n, "uint32", "", only, runs)
        if not only or any(o.startswith("question") for o in only):
            yield from measure(_bench_questions.question_cases(n, mods), n, "table", "", only, runs)


def _wanted(only: list[str], names: str) -> bool:
    return not only or any(o in names for o in only)


def _distinct_text(few: bool) -> str:
    return f"{'1,000' if few else 'many'} distinct"


def _kind(record: dict[str, Any]) -> str:
    return ", ".join(x for x in (record["type"], record["keys"]) if x)


def _seconds(record: dict[str, Any]) -> dict[str, float]:
    return {who: statistics.median(times) for who, times in record["seconds"].items()}


def row_text(record: dict[str, Any]) -> str:
    """A record as a line: millions of rows a second of each, ours first."""
    label = " ".join(x for x in (record["operation"], record["variant"]) if x)
    rates = "  ".join(f"{who} {record['rows'] / t / 1e6:,.0f}" for who, t in _seconds(record).items())
    return f"{record['rows']:>11,}  {_kind(record):<24} {label:<28} {rates}"


def svg(records: list[dict[str, Any]]) -> str:
    """Bars of the times relative to ours, one group a record, on a logarithmic scale: to the right is
    slower."""
    from math import log10

    left, width, bar, gap, y = 330, 620, 11, 12, 50
    out: list[str] = []
    ratios = [t / _seconds(r)["libcohort"] for r in records for t in _seconds(r).values()]
    low, high = min(0.5, *ratios), max(2.0, *ratios)
    scale = width / (log10(high) - log10(low))
    zero = left - scale * log10(low)
    for r in records:
        label, seconds = f"{r['operation']} {r['variant']}, {_kind(r)}", _seconds(r)
        out.append(f'<text x="{left - 8}" y="{y + 9}" text-anchor="end">{label}</text>')
        for who, t in seconds.items():
            at = scale * log10(t / seconds["libcohort"])
            x, w = (zero, at) if at >= 0 else (zero + at, -at)
            size = f'width="{max(w, 1.5):.1f}" height="{bar - 2}"'
            out.append(f'<rect x="{x:.1f}" y="{y}" {size} fill="{COLOURS[who]}"/>')
            out.append(f'<text x="{x + w + 4:.1f}" y="{y + 9}">{who} {r["rows"] / t / 1e6:,.0f}</text>')
            y += bar
        y += gap
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 130}" height="{y}" '
        'font-family="sans-serif" font-size="10">\n'
        f'<text x="8" y="20" font-size="13">Time relative to libcohort {lc.__version__} (the line), '
        "logarithmic; "
        "figures: millions of rows a second</text>\n"
        f'<line x1="{zero:.1f}" y1="34" x2="{zero:.1f}" y2="{y - 8}" stroke="#333"/>\n'
    )
    return head + "\n".join(out) + "\n</svg>\n"


def main(arguments: list[str] | None = None) -> None:
    """The command line: see the module's text."""
    about_it = (__doc__ or "").split("\n\n")[0]
    parser = argparse.ArgumentParser(prog="python -m libcohort.bench", description=about_it)
    parser.add_argument("--rows", default="1e6,1e7", help="numbers of rows, with commas between")
    parser.add_argument(
        "--types", default="int32,int64,float64,string", help="numpy's names of types of keys, and string"
    )
    parser.add_argument("--only", default="", help="operations whose names contain one of these")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--calls", action="store_true", help="calls on ten elements, in microseconds")
    parser.add_argument("--json", help="a file for the figures, in the form of the project's others")
    parser.add_argument("--svg", help="a file for a drawing")
    given = parser.parse_args(arguments)
    versions = {name: str(m.__version__) for name, m in installed().items()}
    if "numpy" not in versions:
        parser.error("numpy is needed")
    words = sys.argv[1:] if arguments is None else arguments
    if given.calls:
        calls = _bench_calls.measure()
        for name, times in calls:
            print(f"{name:<32}{min(times) * 1e6:6.2f} µs", flush=True)
        _record(given.json, words, _bench_record.call_rows(calls))
        return
    print("beside", ", ".join(f"{n} {v}" for n, v in versions.items()), "- millions of rows a second")
    records = []
    rows = [int(float(x)) for x in given.rows.split(",")]
    for record in run(
        rows, [t for t in given.types.split(",") if t], [o for o in given.only.split(",") if o], given.runs
    ):
        records.append(record)
        print(row_text(record), flush=True)
    _record(given.json, words, _bench_record.rows(records, versions))
    if given.svg:
        with open(given.svg, "w") as file:
            file.write(svg(records))
    wrong = [f"{who} in {r['operation']}" for r in records for who in r["wrong"]]
    if wrong:
        sys.exit(f"other answers than ours, which have no figures: {', '.join(wrong)}")


def _record(path: str | None, words: list[str], rows: list[dict[str, Any]]) -> None:
    if path:
        with open(path, "w") as file:
            _bench_record.write(file, words, rows)


if __name__ == "__main__":
    main()
