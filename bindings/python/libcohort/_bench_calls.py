"""Calls of libcohort.bench on ten elements: what a call costs beside its work."""

from __future__ import annotations

import timeit
from typing import Any, Callable

import libcohort as lc

_CALLS, _REPEATS = 200, 100


def calls() -> dict[str, Callable[[], Any]]:
    """Each public call that works on elements, on ten numbers of numpy's or ten strings."""
    return {**_of_functions(), **_of_maps(), **_of_sets(), **_of_tables()}


def _numbers() -> tuple[Any, Any]:
    """Ten, and five of them."""
    import numpy

    a = numpy.arange(10)[::-1].copy()
    return a, a[:5].copy()


def _of_functions() -> dict[str, Callable[[], Any]]:
    a, b = _numbers()
    mask, s = a > 4, lc.Set(b)
    words, some = lc.Column([f"word {i}" for i in a.tolist()]), lc.Column(["word 3", "none"])
    return {
        "sort": lambda: lc.sort(a),
        "argsort": lambda: lc.argsort(a),
        "unique": lambda: lc.unique(a),
        "unique, index, inverse, counts": lambda: lc.unique(a, True, True, True),
        "factorize": lambda: lc.factorize(a),
        "value_counts": lambda: lc.value_counts(a),
        "is_in": lambda: lc.is_in(a, b),
        "index_in": lambda: lc.index_in(a, b),
        "histogram": lambda: lc.histogram(a, 4),
        "partition": lambda: lc.partition(a, 4),
        "partition, values, index, rank": lambda: lc.partition(
            a, 4, values=a, return_index=True, return_rank=True
        ),
        "compact": lambda: lc.compact(a, mask),
        "compact by a Set": lambda: lc.compact(a, s),
        "unique, strings": lambda: lc.unique(words),
        "factorize, strings": lambda: lc.factorize(words),
        "value_counts, strings": lambda: lc.value_counts(words),
        "is_in, strings": lambda: lc.is_in(words, some),
        "index_in, strings": lambda: lc.index_in(words, some),
    }


def _of_maps() -> dict[str, Callable[[], Any]]:
    a, _ = _numbers()
    m, mm, empty, more = lc.Map(a, a), lc.MultiMap(a, a), lc.Map(a[:0], a[:0]), lc.MultiMap(a, a)
    return {
        "Map(keys, values)": lambda: lc.Map(a, a),
        "Map.get": lambda: m.get(a),
        "Map.contains": lambda: m.contains(a),
        "Map.insert": lambda: m.insert(a, a),
        "Map.assign": lambda: m.assign(a, a),
        "Map.add": lambda: m.add(a, a),
        "Map.items": lambda: m.items(),
        "Map.run": lambda: m.run("assign", a, a),
        "Map.erase, of absent keys": lambda: empty.erase(a),
        "m[keys]": lambda: m[a],
        "m[key]": lambda: m[3],
        "key in m": lambda: 3 in m,
        "Map.copy": lambda: m.copy(),
        "MultiMap(keys, values)": lambda: lc.MultiMap(a, a),
        "MultiMap.get": lambda: mm.get(a),
        "MultiMap.count": lambda: mm.count(a),
        "MultiMap.retrieve": lambda: mm.retrieve(a),
        "MultiMap.rows": lambda: mm.rows(a),
        "MultiMap.contains": lambda: mm.contains(a),
        "MultiMap.items": lambda: mm.items(),
        "MultiMap.insert": lambda: more.insert(a, a),
        "m[key] of a MultiMap": lambda: mm[3],
    }


def _of_sets() -> dict[str, Callable[[], Any]]:
    a, b = _numbers()
    s, some, rows = lc.Set(b), lc.Sets([a, b]), b[:4].reshape(2, 2) % 2
    return {
        "Set(members)": lambda: lc.Set(a),
        "Set & Set": lambda: s & s,
        "Set.contains": lambda: s.contains(a),
        "member in Set": lambda: 3 in s,
        "Set.members": lambda: s.members(),
        "Set.filter": lambda: s.filter(a),
        "Set.rank": lambda: s.rank(a),
        "Set.select": lambda: s.select(2),
        "Sets(arrays)": lambda: lc.Sets((a, b)),
        "Sets.contains": lambda: some.contains(a),
        "Sets.containing": lambda: some.containing(a),
        "Sets.rank": lambda: some.rank(a),
        "Sets.select": lambda: some.select(b),
        "Sets.query, counts": lambda: some.query("and", rows, want="counts"),
        "Sets.query, sets": lambda: some.query("or", rows),
        "Sets & Sets": lambda: some & some,
    }


def _of_tables() -> dict[str, Callable[[], Any]]:
    a, b = _numbers()
    left, right = lc.Table({"k": a, "v": a}), lc.Table({"k": b, "w": b})
    return {
        "Table(columns)": lambda: lc.Table({"k": a, "v": a}),
        "Table.take": lambda: left.take(b),
        "join": lambda: lc.join(left, right, "k"),
        "join_size": lambda: lc.join_size(left, right, "k"),
        "group_by, sum": lambda: left.group_by("k").agg(s=("v", "sum")),
    }


def measure() -> list[tuple[str, list[float]]]:
    """Seconds of each: means of many calls. Rounds go through all of them, so that what else the machine
    does meets all."""
    timers = {name: timeit.Timer(call) for name, call in calls().items()}
    times: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(_REPEATS):
        for name, timer in timers.items():
            times[name].append(timer.timeit(_CALLS) / _CALLS)
    return list(times.items())
