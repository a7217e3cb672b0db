"""Arrays in a GPU's memory, on the simulated one: in by each protocol without a copy, results there, streams,
whose the memory is, and what is refused. others.py has what stands in for torch, cupy and cudf."""

import copy
import gc
import pickle
import threading

import numpy as np
import others
import pytest

import libcohort as lc
from libcohort import _context, _core, _gpu
from others import Cudf, Cupy, Memory, Torch, read

KINDS = [Cupy, Torch, Cudf]
pytestmark = pytest.mark.usefixtures("gpu")


@pytest.fixture(params=["sim:1"])
def gpu(request):
    """Calls run on the simulated GPU, and all of its memory is given back at the end."""
    gc.collect()
    alive = Memory.alive
    with lc.device(request.param) as device:
        yield device
    gc.collect()
    assert Memory.alive == alive
    del device


@pytest.fixture
def stream():
    s = others.new_stream()
    yield s
    gc.collect()
    others.end_stream(s)


def some(type, n=70, seed=1):
    """Numbers with repetitions, and both ends of the type."""
    dice = np.random.default_rng(seed)
    if np.dtype(type).kind == "f":
        return dice.integers(-20, 20, n).astype(type) / 4
    a = dice.integers(0, 40, n).astype(type)
    a[0], a[1] = np.iinfo(type).min, np.iinfo(type).max
    return a


def same(got, due):
    """The result lies on the GPU, and holds what numpy says."""
    assert isinstance(got, lc.Array) and got.device == "cuda:0"
    due = np.asarray(due)
    assert got.type == str(due.dtype) and got.tolist() == due.tolist()
    assert read(got).tolist() == due.tolist()


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


def test_map():
    keys, values = np.arange(40, dtype="i8"), np.arange(100, 140, dtype="i8")
    m = lc.Map(Cupy(keys), Torch(values))
    asked = np.array([3, 50, 39, 3], "i8")
    for Kind in KINDS:
        same(m.get(Kind(asked), default=-1), [103, -1, 139, 103])
        same(m.contains(Kind(asked)), [True, False, True, True])
    assert m.get(asked).tolist() == [103, 0, 139, 103]  # of the host: answers there
    assert m[3] == 103 and 50 not in m and len(m) == 40
    same(m[Cupy(asked[2:])], [139, 103])
    with pytest.raises(KeyError, match="50"):
        m[Cupy(asked)]
    assert m.insert(Cupy(asked), Cupy(asked)) == 1 and m[50] == 50 and m[3] == 103
    assert m.assign(Torch(asked), [1, 2, 3, 4]) == 0 and m[3] == 4
    assert m.add(Cupy(np.array([3, 60]))) == 1 and m[3] == 5
    m[Cupy(asked)] = 9
    assert m[39] == 9
    assert m.erase(Cudf(asked)) == 3
    got_keys, got_values = m.items()
    assert got_keys.device == got_values.device == "cuda:0"
    due = {**dict(zip(keys.tolist(), values.tolist(), strict=True)), 60: 1}
    del due[3], due[39]
    assert dict(zip(read(got_keys).tolist(), read(got_values).tolist(), strict=True)) == due
    assert dict(zip(*(a.tolist() for a in m.copy().items()), strict=True)) == due
    assert dict(zip(*(a.tolist() for a in pickle.loads(pickle.dumps(m)).items()), strict=True)) == due
    small = lc.Map(Cupy(np.array([1, 2], "i4")))
    same(small.contains(Cupy(np.array([2, 3], "i4"))), [True, False])
    with lc.device("cpu"):
        host = lc.Map([60], [7])
        host.merge(m, "add")
        assert dict(zip(*(a.tolist() for a in host.items()), strict=True)) == {**due, 60: 8}
        with pytest.raises(lc.ArgumentError, match="keys: lies .*cuda:0.*what it is for lies on the CPU"):
            host.get(Torch(asked))
        same(m.contains(Torch(asked)), [False, True, False, False] if 50 in m else [False] * 4)


