"""Tables and sets of arrays that lie in a GPU's memory, the simulated one, against the same of the host's."""

import gc

import numpy as np
import pytest
from on_gpu import KINDS, gpu, some, stream  # noqa: F401
from others import Cudf, Cupy, Memory, Torch

import libcohort as lc
from libcohort import _table

pytestmark = pytest.mark.usefixtures("gpu")
TYPES = ["i4", "u4", "i8", "u8", "f4", "f8", "u1"]


@pytest.mark.parametrize("Kind", KINDS)
def test_columns_of_a_table(Kind, stream):  # noqa: F811
    due = {type: some(type) for type in TYPES if Kind is not Cudf or type != "u1"}
    t = lc.Table({type: Kind(a, stream) for type, a in due.items()})
    assert t.types == {type: str(a.dtype) for type, a in due.items()}
    assert t.to_pydict() == {type: a.tolist() for type, a in due.items()}
    assert lc.Column(Kind(due["i8"])).tolist() == due["i8"].tolist()
    mixed = lc.Table({"a": Kind(due["i4"]), "b": due["i8"], "c": [None, *range(1, 70)]})
    assert mixed.take([3, -1])["c"].tolist() == [3, None] and mixed["b"].tolist() == due["i8"].tolist()
    with pytest.raises(lc.UnsupportedError, match="type 'U' on a GPU"):  # and what was taken in is let go
        lc.Table({"a": Kind(due["i4"]), "c": ["x"] * 70})


def test_booleans():
    a = some("i4")
    hit = lc.is_in(Cupy(a), Torch(a[:9]))
    assert hit.device == "cuda:0"
    assert lc.Table({"hit": hit})["hit"].tolist() == np.isin(a, a[:9]).tolist()


def test_a_table_uses_the_memory_where_it_is(monkeypatch):
    """What the array lies in lives as long as the table, and no copy of it goes through the host."""
    monkeypatch.setattr(_table._core, "to_host", None)
    before = Memory.alive
    a = Cupy(some("i8"))
    t = lc.Table({"a": a, "b": a})
    del a
    gc.collect()
    assert Memory.alive == before + 1
    part = t.select(["b"])
    del t
    gc.collect()
    assert Memory.alive == before + 1 and part["b"].tolist() == some("i8").tolist()
    del part
    gc.collect()
    assert Memory.alive == before


@pytest.mark.parametrize("Kind", KINDS)
@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_joins(Kind, how):
    k, v, j, w = some("i8") % 9, some("i4"), np.arange(3, 12), some("f8", 9)
    got = lc.join({"k": Kind(k), "v": Kind(v)}, {"k": Kind(j), "w": Kind(w)}, "k", how=how)
    with lc.device("cpu"):
        due = lc.join({"k": k, "v": v}, {"k": j, "w": w}, "k", how=how).to_pydict()
    assert got.to_pydict() == due
    if how == "inner":
        assert lc.join_size({"k": Kind(k)}, {"k": Kind(j)}, "k") == len(due["k"])


@pytest.mark.parametrize("type", ["i4", "u8", "f8"])
def test_groups(type):
    k, v = some(type) // 4, some("i4", seed=3)
    got = lc.group_by({"k": Torch(k) if type[0] != "u" else Cupy(k), "v": Cupy(v)}, "k", sort=True)
    got = got.agg(total=("v", "sum"), most=("v", "max"), rows="size").to_pydict()
    keys = np.unique(k)
    assert got["k"] == keys.tolist() and got["rows"] == [int((k == x).sum()) for x in keys]
    assert got["total"] == [int(v[k == x].sum(dtype="i8")) for x in keys]
    assert got["most"] == [int(v[k == x].max()) for x in keys]


def test_lookups_beside_nulls():
    a = some("i8")
    assert lc.is_in([5, None, 99], Torch(a)).tolist() == [5 in a, False, False]
    assert lc.index_in([int(a[7]), None], Cupy(a)).tolist() == [a.tolist().index(a[7]), -1]


@pytest.mark.parametrize("Kind", KINDS)
@pytest.mark.parametrize("type", ["u4", "u8"])
def test_sets(Kind, type, stream):  # noqa: F811
    a = some(type)
    s = lc.Set(Kind(a, stream))
    assert s.tolist() == np.unique(a).tolist() and s.type == {"u4": "uint32", "u8": "uint64"}[type]
    groups, offsets = np.arange(70, dtype=type) % 3, np.array([0, 20, 20, 70], "u8")
    pairs = lc.Sets.from_pairs(Kind(groups), Kind(a))
    assert [x.tolist() for x in pairs] == [np.unique(a[groups == g]).tolist() for g in range(3)]
    rows = lc.Sets.from_rows(Kind(offsets), Kind(a))
    assert [x.tolist() for x in rows] == [np.unique(a[:20]).tolist(), [], np.unique(a[20:]).tolist()]
    assert lc.Sets.from_rows([0, 70], Kind(a))[0].tolist() == np.unique(a).tolist()
    firsts = np.array([5, 50], type)
    ranges = lc.Sets.from_ranges(Kind(firsts), Kind(firsts + np.array(4, type)), Kind(np.array([1, 0], "u8")))
    assert [x.tolist() for x in ranges] == [list(range(50, 55)), list(range(5, 10))]


def test_signed_members_and_a_mask():
    a = np.abs(some("i8", seed=2) % 50)
    assert lc.Set(Cupy(a)).tolist() == np.unique(a).tolist()
    with pytest.raises(OverflowError, match="members: "):
        lc.Set(Cupy(np.array([3, -1])))
    hit = lc.is_in(Cupy(a), Cupy(a[:5]))
    assert lc.Set(hit).tolist() == np.flatnonzero(np.isin(a, a[:5])).tolist()


def test_what_is_of_another_place():
    a = some("u8")
    for call in (lambda: lc.Sets.from_rows(np.array([0, 70]), Cupy(a)), lambda: lc.Sets.from_pairs(a, Cupy(a))):
        with pytest.raises(lc.ArgumentError, match="lies in the memory of the host, and members in that of cuda:0"):
            call()
    with pytest.raises(lc.ArgumentError, match="lasts: lies in the memory of the host"):
        lc.Sets.from_ranges(Torch(a.view("i8")), a)
    with lc.device("cpu"):
        for call in (lambda: lc.Table({"k": Torch(a.view("i8"))}), lambda: lc.Column(Cupy(a)), lambda: lc.Set(Cupy(a))):
            with pytest.raises(lc.ArgumentError, match="lies in the memory of .* on the CPU; bring it there first"):
                call()
