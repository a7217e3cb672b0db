"""group_by: sums, means, extremes and others of columns for each distinct key."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from . import _core
from ._table import Table, _wrap

# cohort_aggregate_op, under the names of pandas and polars
_OPS = {
    "size": 1, "len": 1, "count": 2, "sum": 3, "mean": 4, "min": 5, "max": 6, "var": 7, "std": 8, "first": 9,
    "last": 10, "any": 11, "all": 12, "nunique": 13, "n_unique": 13,
}  # fmt: skip

_Aggregate = tuple[int, str | None, str]


def _op(name: Any, argument: str) -> int:
    try:
        return _OPS[name]
    except (KeyError, TypeError):
        raise ValueError(f"{argument}: an aggregate must be one of {', '.join(_OPS)}, not {name!r}") from None


def _named(name: str, what: Any) -> _Aggregate:
    """`total=("v", "sum")`, `rows="size"`."""
    if isinstance(what, str):
        op = _op(what, name)
        if op != 1:
            raise TypeError(f"{name}: a pair of a column and an aggregate is due, such as ('v', {what!r})")
        return op, None, name
    try:
        column, aggregate = what
    except (TypeError, ValueError):
        raise TypeError(
            f"{name}: a pair of a column and an aggregate is due, such as ('v', 'sum'), not {what!r}"
        ) from None
    op = _op(aggregate, name)
    return op, None if op == 1 else column, name


class GroupBy:
    """A table and its keys: what `group_by` answers; `agg` makes the table of the groups.

    >>> import libcohort
    >>> libcohort.group_by({"k": [1, 1]}, "k")
    libcohort.GroupBy('k' of libcohort.Table(2 rows, k: int64))
    """

    __slots__ = ("_table", "_keys", "_sort", "_dropna", "_reproducible")

    def __init__(
        self, table: Table, keys: Sequence[str], sort: bool, dropna: bool, reproducible: bool
    ) -> None:
        self._table, self._keys = table, list(map(str, keys))
        self._sort, self._dropna, self._reproducible = sort, dropna, reproducible
        if not keys:
            raise TypeError("keys: the name of a column is due")
        for key in self._keys:
            table._at(key, "keys: ")

    def agg(self, columns: Mapping[str, Any] | None = None, /, **named: Any) -> Table:
        """A row for each group: its keys, then what is asked for, as `name=(column, aggregate)` or, as in
        pandas, `{column: aggregate or list of them}`, which are called column_aggregate.

        Aggregates are size (of no column), count, sum, mean, min, max, var, std, first, last, any, all and
        nunique. They leave nulls out; a group without any value has null.

        >>> import libcohort
        >>> t = libcohort.Table({"k": ["a", "b", "a"], "v": [1, 2, 5]})
        >>> t.group_by("k").agg(total=("v", "sum"), rows="size").to_pydict()
        {'k': ['a', 'b'], 'total': [6, 2], 'rows': [2, 1]}
        >>> t.group_by("k").agg({"v": ["min", "mean"]}).names
        ['k', 'v_min', 'v_mean']
        """
        wanted: list[_Aggregate] = []
        for column, aggregates in columns.items() if columns else ():
            if not isinstance(aggregates, (str, list, tuple)):
                raise TypeError(f"{column}: an aggregate or a list of them is due, not {aggregates!r}")
            for aggregate in [aggregates] if isinstance(aggregates, str) else aggregates:
                op = _op(aggregate, column)
                wanted.append((op, None if op == 1 else column, f"{column}_{aggregate}"))
        for name, what in named.items():
            wanted.append(_named(name, what))
        made = _core.group(
            self._table._here, self._keys, not self._dropna, wanted, self._reproducible, self._sort
        )
        if made is None:
            for _, wanted_column, name in wanted:
                if wanted_column is not None:
                    self._table._at(wanted_column, f"{name}: ")
        return _wrap(Table, made)  # type: ignore[no-any-return]

    def size(self) -> Table:
        """How many rows each group has.

        >>> import libcohort
        >>> libcohort.group_by({"k": [5, 5, 6]}, "k").size().to_pydict()
        {'k': [5, 6], 'size': [2, 1]}
        """
        return self.agg(size="size")

    def __repr__(self) -> str:
        return f"libcohort.GroupBy({', '.join(map(repr, self._keys))} of {self._table!r})"


def group_by(
    table: Any, *keys: str, sort: bool = False, dropna: bool = False, reproducible: bool = False
) -> GroupBy:
    """The groups of a table's rows that have the same keys: `group_by(table, "k").agg(total=("v", "sum"))`.

    Groups come in the order of their first rows, or of their keys with `sort=True`. Null is a key like
    others, or rows with a null key are left out with `dropna=True`. `reproducible=True` makes sums and means
    of floats the same bits for any number of threads and any order of rows.

    >>> import libcohort
    >>> table = {"k": [2, 1, 2], "v": [0.5, 1.0, 1.5]}
    >>> libcohort.group_by(table, "k", sort=True).agg(mean=("v", "mean")).to_pydict()
    {'k': [1, 2], 'mean': [1.0, 1.0]}
    """
    table = table if isinstance(table, Table) else Table(table)
    return GroupBy(table, keys, sort, dropna, reproducible)
