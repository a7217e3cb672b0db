"""Sets and Set, against Python's own sets."""

import copy
import pickle
import subprocess
import sys
import threading

import hypothesis
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

import libcohort as lc

TYPES = ["uint32", "uint64"]
SETTINGS = hypothesis.settings(max_examples=60, deadline=None)
NUMBERS = st.one_of(st.integers(0, 40), st.integers(65_530, 65_545), st.integers(0, 2**32 - 1))
MEMBERS = st.sets(NUMBERS, max_size=30)


def shapes(dtype, seed=1):
    """Sets of every kind: none, one, a list, an array chunk, a bitmap, runs, a full chunk, many chunks."""
    rng = np.random.default_rng(seed)
    top = np.iinfo(dtype).max
    return [
        np.array([], dtype),
        np.array([0], dtype),
        np.array([top], dtype),
        rng.integers(0, 1 << 31, 12).astype(dtype),
        rng.integers(0, 65536, 3000).astype(dtype),
        rng.integers(0, 65536, 40000).astype(dtype),
        np.arange(100, 60000, dtype=dtype),
        np.arange(0, 3 * 65536, dtype=dtype),
        rng.integers(0, 1 << 24, 20000).astype(dtype),
    ]


def as_sets(arrays):
    return [set(a.tolist()) for a in arrays]


def check(sets, expected):
    assert len(sets) == len(expected)
    got = [a.tolist() for a in sets]
    assert got == [sorted(e) for e in expected]
    assert sets.sizes.tolist() == [len(e) for e in expected]
    assert sets.total == sum(map(len, expected))


@pytest.mark.parametrize("dtype", TYPES)
def test_ways_in_and_out(dtype, tmp_path):
    arrays = shapes(dtype)
    expected = as_sets(arrays)
    s = lc.Sets(arrays)
    assert s.type == dtype and all(isinstance(a, np.ndarray) and a.dtype == dtype for a in s)
    check(s, expected)
    offsets, members = s.to_rows()
    check(lc.Sets.from_rows(offsets, members), expected)
    groups, members = s.to_pairs()
    assert (np.diff(groups) >= 0).all() and groups.dtype == "int64"
    order = np.random.default_rng(2).permutation(len(groups))
    check(lc.Sets.from_pairs(groups[order], members[order], sets=len(s)), expected)
    at, firsts, lasts = s.to_ranges()
    owner = np.repeat(np.arange(len(s)), np.diff(at))
    check(lc.Sets.from_ranges(firsts, lasts, owner, sets=len(s)), expected)
    check(lc.Sets.from_roaring(s.to_roaring(), type=dtype), expected)
    s.save(tmp_path / "sets")
    check(lc.Sets.load(tmp_path / "sets"), expected)
    for validate in (True, False):
        check(lc.Sets.load(tmp_path / "sets", mmap=True, validate=validate), expected)
    again = pickle.loads(pickle.dumps(s))
    check(again, expected)
    assert again == s and copy.deepcopy(s) == s and s != lc.Sets(arrays[:-1]) and s[:8] != s[1:]
    assert isinstance(next(iter(again)), np.ndarray)
    stats = s.stats()
    assert stats["sets"] == 9 and stats["full"] == 3 and stats["bytes"] > 0


def test_small_and_empty():
    for s in (lc.Sets(), lc.Sets([]), lc.Sets.from_pairs([], []), lc.Sets.from_rows([0], [])):
        assert (len(s), s.total, list(s), s.sizes.tolist()) == (0, 0, [], [])
        assert repr(s).startswith("libcohort.Sets(0 sets, 0 members")
        assert len(s & s) == 0 and s.to_roaring() == [] and s == s
        assert s.query("and", [], want="counts").tolist() == []
        assert len(s.union()) == len(s.intersection()) == 0
    e = lc.Set()
    assert (len(e), list(e), e.next(0), 0 in e) == (0, [], None, False)
    assert repr(e) == "libcohort.Set([], type='uint64')"
    for call in (e.min, e.max):
        with pytest.raises(ValueError, match="empty"):
            call()
    assert e | e == e and e.isdisjoint(e) and e <= e and not e < e


