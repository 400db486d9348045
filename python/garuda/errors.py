"""Errors: one class for each code of the library, below `garuda.Error`.

>>> import garuda
>>> try:
...     garuda.join({"a": [1]}, {"b": [1]}, on="a")
... except KeyError as error:
...     print(type(error).__name__, error)
ColumnNotFoundError unknown column: a
"""

from __future__ import annotations


class Error(Exception):
    """Base of every error of garuda. `str()` is one sentence and what caused it.

    Attributes:
        message: the sentence.
        causes: sentences that say why, outermost first.
    """

    def __init__(self, message: str, causes: tuple[str, ...] = ()) -> None:
        super().__init__(message, tuple(causes))
        self.message = message
        self.causes = tuple(causes)

    def __str__(self) -> str:
        return ": ".join((self.message, *self.causes))


class UsageError(Error, ValueError):
    """A request that no input could satisfy: contradictory or unknown options."""


class InvalidInputError(Error, ValueError):
    """Malformed data, an unsupported type, keys without a common type, a sum beyond its type."""


class ColumnNotFoundError(InvalidInputError, KeyError):
    """A column that a table does not have, or has more than once."""


class NoDeviceError(Error, RuntimeError):
    """No such device, or the path that was asked for cannot run on it."""


class OutOfMemoryError(Error, MemoryError):
    """Memory of the host or of a device is exhausted."""


class LimitExceededError(Error, MemoryError):
    """A memory limit that was given cannot be kept."""


class OutputError(Error, OSError):
    """A result cannot be written: disk full, folder not writable."""

    def __init__(self, message: str, causes: tuple[str, ...] = ()) -> None:
        Error.__init__(self, message, causes)


class DeviceFailureError(Error, RuntimeError):
    """A driver's call failed, or the device was lost."""


class CancelledError(Error):
    """A progress callback returned False. Ctrl-C raises KeyboardInterrupt instead."""


class ForkedError(Error, RuntimeError):
    """The process was forked from one that had used garuda: start processes by spawn or forkserver."""


class InternalError(Error, AssertionError):
    """A bug of garuda."""


_CLASSES: dict[str, type[Error]] = {
    "usage": UsageError,
    "invalid_input": InvalidInputError,
    "unknown_column": ColumnNotFoundError,
    "no_device": NoDeviceError,
    "out_of_memory": OutOfMemoryError,
    "limit_exceeded": LimitExceededError,
    "output": OutputError,
    "device_failure": DeviceFailureError,
    "cancelled": CancelledError,
    "forked": ForkedError,
    "internal": InternalError,
}


def of_kind(kind: str, message: str, causes: list[str]) -> Error:
    """The exception for what the extension reports."""
    return _CLASSES[kind](message, tuple(causes))
