"""Maps and multimaps on the simulated GPU, of arrays that lie there."""

import copy
import pickle

import numpy as np
import pytest
from on_gpu import KINDS, gpu, same, some  # noqa: F401
from others import Cudf, Cupy, Torch, read

import libcohort as lc

pytestmark = pytest.mark.usefixtures("gpu")


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
    assert dict(zip(read(m.keys()).tolist(), read(m.values()).tolist(), strict=True)) == due
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
