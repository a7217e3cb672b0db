"""Arguments under numpy's and pandas' names, and numpy's dates, against numpy and pandas."""

import numpy as np
import pytest

import libcohort as lc

pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")
RNG = np.random.default_rng(5)
NUMBERS = RNG.integers(-50, 50, 300)
DATES = {
    unit: RNG.integers(-50, 50, 300).astype(f"{kind}8[{unit}]")
    for kind, unit in (("M", "D"), ("M", "ns"), ("m", "s"))
}
WITH_NAT = DATES["ns"].copy()
WITH_NAT[::7] = np.datetime64("NaT")
ARRAYS = {**DATES, "nat": WITH_NAT, "numbers": NUMBERS, "one": WITH_NAT[:1], "none": WITH_NAT[:0]}


def same(ours, theirs):
    """Of one dtype, NaT like NaT."""
    assert isinstance(ours, np.ndarray) and ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ARRAYS)
def test_order(name):
    a = ARRAYS[name]
    for kind in (None, "quicksort", "mergesort", "heapsort", "stable"):
        same(lc.sort(a, -1, kind), np.sort(a, -1, kind))
    for axis in (0, -1, None):
        same(lc.sort(a, axis=axis), np.sort(a, axis=axis))
        same(lc.argsort(a, axis), np.argsort(a, axis, "stable"))
    same(lc.argsort(a, kind="stable"), np.argsort(a, kind="stable"))
    same(lc.sort(a, stable=True), np.sort(a))
    same(lc.sort(a, descending=True)[::-1], np.sort(a))


@pytest.mark.parametrize("name", ARRAYS)
def test_distinct(name):
    a = ARRAYS[name]
    same(lc.unique(a), np.unique(a))
    for axis in (None, 0):
        ours, theirs = lc.unique(a, True, True, True, axis), np.unique(a, True, True, True)
        for x, y in zip(ours, theirs):
            same(x, y)
    for x, y in zip(lc.unique(a, return_inverse=True), np.unique(a, return_inverse=True)):
        same(x, y)
    for x, y in zip(lc.unique(a, return_counts=True, equal_nan=True), np.unique(a, return_counts=True)):
        same(x, y)
    same(lc.sort(lc.unique(a, sorted=False)), np.unique(a))
    values, counts = lc.value_counts(a, dropna=False)
    assert values.dtype == a.dtype and dict(zip(values.tolist(), counts.tolist())) == dict(
        zip(*(x.tolist() for x in np.unique(a, return_counts=True)))
    )
    mask = np.arange(len(a)) % 3 == 0
    same(lc.compact(a, mask), a[mask])


@pytest.mark.parametrize("sentinel", [True, False])
@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize("name", ARRAYS)
def test_factorize(name, sort, sentinel):
    a = ARRAYS[name]
    if a.dtype.kind == "M" and a.dtype == "M8[D]":
        a = a.astype("M8[s]")  # pandas has no days
    ours, theirs = lc.factorize(a, sort, sentinel), pd.factorize(a, sort, sentinel, size_hint=4)
    same(ours[0], theirs[0])
    np.testing.assert_array_equal(ours[1], theirs[1])


@pytest.mark.parametrize("sentinel", [True, False])
@pytest.mark.parametrize("sort", [True, False])
def test_factorize_strings(sort, sentinel):
    words = np.array(["b", None, "a", "b", None, "c", "a"], object)
    codes, uniques = lc.factorize(words, sort=sort, use_na_sentinel=sentinel)
    theirs, values = pd.factorize(words, sort=sort, use_na_sentinel=sentinel)
    assert codes.tolist() == theirs.tolist()
    assert uniques.tolist() == [None if pd.isna(v) else v for v in values]


def floats(n, distinct, dtype="f8"):
    """A third of them NaN."""
    a = RNG.integers(-distinct, distinct, n).astype(dtype) / 4
    a[RNG.random(n) < 0.3] = np.nan
    return a


