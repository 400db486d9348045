"""garuda itself, by its Python package: Arrow tables in and out, nothing copied on the way."""

from __future__ import annotations

import garuda
import pyarrow as pa
from engines import derive, engine
from engines.garuda_command_rival import parts_of


class Garuda(engine.Engine):
    name = "garuda"

    def __init__(self, version: str, path: str, threads: int, **options: str | None) -> None:
        """`options`: those of garuda.Engine beside these."""
        self.version = version
        self.ways = (path,)
        self.engine = garuda.Engine(threads=threads, **options)
        self.tables: dict[str, pa.Table] = {}
        self.said: dict = {}

    def load(self, tables: dict[str, pa.Table]) -> None:
        self.tables = dict(tables)

    def run(self, operation: engine.Operation, way: str) -> object:
        try:
            return super().run(operation, way)
        except garuda.Error as error:
            raise RuntimeError(f"garuda: {error}") from error

    def rows(self, result: garuda.Table) -> pa.Table:
        self.said = dict(result.stats)
        return pa.table(result)

    def join(self, join: engine.Join, way: str) -> object:
        left, right = self.tables[join.left], self.tables[join.right]
        keys = {"left_on": join.left_keys, "right_on": join.right_keys}
        return self.rows(self.engine.join(left, right, **keys, how=join.how, columns=join.columns or None, path=way))

    def group_by(self, group_by: engine.GroupBy, way: str) -> object:
        aggregates = {
            one.name: (one.columns[0], one.function, *parts_of(one)) if one.columns else one.function
            for one in group_by.aggregates
        }
        groups = self.engine.group_by(self.tables[group_by.table], group_by.keys, path=way).agg(**aggregates)
        return derive.derived(self.rows(groups), group_by)

    def statistics(self, result: object) -> dict:
        return self.said