def test_mixed_streams_of_a_map():
    m = lc.Map(Cupy(np.array([1, 2])), Cupy(np.array([10, 20])), layout="lines")
    keys = np.array([1, 2, 3, 4])
    before, there = m.run(["find", "erase", "assign", "find"], Cupy(keys), [0, 0, 30, 0], default=-1)
    same(before, [10, 20, -1, -1])
    same(there, [True, True, False, False])
    before, there = m.run(Torch(np.zeros(4, "u1")), Torch(keys))
    same(before, [10, 0, 30, 0])
    before, there = m.run("add", Cupy(keys[:1]), Cupy(keys[:1]))
    same(before, [10])
    assert m[1] == 11
    with pytest.raises(lc.ArgumentError, match="ops: lies in the memory of the host"):
        m.run(np.zeros(4, "u1"), Cupy(keys))


@pytest.mark.parametrize("Kind", KINDS)
@pytest.mark.parametrize("types", [("i8", "i8"), ("u4", "f4"), ("i8", "i4"), ("u1", "i2"), ("f8", "u8")])
def test_multimaps(Kind, types):
    keys, values = some(types[0]), some(types[1], seed=2)
    asked = np.unique(np.concatenate([keys[:9], np.arange(100, 105).astype(types[0])]))
    due = {k: sorted(values[keys == k].tolist()) for k in asked.tolist()}
    m = lc.MultiMap(Kind(keys), Kind(values))
    assert len(m) == 70
    same(m.count(Kind(asked)), np.array([len(d) for d in due.values()]))
    same(m.contains(Kind(asked)), np.array([bool(d) for d in due.values()]))
    got = m.get(Kind(asked), default=1)
    assert got.device == "cuda:0" and got.type == str(values.dtype)
    for k, x in zip(asked.tolist(), read(got).tolist(), strict=True):
        assert x in due[k] if due[k] else x == 1
    offsets, runs = m.rows(Kind(asked))
    assert offsets.device == runs.device == "cuda:0"
    at = read(offsets).tolist()
    for i, k in enumerate(asked.tolist()):
        assert sorted(read(runs).tolist()[at[i] : at[i + 1]]) == due[k]
    index, found = m.retrieve(Kind(asked))
    same(index, np.repeat(np.arange(len(asked)), np.diff(at)))
    assert sorted(read(found).tolist()) == sorted(x for d in due.values() for x in d)
    for again in (pickle.loads(pickle.dumps(m)), m.union(lc.MultiMap(Kind(keys[:0]), Kind(values[:0])))):
        assert again.count(asked).tolist() == [len(d) for d in due.values()]
    distinct, starts, all = m.items()
    assert distinct.device == starts.device == all.device == "cuda:0"
    assert sorted(read(distinct).tolist()) == np.unique(keys).tolist()
    assert sorted(read(all).tolist()) == np.sort(values).tolist()
    assert m.count(asked.tolist()).device == "cpu" and sorted(m[asked.tolist()[0]].tolist()) == due[asked[0]]
    other = m.copy()
    other.insert(Kind(keys), Kind(values))
    other.insert(asked, np.ones(len(asked), types[1]))
    same(other.count(Kind(asked)), np.array([2 * len(d) + 1 for d in due.values()]))
    same(m.count(Kind(asked)), np.array([len(d) for d in due.values()]))
    assert sum(read(other.items()[2]).tolist()) == 2 * sum(values.tolist()) + len(asked)


def test_multimaps_of_two_memories():
    a = np.arange(6)
    with pytest.raises(lc.ArgumentError, match="values: lies in the memory of the host"):
        lc.MultiMap(Cupy(a), a)
    m = lc.MultiMap(Cupy(a), a.tolist())
    with pytest.raises(lc.ArgumentError, match="values: lies in the memory of the host"):
        m.insert(Cupy(a), a)
    m.insert(Cupy(a + 9), a.tolist())
    same(m.get(Torch(a + 9)), a)
    same(m.get(Torch(a)), a)
    same(lc.MultiMap(Torch(a[::-1].copy())).get(Cupy(a)), a[::-1])
    with lc.device("cpu"):
        same(m.count(Cupy(a)), np.ones(6, "i8"))
        with pytest.raises(lc.ArgumentError, match="keys: lies .*cuda:0.*what it is for lies on the CPU"):
            lc.MultiMap(a, a).get(Torch(a))


