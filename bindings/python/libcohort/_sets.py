"""Sets, an immutable collection of sets of integers."""

from __future__ import annotations

import os
import sys
from typing import Any, Iterable, Iterator, Sequence

from . import _collection as c
from . import _core, _set
from ._arrays import I64, U32, U64, give_out, take_in
from ._context import current
from ._gpu import beside

_OPS = {"and": c.AND, "or": c.OR, "andnot": c.ANDNOT, "xor": c.XOR, "atleast": c.AT_LEAST}
_WANTS = ("sets", "counts", "any", "first")
_BLOCK = 4096  # sets that an iteration takes out at once


def plural(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


def there_are(n: int, what: str) -> str:
    return f"there {'is' if n == 1 else 'are'} {plural(n, what)}"


class Sets:
    """An immutable collection of sets of integers, stored as bitmaps, runs and sorted arrays, whichever is
    smallest.

    `Sets(arrays)` has a set for each array. Members are of 32 bits, or of 64 where an array has elements of 8
    bytes (as lists have), unless `type` ("uint32", "uint64") says otherwise; they may come in any order and
    several times. Other ways: `from_pairs`, `from_rows`, `from_ranges`, `from_roaring`, `load`.

    `s[i]` is a `Set`, without a copy; `s[[3, 5]]` and `s[1:4]` are collections. `s & t`, `|`, `-` and `^`
    work set by set on collections of the same length, or with one `Set`. `query` answers many rows of sets in
    one call.

    >>> import libcohort
    >>> s = libcohort.Sets([[1, 2, 3], [2, 3, 4], []], type="uint32")
    >>> s.query("and", [[0, 1], [0, 2]], want="counts").tolist()
    [2, 0]
    >>> s[0] | s[1]
    libcohort.Set([1, 2, 3, 4], type='uint32')
    >>> s
    libcohort.Sets(3 sets, 6 members, uint32)
    """

    __slots__ = ("_of", "_numpy", "__weakref__")
    __array_ufunc__ = None  # so that numpy leaves operators to this class

    _of: _core.Handle
    _numpy: Any

    def __init__(self, arrays: Iterable[Any] = (), *, type: str | None = None) -> None:
        context, given = current(), arrays if isinstance(arrays, (list, tuple)) else list(arrays)
        parts, self._numpy, wide, first = _core.take_each(given, "arrays", context)
        code = c.type_code(type, U64 if wide else U32)
        if first >= 0:  # all of them go there
            for i, part in enumerate(parts):
                part = _core.cast(part, code, f"arrays[{i}]")
                names = f"arrays[{first}]", f"arrays[{i}]"
                parts[i] = beside(parts[first], part, given[i], names, context)
        members, offsets = _core.concat(parts, code, "arrays", context if first >= 0 else None)
        self._of = _core.sets_build(context, c.MEMBERS, code, 0, members, None, offsets, None, 0)

    @classmethod
    def _wrap(cls, of: _core.Handle, numpy: Any) -> Sets:
        sets = cls.__new__(cls)
        sets._of, sets._numpy = of, numpy
        return sets

    # ---- made from

    @classmethod
    def from_pairs(cls, groups: Any, members: Any, *, sets: int = 0, type: str | None = None) -> Sets:
        """Set groups[i] has the member members[i]; pairs in any order. As many sets as the greatest group
        says, or `sets`.

        >>> import libcohort
        >>> libcohort.Sets.from_pairs([0, 2, 0], [5, 6, 7]).sizes.tolist()
        [2, 0, 1]
        """
        given, numpy = take_in(members, "members", current())
        numbers, numpy_too = take_in(groups, "groups", current())
        if numbers._gpu != given._gpu:
            numbers = beside(given, numbers, groups, ("members", "groups"))
        code = c.type_code(type, c.natural(given._code))
        numbers = _core.cast(numbers, c.natural(numbers._code), "groups")
        of = c.build(c.MEMBERS, code, _core.cast(given, code, "members"), sets=sets, groups=numbers)
        if not len(numbers) and not sets:
            of = c.build(c.MEMBERS, code, _core.cast(given, code, "members"), offsets=c.wide([0], ""))
        return cls._wrap(of, numpy or numpy_too)

    @classmethod
    def from_rows(cls, offsets: Any, members: Any, *, type: str | None = None) -> Sets:
        """Set s has members[offsets[s]:offsets[s + 1]]: compressed sparse rows.

        >>> import libcohort
        >>> libcohort.Sets.from_rows([0, 2, 3], [5, 7, 6]).sizes.tolist()
        [2, 1]
        """
        given, numpy = take_in(members, "members", current())
        code = c.type_code(type, c.natural(given._code))
        rows = c.along(given, offsets, "offsets")
        of = c.build(c.MEMBERS, code, _core.cast(given, code, "members"), offsets=rows)
        return cls._wrap(of, numpy)

    @classmethod
    def from_ranges(
        cls, firsts: Any, lasts: Any, groups: Any = None, *, sets: int = 0, type: str | None = None
    ) -> Sets:
        """Set groups[i] has all from firsts[i] to lasts[i], both included; without groups all ranges are one
        set.

        >>> import libcohort
        >>> libcohort.Sets.from_ranges([10, 0], [12, 4], [1, 0]).sizes.tolist()
        [5, 3]
        """
        a, numpy = take_in(firsts, "firsts", current())
        b, _ = take_in(lasts, "lasts", current())
        if a._gpu != b._gpu:
            b = beside(a, b, lasts, ("firsts", "lasts"))
        code = c.type_code(type, max(c.natural(a._code), c.natural(b._code)))
        numbers = None if groups is None else c.along(a, groups, "groups")
        a, b = _core.cast(a, code, "firsts"), _core.cast(b, code, "lasts")
        return cls._wrap(c.build(c.RANGES, code, a, sets=sets, lasts=b, groups=numbers), numpy)

    @classmethod
    def from_roaring(cls, blobs: Any, *, type: str = "uint32") -> Sets:
        """A set for each blob of bytes in Roaring's portable format, of 32 or of 64 bits (`type`).

        >>> import libcohort
        >>> libcohort.Sets.from_roaring(libcohort.Sets([[1, 2]], type="uint32").to_roaring())[0]
        libcohort.Set([1, 2], type='uint32')
        """
        if isinstance(blobs, (bytes, bytearray, memoryview)):
            blobs = [blobs]
        return cls._wrap(c.build_blobs(blobs, c.type_code(type, U32)), None)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, mmap: bool = False, validate: bool = True) -> Sets:
        """Reads a file of `save`. With `mmap` the file is the collection, mapped to be read, and shared with
        other processes that map it; it must stay as it is. Then `validate=False` leaves the members unjudged,
        and loading takes no time.

        >>> import libcohort, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "sets")
        >>> libcohort.Sets([[1, 2], [3]]).save(path)
        >>> libcohort.Sets.load(path, mmap=True).sizes.tolist()
        [2, 1]
        """
        return cls._wrap(_core.sets_load(current(), path, mmap, validate), None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the collection to a file, which is there whole or not at all.

        >>> import libcohort, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "sets")
        >>> libcohort.Sets([[1, 2], [3]]).save(path)
        >>> libcohort.Sets.load(path)
        libcohort.Sets(2 sets, 3 members, uint64)
        """
        _core.sets_save(self._of, path)

    # ---- what it is

    def __len__(self) -> int:
        return self._of.sets

    @property
    def type(self) -> str:
        """The members' type, "uint32" or "uint64".

        >>> import libcohort
        >>> libcohort.Sets([[1]], type="uint32").type
        'uint32'
        """
        return c.type_name(self._of)

    @property
    def total(self) -> int:
        """Members of all sets.

        >>> import libcohort
        >>> libcohort.Sets([[1, 2], [2]]).total
        3
        """
        return self._of.members

    @property
    def sizes(self) -> Any:
        """How many members each set has.

        >>> import libcohort
        >>> libcohort.Sets([[1, 2], [], [2]]).sizes.tolist()
        [2, 0, 1]
        """
        n = len(self)
        return self._out(c.signed(c.look(self._of, c.COUNT, n, which=c.numbered(n))[0]))

    def stats(self) -> dict[str, int]:
        """How the sets are stored: lists, chunks by kind, bytes of memory.

        >>> import libcohort
        >>> libcohort.Sets([[1, 2]]).stats()["bytes"] > 0
        True
        """
        return _core.sets_counts(self._of)

    def _out(self, array: Any, numpy: Any = None) -> Any:
        return array if array._gpu is not None else give_out(array, numpy or self._numpy)

    def _number(self, number: Any) -> int:
        n, i = self._of.sets, number.__index__()
        if not -n <= i < n:
            raise IndexError(f"set {i}: {there_are(n, 'set')}")
        return int(i % n)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, slice):
            which = range(*which.indices(len(self)))
        elif hasattr(which, "__index__") and not getattr(which, "ndim", 0):
            return _set.Set._wrap(self, self._number(which))
        numbers = c.wide(which, "which")
        of = c.combined(self._of, None, c.OR, numbers, len(numbers), 1)
        return Sets._wrap(of, self._numpy)

    def __iter__(self) -> Iterator[Any]:
        """The members of each set, as an array in ascending order."""
        for first in range(0, len(self), _BLOCK):
            offsets, members = self._rows(c.wide(range(first, min(first + _BLOCK, len(self))), ""))
            at = offsets.tolist()
            members = self._out(members)
            for a, b in zip(at, at[1:]):
                yield members[a:b]

    def _rows(self, which: _core.Array | None) -> tuple[_core.Array, _core.Array]:
        members, _, offsets, _ = c.export(self._of, c.MEMBERS, which)
        return _core.retype(offsets, I64), members

    def to_rows(self, which: Any = None) -> tuple[Any, Any]:
        """(offsets, members) of all sets or of those of the numbers `which`, as `from_rows` takes them.

        >>> import libcohort
        >>> offsets, members = libcohort.Sets([[7, 5], [], [1]]).to_rows()
        >>> offsets.tolist(), members.tolist()
        ([0, 2, 2, 3], [5, 7, 1])
        """
        offsets, members = self._rows(None if which is None else c.wide(which, "which"))
        return self._out(offsets), self._out(members)

    def to_pairs(self) -> tuple[Any, Any]:
        """(groups, members): the number of a set and a member of it, in order.

        >>> import libcohort
        >>> [x.tolist() for x in libcohort.Sets([[7, 5], [1]]).to_pairs()]
        [[0, 0, 1], [5, 7, 1]]
        """
        members, _, _, groups = c.export(self._of, c.MEMBERS, None, True)
        return self._out(c.signed(groups)), self._out(members)

    def to_ranges(self) -> tuple[Any, Any, Any]:
        """(offsets, firsts, lasts): set s has the ranges offsets[s] to offsets[s + 1].

        >>> import libcohort
        >>> [x.tolist() for x in libcohort.Sets([[1, 2, 3, 7]]).to_ranges()]
        [[0, 2], [1, 7], [3, 7]]
        """
        firsts, lasts, offsets, _ = c.export(self._of, c.RANGES)
        return self._out(c.signed(offsets)), self._out(firsts), self._out(lasts)

    def to_roaring(self, which: Any = None, *, type: str | None = None) -> list[bytes]:
        """Each set as bytes in Roaring's portable format, of 32 or of 64 bits (`type`; else as the members
        are).

        >>> import libcohort
        >>> len(libcohort.Sets([[1, 2], [3]]).to_roaring())
        2
        """
        numbers = None if which is None else c.wide(which, "which")
        data, _, offsets, _ = c.export(self._of, c.ROARING, numbers, False, c.type_code(type, 0))
        view, at = memoryview(data), offsets.tolist()
        return [bytes(view[a:b]) for a, b in zip(at, at[1:])]

    # ---- questions

    def _asked(self, which: Any, values: _core.Array) -> tuple[int, int, _core.Array | None]:
        """(how many questions, set, numbers of sets): one set for all values, or one for each."""
        n = len(values)
        if type(which) is int or (hasattr(which, "__index__") and not getattr(which, "ndim", 0)):
            return n, self._number(which), None
        numbers = c.along(values, which, "which", "values", self._of.context)
        if len(numbers) != n:
            entries = "entry" if len(numbers) == 1 else "entries"
            raise ValueError(f"which: has {len(numbers)} {entries}, and values has {n}")
        return n, 0, numbers

    def _look(self, kind: int, values: Any, which: Any, argument: str = "values") -> tuple[Any, Any, Any]:
        if kind == c.SELECT:
            array, numpy = c.integers(values, argument, self._of.context)
            array = _core.cast(array, U64, argument)
        else:
            array, numpy = c.values_for(self._of, values, argument)
        return *c.look(self._of, kind, *self._asked(which, array), array), numpy

    def contains(self, values: Any, which: Any = 0) -> Any:
        """For each value whether it is a member of set `which`, a number or an array with one for each value.

        >>> import libcohort
        >>> libcohort.Sets([[1, 2], [3]]).contains([1, 3, 3], [0, 0, 1]).tolist()
        [True, False, True]
        """
        _, hit, numpy = self._look(c.CONTAINS, values, which)
        return self._out(hit, numpy)

    def containing(self, values: Any) -> tuple[Any, Any]:
        """(offsets, sets): values[i] is a member of the sets sets[offsets[i]:offsets[i + 1]], ascending.

        The first call makes an index of the collection, some 32 bytes for each chunk and 10 for each member
        of small sets (`stats()["bytes"]` counts it); later ones look values up in it.

        >>> import libcohort
        >>> s = libcohort.Sets([[1, 2, 3], [2, 3, 4], [], [3]], type="uint32")
        >>> offsets, sets = s.containing([3, 9, 1])
        >>> offsets.tolist(), sets.tolist()
        ([0, 3, 3, 4], [0, 1, 3, 0])
        """
        array, numpy = c.values_for(self._of, values, "values")
        offsets, sets = _core.sets_containing(self._of, array, True)
        return self._out(c.signed(offsets), numpy), self._out(c.signed(sets), numpy)

    def containing_counts(self, values: Any) -> Any:
        """In how many sets each value is; as `containing`, which tells which they are.

        >>> import libcohort
        >>> libcohort.Sets([[1, 2, 3], [2, 3, 4], [3]]).containing_counts([3, 9, 1]).tolist()
        [3, 0, 1]
        """
        array, numpy = c.values_for(self._of, values, "values")
        return self._out(c.signed(_core.sets_containing(self._of, array, False)[0]), numpy)

    def filter(self, values: Any, which: int = 0) -> Any:
        """The values that are members of set `which`, in their order and as often as they are there: as
        `Set.filter`.

        >>> import libcohort
        >>> libcohort.Sets([[1, 2], [3, 5]]).filter([5, 2, 3, 3], 1).tolist()
        [5, 3, 3]
        """
        return _set.Set._wrap(self, self._number(which)).filter(values)

    def rank(self, values: Any, which: Any = 0) -> Any:
        """How many members of set `which` are below each value.

        >>> import libcohort
        >>> libcohort.Sets([[10, 20]]).rank([10, 15, 99]).tolist()
        [0, 1, 2]
        """
        ranks, _, numpy = self._look(c.RANK, values, which)
        return self._out(c.signed(ranks), numpy)

    def select(self, ranks: Any, which: Any = 0) -> tuple[Any, Any]:
        """(members, found): the member of each rank, counted from 0, and whether there is one; else it is 0.

        >>> import libcohort
        >>> [x.tolist() for x in libcohort.Sets([[10, 20]]).select([1, 2])]
        [[20, 0], [True, False]]
        """
        members, found, numpy = self._look(c.SELECT, ranks, which, "ranks")
        return self._out(members, numpy), self._out(found, numpy)

    def next(self, values: Any, which: Any = 0) -> tuple[Any, Any]:
        """(members, found): the least member that is not below each value, and whether there is one; else it
        is 0.

        >>> import libcohort
        >>> [x.tolist() for x in libcohort.Sets([[10, 20]]).next([11, 21])]
        [[20, 0], [True, False]]
        """
        members, found, numpy = self._look(c.NEXT, values, which)
        return self._out(members, numpy), self._out(found, numpy)

    def count(self, firsts: Any, lasts: Any, which: Any = 0) -> Any:
        """How many members of set `which` there are from each first to each last, both included.

        >>> import libcohort
        >>> libcohort.Sets([[10, 20, 30]]).count([10, 11], [20, 12]).tolist()
        [2, 0]
        """
        a, numpy = c.values_for(self._of, firsts, "firsts")
        b, _ = c.values_for(self._of, lasts, "lasts")
        if a._gpu != b._gpu:
            b = beside(a, b, lasts, ("firsts", "lasts"), self._of.context)
        return self._out(c.signed(c.look(self._of, c.COUNT, *self._asked(which, a), a, b)[0]), numpy)

    def _ends(self, kind: int, which: Any) -> tuple[Any, Any]:
        if hasattr(which, "__index__") and not getattr(which, "ndim", 0):
            members, found = c.look(self._of, kind, 1, self._number(which))
        else:
            which = c.numbered(len(self)) if which is None else which
            numbers = c.wide(which, "which", self._of.context)
            members, found = c.look(self._of, kind, len(numbers), 0, numbers)
        return self._out(members), self._out(found)

    def min(self, which: Any = None) -> tuple[Any, Any]:
        """(members, found): the least member of each set, or of the sets `which`; 0 where a set is empty.

        >>> import libcohort
        >>> [x.tolist() for x in libcohort.Sets([[5, 7], []]).min()]
        [[5, 0], [True, False]]
        """
        return self._ends(c.MIN, which)

    def max(self, which: Any = None) -> tuple[Any, Any]:
        """(members, found): the greatest member of each set, or of the sets `which`; 0 where a set is
        empty.

        >>> import libcohort
        >>> [x.tolist() for x in libcohort.Sets([[5, 7], []]).max()]
        [[7, 0], [True, False]]
        """
        return self._ends(c.MAX, which)

    def query(
        self,
        op: str,
        rows: Any,
        *,
        offsets: Any = None,
        others: Sequence[Sets] = (),
        least: int = 0,
        want: str | Sequence[str] = "sets",
        k: int = 10,
    ) -> Any:
        """Answers many rows of sets in one call.

        `rows` has the numbers of each row's sets: a list of lists, an array of two dimensions, or all one
        behind the other with `offsets`. `op` is "and", "or", "andnot" (in the first and in none of the
        others), "xor" (in an odd number), or "atleast" (in `least` of them or more). Sets of `others`, up to
        7 collections, are numbered on: the first of others[0] is `len(self)`.

        `want` is what comes out, one of these or several as a tuple: "sets", a collection with a set a row;
        "counts", their sizes; "any", whether there is a member; "first", (members, offsets) of the first `k`
        members of each row.

        >>> import libcohort
        >>> s = libcohort.Sets([[1, 2, 3], [2, 3, 4], [3, 9]])
        >>> counts, any = s.query("and", [[0, 1], [0, 1, 2]], want=("counts", "any"))
        >>> counts.tolist(), any.tolist()
        ([2, 1], [True, True])
        >>> s.query("atleast", [[0, 1, 2]], least=2)[0]
        libcohort.Set([2, 3], type='uint64')
        """
        code = _OPS.get(op)
        if code is None:
            raise ValueError(f"op: must be one of {', '.join(_OPS)}, not {op!r}")
        if least and code != c.AT_LEAST:
            raise TypeError(f"least: is for atleast, not for {op}")
        wants = (want,) if isinstance(want, str) else tuple(want)
        for w in wants:
            if w not in _WANTS:
                raise ValueError(f"want: must be of {', '.join(_WANTS)}, not {w!r}")
        if "first" not in wants:
            k = 0
        elif k < 1:
            raise ValueError(f"k: must be at least 1, not {k}")
        many, members, ends, arity = c.rows_of(rows, offsets)
        of = c.together([self._of, *[x._of for x in others]]) if others else (self._of,)
        counts, any, first, sets = _core.sets_query(
            of,
            code,
            0,
            least,
            many,
            members,
            ends,
            arity,
            "counts" in wants,
            "any" in wants,
            k,
            "sets" in wants,
        )
        numpy = self._numpy or (sys.modules.get("numpy") if hasattr(rows, "dtype") else None)
        answers: dict[str, Any] = {}
        if counts is not None:
            answers["counts"] = give_out(_core.retype(counts, I64), numpy)
        if any is not None:
            answers["any"] = give_out(any, numpy)
        if first is not None:
            answers["first"] = (give_out(first[0], numpy), give_out(c.signed(first[1]), numpy))
        if sets is not None:
            answers["sets"] = Sets._wrap(sets, numpy)
        return answers[want] if isinstance(want, str) else tuple([answers[w] for w in wants])

    def _all(self, op: int) -> _set.Set:
        n = len(self)
        of = c.combined(self._of, None, op, c.numbered(n), 1, n)
        return _set.Set._wrap(Sets._wrap(of, self._numpy), 0)

    def union(self) -> _set.Set:
        """What is in one of the sets.

        >>> import libcohort
        >>> libcohort.Sets([[1, 2], [2, 3]]).union().tolist()
        [1, 2, 3]
        """
        return self._all(c.OR)

    def intersection(self) -> _set.Set:
        """What is in all of the sets; nothing if there are none.

        >>> import libcohort
        >>> libcohort.Sets([[1, 2], [2, 3]]).intersection().tolist()
        [2]
        """
        return self._all(c.AND)

    # ---- operators: set by set, or each with one

    def _combine(self, op: int, other: Any) -> Any:
        n = len(self)
        if isinstance(other, _set.Set):
            last = c.wide([n + other._at], "")
            of = c.combined(self._of, other._in._of, op, last, n, 1, 2)
        elif isinstance(other, Sets):
            if len(other) != n:
                raise ValueError(f"collections of {n} and of {len(other)} sets cannot be combined set by set")
            of = c.combined(self._of, other._of, op, c.pairs_of(n, n), n, 2)
        else:
            return NotImplemented
        return Sets._wrap(of, self._numpy or other._numpy)

    def __and__(self, other: Any) -> Sets:
        return self._combine(c.AND, other)  # type: ignore[no-any-return]

    def __or__(self, other: Any) -> Sets:
        return self._combine(c.OR, other)  # type: ignore[no-any-return]

    def __sub__(self, other: Any) -> Sets:
        return self._combine(c.ANDNOT, other)  # type: ignore[no-any-return]

    def __xor__(self, other: Any) -> Sets:
        return self._combine(c.XOR, other)  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sets):
            return NotImplemented
        n = len(self)
        if len(other) != n or self.total != other.total:
            return False
        differs = c.any_of(self._of, other._of, c.XOR, c.pairs_of(n, n), n)
        return b"\1" not in bytes(memoryview(differs))

    __hash__ = None  # type: ignore[assignment]

    # ---- copies

    def copy(self) -> Sets:
        """The collection itself: it never changes.

        >>> import libcohort
        >>> s = libcohort.Sets([[1]])
        >>> s.copy() is s
        True
        """
        return self

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Sets:
        return self

    def __reduce__(self) -> Any:
        data, _, offsets, _ = c.export(self._of, c.ROARING)
        return _restore, (data, offsets, self.type, self._numpy is not None)

    def __repr__(self) -> str:
        return f"libcohort.Sets({plural(len(self), 'set')}, {plural(self.total, 'member')}, {self.type})"


def _restore(data: _core.Array, offsets: _core.Array, type: str, numpy: bool) -> Sets:
    of = c.build(c.ROARING, c.type_code(type, 0), data, sets=len(offsets) - 1, offsets=offsets)
    return Sets._wrap(of, sys.modules.get("numpy") if numpy else None)
