"""Cases of libcohort.bench on whole tables: the questions of db-benchmark's shapes, as `cohort bench table` has
them in C (docs/bench.md), asked of this package, of polars and of duckdb, each from its own resident form."""

from __future__ import annotations

from typing import Any, Iterator

import libcohort as lc

from ._bench_table import Case, Options

# Keys, and what is asked of each group: (column, aggregate).
_GROUPS: dict[str, tuple[tuple[str, ...], tuple[tuple[str, str], ...]]] = {
    "q1": (("id1",), (("v1", "sum"),)),
    "q2": (("id1", "id2"), (("v1", "sum"),)),
    "q3": (("id3",), (("v1", "sum"), ("v3", "mean"))),
    "q4": (("id4",), (("v1", "mean"), ("v2", "mean"), ("v3", "mean"))),
    "q5": (("id6",), (("v1", "sum"), ("v2", "sum"), ("v3", "sum"))),
    "q7": (("id3",), (("v1", "max"), ("v2", "min"))),
    "q10": (("id1", "id2", "id3", "id4", "id5", "id6"), (("v3", "sum"), ("v1", "count"))),
}
# The number of the right table (1: small, 2: medium, 3: big), its key's, and the kind.
_JOINS = {
    "j1": (1, 1, "inner"),
    "j2": (2, 2, "inner"),
    "j3": (2, 2, "left"),
    "j4": (2, 5, "inner"),
    "j5": (3, 3, "inner"),
}
_K = 100


# ---- tables --------------------------------------------------------------------------------------------------


def _texts(arrow: Any, values: Any, digits: int) -> Any:
    """Whole numbers as a dictionary of texts "id001" and on."""
    import numpy

    there, codes = numpy.unique(values, return_inverse=True)
    names = [f"id{value:0{digits}d}" for value in there.tolist()]
    return arrow.DictionaryArray.from_arrays(codes.astype("int32"), names)


