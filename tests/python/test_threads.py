"""Objects that several threads use: read at once, changed by one at a time, never seen half changed."""

import concurrent.futures
import os
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pytest

import libcohort as lc
from libcohort import _core

LONG = 60  # seconds that nothing here takes


def all_done(*works):
    """Each in a thread of its own; what one raises is raised."""
    with concurrent.futures.ThreadPoolExecutor(len(works)) as pool:
        return [f.result(LONG) for f in [pool.submit(work) for work in works]]


def test_threads_share_a_map():
    m = lc.Map()

    def work(i):
        for _ in range(20):
            m.add(list(range(1000)))
        return lc.unique([i, i]).tolist()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [[i] for i in range(8)]
    assert m.get(list(range(1000))).tolist() == [160] * 1000


# Calls that read, and what they answer of the pairs (i, 3 i) for i below 100.
ASKED = np.arange(-50, 150)
THERE = (ASKED >= 0) & (ASKED < 100)
READS = {
    "get": (lambda m: m.get(ASKED, -1), np.where(THERE, ASKED * 3, -1)),
    "contains": (lambda m: m.contains(ASKED), THERE),
    "len": (len, 100),
    "items": (lambda m: np.sort(m.items()[0]), np.arange(100)),
}
ROWS = {
    "count": (lambda m: m.count(ASKED), THERE.astype(int)),
    "retrieve": (lambda m: m.retrieve(ASKED)[1], np.arange(100) * 3),
    "get": (lambda m: m.get(ASKED, -1), np.where(THERE, ASKED * 3, -1)),
    "contains": (lambda m: m.contains(ASKED), THERE),
    "len": (len, 100),
}


# Of the sets of numbers below 100, and of 50 to 149.
ASKED_SETS = {
    "contains": (lambda s: s.contains(np.arange(200)), np.arange(200) < 100),
    "rank": (lambda s: s.rank(np.arange(100)), np.arange(100)),
    "select": (lambda s: s.select(np.arange(100), 1)[0], np.arange(50, 150)),
    "counts": (lambda s: s.query("and", [[0, 1], [1, 1]], want="counts"), np.array([50, 100])),
    "any": (lambda s: s.query("andnot", [[0, 0], [1, 0]], want="any"), np.array([False, True])),
    "rows": (lambda s: s.to_rows()[1], np.r_[0:100, 50:150]),
}
ALL = {lc.Map: READS, lc.MultiMap: ROWS, lc.Sets: ASKED_SETS}


def made(kind):
    if kind is lc.Sets:
        return lc.Sets([np.arange(100), np.arange(50, 150)])
    return kind(np.arange(100), np.arange(100) * 3)


class Middle:
    """A device on which, once `what` is set, the next call starts it in another thread, and goes on when that
    has ended or `seconds` are over."""

    def __init__(self):
        self.device = lc.device("cpu", threads=1, progress=self.told)
        self.what, self.seconds, self.thread, self.early = None, LONG, None, None

    def told(self, *_):
        if self.what and not self.thread:
            self.thread = threading.Thread(target=self.what)
            self.thread.start()
            self.thread.join(self.seconds)
            self.early = not self.thread.is_alive()


@pytest.mark.parametrize("kind, call", [(kind, call) for kind, calls in ALL.items() for call in calls])
@pytest.mark.parametrize("owner", [True, False])
def test_two_read_at_once(kind, call, owner):
    """The second begins and ends while the first is under way. The first may be on the context that the object
    belongs to; then the second has made its reader before, since the first read of a thread waits for that."""
    read, expected = ALL[kind][call]
    middle, second, answers = Middle(), lc.device("cpu", threads=2), []
    with middle.device if owner else lc.device("cpu", threads=1):
        m, of_same_context = made(kind), made(lc.Map)

    def look():
        with second:
            answers.append(read(m))

    all_done(look)
    time.sleep(0.3 * owner)  # the last time that it was told is not just now
    middle.what = look
    with middle.device:  # small calls of others than maps tell nothing: a map keeps their context busy
        assert (m if kind is lc.Map else of_same_context).get(ASKED, -1)[50] == 0
    assert middle.early and len(answers) == 2
    assert all(np.all(a == expected) for a in answers)


