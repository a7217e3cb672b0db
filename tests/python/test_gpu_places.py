"""Arrays in a GPU's memory, on the simulated one: streams, results that go out, whose the memory is, and what is
refused."""

import copy
import gc
import pickle
import threading

import numpy as np
import others
import pytest
from on_gpu import KINDS, gpu, same, some, stream  # noqa: F401
from others import Cudf, Cupy, Memory, Torch, read

import libcohort as lc
from libcohort import _context, _core, _gpu

pytestmark = pytest.mark.usefixtures("gpu")


# ---- streams


@pytest.mark.parametrize("Kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_what_is_enqueued_on_another_stream_is_waited_for(Kind, seed, stream):
    a = some("i8", 50, seed)
    with lc.device(f"sim:{seed}"):
        same(lc.sort(Kind(a, stream)), np.sort(a))
        m = lc.Map(Kind(a, stream))
        same(m.contains(Kind(a, stream)), [True] * 50)
        held = lc.to_device(Kind(a, stream))
        assert read(held).tolist() == a.tolist()


def test_a_stream_that_nobody_names_is_not_waited_for(stream):
    """So that the test above can fail: what was there before is read."""

    class Silent(Cupy):
        changes = {"stream": None}

    a = np.arange(1, 50)
    assert any(lc.sort(Silent(a, stream)).tolist() != a.tolist() for _ in range(20))


def test_calls_on_a_stream_of_the_callers(stream):
    class Stream:
        cuda_stream = stream

    a = some("i8")
    others_streams = ({"ptr": stream}, {"__cuda_stream__": (0, stream)})
    for given in (stream, Stream(), *(type("Stream", (), about)() for about in others_streams)):
        with lc.device("sim:1", stream=given):
            tensor = Torch(a, stream)
            same(lc.sort(tensor), np.sort(a))
            assert tensor.told == stream
            same(lc.sort(Cupy(a, stream)), np.sort(a))
            same(lc.sort(Torch(a, others.LEGACY)), np.sort(a))
        gc.collect()
    for legacy in (0, 1):
        with lc.device("sim:1", stream=legacy):
            tensor = Torch(a, stream)
            same(lc.sort(tensor), np.sort(a))
            assert tensor.told == others.LEGACY


# ---- out


def test_results_go_out_by_each_protocol():
    a = lc.sort(Cupy(some("i8")))
    due = np.sort(some("i8")).tolist()
    assert a.__dlpack_device__() == (2, 0)
    for capsule in (a.__dlpack__(), a.__dlpack__(stream=1, dl_device=(2, 0)), a.__dlpack__(stream=-1)):
        out = _core.dlpack_in(capsule, "a", _context.current())
        assert out._address == a._address and out.tolist() == due
    about = a.__cuda_array_interface__
    assert about["data"] == (a._address, False) and about["typestr"] == "<i8" and about["shape"] == (70,)
    pair = a.__arrow_c_device_array__()
    assert _core.arrow_place(pair) == (2, 0)
    out = _core.arrow_device_in(pair, "a", _context.current())
    assert out._address == a._address and out.tolist() == due
    hit = lc.is_in(Cupy(some("i8")), [7])
    assert hit.__cuda_array_interface__["typestr"] == "|b1"
    out = _core.arrow_device_in(hit.__arrow_c_device_array__(), "a", _context.current())
    same(out, hit.tolist())
    del a, about
    gc.collect()
    same(lc.sort(lc.sort(Cupy(some("u4")))), np.sort(some("u4")))
    assert lc.to_host(hit).device == "cpu" and lc.to_host(hit).tolist() == hit.tolist()
    assert "device='cuda:0'" in repr(hit)
    assert pickle.loads(pickle.dumps(hit)).tolist() == copy.copy(hit).tolist() == hit.tolist()


def test_what_is_of_the_host_alone_is_refused():
    a = lc.sort(Cupy(some("i8")))
    for call in (memoryview, np.from_dlpack, lambda a: a.__arrow_c_array__()):
        with pytest.raises((BufferError, RuntimeError)):
            call(a)
    with pytest.raises(BufferError, match=r"dl_device: \(1, 0\)"):
        a.__dlpack__(dl_device=(1, 0))
    with pytest.raises(lc.UnsupportedError, match="rows: lies in the memory of cuda:0"):
        lc.Sets([[1]]).query("and", a, offsets=[0, 70])


def test_memory_goes_back_to_the_library():
    lc.sort(Cupy(some("i8")))
    gc.collect()
    before = lc.info()["memory_held"]
    a = lc.to_device(np.zeros(1 << 20))
    assert lc.info()["memory_held"] >= before + (8 << 20)
    part = a[5:7]
    del a
    gc.collect()
    assert lc.info()["memory_held"] >= before + (8 << 20) and part.tolist() == [0, 0]
    capsule = part.__dlpack__()
    del part
    gc.collect()
    assert lc.info()["memory_held"] >= before + (8 << 20)
    del capsule
    gc.collect()
    assert lc.info()["memory_held"] == before
    with lc.device("sim:1"):
        last = lc.to_device([1, 2])
    gc.collect()
    assert last.tolist() == [1, 2]  # it keeps its context


def test_arrays_of_other_threads():
    made, failed = [], []

    def make():
        with lc.device("sim:1"):
            made.append(lc.sort(Torch(some("i8"))))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    same(lc.is_in(made[0], Cupy(some("i8")[:5])), np.isin(np.sort(some("i8")), some("i8")[:5]))

    def let_go():
        try:
            assert made.pop().tolist() == np.sort(some("i8")).tolist()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=let_go)
    thread.start()
    thread.join()
    assert not failed and not made


