"""The time that looking at queries may take which their own library runs in the end."""

from __future__ import annotations

# Share of the time of queries that their library runs, which looking at queries may take.
_SHARE = 0.02


class Allowance:
    """Seconds for looking at queries, so that many small ones do not become slower: while nothing is left, queries go to
    their library as they are, which earns some. Counting the rows of a small query, after which it is not looked at, is
    not spent: else many of them leave nothing for a large one. `most`: seconds at first, and the most that are kept."""

    __slots__ = ("_most", "_seconds")

    def __init__(self, most: float) -> None:
        self._seconds = self._most = most

    @property
    def is_spent(self) -> bool:
        return self._seconds <= 0

    def earn(self, seconds: float) -> None:
        """Adds a share of the seconds that the library ran a query."""
        self._seconds = min(self._seconds + _SHARE * seconds, self._most)

    def spend(self, seconds: float) -> None:
        self._seconds -= seconds