TABLE_READS = {
    "len": (len, 100),
    "column": (lambda t: t["k"].tolist()[:3], [0, 1, 2]),
    "slice": (lambda t: t[5:7].to_pydict(), {"k": [5, 6], "v": [5, 6]}),
    "take": (lambda t: t.take([99, 3]).to_pydict(), {"k": [9, 3], "v": [99, 3]}),
    "unique": (lambda t: lc.unique(t["k"]).tolist(), list(range(10))),
    "factorize": (lambda t: lc.factorize(t["k"])[0].tolist()[:12], [*range(10), 0, 1]),
    "value_counts": (lambda t: sum(lc.value_counts(t["k"])[1].tolist()), 100),
    "is_in": (lambda t: sum(lc.is_in(t["k"], t["v"].take([3, 50])).tolist()), 10),
    "group_by": (lambda t: lc.group_by(t, "k").agg(n="size").to_pydict()["n"], [10] * 10),
    "join_size": (lambda t: lc.join_size(t, t, "k"), 1000),
    "join": (lambda t: len(lc.join(t, t, "v")), 100),
    "arrow": (lambda t: pa.table(t).to_pydict()["v"], list(range(100))),
}


@pytest.mark.parametrize("call", TABLE_READS)
def test_a_table_is_read_while_its_context_works(call):
    read, expected = TABLE_READS[call]
    middle, answers = Middle(), []
    with middle.device:
        t, busy = lc.Table({"k": np.arange(100) % 10, "v": np.arange(100)}), made(lc.Map)

    def look():
        with lc.device("cpu", threads=2):
            answers.append(read(t))

    time.sleep(0.3)  # the last time that it was told is not just now
    middle.what = look
    with middle.device:
        assert busy.get(ASKED, -1)[50] == 0
        assert middle.early and answers == [expected] and read(t) == expected


def test_a_table_outlives_the_thread_that_made_it():
    """And so does what others have made of it."""
    made, taken = [], []
    all_done(lambda: made.append(lc.Table({"k": ["a", "b", None] * 1000})))
    all_done(lambda: taken.append(made[0].take([2, 1, 0])))
    made.clear()
    assert taken[0].to_pydict() == {"k": [None, "b", "a"]}


def test_a_change_waits_until_nobody_reads():
    m, middle = made(lc.Map), Middle()
    middle.what = lambda: m.assign(np.arange(200), np.zeros(200, "int64"))
    middle.seconds = 0.3
    with middle.device:
        assert (m.get(ASKED, -1) == READS["get"][1]).all()
    assert middle.early is False
    middle.thread.join(LONG)
    assert not middle.thread.is_alive() and len(m) == 200 and not m.get(ASKED, -1)[50:].any()


def test_what_is_let_go_while_a_thread_reads():
    """An object of a third context ends inside a call on another, while a change of that third context waits
    for the call."""
    with lc.device("cpu", threads=1):
        m, garbage = made(lc.Map), [made(lc.Map)]
    middle, changes = Middle(), threading.Thread(target=lambda: m.assign([1], [1]))

    def let_go():
        changes.start()
        changes.join(0.2)  # has the lock of the maps' context now

    middle.what = let_go
    told = middle.told

    def then(*what):
        told(*what)
        garbage.clear()

    with lc.device("cpu", threads=1, progress=then):
        all_read = m.get(ASKED, -1)
    changes.join(LONG)
    assert not changes.is_alive() and (all_read == READS["get"][1]).all() and m[1] == 1


@pytest.mark.parametrize("layout", ["pages", "lines"])
def test_a_batch_is_seen_whole_or_not_at_all(layout):
    keys, stop = np.arange(20_000), threading.Event()
    m = lc.Map(keys, keys * 0, layout=layout)

    def write():
        for i in range(1, 40):
            m.assign(keys, keys * 0 + i)
        stop.set()

    def read():
        seen, rounds = 0, 0
        with lc.device("cpu", threads=1):
            while not stop.is_set() or not rounds:
                values = m.get(keys)
                assert (values == values[0]).all() and values[0] >= seen
                seen, rounds = values[0], rounds + 1
        return seen

    all_done(write, read, read, read)
    assert (m.get(keys) == 39).all()


