"""What Sets and Set share: a collection of the library, and questions to it in numbers."""

from __future__ import annotations

import array as _array
import functools
from typing import Any, Iterable, Sequence

from . import _core
from ._arrays import BYTES, I64, U8, U32, U64
from ._context import current
from ._gpu import Where, beside

# cohort_form, cohort_sets_op and cohort_look
MEMBERS, RANGES, ROARING = 1, 2, 4
AND, OR, ANDNOT, XOR, AT_LEAST = 1, 2, 3, 4, 5
CONTAINS, RANK, SELECT, NEXT, COUNT, MIN, MAX = 1, 2, 3, 4, 5, 6, 7

TYPES = {"uint32": U32, "uint64": U64}
_NATURAL = [U64 if bytes == 8 else U32 for bytes in BYTES]
_NAMES = {code: name for name, code in TYPES.items()}


def type_code(name: str | None, default: int) -> int:
    """The number of a type of members."""
    if name is None:
        return default
    try:
        return TYPES[str(name)]
    except KeyError:
        raise ValueError(f"type: must be uint32 or uint64, not {name!r}") from None


# (values, argument, where=False): integers of an array, a list, a set or another iterable that is no array.
# `where` as of `take_in`.
integers = _core.take_integers


def along(
    members: _core.Array, values: Any, argument: str, name: str = "members", on: _core.Context | None = None
) -> _core.Array:
    """Numbers that go with members, or what `name` says, in the same memory."""
    array = wide(values, argument, current() if on is None else on)
    return array if array._gpu == members._gpu else beside(members, array, values, (name, argument), on)


def natural(code: int) -> int:
    """The type of members for an array of a type."""
    return _NATURAL[code]


def wide(values: Any, argument: str, where: Where = False) -> _core.Array:
    """Numbers of sets and the like, as uint64."""
    return _core.cast(integers(values, argument, where)[0], U64, argument)


def signed(array: _core.Array | None) -> Any:
    """Counts as numpy counts: the same memory as int64."""
    return None if array is None else _core.retype(array, I64)


@functools.lru_cache(64)
def pair(a: int, b: int) -> _core.Array:
    """A row of two sets. It is not changed by anybody."""
    return wide([a, b], "")


def numbered(n: int) -> _core.Array:
    return _core.retype(_core.iota(n, I64), U64)


def type_name(of: _core.Handle) -> str:
    return _NAMES[of.type]


def on(of: _core.Handle, context: _core.Context, type: int) -> _core.Handle:
    """The same sets on another context, or with wider members: itself, or a copy."""
    if of.context is context and of.type == type:
        return of
    members, _, offsets, _ = export(of, MEMBERS)
    return build(MEMBERS, type, _core.cast(members, type, "members"), offsets=offsets, context=context)


def export(
    of: _core.Handle, form: int, which: _core.Array | None = None, groups: bool = False, blob_type: int = 0
) -> tuple[_core.Array, Any, _core.Array, Any]:
    return _core.sets_export(of, form, which, of.sets, groups, blob_type)


def look(
    of: _core.Handle,
    kind: int,
    n: int,
    set: int = 0,
    which: _core.Array | None = None,
    values: _core.Array | None = None,
    lasts: _core.Array | None = None,
) -> tuple[Any, Any]:
    return _core.sets_look(of, kind, n, set, which, None, values, lasts)


def values_for(of: _core.Handle, values: Any, argument: str) -> tuple[_core.Array, Any]:
    """Values as members' type, of the host or of the GPU that the sets are on. Those that cannot be members
    are OverflowError."""
    return _core.take_in_as(values, of.type, argument, of.context)


def build(
    form: int,
    type: int,
    members: _core.Array,
    *,
    sets: int = 0,
    lasts: _core.Array | None = None,
    offsets: _core.Array | None = None,
    groups: _core.Array | None = None,
    context: _core.Context | None = None,
) -> _core.Handle:
    if context is None:
        context = current()
    return _core.sets_build(context, form, type, sets, members, lasts, offsets, groups, 0)


def build_blobs(blobs: Iterable[Any], type: int) -> _core.Handle:
    parts = _core.take_each(list(blobs), "blobs", False)[0]
    data, offsets = _core.concat(parts, U8, "blobs")
    return build(ROARING, type, data, sets=len(parts), offsets=offsets)


def together(collections: Sequence[_core.Handle]) -> tuple[_core.Handle, ...]:
    """Collections that one query can take: on the context of the first, of one type."""
    context, type = collections[0].context, max([of.type for of in collections])
    return tuple([on(of, context, type) for of in collections])


def rows_of(rows: Any, offsets: Any = None) -> tuple[int, _core.Array, _core.Array | None, int]:
    """The sets of each row: (how many rows, numbers of sets one behind the other, where each row begins or
    None, how many each has or 0)."""
    if offsets is None and getattr(rows, "ndim", 0) == 2:
        count, arity = rows.shape
        return count, _core.take_in_as(rows.reshape(-1), U64, "rows")[0], None, arity
    if offsets is None:
        lists = _core.take_each(rows if isinstance(rows, (list, tuple)) else list(rows), "rows", False)[0]
        return len(lists), *_core.concat(lists, U64, "rows"), 0
    members = wide(rows, "rows")
    ends = wide(offsets, "offsets")
    last = ends[-1] if len(ends) else 0
    if not len(ends) or last != len(members):
        raise ValueError(f"offsets: must end with {len(members)}, the number of sets in rows")
    return len(ends) - 1, members, ends, 0


def pairs_of(n: int, shift: int) -> _core.Array:
    """0, shift, 1, shift + 1, ... : rows of set r of one collection and set r of the next. It is not changed
    by anybody."""
    return _few_pairs(n, shift) if n <= 64 else _pairs(n, shift)


@functools.lru_cache(64)
def _few_pairs(n: int, shift: int) -> _core.Array:
    return _pairs(n, shift)


def _pairs(n: int, shift: int) -> _core.Array:
    both = _array.array("Q", bytes(16 * n))
    both[0::2] = _array.array("Q", range(n))
    both[1::2] = _array.array("Q", range(shift, shift + n))
    return _core.view(both, "rows")


def any_of(a: _core.Handle, b: _core.Handle, op: int, members: _core.Array, rows: int = 1) -> _core.Array:
    """Whether rows of two sets each, of `a` and of `b` numbered on, have a member in common, say."""
    pair = (a, b) if _core.sets_alike(a, b) else together((a, b))
    any: _core.Array = _core.sets_query(pair, op, 0, 0, rows, members, None, 2, False, True, 0, False)[1]
    return any


def combined(
    a: _core.Handle,
    b: _core.Handle | None,
    op: int,
    members: _core.Array,
    rows: int,
    arity: int,
    each: int = 0,
) -> _core.Handle:
    """A collection with a set for each row of sets of `a` and, numbered on, of `b`."""
    of = (a,) if b is None else (a, b) if _core.sets_alike(a, b) else together((a, b))
    known = _core.sets_query(of, op, each, 0, rows, members, None, arity, False, False, 0, True)
    made: _core.Handle = known[3]
    return made
