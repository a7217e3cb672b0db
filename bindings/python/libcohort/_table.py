"""Table and Column: columns of every type that Arrow has flat ones of, with nulls, in and out without
copies."""

from __future__ import annotations

import datetime
import decimal
import html
import sys
from typing import Any, Iterator, Mapping, Sequence

from . import _core, _gpu
from ._arrays import I64, check_mask, take_in, view_numpy
from ._context import current
from ._gpu import Where

_Info = tuple[str, str, int, int, int]

_FORMATS = {
    "n": "null", "b": "bool", "c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I":
    "uint32", "l": "int64", "L": "uint64", "e": "float16", "f": "float32", "g": "float64", "u": "string", "U":
    "string", "vu": "string", "z": "binary", "Z": "binary", "vz": "binary", "tdD": "date", "tdm": "date64",
    "tts": "time[s]", "ttm": "time[ms]", "ttu": "time[us]", "ttn": "time[ns]", "tDs": "duration[s]", "tDm":
    "duration[ms]", "tDu": "duration[us]", "tDn": "duration[ns]",
}  # fmt: skip
_UNITS = {"s": "s", "m": "ms", "u": "us", "n": "ns"}
_MICROSECONDS = {"s": 1_000_000, "m": 1000, "u": 1}


def _type(format: str, index_bytes: int) -> str:
    name = _FORMATS.get(format)
    if name is None and format.startswith("ts"):
        zone = format[4:]
        name = f"timestamp[{_UNITS[format[2]]}{', ' + zone if zone else ''}]"
    if name is None and format.startswith("d:"):
        name = f"decimal({format[2:].replace(',', ', ')})"
    if name is None and format.startswith("w:"):
        name = f"binary({format[2:]})"
    return f"dictionary({name or format})" if index_bytes else name or format


def _as_python(format: str, value: Any) -> Any:
    """Dates, times and decimals from the integers and bytes that they are stored as. Nanoseconds stay
    integers."""
    if value is None:
        return None
    if format.startswith("d:"):
        scale = int(format.split(",")[1])
        return decimal.Decimal(int.from_bytes(value, sys.byteorder, signed=True)).scaleb(-scale)
    if format == "tdD":
        return datetime.date(1970, 1, 1) + datetime.timedelta(days=value)
    if format == "tdm":
        return datetime.date(1970, 1, 1) + datetime.timedelta(milliseconds=value)
    unit = _MICROSECONDS.get(format[2])
    if unit is None:
        return value
    span = datetime.timedelta(microseconds=unit * value)
    if format[1] == "D":
        return span
    if format[1] == "t":
        return (datetime.datetime(1970, 1, 1) + span).time()
    if len(format) <= 4:
        return datetime.datetime(1970, 1, 1) + span
    return datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc) + span


def _list(handle: _core.Handle) -> list[Any]:
    """The rows of a frame of one column."""
    ((_, format, *_),) = _core.frame_info(handle)[1]
    values = _core.frame_values(handle)
    if format[0] == "t" or format.startswith("d:"):
        return [_as_python(format, v) for v in values]
    return values


def _of_list(values: list[Any], argument: str) -> _core.Handle:
    """A frame of one column of a list, whose numbers may be numpy's."""
    try:
        return _core.frame_of_list(current(), values, argument)
    except TypeError:
        numpy = sys.modules.get("numpy")
        if numpy is None or not any(isinstance(value, numpy.generic) for value in values):
            raise
    plain = [value.item() if isinstance(value, numpy.generic) else value for value in values]
    return _core.frame_of_list(current(), plain, argument)


def frame_of(values: Any, argument: str) -> _core.Handle:
    """A frame of one column, or of a struct's columns, from whatever holds one."""
    if isinstance(values, (Table, Column)):
        return _core.frame_here(values._handle)
    kind = type(values)
    if kind is list or kind is tuple:
        return _of_list(list(values), argument)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(values, numpy.ndarray) and values.dtype.kind in "OUSTmM":
        return _of_numpy(values, argument, numpy)
    context = current()
    arrow = hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__")
    array = _gpu.take(values, argument, context) if arrow and kind is not _core.Array else None
    if not arrow or kind is _core.Array:
        array = take_in(values, argument, context)[0]
    if array is not None:
        return _core.frame_of_columns(context, [""], [array])
    frame = _core.frame_in(context, values, argument, True)
    assert isinstance(frame, _core.Handle)
    return frame


