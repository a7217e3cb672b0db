"""Functions of arrays in a GPU's memory, on the simulated one: in by each protocol without a copy, results
there. others.py has what stands in for torch, cupy and cudf."""

import gc

import numpy as np
import pytest
from on_gpu import KINDS, gpu, same, some, stream  # noqa: F401
from others import Cudf, Cupy, Memory, Torch

import libcohort as lc
from libcohort import _core, _gpu

pytestmark = pytest.mark.usefixtures("gpu")


@pytest.mark.parametrize("Kind", KINDS)
def test_nothing_is_copied_on_the_way_in(Kind, stream):
    a = Kind(some("i8"), stream)
    taken = _gpu.take(a, "a", True)
    assert taken._address == a.address and taken.device == "cuda:0"
    assert taken.tolist() == some("i8").tolist()
    part = taken[3:9]
    assert part._address == a.address + 24 and part.tolist() == some("i8").tolist()[3:9]
    assert taken[::7].tolist() == some("i8").tolist()[::7] and taken[::7].device == "cuda:0"
    assert taken[-1] == some("i8")[-1]
    before = Memory.alive
    del a
    gc.collect()
    assert Memory.alive == before  # the array has it
    del taken
    assert part.tolist() == some("i8").tolist()[3:9]
    del part
    gc.collect()
    assert Memory.alive == before - 1


@pytest.mark.parametrize("Kind", KINDS)
@pytest.mark.parametrize("type", ["i4", "u4", "i8", "u8", "f8"])
def test_sort(Kind, type, stream):
    a = some(type)
    same(lc.sort(Kind(a, stream)), np.sort(a))
    same(lc.sort(Kind(a), descending=True), np.sort(a)[::-1])
    same(lc.argsort(Kind(a)), np.argsort(a, kind="stable"))


def test_types_of_other_sizes():
    for type in ("i1", "u1", "i2", "u2"):
        a = some(type)
        same(lc.sort(Cupy(a)), np.sort(a))
    floats = np.array([1.5, -0.0, np.nan, 0.0, -np.inf, -np.nan, 2], "f4")
    got = lc.sort(Torch(floats))
    assert got.device == "cuda:0" and str(got.tolist()) == "[-inf, -0.0, 0.0, 1.5, 2.0, nan, nan]"
    mask = Cudf(np.packbits([1, 0, 1, 1, 0, 0, 1, 0, 1, 1], bitorder="little").view("b1"))
    mask.length, mask.format = 9, b"b"
    mask.offset = 1
    same(_gpu.take(mask, "mask", True), np.array([0, 1, 1, 0, 0, 1, 0, 1, 1], bool))


@pytest.mark.parametrize("type, bits", [("f4", "u4"), ("f8", "u8")])
def test_floats_that_are_equal_and_differ_in_bits(type, bits):
    a = np.array([1.5, -0.0, np.nan, 0.0, -np.inf, -np.nan, np.inf, 1.5, 0, 0], type)
    exponent = a[6:7].view(bits)[0]
    a.view(bits)[8:] = exponent + 1, np.iinfo(bits).max >> 1  # NaNs: a signalling one, the last one
    for drop in range(len(a)):
        b = np.delete(a, drop)
        with np.errstate(invalid="ignore"):
            for down in (False, True):
                got, due = (lc.sort(x, descending=down) for x in (Torch(b), b))
                assert str(got.tolist()) == str(due.tolist())
            assert lc.argsort(Cupy(b)).tolist() == lc.argsort(b).tolist()
            parts = (lc.unique(x, True, True, True) for x in (Cupy(b), b))
            for got, due in zip(*parts, strict=True):
                assert got.device == "cuda:0" and str(got.tolist()) == str(due.tolist())
            assert lc.is_in(Cupy(b), Torch(a)).tolist() == [True] * len(b)
    m = lc.Map(Cupy(a), Cupy(np.arange(10, dtype="i4")))
    assert m.get(Torch(a[[1, 2, 5, 8]])).tolist() == m.get(a[[1, 2, 5, 8]]).tolist() == [3, 9, 9, 9]


