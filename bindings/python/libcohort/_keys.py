"""The functions of distinct values where strings, nulls or several columns come in: on frames."""

from __future__ import annotations

import array
from typing import Any, Callable

from . import _core
from ._arrays import I64, Array, give_out, take_in
from ._context import current
from ._errors import ArgumentError
from ._table import Column, Table, _wrap, column_out, frame_of, on_context

# Arrow's format of each type of Array.
_FORMATS = ["", "C", "S", "I", "L", "c", "s", "i", "l", "f", "g", "b"]
# A NaN and a 0 of each format of floats.
_NAN = {
    "e": array.array("H", [0x7E00, 0]).tobytes(),
    "f": array.array("f", [float("nan"), 0]).tobytes(),
    "g": array.array("d", [float("nan"), 0]).tobytes(),
}


def unique(frame: _core.Handle, numpy: Any, index: bool, inverse: bool, counts: bool, sorted: bool) -> Any:
    if not index and not inverse and not counts:
        return column_out(_core.frame_unique(frame, sorted), numpy)
    codes, keys = _core.frame_factorize(frame, True, True)
    first, many = _firsts(codes, len_of(keys))
    if sorted:
        ordered = _core.frame_unique(keys, True)
        order = _core.frame_index_in(ordered, keys, True)  # rank -> number
        rank = _core.number_runs(order, _core.iota(len(order), 8))
        codes, keys = _core.take(rank, codes), ordered
        first, many = _core.take(first, order), _core.take(many, order)
    out = [column_out(keys, numpy)]
    for wanted, part in ((index, first), (inverse, codes), (counts, many)):
        if wanted:
            out.append(give_out(part, numpy))
    return tuple(out)


def len_of(frame: _core.Handle) -> int:
    return _core.frame_shape(frame)[0]


def _firsts(codes: _core.Array, distinct: int) -> tuple[_core.Array, _core.Array]:
    """Where each of the numbers 0 .. distinct occurs first, and how often it occurs."""
    return _core.first_rows(codes, distinct)


def factorize(frame: _core.Handle, numpy: Any, sort: bool, sentinel: bool) -> tuple[Any, Any]:
    """As pandas: null and NaN have no number."""
    codes, keys = _core.frame_factorize(frame, not sentinel, True)
    if sentinel and _core.frame_misses(keys) and _core.frame_shape(keys)[1] == 1:
        missing = _missing(keys)
        nan = _rows(keys, missing)
        if len(nan):
            keys = _core.frame_gather(keys, _rows(keys, _core.opposite(missing)))
            codes = _core.without_number(codes, nan[0], -1)
    if sort:
        keys = _core.frame_unique(keys, True)
        codes = _core.frame_index_in(frame, keys, True)
    return give_out(codes, numpy), column_out(keys, numpy)


def check_nan(frame: _core.Handle) -> None:
    if any(format in _NAN for _, format, *_ in _core.frame_info(frame)[1]):
        raise TypeError("equal_nan: all NaNs are one element in columns with nulls; False is not supported")


def _missing(column: _core.Handle) -> Array:
    """Which rows of one column are null or NaN, as booleans."""
    ((_, format, *_),) = _core.frame_info(column)[1]
    if format in _NAN:
        parts = (format, 2, 2, 1, b"\1", _NAN[format], None, None)
        none = _core.frame_of_parts(column.context, parts)
    else:
        none = _core.frame_gather(column, take_in([-1], "")[0])
    return _core.frame_is_in(column, none, True)


def _rows(frame: _core.Handle, mask: Array) -> Array:
    """The rows where a mask is set."""
    return _core.compact(frame.context, _core.iota(len_of(frame), I64), mask, 0)


def plain(column: _core.Handle, code: int) -> Array:
    """A frame of one column of numbers without nulls as an Array of this type."""
    return _core.frame_column(column, code)


def of_array(keys: Array) -> _core.Handle:
    """Numbers in the host's memory as a frame of one column."""
    return _core.frame_of_columns(current(), [""], [keys])


def counted(frame: _core.Handle, code: int) -> tuple[Array, Array]:
    """Distinct numbers in ascending order, and how often each occurs."""
    keys, counts = _core.frame_value_counts(frame, True)
    return plain(keys, code), counts


def value_counts(
    frame: _core.Handle, numpy: Any, sort: bool, ascending: bool, normalize: bool, dropna: bool
) -> tuple[Any, Any]:
    keys, counts = _core.frame_value_counts(frame, not sort)
    if dropna and _core.frame_misses(keys):
        for at in range(_core.frame_shape(keys)[1]):
            missing = _missing(_core.frame_select(keys, [at], [""]))
            rows = _rows(keys, _core.opposite(missing))
            if len(rows) < len(counts):
                keys, counts = _core.frame_gather(keys, rows), _core.take(counts, rows)
    if sort and ascending:
        counts, order, _ = _core.sort(keys.context, counts, False, True, None)
        keys = _core.frame_gather(keys, order)
    return column_out(keys, numpy), give_out(_core.shares(counts) if normalize else counts, numpy)


def alike(a: Any, b: Any, names: tuple[str, str]) -> tuple[_core.Handle, _core.Handle]:
    """Two frames of one context; where one side is plain numbers it takes the other's type if it can."""
    a, b = _as(a, b, names[0]), _as(b, a, names[1])
    return a, on_context(b, a.context)


def _as(values: Any, other: Any, argument: str) -> _core.Handle:
    if not isinstance(values, Array):
        assert isinstance(values, _core.Handle)
        return values
    columns = [] if isinstance(other, Array) else _core.frame_info(other)[1]
    if len(columns) == 1 and columns[0][1] in _FORMATS[1:11]:
        code = _FORMATS.index(columns[0][1])
        values = _core.cast(values, code, argument)
    return frame_of(values, argument)


def _looked_up(
    call: Callable[[_core.Handle, _core.Handle, bool], Array], a: Any, b: Any, names: tuple[str, str]
) -> Array:
    """What a call says of keys and values; an error names both, with their types."""
    frames = alike(a, b, names)
    try:
        return call(*frames, True)
    except ArgumentError as error:
        kinds = [", ".join(_wrap(Table, frame).types.values()) for frame in frames]
        raise ArgumentError(f"{names[0]}: is of {kinds[0]}, and {names[1]} of {kinds[1]}: {error}") from None


def is_in(a: Any, b: Any, invert: bool, numpy: Any, names: tuple[str, str]) -> Any:
    hit = _looked_up(_core.frame_is_in, a, b, names)
    return give_out(_core.opposite(hit) if invert else hit, numpy)


def index_in(a: Any, b: Any, numpy: Any, names: tuple[str, str]) -> Any:
    return give_out(_looked_up(_core.frame_index_in, a, b, names), numpy)