@SETTINGS
@hypothesis.given(MEMBERS, MEMBERS, st.sampled_from(TYPES), st.sampled_from(TYPES), st.booleans())
def test_operators(x, y, a_type, b_type, viewed):
    a, b = lc.Set(x, type=a_type), lc.Set(y, type=b_type)
    if viewed:
        a = lc.Sets([[1], list(x), [2]], type=a_type)[1]
        b = lc.Sets([list(y), [2]], type=b_type)[0]
    for got, expected in ((a & b, x & y), (a | b, x | y), (a - b, x - y), (a ^ b, x ^ y)):
        assert got.tolist() == sorted(expected) and len(got) == len(expected)
        assert got.type == max(a_type, b_type)
    assert (a == b, a != b, a <= b, a < b, a >= b, a > b) == (x == y, x != y, x <= y, x < y, x >= y, x > y)
    assert a.isdisjoint(b) == x.isdisjoint(y)
    assert lc.Set.from_roaring(a.to_roaring(), type=a_type) == a
    assert pickle.loads(pickle.dumps(a)) == a
    if x:
        assert (a.min(), a.max(), a.select(-1), a.select(0)) == (min(x), max(x), max(x), min(x))
    probes = sorted(x | y | {0, 5, 2**32 - 1})
    assert a.contains(probes).tolist() == [p in x for p in probes]
    assert a.rank(probes).tolist() == [sum(m < p for m in x) for p in probes]
    assert [a.next(p) for p in probes] == [min((m for m in x if m >= p), default=None) for p in probes]


OPS = {
    "and": lambda sets, k: set.intersection(*sets) if sets else set(),
    "or": lambda sets, k: set().union(*sets),
    "andnot": lambda sets, k: sets[0].difference(*sets[1:]) if sets else set(),
    "xor": lambda sets, k: {m for m in set().union(*sets) if sum(m in s for s in sets) % 2},
    "atleast": lambda sets, k: {m for m in set().union(*sets) if sum(m in s for s in sets) >= k},
}


@SETTINGS
@hypothesis.given(
    st.lists(MEMBERS, min_size=1, max_size=6),
    st.lists(MEMBERS, max_size=4),
    st.sampled_from(sorted(OPS)),
    st.data(),
)
def test_queries(one, two, op, data):
    s, t = lc.Sets([list(x) for x in one], type="uint32"), lc.Sets([list(x) for x in two], type="uint32")
    all = one + two
    rows = data.draw(st.lists(st.lists(st.integers(0, len(all) - 1), max_size=4), max_size=5))
    least, k = data.draw(st.integers(1, 3)) if op == "atleast" else 0, data.draw(st.integers(1, 5))
    expected = [sorted(OPS[op]([all[i] for i in row], least)) for row in rows]
    want = ("any", "first", "sets", "counts")
    any, (first, at), sets, counts = s.query(op, rows, others=[t], least=least, want=want, k=k)
    assert [x.tolist() for x in sets] == expected
    assert counts.tolist() == [len(e) for e in expected]
    assert any.tolist() == [bool(e) for e in expected]
    assert [first[a:b].tolist() for a, b in zip(at.tolist(), at.tolist()[1:])] == [e[:k] for e in expected]
    flat = [i for row in rows for i in row]
    offsets = np.cumsum([0, *map(len, rows)])
    assert s.query(op, flat, offsets=offsets, others=[t], least=least) == sets


