"""Map, against a dict."""

import copy
import pathlib
import pickle
import subprocess
import sys

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

import libcohort as lc

KEYS = ["uint8", "int16", "uint32", "int32", "uint64", "int64", "float64"]
VALUES = ["uint8", "int16", "uint32", "int32", "float32", "uint64", "int64", "float64"]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", VALUES)
def test_types(key, value):
    keys = np.array([1, 2, 100, 0, 77], key)
    values = np.array([5, 6, 7, 8, 9], value)
    m = lc.Map(keys, values)
    assert len(m) == 5
    got = m.get(keys)
    assert got.dtype == values.dtype and got.tolist() == values.tolist()
    assert m[2] == 6 and 100 in m and 3 not in m
    k, v = m.items()
    assert (k.dtype, v.dtype) == (keys.dtype, values.dtype)
    assert dict(zip(k.tolist(), v.tolist())) == dict(zip(keys.tolist(), values.tolist()))
    again = pickle.loads(pickle.dumps(m))
    assert repr(again) == repr(m) and again[77] == 9 and isinstance(again.keys(), np.ndarray)
    other = copy.deepcopy(m)
    other[77] = 1
    assert (m[77], other[77]) == (9, 1)


OPS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "assign", "add", "erase", "count"]),
        st.lists(st.tuples(st.integers(-5, 5), st.integers(-(2**40), 2**40)), max_size=8),
    ),
    max_size=12,
)


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(OPS)
def test_like_a_dict(ops):
    m, d = lc.Map(key_type="int64", value_type="int64"), {}
    for op, pairs in ops:
        pairs = list(dict(pairs).items())
        keys, values = [k for k, _ in pairs], [v for _, v in pairs]
        new = sum(k not in d for k in keys)
        if op == "insert":
            assert m.insert(keys, values) == new
            d = dict(pairs) | d
        elif op == "assign":
            assert m.assign(keys, values) == new
            d |= dict(pairs)
        elif op == "add":
            assert m.add(keys, values) == new
            d |= {k: d.get(k, 0) + v for k, v in pairs}
        elif op == "count":
            assert m.add(keys) == new
            d |= {k: d.get(k, 0) + 1 for k in keys}
        else:
            assert m.erase(keys) == len(keys) - new
            d = {k: v for k, v in d.items() if k not in keys}
        assert len(m) == len(d)
    assert dict(zip(*(x.tolist() for x in m.items()))) == d
    assert m.get(list(range(-5, 6)), default=-7).tolist() == [d.get(k, -7) for k in range(-5, 6)]


def test_the_last_counts():
    m = lc.Map([1, 1, 1], [1, 2, 3])
    assert m[1] == 3
    m.assign([1] * 1000, list(range(1000)))
    assert m[1] == 999


def test_keys_alone():
    m = lc.Map(np.array([3, 3, 4]))
    assert (len(m), 3 in m, 5 in m, sorted(m)) == (2, True, False, [3, 4])
    assert m.items()[1] is None
    assert m.insert([5]) == 1
    for wrong in (
        lambda: m[3],
        lambda: m.get([3]),
        lambda: m.values(),
        lambda: m.add([3]),
        lambda: m.insert([1], [2]),
    ):
        with pytest.raises(TypeError):
            wrong()


def test_what_is_not_there():
    m = lc.Map([1], [2])
    with pytest.raises(KeyError, match="9"):
        m[9]
    with pytest.raises(KeyError, match="8"):
        m[[1, 8]]
    with pytest.raises(KeyError):
        del m[9]
    del m[1]
    assert len(m) == 0 and lc.Map(np.array([1], "int8"), [1]).get(5, 6) == 6
    assert 300 not in lc.Map(np.array([1], "int8"))
    with pytest.raises(OverflowError, match="keys"):
        lc.Map(np.array([1], "int8")).insert([300])
    with pytest.raises(TypeError):
        lc.Map([1], [1]).insert([1.5], [1])
    with pytest.raises(ValueError, match="values: has 1"):
        lc.Map([1, 2], [1])


def test_scalars_for_values():
    m = lc.Map([1], [2])
    m.assign([1, 2, 3], 9)
    m[4] = 1
    assert m.get([1, 2, 3, 4]).tolist() == [9, 9, 9, 1]


@pytest.mark.parametrize("rule", ["insert", "assign", "add"])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_merge(rule, elsewhere):
    m = lc.Map([1, 2], [10, 20])
    if elsewhere:
        with lc.device("cpu", threads=1):
            other = lc.Map([2, 3], [5, 6])
    else:
        other = lc.Map([2, 3], [5, 6])
    m.merge(other, rule)
    assert m.get([1, 2, 3]).tolist() == [10, {"insert": 20, "assign": 5, "add": 25}[rule], 6]
    with pytest.raises(ValueError, match="rule"):
        m.merge(other, "xor")
    with pytest.raises(TypeError):
        m.merge({1: 2})


