"""Arguments under numpy's and pandas' names, and numpy's dates, against numpy and pandas."""

import numpy as np
import pytest

import libcohort as lc

pd = pytest.importorskip("pandas")
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
    values, counts = lc.value_counts(a)
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
    refused(TypeError, "equal_nan: .*False", lc.unique, NUMBERS, equal_nan=False)
    refused(ValueError, "kind: .*'hash'", lc.is_in, NUMBERS, NUMBERS, kind="hash")
    refused(TypeError, "suffixes: .*'_x'", lc.join, LEFT, RIGHT, "k", suffixes="_x")
    refused(ValueError, "suffixes: .*two columns are named 'v'", lc.join, LEFT, RIGHT, "k", suffixes=("", None))
    refused(TypeError, "'>|byte|format", lc.sort, DATES["ns"].astype(">M8[ns]"))


def test_an_array_is_a_stream():
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
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
