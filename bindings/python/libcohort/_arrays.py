"""What comes in and what goes out.

In: anything with the buffer protocol, DLPack, CUDA's array interface or Arrow's C interfaces, without a copy
where its elements are one behind the other; lists of numbers are copied. Out: numpy arrays if one came in,
else `libcohort.Array`.
"""

from __future__ import annotations

import array as _array
import sys
from typing import Any

from . import _core, _gpu

Array = _core.Array

U8, U16, U32, U64, I8, I16, I32, I64, F32, F64, BOOL = range(1, 12)
NAMES = (
    "",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "float32",
    "float64",
    "bool",
)
BYTES = (0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 1)
CODES = {name: code for code, name in enumerate(NAMES) if name}


# (values, argument, where=False): the Array of `values`, and what makes the answers: None, or the numpy that
# it came from. `where` says whether they may lie in a GPU's memory.
take_in = _core.take_in
# (values, code, argument, where=False): the same as values of a type; integers in a list may be floats.
take_in_as = _core.take_in_as
# (code): the type of 4 or 8 bytes that a type is stored in.
storage = _core.storage
# (array, argument): the values in 4 or 8 bytes each, floats with one NaN and one zero: keys that can be
# compared by their bits.
stored = _core.stored
# (array, code): back from the storage of a type to the type.
narrowed = _core.narrowed
# (array, numpy): the array as the caller's kind of array.
give_out = _core.give_out


def _take_other(values: Any, argument: str, where: _gpu.Where) -> tuple[_core.Array, Any]:
    """`take_in` of what has no short way."""
    kind = type(values)
    if kind is Array:
        _gpu.context_of(values, argument, values._gpu, where)
        return values, None
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(values, numpy.ndarray):
        _core.set_numpy(numpy)
        check_mask(values, argument, numpy)
        return view_numpy(values, argument, numpy), numpy
    if kind is list or kind is tuple or kind is range:
        return _core.view(_of_list(values, argument), argument), None
    device = _gpu.take(values, argument, where)
    if device is not None:
        return device, None
    if hasattr(values, "__dlpack__") and not hasattr(values, "__arrow_c_array__") and not _is_buffer(values):
        return _core.dlpack_in(values.__dlpack__(), argument, None), None
    return _core.view(values, argument), None


_core.set_taker(_take_other)


def check_mask(values: Any, argument: str, numpy: Any) -> None:
    """A buffer would tell nothing of what is masked."""
    if type(values) is not numpy.ndarray and numpy.ma.is_masked(values):
        raise ValueError(f"{argument}: has masked elements: fill or drop them first")


def view_numpy(values: Any, argument: str, numpy: Any) -> _core.Array:
    try:
        return _core.view(values, argument)
    except ValueError:
        if values.dtype.kind not in "mM":
            raise
        integers = numpy.dtype(numpy.int64).newbyteorder(values.dtype.byteorder)
        return _core.view(values.view(integers), argument)


def _is_buffer(values: Any) -> bool:
    try:
        memoryview(values)
    except TypeError:
        return False
    return True


def _of_list(values: Any, argument: str) -> Any:
    """Booleans alone are booleans. Integers with floats among them are floats, in whatever order they come."""
    numpy = sys.modules.get("numpy")
    kinds = bool if numpy is None else (bool, numpy.bool_)
    if len(values) and all(isinstance(value, kinds) for value in values):
        return memoryview(bytes(map(bool, values))).cast("?")
    try:
        return _of_integers(values)
    except TypeError:
        pass
    except OverflowError:
        raise OverflowError(f"{argument}: a number does not fit in 64 bits") from None
    try:
        return _array.array("d", values)
    except OverflowError:
        raise OverflowError(f"{argument}: a number does not fit in 64 bits") from None
    except TypeError:
        raise TypeError(f"{argument}: a list of numbers is due") from None


def _of_integers(values: Any) -> _array.array[Any]:
    """TypeError: there is something else among them. It may stand behind a number that is too large."""
    try:
        return _array.array("q", values)
    except OverflowError:
        if any(isinstance(value, float) for value in values):
            raise TypeError from None
        return _array.array("Q", values)


def common(a: int, b: int) -> int:
    """The type in which keys of both types can be compared; 0 if there is none."""
    if a == b:
        return a
    if a > b:
        a, b = b, a
    if b == BOOL:
        return common(a, U8)
    if b >= F32:
        return F64 if a >= F32 else 0
    if (a <= U64) == (b <= U64):
        return max(a, b)
    # Signed and unsigned: the least signed type that holds both.
    if BYTES[b] > BYTES[a]:
        return b
    return {1: I16, 2: I32, 4: I64}.get(BYTES[a], 0)
