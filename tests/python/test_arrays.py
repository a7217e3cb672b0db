"""How arrays come in and go out: without copies, and nobody's memory too early given back."""

import collections.abc
import copy
import gc
import itertools
import pickle
import weakref

import numpy as np
import pyarrow as pa
import pytest

import libcohort as lc
from libcohort import _core


def address(a):
    return a.__array_interface__["data"][0]


def test_nothing_is_copied_on_the_way_in():
    a = np.arange(100)
    assert _core.view(a, "a")._address == address(a)
    assert _core.view(a[10:20], "a")._address == address(a) + 80
    assert _core.view(memoryview(a), "a")._address == address(a)
    assert _core.view(a[::2], "a")._address != address(a)
    p = pa.array(a)
    assert _core.view(p, "a")._address == p.buffers()[1].address
    assert _core.view(p.slice(7), "a")._address == p.buffers()[1].address + 56
    assert _core.view(pa.chunked_array([p]), "a")._address == p.buffers()[1].address


def test_nothing_is_copied_on_the_way_out():
    a = lc.sort([3, 1, 2])
    assert address(np.asarray(a)) == a._address
    assert pa.array(a).buffers()[1].address == a._address
    assert np.asarray(a).flags.writeable


def test_memory_of_the_host():
    a = lc.sort([3, 1, 2])
    assert a.device == "cpu" and a.__dlpack_device__() == (1, 0)
    assert not hasattr(a, "__cuda_array_interface__")
    assert lc.to_host(a) is a and lc.to_device(a) is a
    out = a.__dlpack__(stream=None, dl_device=(1, 0))
    assert _core.dlpack_in(out, "a", None).tolist() == [1, 2, 3]
    with pytest.raises(BufferError, match=r"dl_device: \(2, 0\) is not where"):
        a.__dlpack__(dl_device=(2, 0))
    pair = a.__arrow_c_device_array__()
    assert _core.arrow_place(pair) == (1, -1)
    assert _core.arrow_device_in(pair, "a", None)._address == a._address
    with pytest.raises(TypeError, match="stream: a stream or its number"):
        lc.device("cpu", stream="0")
    with pytest.raises(lc.UnsupportedError):
        lc.device("cpu", stream=77)


def test_what_is_strided_or_misaligned():
    a = np.frombuffer(b"x" + np.arange(5, dtype="int64").tobytes(), "int64", offset=1)
    assert not a.flags.aligned
    assert lc.sort(a).tolist() == list(range(5))
    assert lc.sort(np.arange(9)[::-3]).tolist() == [2, 5, 8]
    assert lc.sort(np.broadcast_to(np.int64(7), 3)).tolist() == [7, 7, 7]
    assert lc.sort(np.zeros(0)[::2]).tolist() == []


@pytest.mark.parametrize(
    "type", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float", "double"]
)
def test_arrow(type):
    values = [5, 3, 5, 1, 0, 9]
    p = pa.array(values, type)
    whole = lc.unique(p)
    assert isinstance(whole, lc.Array)
    assert pa.array(whole).type == p.type
    assert pa.array(whole).to_pylist() == sorted(set(values))
    assert lc.sort(p.slice(1, 3)).tolist() == [1, 3, 5]
    chunks = pa.chunked_array([p, p.slice(2), p[:0]])
    assert lc.sort(chunks).tolist() == sorted(values + values[2:])
    assert lc.sort(pa.chunked_array([], type)).tolist() == []


def test_arrow_booleans_have_bits():
    mask = pa.array([True, False, True, True] * 5)[1:]
    assert lc.compact(list(range(19)), mask).tolist() == [i for i in range(19) if mask[i].as_py()]
    hit = lc.is_in([1, 2, 3], [2])
    assert pa.array(hit).to_pylist() == [False, True, False]


def test_arrow_that_is_refused():
    with pytest.raises(ValueError, match="a: 1 of 2 rows are null"):
        lc.sort(pa.array([1, None]))
    assert lc.sort(pa.array([None, 2, 1])[1:]).tolist() == [1, 2]
    for wrong in (
        pa.array(["x"]),
        pa.array(["x"]).dictionary_encode(),
        pa.array([[1]]),
        pa.table({"x": [1]}),
    ):
        with pytest.raises(TypeError, match="a: an Arrow array of the format"):
            lc.sort(wrong)


def test_a_stream_that_fails():
    def batches():
        yield pa.record_batch({"x": [1]})
        raise RuntimeError("no more")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"x": pa.int64()}), batches())
    with pytest.raises(TypeError):
        lc.sort(reader)


def test_the_producer_may_go_first():
    a = np.arange(1000)
    v = _core.view(a, "a")
    del a
    gc.collect()
    assert v.tolist() == list(range(1000))
    w = _core.view(pa.array(range(1000)), "a")
    gc.collect()
    assert w.tolist() == list(range(1000))


def test_the_array_may_go_first():
    n = np.asarray(lc.sort(list(range(1000))))
    p = pa.array(lc.sort(list(range(1000))))
    part = lc.sort(list(range(1000)))[10:20]
    gc.collect()
    assert n.tolist() == p.to_pylist() == list(range(1000))
    assert part.tolist() == list(range(10, 20))


def test_a_producer_is_let_go():
    class Watched(np.ndarray):
        pass

    a = np.arange(10).view(Watched)
    watch = weakref.ref(a)
    v = _core.view(a, "a")
    del a
    gc.collect()
    assert watch() is not None
    del v
    gc.collect()
    assert watch() is None


