"""MultiMap, against a dict of lists."""

import collections
import copy
import pickle
import subprocess
import sys
import threading

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import libcohort as lc

KEYS = ["uint8", "int16", "uint32", "int32", "uint64", "int64", "float64"]
VALUES = ["uint8", "int16", "uint32", "int32", "float32", "uint64", "int64", "float64"]


def as_dict(keys, values):
    d = collections.defaultdict(list)
    for k, v in zip(keys, values):
        d[k].append(v)
    return d


def check(m, d):
    assert len(m) == sum(map(len, d.values())) and set(m) == set(d)
    for k in d:
        assert sorted(m[k].tolist()) == sorted(d[k]) and m.get(k) in d[k]
    keys, offsets, values = m.items()
    at = offsets.tolist()
    got = {k: sorted(values[a:b].tolist()) for k, a, b in zip(keys.tolist(), at, at[1:])}
    assert got == {k: sorted(v) for k, v in d.items()}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", VALUES)
def test_types(key, value, tmp_path):
    keys = np.array([1, 2, 1, 0, 77, 1], key)
    values = np.array([5, 6, 7, 8, 9, 7], value)
    m = lc.MultiMap(keys, values)
    d = as_dict(keys.tolist(), values.tolist())
    check(m, d)
    assert m[1].dtype == values.dtype and m.keys().dtype == keys.dtype
    again = pickle.loads(pickle.dumps(m))
    check(again, d)
    assert repr(again) == repr(m) and isinstance(again.keys(), np.ndarray)
    m.save(tmp_path / "m")
    check(lc.MultiMap.load(tmp_path / "m", key_type=key, value_type=value), d)
    both = m.union(lc.MultiMap(keys[:2], values[:2]))
    more = as_dict(keys.tolist() + [1, 2], values.tolist() + [5, 6])
    check(both, more)
    for other in (m.copy(), copy.copy(m), copy.deepcopy(m), again):
        other.insert(keys[:2], values[:2])
        check(other, more)
        assert repr(other) == repr(both) and other[1].dtype == values.dtype
        check(pickle.loads(pickle.dumps(other)), more)
    check(m, d)


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(-(2**40), 2**40)), max_size=40),
    st.lists(st.integers(-7, 7), max_size=20),
)
def test_like_a_dict(pairs, queries):
    keys, values = [k for k, _ in pairs], [v for _, v in pairs]
    m, d = lc.MultiMap(keys, values), as_dict(keys, values)
    check(m, d)
    assert m.count(queries).tolist() == [len(d.get(q, [])) for q in queries]
    assert m.contains(queries).tolist() == [q in d for q in queries]
    index, got = m.retrieve(queries)
    expected = [(i, v) for i, q in enumerate(queries) for v in sorted(d.get(q, []))]
    assert sorted(zip(index.tolist(), got.tolist())) == expected and index.tolist() == sorted(index.tolist())
    offsets, got = m.rows(queries)
    at = offsets.tolist()
    assert [sorted(got[a:b].tolist()) for a, b in zip(at, at[1:])] == [sorted(d.get(q, [])) for q in queries]


BATCHES = st.lists(
    st.tuples(
        st.booleans(),
        st.lists(st.tuples(st.integers(-5, 5), st.integers(-(2**40), 2**40)), max_size=12),
    ),
    max_size=8,
)


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(BATCHES)
def test_inserts_like_a_dict(batches):
    """Of single keys, of many, of none; looked at in between, or not; and copies stay as they were."""
    d = as_dict([], [])
    m = lc.MultiMap(np.array([], "int64"), np.array([], "int64"))
    for look, pairs in batches:
        before, many = m.copy(), len(m)
        keys, values = [k for k, _ in pairs], [v for _, v in pairs]
        assert m.insert(keys, values) is None
        for k, v in pairs:
            d[k].append(v)
        assert len(m) == sum(map(len, d.values())) and len(before) == many
        if look:
            check(m, d)
            queries = list(range(-6, 7))
            assert m.count(queries).tolist() == [len(d.get(q, [])) for q in queries]
            index, got = m.retrieve(queries)
            due = [(i, v) for i, q in enumerate(queries) for v in sorted(d.get(q, []))]
            assert sorted(zip(index.tolist(), got.tolist())) == due
    check(m, d)


def test_what_is_not_inserted(tmp_path):
    m = lc.MultiMap(np.array([1, 1], "int8"), np.array([5, 6], "float32"))
    for wrong, error, match in (
        (lambda: m.insert([300], [1]), OverflowError, "keys"),
        (lambda: m.insert([1.5], [1]), TypeError, "keys"),
        (lambda: m.insert([1, 2], [1]), ValueError, "values: has 1 entry, and must have 2"),
        (lambda: m.insert([1], ["a"]), TypeError, "values"),
        (lambda: m.insert([[1]], [1]), TypeError, "keys"),
        (lambda: lc.MultiMap([1], [2]).insert([1], [2.5]), TypeError, "values"),
    ):
        with pytest.raises(error, match=match):
            wrong()
    check(m, {1: [5, 6]})
    m.save(tmp_path / "m", mmap=True)
    mapped = lc.MultiMap.load(tmp_path / "m", key_type="int32", value_type="float32", mmap=True)
    with pytest.raises(NotImplementedError, match="cohort_multimap_map"):
        mapped.insert([1], [7])
    other = mapped.copy()
    other.insert([1, 3], [7, 8])
    check(other, {1: [5, 6, 7], 3: [8]})
    check(mapped, {1: [5, 6]})


