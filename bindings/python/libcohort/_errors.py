"""Exceptions: one class for each status of the library, with the library's message."""

from . import _core


class Error(Exception):
    """What all errors of the library have in common."""


class FullError(Error):
    """A fixed capacity is too small for all that was due."""


class ArgumentError(Error, ValueError):
    """A number, a size or a pointer is outside what an argument may be."""


class UnsupportedError(Error, NotImplementedError):
    """This device does not offer the operation, or the process was forked while a call was under way."""


class DeviceError(Error, RuntimeError):
    """The device asked for is not there, cannot be used, or reported an error."""


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed."""


class FileError(Error, OSError):
    """A file cannot be opened, read or written. `errno` and `filename` as of every OSError."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class FormatError(Error, ValueError):
    """A file is cut off, of another kind, or contradicts itself."""


class CancelledError(Error):
    """The call was ended before its work was done."""


# In the order of cohort_status, from COHORT_OK to COHORT_CANCELLED.
CLASSES: list[type[BaseException]] = [
    Error,
    ArgumentError,
    ArgumentError,
    ArgumentError,
    ArgumentError,
    ArgumentError,
    ArgumentError,
    UnsupportedError,
    DeviceError,
    OutOfMemoryError,
    FullError,
    DeviceError,
    FileError,
    FormatError,
    FormatError,
    FormatError,
    CancelledError,
]
_core.set_exceptions(CLASSES)
