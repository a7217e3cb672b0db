"""Contexts, threads, forks, leaks; and the package without numpy."""

import gc
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest

import libcohort as lc


def test_versions_agree():
    import importlib.metadata

    assert importlib.metadata.version("libcohort") == lc.__version__


def test_device():
    before = lc.info()["threads"]
    assert lc.info()["map_widths"] and lc.info()["map_run_widths"] and lc.info()["lines_widths"]
    with lc.device("cpu", threads=1) as one:
        assert lc.info()["threads"] == 1
        m = lc.Map([1], [2])
        with lc.device("cpu", threads=2):
            assert lc.info()["threads"] == 2
        assert lc.info()["threads"] == 1
    assert lc.info()["threads"] == before
    assert m[1] == 2 and "threads=1" in repr(one)
    with pytest.raises(lc.DeviceError, match="cuda:77|driver|device"):
        lc.device("cuda:77")
    with pytest.raises(lc.DeviceError, match="abacus"):
        lc.device("abacus")
    with pytest.raises(ValueError):
        lc.device("cpu", threads=5000)


def ticks_during(call):
    """How often another thread, which sleeps a millisecond each time, runs while a call does."""
    ticks, running = [0], threading.Event()

    def count():
        running.set()
        while running.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    t = threading.Thread(target=count)
    interval = sys.getswitchinterval()
    t.start()
    running.wait()
    try:
        sys.setswitchinterval(100)  # nobody is made to hand over: what is counted, the call has let in
        before = ticks[0]
        call()
        return ticks[0] - before
    finally:
        sys.setswitchinterval(interval)
        running.clear()
        t.join()


@pytest.fixture(scope="module")
def long_calls(tmp_path_factory):
    n = 1_000_000
    a = np.random.default_rng(1).integers(0, 1 << 62, n)
    few = a % 1000
    folder = tmp_path_factory.mktemp("long")
    m, mm, t = lc.Map(a, a), lc.MultiMap(a >> 40, a), lc.Table({"k": a, "v": few})
    s = lc.Sets.from_pairs(few, a & 0xFFFFFFF, type="uint32")
    pairs = np.random.default_rng(2).integers(0, 1000, (50_000, 2))
    words = lc.Column([f"{x:x}" for x in a[:200_000].tolist()])
    m.save(folder / "m"), mm.save(folder / "mm"), s.save(folder / "s")
    with open(folder / "reads.fa", "w") as file:
        file.write(">r\n" + "".join(np.array(list("ACGT"))[a & 3]) + "\n")
    return {
        "sort": lambda: lc.sort(a),
        "argsort": lambda: lc.argsort(a),
        "unique": lambda: lc.unique(a, True, True, True),
        "unique in no order": lambda: lc.unique(a, sorted=False),
        "unique of strings": lambda: lc.unique(words),
        "factorize": lambda: lc.factorize(a),
        "value_counts": lambda: lc.value_counts(a),
        "is_in": lambda: lc.is_in(a, a[::-1]),
        "index_in": lambda: lc.index_in(a, a[::-1]),
        "partition": lambda: [lc.partition(a, 65_536, values=a, return_index=True) for _ in range(3)],
        "histogram": lambda: [lc.histogram(a, 65_536) for _ in range(20)],
        "compact": lambda: [lc.compact(a, few > 500) for _ in range(20)],
        "Map": lambda: lc.Map(a, a),
        "Map.get": lambda: m.get(a[::-1]),
        "Map.add": lambda: lc.Map().add(a),
        "Map.run": lambda: m.run("find", a),
        "Map.items": lambda: [m.items() for _ in range(5)],
        "Map.copy": lambda: [m.copy() for _ in range(5)],
        "Map.load": lambda: lc.Map.load(folder / "m"),
        "Map.save": lambda: m.save(folder / "m2"),
        "MultiMap": lambda: lc.MultiMap(a, a),
        "MultiMap.insert": lambda: mm.copy().insert(a, a),
        "MultiMap.retrieve": lambda: mm.retrieve(a >> 40),
        "MultiMap.load": lambda: lc.MultiMap.load(folder / "mm"),
        "Sets": lambda: lc.Sets.from_pairs(few, a & 0xFFFFFFF, type="uint32"),
        "Sets.query": lambda: s.query("or", pairs, want="counts"),
        "Sets.to_pairs": lambda: [s.to_pairs() for _ in range(10)],
        "Sets.containing": lambda: s.containing(np.arange(300_000, dtype="uint32")),
        "Sets.load": lambda: [lc.Sets.load(folder / "s") for _ in range(10)],
        "join": lambda: lc.join(t, t, "k"),
        "join_size": lambda: lc.join_size(t, t, "k"),
        "group_by": lambda: t.group_by("k").agg(s=("v", "sum")),
        "count_kmers": lambda: lc.count_kmers(folder / "reads.fa", 21),
        "a long multiplication": lambda: BIG * BIG,
    }


