"""How arguments become arrays and answers the caller's kind of array, against Python's array module and
numpy; answers that are larger than the room that few keys have at first; small inserts into multimaps."""

import array
import concurrent.futures
import pickle

import numpy
import pytest

import libcohort as lc
from libcohort import _core

TYPES = "uint8 uint16 uint32 uint64 int8 int16 int32 int64 float32 float64 bool".split()
CODES = {name: code for code, name in enumerate(TYPES, 1)}
F32, F64, I64 = CODES["float32"], CODES["float64"], CODES["int64"]


class Whole(int):
    pass


LISTS = [
    [],
    [1, -2, 3],
    [2**63 - 1, -(2**63)],
    [True, 5, False],
    [Whole(4), 5],
    [numpy.int64(7), 8],
    [1, 2**63],
    [2**64 - 1],
    [1, 2.5],
    [0.5],
    [numpy.float64(1.5), 2],
    list(range(5000)),
]


def by_array(values):
    """What the array module makes of a list."""
    for code, name in (("q", "int64"), ("Q", "uint64")):
        try:
            return array.array(code, values).tolist(), name
        except OverflowError:
            continue
        except TypeError:
            break
    return array.array("d", values).tolist(), "float64"


@pytest.mark.parametrize("values", LISTS, ids=repr)
def test_lists(values):
    due, name = by_array(values)
    for given in (values, tuple(values)):
        for take in (_core.take_in, _core.take_integers):
            taken, made_by = take(given, "x")
            assert (taken.tolist(), taken.type, made_by) == (due, name, None)
    for code in (F32, F64):
        taken, _ = _core.take_in_as(values, code, "x")
        floats = numpy.array(values, "float64").astype("float32" if code == F32 else "float64")
        assert taken.tolist() == floats.tolist() and taken.type == floats.dtype.name


@pytest.mark.parametrize("values", [[None], [1, "a"], [[1]], [1, None], [object()]], ids=repr)
def test_lists_of_other_things(values):
    for take in (lambda: _core.take_in(values, "x"), lambda: _core.take_in_as(values, F64, "x")):
        with pytest.raises(TypeError, match="x: a list of numbers is due"):
            take()


def test_numbers_beyond():
    for values in ([2**64], [-1, 2**63], [-(2**63) - 1]):
        with pytest.raises(OverflowError, match="x: a number does not fit in 64 bits"):
            _core.take_in(values, "x")


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("n", [0, 1, 10, 1000])
def test_arrays_in_and_out(name, n):
    a = (numpy.arange(n) % 2).astype(name)
    for given in (a, a[::2], a[::-1], a.view(type("Mine", (numpy.ndarray,), {}))):
        taken, made_by = _core.take_in(given, "x")
        assert made_by is numpy and taken.type == name and taken.tolist() == given.tolist()
        out = _core.give_out(taken, numpy)
        assert type(out) is numpy.ndarray and out.dtype == a.dtype and out.tolist() == given.tolist()
    assert _core.give_out(taken, None) is taken
    assert _core.take_in(taken, "x") == (taken, None)


def test_memory_is_shared():
    a = numpy.arange(10)
    out = _core.give_out(_core.take_in(a, "x")[0], numpy)
    out[3] = 77
    assert a[3] == 77
    a.flags.writeable = False
    assert not _core.give_out(_core.take_in(a, "x")[0], numpy).flags.writeable
    out = _core.give_out(lc.sort([3, 1]), numpy)  # nobody else has the array
    assert out.tolist() == [1, 3]


@pytest.mark.parametrize(
    "values, error",
    [
        (numpy.zeros((2, 2)), ValueError),
        (numpy.array(5), ValueError),
        (numpy.array([1], ">i8"), TypeError),
        (numpy.array(["a"]), (TypeError, ValueError)),
        (numpy.array([None]), (TypeError, ValueError)),
        (numpy.array([1j]), TypeError),
    ],
    ids=repr,
)
def test_arrays_that_are_refused(values, error):
    with pytest.raises(error, match="x"):
        _core.take_in(values, "x")
    assert _core.array_if_plain(values, "x") is None


def test_dates_are_integers():
    a = numpy.array(["2020-01-01", "1970-01-02"], "datetime64[D]")
    assert _core.take_in(a, "x")[0].tolist() == [18262, 1]
    assert _core.array_if_plain(a, "x") is None


@pytest.mark.parametrize("name", TYPES)
def test_keys_and_values(name):
    a = numpy.array([1, 0, 1], name)
    wide = "float64" if name.startswith("float") else "int64" if name[0] == "i" else "uint64"
    for take in (lambda *x: _core.take_keys(*x)[0], _core.take_values):
        taken = take(a, CODES[name], CODES[wide] if name != "float32" else F32, "x", False)
        assert taken.tolist() == a.tolist()
    stored = _core.stored(_core.take_in(a, "x")[0], "x")
    assert _core.narrowed(stored, CODES[name]).tolist() == a.tolist()
    assert _core.narrowed(stored, CODES[name]).type == name


