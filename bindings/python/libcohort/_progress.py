"""Bars of progress: on a terminal a line that is drawn over, in a notebook one that is shown anew."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Callable

_WIDTH = 30
_OFTEN = 0.1


class Bar:
    """Told of (what, done, total): a function's, or drawn."""

    def __init__(self, wanted: Any) -> None:
        self._call: Callable[[str, int, int], Any] | None = wanted if callable(wanted) else None
        self._drawn = ""
        self._display: Any = None

    def tell(self, what: str, done: int, total: int) -> None:
        if self._call is not None:
            self._call(what, done, total)
            return
        share = min(done / total, 1.0) if total else 1.0
        full = round(share * _WIDTH)
        text = f"{what.removeprefix('cohort_')} [{'#' * full}{'.' * (_WIDTH - full)}] {share:4.0%}"
        if "ipykernel" in sys.modules:
            self._show(text)
        elif sys.stderr.isatty():
            sys.stderr.write("\r" + text.ljust(len(self._drawn)))
            sys.stderr.flush()
            self._drawn = text

    def _show(self, text: str) -> None:
        from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

        content = {"text/plain": text}
        if self._display is None:
            self._display = display(content, raw=True, display_id=True)
        else:
            self._display.update(content, raw=True)

    def clear(self) -> None:
        if self._drawn:
            sys.stderr.write("\r" + " " * len(self._drawn) + "\r")
            sys.stderr.flush()
            self._drawn = ""


class Progress:
    """Work of this package's own: `wanted` is False, True for a bar, or a function of (done, total)."""

    def __init__(self, wanted: Any, what: str, total: int) -> None:
        self._call: Callable[[int, int], Any] | None = wanted if callable(wanted) else None
        self._bar = Bar(True) if wanted and self._call is None else None
        self._what, self._total = what, total
        self._next = 0.0

    def tell(self, done: int) -> None:
        """May be called often: what comes less than a tenth of a second after the last is not told, but the
        end."""
        now = time.monotonic()
        if now < self._next and done < self._total:
            return
        self._next = now + _OFTEN
        if self._call is not None:
            self._call(done, self._total)
        elif self._bar is not None:
            self._bar.tell(self._what, done, self._total)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.clear()