# ---- what is refused


def changed(**changes):
    a = Cupy(some("i8"))
    a.changes = changes
    return a


def test_what_the_array_interface_refuses():
    for match, a in (
        ("a: has a mask", changed(mask=Cupy(some("u1")))),
        ("a: has 2 dimensions", changed(shape=(7, 10))),
        ("a: has 0 dimensions", changed(shape=())),
        ("a: has a stride of 16 bytes", changed(shape=(35,), strides=(16,))),
        ("a: is not aligned", Cupy(some("i8"), offset=4)),
    ):
        with pytest.raises(lc.ArgumentError, match=match):
            lc.sort(a)
    for typestr in ("<c16", ">i8", "<f2", "|O8"):
        with pytest.raises(TypeError, match="a: elements of the type"):
            lc.sort(changed(typestr=typestr))
    same(lc.sort(changed(strides=(8,))), np.sort(some("i8")))
    same(lc.sort(changed(shape=(1,), strides=(800,))), some("i8")[:1])
    readonly = _gpu.take(changed(data=(changed().address, True)), "a", True)
    assert readonly.__cuda_array_interface__["data"][1] is True
    with pytest.raises(BufferError, match="read-only"):
        readonly.__dlpack__()


def test_what_dlpack_refuses():
    a = Torch(some("i8"))
    a.step = 2
    with pytest.raises(BufferError, match="a: has a stride of 2 elements"):
        lc.sort(a)
    with pytest.raises(BufferError, match="a: is not aligned"):
        lc.sort(Torch(some("i8"), offset=4))
    a = Torch(some("i8"))
    a.ordinal = 3
    with pytest.raises(lc.ArgumentError, match="a: lies in .* cuda:3 .*, and calls here run on cuda:0"):
        lc.sort(a)
    capsule = a.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="a: lies in the memory of cuda:3, and must lie in that of cuda:0"):
        _core.dlpack_in(capsule, "a", _context.current())