def test_keys_are_comparable_and_values_as_they_are():
    a = numpy.array([-0.0, numpy.nan, -numpy.nan])
    keys = numpy.asarray(_core.take_keys(a, F64, F64, "x", False)[0]).view("uint64")
    values = numpy.asarray(_core.take_values(a, F64, F64, "x", False)).view("uint64")
    assert keys[0] == 0 and keys[1] == keys[2] == 0x7FF8000000000000
    assert values.tolist() == a.view("uint64").tolist()


def test_one_or_many():
    ones = [5, -1, True, 2.5, Whole(3), numpy.int64(3), numpy.float64(2), numpy.float32(1), numpy.bool_(1)]
    many = [[1], (1,), "a", b"a", numpy.zeros(2), numpy.array(3), lc.sort([1]), {1}, None]
    assert all(_core.is_one(x) for x in ones) and not any(_core.is_one(x) for x in many)


def test_many_at_once():
    parts, made_by, wide, on_gpu = _core.take_each(
        [[1], numpy.array([2, 3], "uint32"), {4}, iter([5, 6]), lc.sort([7])], "x", False
    )
    assert [p.tolist() for p in parts] == [[1], [2, 3], [4], [5, 6], [7]]
    assert (made_by, wide, on_gpu) == (numpy, True, -1)
    narrow = numpy.array([2], "uint32"), numpy.array([1], "int8")
    assert _core.take_each(narrow, "x", False)[1:3] == (numpy, False)
    assert _core.take_each([], "x", False) == ([], None, False, -1)
    for bad in ([[1], ["a"]], [[1], numpy.zeros((1, 1))], [[1], None]):
        with pytest.raises((TypeError, ValueError), match=r"x\[1\]"):
            _core.take_each(bad, "x", False)


# ---- answers of more than the first room


@pytest.mark.parametrize("keys, each", [(1, 3), (10, 200), (10, 10), (1000, 5), (1025, 1), (3000, 7)])
def test_rows_of_many_values(keys, each):
    all_keys = numpy.repeat(numpy.arange(keys), each)
    m = lc.MultiMap(all_keys, numpy.arange(keys * each))
    asked = numpy.append(numpy.arange(keys)[::-1], [-5])
    index, values = m.retrieve(asked)
    offsets, same = m.rows(asked)
    assert index.tolist() == numpy.repeat(numpy.arange(keys), each).tolist()
    assert offsets.tolist() == [each * min(i, keys) for i in range(keys + 2)]
    for got in (values, same):
        due = numpy.arange(keys * each).reshape(keys, each)[::-1]
        assert numpy.array_equal(numpy.sort(got.reshape(keys, each)), due)


@pytest.mark.parametrize("sets, n", [(1, 5), (300, 5), (300, 1030), (2, 5000)])
def test_sets_that_contain(sets, n):
    s = lc.Sets([numpy.arange(i % 3, 6000, 3) for i in range(sets)])
    asked = numpy.arange(n) * 7 % 6001
    offsets, found = s.containing(asked)
    due = [[i for i in range(sets) if v % 3 == i % 3 and v < 6000] for v in asked.tolist()]
    assert numpy.diff(offsets).tolist() == [len(d) for d in due]
    assert found.tolist() == [i for d in due for i in d]
    assert s.containing_counts(asked).tolist() == [len(d) for d in due]


# ---- small inserts, of which each call is the first that looks


def small():
    m = lc.MultiMap([1, 2], [10, 20])
    m.insert([2, 3], [21, 30])
    m.insert(numpy.array([3]), numpy.array([31]))
    return m


def pairs(m):
    keys, offsets, values = m.items()
    return sorted((k, v) for k, a, b in zip(keys, offsets, offsets[1:]) for v in values[a:b])


ALL = [(1, 10), (2, 20), (2, 21), (3, 30), (3, 31)]


def test_small_inserts(tmp_path):
    path = str(tmp_path / "pairs")
    assert len(small()) == 5
    assert pairs(small()) == ALL
    assert pairs(small().copy()) == ALL
    assert pairs(pickle.loads(pickle.dumps(small()))) == ALL
    assert pairs(small().union(lc.MultiMap([9], [9]))) == [*ALL, (9, 9)]
    assert pairs(lc.MultiMap([9], [9]).union(small())) == [*ALL, (9, 9)]
    assert small().count([3, 4]).tolist() == [2, 0] and 3 in small() and sorted(small()[3]) == [30, 31]
    for mmap in (False, True):
        small().save(path, mmap=mmap)
        assert pairs(lc.MultiMap.load(path, mmap=mmap)) == ALL


def test_another_thread_sees_small_inserts():
    m = lc.MultiMap([0], [0])
    with concurrent.futures.ThreadPoolExecutor(1) as other:
        for i in range(1, 700):
            m.insert([i % 7], [i])
            if i % 3 == 0:
                assert other.submit(len, m).result() == i + 1
                due = sum(j % 7 == i % 7 for j in range(i + 1))
                assert other.submit(m.count, [i % 7]).result()[0] == due
    assert len(m) == 700


def test_a_map_is_made_of_keys_at_once():
    assert lc.Map([1, 1, 2], [5, 6, 7])[1] == 6
    assert len(lc.Map(range(1000), capacity=10)) == 1000
    with pytest.raises(ValueError, match="values"):
        lc.Map([1, 2], [1])
    with pytest.raises(OverflowError, match="keys"):
        lc.Map([-1], key_type="uint32")