def test_query_arguments():
    s = lc.Sets([[1, 2], [2, 3], [9]])
    table = np.array([[0, 1], [1, 2], [2, 2]])
    counts = s.query("and", table, want="counts")
    assert isinstance(counts, np.ndarray) and counts.tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="op: .*nand"):
        s.query("nand", table)
    with pytest.raises(ValueError, match="want"):
        s.query("and", table, want="size")
    with pytest.raises(TypeError, match="least"):
        s.query("and", table, least=2)
    with pytest.raises(ValueError, match="least"):
        s.query("atleast", table)
    with pytest.raises(ValueError, match="3"):
        s.query("and", [[0, 3]])
    with pytest.raises(OverflowError, match=r"rows\[0\]"):
        s.query("and", [[-1]])
    with pytest.raises(ValueError, match="offsets"):
        s.query("and", [0, 1], offsets=[0, 1])
    with pytest.raises(ValueError, match="k: "):
        s.query("and", table, want="first", k=0)
    with pytest.raises(ValueError, match="1 to 8"):
        s.query("and", table, others=[s] * 8)


@pytest.mark.parametrize("dtype", TYPES)
def test_collections_set_by_set(dtype):
    a, b = shapes(dtype, 3), shapes(dtype, 4)[::-1]
    s, t = lc.Sets(a), lc.Sets(b)
    x, y = as_sets(a), as_sets(b)
    check(s & t, [p & q for p, q in zip(x, y)])
    check(s | t, [p | q for p, q in zip(x, y)])
    check(s - t, [p - q for p, q in zip(x, y)])
    check(s ^ t, [p ^ q for p, q in zip(x, y)])
    one = t[3]
    check(s & one, [p & y[3] for p in x])
    check(s - one, [p - y[3] for p in x])
    check(one - s, [y[3] - p for p in x])
    check(s[[8, 0, 8]], [x[8], x[0], x[8]])
    check(s[1:4], x[1:4])
    check(s[::-1], x[::-1])
    assert set(s.union().tolist()) == set().union(*x)
    assert s[4:6].intersection() == s[4] & s[5]
    with pytest.raises(ValueError, match="9 and of 2"):
        s & t[:2]
    with pytest.raises(TypeError):
        s & [1, 2]
    assert s[-1] == s[8]
    with pytest.raises(IndexError, match="set 9: there are 9 sets"):
        s[9]
    with pytest.raises(IndexError, match="set 1: there is 1 set$"):
        s[8:][1]


@pytest.mark.parametrize("dtype", TYPES)
def test_looks(dtype):
    arrays = shapes(dtype)
    s = lc.Sets(arrays)
    rng = np.random.default_rng(5)
    which = rng.integers(0, len(s), 3000)
    values = rng.integers(0, 200_000, 3000).astype(dtype)
    sorted_sets = [np.unique(a) for a in arrays]
    hit = s.contains(values, which)
    assert hit.dtype == bool and hit.tolist() == [v in sorted_sets[w] for v, w in zip(values, which)]
    ranks = [np.searchsorted(sorted_sets[w], v) for v, w in zip(values, which)]
    assert s.rank(values, which).tolist() == ranks
    members, found = s.select(values, which)
    for v, w, m, f in zip(values, which, members, found):
        assert f == (v < len(sorted_sets[w])) and m == (sorted_sets[w][v] if f else 0)
    members, found = s.next(values, which)
    for v, w, m, f in zip(values, which, members, found):
        i = np.searchsorted(sorted_sets[w], v)
        assert f == (i < len(sorted_sets[w])) and m == (sorted_sets[w][i] if f else 0)
    lasts = values + dtype_of(dtype, 5000)
    between = s.count(values, lasts, which)
    for a, b, w, n in zip(values, lasts, which, between):
        assert n == ((sorted_sets[w] >= a) & (sorted_sets[w] <= b)).sum()
    for ends, expected in ((s.min(), 0), (s.max(), -1)):
        assert ends[1].tolist() == [len(a) > 0 for a in sorted_sets]
        assert ends[0].tolist() == [a[expected] if len(a) else 0 for a in sorted_sets]
    assert s.min([3])[0].tolist() == [sorted_sets[3][0]]
    assert s.contains([-1 & 0xFFFF], 6).tolist() == [False] and 5.5 not in s[7] and -1 not in s[7]
    with pytest.raises(OverflowError, match="values"):
        s.contains([-1], 1)
    with pytest.raises(ValueError, match="which: has 2 entries"):
        s.contains([1], [1, 2])
    with pytest.raises(ValueError, match="out of range"):
        s.contains([1], [9])


