"""Figures of libcohort.bench in a file: the form of all recorded figures of the project.

A row a library: ours, and with who it was the others', which `cohort bench pages` sets beside ours. Rates are
a second. What files are read and written is left out of the command, which means the same anywhere.
"""

from __future__ import annotations

import datetime
import json
import platform
import statistics
from typing import Any, TextIO

import libcohort as lc

from . import _core

OURS = "libcohort"
_FILES = ("--json", "--svg")


def device() -> str:
    """The processor, or the GPU, in the words that the tool has for it."""
    return str(lc.info()["device"])


def _today() -> str:
    return datetime.date.today().isoformat()


def _rates(seconds: list[float], amount: float, times: float, unit: str) -> dict[str, Any]:
    rates = [float(f"{amount / s:.6g}") for s in seconds]
    return {
        "unit": unit,
        "scale": times,
        "median": statistics.median_low(rates),
        "least": min(rates),
        "most": max(rates),
        "runs": len(rates),
    }


def rows(records: list[dict[str, Any]], versions: dict[str, str]) -> list[dict[str, Any]]:
    """Rows of records of `libcohort.bench.run`, ours first."""
    ours, peers = [], []
    for record in records:
        for who, seconds in record["seconds"].items():
            row = {
                "experiment": "python",
                "name": record["operation"],
                "width": record["type"],
                "keys": record["keys"],
                "variant": record["variant"],
                "n": record["rows"],
                "threads": lc.info()["threads"],
                **_rates(seconds, record["rows"], 1e-6, "M/s"),
            }
            if who == OURS:
                ours.append(row)
            elif who.startswith(OURS):
                ours.append({**row, "variant": who.removeprefix(OURS).strip()})
            else:
                about = {"name": who, "version": versions[who], "date": _today(), "machine": device()}
                peers.append({**row, "peer": about})
    return ours + peers


def call_rows(calls: list[tuple[str, list[float]]]) -> list[dict[str, Any]]:
    """Rows of calls on ten elements: the best, as what else the machine did is no part of a call."""
    about = {"experiment": "calls", "width": "int64", "keys": "ten elements", "n": 10, "threads": 1}
    return [
        {**about, "name": name, **_rates([min(seconds)], 1, 1e-3, "k/s"), "runs": len(seconds)}
        | {"extras": {"us": round(min(seconds) * 1e6, 3)}}
        for name, seconds in calls
    ]


def _command(words: list[str]) -> str:
    kept, skip = [], False
    for word in words:
        if not skip and not word.startswith(_FILES):
            kept.append(word)
        skip = word in _FILES
    return " ".join(["python -m libcohort.bench", *kept])


def write(file: TextIO, words: list[str], rows: list[dict[str, Any]]) -> None:
    """The file, of the command's words and its rows: a line a row."""
    info = lc.info()
    head = {
        "cohort": lc.__version__,
        "commit": _core.commit(),
        "date": _today(),
        "command": _command(words),
        "backend": info["backend"],
        "device": device(),
        "threads": info["threads"],
        "memory_bytes": info["memory_bytes"],
        "python": platform.python_version(),
    }
    lines = [f"  {json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items()]
    table = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in rows)
    file.write("{\n" + "".join(lines) + f'  "rows": [\n{table}\n  ]\n}}\n')