def test_array_as_a_sequence():
    a = lc.sort([4, 3, 2, 1])
    assert (len(a), a[0], a[-1], list(a), a[1:3].tolist(), a[::-1].tolist()) == (
        4,
        1,
        4,
        [1, 2, 3, 4],
        [2, 3],
        [4, 3, 2, 1],
    )
    with pytest.raises(IndexError):
        a[4]
    with pytest.raises(TypeError):
        lc.Array()
    assert isinstance(a, collections.abc.Iterable) and [x + y for x, y in zip(a, a)] == [2, 4, 6, 8]
    assert "length=100" in repr(lc.sort(list(range(100))))


def test_pickle_and_copy():
    for a in (lc.sort([2, 1]), lc.sort([2.5, 1]), lc.is_in([1], [1]), lc.sort(b"")):
        for b in (pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy(a)):
            assert b.type == a.type and b.tolist() == a.tolist()


def test_read_only():
    a = np.arange(3)
    a.flags.writeable = False
    assert lc.sort(a).flags.writeable
    assert memoryview(_core.view(a, "a")).readonly
    assert not memoryview(lc.sort(a)).readonly


# ---- DLPack


class Tensor:
    """A double of torch's: DLPack and nothing else."""

    def __init__(self, array, device=(1, 0)):
        self.array, self.device = array, device

    def __dlpack__(self, **wishes):
        return self.array.__dlpack__(**wishes)

    def __dlpack_device__(self):
        return self.device


@pytest.mark.parametrize(
    "type",
    ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "bool"],
)
def test_dlpack(type):
    a = np.array([3, 1, 0, 1], type)
    assert _core.dlpack_in(a.__dlpack__(), "a", None)._address == address(a)
    got = lc.unique(Tensor(a))
    assert isinstance(got, lc.Array) and got.type == type and got.tolist() == np.unique(a).tolist()
    out = np.from_dlpack(got)
    assert out.dtype == a.dtype and out.tolist() == got.tolist() and address(out) == got._address
    assert lc.unique(Tensor(a[::2])).tolist() == np.unique(a[::2]).tolist()
    assert len(_core.dlpack_in(a[:0].__dlpack__(), "a", None)) == 0


def test_dlpack_lifetimes():
    watch = []

    class Watched(np.ndarray):
        pass

    a = np.arange(1000).view(Watched)
    watch = weakref.ref(a)
    v = _core.dlpack_in(np.ndarray.__dlpack__(a), "a", None)
    del a
    gc.collect()
    assert v[1:].tolist() == list(range(1, 1000)) and watch() is not None
    del v
    gc.collect()
    assert watch() is None
    out = np.from_dlpack(lc.sort(list(range(500, 0, -1))))
    gc.collect()
    assert out.tolist() == list(range(1, 501))
    lc.sort([1]).__dlpack__()  # a capsule that nobody takes
    capsule = lc.sort([1]).__dlpack__()
    assert _core.dlpack_in(capsule, "a", None).tolist() == [1]
    with pytest.raises(ValueError):
        _core.dlpack_in(capsule, "a", None)


def test_what_dlpack_refuses():
    with pytest.raises(ValueError, match="a: has 2 dimensions"):
        lc.sort(Tensor(np.zeros((2, 2))))
    with pytest.raises(TypeError, match="bits are not supported"):
        lc.sort(Tensor(np.zeros(2, complex)))
    with pytest.raises(BufferError):
        _core.view(b"abc", "a").__dlpack__()

    class Gpu:
        __cuda_array_interface__ = {"shape": (3,), "typestr": "<i8", "data": (4096, False), "version": 3}

    with pytest.raises(lc.UnsupportedError, match="a: lies in .* a GPU .*Gpu.*cannot be used here"):
        lc.sort(Gpu())
    with lc.device("cpu"), pytest.raises(lc.ArgumentError, match="a: lies .*, and calls here run on the CPU"):
        lc.sort(Gpu())
    with pytest.raises(lc.UnsupportedError, match="keys: lies .* cannot be used here"):
        lc.MultiMap(Gpu(), [1, 2, 3])


def test_lists_of_booleans():
    for values in ([True, False, True], (True, False, True)):
        assert lc.unique(values).type == "bool" and lc.unique(values).tolist() == [False, True]
        assert lc.compact([4, 5, 6], values).tolist() == [4, 6]
        assert lc.Set(values).members().tolist() == [0, 2]
    assert lc.sort([True, 2]).tolist() == [1, 2] and lc.sort([True, 2]).type == "int64"
    assert lc.compact([], []).tolist() == []
    with pytest.raises(TypeError, match="mask: must be of type bool, not int64"):
        lc.compact([4, 5], [1, 0])
    with pytest.raises(ValueError, match="mask: "):
        lc.compact([4, 5], [])


@pytest.mark.parametrize("values", list(itertools.permutations([2**63, 1.5, 3])))
def test_integers_beside_floats_in_any_order(values):
    assert lc.sort(values).tolist() == [1.5, 3.0, 2.0**63]


def test_masked_arrays():
    plain, masked = (np.ma.array([3, 1, 2], mask=mask) for mask in ([0, 0, 0], [0, 1, 0]))
    assert lc.sort(plain).tolist() == [1, 2, 3]
    for call in (lc.sort, lc.unique, lc.Map, lc.Set, lc.Column, lambda a: lc.Table({"a": a})):
        with pytest.raises(ValueError, match="has masked elements: fill or drop them first"):
            call(masked)
    assert lc.Column(np.ma.array(["a", "b"], mask=[0, 1])).tolist() == ["a", None]
    with pytest.raises(ValueError, match="values: has masked elements"):
        lc.factorize(np.ma.array(np.array([1, 2], "M8[D]"), mask=[0, 1]))
