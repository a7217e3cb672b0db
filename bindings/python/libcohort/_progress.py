"""Bars of progress: on a terminal a line that is drawn over, in a notebook one that is shown anew."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Callable

_WIDTH = 30
_OFTEN = 0.1


class Progress:
    """Told how far work is: `wanted` is False, True for a bar, or a function of (done, total)."""

    def __init__(self, wanted: Any, what: str, total: int) -> None:
        self._call: Callable[[int, int], Any] | None = wanted if callable(wanted) else self._draw if wanted else None
        self._what, self._total = what, total
        self._next = 0.0
        self._drawn = False
        self._display: Any = None

    def tell(self, done: int) -> None:
        """May be called often: what comes less than a tenth of a second after the last is not told, but the end."""
        if self._call is None:
            return
        now = time.monotonic()
        if now >= self._next or done >= self._total:
            self._next = now + _OFTEN
            self._call(done, self._total)

    def _draw(self, done: int, total: int) -> None:
        share = min(done / total, 1.0) if total else 1.0
        full = round(share * _WIDTH)
        text = f"{self._what} [{'#' * full}{'.' * (_WIDTH - full)}] {share:4.0%}"
        if "ipykernel" in sys.modules:
            self._show(text)
        elif sys.stderr.isatty():
            sys.stderr.write("\r" + text)
            sys.stderr.flush()
        self._drawn = True

    def _show(self, text: str) -> None:
        from IPython.display import display  # type: ignore[import-not-found, unused-ignore]

        content = {"text/plain": text}
        if self._display is None:
            self._display = display(content, raw=True, display_id=True)
        else:
            self._display.update(content, raw=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn and "ipykernel" not in sys.modules and sys.stderr.isatty():
            sys.stderr.write("\r" + " " * (len(self._what) + _WIDTH + 9) + "\r")
            sys.stderr.flush()
