"""Tables and columns: in and out by Arrow's protocols, joins and groups against plain Python, lifetimes."""

import collections
import copy
import datetime
import decimal
import gc
import math
import pickle

import hypothesis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import libcohort as lc
from libcohort import _core, _table

SETTINGS = hypothesis.settings(max_examples=60, deadline=None)
STRINGS = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]
OTHERS = {
    "bool": pa.array([True, None, False, True]),
    "int8": pa.array([1, None, -3, 1], "int8"),
    "uint64": pa.array([2**64 - 1, None, 0, 2**64 - 1], "uint64"),
    "float16": pa.array(np.array([0.5, -65504, 2**-24], "float16")),
    "float32": pa.array([0.5, None, 2, 0.5], "float32"),
    "float64": pa.array([0.5, None, 2, 0.5]),
    "date": pa.array([datetime.date(2024, 2, 29), None, datetime.date(1969, 12, 31)]),
    "date64": pa.array([datetime.date(2024, 2, 29), None], pa.date64()),
    "time[us]": pa.array([datetime.time(1, 2, 3, 4), None]),
    "timestamp[us]": pa.array([datetime.datetime(1960, 5, 1, 12, 0, 0, 7), None]),
    "timestamp[ms, UTC]": pa.array(
        [datetime.datetime(2030, 5, 1, tzinfo=datetime.timezone.utc), None], pa.timestamp("ms", "UTC")
    ),
    "duration[s]": pa.array([datetime.timedelta(days=-2), None], pa.duration("s")),
    "decimal(9, 2)": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("-7.25")], pa.decimal128(9, 2)),
    "binary(3)": pa.array([b"abc", None, b"xyz"], pa.binary(3)),
}
TEXTS = ["pear", "", None, "a text that is longer than twelve bytes", "pear", "ü"]


def strings(type, values=TEXTS):
    if "binary" in str(type):
        values = [v if v is None else v.encode() for v in values]
    return pa.array(values, pa.large_string() if "string" in str(type) else pa.large_binary()).cast(type)


def test_means_of_decimals():
    values = [decimal.Decimal(v) for v in ("1.50", "-7.25", "99999999999999999999.99", "0.01", "2.00")]
    table = pa.table({"k": [1, 1, 2, 2, 3], "v": pa.array(values, pa.decimal128(38, 2))})
    got = lc.group_by(table, "k").agg(mean=("v", "mean"), var=("v", "var"))
    assert pa.table(got)["mean"].to_pylist() == [-2.875, float((values[2] + values[3]) / 2), 2.0]
    var = pa.table(got)["var"].to_pylist()
    assert var[0] == pytest.approx(38.28125) and var[1] == pytest.approx(5e39) and var[2] is None


@pytest.mark.parametrize("type", STRINGS, ids=str)
@pytest.mark.parametrize("form", ["array", "slice", "chunks", "dictionary"])
def test_strings_of_every_layout(type, form):
    a = strings(type)
    if form == "slice":
        a = strings(type, ["x", "y", *TEXTS])[2:]
    elif form == "chunks":
        a = pa.chunked_array([a[:2], a[2:3], a[:0], a[3:]])
    elif form == "dictionary":
        if "view" in str(type):
            return
        a = a.dictionary_encode()
    rows = a.to_pylist()
    c = lc.Column(a)
    assert c.tolist() == rows and c.null_count == 1 and ("string" in c.type) == ("string" in str(type))
    assert pa.chunked_array(c).to_pylist() == rows == pa.array(c).to_pylist()
    values = sorted({r for r in rows if r is not None}) + [None]
    assert lc.unique(a).tolist() == values
    codes, uniques = lc.factorize(a)
    assert [None if i < 0 else uniques[i] for i in codes] == rows and uniques.null_count == 0
    assert uniques.tolist() == [r for r in dict.fromkeys(rows) if r is not None]
    for dropna in (True, False):
        got = dict(zip(*(x.tolist() for x in lc.value_counts(a, dropna=dropna))))
        assert got == dict(collections.Counter(r for r in rows if r is not None or not dropna))
    few, shares = lc.value_counts(a, ascending=True, normalize=True)
    assert few.tolist()[-1] == rows[0] and shares.tolist() == [0.2, 0.2, 0.2, 0.4]
    some = strings(pa.string_view() if "string" in str(type) else pa.binary(), ["ü", "none", "pear"])
    assert lc.is_in(a, some).tolist() == [r in some.to_pylist() for r in rows]
    assert lc.is_in(a, some, invert=True).tolist() == [r not in some.to_pylist() for r in rows]
    at = {r: i for i, r in enumerate(some.to_pylist())}
    assert lc.index_in(a, some).tolist() == [at.get(r, -1) for r in rows]
    values, index, inverse, counts = lc.unique(a, True, True, True)
    assert [values[i] for i in inverse] == rows and [rows[i] for i in index] == values.tolist()
    assert counts.tolist() == [rows.count(v) for v in values]
    assert lc.unique(a, True, sorted=False)[0].tolist() == list(dict.fromkeys(rows))


