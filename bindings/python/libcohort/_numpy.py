"""What numpy's calls take beside their arrays, and its dates: integers here, of the same dtype again when they
come out, with NaT behind all others as in numpy."""

from __future__ import annotations

import sys
from typing import Any

_KINDS = (None, "quicksort", "mergesort", "heapsort", "stable")


def check_order(axis: Any, kind: Any, order: Any) -> None:
    """Every sort here is stable, and of one dimension."""
    check_axis(axis)
    if kind not in _KINDS:
        raise ValueError(f"kind: must be one of {', '.join(map(str, _KINDS))}, not {kind!r}")
    if order is not None:
        raise TypeError(f"order: elements have no fields to sort by, and {order!r} was given")


def check_axis(axis: Any) -> None:
    if axis is not None and axis not in (0, -1):
        raise TypeError(f"axis: arrays have one dimension; it must be 0, -1 or None, not {axis!r}")


def check_kind_of_lookup(kind: Any) -> None:
    if kind not in (None, "sort", "table"):
        raise ValueError(f"kind: must be None, sort or table, not {kind!r}")


def check_bins(bins: Any) -> None:
    raise TypeError(f"bins: values are counted as they are, and {bins!r} was given")


def is_array(a: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(a, numpy.ndarray)


def shaped(out: Any, shape: tuple[int, ...], inverse: int) -> Any:
    """What unique answers of an array of this shape: number `inverse` of the parts has it too; 0: none has."""
    if not inverse:
        return out
    return tuple(part.reshape(shape) if i == inverse else part for i, part in enumerate(out))


def are_dates(a: Any) -> bool:
    """Of an array of numpy's."""
    return a.dtype.kind in "mM"


def check_units(a: Any, b: Any, names: tuple[str, str]) -> None:
    """Dates are compared as integers, which must count the same."""
    numpy = sys.modules["numpy"]
    kinds = [x.dtype for x in (a, b) if isinstance(x, numpy.ndarray) and are_dates(x)]
    if len(kinds) == 2 and kinds[0] != kinds[1]:
        raise TypeError(f"{names[0]} is of {kinds[0]} and {names[1]} of {kinds[1]}: convert one by astype")


def _nats(a: Any) -> int:
    numpy = sys.modules["numpy"]
    return int(numpy.count_nonzero(numpy.isnat(a)))


def ordered(a: Any, out: Any, descending: bool) -> Any:
    """What sort and argsort answer: NaT is the least of the integers, and comes last, or first if descending."""
    nats = _nats(a)
    return sys.modules["numpy"].roll(out, nats if descending else -nats) if nats else out


def distinct(a: Any, parts: list[Any], inverse: int | None) -> list[Any]:
    """Ascending elements and what goes along; number `inverse` of the parts numbers them."""
    parts[0] = parts[0].view(a.dtype)
    if not _nats(a):
        return parts
    n = len(parts[0])
    roll = sys.modules["numpy"].roll
    return [(p - 1) % n if i == inverse else roll(p, -1) for i, p in enumerate(parts)]


def numbered(a: Any, codes: Any, uniques: Any, sort: bool, sentinel: bool) -> tuple[Any, Any]:
    """What factorize answers: NaT has the code -1 and is none of the values, or is one, the last if sorted."""
    numpy = sys.modules["numpy"]
    if sort and not sentinel:
        uniques, codes = distinct(a, [uniques, codes], 1)
        return codes, uniques
    uniques = uniques.view(a.dtype)
    nat = numpy.flatnonzero(numpy.isnat(uniques))
    if not sentinel or not len(nat):
        return codes, uniques
    codes = numpy.where(codes == nat[0], -1, codes - (codes > nat[0]))
    return codes, numpy.delete(uniques, nat)
