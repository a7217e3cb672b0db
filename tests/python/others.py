"""What stands in for torch, cupy and cudf in test_gpu*.py: arrays in the simulated GPU's memory, of the
driver's own allocator, written on streams of their own, and handed over by one protocol each."""

import ctypes as ct

import layouts
import numpy as np

from libcohort import _core

_other = ct.CDLL(_core.__file__)


def _function(name, *arguments):
    f = getattr(_other, name)
    f.restype, f.argtypes = ct.c_uint64, [ct.c_uint64] * len(arguments)
    return f


alloc = _function("other_alloc", "bytes")
free = _function("other_free", "memory")
new_stream = _function("other_stream")
end_stream = _function("other_stream_end", "stream")
copy = _function("other_copy", "to", "from", "bytes", "stream")
finish = _function("other_finish", "stream")
event = _function("other_event", "stream")
wait_for = _function("other_await", "stream", "event")
end_event = _function("other_event_end", "event")
leaks = _other.other_leaks

LEGACY = 1


class Memory:
    """Elements in device memory. They are zeros; the values are put there on a stream: enqueued, not done."""

    alive = 0

    def __init__(self, values, stream=LEGACY, offset=0):
        values = np.ascontiguousarray(values)
        self.dtype, self.n, self.stream = values.dtype, len(values), stream
        self.bytes = values.nbytes
        self.base = alloc(max(self.bytes + offset, 1))
        self.address = self.base + offset
        zeros = np.zeros(values.nbytes, "u1")
        for from_, at in ((zeros, LEGACY), (values, stream)):
            if self.bytes:
                assert copy(self.address, from_.ctypes.data, self.bytes, at) == 0
            if from_ is zeros:
                assert finish(LEGACY) == 0
        Memory.alive += 1

    def __del__(self):
        finish(self.stream)
        free(self.base)
        Memory.alive -= 1


def handshake(waiting, writing):
    """What is enqueued on one stream from now on comes after what is on the other."""
    if waiting != writing:
        e = event(writing)
        assert wait_for(waiting, e) == 0
        end_event(e)


class Cupy(Memory):
    """By CUDA's array interface."""

    changes: dict = {}

    @property
    def __cuda_array_interface__(self):
        about = {
            "shape": (self.n,),
            "typestr": self.dtype.str,
            "data": (self.address if self.n else 0, False),
            "version": 3,
            "strides": None,
            "stream": self.stream,
        }
        return about | self.changes


_Tensor = layouts.structure("managed", "bindings/python/src/dlpack.c")
_Schema = layouts.structure("ArrowSchema", "include/cohort/arrow.h")
_Array = layouts.structure("ArrowDeviceArray", "include/cohort/arrow.h")

_new = ct.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ct.py_object, [ct.c_void_p, ct.c_char_p, ct.c_void_p]
_kept = {}  # what capsules that are out hold on to, by address
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


@ct.CFUNCTYPE(None, ct.c_void_p)
def _delete(address):
    del _kept[address]


class Torch(Memory):
    """By DLPack: the stream that the consumer names waits."""

    kind, ordinal, step = 2, 0, 1
    told = None

    def __dlpack_device__(self):
        return self.kind, self.ordinal

    def __dlpack__(self, *, stream=None):
        self.told = stream
        handshake(stream, self.stream)
        shape, strides = (ct.c_int64 * 1)(self.n), (ct.c_int64 * 1)(self.step)
        tensor = _Tensor(
            self.address, self.kind, self.ordinal, 1, _CODES[self.dtype.kind], 8 * self.dtype.itemsize, 1,
            ct.addressof(shape), ct.addressof(strides), 0, None, ct.cast(_delete, ct.c_void_p)
        )  # fmt: skip
        _kept[ct.addressof(tensor)] = tensor, self, shape, strides
        return _new(ct.addressof(tensor), b"dltensor", ct.cast(_drop_tensor, ct.c_void_p))