# ---- streams


@pytest.mark.parametrize("Kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_what_is_enqueued_on_another_stream_is_waited_for(Kind, seed, stream):
    a = some("i8", 50, seed)
    with lc.device(f"sim:{seed}"):
        same(lc.sort(Kind(a, stream)), np.sort(a))
        m = lc.Map(Kind(a, stream))
        same(m.contains(Kind(a, stream)), [True] * 50)
        held = lc.to_device(Kind(a, stream))
        assert read(held).tolist() == a.tolist()


def test_a_stream_that_nobody_names_is_not_waited_for(stream):
    """So that the test above can fail: what was there before is read."""

    class Silent(Cupy):
        changes = {"stream": None}

    a = np.arange(1, 50)
    assert any(lc.sort(Silent(a, stream)).tolist() != a.tolist() for _ in range(20))


def test_calls_on_a_stream_of_the_callers(stream):
    class Stream:
        cuda_stream = stream

    a = some("i8")
    others_streams = ({"ptr": stream}, {"__cuda_stream__": (0, stream)})
    for given in (stream, Stream(), *(type("Stream", (), about)() for about in others_streams)):
        with lc.device("sim:1", stream=given):
            tensor = Torch(a, stream)
            same(lc.sort(tensor), np.sort(a))
            assert tensor.told == stream
            same(lc.sort(Cupy(a, stream)), np.sort(a))
            same(lc.sort(Torch(a, others.LEGACY)), np.sort(a))
        gc.collect()
    for legacy in (0, 1):
        with lc.device("sim:1", stream=legacy):
            tensor = Torch(a, stream)
            same(lc.sort(tensor), np.sort(a))
            assert tensor.told == others.LEGACY


# ---- out


def test_results_go_out_by_each_protocol():
    a = lc.sort(Cupy(some("i8")))
    due = np.sort(some("i8")).tolist()
    assert a.__dlpack_device__() == (2, 0)
    for capsule in (a.__dlpack__(), a.__dlpack__(stream=1, dl_device=(2, 0)), a.__dlpack__(stream=-1)):
        out = _core.dlpack_in(capsule, "a", _context.current())
        assert out._address == a._address and out.tolist() == due
    about = a.__cuda_array_interface__
    assert about["data"] == (a._address, False) and about["typestr"] == "<i8" and about["shape"] == (70,)
    pair = a.__arrow_c_device_array__()
    assert _core.arrow_place(pair) == (2, 0)
    out = _core.arrow_device_in(pair, "a", _context.current())
    assert out._address == a._address and out.tolist() == due
    hit = lc.is_in(Cupy(some("i8")), [7])
    assert hit.__cuda_array_interface__["typestr"] == "|b1"
    out = _core.arrow_device_in(hit.__arrow_c_device_array__(), "a", _context.current())
    same(out, hit.tolist())
    del a, about
    gc.collect()
    same(lc.sort(lc.sort(Cupy(some("u4")))), np.sort(some("u4")))
    assert lc.to_host(hit).device == "cpu" and lc.to_host(hit).tolist() == hit.tolist()
    assert "device='cuda:0'" in repr(hit)
    assert pickle.loads(pickle.dumps(hit)).tolist() == copy.copy(hit).tolist() == hit.tolist()


def test_what_is_of_the_host_alone_is_refused():
    a = lc.sort(Cupy(some("i8")))
    for call in (memoryview, np.from_dlpack, lambda a: a.__arrow_c_array__()):
        with pytest.raises((BufferError, RuntimeError)):
            call(a)
    with pytest.raises(BufferError, match=r"dl_device: \(1, 0\)"):
        a.__dlpack__(dl_device=(1, 0))
    with pytest.raises(lc.UnsupportedError, match="a: lies in the memory of cuda:0"):
        lc.Table({"a": a})
    with pytest.raises(lc.UnsupportedError, match="members: lies in the memory of a GPU"):
        lc.Set(Cupy(some("u4")))
    with pytest.raises(lc.UnsupportedError, match="test_elements: lies in the memory of cuda:0"):
        lc.is_in([1, None], Torch(some("i8")))


def test_memory_goes_back_to_the_library():
    lc.sort(Cupy(some("i8")))
    gc.collect()
    before = lc.info()["memory_held"]
    a = lc.to_device(np.zeros(1 << 20))
    assert lc.info()["memory_held"] >= before + (8 << 20)
    part = a[5:7]
    del a
    gc.collect()
    assert lc.info()["memory_held"] >= before + (8 << 20) and part.tolist() == [0, 0]
    capsule = part.__dlpack__()
    del part
    gc.collect()
    assert lc.info()["memory_held"] >= before + (8 << 20)
    del capsule
    gc.collect()
    assert lc.info()["memory_held"] == before
    with lc.device("sim:1"):
        last = lc.to_device([1, 2])
    gc.collect()
    assert last.tolist() == [1, 2]  # it keeps its context


def test_arrays_of_other_threads():
    made, failed = [], []

    def make():
        with lc.device("sim:1"):
            made.append(lc.sort(Torch(some("i8"))))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    same(lc.is_in(made[0], Cupy(some("i8")[:5])), np.isin(np.sort(some("i8")), some("i8")[:5]))

    def let_go():
        try:
            assert made.pop().tolist() == np.sort(some("i8")).tolist()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=let_go)
    thread.start()
    thread.join()
    assert not failed and not made