FLOATS = {f"{n} of {d}, {t}": floats(n, d, t) for n, d, t in (
    (0, 1, "f8"), (1, 1, "f4"), (9, 3, "f8"), (30, 9, "f4"), (300, 50, "f8"), (5000, 3, "f4"), (5000, 5, "f8"),
    (20_000, 900, "f8"), (5000, 10**6, "f4"), (20_000, 10**6, "f8"),
)} | {"one NaN": np.array([np.nan]), "no NaN": np.array([2.5, 1, 2.5])}  # fmt: skip


@pytest.mark.parametrize("name", FLOATS)
def test_factorize_floats(name):
    a = FLOATS[name]
    for sort in (False, True):
        for sentinel in (True, False):
            for ours, theirs in zip(lc.factorize(a, sort, sentinel), pd.factorize(a, sort, sentinel)):
                same(ours, theirs)
    codes, values = lc.factorize(pa.array(a))  # not of numpy
    assert isinstance(values, lc.Array) and codes.tolist() == pd.factorize(a)[0].tolist()


def text(x):
    return "missing" if pd.isna(x) else str(x)


def same_counts(ours, theirs, sort):
    """Ties in any order."""
    assert ours[1].tolist() == (theirs.tolist() if sort else ours[1].tolist())
    mine = sorted(zip(map(text, ours[0].tolist()), ours[1].tolist()))
    assert mine == sorted(zip(map(text, theirs.index.to_numpy().tolist()), theirs.tolist()))


@pytest.mark.parametrize("sort", [True, False])
@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("dropna", [True, False])
@pytest.mark.parametrize("normalize", [True, False])
def test_value_counts(sort, ascending, dropna, normalize):
    words = np.array(["b", None, "a", "b", None, "c", "a", "b"], object)
    times = {k: a for k, a in ARRAYS.items() if a.dtype.kind != "M" or a.dtype != "M8[D]"}
    for a in (*FLOATS.values(), *times.values(), words):
        ours = lc.value_counts(a, sort, ascending, normalize, None, dropna)
        named = {"sort": sort, "ascending": ascending, "normalize": normalize, "dropna": dropna}
        same_counts(ours, pd.Series(a).value_counts(**named), sort)
        assert isinstance(ours[0], np.ndarray) and ours[1].dtype == ("f8" if normalize else "i8")
        if a.dtype.kind == "f" and len(a) < 5000:  # as columns with nulls
            column = pa.array([None if i % 3 else x for i, x in enumerate(a.tolist())], "f8")
            theirs = pd.Series([x for x in column.to_pylist() if x is not None], dtype="f8")
            many = theirs.value_counts(sort=False, dropna=dropna).to_dict()
            got = dict(zip(*(x.tolist() for x in lc.value_counts(column, **(named | {"normalize": False})))))
            nulls = got.pop(None, 0)
            assert nulls == (0 if dropna else column.null_count)
            assert sorted((text(k), n) for k, n in got.items()) == sorted((text(k), n) for k, n in many.items())


def test_value_counts_order_of_ties():
    a = np.array([3, 1, 2, 3, np.nan, np.nan, 0, 1.5])
    for ascending in (False, True):
        values, counts = lc.value_counts(a, ascending=ascending, dropna=False)
        due = sorted(zip(counts, np.isnan(values), values), key=lambda c: (c[0] if ascending else -c[0], c[1:]))
        np.testing.assert_array_equal(values, [v for _, _, v in due])
        words = lc.value_counts(["d", "b", None, "d", "a", "b", "c"], ascending=ascending, dropna=False)[0]
        assert words.tolist() == ([None, "a", "c", "d", "b"] if ascending else ["d", "b", None, "a", "c"])
    values, counts = lc.value_counts(WITH_NAT, sort=False, dropna=False)
    same(values, np.unique(WITH_NAT))
    assert counts[-1] == np.isnat(WITH_NAT).sum()