def test_a_map_grows_between_reads():
    """Its table is another one each time, which readers of before must not look into."""
    block, stop = 3000, threading.Event()
    m = lc.Map(np.arange(block), np.arange(block) * 7)

    def write():
        for i in range(1, 60):
            m.insert(np.arange(block) + i * block, (np.arange(block) + i * block) * 7)
        m.clear()
        stop.set()

    def read():
        asked = np.arange(block * 60)
        with lc.device("cpu", threads=1):
            while not stop.is_set():
                values = m.get(asked, -1)
                some = np.count_nonzero(values >= 0)
                assert some % block == 0 and (values[:some] == asked[:some] * 7).all()
                keys, sevens = m.items()
                assert len(keys) % block == 0 and (keys * 7 == sevens).all()

    all_done(write, read, read)
    assert not len(m)


def test_rows_of_a_multimap_that_grows(tmp_path):
    """And whose levels are put together, by what gives them out."""
    keys, stop = np.arange(2000), threading.Event()
    m = lc.MultiMap(keys, keys)

    def write():
        for i in range(1, 30):
            m.insert(keys, keys + i)
            if i % 3 == 0:
                m.save(tmp_path / "rows")
            if i % 3 == 1:
                assert len(m.items()[2]) == 2000 * (i + 1)
        stop.set()

    def read():
        with lc.device("cpu", threads=1):
            while not stop.is_set():
                many = m.count(keys)
                assert (many == many[0]).all()
                queries, rows = m.retrieve(keys)
                assert len(rows) % 2000 == 0 and (rows - keys[queries] < len(rows) // 2000).all()

    all_done(write, read, read)
    assert (m.count(keys) == 30).all()


def test_threads_that_use_each_others_maps():
    """Reads and changes in both directions, which must not wait for each other in a ring."""
    devices = [lc.device("cpu", threads=1) for _ in range(2)]
    maps = []
    for device in devices:
        with device:
            maps.append(lc.Map(np.arange(100), np.zeros(100, "int64")))

    def work(mine, other, change):
        with devices[mine]:
            for _ in range(300):
                if change:
                    maps[other].add(np.arange(100))
                    maps[mine].add(np.arange(100))
                assert (np.diff(maps[other].get(np.arange(100))) == 0).all()

    all_done(*(lambda i=i: work(i % 2, 1 - i % 2, i < 4) for i in range(6)))
    assert all((m.get(np.arange(100)) == 1200).all() for m in maps)


def test_readers_end_with_their_threads_and_maps():
    m = made(lc.Map)
    tasks = []
    for i in range(30):
        all_done(lambda: m.get(ASKED))
        tasks.append(len(os.listdir("/proc/self/task")))
    assert tasks[-1] <= tasks[3] + 2
    with lc.device("cpu", threads=1):
        for i in range(200):  # most of them lie where others lay before
            with lc.device("cpu", threads=1):
                other = lc.Map([i, 1000], [i + 1, i])
            assert other.get([i, 1000, 2000], default=-1).tolist() == [i + 1, i, -1]


def test_a_map_that_others_have_read_after_a_fork():
    m = made(lc.Map)
    all_done(lambda: m.get(ASKED))
    with lc.device("cpu", threads=1):
        m.get(ASKED)
        pid = os.fork()
        if not pid:
            good = False
            try:
                m.add([5], [1])
                with lc.device("cpu", threads=2):
                    good = m[5] == 16 and m.get([5, 6]).tolist() == [16, 18]
                m.add([5], [1])
                good = good and m[5] == 17
            finally:
                os._exit(0 if good else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert m[5] == 15


def test_reads_are_on_the_threads_own_device():
    """It is told of calls there, and what it raises ends them."""
    m, told = made(lc.Map), []

    def stop(*what):
        told.append(what)
        raise KeyError("enough")

    with lc.device("cpu", threads=1, progress=stop):
        with pytest.raises(KeyError, match="enough"):
            m.get(ASKED)
    assert told == [("cohort_map_find", 200, 200)]
    m.assign([1], [4])
    with lc.device("cpu", threads=1):
        assert m[1] == 4


# ---- what is done without Python's lock


def others_run(call, tries=300):
    """Whether another thread gets Python's lock while the call lasts. The lock is not asked back for an hour, so
    that it gets it only where the lock is let go; it may be too slow for that in one try."""
    go, done, ran, over = threading.Lock(), threading.Lock(), [], []
    go.acquire()
    done.acquire()

    def other():
        while not over:
            go.acquire()
            ran.append(None)
            done.release()

    before = sys.getswitchinterval()
    sys.setswitchinterval(3600)
    thread = threading.Thread(target=other)
    thread.start()
    seen = False
    try:
        while not over:
            tries -= 1
            go.release()
            call()
            seen = bool(ran)
            if seen or not tries:
                over.append(None)
            done.acquire()  # lets the other run if it has not
            ran.clear()
    finally:
        sys.setswitchinterval(before)
        go.release()  # it may wait for another turn
        thread.join(LONG)
    return seen


class Given:
    """A pair of Arrow's capsules, which come without a call of another library."""

    def __init__(self, schema, array):
        self.pair = schema, array

    def __arrow_c_array__(self, requested_schema=None):
        return self.pair


def arrow_of(array):
    """A call that takes the array in; each takes its own pair of capsules."""
    pairs = [Given(*array.__arrow_c_array__()) for _ in range(300)]
    return lambda: _core.view(pairs.pop(), "a")


BITS = pa.array(np.arange(2_000_000) % 3 == 0)
BYTES = pa.Array.from_buffers(pa.int64(), 500_000, [None, pa.py_buffer(bytes(4_000_001))[1:]])
PARTS = [_core.view(np.arange(n), "a") for n in (300_000, 10, 300_000)]
LETS_GO = {
    "bits": lambda: arrow_of(BITS),
    "bits from the third on": lambda: arrow_of(BITS[3:]),
    "misaligned": lambda: arrow_of(BYTES),
    "chunks": lambda: lambda: _core.concat(PARTS, 8, "a"),
    "comparing each": lambda: lambda: _core.among(PARTS[0], PARTS[1], False),
}


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="there is no such lock")
@pytest.mark.parametrize("name", LETS_GO)
def test_large_passes_let_others_run(name):
    assert others_run(LETS_GO[name]())


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="there is no such lock")
def test_few_elements_keep_the_lock():
    """To let it go and to take it would be most of what they cost."""
    few = [part[:10] for part in PARTS]
    for call in (arrow_of(BITS[:99]), arrow_of(BYTES[:9]), lambda: _core.concat(few, 8, "a")):
        assert not others_run(call)


