"""Roaring's portable format, to and from CRoaring itself (pyroaring), on random and on real sets.

The real sets are those of CRoaring's own benchmarks, in $COHORT_DATA/realdata (else ../shared/data/realdata
beside the checkout): a folder of texts or a .tar.xz of them for each collection. Where they are not, one line
says that they are left out."""

import os
import pathlib
import tarfile

import numpy as np
import pytest

import libcohort as lc

pyroaring = pytest.importorskip("pyroaring")

CHUNK = 65536
CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
REAL = pathlib.Path(os.environ.get("COHORT_DATA") or CHECKOUT.parent / "shared" / "data") / "realdata"
COLLECTIONS = ["census-income", "census1881", "census1881_srt", "uscensus2000", "wikileaks-noquotes"]


def distinct(array):
    """Ascending, each once."""
    array = np.sort(array)
    return array[np.flatnonzero(np.append(array[:1] == array[:1], array[1:] != array[:-1]))]


def added(members, kind):
    """CRoaring's set: by add_many, run-optimised."""
    bitmap = kind()
    bitmap.update(members)
    plain = bitmap.serialize()
    bitmap.run_optimize()
    return plain, bitmap.serialize()


def check(arrays, dtype):
    """Both ways. CRoaring writes each set with runs and without; the library reads both."""
    kind = pyroaring.BitMap if dtype == "uint32" else pyroaring.BitMap64
    arrays = [np.asarray(a, dtype) for a in arrays]
    theirs = [added(a, kind) for a in arrays]
    sets = lc.Sets(arrays, type=dtype)
    ours = sets.to_roaring(type=dtype)
    assert len(ours) == len(arrays)
    for i, (array, blob, (_, optimised)) in enumerate(zip(arrays, ours, theirs)):
        assert blob == optimised, f"set {i}: {len(blob)} bytes are not CRoaring's {len(optimised)}"
        back = kind.deserialize(blob)
        assert np.array_equal(np.array(back.to_array(), dtype), distinct(array)), f"set {i}, read by CRoaring"
    for blobs in zip(*theirs):
        read = lc.Sets.from_roaring(list(blobs), type=dtype)
        assert read == sets
        assert read.to_roaring(type=dtype) == ours


def spread(rng, chunks, of_chunk, dtype):
    """A chunk's members in some chunks: near each other, far apart, the last one of the type."""
    most = np.iinfo(dtype).max // CHUNK
    anywhere = rng.integers(0, most, chunks, endpoint=True, dtype="u8")
    keys = distinct(np.concatenate([rng.integers(0, 4, chunks, dtype="u8"), anywhere]))
    keys = rng.permutation(np.append(keys, np.uint64(most)).astype(dtype))[:chunks]
    return np.concatenate([of_chunk(rng).astype(dtype) + k * np.dtype(dtype).type(CHUNK) for k in keys])


def some(low, high):
    """Between `low` and `high` members anywhere in a chunk, in no order and some of them twice."""
    return lambda rng: rng.integers(0, CHUNK, rng.integers(low, high, endpoint=True))


def exactly(n):
    return lambda rng: rng.permutation(CHUNK)[:n]


def runs(n, length, gap=1):
    """n runs of one length, each `gap` after the one before."""

    def draw(rng):
        firsts = np.arange(n) * (length + gap) + rng.integers(0, CHUNK - n * (length + gap), endpoint=True)
        return (firsts[:, None] + np.arange(length)).ravel()

    return draw


def uneven_runs(rng):
    edges = np.unique(rng.integers(0, CHUNK, 2 * rng.integers(1, 900)))
    return np.concatenate([np.arange(a, b) for a, b in zip(edges[::2], edges[1::2])] + [np.array([7])])


SHAPES = {
    "one": exactly(1),
    "few": some(1, 20),
    "sparse": some(100, 4000),
    "4095 to 4097": lambda rng: exactly(rng.integers(4095, 4098))(rng),
    "dense": some(5000, 60000),
    "all but one": exactly(CHUNK - 1),
    "full": exactly(CHUNK),
    "uneven runs": uneven_runs,
    "a run": runs(1, 1000),
    "long runs": runs(50, 700, 2),
    "2047 runs": runs(2047, 30),
    "2048 runs": runs(2048, 30),
    "edges": lambda rng: np.array([0, 1, CHUNK - 2, CHUNK - 1])[rng.integers(0, 2, 4) > 0],
    "borders of words": lambda rng: np.array([63, 64, 65, 1023, 1024, 4095, 4096, 65472]),
}


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape, dtype):
    rng = np.random.default_rng(len(shape))
    check([spread(rng, chunks, SHAPES[shape], dtype) for chunks in (1, 2, 3, 4, 7)], dtype)


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_ties(dtype):
    """Runs that take as many bytes as the array, or a few less or more: 2 and 4 a run, 2 a member."""
    rng = np.random.default_rng(5)
    arrays = []
    for count in (1, 2, 3, 7, 100, 1300):
        for more in (-2, -1, 0, 1, 2):
            starts = np.arange(count) * 40
            lengths = np.full(count, 2)
            lengths[0] += 1 + more  # members: 1 + 2 * runs is the tie
            arrays.append(np.concatenate([np.arange(a, a + n) for a, n in zip(starts, lengths)]))
            arrays.append(rng.permutation(arrays[-1]))
    check(arrays, dtype)


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_mixed(dtype):
    """Chunks of all shapes in one set; sets of 0, 1, 63, 64, 65 and 300 chunks; the ends of the type."""
    rng, top = np.random.default_rng(6), np.iinfo(dtype).max
    draws = list(SHAPES.values())
    arrays = [[], [0], [top], [0, top], np.arange(10 * CHUNK)]
    for _ in range(40):
        parts = [spread(rng, 1, draws[rng.integers(len(draws))], dtype) for _ in range(rng.integers(1, 9))]
        arrays.append(np.concatenate(parts))
    for chunks in (63, 64, 65, 300):
        arrays.append(spread(rng, chunks, some(1, 9), dtype))
    check(arrays, dtype)


def test_64_bit_sets_with_many_upper_halves():
    rng = np.random.default_rng(7)
    arrays = [rng.integers(0, 1 << 64, 3000, dtype="u8")]
    lower = rng.integers(0, 200, 20000, dtype="u8")
    arrays.append((rng.integers(0, 50, 20000, dtype="u8") << np.uint64(32)) + lower)
    arrays.append(np.arange((1 << 32) - 70000, (1 << 32) + 70000, dtype="u8"))
    check(arrays, "uint64")


def texts_of(name):
    """The collection's texts, in a folder or in an archive."""
    folder, archive = REAL / name, REAL / (name + ".tar.xz")
    if folder.is_dir():
        return [p.read_text() for p in sorted(folder.glob("*.txt"))]
    if not archive.is_file():
        pytest.skip(f"real sets: neither {folder} nor {archive.name} is there")
    with tarfile.open(archive) as tar:
        texts = sorted((m for m in tar if m.name.endswith(".txt")), key=lambda m: m.name)
        return [tar.extractfile(m).read().decode() for m in texts]


@pytest.mark.skipif(not REAL.is_dir(), reason=f"real sets: {REAL} is not there; see COHORT_DATA")
@pytest.mark.parametrize("name", COLLECTIONS)
def test_real_sets(name):
    arrays = [np.array(text.replace(",", " ").split(), "u4") for text in texts_of(name)]
    assert len(arrays) == 200
    check(arrays, "uint32")
    check([a.astype("u8") + np.uint64(i << 33) for i, a in enumerate(arrays[:40])], "uint64")