@pytest.mark.parametrize("name", OTHERS)
def test_other_types(name):
    a = OTHERS[name]
    c = lc.Column(a)
    assert (c.type, c.tolist()) == (name, a.to_pylist())
    assert pa.array(c).equals(a)
    for same in (pickle.loads(pickle.dumps(c)), pickle.loads(pickle.dumps(c[1:])), copy.copy(c)):
        assert same.type == name and same.tolist() == a.to_pylist()[len(a) - len(same) :]
    assert set(lc.unique(a)) == set(a.to_pylist())
    assert "libcohort.Column" in repr(c) or name == "float16"


def test_lists_with_nulls():
    assert lc.Column([1, None]).type == "int64" and lc.Column([2**63, None]).type == "uint64"
    assert lc.Column([1, 2.5, None]).tolist() == [1.0, 2.5, None]
    assert lc.Column([True, None, False]).tolist() == [True, None, False]
    assert lc.Column([b"a", None]).type == "binary" and lc.Column([None, None]).tolist() == [None, None]
    assert lc.Column([]).tolist() == []
    assert lc.unique([3, None, 1]).tolist() == [1, 3, None]
    assert lc.is_in([3, None, 4], [None, 4]).tolist() == [False, True, True]
    assert lc.index_in(pa.array([3, None], "int16"), [3]).tolist() == [0, -1]
    for wrong in (["a", 1], [1, object()], [2**64], [-1, 2**63]):
        with pytest.raises((TypeError, OverflowError)):
            lc.Column(wrong)
    with pytest.raises(UnicodeEncodeError):
        lc.Column(["\ud800"])


def test_numpy_strings():
    a = np.array(["b", "a", "b"])
    assert lc.unique(a).tolist() == ["a", "b"] and isinstance(lc.unique(a), np.ndarray)
    codes, uniques = lc.factorize(a)
    assert codes.tolist() == [0, 1, 0] and uniques.tolist() == ["b", "a"]
    o = np.array(["x", None, float("nan")], object)
    assert lc.unique(o).tolist() == ["x", None] and lc.unique(o).dtype == object
    assert lc.is_in(a, np.array(["b"])).tolist() == [True, False, True]
    with pytest.raises((TypeError, ValueError)):
        lc.is_in(a, [1, 2])
    assert lc.unique(np.array([["b", "a"], ["a", "a"]])).tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="2 dimensions"):
        lc.factorize(np.array([["a"]]))