def _grouped(rows: int, arrow: Any) -> Any:
    import numpy

    rng, many = numpy.random.default_rng(6), max(rows // _K, 1)
    ids = {f"id{i}": rng.integers(1, (many if i in (3, 6) else _K) + 1, rows) for i in range(1, 7)}
    columns: dict[str, Any] = {
        name: _texts(arrow, value, 10 if name == "id3" else 3) if name < "id4" else value.astype("int32")
        for name, value in ids.items()
    }
    columns["v1"] = rng.integers(1, 6, rows).astype("int32")
    columns["v2"] = rng.integers(1, 16, rows).astype("int32")
    columns["v3"] = rng.integers(0, 10**8, rows) / 1e6
    return arrow.table(columns)


def _sizes(rows: int) -> list[int]:
    return [max(rows // 10**6, 10) // 10 * 10, max(rows // 10**3, 10) // 10 * 10, max(rows, 10) // 10 * 10]


def _key(e: Any, right: bool) -> Any:
    """Key number e of a side: of eleven keys nine are on both."""
    import numpy

    return e // 10 * 11 + (numpy.where(e % 10 == 9, 10, e % 10) if right else e % 10) + 1


def _joined(rows: int, arrow: Any) -> list[Any]:
    """x, and the small, the medium and the big table."""
    import numpy

    rng, sizes = numpy.random.default_rng(7), _sizes(rows)
    tables = []
    for own in range(4):  # 0: x
        n = sizes[own - 1] if own else rows
        columns: dict[str, Any] = {}
        for i, size in enumerate(sizes[: own or 3], 1):
            unique = i == own or (not own and i == 3 and size == n)
            e = rng.permutation(size) if unique else rng.integers(0, size, n)
            columns[f"{'r' if own else 'id'}{i}"] = _key(e, own > 0)
        for i, key in enumerate(list(columns.values()), 4):
            columns[f"{'r' if own else 'id'}{i}"] = _texts(arrow, key, 3)
        columns = {name: c.astype("int32") if isinstance(c, numpy.ndarray) else c for name, c in columns.items()}
        columns["v2" if own else "v1"] = rng.integers(0, 10**8, n) / 1e6
        tables.append(arrow.table(columns))
    return tables


# ---- answers -------------------------------------------------------------------------------------------------


def _answer(keys: tuple[str, ...], values: tuple[str, ...], mods: dict[str, Any]) -> Any:
    """A result's number of rows, the sum of each of its columns, keys as numbers, and the sum of the products
    of the first key and the first value: to six digits, since sums of floats depend on their order."""
    arrow = mods["pyarrow"]
    compute = __import__("pyarrow.compute").compute

    def numbers(values: Any) -> Any:
        if arrow.types.is_dictionary(values.type):
            return numbers(values.dictionary).take(values.indices)
        if "string" in str(values.type):
            values = compute.utf8_slice_codeunits(values.cast(arrow.string()), 2)
        return values.cast(arrow.float64())

    def column(table: Any, name: str) -> Any:
        return arrow.chunked_array([numbers(c) for c in table.column(name).chunks], arrow.float64())

    def of(result: Any) -> list[float]:
        if hasattr(result, "execute"):  # duckdb's connection
            result = result.sql("SELECT * FROM answer").to_arrow_table()
        table = result if isinstance(result, arrow.Table) else arrow.table(result)
        columns = [column(table, name) for name in (*keys, *values)]
        sums = [*columns, compute.multiply(columns[0], columns[len(keys)])]
        return [table.num_rows, *(float(f"{compute.sum(c).as_py() or 0:.6g}") for c in sums)]

    return of


def _database(mods: dict[str, Any], tables: dict[str, Any]) -> Any:
    """duckdb with these tables in it."""
    db = mods["duckdb"].connect()
    for name, table in tables.items():
        db.register("source", table)
        db.execute(f"CREATE TABLE {name} AS SELECT * FROM source")
        db.unregister("source")
    return db


def _plain(table: Any, arrow: Any) -> Any:
    """With texts instead of dictionaries: those of two tables are two types for duckdb."""
    types = [
        field.with_type(arrow.string()) if arrow.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(arrow.schema(types))


# ---- questions -----------------------------------------------------------------------------------------------


def group_questions(rows: int, mods: dict[str, Any]) -> Iterator[Case]:
    x = _grouped(rows, mods["pyarrow"])
    ours = lc.Table(x)
    theirs = mods["polars"].from_arrow(x) if "polars" in mods else None
    db = _database(mods, {"x": x}) if "duckdb" in mods else None
    for name, (by, asked) in _GROUPS.items():
        yield f"question {name}", f"K = {_K}", _grouping(by, asked, ours, theirs, db, mods), _answer(
            by, tuple(f"a{i}" for i in range(len(asked))), mods
        )


def _grouping(
    by: tuple[str, ...], asked: tuple[tuple[str, str], ...], ours: Any, theirs: Any, db: Any, mods: dict[str, Any]
) -> Options:
    wanted = {f"a{i}": "size" if op == "count" else (c, op) for i, (c, op) in enumerate(asked)}
    options: Options = {"libcohort": lambda: ours.group_by(*by).agg(**wanted)}
    if theirs is not None:
        col = mods["polars"].col
        terms = [
            (mods["polars"].len() if op == "count" else getattr(col(c), op)()).alias(f"a{i}")
            for i, (c, op) in enumerate(asked)
        ]
        options["polars"] = lambda: theirs.group_by(*by).agg(terms)
    if db is not None:
        names = {"mean": "avg", "count": "count"}
        said = ", ".join(
            f"{names.get(op, op)}({'*' if op == 'count' else c}) a{i}" for i, (c, op) in enumerate(asked)
        )
        keys = ", ".join(by)
        options["duckdb"] = lambda: db.execute(
            f"CREATE OR REPLACE TABLE answer AS SELECT {keys}, {said} FROM x GROUP BY {keys}"
        )
    return options


def join_questions(rows: int, mods: dict[str, Any]) -> Iterator[Case]:
    arrow = mods["pyarrow"]
    tables = _joined(rows, arrow)
    ours = [lc.Table(t) for t in tables]
    theirs = [mods["polars"].from_arrow(t) for t in tables] if "polars" in mods else None
    names = ("x", "small", "medium", "big")
    db = (
        _database(mods, {name: _plain(t, arrow) for name, t in zip(names, tables)}) if "duckdb" in mods else None
    )
    for name, (own, number, how) in _JOINS.items():
        keys = f"id{number}", f"r{number}"
        options = _joining(ours[0], ours[own], keys, how)
        if theirs is not None:
            options["polars"] = _joined_by_polars(theirs[0], theirs[own], keys, how)
        if db is not None:
            options["duckdb"] = _joined_by_duckdb(db, names[own], keys, how)
        yield f"question {name}", "", options, _answer((keys[0],), ("v1", "v2"), mods)


def _joining(x: Any, right: Any, keys: tuple[str, str], how: str) -> Options:
    return {"libcohort": lambda: x.join(right, left_on=keys[0], right_on=keys[1], how=how)}


def _joined_by_polars(x: Any, right: Any, keys: tuple[str, str], how: str) -> Any:
    return lambda: x.join(right, left_on=keys[0], right_on=keys[1], how=how)


def _joined_by_duckdb(db: Any, right: str, keys: tuple[str, str], how: str) -> Any:
    return lambda: db.execute(
        f"CREATE OR REPLACE TABLE answer AS SELECT x.*, r.* EXCLUDE ({keys[1]}) FROM x {how.upper()} JOIN {right} r "
        f"ON x.{keys[0]} = r.{keys[1]}"
    )


def question_cases(rows: int, mods: dict[str, Any]) -> Iterator[Case]:
    """Groups q1 to q10 and joins j1 to j5; pyarrow makes the tables, without it there are none."""
    if "pyarrow" in mods:
        yield from group_questions(rows, mods)
        yield from join_questions(rows, mods)
