"""MultiMap: many values a key, for whole arrays at once."""

from __future__ import annotations

import os
import sys
from typing import Any, Iterator

from . import _core
from ._arrays import I32, I64, NAMES, give_out, narrowed, take_in, take_in_as
from ._context import current
from ._core import is_one, take_keys, take_values
from ._gpu import beside, context_for
from ._functions import WIDTH_32_32, WIDTH_64_64
from ._map import _code, _stored_types, missing_of


class MultiMap:
    """A map from each key to all values that were given with it, for whole arrays at once. `insert` adds
    more.

    Keys are integers or floats, values numbers; the types are those of the arrays, or `key_type` and
    `value_type`. Without values the values are the keys' indices. The values of one key are in no particular
    order. One made of arrays in a GPU's memory is on that GPU, and keys that it is asked for may lie there,
    as those of a `Map`.

    >>> import libcohort
    >>> m = libcohort.MultiMap([7, 5, 7], [70, 50, 71])
    >>> m.count([7, 5, 1]).tolist()
    [2, 1, 0]
    >>> index, values = m.retrieve([5, 5, 1])
    >>> index.tolist(), values.tolist()
    ([0, 1], [50, 50])
    >>> m
    libcohort.MultiMap(2 keys, 3 values, int64 -> int64)
    """

    __slots__ = (
        "_handle",
        "_key",
        "_value",
        "_key_stored",
        "_value_stored",
        "_width",
        "_numpy",
        "_gpu",
        "_missing",
        "__weakref__",
    )

    _handle: _core.Handle
    _key: int
    _value: int
    _key_stored: int
    _value_stored: int
    _width: int
    _numpy: Any
    _gpu: bool
    _missing: tuple[Any, _core.Array] | None  # the last default of a call, and an Array of it

    def __init__(
        self, keys: Any, values: Any = None, *, key_type: str | None = None, value_type: str | None = None
    ) -> None:
        given, numpy = take_in(keys, "keys", True)
        key = _code(key_type, "key_type") if key_type is not None else given._code
        on = context_for(given)
        self._gpu = given._gpu is not None
        if values is None:
            column = _core.iota(len(given), I64, *([on] if self._gpu else []))
        else:
            column, numpy_too = take_in(values, "values", True)
            numpy = numpy or numpy_too
        value = _code(value_type, "value_type") if value_type is not None else column._code
        self._set_types(key, value)
        self._numpy = numpy
        column = beside(given, _taken(column, values, value, "values"), values, ("keys", "values"), on)
        column = _core.cast(column, self._value_stored, "values")
        given, _ = take_keys(_taken(given, keys, key, "keys"), key, self._key_stored, "keys", on)
        self._handle = _core.multimap_build(on, self._width, given, column)

    def _set_types(self, key: int, value: int) -> None:
        self._key, self._value = key, value
        self._missing = None
        self._key_stored, self._value_stored, self._width = _stored_types(key, value, False)

    def _keys(self, keys: Any) -> tuple[_core.Array, Any]:
        return take_keys(keys, self._key, self._key_stored, "keys", self._handle.context)

    # ---- in

    def insert(self, keys: Any, values: Any) -> None:
        """Adds a value to each key; a key may come several times, and has all its values. It costs less by
        the pair the more come at once.

        >>> import libcohort
        >>> m = libcohort.MultiMap([7, 5], [70, 50])
        >>> m.insert([7, 8], [71, 80])
        >>> sorted(m[7]), m.count([5, 8]).tolist()
        ([70, 71], [1, 1])
        """
        given, _ = self._keys(keys)
        column = take_values(values, self._value, self._value_stored, "values", self._handle.context)
        if given._gpu != column._gpu:
            column = beside(given, column, values, ("keys", "values"), self._handle.context)
        _core.multimap_insert(self._handle, given, column)

    # ---- out

    def count(self, keys: Any) -> Any:
        """How many values each key has; 0 for keys that are not there. One key gives one number.

        >>> import libcohort
        >>> m = libcohort.MultiMap([7, 5, 7], [70, 50, 71])
        >>> m.count([7, 1]).tolist(), m.count(5)
        ([2, 0], 1)
        """
        if is_one(keys):
            return self.count([keys])[0]
        given, numpy = self._keys(keys)
        return give_out(_core.multimap_count(self._handle, given), numpy)

    def contains(self, keys: Any) -> Any:
        """For each key whether it is there.

        >>> import libcohort
        >>> libcohort.MultiMap([1, 1], [2, 3]).contains([1, 4]).tolist()
        [True, False]
        """
        given, numpy = self._keys(keys)
        return give_out(self._find(given, self._default(0))[1], numpy)

    def _default(self, value: Any) -> _core.Array:
        """An Array of the value of keys that are not there, which mostly is the same from call to call."""
        known = self._missing
        if known is None or known[0] is not value:
            one = [missing_of(value, self._value)]
            known = value, take_values(one, self._value, self._value_stored, "default", False)
            self._missing = known if isinstance(value, (int, float)) else None
        return known[1]

    def _find(self, keys: _core.Array, default: _core.Array) -> tuple[_core.Array, _core.Array]:
        return _core.multimap_find(self._handle, keys, self._value_stored, default)

    def get(self, keys: Any, default: Any = 0) -> Any:
        """One value of each key, any of them; `default` where there is none. One key gives one value.

        >>> import libcohort
        >>> libcohort.MultiMap([1, 2, 2], [5, 6, 6]).get([2, 3], default=-1).tolist()
        [6, -1]
        """
        if is_one(keys):
            return self.get([keys], default)[0]
        given, numpy = self._keys(keys)
        found = self._find(given, self._default(default))[0]
        return give_out(narrowed(found, self._value), numpy)

    def retrieve(self, keys: Any) -> tuple[Any, Any]:
        """(index, values): all values of each key, key by key, and the index in `keys` of the key that each
        belongs to.

        >>> import libcohort
        >>> index, values = libcohort.MultiMap([1, 2], [5, 6]).retrieve([9, 2, 1])
        >>> index.tolist(), values.tolist()
        ([1, 2], [6, 5])
        """
        given, numpy = self._keys(keys)
        values, index, _ = _core.multimap_retrieve(self._handle, given, self._value_stored, True, False)
        return give_out(index, numpy), give_out(narrowed(values, self._value), numpy)

    def rows(self, keys: Any) -> tuple[Any, Any]:
        """(offsets, values): the values of keys[i] are values[offsets[i]:offsets[i + 1]].

        >>> import libcohort
        >>> offsets, values = libcohort.MultiMap([1, 2], [5, 6]).rows([9, 2, 1])
        >>> offsets.tolist(), values.tolist()
        ([0, 0, 1, 2], [6, 5])
        """
        given, numpy = self._keys(keys)
        values, _, offsets = _core.multimap_retrieve(self._handle, given, self._value_stored, False, True)
        return give_out(offsets, numpy), give_out(narrowed(values, self._value), numpy)

    def items(self) -> tuple[Any, Any, Any]:
        """(keys, offsets, values) of everything: the distinct keys, in no order, and their values as in
        `rows`.

        >>> import libcohort
        >>> keys, offsets, values = libcohort.MultiMap([7, 7], [70, 70]).items()
        >>> keys.tolist(), offsets.tolist(), values.tolist()
        ([7], [0, 2], [70, 70])
        """
        keys, offsets, values = self._items()
        return give_out(keys, self._numpy), give_out(offsets, self._numpy), give_out(values, self._numpy)

    def _items(self) -> tuple[_core.Array, _core.Array, _core.Array]:
        keys, offsets, values = self._stored_items(self._gpu)
        return narrowed(keys, self._key), offsets, narrowed(values, self._value)

    def _stored_items(self, gpu: bool) -> tuple[_core.Array, _core.Array, _core.Array]:
        return _core.multimap_items(self._handle, self._key_stored, self._value_stored, gpu)

    def keys(self) -> Any:
        """The distinct keys, in no order.

        >>> import libcohort
        >>> sorted(libcohort.MultiMap([7, 5, 7], [70, 50, 71]).keys())
        [5, 7]
        """
        return self.items()[0]

    def __getitem__(self, key: Any) -> Any:
        """All values of one key, as an array; KeyError if it is not there."""
        if not is_one(key):
            raise TypeError(f"key: one key is due, not {type(key).__name__}; `rows` takes arrays")
        try:
            values = self.rows([key])[1]
        except OverflowError:
            raise KeyError(key) from None
        if not len(values):
            raise KeyError(key)
        return values if self._numpy is None else self._numpy.asarray(values)

    def __contains__(self, key: Any) -> bool:
        try:
            return bool(self.contains([key])[0])
        except OverflowError:
            return False

    def __len__(self) -> int:
        """Values in all."""
        return _core.multimap_size(self._handle)[1]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items()[0].tolist())

    # ---- more

    def union(self, other: MultiMap) -> MultiMap:
        """A new multimap with the pairs of both, which are of the same types.

        >>> import libcohort
        >>> libcohort.MultiMap([1], [5]).union(libcohort.MultiMap([1, 2], [6, 7])).count([1, 2]).tolist()
        [2, 1]
        """
        if not isinstance(other, MultiMap) or (other._key, other._value) != (self._key, self._value):
            raise TypeError("other: a MultiMap of the same types is due")
        b = other._handle
        if b.context is not self._handle.context:
            b = other._built(self._handle.context)
        return self._like(_core.multimap_union(self._handle, b))

    def _like(self, handle: _core.Handle) -> MultiMap:
        m = MultiMap.__new__(MultiMap)
        m._set_types(self._key, self._value)
        m._numpy, m._handle, m._gpu = self._numpy, handle, self._gpu
        return m

    def _built(self, context: _core.Context) -> _core.Handle:
        """The same pairs on a context."""
        keys, offsets, values = self._stored_items(False)
        return _core.multimap_build(context, self._width, _core.spread(keys, offsets), values)

    def copy(self) -> MultiMap:
        """Another multimap with the same pairs.

        >>> import libcohort
        >>> m = libcohort.MultiMap([1], [5])
        >>> other = m.copy()
        >>> other.insert([1], [6])
        >>> len(m), len(other)
        (1, 2)
        """
        return self._like(_core.multimap_clone(self._handle))

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> MultiMap:
        return self.copy()

    def __reduce__(self) -> Any:
        keys, offsets, values = self._stored_items(False)
        types = NAMES[self._key], NAMES[self._value]
        return _restore, (keys, offsets, values, *types, self._numpy is not None)

    def save(self, path: str | os.PathLike[str], *, mmap: bool = False) -> None:
        """Writes the pairs to a file, which is there whole or not at all. The file knows the widths, not the
        types. With `mmap` it holds the multimap as it lies in memory, for `load(path, mmap=True)`, and is as
        large.

        >>> import libcohort, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "pairs")
        >>> libcohort.MultiMap([1, 1], [5, 6]).save(path)
        >>> libcohort.MultiMap.load(path)
        libcohort.MultiMap(1 key, 2 values, int64 -> int64)
        """
        _core.multimap_save(self._handle, path, mmap)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        key_type: str | None = None,
        value_type: str | None = None,
        mmap: bool = False,
    ) -> MultiMap:
        """Reads a file of `save`, or of the C library. The types are signed integers if they are not given.
        With `mmap` the multimap is to be read alone (`copy()` can be changed), and a file of `save(path,
        mmap=True)` is mapped, and shared with other processes that map it; it must stay as it is.

        >>> import libcohort, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "pairs")
        >>> libcohort.MultiMap([1, 1], [-5, -6]).save(path)
        >>> sorted(libcohort.MultiMap.load(path)[1])
        [-6, -5]
        >>> libcohort.MultiMap([1, 1], [-5, -6]).save(path, mmap=True)
        >>> sorted(libcohort.MultiMap.load(path, mmap=True)[1])
        [-6, -5]
        """
        handle, width = _core.multimap_load(current(), path, mmap)
        key = _code(key_type, "key_type") if key_type is not None else I32 if width == WIDTH_32_32 else I64
        value = I64 if width == WIDTH_64_64 else I32
        value = _code(value_type, "value_type") if value_type is not None else value
        m = cls.__new__(cls)
        m._set_types(key, value)
        if m._width != width:
            raise ValueError(f"{os.fspath(path)}: does not hold pairs of {NAMES[key]} and {NAMES[value]}")
        m._numpy, m._handle, m._gpu = None, handle, False
        return m

    def __repr__(self) -> str:
        keys, values = _core.multimap_size(self._handle)
        many = f"{keys} key{'s' * (keys != 1)}, {values} value{'s' * (values != 1)}"
        return f"libcohort.MultiMap({many}, {NAMES[self._key]} -> {NAMES[self._value]})"


def _taken(array: _core.Array, values: Any, code: int, argument: str) -> _core.Array:
    """What was taken in of the values, as of a type."""
    if isinstance(values, (list, tuple, range)):
        return take_in_as(values, code, argument)[0]
    return _core.cast(array, code, argument)


def _restore(
    keys: _core.Array, offsets: _core.Array, values: _core.Array, key_type: str, value_type: str, numpy: bool
) -> MultiMap:
    m = MultiMap.__new__(MultiMap)
    m._set_types(_code(key_type, "key_type"), _code(value_type, "value_type"))
    m._numpy = sys.modules.get("numpy") if numpy else None
    m._gpu = False
    m._handle = _core.multimap_build(current(), m._width, _core.spread(keys, offsets), values)
    return m