def test_files(tmp_path):
    path = tmp_path / "map"
    m = lc.Map(np.array([1, 2], "uint32"), np.array([0.5, 2], "float32"))
    m.save(path)
    n = lc.Map.load(path, key_type="uint32", value_type="float32")
    assert n.get([1, 2]).tolist() == [0.5, 2]
    with pytest.raises(ValueError, match="does not hold"):
        lc.Map.load(path, key_type="int64")
    with pytest.raises(OSError, match="nowhere"):
        lc.Map.load(tmp_path / "nowhere")
    with pytest.raises(OSError):
        m.save(tmp_path / "no" / "folder")
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(lc.FormatError):
        lc.Map.load(path)


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize("layout", ["pages", "lines"])
def test_mapped_files(tmp_path, table, layout):
    path = tmp_path / "map"
    keys = np.arange(10_000, dtype="int64")
    lc.Map(keys, keys * 3, layout=layout).save(path, mmap=table)
    m = lc.Map.load(path, mmap=True)
    assert m.layout == layout and len(m) == 10_000 and (m.get(keys) == keys * 3).all() and 10_000 not in m
    for change in (lambda: m.insert([1], [2]), lambda: m.assign([1], [2]), lambda: m.erase([1]), m.clear):
        with pytest.raises(NotImplementedError, match="cohort_map_map"):
            change()
    other = m.copy()
    other.insert([-1], [7])
    assert other[-1] == 7 and len(other) == 10_001 and len(m) == 10_000
    other.save(path, mmap=True)  # a new file: what is mapped stays as it was
    assert (m.get(keys) == keys * 3).all()
    child = f"import libcohort; print(libcohort.Map.load({str(path)!r}, mmap=True)[-1])"
    assert subprocess.run([sys.executable, "-c", child], capture_output=True, text=True).stdout == "7\n"
    with pytest.raises(lc.FormatError, match="kind 5"):
        lc.Map.load(path)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(lc.FormatError):
        lc.Map.load(path, mmap=True)


def test_keys_of_16_bytes():
    """Files of the C library that have them are refused."""
    folder = pathlib.Path(__file__).resolve().parents[1] / "data" / "1-e"
    for name, mapped in (("map-lines-128-64.bin", False), ("table-lines-128-64.bin", True)):
        with pytest.raises(ValueError, match="16 bytes"):
            lc.Map.load(folder / name, mmap=mapped)


def test_large():
    rng = np.random.default_rng(3)
    keys = rng.permutation(300_000)
    m = lc.Map(keys, keys * 3)
    assert (m[keys] == keys * 3).all()
    assert m.erase(keys[:100_000]) == 100_000
    assert (m.contains(keys) == (np.arange(300_000) >= 100_000)).all()


# ---- layout="lines" and mixed streams


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from(sorted(lc.Map.OPS)), st.integers(0, 30), st.integers(0, 2**40)),
            max_size=12,
            unique_by=lambda e: e[1],
        ),
        max_size=8,
    ),
    st.sampled_from(["pages", "lines"]),
    st.sampled_from(["uint64", "uint32"]),
)
def test_run_is_one_operation_a_key_after_another(batches, layout, key):
    m, d = lc.Map(key_type=key, value_type="uint64", layout=layout), {}
    rules = {
        "assign": lambda old, v: v, "exchange": lambda old, v: v, "insert": lambda old, v: v if old is None
        else old, "add": lambda old, v: v + (old or 0), "count": lambda old, v: 1 + (old or 0), "min": lambda
        old, v: v if old is None else min(old, v), "max": lambda old, v: max(old or 0, v), "or": lambda old,
        v: v | (old or 0), "and": lambda old, v: v if old is None else old & v,
    }  # fmt: skip
    for batch in batches:
        ops, keys, values = [list(x) for x in zip(*batch)] or [[], [], []] if batch else ([], [], [])
        before, there = m.run(ops, np.array(keys, key), values, default=7)
        assert there.tolist() == [k in d for k in keys]
        assert before.tolist() == [d.get(k, 7) for k in keys]
        for op, k, v in batch:
            if op == "erase":
                d.pop(k, None)
            elif op != "find":
                d[k] = rules[op](d.get(k), v)
    assert dict(zip(*(x.tolist() for x in m.items()))) == d


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", [None, "uint8", "int64", "float64"])
def test_lines(key, value, tmp_path):
    keys = np.arange(100).astype(key)
    values = None if value is None else keys.astype(value)
    m = lc.Map(keys, values, layout="lines")
    for again in (m, m.copy(), pickle.loads(pickle.dumps(m))):
        assert len(again) == 100 and again.layout == "lines" and "layout='lines'" in repr(again)
        assert again.contains(keys).all() and again.erase(keys[:50]) == 50 and len(again) == 50
        assert again.insert(keys, values) == 50
    m.save(tmp_path / "m")
    stored = {"uint8": "int32", "int16": "int32"}
    wide = {k: (stored.get(t, t) if t else None) for k, t in (("key", key), ("value", value))}
    if value is None and key not in ("uint64", "int64", "float64"):
        wide["key"] = "int64"  # lines have no maps of keys of 32 bits only
    if value == "int64" and wide["key"] in ("int32", "uint32"):
        wide["key"] = "int64"
    loaded = lc.Map.load(tmp_path / "m", key_type=wide["key"], value_type=wide["value"])
    assert loaded.layout == "lines" and len(loaded) == 100


