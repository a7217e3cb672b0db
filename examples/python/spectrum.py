"""The spectrum of k-mers in three lines, and a picture of it.

    python spectrum.py [FILE...]       FASTA or FASTQ, plain or gzip; without: reads of a made genome, with errors
    SPECTRUM_SVG=spectrum.svg          where the picture goes
"""

import os
import random
import sys
import tempfile

import libcohort as lc


def made_reads(path, genome=30_000, reads=6_000, length=100, errors=0.005):
    r = random.Random(7)
    whole = "".join(r.choices("ACGT", k=genome))
    with open(path, "w") as file:
        for i in range(reads):
            at = r.randrange(genome - length)
            read = [c if r.random() >= errors else r.choice("ACGT") for c in whole[at : at + length]]
            file.write(f">{i}\n{''.join(read)}\n")
    return path


files = sys.argv[1:] or [made_reads(os.path.join(tempfile.mkdtemp(), "reads.fa"))]

kmers = lc.count_kmers(files, 21, canonical=True, progress=True)
times, many = kmers.spectrum()
print(kmers)

points = [(t, m) for t, m in zip(times.tolist(), many.tolist()) if t <= 60]
most = max(m for t, m in points if t > 2)
for t, m in points[:40]:
    print(f"{t:4} times {m:8,}  {'#' * min(50, round(40 * m / most))}{'>' if m > 1.25 * most else ''}")
print("most frequent:", ", ".join(f"{word} {count}" for word, count in kmers.most_common(3)))

if picture := os.environ.get("SPECTRUM_SVG"):
    bars = "".join(
        f'<rect x="{40 + 9 * t}" y="{220 - min(200, 180 * m / most):.1f}" width="8" height="{min(200, 180 * m / most):.1f}"/>' for t, m in points
    )
    with open(picture, "w") as file:
        file.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="620" height="250" font-family="sans-serif" font-size="11" fill="#1b6ca8">{bars}'
            '<text x="40" y="240" fill="#555">how often a 21-mer occurs, 1 to 60; bars: how many do</text></svg>\n'
        )
    print("picture:", picture)
