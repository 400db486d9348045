"""DuckDB: from its own tables or Arrow's into either, or from files into one; insertion order off."""

from __future__ import annotations

import pathlib

import duckdb
import pyarrow as pa
import pyarrow.dataset
from engines import engine, files

RESULT = "result"
FUNCTIONS = {"mean": "avg", "std": "stddev", "count": "count", "max_n": "max"}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def aggregate_text(aggregate: engine.Aggregate) -> str:
    arguments = [quoted(column) for column in aggregate.columns]
    arguments += [str(aggregate.number)] if aggregate.number else []
    return f"{FUNCTIONS.get(aggregate.function, aggregate.function)}({', '.join(arguments)})"


def group_by_text(group_by: engine.GroupBy, table: str) -> str:
    keys = ", ".join(map(quoted, group_by.keys))
    values = [aggregate_text(aggregate) for aggregate in group_by.aggregates]
    derived = {
        "difference": lambda: f"{values[0]} - {values[1]}",
        "square": lambda: f"pow({values[0]}, 2)",
        "unnest": lambda: f"unnest({values[0]})",
        None: lambda: ", ".join(f"{v} AS {quoted(a.name)}" for v, a in zip(values, group_by.aggregates)),
    }
    return f"SELECT {keys}, {derived[group_by.derived]()} FROM {table} GROUP BY {keys}"


def join_text(join: engine.Join, left: str, right: str) -> str:
    dropped = ", ".join(map(quoted, join.right_keys))
    columns = f"l.*, r.* EXCLUDE ({dropped})"
    if join.columns:
        sides = (column.split(".", 1) for column in join.columns)
        columns = ", ".join(f"{side[0]}.{quoted(name)}" for side, name in sides)
    on = " AND ".join(f"l.{quoted(a)} = r.{quoted(b)}" for a, b in join.on)
    return f"SELECT {columns} FROM {left} l {join.how.upper()} JOIN {right} r ON {on}"


class DuckDb(engine.Engine):
    """A way says where from and where to: `table` is DuckDB's own, `arrow` a registered table of Arrow's."""

    name = "DuckDB"
    version = duckdb.__version__

    def __init__(self, threads: int, ways: tuple[str, ...]) -> None:
        self.database = duckdb.connect(config={"threads": threads, "preserve_insertion_order": "false"})
        self.ways = ways
        self.loaded: list[str] = []

    def load(self, tables: dict[str, pa.Table]) -> None:
        self.forget()
        for name in self.loaded:
            self.database.execute(f"DROP TABLE IF EXISTS {quoted(f'{name} table')}")
            self.database.unregister(f"{name} arrow")
        self.loaded = list(tables)
        sources = {way.split("→")[0] for way in self.ways}
        for name, rows in tables.items():
            self.database.register(f"{name} arrow", rows)
            if "table" in sources:
                self.database.execute(f"CREATE TABLE {quoted(f'{name} table')} AS FROM {quoted(f'{name} arrow')}")

    def source(self, name: str, way: str) -> str:
        return quoted(f"{name} {way.split('→')[0]}")

    def join(self, join: engine.Join, way: str) -> object:
        return self.answer(join_text(join, self.source(join.left, way), self.source(join.right, way)), way)

    def group_by(self, group_by: engine.GroupBy, way: str) -> object:
        return self.answer(group_by_text(group_by, self.source(group_by.table, way)), way)

    def answer(self, query: str, way: str) -> object:
        if way.endswith("→arrow"):
            return self.database.sql(query).to_arrow_table()
        self.database.execute(f"CREATE TABLE {RESULT} AS {query}")
        return RESULT

    def to_arrow(self, result: object) -> pa.Table:
        return result if isinstance(result, pa.Table) else self.database.sql(f"FROM {RESULT}").to_arrow_table()

    def forget(self) -> None:
        self.database.execute(f"DROP TABLE IF EXISTS {RESULT}")


class DuckDbFiles(files.FromFiles, DuckDb):
    """From files into a file. Arrow IPC, which DuckDB does not know, goes through pyarrow: mapped, and streamed out."""

    def __init__(self, threads: int, file_format: str, folder: pathlib.Path) -> None:
        super().__init__(threads, (file_format,))
        self.output = folder / f"duckdb.{file_format}"

    def source(self, name: str, way: str) -> str:
        if way != "arrow":
            path = self.files[name]
            return f"read_{way}('{path / f'*.{way}' if path.is_dir() else path}')"
        self.database.register(name, pa.dataset.dataset(self.files[name], format="ipc"))
        return quoted(name)

    def answer(self, query: str, way: str) -> object:
        if way == "arrow":
            reader = self.database.sql(query).to_arrow_reader()
            files.write_batches(self.output, reader.schema, reader)
        else:
            self.database.execute(self.copy_text(query, way))
        return self.output

    def copy_text(self, query: str, way: str) -> str:
        compression = ", COMPRESSION snappy" if way == "parquet" else ""
        return f"COPY ({query}) TO '{self.output}' (FORMAT {way}{compression})"