def test_nothing_is_copied():
    p = pa.table({"a": pa.array(range(1000)), "b": pa.array(["x"] * 1000)})
    t = lc.Table(p)
    out = pa.table(t)
    for name in ("a", "b"):
        ours = out[name].chunk(0).buffers()
        assert [b and b.address for b in ours] == [b and b.address for b in p[name].chunk(0).buffers()]
    n = np.arange(1000)
    assert pa.array(lc.Table({"n": n})["n"]).buffers()[1].address == n.__array_interface__["data"][0]
    part = pa.array(lc.Table({"n": n})[100:]["n"])
    assert part.buffers()[1].address + 8 * part.offset == n.__array_interface__["data"][0] + 800


WHERE = {
    **OTHERS,
    **{str(type): strings(type) for type in STRINGS},
    "dictionary": strings(pa.string()).dictionary_encode(),
    "large dictionary": strings(pa.large_string()).dictionary_encode(),
    "no nulls": pa.array(["x", "a text that is longer than twelve bytes"] * 500, pa.large_string()),
}


def width(type):
    """Bytes a row of the first buffer behind that of nulls."""
    views = pa.types.is_string_view(type) or pa.types.is_binary_view(type)
    large = pa.types.is_large_string(type) or pa.types.is_large_binary(type)
    small = pa.types.is_string(type) or pa.types.is_binary(type)
    return 16 if views else 8 if large else 4 if small else type.bit_width // 8


def addresses(a):
    """Where the rows of an array of pyarrow lie, with all that they refer to, but for the bits of nulls: those of
    a slice are shifted, where they do not begin with a byte."""
    if isinstance(a, pa.ChunkedArray):
        return [where for chunk in a.chunks for where in addresses(chunk)]
    out = []
    for part in [a.indices, a.dictionary] if isinstance(a, pa.DictionaryArray) else [a]:
        _, first, *rest = part.buffers()
        out += [first.address + part.offset * width(part.type), *(b.address for b in rest)]
    return out


@pytest.mark.parametrize("form", ["whole", "slice", "chunks", "table"])
@pytest.mark.parametrize("name", WHERE)
def test_columns_stay_where_they_are(name, form):
    a = WHERE[name]
    if name == "bool" and form in ("slice", "chunks"):
        return  # their bits are shifted
    if form == "slice":
        a = a[1:]
    elif form == "chunks":
        a = pa.chunked_array([a[:1], a[1:]])
    out = pa.table(lc.Table({"a": a}))["a"] if form == "table" else pa.chunked_array(lc.Column(a))
    assert out.type == a.type and out.to_pylist() == a.to_pylist()
    assert addresses(out) == addresses(a)
    if form in ("whole", "table") and not isinstance(a, pa.DictionaryArray) and a.null_count:
        assert out.chunk(0).buffers()[0].address == a.buffers()[0].address


SERIES = {
    "int64": [3, 1, 2],
    "int64 with nulls": [3, None, 2],
    "float64": [0.5, 1.5],
    "strings": ["x", "a text that is longer than twelve bytes"] * 9,
    "strings with nulls": ["x", None, "a text that is longer than twelve bytes"],
    "times": [datetime.datetime(2030, 5, 1), datetime.datetime(1960, 5, 1)],
    "dates": [datetime.date(2030, 5, 1), None],
    "categories": ["x", "y", "x"],
}


@pytest.mark.parametrize("library", ["polars", "pandas"])
@pytest.mark.parametrize("name", SERIES)
def test_series_stay_where_they_are(name, library):
    """What a series lies in is told by what it exports to pyarrow."""
    rows = SERIES[name]
    if (library, name) == ("polars", "categories"):
        return  # polars makes them anew whenever they go out
    if library == "polars":
        s = pl.Series(rows)
    else:
        dtype = {"categories": "category", "int64 with nulls": pd.ArrowDtype(pa.int64())}.get(name)
        s = pd.Series(rows, dtype=pd.ArrowDtype(pa.date32()) if name == "dates" else dtype)
    theirs = pa.chunked_array(s)
    column = lc.Column(s)
    assert addresses(pa.chunked_array(column)) == addresses(theirs) != []
    assert pa.chunked_array(column).to_pylist() == theirs.to_pylist()
    del s, theirs
    gc.collect()
    assert pa.chunked_array(column).to_pylist() == rows