def _of_numpy(values: Any, argument: str, numpy: Any) -> _core.Handle:
    if values.ndim != 1:
        raise ValueError(f"{argument}: has {values.ndim} dimensions, and must have one")
    if values.dtype.kind in "mM":
        values = values.view(numpy.int64)
        return frame_of(take_in(values, argument)[0], argument)
    return _core.frame_of_list(
        current(), [None if v is None or v != v else v for v in values.tolist()], argument
    )


def take_any(values: Any, argument: str, where: Where = False) -> tuple[Any, Any]:
    """An Array of plain numbers without nulls, else a frame; and the numpy that it came from or None. `where`
    as of `take_in`."""
    array = _core.array_if_plain(values, argument)
    if array is not None:
        return array, None if array is values else sys.modules["numpy"]
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(values, numpy.ndarray):
        _core.set_numpy(numpy)
        if values.dtype.kind not in "OUST":  # of which masked ones come as None
            check_mask(values, argument, numpy)
        try:
            return _core.view(values, argument), numpy
        except (TypeError, ValueError):
            pass
        if values.dtype.kind in "OUST":
            return _of_numpy(values, argument, numpy), numpy
        return view_numpy(values, argument, numpy), numpy
    if isinstance(values, (Table, Column)):
        return _core.frame_here(values._handle), None
    kind = type(values)
    if kind is list or kind is tuple:
        try:
            return take_in(values, argument)
        except TypeError:
            return _of_list(list(values), argument), None
    arrow = hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__")
    if kind is not _core.Array and arrow and getattr(values, "is_cpu", True):
        return _core.frame_in(current(), values, argument, False), None
    return take_in(values, argument, where)


def column_out(handle: _core.Handle, numpy: Any) -> Any:
    """A result as a Column, or a Table of several; as an array of objects where numpy came in."""
    if _core.frame_shape(handle)[1] != 1:
        return _wrap(Table, handle)
    if numpy is None:
        return _wrap(Column, handle)
    plain = _core.frame_in(handle.context, _wrap(Column, handle), "column", False)
    if isinstance(plain, _core.Array):
        return numpy.asarray(plain)
    rows = _list(handle)
    if rows and all(isinstance(r, str) for r in rows):
        return numpy.array(rows)
    out = numpy.empty(len(rows), object)
    out[:] = rows
    return out


def on_context(handle: _core.Handle, context: _core.Context) -> _core.Handle:
    """The same frame on a context: itself, or, from another one, without a copy where both are CPUs."""
    if handle.context is not context:
        handle = _core.frame_here(handle)
    if handle.context is context:
        return handle
    frame = _core.frame_in(context, _wrap(Table, handle), "table", True)
    assert isinstance(frame, _core.Handle)
    return frame


_new = object.__new__


def _wrap(kind: Any, handle: _core.Handle | None) -> Any:
    made: Any = _new(kind)
    made._handle, made._about = handle, None
    return made


def _cell(value: Any) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= 40 else text[:37] + "..."


