"""Every function on every kind of array, against numpy."""

import array

import hypothesis
import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import strategies as st

import libcohort as lc

TYPES = ["uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float32", "float64"]
INTEGERS = TYPES[:8]
SIZES = [0, 1, 2, 31, 32, 33, 2047, 2048, 2049, 5000]
SETTINGS = hypothesis.settings(max_examples=40, deadline=None)


def numbers(dtype, n, distinct=300, seed=1):
    rng = np.random.default_rng(seed + n)
    info = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
    pool = (
        rng.integers(info.min, info.max, distinct, dtype, endpoint=True)
        if info
        else rng.normal(size=distinct)
    )
    return pool.astype(dtype)[rng.integers(0, distinct, n)]


def same(got, expected):
    assert isinstance(got, np.ndarray)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("dtype", [*TYPES, "bool"])
@pytest.mark.parametrize("needles", [1, 40, 3000, 40_000])
def test_many_keys_among_others(dtype, needles):
    """What is looked up without a map: few and many values, close together and far apart, with -1 and NaN."""
    rng = np.random.default_rng(needles)
    kind = np.dtype(dtype).kind
    for low, high in ((0, 100), (0, 2**15), (-(2**62), 2**62)):
        a, b = (rng.integers(low, high, n).astype(dtype) for n in (20_000, needles))
        if kind == "f":
            a[::7], b[::3], a[1::7] = np.nan, np.nan, -0.0
        if kind == "i":
            a[::5], b[::4] = -1, -1
        hit = np.isin(a, b) | (np.isnan(a) & np.isnan(b).any() if kind == "f" else False)
        same(lc.is_in(a, b), hit)
        same(lc.is_in(a, b, invert=True), ~hit)
        order = np.argsort(b, kind="stable")
        at = np.searchsorted(b[order], a)
        due = np.where(hit, order[np.minimum(at, needles - 1)], -1)
        same(lc.index_in(a, b), due)
        assert lc.is_in(lc.Column(a), b).tolist() == hit.tolist()


@pytest.mark.parametrize("n", [0, 1, 10, 32, 33])
@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "float64"])
def test_few_keys_among_few(dtype, n):
    a, b = numbers(dtype, n, 12), numbers(dtype, 9, 12, seed=5)
    b[:2] = a[:2] if n > 1 else b[:2]
    same(lc.is_in(a, b), np.isin(a, b))
    codes, distinct = lc.factorize(a)
    assert distinct[codes].tolist() == a.tolist() and len(distinct) == len(np.unique(a))
    first = {x: i for i, x in reversed(list(enumerate(b.tolist())))}
    same(lc.index_in(a, b), np.array([first.get(x, -1) for x in a.tolist()], "int64"))