class Cudf(Memory):
    """By Arrow's device interface: the consumer waits for an event. Booleans are bits."""

    formats = {
        "i4": b"i", "u4": b"I", "i8": b"l", "u8": b"L", "f8": b"g", "u1": b"C", "b1": b"b", "i2": b"s", "f4": b"f"
    }  # fmt: skip
    kind, offset, nulls, length, format = 2, 0, 0, None, None
    validity = None

    def __arrow_c_device_array__(self, requested_schema=None):
        done = (ct.c_uint64 * 1)(event(self.stream))
        self.events = [*getattr(self, "events", []), done]
        buffers = (ct.c_void_p * 2)(self.validity, self.address)
        format = self.format or self.formats[self.dtype.str[1:]]
        schema = _Schema(format, b"", None, 0, 0, None, None, None, None)
        length = self.n - self.offset if self.length is None else self.length
        array = _Array(
            length, self.nulls, self.offset, 2, 0, buffers, None, None, None, None, 0, self.kind, ct.addressof(done),
            (ct.c_int64 * 3)(),
        )  # fmt: skip
        parts = _Capsule(schema, self), _Capsule(array, self, buffers, done)
        return parts[0].new(b"arrow_schema"), parts[1].new(b"arrow_device_array")

    def __del__(self):
        super().__del__()
        for done in getattr(self, "events", []):
            end_event(done[0])


class _Capsule:
    """A struct, which lives as long as its capsule, with what it points to."""

    def __init__(self, *parts):
        self.parts = parts

    def new(self, name):
        address = ct.addressof(self.parts[0])
        _kept[address] = self
        return _new(address, name, ct.cast(_drop, ct.c_void_p))


_name_of = ct.PYFUNCTYPE(ct.c_char_p, ct.c_void_p)(("PyCapsule_GetName", ct.pythonapi))
_pointer = ct.PYFUNCTYPE(ct.c_void_p, ct.py_object, ct.c_char_p)(("PyCapsule_GetPointer", ct.pythonapi))
_address_of = ct.PYFUNCTYPE(ct.c_void_p, ct.c_void_p, ct.c_char_p)(("PyCapsule_GetPointer", ct.pythonapi))


@ct.PYFUNCTYPE(None, ct.c_void_p)
def _drop(capsule):
    """The destructor of a capsule."""
    del _kept[_address_of(capsule, _name_of(capsule))]


@ct.PYFUNCTYPE(None, ct.c_void_p)
def _drop_tensor(capsule):
    """The same of a tensor's: nobody took it, or who took it deletes it."""
    if _name_of(capsule) == b"dltensor":
        del _kept[_address_of(capsule, b"dltensor")]


def schema_of(capsule):
    """The format, and the names of the children."""
    schema = _Schema.from_address(_pointer(capsule, b"arrow_schema"))
    names = [_Schema.from_address(schema.children[i]).name for i in range(schema.n_children)]
    return schema.format, names


def device_array_of(capsule):
    """(kind of memory, which GPU's, whether there is an event, rows, where the values of each child begin), once
    the event has come."""
    array = _Array.from_address(_pointer(capsule, b"arrow_device_array"))
    if array.sync_event:
        assert wait_for(LEGACY, ct.c_uint64.from_address(array.sync_event).value) == 0 and finish(LEGACY) == 0
    children = [_Array.from_address(array.children[i]) for i in range(array.n_children)]
    where = [child.buffers[1] for child in children]
    return array.device_type, array.device_id, bool(array.sync_event), array.length, where


def read(a):
    """What an array of the library holds, by one of the protocols and no call of the library's."""
    about = a.__cuda_array_interface__
    out = np.empty(about["shape"], about["typestr"])
    assert about["version"] == 3 and about["stream"] is None
    if out.nbytes:
        assert copy(out.ctypes.data, about["data"][0], out.nbytes, LEGACY) == 0
        assert finish(LEGACY) == 0
    return out