class _Frame:
    """What Table and Column have in common."""

    __slots__ = ("_handle", "_about", "__weakref__")

    _handle: _core.Handle
    _about: tuple[int, list[_Info]] | None  # rows and columns, once somebody has asked
    _as_column: bool

    @property
    def _here(self) -> _core.Handle:
        """On the context of the thread that asks, where both are a CPU's."""
        return _core.frame_here(self._handle)

    @property
    def _rows(self) -> int:
        if self._about is None:
            self._about = _core.frame_info(self._here)
        return self._about[0]

    @property
    def _info(self) -> list[_Info]:
        if self._about is None:
            self._about = _core.frame_info(self._here)
        return self._about[1]

    def __len__(self) -> int:
        return self._rows

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Arrow's C data interface: one array, without a copy where there is one chunk."""
        return _core.frame_export(self._here, self._as_column)

    def __arrow_c_device_array__(
        self, requested_schema: object = None, **wishes: object
    ) -> tuple[object, object]:
        """Arrow's device interface: one array in the memory of the context's device, a GPU's too. Without a copy
        where there is one chunk. Dictionaries on a GPU refuse it."""
        return _core.frame_export_device(self._here, self._as_column)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's C stream interface: chunk by chunk, without a copy."""
        return _core.frame_stream(self._here, self._as_column)

    def __arrow_c_schema__(self) -> object:
        """Arrow's C data interface: the type."""
        return _core.frame_export(_core.frame_slice(self._here, 0, 0), self._as_column)[0]

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def _slice(self, index: slice) -> _core.Handle:
        first, last, step = index.indices(self._rows)
        if step == 1:
            return _core.frame_slice(self._here, first, max(last - first, 0))
        return _core.frame_gather(self._here, take_in(list(range(first, last, step)), "")[0])


def _rows_of(rows: Any) -> _core.Array:
    """Row numbers; negative ones become rows of nulls."""
    return _core.cast(take_in(rows, "rows")[0], I64, "rows")