BIG = 7**800_000  # a square of it holds the interpreter for as long: what the test must notice
LONG = """sort argsort unique unique-in-no-order unique-of-strings factorize value_counts is_in index_in partition
histogram compact Map Map.get Map.add Map.run Map.items Map.copy Map.load Map.save MultiMap MultiMap.insert
MultiMap.retrieve MultiMap.load Sets Sets.query Sets.to_pairs Sets.containing Sets.load join join_size group_by
count_kmers a-long-multiplication""".split()


@pytest.mark.parametrize("name", LONG)
def test_the_interpreter_is_free_during_a_call(name, long_calls):
    during = []
    while sum(during) <= 2 and len(during) < 10:  # some take but milliseconds
        during.append(ticks_during(long_calls[name.replace("-", " ")]))
    held = name == "a-long-multiplication" and getattr(sys, "_is_gil_enabled", lambda: True)()
    assert (sum(during) > 2) != held, during


def test_the_long_calls_are_all_tried(long_calls):
    assert [name.replace("-", " ") for name in LONG] == list(long_calls)


def test_fork():
    m = lc.Map([1], [2])
    pid = os.fork()
    if not pid:
        try:
            good = m[1] == 2 and lc.sort(np.arange(50_000)[::-1])[0] == 0
        except BaseException:
            good = False
        os._exit(0 if good else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert m[1] == 2


def test_fork_while_another_thread_is_in_a_call():
    busy = lc.Map()
    a = np.random.default_rng(2).integers(0, 1 << 40, 3_000_000)
    t = threading.Thread(target=lambda: busy.add(a))
    t.start()
    time.sleep(0.02)
    pid = os.fork()
    if not pid:
        code = 1
        try:
            lc.sort([2, 1])
            try:
                len(busy)
                code = 0
            except lc.UnsupportedError as e:
                code = 0 if "fork" in str(e) else 3
        except BaseException:
            code = 2
        os._exit(code)
    deadline = time.time() + 20
    while time.time() < deadline:
        got, status = os.waitpid(pid, os.WNOHANG)
        if got:
            break
        time.sleep(0.02)
    else:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
        pytest.fail("the child hangs")
    t.join()
    assert os.waitstatus_to_exitcode(status) == 0


def in_child(given):
    """What a process of a pool does with objects that were pickled and files that are mapped."""
    keys, m, mm, sets, table, folder = given
    mapped = lc.Map.load(folder / "m", mmap=True)
    shared = lc.MultiMap.load(folder / "mm", mmap=True)
    m.insert(keys[:1], keys[:1])
    return (
        os.getpid(),
        lc.sort(keys),
        m,
        mm.count(keys),
        sets[0] | sets[1],
        table.join(table, "k"),
        mapped.get(keys),
        shared.count(keys),
        lc.Sets.load(folder / "s", mmap=True).sizes.tolist(),
    )


@pytest.mark.parametrize("how", ["spawn", "fork"])
def test_multiprocessing(how, tmp_path):
    keys = np.random.default_rng(7).integers(0, 1000, 20_000)
    m, mm = lc.Map([5], [6]), lc.MultiMap(keys, keys)
    sets, table = lc.Sets([[1, 2], [3]]), lc.Table({"k": ["a", None], "v": [1, 2]})
    lc.Map(keys, keys * 2).save(tmp_path / "m", mmap=True)
    mm.save(tmp_path / "mm", mmap=True), sets.save(tmp_path / "s")
    parts = [keys[:10_000], keys[10_000:], keys[::-1]]
    with multiprocessing.get_context(how).Pool(2) as pool:
        answers = pool.map_async(in_child, [(k, m, mm, sets, table, tmp_path) for k in parts], 1).get(120)
    many = np.bincount(keys, minlength=1000)
    for part, (process, ordered, map, counts, both, joined, got, again, sizes) in zip(parts, answers, strict=True):
        assert process != os.getpid()
        np.testing.assert_array_equal(ordered, np.sort(part))
        assert map[int(part[0])] == (6 if part[0] == 5 else part[0]) and len(map) == len({5, int(part[0])})
        np.testing.assert_array_equal(counts, many[part])
        np.testing.assert_array_equal(again, many[part])
        np.testing.assert_array_equal(got, part * 2)
        assert both.tolist() == [1, 2, 3] and sizes == [2, 1]
        assert joined.to_pydict() == {"k": ["a"], "v": [1], "v_right": [1]}
    assert len(m) == 1 and (lc.sort(keys) == np.sort(keys)).all()  # the parent's stay as they were


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_no_references_leak():
    import pyarrow as pa

    a, p = np.arange(3_000), pa.array(range(3_000))

    def once():
        m = lc.Map(a, a)
        m[5], m.get(a), m.items(), m.contains(a)
        lc.unique(a, True, True, True), lc.argsort(p), pa.array(lc.sort(p)), lc.partition(a, 5, values=a)
        (
            lc.histogram(a, 5),
            lc.compact(a, a > 5),
            lc.partition(a, 5, segments=[0, 9, 3_000], return_rank=True),
            lc.is_in(a, a),
            lc.index_in(a, a),
            lc.value_counts(p),
            lc.factorize(a),
        )
        s, t = lc.Sets.from_pairs(a % 7, a), lc.Set([1, 2])
        (
            s.query("xor", [[0, 1]], want=("sets", "counts", "any", "first")),
            s & t,
            t.filter(a),
            lc.partition(a, by=t),
            s.to_roaring(),
            list(s),
            t <= t,
        )
        mm = lc.MultiMap(a % 9, a)
        mm.insert(a, a), mm.retrieve([1, 2]), mm.copy().items()
        s.contains([1]), s.min(), s.to_ranges()
        t = lc.Table({"k": ["a", "b", None], "v": a[:3], "d": pa.array(["x", "y", "x"]).dictionary_encode()})
        (
            t.join(t, "k", how="full"),
            t.group_by("k").agg(x=("v", "sum"), n="size"),
            lc.join_size(t, t, "v"),
            repr(t["k"]),
        )
        (
            pa.table(t),
            pa.array(t["k"]),
            pa.schema(t),
            t._repr_html_(),
            t.take([0, -1])[1:],
            pickle.loads(pickle.dumps(t)),
            lc.Table(pa.table(t)),
        )
        (
            lc.unique(t["k"], True, True, True),
            lc.factorize(["a", None]),
            lc.value_counts(t["d"]),
            lc.index_in(["a"], t["k"]),
            lc.is_in(["a"], ["b"]),
        )
        for wrong in (
            lambda: t["z"],
            lambda: t.join(t, left_on="k", right_on="v"),
            lambda: t.take([99]),
            lambda: t.group_by("k").agg(x=("d", "mean")),
            lambda: lc.Column(["a", 1]),
            lambda: lc.Table(pa.table({"x": [[1]]})),
            lambda: lc.sort("x"),
            lambda: m[-1],
            lambda: mm.insert([1], [1, 2]),
            lambda: mm.insert([1], ["a"]),
            lambda: lc.compact(a, a),
            lambda: lc.compact(a * 0.5, lc.Set([1])),
            lambda: lc.partition(a, 3, segments=[0, 5]),
            lambda: lc.sort(pa.array([1, None])),
            lambda: s.query("and", [[9]]),
            lambda: lc.Set.from_roaring(b"x"),
        ):
            try:
                wrong()
            except Exception:
                pass

    for _ in range(30):
        once()
    gc.collect()
    memory, counts = resident(), (sys.getrefcount(a), sys.getrefcount(p))
    grown = []
    for _ in range(6):  # a leak grows by as much each time; caches of the process fill more and more slowly
        blocks = sys.getallocatedblocks()
        for _ in range(200):
            once()
        gc.collect()
        grown.append(sys.getallocatedblocks() - blocks)
    assert (sys.getrefcount(a), sys.getrefcount(p)) == counts
    assert min(grown) < 100, grown  # one a round would be 200
    assert resident() - memory < 20 << 20


def test_numpy_is_not_needed():
    text = (
        "import sys; sys.modules['numpy'] = None; import libcohort as lc;"
        "m = lc.Map([1, 2], [3, 4]); assert m[[1, 2]].tolist() == [3, 4];"
        "assert lc.unique([2, 1, 2], return_counts=True)[1].tolist() == [1, 2]; print(lc.info()['backend'])"
    )
    # `None` in sys.modules is no module: what looks for numpy there must not take it for one.
    assert subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=True
    ).stdout.strip() in ("cpu", "cuda")


