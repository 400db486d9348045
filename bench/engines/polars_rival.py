"""Polars: lazy queries, collected by its in-memory engine or its streaming one, or from files into one."""

from __future__ import annotations

import os
import pathlib

import pyarrow as pa
from engines import engine, files


def start(threads: int) -> object:
    """The module, which reads its number of threads once, when it is first imported."""
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    import polars  # noqa: PLC0415

    if polars.thread_pool_size() != threads:
        raise RuntimeError(f"Polars runs with {polars.thread_pool_size()} threads, not {threads}")
    return polars


class Polars(engine.Engine):
    name = "Polars"
    ways = ("in-memory", "streaming")
    zero_sums = True

    def __init__(self, threads: int) -> None:
        self.polars = start(threads)
        self.version = self.polars.__version__
        self.tables: dict = {}

    def load(self, tables: dict[str, pa.Table]) -> None:
        self.tables = {name: self.polars.from_arrow(rows).lazy() for name, rows in tables.items()}

    def join(self, join: engine.Join, way: str) -> object:
        left, right = self.tables[join.left], self.tables[join.right]
        query = left.join(
            right, left_on=join.left_keys, right_on=join.right_keys, how=join.how, maintain_order="none", coalesce=True
        )
        if join.columns:
            # A right key is the left one, which the result has.
            kept = {f"right.{right}": left for left, right in join.on}
            query = query.select([kept.get(column, column.split(".", 1)[1]) for column in join.columns])
        return self.answer(query, way)

    def aggregate(self, aggregate: engine.Aggregate) -> object:
        pl, name = self.polars, aggregate.name
        if aggregate.function == "corr":
            return pl.corr(*aggregate.columns).alias(name)
        if not aggregate.columns:
            return pl.len().alias(name)
        column = pl.col(aggregate.columns[0])
        if aggregate.function == "max_n":
            return column.top_k(aggregate.number).alias(name)
        return getattr(column, aggregate.function)().alias(name)

    def group_by(self, group_by: engine.GroupBy, way: str) -> object:
        aggregates = [self.aggregate(aggregate) for aggregate in group_by.aggregates]
        query = self.tables[group_by.table].group_by(*group_by.keys).agg(*aggregates)
        values = [self.polars.col(aggregate.name) for aggregate in group_by.aggregates]
        if group_by.derived == "unnest":
            query = query.explode(group_by.aggregates[0].name)
        elif group_by.derived:
            value = values[0] - values[1] if group_by.derived == "difference" else values[0] ** 2
            query = query.select(*group_by.keys, value.alias(group_by.derived))
        return self.answer(query, way)

    def answer(self, query: object, way: str) -> object:
        return query.collect(engine=way)

    def to_arrow(self, result: object) -> pa.Table:
        return result.to_arrow()


class PolarsFiles(files.FromFiles, Polars):
    """From files into a file: scanned, and sunk by the streaming engine."""

    def __init__(self, threads: int, file_format: str, folder: pathlib.Path) -> None:
        super().__init__(threads)
        self.ways = (file_format,)
        self.output = folder / f"polars.{file_format}"

    def load(self, tables: dict[str, pathlib.Path]) -> None:
        self.forget()
        self.tables = {}
        for name, path in tables.items():
            scan = {".parquet": self.polars.scan_parquet, ".arrow": self.polars.scan_ipc, ".csv": self.polars.scan_csv}
            self.tables[name] = scan[path.suffix](path)

    def answer(self, query: object, way: str) -> object:
        if way == "parquet":
            query.sink_parquet(self.output, compression="snappy", maintain_order=False)
        elif way == "arrow":
            query.sink_ipc(self.output, compression="uncompressed", maintain_order=False)
        else:
            query.sink_csv(self.output, maintain_order=False)
        return self.output
