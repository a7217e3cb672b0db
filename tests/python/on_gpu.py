"""What the tests on the simulated GPU share: a device, a stream, numbers, and how results are compared."""

import gc

import numpy as np
import others
import pytest
from others import Cudf, Cupy, Memory, Torch, read

import libcohort as lc

KINDS = [Cupy, Torch, Cudf]


@pytest.fixture(params=["sim:1"])
def gpu(request):
    """Calls run on the simulated GPU, and all of its memory is given back at the end."""
    gc.collect()
    alive = Memory.alive
    with lc.device(request.param) as device:
        yield device
    gc.collect()
    assert Memory.alive == alive
    del device


@pytest.fixture
def stream():
    s = others.new_stream()
    yield s
    gc.collect()
    others.end_stream(s)


def some(type, n=70, seed=1):
    """Numbers with repetitions, and both ends of the type."""
    dice = np.random.default_rng(seed)
    if np.dtype(type).kind == "f":
        return dice.integers(-20, 20, n).astype(type) / 4
    a = dice.integers(0, 40, n).astype(type)
    a[0], a[1] = np.iinfo(type).min, np.iinfo(type).max
    return a


def same(got, due):
    """The result lies on the GPU, and holds what numpy says."""
    assert isinstance(got, lc.Array) and got.device == "cuda:0"
    due = np.asarray(due)
    assert got.type == str(due.dtype) and got.tolist() == due.tolist()
    assert read(got).tolist() == due.tolist()
