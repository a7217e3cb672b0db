"""Tables and sets of arrays that lie in a GPU's memory, the simulated one, against the same of the host's."""

import gc

import numpy as np
import others
import pytest
from on_gpu import KINDS, gpu, same, some, stream  # noqa: F401
from others import Cudf, Cupy, Memory, Torch, read
from test_threads import others_run

import libcohort as lc
from libcohort import _context, _core, _table

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


def test_a_column_goes_out_where_it_is(monkeypatch):
    """By Arrow's device interface, without a copy and without the host."""
    a = some("i8")
    given = Cupy(a)
    c = lc.Table({"a": given, "b": some("u4")})["a"]
    for call in ("to_host", "frame_export", "frame_stream"):
        monkeypatch.setattr(_table._core, call, None)
    pair = c.__arrow_c_device_array__()
    assert _core.arrow_place(pair) == (2, 0)
    out = _core.arrow_device_in(pair, "a", _context.current())
    assert out._address == given.address
    part = _core.arrow_device_in(c[3:9].__arrow_c_device_array__(), "a", _context.current())
    assert part._address == given.address + 24
    before = Memory.alive
    del c, given, pair
    gc.collect()
    assert Memory.alive == before and read(out).tolist() == a.tolist() and read(part).tolist() == a.tolist()[3:9]
    del out, part
    gc.collect()
    assert Memory.alive == before - 1


def test_a_table_goes_out_where_it_is():
    """With an event, which who takes it waits for; it is freed with the array, also after the table."""
    a, b = some("i8"), some("f4")
    given = Torch(a), Cupy(b)
    t = lc.Table({"a": given[0], "b": given[1]})
    schema, array = t.__arrow_c_device_array__()
    format, names = others.schema_of(schema)
    kind, ordinal, waits, rows, where = others.device_array_of(array)
    assert (format, names, kind, ordinal, rows) == (b"+s", [b"a", b"b"], 2, 0, 70) and waits
    assert where == [x.address for x in given]
    joined = lc.join(t, {"a": a[:5]}, "a")
    assert others.device_array_of(joined.__arrow_c_device_array__()[1])[3] == len(joined)
    before = Memory.alive
    del t, joined, given
    gc.collect()
    assert Memory.alive == before
    del schema, array
    gc.collect()
    assert Memory.alive == before - 2


def test_a_stream_is_read_without_pythons_lock():
    """That of a column on a GPU copies it when it is asked for the next array."""
    column = lc.Table({"a": Cupy(np.arange(200_000))})["a"]
    streams = [column.__arrow_c_stream__() for _ in range(100)]

    class Given:
        def __arrow_c_stream__(self, requested_schema=None):
            return streams.pop()

    assert others_run(lambda: _core.view(Given(), "a"), 100)
    assert _core.view(column, "a").tolist() == list(range(200_000))


def test_nulls_of_the_gpu_go_out():
    made = lc.Table({"a": Torch(some("i8"))}).take([3, -1])
    schema, array = made.__arrow_c_device_array__()
    assert others.device_array_of(array)[3] == 2
    with pytest.raises(ValueError, match="a: has nulls"):
        _core.arrow_device_in(made["a"].__arrow_c_device_array__(), "a", _context.current())
    assert made.to_pydict() == {"a": [some("i8").tolist()[3], None]}


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


@pytest.mark.parametrize("Kind", KINDS)
@pytest.mark.parametrize("type", ["u4", "u8"])
def test_collections(Kind, type, stream):  # noqa: F811
    a, b = some(type), some(type, seed=2)[:9]
    due = [np.unique(x).tolist() for x in (a, b)]
    assert [x.tolist() for x in lc.Sets([Kind(a, stream), Kind(b)])] == due
    for given in ([[1, 2], Kind(a), []], [Kind(a), range(1, 3), Kind(a[:0])]):  # lists go where arrays lie
        sets = lc.Sets(given, type={"u4": "uint32", "u8": "uint64"}[type])
        assert sorted(map(list, sets)) == sorted([[1, 2], due[0], []])
    with pytest.raises(lc.ArgumentError, match=r"arrays\[0\]: lies in the memory of the host, and arrays\[1\] in"):
        lc.Sets([a, Kind(b)])
    with pytest.raises(OverflowError, match=r"arrays\[1\]: "):
        lc.Sets([Kind(a), Kind(np.array([3, -1]))])


@pytest.mark.parametrize("Kind", KINDS)
@pytest.mark.parametrize("type", ["u4", "u8"])
def test_looks(Kind, type, stream):  # noqa: F811
    rng = np.random.default_rng(5)
    members = [rng.integers(0, n, n // 7, dtype=type) for n in (350, 70000, 0, 2000)]
    members.append(np.arange(65530, 70000, dtype=type))
    values, ends = rng.integers(0, 71000, 500, dtype=type), rng.integers(0, 71000, 500, dtype=type)
    which = rng.integers(0, 5, 500).astype("u8")
    with lc.device("cpu"):
        host = lc.Sets(members)
    device = lc.Sets(members)
    v, w, e = Kind(values, stream), Kind(which), Kind(ends)
    for method, ours, theirs in (
        ("contains", (v, w), (values, which)),
        ("contains", (v, 1), (values, 1)),
        ("contains", (v, which.tolist()), (values, which)),
        ("rank", (v, w), (values, which)),
        ("next", (v, w), (values, which)),
        ("select", (w, w), (which, which)),
        ("count", (v, e, w), (values, ends, which)),
        ("count", (v, ends.tolist(), 4), (values, ends, 4)),
        ("containing", (v,), (values,)),
        ("containing_counts", (v,), (values,)),
        ("min", (w,), (which,)),
        ("max", (Kind(which[:0]),), (which[:0],)),
    ):
        got, due = getattr(device, method)(*ours), getattr(host, method)(*theirs)
        for x, y in zip(got, due) if isinstance(due, tuple) else [(got, due)]:
            same(x, np.asarray(y))
    same(lc.Set(members[1]).contains(v), np.isin(values, members[1]))
    same(lc.Set(members[3]).rank(v), np.searchsorted(np.unique(members[3]), values))
    same(device[1].filter(v), values[np.isin(values, members[1])])
    with pytest.raises(lc.ArgumentError, match="set, is out of range"):
        device.contains(v, Kind(which + np.uint64(2)))
    same(device.contains(v, w), np.asarray(host.contains(values, which)))  # and goes on after it


def test_looks_of_another_place():
    a = some("u8")
    device = lc.Sets([a, a])
    with lc.device("cpu"):
        host = lc.Sets([a, a])
    for call, what in (
        (lambda: host.contains(Cupy(a)), "values: lies in .*, and what it is for lies on the CPU"),
        (lambda: device.contains(Cupy(a), np.zeros(70, "u8")), "which: lies in the memory of the host, and values in"),
        (lambda: device.count(Cupy(a), a), "lasts: lies in the memory of the host, and firsts in that of cuda:0"),
        (lambda: device.contains(a, Cupy(a)), "which: lies in the memory of cuda:0, and values in that of the host"),
    ):
        with pytest.raises(lc.ArgumentError, match=what):
            call()
    with pytest.raises(ValueError, match="which: has 3 entries, and values has 70"):
        device.rank(Cupy(a), [0, 1, 0])
    assert device.contains(a, [0] * 70).tolist() == [True] * 70


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
