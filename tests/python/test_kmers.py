"""count_kmers, against words cut out one at a time."""

import collections
import gzip
import os
import pickle
import pty
import random
import signal
import subprocess
import sys
import threading

import pytest

import libcohort as lc


def counted(reads, k, canonical):
    counts = collections.Counter()
    for read in reads:
        for i in range(len(read) - k + 1):
            word = read[i : i + k].upper()
            if set(word) <= set("ACGT"):
                turned = word[::-1].translate(str.maketrans("ACGT", "TGCA"))
                counts[min(word, turned) if canonical else word] += 1
    return counts


def some_reads(n=40, seed=5):
    r = random.Random(seed)
    return [
        "".join(r.choices("ACGTNacgt", [9, 9, 9, 9, 1, 1, 1, 1, 1], k=r.randrange(0, 120))) for _ in range(n)
    ]


def write(path, reads, form):
    text = "".join(
        f">r{i}\n{r}\n" if form != "fastq" else f"@r{i}\n{r}\n+\n{'I' * len(r)}\n"
        for i, r in enumerate(reads)
    )
    path.write_bytes(gzip.compress(text.encode()) if form == "gz" else text.encode())
    return path


@pytest.mark.parametrize("form", ["fasta", "fastq", "gz"])
@pytest.mark.parametrize("k", [1, 5, 21, 32])
@pytest.mark.parametrize("canonical", [False, True])
def test_counts(tmp_path, form, k, canonical):
    reads, more = some_reads(), some_reads(seed=6)
    files = [write(tmp_path / "a", reads, form), write(tmp_path / "b", more, form)]
    kmers = lc.count_kmers(files, k, canonical)
    want = counted(reads + more, k, canonical)
    assert dict(zip(kmers.letters(), kmers.counts.tolist())) == want and len(kmers) == len(want)
    assert kmers.total == sum(want.values()) and kmers.sequences == 80
    assert kmers.words.tolist() == sorted(kmers.words.tolist())
    times, many = kmers.spectrum()
    assert dict(zip(times.tolist(), many.tolist())) == dict(collections.Counter(want.values()))
    assert [c for _, c in kmers.most_common(3)] == sorted(want.values(), reverse=True)[:3]
    again = pickle.loads(pickle.dumps(kmers))
    assert repr(again) == repr(kmers) and again.letters() == kmers.letters()


def test_a_path_of_bytes(tmp_path):
    path = os.fsencode(write(tmp_path / "a", ["ACGT"], "fasta"))
    assert lc.count_kmers(path, 4).letters() == lc.count_kmers([path], 4).letters() == ["ACGT"]


def test_what_is_wrong(tmp_path):
    good = write(tmp_path / "a", ["ACGT"], "fasta")
    for k in (0, 33, -1):
        with pytest.raises(ValueError, match=f"k: must be from 1 to 32, not {k}"):
            lc.count_kmers(good, k)
    (tmp_path / "b").write_text("no sequence")
    with pytest.raises(lc.FormatError, match="b:1: neither FASTA nor FASTQ"):
        lc.count_kmers([good, tmp_path / "b"], 3)
    with pytest.raises(FileNotFoundError):
        lc.count_kmers(tmp_path / "none", 3)
    assert len(lc.count_kmers([], 3)) == 0
    (tmp_path / "c").write_bytes(gzip.compress(b">a\nACGT" * 50)[:-9])
    with pytest.raises((EOFError, OSError)):
        lc.count_kmers(tmp_path / "c", 3)


def test_progress(tmp_path):
    path = write(tmp_path / "a", some_reads(), "fasta")
    told = []
    lc.count_kmers([path, path], 5, progress=lambda done, total: told.append((done, total)))
    size = os.path.getsize(path)
    assert told[-1] == (2 * size, 2 * size) and all(d <= t for d, t in told)
    code = f"import libcohort; print(len(libcohort.count_kmers({str(path)!r}, 3, progress=True)))"
    silent = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert silent.stderr == ""
    main, child = pty.openpty()
    subprocess.run([sys.executable, "-c", code], stderr=child, stdout=subprocess.DEVNULL, check=True)
    assert b"k-mers [##############################] 100%" in os.read(main, 1000)
    os.close(main), os.close(child)


def test_a_progress_function_and_ctrl_c_end_it(tmp_path):
    path = tmp_path / "a"
    path.write_text(">a\n" + "ACGTTGCA" * 4_000_000)

    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        lc.count_kmers(path, 21, progress=stop)
    # Where a parent ignores SIGINT (a job in a script's background), Python does not ask for it by itself.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            lc.count_kmers([path] * 200, 21)
    finally:
        signal.signal(signal.SIGINT, before)