def test_keys_that_come_and_go_do_not_grow_a_map_of_lines():
    m = lc.Map(key_type="int64", capacity=2000, layout="lines")
    for i in range(200):
        at = np.arange(1000) + 1000 * i
        m.insert(at, at)
        assert m.erase(at) == 1000
    assert len(m) == 0


def test_run_that_is_wrong():
    m, keys_only = lc.Map([1], [2]), lc.Map([1])
    before, there = keys_only.run(["find", "erase", "insert"], [1, 2, 3])
    assert before is None and there.tolist() == [True, False, False] and len(keys_only) == 2
    assert m.run("count", [1, 1, 9])[1].tolist().count(True) == 2 and m[1] == 4
    assert m.run(np.array([3], "uint8"), np.array([1]))[0].tolist() == [4]
    for wrong, error in (
        (lambda: m.run("jump", [1]), ValueError),
        (lambda: m.run(["find"], [1, 2]), ValueError),
        (lambda: m.run([99], [1]), ValueError),
        (lambda: m.run("max", [1], [1]), TypeError),
        (lambda: lc.Map([1], [1.5]).run("add", [1], [1]), TypeError),
        (lambda: keys_only.run("count", [1]), TypeError),
        (lambda: keys_only.run("insert", [1], [1]), TypeError),
        (lambda: m.run("assign", [1, 2], [1]), ValueError),
        (lambda: lc.Map(layout="heap"), ValueError),
    ):
        with pytest.raises(error):
            wrong()


def test_booleans():
    """As keys and as values: the value of keys that are not there is False if none is given."""
    flags = np.array([True, False])
    m = lc.Map([1, 2], flags)
    assert m[1] is True and m[[2, 1]].tolist() == [False, True] and m.get([1, 3]).tolist() == [True, False]
    assert m.get([2, 3], default=True).tolist() == [False, True] and m.insert([3], [True]) == 1 and m[3] is True
    assert m.run(["find", "assign"], [1, 9], [False, True])[0].tolist() == [True, False] and m[9] is True
    with pytest.raises(TypeError, match="default: int64 cannot be taken for bool"):
        m.get([1], default=2)
    of_flags = lc.Map(flags, [5, 6])
    assert of_flags[True] == 5 and False in of_flags and of_flags.get([False]).tolist() == [6]


@pytest.mark.parametrize("layout", ["pages", "lines"])
def test_keys_and_values_fit_together(layout):
    """Also where several threads take them out of the table."""
    with lc.device("cpu", threads=4):
        keys = np.random.default_rng(1).permutation(300_000).astype("int32")
        m = lc.Map(keys, keys * 3.0, layout=layout)
        for _ in range(10):
            assert np.array_equal(m.keys() * 3.0, m.values()) and (np.array(list(m)) * 3.0 == m.values()).all()
        assert m.keys().dtype == "int32" and len(m.keys()) == 300_000


@pytest.mark.parametrize("type", ["int8", "uint32", "int64", "float32", "float64", "bool"])
def test_numbers_of_numpy_are_keys_and_values(type):
    keys = np.array([0, 1], type)
    m, many = lc.Map(keys, keys), lc.MultiMap(keys, keys)
    assert dict(m) == {0: 0, 1: 1} and all(k in m and k in many for k in keys)
    assert m.get(keys[1]) == 1 and many.count(keys[1]) == 1 and many[keys[1]].tolist() == [1]
    assert m.assign(keys, keys[1]) == 0 and m[keys[0]] == 1


@pytest.mark.parametrize("value", ["float64", "int8"])
def test_merging_adds_integers_of_32_bits_and_more_alone(value):
    one, other = (lc.Map(np.array([1]), np.array([3], value)) for _ in range(2))
    with pytest.raises(TypeError, match="add: values must be integers of 32 or 64 bits"):
        one.merge(other, "add")
    assert one[1] == 3


def test_the_key_that_is_missing_is_named():
    with pytest.raises(KeyError) as error:
        lc.Map([1], [5])[[1, 2, 3]]
    assert error.value.args == (2,)


@pytest.mark.parametrize("kind", [lc.Map, lc.MultiMap])
def test_each_call_has_its_own_default(kind):
    m = kind([1], [2.5])
    for default in (0.0, -0.0, 7.0, -0.0, 0.0):
        got = np.asarray(m.get([9], default=default))
        assert got[0] == default and np.signbit(got[0]) == np.signbit(default)


def test_a_copy_answers_as_the_map():
    m = lc.Map(np.array([1, 2]), np.array([3, 4])).copy()
    assert all(type(a) is np.ndarray for a in (*m.items(), m.keys(), m.values()))
    assert type(lc.MultiMap(np.array([1]), np.array([3])).copy().keys()) is np.ndarray


def test_keys_of_lines_that_are_floats():
    keys = np.array([1.5, -0.0, np.nan], "float32")
    m = lc.Map(keys, layout="lines")
    assert len(m) == 3 and m.contains(np.array([0.0, np.nan, 2.5], "float32")).tolist() == [True, True, False]
    assert m.keys().dtype == "float32"
