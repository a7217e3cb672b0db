"""Every function on every form of array: the answer is an oracle's, or the error names the argument.

A case is an argument of a call: its data, the call, and what the answer must be, of lists. Each runs on each form.
"""

import array
import collections

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import libcohort as lc

# ---- forms: the same numbers


def _strided(a):
    out = np.zeros(2 * len(a), a.dtype)
    out[::2] = a
    return out[::2]


def _read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def _misaligned(a):
    return np.frombuffer(b"x" + a.tobytes(), a.dtype, offset=1) if len(a) else a


def _sliced(a):
    return pa.array(np.concatenate([a[:0], np.ones(3, a.dtype), a, np.ones(2, a.dtype)])).slice(3, len(a))


def _chunked(a):
    return pa.chunked_array([a[:2], a[:0], a[2:]], pa.from_numpy_dtype(a.dtype))


def _of_ours(a):
    return lc.compact(a, np.ones(len(a), bool)) if len(a) else lc.sort(pa.array(a))


def _of_duckdb(a):
    given = pa.table({"x": a})
    return duckdb.from_arrow(given).to_arrow_table()["x"]


class Tensor:
    """DLPack and nothing else."""

    def __init__(self, a):
        self.a = a

    def __dlpack__(self, **wishes):
        return self.a.__dlpack__(**wishes)

    def __dlpack_device__(self):
        return 1, 0


FORMS = {
    "numpy": lambda a: a.copy(),
    "strided": _strided,
    "backwards": lambda a: a[::-1].copy()[::-1],
    "read-only": _read_only,
    "misaligned": _misaligned,
    "pyarrow": pa.array,
    "chunked": _chunked,
    "sliced": _sliced,
    "polars": pl.Series,
    "polars, sliced": lambda a: pl.Series(np.concatenate([np.ones(3, a.dtype), a])).slice(3),
    "pandas": pd.Series,
    "pandas, strided": lambda a: pd.Series(_strided(a), copy=False),
    "pandas, of arrow": lambda a: pd.Series(a, dtype=pd.ArrowDtype(pa.from_numpy_dtype(a.dtype))),
    "pandas, masked": lambda a: pd.Series(a, dtype="boolean" if a.dtype == bool else "Int64"),
    "duckdb": _of_duckdb,
    "ours": _of_ours,
    "memoryview": lambda a: memoryview(a.copy()),
    "dlpack": Tensor,
    "array": lambda a: array.array("?" if a.dtype == bool else a.dtype.char, a.tolist()),
    "list": lambda a: a.tolist(),
}
# An array of Python's has no such type.
NO_BOOLEANS = {"array"}


# ---- cases

X = [5, 3, 9, 3, 7, 5]
BY = [1, 0, 3, 2, 1, 1]
MASK = [True, False, True, True, False, False]


def of(*, keys=None, values=None):
    keys = X if keys is None else keys
    return lc.Map(keys, [10 * k for k in keys] if values is None else values)


def pairs(x, y):
    out = collections.defaultdict(list)
    for k, v in zip(x, y):
        out[k].append(v)
    return {k: sorted(v) for k, v in out.items()}


def counted(x):
    return sorted(((k, x.count(k)) for k in set(x)), key=lambda c: (-c[1], c[0]))


def first(x):
    return list(dict.fromkeys(x))


def changed(m, result):
    return result, m


def plain(result):
    """As lists, and dictionaries of what has no order."""
    if isinstance(result, tuple):
        return tuple(plain(r) for r in result)
    if isinstance(result, lc.Map):
        keys, values = result.items()
        return set(keys.tolist()) if values is None else dict(zip(keys.tolist(), values.tolist()))
    if isinstance(result, lc.MultiMap):
        keys, offsets, values = (a.tolist() for a in result.items())
        return {k: sorted(values[a:b]) for k, a, b in zip(keys, offsets, offsets[1:])}
    if isinstance(result, lc.Sets):
        return [plain(s) for s in result]
    if isinstance(result, lc.Table):
        return result.to_pydict()
    return result.tolist() if hasattr(result, "tolist") else result


