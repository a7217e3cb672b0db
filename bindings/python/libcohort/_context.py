"""Where work happens: a context for each thread, made at its first call."""

from __future__ import annotations

import os
import threading
from types import TracebackType
from typing import Any

from . import _core
from ._progress import Bar


_GPU = "cuda:{}"  # the device of a number


class _Current(threading.local):
    chosen = False  # by `device`

    def __init__(self) -> None:
        self.gpus: dict[int, _core.Context] = {}  # for arrays that lie there, where nothing was chosen


_current = _Current()


def _after_fork() -> None:
    """In a child: a call of another thread may have been under way on this thread's context, so it gets
    another."""
    _core.after_fork()
    _current.gpus = {}
    if not _current.chosen:
        _core.use(None)


os.register_at_fork(after_in_child=_after_fork)


def _made() -> _core.Context:
    return _core.context_new(None, 0, None, None)


current = _core.current  # the thread's context: of the innermost `device`, else one of the defaults


def chosen() -> _core.Context | None:
    """The context of the innermost `device`."""
    return current() if _current.chosen else None


def of_gpu(ordinal: int | None) -> _core.Context:
    """The thread's context on a GPU, None being any: the current one if that is there, else one of the
    defaults."""
    context = current()
    number = _core.context_gpu(context)[0]
    if number >= 0 and (ordinal is None or ordinal == number):
        return context
    wanted = ordinal or 0
    if wanted not in _current.gpus:
        _current.gpus[wanted] = _core.context_new(_GPU.format(wanted), 0, None, None)
    return _current.gpus[wanted]


_core.set_maker(_made, of_gpu)


def _number(stream: Any) -> int | None:
    """A stream's handle: a number, or what torch, cupy or CUDA's own bindings have for a stream."""
    if stream is None or isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        about = stream.__cuda_stream__
        return int((about() if callable(about) else about)[1])
    for name in ("cuda_stream", "ptr"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    raise TypeError(f"stream: a stream or its number is due, not {type(stream).__name__}")


class device:
    """Chooses the device and the number of threads of all calls in a `with` block of this thread.

    `name` is "cpu", "cuda", "cuda:N", or None for a usable GPU, else the CPU. `threads` are CPU threads; 0
    means one for each core. An object stays on the device that it was made on. `progress=True` draws a bar
    during long batches of maps; a function in its place is called with (what, done, total), and what it
    raises ends the call. It must not use the library.

    On a GPU `stream` is the stream that calls enqueue their work on: torch's, cupy's, what has
    `__cuda_stream__`, or its number (0 and 1: the legacy default stream). It must live as long as this object
    and what was made on it. Without one there is a stream of the context's own. Calls return when their work
    is done.

    >>> import libcohort
    >>> with libcohort.device("cpu", threads=1):
    ...     libcohort.info()["threads"]
    1
    """

    def __init__(
        self, name: str | None = None, *, threads: int = 0, progress: Any = False, stream: Any = None
    ) -> None:
        self._bar = Bar(progress) if progress else None
        tell = self._bar.tell if self._bar else None
        self._context = _core.context_new(name, threads, tell, _number(stream))
        self._before: list[tuple[_core.Context | None, bool]] = []

    def __enter__(self) -> device:
        self._before.append((_core.use(self._context), _current.chosen))
        _current.chosen = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        before, _current.chosen = self._before.pop()
        _core.use(before)
        if self._bar:
            self._bar.clear()

    def __repr__(self) -> str:
        about = _core.context_info(self._context)
        return f"libcohort.device({about['backend']!r}, threads={about['threads']})  # {about['device']}"


def info() -> dict[str, Any]:
    """What this thread's calls run on: version, backend, device, threads, memory.

    >>> import libcohort
    >>> libcohort.info()["backend"] in ("cpu", "cuda")
    True
    """
    return _core.context_info(current())


def limits(table_bytes: int = 0) -> dict[str, float]:
    """What this machine can do at most, measured now: rates a second of copies and of random accesses to a
    table.

    Takes some seconds. `table_bytes` is the size of the table, 0 for 2 GiB or a quarter of the free memory.

    >>> import libcohort
    >>> libcohort.limits(table_bytes=1 << 20)["random_reads_8"] > 0
    True
    """
    return _core.context_limits(current(), table_bytes)