@pytest.mark.parametrize("type", ["int8", "uint64", "int32", "float32", "float64"])
def test_numbers_of_series_stay_where_they_are(type):
    a = np.arange(100).astype(type)
    p = pd.Series(a, copy=False)
    assert p.to_numpy().__array_interface__["data"][0] == a.__array_interface__["data"][0]
    for s, where in (
        (p, a.__array_interface__["data"][0]),
        (p[10:], a.__array_interface__["data"][0] + 10 * a.itemsize),
        (pl.Series(a), None),
        (pd.Series(pa.array(a), dtype=pd.ArrowDtype(pa.from_numpy_dtype(a.dtype))), None),
    ):
        if where is None:
            (where,) = addresses(pa.chunked_array(s))
        assert _core.view(s, "a")._address == where == _table.take_any(s, "a")[0]._address
    assert addresses(pa.array(lc.Table({"a": p})["a"])) == [a.__array_interface__["data"][0]]


class OnDevice:
    """Arrow's device interface and nothing else."""

    def __init__(self, of):
        self.of = of

    def __arrow_c_device_array__(self, requested_schema=None, **wishes):
        return self.of.__arrow_c_device_array__(requested_schema)


@pytest.mark.parametrize("name", WHERE)
def test_columns_go_out_by_the_device_interface(name):
    a = WHERE[name]
    c = lc.Column(a)
    out = pa.array(OnDevice(c))
    assert out.type == a.type and out.equals(a) and addresses(out) == addresses(a)
    assert _core.arrow_place(c.__arrow_c_device_array__()) == (1, -1)
    part = pa.array(OnDevice(c[1:]))
    del c
    gc.collect()
    assert out.to_pylist() == a.to_pylist() and part.to_pylist() == a.to_pylist()[1:]


def test_tables_go_out_by_the_device_interface():
    rows = {"k": ["a", None, "b"], "v": [1, 2, 3], "d": [0.5, None, 2]}
    t = lc.Table(pa.table(rows))
    out = pa.record_batch(OnDevice(t))
    assert out.to_pydict() == rows and out.schema.names == ["k", "v", "d"]
    assert out["v"].buffers()[1].address == pa.array(t["v"]).buffers()[1].address
    assert pa.record_batch(OnDevice(t[:0])).num_rows == 0
    parts = lc.Table(pa.table({"x": pa.chunked_array([[1, 2], [3]])}))
    assert pa.record_batch(OnDevice(parts)).to_pydict() == {"x": [1, 2, 3]}
    t.__arrow_c_device_array__(requested_schema=None, wish=1)  # capsules that nobody takes
    with pytest.raises(ValueError, match="not one column"):
        _core.frame_export_device(t._handle, True)


def test_every_library_comes_in_and_takes_out():
    rows = {"k": ["a", None, "b"], "v": [1, 2, 3]}
    for source in (
        pa.table(rows),
        pl.DataFrame(rows),
        pd.DataFrame(rows),
        rows,
        pa.record_batch(rows),
        lc.Table(rows),
    ):
        t = lc.Table(source)
        assert t.to_pydict() == rows and t.shape == (3, 2)
        assert pa.table(t).to_pydict() == rows and pl.DataFrame(t).to_dict(as_series=False) == rows
        assert (
            pd.DataFrame.from_arrow(t)["v"].tolist() == [1, 2, 3]
            if hasattr(pd.DataFrame, "from_arrow")
            else True
        )
    assert (
        lc.Column(pl.Series(["x", None])).tolist()
        == ["x", None]
        == pl.Series(lc.Column(["x", None])).to_list()
    )
    assert pa.schema(lc.Table(rows)).names == ["k", "v"]
    reader = pa.RecordBatchReader.from_batches(
        pa.schema({"x": pa.int64()}), [pa.record_batch({"x": [1]}), pa.record_batch({"x": [2]})]
    )
    t = lc.Table(reader)
    assert t.to_pydict() == {"x": [1, 2]} and pa.table(t)["x"].num_chunks == 2
    with pytest.raises((ValueError, OSError, TypeError)):
        lc.Table(reader["no"] if hasattr(reader, "__getitem__") else object())