def parted(x, by, buckets):
    order = sorted(range(len(x)), key=lambda i: by[i])
    return [x[i] for i in order], [sum(b < j for b in by) for j in range(buckets + 1)]


M = {5: 50, 3: 30}
SETS = [[1, 3, 5], [5, 7], []]
OPS = [lc.Map.OPS[name] for name in ("find", "insert", "find", "assign", "erase", "find")]


def groups(x, y):
    """Sums of y by x, in the order in which the keys occur."""
    return {"k": first(x), "s": [sum(b for a, b in zip(x, y) if a == k) for k in first(x)]}


def below(x, splitters):
    return [sum(s <= v for s in splitters) for v in x]


# argument, data, call, oracle, what else it takes: n nulls, s strings, b booleans alone, d two
# dimensions, e what is not empty
CASES = {
    "sort": ("a", X, lambda a: lc.sort(a), sorted, ""),
    "argsort": ("a", X, lc.argsort, lambda x: sorted(range(len(x)), key=x.__getitem__), ""),
    "unique": ("a", X, lc.unique, lambda x: sorted(set(x)), "nsd"),
    "unique and all": (
        "a",
        X,
        lambda a: lc.unique(a, True, True, True),
        lambda x: (d := sorted(set(x)), [*map(x.index, d)], [*map(d.index, x)], [*map(x.count, d)]),
        "nsd",
    ),
    "unique in order": (
        "a",
        X,
        lambda a: lc.unique(a, True, sorted=False),
        lambda x: (first(x), [*map(x.index, first(x))]),
        "nsd",
    ),
    "factorize": ("values", X, lc.factorize, lambda x: ([*map(first(x).index, x)], first(x)), "ns"),
    "value_counts": ("values", X, lc.value_counts, lambda x: tuple([c[i] for c in counted(x)] for i in (0, 1)), "ns"),
    "is_in": ("element", X, lambda a: lc.is_in(a, np.array([3, 7])), lambda x: [v in (3, 7) for v in x], "n"),
    "is_in, among": (
        "(test_elements|element: is of .*, and test_elements of .*)",
        X,
        lambda a: lc.is_in(np.array([3, 8]), a),
        lambda x: [3 in x, 8 in x],
        "n",
    ),
    "index_in": (
        "values",
        X,
        lambda a: lc.index_in(a, np.array([3, 7])),
        lambda x: [{3: 0, 7: 1}.get(v, -1) for v in x],
        "n",
    ),
    "index_in, among": (
        "(value_set|values: is of .*, and value_set of .*)",
        X,
        lambda a: lc.index_in(np.array([3, 8]), a),
        lambda x: [x.index(v) if v in x else -1 for v in (3, 8)],
        "n",
    ),
    "partition": (
        "keys",
        X,
        lambda a: lc.partition(a, 4, by="modulo")[:2],
        lambda x: parted(x, [v % 4 for v in x], 4),
        "",
    ),
    "partition, values": (
        "values",
        X,
        lambda a: lc.partition(np.array(BY[: size(a)], "i8"), 4, by="modulo", values=a).values,
        lambda x: parted(x, BY[: len(x)], 4)[0],
        "",
    ),
    "partition, by": (
        "by",
        BY,
        lambda a: lc.partition(np.array(X[: size(a)], "i8"), 4, by=a).keys,
        lambda x: parted(X[: len(x)], x, 4)[0],
        "",
    ),
    "histogram": (
        "keys",
        X,
        lambda a: lc.histogram(a, 4, by="modulo"),
        lambda x: [sum(v % 4 == i for v in x) for i in range(4)],
        "",
    ),
    "partition, segments": (
        "segments",
        [0, 2, 2, 6],
        lambda a: lc.partition(np.array(X), 2, by="modulo", segments=a).keys,
        lambda x: [v for i, j in zip(x, x[1:]) for r in (0, 1) for v in X[i:j] if v % 2 == r],
        "e",
    ),
    "partition, splitters": (
        "splitters",
        [4, 6],
        lambda a: lc.partition(np.array(X, "u8"), splitters=a)[:2],
        lambda x: parted(X, below(X, x), len(x) + 1),
        "",
    ),
    "histogram, splitters": (
        "splitters",
        [4, 6],
        lambda a: lc.histogram(np.array(X, "u4"), splitters=a),
        lambda x: [below(X, x).count(i) for i in range(len(x) + 1)],
        "",
    ),
    "histogram, by": (
        "by",
        BY,
        lambda a: lc.histogram(np.array(X[: size(a)], "i8"), 4, by=a),
        lambda x: [x.count(i) for i in range(4)],
        "",
    ),
    "compact": (
        "values",
        X,
        lambda a: lc.compact(a, np.array(MASK[: size(a)], bool)),
        lambda x: [v for v, m in zip(x, MASK) if m],
        "",
    ),
    "compact, mask": (
        "mask",
        MASK,
        lambda a: lc.compact(np.array(X[: size(a)], "i8"), a),
        lambda x: [v for v, m in zip(X, x) if m],
        "b",
    ),
    "compact by a Set": (
        "values",
        X,
        lambda a: lc.compact(a, lc.Set([3, 5])),
        lambda x: [v for v in x if v in (3, 5)],
        "",
    ),
    "Map": ("keys", X, lambda a: lc.Map(a), set, ""),
    "Map, values": (
        "values",
        X,
        lambda a: lc.Map(np.arange(size(a)), a),
        lambda x: dict(enumerate(x)),
        "",
    ),
    "Map.get": ("keys", X, lambda a: of(keys=[5, 3]).get(a, -1), lambda x: [M.get(v, -1) for v in x], ""),
    "Map.contains": ("keys", X, lambda a: of(keys=[5, 3]).contains(a), lambda x: [v in M for v in x], ""),
    "m[keys]": ("keys", X, lambda a: of()[a], lambda x: [10 * v for v in x], ""),
    "Map.insert": (
        "keys",
        X,
        lambda a: (m := lc.Map([5], [1], key_type="int64"), m.insert(a, 7))[::-1],
        lambda x: (len(set(x) - {5}), {v: 7 for v in x} | {5: 1}),
        "",
    ),
    "Map.insert, values": (
        "values",
        X,
        lambda a: (m := lc.Map(key_type="int64"), m.insert(np.arange(size(a)), a))[0],
        lambda x: dict(enumerate(x)),
        "",
    ),
    "Map.assign": (
        "keys",
        X,
        lambda a: (m := of(keys=[5]), m.assign(a, 7))[0],
        lambda x: {5: 50} | {v: 7 for v in x},
        "",
    ),
    "Map.assign, values": (
        "values",
        X,
        lambda a: (m := lc.Map([0], [7]), m.assign(np.arange(size(a)), a))[0],
        lambda x: {0: 7} | dict(enumerate(x)),
        "",
    ),
    "Map.add, values": (
        "values",
        X,
        lambda a: (m := lc.Map([0], [7]), m.add(np.arange(size(a)) % 2, a))[0],
        lambda x: {0: 7 + sum(x[::2])} | ({1: sum(x[1::2])} if x else {}),
        "",
    ),
    "Map.add": ("keys", X, lambda a: (m := lc.Map(), m.add(a))[0], lambda x: dict(collections.Counter(x)), ""),
    "Map.erase": (
        "keys",
        X,
        lambda a: (m := of(keys=[5, 8]), m.erase(a))[0],
        lambda x: {k: 10 * k for k in (5, 8) if k not in x},
        "",
    ),
    "Map.run": (
        "keys",
        X,
        lambda a: of(keys=[5, 3]).run("find", a, default=-1),
        lambda x: ([M.get(v, -1) for v in x], [v in M for v in x]),
        "",
    ),
    "Map.run, ops": (
        "ops",
        OPS,
        lambda a: (
            m := of(keys=[5, 3, 8]),
            m.run(a, np.array([5, 9, 4, 3, 8, 6][: size(a)], "i8"), 7, default=-1),
        )[::-1],
        lambda x: (
            ([50, -1, -1, 30, 80, -1][: len(x)], [True, False, False, True, True, False][: len(x)]),
            {5: 50, 3: 7, 9: 7} if x else {5: 50, 3: 30, 8: 80},
        ),
        "",
    ),
    "Map.run, values": (
        "values",
        X,
        lambda a: (m := lc.Map(key_type="int64"), m.run("assign", np.arange(size(a)), a))[0],
        lambda x: dict(enumerate(x)),
        "",
    ),
    "MultiMap": (
        "keys",
        X,
        lambda a: lc.MultiMap(a),
        lambda x: pairs(x, range(len(x))),
        "",
    ),
    "MultiMap, values": (
        "values",
        X,
        lambda a: lc.MultiMap(np.array(BY[: size(a)], "i8"), a),
        lambda x: pairs(BY, x),
        "",
    ),
    "MultiMap.count": (
        "keys",
        X,
        lambda a: lc.MultiMap([5, 5, 3]).count(a),
        lambda x: [{5: 2, 3: 1}.get(v, 0) for v in x],
        "",
    ),
    "MultiMap.contains": ("keys", X, lambda a: lc.MultiMap([5, 5]).contains(a), lambda x: [v == 5 for v in x], ""),
    "MultiMap.get": (
        "keys",
        X,
        lambda a: lc.MultiMap([5], [8]).get(a, -1),
        lambda x: [8 if v == 5 else -1 for v in x],
        "",
    ),
    "MultiMap.retrieve": (
        "keys",
        X,
        lambda a: lc.MultiMap([5, 3, 5], [8, 9, 8]).retrieve(a),
        lambda x: tuple(map(list, zip(*[(i, w) for i, v in enumerate(x) for w in {5: [8, 8], 3: [9]}.get(v, [])])))
        or ([], []),
        "",
    ),
    "MultiMap.rows": (
        "keys",
        X,
        lambda a: lc.MultiMap([5, 5], [8, 8]).rows(a),
        lambda x: ([2 * x[:i].count(5) for i in range(len(x) + 1)], [8] * 2 * x.count(5)),
        "",
    ),
    "MultiMap.insert": (
        "keys",
        X,
        lambda a: (m := lc.MultiMap([5], [1]), m.insert(a, [7] * size(a)))[0],
        lambda x: pairs([5, *x], [1] + [7] * len(x)),
        "",
    ),
    "MultiMap.insert, values": (
        "values",
        X,
        lambda a: (m := lc.MultiMap([5], [1]), m.insert([6] * size(a), a))[0],
        lambda x: pairs([5] + [6] * len(x), [1, *x]),
        "",
    ),
    "Set": ("members", X, lc.Set, lambda x: sorted(set(x)), ""),
    "Set.contains": ("values", X, lambda a: lc.Set([5, 3]).contains(a), lambda x: [v in (5, 3) for v in x], ""),
    "Set.filter": ("values", X, lambda a: lc.Set([5, 3]).filter(a), lambda x: [v for v in x if v in (5, 3)], ""),
    "Set.rank": ("values", X, lambda a: lc.Set([5, 3]).rank(a), lambda x: [(v > 3) + (v > 5) for v in x], ""),
    "Sets": (r"arrays\[0\]", X, lambda a: lc.Sets([a, [1]]), lambda x: [sorted(set(x)), [1]], ""),
    "Sets.from_pairs": (
        "members",
        X,
        lambda a: lc.Sets.from_pairs(BY[: size(a)], a, sets=4),
        lambda x: [pairs(BY, x).get(i, []) and sorted(set(pairs(BY, x)[i])) for i in range(4)],
        "",
    ),
    "Sets.from_pairs, groups": (
        "groups",
        BY,
        lambda a: lc.Sets.from_pairs(a, X[: size(a)], sets=4),
        lambda x: [sorted(set(pairs(x, X).get(i, []))) for i in range(4)],
        "",
    ),
    "Sets.from_rows": (
        "members",
        X,
        lambda a: lc.Sets.from_rows([0, size(a)], a),
        lambda x: [sorted(set(x))],
        "",
    ),
    "Sets.from_ranges": (
        "firsts",
        X,
        lambda a: lc.Sets.from_ranges(a, [9] * size(a)),
        lambda x: [sorted({i for v in x for i in range(v, 10)})],
        "",
    ),
    "Sets.contains": ("values", X, lambda a: lc.Sets(SETS).contains(a, 1), lambda x: [v in SETS[1] for v in x], ""),
    "Sets.contains, which": (
        "which",
        [0, 1, 2, 1],
        lambda a: lc.Sets(SETS).contains([5] * size(a), a),
        lambda x: [5 in SETS[i] for i in x],
        "",
    ),
    "Sets.containing": (
        "values",
        X,
        lambda a: lc.Sets(SETS).containing(a),
        lambda x: (
            [sum(w in s for w in x[:i] for s in SETS) for i in range(len(x) + 1)],
            [i for v in x for i, s in enumerate(SETS) if v in s],
        ),
        "",
    ),
    "Sets.containing_counts": (
        "values",
        X,
        lambda a: lc.Sets(SETS).containing_counts(a),
        lambda x: [sum(v in s for s in SETS) for v in x],
        "",
    ),
    "Sets.rank": ("values", X, lambda a: lc.Sets(SETS).rank(a), lambda x: [sum(m < v for m in SETS[0]) for v in x], ""),
    "Sets.select": (
        "ranks",
        [2, 0, 1, 7],
        lambda a: lc.Sets(SETS).select(a),
        lambda x: ([(SETS[0] + [0] * 9)[i] for i in x], [i < 3 for i in x]),
        "",
    ),
    "Sets.next": (
        "values",
        X,
        lambda a: lc.Sets(SETS).next(a),
        lambda x: ([min((m for m in SETS[0] if m >= v), default=0) for v in x], [v <= 5 for v in x]),
        "",
    ),
    "Sets.count": (
        "firsts",
        X,
        lambda a: lc.Sets(SETS).count(a, [9] * size(a)),
        lambda x: [sum(m >= v for m in SETS[0]) for v in x],
        "",
    ),
    "Sets.count, which": (
        "which",
        [0, 1, 2, 1],
        lambda a: lc.Sets(SETS).count([4] * size(a), [9] * size(a), a),
        lambda x: [sum(m >= 4 for m in SETS[i]) for i in x],
        "",
    ),
    "Sets.min": (
        "which",
        [0, 1, 2, 1],
        lambda a: lc.Sets(SETS).min(a),
        lambda x: ([min(SETS[i], default=0) for i in x], [i != 2 for i in x]),
        "",
    ),
    "Sets.max": (
        "which",
        [0, 1, 2, 1],
        lambda a: lc.Sets(SETS).max(a),
        lambda x: ([max(SETS[i], default=0) for i in x], [i != 2 for i in x]),
        "",
    ),
    "Sets.query": (
        "rows",
        [0, 2, 1, 1],
        lambda a: lc.Sets(SETS).query("or", a, offsets=[0, size(a)], want="counts"),
        lambda x: [len({m for i in x for m in SETS[i]})],
        "",
    ),
    "Sets.query, offsets": (
        "offsets",
        [0, 1, 3, 3],
        lambda a: lc.Sets(SETS).query("or", [2, 0, 1], offsets=a, want=("counts", "any")),
        lambda x: ([0, 4, 0], [False, True, False]),
        "e",
    ),
    "join, left": (
        "left: k",
        X,
        lambda a: lc.join({"k": a}, {"k": np.array([7, 3]), "w": np.array([70, 30])}, "k"),
        lambda x: {"k": [v for v in x if v in (3, 7)], "w": [10 * v for v in x if v in (3, 7)]},
        "ns",
    ),
    "join, right": (
        "right: k",
        X,
        lambda a: lc.join({"k": np.array([3, 8, 5])}, {"k": a, "w": np.arange(size(a))}, "k"),
        lambda x: {
            "k": [v for v in (3, 8, 5) for w in x if w == v],
            "w": [i for v in (3, 8, 5) for i, w in enumerate(x) if w == v],
        },
        "ns",
    ),
    "join_size": (
        "left: k",
        X,
        lambda a: lc.join_size({"k": a}, {"k": np.array([3, 5, 5])}, "k"),
        lambda x: x.count(3) + 2 * x.count(5),
        "ns",
    ),
    "group_by": (
        "k",
        X,
        lambda a: lc.group_by({"k": a, "v": np.arange(size(a))}, "k").agg(s=("v", "sum")),
        lambda x: groups(x, range(len(x))),
        "ns",
    ),
    "group_by, values": (
        "v",
        X,
        lambda a: lc.group_by({"k": np.array(BY[: size(a)], "i8"), "v": a}, "k").agg(s=("v", "sum")),
        lambda x: groups(BY[: len(x)], x),
        "ns",
    ),
    "sets[which]": ("which", [2, 0, 1, 1], lambda a: lc.Sets(SETS)[a], lambda x: [SETS[i] for i in x], ""),
    "Column": ("values", X, lc.Column, list, "ns"),
    "Table": ("k", X, lambda a: lc.Table({"k": a}), lambda x: {"k": x}, "ns"),
    "Table.take": (
        "rows",
        BY,
        lambda a: lc.Table({"k": X}).take(a),
        lambda x: {"k": [X[i] for i in x]},
        "",
    ),
    "to_host": ("values", X, lc.to_host, list, ""),
    "to_device": ("values", X, lc.to_device, list, ""),
}