# ---- what is refused


def changed(**changes):
    a = Cupy(some("i8"))
    a.changes = changes
    return a


def test_what_the_array_interface_refuses():
    for match, a in (
        ("a: has a mask", changed(mask=Cupy(some("u1")))),
        ("a: has 2 dimensions", changed(shape=(7, 10))),
        ("a: has 0 dimensions", changed(shape=())),
        ("a: has a stride of 16 bytes", changed(shape=(35,), strides=(16,))),
        ("a: is not aligned", Cupy(some("i8"), offset=4)),
    ):
        with pytest.raises(lc.ArgumentError, match=match):
            lc.sort(a)
    for typestr in ("<c16", ">i8", "<f2", "|O8"):
        with pytest.raises(TypeError, match="a: elements of the type"):
            lc.sort(changed(typestr=typestr))
    same(lc.sort(changed(strides=(8,))), np.sort(some("i8")))
    same(lc.sort(changed(shape=(1,), strides=(800,))), some("i8")[:1])
    readonly = _gpu.take(changed(data=(changed().address, True)), "a", True)
    assert readonly.__cuda_array_interface__["data"][1] is True
    with pytest.raises(BufferError, match="read-only"):
        readonly.__dlpack__()


def test_what_dlpack_refuses():
    a = Torch(some("i8"))
    a.step = 2
    with pytest.raises(BufferError, match="a: has a stride of 2 elements"):
        lc.sort(a)
    with pytest.raises(BufferError, match="a: is not aligned"):
        lc.sort(Torch(some("i8"), offset=4))
    a = Torch(some("i8"))
    a.ordinal = 3
    with pytest.raises(lc.ArgumentError, match="a: lies in .* cuda:3 .*, and calls here run on cuda:0"):
        lc.sort(a)
    capsule = a.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="a: lies in the memory of cuda:3, and must lie in that of cuda:0"):
        _core.dlpack_in(capsule, "a", _context.current())