@pytest.mark.parametrize("dtype", TYPES)
def test_containing(dtype):
    arrays = shapes(dtype) + [np.array([7, 9], dtype)] * 50
    s = lc.Sets(arrays)
    top = np.iinfo(dtype).max
    values = np.random.default_rng(6).integers(0, 200_000, 300).astype(dtype)
    values = np.concatenate([values, np.array([0, 7, 7, 9, top], dtype)])
    before = s.stats()["bytes"]
    sorted_sets = [set(a.tolist()) for a in arrays]
    due = [[i for i, a in enumerate(sorted_sets) if v in a] for v in values.tolist()]
    offsets, sets = s.containing(values)
    assert offsets.dtype == sets.dtype == np.int64 and len(offsets) == len(values) + 1
    assert [sets[a:b].tolist() for a, b in zip(offsets, offsets[1:])] == due
    assert s.containing_counts(values).tolist() == [len(d) for d in due]
    assert s.stats()["bytes"] > before
    assert [x.tolist() for x in s.containing([])] == [[0], []] and s.containing_counts([]).tolist() == []
    assert [x.tolist() for x in s[:0].containing([3])] == [[0, 0], []]
    with pytest.raises(OverflowError, match="values"):
        s.containing([-1])
    with pytest.raises(TypeError):
        s.containing_counts(["a"])


def test_containing_by_threads():
    s = lc.Sets.from_pairs(np.arange(5000) % 97, np.arange(5000) % 1009)
    values = np.arange(1009)
    answers = [None] * 4

    def ask(i):
        answers[i] = s.containing_counts(values)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(a.tolist() == answers[0].tolist() for a in answers)
    assert answers[0][5] == len(set((np.arange(5000) % 97)[np.arange(5000) % 1009 == 5]))


def dtype_of(dtype, x):
    return np.dtype(dtype).type(x)


def keys_beside(members, dtype, n, seed=2):
    """Members, their neighbours and the ends of the type, in any order."""
    rng, ends = np.random.default_rng(seed), np.iinfo(dtype)
    near = [members[:500], members[:500] + np.uint64(1), rng.integers(0, 70_000, 500).astype("u8")]
    pool = np.concatenate([np.concatenate(near).astype(dtype), np.array([ends.min, ends.max, 0], dtype)])
    return pool[rng.integers(0, len(pool), n)]


@pytest.mark.parametrize("dtype", [*"bBhHiIqQ"])
@pytest.mark.parametrize("type", TYPES)
def test_filter(type, dtype):
    """By numpy's isin on Python's integers, which know no width."""
    sets = lc.Sets(shapes(type), type=type)
    for i, members in enumerate(shapes(type)):
        a = keys_beside(members.astype("u8"), dtype, 2_000)
        is_member = set(members.tolist()).__contains__
        hit = np.array([is_member(x) for x in a.tolist()])
        got = sets.filter(a, i)
        assert got.dtype == a.dtype and got.tolist() == a[hit].tolist()
        assert sets[i].filter(a[::3]).tolist() == a[::3][hit[::3]].tolist()
        assert lc.compact(a, sets[i]).tolist() == a[hit].tolist()
        assert lc.histogram(a, by=sets[i]).tolist() == [2_000 - hit.sum(), hit.sum()]
        p = lc.partition(a, by=sets[i], values=np.arange(2_000), return_rank=True)
        order = np.argsort(hit, kind="stable")
        assert p.keys.tolist() == a[order].tolist() and p.values.tolist() == order.tolist()
        assert p.rank[order].tolist() == list(range(2_000))
        assert p.offsets.tolist() == [0, 2_000 - hit.sum(), 2_000]
        segmented = lc.partition(a, 3, by=sets[i], segments=[0, 700, 2_000])
        assert segmented.keys[:700].tolist() == a[:700][np.argsort(hit[:700], kind="stable")].tolist()


