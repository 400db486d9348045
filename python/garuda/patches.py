"""Other libraries' joins and group-bys, run by garuda while `install` says so."""

from __future__ import annotations

import collections
from typing import Any, Callable, NamedTuple, Optional

from ._arguments import require, require_flags
from .engine import Engine, default_engine
from .errors import UsageError


class Fallback(NamedTuple):
    """A call that the library ran itself, and why.

    Attributes:
        call: of which function.
        reason: in words.
    """

    call: str
    reason: str


class Unsupported(Exception):
    """Why a call stays with its library."""


class Patch(NamedTuple):
    """A function of a module that is replaced."""

    module: Any
    name: str
    original: Callable[..., Any]
    replacement: Callable[..., Any]


_KEPT = 1000
_installed: dict[str, list[Patch]] = {}
_fallbacks: collections.deque[Fallback] = collections.deque(maxlen=_KEPT)


def fallbacks() -> list[Fallback]:
    """The last calls of installed libraries that stayed with them, and why; also logged, by the logger `garuda`."""
    return list(_fallbacks)


def installed() -> list[str]:
    """Libraries whose calls are sent to garuda."""
    return sorted(_installed)


def fall_back(call: str, reason: str, strict: bool) -> None:
    """Keeps and logs why a call stays with its library; raises UsageError when that is not wanted."""
    if strict:
        raise UsageError(f"{call} cannot be run by garuda", (reason,))
    import logging

    _fallbacks.append(Fallback(call, reason))
    logging.getLogger("garuda").info("%s stays with its library: %s", call, reason)


def install(library: str = "pyarrow", *, strict: bool = False, engine: Optional[Engine] = None) -> None:
    """Sends `pyarrow.Table.join` and `pyarrow.Table.group_by(…).aggregate` to garuda until `uninstall`.

    Results are the same rows in unspecified order, as pyarrow's are, unless `use_threads=False`; sums of floats are
    exact. What garuda does not do as pyarrow does it (float keys, whose zeros and NaNs pyarrow tells apart, datasets,
    filter expressions, further aggregates) stays with pyarrow, each with a reason in `garuda.fallbacks()`;
    `strict=True` raises it. Raises UsageError for other libraries, ImportError where there is no pyarrow.

    >>> import garuda, pyarrow
    >>> garuda.install("pyarrow")
    >>> pyarrow.table({"a": [1, 2]}).join(pyarrow.table({"a": [2], "b": ["x"]}), "a", join_type="inner").to_pylist()
    [{'a': 2, 'b': 'x'}]
    >>> garuda.uninstall("pyarrow")
    """
    if library != "pyarrow":
        raise UsageError(f"calls can be taken over from pyarrow alone: {library}")
    require_flags(strict=strict)
    require("engine", engine, (Engine, type(None)), "a garuda.Engine or None")
    from . import _pyarrow

    uninstall(library)
    patches = _pyarrow.patches(engine or default_engine, strict)
    for patch in patches:
        setattr(patch.module, patch.name, patch.replacement)
    _installed[library] = patches


def uninstall(library: str = "pyarrow") -> None:
    """Puts back the library's own functions; does nothing where `install` was not called. Raises UsageError when
    another has replaced them since, who has to go first."""
    require("library", library, str, "a str")
    patches = _installed.get(library, [])
    for patch in patches:
        if getattr(patch.module, patch.name) is not patch.replacement:
            raise UsageError(f"{patch.module.__name__}.{patch.name} was replaced since by another")
    for patch in patches:
        setattr(patch.module, patch.name, patch.original)
    _installed.pop(library, None)