def test_what_arrow_refuses():
    for match, changes in (
        ("a: has nulls", {"nulls": 2, "validity": 256}),
        ("a: has nulls, or does not say", {"nulls": -1, "validity": 256}),
    ):
        a = Cudf(some("i8"))
        a.__dict__.update(changes)
        with pytest.raises(ValueError, match=match):
            lc.sort(a)
    a = Cudf(some("i8"))
    a.format = b"u"
    with pytest.raises(TypeError, match="a: an Arrow array of the format 'u'"):
        lc.sort(a)
    a = Cudf(some("i8"))
    a.offset = 60
    same(lc.sort(a), np.sort(some("i8")[60:]))
    with pytest.raises(ValueError, match="a: is not aligned"):
        lc.sort(Cudf(some("i8"), offset=4))


def test_arrays_of_two_places():
    a, host = Cupy(some("i8")), some("i8")
    with pytest.raises(lc.ArgumentError, match="test_elements: lies .* of the host, and element .* of cuda:0"):
        lc.is_in(a, host)
    with pytest.raises(lc.ArgumentError, match="element: lies in the memory of the host, and test_elements"):
        lc.is_in(host, a)
    with pytest.raises(lc.ArgumentError, match="values: lies in the memory of the host"):
        lc.Map(a, host)
    with pytest.raises(lc.ArgumentError, match="values: lies .* of cuda:0, and keys in that of the host"):
        lc.partition(host, 3, values=a)
    with pytest.raises(lc.ArgumentError, match="mask: lies in the memory of the host"):
        lc.compact(a, host > 3)
    same(lc.is_in(a, lc.to_device(host)), [True] * 70)
    assert lc.is_in(lc.to_host(a), host).tolist() == [True] * 70


def test_a_gpus_array_and_a_cpu():
    held = lc.sort(Cupy(some("i8")))
    with lc.device("cpu"):
        for a in (*(Kind(some("i8")) for Kind in KINDS), held):
            with pytest.raises(lc.ArgumentError, match="a: lies in .*, and calls here run on the CPU"):
                lc.sort(a)
    assert held.tolist() == np.sort(some("i8")).tolist()
    managed = Torch(some("i8"))
    managed.kind = 13
    same(lc.sort(managed), np.sort(some("i8")))


def test_where_no_device_was_chosen(monkeypatch):
    """A thread of its own, with defaults, which are a CPU's here."""
    monkeypatch.setattr(_context, "_GPU", "sim:{}")
    a, answers = some("i8"), []

    def work():
        held = lc.sort(Torch(a))
        answers.append((held, lc.is_in(held, Cupy(a[:3])), lc.Map(Cudf(a)).contains(held), lc.sort(a)))
        assert lc.info()["backend"] == "cpu"

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    held, hit, there, host = answers.pop()
    same(held, np.sort(a))
    same(hit, np.isin(np.sort(a), a[:3]))
    same(there, [True] * 70)
    assert isinstance(host, np.ndarray)


def test_long_masks():
    a = np.arange((1 << 20) + 70, dtype="u4")
    hit = lc.is_in(Cupy(a), [0, 31, (1 << 20) - 1, 1 << 20, (1 << 20) + 69, 1 << 30])
    assert np.flatnonzero(read(hit)).tolist() == [0, 31, (1 << 20) - 1, 1 << 20, (1 << 20) + 69]


def test_nothing_is_left():
    """In a process of its own, since contexts of threads live on."""
    import subprocess
    import sys

    script = """
import gc, numpy as np, libcohort as lc, others
def work():
    with lc.device("sim:1"):
        a = lc.sort(others.Torch(np.arange(30)[::-1]))
        m = lc.Map(others.Cupy(np.arange(5)), others.Cudf(np.arange(5)))
        lc.unique(a, True, True, True), lc.factorize(a), m.get(a), m.items(), m.run("find", a)
        a.__dlpack__(), a.__arrow_c_device_array__(), a.__cuda_array_interface__
        try:
            lc.partition(a, 2, by=lc.to_device([9] * 30))
        except lc.Error:
            pass
work()
gc.collect()
assert others.Memory.alive == 0 and others.leaks() == 0
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=others.__file__.rsplit("/", 1)[0])
