"""Polars: lazy queries, collected by its in-memory engine or its streaming one."""

from __future__ import annotations

import os

import engine
import pyarrow as pa


class Polars(engine.Engine):
    name = "Polars"
    ways = ("in-memory", "streaming")

    def __init__(self, threads: int) -> None:
        # Read once, when the module is first imported.
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        import polars  # noqa: PLC0415

        if polars.thread_pool_size() != threads:
            raise RuntimeError(f"Polars runs with {polars.thread_pool_size()} threads, not {threads}")
        self.polars = polars
        self.version = polars.__version__
        self.tables: dict = {}

    def load(self, tables: dict[str, pa.Table]) -> None:
        self.tables = {name: self.polars.from_arrow(rows) for name, rows in tables.items()}

    def join(self, join: engine.Join, way: str) -> object:
        left, right = self.tables["left"].lazy(), self.tables["right"].lazy()
        return left.join(right, on=engine.KEY, how="inner", maintain_order="none").collect(engine=way)

    def group_by(self, group_by: engine.GroupBy, way: str) -> object:
        column = self.polars.col("v")
        aggregates = [getattr(column, function)().alias(f"{function}_v") for function in group_by.functions]
        return self.tables["table"].lazy().group_by(*group_by.keys).agg(*aggregates).collect(engine=way)

    def to_arrow(self, result: object) -> pa.Table:
        return result.to_arrow()
