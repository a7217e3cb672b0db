"""Map: a hash map from integers or floats to numbers, for whole arrays at once."""

from __future__ import annotations

import functools
import os
from typing import Any, Iterator

from . import _core
from ._arrays import (
    BOOL,
    BYTES,
    CODES,
    F32,
    F64,
    I32,
    I64,
    NAMES,
    U8,
    U32,
    U64,
    give_out,
    narrowed,
    storage,
    take_in,
)
from ._context import current
from ._core import is_one, take_keys, take_values
from ._gpu import beside, context_for
from ._functions import (
    ADD,
    ANY,
    ASSIGN,
    COUNT,
    ERASE,
    INSERT,
    LAST,
    WIDTH_128_64,
    WIDTH_32_0,
    WIDTH_32_32,
    WIDTH_64_0,
    WIDTH_64_32,
    WIDTH_64_64,
)

# cohort_op
OPS = {
    "find": 0, "insert": 1, "assign": 2, "erase": 3, "add": 4, "min": 5, "max": 6, "or": 7, "and": 8,
    "exchange": 9, "count": 10
}  # fmt: skip
# Whoever has one of these has numbers.
_ARRAYS = ("array_interface", "cuda_array_interface", "dlpack", "arrow_c_device_array")
_LAYOUTS = {"pages": 0, "lines": 1}
_MOST = 2**64 - 1
_RULES = {"insert": INSERT, "assign": ASSIGN, "add": ADD}


def _code(name: str, argument: str) -> int:
    try:
        return CODES[str(name)]
    except KeyError:
        raise ValueError(f"{argument}: must be one of {', '.join(CODES)}, not {name!r}") from None


def missing_of(value: Any, code: int) -> Any:
    """The value of keys that are not there: 0, which is the default of calls, is False among booleans."""
    return False if code == BOOL and type(value) is int and not value else value


def _allow(codes: Any, value: int) -> None:
    """min and max are for unsigned integers of 32 or 64 bits, sums and bits for integers of these."""
    wide = value not in (F32, F64) and BYTES[value] >= 4
    for code in codes:
        extreme = code == OPS["min"] or code == OPS["max"]
        if extreme and value not in (U32, U64):
            raise _not_for(code, value, "unsigned integers")
        if not wide and OPS["add"] <= code <= OPS["count"] and code != OPS["exchange"]:
            raise _not_for(code, value, "integers")


def _not_for(code: int, value: int, what: str) -> TypeError:
    name = next(name for name, number in OPS.items() if number == code)
    return TypeError(f"ops: {name} is for {what} of 32 or 64 bits, not {NAMES[value] or 'keys only'}")


@functools.lru_cache(None)
def _op(name: str, value: int) -> bytes:
    """The number of an operation that a map with values of this type allows."""
    _allow((OPS[name],), value)
    return bytes((OPS[name],))


@functools.lru_cache(None)
def _stored_types(key: int, value: int, lines: bool) -> tuple[int, int, int]:
    """The types that keys and values (0: none) are stored in, and the width of a map of them."""
    key_stored, value_stored = storage(key), storage(value) if value else 0
    if BYTES[value_stored] == 8 and BYTES[key_stored] == 4:
        if key == F32:
            raise TypeError("keys: of float32 with values of 8 bytes are not supported; make them float64")
        key_stored = U64 if key_stored == U32 else I64
    if lines and not value and BYTES[key_stored] == 4 and key != F32:  # lines have no such width
        key_stored = U64 if key_stored == U32 else I64
    wide = BYTES[key_stored] == 8
    if BYTES[value_stored] == 8:
        return key_stored, value_stored, WIDTH_64_64
    if value:
        return key_stored, value_stored, WIDTH_64_32 if wide else WIDTH_32_32
    return key_stored, value_stored, WIDTH_64_0 if wide else WIDTH_32_0