@pytest.mark.parametrize("n", [0, 1, 5, 9, 16, 17, 100, 20_000])
@pytest.mark.parametrize("first", [0, 1, 7, 8, 13])
def test_bits_at_any_place(n, first):
    flags = np.random.default_rng(n).random(n + first) < 0.5
    assert _core.view(pa.array(flags)[first:], "a").tolist() == flags[first:].tolist()


def test_a_stream_of_python_takes_the_lock_itself():
    def batches():
        for i in range(3):
            time.sleep(0.001)
            yield pa.record_batch({"x": pa.array(lc.sort([i, 0]))})

    reader = pa.RecordBatchReader.from_batches(pa.schema({"x": pa.int64()}), batches())
    with pytest.raises(TypeError, match="a: an Arrow array of the format"):
        lc.sort(reader)  # of structs
    stream = pa.chunked_array([[3, 1], [], [2]]).__arrow_c_stream__()

    class Once:
        def __arrow_c_stream__(self, requested_schema=None):
            return stream

    assert lc.sort(Once()).tolist() == [1, 2, 3]


def test_any_of_many_rows():
    sets = lc.Sets([[5, 7], [7, 9], [1]])
    rows = [[0, 1], [0, 2], [1, 1]] * 7000
    assert sets.query("and", rows, want="any").tolist() == [True, False, True] * 7000