def test_value_counts_and_factorize_of_what_misses():
    """Every layout of floats and strings that has nulls, and NaNs beside them."""
    for a in (
        pa.array([1.5, None, np.nan, 1.5, 2]),
        pa.array([1.5, None, np.nan, 1.5, 2], "f4"),
        pa.array(np.array([1.5, np.nan, np.nan, 1.5, 2], "f2")),
        pa.array([1.5, None, np.nan, 1.5, 2]).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, 0, 2]), pa.array([1.5, None, 2])),
    ):
        for b in (a, pa.chunked_array([a[:2], a[2:]])):
            assert [x.tolist() for x in lc.value_counts(b)] == [[1.5, 2], [2, 1]]
            assert sum(lc.value_counts(b, dropna=False)[1]) == 5
            for sort in (False, True):
                assert [x.tolist() for x in lc.factorize(b, sort)] == [[0, -1, -1, 0, 1], [1.5, 2]]
                assert -1 not in lc.factorize(b, sort, False)[0].tolist()
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0]), pa.array(["x", None, "y"]))
    assert [x.tolist() for x in lc.value_counts(words)] == [["x", "y"], [2, 1]]
    rows = {"a": [1, None, 2, 1, 2], "b": [0.5, 1, np.nan, 0.5, 2]}
    theirs = pd.DataFrame(rows)
    for dropna in (True, False):
        keys, counts = lc.value_counts(lc.Table(rows), dropna=dropna)
        assert counts.tolist() == theirs.value_counts(dropna=dropna).tolist()
        assert len(keys) == (2 if dropna else 4) and keys[:1].to_pydict() == {"a": [1], "b": [0.5]}


@pytest.mark.parametrize("name", [*FLOATS, "nat"])
def test_nans_that_differ(name):
    a = (FLOATS | ARRAYS)[name]
    for got, due in zip(
        lc.unique(a, True, True, True, equal_nan=False), np.unique(a, True, True, True, equal_nan=False)
    ):
        same(got, due)
    values, index, _, counts = np.unique(a, True, True, True, equal_nan=False)  # alone it has one NaT
    same(lc.unique(a, equal_nan=False), values)
    for got, due in zip(lc.unique(a, return_counts=True, equal_nan=False), (values, counts), strict=True):
        same(got, due)
    values, index, inverse, counts = lc.unique(a, True, True, True, equal_nan=False, sorted=False)
    same(a[index], values)
    same(values[inverse], a)
    nans = (np.isnat if a.dtype.kind == "M" else np.isnan)(a).sum()
    assert len(values) == len(np.unique(a)) + max(nans - 1, 0) and counts.sum() == len(a)
    assert (np.diff(index)[: len(values) - nans - 1] > 0).all() and (np.diff(index)[len(values) - nans :] > 0).all()


SHAPES = {
    "rows": NUMBERS.reshape(30, 10),
    "columns": NUMBERS.reshape(30, 10).T,
    "floats": FLOATS["300 of 50, f8"].reshape(3, 10, 10),
    "times": WITH_NAT.reshape(2, 150),
    "words": np.array([["b", "a"], ["a", "c"]]),
    "one": np.array(7),
    "none": np.zeros((0, 3)),
    "bytes": NUMBERS.astype("i1").reshape(10, 30)[::2, ::3],
}


@pytest.mark.parametrize("name", SHAPES)
def test_distinct_of_several_dimensions(name):
    a = SHAPES[name]
    same(lc.unique(a), np.unique(a))
    for at in range(8):
        wants = bool(at & 1), bool(at & 2), bool(at & 4)
        if any(wants):
            for got, due in zip(lc.unique(a, *wants), np.unique(a, *wants), strict=True):
                same(got, due)
    values, inverse = lc.unique(a, return_inverse=True, sorted=False)
    np.testing.assert_array_equal(values[inverse], a)


def test_lookups():
    some = NUMBERS[::3]
    for kind in (None, "sort", "table"):
        same(lc.is_in(NUMBERS, some, kind=kind), np.isin(NUMBERS, some, kind=kind))
    same(lc.is_in(NUMBERS, some, True, True), ~np.isin(NUMBERS, some))
    same(lc.is_in(DATES["D"], DATES["D"][:20]), np.isin(DATES["D"], DATES["D"][:20]))
    for call in (lc.is_in, lc.index_in):
        with pytest.raises(TypeError, match=r"datetime64\[D\].*datetime64\[ns\].*astype"):
            call(DATES["D"], DATES["ns"])