class Map:
    """A hash map for whole arrays at once. Keys are integers or floats, values numbers of 4 or 8 bytes, or
    there are none.

    The types are those of the arrays that it is made of, or `key_type` and `value_type` ("int64", "float32"
    and so on; a map made of neither is one from int64 to int64, and without values if only keys are given).
    Keys of 32 bits and less with values of 32 bits and less take 8 bytes a slot, others 16. Where a key comes
    several times in one batch, the last one counts for `assign` and for making the map, any for `insert`.

    `layout="lines"` is for maps whose keys come and go: the slot of an erased key is free again at once, so
    that the map does not grow; it takes a little more memory a key.

    Several threads may use it: they read at once, each on its own device's threads, and a change waits for
    them. It stays on the device that it was made on. A map made of arrays in a GPU's memory is on that GPU,
    and gives its pairs out there; keys of a batch may lie there, and the answers then do, or in the host's
    memory.

    >>> import libcohort
    >>> m = libcohort.Map([10, 20, 30], [1, 2, 3])
    >>> m[20]
    2
    >>> m.get([10, 11], default=-1).tolist()
    [1, -1]
    >>> m
    libcohort.Map(3 pairs, int64 -> int64)
    """

    __slots__ = (
        "_handle",
        "_key",
        "_value",
        "_key_stored",
        "_value_stored",
        "_width",
        "_lines",
        "_numpy",
        "_gpu",
        "_missing",
        "__weakref__",
    )

    OPS = OPS

    _handle: _core.Handle
    _key: int
    _value: int
    _key_stored: int
    _value_stored: int
    _width: int
    _lines: bool
    _numpy: Any
    _gpu: bool
    _missing: tuple[Any, _core.Array] | None  # the last default of a call, and an Array of it

    def __init__(
        self,
        keys: Any = None,
        values: Any = None,
        *,
        key_type: str | None = None,
        value_type: str | None = None,
        capacity: int = 0,
        layout: str = "pages",
    ) -> None:
        numpy, key, value = None, I64, I64
        if keys is not None:
            keys, numpy = take_in(keys, "keys", True)
            key = keys._code
            value = I64 if value_type is not None else 0
        elif values is not None:
            raise TypeError("values: there are no keys for them")
        if values is not None:
            given = values
            values, numpy_too = take_in(values, "values", True)
            values = beside(keys, values, given, ("keys", "values"))
            numpy = numpy or numpy_too
            value = values._code
        if key_type is not None:
            key = _code(key_type, "key_type")
        if value_type is not None:
            value = _code(value_type, "value_type")
        if value and keys is not None and values is None:
            raise TypeError("values: a map of the value_type needs them")
        lines = _LAYOUTS.get(layout)
        if lines is None:
            raise ValueError(f"layout: must be pages or lines, not {layout!r}")
        self._set_types(key, value, lines == 1)
        self._numpy = numpy
        if capacity:
            capacity = _core.number(capacity, "capacity", 0, _MOST)
        self._gpu = keys is not None and keys._gpu is not None
        if keys is None:
            self._handle = _core.map_new(current(), self._width, capacity if capacity > 16 else 16, lines)
            return
        on, room = context_for(keys), len(keys)
        if capacity > room:
            room = capacity
        keys, _ = take_keys(keys, key, self._key_stored, "keys", on)
        if values is not None:
            values = take_values(values, value, self._value_stored, "values", on)
        self._handle = _core.map_new(on, self._width, room if room > 16 else 16, lines, keys, values)

    def _set_types(self, key: int, value: int, lines: bool) -> None:
        self._key, self._value, self._lines = key, value, lines
        self._missing = None
        self._key_stored, self._value_stored, self._width = _stored_types(key, value, lines)

    # ---- in

    def _keys(self, keys: Any) -> tuple[_core.Array, Any]:
        return take_keys(keys, self._key, self._key_stored, "keys", self._handle.context)

    def _values(self, values: Any, keys: _core.Array) -> _core.Array:
        if is_one(values):
            return self._beside(keys, _core.repeat(self._one(values, "values"), len(keys)), 0, "values")
        array = take_values(values, self._value, self._value_stored, "values", self._handle.context)
        return self._beside(keys, array, values, "values")

    def _beside(self, keys: _core.Array, array: _core.Array, given: Any, argument: str) -> _core.Array:
        if keys._gpu == array._gpu:
            return array
        return beside(keys, array, given, ("keys", argument), self._handle.context)

    def _one(self, value: Any, argument: str) -> _core.Array:
        """An Array of one value of the map's."""
        return take_values([value], self._value, self._value_stored, argument, False)

    def _default(self, value: Any) -> _core.Array:
        """The same of the value of keys that are not there, which mostly is the same from call to call."""
        known = self._missing
        if known is None or known[0] is not value:
            known = value, self._one(missing_of(value, self._value), "default")
            self._missing = known if isinstance(value, (int, float)) else None
        return known[1]

    def _need_values(self, call: str) -> None:
        if not self._value:
            raise TypeError(f"{call}: the map has keys only")

    def _put(self, op: int, keys: Any, values: Any, winner: int) -> int:
        if values is not None and not self._value:
            raise TypeError("values: the map has keys only")
        if values is None and self._value and op != COUNT:
            raise TypeError("values: the map's keys need them")
        keys, _ = self._keys(keys)
        values = self._values(values, keys) if values is not None else None
        return int(_core.map_change(self._handle, op, keys, values, winner)[2])

    def insert(self, keys: Any, values: Any = None) -> int:
        """Puts in the keys that are not there; the others keep their values. How many were put in.

        >>> import libcohort
        >>> libcohort.Map([1], [5]).insert([1, 2], [6, 6])
        1
        """
        return self._put(INSERT, keys, values, ANY)

    def assign(self, keys: Any, values: Any = None) -> int:
        """Puts in keys, or replaces their values; of several the last. How many were new.

        >>> import libcohort
        >>> m = libcohort.Map([1], [5])
        >>> m.assign([1, 2], [6, 7]), m[1]
        (1, 6)
        """
        return self._put(ASSIGN, keys, values, LAST)

    def add(self, keys: Any, values: Any = None) -> int:
        """Adds a value (1 without) to that of each key, which is 0 for keys that were not there; wraps
        around. How many were new.

        >>> import libcohort
        >>> m = libcohort.Map()
        >>> m.add([7, 8, 7])
        2
        >>> m[7]
        2
        """
        self._need_values("add")
        if self._value in (F32, F64) or BYTES[self._value] < 4:
            raise TypeError(f"add: values must be integers of 32 or 64 bits, not {NAMES[self._value]}")
        return self._put(COUNT if values is None else ADD, keys, values, ANY)

    def erase(self, keys: Any) -> int:
        """Takes keys out. How many pairs were taken out.

        >>> import libcohort
        >>> libcohort.Map([1, 2], [5, 6]).erase([2, 3])
        1
        """
        keys, _ = self._keys(keys)
        return int(_core.map_change(self._handle, ERASE, keys, None, ANY)[1])

    def clear(self) -> None:
        """Takes all keys out.

        >>> import libcohort
        >>> m = libcohort.Map([1, 2], [5, 6])
        >>> m.clear()
        >>> len(m)
        0
        """
        _core.map_clear(self._handle)

    def merge(self, other: Map, rule: str = "assign") -> None:
        """Puts the pairs of another map in, by "insert", "assign" or "add".

        >>> import libcohort
        >>> m = libcohort.Map([1], [5])
        >>> m.merge(libcohort.Map([1, 2], [3, 4]), "add")
        >>> m[1], m[2]
        (8, 4)
        """
        if rule not in _RULES:
            raise ValueError(f"rule: must be insert, assign or add, not {rule!r}")
        if not isinstance(other, Map) or bool(other._value) != bool(self._value):
            raise TypeError("other: a Map is due, and both with values or without")
        same = (other._key, other._value) == (self._key, self._value)
        if same and rule != "add" and other._handle.context is self._handle.context:
            _core.map_merge(self._handle, other._handle, _RULES[rule])
        else:
            keys, values = (None if a is None else _core.to_host(a) for a in other._items())
            {"insert": self.insert, "assign": self.assign, "add": self.add}[rule](keys, values)

    def run(self, ops: Any, keys: Any, values: Any = None, *, default: Any = 0) -> tuple[Any, Any]:
        """A mixed stream: does ops[i] to keys[i] with values[i]. (What each key had just before, `default`
        where it had nothing; whether it was there.) The first is None in a map without values.

        Operations are find, insert (a key that is there keeps its value), assign, erase, add, min, max, or,
        and, exchange, count: a name for all, a list of names, or an array of their numbers in `Map.OPS`.
        Entries with different keys are done in any order; the operations on one key are done one after the
        other, in some order. min and max are of unsigned values.

        >>> import libcohort
        >>> m = libcohort.Map([1, 2], [10, 20], layout="lines")
        >>> before, there = m.run(["find", "erase", "assign"], [1, 2, 3], [0, 0, 30])
        >>> before.tolist(), there.tolist(), m[3], 2 in m
        ([10, 20, 0], [True, True, False], 30, False)
        """
        keys, numpy = self._keys(keys)
        codes = self._ops(ops, keys)
        if values is not None and not self._value:
            raise TypeError("values: the map has keys only")
        operands = None if values is None else self._values(values, keys)
        fallback = self._default(default) if self._value else None
        before, hit = _core.map_run(self._handle, codes, keys, operands, self._value_stored, fallback)
        out = None if before is None else give_out(narrowed(before, self._value), numpy)
        return out, give_out(hit, numpy)

    def _ops(self, ops: Any, keys: _core.Array) -> _core.Array:
        """Their numbers, beside the keys."""
        given = ops
        try:
            if isinstance(ops, str):
                codes = _core.view(_op(ops, self._value) * len(keys), "ops")
                return codes if keys._gpu is None else self._beside(keys, codes, [], "ops")
            array = any(hasattr(ops, f"__{name}__") for name in _ARRAYS)
            if not array and len(ops) and isinstance(ops[0], str):
                ops = bytes([OPS[name] for name in ops])
        except KeyError as error:
            raise ValueError(f"ops: must be of {', '.join(OPS)}, not {error}") from None
        codes = _core.cast(take_in(ops, "ops", self._handle.context)[0], U8, "ops")
        _allow(set(bytes(memoryview(_core.to_host(codes)))), self._value)
        return self._beside(keys, codes, given, "ops")

    # ---- out

    def get(self, keys: Any, default: Any = 0) -> Any:
        """The value of each key, `default` where there is none. One key gives one value.

        >>> import libcohort
        >>> libcohort.Map([1, 2], [10, 20]).get([2, 3]).tolist()
        [20, 0]
        """
        if is_one(keys):
            return self.get([keys], default)[0]
        self._need_values("get")
        keys, numpy = self._keys(keys)
        values, _ = _core.map_find(self._handle, keys, self._value_stored, self._default(default))
        return give_out(narrowed(values, self._value), numpy)

    def contains(self, keys: Any) -> Any:
        """For each key whether it is there.

        >>> import libcohort
        >>> libcohort.Map([1, 2]).contains([2, 3]).tolist()
        [True, False]
        """
        keys, numpy = self._keys(keys)
        return give_out(_core.map_contains(self._handle, keys), numpy)

    def __contains__(self, key: Any) -> bool:
        try:
            return bool(self.contains([key])[0])
        except OverflowError:
            return False

    def __getitem__(self, keys: Any) -> Any:
        one = is_one(keys)
        self._need_values("m[keys]")
        try:
            given, numpy = self._keys([keys] if one else keys)
        except OverflowError:
            raise KeyError(keys) from None
        values, hits = _core.map_find(self._handle, given, self._value_stored, self._default(0))
        if hits < len(given):
            missing = _core.map_contains(self._handle, given).tolist()
            raise KeyError(given[missing.index(False)] if False in missing else keys)
        values = narrowed(values, self._value)
        return values[0] if one else give_out(values, numpy)

    def __setitem__(self, keys: Any, values: Any) -> None:
        one = is_one(keys)
        self.assign([keys] if one else keys, [values] if one else values)

    def __delitem__(self, keys: Any) -> None:
        given = [keys] if is_one(keys) else keys
        if not self.erase(given):
            raise KeyError(keys)

    def __len__(self) -> int:
        return _core.map_size(self._handle)

    def __iter__(self) -> Iterator[Any]:
        return iter((self._in_order() if self._value else self._items())[0].tolist())

    def _items(self) -> tuple[_core.Array, _core.Array | None]:
        keys, values = _core.map_items(self._handle, self._key_stored, self._value_stored, self._gpu)
        return narrowed(keys, self._key), None if values is None else narrowed(values, self._value)

    def _in_order(self) -> tuple[_core.Array, _core.Array]:
        """The same in the order of the keys: where several threads take pairs out of a table, they come in
        another order each time, and what two calls give has to fit together."""
        keys, values = _core.map_items(self._handle, self._key_stored, self._value_stored, self._gpu)
        keys, _, values = _core.sort(context_for(keys), keys, False, False, values)
        return narrowed(keys, self._key), narrowed(values, self._value)

    def items(self) -> tuple[Any, Any]:
        """(keys, values) of all pairs, in no order; values are None in a map without.

        >>> import libcohort
        >>> keys, values = libcohort.Map([4], [2]).items()
        >>> keys.tolist(), values.tolist()
        ([4], [2])
        """
        keys, values = self._items()
        return give_out(keys, self._numpy), None if values is None else give_out(values, self._numpy)

    def keys(self) -> Any:
        """All keys, in no order that means anything.

        >>> import libcohort
        >>> sorted(libcohort.Map([4, 2], [5, 6]).keys())
        [2, 4]
        """
        return give_out(self._in_order()[0], self._numpy) if self._value else self.items()[0]

    def values(self) -> Any:
        """All values, in the order of `keys` as long as the map is not changed.

        >>> import libcohort
        >>> sorted(libcohort.Map([4, 2], [5, 6]).values())
        [5, 6]
        """
        self._need_values("values")
        return give_out(self._in_order()[1], self._numpy)

    # ---- copies and files

    def copy(self) -> Map:
        """Another map with the same pairs.

        >>> import libcohort
        >>> m = libcohort.Map([1], [5])
        >>> other = m.copy()
        >>> other[1] = 6
        >>> m[1], other[1]
        (5, 6)
        """
        other = Map.__new__(Map)
        other._set_types(self._key, self._value, self._lines)
        other._numpy = self._numpy
        other._gpu = self._gpu
        other._handle = _core.map_clone(self._handle)
        return other

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Map:
        return self.copy()

    def __reduce__(self) -> Any:
        names = NAMES[self._key], NAMES[self._value] or None
        return _restore, (*self._items(), *names, self._numpy is not None, self.layout)

    def save(self, path: str | os.PathLike[str], *, mmap: bool = False) -> None:
        """Writes the pairs to a file, which is there whole or not at all. The file knows the widths, not the
        types. With `mmap` it holds the table as it lies in memory, for `load(path, mmap=True)`, and is as
        large.

        >>> import libcohort, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "pairs")
        >>> libcohort.Map([1], [5]).save(path)
        >>> libcohort.Map.load(path)
        libcohort.Map(1 pair, int64 -> int64)
        """
        _core.map_save(self._handle, path, mmap)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        key_type: str | None = None,
        value_type: str | None = None,
        mmap: bool = False,
    ) -> Map:
        """Reads a file of `save`, or of the C library. The types are signed integers if they are not given.
        With `mmap` the map is to be read alone (`copy()` can be changed), and a file of `save(path,
        mmap=True)` is mapped, and shared with other processes that map it; it must stay as it is.

        >>> import libcohort, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "pairs")
        >>> libcohort.Map([1], [-5]).save(path)
        >>> libcohort.Map.load(path)[1]
        -5
        >>> libcohort.Map([1], [-5]).save(path, mmap=True)
        >>> libcohort.Map.load(path, mmap=True)[1]
        -5
        """
        handle, width = _core.map_load(current(), path, mmap)
        if width == WIDTH_128_64:
            raise ValueError(f"{os.fspath(path)}: has keys of 16 bytes, which maps in Python have not")
        key = I32 if width in (WIDTH_32_0, WIDTH_32_32) else I64
        value = {WIDTH_32_32: I32, WIDTH_64_32: I32, WIDTH_64_64: I64}.get(width, 0)
        key = _code(key_type, "key_type") if key_type is not None else key
        value = _code(value_type, "value_type") if value_type is not None else value
        map = cls.__new__(cls)
        map._set_types(key, value, bool(_core.map_layout(handle)))
        map._numpy = None
        map._gpu = False
        if map._width != width:
            raise ValueError(
                f"{os.fspath(path)}: does not hold pairs of {NAMES[key]} and {NAMES[value] or 'nothing'}"
            )
        map._handle = handle
        return map

    @property
    def layout(self) -> str:
        """How its slots lie: pages or lines.

        >>> import libcohort
        >>> libcohort.Map([1], [5], layout="lines").layout
        'lines'
        """
        return "lines" if self._lines else "pages"

    def __repr__(self) -> str:
        n, lines = len(self), ", layout='lines'" * self._lines
        if not self._value:
            return f"libcohort.Map({n} key{'s' * (n != 1)}, {NAMES[self._key]}{lines})"
        return f"libcohort.Map({n} pair{'s' * (n != 1)}, {NAMES[self._key]} -> {NAMES[self._value]}{lines})"


def _restore(
    keys: _core.Array, values: Any, key_type: str, value_type: str | None, numpy: bool, layout: str
) -> Map:
    map = Map(keys, values, key_type=key_type, value_type=value_type, layout=layout)
    if numpy:
        import sys

        map._numpy = sys.modules.get("numpy")
    return map