def size(a):
    return len(a.a) if isinstance(a, Tensor) else getattr(a, "n", None) or len(a)


def data_of(case, n=None):
    argument, data, call, oracle, takes = CASES[case]
    data = data if n is None else data[:n]
    return data, np.array(data, bool if "b" in takes else "int64")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_the_answer(case, form):
    """Of all elements, and of none."""
    _, _, call, oracle, takes = CASES[case]
    if "b" in takes and form in NO_BOOLEANS:
        pytest.skip("no booleans")
    for n in (None, 0):
        if n == 0 and ("e" in takes or (form in ("list", "memoryview") and case in ("Column", "Table"))):
            continue  # it must not be empty, or has no type then
        data, a = data_of(case, n)
        made = FORMS[form](a)
        assert plain(call(made)) == oracle(list(data)), n
        if isinstance(made, np.ndarray):
            assert made.tolist() == a.tolist()  # nobody has written there


WRONG = {
    "nulls": lambda a: pa.array([None, *a.tolist()[1:]], pa.from_numpy_dtype(a.dtype)),
    "strings": lambda a: pa.array(["x"] * len(a)),
    "complex": lambda a: np.zeros(len(a), complex),
    "two dimensions": lambda a: a.reshape(2, -1),
    "other bytes": lambda a: a.astype(">i8"),
    "objects": lambda a: [object()] * len(a),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("case", CASES)
def test_the_error_names_the_argument(case, wrong):
    argument, _, call, _, takes = CASES[case]
    if (wrong == "nulls" and "n" in takes) or (wrong == "strings" and "s" in takes):
        return
    if wrong == "two dimensions" and "d" in takes:
        return
    _, a = data_of(case)
    with pytest.raises((TypeError, ValueError), match=rf"^{argument}(\[0\])?: "):
        call(WRONG[wrong](a))


class OnGpu:
    """What no CPU can read, of as many elements."""

    def __init__(self, a):
        self.n = len(a)
        self.__cuda_array_interface__ = {
            "shape": (self.n,), "typestr": a.dtype.str, "data": (4096, False), "version": 3
        }  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_another_device_is_refused_by_name(case):
    argument, _, call, _, _ = CASES[case]
    _, a = data_of(case)
    with lc.device("cpu"), pytest.raises((lc.ArgumentError, lc.UnsupportedError), match=f"^{argument}: lies in "):
        call(OnGpu(a))