@pytest.mark.parametrize("dtype", ["uint8", "int32", "uint64", "float32", "float64"])
@pytest.mark.parametrize("distinct", [1, 900, 100_000, 10**6])
def test_numbers_in_the_order_of_first_rows(dtype, distinct):
    """A map for few of them, and for as many as there are rows."""
    a = np.random.default_rng(distinct).integers(0, distinct, 150_000).astype(dtype)
    codes, values = lc.factorize(a)
    sorted, first, inverse, counts = np.unique(a, return_index=True, return_inverse=True, return_counts=True)
    order = np.argsort(first)
    same(values, sorted[order])
    same(codes, np.argsort(order)[inverse])
    values, index, codes, many = lc.unique(a, True, True, True, sorted=False)
    same(values, sorted[order])
    same(index, first[order])
    same(codes, np.argsort(order)[inverse])
    same(many, counts[order])


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", [*TYPES, "bool"])
def test_against_numpy(dtype, n):
    a = numbers("uint8", n).astype("bool") if dtype == "bool" else numbers(dtype, n)
    b = a[: n // 3]
    same(lc.sort(a), np.sort(a))
    same(lc.sort(a, descending=True), np.sort(a)[::-1])
    same(lc.argsort(a), np.argsort(a, kind="stable"))
    same(lc.unique(a), np.unique(a))
    for got, expected in zip(lc.unique(a, True, True, True), np.unique(a, True, True, True), strict=True):
        same(got, expected)
    for got, expected in zip(lc.unique(a, return_counts=True), np.unique(a, return_counts=True), strict=True):
        same(got, expected)
    same(np.sort(lc.unique(a, sorted=False)), np.unique(a))
    values, index, inverse, counts = lc.unique(a, True, True, True, sorted=False)
    same(a[index], values)
    same(values[inverse], a)
    assert counts.sum() == n
    codes, uniques = lc.factorize(a)
    same(uniques[codes], a)
    assert list(np.unique(codes, return_index=True)[1]) == sorted(np.unique(a, return_index=True)[1])
    same(lc.is_in(a, b), np.isin(a, b))
    same(lc.is_in(a, b, invert=True), ~np.isin(a, b))
    first = {x: i for i, x in reversed(list(enumerate(b.tolist())))}
    same(lc.index_in(a, b), np.array([first.get(x, -1) for x in a.tolist()], "int64"))
    values, counts = lc.value_counts(a)
    assert dict(zip(values.tolist(), counts.tolist())) == dict(
        zip(*(x.tolist() for x in np.unique(a, return_counts=True)))
    )
    assert (np.diff(counts) <= 0).all()
    mask = numbers("uint8", n) > 100
    same(lc.compact(a, mask), a[mask])


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_partition(dtype, n):
    a = numbers(dtype, n)
    ids = np.arange(n) % 7
    p = lc.partition(a, 7, by=ids, values=a, return_index=True)
    order = np.argsort(ids, kind="stable")
    same(p.keys, a[order])
    same(p.values, a[order])
    same(p.index, order)
    same(p.offsets, np.searchsorted(ids[order], np.arange(8)))
    same(lc.histogram(a, 7, by=ids), np.bincount(ids, minlength=7))
    hashed = lc.partition(a, 16)
    same(np.sort(hashed.keys), np.sort(a))
    same(np.diff(hashed.offsets), lc.histogram(a, 16))
    if np.dtype(dtype).kind == "u":
        same(
            lc.histogram(a, 5, by="modulo"),
            np.bincount((a % dtype_number(dtype, 5)).astype("int64"), minlength=5),
        )
        splitters = np.unique(a)[:50]
        at = np.searchsorted(splitters, a, side="right")
        same(lc.histogram(a, splitters=splitters), np.bincount(at, minlength=len(splitters) + 1))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", [*TYPES, "bool"])
def test_ranks_and_segments(dtype, n):
    a = numbers("uint8", n).astype("bool") if dtype == "bool" else numbers(dtype, n)
    ids = np.arange(n) % 5
    bounds = np.array([0, 0, n // 3, n // 3, n])
    # bucket b of segment s is the one with the number s * 5 + b
    cell = np.repeat(np.arange(4), np.diff(bounds)) * 5 + ids
    order = np.argsort(cell, kind="stable")
    p = lc.partition(a, 5, by=ids, values=a, segments=bounds, return_index=True, return_rank=True)
    same(p.keys, a[order])
    same(p.values, a[order])
    same(p.index, order)
    same(p.rank, np.argsort(order))
    same(p.offsets, np.searchsorted(cell[order], np.arange(21)))
    p = lc.partition(a, 9, return_rank=True)
    assert p.index is p.values is None
    same(p.keys[p.rank], a)
    strided = lc.partition(a[::2], 9, return_rank=True)
    same(strided.keys[strided.rank], a[::2])
    one = lc.partition(a, 9, segments=[0, n])
    same(one.keys, p.keys)
    same(one.offsets, p.offsets)


def test_segments_of_any_kind():
    a = np.arange(10, dtype="uint32")
    for bounds in ([0, 4, 10], np.array([0, 4, 10], "uint8"), np.array([0, 9, 4, 9, 10])[::2]):
        p = lc.partition(a, 2, by="modulo", segments=bounds)
        same(p.keys, np.array([0, 2, 1, 3, 4, 6, 8, 5, 7, 9], "u4"))
    none = lc.partition(a[:0], 3, segments=[0], return_rank=True)
    assert none.offsets.tolist() == [0] and len(none.keys) == len(none.rank) == 0
    for bounds in ([0], [], [0, 11], [1, 10], [0, 5, 3, 10], [-1, 10], [0.0, 10.0], [5]):
        with pytest.raises((ValueError, OverflowError, TypeError), match="segment"):
            lc.partition(a, 3, segments=bounds)
    with pytest.raises(lc.UnsupportedError, match="4194304"):
        lc.partition(a, 65536, segments=[0] * 100 + [10])
    with pytest.raises(ValueError, match="segment"):
        lc.partition(a[:0], 3, segments=[5])


def dtype_number(dtype, x):
    return np.dtype(dtype).type(x)


def test_ranges():
    same(lc.histogram(np.array([0, 4, 5, 9, 200]), 2, range=(0, 9)), np.array([2, 3]))
    with pytest.raises(TypeError, match="negative"):
        lc.histogram(np.array([1]), 2, range=(-1, 9))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_floats(dtype):
    a = np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1, -1] * 500, dtype)
    assert np.isnan(lc.sort(a)[-1000:]).all() and lc.sort(a)[0] == -np.inf
    same(lc.unique(a), np.unique(a))
    same(lc.argsort(a), np.argsort(a, kind="stable"))
    assert (
        lc.is_in(a, np.array([np.nan, -0.0], dtype)).tolist()
        == [True] * 4 + [False] * 4 + lc.is_in(a[8:], np.array([np.nan, 0.0], dtype)).tolist()
    )


@SETTINGS
@hypothesis.given(st.data())
def test_random_arrays(data):
    dtype = data.draw(st.sampled_from(TYPES))
    elements = st.floats(-100, 100, width=32) if dtype[0] == "f" else None
    a = data.draw(arrays.arrays(dtype, st.integers(0, 60), elements=elements))
    step = data.draw(st.sampled_from([1, 2, -1, -3]))
    a = a[data.draw(st.integers(0, 3)) :: step]
    a.flags.writeable = data.draw(st.booleans())
    before = a.copy()
    for got, expected in zip(lc.unique(a, True, True, True), np.unique(a, True, True, True), strict=True):
        same(got, expected)
    same(lc.argsort(a), np.argsort(a, kind="stable"))
    same(lc.is_in(a, a[::2]), np.isin(a, a[::2]))
    same(a, before)


@pytest.mark.parametrize("a,b", [("int8", "uint64"), ("int64", "uint64"), ("float64", "int64")])
def test_types_that_have_none_in_common(a, b):
    with pytest.raises(TypeError, match="no type for both"):
        lc.is_in(np.zeros(1, a), np.zeros(1, b))


def test_types_that_have_one_in_common():
    same(
        lc.is_in(np.array([-1, 255, 3], "int16"), np.array([255, 3], "uint8")), np.array([False, True, True])
    )
    same(lc.is_in(np.array([2**40, 3], "int64"), np.array([3], "int32")), np.array([False, True]))
    same(lc.is_in(np.array([0.5], "float32"), np.array([0.5], "float64")), np.array([True]))


FUNCTIONS = [
    lc.sort,
    lc.argsort,
    lc.unique,
    lc.factorize,
    lc.value_counts,
    lambda a: lc.is_in(a, [1]),
    lambda a: lc.is_in([1], a),
    lambda a: lc.index_in(a, [1]),
    lambda a: lc.partition(a, 2),
    lambda a: lc.histogram(a, 2),
    lambda a: lc.compact(a, np.zeros(3, bool)),
    lc.Map,
    lambda a: lc.Map([1], [1]).insert(a, [1, 1, 1]),
]


# These know strings.
OF_STRINGS = (lc.unique, lc.factorize, lc.value_counts)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    "wrong",
    [
        None,
        7,
        "text",
        object(),
        np.array(["a", "b", "c"]),
        np.zeros(3, complex),
        np.zeros(3, ">i8"),
        np.array([1, "b", None], object),
    ],
)
def test_wrong_types(function, wrong):
    if wrong is None and function is lc.Map:
        return
    if isinstance(wrong, np.ndarray) and wrong.dtype.kind == "U" and function in OF_STRINGS:
        return
    with pytest.raises((TypeError, ValueError)):
        function(wrong)