def test_threads_end():
    for i in range(20):
        t = threading.Thread(target=lambda: lc.sort([3, 1]))
        t.start()
        t.join()


# ---- progress, and ends before the end


def test_progress_of_a_device():
    told = []
    with lc.device("cpu", threads=1, progress=lambda *what: told.append(what)):
        m = lc.Map(capacity=16)
        m.insert(np.arange(400_000), np.arange(400_000))
    assert told and all(w == "cohort_map_insert" and 0 < d <= t == 400_000 for w, d, t in told)


def test_what_a_progress_function_raises_ends_the_call():
    lc_objects = []

    def enough(what, done, total):
        lc_objects.clear()  # objects of the context are let go inside
        raise RuntimeError(f"enough of {what}")

    with lc.device("cpu", threads=1, progress=enough):
        lc_objects += [lc.Map(key_type="int64", capacity=16), lc.Table({"a": [1]})]
        m = lc.Map(capacity=16)
        keys = np.arange(400_000)
        with pytest.raises(RuntimeError, match="enough of cohort_map_insert"):
            m.insert(keys, keys)
        assert not lc_objects
        some = len(m)
        assert 0 < some < 400_000


def test_what_is_raised_at_the_end_of_a_pass_ends_the_next_one():
    """The library goes on after a pass that is done; what was raised is not lost, and nobody is asked again."""
    asked = []

    def late(what, done, total):
        asked.append((done, total))
        if done == total:
            time.sleep(0.3)  # the next pass would tell at once
            raise KeyboardInterrupt

    a = np.random.default_rng(4).permutation(1_000_000)
    with lc.device("cpu", threads=2, progress=late):
        with pytest.raises(KeyboardInterrupt):
            len(lc.Sets.from_pairs(a, a))
    assert asked[-1][0] == asked[-1][1] and all(done < total for done, total in asked[:-1])


