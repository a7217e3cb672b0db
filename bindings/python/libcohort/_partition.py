"""partition, histogram and compact: each is one call of the library on arrays."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

from . import _core, _numpy
from ._arrays import BOOL, BYTES, F32, I8, NAMES, U32, U64, give_out, narrowed, storage, take_in
from ._errors import ArgumentError
from ._gpu import beside, context_for
from ._set import Set


class Partition(NamedTuple):
    """What `partition` answers. Bucket b is `keys[offsets[b]:offsets[b + 1]]`; with segments, bucket b of
    segment s has the number s * buckets + b. Entry j of `keys` was entry `index[j]` of the input, and entry i
    of the input is now entry `rank[i]`. What is not asked for is None.

    >>> import libcohort
    >>> p = libcohort.partition([5, 2, 7], 2, by="modulo")
    >>> p.offsets.tolist(), p.keys[0:1].tolist(), p.rank
    ([0, 1, 3], [2], None)
    """

    keys: Any
    offsets: Any
    values: Any
    index: Any
    rank: Any


# cohort_fn_kind
_KINDS = {"hash": 2, "modulo": 3}
_RANGES, _SPLITTERS, _IDS, _MEMBER = 4, 5, {1: 11, 2: 12, 4: 13}, 15


# What chooses a bucket, as arguments of the library, and where it is called with which keys: the context, keys,
# the number of buckets, kind, a, b, data.
_Chooser = tuple[_core.Context, _core.Array, int, int, int, int, "_core.Array | _core.Handle | None"]


def _chooser(
    keys: _core.Array, buckets: int | None, by: Any, range: tuple[int, int] | None, splitters: Any
) -> _Chooser:
    wide = keys if BYTES[keys._code] >= 4 else _core.cast(keys, storage(keys._code), "keys")
    if by is None and range is None and splitters is None and buckets is not None:
        return context_for(wide), wide, buckets, _KINDS["hash"], 0, 0, None
    if isinstance(by, Set) and range is None and splitters is None:
        wide, on, sets, number = by._chooses(keys, "keys")
        return on, wide, 2 if buckets is None else buckets, _MEMBER, number, 0, sets
    many, kind, a, b, data = _function(keys, buckets, by, range, splitters)
    return context_for(wide), wide, many, kind, a, b, data


def _range(range: Any) -> tuple[int, int]:
    """Both ends of a range."""
    try:
        least, most = range
        return operator.index(least), operator.index(most)
    except (TypeError, ValueError):
        raise TypeError(
            f"range: a pair of whole numbers (least, most) is due, not {range!r}"
        ) from None


def _function(
    keys: _core.Array, buckets: int | None, by: Any, range: tuple[int, int] | None, splitters: Any
) -> tuple[int, int, int, int, _core.Array | None]:
    """(buckets, kind, a, b, data) of what chooses a bucket."""
    if (by is not None) + (range is not None) + (splitters is not None) > 1:
        raise TypeError("by, range and splitters exclude each other")
    signed = I8 <= keys._code and keys._code != BOOL
    if splitters is not None:
        data = beside(keys, take_in(splitters, "splitters", True)[0], splitters, ("keys", "splitters"))
        if signed:
            raise TypeError(f"splitters: keys must be unsigned integers, not {keys.type}")
        return len(data) + 1, _SPLITTERS, 0, 0, _core.cast(data, storage(keys._code), "splitters")
    if buckets is None:
        raise TypeError("buckets: a number is due")
    if range is not None:
        least, most = _range(range)
        if signed and (least < 0 or keys._code >= F32):
            raise TypeError(
                f"range: keys must be integers that are not negative, not {keys.type} from {least}"
            )
        if least < 0 or most < 0:
            raise ArgumentError(f"range: must not be negative, and is {range!r}")
        return buckets, _RANGES, least, most, None
    if by is None or isinstance(by, str):
        kind = _KINDS.get(by or "hash")
        if kind is None:
            raise ValueError(f"by: must be 'hash', 'modulo', an array of bucket numbers or a Set, not {by!r}")
        return buckets, kind, 0, 0, None
    data = beside(keys, take_in(by, "by", True)[0], by, ("keys", "by"))
    if BYTES[data._code] == 8 or I8 <= data._code != BOOL:
        data = _core.cast(data, U32, "by")
    return buckets, _IDS[BYTES[data._code]], 0, 0, data


def partition(
    keys: Any,
    buckets: int | None = None,
    by: Any = None,
    *,
    range: tuple[int, int] | None = None,
    splitters: Any = None,
    values: Any = None,
    segments: Any = None,
    return_index: bool = False,
    return_rank: bool = False,
) -> Partition:
    """Puts keys, and values with them, in order of a bucket each; within a bucket they keep their order (a
    stable multisplit).

    The bucket is a hash of the key (`by="hash"`, the default), the key's bits as an unsigned number modulo
    `buckets` (`by="modulo"`), `by[i]` where `by` is an array, 1 for the members of `by` and 0 for other keys
    where it is a `Set`, the one of `buckets` equal parts of `range` = (least, most), or how many of the sorted
    `splitters` are at most the key. At most 65,536 buckets.

    With `segments`, offsets that begin with 0 and end with the number of keys, the keys from `segments[s]` to
    `segments[s + 1]` are put in order by themselves. At most 4,194,304 segments times buckets.

    >>> import libcohort
    >>> p = libcohort.partition([5, 2, 7, 4], 2, by="modulo", return_rank=True)
    >>> p.keys.tolist(), p.offsets.tolist(), p.rank.tolist()
    ([2, 4, 5, 7], [0, 2, 4], [2, 0, 3, 1])
    >>> p = libcohort.partition([5, 2, 7, 4], 2, by="modulo", segments=[0, 3, 4])
    >>> p.keys.tolist(), p.offsets.tolist()
    ([2, 5, 7, 4], [0, 1, 3, 4, 4])
    >>> libcohort.partition([5, 2, 7, 4], by=libcohort.Set([4, 5])).keys.tolist()
    [2, 7, 5, 4]
    """
    given, numpy = take_in(keys, "keys", True)
    chooser = _chooser(given, buckets, by, range, splitters)
    column = bounds = None
    if values is not None:
        column, _ = take_in(values, "values", True)
        if column._gpu != given._gpu:
            column = beside(given, column, values, ("keys", "values"))
    if segments is not None:
        bounds = _core.cast(take_in(segments, "segments", True)[0], U64, "segments")
    none = bounds is not None and len(bounds) == 1 and bounds[0] == len(given) == 0  # not one segment
    parts = _core.split(*chooser, column, return_index, return_rank, None if none else bounds)
    out, offsets, column, index, rank = parts
    if out._code != given._code:
        out = narrowed(out, given._code)
    offsets = offsets[:1] if none else offsets
    if numpy is None:
        return Partition(out, offsets, column, index, rank)
    all = (
        give_out(out, numpy),
        give_out(offsets, numpy),
        None if column is None else give_out(column, numpy),
        None if index is None else give_out(index, numpy),
        None if rank is None else give_out(rank, numpy),
    )
    return tuple.__new__(Partition, all)


def histogram(
    keys: Any,
    buckets: int | None = None,
    by: Any = None,
    *,
    range: tuple[int, int] | None = None,
    splitters: Any = None,
) -> Any:
    """How many keys are in each bucket; buckets as in `partition`.

    >>> import libcohort
    >>> libcohort.histogram([1, 5, 9], 2, range=(0, 9)).tolist()
    [1, 2]
    """
    given, numpy = take_in(keys, "keys", True)
    return give_out(_core.histogram(*_chooser(given, buckets, by, range, splitters)), numpy)


def compact(values: Any, mask: Any) -> Any:
    """The values where the mask, of booleans, is true: `values[mask]` of numpy. A `Set` in the mask's place
    keeps its members, as `Set.filter`.

    >>> import libcohort
    >>> libcohort.compact([4, 5, 6], libcohort.is_in([4, 5, 6], [5])).tolist()
    [5]
    >>> libcohort.compact([6, 5, 4], libcohort.Set([4, 6])).tolist()
    [6, 4]
    """
    if isinstance(mask, Set):
        return mask.filter(values)
    given, numpy = take_in(values, "values", True)
    if isinstance(mask, (list, tuple)) and not mask:
        mask = memoryview(b"").cast("?")
    chosen = beside(given, take_in(mask, "mask", True)[0], mask, ("values", "mask"))
    if chosen._code != BOOL:
        raise TypeError(f"mask: must be of type bool, not {NAMES[chosen._code]}")
    wide = _core.cast(given, storage(given._code), "values")
    out = give_out(narrowed(_core.compact(context_for(wide), wide, chosen, 0), given._code), numpy)
    return out.view(values.dtype) if numpy is not None and _numpy.are_dates(values) else out
