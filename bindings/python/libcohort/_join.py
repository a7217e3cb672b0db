"""join and join_size: which rows of two tables have the same key."""

from __future__ import annotations

from typing import Any, Sequence

from . import _core
from ._context import current
from ._table import Column, Table, _wrap, on_context

_KINDS = {"inner": 0, "left": 1, "right": 2, "full": 3, "outer": 3, "semi": 4, "anti": 5}
_SHAPES = {
    "m:m": 0, "1:1": 1, "1:m": 2, "m:1": 3,
    "many_to_many": 0, "one_to_one": 1, "one_to_many": 2, "many_to_one": 3,
}  # fmt: skip


def _chosen(choices: dict[str, int], name: str, argument: str) -> int:
    if name not in choices:
        raise ValueError(f"{argument}: must be one of {', '.join(choices)}, not {name!r}")
    return choices[name]


class _Side:
    """A table on this thread's context, and its keys."""

    def __init__(self, data: Any, argument: str, names: Any, of: str) -> None:
        try:
            table = data if isinstance(data, Table) else Table(data)
        except TypeError as error:
            raise TypeError(f"{argument}: {error}") from None
        handle = on_context(table._handle, current())
        self.table: Table = table if handle is table._handle else _wrap(Table, handle)
        if not isinstance(names, (str, list, tuple)) or not all(isinstance(n, str) for n in names):
            raise TypeError(f"{of}: the name of a column or a list of them is due, not {names!r}")
        self.names = [names] if isinstance(names, str) else list(names)
        self.where = f"{of}, of the {argument} table: "

    def keys(self) -> _core.Handle:
        return self.table._pick(self.names, where=self.where)


class _Sides:
    """What is joined by what, and how."""

    def __init__(
        self, left: Any, right: Any, on: Any, left_on: Any, right_on: Any, how: str, validate: str
    ) -> None:
        if (on is None) == (left_on is None and right_on is None) or (left_on is None) != (right_on is None):
            raise TypeError("on, or both left_on and right_on, must be given")
        names = ("left_on", "right_on") if on is None else ("on", "on")
        self.left = _Side(left, "left", left_on if on is None else on, names[0])
        self.right = _Side(right, "right", right_on if on is None else on, names[1])
        many, other = len(self.left.names), len(self.right.names)
        if not many or many != other:
            raise ValueError(f"{names[1]}: {many} keys of the left are compared with {other} of the right")
        self.kind, self.shape = _chosen(_KINDS, how, "how"), _chosen(_SHAPES, validate, "validate")

    def rows(self, nulls_equal: bool, pairs: bool) -> tuple[int, Any, Any]:
        return _core.join_rows(
            self.left.keys(), self.right.keys(), self.kind, self.shape, nulls_equal, pairs
        )


def join(
    left: Any,
    right: Any,
    on: str | Sequence[str] | None = None,
    *,
    left_on: str | Sequence[str] | None = None,
    right_on: str | Sequence[str] | None = None,
    how: str = "inner",
    suffix: str = "_right",
    nulls_equal: bool = False,
    validate: str = "m:m",
) -> Table:
    """The rows of two tables that have the same key side by side: `how` is inner, left, right, full (or
    outer), semi or anti.

    Keys are columns of every type, named by `on`, or by `left_on` and `right_on`. The result has the left
    columns, then the right ones but the keys; a name that is there already gets the suffix. Where a full or a
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
    _, left_rows, right_rows = sides.rows(nulls_equal, True)
    out = _core.frame_gather(sides.left.table._handle, left_rows)
    if right_rows is not None and sides.kind in (2, 3):
        out = _wrap(Table, out).with_columns(_keys_of_either(sides, left_rows, right_rows))._handle
    rest = [n for n in sides.right.table.names if n not in sides.right.names]
    if right_rows is not None and rest:
        beside = _core.frame_gather(sides.right.table._pick(rest), right_rows)
        out = _core.frame_beside(out, beside, suffix)
    return _wrap(Table, out)  # type: ignore[no-any-return]


def _keys_of_either(sides: _Sides, left_rows: _core.Array, right_rows: _core.Array) -> dict[str, Column]:
    """The keys of each row, those of the right row where there is no left row: both sides' keys one behind
    the other, gathered."""
    both = _core.rows_of_either(left_rows, right_rows, len(sides.left.table))
    keys: dict[str, Column] = {}
    for ours, theirs in zip(sides.left.names, sides.right.names):
        a, b = sides.left.table[ours], sides.right.table[theirs]
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