@pytest.mark.parametrize("what", ["sort", "unique", "join", "group", "partition", "multimap", "build", "query"])
def test_what_ends_all_that_may_take_long(what):
    a = np.random.default_rng(4).permutation(2_000_000) << 40  # all of them differ
    stop = False

    def enough(*_):
        if stop:
            raise KeyboardInterrupt

    with lc.device("cpu", threads=2, progress=enough):
        t = lc.Table({"k": a})
        sets = lc.Sets.from_pairs(np.arange(len(a)) // 100, np.arange(len(a)) % 1000)
        pairs = np.stack([np.arange(len(a)) % len(sets), np.arange(len(a)) * 7 % len(sets)], axis=1)
        calls = {
            "sort": lambda: lc.sort(a),
            "unique": lambda: lc.unique(t["k"], sorted=False),
            "join": lambda: lc.join(t, t, "k"),
            "group": lambda: lc.group_by(t, "k").agg(n="size"),
            "partition": lambda: lc.partition(a, 4000, by="hash")[0],
            "multimap": lambda: lc.MultiMap(a, a).items()[0],
            "build": lambda: range(len(lc.Sets.from_pairs(a >> 40, a >> 40))),
            "query": lambda: sets.query("and", pairs, want="counts"),
        }
        for _ in range(2):
            time.sleep(0.3)  # the last time that it was told is not just now
            stop = True
            with pytest.raises(KeyboardInterrupt):
                calls[what]()
            stop = False
            assert len(calls[what]()) == len(a)


def test_ctrl_c_ends_a_batch():
    """Sent while one insert is under way: a part of the keys is in, which is heeded every 2^24 keys. How long
    the insert takes is not known, so it is tried after longer and longer: a library that heeds no signal has
    all keys in each time. In a map that has room for all as in one that grows."""
    text = (
        "import libcohort as lc, numpy as np, threading, os, signal, sys\n"
        "n = 5 << 23\n"
        "m = lc.Map(key_type='int32', value_type='int32', capacity=int(sys.argv[2]))\n"
        "keys = np.arange(n, dtype='int32')\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a parent may ignore it
        "timer = threading.Timer(float(sys.argv[1]), lambda: os.kill(os.getpid(), signal.SIGINT))\n"
        "try:\n"
        "    timer.start()\n"
        "    m.insert(keys, keys)\n"
        "    timer.join()\n"
        "    print('late')\n"
        "except KeyboardInterrupt:\n"
        "    some = len(m)\n"
        "    keys, values = (np.asarray(a) for a in m.items())\n"
        "    assert len(keys) == some and (keys == values).all()\n"
        "    print('part' if 0 < some < n else 'all' if some else 'none')\n"
    )
    for capacity in ("16", str(5 << 23)):
        ctrl_c_meets_a_part(text, capacity)


def ctrl_c_meets_a_part(text, capacity):
    seen = []
    for delay in (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64):
        done = subprocess.run(
            [sys.executable, "-c", text, str(delay), capacity], capture_output=True, text=True, timeout=120
        )
        seen.append(done.stdout.strip() or done.stderr)
        if seen[-1] == "part":
            return
    raise AssertionError(seen)


def test_a_bar_on_a_terminal():
    import pty

    text = (
        "import libcohort as lc\n"
        "with lc.device('cpu', progress=True):\n"
        "    m = lc.Map(capacity=16)\n"
        "    m.insert(list(range(300000)), list(range(300000)))\n"
    )
    main, child = pty.openpty()
    subprocess.run([sys.executable, "-c", text], stderr=child, check=True)
    assert b"map_insert [" in os.read(main, 4000)
    os.close(main), os.close(child)


class Notebook:
    """A stand-in of IPython: what is displayed, and what it is replaced by."""

    def __init__(self):
        self.shown = []

    def display(self, content, raw=False, display_id=False):
        assert raw and display_id and not self.shown
        self.shown.append(content["text/plain"])
        return self

    def update(self, content, raw=False):
        assert raw and self.shown
        self.shown.append(content["text/plain"])


@pytest.fixture
def notebook(monkeypatch):
    book = Notebook()
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(display=book.display))
    return book


def test_a_bar_in_a_notebook(notebook, capsys):
    with lc.device("cpu", threads=1, progress=True):
        m = lc.Map(capacity=16)
        m.insert(np.arange(400_000), np.arange(400_000))
    assert len(notebook.shown) > 1 and all(text.startswith("map_insert [") for text in notebook.shown)
    shares = [int(text.split("]")[1].rstrip("%")) for text in notebook.shown]
    assert shares == sorted(shares) and shares[0] < shares[-1] <= 100
    assert not capsys.readouterr().err


def test_a_bar_of_files_in_a_notebook(notebook, tmp_path):
    (tmp_path / "reads.fa").write_text(">r\n" + "ACGTTGCA" * 100 + "\n")
    lc.count_kmers(tmp_path / "reads.fa", 5, progress=True)
    assert notebook.shown == ["k-mers [" + "#" * 30 + "] 100%"]


def test_no_bar_where_nobody_looks(capsys):
    with lc.device("cpu", threads=1, progress=True):
        lc.Map(capacity=16).insert(np.arange(400_000), np.arange(400_000))
    out = capsys.readouterr()
    assert not out.err and not out.out