def test_a_stream_that_fails():
    def batches():
        yield pa.record_batch({"x": [1]})
        raise RuntimeError("no more of them")

    with pytest.raises(OSError, match="no more of them"):
        lc.Table(pa.RecordBatchReader.from_batches(pa.schema({"x": pa.int64()}), batches()))


def test_a_stream_whose_batches_call_the_library():
    def batches():
        for i in range(3):
            yield pa.record_batch({"x": pa.array(lc.sort([i, 0]))})

    t = lc.Table(pa.RecordBatchReader.from_batches(pa.schema({"x": pa.int64()}), batches()))
    assert t["x"].tolist() == [0, 0, 0, 1, 0, 2]


def test_lifetimes():
    out = pa.table(lc.Table({"a": np.arange(5000), "s": [str(i) for i in range(5000)]}))
    gc.collect()
    assert out["a"].to_pylist() == list(range(5000)) and out["s"].to_pylist()[4999] == "4999"
    t = lc.Table(pa.table({"a": pa.array(["x" * 50] * 3000)}))
    gc.collect()
    assert t["a"][2999] == "x" * 50
    with lc.device("cpu", threads=1):
        one = lc.Table({"k": [1, 2], "s": ["a", "b"]})
        kept = pl.DataFrame(one)
    both = one.join({"k": [2, 1]}, "k")  # of another context
    del one
    gc.collect()
    assert both.to_pydict() == {"k": [1, 2], "s": ["a", "b"]} and kept["s"].to_list() == ["a", "b"]


def test_columns_by_name_and_rows():
    t = lc.Table({"a": [1, 2, 3], "b": ["x", "y", None], "c": [True, False, None]})
    assert t[["c", "a"]].names == ["c", "a"] and t.drop("b").names == ["a", "c"] and "b" in t and "z" not in t
    assert t.rename({"a": "z"}).names == ["z", "b", "c"] and list(t) == t.names
    assert t[1:]["b"].tolist() == ["y", None] and t[::-1]["a"].tolist() == [3, 2, 1] and len(t.head(2)) == 2
    assert t.take([2, -1])["a"].tolist() == [3, None] and t["b"][-1] is None and t["a"][1:].tolist() == [2, 3]
    assert t.with_columns({"a": [0, 0, 0], "n": np.arange(3)}).to_pydict()["a"] == [0, 0, 0]
    assert t.types == {"a": "int64", "b": "string", "c": "bool"}
    for wrong, error in (
        (lambda: t["z"], KeyError),
        (lambda: t["a"][3], IndexError),
        (lambda: t.take([3]), ValueError),
        (lambda: lc.Table({"a": [1], "b": [1, 2]}), ValueError),
        (lambda: lc.Table({}), ValueError),
        (lambda: lc.Table(7), TypeError),
        (lambda: lc.Column(t), TypeError),
        (lambda: lc.Table(pa.table({"x": [[1]]})), lc.UnsupportedError),
    ):
        with pytest.raises(error):
            wrong()


def test_html_is_escaped_and_long_tables_are_cut():
    html = lc.Table({"<a>": ["<b>&", "x" * 100, None] * 10})._repr_html_()
    assert "&lt;b&gt;&amp;" in html and "<b>" not in html and "&lt;a&gt;" in html and "10 of 30 rows" in html
    assert html.count("<tr>") == 11 and "x" * 50 not in html and "null" in html