def same_elements(got, due):
    """In any order."""
    assert got.device == "cuda:0" and sorted(got.tolist()) == sorted(due.tolist())


@pytest.mark.parametrize("type", ["i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("n", [2, 70, 300])
def test_distinct_in_the_order_in_which_they_occur(type, n):
    a = some(type, n)
    due, first, counts = np.unique(a, True, return_counts=True)
    order = np.argsort(first)
    values, index, inverse, many = lc.unique(Cupy(a), True, True, True, sorted=False)
    same(values, due[order])
    same(index, first[order])
    same(many, counts[order])
    assert due[order][inverse.tolist()].tolist() == a.tolist()
    codes, distinct = lc.factorize(Torch(a) if type[0] == "i" else Cupy(a))
    same(distinct, due[order])
    same(codes, inverse.tolist())
    values, many = lc.unique(Cupy(a), return_counts=True, sorted=False)
    same_elements(values, due)
    assert [counts[due == v][0] for v in values.tolist()] == many.tolist()
    values, many = lc.value_counts(Cupy(a))
    frequent = np.argsort(-counts, kind="stable")
    same(values, due[frequent])
    same(many, counts[frequent])


@pytest.mark.parametrize("type", ["i4", "u4", "f4"])
def test_numbers_of_keys_of_4_bytes_do_not_go_through_the_host(type, monkeypatch):
    a, b = some(type, 90), some(type, 40, seed=2)
    plain, seen = lc._functions._core.cast, []

    def cast(values, *rest):
        out = plain(values, *rest)
        seen.extend([] if out is values or values._gpu is None else [out.type])
        return out

    monkeypatch.setattr(lc._functions._core, "cast", cast)
    for got, due in zip(lc.unique(Cupy(a), True, True, True), np.unique(a, True, True, True), strict=True):
        same(got, due)
    values, inverse = lc.unique(Cupy(a), return_inverse=True, sorted=False)
    assert np.array(values.tolist(), type)[inverse.tolist()].tolist() == a.tolist() and inverse[0] == 0
    codes, distinct = lc.factorize(Cupy(a))
    same(codes, inverse.tolist())
    same(distinct, np.array(values.tolist(), type))
    same(lc.index_in(Cupy(a), Cupy(b)), [list(b).index(x) if x in b else -1 for x in a])
    same(lc.value_counts(Cupy(a), sort=False)[1], np.unique(a, return_counts=True)[1])
    assert not seen


@pytest.mark.parametrize("type", ["i4", "u8"])
def test_no_elements(type):
    none = np.array([], type)
    for got in lc.unique(Cupy(none), True, True, True):
        assert got.device == "cuda:0" and len(got) == 0
    assert [len(x) for x in lc.factorize(Cupy(none))] == [0, 0]
    same(lc.index_in(Cupy(some(type)), Cupy(none)), [-1] * 70)
    assert len(lc.index_in(Cupy(none), Cupy(some(type)))) == 0


@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33])
def test_short_arrays(n):
    a = some("i8", max(n, 2))[:n]
    for Kind in KINDS:
        same(lc.sort(Kind(a)), np.sort(a))
        same(lc.is_in(Kind(a), Kind(a[:1])), np.isin(a, a[:1]))
        same(lc.unique(Kind(a)), np.unique(a))


def test_is_in_and_index_in():
    a, b = some("i8"), np.array([3, 7, 7, -5, 12])
    first = np.array([list(b).index(x) if x in b else -1 for x in a])
    for Kind in KINDS:
        same(lc.is_in(Kind(a), Kind(b)), np.isin(a, b))
        same(lc.is_in(Kind(a), Cupy(b), invert=True), ~np.isin(a, b))
        same(lc.index_in(Kind(a), Kind(b)), first)
    same(lc.is_in(Cupy(a.astype("i4")), Cupy(b)), np.isin(a.astype("i4"), b))
    same(lc.is_in(Cupy(a), b.tolist()), np.isin(a, b))  # lists go where they are needed
    same(lc.is_in(b.tolist(), Cupy(a)), np.isin(b, a))
    same(lc.index_in(Torch(a), b.tolist()), first)


