"""Errors name the argument and its value, and are of the class that docs/python.md says."""

import errno
import pathlib

import numpy as np
import pytest

import libcohort as lc

A = np.arange(10)
DATA = pathlib.Path(__file__).resolve().parents[1] / "data" / "1-e"


def table():
    return lc.Table({"k": [1, 2], "v": [3, 4]})


def other():
    return lc.Table({"k": [1], "w": [2]})


def keys_only():
    return lc.Map([1])


# (call, class, what the message says: the argument, and the value)
WRONG = {
    "partition, buckets": (lambda: lc.partition(A, -1), lc.ArgumentError, "buckets: must be .*65536, not -1"),
    "buckets 0": (lambda: lc.partition(A, 0), lc.ArgumentError, "buckets: must be from 1 .*, not 0"),
    "buckets 2^70": (lambda: lc.partition(A, 1 << 70), lc.ArgumentError, f"buckets: .*, not {1 << 70}"),
    "buckets 2.5": (lambda: lc.partition(A, 2.5), TypeError, "buckets: a whole number is due, not 2.5"),
    "histogram, buckets": (lambda: lc.histogram(A, -7), lc.ArgumentError, "buckets: .*, not -7"),
    "threads": (lambda: lc.device("cpu", threads=-1), lc.ArgumentError, "threads: must be .*, not -1"),
    "threads x": (lambda: lc.device("cpu", threads="x"), TypeError, "threads: .* not 'x'"),
    "name": (lambda: lc.device(5), TypeError, "name: the name of a device is due, not 5"),
    "limits": (lambda: lc.limits(-1), lc.ArgumentError, "table_bytes: must be .*, not -1"),
    "from_pairs": (lambda: lc.Sets.from_pairs([0], [1], sets=-1), lc.ArgumentError, "sets: .*, not -1"),
    "from_ranges": (lambda: lc.Sets.from_ranges([0], [1], sets=-2), lc.ArgumentError, "sets: .*, not -2"),
    "least": (lambda: lc.Sets([[1]]).query("atleast", [[0]], least=-1), lc.ArgumentError, "least: .*, not -1"),
    "mask": (lambda: lc.Set([1]).mask(-1), lc.ArgumentError, "n: must be .*, not -1"),
    "capacity": (lambda: lc.Map(capacity=-1), lc.ArgumentError, "capacity: must be .*, not -1"),
    "capacity of 2.5": (lambda: lc.Map(capacity=2.5), TypeError, "capacity: .*, not 2.5"),
    "k 0": (lambda: lc.count_kmers([], 0), lc.ArgumentError, "^k: must be from 1 to 32, not 0"),
    "k 33": (lambda: lc.count_kmers([], 33), lc.ArgumentError, "^k: must be from 1 to 32, not 33"),
    "k -1": (lambda: lc.count_kmers([], -1), lc.ArgumentError, "^k: must be from 1 to 32, not -1"),
    "k 'a'": (lambda: lc.count_kmers([], "a"), TypeError, "^k: .* not 'a'"),
    "agg of 3": (lambda: table().group_by("k").agg(x=(1, 2, 3)), TypeError, r"x: a pair .*, not \(1, 2, 3\)"),
    "agg 5": (lambda: table().group_by("k").agg(x=5), TypeError, "x: a pair .*, not 5"),
    "agg {v: 5}": (lambda: table().group_by("k").agg({"v": 5}), TypeError, "v: an aggregate .*, not 5"),
    "agg op": (lambda: table().group_by("k").agg(x=("v", "zz")), ValueError, "x: an aggregate .*, not 'zz'"),
    "agg column": (lambda: table().group_by("k").agg(x=("z", "sum")), KeyError, "x: no column is named 'z'"),
    "group_by": (lambda: table().group_by("z"), KeyError, "keys: no column is named 'z'"),
    "range of 1": (lambda: lc.partition(A, 2, range=(1,)), TypeError, r"range: a pair .*, not \(1,\)"),
    "range 5": (lambda: lc.histogram(A, 2, range=5), TypeError, "range: a pair .*, not 5"),
    "range 0.5": (lambda: lc.partition(A, 2, range=(0.5, 4)), TypeError, r"range: a pair .*, not \(0.5, 4\)"),
    "range -1": (
        lambda: lc.partition(A.astype("u8"), 2, range=(-1, 4)),
        lc.ArgumentError,
        r"range: must not be negative, and is \(-1, 4\)",
    ),
    "on": (lambda: lc.join(table(), other(), "v"), KeyError, "on, of the right table: no column is named 'v'"),
    "left_on": (
        lambda: lc.join(table(), other(), left_on="z", right_on="k"),
        KeyError,
        "left_on, of the left table: no column is named 'z'; there are 'k', 'v'",
    ),
    "right_on": (
        lambda: lc.join_size(table(), other(), left_on="k", right_on="z"),
        KeyError,
        "right_on, of the right table: no column is named 'z'; there are 'k', 'w'",
    ),
    "on 5": (lambda: lc.join(table(), other(), 5), TypeError, "on: the name of a column .*, not 5"),
    "how": (lambda: lc.join(table(), other(), "k", how="up"), ValueError, "how: must be one of .*, not 'up'"),
    "on, cut off by a zero": (lambda: lc.join(table(), other(), "k\0"), KeyError, "on, .*no column is named 'k"),
    "on, no UTF-8": (lambda: lc.join_size(table(), other(), "\ud800"), KeyError, "on, of the left table: no col"),
    "on, with suffixes": (
        lambda: lc.join(table(), other(), "z", suffixes=("_x", "_y")),
        KeyError,
        "on, of the left table: no column is named 'z'",
    ),
    "on, right": (lambda: lc.join(table(), other(), "v", how="right"), KeyError, "on, of the right table: no"),
    "agg column, a number": (
        lambda: table().group_by("k").agg(x=(3, "sum")),
        KeyError,
        "x: no column is named 3; there are 'k', 'v'",
    ),
    "agg column, cut off by a zero": (
        lambda: table().group_by("k").agg(x=("v\0", "sum")),
        KeyError,
        "x: no column is named 'v",
    ),
    "how": (lambda: lc.join(table(), other(), "k", how="outside"), ValueError, "how: must be .*, not 'outside'"),
    "arrays, negative": (
        lambda: lc.Sets([[1], np.array([5, -1])]),
        OverflowError,
        r"arrays\[1\]: a value of int64 does not fit in uint64",
    ),
    "arrays, floats": (lambda: lc.Sets([[1], [0.5]]), TypeError, r"arrays\[1\]: float64 cannot be taken"),
    "rows, negative": (
        lambda: lc.Sets([[1]]).query("and", [[0], [0, -1]]),
        OverflowError,
        r"rows\[1\]: a value of int64 does not fit",
    ),
    "select": (lambda: table().select(["z"]), KeyError, "names: no column is named 'z'"),
    "get": (lambda: keys_only().get([1]), TypeError, "^get: the map has keys only"),
    "m[keys]": (lambda: keys_only()[1], TypeError, r"^m\[keys\]: the map has keys only"),
    "values": (lambda: keys_only().values(), TypeError, "^values: the map has keys only"),
    "add": (lambda: keys_only().add([1]), TypeError, "^add: the map has keys only"),
    "insert": (lambda: keys_only().insert([1], [1]), TypeError, "^values: the map has keys only"),
    "run": (lambda: keys_only().run("insert", [1], [1]), TypeError, "^values: the map has keys only"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named(what):
    call, kind, message = WRONG[what]
    with pytest.raises(kind, match=message) as caught:
        call()
    assert type(caught.value) is kind


def test_files_that_are_not_there(tmp_path):
    path = tmp_path / "nö" / "file"
    calls = [
        lambda: lc.Map.load(path),
        lambda: lc.Map.load(path, mmap=True),
        lambda: lc.Map([1], [2]).save(path),
        lambda: lc.MultiMap.load(path),
        lambda: lc.MultiMap([1], [2]).save(str(path)),
        lambda: lc.Sets.load(path),
        lambda: lc.Sets.load(path, mmap=True),
        lambda: lc.Sets([[1]]).save(path),
    ]
    for call in calls:
        with pytest.raises(lc.FileError, match="No such file or directory") as caught:
            call()
        assert caught.value.errno == errno.ENOENT and caught.value.filename == str(path)
        assert str(caught.value).startswith("path '") and isinstance(caught.value, OSError)
    with pytest.raises(lc.FileError) as caught:
        lc.Map.load(tmp_path)
    assert caught.value.filename == str(tmp_path) and caught.value.errno in (None, errno.EISDIR, errno.EACCES)
    with pytest.raises(FileNotFoundError, match="file"):
        lc.count_kmers(path, 5)


def test_a_full_map():
    """One of fixed capacity, which the C library has saved."""
    m = lc.Map.load(DATA / "map-64-32.bin")
    n = len(m)
    with pytest.raises(lc.FullError, match="cohort_map_insert: .* found no slot.*capacity is fixed"):
        m.insert(np.arange(10_000) + (1 << 50), np.arange(10_000))
    assert n <= len(m) < 10_000  # what found a slot stays


def test_classes():
    for kind, base in (
        (lc.ArgumentError, ValueError),
        (lc.OutOfMemoryError, MemoryError),
        (lc.FileError, OSError),
        (lc.UnsupportedError, NotImplementedError),
        (lc.DeviceError, RuntimeError),
        (lc.FormatError, ValueError),
    ):
        assert issubclass(kind, base) and issubclass(kind, lc.Error)
    assert lc.FullError.__bases__ == lc.CancelledError.__bases__ == (lc.Error,)