def test_what_arrow_refuses():
    for match, changes in (
        ("a: has nulls", {"nulls": 2, "validity": 256}),
        ("a: has nulls, or does not say", {"nulls": -1, "validity": 256}),
    ):
        a = Cudf(some("i8"))
        a.__dict__.update(changes)
        with pytest.raises(ValueError, match=match):
            lc.sort(a)
    a = Cudf(some("i8"))
    a.format = b"u"
    with pytest.raises(TypeError, match="a: an Arrow array of the format 'u'"):
        lc.sort(a)
    a = Cudf(some("i8"))
    a.offset = 60
    same(lc.sort(a), np.sort(some("i8")[60:]))
    with pytest.raises(ValueError, match="a: is not aligned"):
        lc.sort(Cudf(some("i8"), offset=4))


def test_arrays_of_two_places():
    a, host = Cupy(some("i8")), some("i8")
    with pytest.raises(lc.ArgumentError, match="test_elements: lies .* of the host, and element .* of cuda:0"):
        lc.is_in(a, host)
    with pytest.raises(lc.ArgumentError, match="element: lies in the memory of the host, and test_elements"):
        lc.is_in(host, a)
    with pytest.raises(lc.ArgumentError, match="values: lies in the memory of the host"):
        lc.Map(a, host)
    with pytest.raises(lc.ArgumentError, match="values: lies .* of cuda:0, and keys in that of the host"):
        lc.partition(host, 3, values=a)
    with pytest.raises(lc.ArgumentError, match="mask: lies in the memory of the host"):
        lc.compact(a, host > 3)
    same(lc.is_in(a, lc.to_device(host)), [True] * 70)
    assert lc.is_in(lc.to_host(a), host).tolist() == [True] * 70


def test_a_gpus_array_and_a_cpu():
    held = lc.sort(Cupy(some("i8")))
    with lc.device("cpu"):
        for a in (*(Kind(some("i8")) for Kind in KINDS), held):
            with pytest.raises(lc.ArgumentError, match="a: lies in .*, and calls here run on the CPU"):
                lc.sort(a)
    assert held.tolist() == np.sort(some("i8")).tolist()
    managed = Torch(some("i8"))
    managed.kind = 13
    same(lc.sort(managed), np.sort(some("i8")))


def test_where_no_device_was_chosen(monkeypatch):
    """A thread of its own, with defaults, which are a CPU's here."""
    monkeypatch.setattr(_context, "_GPU", "sim:{}")
    a, answers = some("i8"), []

    def work():
        held = lc.sort(Torch(a))
        answers.append((held, lc.is_in(held, Cupy(a[:3])), lc.Map(Cudf(a)).contains(held), lc.sort(a)))
        assert lc.info()["backend"] == "cpu"

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    held, hit, there, host = answers.pop()
    same(held, np.sort(a))
    same(hit, np.isin(np.sort(a), a[:3]))
    same(there, [True] * 70)
    assert isinstance(host, np.ndarray)


def test_long_masks():
    a = np.arange((1 << 20) + 70, dtype="u4")
    hit = lc.is_in(Cupy(a), [0, 31, (1 << 20) - 1, 1 << 20, (1 << 20) + 69, 1 << 30])
    assert np.flatnonzero(read(hit)).tolist() == [0, 31, (1 << 20) - 1, 1 << 20, (1 << 20) + 69]


def test_nothing_is_left():
    """In a process of its own, since contexts of threads live on."""
    import subprocess
    import sys

    script = """
import gc, numpy as np, libcohort as lc, others
def work():
    with lc.device("sim:1"):
        a = lc.sort(others.Torch(np.arange(30)[::-1]))
        m = lc.Map(others.Cupy(np.arange(5)), others.Cudf(np.arange(5)))
        lc.unique(a, True, True, True), lc.factorize(a), m.get(a), m.items(), m.run("find", a)
        a.__dlpack__(), a.__arrow_c_device_array__(), a.__cuda_array_interface__
        try:
            lc.partition(a, 2, by=lc.to_device([9] * 30))
        except lc.Error:
            pass
work()
gc.collect()
assert others.Memory.alive == 0 and others.leaks() == 0
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=others.__file__.rsplit("/", 1)[0])
