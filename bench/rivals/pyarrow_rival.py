"""pyarrow: Acero's hash join and group-by."""

from __future__ import annotations

import engine
import pyarrow as pa


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
        return self.tables["left"].join(self.tables["right"], engine.KEY, join_type="inner")

    def group_by(self, group_by: engine.GroupBy, way: str) -> object:
        grouping = self.tables["table"].group_by(list(group_by.keys))
        return grouping.aggregate([("v", function) for function in group_by.functions])
