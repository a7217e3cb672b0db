"""What Sets and Set share: a collection of the library, and questions to it in numbers."""

from __future__ import annotations

import array as _array
import functools
import sys
from typing import Any, Iterable, Sequence

from . import _core
from ._arrays import BYTES, I64, U8, U32, U64, storage, take_in, take_in_as
from ._context import current
from ._gpu import Where, beside

# cohort_form, cohort_sets_op and cohort_look
MEMBERS, RANGES, ROARING = 1, 2, 4
AND, OR, ANDNOT, XOR, AT_LEAST = 1, 2, 3, 4, 5
CONTAINS, RANK, SELECT, NEXT, COUNT, MIN, MAX = 1, 2, 3, 4, 5, 6, 7

TYPES = {"uint32": U32, "uint64": U64}
_NAMES = {code: name for name, code in TYPES.items()}

Known = tuple[_core.Handle, int, int, int]


def type_code(name: str | None, default: int) -> int:
    """The number of a type of members."""
    if name is None:
        return default
    try:
        return TYPES[str(name)]
    except KeyError:
        raise ValueError(f"type: must be uint32 or uint64, not {name!r}") from None


def integers(values: Any, argument: str, where: Where = False) -> tuple[_core.Array, Any]:
    """Integers of an array, a list, a set or another iterable that is no array. `where` as of `take_in`."""
    numpy = sys.modules.get("numpy")
    if numpy is None or type(values) is not numpy.ndarray:
        if isinstance(values, (set, frozenset)) or hasattr(values, "__next__"):
            values = list(values)
    return take_in(values, argument, where)


def along(
    members: _core.Array, values: Any, argument: str, name: str = "members", on: _core.Context | None = None
) -> _core.Array:
    """Numbers that go with members, or what `name` says, in the same memory."""
    array = wide(values, argument, current() if on is None else on)
    return array if array._gpu == members._gpu else beside(members, array, values, (name, argument), on)


def natural(code: int) -> int:
    """The type of members for an array of a type."""
    return U64 if BYTES[storage(code)] == 8 else U32


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


class Collection:
    """A handle of the library's, and what is known of it."""

    __slots__ = ("handle", "sets", "type", "members")

    def __init__(self, known: Known) -> None:
        self.handle, self.sets, self.type, self.members = known

    @property
    def type_name(self) -> str:
        return _NAMES[self.type]

    def on(self, context: _core.Context, type: int) -> Collection:
        """The same sets on another context, or with wider members: itself, or a copy."""
        if self.handle.context is context and self.type == type:
            return self
        members, _, offsets, _ = self.export(MEMBERS)
        return build(MEMBERS, type, _core.cast(members, type, "members"), offsets=offsets, context=context)

    def export(
        self, form: int, which: _core.Array | None = None, groups: bool = False, blob_type: int = 0
    ) -> tuple[_core.Array, Any, _core.Array, Any]:
        return _core.sets_export(self.handle, form, which, self.sets, groups, blob_type)

    def look(
        self,
        kind: int,
        n: int,
        set: int = 0,
        which: _core.Array | None = None,
        values: _core.Array | None = None,
        lasts: _core.Array | None = None,
    ) -> tuple[Any, Any]:
        return _core.sets_look(self.handle, kind, n, set, which, None, values, lasts)

    def values(self, values: Any, argument: str) -> tuple[_core.Array, Any]:
        """Values as members' type, of the host or of the GPU that the sets are on. Those that cannot be members
        are OverflowError."""
        array, numpy = take_in_as(values, self.type, argument, self.handle.context)
        return _core.cast(array, self.type, argument), numpy


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
) -> Collection:
    if context is None:
        context = current()
    return Collection(_core.sets_build(context, form, type, sets, members, lasts, offsets, groups, 0))


def build_blobs(blobs: Iterable[Any], type: int) -> Collection:
    parts = [take_in(blob, f"blobs[{i}]")[0] for i, blob in enumerate(blobs)]
    data, offsets = _core.concat(parts, U8, "blobs")
    return build(ROARING, type, data, sets=len(parts), offsets=offsets)


def together(collections: Sequence[Collection]) -> tuple[Collection, ...]:
    """Collections that one query can take: on the context of the first, of one type."""
    if len(collections) == 1:
        return (collections[0],)
    if len(collections) == 2:  # mostly alike
        a, b = collections
        context, type = a.handle.context, a.type
        if type == b.type and b.handle.context is context:
            return a, b
    context = collections[0].handle.context
    type = max(c.type for c in collections)
    return tuple(c.on(context, type) for c in collections)


class Rows:
    """The sets of each row: numbers one behind the other, and where each row begins or how many each has."""

    __slots__ = ("count", "members", "offsets", "arity")

    def __init__(self, rows: Any, offsets: Any = None) -> None:
        self.offsets: _core.Array | None = None
        self.arity = 0
        if offsets is None and getattr(rows, "ndim", 0) == 2:
            self.count, self.arity = rows.shape
            self.members = _core.cast(take_in(rows.reshape(-1), "rows")[0], U64, "rows")
        elif offsets is not None:
            self.members = wide(rows, "rows")
            self.offsets = wide(offsets, "offsets")
            self.count = len(self.offsets) - 1
            last = self.offsets[-1] if len(self.offsets) else 0
            if self.count < 0 or last != len(self.members):
                raise ValueError(f"offsets: must end with {len(self.members)}, the number of sets in rows")
        else:
            lists = [integers(row, f"rows[{i}]")[0] for i, row in enumerate(rows)]
            self.count = len(lists)
            self.members, self.offsets = _core.concat(lists, U64, "rows")


def pairs_of(n: int, shift: int) -> _core.Array:
    """0, shift, 1, shift + 1, ... : rows of set r of one collection and set r of the next. It is not changed by
    anybody."""
    return _few_pairs(n, shift) if n <= 64 else _pairs(n, shift)


@functools.lru_cache(64)
def _few_pairs(n: int, shift: int) -> _core.Array:
    return _pairs(n, shift)


def _pairs(n: int, shift: int) -> _core.Array:
    both = _array.array("Q", bytes(16 * n))
    both[0::2] = _array.array("Q", range(n))
    both[1::2] = _array.array("Q", range(shift, shift + n))
    return _core.view(both, "rows")


def ask(
    collections: Sequence[Collection],
    op: int,
    members: _core.Array | None,
    *,
    rows: int = 1,
    arity: int = 0,
    offsets: _core.Array | None = None,
    each: int = 0,
    least: int = 0,
    counts: bool = False,
    any: bool = False,
    first: int = 0,
    sets: bool = False,
) -> tuple[Any, Any, Any, Any]:
    """One query of the library: (counts, any, (first members, offsets), collection), None for what is not
    wanted.
    """
    handles = tuple([c.handle for c in together(collections)])
    counted, found, firsts, known = _core.sets_query(
        handles, op, each, least, rows, members, offsets, arity, counts, any, first, sets
    )
    return signed(counted), found, firsts, None if known is None else Collection(known)
