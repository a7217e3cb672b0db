"""join and join_size: which rows of two tables have the same key."""

from __future__ import annotations

from typing import Any, Sequence

from . import _core
from ._context import current
from ._table import Table, _wrap, on_context

_KINDS = {"inner": 0, "left": 1, "right": 2, "full": 3, "outer": 3, "semi": 4, "anti": 5}
_SHAPES = {
    "m:m": 0, "1:1": 1, "1:m": 2, "m:1": 3,
    "many_to_many": 0, "one_to_one": 1, "one_to_many": 2, "many_to_one": 3,
}  # fmt: skip


def _table(data: Any, argument: str) -> Table:
    try:
        return data if isinstance(data, Table) else Table(data)
    except TypeError as error:
        raise TypeError(f"{argument}: {error}") from None


def _names(keys: Any) -> list[str]:
    return [keys] if isinstance(keys, str) else list(keys)


class _Sides:
    """Both tables on this thread's context, and their keys."""

    def __init__(
        self, left: Any, right: Any, on: Any, left_on: Any, right_on: Any, how: str, validate: str
    ) -> None:
        self.left, self.right = _table(left, "left"), _table(right, "right")
        if (on is None) == (left_on is None and right_on is None) or (left_on is None) != (right_on is None):
            raise TypeError("on, or both left_on and right_on, must be given")
        self.left_on = _names(left_on if on is None else on)
        self.right_on = _names(right_on if on is None else on)
        if not self.left_on or len(self.left_on) != len(self.right_on):
            raise ValueError(
                f"{len(self.left_on)} keys of the left are compared with {len(self.right_on)} of the right"
            )
        if how not in _KINDS:
            raise ValueError(f"how: must be one of {', '.join(_KINDS)}, not {how!r}")
        if validate not in _SHAPES:
            raise ValueError(f"validate: must be one of {', '.join(_SHAPES)}, not {validate!r}")
        self.kind, self.shape = _KINDS[how], _SHAPES[validate]
        context = current()
        for side in ("left", "right"):
            table = getattr(self, side)
            setattr(self, side, _wrap(Table, on_context(table._handle, context)))

    def rows(self, nulls_equal: bool, pairs: bool) -> tuple[int, Any, Any]:
        left, right = self.left._pick(self.left_on), self.right._pick(self.right_on)
        return _core.join_rows(left, right, self.kind, self.shape, nulls_equal, pairs)


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
    out = _core.frame_gather(sides.left._handle, left_rows)
    if right_rows is None:
        return _wrap(Table, out)  # type: ignore[no-any-return]
    if sides.kind in (2, 3):
        out = _with_keys(sides, out, left_rows, right_rows)
    rest = [n for n in sides.right.names if n not in sides.right_on]
    if rest:
        out = _core.frame_beside(out, _core.frame_gather(sides.right._pick(rest), right_rows), suffix)
    return _wrap(Table, out)  # type: ignore[no-any-return]


def _with_keys(
    sides: _Sides, out: _core.Handle, left_rows: _core.Array, right_rows: _core.Array
) -> _core.Handle:
    """The rows with keys that are the right row's where there is no left row: both sides' keys one behind the
    other, gathered."""
    n = len(sides.left)
    part = {}
    both = _core.rows_of_either(left_rows, right_rows, n)
    for ours, theirs in zip(sides.left_on, sides.right_on):
        a, b = sides.left[ours], sides.right[theirs]
        if a._info[0][1] != b._info[0][1]:  # layouts of strings: what is gathered is a view
            a, b = (x.take(_core.iota(len(x), 8)) for x in (a, b))
        part[ours] = _wrap(Table, _core.frame_gather(_core.frame_chain(current(), [a, b]), both))
    columns = _wrap(Table, out)
    handle: _core.Handle | None = None
    for name in columns.names:
        one = part[name]._handle if name in part else columns._pick([name])
        one = _core.frame_select(one, [0], [name])
        handle = one if handle is None else _core.frame_beside(handle, one, "")
    assert handle is not None
    return handle


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
