"""count_kmers: how often each word of k letters occurs in FASTA and FASTQ files."""

from __future__ import annotations

import gzip
import os
from typing import Any, Iterable, Union

from . import _core
from ._arrays import I64, U64, take_in
from ._context import current
from ._functions import unique
from ._progress import Progress

_PIECE = 1 << 22
Path = Union[str, "os.PathLike[str]"]


class Kmers:
    """K-mers and how often each occurs: what `count_kmers` answers. `words` are numbers of two bits a letter
    (A 0, C 1, G 2, T 3, the first letter highest) in ascending order, `counts` how often each occurs; both
    are arrays.

    >>> import libcohort, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "reads.fa")
    >>> with open(path, "w") as file:
    ...     _ = file.write(">read\\nACGACGT\\n")
    >>> libcohort.count_kmers(path, 3)
    libcohort.Kmers(4 distinct of 5 3-mers)
    """

    __slots__ = ("k", "canonical", "words", "counts", "total", "sequences")

    def __init__(self, k: int, canonical: bool, words: Any, counts: Any, total: int, sequences: int) -> None:
        self.k, self.canonical, self.words, self.counts = k, canonical, words, counts
        self.total, self.sequences = total, sequences

    def spectrum(self) -> tuple[Any, Any]:
        """(how often, how many k-mers occur so often), in ascending order: the k-mer spectrum.

        >>> import libcohort, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "reads.fa")
        >>> with open(path, "w") as file:
        ...     _ = file.write(">read\\nACGACGT\\n")
        >>> [x.tolist() for x in libcohort.count_kmers(path, 3).spectrum()]
        [[1, 2], [3, 1]]
        """
        times, many = unique(self.counts, return_counts=True)
        return times, many

    def most_common(self, n: int = 10) -> list[tuple[str, int]]:
        """The n most frequent k-mers as letters, with their counts.

        >>> import libcohort, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "reads.fa")
        >>> with open(path, "w") as file:
        ...     _ = file.write(">read\\nACGACGT\\n")
        >>> libcohort.count_kmers(path, 3).most_common(1)
        [('ACG', 2)]
        """
        counts, _, words = _core.sort(current(), self.counts, True, False, self.words)
        return list(zip(self.letters(words[:n]), counts[:n].tolist()))

    def letters(self, words: Any = None) -> list[str]:
        """Numbers as letters; all of `words` if none are given.

        >>> import libcohort, os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "reads.fa")
        >>> with open(path, "w") as file:
        ...     _ = file.write(">read\\nACGACGT\\n")
        >>> libcohort.count_kmers(path, 3).letters()
        ['ACG', 'CGA', 'CGT', 'GAC']
        """
        array = _core.cast(take_in(self.words if words is None else words, "words")[0], U64, "words")
        return _core.kmers_letters(array, self.k)

    def __len__(self) -> int:
        return len(self.words)

    def __reduce__(self) -> Any:
        return Kmers, (self.k, self.canonical, self.words, self.counts, self.total, self.sequences)

    def __repr__(self) -> str:
        words = f"{'canonical ' * self.canonical}{self.k}-mers"
        return f"libcohort.Kmers({len(self)} distinct of {self.total} {words})"


def count_kmers(
    files: Path | Iterable[Path], k: int, canonical: bool = False, *, progress: Any = False
) -> Kmers:
    """How often each word of k letters (1 to 32) occurs in FASTA or FASTQ files, which may be compressed by
    gzip.

    `canonical` counts a word and its reverse complement as one. Letters other than ACGT break a word.
    `progress=True` draws a bar; a function is called with the bytes read and the bytes there are. Ctrl-C ends
    it.

    >>> import libcohort, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "reads.fa")
    >>> with open(path, "w") as file:
    ...     _ = file.write(">read\\nACGTACGTNACG\\n")
    >>> kmers = libcohort.count_kmers(path, 3)
    >>> kmers.most_common(2)
    [('ACG', 3), ('CGT', 2)]
    >>> times, many = kmers.spectrum()
    >>> times.tolist(), many.tolist()
    ([1, 2, 3], [2, 1, 1])
    """
    given = [files] if isinstance(files, (str, bytes, os.PathLike)) else list(files)
    paths = [os.fsdecode(path) for path in given]
    counter = _core.kmers_new(current(), k, canonical)
    bar = Progress(progress, "k-mers", sum(os.path.getsize(p) for p in paths))
    with bar:
        done = 0
        for path in paths:
            _count_file(counter, path, bar, done)
            done += os.path.getsize(path)
    words, counts = _core.kmers_items(counter)
    words, _, counts = _core.sort(current(), words, False, False, counts)
    return Kmers(k, canonical, words, _core.retype(counts, I64), *_core.kmers_totals(counter))


def _count_file(counter: _core.Handle, path: Path, bar: Progress, before: int) -> None:
    piece = memoryview(bytearray(_PIECE))
    with open(path, "rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        stream: Any = gzip.GzipFile(fileobj=raw) if packed else raw
        _core.kmers_begin(counter, os.fspath(path))
        while n := stream.readinto(piece):
            _core.kmers_feed(counter, piece[:n])
            bar.tell(before + raw.tell())
        _core.kmers_end(counter)