def test_what_is_filtered():
    s = lc.Set([3, 5, 2**63, 2**64 - 1])
    assert s.filter([5, -1, 3, 9, 3, -(2**63)]).tolist() == [5, 3, 3]
    assert s.filter([2**64 - 1, 5, 2**63]).tolist() == [2**64 - 1, 5, 2**63]
    assert s.filter([]).tolist() == [] and lc.Set().filter([1, -1]).tolist() == []
    assert lc.Set([1]).filter(np.array([True, False, True])).tolist() == [True, True]
    assert s.filter(pa.array([5, 6, 3], "int16")).tolist() == [5, 3]
    assert isinstance(lc.Set(np.array([5])).filter([5]), np.ndarray)
    assert isinstance(s.filter([5]), lc.Array) and isinstance(s.filter(np.array([5])), np.ndarray)
    a = lc.Sets([[1], [2], [3]])
    assert a.filter([3, 1, 2, 3], -1).tolist() == [3, 3] and a[1].filter(a[1]).tolist() == [2]
    with lc.device("cpu", threads=1):  # on the set's own context
        assert s.filter([5, 7]).tolist() == [5] and lc.histogram([5, 7], by=s).tolist() == [1, 1]
    for wrong in (1.5, -0.0):
        with pytest.raises(TypeError, match="integers"):
            s.filter([wrong])
    with pytest.raises(TypeError, match="keys: must be integers"):
        lc.partition(np.zeros(3), by=s)
    with pytest.raises(TypeError, match="exclude"):
        lc.histogram([5], 2, by=s, range=(0, 9))
    with pytest.raises(lc.ArgumentError):
        lc.partition([5], 1, by=s)
    with pytest.raises(IndexError, match="set 3"):
        a.filter([1], 3)


def test_a_set_is_an_array_too():
    s = lc.Set(np.array([9, 1, 5], "uint32"))
    assert np.asarray(s).tolist() == [1, 5, 9] and np.asarray(s).dtype == "uint32"
    assert np.asarray(s, "int64").dtype == "int64"
    assert pa.array(s).to_pylist() == [1, 5, 9]
    assert lc.is_in(np.arange(6, dtype="uint32"), s).tolist() == [False, True, False, False, False, True]
    mask = s.mask(7)
    assert mask.dtype == bool and np.flatnonzero(mask).tolist() == [1, 5]
    assert lc.Set(mask) == lc.Set([1, 5]) and s.mask(0).tolist() == []
    assert repr(lc.Set(range(100))) == "libcohort.Set([0, 1, 2, 3, 4, 5, ..., 99], type='uint64', length=100)"
    assert s.rank(5) == 1
    for i in (3, -4):
        with pytest.raises(IndexError, match="3 members"):
            s.select(i)
    with pytest.raises(TypeError):
        hash(s)
    with pytest.raises(TypeError):
        s & {1}
    with pytest.raises(TypeError):
        np.array([1]) & s


