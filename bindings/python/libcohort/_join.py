"""join and join_size: which rows of two tables have the same key."""

from __future__ import annotations

from typing import Any, Sequence

from . import _core
from ._context import current
from ._errors import ArgumentError
from ._table import Column, Table, _wrap, on_context

_KINDS = {"inner": 0, "left": 1, "right": 2, "full": 3, "outer": 3, "semi": 4, "anti": 5}
_SHAPES = {
    "m:m": 0, "1:1": 1, "1:m": 2, "m:1": 3,
    "many_to_many": 0, "one_to_one": 1, "one_to_many": 2, "many_to_one": 3,
}  # fmt: skip


def _chosen(choices: dict[str, int], name: str, argument: str) -> int:
    chosen = choices.get(name)
    if chosen is None:
        raise ValueError(f"{argument}: must be one of {', '.join(choices)}, not {name!r}")
    return chosen


def _column_names(names: Any, of: str) -> list[str]:
    if type(names) is str:
        return [names]
    if not isinstance(names, (str, list, tuple)) or not all(isinstance(n, str) for n in names):
        raise TypeError(f"{of}: the name of a column or a list of them is due, not {names!r}")
    return [names] if isinstance(names, str) else list(names)


def _table(data: Any, argument: str) -> Table:
    """On this thread's context."""
    try:
        table: Table = data if isinstance(data, Table) else Table(data)
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError, ArgumentError):
            raise
        raise type(error)(f"{argument}: {error}") from None
    context = current()
    if table._handle.context is context:
        return table
    return _wrap(Table, on_context(table._handle, context))  # type: ignore[no-any-return]


class _Sides:
    """What is joined by what, and how."""

    __slots__ = ("left", "right", "ours", "theirs", "kind", "shape", "by_on")

    def __init__(
        self, left: Any, right: Any, on: Any, left_on: Any, right_on: Any, how: str, validate: str
    ) -> None:
        if (on is None) == (left_on is None and right_on is None) or (left_on is None) != (right_on is None):
            raise TypeError("on, or both left_on and right_on, must be given")
        context = current()
        here = type(left) is Table and left._handle.context is context
        self.left: Table = left if here else _table(left, "left")
        here = type(right) is Table and right._handle.context is context
        self.right: Table = right if here else _table(right, "right")
        self.by_on = on is not None
        if on is not None:
            self.ours = self.theirs = _column_names(on, "on")
        else:
            self.ours, self.theirs = _column_names(left_on, "left_on"), _column_names(right_on, "right_on")
        many, other = len(self.ours), len(self.theirs)
        if not many or many != other:
            name = "on" if self.by_on else "right_on"
            raise ValueError(f"{name}: {many} keys of the left are compared with {other} of the right")
        self.kind, self.shape = _chosen(_KINDS, how, "how"), _chosen(_SHAPES, validate, "validate")

    def check(self) -> None:
        """KeyError if a key is not there."""
        names = ("on", "on") if self.by_on else ("left_on", "right_on")
        self.left._places(self.ours, f"{names[0]}, of the left table: ")
        self.right._places(self.theirs, f"{names[1]}, of the right table: ")

    def rows(self, nulls_equal: bool, pairs: bool) -> tuple[int, Any, Any]:
        left, right = self.left._handle, self.right._handle
        out = _core.join_rows(
            left, right, self.ours, self.theirs, self.kind, self.shape, nulls_equal, pairs
        )
        if out is None:
            self.check()
        assert out is not None
        return out

    def rest(self) -> list[int]:
        """The right columns that are no keys."""
        return [i for i, name in enumerate(self.right.names) if name not in self.theirs]

    def rename(self, suffixes: Sequence[str | None]) -> None:
        """Columns of one name that both come out get a suffix each, as by pandas.merge."""
        self.check()
        if isinstance(suffixes, str) or len(suffixes) != 2:
            raise TypeError(f"suffixes: a pair of strings or None is due, not {suffixes!r}")
        names = self.right.names
        both = {names[i] for i in self.rest()} & set(self.left.names)
        if not both or self.kind >= 4:
            return
        ours, theirs = ({name: name + (end or "") for name in both} for end in suffixes)
        left, right = self.left.rename(ours), self.right.rename(theirs)
        rest = [theirs.get(names[i], names[i]) for i in self.rest()]
        twice = [n for n in [*left.names, *rest] if (left.names + rest).count(n) > 1]
        if twice:
            raise ValueError(f"suffixes: with {suffixes!r} two columns are named {twice[0]!r}")
        self.left, self.right, self.ours = left, right, [ours.get(n, n) for n in self.ours]


