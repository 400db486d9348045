"""What an engine must do to be measured; each has a file of its own."""

from __future__ import annotations

import abc
import dataclasses

import pyarrow as pa

KEY = "key"


@dataclasses.dataclass(frozen=True)
class Join:
    """Inner join of the tables `left` and `right` on their column `key`; the result has all columns of both."""


@dataclasses.dataclass(frozen=True)
class GroupBy:
    """Groups the table `table`; the result has the keys, then `functions` of the column `v`."""

    keys: tuple[str, ...]
    functions: tuple[str, ...]


class Engine(abc.ABC):
    """Runs joins and group-bys over tables that it holds in its own in-memory form.

    `name` and `version` are shown, `ways` are what it can do the same work by: each is tried, the fastest is timed.
    """

    name: str
    version: str
    ways: tuple[str, ...]

    @abc.abstractmethod
    def load(self, tables: dict[str, pa.Table]) -> None:
        """Takes over tables, in place of earlier ones. Not timed."""

    @abc.abstractmethod
    def join(self, join: Join, way: str) -> object:
        """Timed, from the tables to the whole result in memory."""

    @abc.abstractmethod
    def group_by(self, group_by: GroupBy, way: str) -> object:
        """Timed likewise."""

    def run(self, operation: Join | GroupBy, way: str) -> object:
        return self.join(operation, way) if isinstance(operation, Join) else self.group_by(operation, way)

    def to_arrow(self, result: object) -> pa.Table:
        """A result to compare, columns in the order that the operation names. Not timed."""
        return result

    def forget(self) -> None:
        """Frees the last result, where it is held elsewhere than in the object that was returned. Not timed."""

    def unload(self) -> None:
        """Frees the tables."""
        self.load({})