@pytest.mark.parametrize("type", ["i4", "u8", "f8"])
def test_distinct(type):
    a = some(type)
    same(lc.unique(Cupy(a)), np.unique(a))
    for got, due in zip(lc.unique(Torch(a), True, True, True), np.unique(a, True, True, True), strict=True):
        same(got, due)
    assert sorted(lc.unique(Cupy(a), sorted=False).tolist()) == np.unique(a).tolist()
    codes, distinct = lc.factorize(Cudf(a))
    assert codes.device == distinct.device == "cuda:0"
    assert np.array(distinct.tolist(), type)[codes.tolist()].tolist() == a.tolist() and codes[0] == 0
    values, counts = lc.value_counts(Cupy(a), sort=False)
    same(values, np.unique(a))
    same(counts, np.unique(a, return_counts=True)[1])
    assert lc.value_counts(Cupy(a))[1].tolist() == sorted(counts.tolist(), reverse=True)


@pytest.mark.parametrize("type", ["f4", "f8"])
def test_what_misses(type):
    """NaNs have no number, are not counted, or are each its own; as on the CPU, and the answers stay there."""
    a = some(type)
    a[::4] = np.nan
    for b in (a, a[:1], a[1:2], a[:0]):
        with lc.device("cpu"):
            due = [lc.factorize(b), lc.factorize(b, True), lc.factorize(b, False, False), lc.value_counts(b)]
            due += [lc.value_counts(b, ascending=True, normalize=True), lc.value_counts(b, dropna=False)]
            due += [lc.unique(b, True, True, True, equal_nan=False)]
            due += [lc.unique(b, True, True, True, equal_nan=False, sorted=False)]
        for c in (Cupy(b), Torch(b)):
            got = [lc.factorize(c), lc.factorize(c, True), lc.factorize(c, False, False), lc.value_counts(c)]
            got += [lc.value_counts(c, ascending=True, normalize=True), lc.value_counts(c, dropna=False)]
            got += [lc.unique(c, True, True, True, equal_nan=False)]
            got += [lc.unique(c, True, True, True, equal_nan=False, sorted=False)]
            for x, y in zip(got, due, strict=True):
                for part, whole in zip(x, y, strict=True):
                    assert part.device == "cuda:0" and part.type == str(whole.dtype)
                    assert str(part.tolist()) == str(whole.tolist())


def test_columns_in_which_some_miss():
    """In lists, which go to the GPU as columns."""
    words = [1.5, None, float("nan"), 1.5, 2.0]
    assert [x.tolist() for x in lc.value_counts(words)] == [[1.5, 2.0], [2, 1]]
    assert lc.value_counts(words, dropna=False)[1].tolist() == [2, 1, 1, 1]
    assert lc.value_counts(words, ascending=True, normalize=True)[1].tolist() == [1 / 3, 2 / 3]
    for sort in (False, True):
        assert [x.tolist() for x in lc.factorize(words, sort)] == [[0, -1, -1, 0, 1], [1.5, 2.0]]
    assert [x.tolist() for x in lc.value_counts([3, None, 3, 4])] == [[3, 4], [2, 1]]


def test_groups_of_numbers():
    dice = np.random.default_rng(1)
    k, v, x = dice.integers(0, 9, 500), dice.integers(-99, 99, 500), dice.integers(-99, 99, 500) / 4
    made = lc.group_by({"k": k, "v": v, "x": x}, "k", sort=True).agg(
        n="size", s=("v", "sum"), m=("x", "mean"), f=("v", "first"), l=("x", "last")
    )
    for row, key in enumerate(np.unique(k)):
        of = k == key
        due = [key, of.sum(), v[of].sum(), x[of].mean(), v[of][0], x[of][-1]]
        assert [list(made[c])[row] for c in "knsmfl"] == pytest.approx(due)


