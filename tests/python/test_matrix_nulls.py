"""Every function that has nulls, on every form in which they come, against plain Python."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from test_matrix import first, plain

import libcohort as lc

DATA = {
    "numbers": [5, None, 3, 5, None, 7],
    "one null": [5, 3, None],
    "nulls": [3, None, None, None],
    "words": ["pear", None, "a text that is longer than twelve bytes", "pear", None, ""],
    "no nulls": ["b", "a", "b"],
}


def arrow(rows):
    return pa.array(rows, pa.string() if isinstance(rows[0], str) else pa.int64())


def objects(rows):
    out = np.empty(len(rows), object)
    out[:] = rows
    return out


FORMS = {
    "pyarrow": arrow,
    "large": lambda rows: arrow(rows).cast(pa.large_string()),
    "views": lambda rows: arrow(rows).cast(pa.string_view()),
    "dictionary": lambda rows: arrow(rows).dictionary_encode(),
    "chunked": lambda rows: pa.chunked_array([arrow(rows)[:2], arrow(rows)[:0], arrow(rows)[2:]]),
    "sliced": lambda rows: arrow([rows[0], None, *rows, rows[0]])[2:-1],
    "polars": pl.Series,
    "pandas": lambda rows: pd.Series(rows, dtype="Int64" if isinstance(rows[0], int) else "str"),
    "pandas, of arrow": lambda rows: pd.Series(rows, dtype=pd.ArrowDtype(arrow(rows).type)),
    "duckdb": lambda rows: duckdb.from_arrow(pa.table({"x": arrow(rows)})).to_arrow_table()["x"],
    "objects": objects,
    "list": list,
    "tuple": tuple,
    "ours": lc.Column,
}
STRINGS_ALONE = {"large", "views"}


def ordered(rows):
    """Nulls are last."""
    return sorted({r for r in rows if r is not None}) + [None] * (None in rows)


def numbered(rows, values):
    return [values.index(r) if r in values else -1 for r in rows]


def counted(rows, values):
    """The most frequent first, and among equals the first one, as a column with nulls or of strings has them."""
    order = sorted(values, key=lambda v: (-rows.count(v), rows.index(v)))
    return order, [rows.count(v) for v in order]


def valued(rows):
    return [r for r in first(rows) if r is not None]


def totals(rows):
    return {"k": first(rows), "s": [sum(i for i, r in enumerate(rows) if r == k) for k in first(rows)]}


def met(rows, some, nulls):
    return [r for r in rows if r in some and (nulls or r is not None)]


CASES = {
    "unique": (lc.unique, ordered),
    "unique and all": (
        lambda a: lc.unique(a, True, True, True),
        lambda x: (d := ordered(x), [*map(x.index, d)], [*map(d.index, x)], [*map(x.count, d)]),
    ),
    "unique in order": (
        lambda a: lc.unique(a, True, sorted=False),
        lambda x: (first(x), [*map(x.index, first(x))]),
    ),
    "factorize": (lc.factorize, lambda x: (numbered(x, valued(x)), valued(x))),
    "factorize, sorted": (
        lambda a: lc.factorize(a, sort=True),
        lambda x: (numbered(x, sorted(valued(x))), sorted(valued(x))),
    ),
    "factorize, nulls too": (
        lambda a: lc.factorize(a, use_na_sentinel=False),
        lambda x: (numbered(x, first(x)), first(x)),
    ),
    "value_counts": (lc.value_counts, lambda x: counted(x, valued(x))),
    "value_counts, nulls too": (lambda a: lc.value_counts(a, dropna=False), lambda x: counted(x, first(x))),
    "value_counts by value": (
        lambda a: lc.value_counts(a, sort=False, dropna=False),
        lambda x: (ordered(x), [*map(x.count, ordered(x))]),
    ),
    "is_in": (
        lambda a: lc.is_in(a, lc.Column(some(a))),
        lambda x: [v in some(x) for v in x],
    ),
    "is_in, among": (
        lambda a: lc.is_in(lc.Column(some(a)), a),
        lambda x: [v in x for v in some(x)],
    ),
    "index_in": (
        lambda a: lc.index_in(a, lc.Column(some(a))),
        lambda x: numbered(x, some(x)),
    ),
    "index_in, among": (
        lambda a: lc.index_in(lc.Column(some(a)), a),
        lambda x: numbered(some(x), x),
    ),
    "join": (
        lambda a: lc.join({"k": a}, {"k": lc.Column(some(a))}, "k"),
        lambda x: {"k": met(x, some(x), False)},
    ),
    "join, nulls equal": (
        lambda a: lc.join({"k": a}, {"k": lc.Column(some(a))}, "k", nulls_equal=True),
        lambda x: {"k": met(x, some(x), True)},
    ),
    "join_size": (
        lambda a: lc.join_size({"k": lc.Column(some(a))}, {"k": a}, "k", nulls_equal=True),
        lambda x: len(met(x, some(x), True)),
    ),
    "group_by": (
        lambda a: lc.group_by({"k": a, "v": np.arange(len(a))}, "k").agg(s=("v", "sum")),
        totals,
    ),
    "group_by, without nulls": (
        lambda a: lc.group_by({"k": a, "v": np.arange(len(a))}, "k", dropna=True).agg(s=("v", "size")),
        lambda x: {"k": valued(x), "s": [*map(x.count, valued(x))]},
    ),
    "group_by, values": (
        lambda a: lc.group_by({"k": np.arange(len(a)) % 2, "v": a}, "k").agg(n=("v", "count"), m=("v", "first")),
        lambda x: {
            "k": [0, 1],
            "n": [len(x[i::2]) - x[i::2].count(None) for i in (0, 1)],
            "m": [next((v for v in x[i::2] if v is not None), None) for i in (0, 1)],
        },
    ),
    "Column": (lc.Column, list),
    "Table": (lambda a: lc.Table({"k": a}), lambda x: {"k": x}),
}


def some(a):
    """What is looked up: a null, what is there, and what is not."""
    rows = plain(lc.Column(a))
    return [None, *(v for v in rows if v is not None)][:2] + (["none"] if isinstance(rows[0], str) else [99])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_the_answer(case, form):
    call, oracle = CASES[case]
    for name, rows in DATA.items():
        if form in STRINGS_ALONE and not isinstance(rows[0], str):
            continue
        made = FORMS[form](rows)
        assert plain(call(made)) == oracle(rows), name
        assert plain(lc.Column(made)) == rows  # nobody has written there