def test_wrong_shapes():
    with pytest.raises(ValueError, match="a: has 2 dimensions"):
        lc.sort(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="mask: has 2 entries, and must have 3"):
        lc.compact(np.zeros(3), np.zeros(2, bool))
    with pytest.raises(ValueError, match="buckets"):
        lc.partition(np.zeros(3, "int64"), 70000)
    with pytest.raises(ValueError, match="buckets"):
        lc.histogram(np.zeros(3, "int64"), 0)
    with pytest.raises(ValueError, match="by: has 2 entries"):
        lc.partition(np.zeros(3, "int64"), 2, by=np.zeros(2, "uint8"))
    with pytest.raises(lc.ArgumentError):
        lc.partition(np.zeros(3, "int64"), 2, by=np.full(3, 5, "uint8"))


def test_times_are_integers():
    a = np.array(["2024-05-01", "2023-01-01"], "datetime64[D]")
    assert lc.argsort(a).tolist() == [1, 0]


def test_without_numpy_in():
    assert isinstance(lc.sort(array.array("i", [2, 1])), lc.Array)
    assert lc.sort(array.array("i", [2, 1])).type == "int32"
    assert lc.sort(bytearray(b"ba")).tolist() == [97, 98]
    assert lc.unique([1.5, 1.5, 2]).tolist() == [1.5, 2.0]
    assert lc.sort([2**63, 1]).type == "uint64"
    with pytest.raises(OverflowError):
        lc.sort([2**64])


