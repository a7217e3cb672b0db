"""Set, one immutable set of integers: of its own, or one of a collection."""

from __future__ import annotations

import sys
from typing import Any, Iterator

from . import _collection as c
from . import _core, _sets
from ._arrays import BOOL, BYTES, F32, I8, I64, NAMES, U32, narrowed, storage, take_in
from ._context import current
from ._gpu import context_for


class Set:
    """An immutable set of integers: `Set(array)`, or set i of a collection, `sets[i]`, without a copy.

    Members as in `Sets`. It has what a `frozenset` has: `in`, `len`, iteration, `&`, `|`, `-`, `^`,
    comparisons; and rank, select and next. An array of booleans is a mask: its members are where it is true.
    All functions that take arrays take a Set, as its members in ascending order.

    >>> import libcohort
    >>> s = libcohort.Set([5, 3, 3, 9], type="uint32")
    >>> s
    libcohort.Set([3, 5, 9], type='uint32')
    >>> 5 in s, len(s), s.min(), s.next(6)
    (True, 3, 3, 9)
    >>> s - libcohort.Set([3])
    libcohort.Set([5, 9], type='uint64')
    """

    __slots__ = ("_in", "_at", "_size", "__weakref__")
    __array_ufunc__ = None  # so that numpy leaves operators to this class

    _in: _sets.Sets
    _at: int
    _size: int

    def __init__(self, members: Any = (), *, type: str | None = None) -> None:
        on = current()
        given, numpy = c.integers(members, "members", on)
        if given._code == BOOL:
            n = len(given)
            there = [] if given._gpu is None else [on]
            given = _core.compact(on, _core.iota(n, U32 if n <= 1 << 32 else I64, *there), given, 0)
        code = c.type_code(type, c.natural(given._code))
        given = _core.cast(given, code, "members")
        of = _core.sets_build(on, c.MEMBERS, code, 1, given, None, None, None, 0)
        self._in = _sets.Sets._wrap(of, numpy)
        self._at, self._size = 0, of.members

    @classmethod
    def _wrap(cls, sets: _sets.Sets, at: int) -> Set:
        set = cls.__new__(cls)
        set._in, set._at, set._size = sets, at, -1
        return set

    @classmethod
    def from_roaring(cls, blob: Any, *, type: str = "uint32") -> Set:
        """A set from bytes in Roaring's portable format, of 32 or of 64 bits (`type`).

        >>> import libcohort
        >>> blob = libcohort.Set([7, 9], type="uint32").to_roaring()
        >>> libcohort.Set.from_roaring(blob).tolist()
        [7, 9]
        """
        return cls._wrap(_sets.Sets.from_roaring([blob], type=type), 0)

    def to_roaring(self, *, type: str | None = None) -> bytes:
        """The set as bytes in Roaring's portable format.

        >>> import libcohort
        >>> blob = libcohort.Set([1, 2, 3], type="uint32").to_roaring()
        >>> libcohort.Set.from_roaring(blob)
        libcohort.Set([1, 2, 3], type='uint32')
        """
        return self._in.to_roaring([self._at], type=type)[0]

    @property
    def type(self) -> str:
        """The members' type, "uint32" or "uint64".

        >>> import libcohort
        >>> libcohort.Set([1, 2]).type
        'uint64'
        """
        return self._in.type

    @property
    def _numpy(self) -> Any:
        return self._in._numpy

    def __len__(self) -> int:
        if self._size < 0:
            self._size = c.look(self._in._of, c.COUNT, 1, self._at)[0][0]
        return self._size

    def members(self) -> Any:
        """All members, as an array in ascending order.

        >>> import libcohort
        >>> libcohort.Set([3, 1]).members().tolist()
        [1, 3]
        """
        return self._in._out(self._members())

    def _members(self) -> _core.Array:
        return self._in._rows(c.wide([self._at], ""))[1]

    def tolist(self) -> list[int]:
        """All members, as a list in ascending order.

        >>> import libcohort
        >>> libcohort.Set([3, 1, 3]).tolist()
        [1, 3]
        """
        return self._members().tolist()

    def mask(self, n: int) -> Any:
        """An array of n booleans, whether each of 0 .. n - 1 is a member.

        >>> import libcohort
        >>> libcohort.Set([1, 3, 9]).mask(4).tolist()
        [False, True, False, True]
        """
        n = _core.number(n, "n", 0, 2**63 - 1)
        numbers = _core.cast(_core.iota(n, I64), self._in._of.type, "n")
        return self._in.contains(numbers, self._at)

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __contains__(self, value: Any) -> bool:
        try:
            return bool(self._in.contains([value], self._at)[0])
        except (OverflowError, TypeError):
            return False

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy

        members = numpy.asarray(self._members())
        return members if dtype is None else members.astype(dtype)

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        return self._members().__arrow_c_array__(requested_schema)

    # ---- questions

    def contains(self, values: Any) -> Any:
        """For each value whether it is a member.

        >>> import libcohort
        >>> libcohort.Set([1, 3]).contains([1, 2]).tolist()
        [True, False]
        """
        return self._in.contains(values, self._at)

    def filter(self, values: Any) -> Any:
        """The values that are members, in their order and as often as they are there. A value that cannot be
        a member, being negative or too large, is none.

        >>> import libcohort
        >>> libcohort.Set([1, 3]).filter([3, -1, 2, 1, 3]).tolist()
        [3, 1, 3]
        """
        given, numpy = take_in(values, "values", True)
        wide, on, sets, number = self._chooses(given, "values")
        kept = narrowed(_core.compact(on, wide, sets, number), given._code)
        return self._in._out(kept, numpy)

    def _chooses(
        self, keys: _core.Array, argument: str
    ) -> tuple[_core.Array, _core.Context, _core.Handle, int]:
        """For a function of keys: the keys in the width that the library takes, a context of their memory,
        and there the collection and the set that has those of them that are members."""
        if keys._code >= F32 and keys._code != BOOL:
            raise TypeError(f"{argument}: must be integers to be members of a set, not {NAMES[keys._code]}")
        of, number, code = self._in._of, self._at, storage(keys._code)
        on = of.context if keys._gpu is None else context_for(keys)
        # The bits of a negative key are no member.
        most = (1 << (8 * BYTES[code] - 1)) - 1
        beyond = code >= I8 and not self._is_below(most)
        if beyond or of.context is not on:
            members = self._members()
            members = members[: self.rank(most + 1)] if beyond else members
            of, number = c.build(c.MEMBERS, of.type, members, sets=1, context=on), 0
        return _core.cast(keys, code, argument), on, of, number

    def _is_below(self, most: int) -> bool:
        greatest, found = c.look(self._in._of, c.MAX, 1, self._at)
        return not found[0] or bool(greatest[0] <= most)

    def rank(self, values: Any) -> Any:
        """How many members are below the value, or below each of an array of them.

        >>> import libcohort
        >>> s = libcohort.Set([10, 20, 30])
        >>> s.rank(20), s.rank([10, 99]).tolist()
        (1, [0, 3])
        """
        if hasattr(values, "__index__") and not getattr(values, "ndim", 0):  # arrays of numpy have it, too
            return int(self._in.rank([values], self._at)[0])
        return self._in.rank(values, self._at)

    def select(self, rank: int) -> int:
        """The member of a rank, counted from 0; from the end if it is negative.

        >>> import libcohort
        >>> libcohort.Set([10, 20, 30]).select(-1)
        30
        """
        at = rank + len(self) if rank < 0 else rank
        members, found = self._in.select([max(at, 0)], self._at)
        if at < 0 or not found[0]:
            raise IndexError(f"rank {rank}: {_sets.there_are(len(self), 'member')}")
        return int(members[0])

    def next(self, value: int) -> int | None:
        """The least member that is not below the value; None if there is none.

        >>> import libcohort
        >>> s = libcohort.Set([10, 20])
        >>> s.next(11), s.next(21)
        (20, None)
        """
        members, found = self._in.next([value], self._at)
        return int(members[0]) if found[0] else None

    def _end(self, kind: int) -> int:
        members, found = c.look(self._in._of, kind, 1, self._at)
        if not found[0]:
            raise ValueError("the set is empty")
        return int(members[0])

    def min(self) -> int:
        """The least member; ValueError if the set is empty.

        >>> import libcohort
        >>> libcohort.Set([10, 20]).min()
        10
        """
        return self._end(c.MIN)

    def max(self) -> int:
        """The greatest member; ValueError if the set is empty.

        >>> import libcohort
        >>> libcohort.Set([10, 20]).max()
        20
        """
        return self._end(c.MAX)

    # ---- operators and comparisons

    def _any(self, op: int, other: Set) -> bool:
        """Whether what the operation makes of both has a member."""
        ours, theirs = self._in._of, other._in._of
        return bool(c.any_of(ours, theirs, op, c.pair(self._at, ours.sets + other._at))[0])

    def _combine(self, op: int, other: Any) -> Any:
        if isinstance(other, Set):
            ours, theirs = self._in._of, other._in._of
            of = c.combined(ours, theirs, op, c.pair(self._at, ours.sets + other._at), 1, 2)
            return Set._wrap(_sets.Sets._wrap(of, self._in._numpy or other._in._numpy), 0)
        if not isinstance(other, _sets.Sets):
            return NotImplemented
        n = len(other)  # this set with each of them
        of = c.combined(other._of, self._in._of, op, c.wide([n + self._at], ""), n, 1, 1)
        return _sets.Sets._wrap(of, self._numpy or other._numpy)

    def __and__(self, other: Any) -> Any:
        return self._combine(c.AND, other)

    def __or__(self, other: Any) -> Any:
        return self._combine(c.OR, other)

    def __sub__(self, other: Any) -> Any:
        return self._combine(c.ANDNOT, other)

    def __xor__(self, other: Any) -> Any:
        return self._combine(c.XOR, other)

    def isdisjoint(self, other: Set) -> bool:
        """Whether the sets have no member in common.

        >>> import libcohort
        >>> libcohort.Set([1, 2]).isdisjoint(libcohort.Set([3]))
        True
        """
        return not self._any(c.AND, other)

    def issubset(self, other: Set) -> bool:
        """Whether all members are members of the other too.

        >>> import libcohort
        >>> libcohort.Set([1]).issubset(libcohort.Set([1, 2]))
        True
        """
        return not self._any(c.ANDNOT, other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Set):
            return NotImplemented
        return len(self) == len(other) and not self._any(c.XOR, other)

    __hash__ = None  # type: ignore[assignment]

    def __le__(self, other: Any) -> bool:
        return self.issubset(other) if isinstance(other, Set) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return other.issubset(self) if isinstance(other, Set) else NotImplemented

    def __lt__(self, other: Any) -> bool:
        return self <= other and len(self) < len(other) if isinstance(other, Set) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self >= other and len(self) > len(other) if isinstance(other, Set) else NotImplemented

    # ---- copies

    def copy(self) -> Set:
        """The set itself: it never changes.

        >>> import libcohort
        >>> s = libcohort.Set([1])
        >>> s.copy() is s
        True
        """
        return self

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Set:
        return self

    def __reduce__(self) -> Any:
        return _restore_one, (self.to_roaring(), self.type, self._numpy is not None)

    def __repr__(self) -> str:
        n = len(self)
        shown = self.tolist() if n <= 12 else [self.select(i) for i in (0, 1, 2, 3, 4, 5)]
        text = ", ".join(map(str, shown)) + (f", ..., {self.max()}" if n > 12 else "")
        return f"libcohort.Set([{text}], type='{self.type}'" + (f", length={n})" if n > 12 else ")")


def _restore_one(blob: bytes, type: str, numpy: bool) -> Set:
    set = Set.from_roaring(blob, type=type)
    set._in._numpy = sys.modules.get("numpy") if numpy else None
    return set