def join(
    left: Any,
    right: Any,
    on: str | Sequence[str] | None = None,
    *,
    left_on: str | Sequence[str] | None = None,
    right_on: str | Sequence[str] | None = None,
    how: str = "inner",
    suffix: str = "_right",
    suffixes: Sequence[str | None] | None = None,
    nulls_equal: bool = False,
    validate: str = "m:m",
) -> Table:
    """The rows of two tables that have the same key side by side: `how` is inner, left, right, full (or
    outer), semi or anti.

    Keys are columns of every type, named by `on`, or by `left_on` and `right_on`. The result has the left
    columns, then the right ones but the keys; a name that is there already gets the suffix, or with `suffixes`,
    as pandas has them, both get one, such as ("_x", "_y"). Where a full or a
    right join has no left row, the key columns have the right row's keys. Rows come in the order of the
    left's, then those that only the right has. A null is equal to nothing unless `nulls_equal`. `validate`
    ("1:1", "1:m", "m:1") makes an error of keys that come twice where they must not.

    >>> import libcohort
    >>> towns = libcohort.Table({"id": [1, 2], "town": ["Rome", "Oslo"]})
    >>> sales = libcohort.Table({"id": [2, 1, 2, 7], "n": [5, 6, 7, 8]})
    >>> libcohort.join(sales, towns, "id").to_pydict()
    {'id': [2, 1, 2], 'n': [5, 6, 7], 'town': ['Oslo', 'Rome', 'Oslo']}
    >>> libcohort.join(sales, towns, "id", how="left")["town"].tolist()
    ['Oslo', 'Rome', 'Oslo', None]
    """
    sides = _Sides(left, right, on, left_on, right_on, how, validate)
    if suffixes is not None:
        sides.rename(suffixes)
    if sides.kind in (2, 3):
        return _with_rows_of_right(sides, nulls_equal, suffix)
    ours, theirs = sides.left._handle, sides.right._handle
    out = _core.join_frames(
        ours, theirs, sides.ours, sides.theirs, sides.kind, sides.shape, nulls_equal, suffix
    )
    if out is None:
        sides.check()
    return _wrap(Table, out)  # type: ignore[no-any-return]


def _with_rows_of_right(sides: _Sides, nulls_equal: bool, suffix: str) -> Table:
    """Right and full joins, which have right rows without a left one."""
    _, left_rows, right_rows = sides.rows(nulls_equal, True)
    out = _core.frame_gather(sides.left._handle, left_rows)
    out = _wrap(Table, out).with_columns(_keys_of_either(sides, left_rows, right_rows))._handle
    rest = sides.rest()
    if rest:
        names = sides.right.names
        picked = _core.frame_select(sides.right._handle, rest, [names[i] for i in rest])
        out = _core.frame_beside(out, _core.frame_gather(picked, right_rows), suffix)
    return _wrap(Table, out)  # type: ignore[no-any-return]


def _keys_of_either(sides: _Sides, left_rows: _core.Array, right_rows: _core.Array) -> dict[str, Column]:
    """The keys of each row, those of the right row where there is no left row: both sides' keys one behind
    the other, gathered."""
    both = _core.rows_of_either(left_rows, right_rows, len(sides.left))
    keys: dict[str, Column] = {}
    for ours, theirs in zip(sides.ours, sides.theirs):
        a, b = sides.left[ours], sides.right[theirs]
        if a._info[0][1] != b._info[0][1]:  # layouts of strings: what is gathered is a view
            a, b = (x.take(_core.iota(len(x), 8)) for x in (a, b))
        keys[ours] = _wrap(Column, _core.frame_gather(_core.frame_chain(current(), [a, b]), both))
    return keys


def join_size(
    left: Any,
    right: Any,
    on: str | Sequence[str] | None = None,
    *,
    left_on: str | Sequence[str] | None = None,
    right_on: str | Sequence[str] | None = None,
    how: str = "inner",
    nulls_equal: bool = False,
) -> int:
    """How many rows `join` would have, without making them; it may be more than memory holds.

    >>> import libcohort
    >>> many = libcohort.Table({"k": [1] * 100_000})
    >>> libcohort.join_size(many, many, "k")
    10000000000
    """
    return _Sides(left, right, on, left_on, right_on, how, "m:m").rows(nulls_equal, False)[0]
