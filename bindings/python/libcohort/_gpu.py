"""Arrays in the memory of a GPU: how they come in, without a copy, and on which context calls on them run.

Whoever hands one over says on which of its streams it is being written. The work of the context comes after
what is enqueued there: DLPack's producer is told the stream that is to wait, and CUDA's array interface and
Arrow name what is to be waited for. All work on such an array is done when a call returns.
"""

from __future__ import annotations

from typing import Any

from . import _core, _context
from ._errors import ArgumentError, DeviceError, UnsupportedError

# DLDeviceType and ArrowDeviceType
_CUDA, _MANAGED = 2, 13
# Of the legacy default stream, in DLPack and in CUDA's array interface
_LEGACY = 1

_TYPES = {
    "u1": 1, "u2": 2, "u4": 3, "u8": 4, "i1": 5, "i2": 6, "i4": 7, "i8": 8, "f4": 9, "f8": 10, "b1": 11
}  # fmt: skip

# False: no array in a GPU's memory is taken; True: by the thread's context; or by this one.
Where = bool | _core.Context


def take(values: Any, argument: str, where: Where) -> _core.Array | None:
    """The Array of `values` if they lie in a GPU's memory, else None."""
    arrow = hasattr(values, "__arrow_c_device_array__")
    if arrow and hasattr(values, "__arrow_c_array__"):
        arrow = not getattr(values, "is_cpu", True)
        if not arrow:
            return None
    place = getattr(values, "__dlpack_device__", None) if not arrow else None
    if place is not None and hasattr(values, "__dlpack__"):
        kind, ordinal = (int(part) for part in place())
        if kind == _CUDA or (kind == _MANAGED and _on_gpu(where)):
            on = context_of(values, argument, ordinal if kind == _CUDA else None, where)
            return _of_dlpack(values, argument, on)
        return None
    if hasattr(values, "__cuda_array_interface__"):
        on = context_of(values, argument, None, where)
        return _of_interface(values, values.__cuda_array_interface__, argument, on)
    if arrow:
        return _of_arrow(values, argument, where)
    return None


def context_of(values: Any, argument: str, ordinal: int | None, where: Where) -> _core.Context:
    """The context that takes in an array of a GPU: cuda:`ordinal`, or None where that is not known."""
    name = f"cuda:{ordinal}" if ordinal is not None else "a GPU"
    kind = type(values)
    lies = f"{argument}: lies in the memory of {name} ({kind.__module__}.{kind.__name__})"
    if where is False:
        raise UnsupportedError(f"{lies}, which this call does not take; bring it to the host first")
    chosen = _context.chosen() if where is True else where
    if chosen is not None:
        number = _core.context_gpu(chosen)[0]
        if number >= 0 and (ordinal is None or ordinal == number):
            return chosen
        whose = "calls here run" if where is True else "what it is for lies"
        there = f"cuda:{number}" if number >= 0 else "the CPU"
        raise ArgumentError(f"{lies}, and {whose} on {there}; bring it there first")
    try:
        return _context.of_gpu(ordinal)
    except DeviceError as error:
        raise UnsupportedError(f"{lies}, which cannot be used here: {error}") from None


def _on_gpu(where: Where) -> bool:
    context = where if isinstance(where, _core.Context) else _context.current()
    return _core.context_gpu(context)[0] >= 0


def _of_dlpack(values: Any, argument: str, on: _core.Context) -> _core.Array:
    stream = _core.context_gpu(on)[1]
    capsule = values.__dlpack__(stream=stream or _LEGACY)
    if stream is None:  # the context's own stream has no number: it waits for the legacy one
        _core.context_after(on, _LEGACY)
    return _core.dlpack_in(capsule, argument, on)


def _of_interface(values: Any, about: dict[str, Any], argument: str, on: _core.Context) -> _core.Array:
    shape, typestr, (address, readonly) = about["shape"], about["typestr"], about["data"]
    if about.get("mask") is not None:
        raise ArgumentError(f"{argument}: has a mask; take out what it hides first")
    if len(shape) != 1:
        raise ArgumentError(f"{argument}: has {len(shape)} dimensions, and must have one")
    code = _TYPES.get(typestr[1:])
    if code is None or typestr[0] not in "<|=":
        raise TypeError(f"{argument}: elements of the type {typestr!r} are not supported")
    size, strides = int(typestr[2:]), about.get("strides")
    if strides is not None and shape[0] > 1 and strides[0] != size:
        raise ArgumentError(
            f"{argument}: has a stride of {strides[0]} bytes: in a GPU's memory its elements must be one "
            "behind the other"
        )
    if address % size:
        raise ArgumentError(f"{argument}: is not aligned")
    stream = about.get("stream")
    if stream is not None:
        _core.context_after(on, stream)
    return _core.device_view(on, address, shape[0], code, bool(readonly), values)


def _of_arrow(values: Any, argument: str, where: Where) -> _core.Array:
    pair = values.__arrow_c_device_array__()
    kind, ordinal = _core.arrow_place(pair)
    if kind == _CUDA or (kind == _MANAGED and _on_gpu(where)):
        on = context_of(values, argument, ordinal if kind == _CUDA else None, where)
        return _core.arrow_device_in(pair, argument, on)
    return _core.arrow_device_in(pair, argument, None)


def beside(
    a: _core.Array, b: _core.Array, given: Any, names: tuple[str, str], on: _core.Context | None = None
) -> _core.Array:
    """`b`, made of what was `given`, in the memory that `a` lies in: lists and numbers go there by themselves."""
    if a._gpu == b._gpu:
        return b
    if b._gpu is None and isinstance(given, (list, tuple, range, int, float)):
        return _core.to_device(on or context_for(a), b)
    raise ArgumentError(
        f"{names[1]}: lies in the memory of {_name(b)}, and {names[0]} in that of {_name(a)}; bring both "
        "to one place first (libcohort.to_host, libcohort.to_device)"
    )


def together(
    a: _core.Array, b: _core.Array, given: tuple[Any, Any], names: tuple[str, str]
) -> tuple[_core.Array, _core.Array, _core.Context]:
    """Both in one memory, and the context for a call on them."""
    if a._gpu is None and b._gpu is not None:
        a = beside(b, a, given[0], (names[1], names[0]))
    else:
        b = beside(a, b, given[1], names)
    return a, b, context_for(a)


# (array): where a call on it runs: the thread's context, or one of the GPU that the array is on.
context_for = _core.context_for


def _name(a: _core.Array) -> str:
    return "the host" if a._gpu is None else a.device


def to_device(values: Any) -> _core.Array:
    """An Array of `values` in the memory of this thread's device, a copy unless they lie there.

    On a CPU that is the host's memory.

    >>> import libcohort
    >>> with libcohort.device("cpu"):
    ...     libcohort.to_device([1, 2]).device
    'cpu'
    """
    from ._arrays import take_in

    array = take_in(values, "values", True)[0]
    out = _core.to_device(context_for(array), array)
    _core.settle(out)
    return out


def to_host(values: Any) -> _core.Array:
    """An Array of `values` in the host's memory, a copy unless they lie there.

    >>> import libcohort
    >>> libcohort.to_host(libcohort.sort([2, 1])).tolist()
    [1, 2]
    """
    from ._arrays import take_in

    return _core.to_host(take_in(values, "values", True)[0])