def test_inserts_beside_reads():
    """A call sees all of a batch or nothing of it: each batch has one value of each of 5 keys. Several threads
    insert, so that some do between the two steps of a reading call, which sizes its answer first."""
    keys, most = np.arange(5), 8000
    m, left = lc.MultiMap(keys, np.zeros(5, "int64")), [1] * 3

    def write(number):
        for i in range(most):
            m.insert(keys, np.full(5, i))
        left[number] = 0

    def even(counts, values):
        assert counts.min() == counts.max() and len(values) == 5 * counts[0]

    writers = [threading.Thread(target=write, args=(i,)) for i in range(3)]
    for writer in writers:
        writer.start()
    while any(left):
        index, values = m.retrieve(keys)
        even(np.bincount(index, minlength=5), values)
        offsets, values = m.rows(keys)
        even(np.diff(offsets), values)
        k, offsets, values = m.items()
        even(np.diff(offsets), values)
        assert len(k) == 5
    for writer in writers:
        writer.join()
    assert (m.count(keys) == 3 * most + 1).all()


def test_without_values():
    m = lc.MultiMap(np.array([4, 9, 4]))
    assert sorted(m[4].tolist()) == [0, 2] and m.count(9) == 1 and m.count(5) == 0


def test_what_is_not_there(tmp_path):
    m = lc.MultiMap(np.array([1], "int8"), [2])
    with pytest.raises(KeyError, match="9"):
        m[9]
    with pytest.raises(KeyError, match="900"):
        m[900]
    with pytest.raises(TypeError, match="rows"):
        m[[1]]
    assert m.get([7], default=-3).tolist() == [-3] and 900 not in m and 1 in m
    with pytest.raises(ValueError, match="values: has 1"):
        lc.MultiMap([1, 2], [1])
    with pytest.raises(TypeError, match="float64"):
        lc.MultiMap(np.array([1], "float32"), [1])
    with pytest.raises(TypeError, match="same types"):
        m.union(lc.MultiMap([1], [2]))
    with pytest.raises(OSError, match="nowhere"):
        lc.MultiMap.load(tmp_path / "nowhere")
    m.save(tmp_path / "m")
    with pytest.raises(ValueError, match="does not hold"):
        lc.MultiMap.load(tmp_path / "m", key_type="int32", value_type="int32")
    empty = lc.MultiMap([], [])
    assert (len(empty), list(empty), empty.retrieve([1])[1].tolist()) == (0, [], [])
    assert empty.count([]).tolist() == [] and empty.count([4]).tolist() == [0]


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("each", [1, 3])
def test_mapped_files(tmp_path, table, each):
    path = tmp_path / "m"
    keys = np.arange(10_000, dtype="int64") // each
    lc.MultiMap(keys, keys * 3).save(path, mmap=table)
    m = lc.MultiMap.load(path, mmap=True)
    assert len(m) == 10_000 and (m.count(keys[:9000]) == each).all() and -1 not in m
    index, values = m.retrieve(np.array([5, 12_345, 7]))
    assert index.tolist() == [0] * each + [2] * each and values.tolist() == [15] * each + [21] * each
    both = m.union(lc.MultiMap([5], [8]))
    both.save(path, mmap=True)  # a new file: what is mapped stays as it was
    assert sorted(both[5].tolist()) == [8] + [15] * each and m[5].tolist() == [15] * each
    child = f"import libcohort; print(len(libcohort.MultiMap.load({str(path)!r}, mmap=True)[5]))"
    out = subprocess.run([sys.executable, "-c", child], capture_output=True, text=True).stdout
    assert out == f"{each + 1}\n"
    with pytest.raises(lc.FormatError, match="kind 6"):
        lc.MultiMap.load(path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(lc.FormatError):
        lc.MultiMap.load(path, mmap=True)


def test_other_contexts():
    with lc.device("cpu", threads=1):
        m = lc.MultiMap([1, 2], [3, 4])
    assert sorted(lc.MultiMap([1], [5]).union(m)[1].tolist()) == [3, 5]


def test_large():
    rng = np.random.default_rng(3)
    keys, values = rng.integers(0, 20_000, 300_000), rng.integers(0, 1 << 60, 300_000)
    m = lc.MultiMap(keys, values)
    queries = rng.integers(0, 25_000, 5000)
    index, got = m.retrieve(queries)
    many = np.bincount(keys, minlength=25_000)
    assert (m.count(queries) == many[queries]).all() and len(got) == many[queries].sum()
    sums = np.bincount(keys, weights=values % 1000, minlength=25_000)
    assert (np.bincount(index, weights=got % 1000, minlength=5000) == sums[queries]).all()


def test_defaults_from_call_to_call():
    m = lc.MultiMap([1, 2], [5, 6])
    absent = [m.get([9], default)[0] for default in (0, 7, 7, -1, True, 0, np.int64(3), np.int64(4))]
    assert absent == [0, 7, 7, -1, 1, 0, 3, 4]
    assert m.contains([9, 1]).tolist() == [False, True] and m.get([9])[0] == 0
    with pytest.raises(TypeError, match="default"):
        m.get([9], "x")
    f = lc.MultiMap([1], [0.5])
    assert [f.get([9], default)[0] for default in (0, 0.25, 1)] == [0, 0.25, 1]


def test_booleans():
    """As keys and as values: the value of keys that are not there is False if none is given."""
    flags = np.array([True, True])
    m = lc.MultiMap([1, 1], flags)
    assert 1 in m and m.contains([1, 2]).tolist() == [True, False] and m.get([1, 2]).tolist() == [True, False]
    assert m.get([2], default=True).tolist() == [True] and m[1].tolist() == [True, True]
    m.insert([1], [False])
    assert sorted(m[1].tolist()) == [False, True, True]
    of_flags = lc.MultiMap(flags, [5, 6])
    assert sorted(of_flags[True].tolist()) == [5, 6] and False not in of_flags