LEFT = {"k": [1, 2, 2, 3], "v": [10, 20, 21, 30], "x": ["a", "b", "c", "d"]}
RIGHT = {"k": [2, 3, 4], "v": [7, 8, 9], "y": [0.5, 1.5, 2.5]}


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("suffixes", [("_x", "_y"), ("_left", None), (None, "_r"), ["", "2"]])
def test_suffixes(how, suffixes):
    ours = lc.join(lc.Table(LEFT), lc.Table(RIGHT), "k", how=how, suffixes=suffixes).to_pydict()
    theirs = pd.merge(pd.DataFrame(LEFT), pd.DataFrame(RIGHT), how, "k", suffixes=tuple(suffixes))
    assert list(ours) == list(theirs.columns)
    for name in ours:
        assert ours[name] == [None if pd.isna(v) else v for v in theirs[name]]


def test_suffixes_of_keys_and_of_right_rows():
    t = lc.join(LEFT, RIGHT, left_on="k", right_on="v", how="full", suffixes=("_x", "_y"))
    assert t.names == ["k_x", "v", "x", "k_y", "y"]
    assert t["k_x"].tolist() == [1, 2, 2, 3, 7, 8, 9] and t["k_y"].tolist() == [None] * 4 + [2, 3, 4]
    semi = lc.join(LEFT, RIGHT, "k", how="semi", suffixes=("_x", "_y"))
    assert semi.names == ["k", "v", "x"]


def refused(error, match, call, *arguments, **named):
    with pytest.raises(error, match=match):
        call(*arguments, **named)


def test_refused():
    for call in (lc.sort, lc.argsort):
        refused(TypeError, "axis: .*one dimension.* 1", call, NUMBERS, 1)
        refused(ValueError, "kind: .*'bubble'", call, NUMBERS, kind="bubble")
        refused(TypeError, "order: .*'field'", call, NUMBERS, order="field")
    refused(TypeError, "axis: .*one dimension.* 1", lc.unique, NUMBERS, axis=1)
    refused(TypeError, "equal_nan: .*False", lc.unique, [1.5, None], equal_nan=False)
    assert lc.unique(["b", None, "a"], equal_nan=False).tolist() == ["a", "b", None]
    refused(ValueError, "a: has 2 dimensions", lc.unique, SHAPES["rows"], axis=0)
    refused(TypeError, "bins: .*3", lc.value_counts, NUMBERS, bins=3)
    refused(ValueError, "kind: .*'hash'", lc.is_in, NUMBERS, NUMBERS, kind="hash")
    refused(TypeError, "suffixes: .*'_x'", lc.join, LEFT, RIGHT, "k", suffixes="_x")
    refused(ValueError, "suffixes: .*two columns are named 'v'", lc.join, LEFT, RIGHT, "k", suffixes=("", None))
    refused(TypeError, "'>|byte|format", lc.sort, DATES["ns"].astype(">M8[ns]"))


def test_an_array_is_a_stream():
    pl = pytest.importorskip("polars")
    a = lc.sort([3, 1, 2])
    column = pa.chunked_array(a)
    assert column.to_pylist() == [1, 2, 3] and column.num_chunks == 1
    assert column.chunk(0).buffers()[1].address == a._address
    assert pl.Series(a).to_list() == [1, 2, 3]
    assert pa.chunked_array(lc.is_in([1, 2], [2])).to_pylist() == [False, True]
    stream = a.__arrow_c_stream__()
    del a, column
    assert lc.Column(Holder(stream)).tolist() == [1, 2, 3]


class Holder:
    """What gives one stream out."""

    def __init__(self, stream):
        self.stream = stream

    def __arrow_c_stream__(self, requested_schema=None):
        return self.stream
