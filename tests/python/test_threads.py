"""Objects that several threads use: read at once, changed by one at a time, never seen half changed."""

import concurrent.futures
import os
import threading
import time

import numpy as np
import pytest

import libcohort as lc

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


def made(kind):
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


@pytest.mark.parametrize("kind, call", [(lc.Map, c) for c in READS] + [(lc.MultiMap, c) for c in ROWS])
@pytest.mark.parametrize("owner", [True, False])
def test_two_read_at_once(kind, call, owner):
    """The second begins and ends while the first is under way. The first may be on the context that the object
    belongs to; then the second has made its reader before, since the first read of a thread waits for that."""
    read, expected = (READS if kind is lc.Map else ROWS)[call]
    middle, second, answers = Middle(), lc.device("cpu", threads=2), []
    with middle.device if owner else lc.device("cpu", threads=1):
        m, of_same_context = made(kind), made(lc.Map)

    def look():
        with second:
            answers.append(read(m))

    all_done(look)
    time.sleep(0.3 * owner)  # the last time that it was told is not just now
    middle.what = look
    with middle.device:  # the multimap's calls tell nothing, so that another object keeps its context busy
        assert (of_same_context if kind is lc.MultiMap else m).get(ASKED, -1)[50] == 0
    assert middle.early and len(answers) == 2
    assert all(np.all(a == expected) for a in answers)


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