def test_pickling():
    t = lc.Table(
        {"s": pa.array(TEXTS).dictionary_encode(), "v": strings(pa.string_view()), "n": [1, None, 3, 4, 5, 6]}
    )
    for other in (pickle.loads(pickle.dumps(t)), pickle.loads(pickle.dumps(t[1:4])), copy.deepcopy(t)):
        assert other.types == t.types
        assert other.to_pydict() == (t if len(other) == 6 else t[1:4]).to_pydict()
    assert len(pickle.dumps(lc.Column(["x" * 1000] * 1000)[:3])) < 5000
    from libcohort import _core

    for wrong in (
        (), ("U", 2, 3, 0, None, b"", b"", None), ("l", 2, 3, 0, None, b"1234", None, None), ("l", 2, 1, 1,
        b"", b"12345678", None, None), ("q", 2, 0, 0, None, b"", None, None), ("U", 2, 1, 0, None, b"", b"\0"
        * 8 + b"\x7f" + b"\0" * 7, None), ("i", 2, 1, 0, None, b"\5\0\0\0", None, ("l", 2, 1, 0, None,
        b"12345678", None, None)), ("i", 2, 1, 0, None, b"\5\0\0\0", None, 7), 7, ("w:2147483648", 2, 2**47,
        0, None, b"", None, None),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            _core.frame_of_parts(lc.Table({"a": [1]})._handle.context, wrong)


# ---- joins, against the pairs of two loops


def joined(left, right, how, nulls_equal):
    """[(left row, right row)], None for none."""

    def equal(x, y):
        return all(
            (a is None and b is None and nulls_equal) or (a is not None and a == b) for a, b in zip(x, y)
        )

    met = [(i, j) for i, x in enumerate(left) for j, y in enumerate(right) if equal(x, y)]
    lonely = [i for i in range(len(left)) if i not in {i for i, _ in met}]
    if how in ("semi", "anti"):
        return [(i, None) for i in (sorted({i for i, _ in met}) if how == "semi" else lonely)]
    if how in ("left", "full"):
        met = sorted(met + [(i, None) for i in lonely], key=lambda p: p[0])
    if how in ("right", "full"):
        met += [(None, j) for j in range(len(right)) if j not in {j for _, j in met}]
    return met


KEYS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "long enough not to be inline", None]), st.sampled_from([1, 2, None])
    ),
    max_size=9,
)


@SETTINGS
@hypothesis.given(
    KEYS,
    KEYS,
    st.sampled_from(["inner", "left", "right", "full", "semi", "anti"]),
    st.booleans(),
    st.sampled_from(STRINGS[:3]),
)
def test_join(left, right, how, nulls_equal, type):
    def table(rows, name, type):
        keys = {"s": pa.array([s for s, _ in rows], type), "i": pa.array([i for _, i in rows], "int32")}
        return pa.table(
            {**keys, name: pa.array(range(len(rows)), "int64"), "both": pa.array(range(len(rows)), "int64")}
        )

    a, b = table(left, "x", pa.string()), table(right, "y", type)
    got = lc.join(a, b, ["s", "i"], how=how, nulls_equal=nulls_equal)
    pairs = joined(left, right, how, nulls_equal)
    assert lc.join_size(a, b, ["s", "i"], how=how, nulls_equal=nulls_equal) == len(pairs) == len(got)
    out = got.to_pydict()
    assert out["x"] == [i for i, _ in pairs] == out["both"]
    key = [left[i] if i is not None else right[j] for i, j in pairs]
    assert list(zip(out["s"], out["i"])) == key
    if how in ("semi", "anti"):
        assert got.names == ["s", "i", "x", "both"]
    else:
        assert got.names == ["s", "i", "x", "both", "y", "both_right"]
        assert out["y"] == [j for _, j in pairs] == out["both_right"]