@pytest.mark.parametrize("dtype", ["int32", "uint64", "float64"])
@pytest.mark.parametrize("distinct", [1, 700, 5000, 30_000, 150_000, 10_000_000])
def test_unique_of_many(dtype, distinct):
    a = numbers(dtype, 200_000, distinct)
    for got, expected in zip(lc.unique(a, True, True, True), np.unique(a, True, True, True), strict=True):
        same(got, expected)
    same(lc.unique(a), np.unique(a))
    same(np.sort(lc.unique(a, sorted=False)), np.unique(a))
    values, index, inverse = lc.unique(a, True, True, sorted=False)
    assert (np.diff(index) > 0).all()
    same(values[inverse], a)
    same(a[index], values)
    values, counts = lc.value_counts(a)
    order = np.lexsort((values, -counts))
    same(values[order], values)
    for got, expected in zip(lc.value_counts(a, sort=False), np.unique(a, return_counts=True), strict=True):
        same(got, expected)
    codes, uniques = lc.factorize(a)
    assert (np.diff(np.unique(codes, return_index=True)[1]) > 0).all()
    same(uniques[codes], a)
    same(lc.unique(a[::-1], return_counts=True)[1], np.unique(a, return_counts=True)[1])


@pytest.mark.parametrize("n", [6, 32, 33, 10_000])
def test_few_floats_have_one_zero_and_one_nan(n):
    pool = np.array([-0.0, 0.0, np.nan, -np.nan, 1.5, -np.inf])
    a = np.random.default_rng(3).permutation(np.resize(pool, n))
    values, counts = lc.value_counts(a, sort=False, dropna=False)
    np.testing.assert_array_equal(values, [-np.inf, 0, 1.5, np.nan])
    assert not np.signbit(values[1]) and counts.sum() == len(a) and counts[3] == np.isnan(a).sum()
    same(lc.value_counts(a, sort=False)[0], values[:3])
    codes, uniques = lc.factorize(a, use_na_sentinel=False)
    np.testing.assert_array_equal(uniques[codes], a)
    assert not np.signbit(uniques[uniques == 0]).any()
    assert len(uniques) == 4 and len(lc.unique(a)) == 4 and len(lc.unique(a, sorted=False)) == 4
    codes, uniques = lc.factorize(a)
    np.testing.assert_array_equal(np.where(codes < 0, np.nan, uniques[codes]), a)
    assert len(uniques) == 3 and not np.signbit(uniques[uniques == 0]).any()


def test_booleans_beside_numbers():
    flags, numbers = np.array([True, False]), np.array([3, 1], "int8")
    assert lc.is_in(flags, numbers).tolist() == [True, False] and lc.is_in(numbers, flags).tolist() == [False, True]
    assert lc.index_in(flags, numbers).tolist() == [1, -1]
    with pytest.raises(TypeError, match="bool and test_elements of float64: there is no type for both"):
        lc.is_in(flags, np.array([1.0]))
