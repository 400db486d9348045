"""pyarrow: Acero's hash join and group-by, of all columns and plain aggregates."""

from __future__ import annotations

import pyarrow as pa
from engines import engine


class PyArrow(engine.Engine):
    name = "pyarrow"
    version = pa.__version__
    ways = ("table",)

    def __init__(self, threads: int) -> None:
        pa.set_cpu_count(threads)
        self.tables: dict[str, pa.Table] = {}

    def load(self, tables: dict[str, pa.Table]) -> None:
        self.tables = dict(tables)

    def join(self, join: engine.Join, way: str) -> object:
        how = {"inner": "inner", "left": "left outer"}[join.how]
        left, right = self.tables[join.left], self.tables[join.right]
        return left.join(right, join.left_keys, join.right_keys, join_type=how)

    def group_by(self, group_by: engine.GroupBy, way: str) -> object:
        grouping = self.tables[group_by.table].group_by(list(group_by.keys))
        return grouping.aggregate([(aggregate.columns[0], aggregate.function) for aggregate in group_by.aggregates])
