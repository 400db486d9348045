"""What looking at queries may take, which their own library runs in the end."""

from __future__ import annotations

# Of the time that such queries run; and seconds of it that are there at first, and kept at most.
_SHARE = 0.02
_AT_FIRST = 0.01


class Allowance:
    """Seconds for looking at queries, so that many small ones do not become slower: while nothing is left, queries go to
    their library as they are, which earns some."""

    __slots__ = ("_seconds",)

    def __init__(self) -> None:
        self._seconds = _AT_FIRST

    @property
    def is_spent(self) -> bool:
        return self._seconds <= 0

    def earn(self, seconds: float) -> None:
        """Of a query that the library ran in so many."""
        self._seconds = min(self._seconds + _SHARE * seconds, _AT_FIRST)

    def spend(self, seconds: float) -> None:
        self._seconds -= seconds