def test_partition_histogram_compact():
    a, v = some("u4"), np.arange(70, dtype="u2")
    p = lc.partition(Cupy(a), 4, by="modulo", values=Torch(v), return_index=True)
    order = np.argsort(a % 4, kind="stable")
    same(p.keys, a[order])
    same(p.values, v[order])
    same(p.index, order)
    same(p.offsets, np.searchsorted((a % 4)[order], np.arange(5)))
    same(lc.histogram(Cudf(a), 4, by="modulo"), np.bincount(a % 4, minlength=4))
    due = np.bincount(np.searchsorted([5, 20], a, "right"), minlength=3)
    same(lc.histogram(Cupy(a), splitters=[5, 20]), due)
    ids = (a % 3).astype("u4")
    same(lc.partition(Cupy(a), 3, by=Cupy(ids)).keys, a[np.argsort(ids, kind="stable")])
    with pytest.raises(lc.ArgumentError):
        lc.partition(Cupy(a), 2, by=Cupy(ids))  # the third bucket
    same(lc.compact(Cupy(a), lc.is_in(Cupy(a), [3, 5])), a[np.isin(a, [3, 5])])
    same(lc.compact(Torch(a), Cupy(np.array([True, False] * 35))), a[::2])


@pytest.mark.parametrize("type", ["i4", "u4", "i8", "u8", "i2"])
def test_ranks_and_segments(type):
    a, bounds = some(type), np.array([0, 20, 20, 70])
    ids = (np.arange(70) % 3).astype("u4")
    cell = np.repeat(np.arange(3), np.diff(bounds)) * 3 + ids
    order = np.argsort(cell, kind="stable")
    for segments in (bounds.tolist(), bounds, Cupy(bounds.astype("u8"))):
        p = lc.partition(Cupy(a), 3, by=Torch(ids), segments=segments, return_index=True, return_rank=True)
        same(p.keys, a[order])
        same(p.index, order)
        same(p.rank, np.argsort(order))
        same(p.offsets, np.searchsorted(cell[order], np.arange(10)))
    host = lc.partition(a, 3, by=ids, segments=bounds, return_rank=True)
    assert host.rank.tolist() == np.argsort(order).tolist() and isinstance(host.rank, np.ndarray)


@pytest.mark.parametrize("type", ["i4", "u4", "i8", "u8", "i2"])
@pytest.mark.parametrize("of", ["uint32", "uint64"])
def test_membership(of, type):
    """Of sets of this context, of another, and of keys in the host's memory."""
    a = some(type)
    members = np.array([1, 3, 39, np.iinfo("u4").max] + [2**64 - 1] * (of == "uint64"), "u8")
    with lc.device("cpu"):
        there = lc.Sets([[7], members], type=of)
    hit = np.array([x in set(members.tolist()) for x in a.tolist()])
    for s in (lc.Set(members, type=of), there[1]):
        for Kind in KINDS if type != "i2" else [Cupy, Torch]:
            same(s.filter(Kind(a)), a[hit])
        same(lc.compact(Cupy(a), s), a[hit])
        same(lc.histogram(Cupy(a), by=s), [70 - hit.sum(), hit.sum()])
        p = lc.partition(Cupy(a), by=s, values=Torch(np.arange(70)), return_rank=True)
        order = np.argsort(hit, kind="stable")
        same(p.keys, a[order])
        same(p.values, order)
        same(p.rank, np.argsort(order))
        got = s.filter(a)
        assert isinstance(got, np.ndarray) and got.tolist() == a[hit].tolist()
    same(there.filter(Cupy(a), 0), a[a == 7])