def test_a_key_that_is_named_twice():
    a = lc.Table({"k": [1, None, 2, 2], "v": [1, 2, 3, 4]})
    b = lc.Table({"k": [2, None], "w": [5, 6]})
    for how in ("inner", "left", "semi", "anti"):
        once, twice = (lc.join(a, b, on, how=how, nulls_equal=True) for on in ("k", ["k", "k", "k", "k"]))
        assert once.to_pydict() == twice.to_pydict(), how
        assert lc.join_size(a, b, ["k"] * 9, how=how, nulls_equal=True) == len(once)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_joins_by_names_of_other_letters(how):
    a = lc.Table({"Schlüssel": [1, 2], "größe": [3, 4]})
    b = lc.Table({"鍵": [2, 3], "größe": [5, 6], "Schlüssel": [7, 8]})
    got = lc.join(a, b, left_on="Schlüssel", right_on="鍵", how=how)
    rows = {"inner": 1, "left": 2, "right": 2, "full": 3, "semi": 1, "anti": 1}[how]
    names = ["Schlüssel", "größe"] + ["größe_right", "Schlüssel_right"] * (how not in ("semi", "anti"))
    assert (got.names, len(got)) == (names, rows)
    assert rows == lc.join_size(a, b, left_on="Schlüssel", right_on="鍵", how=how)
    summed = b.group_by("鍵").agg({"größe": "sum"})
    assert summed.to_pydict() == {"鍵": [2, 3], "größe_sum": [5, 6]}


def test_join_of_other_names_and_wrong_ones():
    a, b = lc.Table({"k": [1, 2]}), lc.Table({"id": [2, 2], "v": ["x", "y"]})
    assert a.join(b, left_on="k", right_on="id", suffix="!").to_pydict() == {"k": [2, 2], "v": ["x", "y"]}
    assert a.join(b, left_on="k", right_on="id", how="right").to_pydict() == {"k": [2, 2], "v": ["x", "y"]}
    for wrong, error, text in (
        (lambda: a.join(b), TypeError, "on"),
        (lambda: a.join(b, "k", left_on="k"), TypeError, "on"),
        (lambda: a.join(b, left_on="k"), TypeError, "on"),
        (lambda: a.join(b, "k"), KeyError, "'k'"),
        (lambda: a.join(a, "k", how="cross"), ValueError, "how"),
        (lambda: a.join(a, "k", validate="2:2"), ValueError, "validate"),
        (lambda: a.join(a, left_on=["k"], right_on=[]), ValueError, "1 keys"),
        (
            lambda: a.join(b, left_on="k", right_on="v"),
            ValueError,
            "'k', is of type int64; the other side's is of type string",
        ),
        (lambda: a.join(b, left_on="k", right_on="id", validate="1:1"), ValueError, "row"),
        (lambda: lc.join(7, b, "k"), TypeError, "left"),
    ):
        with pytest.raises(error, match=text):
            wrong()


# ---- groups


@SETTINGS
@hypothesis.given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([-5, 0, 7, 2**40, None])), max_size=30
    ),
    st.booleans(),
    st.booleans(),
)
def test_group_by(rows, sort, dropna):
    t = lc.Table(
        {"k": pa.array([k for k, _ in rows], "string"), "v": pa.array([v for _, v in rows], "int64")}
    )
    groups = {}
    for k, v in rows:
        if not (dropna and k is None):
            groups.setdefault(k, []).append(v)
    keys = sorted(groups, key=lambda k: (k is None, k)) if sort else list(groups)
    out = (
        lc.group_by(t, "k", sort=sort, dropna=dropna)
        .agg(
            {"v": ["sum", "mean", "min", "max", "first", "last", "any", "all", "nunique", "count"]},
            rows="size",
            s=("v", "std"),
            longest=("k", "max"),
        )
        .to_pydict()
    )
    there = [[v for v in groups[k] if v is not None] for k in keys]
    assert out["k"] == keys == out["longest"]
    assert out["rows"] == [len(groups[k]) for k in keys] and out["v_count"] == [len(v) for v in there]
    for name, function in (
        ("sum", sum), ("mean", lambda v: sum(v) / len(v)), ("min", min), ("max", max), ("first", lambda v:
        v[0]), ("last", lambda v: v[-1]), ("any", any), ("all", all),
    ):  # fmt: skip
        assert out["v_" + name] == [function(v) if v else None for v in there], name
    assert out["v_nunique"] == [len(set(v)) for v in there]
    for got, v in zip(out["s"], there):
        assert (got is None) if len(v) < 2 else math.isclose(got, np.std(v, ddof=1), abs_tol=1e-6)


