"""Joins and group-bys as data, and what an engine must do to be measured by them; each engine has a file of its own."""

from __future__ import annotations

import abc
import dataclasses
import pathlib

import pyarrow as pa


@dataclasses.dataclass(frozen=True)
class Join:
    """`on` are columns of the tables `left` and `right` that are equal; `how` is inner or left. The result has all left
    columns, then the right ones but its keys; or `columns`, each `left.NAME` or `right.NAME`."""

    left: str = "left"
    right: str = "right"
    on: tuple[tuple[str, str], ...] = (("key", "key"),)
    how: str = "inner"
    columns: tuple[str, ...] = ()

    @property
    def left_keys(self) -> list[str]:
        return [left for left, _ in self.on]

    @property
    def right_keys(self) -> list[str]:
        return [right for _, right in self.on]

    def reads(self) -> dict[str, set[str] | None]:
        """The columns of each table that the result follows from; None: all of them."""
        if not self.columns:
            return {self.left: None, self.right: None}
        reads = {self.left: set(self.left_keys), self.right: set(self.right_keys)}
        for column in self.columns:
            side, name = column.split(".", 1)
            reads[self.left if side == "left" else self.right].add(name)
        return reads


@dataclasses.dataclass(frozen=True)
class Aggregate:
    """`function` is count, sum, mean, min, max, median, std, corr (of two columns) or max_n (`number` of them, a
    list)."""

    function: str
    columns: tuple[str, ...] = ()
    number: int = 0

    @property
    def name(self) -> str:
        return "_".join([self.function, *self.columns])


@dataclasses.dataclass(frozen=True)
class GroupBy:
    """Groups `table`; the result has the keys, then the aggregates, or, in their place, one column that `derived` makes
    of them: `difference` of the first and the second, `square`, or `unnest`, a row for each element of a list."""

    keys: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    table: str = "table"
    derived: str | None = None

    def reads(self) -> dict[str, set[str] | None]:
        return {self.table: {*self.keys, *(name for aggregate in self.aggregates for name in aggregate.columns)}}


Operation = Join | GroupBy


@dataclasses.dataclass(frozen=True)
class Question:
    """A named operation of a public benchmark, over its tables, or those of the kind `tables`."""

    name: str
    title: str
    operation: Operation
    tables: str = ""


def group_by(keys: str, aggregates: str, table: str, derived: str | None = None) -> GroupBy:
    """`keys` and `aggregates` in words, FUNCTION or FUNCTION:COLUMN or FUNCTION:COLUMN:COLUMN."""
    parsed = []
    for word in aggregates.split():
        function, *columns = word.split(":")
        parsed.append(Aggregate(function, tuple(columns), 2 if function == "max_n" else 0))
    return GroupBy(tuple(keys.split()), tuple(parsed), table, derived)


class Runner(abc.ABC):
    """Runs operations over tables that it holds in its own in-memory form, or over files.

    `name` and `version` are shown, `ways` are what it can do the same work by: each is tried, the fastest is timed.
    """

    name: str
    version: str
    ways: tuple[str, ...]

    @abc.abstractmethod
    def load(self, tables: dict[str, pa.Table] | dict[str, pathlib.Path]) -> None:
        """Takes over tables, or files of them, in place of earlier ones. Not timed."""

    def prepare(self, operation: object, way: str) -> None:
        """Does what belongs to no run. Not timed."""

    @abc.abstractmethod
    def run(self, operation: object, way: str) -> object:
        """Timed, from the tables to the whole result in memory or in a file."""

    def to_arrow(self, result: object) -> pa.Table:
        """A result to compare, columns in the order that the operation names. Not timed."""
        return result

    def statistics(self, result: object) -> dict:
        """The engine's own record of its last run, which gave `result`. Not timed."""
        return {}

    def cpu_seconds(self) -> float:
        """Processor seconds so far of processes of its own that go on."""
        return 0.0

    def forget(self) -> None:
        """Frees the last result, where it is held elsewhere than in the object that was returned. Not timed."""

    def unload(self) -> None:
        """Frees the tables."""
        self.load({})


class Engine(Runner):
    """A runner of joins and group-bys. `zero_sums`: the sum of no values is 0, not null."""

    zero_sums = False

    @abc.abstractmethod
    def join(self, join: Join, way: str) -> object:
        """Timed likewise."""

    @abc.abstractmethod
    def group_by(self, group_by: GroupBy, way: str) -> object:
        """Timed likewise."""

    def run(self, operation: Operation, way: str) -> object:
        return self.join(operation, way) if isinstance(operation, Join) else self.group_by(operation, way)