class Column(_Frame):
    """One column: strings, numbers, dates and others, with nulls. What functions answer that were given one.

    pyarrow, polars and pandas take it without a copy by Arrow's protocols; `tolist` makes Python's objects.

    >>> import libcohort
    >>> libcohort.Column(["a", None, "b"])
    libcohort.Column(['a', None, 'b'], type='string')
    """

    __slots__ = ()
    _as_column = True

    def __init__(self, values: Any) -> None:
        self._handle, self._about = frame_of(values, "values"), None
        if len(self._info) != 1:
            raise TypeError(f"values: a column is due, and these are {len(self._info)}: make a Table of them")

    @property
    def type(self) -> str:
        """The type's name: 'string', 'int64', 'date', 'timestamp[us]', 'dictionary(string)' and so on.

        >>> import libcohort
        >>> libcohort.Column([1.5, None]).type
        'float64'
        """
        return _type(self._info[0][1], self._info[0][3])

    @property
    def null_count(self) -> int:
        """How many rows are null.

        >>> import libcohort
        >>> libcohort.Column(["a", None]).null_count
        1
        """
        return self._info[0][2]

    def tolist(self) -> list[Any]:
        """The rows as Python's objects, None for null.

        >>> import libcohort
        >>> libcohort.Column(["a", None]).tolist()
        ['a', None]
        """
        return _list(self._here)

    def take(self, rows: Any) -> Column:
        """These rows; -1 makes a null.

        >>> import libcohort
        >>> libcohort.Column(["a", "b"]).take([1, -1]).tolist()
        ['b', None]
        """
        return _wrap(Column, _core.frame_gather(self._here, _rows_of(rows)))  # type: ignore[no-any-return]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return _wrap(Column, self._slice(index))
        i = index.__index__()
        if not -self._rows <= i < self._rows:
            raise IndexError("column index out of range")
        return _list(_core.frame_slice(self._here, i % self._rows, 1))[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy

        return numpy.asarray(column_out(self._here, numpy), dtype)

    def __reduce__(self) -> Any:
        return _restore_column, (self._info[0][1], self._info[0][3], _plain(self._here))

    def __repr__(self) -> str:
        n = self._rows
        shown = [repr(v) for v in (self if n <= 12 else self[:6])]
        if n > 12:
            shown += ["...", *(repr(v) for v in self[n - 6 :])]
        length = f", length={n}" if n > 12 else ""
        return f"libcohort.Column([{', '.join(shown)}], type='{self.type}'{length})"


class Table(_Frame):
    """Columns of equal length under names: made of a dictionary of columns, or of anything with Arrow's
    protocols, such as a table of pyarrow, a frame of polars or pandas, a relation of duckdb. Nothing is
    copied, and it does not change.

    >>> import libcohort
    >>> t = libcohort.Table({"city": ["Rome", "Oslo", None], "n": [3, 1, 2]})
    >>> t
    libcohort.Table(3 rows, city: string, n: int64)
    >>> t["city"].tolist(), len(t), t.names
    (['Rome', 'Oslo', None], 3, ['city', 'n'])
    """

    __slots__ = ()
    _as_column = False

    def __init__(self, data: Any) -> None:
        of = isinstance(data, (dict, Mapping))
        self._handle, self._about = _of_columns(data) if of else frame_of(data, "data"), None

    @property
    def names(self) -> list[str]:
        """The columns' names.

        >>> import libcohort
        >>> libcohort.Table({"a": [1], "b": ["x"]}).names
        ['a', 'b']
        """
        return [name for name, *_ in self._info]

    @property
    def types(self) -> dict[str, str]:
        """The columns' types by name.

        >>> import libcohort
        >>> libcohort.Table({"a": [1], "b": ["x"]}).types
        {'a': 'int64', 'b': 'string'}
        """
        return {name: _type(format, index) for name, format, _, index, _ in self._info}

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns), as numpy and pandas have it.

        >>> import libcohort
        >>> libcohort.Table({"a": [1, 2, 3], "b": [4, 5, 6]}).shape
        (3, 2)
        """
        return self._rows, len(self._info)

    def _at(self, name: str, where: str = "") -> int:
        """The number of a column. Errors begin with `where`, which names the argument."""
        place = 0
        for column in self._info if self._about is None else self._about[1]:
            if column[0] == name:
                return place
            place += 1
        raise KeyError(f"{where}no column is named {name!r}; there are {', '.join(map(repr, self.names))}")

    def _places(self, names: Sequence[str], where: str = "") -> list[int]:
        return [self._at(n, where) for n in names]

    def _pick(
        self, names: Sequence[str], renamed: Sequence[str] | None = None, where: str = ""
    ) -> _core.Handle:
        return _core.frame_select(self._here, self._places(names, where), list(renamed or names))

    def select(self, names: Sequence[str]) -> Table:
        """Some of the columns, in this order.

        >>> import libcohort
        >>> libcohort.Table({"a": [1], "b": [2], "c": [3]}).select(["c", "a"]).names
        ['c', 'a']
        """
        return _wrap(Table, self._pick(names, where="names: "))  # type: ignore[no-any-return]

    def drop(self, names: str | Sequence[str]) -> Table:
        """All columns but these.

        >>> import libcohort
        >>> libcohort.Table({"a": [1], "b": [2], "c": [3]}).drop("b").names
        ['a', 'c']
        """
        gone = [names] if isinstance(names, str) else names
        for name in gone:
            self._at(name, "names: ")
        return self.select([n for n in self.names if n not in gone])

    def rename(self, names: Mapping[str, str]) -> Table:
        """The same with other names for some columns.

        >>> import libcohort
        >>> libcohort.Table({"a": [1], "b": [2]}).rename({"b": "d"}).names
        ['a', 'd']
        """
        picked = self._pick(self.names, [names.get(n, n) for n in self.names])
        return _wrap(Table, picked)  # type: ignore[no-any-return]

    def with_columns(self, columns: Mapping[str, Any]) -> Table:
        """The same with more columns, which replace those of the same name.

        >>> import libcohort
        >>> libcohort.Table({"a": [1, 2]}).with_columns({"b": ["x", None]})
        libcohort.Table(2 rows, a: int64, b: string)
        """
        kept = {name: self[name] for name in self.names}
        return Table({**kept, **columns})

    def take(self, rows: Any) -> Table:
        """These rows; -1 makes a row of nulls.

        >>> import libcohort
        >>> libcohort.Table({"a": [5, 6], "b": ["x", "y"]}).take([1, -1]).to_pydict()
        {'a': [6, None], 'b': ['y', None]}
        """
        return _wrap(Table, _core.frame_gather(self._here, _rows_of(rows)))  # type: ignore[no-any-return]

    def head(self, n: int = 5) -> Table:
        """The first rows.

        >>> import libcohort
        >>> libcohort.Table({"a": [5, 6, 7]}).head(2)["a"].tolist()
        [5, 6]
        """
        return _wrap(Table, self._slice(slice(0, n)))  # type: ignore[no-any-return]

    def to_pydict(self) -> dict[str, list[Any]]:
        """A list of Python's objects for each column.

        >>> import libcohort
        >>> libcohort.Table({"a": [5, None]}).to_pydict()
        {'a': [5, None]}
        """
        return {name: self[name].tolist() for name in self.names}

    def __getitem__(self, what: Any) -> Any:
        if isinstance(what, str):
            return _wrap(Column, self._pick([what]))
        if isinstance(what, slice):
            return _wrap(Table, self._slice(what))
        if _core.is_one(what):
            raise TypeError(f"what: the name of a column, a list of them or a slice is due, not {what!r}")
        return self.select(what)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def join(self, right: Any, on: Any = None, **options: Any) -> Table:
        """`libcohort.join(self, right, on, ...)`.

        >>> import libcohort
        >>> t = libcohort.Table({"k": [1, 2], "a": [5, 6]})
        >>> t.join({"k": [2], "b": ["x"]}, "k").to_pydict()
        {'k': [2], 'a': [6], 'b': ['x']}
        """
        return _join.join(self, right, on, **options)

    def group_by(
        self, *keys: str, sort: bool = False, dropna: bool = False, reproducible: bool = False
    ) -> _group.GroupBy:
        """`libcohort.group_by(self, ...)`.

        >>> import libcohort
        >>> t = libcohort.Table({"k": [1, 2, 1], "v": [5, 6, 7]})
        >>> t.group_by("k").agg(total=("v", "sum")).to_pydict()
        {'k': [1, 2], 'total': [12, 6]}
        """
        return _group.GroupBy(self, keys, sort, dropna, reproducible)

    def __reduce__(self) -> Any:
        return _restore_table, ({name: self[name] for name in self.names}, self._rows)

    def __repr__(self) -> str:
        columns = "".join(f", {name}: {type}" for name, type in self.types.items())
        return f"libcohort.Table({self._rows} row{'s' * (self._rows != 1)}{columns})"

    def _repr_html_(self) -> str:
        shown = self if self._rows <= 10 else self.head(10)
        columns = [
            [_cell(v) for v in _list(_core.frame_select(shown._handle, [i], [""]))]
            for i in range(len(self._info))
        ]
        head = "".join(
            f"<th>{html.escape(name)}<br><small>{html.escape(_type(format, index))}</small></th>"
            for name, format, _, index, _ in self._info
        )
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(v)}</td>" for v in row) + "</tr>" for row in zip(*columns)
        )
        more = f"<p>{len(shown)} of {self._rows} rows</p>" if len(shown) < self._rows else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _of_columns(columns: Mapping[str, Any]) -> _core.Handle:
    """One frame of columns, each where it is."""
    context = current()
    made = [_column_of(values, name, context) for name, values in columns.items()]
    if not made:
        raise ValueError("data: a table needs a column")
    return _core.frame_of_columns(context, [str(name) for name in columns], made)


def _column_of(values: Any, name: str, context: _core.Context) -> Any:
    """What a table's column is made of: an Array of plain numbers, or a frame of the context."""
    array = _core.array_if_plain(values, name)
    if array is not None:
        return array
    if type(values) is _core.Array:
        return take_in(values, name, context)[0]
    return on_context(frame_of(values, name), context)


def _plain(handle: _core.Handle) -> Any:
    """The buffers of a column's array as nested tuples of bytes."""
    return _core.frame_parts(handle)


def _restore_column(format: str, index_bytes: int, parts: Any) -> Column:
    return _wrap(Column, _core.frame_of_parts(current(), parts))  # type: ignore[no-any-return]


def _restore_table(columns: dict[str, Column], rows: int) -> Table:
    return Table(columns)


from . import _group, _join  # noqa: E402  (they need what is above)
