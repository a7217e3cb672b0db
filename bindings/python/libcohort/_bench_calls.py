"""Calls of libcohort.bench on ten elements: what a call costs beside its work."""

from __future__ import annotations

import timeit
from typing import Any, Callable

import libcohort as lc

_CALLS, _REPEATS = 200, 100


def calls() -> dict[str, Callable[[], Any]]:
    """Each public call, on ten numbers of numpy's."""
    import numpy

    a = numpy.arange(10)[::-1].copy()
    b, mask = a[:5].copy(), a > 4
    m, mm, s = lc.Map(a, a), lc.MultiMap(a, a), lc.Set(b)
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
        "Map(keys, values)": lambda: lc.Map(a, a),
        "Map.get": lambda: m.get(a),
        "Map.contains": lambda: m.contains(a),
        "Map.insert": lambda: m.insert(a, a),
        "Map.assign": lambda: m.assign(a, a),
        "Map.add": lambda: m.add(a, a),
        "Map.items": lambda: m.items(),
        "Map.run": lambda: m.run("assign", a, a),
        "MultiMap(keys, values)": lambda: lc.MultiMap(a, a),
        "MultiMap.get": lambda: mm.get(a),
        "MultiMap.count": lambda: mm.count(a),
        "MultiMap.retrieve": lambda: mm.retrieve(a),
        "Set(members)": lambda: lc.Set(a),
        "Set & Set": lambda: s & s,
        "Set.contains": lambda: s.contains(a),
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