def test_wrong_input(tmp_path):
    with pytest.raises(OverflowError, match=r"arrays\[1\]"):
        lc.Sets([[1], [-1]])
    with pytest.raises(OverflowError, match="members"):
        lc.Set([1 << 32], type="uint32")
    with pytest.raises(TypeError, match="float64"):
        lc.Set([1.5])
    with pytest.raises(ValueError, match="type: .*int8"):
        lc.Set([1], type="int8")
    with pytest.raises(ValueError, match="offsets"):
        lc.Sets.from_rows([0, 5], [1, 2])
    with pytest.raises(ValueError, match="offsets"):
        lc.Sets.from_rows([], [])
    with pytest.raises(ValueError, match="groups: has 1"):
        lc.Sets.from_pairs([1], [1, 2])
    with pytest.raises(ValueError, match="7"):
        lc.Sets.from_pairs([7], [1], sets=3)
    with pytest.raises(ValueError, match="last"):
        lc.Sets.from_ranges([5], [4])
    with pytest.raises(lc.FormatError, match="blob"):
        lc.Sets.from_roaring([b"nothing of the kind"])
    blob = lc.Set(range(1000), type="uint32").to_roaring()
    with pytest.raises(lc.FormatError):
        lc.Set.from_roaring(blob[:-1])
    with pytest.raises(OSError, match="nowhere"):
        lc.Sets.load(tmp_path / "nowhere")
    path = tmp_path / "sets"
    lc.Sets([[1, 2, 3]]).save(path)
    path.write_bytes(path.read_bytes()[:-9])
    for mmap in (False, True):
        with pytest.raises(lc.FormatError):
            lc.Sets.load(path, mmap=mmap)
    with pytest.raises(ValueError, match="uint32|32 bits"):
        lc.Set([1 << 40]).to_roaring(type="uint32")


def test_contexts():
    with lc.device("cpu", threads=1):
        a = lc.Set([1, 2, 3], type="uint32")
    b = lc.Set([2, 3, 4], type="uint32")
    assert (a & b).tolist() == (b & a).tolist() == [2, 3] and a != b


def test_a_mapped_file_in_another_process(tmp_path):
    path = str(tmp_path / "shared")
    arrays = shapes("uint32")
    lc.Sets(arrays).save(path)
    s = lc.Sets.load(path, mmap=True)
    code = f"""import libcohort
s = libcohort.Sets.load({path!r}, mmap=True, validate=False)
print(s.total, len(s[4] & s[5]))"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == [str(s.total), str(len(s[4] & s[5]))]


def test_large():
    rng = np.random.default_rng(9)
    groups, members = rng.integers(0, 5000, 500_000), rng.integers(0, 1 << 20, 500_000).astype("uint32")
    s = lc.Sets.from_pairs(groups, members)
    assert s.total == len(np.unique(groups * (1 << 20) + members))
    assert s.sizes.sum() == s.total and sum(map(len, s)) == s.total
    assert s.union().members().tolist() == np.unique(members).tolist()


def test_ranks_of_arrays_of_numpy():
    s = lc.Set(np.array([10, 20, 30], "uint32"))
    got = s.rank(np.array([10, 15, 99], "uint32"))
    assert isinstance(got, np.ndarray) and got.tolist() == [0, 1, 3]
    assert s.rank(np.uint32(20)) == s.rank(np.array(20)) == 1


def test_arrays_of_several_types_in_one_collection():
    given = [np.array([3, 1], "uint8"), [2, 2**40], np.array([], "int16"), {5}, np.array([7, 7], "uint32")]
    s = lc.Sets(given)
    assert s.type == "uint64" and [m.tolist() for m in s] == [[1, 3], [2, 2**40], [], [5], [7]]
    assert lc.Sets(given[:1] + given[4:]).type == "uint32"
    assert len(lc.Sets([])) == 0 and lc.Sets([[]]).sizes.tolist() == [0]
    counts, sets = s.query("or", [[0, 1], [], [4]], want=("counts", "sets"))
    assert counts.tolist() == [4, 0, 1] and sets.sizes.tolist() == [4, 0, 1]
    rows = np.array([[0, 1], [3, 4]], "uint8")
    assert s.query("or", rows, want="any").tolist() == [True, True]
    assert s.query("or", rows[:0], want="counts").tolist() == []