def test_group_by_of_many_rows_is_that_of_pandas():
    rng = np.random.default_rng(3)
    d = pd.DataFrame(
        {
            "k": rng.integers(0, 500, 100_000),
            "s": rng.choice(["x", "y", "zz"], 100_000),
            "v": rng.normal(size=100_000),
        }
    )
    got = lc.group_by(d, "k", "s", sort=True, reproducible=True).agg(m=("v", "mean"), n="size")
    want = d.groupby(["k", "s"]).agg(m=("v", "mean"), n=("v", "size")).reset_index()
    assert got["k"].tolist() == want["k"].tolist() and got["s"].tolist() == want["s"].tolist()
    np.testing.assert_allclose(got["m"], want["m"], rtol=1e-12)
    assert got["n"].tolist() == want["n"].tolist()
    with lc.device("cpu", threads=1):
        again = lc.group_by(d[::-1], "k", "s", sort=True, reproducible=True).agg(m=("v", "mean"))
    assert again["m"].tolist() == got["m"].tolist()


def test_groups_that_are_wrong():
    t = lc.Table({"k": ["a"], "v": [1]})
    for wrong, error in (
        (lambda: t.group_by(), TypeError),
        (lambda: t.group_by("z"), KeyError),
        (lambda: t.group_by("k").agg(x=("z", "sum")), KeyError),
        (lambda: t.group_by("k").agg(x=("v", "middle")), ValueError),
        (lambda: t.group_by("k").agg(x="sum"), TypeError),
        (lambda: t.group_by("v").agg(x=("k", "sum")), lc.UnsupportedError),
        (
            lambda: lc.group_by({"k": [1], "v": [2**63 - 1]}, "k").agg(x=("v", "sum"), y=("q", "sum")),
            KeyError,
        ),
        (lambda: lc.group_by({"k": [1, 1], "v": [2**63 - 1] * 2}, "k").agg(x=("v", "sum")), ValueError),
    ):
        with pytest.raises(error):
            wrong()
    assert "'k'" in repr(t.group_by("k"))


def test_unique_rows_of_a_table():
    t = lc.Table({"a": [1, 1, 2, 1], "b": ["x", "x", None, "y"]})
    assert lc.unique(t).to_pydict() == {"a": [1, 1, 2], "b": ["x", "y", None]}
    assert lc.is_in(t, t[2:]).tolist() == [False, False, True, True]
    keys, counts = lc.value_counts(t, dropna=False)
    assert keys.to_pydict() == {"a": [1, 2, 1], "b": ["x", None, "y"]} and counts.tolist() == [2, 1, 1]
    keys, counts = lc.value_counts(t)
    assert keys.to_pydict() == {"a": [1, 1], "b": ["x", "y"]} and counts.tolist() == [2, 1]


def test_lists_of_numpys_numbers():
    assert lc.Column([np.int64(1), None]).tolist() == [1, None]
    assert lc.Table({"a": [np.bool_(True), False], "b": [np.float32(0.5), 2]}).to_pydict() == {
        "a": [True, False], "b": [0.5, 2.0]
    }  # fmt: skip
    assert lc.unique([np.int32(7), None, 7]).tolist() == [7, None]
    with pytest.raises(TypeError, match=r"values\[1\]: .*datetime"):
        lc.Column([np.int64(1), np.datetime64("2020-01-01", "s")])


def test_a_row_of_a_table_is_no_item():
    with pytest.raises(TypeError, match="what: the name of a column, a list of them or a slice is due, not 0"):
        lc.Table({"a": [1]})[0]
